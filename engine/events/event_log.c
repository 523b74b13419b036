/* One function per event, which calls event_log_line_start and event_log_line_end. A line is built
 * in memory, so that the file contains it completely or not at all (except after a torn write). A
 * line that is too long, or for which there is no memory, is dropped and counted in
 * events_left_out.
 *
 *   OPEN -> FULL    [event_log_line_end: only job_end is written after this]
 *   any  -> BROKEN  [set_broken: nothing is written after this] */
#include "engine/events/event_log.h"

#include "engine/base/text.h"
#include "engine/events/event_log_counters.h"
#include "engine/events/event_log_internal.h"
#include "engine/input/remote_url.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define PENDING_BYTES (64 * KIB)
#define FLUSH_NS      SECOND_NS
#define WORDS_MAX     128u /* of the command line, and the same number of options */
#define WORD_SIZE_MAX 512u /* bytes; longer ones are truncated */
#define NUMBERS_MAX   PLAN_NODES_MAX
/* A byte takes at most six bytes in JSON (\u0000). */
static_assert(2 * WORDS_MAX * (WORD_SIZE_MAX + 16) * 6 < EVENT_LOG_LINE_BYTES_MAX,
              "the command line and all options fit in one line");
static_assert(NUMBERS_MAX * 12 < EVENT_LOG_LINE_BYTES_MAX, "all stages of a plan fit in one line");
static_assert((EVENT_OPERATORS_MAX + 1) * WORD_SIZE_MAX * 6 + NUMBERS_MAX * 12 <
                  EVENT_LOG_LINE_BYTES_MAX,
              "the operators of a stage and its parents fit in one line");
static_assert(EVENT_COUNTERS_BYTES_MAX < EVENT_LOG_LINE_BYTES_MAX,
              "all counters and accumulators fit in one line");

/* ---- The file */

struct event_log *event_log_open(const struct event_log_config *config, struct glint_error *error)
{
    struct env *env = config->env;
    assert(config->path != NULL || config->sink != NULL);
    if (config->path != NULL && event_log_remove_old(env, config->path, error) != 0) return NULL;
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

static bool has_file(const struct event_log *log)
{
    return log->file >= 0 && log->state != LOG_BROKEN;
}

bool event_log_has_sink(const struct event_log *log)
{
    return log->sink.line != NULL;
}

bool event_log_line_start(struct event_log *log, const char *event)
{
    if (log == NULL || (!has_file(log) && !event_log_has_sink(log))) return false;
    log->line.out.size = 0;
    log->line.failed = log->line.after_value = false;
    json_begin(&log->line, NULL, '{');
    json_u64(&log->line, "schema", EVENT_LOG_SCHEMA);
    json_cstring(&log->line, "event", event);
    put_moment(log, "ms", "time", log->env->now_ns(log->env));
    return true;
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
    if (!has_file(log)) return;
    if (log->state == LOG_OPEN &&
        log->bytes + log->line.out.size + reserve > log->config.bytes_max) {
        log->state = LOG_FULL;
        event_log_line_start(log, "full");
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

void event_log_line_to_sink(struct event_log *log)
{
    json_end(&log->line, '}');
    if (!log->line.failed && event_log_has_sink(log))
        log->sink.line(log->sink.arg, log->line.out.data, log->line.out.size);
}

void event_log_line_end(struct event_log *log, bool last)
{
    event_log_line_to_sink(log);
    line_store(log, last);
}

/* ---- Events */

static void put_truncated(struct event_log *log, const char *name, const char *text)
{
    if (text != NULL)
        json_text(&log->line, name, text, strnlen(text, WORD_SIZE_MAX));
    else
        json_cstring(&log->line, name, NULL);
}

/* The values of URLs' queries may be signatures. */
static void put_word(struct event_log *log, const char *word)
{
    char shown[2 * PATH_MAX];
    put_truncated(log, NULL, remote_text_redact(word, shown, sizeof shown) ? shown : "***");
}

static void put_words(struct event_log *log, const char *name, const char *const *words,
                      uint32_t count)
{
    struct json *j = &log->line;
    json_begin(j, name, '[');
    for (uint32_t i = 0; i < count && i < WORDS_MAX; i++) put_word(log, words[i]);
    json_end(j, ']');
}

void event_log_job_start(struct event_log *log, const struct event_job *e)
{
    char id[TEXT_NUMBER_MAX];
    if (!event_log_line_start(log, "job")) return;
    text_format(id, sizeof id, "%016llx", (unsigned long long)e->id);
    json_cstring(&log->line, "id", id);
    json_cstring(&log->line, "name", e->name);
    json_cstring(&log->line, "version", e->version);
    json_cstring(&log->line, "build", e->build);
    json_cstring(&log->line, "master", e->master);
    put_words(log, "arguments", e->arguments, e->argument_count);
    json_u64(&log->line, "argument_count", e->argument_count);
    json_begin(&log->line, "options", '{');
    for (uint32_t i = 0; i < e->option_count && i < WORDS_MAX; i++)
        put_truncated(log, e->options[i].name, e->options[i].value);
    json_end(&log->line, '}');
    json_begin(&log->line, "origins", '{');
    for (uint32_t i = 0; i < e->option_count && i < WORDS_MAX; i++)
        json_cstring(&log->line, e->options[i].name, e->options[i].origin);
    json_end(&log->line, '}');
    event_log_line_end(log, false);
}

void event_log_executor_state(struct event_log *log, const struct event_executor *e)
{
    static const char *const states[] = {[EXECUTOR_STATE_JOINED] = "joined",
                                         [EXECUTOR_STATE_LOST] = "lost",
                                         [EXECUTOR_STATE_DRAINING] = "draining",
                                         [EXECUTOR_STATE_EXCLUDED] = "excluded"};
    if (!event_log_line_start(log, "executor")) return;
    assert((size_t)e->state < sizeof states / sizeof states[0]);
    json_u64(&log->line, "executor", e->executor);
    json_cstring(&log->line, "state", states[e->state]);
    if (e->state == EXECUTOR_STATE_JOINED) {
        json_cstring(&log->line, "name", e->name);
        json_cstring(&log->line, "host", e->host);
        json_u64(&log->line, "slots", e->slots);
    } else {
        json_error(&log->line, "error", e->why);
    }
    event_log_line_end(log, false);
}

static void put_numbers(struct event_log *log, const char *name, const uint32_t *numbers,
                        uint32_t count)
{
    assert(count <= NUMBERS_MAX);
    json_begin(&log->line, name, '[');
    for (uint32_t i = 0; i < count; i++) json_u64(&log->line, NULL, numbers[i]);
    json_end(&log->line, ']');
}

void event_log_action_start(struct event_log *log, const struct event_action *e)
{
    if (!event_log_line_start(log, "action")) return;
    json_u64(&log->line, "action", e->action);
    json_cstring(&log->line, "name", e->name);
    json_cstring(&log->line, "output", e->output_count > 0 ? e->outputs[0] : NULL);
    json_begin(&log->line, "outputs", '[');
    for (uint32_t i = 0; i < e->output_count; i++) json_cstring(&log->line, NULL, e->outputs[i]);
    json_end(&log->line, ']');
    put_numbers(log, "skipped", e->skipped, e->skipped_count);
    event_log_line_end(log, false);
}

void event_log_action_end(struct event_log *log, uint32_t action, const struct glint_error *why,
                          const struct glint_answer *accumulators)
{
    if (!event_log_line_start(log, "action_end")) return;
    json_u64(&log->line, "action", action);
    json_error(&log->line, "error", why);
    event_log_put_accumulators(&log->line, accumulators);
    event_log_line_end(log, false);
}

void event_log_stage_start(struct event_log *log, const struct event_stage *e)
{
    if (!event_log_line_start(log, "stage")) return;
    json_u64(&log->line, "stage", e->stage);
    json_u64(&log->line, "action", e->action);
    json_cstring(&log->line, "name", e->name);
    json_u64(&log->line, "tasks", e->tasks);
    put_numbers(log, "parents", e->parents, e->parent_count);
    json_begin(&log->line, "operators", '[');
    for (uint32_t i = 0; i < e->operators_shown && i < EVENT_OPERATORS_MAX; i++)
        put_truncated(log, NULL, e->operators[i]);
    json_end(&log->line, ']');
    json_u64(&log->line, "operator_count", e->operator_count);
    event_log_line_end(log, false);
}

void event_log_stage_end(struct event_log *log, uint32_t stage, const struct glint_error *why)
{
    if (!event_log_line_start(log, "stage_end")) return;
    json_u64(&log->line, "stage", stage);
    json_error(&log->line, "error", why);
    event_log_line_end(log, false);
}

double event_log_ms_since_start(const struct event_log *log, uint64_t ns)
{
    return ns > log->start_ns ? (double)((ns - log->start_ns) / 1000) / 1000.0 : 0;
}

static void put_run_ms(struct event_log *log, const struct event_task *e)
{
    if (e->outcome == OUTCOME_EXECUTOR_LOST)
        json_cstring(&log->line, "run_ms", NULL);
    else
        json_ms(&log->line, "run_ms", e->run_ns);
}

void event_log_task_end(struct event_log *log, const struct event_task *e)
{
    static const char *const outcomes[] = {[OUTCOME_DONE] = "done",
                                           [OUTCOME_FAILED] = "failed",
                                           [OUTCOME_KILLED] = "killed",
                                           [OUTCOME_EXECUTOR_LOST] = "executor lost"};
    if (log == NULL) return;
    if (event_log_has_sink(log))
        log->sink.task(log->sink.arg, e, event_log_ms_since_start(log, e->start_ns),
                       event_log_ms_since_start(log, e->end_ns));
    if (!has_file(log) || !event_log_line_start(log, "task")) return;
    assert((size_t)e->outcome < sizeof outcomes / sizeof outcomes[0]);
    assert(e->start_ns <= e->end_ns);
    json_u64(&log->line, "stage", e->stage);
    json_u64(&log->line, "task", e->task);
    json_u64(&log->line, "partition", e->partition);
    json_u64(&log->line, "attempt", e->attempt);
    json_u64(&log->line, "executor", e->executor);
    json_bool(&log->line, "speculative", e->speculative);
    put_moment(log, "start_ms", "start", e->start_ns);
    put_moment(log, "end_ms", "end", e->end_ns);
    put_run_ms(log, e);
    json_cstring(&log->line, "outcome", outcomes[e->outcome]);
    json_error(&log->line, "error", e->outcome == OUTCOME_DONE ? NULL : e->why);
    event_log_put_task_counters(&log->line, e->counters);
    json_end(&log->line, '}');
    line_store(log, false);
}

void event_log_retry(struct event_log *log, const struct event_retry *e)
{
    if (!event_log_line_start(log, "retry")) return;
    json_u64(&log->line, "stage", e->stage);
    json_u64(&log->line, "task", e->task);
    json_u64(&log->line, "attempt", e->attempt);
    json_u64(&log->line, "executor", e->executor);
    json_error(&log->line, "error", e->why);
    event_log_line_end(log, false);
}

void event_log_output_published(struct event_log *log, const char *path)
{
    if (!event_log_line_start(log, "output")) return;
    json_cstring(&log->line, "path", path);
    event_log_line_end(log, false);
}

void event_log_note(struct event_log *log, const char *line)
{
    if (!event_log_line_start(log, "note")) return;
    put_truncated(log, "text", line);
    event_log_line_end(log, false);
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
    if (log == NULL || log->reports == GLINT_REPORTS_MAX || !event_log_line_start(log, "report"))
        return;
    log->reports++;
    json_cstring(&log->line, "name", name);
    json_begin(&log->line, "fields", '{');
    for (uint32_t i = 0; i < count && i < GLINT_REPORT_FIELDS_MAX; i++)
        put_cell(&log->line, fields[i].name, &fields[i].value);
    json_end(&log->line, '}');
    event_log_line_end(log, false);
}

static void put_summary(struct event_log *log, const struct glint_summary *s)
{
    struct json *j = &log->line;
    json_ms(j, "elapsed_ms", s->elapsed_ns);
    json_u64(&log->line, "stages", s->stages);
    json_u64(&log->line, "stages_skipped", s->stages_skipped);
    json_u64(&log->line, "tasks", s->tasks);
    json_u64(&log->line, "retries", s->retries);
    event_log_put_job_counters(j, s);
}

void event_log_job_end(struct event_log *log, const struct glint_error *why,
                       const struct glint_summary *summary)
{
    if (!event_log_line_start(log, "job_end")) return;
    json_u64(&log->line, "events_left_out", log->left_out);
    json_error(&log->line, "error", why);
    if (summary != NULL) put_summary(log, summary);
    event_log_line_end(log, true);
    if (has_file(log)) write_pending(log); /* a crash from here on loses no event */
}
