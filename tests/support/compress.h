/* Compresses bytes in each format that glint reads, as one frame, and files of many frames: for
 * tests of readers. Ends the program on an error. */
#ifndef TESTS_SUPPORT_COMPRESS_H
#define TESTS_SUPPORT_COMPRESS_H

#include "engine/base/mem.h"
#include "engine/input/compress.h"
#include "engine/input/decompress.h"

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static inline int compress_keep(void *arg, const void *data, uint64_t size)
{
    if (!buffer_append(arg, data, size)) abort();
    return 0;
}

static inline void compress_gzip(const void *data, uint64_t size, struct buffer *out)
{
    struct compressor *w = compressor_create(COMPRESSION_GZIP, compress_keep, out);
    if (compressor_write(w, data, size) != 0 || compressor_finish(w) != 0) abort();
    compressor_destroy(w);
}

/* Appends one frame. */
static inline void compress_frame(enum compression compression, const void *data, uint64_t size,
                                  struct buffer *out)
{
    if (compression == COMPRESSION_GZIP) {
        compress_gzip(data, size, out);
        return;
    }
    if (!buffer_reserve(out, 2 * size + 1024)) abort();
    uint8_t *to = out->data + out->size;
    size_t room = out->capacity - out->size, used = 0;
    unsigned int bzip2_used = (unsigned int)room;
    LZ4F_preferences_t lz4 = {.frameInfo = {.contentChecksumFlag = LZ4F_contentChecksumEnabled}};
    ZSTD_CCtx *zstd;
    switch (compression) {
    case COMPRESSION_ZSTD:
        zstd = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
        used = ZSTD_compress2(zstd, to, room, data, size);
        ZSTD_freeCCtx(zstd);
        if (ZSTD_isError(used)) abort();
        break;
    case COMPRESSION_BZIP2:
        if (BZ2_bzBuffToBuffCompress((char *)to, &bzip2_used, (char *)data, (unsigned int)size, 1,
                                     0, 0) != BZ_OK)
            abort();
        used = bzip2_used;
        break;
    case COMPRESSION_XZ:
        if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, size, to, &used, room) !=
            LZMA_OK)
            abort();
        break;
    case COMPRESSION_LZ4:
        used = LZ4F_compressFrame(to, room, data, size, &lz4);
        if (LZ4F_isError(used)) abort();
        break;
    default: abort();
    }
    out->size += used;
}

/* Appends one block of BGZF: a gzip member whose extra field BC is its size less 1. */
static inline void compress_bgzf_block(const void *data, uint64_t size, struct buffer *out)
{
    struct buffer member = {NULL, 0, 0};
    compress_gzip(data, size, &member);
    const uint64_t bytes = member.size + 8 - 1;
    if (bytes > UINT16_MAX) abort();
    const uint8_t extra[] = {6, 0, 'B', 'C', 2, 0, (uint8_t)bytes, (uint8_t)(bytes >> 8)};
    member.data[3] |= 4;
    compress_keep(out, member.data, 10);
    compress_keep(out, extra, sizeof extra);
    compress_keep(out, member.data + 10, member.size - 10);
    buffer_fini(&member);
}

/* Compresses frames of `step` bytes each; of gzip, as BGZF. One empty frame if size is 0. */
static inline void compress_frames(enum compression compression, const uint8_t *data, uint64_t size,
                                   uint64_t step, struct buffer *out)
{
    uint64_t at = 0;
    do {
        const uint64_t n = size - at < step ? size - at : step;
        if (compression == COMPRESSION_GZIP)
            compress_bgzf_block(data + at, n, out);
        else
            compress_frame(compression, data + at, n, out);
        at += n;
    } while (at < size);
}

#endif
