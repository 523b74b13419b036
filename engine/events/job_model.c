/* Attempts are stored as numbers, all other events as they are: there are few of them. */
#include "engine/events/job_model.h"

#include "engine/base/text.h"
#include "engine/input/input.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const metric_names[METRIC_RUN_US] = {
    [METRIC_ROWS_READ] = "rows read",
    [METRIC_BYTES_READ] = "bytes read",
    [METRIC_ROWS_WRITTEN] = "rows written",
    [METRIC_BYTES_WRITTEN] = "bytes written",
    [METRIC_MAP_OUTPUT_RECORDS] = "map output records",
    [METRIC_MAP_OUTPUT_BYTES] = "map output bytes",
    [METRIC_SPILL_BYTES] = "spill bytes",
    [METRIC_FETCH_WAIT_US] = "fetch wait us",
};

void job_model_init(struct job_model *m)
{
    *m = (struct job_model){.events = json_array(), .failures = json_array()};
}

static void free_job_stage(struct job_stage *s)
{
    json_decref(s->start);
    json_decref(s->end);
    buffer_fini(&s->done_tasks);
    for (int i = 0; i < TASK_METRICS; i++) buffer_fini(&s->metrics[i]);
    counters_fini(&s->counters);
}

void job_model_fini(struct job_model *m)
{
    json_t *const owned[] = {m->job,     m->end,     m->events,      m->failures,
                             m->running, m->storage, m->accumulators};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) json_decref(owned[i]);
    for (uint32_t i = 0; i < m->stage_count; i++) free_job_stage(&m->stages[i]);
    for (uint32_t i = 0; i < m->executor_count; i++) {
        json_decref(m->executors[i].joined);
        json_decref(m->executors[i].last);
        json_decref(m->executors[i].health);
    }
    mem_free(m->stages);
    mem_free(m->executors);
    buffer_fini(&m->attempts);
    *m = (struct job_model){.job = NULL};
}

const char *job_event_text(const json_t *event, const char *name)
{
    const char *text = json_string_value(json_object_get(event, name));
    return text != NULL ? text : "";
}

bool job_event_is(const json_t *o, const char *event)
{
    return strcmp(job_event_text(o, "event"), event) == 0;
}

void job_put_json_value(struct json *out, const char *name, const json_t *value)
{
    const char *key;
    json_t *element;
    size_t i;
    switch (value != NULL ? json_typeof(value) : JSON_NULL) {
    case JSON_OBJECT:
        json_begin(out, name, '{');
        json_object_foreach((json_t *)value, key, element) job_put_json_value(out, key, element);
        json_end(out, '}');
        break;
    case JSON_ARRAY:
        json_begin(out, name, '[');
        json_array_foreach(value, i, element) job_put_json_value(out, NULL, element);
        json_end(out, ']');
        break;
    case JSON_STRING:
        json_text(out, name, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER: json_i64(out, name, json_integer_value(value)); break;
    case JSON_REAL: json_f64(out, name, json_real_value(value)); break;
    case JSON_TRUE:
    case JSON_FALSE: json_bool(out, name, json_is_true(value)); break;
    default: json_cstring(out, name, NULL);
    }
}

static uint32_t json_field_u32(const json_t *event, const char *name)
{
    const json_int_t value = json_integer_value(json_object_get(event, name));
    return value >= 0 && value < UINT32_MAX ? (uint32_t)value : UINT32_MAX - 1;
}

/* Searches from the newest one. */
static struct job_stage *find_or_add_stage(struct job_model *m, uint32_t number,
                                           struct glint_error *error)
{
    const uint32_t most = m->live ? LIVE_STAGES_MAX : LOG_STAGES_MAX;
    for (uint32_t i = m->stage_count; i > 0; i--)
        if (m->stages[i - 1].number == number) return &m->stages[i - 1];
    if (m->stage_count == most) {
        error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "more than %u stages", most);
        return NULL;
    }
    if (!array_reserve(&m->stages, &m->stage_capacity, m->stage_count + 1, sizeof *m->stages)) {
        error_no_memory(error);
        return NULL;
    }
    m->stages[m->stage_count] = (struct job_stage){.number = number, .start_ms = -1, .end_ms = -1};
    return &m->stages[m->stage_count++];
}

static struct job_executor *find_or_add_executor(struct job_model *m, uint32_t number)
{
    if (number >= EXECUTORS_MAX || !array_reserve(&m->executors, &m->executor_capacity,
                                                  (uint64_t)number + 1, sizeof *m->executors))
        return NULL;
    while (m->executor_count <= number)
        m->executors[m->executor_count++] = (struct job_executor){.joined = NULL};
    return &m->executors[number];
}

static void replace_kept_event(json_t **to, json_t *event)
{
    json_decref(*to);
    *to = json_incref(event);
}

/* ---- Attempts */

/* Adds to the metric of the done attempt number `index`, the last one. An executor may send the
 * same counter more than once. */
static bool add_to_task_metric(struct buffer *b, uint64_t index, uint64_t value)
{
    const uint64_t zero = 0;
    uint64_t sum;
    while (b->size / sizeof zero <= index)
        if (!buffer_append(b, &zero, sizeof zero)) return false;
    assert(b->size == (index + 1) * sizeof zero);
    memcpy(&sum, b->data + index * sizeof sum, sizeof sum);
    sum += value; /* wraps around like the job's own counters */
    memcpy(b->data + index * sizeof sum, &sum, sizeof sum);
    return true;
}

int job_stage_add_counter(struct job_stage *s, const char *name, int64_t value,
                          struct glint_error *error)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(s->done > 0);
    if (value == 0) return 0;
    int r = counters_add(&s->counters, name, value, &why);
    for (int k = 0; k < METRIC_RUN_US && r == 0; k++)
        if (strcmp(name, metric_names[k]) == 0 &&
            !add_to_task_metric(&s->metrics[k], s->done - 1, (uint64_t)value))
            r = GLINT_E_NO_MEMORY;
    if (r == GLINT_E_PLAN_LIMIT)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "%s", why.cause);
    return r == 0 ? 0 : error_no_memory(error);
}

static bool add_done_attempt(struct job_stage *s, const struct event_attempt *a)
{
    const uint64_t us = a->run_ms > 0 ? (uint64_t)llround(a->run_ms * 1000) : 0, task = a->task;
    return add_to_task_metric(&s->metrics[METRIC_RUN_US], s->done++, us) &&
           buffer_append(&s->done_tasks, &task, sizeof task);
}

static bool add_failed_attempt(struct job_model *m, const struct event_attempt *a, json_t *why)
{
    json_t *failure =
        json_pack("{s:I s:I s:I s:I s:I s:b s:f s:f s:s s:O?}", "stageId", (json_int_t)a->stage,
                  "index", (json_int_t)a->task, "attempt", (json_int_t)a->attempt, "partitionId",
                  (json_int_t)a->partition, "executorId", (json_int_t)a->executor, "speculative",
                  (int)a->speculative, "startMs", a->start_ms, "endMs", a->end_ms, "status",
                  a->outcome == OUTCOME_FAILED ? "FAILED" : "LOST", "error", why);
    if (json_array_append_new(m->failures, failure) != 0) return false;
    if (json_array_size(m->failures) > MODEL_FAILURES_MAX) json_array_remove(m->failures, 0);
    return true;
}

struct job_stage *job_model_add_attempt(struct job_model *m, const struct event_attempt *a,
                                        json_t *why, struct glint_error *error)
{
    struct job_stage *s = find_or_add_stage(m, a->stage, error);
    struct job_executor *e = find_or_add_executor(m, a->executor);
    bool kept = e != NULL;
    m->changes++;
    if (s == NULL) return NULL;
    if (kept && m->attempts.size / sizeof *a == MODEL_ATTEMPTS_MAX)
        m->attempts_dropped++;
    else if (kept)
        kept = buffer_append(&m->attempts, a, sizeof *a);
    if (!kept) {
        error_no_memory(error);
        return NULL;
    }
    m->attempts_total++;
    e->attempts++;
    s->speculative += a->speculative;
    switch (a->outcome) {
    case OUTCOME_DONE:
        e->done++;
        kept = add_done_attempt(s, a);
        break;
    case OUTCOME_KILLED: s->killed++; break;
    case OUTCOME_FAILED:
        s->failed++;
        e->failed++;
        kept = add_failed_attempt(m, a, why);
        break;
    default:
        s->lost++;
        e->failed++;
        kept = add_failed_attempt(m, a, why);
    }
    if (!kept) error_no_memory(error);
    return kept ? s : NULL;
}

/* ---- Events */

int64_t json_integer_or_text(const json_t *value)
{
    int64_t number = 0;
    if (!json_is_string(value)) return json_integer_value(value);
    text_parse_i64((const uint8_t *)json_string_value(value), json_string_length(value), &number);
    return number;
}

/* A "task" of an event log. */
static int add_task_event(struct job_model *m, json_t *o, struct glint_error *error)
{
    const char *name;
    json_t *value, *run = json_object_get(o, "run_ms");
    struct event_attempt a = {.start_ms = json_number_value(json_object_get(o, "start_ms")),
                              .end_ms = json_number_value(json_object_get(o, "end_ms")),
                              .run_ms = json_is_number(run) ? json_number_value(run) : -1,
                              .stage = json_field_u32(o, "stage"),
                              .task = json_field_u32(o, "task"),
                              .partition = json_field_u32(o, "partition"),
                              .attempt = json_field_u32(o, "attempt"),
                              .executor = json_field_u32(o, "executor"),
                              .outcome = OUTCOME_FAILED,
                              .speculative = json_is_true(json_object_get(o, "speculative"))};
    for (uint8_t i = OUTCOME_DONE; i <= OUTCOME_EXECUTOR_LOST; i++)
        if (strcmp(job_event_text(o, "outcome"), event_outcome_names[i]) == 0) a.outcome = i;
    struct job_stage *s = job_model_add_attempt(m, &a, json_object_get(o, "error"), error);
    if (s == NULL) return error->code;
    int r = 0;
    if (a.outcome != OUTCOME_DONE) return 0;
    json_object_foreach(json_object_get(o, "counters"), name, value)
    {
        if (r == 0) r = job_stage_add_counter(s, name, json_integer_or_text(value), error);
    }
    return r;
}

static bool add_executor_event(struct job_model *m, json_t *o)
{
    struct job_executor *e = find_or_add_executor(m, json_field_u32(o, "executor"));
    if (e == NULL) return false;
    const char *state = job_event_text(o, "state");
    m->lost_executors += strcmp(state, "lost") == 0;
    replace_kept_event(strcmp(state, "joined") == 0 ? &e->joined : &e->last, o);
    return true;
}

static int add_stage_event(struct job_model *m, json_t *o, struct glint_error *error)
{
    struct job_stage *s = find_or_add_stage(m, json_field_u32(o, "stage"), error);
    if (s == NULL) return error->code;
    const double ms = json_number_value(json_object_get(o, "ms"));
    if (job_event_is(o, "retry")) {
        s->retries++;
        m->retries++;
    } else if (job_event_is(o, "stage_end")) {
        replace_kept_event(&s->end, o);
        s->end_ms = ms;
    } else if (s->start == NULL) { /* a stage may run again */
        s->tasks = json_field_u32(o, "tasks");
        s->start_ms = ms;
        replace_kept_event(&s->start, o);
    }
    return 0;
}

static void update_executor_status(struct job_model *m, json_t *o)
{
    const json_t *all = json_object_get(o, "executors");
    replace_kept_event(&m->running, json_object_get(o, "running"));
    for (uint32_t i = 0; i < m->executor_count; i++) {
        json_t *health = json_array_get(all, i);
        m->executors[i].busy = (uint32_t)json_integer_value(json_object_get(health, "busy"));
        replace_kept_event(&m->executors[i].health, health);
    }
}

static bool is_one_of_events(const char *event, const char *const *events)
{
    while (*events != NULL && strcmp(event, *events) != 0) events++;
    return *events != NULL;
}

int job_model_add_event(struct job_model *m, json_t *o, struct glint_error *error)
{
    static const char *const kept[] = {"action", "action_end", "output", "note", "report", NULL};
    static const char *const of_stage[] = {"stage", "stage_end", "retry", NULL};
    const char *event = job_event_text(o, "event");
    const bool of_log = strcmp(event, "retry") == 0 && !m->live; /* bounded by its size */
    int r = 0;
    if (m->job == NULL && strcmp(event, "job") != 0)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "the first event must be \"job\"");
    m->last_ms = json_number_value(json_object_get(o, "ms"));
    if (strcmp(event, "task") == 0) return add_task_event(m, o, error);
    m->changes++;
    if ((of_log || is_one_of_events(event, kept)) && json_array_append(m->events, o) != 0)
        return error_no_memory(error);
    if (is_one_of_events(event, of_stage)) r = add_stage_event(m, o, error);
    if (strcmp(event, "executor") == 0 && !add_executor_event(m, o)) r = error_no_memory(error);
    if (strcmp(event, "status") == 0) update_executor_status(m, o);
    if (strcmp(event, "job") == 0) replace_kept_event(&m->job, o);
    if (strcmp(event, "storage") == 0) replace_kept_event(&m->storage, o);
    if (strcmp(event, "full") == 0) m->size_limited = true;
    if (strcmp(event, "action") == 0)
        m->stages_skipped += json_array_size(json_object_get(o, "skipped"));
    if (json_object_get(o, "accumulators") != NULL) /* of an action, or the job */
        replace_kept_event(&m->accumulators, json_object_get(o, "accumulators"));
    if (strcmp(event, "job_end") == 0) {
        replace_kept_event(&m->end, o);
        replace_kept_event(&m->running, NULL);
        m->live = false;
    }
    return r;
}

/* ---- Sums */

bool job_executor_is_lost(const struct job_executor *e)
{
    return strcmp(job_event_text(e->last, "state"), "lost") == 0;
}

uint64_t job_model_slots(const struct job_model *m)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < m->executor_count; i++)
        if (!job_executor_is_lost(&m->executors[i]))
            slots += json_field_u32(m->executors[i].joined, "slots");
    return slots;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t *sort_numbers(const struct buffer *b, uint64_t *out_count)
{
    *out_count = b->size / sizeof(uint64_t);
    if (*out_count > 0) qsort(b->data, *out_count, sizeof(uint64_t), compare_numbers);
    return (uint64_t *)b->data;
}

/* Only after a retry can a task be done twice: its output was lost. */
uint64_t job_stage_done_tasks(const struct job_stage *s)
{
    uint64_t attempts, tasks = 0;
    if (s->retries == 0) return s->done;
    const uint64_t *sorted = sort_numbers(&s->done_tasks, &attempts);
    for (uint64_t i = 0; i < attempts; i++) tasks += i == 0 || sorted[i] != sorted[i - 1];
    return tasks;
}

uint64_t job_model_running_count(const struct job_model *m, uint32_t stage)
{
    uint64_t count = 0;
    size_t i;
    const json_t *o;
    json_array_foreach(m->running, i, o) count += json_field_u32(o, "stage") == stage;
    return count;
}

bool job_stage_quantiles(const struct job_stage *s, enum task_metric metric,
                         uint64_t out[TASK_QUANTILES])
{
    static const double quantiles[TASK_QUANTILES] = {0, 0.25, 0.5, 0.75, 0.95, 1};
    uint64_t count;
    const uint64_t *sorted = sort_numbers(&s->metrics[metric], &count);
    assert(count <= s->done);
    for (size_t i = 0; count > 0 && i < TASK_QUANTILES; i++) {
        const uint64_t rank = (uint64_t)ceil(quantiles[i] * (double)s->done);
        const uint64_t at = rank > 0 ? rank - 1 : 0, zeros = s->done - count;
        out[i] = at < zeros ? 0 : sorted[at - zeros];
    }
    return count > 0;
}

/* After the size limit events are missing, so counting them would give too little. */
static uint64_t total_of_size_limited_log(const struct job_model *m, const char *field,
                                          uint64_t counted)
{
    const json_int_t total = json_integer_value(json_object_get(m->end, field));
    if (!m->size_limited || m->end == NULL) return counted;
    return total > 0 ? (uint64_t)total : 0;
}

struct job_totals job_model_totals(const struct job_model *m)
{
    struct job_totals t = {.active = json_array_size(m->running)};
    for (uint32_t i = 0; i < m->stage_count; i++) {
        const struct job_stage *s = &m->stages[i];
        t.tasks += s->tasks;
        t.done += s->done;
        t.done_tasks += job_stage_done_tasks(s);
        t.failed += s->failed;
        t.killed += s->killed;
        t.lost += s->lost;
    }
    const uint64_t started = t.done_tasks + t.active;
    t.pending = m->end == NULL && t.tasks > started ? t.tasks - started : 0;
    t.stages = total_of_size_limited_log(m, "stages", m->stage_count);
    t.stages_skipped = total_of_size_limited_log(m, "stages_skipped", m->stages_skipped);
    t.tasks = total_of_size_limited_log(m, "tasks", t.tasks);
    t.retries = total_of_size_limited_log(m, "retries", m->retries);
    return t;
}

/* ---- Reading a log: the fields of each event are a table. The file is read in chunks into a
 * buffer that never exceeds the longest allowed line plus one chunk. Results of jansson are not
 * checked one by one: it accepts NULL for values that could not be made, and out_of_memory tells
 * whether there were any. */

#define READ_BYTES (64 * KIB)

/* jansson does not always report out of memory: its lexer may fail with "invalid token" instead, so
 * the allocator records it. Only one thread reads a log. */
static bool out_of_memory;

/* What jansson may still allocate for a line. A tree of JSON takes up to 80 times the memory of its
 * text; the smallest event, without texts, takes 17 times. */
#define JSON_TIMES      18u
#define JSON_MORE_BYTES MIB /* of a whole log */
static uint64_t allowance = UINT64_MAX;
static bool too_large;

static void *json_allocate(size_t size)
{
    const uint64_t taken = (size / 16 + 1) * 16; /* as malloc does */
    too_large = too_large || taken > allowance;
    if (too_large) return NULL;
    if (allowance != UINT64_MAX) allowance -= taken;
    void *block = mem_alloc_small(size);
    if (block == NULL) out_of_memory = true;
    return block;
}

/* ---- Fields */

/* The fields that each event must have, and their kinds: n is a number, e the number of an
 * executor, m milliseconds, M the same or null, b a boolean, t a text or null, T an array of texts,
 * N an array of numbers, O one of objects, w an integer of any size, c an object of such, o any
 * object, E an error or null. "?": the field is optional: older versions do not write it. */
static const struct event_schema {
    const char *name, *fields;
} event_schemas[] = {
    {"job", "id:t name:t version:t build:t master:t arguments:T options:o"},
    {"executor", "executor:e state:t"},
    {"action", "action:n name:t output:t outputs:T?"},
    {"action_end", "action:n error:E accumulators:o?"},
    {"storage", "rdds:O"},
    {"stage", "stage:n action:n name:t tasks:n parents:N operators:T? operator_count:n?"},
    {"stage_end", "stage:n error:E"},
    {"task", "stage:n task:n attempt:n executor:e speculative:b start_ms:m end_ms:m run_ms:M "
             "outcome:t error:E counters:c"},
    {"retry", "stage:n task:n attempt:n executor:e error:E"},
    {"output", "path:t"},
    {"note", "text:t"},
    {"report", "name:t fields:o"},
    {"full", "bytes_max:w"},
    {"job_end", "error:E accumulators:o?"},
};

static bool is_integer_below(const json_t *v, json_int_t end)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < end;
}

static bool is_json_milliseconds(const json_t *v)
{
    return json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) <= 9e15;
}

static bool is_json_error(const json_t *v)
{
    return json_is_object(v) && json_is_string(json_object_get(v, "code")) &&
           json_is_string(json_object_get(v, "text")) &&
           json_is_string(json_object_get(v, "cause"));
}

/* An integer, or a string of digits. */
static bool is_whole_number(const json_t *v)
{
    int64_t value;
    if (!json_is_string(v)) return json_is_integer(v);
    if (json_string_length(v) == 0) return false;
    return text_parse_i64((const uint8_t *)json_string_value(v), json_string_length(v), &value) ||
           strspn(json_string_value(v), "0123456789") == json_string_length(v);
}

static bool json_element_has_kind(const json_t *v, char kind)
{
    switch (kind) {
    case 'n': return is_integer_below(v, UINT32_MAX);
    case 'e': return is_integer_below(v, EXECUTORS_MAX);
    case 'm': return is_json_milliseconds(v);
    case 'M': return json_is_null(v) || is_json_milliseconds(v);
    case 'b': return json_is_boolean(v);
    case 't': return json_is_null(v) || json_is_string(v);
    case 'w': return is_whole_number(v);
    case 'o': return json_is_object(v);
    default: return json_is_null(v) || is_json_error(v);
    }
}

static bool json_has_kind(json_t *v, char kind)
{
    const char *name;
    json_t *element;
    size_t i;
    bool sound = kind == 'c' ? json_is_object(v) : json_is_array(v);
    if (strchr("TNOc", kind) == NULL) return json_element_has_kind(v, kind);
    json_object_foreach(v, name, element) sound = sound && json_element_has_kind(element, 'w');
    json_array_foreach(v, i, element) sound =
        sound && json_element_has_kind(element, kind == 'T'   ? 't'
                                                : kind == 'O' ? 'o'
                                                              : 'n');
    return sound;
}

static int check_event_fields(const json_t *o, const char *event, const char *fields,
                              struct glint_error *error)
{
    while (*fields != '\0') {
        const size_t size = strcspn(fields, ":");
        const char *name = fields;
        json_t *value = json_object_getn(o, name, size);
        const char kind = name[size + 1];
        fields += strcspn(fields, " ");
        const bool missing = value == NULL && fields[-1] == '?';
        fields += strspn(fields, " ");
        if (!missing && !json_has_kind(value, kind))
            return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL,
                             "\"%.*s\" of a \"%s\" is missing or of another type", (int)size, name,
                             event);
    }
    return 0;
}

static int check_event_object(const json_t *o, struct glint_error *error)
{
    const json_t *schema = json_object_get(o, "schema");
    const char *event = json_string_value(json_object_get(o, "event"));
    if (!json_is_integer(schema) || event == NULL)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "not an event log event");
    if (json_integer_value(schema) != EVENT_LOG_SCHEMA)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID,
                         "use the version of glint that wrote the log",
                         "schema %lld, this version reads %d",
                         (long long)json_integer_value(schema), EVENT_LOG_SCHEMA);
    if (!is_json_milliseconds(json_object_get(o, "ms")) ||
        !json_is_string(json_object_get(o, "time")))
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "\"ms\" or \"time\" is missing");
    for (size_t i = 0; i < sizeof event_schemas / sizeof event_schemas[0]; i++)
        if (strcmp(event_schemas[i].name, event) == 0)
            return check_event_fields(o, event, event_schemas[i].fields, error);
    return 0;
}

struct event_log_reader {
    const char *path;
    uint64_t number;    /* of the current line, from 1 */
    uint64_t allowance; /* that previous lines have left */
    struct job_model *model;
    struct glint_error *error;
};

static int set_log_line_error(const struct event_log_reader *r, const struct glint_error *why)
{
    const char *hint = why->hint[0] != '\0' ? why->hint : NULL;
    if (why->code == GLINT_E_NO_MEMORY) return error_no_memory(r->error);
    return error_set(r->error, why->code, hint, "%s:%llu: %s", r->path,
                     (unsigned long long)r->number, why->cause);
}

static int add_event_in_order(struct job_model *m, json_t *o, struct glint_error *error)
{
    if (m->job != NULL && job_event_is(o, "job"))
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "duplicate \"job\" event");
    if (m->end != NULL)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "event after \"job_end\"");
    return job_model_add_event(m, o, error);
}

static int parse_event_line(struct event_log_reader *r, const uint8_t *data, uint64_t size)
{
    json_error_t wrong;
    struct glint_error why = {.code = GLINT_OK};
    allowance = r->allowance + size * JSON_TIMES;
    json_t *o = json_loadb((const char *)data, size, 0, &wrong);
    r->allowance = allowance;
    allowance = UINT64_MAX;
    if (too_large)
        error_set(&why, GLINT_E_EVENT_LOG_INVALID, NULL,
                  "the log takes more than %u times its size in memory", JSON_TIMES);
    else if (o == NULL)
        error_set(&why, GLINT_E_EVENT_LOG_INVALID, NULL, "%s", wrong.text);
    else if (check_event_object(o, &why) == 0)
        add_event_in_order(r->model, o, &why);
    json_decref(o);
    if (out_of_memory) return error_no_memory(r->error);
    return why.code == GLINT_OK ? 0 : set_log_line_error(r, &why);
}

/* Parses all complete lines in the buffer, and moves the rest to its start. */
static int parse_event_log_lines(struct event_log_reader *r, struct buffer *b)
{
    const uint8_t *at = b->data, *end = b->data + b->size, *found;
    int code = 0;
    while (code == 0 && at < end && (found = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        r->number++;
        code = parse_event_line(r, at, (uint64_t)(found - at));
        at = found + 1;
    }
    b->size = (uint64_t)(end - at);
    if (b->size > 0) memmove(b->data, at, b->size);
    /* A longer line is not from glint; without this limit the buffer would grow with the file. */
    if (code != 0 || b->size <= EVENT_LOG_LINE_BYTES_MAX) return code;
    r->number++;
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_EVENT_LOG_INVALID, NULL, "a line is longer than %llu bytes",
              (unsigned long long)EVENT_LOG_LINE_BYTES_MAX);
    return set_log_line_error(r, &why);
}

static int open_event_log_file(struct env *env, const char *path, int *out,
                               struct glint_error *error)
{
    struct env_stat st;
    int file = env->open(env, ENV_CWD, path, ENV_READ);
    if (file == -ENOENT)
        return error_set(error, GLINT_E_INPUT_NOT_FOUND, NULL, "%s does not exist", path);
    if (file < 0) return error_set_system(error, input_error_code(file), file, "open", path);
    int r = env->stat_open(env, file, &st);
    if (r < 0)
        r = error_set_system(error, GLINT_E_INPUT_IO, r, "stat", path);
    else if (st.kind != ENV_FILE)
        r = error_set(error, GLINT_E_INPUT_KIND, NULL, "%s is not a regular file", path);
    if (r == 0)
        *out = file;
    else
        env->close(env, file);
    return r;
}

static int read_event_log_lines(struct event_log_reader *r, struct env *env, int file)
{
    struct buffer b = {NULL, 0, 0};
    uint64_t offset = 0;
    int code = 0;
    for (bool more = true; more && code == 0;) {
        if (!buffer_reserve(&b, READ_BYTES)) {
            code = error_no_memory(r->error);
            break;
        }
        int64_t n = env_read_full(env, file, b.data + b.size, READ_BYTES, offset);
        if (n < 0) code = error_set_system(r->error, GLINT_E_INPUT_IO, (int)n, "read", r->path);
        if (n <= 0) break;
        b.size += (uint64_t)n;
        offset += (uint64_t)n;
        /* Less than requested is the end of the file. A log of a running job may grow meanwhile. */
        more = (uint64_t)n == READ_BYTES;
        code = parse_event_log_lines(r, &b);
    }
    r->model->truncated_line = b.size > 0;
    buffer_fini(&b);
    return code;
}

int job_model_read(struct job_model *m, struct env *env, const char *path,
                   struct glint_error *error)
{
    struct event_log_reader reader = {
        .path = path, .allowance = JSON_MORE_BYTES, .model = m, .error = error};
    int file = -1;
    out_of_memory = too_large = false;
    json_set_alloc_funcs(json_allocate, mem_free);
    job_model_init(m);
    int r = open_event_log_file(env, path, &file, error);
    if (r != 0) return r;
    r = read_event_log_lines(&reader, env, file);
    env->close(env, file);
    if (r == 0 && m->job == NULL)
        r = error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "%s:1: the log contains no job",
                      path);
    return out_of_memory ? error_no_memory(error) : r;
}
