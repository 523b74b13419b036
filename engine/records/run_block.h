/* Encoding and decoding of a block header; the format is in run.h. Internal to run_*.c. */
#ifndef GLINT_RECORDS_RUN_BLOCK_H
#define GLINT_RECORDS_RUN_BLOCK_H

#include "engine/base/hash.h"
#include "engine/records/run.h"

#include <endian.h>

struct run_block {
    uint32_t stored, raw; /* payload bytes: as stored; after decompression */
};

static_assert(RUN_BLOCK_HEADER_BYTES == sizeof(uint64_t) + 2 * sizeof(uint32_t),
              "the header is a checksum and two sizes");
static_assert(RUN_BLOCK_BYTES <= UINT32_MAX, "sizes in a block header have 32 bits");

/* Returns the checksum of everything after the checksum field: `block` points to the header, which
 * its payload follows. `offset` is that of the block in its partition. */
static inline uint64_t run_block_checksum(const uint8_t *block, uint32_t stored, uint64_t offset)
{
    return XXH3_64bits_withSeed(block + 8, 8 + (size_t)stored, offset);
}

/* Writes the header of a block whose payload is in place already. */
static inline void run_block_encode(uint8_t *block, struct run_block b, uint64_t offset)
{
    uint32_t sizes[2] = {htole32(b.stored), htole32(b.raw)};
    memcpy(block + 8, sizes, sizeof sizes);
    uint64_t checksum = htole64(run_block_checksum(block, b.stored, offset));
    memcpy(block, &checksum, sizeof checksum);
}

/* Decodes the sizes only: the payload may not have been read yet. */
static inline struct run_block run_block_decode_sizes(const uint8_t *block)
{
    uint32_t sizes[2];
    memcpy(sizes, block + 8, sizeof sizes);
    return (struct run_block){le32toh(sizes[0]), le32toh(sizes[1])};
}

/* Whether the block, header and payload, matches its checksum. */
static inline bool run_block_is_intact(const uint8_t *block, uint32_t stored, uint64_t offset)
{
    uint64_t checksum;
    memcpy(&checksum, block, sizeof checksum);
    return le64toh(checksum) == run_block_checksum(block, stored, offset);
}

#endif
