/* The frame format of lz4, by liblz4, which skips skippable frames. A block has at most 4 MiB. The
 * old format, which the program lz4 reads in any frame, is only detected. */
#include "engine/input/decompress_codec.h"

#include <lz4frame.h>
#include <string.h>

struct lz4_state {
    LZ4F_dctx *context;
    uint8_t magic[4]; /* of the frame, as far as it was read */
    size_t magic_size;
};

static bool lz4_open(void *state)
{
    return !LZ4F_isError(
        LZ4F_createDecompressionContext(&((struct lz4_state *)state)->context, LZ4F_VERSION));
}

static enum decode_result lz4_begin(void *state)
{
    struct lz4_state *s = state;
    LZ4F_resetDecompressionContext(s->context);
    s->magic_size = 0;
    return DECODE_MORE;
}

/* The library has only names for its errors. */
static enum decode_result lz4_error(struct decode *d, size_t result)
{
    static const struct {
        const char *name, *problem;
    } problems[] = {
        {"ERROR_headerChecksum_invalid", "wrong header checksum"},
        {"ERROR_contentChecksum_invalid", "wrong checksum"},
        {"ERROR_blockChecksum_invalid", "wrong block checksum"},
        {"ERROR_frameSize_wrong", "its size is not the one in its header"},
    };
    const char *name = LZ4F_getErrorName(result);
    if (strcmp(name, "ERROR_allocation_failed") == 0) return DECODE_NO_MEMORY;
    if (strcmp(name, "ERROR_frameType_unknown") == 0) {
        d->problem = "not an lz4 header";
        return DECODE_NO_FRAME;
    }
    d->problem = "bad block";
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        if (strcmp(name, problems[i].name) == 0) d->problem = problems[i].problem;
    return DECODE_CORRUPT;
}

static enum decode_result lz4_decode(void *state, struct decode *d)
{
    struct lz4_state *s = state;
    size_t in = d->in_size, out = d->out_size;
    const size_t missing = sizeof s->magic - s->magic_size, keep = in < missing ? in : missing;
    memcpy(s->magic + s->magic_size, d->in, keep);
    s->magic_size += keep;
    if (s->magic_size == sizeof s->magic && memcmp(s->magic, "\x02\x21\x4c\x18", 4) == 0)
        return DECODE_OLD_FORMAT;
    const size_t result = LZ4F_decompress(s->context, d->out, &out, d->in, &in, NULL);
    if (LZ4F_isError(result)) return lz4_error(d, result);
    d->in += in;
    d->in_size -= in;
    d->out += out;
    d->out_size -= out;
    return result == 0 ? DECODE_FRAME_END : DECODE_MORE;
}

static void lz4_close(void *state)
{
    LZ4F_freeDecompressionContext(((struct lz4_state *)state)->context);
}

const struct decompress_codec decompress_lz4 = {.name = "lz4",
                                                .check = "lz4 -t",
                                                .unpack = "lz4 -d",
                                                .state_size = sizeof(struct lz4_state),
                                                .open = lz4_open,
                                                .begin = lz4_begin,
                                                .decode = lz4_decode,
                                                .close = lz4_close};
