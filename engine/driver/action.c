/* One action from its plan to its last result. */
#include "engine/data/input.h"
#include "engine/driver/internal.h"
#include "engine/driver/journal.h"

#include <assert.h>
#include <string.h>

static int send_task(struct driver *d, const struct sched_run *run)
{
    struct active *a = d->active;
    assert(run->stage < a->stage_count && run->executor < d->member_count);
    struct active_stage *stage = &a->stages[run->stage];
    assert(run->task < stage->tasks);
    int r = !stage->begun ? stage_begin(d, run->stage) : 0;
    if (r == 0) r = announce_for_task(d, run->executor, run->stage);
    if (r != 0) return r;
    struct message *m = message_create(MSG_TASK);
    if (m == NULL) return error_no_memory(driver_error(d));
    m->stage = a->first_stage + run->stage;
    m->task = run->task;
    m->attempt = run->attempt;
    m->partition = active_partition(a, run->stage, run->task);
    struct glint_rdd *top = stage->wide != NULL ? stage->wide->parents[0] : a->action->rdd;
    r = stage_splits(d->g, top, m->partition, &m->body);
    if (r != 0) {
        message_destroy(m);
        return r;
    }
    return d->transport.send(d->transport.arg, run->executor, m, driver_error(d));
}

static int dispatch(struct driver *d)
{
    struct sched *s = d->active->sched;
    struct sched_run run;
    while (sched_next(s, d->env->now_ns(d->env), &run)) {
        int r = send_task(d, &run);
        if (r == 0) continue;
        sched_on_failed(s, run.executor, run.stage, run.task, run.attempt, SCHED_FATAL,
                        d->env->now_ns(d->env));
        return r;
    }
    return sched_recall(s, &run) ? announce_kill(d, &run, KILL_QUEUED) : 0;
}

/* ---- The action */

void driver_check_clock(struct driver *d)
{
    int code = atomic_load(&d->interrupt);
    if (code != 0) error_set(driver_error(d), (enum glint_code)code, NULL, "the job was cancelled");
    if (d->deadline_ns != 0 && d->env->now_ns(d->env) >= d->deadline_ns)
        error_set(driver_error(d), GLINT_E_TIMEOUT, "raise --timeout",
                  "the job did not end within its --timeout");
}

static bool active_done(const struct active *a)
{
    return a->stages[a->stage_count - 1].ended;
}

static int run_tasks(struct driver *d)
{
    struct active *a = d->active;
    int r = 0;
    for (;;) {
        driver_check_clock(d);
        if (r == 0) r = driver_error(d)->code;
        if (r == 0) r = a->answer;
        if (r == 0) r = stages_end(d);
        if (r == 0 && !active_done(a)) r = dispatch(d);
        if (r != 0 || active_done(a)) break;
        uint64_t until = d->env->now_ns(d->env) + PROGRESS_TICK_NS;
        uint64_t wake = sched_wake_ns(a->sched);
        if (wake < until) until = wake;
        if (d->deadline_ns != 0 && d->deadline_ns < until) until = d->deadline_ns;
        d->transport.wait(d->transport.arg, d, until);
        journal_tick(d);
        results_report_tick(d);
    }
    int drained = drain_tasks(d);
    return r != 0 ? r : drained;
}

/* From here on a later step of the job can read it. */
static int complete(struct driver *d, struct commit *c)
{
    const struct saved_output saved = {.path = c->out, .directory = c->parts};
    int r = commit_complete(c, driver_error(d));
    return r == 0 ? context_add_saved(d->g, &saved) : r;
}

static int run_active(struct driver *d)
{
    struct active *a = d->active;
    int r = announce_values(d);
    if (r == 0) r = stages_build(d);
    if (r == 0) r = stages_schedule(d);
    journal_action(d);
    if (r == 0) results_retry_lost(d, NULL);
    if (r == 0) r = run_tasks(d);
    stages_close(d);
    if (a->sched != NULL) announce_forget(d);
    for (uint32_t i = 0; i < a->commit_count && r == 0; i++) r = complete(d, a->commits[i]);
    return r;
}

/* What only running can tell, before the stages are cut: the bounds of sorts, the first indexes of
 * partitions. Each preparation may itself run an action, whose shuffles then exist. */
static int prepare(const struct action *action)
{
    struct glint_rdd **wides = NULL;
    uint32_t count = 0;
    int r = plan_shuffles(action->rdd, false, &wides, &count);
    for (uint32_t i = 0; i < count && r == 0; i++)
        if (!wides[i]->shuffled) r = stage_prepare(wides[i]);
    mem_free(wides);
    if (r != 0 || action->rdd->op->kind == OP_WIDE) return r;
    return stage_prepare(action->rdd);
}

int driver_run(struct runner *runner, const struct action *action)
{
    struct driver *d = (struct driver *)runner;
    struct glint *g = d->g;
    if (d->active != NULL)
        return error_set(&g->error, GLINT_E_PLAN_LIMIT, "collect first, then run the next action",
                         "%s runs inside another action's callback", action->op->name);
    if (rdd_partitions(action->rdd) == 0 && context_failed(g)) return g->error.code;
    if (g->config.explain && explain_begin(d, action) != 0) return g->error.code;
    const bool unrun = rdd_unrun(action->rdd) || (g->config.explain && action->output_count > 0);
    struct active a = {.action = action, .commit_count = unrun ? 0 : action->output_count};
    int r = 0;
    for (uint32_t i = 0; i < a.commit_count && r == 0; i++)
        r = commits_open(d, action->outputs[i], &a.commits[i]);
    if (r == 0) r = commits_check_inputs(d);
    if (r == 0) r = prepare(action);
    if (r == 0 && g->config.explain) r = explain_action(d, action, unrun);
    if (r != 0 || unrun) return r;
    a.number = d->next_action++;
    a.bad_rows_before = tally_value(&d->tally, "bad rows");
    d->active = &a;
    r = run_active(d);
    if (r != 0) g->aborted = false; /* for explain: its error is about rows that were there */
    results_report_end(d);
    journal_action_end(d);
    members_end(d);
    d->active = NULL;
    stages_fini(&a);
    sched_destroy(a.sched);
    return r;
}
