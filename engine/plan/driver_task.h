/* Runs a job's function on the driver, to merge the results of tasks. The function sees a normal
 * task, but its counters and accumulators are
 * dropped. */
#ifndef GLINT_PLAN_DRIVER_TASK_H
#define GLINT_PLAN_DRIVER_TASK_H

#include "engine/plan/context.h"
#include "engine/records/task.h"

/* A task without an executor, on the driver. */
struct driver_task {
    struct glint *g;
    struct glint_task task;
    struct task_options options;
};
/* Driver thread. The context must have no error. The struct must not move before
 * driver_task_fini. */
void driver_task_init(struct driver_task *t, struct glint *g);
/* Frees the task's memory and moves its error, if any, to the context. Returns the context's
 * code. */
int driver_task_fini(struct driver_task *t);

#endif
