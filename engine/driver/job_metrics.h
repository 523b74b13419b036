/* What a job did, added up for its summary: counters by name, stages with their times. */
#ifndef GLINT_DRIVER_JOB_METRICS_H
#define GLINT_DRIVER_JOB_METRICS_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/plan/progress.h"

struct job_metrics {
    uint32_t counter_count, stage_count;
    char *names[COUNTERS_MAX];
    int64_t values[COUNTERS_MAX];
    struct stage_time *stages; /* by number */
    uint32_t tasks, stages_skipped, retries;
};

void job_metrics_fini(struct job_metrics *t);
/* 0, PLAN_LIMIT or NO_MEMORY. `name` is copied. */
int job_metrics_add_counter(struct job_metrics *t, const char *name, int64_t by,
                            struct glint_error *error);
/* Adds a task's counters (msgpack, see executor.h). 0, PROTOCOL or NO_MEMORY. */
int job_metrics_add_task_counters(struct job_metrics *t, struct glint_slice counters,
                                  struct glint_error *error);
/* The sum of the counter and of its parts: "bad rows: REASON" is one of "bad rows". */
int64_t job_metrics_counter_value(const struct job_metrics *t, const char *name);
/* A stage began, or ended, the first time. `name` is copied. False without memory. */
bool job_metrics_add_stage(struct job_metrics *t, uint32_t number, const char *name,
                           uint32_t tasks);
void job_metrics_finish_stage(struct job_metrics *t, uint32_t number, uint64_t elapsed_ns);
/* Built-in counters first, then the functions' by name. */
void job_metrics_sort_counters(struct job_metrics *t);

#endif
