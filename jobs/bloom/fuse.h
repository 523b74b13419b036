/* Binary fuse filters (Graf, Lemire: Binary Fuse Filters, 2022), of arity 3: an id has three
 * fingerprints in the filter, whose exclusive or is its own. They need all ids at once, and then
 * fewer bits than a Bloom filter of the same rate: 9 to 9.1 bits per id for fingerprints of 8 bits.
 *
 * A filter is divided into shards by the hash of the id, and each shard is solved alone, in memory
 * that does not depend on the number of ids. Its "bits" are, little-endian:
 *
 *     0            shards.8
 *     8 + 16 i     end.8  ids.8                of shard i: where it ends, from 0 on; its ids
 *     8 + 16 n     the shards, one behind another:
 *                  seed.8 segment.4 mask.4 starts.4 count.8, then `count` fingerprints
 *
 * A shard is what the Rust crate xorf has in its BinaryFuse8 or BinaryFuse16, encoded by bincode 1:
 * the length of a segment, this minus 1, the number of first positions. Its keys are the hashes of
 * the ids, of 64 bits, as in block layouts. */
#ifndef GLINT_JOBS_BLOOM_FUSE_H
#define GLINT_JOBS_BLOOM_FUSE_H

#include "jobs/bloom/internal.h"

enum {
    FUSE_SHARD_LOG2 = 20, /* a filter of n ids has n >> 20 shards, at least 1 */
    FUSE_SHARDS_MAX = 4096,
    FUSE_IDS_MAX = 1 << 27, /* of a shard */
    FUSE_ENTRY = 16,        /* bytes of the directory for each shard, after FUSE_FIRST */
    FUSE_FIRST = 8,
    FUSE_HEAD = 28 /* bytes of a shard before its fingerprints */
};

/* Bytes of a fingerprint. */
static inline uint32_t fuse_width(enum bloom_layout layout)
{
    assert(bloom_is_fuse(layout));
    return layout == BLOOM_FUSE8 ? 1 : 2;
}

uint32_t fuse_shards(uint64_t n);
static inline uint32_t fuse_shard_of(uint64_t hash, uint64_t shards)
{
    return (uint32_t)((hash >> 32) * shards >> 32);
}
/* The hashes of all rows, whatever their filters are; BLOOM_ID_SLACK bytes follow the ids. */
void fuse_hash_rows(enum bloom_scheme scheme, const struct bloom_rows *rows, uint64_t *out);
void fuse_hash_rows_avx512(enum bloom_scheme scheme, const struct bloom_rows *rows, uint64_t *out);
/* Of a shard of `ids` ids, with its head. */
uint64_t fuse_shard_bytes(enum bloom_layout layout, uint64_t ids);
/* About what a filter of n different ids has, in bytes, and at most if no shard has more ids than
 * the others. */
uint64_t fuse_planned_bytes(enum bloom_layout layout, uint64_t n);

/* Sorts hashes, by their lower 26 bits and then by the others, and removes equal ones; `scratch`
 * has as many. Returns how many remain. */
uint64_t fuse_sort_unique(uint64_t *hashes, uint64_t count, uint64_t *scratch);

/* Solves the shard of these hashes, whose order may change; *ids becomes the number of different
 * ones. `memory` has fuse_solve_memory bytes, `out` fuse_shard_bytes. Returns false if no seed of
 * many has a solution, which has not been seen. The result depends on nothing but the set of the
 * hashes. */
uint64_t fuse_solve_memory(uint64_t ids);
bool fuse_solve(enum bloom_layout layout, uint64_t *hashes, uint64_t *ids, uint8_t *memory,
                uint8_t *out);

/* Checks a filter's bits: every look-up stays inside them. */
bool fuse_is_valid(const struct bloom_params *params, const uint8_t *bits);
/* Checks one shard. */
bool fuse_is_shard_valid(enum bloom_layout layout, const uint8_t *shard, uint64_t size);

/* Of a valid filter: where the shard of a hash begins. */
static inline const uint8_t *fuse_shard_at(const uint8_t *bits, uint64_t hash)
{
    uint64_t shards, begin;
    __builtin_memcpy(&shards, bits, sizeof shards);
    const uint32_t shard = fuse_shard_of(hash, shards);
    if (shard == 0) return bits + FUSE_FIRST + FUSE_ENTRY * shards;
    __builtin_memcpy(&begin, bits + FUSE_FIRST + FUSE_ENTRY * (shard - 1), sizeof begin);
    return bits + begin;
}

bool fuse_contains_hash(enum bloom_layout layout, const uint8_t *bits, uint64_t hash);

#endif
