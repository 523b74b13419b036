/* Prints a job's history as text, and as one JSON object. All texts come from a file, so they are
 * escaped. */
#include "engine/cli/history_print.h"

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/cli/print.h"
#include "engine/records/task.h"

#include <string.h>

/* Prints `format` with fields of `o`: {name} is a text, or "?" if it is missing; {name:n} a whole
 * number; {name:+} an "s" unless that is 1; {name:s} milliseconds as seconds. */
static void print_format_with_fields(FILE *out, const json_t *o, const char *format)
{
    for (size_t size; *format != '\0'; format += size) {
        size = strcspn(format, "{");
        fwrite(format, 1, size, out);
        format += size;
        size = strcspn(format, "}");
        if (*format++ == '\0') return;
        const size_t name = strcspn(format, ":}");
        const json_t *value = json_object_getn(o, format, name);
        const char *text = json_string_value(value);
        switch (format[name] == ':' ? format[name + 1] : '\0') {
        case 'n': fprintf(out, "%lld", (long long)json_integer_value(value)); break;
        case '+': fputs(json_integer_value(value) == 1 ? "" : "s", out); break;
        case 's': fprintf(out, "%.3f", json_number_value(value) / 1000); break;
        default: print_escaped(out, text != NULL && text[0] != '\0' ? text : "?", " ");
        }
    }
}

/* Prints "E0908 executor lost: e1 died"; nothing if there is no error. */
static void print_error_of(FILE *out, const char *before, const json_t *event)
{
    const json_t *why = json_object_get(event, "error");
    if (!json_is_object(why)) return;
    fputs(before, out);
    print_format_with_fields(out, why, "{code} {text}: {cause}");
}

/* Prints " 1, 2" after `before`; nothing if there are no numbers. */
static void print_number_list(FILE *out, const char *before, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        fprintf(out, "%s %lld", i == 0 ? before : ",",
                (long long)json_integer_value(json_array_get(list, i)));
}

/* Prints "2 stages". */
static void print_count_of(FILE *out, uint64_t count, const char *what)
{
    fprintf(out, "%llu %s%s", (unsigned long long)count, what, count == 1 ? "" : "s");
}

static void print_job_history(FILE *out, const struct job_model *m)
{
    const struct job_totals t = job_model_totals(m);
    const bool failed = json_is_object(json_object_get(m->end, "error"));
    print_format_with_fields(out, m->job,
                             "{name}, job {id} on {master}, version {version}, started {time}\n  ");
    fputs(m->end == NULL ? "incomplete: the job is running or was killed; last event"
          : failed       ? "failed"
                         : "ok",
          out);
    fprintf(out, " after %.3f s; ", m->last_ms / 1000);
    print_count_of(out, t.stages, "stage");
    if (t.stages_skipped > 0) fprintf(out, " (%llu skipped)", (unsigned long long)t.stages_skipped);
    fputs(", ", out);
    print_count_of(out, t.tasks, "task");
    fputs(" in ", out);
    print_count_of(out, m->attempts_total, "attempt");
    fprintf(out, ", %llu retr%s\n", (unsigned long long)t.retries, t.retries == 1 ? "y" : "ies");
    print_error_of(out, "  ", m->end);
    if (failed) fputc('\n', out);
    if (m->truncated_line) fputs("  ignored a truncated last line\n", out);
    if (m->size_limited) fputs("  log size limit reached; later events are missing\n", out);
}

static bool is_executor_known(const struct job_executor *e)
{
    return e->joined != NULL || e->last != NULL || e->attempts > 0;
}

static void print_executor_history(FILE *out, uint32_t number, const struct job_executor *e)
{
    fprintf(out, "executor %u: ", number);
    print_format_with_fields(out, e->joined,
                             "{name} at {host}, {slots:n} slot{slots:+}, joined at {ms:s} s; ");
    print_count_of(out, e->attempts, "attempt");
    fprintf(out, ", %llu failed\n", (unsigned long long)e->failed);
    if (e->last == NULL) return;
    print_format_with_fields(out, e->last, "  {state} at {ms:s} s");
    print_error_of(out, ": ", e->last);
    fputc('\n', out);
}

static void print_stage_counters(FILE *out, const struct job_stage *s)
{
    const char *before = "  ";
    for (uint32_t i = 0; i < s->counters.count; i++) {
        const char *name = s->counters.names[i];
        const int64_t value = s->counters.values[i];
        if (value == 0) continue;
        fputs(before, out);
        print_escaped(out, name[0] != '\0' ? name : "?", " ");
        fprintf(out, " %lld", (long long)value);
        if (strstr(name, "bytes") != NULL && value >= (int64_t)KIB) {
            char size[TEXT_NUMBER_MAX];
            text_format_bytes(size, (uint64_t)value);
            fprintf(out, " (%s)", size);
        }
        if (strcmp(name, task_counter_names[COUNT_FETCH_WAIT_US]) == 0)
            fprintf(out, " (%.3f s)", (double)value / 1e6);
        before = ", ";
    }
    if (before[0] == ',') fputc('\n', out);
}

static void print_action_history(FILE *out, const json_t *o)
{
    const json_t *outputs = json_object_get(o, "outputs");
    print_format_with_fields(out, o, "action {action:n}: {name}");
    if (job_event_text(o, "output")[0] != '\0') fputs(" -> ", out);
    print_escaped(out, job_event_text(o, "output"), " ");
    for (size_t i = 1; i < json_array_size(outputs); i++) {
        const char *text = json_string_value(json_array_get(outputs, i));
        fputs(", ", out);
        print_escaped(out, text != NULL ? text : "?", " ");
    }
    print_number_list(out, ", skips stage", json_object_get(o, "skipped"));
    fputc('\n', out);
}

/* One per line, as `glint explain` prints them. */
static void print_operators(FILE *out, const json_t *stage)
{
    const json_t *list = json_object_get(stage, "operators");
    const json_int_t left_out = json_integer_value(json_object_get(stage, "operator_count")) -
                                (json_int_t)json_array_size(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        fputs("    ", out);
        print_escaped(out, text != NULL ? text : "?", " ");
        fputc('\n', out);
    }
    if (left_out > 0 && json_array_size(list) > 0)
        fprintf(out, "    and %lld more\n", (long long)left_out);
}

/* The longest run time divided by the median. */
static double run_time_skew(const double ms[RUN_MS_QUANTILES])
{
    return ms[RUN_MS_MEDIAN] > 0 ? ms[RUN_MS_MAX] / ms[RUN_MS_MEDIAN] : 0;
}

static void print_stage_history(FILE *out, const struct job_stage *s)
{
    const struct {
        uint64_t count;
        const char *text;
    } rest[] = {{s->failed, "failed"},
                {s->lost, "failed: executor lost"},
                {s->killed, "killed"},
                {s->speculative, "speculative"}};
    double ms[RUN_MS_QUANTILES];
    fprintf(out, "stage %u: ", s->number);
    print_format_with_fields(out, s->start, "{name}");
    print_number_list(out, ", after", json_object_get(s->start, "parents"));
    fputc('\n', out);
    print_operators(out, s->start);
    fputs("  ", out);
    print_count_of(out, s->tasks, "task");
    fprintf(out, ", %llu done", (unsigned long long)s->done);
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        if (rest[i].count > 0)
            fprintf(out, ", %llu %s", (unsigned long long)rest[i].count, rest[i].text);
    if (s->start != NULL && s->end != NULL)
        fprintf(out, "; %.3f s to %.3f s", s->start_ms / 1000, s->end_ms / 1000);
    else
        fputs("; not finished", out);
    print_error_of(out, "; ", s->end);
    fputc('\n', out);
    if (job_stage_run_ms(s, ms))
        fprintf(out,
                "  task seconds: %.3f least, %.3f 25%%, %.3f median, %.3f 75%%, %.3f most; skew "
                "%.1f\n",
                ms[RUN_MS_MIN] / 1000, ms[RUN_MS_P25] / 1000, ms[RUN_MS_MEDIAN] / 1000,
                ms[RUN_MS_P75] / 1000, ms[RUN_MS_MAX] / 1000, run_time_skew(ms));
    print_stage_counters(out, s);
}

/* ": NAME VALUE, NAME VALUE" */
static void print_named_values(FILE *out, const json_t *values)
{
    const char *name, *before = ": ";
    json_t *value;
    json_object_foreach((json_t *)values, name, value)
    {
        fputs(before, out);
        print_escaped(out, name, " ");
        if (json_is_string(value)) fputc(' ', out);
        if (json_is_string(value)) print_escaped(out, json_string_value(value), " ");
        if (json_is_integer(value)) fprintf(out, " %lld", (long long)json_integer_value(value));
        if (json_is_real(value)) fprintf(out, " %.6g", json_real_value(value));
        before = ", ";
    }
    fputc('\n', out);
}

static void print_job_report(FILE *out, const json_t *o)
{
    print_format_with_fields(out, o, "{name}");
    print_named_values(out, json_object_get(o, "fields"));
}

static void print_cached_rdd(FILE *out, const json_t *o)
{
    char in_memory[TEXT_NUMBER_MAX], on_disk[TEXT_NUMBER_MAX];
    text_format_bytes(in_memory,
                      (uint64_t)json_integer_or_text(json_object_get(o, "memory_bytes")));
    text_format_bytes(on_disk, (uint64_t)json_integer_or_text(json_object_get(o, "disk_bytes")));
    print_format_with_fields(
        out, o,
        "cached RDD {rdd:n}: {name}, persisted: {level}; {blocks:n} of {partitions:n} "
        "partition{partitions:+}, ");
    fprintf(out, "%s in memory, %s on disk\n", in_memory, on_disk);
}

static void print_history_event(FILE *out, const json_t *o)
{
    if (job_event_is(o, "retry")) {
        print_format_with_fields(
            out, o,
            "retry at {ms:s} s: stage {stage:n} task {task:n} attempt {attempt:n} on "
            "executor {executor:n}");
        print_error_of(out, ": ", o);
        fputc('\n', out);
    } else if (job_event_is(o, "note")) {
        print_format_with_fields(out, o, "note: {text}\n");
    } else if (job_event_is(o, "report")) {
        print_job_report(out, o);
    } else if (job_event_is(o, "output")) {
        print_format_with_fields(out, o, "-> {path}\n");
    }
}

void history_print(FILE *out, const struct job_model *m)
{
    size_t i;
    json_t *o;
    print_job_history(out, m);
    for (uint32_t n = 0; n < m->executor_count; n++)
        if (is_executor_known(&m->executors[n])) print_executor_history(out, n, &m->executors[n]);
    json_array_foreach(m->events, i, o)
    {
        if (job_event_is(o, "action")) print_action_history(out, o);
    }
    for (uint32_t n = 0; n < m->stage_count; n++) print_stage_history(out, &m->stages[n]);
    json_array_foreach(json_object_get(m->storage, "rdds"), i, o) print_cached_rdd(out, o);
    if (json_object_size(m->accumulators) > 0) {
        fputs("accumulators", out);
        print_named_values(out, m->accumulators);
    }
    json_array_foreach(m->events, i, o) print_history_event(out, o);
}

/* ---- JSON */

static void put_event_fields(struct json *out, const json_t *event)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)event, name, value) job_put_value(out, name, value);
}

static void put_events_of_type(struct json *out, const char *name, const struct job_model *m,
                               const char *event)
{
    size_t i;
    json_t *o;
    json_begin(out, name, '[');
    json_array_foreach(m->events, i, o)
    {
        if (job_event_is(o, event)) job_put_value(out, NULL, o);
    }
    json_end(out, ']');
}

static void put_history_job(struct json *out, const struct job_model *m)
{
    const struct job_totals t = job_model_totals(m);
    const bool failed = json_is_object(json_object_get(m->end, "error"));
    json_u64(out, "schema", 1);
    json_cstring(out, "status", m->end == NULL ? "incomplete" : failed ? "failed" : "ok");
    job_put_value(out, "job", m->job);
    job_put_value(out, "end", m->end);
    json_u64(out, "stage_count", t.stages);
    json_u64(out, "stages_skipped", t.stages_skipped);
    json_u64(out, "tasks", t.tasks);
    json_u64(out, "attempts", m->attempts_total);
    json_u64(out, "retry_count", t.retries);
    json_f64(out, "last_ms", m->last_ms);
    json_bool(out, "truncated_line", m->truncated_line);
    json_bool(out, "size_limited", m->size_limited);
}

static void put_history_executor(struct json *out, uint32_t number, const struct job_executor *e)
{
    json_begin(out, NULL, '{');
    if (e->joined == NULL) json_u64(out, "executor", number);
    put_event_fields(out, e->joined);
    json_u64(out, "attempts", e->attempts);
    json_u64(out, "failed", e->failed);
    job_put_value(out, "last", e->last);
    json_end(out, '}');
}

static void put_history_stage(struct json *out, const struct job_stage *s)
{
    static const char *const names[RUN_MS_QUANTILES] = {
        [RUN_MS_MIN] = "min_ms", [RUN_MS_P25] = "p25_ms", [RUN_MS_MEDIAN] = "median_ms",
        [RUN_MS_P75] = "p75_ms", [RUN_MS_P95] = "p95_ms", [RUN_MS_MAX] = "max_ms"};
    double ms[RUN_MS_QUANTILES];
    json_begin(out, NULL, '{');
    if (s->start == NULL) json_u64(out, "stage", s->number);
    put_event_fields(out, s->start);
    json_u64(out, "done", s->done);
    json_u64(out, "failed", s->failed);
    json_u64(out, "lost", s->lost);
    json_u64(out, "killed", s->killed);
    json_u64(out, "speculative", s->speculative);
    json_u64(out, "retries", s->retries);
    if (s->end != NULL)
        json_f64(out, "ended_ms", s->end_ms);
    else
        json_cstring(out, "ended_ms", NULL);
    if (job_stage_run_ms(s, ms)) {
        for (int i = 0; i < RUN_MS_QUANTILES; i++) json_f64(out, names[i], ms[i]);
        json_f64(out, "skew", run_time_skew(ms));
    }
    counters_put(out, &s->counters);
    json_end(out, '}');
}

bool history_print_json(FILE *out, const struct job_model *m)
{
    struct json j = {.failed = false};
    json_t *o;
    size_t n;
    json_begin(&j, NULL, '{');
    put_history_job(&j, m);
    json_begin(&j, "executors", '[');
    for (uint32_t i = 0; i < m->executor_count; i++)
        if (is_executor_known(&m->executors[i])) put_history_executor(&j, i, &m->executors[i]);
    json_end(&j, ']');
    json_begin(&j, "stages", '[');
    for (uint32_t i = 0; i < m->stage_count; i++) put_history_stage(&j, &m->stages[i]);
    json_end(&j, ']');
    put_events_of_type(&j, "actions", m, "action");
    put_events_of_type(&j, "retries", m, "retry");
    json_begin(&j, "storage", '[');
    json_array_foreach(json_object_get(m->storage, "rdds"), n, o) job_put_value(&j, NULL, o);
    json_end(&j, ']');
    json_begin(&j, "accumulators", '{');
    put_event_fields(&j, m->accumulators);
    json_end(&j, '}');
    put_events_of_type(&j, "outputs", m, "output");
    put_events_of_type(&j, "notes", m, "note");
    put_events_of_type(&j, "reports", m, "report");
    json_end(&j, '}');
    return print_json_object(out, &j);
}
