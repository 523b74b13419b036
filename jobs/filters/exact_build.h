/* bloom-build --exact --universe FILE: exact filters (jobs/bloom/exact.h) by shards, each solved
 * alone.
 *
 *     rows of INPUT -> (shard, members) -.
 *     rows of FILE -> (shard, ids) ------+- reduceByKey(join the lists) -> (shard, its record)
 *
 * and from there as all filters of shards (shards.h). The sizes are those of the universe: COUNTS
 * of FILE. A task has the hashes of one shard's universe and its members in memory, by
 * planned sizes, or the filter of one key. */
#ifndef GLINT_JOBS_FILTERS_EXACT_BUILD_H
#define GLINT_JOBS_FILTERS_EXACT_BUILD_H

#include "jobs/filters/shards.h"

/* Returns 0 or MEMORY_LIMIT, or FILTER_LIMIT if the shards are too many. */
int exact_check_memory(struct glint *g, const struct sizes *sizes);
/* (key, filter as msgpack) for each key that has members. `fields` are those of `members`, `other`
 * those of `universe`. Returns NULL if one of the RDDs is NULL. A member that is not in the
 * universe fails the job with FILTER_MISMATCH. */
struct glint_rdd *exact_pipeline(struct glint_rdd *members, const struct fields *fields,
                                 struct glint_rdd *universe, const struct fields *other,
                                 const struct sizes *sizes);

extern const struct glint_function exact_hashes_of_rows, exact_solve_shard;

#endif
