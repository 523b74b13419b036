/* Names are those of Spark's REST API where they mean the same. */
#include "engine/web/web_api.h"

#include "engine/base/text.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Milliseconds as the event log has them; a negative number: not known. */
static void put_milliseconds(struct json *out, const char *name, double ms)
{
    if (ms >= 0)
        json_ms(out, name, (uint64_t)llround(ms * 1000) * 1000);
    else
        json_cstring(out, name, NULL);
}

/* The same, of a field of an event. */
static void put_event_field(struct json *out, const char *name, const json_t *event,
                            const char *field)
{
    job_put_json_value(out, name, json_object_get(event, field));
}

/* ---- Jobs */

/* Of a job, an action or a stage that has ended; one that the user cancelled has not failed. */
static const char *api_status_of_end(const json_t *end)
{
    static const char *const ways_to_cancel[] = {"INTERRUPTED", "TERMINATED", "CANCELLED"};
    const json_t *error = json_object_get(end, "error");
    const char *name = job_event_text(error, "name");
    if (!json_is_object(error)) return "SUCCEEDED";
    for (size_t i = 0; i < sizeof ways_to_cancel / sizeof ways_to_cancel[0]; i++)
        if (strcmp(name, ways_to_cancel[i]) == 0) return "CANCELLED";
    return "FAILED";
}

static void put_job_counters(struct json *out, const struct job_model *m)
{
    struct counters sum = {.count = 0};
    struct glint_error error = {.code = GLINT_OK};
    if (m->end != NULL && json_object_get(m->end, "counters") != NULL) {
        put_event_field(out, "counters", m->end, "counters");
        return;
    }
    for (uint32_t i = 0; i < m->stage_count; i++) {
        const struct counters *c = &m->stages[i].counters;
        for (uint32_t k = 0; k < c->count; k++)
            counters_add(&sum, c->names[k], c->values[k], &error);
    }
    counters_put(out, &sum);
    out->failed = out->failed || error.code == GLINT_E_NO_MEMORY;
    counters_fini(&sum);
}

static void put_event_texts(struct json *out, const char *name, const struct job_model *m,
                            const char *event, const char *field)
{
    size_t i;
    json_t *o;
    json_begin(out, name, '[');
    json_array_foreach(m->events, i, o)
    {
        if (job_event_is(o, event)) put_event_field(out, NULL, o, field);
    }
    json_end(out, ']');
}

static void put_job_details(struct json *out, const struct job_model *m, const struct job_totals *t)
{
    const char *name;
    json_t *value;
    put_event_field(out, "version", m->job, "version");
    put_event_field(out, "build", m->job, "build");
    put_event_field(out, "master", m->job, "master");
    json_bool(out, "live", m->live);
    put_milliseconds(out, "lastMs", m->last_ms);
    put_event_field(out, "error", m->end, "error");
    put_event_field(out, "arguments", m->job, "arguments");
    put_event_field(out, "argumentCount", m->job, "argument_count");
    json_u64(out, "numStages", t->stages);
    json_u64(out, "numSkippedStages", t->stages_skipped);
    json_u64(out, "numActiveTasks", t->active);
    json_u64(out, "numPendingTasks", t->pending);
    json_u64(out, "numKilledTasks", t->killed);
    json_u64(out, "numAttempts", m->attempts_total);
    json_u64(out, "numRetries", t->retries);
    json_u64(out, "numLostExecutors", m->lost_executors);
    put_job_counters(out, m);
    json_begin(out, "accumulators", '{');
    json_object_foreach(m->accumulators, name, value) job_put_json_value(out, name, value);
    json_end(out, '}');
    put_event_texts(out, "outputs", m, "output", "path");
    put_event_texts(out, "notes", m, "note", "text");
    json_bool(out, "truncatedLine", m->truncated_line);
    json_bool(out, "sizeLimited", m->size_limited);
    json_u64(out, "eventsLeftOut",
             (uint64_t)json_integer_value(json_object_get(m->end, "events_left_out")));
}

void web_api_put_application(struct json *out, const struct job_model *m, bool all)
{
    const struct job_totals t = job_model_totals(m);
    const char *status = m->end != NULL ? api_status_of_end(m->end)
                         : m->live      ? "RUNNING"
                                        : "UNKNOWN";
    const json_t *elapsed = json_object_get(m->end, "elapsed_ms");
    put_event_field(out, "id", m->job, "id");
    put_event_field(out, "name", m->job, "name");
    json_cstring(out, "status", status);
    json_begin(out, "attempts", '[');
    json_begin(out, NULL, '{');
    put_event_field(out, "startTime", m->job, "time");
    put_event_field(out, "endTime", m->end, "time");
    put_milliseconds(out, "duration",
                     json_is_number(elapsed) ? json_number_value(elapsed) : m->last_ms);
    json_bool(out, "completed", m->end != NULL);
    json_end(out, '}');
    json_end(out, ']');
    json_u64(out, "numTasks", t.tasks);
    json_u64(out, "numCompletedTasks", t.done_tasks);
    json_u64(out, "numFailedTasks", t.failed);
    json_u64(out, "numLostTasks", t.lost);
    if (all) put_job_details(out, m, &t);
}

/* ---- Parts of a job */

/* `from`: the place of the action in the events. */
static const json_t *find_action_end(const struct job_model *m, size_t from, json_int_t number)
{
    for (size_t i = from + 1; i < json_array_size(m->events); i++) {
        const json_t *o = json_array_get(m->events, i);
        if (job_event_is(o, "action_end") &&
            json_integer_value(json_object_get(o, "action")) == number)
            return o;
    }
    return NULL;
}

static void put_action_object(struct json *out, const struct job_model *m, const json_t *o,
                              const json_t *end)
{
    const json_int_t number = json_integer_value(json_object_get(o, "action"));
    const char *running = m->end == NULL ? "RUNNING" : api_status_of_end(m->end);
    json_begin(out, NULL, '{');
    json_i64(out, "jobId", number);
    put_event_field(out, "name", o, "name");
    put_event_field(out, "outputs", o, "outputs");
    json_cstring(out, "status", end == NULL ? running : api_status_of_end(end));
    json_begin(out, "stageIds", '[');
    for (uint32_t k = 0; k < m->stage_count; k++)
        if (m->stages[k].start != NULL &&
            json_integer_value(json_object_get(m->stages[k].start, "action")) == number)
            json_u64(out, NULL, m->stages[k].number);
    json_end(out, ']');
    put_event_field(out, "skippedStageIds", o, "skipped");
    put_event_field(out, "submissionMs", o, "ms");
    put_event_field(out, "completionMs", end, "ms");
    put_event_field(out, "error", end, "error");
    json_end(out, '}');
}

static void put_actions(struct json *out, const struct job_model *m)
{
    size_t i;
    json_t *o;
    json_begin(out, NULL, '[');
    json_array_foreach(m->events, i, o)
    {
        if (!job_event_is(o, "action")) continue;
        put_action_object(out, m, o,
                          find_action_end(m, i, json_integer_value(json_object_get(o, "action"))));
    }
    json_end(out, ']');
}

static void put_task_attempt_object(struct json *out, const struct event_attempt *a)
{
    static const char *const outcomes[] = {[OUTCOME_DONE] = "SUCCESS",
                                           [OUTCOME_FAILED] = "FAILED",
                                           [OUTCOME_KILLED] = "KILLED",
                                           [OUTCOME_EXECUTOR_LOST] = "LOST"};
    json_begin(out, NULL, '{');
    json_u64(out, "stageId", a->stage);
    json_u64(out, "index", a->task);
    json_u64(out, "attempt", a->attempt);
    json_u64(out, "partitionId", a->partition);
    json_u64(out, "executorId", a->executor);
    json_bool(out, "speculative", a->speculative);
    put_milliseconds(out, "startMs", a->start_ms);
    put_milliseconds(out, "endMs", a->end_ms);
    put_milliseconds(out, "runMs", a->run_ms);
    json_cstring(out, "status", outcomes[a->outcome]);
    json_end(out, '}');
}

static void put_running_attempts(struct json *out, const struct job_model *m)
{
    size_t i;
    json_t *o;
    json_begin(out, "running", '[');
    json_array_foreach(m->running, i, o)
    {
        json_begin(out, NULL, '{');
        put_event_field(out, "stageId", o, "stage");
        put_event_field(out, "index", o, "task");
        put_event_field(out, "attempt", o, "attempt");
        put_event_field(out, "partitionId", o, "partition");
        put_event_field(out, "executorId", o, "executor");
        put_event_field(out, "speculative", o, "speculative");
        put_event_field(out, "startMs", o, "start_ms");
        json_cstring(out, "endMs", NULL);
        json_cstring(out, "runMs", NULL);
        json_cstring(out, "status", "RUNNING");
        json_end(out, '}');
    }
    json_end(out, ']');
}

static void put_task_attempts(struct json *out, const struct job_model *m, uint64_t offset,
                              uint64_t length)
{
    const struct event_attempt *attempts = (const struct event_attempt *)m->attempts.data;
    const uint64_t count = m->attempts.size / sizeof *attempts;
    json_begin(out, NULL, '{');
    json_u64(out, "offset", offset);
    json_u64(out, "total", count);
    json_u64(out, "leftOut", m->attempts_dropped);
    json_begin(out, "tasks", '[');
    for (uint64_t i = offset; i < count && i - offset < length; i++)
        put_task_attempt_object(out, &attempts[i]);
    json_end(out, ']');
    put_running_attempts(out, m);
    json_end(out, '}');
}

static void put_executor_object(struct json *out, uint32_t number, const struct job_executor *e)
{
    const char *state = job_event_text(e->last, "state");
    json_begin(out, NULL, '{');
    json_u64(out, "id", number);
    put_event_field(out, "name", e->joined, "name");
    put_event_field(out, "hostPort", e->joined, "host");
    json_cstring(out, "state", state[0] != '\0' ? state : "joined");
    put_event_field(out, "totalCores", e->joined, "slots");
    json_u64(out, "activeTasks", e->busy);
    json_u64(out, "completedTasks", e->done);
    json_u64(out, "failedTasks", e->failed);
    put_event_field(out, "memoryUsed", e->health, "memory");
    put_event_field(out, "maxMemory", e->health, "memory_max");
    put_event_field(out, "heartbeatAgeMs", e->health, "age_ms");
    put_event_field(out, "error", e->last, "error");
    json_end(out, '}');
}

static void put_environment(struct json *out, const struct job_model *m)
{
    const char *name;
    json_t *value;
    json_begin(out, NULL, '{');
    json_begin(out, "options", '[');
    json_object_foreach(json_object_get(m->job, "options"), name, value)
    {
        json_begin(out, NULL, '{');
        json_cstring(out, "name", name);
        job_put_json_value(out, "value", value);
        job_put_json_value(out, "origin",
                           json_object_get(json_object_get(m->job, "origins"), name));
        json_end(out, '}');
    }
    json_end(out, ']');
    json_end(out, '}');
}

bool web_parse_count(const char *text, uint64_t absent, uint64_t max, uint64_t *out)
{
    int64_t value;
    assert(absent <= max && max <= INT64_MAX);
    *out = absent;
    if (text == NULL) return true;
    if (!text_parse_i64((const uint8_t *)text, strlen(text), &value)) return false;
    *out = (uint64_t)value;
    return value >= 0 && (uint64_t)value <= max;
}

unsigned web_api_error(struct json *out, unsigned status, const char *text)
{
    json_begin(out, NULL, '{');
    json_begin(out, "error", '{');
    json_u64(out, "code", status);
    json_cstring(out, "text", text);
    json_end(out, '}');
    json_end(out, '}');
    return status;
}

/* ---- Stages: counts of their attempts, and distributions over their tasks */

/* Microseconds are written as milliseconds. */
static void put_task_metric_value(struct json *out, const char *name, enum task_metric metric,
                                  uint64_t value)
{
    if (metric == METRIC_FETCH_WAIT_US || metric == METRIC_RUN_US)
        put_milliseconds(out, name, (double)value / 1000);
    else
        json_u64(out, name, value);
}

/* Minimum, median and maximum. Nothing if no task has the metric; of run times, nulls. */
static void put_stage_metric(struct json *out, const char *name, const struct job_stage *s,
                             enum task_metric metric)
{
    static const int shown[] = {TASK_MIN, TASK_MEDIAN, TASK_MAX};
    uint64_t values[TASK_QUANTILES];
    const bool known = job_stage_quantiles(s, metric, values);
    if (!known && metric != METRIC_RUN_US) return;
    json_begin(out, name, '[');
    for (int i = 0; i < 3; i++)
        if (known)
            put_task_metric_value(out, NULL, metric, values[shown[i]]);
        else
            json_cstring(out, NULL, NULL);
    json_end(out, ']');
}

static void put_metric_distributions(struct json *out, const struct job_stage *s)
{
    json_begin(out, "taskMetricsDistributions", '{');
    json_begin(out, "quantiles", '[');
    for (int i = 0; i < 3; i++) json_f64(out, NULL, i / 2.0);
    json_end(out, ']');
    put_stage_metric(out, "executorRunTime", s, METRIC_RUN_US);
    json_begin(out, "inputMetrics", '{');
    put_stage_metric(out, "bytesRead", s, METRIC_BYTES_READ);
    put_stage_metric(out, "recordsRead", s, METRIC_ROWS_READ);
    json_end(out, '}');
    json_begin(out, "outputMetrics", '{');
    put_stage_metric(out, "bytesWritten", s, METRIC_BYTES_WRITTEN);
    put_stage_metric(out, "recordsWritten", s, METRIC_ROWS_WRITTEN);
    json_end(out, '}');
    json_begin(out, "shuffleReadMetrics", '{');
    put_stage_metric(out, "fetchWaitTime", s, METRIC_FETCH_WAIT_US);
    json_end(out, '}');
    json_begin(out, "shuffleWriteMetrics", '{');
    put_stage_metric(out, "bytesWritten", s, METRIC_MAP_OUTPUT_BYTES);
    put_stage_metric(out, "recordsWritten", s, METRIC_MAP_OUTPUT_RECORDS);
    json_end(out, '}');
    put_stage_metric(out, "diskBytesSpilled", s, METRIC_SPILL_BYTES);
    json_end(out, '}');
}

static void put_stage_object(struct json *out, const struct job_model *m, const struct job_stage *s)
{
    /* One without an end has ended with the job. */
    const char *ended = api_status_of_end(s->end != NULL ? s->end : m->end);
    const bool done = strcmp(ended, "SUCCEEDED") == 0;
    json_begin(out, NULL, '{');
    json_u64(out, "stageId", s->number);
    put_event_field(out, "jobId", s->start, "action");
    put_event_field(out, "name", s->start, "name");
    json_cstring(out, "status",
                 !done              ? ended
                 : s->end != NULL   ? "COMPLETE"
                 : m->end != NULL   ? "FAILED"
                 : s->start != NULL ? "ACTIVE"
                                    : "PENDING");
    put_event_field(out, "parentIds", s->start, "parents");
    json_u64(out, "numTasks", s->tasks);
    json_u64(out, "numActiveTasks", job_model_running_count(m, s->number));
    json_u64(out, "numCompleteTasks", s->done);
    json_u64(out, "numCompletedIndices", job_stage_done_tasks(s));
    json_u64(out, "numFailedTasks", s->failed);
    json_u64(out, "numKilledTasks", s->killed);
    json_u64(out, "numLostTasks", s->lost);
    json_u64(out, "numSpeculativeTasks", s->speculative);
    json_u64(out, "numRetries", s->retries);
    put_milliseconds(out, "submissionMs", s->start_ms);
    put_milliseconds(out, "completionMs", s->end_ms);
    put_event_field(out, "error", s->end, "error");
    json_begin(out, "details", '[');
    size_t k;
    json_t *o;
    json_array_foreach(json_object_get(s->start, "operators"), k, o)
        job_put_json_value(out, NULL, o);
    json_end(out, ']');
    put_event_field(out, "numOperators", s->start, "operator_count");
    put_task_metric_value(out, "shuffleFetchWaitTime", METRIC_FETCH_WAIT_US,
                          (uint64_t)counters_value(&s->counters, "fetch wait us"));
    counters_put(out, &s->counters);
    put_metric_distributions(out, s);
    json_end(out, '}');
}

static void put_stages(struct json *out, const struct job_model *m)
{
    json_begin(out, NULL, '[');
    for (uint32_t i = 0; i < m->stage_count; i++) put_stage_object(out, m, &m->stages[i]);
    json_end(out, ']');
}

static void put_executors(struct json *out, const struct job_model *m)
{
    json_begin(out, NULL, '[');
    for (uint32_t i = 0; i < m->executor_count; i++) put_executor_object(out, i, &m->executors[i]);
    json_end(out, ']');
}

static void put_task_failures(struct json *out, const struct job_model *m)
{
    job_put_json_value(out, NULL, m->failures);
}

/* An object with the event's fields, under other names. */
static void put_renamed_event_fields(struct json *out, const json_t *event,
                                     const char *const (*fields)[2], size_t count)
{
    json_begin(out, NULL, '{');
    for (size_t k = 0; k < count; k++) put_event_field(out, fields[k][0], event, fields[k][1]);
    json_end(out, '}');
}

/* Of jobs that build or read Bloom filters. */
static void put_filter_reports(struct json *out, const struct job_model *m)
{
    static const char *const fields[][2] = {{"key", "key"},
                                            {"n", "n"},
                                            {"m", "m"},
                                            {"k", "k"},
                                            {"scheme", "scheme"},
                                            {"layout", "layout"},
                                            {"bitsSet", "bits_set"},
                                            {"fill", "fill"},
                                            {"expectedRate", "expected_rate"}};
    size_t i;
    json_t *o;
    json_begin(out, NULL, '[');
    json_array_foreach(m->events, i, o)
    {
        if (!job_event_is(o, "report") || strcmp(job_event_text(o, "name"), "filter") != 0)
            continue;
        put_renamed_event_fields(out, json_object_get(o, "fields"), fields,
                                 sizeof fields / sizeof fields[0]);
    }
    json_end(out, ']');
}

/* Persisted RDDs. */
static void put_cached_rdds(struct json *out, const struct job_model *m)
{
    static const char *const fields[][2] = {{"id", "rdd"},
                                            {"name", "name"},
                                            {"numPartitions", "partitions"},
                                            {"numCachedPartitions", "blocks"},
                                            {"storageLevel", "level"},
                                            {"memoryUsed", "memory_bytes"},
                                            {"diskUsed", "disk_bytes"}};
    size_t i;
    json_t *o;
    json_begin(out, NULL, '[');
    json_array_foreach(json_object_get(m->storage, "rdds"), i, o)
    {
        put_renamed_event_fields(out, o, fields, sizeof fields / sizeof fields[0]);
    }
    json_end(out, ']');
}

unsigned web_api_put_resource(struct json *out, const struct job_model *m, const char *name,
                              const char *(*query)(void *arg, const char *name), void *arg)
{
    static const struct {
        const char *name;
        void (*put)(struct json *out, const struct job_model *m);
    } parts[] = {{"jobs", put_actions},
                 {"stages", put_stages},
                 {"failures", put_task_failures},
                 {"executors", put_executors},
                 {"environment", put_environment},
                 {"filters", put_filter_reports},
                 {"storage/rdd", put_cached_rdds}};
    uint64_t offset, length;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].name, name) != 0) continue;
        parts[i].put(out, m);
        return 200;
    }
    if (strcmp(name, "tasks") != 0) return web_api_error(out, 404, "no such resource");
    if (!web_parse_count(query(arg, "offset"), 0, INT64_MAX, &offset) ||
        !web_parse_count(query(arg, "length"), 1000, WEB_TASKS_PER_ANSWER, &length))
        return web_api_error(out, 400,
                             "offset and length must be whole numbers, length at most 20000");
    put_task_attempts(out, m, offset, length);
    return 200;
}

/* ---- The metrics of a job, in the text format of OpenMetrics 1.0. */

static bool append_metric_text(struct buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool append_metric_text(struct buffer *out, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return size >= 0 && (size_t)size < sizeof text && buffer_append(out, text, (uint64_t)size);
}

bool web_put_metrics(struct buffer *out, const struct web_metric *rows, size_t count)
{
    bool kept = true;
    for (const struct web_metric *r = rows; r < rows + count && kept; r++)
        kept =
            append_metric_text(out, "# TYPE %s %s\n", r->name, r->counter ? "counter" : "gauge") &&
            (r->unit == NULL || append_metric_text(out, "# UNIT %s %s\n", r->name, r->unit)) &&
            append_metric_text(out, "# HELP %s %s\n", r->name, r->help) &&
            append_metric_text(out, "%s%s %llu\n", r->name, r->counter ? "_total" : "",
                               (unsigned long long)r->value);
    return kept && append_metric_text(out, "# EOF\n");
}

static uint64_t sum_job_counter(const struct job_model *m, const char *name)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->stage_count; i++)
        sum += (uint64_t)counters_value(&m->stages[i].counters, name);
    return sum;
}

static bool put_fetch_wait_metric(struct buffer *out, const struct job_model *m)
{
    static const char name[] = "glint_fetch_wait_seconds";
    const uint64_t us = sum_job_counter(m, "fetch wait us");
    return append_metric_text(out, "# TYPE %s counter\n# UNIT %s seconds\n", name, name) &&
           append_metric_text(out, "# HELP %s Time that tasks waited for map outputs.\n", name) &&
           append_metric_text(out, "%s_total %llu.%06llu\n", name,
                              (unsigned long long)(us / 1000000),
                              (unsigned long long)(us % 1000000));
}

/* Of the persisted RDDs. */
static uint64_t sum_cached_bytes(const struct job_model *m, const char *field)
{
    uint64_t sum = 0;
    size_t i;
    const json_t *o;
    json_array_foreach(json_object_get(m->storage, "rdds"), i, o) sum +=
        (uint64_t)json_integer_value(json_object_get(o, field));
    return sum;
}

static uint64_t sum_executor_memory(const struct job_model *m)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->executor_count; i++)
        if (!job_executor_is_lost(&m->executors[i]))
            sum += (uint64_t)json_integer_value(json_object_get(m->executors[i].health, "memory"));
    return sum;
}

/* A value of a label: quotes, backslashes and newlines are escaped. */
static bool put_metric_label(struct buffer *out, const char *text)
{
    bool kept = buffer_append(out, "\"", 1);
    for (; *text != '\0' && kept; text++) {
        const char *escaped = *text == '"'    ? "\\\""
                              : *text == '\\' ? "\\\\"
                              : *text == '\n' ? "\\n"
                                              : NULL;
        kept = escaped != NULL ? buffer_append(out, escaped, 2) : buffer_append(out, text, 1);
    }
    return kept && buffer_append(out, "\"", 1);
}

static bool put_job_info_metric(struct buffer *out, const struct job_model *m)
{
    static const char *const fields[] = {"id", "name", "version", "master"};
    bool kept = append_metric_text(
        out, "# TYPE glint_job info\n# HELP glint_job The job.\nglint_job_info{");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && kept; i++) {
        const char *text = json_string_value(json_object_get(m->job, fields[i]));
        kept = append_metric_text(out, "%s%s=", i > 0 ? "," : "", fields[i]) &&
               put_metric_label(out, text != NULL ? text : "");
    }
    return kept && append_metric_text(out, "} 1\n");
}

bool web_put_job_metrics(struct buffer *out, const struct job_model *m)
{
    const struct job_totals t = job_model_totals(m);
    const struct web_metric rows[] = {
        {"glint_tasks_running", false, NULL, "Attempts that run now.", t.active},
        {"glint_tasks_queued", false, NULL,
         "Tasks of the stages that started, which neither run nor are done.", t.pending},
        {"glint_tasks_done", true, NULL, "Attempts that succeeded.", t.done},
        {"glint_tasks_failed", true, NULL, "Attempts that failed.", t.failed},
        {"glint_tasks_killed", true, NULL, "Attempts that were killed.", t.killed},
        {"glint_tasks_lost", true, NULL, "Attempts lost with their executor.", t.lost},
        {"glint_retries", true, NULL, "Tasks that had to run again.", m->retries},
        {"glint_executors_lost", true, NULL, "Executors that were lost.", m->lost_executors},
        {"glint_slots", false, NULL, "Slots of all executors.", job_model_slots(m)},
        {"glint_executors_memory_bytes", false, "bytes",
         "Resident memory of the executors, by their heartbeats.", sum_executor_memory(m)},
        {"glint_stages_started", true, NULL, "Stages that started.", m->stage_count},
        {"glint_read_bytes", true, "bytes", "Bytes of input read.",
         sum_job_counter(m, "bytes read")},
        {"glint_read_rows", true, NULL, "Rows of input read.", sum_job_counter(m, "rows read")},
        {"glint_written_bytes", true, "bytes", "Bytes of output written.",
         sum_job_counter(m, "bytes written")},
        {"glint_shuffle_bytes", true, "bytes", "Bytes of map outputs.",
         sum_job_counter(m, "map output bytes")},
        {"glint_spill_bytes", true, "bytes", "Bytes spilled to disk.",
         sum_job_counter(m, "spill bytes")},
        {"glint_cached_memory_bytes", false, "bytes", "Blocks of persisted RDDs in memory.",
         sum_cached_bytes(m, "memory_bytes")},
        {"glint_cached_disk_bytes", false, "bytes", "Blocks of persisted RDDs on disk.",
         sum_cached_bytes(m, "disk_bytes")},
    };
    return put_job_info_metric(out, m) && put_fetch_wait_metric(out, m) &&
           web_put_metrics(out, rows, sizeof rows / sizeof rows[0]);
}
