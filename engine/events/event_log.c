/* One function per event, which calls line_start and line_end. A line is built
 * in memory, so that the file contains it completely or not at all (except after a torn write). A
 * line that is too long, or for which there is no memory, is dropped and counted in
 * events_left_out.
 *
 *   OPEN -> FULL    [line_end: only job_end is written after this]
 *   any  -> BROKEN  [set_broken: nothing is written after this] */
#include "engine/events/event_log.h"

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/glint_context.h"
#include "engine/input/remote_url.h"
#include "engine/limits.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "engine/records/task.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define PENDING_BYTES              (64 * KIB)
#define FLUSH_NS                   SECOND_NS
#define WORDS_MAX                  128u /* of the command line, and the same number of options */
#define WORD_SIZE_MAX              512u /* bytes; longer ones are truncated */
#define NUMBERS_MAX                PLAN_NODES_MAX
#define RDD_BYTES_MAX              (2 * NAME_BYTES_MAX * 6 + 256) /* of its JSON */
#define ACCUMULATOR_TEXT_SHOWN_MAX 64u /* bytes of a text; longer ones are not logged */
#define COUNTERS_BYTES_MAX                                                                         \
    (COUNTERS_MAX * 2 * (NAME_BYTES_MAX * 6 + 32 + ACCUMULATOR_TEXT_SHOWN_MAX * 6))
/* A byte takes at most six bytes in JSON (\u0000). */
static_assert(2 * WORDS_MAX * (WORD_SIZE_MAX + 16) * 6 < EVENT_LOG_LINE_BYTES_MAX,
              "the command line and all options fit in one line");
static_assert(NUMBERS_MAX * 12 < EVENT_LOG_LINE_BYTES_MAX, "all stages of a plan fit in one line");
static_assert((EVENT_OPERATORS_MAX + 1) * WORD_SIZE_MAX * 6 + NUMBERS_MAX * 12 <
                  EVENT_LOG_LINE_BYTES_MAX,
              "the operators of a stage and its parents fit in one line");
static_assert(COUNTERS_BYTES_MAX < EVENT_LOG_LINE_BYTES_MAX,
              "all counters and accumulators fit in one line");
static_assert((EVENT_CACHED_RDDS_MAX + 1) * RDD_BYTES_MAX < EVENT_LOG_LINE_BYTES_MAX,
              "all RDDs that are shown fit in one line");

enum log_state { LOG_OPEN, LOG_FULL, LOG_BROKEN };

enum readers { FILE_ONLY = 1, SINK_ONLY = 2, BOTH = 3 }; /* of a line */

struct event_log {
    struct event_log_config config;
    struct event_sink sink; /* `line` NULL: none */
    struct env *env;
    enum log_state state;
    unsigned readers; /* of the line being built */
    int file;         /* -1: none */
    uint64_t start_ns, flushed_ns, status_ns;
    int64_t start_wall_ns; /* wall clock time at start_ns; later times are computed from the two,
                              since the wall clock may jump */
    struct json line;      /* being built */
    struct buffer pending; /* lines not written yet */
    uint64_t bytes;        /* written and pending */
    uint64_t left_out;     /* lines dropped */
    uint32_t reports;
};

/* ---- An event log that exists already is replaced; any other file is left alone. */

/* Returns the text after `name` and one or more of `characters`, or NULL if it does not match. */
static const char *skip_field(const char *text, const char *name, const char *characters)
{
    if (text == NULL || strncmp(text, name, strlen(name)) != 0) return NULL;
    size_t size = strspn(text + strlen(name), characters);
    return size > 0 ? text + strlen(name) + size : NULL;
}

/* Whether the text begins like the first line of every log (event_log_job_start). */
static bool starts_as_event_log(const char *text)
{
    text = skip_field(text, "{\"schema\":", "0123456789");
    text = skip_field(text, ",\"event\":\"job\",\"ms\":", "0123456789.");
    text = skip_field(text, ",\"time\":\"", "0123456789-:.TZ");
    text = skip_field(text, "\",\"id\":\"", "0123456789abcdef");
    return text != NULL && strncmp(text, "\",", 2) == 0;
}

/* Returns why the file may not be replaced, or NULL. */
static const char *why_not_replaceable(struct env *env, int file, const struct env_stat *stat)
{
    char text[128] = "";
    if (stat->kind != ENV_FILE) return "is not an event log";
    if (!stat->mine) return "belongs to another user";
    int64_t n = env_read_full(env, file, text, sizeof text - 1, 0);
    return n == 0 || starts_as_event_log(text) ? NULL : "is not an event log";
}

/* Removes an event log or empty file of this user; rejects anything else, so that a mistyped
 * --event-log never overwrites another file. Returns 0, or OUTPUT_EXISTS or OUTPUT_CREATE. */
static int remove_old(struct env *env, const char *path, struct glint_error *error)
{
    int file = env->open(env, ENV_CWD, path, ENV_READ_NOFOLLOW);
    if (file == -ENOENT) return 0;
    if (file < 0 && file != -ELOOP)
        return error_set_system(error, GLINT_E_OUTPUT_CREATE, file, "open", path);
    struct env_stat stat;
    int r = file >= 0 ? env->stat_open(env, file, &stat) : 0;
    const char *wrong = file == -ELOOP ? "is a symbolic link" : NULL;
    if (file >= 0 && r == 0) wrong = why_not_replaceable(env, file, &stat);
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
    if (config->path != NULL && remove_old(env, config->path, error) != 0) return NULL;
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
    log->config.sink = NULL;
    if (config->sink != NULL) log->sink = *config->sink;
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
static void set_broken(struct event_log *log, int error)
{
    char line[256];
    log->state = LOG_BROKEN;
    text_format(line, sizeof line, "warning: the event log is incomplete, writing it failed: %s",
                strerror(-error));
    if (log->config.note != NULL) log->config.note(log->config.note_arg, line);
}

static void write_pending(struct event_log *log)
{
    assert(log->state != LOG_BROKEN || log->pending.size == 0);
    int r = log->pending.size > 0
                ? env_write_all(log->env, log->file, log->pending.data, log->pending.size)
                : 0;
    log->pending.size = 0; /* also after an error: nothing is retried */
    log->flushed_ns = log->env->now_ns(log->env);
    if (r < 0) set_broken(log, r);
}

void event_log_close(struct event_log *log)
{
    if (log == NULL) return;
    if (log->state != LOG_BROKEN) write_pending(log);
    int r = log->file >= 0 ? log->env->close(log->env, log->file) : 0;
    if (r < 0 && log->state != LOG_BROKEN) set_broken(log, r);
    json_fini(&log->line);
    buffer_fini(&log->pending);
    mem_free(log);
}

void event_log_on_timer(struct event_log *log)
{
    if (log == NULL || log->state == LOG_BROKEN || log->pending.size == 0) return;
    if (log->env->now_ns(log->env) - log->flushed_ns >= FLUSH_NS) write_pending(log);
}

/* ---- Lines */

/* Writes a time twice: in ms since the log was opened, and as UTC. */
static void put_moment(struct event_log *log, const char *ms_name, const char *time_name,
                       uint64_t ns)
{
    char text[TEXT_NUMBER_MAX];
    uint64_t since = ns > log->start_ns ? ns - log->start_ns : 0; /* before the log was opened: 0 */
    json_ms(&log->line, ms_name, since);
    text_format_time(text, log->start_wall_ns + (int64_t)since);
    json_cstring(&log->line, time_name, text);
}

static bool has_sink(const struct event_log *log)
{
    return log->sink.line != NULL;
}

static bool has_file(const struct event_log *log)
{
    return log->file >= 0 && log->state != LOG_BROKEN;
}

/* Begins a line with the fields that all events have. NULL: it has no reader. */
static struct json *line_start(struct event_log *log, const char *event, enum readers readers)
{
    if (log == NULL) return NULL;
    log->readers = readers & ((has_file(log) ? FILE_ONLY : 0u) | (has_sink(log) ? SINK_ONLY : 0u));
    if (log->readers == 0) return NULL;
    struct json *j = &log->line;
    j->out.size = 0;
    j->failed = j->after_value = false;
    json_begin(j, NULL, '{');
    json_u64(j, "schema", EVENT_LOG_SCHEMA);
    json_cstring(j, "event", event);
    put_moment(log, "ms", "time", log->env->now_ns(log->env));
    return j;
}

/* Moves the finished line to `pending`, or drops it. */
static void line_append(struct event_log *log)
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
    if (log->pending.size >= PENDING_BYTES || now - log->flushed_ns >= FLUSH_NS) write_pending(log);
}

/* Stores a complete line. Reserves room for two more: "full" and "job_end". The line that did not
 * fit is overwritten by "full" and counted as dropped. */
static void line_store(struct event_log *log, bool last)
{
    uint64_t reserve = last ? 0 : 2 * EVENT_LOG_LINE_BYTES_MAX;
    if (log->state == LOG_OPEN &&
        log->bytes + log->line.out.size + reserve > log->config.bytes_max) {
        log->state = LOG_FULL;
        line_start(log, "full", FILE_ONLY);
        json_u64(&log->line, "bytes_max", log->config.bytes_max);
        json_end(&log->line, '}');
        line_append(log);
        log->left_out++;
    } else if (log->state == LOG_OPEN || last) {
        line_append(log);
    } else {
        log->left_out++;
    }
}

/* `last`: the log's last line. */
static void line_end(struct event_log *log, bool last)
{
    json_end(&log->line, '}');
    if ((log->readers & SINK_ONLY) != 0 && !log->line.failed)
        log->sink.line(log->sink.arg, log->line.out.data, log->line.out.size);
    if ((log->readers & FILE_ONLY) != 0) line_store(log, last);
}

/* ---- Counters and accumulators */

/* Values that are neither numbers nor short texts are not logged. */
static void put_accumulator(struct json *j, const char *name, const struct glint_cell *cell)
{
    const union glint_value *v = &cell->value;
    if (cell->type == GLINT_I64)
        json_i64(j, name, v->i64);
    else if (cell->type == GLINT_F64)
        json_f64(j, name, v->f64);
    else if (cell->type == GLINT_TEXT && v->bytes.size <= ACCUMULATOR_TEXT_SHOWN_MAX)
        json_text(j, name, v->bytes.data, v->bytes.size);
}

static void put_task_accumulators(struct json *j, struct glint_slice counters)
{
    struct unpacker u = unpack_begin(counters);
    struct counter_entry e;
    json_begin(j, "accumulators", '{');
    while (u.next < u.count && counter_entry_unpack(&u, &e)) {
        struct glint_cell cell = {.type = e.type};
        if (e.is_accumulator && codec_decode(e.type, e.bytes, &cell.value))
            put_accumulator(j, e.name, &cell);
    }
    json_end(j, '}');
}

/* "counters", and "accumulators" if there are some, of a DONE message. Stops where they do not
 * parse: the driver fails such a result when it merges them. */
static void put_task_counters(struct json *j, struct glint_slice counters)
{
    struct unpacker u = unpack_begin(counters);
    struct counter_entry e;
    bool has_accumulators = false;
    json_begin(j, "counters", '{');
    while (u.next < u.count && counter_entry_unpack(&u, &e)) {
        has_accumulators = has_accumulators || e.is_accumulator;
        if (!e.is_accumulator) json_i64(j, e.name, e.value);
    }
    json_end(j, '}');
    if (has_accumulators) put_task_accumulators(j, counters);
}

static void put_accumulators(struct json *j, const struct glint_answer *list)
{
    if (list == NULL) return;
    json_begin(j, "accumulators", '{');
    for (const struct glint_answer *a = list; a != NULL; a = a->next)
        put_accumulator(j, a->name, &a->value);
    json_end(j, '}');
}

static void put_job_counters(struct json *j, const struct glint_summary *s)
{
    json_begin(j, "counters", '{');
    for (uint32_t i = 0; i < s->counter_count && i < COUNTERS_MAX; i++)
        json_i64(j, s->counter_names[i], s->counter_values[i]);
    json_end(j, '}');
    put_accumulators(j, s->accumulators);
}

/* ---- Events */

static void put_truncated(struct json *j, const char *name, const char *text)
{
    if (text != NULL)
        json_text(j, name, text, strnlen(text, WORD_SIZE_MAX));
    else
        json_cstring(j, name, NULL);
}

/* The values of URLs' queries may be signatures. */
static void put_word(struct json *j, const char *word)
{
    char shown[2 * PATH_MAX];
    put_truncated(j, NULL, remote_text_redact(word, shown, sizeof shown) ? shown : "***");
}

static void put_words(struct json *j, const char *name, const char *const *words, uint32_t count)
{
    json_begin(j, name, '[');
    for (uint32_t i = 0; i < count && i < WORDS_MAX; i++) put_word(j, words[i]);
    json_end(j, ']');
}

void event_log_job_start(struct event_log *log, const struct event_job *e)
{
    char id[TEXT_NUMBER_MAX];
    struct json *j = line_start(log, "job", BOTH);
    if (j == NULL) return;
    text_format(id, sizeof id, "%016llx", (unsigned long long)e->id);
    json_cstring(j, "id", id);
    json_cstring(j, "name", e->name);
    json_cstring(j, "version", e->version);
    json_cstring(j, "build", e->build);
    json_cstring(j, "master", e->master);
    put_words(j, "arguments", e->arguments, e->argument_count);
    json_u64(j, "argument_count", e->argument_count);
    json_begin(j, "options", '{');
    for (uint32_t i = 0; i < e->option_count && i < WORDS_MAX; i++)
        put_truncated(j, e->options[i].name, e->options[i].value);
    json_end(j, '}');
    json_begin(j, "origins", '{');
    for (uint32_t i = 0; i < e->option_count && i < WORDS_MAX; i++)
        json_cstring(j, e->options[i].name, e->options[i].origin);
    json_end(j, '}');
    line_end(log, false);
}

void event_log_executor_state(struct event_log *log, const struct event_executor *e)
{
    static const char *const states[] = {[EXECUTOR_STATE_JOINED] = "joined",
                                         [EXECUTOR_STATE_LOST] = "lost",
                                         [EXECUTOR_STATE_DRAINING] = "draining",
                                         [EXECUTOR_STATE_EXCLUDED] = "excluded"};
    struct json *j = line_start(log, "executor", BOTH);
    if (j == NULL) return;
    assert((size_t)e->state < sizeof states / sizeof states[0]);
    json_u64(j, "executor", e->executor);
    json_cstring(j, "state", states[e->state]);
    if (e->state == EXECUTOR_STATE_JOINED) {
        json_cstring(j, "name", e->name);
        json_cstring(j, "host", e->host);
        json_u64(j, "slots", e->slots);
    } else {
        json_error(j, "error", e->why);
    }
    line_end(log, false);
}

static void put_numbers(struct json *j, const char *name, const uint32_t *numbers, uint32_t count)
{
    assert(count <= NUMBERS_MAX);
    json_begin(j, name, '[');
    for (uint32_t i = 0; i < count; i++) json_u64(j, NULL, numbers[i]);
    json_end(j, ']');
}

void event_log_action_start(struct event_log *log, const struct event_action *e)
{
    struct json *j = line_start(log, "action", BOTH);
    if (j == NULL) return;
    json_u64(j, "action", e->action);
    json_cstring(j, "name", e->name);
    json_cstring(j, "output", e->output_count > 0 ? e->outputs[0] : NULL);
    json_begin(j, "outputs", '[');
    for (uint32_t i = 0; i < e->output_count; i++) json_cstring(j, NULL, e->outputs[i]);
    json_end(j, ']');
    put_numbers(j, "skipped", e->skipped, e->skipped_count);
    line_end(log, false);
}

void event_log_action_end(struct event_log *log, uint32_t action, const struct glint_error *why,
                          const struct glint_answer *accumulators)
{
    struct json *j = line_start(log, "action_end", BOTH);
    if (j == NULL) return;
    json_u64(j, "action", action);
    json_error(j, "error", why);
    put_accumulators(j, accumulators);
    line_end(log, false);
}

void event_log_stage_start(struct event_log *log, const struct event_stage *e)
{
    struct json *j = line_start(log, "stage", BOTH);
    if (j == NULL) return;
    json_u64(j, "stage", e->stage);
    json_u64(j, "action", e->action);
    json_cstring(j, "name", e->name);
    json_u64(j, "tasks", e->tasks);
    put_numbers(j, "parents", e->parents, e->parent_count);
    json_begin(j, "operators", '[');
    for (uint32_t i = 0; i < e->operators_shown && i < EVENT_OPERATORS_MAX; i++)
        put_truncated(j, NULL, e->operators[i]);
    json_end(j, ']');
    json_u64(j, "operator_count", e->operator_count);
    line_end(log, false);
}

void event_log_stage_end(struct event_log *log, uint32_t stage, const struct glint_error *why)
{
    struct json *j = line_start(log, "stage_end", BOTH);
    if (j == NULL) return;
    json_u64(j, "stage", stage);
    json_error(j, "error", why);
    line_end(log, false);
}

static double ms_since_start(const struct event_log *log, uint64_t ns)
{
    return ns > log->start_ns ? (double)((ns - log->start_ns) / 1000) / 1000.0 : 0;
}

static void put_run_ms(struct json *j, const struct event_task *e)
{
    if (e->outcome == OUTCOME_EXECUTOR_LOST)
        json_cstring(j, "run_ms", NULL);
    else
        json_ms(j, "run_ms", e->run_ns);
}

void event_log_task_end(struct event_log *log, const struct event_task *e)
{
    static const char *const outcomes[] = {[OUTCOME_DONE] = "done",
                                           [OUTCOME_FAILED] = "failed",
                                           [OUTCOME_KILLED] = "killed",
                                           [OUTCOME_EXECUTOR_LOST] = "executor lost"};
    if (log == NULL) return;
    if (has_sink(log))
        log->sink.task(log->sink.arg, e, ms_since_start(log, e->start_ns),
                       ms_since_start(log, e->end_ns));
    struct json *j = line_start(log, "task", FILE_ONLY);
    if (j == NULL) return;
    assert((size_t)e->outcome < sizeof outcomes / sizeof outcomes[0]);
    assert(e->start_ns <= e->end_ns);
    json_u64(j, "stage", e->stage);
    json_u64(j, "task", e->task);
    json_u64(j, "partition", e->partition);
    json_u64(j, "attempt", e->attempt);
    json_u64(j, "executor", e->executor);
    json_bool(j, "speculative", e->speculative);
    put_moment(log, "start_ms", "start", e->start_ns);
    put_moment(log, "end_ms", "end", e->end_ns);
    put_run_ms(j, e);
    json_cstring(j, "outcome", outcomes[e->outcome]);
    json_error(j, "error", e->outcome == OUTCOME_DONE ? NULL : e->why);
    put_task_counters(j, e->counters);
    line_end(log, false);
}

void event_log_retry(struct event_log *log, const struct event_retry *e)
{
    struct json *j = line_start(log, "retry", BOTH);
    if (j == NULL) return;
    json_u64(j, "stage", e->stage);
    json_u64(j, "task", e->task);
    json_u64(j, "attempt", e->attempt);
    json_u64(j, "executor", e->executor);
    json_error(j, "error", e->why);
    line_end(log, false);
}

void event_log_output_published(struct event_log *log, const char *path)
{
    struct json *j = line_start(log, "output", BOTH);
    if (j == NULL) return;
    json_cstring(j, "path", path);
    line_end(log, false);
}

void event_log_note(struct event_log *log, const char *line)
{
    struct json *j = line_start(log, "note", BOTH);
    if (j == NULL) return;
    put_truncated(j, "text", line);
    line_end(log, false);
}

static void put_cell(struct json *j, const char *name, const struct glint_cell *cell)
{
    const struct glint_slice text = cell->value.bytes;
    if (cell->type == GLINT_I64)
        json_i64(j, name, cell->value.i64);
    else if (cell->type == GLINT_F64)
        json_f64(j, name, cell->value.f64);
    else
        json_text(j, name, (const char *)text.data,
                  text.size < WORD_SIZE_MAX ? text.size : WORD_SIZE_MAX);
}

void event_log_report(struct event_log *log, const char *name, const struct glint_field *fields,
                      uint32_t count)
{
    if (log == NULL || log->reports == GLINT_REPORTS_MAX) return;
    struct json *j = line_start(log, "report", BOTH);
    if (j == NULL) return;
    log->reports++;
    json_cstring(j, "name", name);
    json_begin(j, "fields", '{');
    for (uint32_t i = 0; i < count && i < GLINT_REPORT_FIELDS_MAX; i++)
        put_cell(j, fields[i].name, &fields[i].value);
    json_end(j, '}');
    line_end(log, false);
}

static void put_summary(struct json *j, const struct glint_summary *s)
{
    json_ms(j, "elapsed_ms", s->elapsed_ns);
    json_u64(j, "stages", s->stages);
    json_u64(j, "stages_skipped", s->stages_skipped);
    json_u64(j, "tasks", s->tasks);
    json_u64(j, "retries", s->retries);
    put_job_counters(j, s);
}

void event_log_job_end(struct event_log *log, const struct glint_error *why,
                       const struct glint_summary *summary)
{
    struct json *j = line_start(log, "job_end", BOTH);
    if (j == NULL) return;
    json_u64(j, "events_left_out", log->left_out);
    json_error(j, "error", why);
    if (summary != NULL) put_summary(j, summary);
    line_end(log, true);
    if (has_file(log)) write_pending(log); /* a crash from here on loses no event */
}

/* ---- What is now: running attempts, the health of executors, blocks of persisted RDDs */

bool event_log_status_is_due(const struct event_log *log)
{
    return log != NULL && has_sink(log) &&
           log->env->now_ns(log->env) - log->status_ns >= EVENT_STATUS_NS;
}

void event_log_status(struct event_log *log, const struct event_running *running, uint32_t count,
                      const struct event_health *health, uint32_t executors)
{
    struct json *j = line_start(log, "status", SINK_ONLY);
    if (j == NULL) return;
    log->status_ns = log->env->now_ns(log->env);
    assert(count <= EVENT_RUNNING_MAX);
    json_begin(j, "running", '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct event_running *e = &running[i];
        json_begin(j, NULL, '{');
        json_u64(j, "stage", e->stage);
        json_u64(j, "task", e->task);
        json_u64(j, "partition", e->partition);
        json_u64(j, "attempt", e->attempt);
        json_u64(j, "executor", e->executor);
        json_bool(j, "speculative", e->speculative);
        json_f64(j, "start_ms", ms_since_start(log, e->start_ns));
        json_end(j, '}');
    }
    json_end(j, ']');
    json_begin(j, "executors", '[');
    for (uint32_t i = 0; i < executors; i++) {
        const struct event_health *e = &health[i];
        const uint64_t age_ns =
            log->status_ns > e->received_ns ? log->status_ns - e->received_ns : 0;
        json_begin(j, NULL, '{');
        json_u64(j, "busy", e->busy);
        if (e->known) {
            json_ms(j, "age_ms", age_ns);
            json_u64(j, "memory", e->memory_bytes);
            json_u64(j, "memory_max", e->memory_max);
        }
        json_end(j, '}');
    }
    json_end(j, ']');
    line_end(log, false);
}

static void put_cached_rdd(struct json *j, const struct event_cached_rdd *e)
{
    assert(e->blocks <= e->partitions);
    json_begin(j, NULL, '{');
    json_u64(j, "rdd", e->rdd);
    json_cstring(j, "name", e->name);
    json_cstring(j, "level", e->level);
    json_u64(j, "partitions", e->partitions);
    json_u64(j, "blocks", e->blocks);
    json_u64(j, "memory_bytes", e->memory_bytes);
    json_u64(j, "disk_bytes", e->disk_bytes);
    json_end(j, '}');
}

void event_log_storage(struct event_log *log, const struct event_storage *e)
{
    struct json *j = line_start(log, "storage", e->sink_only ? SINK_ONLY : BOTH);
    if (j == NULL) return;
    assert(e->shown <= EVENT_CACHED_RDDS_MAX && e->shown <= e->count);
    json_begin(j, "rdds", '[');
    for (uint32_t i = 0; i < e->shown; i++) put_cached_rdd(j, &e->rdds[i]);
    json_end(j, ']');
    json_u64(j, "rdd_count", e->count);
    line_end(log, false);
}
