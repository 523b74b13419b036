/* Content is collected into blocks of one size before it is compressed, so that the output does not
 * depend on how the caller divides its data. */
#include "engine/input/gzip.h"

#include "engine/base/mem.h"
#include "engine/limits.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- Each phase ends after a number of bytes or at a zero byte; the flags give the next phase. */

#define FIXED_BYTES   10
#define FLAG_CHECKSUM 0x02
#define FLAG_EXTRA    0x04
#define FLAG_NAME     0x08
#define FLAG_COMMENT  0x10
#define FLAG_RESERVED 0xe0

static const char *parse_fixed_byte(struct gzip_header *h, uint8_t byte)
{
    static const uint8_t magic[] = {0x1f, 0x8b};
    if (h->at < sizeof magic && byte != magic[h->at]) return "not a gzip header";
    if (h->at == 2 && byte != 8) return "unknown compression method";
    if (h->at == 3) h->flags = byte;
    return (h->flags & FLAG_RESERVED) != 0 ? "unknown flags" : NULL;
}

/* Parses the subfields of the extra field; one that is cut short is ignored. */
static void parse_extra_byte(struct gzip_header *h, uint8_t byte)
{
    if (h->subfield_at < sizeof h->subfield) {
        h->subfield[h->subfield_at++] = byte;
        h->subfield_left = h->subfield[2] | (uint32_t)h->subfield[3] << 8;
        if (h->subfield_left == 0 && h->subfield_at == sizeof h->subfield) h->subfield_at = 0;
        return;
    }
    static const uint8_t block_size[] = {'B', 'C', 2, 0};
    const bool wanted = memcmp(h->subfield, block_size, sizeof block_size) == 0;
    h->subfield_left--;
    if (wanted && h->subfield_left == 1) h->block_bytes = byte + 1u;
    if (wanted && h->subfield_left == 0) h->block_bytes += (uint32_t)byte << 8;
    if (h->subfield_left == 0) h->subfield_at = 0;
}

static bool phase_ends(const struct gzip_header *h, uint8_t byte)
{
    switch (h->phase) {
    case HEADER_FIXED: return h->at == FIXED_BYTES;
    case HEADER_EXTRA: return h->at == h->number;
    case HEADER_NAME:
    case HEADER_COMMENT: return byte == 0;
    default: return h->at == 2;
    }
}

/* Advances to the next phase whose field is present; an extra field of length 0 has no bytes. */
static void next_phase(struct gzip_header *h)
{
    static const uint8_t needs[HEADER_DONE] = {[HEADER_EXTRA_LENGTH] = FLAG_EXTRA,
                                               [HEADER_EXTRA] = FLAG_EXTRA,
                                               [HEADER_NAME] = FLAG_NAME,
                                               [HEADER_COMMENT] = FLAG_COMMENT,
                                               [HEADER_CHECKSUM] = FLAG_CHECKSUM};
    assert(h->phase < HEADER_DONE);
    do {
        h->phase++;
        if (h->phase == HEADER_EXTRA && h->number == 0) h->phase++;
    } while (h->phase < HEADER_DONE && (h->flags & needs[h->phase]) == 0);
    if (h->phase == HEADER_CHECKSUM) h->number = 0;
    h->at = 0;
}

const char *gzip_header_parse_byte(struct gzip_header *h, uint8_t byte)
{
    assert(h->phase < HEADER_DONE);
    const char *problem = h->phase == HEADER_FIXED ? parse_fixed_byte(h, byte) : NULL;
    if (problem != NULL) return problem;
    if (h->phase == HEADER_EXTRA_LENGTH || h->phase == HEADER_CHECKSUM)
        h->number |= (uint32_t)byte << (8 * h->at);
    /* The optional checksum is the low 16 bits of the CRC-32 of all header bytes before it. */
    if (h->phase != HEADER_CHECKSUM) h->crc = crc32_gzip_refl(h->crc, &byte, 1);
    if (h->phase == HEADER_EXTRA) parse_extra_byte(h, byte);
    h->at++;
    if (!phase_ends(h, byte)) return NULL;
    if (h->phase == HEADER_CHECKSUM && h->number != (h->crc & 0xffff))
        return "wrong header checksum";
    next_phase(h);
    return NULL;
}

/* ---- gzip */

#define BLOCK_BYTES (64 * KIB)

struct gzip_writer {
    int (*sink)(void *arg, const void *data, uint64_t size);
    void *arg;
    int result; /* the first non-zero result of the sink */
    bool finished;
    struct isal_zstream stream;
    uint32_t used;
    uint8_t in[BLOCK_BYTES], out[BLOCK_BYTES];
    uint8_t level[ISAL_DEF_LVL1_DEFAULT];
};

struct gzip_writer *gzip_writer_create(int (*sink)(void *arg, const void *data, uint64_t size),
                                       void *arg)
{
    struct gzip_writer *w = mem_alloc(sizeof *w);
    if (w == NULL) return NULL;
    memset(w, 0, offsetof(struct gzip_writer, in)); /* the buffers need no zeros */
    w->sink = sink;
    w->arg = arg;
    isal_deflate_init(&w->stream);
    w->stream.level = 1;
    w->stream.level_buf = w->level;
    w->stream.level_buf_size = sizeof w->level;
    w->stream.gzip_flag = IGZIP_GZIP;
    return w;
}

void gzip_writer_destroy(struct gzip_writer *w)
{
    mem_free(w);
}

/* Compresses the current block and passes all output to the sink. */
static int compress_block(struct gzip_writer *w, bool last)
{
    w->stream.next_in = w->in;
    w->stream.avail_in = w->used;
    w->stream.end_of_stream = last;
    do {
        w->stream.next_out = w->out;
        w->stream.avail_out = sizeof w->out;
        const int r = isal_deflate(&w->stream);
        assert(r == COMP_OK); /* other results mean wrong arguments */
        const uint64_t size = sizeof w->out - w->stream.avail_out;
        if (size > 0) w->result = w->sink(w->arg, w->out, size);
        if (w->result != 0) return w->result;
    } while (w->stream.avail_out == 0);
    assert(w->stream.avail_in == 0);
    w->used = 0;
    return 0;
}

int gzip_writer_write(struct gzip_writer *w, const void *data, uint64_t size)
{
    assert(!w->finished);
    const uint8_t *p = data;
    while (size > 0 && w->result == 0) {
        const uint64_t room = sizeof w->in - w->used;
        const uint64_t n = size < room ? size : room;
        memcpy(w->in + w->used, p, n);
        w->used += (uint32_t)n;
        p += n;
        size -= n;
        if (w->used == sizeof w->in) compress_block(w, false);
    }
    return w->result;
}

int gzip_writer_finish(struct gzip_writer *w)
{
    assert(!w->finished);
    w->finished = true;
    return w->result == 0 ? compress_block(w, true) : w->result;
}
