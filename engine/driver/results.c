/* What comes back: outcomes of tasks, results in order of the partitions. */
#include "engine/base/text.h"
#include "engine/data/pack.h"
#include "engine/data/split.h"
#include "engine/driver/internal.h"
#include "engine/driver/journal.h"

#include <assert.h>
#include <string.h>

/* ---- Progress */

static void report(struct driver *d, const struct progress *p)
{
    if (d->g->config.progress != NULL) d->g->config.progress(d->g->config.progress_arg, p);
    if (d->transport.progress != NULL) d->transport.progress(d->transport.arg, p);
}

void results_report_progress(struct driver *d, uint32_t place)
{
    const struct active *a = d->active;
    const struct active_stage *stage = &a->stages[place];
    assert(place < a->stage_count);
    if (!stage->begun) return; /* an earlier action has made its outputs */
    uint64_t bytes = (uint64_t)tally_value(&d->tally, "bytes read");
    report(d, &(struct progress){.name = stage->name,
                                 .stage = stage->number,
                                 .tasks_done = sched_tasks_done(a->sched, place),
                                 .tasks = stage->tasks,
                                 .tasks_running = sched_running(a->sched),
                                 .job_stages = d->tally.stage_count,
                                 .job_tasks = d->tally.tasks,
                                 .job_retries = d->tally.retries,
                                 .bytes_read = bytes - stage->bytes_before,
                                 .elapsed_ns = d->env->now_ns(d->env) - stage->begun_ns,
                                 .stage_ended = stage->ended});
}

void results_report_tick(struct driver *d)
{
    const struct active *a = d->active;
    uint32_t i = a->stage_count;
    while (i > 0 && (!a->stages[i - 1].begun || a->stages[i - 1].ended)) i--;
    if (i > 0) results_report_progress(d, i - 1);
}

void results_report_end(struct driver *d)
{
    report(d, &(struct progress){.action_ended = true});
}

/* ---- Retries: counted where they are logged, so that both say the same */

static void retry(struct driver *d, uint32_t stage, uint32_t task, uint32_t attempt,
                  uint32_t executor, const struct glint_error *why)
{
    d->tally.retries++;
    journal_retry(d, stage, task, attempt, executor, why);
}

void results_retry_task(struct driver *d, const struct sched_run *run,
                        const struct glint_error *why)
{
    const struct active *a = d->active;
    if (a->over || sched_verdict(a->sched) != SCHED_GOES_ON) return;
    if (!sched_waits(a->sched, run->stage, run->task)) return;
    retry(d, run->stage, run->task, run->attempt, run->executor, why);
}

void results_retry_lost(struct driver *d, const struct glint_error *why)
{
    const struct active *a = d->active;
    if (a->over || sched_verdict(a->sched) != SCHED_GOES_ON) return;
    for (uint32_t i = 0; i + 1 < a->stage_count; i++) {
        struct outputs *o = a->stages[i].outputs;
        for (uint32_t map = 0; o->lost_count > 0 && map < o->maps; map++) {
            if (!o->lost[map] || !sched_waits(a->sched, i, map)) continue;
            retry(d, i, map, o->places[map].attempt, o->places[map].executor, why);
            outputs_found(o, map);
        }
    }
}

/* ---- Results */

/* "part-00007.attempt-3" is kept as "part-00007"; in each output the file has the same name. An
 * error ends the job, so no output is published without the part of another. */
static int keep_parts(struct driver *d, uint32_t partition, uint32_t executor,
                      struct glint_slice name)
{
    char part[256], wanted[32];
    const uint8_t *cut = name.size < sizeof part ? memmem(name.data, name.size, COMMIT_ATTEMPT_MARK,
                                                          strlen(COMMIT_ATTEMPT_MARK))
                                                 : NULL;
    if (cut == NULL ||
        !text_format(part, sizeof part, "%.*s", (int)(cut - name.data), (const char *)name.data) ||
        !text_format(wanted, sizeof wanted, "part-%05u", partition) ||
        strncmp(part, wanted, strlen(wanted)) != 0)
        return error_set(driver_error(d), GLINT_E_PROTOCOL, NULL, "a task named a wrong part");
    const struct active *a = d->active;
    int r = 0;
    for (uint32_t i = 0; i < a->commit_count && r == 0; i++)
        r = commit_keep(a->commits[i], name, part, d->members[executor].name, driver_error(d));
    return r;
}

static int check_bad_rows(struct driver *d)
{
    int64_t max = d->g->config.bad_rows_max;
    if (max < 0 || !d->g->config.skip_bad_rows) return 0;
    int64_t bad = tally_value(&d->tally, "bad rows") - d->active->bad_rows_before;
    if (bad <= max) return 0;
    return error_set(driver_error(d), GLINT_E_TOO_MANY_BAD_ROWS,
                     "look at the input, or raise --max-bad-rows",
                     "%lld bad rows, --max-bad-rows is %lld", (long long)bad, (long long)max);
}

static int count(struct driver *d, const struct buffer *counters)
{
    int r = tally_counters(&d->tally, (struct glint_slice){counters->data, counters->size},
                           driver_error(d));
    return r == 0 ? check_bad_rows(d) : r;
}

/* A result whose turn it is. Its counters count from here on, so that an action that ends early has
 * counted the same tasks every time. Sampling reads what will be read again, so its own stage adds
 * nothing to what the job counts. */
static int take_result(struct driver *d, uint32_t task)
{
    struct active *a = d->active;
    struct result *result = &a->results[task];
    assert(result->arrived && !a->over && a->answer == 0);
    uint32_t partition = active_partition(a, a->stage_count - 1, task);
    struct glint_slice body = {result->body.data, result->body.size};
    assert(a->held_bytes >= body.size);
    a->held_bytes -= body.size;
    int r = a->action->internal ? 0 : count(d, &result->counters);
    if (r == 0 && a->commit_count > 0) r = keep_parts(d, partition, result->executor, body);
    if (r == 0 && a->action->on_result != NULL)
        r = a->answer = a->action->on_result(a->action->arg, partition, body);
    buffer_fini(&result->body);
    buffer_fini(&result->counters);
    return r;
}

static int take_results(struct driver *d)
{
    struct active *a = d->active;
    uint32_t tasks = a->stages[a->stage_count - 1].tasks;
    int r = 0;
    while (r == 0 && a->next_result < tasks && a->results[a->next_result].arrived)
        r = take_result(d, a->next_result++);
    return r;
}

/* ---- Messages from executors */

/* A map output; made again after a loss it counts no second time. */
static int on_output(struct driver *d, uint32_t executor, uint32_t number, struct message *m)
{
    struct outputs *o = d->active->stages[number].outputs;
    struct glint_slice sizes = {m->body.data, m->body.size};
    outputs_set(o, m->task, (struct output_place){executor, m->attempt}, sizes);
    if (o->counted[m->task]) return 0;
    o->counted[m->task] = true;
    return count(d, &m->counters);
}

static int on_done(struct driver *d, uint32_t executor, uint32_t number, struct message *m)
{
    struct active *a = d->active;
    struct sched_run twin;
    uint64_t now = d->env->now_ns(d->env);
    if (!sched_on_done(a->sched, executor, number, m->task, m->attempt, now) || a->over) return 0;
    if (d->members[d->members[executor].node].set_aside)
        members_review(d, executor, driver_error(d));
    int r = sched_twin(a->sched, number, m->task, &twin) ? announce_kill(d, &twin, KILL_ANYHOW) : 0;
    if (r != 0) return r;
    if (number + 1 != a->stage_count) return on_output(d, executor, number, m);
    a->results[m->task] = (struct result){m->body, m->counters, executor, true};
    m->body = m->counters = (struct buffer){NULL, 0, 0};
    a->held_bytes += a->results[m->task].body.size;
    uint64_t max = d->g->config.result_bytes_max;
    if (a->held_bytes > max)
        return error_set(driver_error(d), GLINT_E_RESULT_LIMIT,
                         "save the result as files instead of collecting it",
                         "results of %s take more than %llu bytes", a->action->op->name,
                         (unsigned long long)max);
    return take_results(d);
}

/* The file and offset that a task begins to read at. False: it reads something else. */
static bool input_text(struct driver *d, uint32_t stage, uint32_t partition, char *out,
                       size_t capacity)
{
    const struct active_stage *s = &d->active->stages[stage];
    struct glint_rdd *top = s->wide != NULL ? s->wide->parents[0] : d->active->action->rdd;
    struct buffer splits = {NULL, 0, 0};
    struct arena arena = {.first = NULL};
    struct unpacker u;
    struct split split;
    struct glint_error ignored = {.code = GLINT_OK};
    if (stage_splits(d->g, top, partition, &splits) != 0) return false;
    bool found = unpacker_init(&u, (struct glint_slice){splits.data, splits.size}) && u.count > 0 &&
                 split_decode(unpack_bytes(&u), &arena, &split, &ignored) == 0 &&
                 text_format(out, capacity, "%s:%llu", split.pieces[0].path,
                             (unsigned long long)split.pieces[0].offset);
    unpacker_fini(&u);
    arena_fini(&arena);
    buffer_fini(&splits);
    return found;
}

/* Whoever ran the task died each time: what it reads may be why. */
static void name_failed_task(struct driver *d, struct glint_error *e)
{
    struct active *a = d->active;
    uint32_t stage = 0, task = 0;
    char input[sizeof e->effect / 2], before[sizeof e->effect];
    if (e->code != GLINT_E_EXECUTOR_LOST || !sched_failed(a->sched, &stage, &task)) return;
    uint32_t partition = active_partition(a, stage, task);
    bool reads = input_text(d, stage, partition, input, sizeof input);
    memcpy(before, e->effect, sizeof before);
    text_format(e->effect, sizeof e->effect,
                "%s; %u attempts of task %u of stage %u (%s)%s%s ended so", before,
                TASK_ATTEMPTS_MAX, partition, a->stages[stage].number, a->stages[stage].name,
                reads ? ", which begins to read at " : "", reads ? input : "");
}

int results_verdict(struct driver *d)
{
    struct active *a = d->active;
    struct glint_error *e = driver_error(d);
    enum sched_verdict verdict = sched_verdict(a->sched);
    if (verdict == SCHED_GOES_ON || e->code != GLINT_OK) return e->code;
    assert(a->last_error.code != GLINT_OK);
    *e = a->last_error;
    if (verdict == SCHED_TASK_FAILED) name_failed_task(d, e);
    if (verdict == SCHED_STAGE_FAILED) { /* the cause names who has it, the effect who wants it */
        size_t used = strlen(e->effect);
        text_format(e->effect + used, sizeof e->effect - used,
                    "%s%u attempts in a row to run a stage failed so", used > 0 ? "; " : "",
                    STAGE_ATTEMPTS_MAX);
    }
    if (verdict == SCHED_LOSSES) e->code = GLINT_E_TOO_MANY_LOSSES;
    return e->code;
}

static enum sched_failure classify(enum glint_code code)
{
    if (code == GLINT_E_FETCH_FAILED) return SCHED_FETCH;
    if (code == GLINT_E_INTERRUPTED) return SCHED_REFUSED;
    return error_may_retry(code) ? SCHED_OWN : SCHED_FATAL;
}

static int on_failed(struct driver *d, uint32_t executor, uint32_t number, const struct message *m)
{
    struct active *a = d->active;
    enum sched_failure why = classify(m->error->code);
    const struct sched_run run = {executor, number, m->task, m->attempt, .begun_ns = 0};
    bool stays = !a->over && sched_stage_needed(a->sched, number);
    uint64_t begun_ns = why == SCHED_FETCH ? fetch_faults_begun_ns(d, executor, number, m) : 0;
    if (!sched_on_failed(a->sched, executor, number, m->task, m->attempt, why,
                         d->env->now_ns(d->env)))
        return 0;
    int r = why == SCHED_FETCH ? fetch_faults_on_failed(d, executor, number, m, begun_ns) : 0;
    if (r != 0) return r;
    if (why == SCHED_OWN) members_review(d, executor, m->error);
    if (!stays) return 0;
    if (why != SCHED_REFUSED) results_retry_task(d, &run, m->error);
    char where[2 * NAME_BYTES_MAX];
    member_where(d, executor, where, sizeof where);
    a->last_error = *m->error;
    text_format(a->last_error.effect, sizeof a->last_error.effect,
                "task %u of stage %u (%s) failed%s%s", active_partition(a, number, m->task),
                a->stages[number].number, a->stages[number].name, where,
                why == SCHED_OWN ? " in all attempts" : "");
    return results_verdict(d);
}

/* For the report, should it be lost. */
static void remember_done(struct driver *d, uint32_t executor, uint32_t number,
                          const struct message *m)
{
    if (m->type != MSG_DONE) return;
    struct member *member = &d->members[executor];
    member->has_done = true;
    member->done_partition = active_partition(d->active, number, m->task);
    member->done_attempt = m->attempt;
}

void driver_on_message(struct driver *d, uint32_t executor, struct message *m)
{
    struct active *a = d->active;
    assert(executor < d->member_count && !d->members[executor].lost);
    uint32_t number = a != NULL ? m->stage - a->first_stage : 0;
    if (a != NULL && a->sched != NULL && number < a->stage_count &&
        m->task < a->stages[number].tasks) {
        int r = 0;
        journal_outcome(d, executor, number, m);
        remember_done(d, executor, number, m);
        if (m->type == MSG_DONE) r = on_done(d, executor, number, m);
        if (m->type == MSG_FAILED && m->error != NULL) r = on_failed(d, executor, number, m);
        if (r != 0) {
            a->over = true;
            sched_stop(a->sched);
        }
        results_report_progress(d, number);
    }
    message_destroy(m);
}
