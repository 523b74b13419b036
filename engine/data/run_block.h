/* The header of a run's block, written and read side by side. Internal to run_*.c; see run.h. */
#ifndef GLINT_DATA_RUN_BLOCK_H
#define GLINT_DATA_RUN_BLOCK_H

#include "engine/base/hash.h"
#include "engine/data/run.h"

#include <endian.h>

struct run_block {
    uint32_t stored, raw;
};

static_assert(RUN_BLOCK_HEADER_BYTES == sizeof(uint64_t) + 2 * sizeof(uint32_t), "see the picture");
static_assert(RUN_BLOCK_BYTES <= UINT32_MAX, "sizes in a block have 32 bits");

/* Of everything behind the checksum: `block` points at the header, its payload follows. */
static inline uint64_t run_block_checksum(const uint8_t *block, uint32_t stored, uint64_t offset)
{
    return XXH3_64bits_withSeed(block + 8, 8 + (size_t)stored, offset);
}

static inline void run_block_encode(uint8_t *block, struct run_block b, uint64_t offset)
{
    uint32_t sizes[2] = {htole32(b.stored), htole32(b.raw)};
    memcpy(block + 8, sizes, sizeof sizes);
    uint64_t checksum = htole64(run_block_checksum(block, b.stored, offset));
    memcpy(block, &checksum, sizeof checksum);
}

/* The sizes only: the payload may not be there yet. */
static inline struct run_block run_block_decode_sizes(const uint8_t *block)
{
    uint32_t sizes[2];
    memcpy(sizes, block + 8, sizeof sizes);
    return (struct run_block){le32toh(sizes[0]), le32toh(sizes[1])};
}

static inline bool run_block_is_intact(const uint8_t *block, uint32_t stored, uint64_t offset)
{
    uint64_t checksum;
    memcpy(&checksum, block, sizeof checksum);
    return le64toh(checksum) == run_block_checksum(block, stored, offset);
}

#endif
