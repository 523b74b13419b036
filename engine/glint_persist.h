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

/* Saves the records in the new directory `path`, as glint_save_as_msgpack_file does, and returns an
 * RDD that reads them: with the same partitions, but without lineage, so what `rdd` descends from
 * can be released. It runs at once, as an action, and unlike other outputs the directory is
 * published as soon as it is written: it stays if the job fails later, and another job starts from
 * it with glint_msgpack_file. Returns NULL with the error set: that of the action, OUTPUT_EXISTS,
 * STAGE_ACTION. Differs from Spark, where RDD.checkpoint marks the RDD for the next action (this is
 * as Dataset.checkpoint); the partitioner and the groups of groupByKey are not kept. */
struct glint_rdd *glint_checkpoint(struct glint_rdd *rdd, const char *path);

/* ---- Freeing what a loop makes. Without these calls a job keeps its RDDs, their map outputs, and
 * its broadcasts until it ends; it may have 4096 RDDs at a time.
 *
 *     for (int i = 0; i < iterations; i++) {
 *         glint_begin_scope(g);
 *         struct glint_args *args = glint_args(g);
 *         glint_args_add_broadcast(args, "centers", glint_broadcast_copy(g, centers, size));
 *         glint_collect(glint_reduce_by_key(glint_map(points, &assign, args), &sums, NULL), &rows);
 *         glint_end_scope(g, NULL);
 *         ...
 *     }
 *
 * They are errors in a callback of a running action, and have no effect after an error. */

/* Begins a scope. Scopes nest. */
void glint_begin_scope(struct glint *g);
/* Ends the innermost scope: releases the RDDs that were made in it, except `keep` (NULL: none),
 * which then belongs to the scope around it; destroys its broadcasts; and frees its glint_args and
 * what glint_first_line returned in it. Returns `keep`. */
struct glint_rdd *glint_end_scope(struct glint *g, struct glint_rdd *keep);
/* Releases one RDD: the job must not use it any more. It is freed, with its map outputs and cached
 * blocks on all executors, when no other RDD descends from it; then also those that only it
 * descended from and that are released. Using a released RDD is the error PLAN_RDD (as long as no
 * more than 1,000 others were freed since). */
void glint_release(struct glint_rdd *rdd);
/* The same for a broadcast: it is freed, here and on all executors, when no RDD whose arguments
 * name it is left. Arguments that name a destroyed one are an error. Differs from Spark, where RDDs
 * that need it fail. */
void glint_broadcast_destroy(struct glint *g, struct glint_broadcast *b);

#endif
