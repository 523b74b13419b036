/* Running one partition of one stage: a function of (plan, partition, splits, inputs), with no
 * driver behind it. Tests call it as the slots do. */
#ifndef GLINT_EXECUTOR_PIPELINE_H
#define GLINT_EXECUTOR_PIPELINE_H

#include "engine/data/run.h"
#include "engine/plan/stage_plan.h"

struct pipeline_input {
    const struct stage_plan *stage;
    uint32_t partition;
    struct glint_slice splits; /* msgpack array of bins: of the sources, in the order of the walk */
    /* One partition of a shuffle's map outputs, in map order. 0 or a code, the task's error set. */
    int (*fetch)(void *arg, struct glint_task *task, uint64_t shuffle, uint32_t partition,
                 struct run_slice **out, uint32_t *out_count);
    /* What the last fetch answered is read no more; once for each that answered 0. May be NULL. */
    void (*fetch_end)(void *arg, struct glint_task *task);
    void *fetch_arg;
};

/* The root is a wide node: *out_run is its map output, the caller's. Else *out_result has the
 * action's result appended. Slot's thread. 0, or a code with the task's error set; nothing is then
 * left for the caller to free, and files of this attempt are gone. */
int pipeline_run(struct glint_task *task, const struct pipeline_input *input, struct run *out_run,
                 struct buffer *out_result);

#endif
