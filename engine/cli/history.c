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

static bool is_event(const json_t *o, const char *event)
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

/* Returns `list` with room for one more element of `size` bytes; NULL when out of memory, with the
 * old list unchanged. */
static void *grow_list(void *list, uint64_t count, uint64_t *capacity, uint64_t size)
{
    if (count < *capacity) return list;
    uint64_t wanted = *capacity > 0 ? 2 * *capacity : 16;
    void *grown = mem_grow(list, *capacity * size, wanted * size);
    if (grown != NULL) *capacity = wanted;
    return grown;
}

static struct history_executor *find_or_add_executor(struct history *h, const json_t *o,
                                                     struct glint_error *error)
{
    uint32_t n = event_u32(o, "executor");
    if (n >= h->executor_count) {
        uint64_t old = h->executor_count * sizeof *h->executors;
        /* Executor numbers are below EXECUTORS_MAX (checked with the line), which bounds the
         * memory. */
        uint64_t count = n + 1 + n / 2;
        struct history_executor *grown = mem_grow(h->executors, old, count * sizeof *grown);
        if (grown == NULL) {
            error_no_memory(error);
            return NULL;
        }
        memset(grown + h->executor_count, 0, count * sizeof *grown - old);
        h->executors = grown;
        h->executor_count = (uint32_t)count;
    }
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
    struct history_stage *grown =
        grow_list(h->stages, h->stage_count, &h->stage_capacity, sizeof *h->stages);
    if (grown == NULL) {
        error_no_memory(error);
        return NULL;
    }
    h->stages = grown;
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
        uint64_t size = sizeof *s->counters;
        struct history_counter *grown = mem_grow(s->counters, i * size, (i + 1) * size);
        if (grown == NULL) return error_no_memory(error);
        s->counters = grown;
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
    double *grown = grow_list(s->task_ms, s->task_count, &s->task_capacity, sizeof *s->task_ms);
    if (grown == NULL) return error_no_memory(error);
    s->task_ms = grown;
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
    if (is_event(o, "stage") && s->started == NULL) s->started = o; /* a stage may run again */
    if (is_event(o, "stage_end")) s->ended = o;
    s->retries += is_event(o, "retry");
    return 0;
}

/* Handles a validated event. */
static int on_event(void *arg, json_t *o, struct glint_error *error)
{
    struct history *h = arg;
    h->last_ms = json_number_value(json_object_get(o, "ms"));
    /* Exactly the first event is "job". */
    if ((h->job == NULL) != is_event(o, "job"))
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL,
                         h->job == NULL ? "the first event must be \"job\""
                                        : "duplicate \"job\" event");
    if (h->end != NULL)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "event after \"job_end\"");
    /* Counted, but not kept: see the top of the file. */
    if (is_event(o, "task")) return on_task(h, o, error);
    if (json_array_append(h->events, o) != 0) return error_no_memory(error);
    if (is_event(o, "job")) h->job = o;
    if (is_event(o, "job_end")) h->end = o;
    if (is_event(o, "full")) h->size_limited = true;
    if (is_event(o, "executor")) return on_executor(h, o, error);
    bool staged = is_event(o, "stage") || is_event(o, "stage_end") || is_event(o, "retry");
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
