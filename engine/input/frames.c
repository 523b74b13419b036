/* Walks from header to header. Nothing here decides whether the file is right: every byte is also
 * decompressed by the task of some split, which checks that frames end where the scan found their
 * ends. */
#include "engine/input/frames.h"

#include "engine/input/gzip_header.h"
#include "engine/input/remote_reader.h"

#include <assert.h>
#include <string.h>

#define HEADER_BYTES_MAX 64u /* read at once: a header, or the header of a block */
#define ZSTD_MAGIC       0xfd2fb528u
#define SKIPPABLE_MAGIC  0x184d2a50u /* the low four bits are free */
#define SKIPPABLE_MASK   0xfffffff0u

int frame_scan_open(struct frame_scan *s, struct env *env, const struct input_file *file,
                    struct glint_error *error)
{
    *s = (struct frame_scan){.input = file, .error = error};
    int r = input_source_open(&s->source, env, file->path, file->stored, file->remote, file->size,
                              error);
    if (r == 0 && s->source.remote != NULL && file->cancelled > 0)
        remote_reader_end_waits_on(s->source.remote, file->cancelled);
    return r;
}

void frame_scan_close(struct frame_scan *s)
{
    input_source_close(&s->source);
}

/* Returns the number of bytes read, which is less than `size` at the end of the file, or a code. */
static int64_t read_at(struct frame_scan *s, uint64_t at, uint8_t *out, uint64_t size)
{
    return input_source_read(&s->source, out, size, at, s->error);
}

static uint32_t load_le(const uint8_t *p, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint32_t)p[i] << (8 * i);
    return value;
}

/* All of these set *out to the end of the frame at s->at, and return as frame_scan_next. */
static int find_bgzf_end(struct frame_scan *s, uint64_t *out)
{
    uint8_t bytes[HEADER_BYTES_MAX];
    struct gzip_header header = {.phase = HEADER_FIXED};
    const int64_t n = read_at(s, s->at, bytes, sizeof bytes);
    if (n < 0) return (int)n;
    for (int64_t i = 0; i < n && header.phase != HEADER_DONE; i++)
        if (gzip_header_parse_byte(&header, bytes[i]) != NULL) return 0;
    *out = s->at + header.block_bytes;
    return header.phase == HEADER_DONE && header.block_bytes > 0;
}

/* Returns the size of the header of a zstd frame (RFC 8878, 3.1.1.1) from its descriptor. */
static unsigned zstd_header_bytes(uint8_t descriptor)
{
    static const uint8_t dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8};
    const bool single = (descriptor & 0x20) != 0; /* no window; the content size always follows */
    const unsigned content_bytes = content[descriptor >> 6];
    return 4u + 1 + (single ? 0u : 1) + dictionary[descriptor & 3] +
           (single && content_bytes == 0 ? 1 : content_bytes);
}

static int find_zstd_end(struct frame_scan *s, uint64_t *out)
{
    uint8_t bytes[8];
    int64_t n = read_at(s, s->at, bytes, sizeof bytes);
    if (n < (int64_t)sizeof bytes) return n < 0 ? (int)n : 0;
    if ((load_le(bytes, 4) & SKIPPABLE_MASK) == SKIPPABLE_MAGIC) {
        *out = s->at + 8 + load_le(bytes + 4, 4);
        return 1;
    }
    if (load_le(bytes, 4) != ZSTD_MAGIC) return 0;
    const uint8_t descriptor = bytes[4];
    uint64_t at = s->at + zstd_header_bytes(descriptor);
    bool last = false;
    while (!last) {
        if ((n = read_at(s, at, bytes, 3)) < 3) return n < 0 ? (int)n : 0;
        const uint32_t block = load_le(bytes, 3), type = block >> 1 & 3;
        if (type == 3) return 0; /* reserved */
        last = (block & 1) != 0;
        at += 3 + (type == 1 ? 1 : block >> 3); /* 1: one byte, to be repeated */
    }
    *out = at + ((descriptor & 4) != 0 ? 4 : 0); /* the checksum */
    return 1;
}

int frame_scan_next(struct frame_scan *s)
{
    uint64_t end = s->at;
    int r = 0;
    if (s->input->compression == COMPRESSION_GZIP) r = find_bgzf_end(s, &end);
    if (s->input->compression == COMPRESSION_ZSTD) r = find_zstd_end(s, &end);
    if (r <= 0) return r;
    assert(end > s->at);
    if (end > s->input->size) return 0;
    s->at = end;
    return 1;
}
