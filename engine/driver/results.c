/* What comes back: outcomes of tasks, results in order of the partitions, stages that end. */
#include "engine/base/text.h"
#include "engine/driver/internal.h"

#include <assert.h>
#include <string.h>

static void report_progress(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct progress *p = &d->progress;
    assert(number < a->stage_count);
    if (d->g->config.progress == NULL || a->action->internal) return;
    p->action = a->action->op->name;
    p->stage = number;
    p->stages = a->stage_count;
    p->tasks = a->stages[number].tasks;
    p->tasks_done = sched_tasks_done(a->sched, number);
    p->retries = d->tally.retries + sched_retries(a->sched);
    p->tasks_running = sched_running(a->sched);
    p->bytes_read = (uint64_t)tally_value(&d->tally, "bytes read");
    uint64_t begun_ns = a->stages[number].begun_ns; /* 0: it never had a task */
    p->elapsed_ns = begun_ns > 0 ? d->env->now_ns(d->env) - begun_ns : 0;
    p->stage_ended = a->stages[number].ended;
    p->action_ended = p->stage_ended && number + 1 == a->stage_count;
    d->g->config.progress(d->g->config.progress_arg, p);
}

uint32_t active_partition(const struct active *a, uint32_t stage, uint32_t task)
{
    assert(stage < a->stage_count && task < a->stages[stage].tasks);
    bool chosen = a->stages[stage].wide == NULL && a->action->partitions != NULL;
    return chosen ? a->action->partitions[task] : task;
}

/* "part-00007.attempt-3" is kept as "part-00007". */
static int keep_part(struct driver *d, uint32_t partition, struct glint_slice name)
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
    return commit_keep(d->active->commit, name, part, driver_error(d));
}

static int check_bad_rows(struct driver *d)
{
    int64_t max = d->g->config.bad_rows_max;
    if (max < 0 || !d->g->config.skip_bad_rows) return 0;
    int64_t bad = tally_sum(&d->tally, "bad rows") - d->active->bad_rows_before;
    if (bad <= max) return 0;
    return error_set(driver_error(d), GLINT_E_TOO_MANY_BAD_ROWS,
                     "look at the input, or raise --max-bad-rows",
                     "%lld bad rows, --max-bad-rows is %lld", (long long)bad, (long long)max);
}

/* Sampling reads what will be read again, so its own stage adds nothing to what the job counts; the
 * shuffles that it needed are made once and for all. */
static bool stage_counts(const struct active *a, uint32_t number)
{
    return !a->action->internal || a->stages[number].wide != NULL;
}

static int count(struct driver *d, uint32_t number, const struct buffer *counters)
{
    if (!stage_counts(d->active, number)) return 0;
    int r = tally_counters(&d->tally, (struct glint_slice){counters->data, counters->size},
                           driver_error(d));
    return r == 0 ? check_bad_rows(d) : r;
}

/* A result whose turn it is. Its counters count from here on, so that an action that ends early has
 * counted the same tasks every time. */
static int take_result(struct driver *d, uint32_t task)
{
    struct active *a = d->active;
    struct result *result = &a->results[task];
    assert(result->arrived && !a->over && a->answer == 0);
    uint32_t partition = active_partition(a, a->stage_count - 1, task);
    struct glint_slice body = {result->body.data, result->body.size};
    assert(a->held_bytes >= body.size);
    a->held_bytes -= body.size;
    int r = count(d, a->stage_count - 1, &result->counters);
    if (r == 0 && a->commit != NULL) r = keep_part(d, partition, body);
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

static int stage_end(struct driver *d, uint32_t number)
{
    struct active *a = d->active;
    struct active_stage *stage = &a->stages[number];
    assert(!stage->ended && sched_stage_done(a->sched, number));
    stage->ended = true;
    uint64_t now = d->env->now_ns(d->env);
    if (stage_counts(a, number) && !tally_stage(&d->tally, stage->name, stage->tasks,
                                                stage->begun_ns ? now - stage->begun_ns : 0))
        return error_no_memory(driver_error(d));
    if (stage->wide == NULL) return 0;
    int r = announce_outputs(d, number);
    if (r == 0) stage->wide->shuffled = true;
    return r;
}

/* Stages whose last task is done; also those that never had one. */
int results_end_stages(struct driver *d)
{
    struct active *a = d->active;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        if (a->stages[i].ended || !sched_stage_done(a->sched, i)) continue;
        int r = stage_end(d, i);
        if (r != 0) return r;
        report_progress(d, i);
    }
    return 0;
}

/* ---- Messages from executors */

static int on_done(struct driver *d, uint32_t executor, uint32_t number, struct message *m)
{
    struct active *a = d->active;
    if (!sched_on_done(a->sched, executor, number, m->task, m->attempt) || a->over) return 0;
    if (number + 1 != a->stage_count) return count(d, number, &m->counters);
    a->results[m->task] = (struct result){m->body, m->counters, true};
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

static int on_failed(struct driver *d, uint32_t executor, uint32_t number, const struct message *m)
{
    struct active *a = d->active;
    bool again = error_may_retry(m->error->code);
    if (!sched_on_failed(a->sched, executor, number, m->task, m->attempt, again)) return 0;
    if (a->over || !sched_stage_failed(a->sched, number)) return 0;
    struct glint_error *e = driver_error(d);
    if (e->code == GLINT_OK) {
        *e = *m->error;
        text_format(e->effect, sizeof e->effect, "task %u of stage %u (%s) failed%s",
                    active_partition(a, number, m->task), number, a->stages[number].name,
                    again ? " in all attempts" : "");
    }
    return e->code;
}

void driver_on_message(struct driver *d, uint32_t executor, struct message *m)
{
    struct active *a = d->active;
    uint32_t number = a != NULL ? m->stage - a->first_stage : 0;
    if (a != NULL && number < a->stage_count && m->task < a->stages[number].tasks) {
        int r = 0;
        if (m->type == MSG_DONE) r = on_done(d, executor, number, m);
        if (m->type == MSG_FAILED && m->error != NULL) r = on_failed(d, executor, number, m);
        if (r != 0) {
            a->over = true;
            sched_stop(a->sched);
        }
        report_progress(d, number);
    }
    message_destroy(m);
}
