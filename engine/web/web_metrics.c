/* The metrics of a job, in the text format of OpenMetrics 1.0. */
#include "engine/base/text.h"
#include "engine/web/web_api.h"

#include <stdarg.h>
#include <string.h>

static bool put_metric_text(struct buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool put_metric_text(struct buffer *out, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return size >= 0 && (size_t)size < sizeof text && buffer_append(out, text, (uint64_t)size);
}

bool web_put_metric(struct buffer *out, const char *name, bool counter, const char *unit,
                    const char *help, uint64_t value)
{
    return put_metric_text(out, "# TYPE %s %s\n", name, counter ? "counter" : "gauge") &&
           (unit == NULL || put_metric_text(out, "# UNIT %s %s\n", name, unit)) &&
           put_metric_text(out, "# HELP %s %s\n", name, help) &&
           put_metric_text(out, "%s%s %llu\n", name, counter ? "_total" : "",
                           (unsigned long long)value);
}

bool web_metrics_end(struct buffer *out)
{
    return put_metric_text(out, "# EOF\n");
}

static uint64_t counter_of(const struct job_model *m, const char *name)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->stage_count; i++)
        sum += (uint64_t)job_stage_counter(&m->stages[i], name);
    return sum;
}

static bool put_fetch_wait(struct buffer *out, const struct job_model *m)
{
    static const char name[] = "glint_fetch_wait_seconds";
    const uint64_t us = counter_of(m, "fetch wait us");
    return put_metric_text(out, "# TYPE %s counter\n# UNIT %s seconds\n", name, name) &&
           put_metric_text(out, "# HELP %s Time that tasks waited for map outputs.\n", name) &&
           put_metric_text(out, "%s_total %llu.%06llu\n", name, (unsigned long long)(us / 1000000),
                           (unsigned long long)(us % 1000000));
}

/* Of the persisted RDDs. */
static uint64_t cached_bytes(const struct job_model *m, const char *field)
{
    uint64_t sum = 0;
    size_t i;
    const json_t *o;
    json_array_foreach(json_object_get(m->storage, "rdds"), i, o) sum +=
        (uint64_t)json_integer_value(json_object_get(o, field));
    return sum;
}

static uint64_t memory_of(const struct job_model *m)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->executor_count; i++)
        if (!job_executor_is_lost(&m->executors[i]))
            sum += (uint64_t)json_integer_value(json_object_get(m->executors[i].health, "memory"));
    return sum;
}

/* A value of a label: quotes, backslashes and newlines are escaped. */
static bool put_label(struct buffer *out, const char *text)
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

static bool put_info(struct buffer *out, const struct job_model *m)
{
    static const char *const fields[] = {"id", "name", "version", "master"};
    bool kept =
        put_metric_text(out, "# TYPE glint_job info\n# HELP glint_job The job.\nglint_job_info{");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && kept; i++) {
        const char *text = json_string_value(json_object_get(m->job, fields[i]));
        kept = put_metric_text(out, "%s%s=", i > 0 ? "," : "", fields[i]) &&
               put_label(out, text != NULL ? text : "");
    }
    return kept && put_metric_text(out, "} 1\n");
}

bool web_metrics(struct buffer *out, const struct job_model *m)
{
    const struct job_totals t = job_model_totals(m);
    return put_info(out, m) &&
           web_put_metric(out, "glint_tasks_running", false, NULL, "Attempts that run now.",
                          t.active) &&
           web_put_metric(out, "glint_tasks_queued", false, NULL,
                          "Tasks of the stages that started, which neither run nor are done.",
                          t.pending) &&
           web_put_metric(out, "glint_tasks_done", true, NULL, "Attempts that succeeded.",
                          t.done) &&
           web_put_metric(out, "glint_tasks_failed", true, NULL, "Attempts that failed.",
                          t.failed) &&
           web_put_metric(out, "glint_tasks_killed", true, NULL, "Attempts that were killed.",
                          t.killed) &&
           web_put_metric(out, "glint_tasks_lost", true, NULL, "Attempts lost with their executor.",
                          t.lost) &&
           web_put_metric(out, "glint_retries", true, NULL, "Tasks that had to run again.",
                          m->retries) &&
           web_put_metric(out, "glint_executors_lost", true, NULL, "Executors that were lost.",
                          m->lost_executors) &&
           web_put_metric(out, "glint_slots", false, NULL, "Slots of all executors.",
                          job_model_slots(m)) &&
           web_put_metric(out, "glint_executors_memory_bytes", false, "bytes",
                          "Resident memory of the executors, by their heartbeats.", memory_of(m)) &&
           web_put_metric(out, "glint_stages_started", true, NULL, "Stages that started.",
                          m->stage_count) &&
           web_put_metric(out, "glint_read_bytes", true, "bytes", "Bytes of input read.",
                          counter_of(m, "bytes read")) &&
           web_put_metric(out, "glint_read_rows", true, NULL, "Rows of input read.",
                          counter_of(m, "rows read")) &&
           web_put_metric(out, "glint_written_bytes", true, "bytes", "Bytes of output written.",
                          counter_of(m, "bytes written")) &&
           web_put_metric(out, "glint_shuffle_bytes", true, "bytes", "Bytes of map outputs.",
                          counter_of(m, "map output bytes")) &&
           web_put_metric(out, "glint_spill_bytes", true, "bytes", "Bytes spilled to disk.",
                          counter_of(m, "spill bytes")) &&
           web_put_metric(out, "glint_cached_memory_bytes", false, "bytes",
                          "Blocks of persisted RDDs in memory.", cached_bytes(m, "memory_bytes")) &&
           web_put_metric(out, "glint_cached_disk_bytes", false, "bytes",
                          "Blocks of persisted RDDs on disk.", cached_bytes(m, "disk_bytes")) &&
           put_fetch_wait(out, m) && web_metrics_end(out);
}
