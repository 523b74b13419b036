/* One job, made from its events: what `glint history`, the web page and its API show. Events come
 * live from the driver, or from an event log (events/event_log.h, docs/event-log.md). Both go
 * through the same functions, so they show the same numbers. One thread. */
#ifndef GLINT_EVENTS_JOB_MODEL_H
#define GLINT_EVENTS_JOB_MODEL_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/events/counters.h"
#include "engine/events/event_log.h"

#include <jansson.h>

#define MODEL_ATTEMPTS_MAX 250000u /* that are listed; all are counted */
#define MODEL_FAILURES_MAX 1000u   /* the last ones, with their errors */
#define LOG_STAGES_MAX     65536u
#define LIVE_STAGES_MAX    (PLAN_NODES_MAX * 16u)

/* The numbers of a task whose distribution over the tasks of a stage is shown. */
enum task_metric {
    METRIC_ROWS_READ,
    METRIC_BYTES_READ,
    METRIC_ROWS_WRITTEN,
    METRIC_BYTES_WRITTEN,
    METRIC_MAP_OUTPUT_RECORDS,
    METRIC_MAP_OUTPUT_BYTES,
    METRIC_SPILL_BYTES,
    METRIC_FETCH_WAIT_US,
    METRIC_RUN_US, /* no counter */
    TASK_METRICS
};

struct job_stage {
    uint32_t number, tasks;
    json_t *start, *end;     /* its events; NULL: none */
    double start_ms, end_ms; /* -1: none */
    uint64_t done, failed, killed, lost, speculative, retries;
    /* Of the done attempts, in any order, a uint64_t each. */
    struct buffer done_tasks;            /* a task may be done again */
    struct buffer metrics[TASK_METRICS]; /* those at the end may be missing, as 0 */
    struct counters counters;            /* sums */
};

struct job_executor {
    json_t *joined, *last; /* its events; NULL: none */
    uint32_t busy;         /* slots in use, at the last status */
    json_t *health;        /* of the last status: age_ms, memory, memory_max; NULL: none */
    uint64_t attempts, done, failed; /* failed: or lost */
};

struct job_model {
    json_t *job, *end; /* NULL: not seen yet */
    json_t *events; /* array: actions and their ends, outputs, notes, reports; of a log, retries */
    json_t *failures;     /* events of attempts that failed, and of those lost */
    json_t *running;      /* of the last status; NULL: none */
    json_t *storage;      /* the last event; NULL: none */
    json_t *accumulators; /* the last values; NULL: none */
    struct job_stage *stages;
    uint32_t stage_count;
    uint64_t stage_capacity;
    struct job_executor *executors;
    uint32_t executor_count;
    uint64_t executor_capacity;
    struct buffer attempts; /* struct event_attempt */
    uint64_t attempts_dropped, attempts_total, retries, stages_skipped, lost_executors;
    double last_ms;
    bool live; /* events may follow */
    bool truncated_line, size_limited;
    uint64_t changes; /* counts the events */
};

void job_model_init(struct job_model *m);
void job_model_fini(struct job_model *m); /* zeros are allowed */
/* Makes jansson allocate with mem_*, initializes the model and adds the events of a log. Each line
 * is validated before use; unknown events and fields are ignored: a newer version may have written
 * them. Returns 0, INPUT_..., EVENT_LOG_INVALID with file:line, or NO_MEMORY. Call job_model_fini
 * in any case. */
int job_model_read(struct job_model *m, struct env *env, const char *path,
                   struct glint_error *error);
/* Adds an event with valid fields, or "status". Borrows `event`. Returns 0 or a code. */
int job_model_add_event(struct job_model *m, json_t *event, struct glint_error *error);
/* Adds the end of an attempt. `why` NULL: it has no error; borrowed. Returns its stage, or NULL
 * with *error set. */
struct job_stage *job_model_add_attempt(struct job_model *m, const struct event_attempt *a,
                                        json_t *why, struct glint_error *error);
/* Adds a counter of the last attempt, if it is done. Returns 0 or a code. */
int job_stage_add_counter(struct job_stage *s, const char *name, int64_t value,
                          struct glint_error *error);

struct job_totals {
    uint64_t stages, stages_skipped, tasks, retries; /* of a log that lacks events: by its end */
    /* Sums over all stages. */
    uint64_t done_tasks, pending;                /* tasks */
    uint64_t active, done, failed, killed, lost; /* attempts */
};
struct job_totals job_model_totals(const struct job_model *m);
/* Slots of all executors that are not lost. */
uint64_t job_model_slots(const struct job_model *m);
uint64_t job_stage_done_tasks(const struct job_stage *s); /* each once, however often it ran */
uint64_t job_model_running_count(const struct job_model *m, uint32_t stage); /* attempts */
bool job_executor_is_lost(const struct job_executor *e);

enum { TASK_MIN, TASK_P25, TASK_MEDIAN, TASK_P75, TASK_P95, TASK_MAX, TASK_QUANTILES };
/* Quantiles over the done attempts, by nearest rank; those without the metric have 0 of it. False:
 * none has it. Sorts its numbers. */
bool job_stage_quantiles(const struct job_stage *s, enum task_metric metric,
                         uint64_t out[TASK_QUANTILES]);

/* A text field of an event; "" if it is null or missing. */
const char *job_event_text(const json_t *event, const char *name);
bool job_event_is(const json_t *o, const char *event);
/* A counter, which is an integer, or a string of digits. */
int64_t json_integer_or_text(const json_t *value);
/* Writes any value of an event, as it is; NULL: null. */
void job_put_json_value(struct json *out, const char *name, const json_t *value);

#endif
