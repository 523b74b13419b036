/* Ribbon retrieval (Dillinger, Hübschle-Schneider, Sanders, Walzer: Fast Succinct Retrieval and
 * Approximate Membership Using Ribbon, 2022): a function from hashes to values of a few bits, in
 * little more than those bits per hash. A hash is a linear equation over GF(2): the exclusive or of
 * the slots from its start on that its 128 coefficients select is its value. The equations of all
 * hashes are solved by elimination in a band, which needs no more memory than that.
 *
 * Slots are stored in blocks of 64, and a block as `columns` words, little-endian: bit i of word j
 * is bit j of slot i. */
#ifndef GLINT_JOBS_BLOOM_RIBBON_H
#define GLINT_JOBS_BLOOM_RIBBON_H

#include "jobs/bloom/internal.h"

enum {
    RIBBON_WIDTH = 128,
    RIBBON_BLOCK = 64, /* slots */
    RIBBON_BLOCKS_MIN = RIBBON_WIDTH / RIBBON_BLOCK,
    RIBBON_COLUMNS_MAX = 24
};

struct ribbon {
    uint32_t blocks, columns, seed;
};

/* Blocks with which most seeds have a solution for `count` hashes, and the most that ribbon_solve
 * uses. */
uint32_t ribbon_blocks(uint64_t count);
uint32_t ribbon_blocks_max(uint64_t count);
static inline uint64_t ribbon_bytes(const struct ribbon *ribbon)
{
    return 8 * (uint64_t)ribbon->blocks * ribbon->columns;
}

/* Solves for `count` > 0 different hashes, and sets seed and blocks. values NULL: the value of a
 * hash is its fingerprint. `memory` has ribbon_memory bytes, aligned to 16; `out` as many as
 * ribbon_blocks_max needs. Returns false if no seed of many has a solution, which has not been
 * seen. The result does not depend on the order of the hashes. */
uint64_t ribbon_memory(uint64_t count);
bool ribbon_solve(struct ribbon *ribbon, const uint64_t *hashes, const uint8_t *values,
                  uint64_t count, uint8_t *memory, uint8_t *out);

/* An equation: the slots from `start` on, by 64 in each word. */
struct ribbon_row {
    uint64_t start, low, high;
    uint32_t fingerprint;
};

static inline uint64_t ribbon_mix(uint64_t h)
{
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

/* The coefficients are mixed again: a fingerprint that is a linear function of them would be that
 * of every hash, where few hashes share a start. */
static inline struct ribbon_row ribbon_row_of(const struct ribbon *ribbon, uint64_t hash)
{
    const uint64_t starts = (uint64_t)ribbon->blocks * RIBBON_BLOCK - RIBBON_WIDTH + 1;
    const uint64_t h = ribbon_mix(hash + (ribbon->seed + 1) * 0x9e3779b97f4a7c15u);
    return (struct ribbon_row){.start = (uint64_t)((unsigned __int128)h * starts >> 64),
                               .low = ribbon_mix(h ^ 0x9fb21c651e98df25u) | 1,
                               .high = ribbon_mix(h ^ 0xd6e8feb86659fd93u),
                               .fingerprint = (uint32_t)h & ((1u << ribbon->columns) - 1)};
}

/* The value at the row. */
uint32_t ribbon_value(const struct ribbon *ribbon, const uint8_t *slots,
                      const struct ribbon_row *row);

#endif
