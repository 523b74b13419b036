/* The accumulators of a job (glint_accumulator): merged from those of its tasks, of the first
 * successful attempt of each. The parts of an action's tasks are collected while it runs and merged
 * at its end, in the order of stages and tasks, so that sums of doubles do not depend on which task
 * ended first. Driver thread only. */
#ifndef GLINT_DRIVER_ACCUMULATORS_H
#define GLINT_DRIVER_ACCUMULATORS_H

#include "engine/plan/context.h"
#include "engine/records/task.h"

/* Zeros are none. */
struct accumulators {
    uint32_t count;
    uint64_t merges;           /* that changed a value */
    struct accumulator *items; /* [count], by time of creation */
    uint64_t capacity;
    /* The parts that are not merged yet. */
    struct accumulator_part *parts;
    uint64_t part_count, part_capacity;
    struct buffer bytes;
    struct glint_answer *list; /* [count], in order of names: of accumulators_list */
};
/* Adds the parts in a task's counters, of a stage of the running action. Returns 0, or a code with
 * the context's error set: PROTOCOL, PLAN_FUNCTION, PLAN_LIMIT, RESULT_LIMIT, NO_MEMORY. */
int accumulators_add_task(struct accumulators *a, struct glint *g, uint32_t stage, uint32_t task,
                          struct glint_slice counters);
/* The action has ended: merges the parts. Returns 0, or a code with the context's error set. */
int accumulators_merge(struct accumulators *a, struct glint *g);
/* Returns false if no task has added to it. Valid until the next merge. */
bool accumulators_find(const struct accumulators *a, const char *name, struct glint_cell *out);
/* It has no value from here on; no effect if there is none. */
void accumulators_clear(struct accumulators *a, const char *name);
/* Returns all of them in order of their names; NULL: none, or no memory. Valid until the next call,
 * or merge. */
const struct glint_answer *accumulators_list(struct accumulators *a);
void accumulators_fini(struct accumulators *a);

#endif
