/* bloom-build --layout fuse8, fuse16: filters by shards (jobs/bloom/fuse.h), each solved alone.
 *
 *     rows -> (shard, hashes) -> reduceByKey(join the lists) -> (shard, its fingerprints)
 *          -> (key, shard) -> reduceByKey(join) -> (key, filter as msgpack)
 *
 * The shards of all keys are numbered consecutively, in the order of the keys. A task has the
 * hashes of one shard in memory, or the filter of one key. */
#ifndef GLINT_JOBS_FILTERS_FUSE_BUILD_H
#define GLINT_JOBS_FILTERS_FUSE_BUILD_H

#include "jobs/filters/shards.h"

/* Returns 0 or MEMORY_LIMIT, or FILTER_LIMIT if the shards are too many. */
int fuse_check_memory(struct glint *g, const struct sizes *sizes);
/* (key, filter as msgpack) for each key that has rows. Returns NULL if `lines` is NULL. */
struct glint_rdd *fuse_pipeline(struct glint_rdd *lines, const struct sizes *sizes,
                                const struct fields *fields);

extern const struct glint_function fuse_hashes_of_rows, fuse_solve_shard;

#endif
