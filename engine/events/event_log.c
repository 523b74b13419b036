/* A line is built in memory, so that the file contains it completely or not at all (except after a
 * torn write). A line that is too long, or for which there is no memory, is dropped and counted.
 *
 *   OPEN -> FULL    [store_event_line: only the last line is written after this]
 *   any  -> BROKEN  [on_event_log_write_error: nothing is written after this] */
#include "engine/events/event_log.h"

#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define PENDING_BYTES (64 * KIB)
#define FLUSH_NS      SECOND_NS

const char *const event_outcome_names[] = {[OUTCOME_DONE] = "done",
                                           [OUTCOME_FAILED] = "failed",
                                           [OUTCOME_KILLED] = "killed",
                                           [OUTCOME_EXECUTOR_LOST] = "executor lost"};

enum log_state { LOG_OPEN, LOG_FULL, LOG_BROKEN };

struct event_log {
    struct event_log_config config;
    struct env *env;
    enum log_state state;
    unsigned kind; /* of the line being built */
    int file;      /* -1: none */
    uint64_t start_ns, flushed_ns;
    int64_t start_wall_ns; /* wall clock time at start_ns; later times are computed from the two,
                              since the wall clock may jump */
    struct json line;      /* being built */
    struct buffer pending; /* lines not written yet */
    uint64_t bytes;        /* written and pending */
    uint64_t left_out;     /* lines dropped */
};

/* ---- An event log that exists already is replaced; any other file is left alone. */

/* Returns the text after `name` and one or more of `characters`, or NULL if it does not match. */
static const char *skip_json_field(const char *text, const char *name, const char *characters)
{
    if (text == NULL || strncmp(text, name, strlen(name)) != 0) return NULL;
    size_t size = strspn(text + strlen(name), characters);
    return size > 0 ? text + strlen(name) + size : NULL;
}

/* Whether the text begins like the first line of every log (driver/event_log_listener.c). */
static bool starts_as_event_log(const char *text)
{
    text = skip_json_field(text, "{\"schema\":", "0123456789");
    text = skip_json_field(text, ",\"event\":\"job\",\"ms\":", "0123456789.");
    text = skip_json_field(text, ",\"time\":\"", "0123456789-:.TZ");
    text = skip_json_field(text, "\",\"id\":\"", "0123456789abcdef");
    return text != NULL && strncmp(text, "\",", 2) == 0;
}

/* Returns why the file may not be replaced, or NULL. */
static const char *reason_not_replaceable(struct env *env, int file, const struct env_stat *stat)
{
    char text[128] = "";
    if (stat->kind != ENV_FILE) return "is not an event log";
    if (!stat->mine) return "belongs to another user";
    int64_t n = env_read_full(env, file, text, sizeof text - 1, 0);
    return n == 0 || starts_as_event_log(text) ? NULL : "is not an event log";
}

/* Removes an event log or empty file of this user; rejects anything else, so that a mistyped
 * --event-log never overwrites another file. Returns 0, or OUTPUT_EXISTS or OUTPUT_CREATE. */
static int remove_old_event_log(struct env *env, const char *path, struct glint_error *error)
{
    int file = env->open(env, ENV_CWD, path, ENV_READ_NOFOLLOW);
    if (file == -ENOENT) return 0;
    if (file < 0 && file != -ELOOP)
        return error_set_system(error, GLINT_E_OUTPUT_CREATE, file, "open", path);
    struct env_stat stat;
    int r = file >= 0 ? env->stat_open(env, file, &stat) : 0;
    const char *wrong = file == -ELOOP ? "is a symbolic link" : NULL;
    if (file >= 0 && r == 0) wrong = reason_not_replaceable(env, file, &stat);
    if (file >= 0) env->close(env, file);
    if (r != 0) return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "stat", path);
    if (wrong != NULL)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name another file, or remove it",
                         "%s exists and %s", path, wrong);
    r = env->remove(env, ENV_CWD, path, false);
    return r == 0 ? 0 : error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "replace", path);
}

/* ---- The file */

struct event_log *event_log_open(const struct event_log_config *config, struct glint_error *error)
{
    struct env *env = config->env;
    assert(config->path != NULL || config->sink != NULL);
    if (config->path != NULL && remove_old_event_log(env, config->path, error) != 0) return NULL;
    struct event_log *log = mem_zalloc(sizeof *log);
    if (log == NULL || !buffer_reserve(&log->pending, PENDING_BYTES)) {
        mem_free(log);
        error_no_memory(error);
        return NULL;
    }
    log->config = *config;
    if (log->config.bytes_max == 0) log->config.bytes_max = EVENT_LOG_BYTES_MAX;
    assert(log->config.bytes_max >= EVENT_LOG_BYTES_MIN);
    log->config.path = NULL; /* borrowed until here */
    log->env = env;
    /* Exclusive: fails if another process created the file after that. */
    log->file = config->path != NULL ? env->open(env, ENV_CWD, config->path, ENV_CREATE) : -1;
    if (config->path != NULL && log->file < 0) {
        error_set_system(error, GLINT_E_OUTPUT_CREATE, log->file, "create", config->path);
        buffer_fini(&log->pending);
        mem_free(log);
        return NULL;
    }
    log->start_ns = log->flushed_ns = env->now_ns(env);
    log->start_wall_ns = env->wall_ns(env);
    return log;
}

/* Warns once. The log is a by-product, so the job goes on. */
static void on_event_log_write_error(struct event_log *log, int error)
{
    char line[256];
    log->state = LOG_BROKEN;
    text_format(line, sizeof line, "warning: the event log is incomplete, writing it failed: %s",
                strerror(-error));
    if (log->config.note != NULL) log->config.note(log->config.note_arg, line);
}

static void write_pending_lines(struct event_log *log)
{
    assert(log->state != LOG_BROKEN || log->pending.size == 0);
    int r = log->pending.size > 0
                ? env_write_all(log->env, log->file, log->pending.data, log->pending.size)
                : 0;
    log->pending.size = 0; /* also after an error: nothing is retried */
    log->flushed_ns = log->env->now_ns(log->env);
    if (r < 0) on_event_log_write_error(log, r);
}

void event_log_close(struct event_log *log)
{
    if (log == NULL) return;
    if (log->state != LOG_BROKEN) write_pending_lines(log);
    int r = log->file >= 0 ? log->env->close(log->env, log->file) : 0;
    if (r < 0 && log->state != LOG_BROKEN) on_event_log_write_error(log, r);
    json_fini(&log->line);
    buffer_fini(&log->pending);
    mem_free(log);
}

void event_log_on_timer(struct event_log *log)
{
    if (log == NULL || log->state == LOG_BROKEN || log->pending.size == 0) return;
    if (log->env->now_ns(log->env) - log->flushed_ns >= FLUSH_NS) write_pending_lines(log);
}

/* ---- Lines */

static uint64_t event_log_elapsed_ns(const struct event_log *log, uint64_t ns)
{
    return ns > log->start_ns ? ns - log->start_ns : 0; /* before the log was opened: 0 */
}

double event_log_ms(const struct event_log *log, uint64_t ns)
{
    return (double)(event_log_elapsed_ns(log, ns) / 1000) / 1000.0;
}

void event_log_put_time(struct event_log *log, const char *ms_name, const char *time_name,
                        uint64_t ns)
{
    char text[TEXT_NUMBER_MAX];
    const uint64_t since = event_log_elapsed_ns(log, ns);
    json_ms(&log->line, ms_name, since);
    text_format_time(text, log->start_wall_ns + (int64_t)since);
    json_cstring(&log->line, time_name, text);
}

struct json *event_log_line_start(struct event_log *log, const char *event, unsigned kind)
{
    if (log == NULL) return NULL;
    if (log->file < 0 || log->state == LOG_BROKEN) kind &= ~(unsigned)EVENT_FOR_FILE;
    if (log->config.sink == NULL) kind &= ~(unsigned)EVENT_FOR_SINK;
    if ((kind & EVENT_FOR_ALL) == 0) return NULL;
    log->kind = kind;
    struct json *j = &log->line;
    j->out.size = 0;
    j->failed = j->after_value = false;
    json_begin(j, NULL, '{');
    json_u64(j, "schema", EVENT_LOG_SCHEMA);
    json_cstring(j, "event", event);
    event_log_put_time(log, "ms", "time", log->env->now_ns(log->env));
    if ((kind & EVENT_LAST) != 0) json_u64(j, "events_left_out", log->left_out);
    return j;
}

/* Moves the finished line to `pending`, or drops it. */
static void append_line_to_pending(struct event_log *log)
{
    struct buffer *line = &log->line.out;
    bool kept = !log->line.failed && buffer_append(line, "\n", 1) &&
                line->size <= EVENT_LOG_LINE_BYTES_MAX &&
                buffer_append(&log->pending, line->data, line->size);
    if (kept)
        log->bytes += line->size;
    else
        log->left_out++;
    uint64_t now = log->env->now_ns(log->env);
    if (log->pending.size >= PENDING_BYTES || now - log->flushed_ns >= FLUSH_NS)
        write_pending_lines(log);
}

/* Stores a complete line. Reserves room for two more: "full" and the last one. The line that did
 * not fit is overwritten by "full" and counted as dropped. */
static void store_event_line(struct event_log *log)
{
    const bool last = (log->kind & EVENT_LAST) != 0;
    uint64_t reserve = last ? 0 : 2 * EVENT_LOG_LINE_BYTES_MAX;
    if (log->state == LOG_OPEN &&
        log->bytes + log->line.out.size + reserve > log->config.bytes_max) {
        log->state = LOG_FULL;
        event_log_line_start(log, "full", EVENT_FOR_FILE);
        json_u64(&log->line, "bytes_max", log->config.bytes_max);
        json_end(&log->line, '}');
        append_line_to_pending(log);
        log->left_out++;
    } else if (log->state == LOG_OPEN || last) {
        append_line_to_pending(log);
    } else {
        log->left_out++;
    }
}

void event_log_line_end(struct event_log *log)
{
    const struct event_sink *sink = log->config.sink;
    const bool last = (log->kind & EVENT_LAST) != 0;
    json_end(&log->line, '}');
    if ((log->kind & EVENT_FOR_SINK) != 0 && !log->line.failed)
        sink->line(sink->arg, log->line.out.data, log->line.out.size);
    if ((log->kind & EVENT_FOR_FILE) == 0) return;
    store_event_line(log);
    if (last && log->state != LOG_BROKEN) write_pending_lines(log); /* a crash now loses no event */
}
