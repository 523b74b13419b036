/* Parses one line at a time. Task events are freed once they are counted, so memory grows with the
 * number of stages, retries and executors, and by one number per task. */
#include "engine/cli/history.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/cli/history_lines.h"
#include "engine/driver/event_log.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool history_is_event(const json_t *o, const char *event)
{
    return strcmp(history_text(o, "event"), event) == 0;
}

static uint32_t event_u32(const json_t *o, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(o, name));
    assert(value >= 0 && value <= UINT32_MAX); /* checked when the line was read */
    return (uint32_t)value;
}

const char *history_text(const json_t *event, const char *name)
{
    const char *text = json_string_value(json_object_get(event, name));
    return text != NULL ? text : "";
}

/* Reads an integer, or a string of digits. */
static int64_t counter_value(const json_t *value)
{
    int64_t number_of_text = 0;
    if (!json_is_string(value)) return json_integer_value(value);
    text_parse_i64((const uint8_t *)json_string_value(value), json_string_length(value),
                   &number_of_text);
    return number_of_text;
}

static struct history_executor *find_or_add_executor(struct history *h, const json_t *o,
                                                     struct glint_error *error)
{
    uint32_t n = event_u32(o, "executor");
    /* Executor numbers are below EXECUTORS_MAX (checked with the line), which bounds the memory. */
    if (!array_reserve(&h->executors, &h->executor_capacity, n + UINT64_C(1),
                       sizeof *h->executors)) {
        error_no_memory(error);
        return NULL;
    }
    for (; h->executor_count <= n; h->executor_count++)
        h->executors[h->executor_count] = (struct history_executor){.joined = NULL};
    return &h->executors[n];
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
    h->stages[h->stage_count] = (struct history_stage){.number = n};
    return &h->stages[h->stage_count++];
}

static int add_counter(struct history_stage *s, const char *name, int64_t value,
                       struct glint_error *error)
{
    uint32_t i = 0;
    while (i < s->counter_count && strcmp(s->counters[i].name, name) != 0) i++;
    if (i == s->counter_count) {
        if (i == COUNTERS_MAX)
            return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "more than %u counters",
                             COUNTERS_MAX);
        if (!array_reserve(&s->counters, &s->counter_capacity, i + 1, sizeof *s->counters))
            return error_no_memory(error);
        s->counters[i] = (struct history_counter){mem_strdup(name), 0};
        if (s->counters[i].name == NULL) return error_no_memory(error);
        s->counter_count++;
    }
    /* Wraps around like the job's own counters; a log may contain any numbers. */
    s->counters[i].value = (int64_t)((uint64_t)s->counters[i].value + (uint64_t)value);
    return 0;
}

static int add_done(struct history_stage *s, const json_t *o, struct glint_error *error)
{
    if (!array_reserve(&s->task_ms, &s->task_capacity, s->task_count + 1, sizeof *s->task_ms))
        return error_no_memory(error);
    s->task_ms[s->task_count++] = json_number_value(json_object_get(o, "run_ms"));
    s->done++;
    int r = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(o, "counters"), name, value)
    {
        if (r == 0) r = add_counter(s, name, counter_value(value), error);
    }
    return r;
}

static int on_task(struct history *h, const json_t *o, struct glint_error *error)
{
    struct history_stage *s = find_or_add_stage(h, o, error);
    struct history_executor *e = s != NULL ? find_or_add_executor(h, o, error) : NULL;
    if (e == NULL) return error->code;
    const char *outcome = history_text(o, "outcome");
    e->tasks++;
    s->speculative += json_is_true(json_object_get(o, "speculative"));
    if (strcmp(outcome, "done") == 0) return add_done(s, o, error);
    if (strcmp(outcome, "killed") == 0) {
        s->killed++;
        return 0;
    }
    e->failed++;
    if (strcmp(outcome, "executor lost") == 0)
        s->lost++;
    else
        s->failed++;
    return 0;
}

static int on_executor(struct history *h, const json_t *o, struct glint_error *error)
{
    struct history_executor *e = find_or_add_executor(h, o, error);
    if (e == NULL) return error->code;
    *(strcmp(history_text(o, "state"), "joined") == 0 ? &e->joined : &e->last) = o;
    return 0;
}

static int on_stage(struct history *h, const json_t *o, struct glint_error *error)
{
    struct history_stage *s = find_or_add_stage(h, o, error);
    if (s == NULL) return error->code;
    if (history_is_event(o, "stage") && s->started == NULL)
        s->started = o; /* a stage may run again */
    if (history_is_event(o, "stage_end")) s->ended = o;
    s->retries += history_is_event(o, "retry");
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
    if (history_is_event(o, "job")) h->job = o;
    if (history_is_event(o, "job_end")) h->end = o;
    if (history_is_event(o, "full")) h->size_limited = true;
    if (history_is_event(o, "executor")) return on_executor(h, o, error);
    bool staged = history_is_event(o, "stage") || history_is_event(o, "stage_end") ||
                  history_is_event(o, "retry");
    return staged ? on_stage(h, o, error) : 0;
}

static int compare_ms(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int history_read(struct history *h, struct env *env, const char *path, struct glint_error *error)
{
    *h = (struct history){.events = NULL};
    history_lines_init();
    h->events = json_array();
    if (h->events == NULL) return error_no_memory(error);
    int r = history_read_lines(env, path, on_event, h, &h->truncated_line, error);
    if (r == 0 && h->job == NULL)
        r = error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "%s:1: the log contains no job",
                      path);
    for (uint32_t i = 0; r == 0 && i < h->stage_count; i++) {
        struct history_stage *s = &h->stages[i];
        if (s->task_count > 0) qsort(s->task_ms, s->task_count, sizeof *s->task_ms, compare_ms);
    }
    return r;
}

void history_fini(struct history *h)
{
    for (uint32_t i = 0; i < h->stage_count; i++) {
        struct history_stage *s = &h->stages[i];
        for (uint32_t k = 0; k < s->counter_count; k++) mem_free(s->counters[k].name);
        mem_free(s->counters);
        mem_free(s->task_ms);
    }
    mem_free(h->stages);
    mem_free(h->executors);
    json_decref(h->events);
    *h = (struct history){.events = NULL};
}

double history_quantile(const struct history_stage *s, double q)
{
    assert(q >= 0 && q <= 1);
    if (s->task_count == 0) return 0;
    uint64_t rank = (uint64_t)ceil(q * (double)s->task_count);
    return s->task_ms[rank > 0 ? rank - 1 : 0];
}

double history_skew(const struct history_stage *s)
{
    double median = history_quantile(s, 0.5);
    return median > 0 ? history_quantile(s, 1) / median : 0;
}
