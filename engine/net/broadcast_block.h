/* Blocks of a broadcast value: as they travel, and as they are checked on arrival. Pure.
 *
 * A block travels packed, as one lz4 block, where that pays, else as it is; its size says which:
 * packed it is shorter. Its sum, of the bytes unpacked, is the driver's and comes with the news of
 * who has the block (BLOCK_ASSIGN), so that what anybody answers is held against what the driver
 * has. */
#ifndef GLINT_NET_BROADCAST_BLOCK_H
#define GLINT_NET_BROADCAST_BLOCK_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"

#define BROADCAST_BLOCKS_TARGET                                                                    \
    64u /* so that executors have something to give each other early on */

/* Of a value of `size` bytes; the last block may be shorter. */
static inline uint64_t broadcast_block_bytes(uint64_t size)
{
    uint64_t each = size / BROADCAST_BLOCKS_TARGET / 4096 * 4096;
    if (each < BROADCAST_BLOCK_BYTES_MIN) return BROADCAST_BLOCK_BYTES_MIN;
    return each < BROADCAST_BLOCK_BYTES_MAX ? each : BROADCAST_BLOCK_BYTES_MAX;
}

static inline uint32_t broadcast_block_count(uint64_t size)
{
    uint64_t each = broadcast_block_bytes(size);
    return (uint32_t)((size + each - 1) / each);
}

static inline uint32_t broadcast_block_bytes_at(uint64_t size, uint32_t block)
{
    uint64_t each = broadcast_block_bytes(size), left = size - block * each;
    return (uint32_t)(left < each ? left : each);
}

/* One of broadcast_block_count() of the whole `value`. */
static inline struct glint_slice broadcast_block_slice(struct glint_slice value, uint32_t block)
{
    return (struct glint_slice){value.data + block * broadcast_block_bytes(value.size),
                                broadcast_block_bytes_at(value.size, block)};
}

/* XXH3-64 of the block, seeded with that of id (8 bytes) and block (4 bytes, both little-endian),
 * so that a block that was answered for another one is noticed. */
uint64_t broadcast_block_checksum(uint64_t id, uint32_t block, struct glint_slice value);
/* The block packed, in *out, or nothing, where that does not pay. 0 or NO_MEMORY. */
int broadcast_block_compress(uint32_t block, struct glint_slice value, struct buffer *out,
                             struct glint_error *error);
/* Puts a block in its place in `value`, which has `size` bytes, and checks it; `packed` without
 * bytes: there it is already. 0, or SHUFFLE_CORRUPT; the block's place may then hold anything. */
int broadcast_block_decode(uint64_t id, uint32_t block, uint64_t checksum,
                           struct glint_slice packed, uint8_t *value, uint64_t size,
                           struct glint_error *error);

#endif
