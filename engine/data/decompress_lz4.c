/* The frame format of lz4, by liblz4, which skips skippable frames. A block has at most 4 MiB. */
#include "engine/data/decompress_codec.h"

#include <lz4frame.h>
#include <string.h>

struct lz4_state {
    LZ4F_dctx *context;
};

static bool lz4_open(void *state)
{
    return !LZ4F_isError(
        LZ4F_createDecompressionContext(&((struct lz4_state *)state)->context, LZ4F_VERSION));
}

static enum decode_result lz4_begin(void *state)
{
    LZ4F_resetDecompressionContext(((struct lz4_state *)state)->context);
    return DECODE_MORE;
}

/* The library has only names for its errors. */
static enum decode_result lz4_error(struct decode *d, size_t result)
{
    static const struct {
        const char *name, *problem;
    } problems[] = {
        {"ERROR_frameType_unknown", "not an lz4 header"},
        {"ERROR_headerChecksum_invalid", "wrong header checksum"},
        {"ERROR_contentChecksum_invalid", "wrong checksum"},
        {"ERROR_blockChecksum_invalid", "wrong block checksum"},
        {"ERROR_frameSize_wrong", "its size is not the one in its header"},
    };
    const char *name = LZ4F_getErrorName(result);
    if (strcmp(name, "ERROR_allocation_failed") == 0) return DECODE_NO_MEMORY;
    d->problem = "bad block";
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        if (strcmp(name, problems[i].name) == 0) d->problem = problems[i].problem;
    return DECODE_CORRUPT;
}

static enum decode_result lz4_decode(void *state, struct decode *d)
{
    struct lz4_state *s = state;
    size_t in = d->in_size, out = d->out_size;
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
