/* glint history FILE: prints a job's history from its event log, or serves the page of the job; of
 * all jobs of a directory with --serve DIR. */
#include "engine/base/env.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/cli/cli.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/print.h"
#include "engine/cli/web.h"
#include "engine/records/task.h"
#include "engine/web/web_api.h"
#include "engine/web/web_server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Prints a job's history as text, and as one JSON object. All texts come from a file, so they
 * are escaped. */

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
static void print_event_error(FILE *out, const char *before, const json_t *event)
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
    print_event_error(out, "  ", m->end);
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
    print_event_error(out, ": ", e->last);
    fputc('\n', out);
}

static void print_stage_counters_of_history(FILE *out, const struct job_stage *s)
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

static bool stage_run_ms(const struct job_stage *s, double out[TASK_QUANTILES])
{
    uint64_t us[TASK_QUANTILES];
    const bool known = job_stage_quantiles(s, METRIC_RUN_US, us);
    for (int i = 0; known && i < TASK_QUANTILES; i++) out[i] = (double)us[i] / 1000;
    return known;
}

/* The longest run time divided by the median. */
static double run_time_skew(const double ms[TASK_QUANTILES])
{
    return ms[TASK_MEDIAN] > 0 ? ms[TASK_MAX] / ms[TASK_MEDIAN] : 0;
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
    double ms[TASK_QUANTILES];
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
    print_event_error(out, "; ", s->end);
    fputc('\n', out);
    if (stage_run_ms(s, ms))
        fprintf(out,
                "  task seconds: %.3f least, %.3f 25%%, %.3f median, %.3f 75%%, %.3f most; skew "
                "%.1f\n",
                ms[TASK_MIN] / 1000, ms[TASK_P25] / 1000, ms[TASK_MEDIAN] / 1000,
                ms[TASK_P75] / 1000, ms[TASK_MAX] / 1000, run_time_skew(ms));
    print_stage_counters_of_history(out, s);
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
        print_event_error(out, ": ", o);
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

static void put_all_event_fields(struct json *out, const json_t *event)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)event, name, value) job_put_json_value(out, name, value);
}

static void put_events_of_type(struct json *out, const char *name, const struct job_model *m,
                               const char *event)
{
    size_t i;
    json_t *o;
    json_begin(out, name, '[');
    json_array_foreach(m->events, i, o)
    {
        if (job_event_is(o, event)) job_put_json_value(out, NULL, o);
    }
    json_end(out, ']');
}

static void put_history_job(struct json *out, const struct job_model *m)
{
    const struct job_totals t = job_model_totals(m);
    const bool failed = json_is_object(json_object_get(m->end, "error"));
    json_u64(out, "schema", 1);
    json_cstring(out, "status", m->end == NULL ? "incomplete" : failed ? "failed" : "ok");
    job_put_json_value(out, "job", m->job);
    job_put_json_value(out, "end", m->end);
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
    put_all_event_fields(out, e->joined);
    json_u64(out, "attempts", e->attempts);
    json_u64(out, "failed", e->failed);
    job_put_json_value(out, "last", e->last);
    json_end(out, '}');
}

static void put_history_stage(struct json *out, const struct job_stage *s)
{
    static const char *const names[TASK_QUANTILES] = {
        [TASK_MIN] = "min_ms", [TASK_P25] = "p25_ms", [TASK_MEDIAN] = "median_ms",
        [TASK_P75] = "p75_ms", [TASK_P95] = "p95_ms", [TASK_MAX] = "max_ms"};
    double ms[TASK_QUANTILES];
    json_begin(out, NULL, '{');
    if (s->start == NULL) json_u64(out, "stage", s->number);
    put_all_event_fields(out, s->start);
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
    if (stage_run_ms(s, ms)) {
        for (int i = 0; i < TASK_QUANTILES; i++) json_f64(out, names[i], ms[i]);
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
    json_array_foreach(json_object_get(m->storage, "rdds"), n, o) job_put_json_value(&j, NULL, o);
    json_end(&j, ']');
    json_begin(&j, "accumulators", '{');
    put_all_event_fields(&j, m->accumulators);
    json_end(&j, '}');
    put_events_of_type(&j, "outputs", m, "output");
    put_events_of_type(&j, "notes", m, "note");
    put_events_of_type(&j, "reports", m, "report");
    json_end(&j, '}');
    return print_json_object(out, &j);
}

/* The jobs of event logs, for the web page: of one file, or of all files in a directory.
 *
 * A list of the logs with what the page lists of each, and the model of the log that was asked for
 * last: the others are read again when they are needed. A directory may have thousands of logs:
 * they are read for a short time in each request, and between requests, so that no client waits. */

#define LOGS_MAX   100000u
#define REQUEST_NS (500 * MS_NS) /* to read logs in a request */
#define STEP_NS    (50 * MS_NS)  /* between requests */

struct log_file {
    char *path;
    uint64_t size; /* when it was read, and its time */
    int64_t mtime_ns;
    bool read;
    char id[32];         /* of the job; "": not an event log */
    char time[40];       /* its start, RFC 3339 */
    struct buffer entry; /* of the list, as JSON */
};

struct history_jobs {
    struct env *env;
    char *path;
    bool directory;
    struct log_file *logs;
    uint32_t log_count;
    uint32_t sorted_count; /* of the logs, by their path; the others are new */
    uint32_t next;         /* the log to look at next */
    uint64_t log_capacity;
    struct job_model model; /* of logs[loaded] */
    uint32_t loaded;        /* UINT32_MAX: none */
};

/* ---- Reading */

static int read_job_model_of_log(struct history_jobs *j, uint32_t index, struct glint_error *error)
{
    job_model_fini(&j->model);
    const int r = job_model_read(&j->model, j->env, j->logs[index].path, error);
    j->loaded = r == 0 ? index : UINT32_MAX;
    return r;
}

/* Reads a log whose size or time has changed, and what the page lists of it. */
static int refresh_changed_log(struct history_jobs *j, uint32_t index, struct glint_error *error)
{
    struct log_file *log = &j->logs[index];
    struct env_stat st;
    struct json entry = {.failed = false};
    const char *name = strrchr(log->path, '/');
    if (j->env->stat(j->env, log->path, &st) != 0)
        st = (struct env_stat){.size = UINT64_MAX}; /* reading it says why */
    if (log->read && st.size == log->size && st.mtime_ns == log->mtime_ns) return 0;
    int r = read_job_model_of_log(j, index, error);
    log->read = true;
    log->size = st.size;
    log->mtime_ns = st.mtime_ns;
    log->id[0] = '\0';
    if (r != 0) return r;
    json_begin(&entry, NULL, '{');
    web_api_put_application(&entry, &j->model, false);
    json_cstring(&entry, "file", name != NULL ? name + 1 : log->path);
    json_end(&entry, '}');
    if (entry.failed) {
        json_fini(&entry);
        return error_no_memory(error);
    }
    buffer_fini(&log->entry);
    log->entry = entry.out;
    text_format(log->id, sizeof log->id, "%s", job_event_text(j->model.job, "id"));
    text_format(log->time, sizeof log->time, "%s", job_event_text(j->model.job, "time"));
    return 0;
}

static int compare_log_paths(const void *a, const void *b)
{
    return strcmp(((const struct log_file *)a)->path, ((const struct log_file *)b)->path);
}

static int add_history_log(void *arg, const char *name)
{
    struct history_jobs *j = arg;
    char path[PATH_MAX];
    struct log_file log = {.path = path};
    if (name[0] == '.' || j->log_count == LOGS_MAX ||
        !text_format(path, sizeof path, "%s/%s", j->path, name))
        return 0;
    if (j->sorted_count > 0 &&
        bsearch(&log, j->logs, j->sorted_count, sizeof log, compare_log_paths) != NULL)
        return 0;
    if (!array_reserve(&j->logs, &j->log_capacity, j->log_count + 1, sizeof *j->logs) ||
        (log.path = mem_strdup(path)) == NULL)
        return -1;
    j->logs[j->log_count++] = log;
    return 0;
}

/* Adds new files of a directory. Returns 0 or a negative errno. */
static int add_new_logs(struct history_jobs *j)
{
    const char *loaded = j->loaded != UINT32_MAX ? j->logs[j->loaded].path : NULL;
    int r = j->directory ? env_list_dir(j->env, j->path, add_history_log, j) : 0;
    if (j->log_count == j->sorted_count) return r;
    qsort(j->logs, j->log_count, sizeof *j->logs, compare_log_paths);
    j->sorted_count = j->log_count;
    for (uint32_t i = 0; i < j->log_count && loaded != NULL; i++)
        if (j->logs[i].path == loaded) j->loaded = i;
    return r;
}

static void refresh_log_or_warn(struct history_jobs *j, uint32_t index)
{
    struct glint_error error = {.code = GLINT_OK};
    const bool was_read = j->logs[index].read;
    /* A file whose first line is another's is not an event log, and is ignored. */
    if (refresh_changed_log(j, index, &error) == 0 || was_read || j->model.job == NULL) return;
    fprintf(stderr, "warning: ");
    print_escaped(stderr, error.cause, "");
    fputc('\n', stderr);
}

/* Reads new logs and those that have changed, for this time, from the one after the last one that
 * was looked at. */
static void refresh_logs_for(struct history_jobs *j, uint64_t longest_ns)
{
    const uint64_t end = j->env->now_ns(j->env) + longest_ns;
    for (uint32_t i = 0; i < j->log_count; i++) {
        if (j->next >= j->log_count) j->next = 0;
        refresh_log_or_warn(j, j->next++);
        if (j->env->now_ns(j->env) >= end) return;
    }
}

/* Between requests: reads logs that were never read. */
static void read_unread_logs(void *arg)
{
    struct history_jobs *j = arg;
    const uint64_t end = j->env->now_ns(j->env) + STEP_NS;
    for (uint32_t i = 0; i < j->log_count; i++) {
        if (j->logs[i].read) continue;
        refresh_log_or_warn(j, i);
        if (j->env->now_ns(j->env) >= end) return;
    }
}

/* NULL is allowed */
static void history_jobs_close(struct history_jobs *j)
{
    if (j == NULL) return;
    for (uint32_t i = 0; i < j->log_count; i++) {
        mem_free(j->logs[i].path);
        buffer_fini(&j->logs[i].entry);
    }
    job_model_fini(&j->model);
    mem_free(j->logs);
    mem_free(j->path);
    mem_free(j);
}

/* Reads the logs once. Returns NULL with *error set: INPUT_..., EVENT_LOG_INVALID (of a single
 * file), NO_MEMORY. Files of a directory that are not event logs are ignored. */
static struct history_jobs *history_jobs_open(struct env *env, const char *path,
                                              struct glint_error *error)
{
    struct env_stat st;
    struct history_jobs *j = mem_zalloc(sizeof *j);
    char *copy = mem_strdup(path);
    if (j == NULL || copy == NULL) {
        mem_free(j);
        mem_free(copy);
        error_no_memory(error);
        return NULL;
    }
    *j = (struct history_jobs){.env = env, .path = copy, .loaded = UINT32_MAX};
    j->directory = env->stat(env, path, &st) == 0 && st.kind == ENV_DIRECTORY;
    int r = 0;
    if (j->directory) {
        r = add_new_logs(j);
        if (r != 0) error_set_system(error, GLINT_E_INPUT_IO, r, "list", path);
    } else if (array_reserve(&j->logs, &j->log_capacity, 1, sizeof *j->logs) &&
               (copy = mem_strdup(path)) != NULL) {
        j->logs[j->log_count++] = (struct log_file){.path = copy};
        r = refresh_changed_log(j, 0, error);
    } else {
        r = error_no_memory(error);
    }
    if (r == 0) return j;
    history_jobs_close(j);
    return NULL;
}

/* ---- For the server */

static void list_history_jobs(void *arg, struct json *out)
{
    struct history_jobs *j = arg;
    add_new_logs(j);
    refresh_logs_for(j, REQUEST_NS);
    for (uint32_t i = 0; i < j->log_count; i++)
        if (j->logs[i].id[0] != '\0')
            json_raw(out, NULL, j->logs[i].entry.data, j->logs[i].entry.size);
}

/* `again`: logs have been read just now. */
static const struct job_model *find_job_or_read_new_logs(struct history_jobs *j, const char *id,
                                                         bool again)
{
    struct glint_error ignored = {.code = GLINT_OK};
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < j->log_count; i++) {
        const bool newer =
            id == NULL && (found == UINT32_MAX || strcmp(j->logs[i].time, j->logs[found].time) > 0);
        if (j->logs[i].id[0] != '\0' && (newer || (id != NULL && strcmp(j->logs[i].id, id) == 0)))
            found = i;
    }
    if (found == UINT32_MAX && !again) {
        add_new_logs(j);
        refresh_logs_for(j, REQUEST_NS);
        return find_job_or_read_new_logs(j, id, true);
    }
    if (found == UINT32_MAX) return NULL;
    if (refresh_changed_log(j, found, &ignored) != 0) return NULL;
    if (j->loaded != found && read_job_model_of_log(j, found, &ignored) != 0) return NULL;
    return &j->model;
}

static const struct job_model *find_history_job(void *arg, const char *id)
{
    return find_job_or_read_new_logs(arg, id, false);
}

/* Serves until a signal ends it. */
static void serve_history(const struct cli_line *line, struct glint_error *error)
{
    struct history_jobs *logs = history_jobs_open(env_real(), line->arguments[0], error);
    if (logs == NULL) return;
    const struct web_jobs jobs = {
        .arg = logs, .list = list_history_jobs, .find = find_history_job, .step = read_unread_logs};
    const char *address = cli_line_option(line, "serve");
    struct web_server *server =
        cli_web_open(address, cli_line_option(line, "ui-token"), &jobs, false, error);
    if (server != NULL) web_server_run(server);
    web_server_close(server);
    history_jobs_close(logs);
}

static void show_history(const struct cli_line *line, struct glint_error *error)
{
    struct job_model m;
    if (cli_line_has(line, "serve")) {
        serve_history(line, error);
        return;
    }
    if (cli_line_has(line, "ui-token")) {
        error_set(error, GLINT_E_USAGE, "add --serve", "--ui-token has no effect without --serve");
        return;
    }
    if (job_model_read(&m, env_real(), line->arguments[0], error) == 0) {
        if (!cli_line_flag(line, "json"))
            history_print(stdout, &m);
        else if (!history_print_json(stdout, &m))
            error_no_memory(error);
    }
    job_model_fini(&m);
}

static const struct glint_job_option history_options[] = {
    {"json", NULL, NULL, "print one JSON object"},
    {"serve", "[HOST:PORT]", NULL,
     "serve a page instead, on 127.0.0.1:4040 or the next free port, until Ctrl-C; FILE may be a "
     "directory of event logs"},
    {"ui-token", "FILE", NULL, "with --serve: only those who know the text in FILE may read it"},
    {NULL, NULL, NULL, NULL}};

const struct cli_command cmd_history = {
    .name = "history",
    .summary = "print a job's event log",
    .syntax = {.command = "glint history",
               .summary = "Prints the history of a job: stages, tasks, retries, executors.",
               .help = "FILE is an event log written with --event-log; the job may still be "
                       "running, or may have been killed.",
               .arguments = "FILE",
               .arguments_min = 1,
               .arguments_max = 1,
               .own = history_options},
    .execute = show_history};
