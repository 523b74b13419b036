/* Blocks of a program: a daemon fetches an executable from a driver in blocks of
 * PROGRAM_BLOCK_BYTES, the last one shorter. A response is the block's checksum, little-endian, and
 * the block. */
#ifndef GLINT_TRANSFER_PROGRAM_BLOCK_H
#define GLINT_TRANSFER_PROGRAM_BLOCK_H

#include "engine/limits.h"

#include <assert.h>
#include <stdint.h>
#include <xxhash.h>

#define PROGRAM_BLOCK_BYTES    (1 * MIB)
#define PROGRAM_CHECKSUM_BYTES 8u

static_assert(PROGRAM_BLOCK_BYTES + PROGRAM_CHECKSUM_BYTES <= DATA_FRAME_BYTES_MAX,
              "a block fits a frame");

static inline uint32_t program_block_count(uint64_t size)
{
    return (uint32_t)((size + PROGRAM_BLOCK_BYTES - 1) / PROGRAM_BLOCK_BYTES);
}

static inline uint64_t program_block_bytes_at(uint64_t size, uint32_t block)
{
    uint64_t offset = block * PROGRAM_BLOCK_BYTES;
    return size - offset < PROGRAM_BLOCK_BYTES ? size - offset : PROGRAM_BLOCK_BYTES;
}

/* XXH3-64 with the block's number as seed. */
static inline uint64_t program_block_checksum(uint32_t block, const uint8_t *bytes, uint64_t size)
{
    return XXH3_64bits_withSeed(bytes, size, block);
}

#endif
