/* glint history FILE: prints a job's history from its event log, or serves the page of the job; of
 * all jobs of a directory with --serve DIR. */
#include "engine/base/env.h"
#include "engine/base/text.h"
#include "engine/cli/cli.h"
#include "engine/cli/history_print.h"
#include "engine/cli/print.h"
#include "engine/cli/web.h"
#include "engine/web/web_api.h"
#include "engine/web/web_http.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void refresh_with_warning(struct history_jobs *j, uint32_t index)
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
        refresh_with_warning(j, j->next++);
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
        refresh_with_warning(j, i);
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

/* What the page asks for; logs that have changed are read again. */
static struct web_jobs history_web_jobs(struct history_jobs *j)
{
    return (struct web_jobs){
        .arg = j, .list = list_history_jobs, .find = find_history_job, .step = read_unread_logs};
}

/* Serves until a signal ends it. */
static void serve_history(const struct cli_line *line, struct glint_error *error)
{
    struct history_jobs *logs = history_jobs_open(env_real(), line->arguments[0], error);
    if (logs == NULL) return;
    const struct web_jobs jobs = history_web_jobs(logs);
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
