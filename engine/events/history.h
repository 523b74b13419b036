/* A job's history, read from its event log (written by events/event_log.h, described in
 * docs/event-log.md). The log is read completely, and each line is validated before use. Unknown
 * events and fields are ignored: a newer version may have written them. */
#ifndef GLINT_EVENTS_HISTORY_H
#define GLINT_EVENTS_HISTORY_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"

#include <jansson.h>
#include <stdio.h>

#define HISTORY_STAGES_MAX 65536u

struct history_stage {
    uint32_t number;
    json_t *report;        /* its first event, with counts and statistics of its attempts */
    const json_t *started; /* borrowed from history.events, like `ended`; NULL: not in the log */
    const json_t *ended;
    struct buffer run_ms; /* a double for each successful attempt, sorted after reading */
};

/* The whole history; free with history_fini. */
struct history {
    json_t *report; /* what --json prints; the text is made from it, too */
    json_t *events; /* all events except tasks, in order */
    /* The following are borrowed from `events`; `end` NULL: the log ends before the job did. */
    const json_t *job, *end;
    const json_t *storage, *accumulators; /* the last ones; NULL: none */
    bool truncated_line;                  /* the last line was incomplete and was ignored */
    bool size_limited;                    /* the log reached its size limit */
    /* Totals, counted as in the summary of the job. */
    int64_t stages_total, stages_skipped, tasks, attempts, retries;
    double last_ms;       /* time of the last line */
    json_t *executors;    /* by number; null: not in the log */
    uint32_t stage_count; /* in order of first occurrence */
    struct history_stage *stages;
    uint64_t stage_capacity;
};

/* Returns 0, INPUT_..., EVENT_LOG_INVALID with file:line, or NO_MEMORY. Call history_fini in any
 * case. Makes jansson allocate with mem_*. */
int history_read(struct history *h, struct env *env, const char *path, struct glint_error *error);
void history_fini(struct history *h);

/* Returns a text field of an event; "" if it is null or missing. */
const char *history_text(const json_t *event, const char *name);
bool history_is_event(const json_t *o, const char *event);
/* Returns a counter, which is an integer, or a string of digits. */
int64_t json_integer_or_text(const json_t *value);

/* ---- history_lines.c: each line must be JSON with a known schema version and the fields of its
 * event. */

/* Makes jansson allocate with mem_*. Call it once, before any other function of jansson. */
void history_lines_init(void);
/* True if jansson has been unable to allocate since history_lines_init. */
bool history_lines_out_of_memory(void);
/* Calls `line` for each line; it must json_incref what it keeps. It returns 0, or a code with
 * *error set, to whose cause file and line are prepended. Returns 0, INPUT_..., EVENT_LOG_INVALID
 * or NO_MEMORY. *out_truncated: an incomplete last line was ignored. */
int history_read_lines(struct env *env, const char *path,
                       int (*line)(void *arg, json_t *o, struct glint_error *error), void *arg,
                       bool *out_truncated, struct glint_error *error);

/* ---- history_print.c */

void history_print(FILE *out, const struct history *h);
/* Prints one object and a newline. Returns false when out of memory, having printed nothing. */
bool history_print_json(FILE *out, const struct history *h);

#endif
