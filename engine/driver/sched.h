/* The scheduler: a pure function of events. No clock, no sockets, no threads, no memory but its own
 * tables, so the same events always give the same commands.
 *
 * A stage waits until its parents are done; its tasks go to executors with free slots, oldest stage
 * first, tasks in order. A task that fails is tried again, up to TASK_ATTEMPTS_MAX attempts, unless
 * its error cannot change.
 *
 *   task:   WAITING -> RUNNING  [sched_next]
 *           RUNNING -> DONE     [sched_on_done]
 *           RUNNING -> WAITING  [sched_on_failed]
 *           RUNNING -> FAILED   [sched_on_failed, the last time]
 *   stage:  BLOCKED -> READY -> DONE | FAILED  [the tasks' last events] */
#ifndef GLINT_DRIVER_SCHED_H
#define GLINT_DRIVER_SCHED_H

#include <stdbool.h>
#include <stdint.h>

struct sched;

struct sched_run {
    uint32_t executor, stage, task, attempt;
};

struct sched *sched_create(void); /* NULL without memory */
void sched_destroy(struct sched *s);

/* All that add answer false without memory. Executors and stages are numbered from 0 by the caller,
 * each added once, in order. */
bool sched_add_executor(struct sched *s, uint32_t slots);
bool sched_add_stage(struct sched *s, uint32_t tasks, const uint32_t *parents,
                     uint32_t parent_count);

/* The next task to start, if there is one: it counts as running from here on. */
bool sched_next(struct sched *s, struct sched_run *out);

/* Events. Those about an attempt that is not the one running are late: ignored, false. */
bool sched_on_done(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                   uint32_t attempt);
/* `again`: another attempt may end otherwise. */
bool sched_on_failed(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                     uint32_t attempt, bool again);
/* Starts no more tasks; those that run are waited for. */
void sched_stop(struct sched *s);

bool sched_stage_done(const struct sched *s, uint32_t stage);
bool sched_stage_failed(const struct sched *s, uint32_t stage);
uint32_t sched_tasks_done(const struct sched *s, uint32_t stage);
uint32_t sched_running(const struct sched *s);
/* The attempt that has done a task. */
uint32_t sched_attempt(const struct sched *s, uint32_t stage, uint32_t task);
uint32_t sched_retries(const struct sched *s);

#endif
