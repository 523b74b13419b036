/* Keeping what was computed for later actions, and freeing it. Included by glint.h. */
#ifndef GLINT_PERSIST_H
#define GLINT_PERSIST_H

#include "engine/glint.h"

/* Where the records of a persisted RDD are kept. With both they are in memory, and move to disk
 * when other RDDs need the memory. */
enum glint_level {
    GLINT_MEMORY = 1,
    GLINT_DISK = 2,
};

/* Keeps the records of an RDD: the first action that computes one of its partitions stores it, in
 * the executor that computed it, and later actions read it there instead of computing it again.
 * `level` is GLINT_MEMORY, GLINT_DISK, or both. Blocks in memory take at most a quarter of the
 * executor's memory; when others need the room, the least recently used ones of other RDDs are
 * dropped, or written to disk. What was dropped, was lost with its executor, or does not fit is
 * computed again, so results are the same in any case. A partition of which an action reads only
 * the first records (take, isEmpty) is not kept. Returns `rdd`. Differs from Spark: a task reads
 * only blocks of its own executor, and computes others again (tasks prefer the executor that has
 * the block). Counters of the functions that made the records count again when they are computed
 * again. */
struct glint_rdd *glint_persist(struct glint_rdd *rdd, unsigned level);
/* glint_persist(rdd, GLINT_MEMORY). */
struct glint_rdd *glint_cache(struct glint_rdd *rdd);
/* Frees the records of a persisted RDD, on all executors. Later actions compute it. Returns `rdd`.
 */
struct glint_rdd *glint_unpersist(struct glint_rdd *rdd);

#endif
