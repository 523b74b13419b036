/* Parses one line at a time, and adds what it says to the report. Task events are freed once they
 * are counted, so memory grows with the number of stages, retries and executors, and by one number
 * per task. Results of jansson are not checked one by one: it accepts NULL for values that could
 * not be made, and history_lines_out_of_memory tells whether there were any. */
#include "engine/events/history.h"

#include "engine/base/text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX ((int64_t)1 << 53)

bool history_is_event(const json_t *o, const char *event)
{
    return strcmp(history_text(o, "event"), event) == 0;
}

const char *history_text(const json_t *event, const char *name)
{
    const char *text = json_string_value(json_object_get(event, name));
    return text != NULL ? text : "";
}

int64_t json_integer_or_text(const json_t *value)
{
    int64_t number_of_text = 0;
    if (!json_is_string(value)) return json_integer_value(value);
    text_parse_i64((const uint8_t *)json_string_value(value), json_string_length(value),
                   &number_of_text);
    return number_of_text;
}

static uint32_t event_u32(const json_t *o, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(o, name));
    assert(value >= 0 && value <= UINT32_MAX); /* checked when the line was read */
    return (uint32_t)value;
}

/* Adds to a count in place. Wraps around like the job's own counters. */
static void add_named_count(const json_t *o, const char *name, int64_t n)
{
    json_t *count = json_object_get(o, name);
    json_integer_set(count, (int64_t)((uint64_t)json_integer_value(count) + (uint64_t)n));
}

/* Puts the fields of an event before those of a report. Frees the report. */
static json_t *add_event(const json_t *event, json_t *report)
{
    json_t *both = json_copy((json_t *)event);
    json_object_update(both, report);
    json_decref(report);
    return both;
}

static json_t *find_or_add_executor(struct history *h, const json_t *o)
{
    uint32_t n = event_u32(o, "executor");
    /* Executor numbers are below EXECUTORS_MAX (checked with the line), which bounds the memory. */
    for (size_t i = json_array_size(h->executors); i <= n; i++)
        json_array_append_new(h->executors, json_null());
    if (json_is_null(json_array_get(h->executors, n)))
        json_array_set_new(h->executors, n,
                           json_pack("{s:I s:i s:i s:n}", "executor", (json_int_t)n, "attempts", 0,
                                     "failed", 0, "last"));
    return json_array_get(h->executors, n);
}

/* Searches from the newest stage. If a stage's start event is missing, it is created by its first
 * task. */
static struct history_stage *find_or_add_stage(struct history *h, const json_t *o,
                                               struct glint_error *error)
{
    uint32_t n = event_u32(o, "stage");
    for (uint32_t i = h->stage_count; i > 0; i--)
        if (h->stages[i - 1].number == n) return &h->stages[i - 1];
    if (h->stage_count == HISTORY_STAGES_MAX) {
        error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "more than %u stages",
                  HISTORY_STAGES_MAX);
        return NULL;
    }
    if (!array_reserve(&h->stages, &h->stage_capacity, h->stage_count + 1, sizeof *h->stages)) {
        error_no_memory(error);
        return NULL;
    }
    json_t *report =
        json_pack("{s:I s:i s:i s:i s:i s:i s:i s:{}}", "stage", (json_int_t)n, "done", 0, "failed",
                  0, "lost", 0, "killed", 0, "speculative", 0, "retries", 0, "counters");
    h->stages[h->stage_count] = (struct history_stage){.number = n, .report = report};
    h->stages_total++;
    return &h->stages[h->stage_count++];
}

static int add_done(struct history_stage *s, const json_t *o, struct glint_error *error)
{
    json_t *value, *sums = json_object_get(s->report, "counters");
    const double ms = json_number_value(json_object_get(o, "run_ms"));
    const char *name;
    if (!buffer_append(&s->run_ms, &ms, sizeof ms)) return error_no_memory(error);
    json_object_foreach(json_object_get(o, "counters"), name, value)
    {
        if (json_object_get(sums, name) == NULL) json_object_set_new(sums, name, json_integer(0));
        add_named_count(sums, name, json_integer_or_text(value));
    }
    if (json_object_size(sums) > COUNTERS_MAX)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "more than %u counters",
                         COUNTERS_MAX);
    return 0;
}

static int on_task(struct history *h, const json_t *o, struct glint_error *error)
{
    const char *outcome = history_text(o, "outcome");
    struct history_stage *s = find_or_add_stage(h, o, error);
    if (s == NULL) return error->code;
    bool done = strcmp(outcome, "done") == 0, killed = strcmp(outcome, "killed") == 0;
    bool lost = strcmp(outcome, "executor lost") == 0;
    json_t *executor = find_or_add_executor(h, o);
    h->attempts++;
    add_named_count(executor, "attempts", 1);
    add_named_count(executor, "failed", !done && !killed);
    add_named_count(s->report, done ? "done" : killed ? "killed" : lost ? "lost" : "failed", 1);
    add_named_count(s->report, "speculative", json_is_true(json_object_get(o, "speculative")));
    return done ? add_done(s, o, error) : 0;
}

static void on_executor(struct history *h, json_t *o)
{
    json_t *executor = find_or_add_executor(h, o);
    if (strcmp(history_text(o, "state"), "joined") == 0)
        json_array_set_new(h->executors, event_u32(o, "executor"),
                           add_event(o, json_incref(executor)));
    else
        json_object_set(executor, "last", o);
}

static int on_stage(struct history *h, const json_t *o, struct glint_error *error)
{
    struct history_stage *s = find_or_add_stage(h, o, error);
    if (s == NULL) return error->code;
    if (history_is_event(o, "stage") && s->started == NULL) { /* a stage may run again */
        s->started = o;
        s->report = add_event(o, s->report);
        h->tasks += event_u32(o, "tasks");
    }
    if (history_is_event(o, "stage_end")) s->ended = o;
    h->retries += history_is_event(o, "retry");
    add_named_count(s->report, "retries", history_is_event(o, "retry"));
    return 0;
}

/* Handles a validated event. */
static int on_event(void *arg, json_t *o, struct glint_error *error)
{
    struct history *h = arg;
    h->last_ms = json_number_value(json_object_get(o, "ms"));
    /* Exactly the first event is "job". */
    if ((h->job == NULL) != history_is_event(o, "job"))
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL,
                         h->job == NULL ? "the first event must be \"job\""
                                        : "duplicate \"job\" event");
    if (h->end != NULL)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "event after \"job_end\"");
    /* Counted, but not kept: see the top of the file. */
    if (history_is_event(o, "task")) return on_task(h, o, error);
    if (json_array_append(h->events, o) != 0) return error_no_memory(error);
    h->stages_skipped += (int64_t)json_array_size(json_object_get(o, "skipped"));
    if (history_is_event(o, "job")) h->job = o;
    if (history_is_event(o, "job_end")) h->end = o;
    if (history_is_event(o, "storage")) h->storage = json_object_get(o, "rdds");
    if (json_object_get(o, "accumulators") != NULL)
        h->accumulators = json_object_get(o, "accumulators");
    if (history_is_event(o, "full")) h->size_limited = true;
    if (history_is_event(o, "executor")) on_executor(h, o);
    bool staged = history_is_event(o, "stage") || history_is_event(o, "stage_end") ||
                  history_is_event(o, "retry");
    return staged ? on_stage(h, o, error) : 0;
}

/* ---- After the last line */

static int compare_ms(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Adds quantiles of the run times, by nearest rank, and the longest divided by the median. */
static void add_statistics(const struct history_stage *s)
{
    static const struct {
        const char *name;
        double q;
    } quantiles[] = {{"min_ms", 0},    {"p25_ms", 0.25}, {"median_ms", 0.5},
                     {"p75_ms", 0.75}, {"p95_ms", 0.95}, {"max_ms", 1}};
    double *ms = (double *)s->run_ms.data;
    const size_t count = s->run_ms.size / sizeof *ms;
    if (count == 0) return;
    qsort(ms, count, sizeof *ms, compare_ms);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        const size_t rank = (size_t)ceil(quantiles[i].q * (double)count);
        json_object_set_new(s->report, quantiles[i].name, json_real(ms[rank > 0 ? rank - 1 : 0]));
    }
    const double median = json_real_value(json_object_get(s->report, "median_ms"));
    json_object_set_new(s->report, "skew", json_real(median > 0 ? ms[count - 1] / median : 0));
}

static void finish_stage(const struct history_stage *s)
{
    char text[TEXT_NUMBER_MAX];
    const char *name;
    json_t *value, *counters = json_incref(json_object_get(s->report, "counters"));
    json_object_del(s->report, "counters"); /* to print it last */
    json_t *ended = json_object_get(s->ended, "ms");
    json_object_set_new(s->report, "ended_ms",
                        ended != NULL ? json_real(json_number_value(ended)) : json_null());
    add_statistics(s);
    json_object_foreach(counters, name, value)
    {
        const json_int_t sum = json_integer_value(value);
        if (sum >= -EXACT_MAX && sum <= EXACT_MAX) continue;
        text_format_i64(text, sum);
        json_object_set_new(counters, name, json_string(text));
    }
    json_object_set_new(s->report, "counters", counters);
}

/* Returns all events of one type. */
static json_t *events_of(const struct history *h, const char *event)
{
    size_t i;
    json_t *o, *list = json_array();
    json_array_foreach(h->events, i, o)
    {
        if (history_is_event(o, event)) json_array_append(list, o);
    }
    return list;
}

static int64_t count_of(const json_t *event, const char *name)
{
    const json_int_t count = json_integer_value(json_object_get(event, name));
    return count > 0 ? count : 0;
}

static void make_report(struct history *h)
{
    json_t *o, *executors = json_array(), *stages = json_array();
    const bool failed = json_is_object(json_object_get(h->end, "error"));
    size_t n;
    json_array_foreach(h->executors, n, o)
    {
        if (!json_is_null(o)) json_array_append(executors, o);
    }
    for (uint32_t i = 0; i < h->stage_count; i++) {
        finish_stage(&h->stages[i]);
        json_array_append(stages, h->stages[i].report);
    }
    const char *status = h->end == NULL ? "incomplete" : failed ? "failed" : "ok";
    /* Events after the size limit are missing, so counting them would give too little. */
    if (h->size_limited && h->end != NULL) {
        h->stages_total = count_of(h->end, "stages");
        h->stages_skipped = count_of(h->end, "stages_skipped");
        h->tasks = count_of(h->end, "tasks");
        h->retries = count_of(h->end, "retries");
    }
    h->report = json_pack("{s:i s:s s:O s:O? s:I s:I s:I s:I s:I s:f s:b s:b}", "schema", 1,
                          "status", status, "job", h->job, "end", h->end, "stage_count",
                          h->stages_total, "stages_skipped", h->stages_skipped, "tasks", h->tasks,
                          "attempts", h->attempts, "retry_count", h->retries, "last_ms", h->last_ms,
                          "truncated_line", h->truncated_line, "size_limited", h->size_limited);
    json_object_set_new(h->report, "executors", executors);
    json_object_set_new(h->report, "stages", stages);
    json_object_set_new(h->report, "actions", events_of(h, "action"));
    json_object_set_new(h->report, "retries", events_of(h, "retry"));
    json_object_set_new(h->report, "storage",
                        h->storage != NULL ? json_copy((json_t *)h->storage) : json_array());
    json_object_set_new(h->report, "accumulators",
                        h->accumulators != NULL ? json_copy((json_t *)h->accumulators)
                                                : json_object());
    json_object_set_new(h->report, "outputs", events_of(h, "output"));
    json_object_set_new(h->report, "notes", events_of(h, "note"));
    json_object_set_new(h->report, "reports", events_of(h, "report"));
}

int history_read(struct history *h, struct env *env, const char *path, struct glint_error *error)
{
    *h = (struct history){.events = NULL};
    history_lines_init();
    h->events = json_array();
    h->executors = json_array();
    if (history_lines_out_of_memory()) return error_no_memory(error);
    int r = history_read_lines(env, path, on_event, h, &h->truncated_line, error);
    if (r == 0 && h->job == NULL)
        r = error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "%s:1: the log contains no job",
                      path);
    if (r == 0) make_report(h);
    return history_lines_out_of_memory() ? error_no_memory(error) : r;
}

void history_fini(struct history *h)
{
    for (uint32_t i = 0; i < h->stage_count; i++) {
        json_decref(h->stages[i].report);
        buffer_fini(&h->stages[i].run_ms);
    }
    mem_free(h->stages);
    json_decref(h->executors);
    json_decref(h->events);
    json_decref(h->report);
    *h = (struct history){.events = NULL};
}
