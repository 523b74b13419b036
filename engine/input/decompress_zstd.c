/* zstd, by libzstd, which skips skippable frames. The window, and with it the memory, is limited:
 * the header of a frame may demand up to 2 GiB. */
#define ZSTD_STATIC_LINKING_ONLY /* for an allocator of ours */
#include "engine/base/mem.h"
#include "engine/input/decompress_codec.h"
#include "engine/limits.h"

#include <assert.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define WINDOW_LOG_MAX 27

static_assert(UINT64_C(1) << WINDOW_LOG_MAX <= DECOMPRESS_MEMORY_MAX, "the limit of all formats");

struct zstd_state {
    ZSTD_DCtx *context;
    uint8_t head[ZSTD_FRAMEHEADERSIZE_MAX]; /* of the frame, as far as it was read */
    size_t head_size;
    uint64_t content; /* bytes of the frame so far */
};

/* Frames begin with 0x28, skippable ones with 0x50 to 0x5f. Libraries may also decode formats of
 * before zstd 1.0, without all of their checks: what they return for damaged data depends on the
 * sizes of the pieces. */
static bool begins_frame(uint8_t byte)
{
    return byte == 0x28 || (byte & 0xf0) == 0x50;
}

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
    case ZSTD_error_prefix_unknown: d->problem = "not a zstd header"; return DECODE_NO_FRAME;
    case ZSTD_error_checksum_wrong: d->problem = "wrong checksum"; break;
    case ZSTD_error_dictionary_wrong: d->problem = "it needs a dictionary"; break;
    /* A frame that was made with raw content as its dictionary does not say so. */
    default: d->problem = "bad block, or it needs a dictionary"; break;
    }
    return DECODE_CORRUPT;
}

/* The library does not compare the size of the content with the header if the last block is empty.
 */
static enum decode_result end_frame(struct zstd_state *s, struct decode *d)
{
    const unsigned long long size = s->head[0] == 0x28
                                        ? ZSTD_getFrameContentSize(s->head, s->head_size)
                                        : ZSTD_CONTENTSIZE_UNKNOWN;
    const bool equal = size == ZSTD_CONTENTSIZE_UNKNOWN || size == s->content;
    s->head_size = 0;
    s->content = 0;
    if (equal) return DECODE_FRAME_END;
    d->problem = "a frame has less content than its header says";
    return DECODE_CORRUPT;
}

static enum decode_result zstd_decode(void *state, struct decode *d)
{
    struct zstd_state *s = state;
    ZSTD_inBuffer in = {d->in, d->in_size, 0};
    ZSTD_outBuffer out = {d->out, d->out_size, 0};
    if (s->head_size == 0 && d->in_size > 0 && !begins_frame(d->in[0])) {
        d->problem = "not a zstd header";
        return DECODE_NO_FRAME;
    }
    const size_t result = ZSTD_decompressStream(s->context, &out, &in);
    const size_t room = sizeof s->head - s->head_size, keep = in.pos < room ? in.pos : room;
    memcpy(s->head + s->head_size, d->in, keep);
    s->head_size += keep;
    s->content += out.pos;
    d->in += in.pos;
    d->in_size -= in.pos;
    d->out += out.pos;
    d->out_size -= out.pos;
    if (ZSTD_isError(result)) return zstd_error(d, result);
    return result > 0 ? DECODE_MORE : end_frame(s, d);
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
