/* Translates the driver's events to those of the event log: stage numbers of the action to those of
 * the job, messages and scheduler state to outcomes. */
#include "engine/driver/event_log_listener.h"

#include "engine/base/text.h"
#include "engine/net/cluster.h"
#include "engine/net/hello.h"
#include "engine/plan/stage_plan.h"

#include <assert.h>
#include <string.h>

/* Replaces the context's note function while the log is open. */
static void note_and_log(void *arg, const char *line)
{
    struct driver *d = arg;
    event_log_note(d->log, line);
    if (d->note != NULL) d->note(d->note_arg, line);
}

static void log_report(void *arg, const char *name, const struct glint_field *fields,
                       uint32_t count)
{
    event_log_report(((struct driver *)arg)->log, name, fields, count);
}

static uint32_t stage_number(const struct action_run *a, uint32_t stage)
{
    assert(stage < a->stage_count);
    return a->stages[stage].number;
}

/* Logs the options in effect, whether they come from the command line, the environment or a file.
 * NULL: not set. */
static void log_job(struct driver *d)
{
    const struct context_config *c = &d->g->config;
    char master[NAME_BYTES_MAX], memory[TEXT_NUMBER_MAX], split[TEXT_NUMBER_MAX];
    char partitions[TEXT_NUMBER_MAX], timeout[TEXT_NUMBER_MAX];
    text_format(master, sizeof master, "local[%u]", c->slots);
    if (c->cluster != NULL) text_format(master, sizeof master, "%s", c->cluster->name);
    text_format(memory, sizeof memory, "%llu", (unsigned long long)c->memory_bytes);
    text_format(split, sizeof split, "%llu", (unsigned long long)c->split_bytes);
    text_format(partitions, sizeof partitions, "%u", c->partitions);
    text_format(timeout, sizeof timeout, "%llums", (unsigned long long)(c->timeout_ns / MS_NS));
    const char *const values[][2] = {
        {"memory", c->cluster == NULL ? memory : NULL},
        {"split-size", c->split_bytes > 0 ? split : NULL},
        {"partitions", c->partitions > 0 ? partitions : NULL},
        {"timeout", c->timeout_ns > 0 ? timeout : NULL},
        {"bad-rows", c->skip_bad_rows ? "skip" : "fail"},
        {"overwrite", c->overwrite ? "true" : "false"},
        {"compress", c->compress == COMPRESSION_GZIP   ? "gzip"
                     : c->compress == COMPRESSION_ZSTD ? "zstd"
                                                       : NULL},
        {"no-sync", c->no_sync ? "true" : "false"},
        {"speculate", c->cluster != NULL && c->cluster->speculate ? "true" : "false"}};
    enum { COUNT = sizeof values / sizeof values[0] };
    struct event_option options[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        const char *name = values[i][0];
        options[i] = (struct event_option){
            name, values[i][1],
            c->option_origin != NULL ? c->option_origin(c->option_arg, name) : NULL};
    }
    event_log_job_start(d->log,
                        &(struct event_job){.id = d->g->job_id,
                                            .name = c->job_name != NULL ? c->job_name : "job",
                                            .version = GLINT_VERSION,
                                            .build = build_id(),
                                            .master = master,
                                            .arguments = c->arguments,
                                            .argument_count = c->argument_count,
                                            .options = options,
                                            .option_count = COUNT});
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
    c->note = note_and_log;
    c->note_arg = d;
    c->report = log_report;
    c->report_arg = d;
    log_job(d);
    return 0;
}

/* If they have changed. */
static void log_cached_rdds(struct driver *d, bool sink_only)
{
    struct event_cached_rdd rdds[EVENT_CACHED_RDDS_MAX];
    struct event_storage e = {.rdds = rdds, .sink_only = sink_only};
    uint64_t *known = sink_only ? &d->cached_shown : &d->cached_logged;
    if (*known == d->cached_changes) return;
    for (const struct cached_rdd *c = d->cached; c != NULL; c = c->next, e.count++) {
        const struct glint_rdd *rdd = plan_find_rdd(d->g, c->rdd);
        if (rdd == NULL || rdd->persist == 0 || e.shown == EVENT_CACHED_RDDS_MAX) continue;
        rdds[e.shown++] =
            (struct event_cached_rdd){.rdd = c->rdd,
                                      .name = rdd->name != NULL ? rdd->name : rdd->op->name,
                                      .level = persist_level_name(rdd->persist),
                                      .partitions = c->partitions,
                                      .blocks = c->sums.blocks,
                                      .memory_bytes = c->sums.memory_bytes,
                                      .disk_bytes = c->sums.disk_bytes};
    }
    event_log_storage(d->log, &e);
    *known = d->cached_shown = d->cached_changes;
}

void event_log_listener_on_job_end(struct driver *d)
{
    struct glint_summary summary;
    if (d->log == NULL) return;
    log_cached_rdds(d, false); /* an RDD may have been unpersisted after the last action */
    driver_summarize(d, &summary);
    for (uint32_t i = 0; i < summary.output_count; i++)
        event_log_output_published(d->log, summary.outputs[i]);
    event_log_job_end(d->log, driver_error(d), &summary);
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

void event_log_listener_on_executor_state(struct driver *d, uint32_t executor,
                                          enum event_executor_state state,
                                          const struct glint_error *why)
{
    const struct executor_state *m = &d->executors[executor];
    assert(executor < d->executor_count);
    event_log_executor_state(d->log, &(struct event_executor){.executor = executor,
                                                              .state = state,
                                                              .name = m->name,
                                                              .host = m->host,
                                                              .slots = m->slots,
                                                              .why = why});
}

void event_log_listener_on_action_start(struct driver *d)
{
    const struct action_run *a = d->action_run;
    uint32_t skipped[PLAN_NODES_MAX], count = 0; /* stages whose map outputs exist already */
    if (d->log == NULL) return;
    for (uint32_t i = 0; i < a->stage_count; i++)
        if (a->stages[i].skipped) skipped[count++] = a->stages[i].number;
    event_log_action_start(d->log, &(struct event_action){.action = a->number,
                                                          .name = a->action->op->name,
                                                          .outputs = a->action->outputs,
                                                          .output_count = a->action->output_count,
                                                          .skipped = skipped,
                                                          .skipped_count = count});
}

void event_log_listener_on_action_end(struct driver *d)
{
    const struct action_run *a = d->action_run;
    if (d->log == NULL) return;
    log_cached_rdds(d, false);
    const bool added = d->merges_logged != d->accumulators.merges;
    event_log_action_end(d->log, a->number, driver_error(d),
                         added ? accumulators_list(&d->accumulators) : NULL);
    d->merges_logged = d->accumulators.merges;
}

void event_log_listener_on_stage_start(struct driver *d, uint32_t number)
{
    const struct action_run *a = d->action_run;
    const struct stage_run *stage = &a->stages[number];
    uint32_t parents[PLAN_NODES_MAX], shown = 0;
    const char *operators[EVENT_OPERATORS_MAX];
    if (d->log == NULL) return;
    assert(stage->parent_count <= PLAN_NODES_MAX);
    for (uint32_t i = 0; i < stage->parent_count; i++)
        parents[i] = stage_number(a, stage->parents[i]);
    for (uint64_t at = 0; at < stage->operators.size && shown < EVENT_OPERATORS_MAX; shown++) {
        operators[shown] = (const char *)stage->operators.data + at;
        at += strlen(operators[shown]) + 1;
    }
    event_log_stage_start(d->log, &(struct event_stage){.stage = stage_number(a, number),
                                                        .action = a->number,
                                                        .name = stage->name,
                                                        .tasks = stage->tasks,
                                                        .parents = parents,
                                                        .parent_count = stage->parent_count,
                                                        .operators = operators,
                                                        .operators_shown = shown,
                                                        .operator_count = stage->operator_count});
}

static void set_health(struct driver *d, uint32_t executor, struct event_health *out)
{
    struct executor_health h;
    if (d->transport.health == NULL || !d->transport.health(d->transport.arg, executor, &h)) return;
    *out = (struct event_health){.known = true,
                                 .received_ns = h.received_ns,
                                 .memory_bytes = h.memory_bytes,
                                 .memory_max = h.memory_max};
}

void event_log_listener_on_timer(struct driver *d)
{
    const struct action_run *a = d->action_run;
    struct task_attempt run;
    uint32_t count = 0;
    event_log_on_timer(d->log);
    if (!event_log_status_is_due(d->log)) return;
    log_cached_rdds(d, true);
    struct event_running *running = mem_alloc(EVENT_RUNNING_MAX * sizeof *running);
    struct event_health *health = mem_zalloc(((uint64_t)d->executor_count + 1) * sizeof *health);
    if (running == NULL || health == NULL) goto end; /* the next status may succeed */
    for (uint32_t i = 0; i < d->executor_count && a != NULL && a->sched != NULL; i++) {
        if (d->executors[i].lost) continue;
        set_health(d, i, &health[i]);
        health[i].busy = sched_busy_slots_on(a->sched, i);
        for (uint32_t at = 0; sched_each_attempt_on(a->sched, i, &at, &run);) {
            if (run.queued || count == EVENT_RUNNING_MAX) continue;
            running[count++] =
                (struct event_running){.stage = stage_number(a, run.stage),
                                       .task = run.task,
                                       .partition = stage_run_partition(a, run.stage, run.task),
                                       .attempt = run.attempt,
                                       .executor = i,
                                       .speculative = run.speculative,
                                       .start_ns = run.start_ns};
        }
    }
    event_log_status(d->log, running, count, health, d->executor_count);
end:
    mem_free(running);
    mem_free(health);
}

void event_log_listener_on_stage_end(struct driver *d, uint32_t number)
{
    const struct action_run *a = d->action_run;
    if (!a->stages[number].started) return; /* all its tasks were done by an earlier action */
    event_log_stage_end(d->log, stage_number(a, number), NULL);
}

/* ---- Attempts */

/* `m`: the executor's DONE or FAILED, or NULL if the executor is lost. What then is not known of
 * the attempt's start is what the scheduler assumes. */
static void log_attempt(struct driver *d, const struct task_attempt *run,
                        enum event_outcome outcome, const struct glint_error *why,
                        const struct message *m)
{
    const struct action_run *a = d->action_run;
    struct attempt_times t = {run->start_ns, d->env->now_ns(d->env)};
    struct glint_slice counters = {NULL, 0};
    if (m != NULL) {
        counters = (struct glint_slice){m->counters.data, m->counters.size};
        t = executor_clock_convert(&d->executors[run->executor].clock, m, run->sent_ns, t.end_ns);
    }
    assert(t.start_ns <= t.end_ns);
    event_log_task_end(
        d->log, &(struct event_task){.stage = stage_number(a, run->stage),
                                     .task = run->task,
                                     .partition = stage_run_partition(a, run->stage, run->task),
                                     .attempt = run->attempt,
                                     .executor = run->executor,
                                     .speculative = run->speculative,
                                     .start_ns = t.start_ns,
                                     .end_ns = t.end_ns,
                                     .run_ns = m != NULL ? m->run_ns : 0,
                                     .outcome = outcome,
                                     .why = why,
                                     .counters = counters});
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
        log_attempt(d, &run, outcome, m->error, m);
    }
}

void event_log_listener_on_retry(struct driver *d, uint32_t stage, uint32_t task, uint32_t attempt,
                                 uint32_t executor, const struct glint_error *why)
{
    event_log_retry(d->log, &(struct event_retry){.stage = stage_number(d->action_run, stage),
                                                  .task = task,
                                                  .attempt = attempt,
                                                  .executor = executor,
                                                  .why = why});
}

void event_log_listener_on_executor_lost(struct driver *d, uint32_t executor,
                                         const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    struct task_attempt run;
    if (d->log == NULL || a == NULL || a->sched == NULL) return;
    for (uint32_t at = 0; sched_each_attempt_on(a->sched, executor, &at, &run);) {
        if (!run.queued) /* a queued attempt has not started: no event */
            log_attempt(d, &run, OUTCOME_EXECUTOR_LOST, why, NULL);
    }
}
