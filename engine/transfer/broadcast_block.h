/* Blocks of a broadcast value: splitting, compression for the network, and verification on receipt.
 * Pure functions.
 *
 * A block is sent as one lz4 block if that makes it at least an eighth smaller, and uncompressed
 * otherwise; the receiver tells the two apart by the size. The checksum covers the uncompressed
 * bytes. The driver computes it and sends it with the location of the block (BLOCK_ASSIGN), so that
 * an executor can verify a block it fetched from any other executor. */
#ifndef GLINT_TRANSFER_BROADCAST_BLOCK_H
#define GLINT_TRANSFER_BROADCAST_BLOCK_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"

#define BROADCAST_BLOCKS_TARGET                                                                    \
    64u /* many blocks, so that executors soon have some to serve to others */

/* Bytes per block of a value of `size` bytes; the last block may be shorter. */
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

/* Bytes in block number `block`. */
static inline uint32_t broadcast_block_bytes_at(uint64_t size, uint32_t block)
{
    uint64_t each = broadcast_block_bytes(size), left = size - block * each;
    return (uint32_t)(left < each ? left : each);
}

/* Block number `block` (below broadcast_block_count) of the complete `value`; borrowed from it. */
static inline struct glint_slice broadcast_block_slice(struct glint_slice value, uint32_t block)
{
    return (struct glint_slice){value.data + block * broadcast_block_bytes(value.size),
                                broadcast_block_bytes_at(value.size, block)};
}

/* XXH3-64 of the uncompressed bytes of a block of the complete `value`. The seed is the hash of
 * id (8 bytes) and block (4 bytes, both little-endian), so that the bytes of a different block do
 * not match. */
uint64_t broadcast_block_checksum(uint64_t id, uint32_t block, struct glint_slice value);
/* Compresses the block into the empty *out, which the caller frees. Leaves *out empty if
 * compression saves less than an eighth. Returns 0 or NO_MEMORY. */
int broadcast_block_compress(uint32_t block, struct glint_slice value, struct buffer *out,
                             struct glint_error *error);
/* Decompresses `packed` to the block's position in `value`, which has `size` bytes, and verifies
 * the checksum. If `packed` is empty, the uncompressed bytes are already at that position and are
 * only verified. Returns 0 or SHUFFLE_CORRUPT; the block's bytes in `value` are then undefined. */
int broadcast_block_decode(uint64_t id, uint32_t block, uint64_t checksum,
                           struct glint_slice packed, uint8_t *value, uint64_t size,
                           struct glint_error *error);

#endif
