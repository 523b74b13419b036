/* Runs one partition of one stage: a function of (plan, partition, splits, inputs) that needs no
 * driver. Tests call it as slots do. */
#ifndef GLINT_EXECUTOR_PIPELINE_H
#define GLINT_EXECUTOR_PIPELINE_H

#include "engine/executor/block_store.h"
#include "engine/plan/stage_plan.h"
#include "engine/records/run.h"

struct pipeline_input {
    const struct stage_plan *stage;
    uint32_t partition;
    struct glint_slice splits; /* msgpack array of bins, one per source in plan order */
    /* Gets one partition of a shuffle's map outputs, in map order. Returns 0, or a code with the
     * task's error set. May block. */
    int (*fetch)(void *arg, struct glint_task *task, uint64_t shuffle, uint32_t partition,
                 struct run_slice **out, uint32_t *out_count);
    /* The slices of the last fetch are no longer used. Called once for each fetch that returned 0.
     * May be NULL. */
    void (*fetch_end)(void *arg, struct glint_task *task);
    void *fetch_arg;
    /* Keeps the records of persisted nodes, and has those of earlier tasks. NULL: nothing is kept.
     */
    struct block_store *blocks;
};

/* Slot's thread; blocks until the partition is done. If the root is a wide node, *out_run is the
 * map output, owned by the caller. Otherwise the action's result is appended to *out_result.
 * Returns 0, or a code with the task's error set; the caller then has nothing to free, and this
 * attempt's files are deleted. */
int pipeline_run(struct glint_task *task, const struct pipeline_input *input, struct run *out_run,
                 struct buffer *out_result);

#endif
