/* Exact filters: for a closed universe of ids, of which some are members, an answer that is right
 * for every id of it, in little more bits than the information has. An id outside of the universe
 * gets any answer.
 *
 * Two levels, as Mozilla's Clubcards have for revoked certificates (Schanck, 2025), in place of the
 * cascade of Bloom filters of CRLite (Larisch and others, 2017): with r ids of the rarer class, the
 * first level is a filter of these with fingerprints of c bits, which about 2^-c of the others
 * pass; the second says of all that pass to which class they belong. Both are ribbons (ribbon.h).
 *
 * A filter has shards by hash, as fuse filters have (fuse.h), but smaller ones. Its "bits" are,
 * little-endian:
 *
 *     0            shards.8
 *     8 + 24 i     end.8  members.8  ids.8     of shard i: where it ends, from 0 on
 *     8 + 24 n     the shards, one behind another:
 *                  rare.4 columns.4  blocks.4 seed.4  blocks.4 seed.4, the slots of both levels
 *
 * rare is 1 if members are the rarer class, else 0; columns is c; then blocks and seed of each
 * level. With no slots in the second level no id is of the rarer class. */
#ifndef GLINT_JOBS_BLOOM_EXACT_H
#define GLINT_JOBS_BLOOM_EXACT_H

#include "jobs/bloom/internal.h"

enum {
    EXACT_SHARD_LOG2 = 19, /* a universe of n ids has n >> 19 shards, from 1 to FUSE_SHARDS_MAX */
    EXACT_FIRST = 8,
    EXACT_ENTRY = 24,
    EXACT_HEAD = 24
};

uint32_t exact_shards(uint64_t n);

/* What a shard of `ids` ids with `members` of them needs. */
struct exact_plan {
    uint64_t rare, columns;
    uint64_t second_max; /* ids of the second level; more are too unlikely */
    uint64_t bytes_max;  /* of the shard */
    uint64_t memory;     /* to solve it */
};
struct exact_plan exact_plan_shard(uint64_t ids, uint64_t members);
/* At least `memory` and `bytes_max` together, for any number of members, and for fewer ids. */
uint64_t exact_solve_bytes_max(uint64_t ids);
/* The most bytes of a filter whose universe has n ids, and about those of one with `members`. */
uint64_t exact_planned_bytes(uint64_t n);
uint64_t exact_expected_bytes(uint64_t n, uint64_t members);

/* Solves a shard: `hashes` differ, and member[i] is 1 if hash i is one of a member, else 0.
 * `memory` is aligned to 16. Returns its bytes in `out`, or 0 if no seed of many has a solution,
 * which has not been seen. The result depends on the hashes and not on their order. */
uint64_t exact_solve(const struct exact_plan *plan, const uint64_t *hashes, const uint8_t *member,
                     uint64_t ids, uint8_t *memory, uint8_t *out);
/* Returns whether the shard gives every hash its class. */
bool exact_shard_agrees(const uint8_t *shard, const uint64_t *hashes, const uint8_t *member,
                        uint64_t ids);

/* Checks a filter's bits, or a shard: every look-up stays inside them. */
bool exact_is_valid(const struct bloom_params *params, const uint8_t *bits);
bool exact_is_shard_valid(const uint8_t *shard, uint64_t size);

bool exact_contains_hash(const uint8_t *bits, uint64_t hash);
uint64_t exact_count_universe_ids(const uint8_t *bits); /* ids of all shards */

#endif
