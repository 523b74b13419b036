/* Content is collected into blocks of one size before it is compressed, so that the output does not
 * depend on how the caller divides its data. A frame of zstd is compressed in one call: streaming
 * calls may divide it into blocks by their own sizes. */
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

#define GZIP_BLOCK_BYTES (64 * KIB)
#define GZIP_FIRST_BYTES 16
#define ZSTD_FRAME_BYTES MIB

struct compressor {
    int (*sink)(void *arg, const void *data, uint64_t size);
    void *arg;
    int result; /* the first non-zero result of the sink */
    bool finished, any;
    struct isal_zstream gzip;
    ZSTD_CCtx *zstd; /* NULL: gzip */
    uint64_t used, block_bytes, out_bytes;
    uint8_t *in, *out; /* in `memory`; of gzip its level's buffer follows */
    _Alignas(64) uint8_t memory[];
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

/* Compresses the block into `out`. Returns its size, or 0 when out of memory. */
static size_t compress_frame(struct compressor *w)
{
    const size_t size = ZSTD_compress2(w->zstd, w->out, w->out_bytes, w->in, w->used);
    return ZSTD_isError(size) ? 0 : size; /* its arguments are right, so only memory can lack */
}

static void open_gzip_compressor(struct compressor *w)
{
    isal_deflate_init(&w->gzip);
    w->gzip.level = 1;
    w->gzip.level_buf = w->out + w->out_bytes;
    w->gzip.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    w->gzip.gzip_flag = IGZIP_GZIP;
}

/* Returns false when out of memory. */
static bool open_zstd_compressor(struct compressor *w)
{
    w->zstd = ZSTD_createCCtx_advanced((ZSTD_customMem){zstd_writer_alloc, zstd_writer_free, NULL});
    if (w->zstd == NULL) return false;
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
    /* A first frame of the full size allocates all memory that later ones need. */
    w->used = w->block_bytes;
    memset(w->in, 0, w->block_bytes);
    const size_t tried = compress_frame(w);
    w->used = 0;
    return tried > 0;
}

struct compressor *compressor_create(enum compression compression,
                                     int (*sink)(void *arg, const void *data, uint64_t size),
                                     void *arg)
{
    const bool zstd = compression == COMPRESSION_ZSTD;
    const uint64_t block = zstd ? ZSTD_FRAME_BYTES : GZIP_BLOCK_BYTES;
    const uint64_t out = zstd ? ZSTD_COMPRESSBOUND(ZSTD_FRAME_BYTES) : block;
    assert(zstd || compression == COMPRESSION_GZIP);
    struct compressor *w = mem_alloc(sizeof *w + block + out + (zstd ? 0 : ISAL_DEF_LVL1_DEFAULT));
    if (w == NULL) return NULL;
    memset(w, 0, sizeof *w); /* the buffers need no zeros */
    w->sink = sink;
    w->arg = arg;
    w->block_bytes = block;
    w->out_bytes = out;
    w->in = w->memory;
    w->out = w->memory + block;
    if (!zstd) open_gzip_compressor(w);
    if (!zstd || open_zstd_compressor(w)) return w;
    compressor_destroy(w);
    return NULL;
}

void compressor_destroy(struct compressor *w)
{
    if (w == NULL) return;
    ZSTD_freeCCtx(w->zstd);
    mem_free(w);
}

/* Passes all output to the sink. */
static int deflate_bytes(struct compressor *w, uint8_t *in, uint64_t size, uint16_t flush,
                         bool last)
{
    w->gzip.next_in = in;
    w->gzip.avail_in = (uint32_t)size;
    w->gzip.flush = flush;
    w->gzip.end_of_stream = last;
    do {
        w->gzip.next_out = w->out;
        w->gzip.avail_out = (uint32_t)w->out_bytes;
        const int r = isal_deflate(&w->gzip);
        assert(r == COMP_OK); /* other results mean wrong arguments */
        const uint64_t out = w->out_bytes - w->gzip.avail_out;
        if (out > 0) w->result = w->sink(w->arg, w->out, out);
        if (w->result != 0) return w->result;
    } while (w->gzip.avail_out == 0);
    assert(w->gzip.avail_in == 0);
    return 0;
}

/* The fast loop of ISA-L 2.30 takes the address of the stream for bytes when it hashes the third
 * position of a stream, so one output in some thousand would have other matches, and bytes. The
 * first bytes are flushed alone: so few of them go through its careful loop. */
static int deflate_block(struct compressor *w, bool last)
{
    const uint64_t used = w->used;
    const uint64_t first = w->gzip.total_in == 0 && used > GZIP_FIRST_BYTES ? GZIP_FIRST_BYTES : 0;
    int r = first > 0 ? deflate_bytes(w, w->in, first, SYNC_FLUSH, false) : 0;
    w->used = 0;
    return r != 0 ? r : deflate_bytes(w, w->in + first, used - first, NO_FLUSH, last);
}

static int write_compressed_block(struct compressor *w, bool last)
{
    w->any = true;
    if (w->zstd == NULL) return deflate_block(w, last);
    const size_t size = compress_frame(w);
    assert(size > 0); /* the memory is there: see open_zstd_compressor */
    w->used = 0;
    return w->result = w->sink(w->arg, w->out, size);
}

int compressor_write(struct compressor *w, const void *data, uint64_t size)
{
    assert(!w->finished);
    const uint8_t *p = data;
    while (size > 0 && w->result == 0) {
        const uint64_t room = w->block_bytes - w->used;
        const uint64_t n = size < room ? size : room;
        memcpy(w->in + w->used, p, n);
        w->used += n;
        p += n;
        size -= n;
        if (w->used == w->block_bytes) write_compressed_block(w, false);
    }
    return w->result;
}

int compressor_finish(struct compressor *w)
{
    assert(!w->finished);
    w->finished = true;
    const bool complete = w->zstd != NULL && w->used == 0 && w->any;
    if (w->result != 0 || complete) return w->result;
    return write_compressed_block(
        w, true); /* of empty content, too: the file must be one of its format */
}
