/* A job's history, read from its event log (written by driver/event_log.h, described in
 * docs/event-log.md). The log is read completely, and each line is validated before use. Unknown
 * events and fields are ignored: a newer version may have written them. */
#ifndef GLINT_CLI_HISTORY_H
#define GLINT_CLI_HISTORY_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/limits.h"

#include <jansson.h>
#include <stdio.h>

#define HISTORY_STAGES_MAX 65536u

/* Some events are kept as JSON for printing; fields marked "kept" are borrowed from
 * history.events. */
struct history_executor {
    const json_t *joined, *last; /* kept; last: the latest of its other events, or NULL */
    uint32_t tasks, failed;      /* attempts that ran here; those that failed or were lost */
};

/* A counter's sum over a stage. */
struct history_counter {
    char *name;
    int64_t value;
};

/* A stage with statistics over its attempts. */
struct history_stage {
    uint32_t number;
    const json_t *started, *ended; /* kept; NULL: not in the log */
    uint32_t done, failed, killed, lost, speculative, retries;
    /* Run times of successful attempts, sorted after reading. */
    double *task_ms;
    uint64_t task_count, task_capacity;
    struct history_counter *counters; /* sums over those attempts, in order of first occurrence */
    uint32_t counter_count;
    uint64_t counter_capacity;
};

/* The whole history; free with history_fini. */
struct history {
    json_t *events;                     /* all events except tasks, in order */
    const json_t *job, *end;            /* kept; end NULL: the log ends before the job did */
    bool truncated_line;                /* the last line was incomplete and was ignored */
    bool size_limited;                  /* the log reached its size limit */
    double last_ms;                     /* time of the last line */
    struct history_executor *executors; /* indexed by number */
    uint32_t executor_count, stage_count;
    struct history_stage *stages; /* in order of first occurrence */
    uint64_t executor_capacity, stage_capacity;
};

/* Returns 0, INPUT_..., EVENT_LOG_INVALID with file:line, or NO_MEMORY. Call history_fini in any
 * case. Makes jansson allocate with mem_*. */
int history_read(struct history *h, struct env *env, const char *path, struct glint_error *error);
void history_fini(struct history *h);

/* Returns the q-quantile (0 to 1) of the run times in ms, by nearest rank; 0 without attempts. */
double history_quantile(const struct history_stage *s, double q);
/* Returns the longest run time divided by the median; 0 without attempts. */
double history_skew(const struct history_stage *s);
/* Returns a text field of an event; "" if it is null or missing. */
const char *history_text(const json_t *event, const char *name);
bool history_is_event(const json_t *o, const char *event);

void history_print(FILE *out, const struct history *h);
/* Prints one object and a newline. Returns false when out of memory, having printed nothing. */
bool history_print_json(FILE *out, const struct history *h);

#endif
