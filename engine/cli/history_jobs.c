/* A list of the logs with what the page lists of each, and the model of the log that was asked for
 * last: the others are read again when they are needed. */
#include "engine/cli/history_jobs.h"

#include "engine/base/text.h"
#include "engine/cli/history.h"
#include "engine/cli/print.h"
#include "engine/web/web_api.h"

#include <stdio.h>
#include <string.h>

#define LOGS_MAX 100000u

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
    uint64_t log_capacity;
    struct web_model model; /* of logs[loaded] */
    uint32_t loaded;        /* UINT32_MAX: none */
};

/* ---- Reading */

static int add_line(void *arg, json_t *o, struct glint_error *error)
{
    return web_model_add_event(arg, o, error);
}

static int read_model(struct history_jobs *j, uint32_t index, struct glint_error *error)
{
    struct web_model *m = &j->model;
    struct log_file *log = &j->logs[index];
    web_model_fini(m);
    j->loaded = UINT32_MAX;
    history_lines_init();
    web_model_init(m);
    int r = history_read_lines(j->env, log->path, add_line, m, &m->truncated_line, error);
    if (r == 0 && m->job == NULL)
        r = error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "%s:1: the log contains no job",
                      log->path);
    if (r == 0 && history_lines_out_of_memory()) r = error_no_memory(error);
    if (r == 0) j->loaded = index;
    return r;
}

static const char *text_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text != NULL ? text : "";
}

/* Reads a log whose size or time has changed, and what the page lists of it. */
static int refresh(struct history_jobs *j, uint32_t index, struct glint_error *error)
{
    struct log_file *log = &j->logs[index];
    struct env_stat st;
    struct json entry = {.failed = false};
    const char *name = strrchr(log->path, '/');
    if (j->env->stat(j->env, log->path, &st) != 0)
        st = (struct env_stat){.size = UINT64_MAX}; /* reading it says why */
    if (log->read && st.size == log->size && st.mtime_ns == log->mtime_ns) return 0;
    int r = read_model(j, index, error);
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
    text_format(log->id, sizeof log->id, "%s", text_of(j->model.job, "id"));
    text_format(log->time, sizeof log->time, "%s", text_of(j->model.job, "time"));
    return 0;
}

static int add_log(void *arg, const char *name)
{
    struct history_jobs *j = arg;
    char *path = NULL;
    struct buffer text = {NULL, 0, 0};
    for (uint32_t i = 0; i < j->log_count; i++)
        if (strcmp(j->logs[i].path + strlen(j->path) + 1, name) == 0) return 0;
    if (name[0] == '.' || j->log_count == LOGS_MAX) return 0;
    if (buffer_append(&text, j->path, strlen(j->path)) && buffer_append(&text, "/", 1) &&
        buffer_append(&text, name, strlen(name) + 1))
        path = (char *)text.data;
    if (path == NULL || !array_reserve(&j->logs, &j->log_capacity, j->log_count + 1,
                                       sizeof *j->logs)) {
        buffer_fini(&text);
        return -1;
    }
    j->logs[j->log_count++] = (struct log_file){.path = path};
    return 0;
}

/* Adds new files of a directory, and reads what has changed. */
static void refresh_all(struct history_jobs *j)
{
    if (j->directory) env_list_dir(j->env, j->path, add_log, j);
    for (uint32_t i = 0; i < j->log_count; i++) {
        struct glint_error error = {.code = GLINT_OK};
        const bool was_read = j->logs[i].read;
        /* A file whose first line is another's is not an event log, and is ignored. */
        if (refresh(j, i, &error) == 0 || was_read || j->model.job == NULL) continue;
        fprintf(stderr, "warning: ");
        print_escaped(stderr, error.cause, "");
        fputc('\n', stderr);
    }
}

struct history_jobs *history_jobs_open(struct env *env, const char *path,
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
    history_lines_init();
    web_model_init(&j->model);
    j->directory = env->stat(env, path, &st) == 0 && st.kind == ENV_DIRECTORY;
    int r = 0;
    if (j->directory) {
        r = env_list_dir(env, path, add_log, j);
        if (r != 0) error_set_system(error, GLINT_E_INPUT_IO, r, "list", path);
    } else if (array_reserve(&j->logs, &j->log_capacity, 1, sizeof *j->logs) &&
               (copy = mem_strdup(path)) != NULL) {
        j->logs[j->log_count++] = (struct log_file){.path = copy};
        r = refresh(j, 0, error);
    } else {
        r = error_no_memory(error);
    }
    if (r == 0) return j;
    history_jobs_close(j);
    return NULL;
}

void history_jobs_close(struct history_jobs *j)
{
    if (j == NULL) return;
    for (uint32_t i = 0; i < j->log_count; i++) {
        mem_free(j->logs[i].path);
        buffer_fini(&j->logs[i].entry);
    }
    web_model_fini(&j->model);
    mem_free(j->logs);
    mem_free(j->path);
    mem_free(j);
}

/* ---- For the server */

static void list_jobs(void *arg, struct json *out)
{
    struct history_jobs *j = arg;
    refresh_all(j);
    for (uint32_t i = 0; i < j->log_count; i++)
        if (j->logs[i].id[0] != '\0')
            json_raw(out, NULL, j->logs[i].entry.data, j->logs[i].entry.size);
}

/* `again`: all logs have been read just now. */
static const struct web_model *find_job_or_read(struct history_jobs *j, const char *id, bool again)
{
    struct glint_error ignored = {.code = GLINT_OK};
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < j->log_count; i++) {
        const bool newer = id == NULL && (found == UINT32_MAX ||
                                          strcmp(j->logs[i].time, j->logs[found].time) > 0);
        if (j->logs[i].id[0] != '\0' && (newer || (id != NULL && strcmp(j->logs[i].id, id) == 0)))
            found = i;
    }
    if (found == UINT32_MAX && !again) {
        refresh_all(j);
        return find_job_or_read(j, id, true);
    }
    if (found == UINT32_MAX) return NULL;
    if (refresh(j, found, &ignored) != 0) return NULL;
    if (j->loaded != found && read_model(j, found, &ignored) != 0) return NULL;
    return &j->model;
}

static const struct web_model *find_job(void *arg, const char *id)
{
    return find_job_or_read(arg, id, false);
}

struct web_jobs history_jobs_as_web(struct history_jobs *j)
{
    return (struct web_jobs){.arg = j, .list = list_jobs, .find = find_job};
}
