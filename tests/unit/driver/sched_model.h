/* The scheduler once more, as plainly as can be: arrays that are searched from the first to the
 * last. What it says is what sched.h says; how fast it says it does not matter. */
#ifndef TESTS_UNIT_DRIVER_SCHED_MODEL_H
#define TESTS_UNIT_DRIVER_SCHED_MODEL_H

#include "engine/driver/sched.h"
#include "engine/limits.h"

#define MODEL_STAGES    6
#define MODEL_TASKS     40
#define MODEL_EXECUTORS 64
#define MODEL_NODES     6
#define MODEL_DURATIONS 4096
#define MODEL_TRIES     (MODEL_EXECUTORS * 8)

enum model_state { MODEL_WAITING, MODEL_RUNNING, MODEL_DONE, MODEL_FAILED };

struct model_task {
    enum model_state state;
    uint32_t attempts, failures, failed_on[TASK_ATTEMPTS_MAX], last_failed_node;
    uint32_t prefer, prefer_order;
    uint32_t executor, attempt; /* done: by whom, as which */
};

/* An attempt that runs, or is queued. Not wanted: its twin is done, or its task failed. */
struct model_try {
    struct task_attempt run;
    uint64_t start_ns;
    uint64_t queue; /* 0: it runs; else its turn */
    uint32_t stage_attempt;
    bool wanted, revoked;
    uint64_t revoke_ns;
};

struct model_stage {
    struct model_task tasks[MODEL_TASKS];
    uint64_t durations[MODEL_DURATIONS];
    uint32_t count, parents /* bits */, stage_attempt, stage_attempts_failed, duration_count;
    bool failed;
};

struct model {
    struct model_stage stages[MODEL_STAGES];
    struct {
        uint32_t node, slots, prefetch;
        bool lost, draining;
    } executors[MODEL_EXECUTORS];
    uint32_t failures_in_row[MODEL_NODES];
    struct model_try tries[MODEL_TRIES];
    uint32_t stage_count, executor_count, try_count, prefers, losses;
    uint64_t last_queue;
    enum sched_status status;
    bool stopped, speculate, process_died;
};

bool model_complete(const struct model *m, uint32_t stage);
bool model_needed(const struct model *m, uint32_t stage);
bool model_ready(const struct model *m, uint32_t stage);
/* Its slots in use. */
uint32_t model_busy(const struct model *m, uint32_t executor);
uint32_t model_queued(const struct model *m, uint32_t executor);
bool model_node_is_excluded(const struct model *m, uint32_t node);
/* The task that is next, and where; twins apart. */
bool model_pick(const struct model *m, struct task_attempt *out);
/* The attempt is queued, and should be called back when nothing is next. */
bool model_may_revoke(const struct model *m, const struct model_try *t);
/* Where its twin would go; SCHED_NONE: nowhere. */
uint32_t model_copy_executor(const struct model *m, const struct model_try *t);
/* How long the task of the attempt would have to run for a twin; UINT64_MAX: it gets none. */
uint64_t model_slow_ns(const struct model *m, const struct model_try *t, uint64_t now_ns);

void model_begin(struct model *m, const struct task_attempt *run, uint64_t now_ns);
/* Of an attempt that runs; false: it was not wanted. */
bool model_done(struct model *m, uint32_t number, uint64_t now_ns);
bool model_failed(struct model *m, uint32_t number, enum sched_failure_kind why, uint64_t now_ns);
void model_lost(struct model *m, uint32_t executor, bool exit_caused_by_task, bool counts);
void model_output_lost(struct model *m, uint32_t stage, uint32_t task, uint32_t executor,
                       uint32_t attempt);

#endif
