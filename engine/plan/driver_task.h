/* Calling a job's function where no task runs: the driver merges what tasks made of their
 * partitions. The function sees a task like any other, but for its counters, which nobody keeps. */
#ifndef GLINT_PLAN_DRIVER_TASK_H
#define GLINT_PLAN_DRIVER_TASK_H

#include "engine/data/task.h"
#include "engine/plan/context.h"

struct driver_task {
    struct glint *g;
    struct glint_task task;
    struct task_options options;
};
/* Driver thread. The struct must not move before driver_task_fini. */
void driver_task_init(struct driver_task *t, struct glint *g);
/* The task's error, if it has one, becomes the context's. Answers the context's code. */
int driver_task_fini(struct driver_task *t);

#endif
