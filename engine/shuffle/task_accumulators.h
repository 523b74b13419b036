/* The accumulators of one task (glint_accumulator): values that functions add to, each merged by a
 * function of kind REDUCE or AGGREGATE. The driver merges those of all tasks
 * (driver/accumulators.c). Task's thread. */
#ifndef GLINT_SHUFFLE_TASK_ACCUMULATORS_H
#define GLINT_SHUFFLE_TASK_ACCUMULATORS_H

#include "engine/records/pack.h"
#include "engine/shuffle/aggregator.h"

/* How the function merges: `value` and `acc` are the types of what is added and of the accumulator;
 * `acc` is ANY if the function cannot merge an accumulator. Borrows `fn`. */
struct shuffle_spec task_accumulator_spec(const struct glint_function *fn);

/* Returns how many entries task_accumulators_pack will pack: those that something was added to. */
uint32_t task_accumulators_count(const struct glint_task *task);
/* Packs them (records/task.h). Returns 0, or a code with the task's error set: VALUE_LIMIT
 * if they have more than ACCUMULATOR_BYTES_MAX bytes together. Nothing may be added afterwards. */
int task_accumulators_pack(struct glint_task *task, struct packer *p);

#endif
