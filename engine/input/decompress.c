/* Reads a compressed file and passes it to its format's decoder, frame by frame. Detects the end of
 * the file inside a frame, for which some libraries report success. */
#include "engine/input/decompress.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/input/decompress_codec.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define IN_BYTES (64 * KIB)

/* The states, with the function of each change:
 *
 *     BETWEEN_FRAMES -> IN_FRAME       [next_compressed_frame]
 *     IN_FRAME       -> BETWEEN_FRAMES [decode_some]
 *     BETWEEN_FRAMES -> ENDED          [next_compressed_frame, skip_padding] */
enum decompressor_state { BETWEEN_FRAMES, IN_FRAME, ENDED };

struct decompressor {
    const struct input_source *source;
    const struct decompress_codec *codec;
    void *codec_state;
    enum decompressor_state state;
    uint64_t in_at; /* offset of `in` in the file */
    uint64_t to;    /* 0: none */
    bool past;      /* the frame that ends at `to` is done */
    bool file_ended;
    uint64_t frames;   /* started so far */
    uint64_t frame_at; /* offset of the last one */
    uint64_t in_size;
    const uint8_t *next; /* the unread part of `in` */
    uint64_t left;
    uint8_t in[IN_BYTES];
};

static const struct decompress_codec *const codecs[COMPRESSION_COUNT] = {
    [COMPRESSION_GZIP] = &decompress_gzip,   [COMPRESSION_ZSTD] = &decompress_zstd,
    [COMPRESSION_BZIP2] = &decompress_bzip2, [COMPRESSION_XZ] = &decompress_xz,
    [COMPRESSION_LZ4] = &decompress_lz4,
};

struct decompressor *decompressor_create(const struct input_source *source,
                                         enum compression compression, uint64_t from, uint64_t to)
{
    assert(compression > COMPRESSION_NONE && compression < COMPRESSION_COUNT);
    const struct decompress_codec *codec = codecs[compression];
    struct decompressor *z = mem_alloc(sizeof *z);
    if (z == NULL) return NULL;
    memset(z, 0, offsetof(struct decompressor, in)); /* the buffer needs no zeros */
    z->source = source;
    z->codec = codec;
    z->in_at = from;
    z->frames = from > 0; /* those before: padding may follow */
    z->to = to;
    z->next = z->in;
    z->codec_state = mem_zalloc(codec->state_size);
    if (z->codec_state != NULL && codec->open(z->codec_state)) return z;
    decompressor_destroy(z);
    return NULL;
}

void decompressor_destroy(struct decompressor *z)
{
    if (z == NULL) return;
    if (z->codec_state != NULL) z->codec->close(z->codec_state);
    mem_free(z->codec_state);
    mem_free(z);
}

uint64_t decompressor_offset(const struct decompressor *z)
{
    return z->in_at + (z->in_size - z->left);
}

bool decompressor_is_past(const struct decompressor *z)
{
    return z->past;
}

static int set_truncated(const struct decompressor *z, struct glint_error *error)
{
    return error_set(error, GLINT_E_COMPRESSED_TRUNCATED, "copy or download the file again",
                     "%s: the %s data ends early, at byte %" PRIu64, z->source->path,
                     z->codec->name, decompressor_offset(z));
}

static int set_corrupt(const struct decompressor *z, struct glint_error *error, const char *reason)
{
    char hint[sizeof error->hint];
    text_format(hint, sizeof hint, "check the file with %s", z->codec->check);
    return error_set(error, GLINT_E_COMPRESSED_CORRUPT, hint,
                     "%s: damaged %s data at byte %" PRIu64 ": %s", z->source->path, z->codec->name,
                     decompressor_offset(z), reason);
}

static int set_too_large(const struct decompressor *z, struct glint_error *error)
{
    char hint[sizeof error->hint];
    text_format(hint, sizeof hint, "decompress it first (%s), or compress it with a smaller window",
                z->codec->unpack);
    return error_set(error, GLINT_E_INPUT_FORMAT, hint,
                     "%s: to decompress the %s data at byte %" PRIu64 " takes more than %" PRIu64
                     " MiB of memory",
                     z->source->path, z->codec->name, decompressor_offset(z),
                     DECOMPRESS_MEMORY_MAX / MIB);
}

static int set_old_format(const struct decompressor *z, struct glint_error *error)
{
    char hint[sizeof error->hint];
    text_format(hint, sizeof hint, "decompress it first (%s)", z->codec->unpack);
    return error_set(error, GLINT_E_INPUT_FORMAT, hint,
                     "%s: the %s data at byte %" PRIu64 " is in its old format", z->source->path,
                     z->codec->name, z->frame_at);
}

/* What follows the last frame, at `at`, is no frame. */
static int set_trailing(const struct decompressor *z, uint64_t at, struct glint_error *error)
{
    char hint[sizeof error->hint], reader[64], count[32] = "";
    text_format(reader, sizeof reader, "head -c %" PRIu64, at);
    text_format(hint, sizeof hint, "to read what precedes them: %s FILE | glint ... -",
                z->codec->ignores_trailing != NULL ? z->codec->ignores_trailing : reader);
    if (z->source->size > at)
        text_format(count, sizeof count, "%" PRIu64 " ", z->source->size - at);
    return error_set(error, GLINT_E_COMPRESSED_CORRUPT, hint,
                     "%s: %sbytes follow the end of the %s data, from byte %" PRIu64,
                     z->source->path, count, z->codec->name, at);
}

static int set_decode_error(const struct decompressor *z, enum decode_result result,
                            const char *problem, struct glint_error *error)
{
    assert(result > DECODE_FRAME_END);
    if (result == DECODE_NO_MEMORY) return error_no_memory(error);
    if (result == DECODE_TOO_LARGE) return set_too_large(z, error);
    if (result == DECODE_OLD_FORMAT) return set_old_format(z, error);
    if (result == DECODE_NO_FRAME && z->frames > 1) return set_trailing(z, z->frame_at, error);
    return set_corrupt(z, error, problem != NULL ? problem : "cannot be decompressed");
}

/* Reads the next bytes into the empty `in`. Returns 0 or a code. */
static int refill_input(struct decompressor *z, struct glint_error *error)
{
    assert(z->left == 0);
    if (z->file_ended) return 0;
    z->in_at += z->in_size;
    z->in_size = 0;
    const int64_t n = input_source_read_some(z->source, z->in, IN_BYTES, z->in_at, error);
    if (n < 0) return (int)n;
    assert((uint64_t)n <= IN_BYTES);
    z->file_ended = n == 0;
    z->in_size = z->left = (uint64_t)n;
    z->next = z->in;
    return 0;
}

/* The byte after the padding is not zero. */
static int end_padding(const struct decompressor *z, uint64_t zeros, struct glint_error *error)
{
    if (!z->codec->frames_after_padding)
        return set_trailing(z, decompressor_offset(z) - zeros, error);
    if (zeros % z->codec->padding == 0) return 0;
    return set_corrupt(z, error, "the padding before it has a wrong length");
}

/* Zeros up to the end of the file are no error: tapes pad files with them. */
static int skip_padding(struct decompressor *z, struct glint_error *error)
{
    uint64_t zeros = 0;
    for (;;) {
        for (; z->left > 0; z->left--, z->next++, zeros++)
            if (*z->next != 0) return end_padding(z, zeros, error);
        int r = refill_input(z, error);
        if (r < 0) return r;
        if (z->file_ended) break;
    }
    if (zeros % z->codec->padding != 0) return set_truncated(z, error);
    z->state = ENDED;
    return 0;
}

static int next_compressed_frame(struct decompressor *z, struct glint_error *error)
{
    assert(z->state == BETWEEN_FRAMES);
    int r = z->left == 0 ? refill_input(z, error) : 0;
    if (r < 0) return r;
    if (z->left == 0) {
        if (z->frames == 0) return set_truncated(z, error);
        z->state = ENDED;
        return 0;
    }
    /* Padding only after a frame: a file that starts with a zero byte has another format. */
    if (z->frames > 0 && *z->next == 0 && z->codec->padding > 0) return skip_padding(z, error);
    z->frames++;
    z->frame_at = decompressor_offset(z);
    const enum decode_result result =
        z->codec->begin != NULL ? z->codec->begin(z->codec_state) : DECODE_MORE;
    if (result != DECODE_MORE) return set_decode_error(z, result, NULL, error);
    z->state = IN_FRAME;
    return 0;
}

/* Returns the number of bytes written to `out`, or a code. */
static int64_t decode_some(struct decompressor *z, void *out, uint64_t size,
                           struct glint_error *error)
{
    int r = z->left == 0 ? refill_input(z, error) : 0;
    if (r < 0) return r;
    struct decode d = {.in = z->next, .in_size = z->left, .out = out, .out_size = size};
    const enum decode_result result = z->codec->decode(z->codec_state, &d);
    assert(d.in_size <= z->left && d.out_size <= size);
    const bool progress = d.in_size < z->left || d.out_size < size;
    z->next = d.in;
    z->left = d.in_size;
    if (result > DECODE_FRAME_END) return set_decode_error(z, result, d.problem, error);
    if (result == DECODE_FRAME_END)
        z->state = BETWEEN_FRAMES;
    else if (!progress)
        return z->left == 0 ? set_truncated(z, error)
                            : set_corrupt(z, error, "cannot be decompressed");
    return (int64_t)(size - d.out_size);
}

/* Between two frames: returns 1 if the frame before is the one that ends at `to`, 0 if not. */
static int check_past(struct decompressor *z, struct glint_error *error)
{
    const uint64_t at = decompressor_offset(z);
    if (z->to == 0 || z->past || at < z->to) return 0;
    if (at > z->to) return set_corrupt(z, error, "the frame ends later than its header says");
    z->past = true;
    return 1;
}

int64_t decompressor_read(struct decompressor *z, void *out, uint64_t size,
                          struct glint_error *error)
{
    assert(size > 0 && size <= INT64_MAX);
    uint64_t done = 0;
    while (done < size && z->state != ENDED) {
        int64_t n;
        if (z->state == IN_FRAME) {
            n = decode_some(z, (uint8_t *)out + done, size - done, error);
        } else {
            n = check_past(z, error);
            if (n > 0) break;
            if (n == 0) n = next_compressed_frame(z, error);
        }
        if (n < 0) return n;
        done += (uint64_t)n;
    }
    return (int64_t)done;
}
