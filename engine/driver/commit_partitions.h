/* Parts that are directories of partitions, as saveAsPartitionedColumnFiles commits them: when all
 * are there, their files are moved to the directories of the output. Driver thread only. */
#ifndef GLINT_DRIVER_COMMIT_PARTITIONS_H
#define GLINT_DRIVER_COMMIT_PARTITIONS_H

#include "engine/base/env.h"
#include "engine/base/error.h"

/* Levels of directories in such a part. */
#define COMMIT_PARTITION_LEVELS 8

/* Moves part-N/a=1/FILE to a=1/FILE, for all parts in the directory `name` of `dir` that are
 * directories, and removes these. `sync`: what is moved is on disk afterwards. `shown` is the
 * output's path, for messages. Returns 0, or OUTPUT_IO, PLAN_LIMIT (more than
 * GLINT_PARTITIONS_SAVED_MAX directories), NO_MEMORY. */
int commit_partitions_merge(struct env *env, int dir, const char *name, bool sync,
                            const char *shown, struct glint_error *error);

#endif
