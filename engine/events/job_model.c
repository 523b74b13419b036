/* Attempts are stored as numbers, all other events as they are: there are few of them. */
#include "engine/events/job_model.h"

#include "engine/base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const metric_names[TASK_METRICS] = {
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
    *m = (struct job_model){.actions = json_array(),
                            .action_ends = json_array(),
                            .outputs = json_array(),
                            .notes = json_array(),
                            .reports = json_array(),
                            .failures = json_array()};
}

static void free_stage(struct job_stage *s)
{
    json_decref(s->start);
    json_decref(s->end);
    buffer_fini(&s->run_ms);
    buffer_fini(&s->done_tasks);
    for (int i = 0; i < TASK_METRICS; i++) buffer_fini(&s->metrics[i]);
    for (uint32_t i = 0; i < s->counter_count; i++) mem_free((char *)s->counters[i].name);
    mem_free(s->counters);
}

void job_model_fini(struct job_model *m)
{
    json_t *const owned[] = {m->job,     m->end,     m->actions,     m->action_ends,
                             m->outputs, m->notes,   m->reports,     m->failures,
                             m->running, m->storage, m->accumulators};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) json_decref(owned[i]);
    for (uint32_t i = 0; i < m->stage_count; i++) free_stage(&m->stages[i]);
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

static const char *text_of(const json_t *event, const char *name)
{
    const char *text = json_string_value(json_object_get(event, name));
    return text != NULL ? text : "";
}

static uint32_t number_of(const json_t *event, const char *name)
{
    const json_int_t value = json_integer_value(json_object_get(event, name));
    return value >= 0 && value < UINT32_MAX ? (uint32_t)value : UINT32_MAX - 1;
}

/* Searches from the newest one. */
static struct job_stage *find_or_add_stage(struct job_model *m, uint32_t number)
{
    for (uint32_t i = m->stage_count; i > 0; i--)
        if (m->stages[i - 1].number == number) return &m->stages[i - 1];
    if (m->stage_count == PLAN_NODES_MAX * 16u ||
        !array_reserve(&m->stages, &m->stage_capacity, m->stage_count + 1, sizeof *m->stages))
        return NULL;
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

static void keep(json_t **to, json_t *event)
{
    json_decref(*to);
    *to = json_incref(event);
}

/* ---- Attempts */

static int add_counter(struct job_stage *s, const struct job_counter *c, struct glint_error *error)
{
    for (uint32_t i = 0; i < s->counter_count; i++) {
        if (strcmp(s->counters[i].name, c->name) != 0) continue;
        /* Wraps around like the job's own counters. */
        s->counters[i].value = (int64_t)((uint64_t)s->counters[i].value + (uint64_t)c->value);
        return 0;
    }
    if (s->counter_count == COUNTERS_MAX)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "more than %u counters",
                         COUNTERS_MAX);
    char *name = mem_strdup(c->name);
    if (name == NULL || !array_reserve(&s->counters, &s->counter_capacity, s->counter_count + 1,
                                       sizeof *s->counters)) {
        mem_free(name);
        return error_no_memory(error);
    }
    s->counters[s->counter_count++] = (struct job_counter){name, c->value};
    return 0;
}

/* Adds to the metric of the done attempt number `index`, the last one. An executor may send the
 * same counter more than once. */
static bool put_metric(struct buffer *b, uint64_t index, uint64_t value)
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

static int add_done(struct job_stage *s, const struct job_attempt *a,
                    const struct job_counter *counters, uint32_t count, struct glint_error *error)
{
    const double ms = a->run_ms > 0 ? a->run_ms : 0;
    int r = 0;
    for (uint32_t i = 0; i < count && r == 0; i++) {
        if (counters[i].value == 0) continue;
        r = add_counter(s, &counters[i], error);
        for (int k = 0; k < TASK_METRICS && r == 0; k++)
            if (strcmp(counters[i].name, metric_names[k]) == 0 &&
                !put_metric(&s->metrics[k], s->done, (uint64_t)counters[i].value))
                r = error_no_memory(error);
    }
    if (r == 0 && (!buffer_append(&s->run_ms, &ms, sizeof ms) ||
                   !buffer_append(&s->done_tasks, &a->task, sizeof a->task)))
        r = error_no_memory(error);
    s->done++;
    return r;
}

static int add_failure(struct job_model *m, const struct job_attempt *a, json_t *why,
                       struct glint_error *error)
{
    json_t *failure =
        json_pack("{s:I s:I s:I s:I s:I s:b s:f s:f s:s s:O?}", "stageId", (json_int_t)a->stage,
                  "index", (json_int_t)a->task, "attempt", (json_int_t)a->attempt, "partitionId",
                  (json_int_t)a->partition, "executorId", (json_int_t)a->executor, "speculative",
                  (int)a->speculative, "startMs", a->start_ms, "endMs", a->end_ms, "status",
                  a->outcome == OUTCOME_FAILED ? "FAILED" : "LOST", "error", why);
    if (json_array_append_new(m->failures, failure) != 0) return error_no_memory(error);
    if (json_array_size(m->failures) > MODEL_FAILURES_MAX) json_array_remove(m->failures, 0);
    return 0;
}

int job_model_add_attempt(struct job_model *m, const struct job_attempt *a, json_t *why,
                          const struct job_counter *counters, uint32_t counter_count,
                          struct glint_error *error)
{
    struct job_stage *s = find_or_add_stage(m, a->stage);
    struct job_executor *e = find_or_add_executor(m, a->executor);
    int r = 0;
    m->changes++;
    if (s == NULL || e == NULL) return error_no_memory(error);
    if (m->attempts.size / sizeof *a == MODEL_ATTEMPTS_MAX)
        m->attempts_dropped++;
    else if (!buffer_append(&m->attempts, a, sizeof *a))
        return error_no_memory(error);
    m->attempts_total++;
    s->speculative += a->speculative;
    switch (a->outcome) {
    case OUTCOME_DONE:
        e->done++;
        r = add_done(s, a, counters, counter_count, error);
        break;
    case OUTCOME_KILLED: s->killed++; break;
    case OUTCOME_FAILED:
        s->failed++;
        e->failed++;
        r = add_failure(m, a, why, error);
        break;
    default:
        s->lost++;
        e->failed++;
        r = add_failure(m, a, why, error);
    }
    return r;
}

/* ---- Events */

static int64_t value_of(const json_t *value)
{
    int64_t number = 0;
    if (!json_is_string(value)) return json_integer_value(value);
    text_parse_i64((const uint8_t *)json_string_value(value), json_string_length(value), &number);
    return number;
}

/* A "task" of an event log. */
static int add_task_event(struct job_model *m, json_t *o, struct glint_error *error)
{
    static const char *const outcomes[] = {[OUTCOME_DONE] = "done",
                                           [OUTCOME_FAILED] = "failed",
                                           [OUTCOME_KILLED] = "killed",
                                           [OUTCOME_EXECUTOR_LOST] = "executor lost"};
    struct job_counter counters[COUNTERS_MAX];
    uint32_t count = 0;
    const char *name;
    json_t *value, *run = json_object_get(o, "run_ms");
    struct job_attempt a = {.start_ms = json_number_value(json_object_get(o, "start_ms")),
                            .end_ms = json_number_value(json_object_get(o, "end_ms")),
                            .run_ms = json_is_number(run) ? json_number_value(run) : -1,
                            .stage = number_of(o, "stage"),
                            .task = number_of(o, "task"),
                            .partition = number_of(o, "partition"),
                            .attempt = number_of(o, "attempt"),
                            .executor = number_of(o, "executor"),
                            .outcome = OUTCOME_FAILED,
                            .speculative = json_is_true(json_object_get(o, "speculative"))};
    for (uint8_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++)
        if (strcmp(text_of(o, "outcome"), outcomes[i]) == 0) a.outcome = i;
    json_object_foreach(json_object_get(o, "counters"), name, value)
    {
        if (count < COUNTERS_MAX) counters[count++] = (struct job_counter){name, value_of(value)};
    }
    return job_model_add_attempt(m, &a, json_object_get(o, "error"), counters, count, error);
}

static bool add_executor_event(struct job_model *m, json_t *o)
{
    struct job_executor *e = find_or_add_executor(m, number_of(o, "executor"));
    if (e == NULL) return false;
    const char *state = text_of(o, "state");
    m->lost_executors += strcmp(state, "lost") == 0;
    keep(strcmp(state, "joined") == 0 ? &e->joined : &e->last, o);
    return true;
}

static bool add_stage_event(struct job_model *m, json_t *o, const char *event)
{
    struct job_stage *s = find_or_add_stage(m, number_of(o, "stage"));
    if (s == NULL) return false;
    const double ms = json_number_value(json_object_get(o, "ms"));
    if (strcmp(event, "retry") == 0) {
        s->retries++;
        m->retries++;
    } else if (strcmp(event, "stage_end") == 0) {
        keep(&s->end, o);
        s->end_ms = ms;
    } else if (!s->started) { /* a stage may run again */
        s->started = true;
        s->tasks = number_of(o, "tasks");
        s->start_ms = ms;
        keep(&s->start, o);
    }
    return true;
}

static void set_status(struct job_model *m, json_t *o)
{
    const json_t *all = json_object_get(o, "executors");
    keep(&m->running, json_object_get(o, "running"));
    for (uint32_t i = 0; i < m->executor_count; i++) {
        json_t *health = json_array_get(all, i);
        m->executors[i].busy = (uint32_t)json_integer_value(json_object_get(health, "busy"));
        keep(&m->executors[i].health, health);
    }
}

int job_model_add_event(struct job_model *m, json_t *o, struct glint_error *error)
{
    const char *event = text_of(o, "event");
    bool kept = true;
    if (m->job == NULL && strcmp(event, "job") != 0)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "the first event must be \"job\"");
    m->last_ms = json_number_value(json_object_get(o, "ms"));
    if (strcmp(event, "task") == 0) return add_task_event(m, o, error);
    m->changes++;
    if (strcmp(event, "status") == 0)
        set_status(m, o);
    else if (strcmp(event, "job") == 0)
        keep(&m->job, o);
    else if (strcmp(event, "job_end") == 0)
        keep(&m->end, o);
    else if (strcmp(event, "executor") == 0)
        kept = add_executor_event(m, o);
    else if (strcmp(event, "stage") == 0 || strcmp(event, "stage_end") == 0 ||
             strcmp(event, "retry") == 0)
        kept = add_stage_event(m, o, event);
    else if (strcmp(event, "action") == 0)
        kept = json_array_append(m->actions, o) == 0;
    else if (strcmp(event, "action_end") == 0)
        kept = json_array_append(m->action_ends, o) == 0;
    else if (strcmp(event, "output") == 0)
        kept = json_array_append(m->outputs, o) == 0;
    else if (strcmp(event, "note") == 0)
        kept = json_array_append(m->notes, o) == 0;
    else if (strcmp(event, "report") == 0)
        kept = json_array_append(m->reports, o) == 0;
    else if (strcmp(event, "storage") == 0)
        keep(&m->storage, o);
    else if (strcmp(event, "full") == 0)
        m->size_limited = true;
    if (json_object_get(o, "accumulators") != NULL) /* of an action, or the job */
        keep(&m->accumulators, json_object_get(o, "accumulators"));
    if (strcmp(event, "action") == 0)
        m->stages_skipped += json_array_size(json_object_get(o, "skipped"));
    if (strcmp(event, "job_end") == 0) {
        m->live = false;
        keep(&m->running, NULL);
    }
    return kept ? 0 : error_no_memory(error);
}

/* ---- Sums */

bool job_executor_is_lost(const struct job_executor *e)
{
    return strcmp(text_of(e->last, "state"), "lost") == 0;
}

uint64_t job_model_slots(const struct job_model *m)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < m->executor_count; i++)
        if (!job_executor_is_lost(&m->executors[i]))
            slots += number_of(m->executors[i].joined, "slots");
    return slots;
}

static int compare_tasks(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Only after a retry can a task be done twice: its output was lost. */
uint64_t job_stage_done_tasks(const struct job_stage *s)
{
    const uint64_t attempts = s->done_tasks.size / sizeof(uint32_t);
    uint32_t *sorted = s->retries > 0 && attempts > 0 ? mem_alloc(s->done_tasks.size) : NULL;
    uint64_t tasks = 0;
    if (sorted == NULL) return attempts;
    memcpy(sorted, s->done_tasks.data, s->done_tasks.size);
    qsort(sorted, attempts, sizeof *sorted, compare_tasks);
    for (uint64_t i = 0; i < attempts; i++) tasks += i == 0 || sorted[i] != sorted[i - 1];
    mem_free(sorted);
    return tasks;
}

int64_t job_stage_counter(const struct job_stage *s, const char *name)
{
    for (uint32_t i = 0; i < s->counter_count; i++)
        if (strcmp(s->counters[i].name, name) == 0) return s->counters[i].value;
    return 0;
}

uint64_t job_model_running_in(const struct job_model *m, uint32_t stage)
{
    uint64_t count = 0;
    size_t i;
    const json_t *o;
    json_array_foreach(m->running, i, o) count += number_of(o, "stage") == stage;
    return count;
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
    return t;
}
