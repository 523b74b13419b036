/* A model of the scheduler, as simple as possible: arrays with linear searches. It implements what
 * sched.h specifies, without regard to speed. */
#ifndef TESTS_UNIT_DRIVER_SCHED_MODEL_H
#define TESTS_UNIT_DRIVER_SCHED_MODEL_H

#include "engine/limits.h"
#include "engine/sched/sched.h"

#define MODEL_STAGES    6
#define MODEL_TASKS     40
#define MODEL_EXECUTORS 64
#define MODEL_NODES     6
#define MODEL_DURATIONS 4096
#define MODEL_ATTEMPTS  (MODEL_EXECUTORS * 8)

enum model_state { MODEL_WAITING, MODEL_RUNNING, MODEL_DONE, MODEL_FAILED };

struct model_task {
    enum model_state state;
    uint32_t attempts, failures, failed_on[TASK_ATTEMPTS_MAX], last_failed_node;
    uint32_t prefer, prefer_order;
    uint32_t executor, attempt; /* done: where the output is, and which attempt made it */
};

/* An attempt that runs or is queued. Superseded: another copy is done, or its task failed. */
struct model_attempt {
    struct task_attempt run;
    uint64_t start_ns;
    uint64_t queue; /* 0: it runs; else its position in the order of queueing */
    uint32_t stage_attempt;
    bool superseded, revoked;
    uint64_t revoke_ns;
};

struct model_stage {
    struct model_task tasks[MODEL_TASKS];
    uint64_t durations[MODEL_DURATIONS];
    uint32_t count, parents /* bitmap */, stage_attempt, stage_attempts_failed, duration_count;
    bool failed;
};

struct model {
    struct model_stage stages[MODEL_STAGES];
    struct {
        uint32_t node, slots, prefetch;
        bool lost, draining;
    } executors[MODEL_EXECUTORS];
    uint32_t failures_in_row[MODEL_NODES];
    struct model_attempt attempts[MODEL_ATTEMPTS];
    uint32_t stage_count, executor_count, attempt_count, prefers, losses;
    uint64_t last_queue;
    enum sched_status status;
    bool stopped, speculate, process_died;
};

bool model_complete(const struct model *m, uint32_t stage);
bool model_needed(const struct model *m, uint32_t stage);
bool model_ready(const struct model *m, uint32_t stage);
/* Its occupied slots. */
uint32_t model_busy(const struct model *m, uint32_t executor);
uint32_t model_queued(const struct model *m, uint32_t executor);
bool model_node_is_excluded(const struct model *m, uint32_t node);
/* The next task and its executor, without speculative copies. */
bool model_pick(const struct model *m, struct task_attempt *out);
/* The attempt is queued, and should be revoked when no task can be started. */
bool model_may_revoke(const struct model *m, const struct model_attempt *t);
/* The executor for its speculative copy; SCHED_NONE: none. */
uint32_t model_copy_executor(const struct model *m, const struct model_attempt *t);
/* How long the attempt must run before its task gets a copy; UINT64_MAX: it gets none. */
uint64_t model_slow_ns(const struct model *m, const struct model_attempt *t, uint64_t now_ns);

void model_begin(struct model *m, const struct task_attempt *run, uint64_t now_ns);
/* Events of an attempt that runs. False: it was superseded. */
bool model_done(struct model *m, uint32_t number, uint64_t now_ns);
bool model_failed(struct model *m, uint32_t number, enum sched_failure_kind why, uint64_t now_ns);
void model_lost(struct model *m, uint32_t executor, bool exit_caused_by_task, bool counts);
void model_output_lost(struct model *m, uint32_t stage, uint32_t task, uint32_t executor,
                       uint32_t attempt);

#endif
