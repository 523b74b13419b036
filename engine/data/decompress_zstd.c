/* zstd, by libzstd, which skips skippable frames. The window, and with it the memory, is limited:
 * the header of a frame may demand up to 2 GiB. */
#define ZSTD_STATIC_LINKING_ONLY /* for an allocator of ours */
#include "engine/base/mem.h"
#include "engine/data/decompress_codec.h"
#include "engine/limits.h"

#include <assert.h>
#include <zstd.h>
#include <zstd_errors.h>

#define WINDOW_LOG_MAX 27

static_assert(UINT64_C(1) << WINDOW_LOG_MAX <= DECOMPRESS_MEMORY_MAX, "the limit of all formats");

struct zstd_state {
    ZSTD_DCtx *context;
};

static void *zstd_alloc(void *arg, size_t size)
{
    (void)arg;
    return mem_alloc(size);
}

static void zstd_free(void *arg, void *block)
{
    (void)arg;
    mem_free(block);
}

static bool zstd_open(void *state)
{
    struct zstd_state *s = state;
    s->context = ZSTD_createDCtx_advanced((ZSTD_customMem){zstd_alloc, zstd_free, NULL});
    if (s->context == NULL) return false;
    const size_t r = ZSTD_DCtx_setParameter(s->context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    assert(!ZSTD_isError(r)); /* the parameter is valid */
    return true;
}

static enum decode_result zstd_error(struct decode *d, size_t result)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation: return DECODE_NO_MEMORY;
    case ZSTD_error_frameParameter_windowTooLarge: return DECODE_TOO_LARGE;
    case ZSTD_error_prefix_unknown: d->problem = "not a zstd header"; break;
    case ZSTD_error_checksum_wrong: d->problem = "wrong checksum"; break;
    case ZSTD_error_dictionary_wrong: d->problem = "it needs a dictionary"; break;
    default: d->problem = "bad block"; break;
    }
    return DECODE_CORRUPT;
}

static enum decode_result zstd_decode(void *state, struct decode *d)
{
    struct zstd_state *s = state;
    ZSTD_inBuffer in = {d->in, d->in_size, 0};
    ZSTD_outBuffer out = {d->out, d->out_size, 0};
    const size_t result = ZSTD_decompressStream(s->context, &out, &in);
    d->in += in.pos;
    d->in_size -= in.pos;
    d->out += out.pos;
    d->out_size -= out.pos;
    if (ZSTD_isError(result)) return zstd_error(d, result);
    return result == 0 ? DECODE_FRAME_END : DECODE_MORE;
}

static void zstd_close(void *state)
{
    ZSTD_freeDCtx(((struct zstd_state *)state)->context);
}

const struct decompress_codec decompress_zstd = {.name = "zstd",
                                                 .check = "zstd -t",
                                                 .unpack = "zstd -d --long=31",
                                                 .state_size = sizeof(struct zstd_state),
                                                 .open = zstd_open,
                                                 .decode = zstd_decode,
                                                 .close = zstd_close};
