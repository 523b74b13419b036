/* Content is collected into blocks of one size before it is compressed, so that the output does not
 * depend on how the caller divides its data. */
#define ZSTD_STATIC_LINKING_ONLY /* for an allocator of ours */
#include "engine/input/compress.h"

#include "engine/base/mem.h"
#include "engine/limits.h"

#include <assert.h>
#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <zstd.h>

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

/* ---- zstd. Collects the content of a frame and compresses it in one call: streaming calls may
 * divide it into blocks by their own sizes. */

#define FRAME_BYTES MIB

struct zstd_writer {
    int (*sink)(void *arg, const void *data, uint64_t size);
    void *arg;
    int result; /* the first non-zero result of the sink */
    bool finished, any;
    ZSTD_CCtx *context;
    uint64_t used;
    uint8_t in[FRAME_BYTES], out[ZSTD_COMPRESSBOUND(FRAME_BYTES)];
};

static void *zstd_writer_alloc(void *arg, size_t size)
{
    (void)arg;
    return mem_alloc(size);
}

static void zstd_writer_free(void *arg, void *block)
{
    (void)arg;
    mem_free(block);
}

/* Compresses the current frame into `out`. Returns its size, or 0 when out of memory. */
static size_t compress_frame(struct zstd_writer *w)
{
    const size_t size = ZSTD_compress2(w->context, w->out, sizeof w->out, w->in, w->used);
    return ZSTD_isError(size) ? 0 : size; /* its arguments are right, so only memory can lack */
}

struct zstd_writer *zstd_writer_create(int (*sink)(void *arg, const void *data, uint64_t size),
                                       void *arg)
{
    struct zstd_writer *w = mem_alloc(sizeof *w);
    if (w == NULL) return NULL;
    memset(w, 0, offsetof(struct zstd_writer, in)); /* the buffers need no zeros */
    w->sink = sink;
    w->arg = arg;
    w->context =
        ZSTD_createCCtx_advanced((ZSTD_customMem){zstd_writer_alloc, zstd_writer_free, NULL});
    if (w->context != NULL) {
        ZSTD_CCtx_setParameter(w->context, ZSTD_c_compressionLevel, 1);
        ZSTD_CCtx_setParameter(w->context, ZSTD_c_checksumFlag, 1);
        /* A first frame of the full size allocates all memory that later ones need. */
        w->used = FRAME_BYTES;
        memset(w->in, 0, FRAME_BYTES);
        const size_t tried = compress_frame(w);
        w->used = 0;
        if (tried > 0) return w;
    }
    zstd_writer_destroy(w);
    return NULL;
}

void zstd_writer_destroy(struct zstd_writer *w)
{
    if (w == NULL) return;
    ZSTD_freeCCtx(w->context);
    mem_free(w);
}

static int write_frame(struct zstd_writer *w)
{
    const size_t size = compress_frame(w);
    assert(size > 0); /* the memory is there: see zstd_writer_create */
    w->used = 0;
    w->any = true;
    return w->result = w->sink(w->arg, w->out, size);
}

int zstd_writer_write(struct zstd_writer *w, const void *data, uint64_t size)
{
    assert(!w->finished);
    const uint8_t *p = data;
    while (size > 0 && w->result == 0) {
        const uint64_t room = FRAME_BYTES - w->used;
        const uint64_t n = size < room ? size : room;
        memcpy(w->in + w->used, p, n);
        w->used += n;
        p += n;
        size -= n;
        if (w->used == FRAME_BYTES) write_frame(w);
    }
    return w->result;
}

int zstd_writer_finish(struct zstd_writer *w)
{
    assert(!w->finished);
    w->finished = true;
    if (w->result != 0 || (w->used == 0 && w->any)) return w->result;
    return write_frame(w); /* of empty content, too: the file must be one of zstd */
}
