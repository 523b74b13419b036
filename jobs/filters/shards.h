/* What the filters made of shards have in common, fuse filters (fuse_build.h) and exact ones
 * (exact_build.h): the numbers of the shards, and how they become filters.
 *
 *     (shard, its record) -> (key, record) -> reduceByKey(join) -> (key, filter as msgpack)
 *
 * The record of a shard: its number in the filter.8, its ids that are in the filter.8, those of its
 * universe.8 (fuse: the same), the size of its bytes.8, then these. */
#ifndef GLINT_JOBS_FILTERS_SHARDS_H
#define GLINT_JOBS_FILTERS_SHARDS_H

#include "jobs/filters/bloom_functions.h"

enum { SHARDS_TOTAL_MAX = 1 << 20 /* of all keys */, SHARD_RECORD_HEAD = 4 * sizeof(uint64_t) };

/* Numbers of the first shard of each key, and, last, of all shards. */
struct shard_numbers {
    struct sizes sizes;
    uint32_t *first;
};
/* Returns 0 or a code. */
int shard_numbers_open(struct glint_task *task, struct shard_numbers *out);
/* Finds the key of a shard. Returns 0 or SHUFFLE_CORRUPT. */
int shard_numbers_find_key(struct glint_task *task, const struct shard_numbers *s, int64_t shard,
                           uint32_t *out_key);

/* (key, filter as msgpack) of (shard, record). `args` has "sizes", and "memory", of a slot: a
 * filter that needs more fails the job with MEMORY_LIMIT. Returns NULL if `solved` is. */
struct glint_rdd *shards_joined_rdd(struct glint_rdd *solved, bool text, struct glint_args *args);

extern const struct glint_function shard_key_number, shard_key_text, shards_join;

#endif
