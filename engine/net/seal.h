/* Blocks of a broadcast value as they travel, and as they are checked on arrival. Pure.
 *
 *     0         8     12       16
 *     +---------+-----+--------+---------+
 *     | XXH3-64 | raw | stored | payload |   numbers little-endian
 *     +---------+-----+--------+---------+
 *
 * The payload is lz4 where stored < raw, else the raw bytes. The checksum covers what follows it
 * and is seeded with the XXH3-64 of id (8 bytes) and block (4 bytes), so that a block that was
 * answered for another one is noticed. */
#ifndef GLINT_NET_SEAL_H
#define GLINT_NET_SEAL_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"

#define VALUE_BLOCKS_WANTED 64u /* so that executors have something to give each other early on */

/* Of a value of `size` bytes; the last block may be shorter. */
static inline uint64_t value_block_bytes(uint64_t size)
{
    uint64_t each = size / VALUE_BLOCKS_WANTED / 4096 * 4096;
    if (each < VALUE_BLOCK_BYTES_MIN) return VALUE_BLOCK_BYTES_MIN;
    return each < VALUE_BLOCK_BYTES_MAX ? each : VALUE_BLOCK_BYTES_MAX;
}

static inline uint32_t value_blocks(uint64_t size)
{
    uint64_t each = value_block_bytes(size);
    return (uint32_t)((size + each - 1) / each);
}

/* Of one block, before it is sealed. */
static inline uint32_t value_block_size(uint64_t size, uint32_t block)
{
    uint64_t each = value_block_bytes(size), left = size - block * each;
    return (uint32_t)(left < each ? left : each);
}

/* One block of the whole `value` in sealed form, appended to *out. 0 or NO_MEMORY. */
int value_seal(uint64_t id, uint32_t block, struct glint_slice value, struct buffer *out,
               struct glint_error *error);
/* Checks a sealed block and puts its bytes in place in `value`, which has `size` bytes. 0, or
 * RUN_CORRUPT; the block's place may then hold anything. */
int value_unseal(uint64_t id, uint32_t block, struct glint_slice sealed, uint8_t *value,
                 uint64_t size, struct glint_error *error);

#endif
