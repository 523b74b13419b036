/* xz, by liblzma. A file may demand any amount of memory for its dictionary, so it is limited; the
 * strongest preset, xz -9, needs 65 MiB. */
#include "engine/base/mem.h"
#include "engine/input/decompress_codec.h"
#include "engine/limits.h"

#include <lzma.h>

struct xz_state {
    lzma_stream stream;
    lzma_allocator allocator;
};

static void *xz_alloc(void *arg, size_t count, size_t size)
{
    (void)arg;
    return size > 0 && count > SIZE_MAX / size ? NULL : mem_alloc(count * size);
}

static void xz_free(void *arg, void *block)
{
    (void)arg;
    mem_free(block);
}

static bool xz_open(void *state)
{
    struct xz_state *s = state;
    s->allocator = (lzma_allocator){.alloc = xz_alloc, .free = xz_free};
    s->stream = (lzma_stream)LZMA_STREAM_INIT;
    s->stream.allocator = &s->allocator;
    return true;
}

/* Reuses the memory of the frame before. */
static enum decode_result xz_begin(void *state)
{
    struct xz_state *s = state;
    return lzma_stream_decoder(&s->stream, DECOMPRESS_MEMORY_MAX, LZMA_TELL_UNSUPPORTED_CHECK) ==
                   LZMA_OK
               ? DECODE_MORE
               : DECODE_NO_MEMORY;
}

static enum decode_result xz_decode(void *state, struct decode *d)
{
    struct xz_state *s = state;
    s->stream.next_in = d->in;
    s->stream.avail_in = d->in_size;
    s->stream.next_out = d->out;
    s->stream.avail_out = d->out_size;
    const lzma_ret result = lzma_code(&s->stream, LZMA_RUN);
    d->in = s->stream.next_in;
    d->in_size = s->stream.avail_in;
    d->out = s->stream.next_out;
    d->out_size = s->stream.avail_out;
    switch (result) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: return DECODE_MORE; /* no progress */
    case LZMA_STREAM_END: return DECODE_FRAME_END;
    case LZMA_MEM_ERROR: return DECODE_NO_MEMORY;
    case LZMA_MEMLIMIT_ERROR: return DECODE_TOO_LARGE;
    case LZMA_FORMAT_ERROR: d->problem = "not an xz header"; return DECODE_NO_FRAME;
    case LZMA_OPTIONS_ERROR: d->problem = "unknown filters or options"; break;
    case LZMA_UNSUPPORTED_CHECK: d->problem = "unknown type of checksum"; break;
    default: d->problem = "bad block or wrong checksum"; break;
    }
    return DECODE_CORRUPT;
}

static void xz_close(void *state)
{
    lzma_end(&((struct xz_state *)state)->stream);
}

const struct decompress_codec decompress_xz = {.name = "xz",
                                               .check = "xz -t",
                                               .unpack = "xz -d",
                                               .state_size = sizeof(struct xz_state),
                                               .padding = 4,
                                               .frames_after_padding = true,
                                               .open = xz_open,
                                               .begin = xz_begin,
                                               .decode = xz_decode,
                                               .close = xz_close};
