/* One function per event. Stage numbers of the action become those of the job; messages and the
 * scheduler's state become outcomes. */
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"
#include "engine/input/remote_url.h"
#include "engine/net/cluster.h"
#include "engine/net/hello.h"
#include "engine/plan/stage_plan.h"
#include "engine/records/codec.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define WORDS_MAX                  128u /* of the command line */
#define WORD_SIZE_MAX              512u /* bytes; longer ones are truncated */
#define ACCUMULATOR_TEXT_SHOWN_MAX 64u  /* bytes of a text; longer ones are not logged */
#define RUNNING_MAX                1024u
#define CACHED_RDDS_MAX            256u
#define STATUS_NS                  (200 * MS_NS)
#define RDD_BYTES_MAX              (2 * NAME_BYTES_MAX * 6 + 256) /* of its JSON */
#define COUNTERS_BYTES_MAX                                                                         \
    (COUNTERS_MAX * 2 * (NAME_BYTES_MAX * 6 + 32 + ACCUMULATOR_TEXT_SHOWN_MAX * 6))
/* A byte takes at most six bytes in JSON (\u0000). */
static_assert(2 * WORDS_MAX * WORD_SIZE_MAX * 6 < EVENT_LOG_LINE_BYTES_MAX,
              "the command line and all options fit in one line");
static_assert(PLAN_NODES_MAX * 12 < EVENT_LOG_LINE_BYTES_MAX,
              "all stages of a plan fit in one line");
static_assert((EVENT_OPERATORS_MAX + 1) * WORD_SIZE_MAX * 6 + PLAN_NODES_MAX * 12 <
                  EVENT_LOG_LINE_BYTES_MAX,
              "the operators of a stage and its parents fit in one line");
static_assert(COUNTERS_BYTES_MAX < EVENT_LOG_LINE_BYTES_MAX,
              "all counters and accumulators fit in one line");
static_assert((CACHED_RDDS_MAX + 1) * RDD_BYTES_MAX < EVENT_LOG_LINE_BYTES_MAX,
              "all RDDs that are shown fit in one line");

/* NULL: it has no reader, or there is no log. */
static struct json *begin_event_line(struct driver *d, const char *event)
{
    return event_log_line_start(d->log, event, EVENT_FOR_ALL);
}

static uint32_t job_stage_number(const struct action_run *a, uint32_t stage)
{
    assert(stage < a->stage_count);
    return a->stages[stage].number;
}

static void put_truncated_text(struct json *j, const char *name, const char *text)
{
    json_text(j, name, text, strnlen(text, WORD_SIZE_MAX));
}

/* ---- Notes and reports of the job */

/* Replaces the context's note function while the log is open. */
static void log_and_pass_note(void *arg, const char *line)
{
    struct driver *d = arg;
    struct json *j = begin_event_line(d, "note");
    if (j != NULL) {
        put_truncated_text(j, "text", line);
        event_log_line_end(d->log);
    }
    if (d->note != NULL) d->note(d->note_arg, line);
}

static void put_cell_value(struct json *j, const char *name, const struct glint_cell *cell)
{
    const struct glint_slice text = cell->value.bytes;
    if (cell->type == GLINT_I64)
        json_i64(j, name, cell->value.i64);
    else if (cell->type == GLINT_F64)
        json_f64(j, name, cell->value.f64);
    else
        json_text(j, name, text.data, text.size < WORD_SIZE_MAX ? text.size : WORD_SIZE_MAX);
}

static void log_user_report(void *arg, const char *name, const struct glint_field *fields,
                            uint32_t count)
{
    struct driver *d = arg;
    if (d->reports_logged == GLINT_REPORTS_MAX) return;
    struct json *j = begin_event_line(d, "report");
    if (j == NULL) return;
    d->reports_logged++;
    json_cstring(j, "name", name);
    json_begin(j, "fields", '{');
    for (uint32_t i = 0; i < count && i < GLINT_REPORT_FIELDS_MAX; i++)
        put_cell_value(j, fields[i].name, &fields[i].value);
    json_end(j, '}');
    event_log_line_end(d->log);
}

/* ---- The start of the job */

/* The values of URLs' queries may be signatures. */
static void put_redacted_word(struct json *j, const char *word)
{
    char shown[2 * PATH_MAX];
    put_truncated_text(j, NULL, remote_text_redact(word, shown, sizeof shown) ? shown : "***");
}

/* The options in effect, whether they come from the command line, the environment or a file. A
 * value NULL: not set. */
static void put_job_options(struct json *j, const struct context_config *c)
{
    static const char *const compressions[OUTPUT_COMPRESSIONS] = {
        [OUTPUT_UNCOMPRESSED] = "none", [OUTPUT_GZIP] = "gzip", [OUTPUT_ZSTD] = "zstd"};
    char memory[TEXT_NUMBER_MAX], split[TEXT_NUMBER_MAX];
    char partitions[TEXT_NUMBER_MAX], timeout[TEXT_NUMBER_MAX];
    text_format(memory, sizeof memory, "%llu", (unsigned long long)c->memory_bytes);
    text_format(split, sizeof split, "%llu", (unsigned long long)c->split_bytes);
    text_format(partitions, sizeof partitions, "%u", c->partitions);
    text_format(timeout, sizeof timeout, "%llums", (unsigned long long)(c->timeout_ns / MS_NS));
    const char *const options[][2] = {
        {"memory", c->cluster == NULL ? memory : NULL},
        {"split-size", c->split_bytes > 0 ? split : NULL},
        {"partitions", c->partitions > 0 ? partitions : NULL},
        {"timeout", c->timeout_ns > 0 ? timeout : NULL},
        {"bad-rows", c->skip_bad_rows ? "skip" : "fail"},
        {"overwrite", c->overwrite ? "true" : "false"},
        {"compress", compressions[c->compress]},
        {"no-sync", c->no_sync ? "true" : "false"},
        {"speculate", c->cluster != NULL && c->cluster->speculate ? "true" : "false"}};
    const size_t count = sizeof options / sizeof options[0];
    json_begin(j, "options", '{');
    for (size_t i = 0; i < count; i++) json_cstring(j, options[i][0], options[i][1]);
    json_end(j, '}');
    json_begin(j, "origins", '{');
    for (size_t i = 0; i < count; i++)
        json_cstring(j, options[i][0],
                     c->option_origin != NULL ? c->option_origin(c->option_arg, options[i][0])
                                              : NULL);
    json_end(j, '}');
}

static void log_job_start(struct driver *d)
{
    const struct context_config *c = &d->g->config;
    char master[NAME_BYTES_MAX];
    struct json *j = begin_event_line(d, "job");
    if (j == NULL) return;
    text_format(master, sizeof master, "local[%u]", c->slots);
    json_id(j, "id", d->g->job_id);
    json_cstring(j, "name", c->job_name != NULL ? c->job_name : "job");
    json_cstring(j, "version", GLINT_VERSION);
    json_cstring(j, "build", build_id());
    json_cstring(j, "master", c->cluster != NULL ? c->cluster->name : master);
    json_begin(j, "arguments", '[');
    for (uint32_t i = 0; i < c->argument_count && i < WORDS_MAX; i++)
        put_redacted_word(j, c->arguments[i]);
    json_end(j, ']');
    json_u64(j, "argument_count", c->argument_count);
    put_job_options(j, c);
    event_log_line_end(d->log);
}

int event_log_listener_open(struct driver *d)
{
    struct context_config *c = &d->g->config;
    if ((c->event_log == NULL && c->event_sink == NULL) || c->explain)
        return 0; /* explain runs no job */
    const struct event_log_config config = {.env = d->env,
                                            .path = c->event_log,
                                            .sink = c->event_sink,
                                            .note = c->note,
                                            .note_arg = c->note_arg};
    d->log = event_log_open(&config, driver_error(d));
    if (d->log == NULL) return driver_error(d)->code;
    /* The log's own warnings go to the user only: config.note is the original function. */
    d->note = c->note;
    d->note_arg = c->note_arg;
    c->note = log_and_pass_note;
    c->note_arg = d;
    c->report = log_user_report;
    c->report_arg = d;
    log_job_start(d);
    return 0;
}

void event_log_listener_close(struct driver *d)
{
    if (d->log == NULL) return;
    event_log_close(d->log);
    d->g->config.note = d->note;
    d->g->config.note_arg = d->note_arg;
    d->g->config.report = NULL;
    d->log = NULL;
}

/* ---- Executors, and what is now */

void event_log_listener_on_executor_state(struct driver *d, uint32_t executor,
                                          enum event_executor_state state,
                                          const struct glint_error *why)
{
    static const char *const states[] = {[EXECUTOR_STATE_JOINED] = "joined",
                                         [EXECUTOR_STATE_LOST] = "lost",
                                         [EXECUTOR_STATE_DRAINING] = "draining",
                                         [EXECUTOR_STATE_EXCLUDED] = "excluded"};
    const struct executor_state *m = &d->executors[executor];
    struct json *j = begin_event_line(d, "executor");
    assert(executor < d->executor_count && (size_t)state < sizeof states / sizeof states[0]);
    if (j == NULL) return;
    json_u64(j, "executor", executor);
    json_cstring(j, "state", states[state]);
    if (state == EXECUTOR_STATE_JOINED) {
        json_cstring(j, "name", m->name);
        json_cstring(j, "host", m->host);
        json_u64(j, "slots", m->slots);
    } else {
        json_error(j, "error", why);
    }
    event_log_line_end(d->log);
}

static void put_cached_rdd(struct json *j, const struct cached_rdd *c, const struct glint_rdd *rdd)
{
    assert(c->sums.blocks <= c->partitions);
    json_begin(j, NULL, '{');
    json_u64(j, "rdd", c->rdd);
    json_cstring(j, "name", rdd->name != NULL ? rdd->name : rdd->op->name);
    json_cstring(j, "level", persist_level_name(rdd->persist));
    json_u64(j, "partitions", c->partitions);
    json_u64(j, "blocks", c->sums.blocks);
    json_u64(j, "memory_bytes", c->sums.memory_bytes);
    json_u64(j, "disk_bytes", c->sums.disk_bytes);
    json_end(j, '}');
}

/* If the blocks of persisted RDDs have changed. While an action runs, the sink alone gets them. */
static void log_cached_rdds(struct driver *d, bool sink_only)
{
    uint64_t *known = sink_only ? &d->cached_shown : &d->cached_logged;
    uint32_t shown = 0;
    if (*known == d->cached_changes) return;
    struct json *j =
        event_log_line_start(d->log, "storage", sink_only ? EVENT_FOR_SINK : EVENT_FOR_ALL);
    if (j == NULL) return;
    json_begin(j, "rdds", '[');
    for (uint32_t i = 0; i < d->cached.count && shown < CACHED_RDDS_MAX; i++) {
        const struct glint_rdd *rdd = plan_find_rdd(d->g, d->cached.list[i]->rdd);
        if (rdd == NULL || rdd->persist == 0) continue;
        put_cached_rdd(j, d->cached.list[i], rdd);
        shown++;
    }
    json_end(j, ']');
    json_u64(j, "rdd_count", d->cached.count);
    event_log_line_end(d->log);
    *known = d->cached_shown = d->cached_changes;
}

static void put_running_tasks(struct driver *d, struct json *j)
{
    const struct action_run *a = d->action_run;
    struct task_attempt run;
    uint32_t count = 0;
    json_begin(j, "running", '[');
    for (uint32_t i = 0; i < d->executor_count; i++) {
        if (d->executors[i].lost) continue;
        for (uint32_t at = 0; sched_each_attempt_on(a->sched, i, &at, &run);) {
            if (run.queued || count++ >= RUNNING_MAX) continue;
            json_begin(j, NULL, '{');
            json_u64(j, "stage", job_stage_number(a, run.stage));
            json_u64(j, "task", run.task);
            json_u64(j, "partition", stage_run_partition(a, run.stage, run.task));
            json_u64(j, "attempt", run.attempt);
            json_u64(j, "executor", i);
            json_bool(j, "speculative", run.speculative);
            json_f64(j, "start_ms", event_log_ms(d->log, run.start_ns));
            json_end(j, '}');
        }
    }
    json_end(j, ']');
}

/* By number; what their heartbeats say is missing if it is not known. */
static void put_executor_health(struct driver *d, struct json *j)
{
    const uint64_t now = d->env->now_ns(d->env);
    struct executor_health h;
    json_begin(j, "executors", '[');
    for (uint32_t i = 0; i < d->executor_count; i++) {
        const bool lost = d->executors[i].lost;
        json_begin(j, NULL, '{');
        json_u64(j, "busy", lost ? 0 : sched_busy_slots_on(d->action_run->sched, i));
        if (!lost && d->transport.health != NULL && d->transport.health(d->transport.arg, i, &h)) {
            json_ms(j, "age_ms", now > h.received_ns ? now - h.received_ns : 0);
            json_u64(j, "memory", h.memory_bytes);
            json_u64(j, "memory_max", h.memory_max);
        }
        json_end(j, '}');
    }
    json_end(j, ']');
}

void event_log_listener_on_timer(struct driver *d)
{
    const struct action_run *a = d->action_run;
    if (d->log == NULL) return;
    event_log_on_timer(d->log);
    const uint64_t now = d->env->now_ns(d->env);
    if (a == NULL || a->sched == NULL || now - d->status_logged_ns < STATUS_NS) return;
    log_cached_rdds(d, true);
    struct json *j = event_log_line_start(d->log, "status", EVENT_FOR_SINK);
    if (j == NULL) return;
    d->status_logged_ns = now;
    put_running_tasks(d, j);
    put_executor_health(d, j);
    event_log_line_end(d->log);
}

/* ---- Actions and stages */

/* Values that are neither numbers nor short texts are not logged. */
static void put_accumulator(struct json *j, const char *name, const struct glint_cell *cell)
{
    const bool is_number = cell->type == GLINT_I64 || cell->type == GLINT_F64;
    if (is_number ||
        (cell->type == GLINT_TEXT && cell->value.bytes.size <= ACCUMULATOR_TEXT_SHOWN_MAX))
        put_cell_value(j, name, cell);
}

/* All of the job; NULL: none. */
static void put_accumulators(struct json *j, const struct glint_answer *list)
{
    if (list == NULL) return;
    json_begin(j, "accumulators", '{');
    for (const struct glint_answer *a = list; a != NULL; a = a->next)
        put_accumulator(j, a->name, &a->value);
    json_end(j, '}');
}

void event_log_listener_on_action_start(struct driver *d)
{
    const struct action_run *a = d->action_run;
    const struct action *action = a->action;
    struct json *j = begin_event_line(d, "action");
    if (j == NULL) return;
    json_u64(j, "action", a->number);
    json_cstring(j, "name", action->op->name);
    json_cstring(j, "output",
                 action->output_count > 0 ? driver_output_name(d, action->outputs[0]) : NULL);
    json_begin(j, "outputs", '[');
    for (uint32_t i = 0; i < action->output_count; i++)
        json_cstring(j, NULL, driver_output_name(d, action->outputs[i]));
    json_end(j, ']');
    json_begin(j, "skipped", '['); /* stages whose map outputs exist already */
    for (uint32_t i = 0; i < a->stage_count; i++)
        if (a->stages[i].skipped) json_u64(j, NULL, a->stages[i].number);
    json_end(j, ']');
    event_log_line_end(d->log);
}

void event_log_listener_on_action_end(struct driver *d)
{
    log_cached_rdds(d, false);
    struct json *j = begin_event_line(d, "action_end");
    if (j == NULL) return;
    json_u64(j, "action", d->action_run->number);
    json_error(j, "error", driver_error(d));
    if (d->merges_logged != d->accumulators.merges)
        put_accumulators(j, accumulators_list(&d->accumulators));
    d->merges_logged = d->accumulators.merges;
    event_log_line_end(d->log);
}

void event_log_listener_on_stage_start(struct driver *d, uint32_t number)
{
    const struct action_run *a = d->action_run;
    const struct stage_run *stage = &a->stages[number];
    struct json *j = begin_event_line(d, "stage");
    if (j == NULL) return;
    json_u64(j, "stage", stage->number);
    json_u64(j, "action", a->number);
    json_cstring(j, "name", stage->name);
    json_u64(j, "tasks", stage->tasks);
    json_begin(j, "parents", '[');
    for (uint32_t i = 0; i < stage->parent_count; i++)
        json_u64(j, NULL, job_stage_number(a, stage->parents[i]));
    json_end(j, ']');
    json_begin(j, "operators", '[');
    for (uint64_t at = 0; at < stage->operators.size;) {
        const char *text = (const char *)stage->operators.data + at;
        put_truncated_text(j, NULL, text);
        at += strlen(text) + 1;
    }
    json_end(j, ']');
    json_u64(j, "operator_count", stage->operator_count);
    event_log_line_end(d->log);
}

void event_log_listener_on_stage_end(struct driver *d, uint32_t number)
{
    const struct action_run *a = d->action_run;
    if (!a->stages[number].started) return; /* all its tasks were done by an earlier action */
    struct json *j = begin_event_line(d, "stage_end");
    if (j == NULL) return;
    json_u64(j, "stage", job_stage_number(a, number));
    json_error(j, "error", NULL);
    event_log_line_end(d->log);
}

/* ---- Attempts */

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

/* `m`: the executor's DONE or FAILED, or NULL if the executor is lost. What then is not known of
 * the attempt's start is what the scheduler assumes. */
static void log_attempt_end(struct driver *d, const struct task_attempt *run,
                            enum event_outcome outcome, const struct glint_error *why,
                            const struct message *m)
{
    const struct action_run *a = d->action_run;
    const struct event_sink *sink = d->g->config.event_sink;
    struct attempt_times t = {run->start_ns, d->env->now_ns(d->env)};
    struct glint_slice counters = {NULL, 0};
    if (m != NULL) {
        counters = buffer_slice(&m->counters);
        t = executor_clock_convert(&d->executors[run->executor].clock, m, run->sent_ns, t.end_ns);
    }
    if (outcome == OUTCOME_DONE) why = NULL;
    assert(t.start_ns <= t.end_ns);
    const struct event_attempt e = {.start_ms = event_log_ms(d->log, t.start_ns),
                                    .end_ms = event_log_ms(d->log, t.end_ns),
                                    .run_ms = m != NULL ? (double)(m->run_ns / 1000) / 1000.0 : -1,
                                    .stage = job_stage_number(a, run->stage),
                                    .task = run->task,
                                    .partition = stage_run_partition(a, run->stage, run->task),
                                    .attempt = run->attempt,
                                    .executor = run->executor,
                                    .outcome = (uint8_t)outcome,
                                    .speculative = run->speculative};
    if (sink != NULL) sink->attempt(sink->arg, &e, why, counters);
    struct json *j = event_log_line_start(d->log, "task", EVENT_FOR_FILE);
    if (j == NULL) return;
    json_u64(j, "stage", e.stage);
    json_u64(j, "task", e.task);
    json_u64(j, "partition", e.partition);
    json_u64(j, "attempt", e.attempt);
    json_u64(j, "executor", e.executor);
    json_bool(j, "speculative", e.speculative);
    event_log_put_time(d->log, "start_ms", "start", t.start_ns);
    event_log_put_time(d->log, "end_ms", "end", t.end_ns);
    if (m != NULL)
        json_ms(j, "run_ms", m->run_ns);
    else
        json_cstring(j, "run_ms", NULL);
    json_cstring(j, "outcome", event_outcome_names[outcome]);
    json_error(j, "error", why);
    put_task_counters(j, counters);
    event_log_line_end(d->log);
}

void event_log_listener_on_attempt_end(struct driver *d, uint32_t executor, uint32_t stage,
                                       const struct message *m)
{
    const struct action_run *a = d->action_run;
    struct task_attempt run;
    if (d->log == NULL) return;
    /* A message of an attempt that the scheduler does not know (stale, duplicate) is not logged. */
    for (uint32_t at = 0; sched_each_attempt_on(a->sched, executor, &at, &run);) {
        if (run.stage != stage || run.task != m->task || run.attempt != m->attempt) continue;
        bool interrupted =
            m->type == MSG_FAILED && m->error != NULL && m->error->code == GLINT_E_INTERRUPTED;
        if (interrupted && m->run_ns == 0) continue; /* killed while queued: it never started */
        /* Killed, even if DONE: the driver ignores the result. */
        bool ended = run.superseded || a->over || interrupted;
        enum event_outcome outcome = ended                 ? OUTCOME_KILLED
                                     : m->type == MSG_DONE ? OUTCOME_DONE
                                                           : OUTCOME_FAILED;
        log_attempt_end(d, &run, outcome, m->error, m);
    }
}

void event_log_listener_on_executor_lost(struct driver *d, uint32_t executor,
                                         const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    struct task_attempt run;
    if (d->log == NULL || a == NULL || a->sched == NULL) return;
    for (uint32_t at = 0; sched_each_attempt_on(a->sched, executor, &at, &run);) {
        if (!run.queued) /* a queued attempt has not started: no event */
            log_attempt_end(d, &run, OUTCOME_EXECUTOR_LOST, why, NULL);
    }
}

void event_log_listener_on_retry(struct driver *d, uint32_t stage, uint32_t task, uint32_t attempt,
                                 uint32_t executor, const struct glint_error *why)
{
    struct json *j = begin_event_line(d, "retry");
    if (j == NULL) return;
    json_u64(j, "stage", job_stage_number(d->action_run, stage));
    json_u64(j, "task", task);
    json_u64(j, "attempt", attempt);
    json_u64(j, "executor", executor);
    json_error(j, "error", why);
    event_log_line_end(d->log);
}

/* ---- The end of the job */

static void log_published_output(struct driver *d, const char *path)
{
    struct json *j = begin_event_line(d, "output");
    if (j == NULL) return;
    json_cstring(j, "path", path);
    event_log_line_end(d->log);
}

void event_log_listener_on_job_end(struct driver *d)
{
    struct glint_summary s;
    if (d->log == NULL) return;
    log_cached_rdds(d, false); /* an RDD may have been unpersisted after the last action */
    driver_summarize(d, &s);
    for (uint32_t i = 0; i < s.output_count; i++) log_published_output(d, s.outputs[i]);
    struct json *j = event_log_line_start(d->log, "job_end", EVENT_FOR_ALL | EVENT_LAST);
    if (j == NULL) return;
    json_error(j, "error", driver_error(d));
    json_ms(j, "elapsed_ms", s.elapsed_ns);
    json_u64(j, "stages", s.stages);
    json_u64(j, "stages_skipped", s.stages_skipped);
    json_u64(j, "tasks", s.tasks);
    json_u64(j, "retries", s.retries);
    counters_put(j, &d->metrics.counters);
    put_accumulators(j, s.accumulators);
    event_log_line_end(d->log);
}
