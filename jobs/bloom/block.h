/* The bits of an id in a block layout, for one id; the kernels do the same for many. block512
 * follows RocksDB's FastLocalBloom, split-block is the filter of Parquet: with scheme xxh64 its
 * bits are byte for byte a Parquet bitset with the same number of blocks. */
#ifndef GLINT_JOBS_BLOOM_BLOCK_H
#define GLINT_JOBS_BLOOM_BLOCK_H

#include "jobs/bloom/internal.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK_LOG_512 = 6, BLOCK_LOG_SPLIT = 5 }; /* log2 of a block's size in bytes */

#define BLOCK_GOLDEN 0x9e3779b9u /* 2^32 divided by the golden ratio */

static const uint32_t block_salts[BLOOM_K_SPLIT] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                                    0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

static inline uint64_t block_hash(enum bloom_scheme scheme, const void *id, uint64_t size)
{
    if (scheme == BLOOM_XXH64) return XXH64(id, size, 0);
    assert(scheme == BLOOM_WIDE);
    return XXH3_128bits(id, size).low64;
}

static inline uint32_t block_bits_log2(enum bloom_layout layout)
{
    return layout == BLOOM_BLOCK512 ? BLOCK_LOG_512 : BLOCK_LOG_SPLIT;
}

/* Offset of the block from the filter's start, in bytes. */
static inline uint64_t block_offset(enum bloom_layout layout, uint64_t hash, uint64_t blocks)
{
    return ((hash >> 32) * blocks >> 32) << block_bits_log2(layout);
}

static inline uint64_t block_load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline void block_or_word(uint8_t *at, uint64_t bits)
{
    uint64_t word = block_load_word(at) | bits;
    memcpy(at, &word, sizeof word);
}

/* The blocks of rows first .. first + count - 1 and the lower halves of their hashes. */
static inline __attribute__((always_inline)) void
blocks_hash_each(const struct bloom_set *set, const struct bloom_rows *rows, uint32_t first,
                 uint32_t count, uint8_t **out_block, uint32_t *out_x)
{
    for (uint32_t r = 0; r < count; r++) {
        uint32_t row = first + r;
        const struct bloom_slot *slot = &set->table->slot[rows->filter[row]];
        uint64_t hash = block_hash(set->scheme, rows->base + rows->start[row],
                                   rows->end[row] - rows->start[row]);
        out_block[r] = set->bits + slot->offset + block_offset(set->layout, hash, slot->magic);
        out_x[r] = (uint32_t)hash;
    }
}

/* ---- block512 ---- */

static inline void block512_put(uint8_t *block, uint32_t x, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++, x *= BLOCK_GOLDEN)
        block_or_word(block + (x >> 29) * 8, 1ull << (x >> 23) % 64);
}

static inline bool block512_test(const uint8_t *block, uint32_t x, uint32_t k)
{
    uint64_t all = 1;
    for (uint32_t i = 0; i < k; i++, x *= BLOCK_GOLDEN)
        all &= block_load_word(block + (x >> 29) * 8) >> (x >> 23) % 64;
    return all & 1;
}

/* ---- split-block ---- */

/* Words 2 i and 2 i + 1 as one of 64 bits. */
static inline uint64_t split_block_pair_mask(uint32_t x, uint32_t i)
{
    return 1ull << (x * block_salts[2 * i] >> 27) |
           1ull << (32 + (x * block_salts[2 * i + 1] >> 27));
}

static inline void split_block_put(uint8_t *block, uint32_t x)
{
    for (uint32_t i = 0; i < BLOOM_K_SPLIT / 2; i++)
        block_or_word(block + 8 * i, split_block_pair_mask(x, i));
}

static inline bool split_block_test(const uint8_t *block, uint32_t x)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < BLOOM_K_SPLIT / 2; i++)
        missing |= split_block_pair_mask(x, i) & ~block_load_word(block + 8 * i);
    return missing == 0;
}

#endif
