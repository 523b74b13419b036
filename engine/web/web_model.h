/* What the web page and the API show of one job, made from its events: live, as the driver sends
 * them, or from an event log. Both go through the same functions, so they show the same numbers.
 * One thread. */
#ifndef GLINT_WEB_WEB_MODEL_H
#define GLINT_WEB_WEB_MODEL_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/events/event_log.h"

#include <jansson.h>

#define WEB_ATTEMPTS_MAX 250000u /* that are listed; all are counted */
#define WEB_FAILURES_MAX 1000u   /* the last ones, with their errors */

/* The counters of a task whose distribution over the tasks of a stage is shown. */
enum web_metric {
    WEB_ROWS_READ,
    WEB_BYTES_READ,
    WEB_ROWS_WRITTEN,
    WEB_BYTES_WRITTEN,
    WEB_MAP_OUTPUT_RECORDS,
    WEB_MAP_OUTPUT_BYTES,
    WEB_SPILL_BYTES,
    WEB_FETCH_WAIT_US,
    WEB_METRICS
};

struct web_counter {
    const char *name;
    int64_t value;
};

/* The end of one attempt of a task; 48 bytes. */
struct web_attempt {
    double start_ms, end_ms, run_ms; /* run_ms -1: not known */
    uint32_t stage, task, partition, attempt, executor;
    uint8_t outcome; /* enum event_outcome */
    bool speculative;
};

struct web_stage {
    uint32_t number, tasks;
    bool started;
    json_t *start, *end; /* its events; NULL: none */
    double start_ms, end_ms;
    uint64_t done, failed, killed, lost, speculative, retries;
    struct buffer run_ms;               /* a double for each done attempt */
    struct buffer done_tasks;           /* a uint32_t each: its task, which may be done again */
    struct buffer metrics[WEB_METRICS]; /* a uint64_t each; those at the end may be missing, as 0 */
    struct web_counter *counters;       /* sums of the done attempts; names are owned */
    uint32_t counter_count;
    uint64_t counter_capacity;
};

struct web_executor {
    json_t *joined, *last; /* its events; NULL: none */
    uint32_t busy;         /* slots in use, at the last status */
    json_t *health;        /* of the last status: age_ms, memory, memory_max; NULL: none */
    uint64_t done, failed;
};

struct web_model {
    json_t *job, *end; /* NULL: not seen yet */
    json_t *actions;   /* arrays of events */
    json_t *action_ends, *outputs, *notes, *reports;
    json_t *failures;     /* events of attempts that failed, and of those lost */
    json_t *running;      /* of the last status; NULL: none */
    json_t *storage;      /* the last event; NULL: none */
    json_t *accumulators; /* the last values; NULL: none */
    struct web_stage *stages;
    uint32_t stage_count;
    uint64_t stage_capacity;
    struct web_executor *executors;
    uint32_t executor_count;
    uint64_t executor_capacity;
    struct buffer attempts; /* struct web_attempt */
    uint64_t attempts_dropped, attempts_total, retries, stages_skipped, lost_executors;
    double last_ms;
    bool live; /* events may follow */
    bool truncated_line, size_limited;
    uint64_t changes; /* counts the events */
};

void web_model_init(struct web_model *m);
void web_model_fini(struct web_model *m);
/* Adds an event with valid fields (docs/event-log.md), or "status"; unknown ones are ignored.
 * Borrows `event`. Returns 0 or a code. */
int web_model_add_event(struct web_model *m, json_t *event, struct glint_error *error);
/* Adds the end of an attempt. `error` NULL: it has none; borrowed. Names are borrowed. */
int web_model_add_attempt(struct web_model *m, const struct web_attempt *a, json_t *why,
                          const struct web_counter *counters, uint32_t counter_count,
                          struct glint_error *error);
/* Sums over all stages. */
struct web_totals {
    uint64_t tasks, done_tasks, pending;         /* tasks */
    uint64_t active, done, failed, killed, lost; /* attempts */
};
struct web_totals web_model_totals(const struct web_model *m);
/* Slots of all executors that are not lost. */
uint64_t web_model_slots(const struct web_model *m);
uint64_t web_stage_done_tasks(const struct web_stage *s); /* each once, however often it ran */
int64_t web_stage_counter(const struct web_stage *s, const char *name);   /* 0: it has none */
uint64_t web_model_running_in(const struct web_model *m, uint32_t stage); /* attempts */
bool web_executor_is_lost(const struct web_executor *e);

#endif
