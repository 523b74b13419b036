/* bzip2, by libbz2. */
#include "engine/base/mem.h"
#include "engine/input/decompress_codec.h"
#include "engine/limits.h"

#include <bzlib.h>

struct bzip2_state {
    bz_stream stream;
    bool started; /* the stream has memory of libbz2 */
};

static void *bzip2_alloc(void *arg, int items, int size)
{
    (void)arg;
    return items < 0 || size < 0 ? NULL : mem_alloc((uint64_t)items * (uint64_t)size);
}

static void bzip2_free(void *arg, void *block)
{
    (void)arg;
    mem_free(block);
}

static bool bzip2_open(void *state)
{
    struct bzip2_state *s = state;
    s->stream.bzalloc = bzip2_alloc;
    s->stream.bzfree = bzip2_free;
    return true;
}

static void bzip2_end(struct bzip2_state *s)
{
    if (s->started) BZ2_bzDecompressEnd(&s->stream);
    s->started = false;
}

static enum decode_result bzip2_begin(void *state)
{
    struct bzip2_state *s = state;
    bzip2_end(s);
    s->started = BZ2_bzDecompressInit(&s->stream, 0, 0) == BZ_OK;
    return s->started ? DECODE_MORE : DECODE_NO_MEMORY;
}

static enum decode_result bzip2_decode(void *state, struct decode *d)
{
    struct bzip2_state *s = state;
    const uint32_t room = d->out_size < GIB ? (uint32_t)d->out_size : (uint32_t)GIB;
    s->stream.next_in = (char *)d->in;
    s->stream.avail_in = (uint32_t)d->in_size;
    s->stream.next_out = (char *)d->out;
    s->stream.avail_out = room;
    const int result = BZ2_bzDecompress(&s->stream);
    d->in += d->in_size - s->stream.avail_in;
    d->in_size = s->stream.avail_in;
    d->out += room - s->stream.avail_out;
    d->out_size -= room - s->stream.avail_out;
    switch (result) {
    case BZ_OK: return DECODE_MORE;
    case BZ_STREAM_END: return DECODE_FRAME_END;
    case BZ_MEM_ERROR: return DECODE_NO_MEMORY;
    case BZ_DATA_ERROR_MAGIC: d->problem = "not a bzip2 header"; return DECODE_NO_FRAME;
    default: d->problem = "bad block or wrong checksum"; break;
    }
    return DECODE_CORRUPT;
}

static void bzip2_close(void *state)
{
    bzip2_end(state);
}

const struct decompress_codec decompress_bzip2 = {.name = "bzip2",
                                                  .check = "bzip2 -t",
                                                  .unpack = "bzip2 -d",
                                                  .ignores_trailing = "bzip2 -dc",
                                                  .state_size = sizeof(struct bzip2_state),
                                                  .open = bzip2_open,
                                                  .begin = bzip2_begin,
                                                  .decode = bzip2_decode,
                                                  .close = bzip2_close};
