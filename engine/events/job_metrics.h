/* The metrics of a job, for its summary and progress: sums of counters, stages with their times,
 * numbers of tasks and retries. Driver thread only. */
#ifndef GLINT_EVENTS_JOB_METRICS_H
#define GLINT_EVENTS_JOB_METRICS_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/plan/progress.h"

struct job_metrics {
    uint32_t counter_count, stage_count; /* stages: those kept, at most STAGES_KEPT_MAX */
    uint32_t stages_started;
    uint64_t stage_capacity;
    char *names[COUNTERS_MAX];
    int64_t values[COUNTERS_MAX];
    struct glint_stage_time *stages;         /* in order of their numbers; names are owned */
    uint32_t tasks, stages_skipped, retries; /* tasks: of all stages that have started */
};

void job_metrics_fini(struct job_metrics *m);
/* Adds `by` to the counter, which is created at the first call. `name` is copied. Returns 0,
 * PLAN_LIMIT (more than COUNTERS_MAX counters) or NO_MEMORY. */
int job_metrics_add_counter(struct job_metrics *m, const char *name, int64_t by,
                            struct glint_error *error);
/* Adds a task's counters (msgpack, see task_counters_encode), not its accumulators. Returns 0,
 * PROTOCOL, PLAN_LIMIT or NO_MEMORY; after an error, some of them are added. */
int job_metrics_add_task_counters(struct job_metrics *m, struct glint_slice counters,
                                  struct glint_error *error);
/* Returns a task's rows and bytes read, of the same encoding; 0: what cannot be decoded. */
void job_metrics_task_input(struct glint_slice counters, uint64_t *out_rows, uint64_t *out_bytes);
/* Returns the sum of the counter and of its parts: "bad rows: REASON" is a part of "bad rows". 0 if
 * the counter does not exist. */
int64_t job_metrics_counter_value(const struct job_metrics *m, const char *name);
/* A stage started for the first time. `name` is copied. A job that runs actions in a loop has
 * stages without end: the oldest ones are dropped. Returns false when out of memory. */
bool job_metrics_add_stage(struct job_metrics *m, uint32_t number, const char *name,
                           uint32_t tasks);
/* Sets the stage's elapsed time. */
void job_metrics_finish_stage(struct job_metrics *m, uint32_t number, uint64_t elapsed_ns);
/* Built-in counters first, in the order of task_counter_names, then the functions' own by name. */
void job_metrics_sort_counters(struct job_metrics *m);

#endif
