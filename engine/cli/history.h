/* A job as its event log tells it (driver/event_log.h writes them, docs/event-log.md describes
 * them): read whole, each line checked before it is believed. Unknown events and fields are passed
 * over: they are younger than this program. */
#ifndef GLINT_CLI_HISTORY_H
#define GLINT_CLI_HISTORY_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/limits.h"

#include <jansson.h>
#include <stdio.h>

#define HISTORY_STAGES_MAX 65536u

/* Events stay as they stood in the file, for whoever shows them; "kept" is borrowed from
 * history.kept. */
struct history_executor {
    const json_t *joined, *last; /* kept; last: the youngest of its other events, or NULL */
    uint32_t tasks, failed;      /* attempts that ran here; of them neither done nor killed */
};

struct history_counter {
    char *name;
    int64_t value;
};

struct history_stage {
    uint32_t number;
    const json_t *started, *ended; /* kept; NULL: not in the log */
    uint32_t done, failed, killed, lost, speculative, retries;
    /* Of attempts that ended well, sorted once read. */
    double *task_ms;
    uint64_t task_count, task_capacity;
    struct history_counter *counters; /* sums over them, in order of appearance */
    uint32_t counter_count;
};

struct history {
    json_t *events;                     /* all events but tasks, in order */
    const json_t *job, *end;            /* kept; end NULL: the log was cut off */
    bool torn;                          /* the last line was not whole, and was passed over */
    bool full;                          /* the log reached its bound */
    double last_ms;                     /* of the youngest line */
    struct history_executor *executors; /* by number */
    uint32_t executor_count;
    struct history_stage *stages; /* in order of appearance */
    uint32_t stage_count;
    uint64_t stage_capacity;
};

/* 0, INPUT_..., or EVENT_LOG_INVALID with file:line, NO_MEMORY; history_fini in any case. Sets
 * jansson's allocator to mem_*. */
int history_read(struct history *h, struct env *env, const char *path, struct glint_error *error);
void history_fini(struct history *h);

/* q of [0, 1]; nearest rank. 0 where there is none. */
double history_quantile(const struct history_stage *s, double q);
/* Longest task over the median one; 0 where there is none. */
double history_skew(const struct history_stage *s);
/* A field of a kept event; "" where it is null or absent. */
const char *history_text(const json_t *event, const char *name);

void history_print(FILE *out, const struct history *h);
/* One object and a newline. False: no memory, nothing was printed. */
bool history_print_json(FILE *out, const struct history *h);

#endif
