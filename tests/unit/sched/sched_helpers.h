/* Helpers for tests of the scheduler. Executor i is on node i, unless the test sets it. */
#ifndef TESTS_UNIT_DRIVER_SCHED_HELP_H
#define TESTS_UNIT_DRIVER_SCHED_HELP_H

#include "engine/limits.h"
#include "engine/sched/sched_internal.h"

#include <criterion/criterion.h>
#include <stddef.h>

#define MS UINT64_C(1000000)

static inline struct sched *cluster_of(uint32_t executors, uint32_t slots)
{
    struct sched *s = sched_create(false);
    cr_assert_not_null(s);
    for (uint32_t i = 0; i < executors; i++) cr_assert(sched_add_executor(s, i, slots, 0));
    return s;
}

/* Executors that are neither lost nor draining. */
static inline uint32_t usable_executors(const struct sched *s)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < s->node_capacity; i++) count += s->nodes[i].usable;
    return count;
}

/* A stage that reads the one before it; the first reads none. */
static inline void add_chained(struct sched *s, uint32_t number, uint32_t tasks)
{
    uint32_t parent = number - 1;
    cr_assert(sched_add_stage(s, tasks, number > 0 ? &parent : NULL, number > 0));
}

static inline struct task_attempt next_at(struct sched *s, uint64_t now_ns)
{
    struct task_attempt run = {.executor = SCHED_NONE};
    cr_assert(sched_next_task(s, now_ns, &run), "no task to start");
    return run;
}

static inline struct task_attempt next_of(struct sched *s)
{
    return next_at(s, 0);
}

static inline void expect_next(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                               uint32_t attempt)
{
    struct task_attempt run = next_of(s);
    cr_expect_eq(run.executor, executor, "executor %u, not %u", run.executor, executor);
    cr_expect_eq(run.stage, stage, "stage %u, not %u", run.stage, stage);
    cr_expect_eq(run.task, task, "task %u, not %u", run.task, task);
    cr_expect_eq(run.attempt, attempt, "attempt %u, not %u", run.attempt, attempt);
}

static inline void expect_nothing(struct sched *s)
{
    struct task_attempt run;
    cr_expect_not(sched_next_task(s, 0, &run));
}

static inline bool done_at(struct sched *s, struct task_attempt r, uint64_t now_ns)
{
    return sched_on_task_done(s, r.executor, r.stage, r.task, r.attempt, now_ns);
}

static inline bool done(struct sched *s, struct task_attempt r)
{
    return done_at(s, r, 0);
}

static inline bool failed_at(struct sched *s, struct task_attempt r, enum sched_failure_kind why,
                             uint64_t now_ns)
{
    return sched_on_task_failed(s, r.executor, r.stage, r.task, r.attempt, why, now_ns);
}

static inline bool failed(struct sched *s, struct task_attempt r, enum sched_failure_kind why)
{
    return failed_at(s, r, why, 0);
}

/* Starts and finishes all tasks that can run, in order. */
static inline void finish(struct sched *s)
{
    struct task_attempt run;
    while (sched_next_task(s, 0, &run)) cr_assert(done(s, run));
}

static inline uint32_t place_of(const struct sched *s, uint32_t stage, uint32_t task)
{
    uint32_t executor, attempt;
    return sched_output_location(s, stage, task, &executor, &attempt) ? executor : SCHED_NONE;
}

/* An attempt could not fetch a map output: both events that the driver reports. */
static inline void fetch_failed(struct sched *s, struct task_attempt r, uint32_t stage,
                                uint32_t task)
{
    uint32_t executor, attempt;
    bool there = sched_output_location(s, stage, task, &executor, &attempt);
    cr_assert(failed(s, r, SCHED_FETCH_ERROR));
    if (there) sched_on_map_output_lost(s, stage, task, executor, attempt);
}

#endif
