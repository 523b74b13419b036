/* Runs one action, from its plan to its last result: the driver's main loop. */
#include "engine/driver/driver_internal.h"
#include "engine/driver/event_log_listener.h"
#include "engine/input/input.h"

#include <assert.h>
#include <string.h>

/* Sends a task, and before it whatever the executor needs to run it. Messages to one executor
 * arrive in order. */
static int send_task(struct driver *d, const struct task_attempt *run)
{
    struct action_run *a = d->action_run;
    assert(run->stage < a->stage_count && run->executor < d->executor_count);
    struct stage_run *stage = &a->stages[run->stage];
    assert(run->task < stage->tasks);
    int r = !stage->started ? stage_run_start(d, run->stage) : 0;
    if (r == 0) r = send_task_dependencies(d, run->executor, run->stage);
    if (r != 0) return r;
    struct message *m = message_create(MSG_TASK);
    if (m == NULL) return error_no_memory(driver_error(d));
    m->stage = a->first_stage + run->stage;
    m->task = run->task;
    m->attempt = run->attempt;
    m->partition = stage_run_partition(a, run->stage, run->task);
    struct glint_rdd *top = stage->shuffle != NULL ? stage->shuffle->parents[0] : a->action->rdd;
    r = rdd_encode_partition_splits(d->g, top, m->partition, &m->body);
    if (r != 0) {
        message_destroy(m);
        return r;
    }
    return d->transport.send(d->transport.arg, run->executor, m, driver_error(d));
}

static int dispatch_tasks(struct driver *d)
{
    struct sched *s = d->action_run->sched;
    struct task_attempt run;
    while (sched_next_task(s, d->env->now_ns(d->env), &run)) {
        int r = send_task(d, &run);
        if (r == 0) continue;
        /* It was not sent, so no outcome will arrive: without this the end of the action would wait
         * for it. */
        sched_on_task_failed(s, run.executor, run.stage, run.task, run.attempt, SCHED_FATAL_ERROR,
                             d->env->now_ns(d->env));
        return r;
    }
    /* No task can be started, so free slots can only get tasks that are queued elsewhere. */
    return sched_revoke_queued(s, &run) ? send_kill(d, &run, KILL_IF_QUEUED) : 0;
}

/* ---- The action */

void driver_check_interrupt_or_timeout(struct driver *d)
{
    int code = atomic_load(&d->interrupt);
    if (code != 0) error_set(driver_error(d), (enum glint_code)code, NULL, "the job was cancelled");
    if (d->deadline_ns != 0 && d->env->now_ns(d->env) >= d->deadline_ns)
        error_set(driver_error(d), GLINT_E_TIMEOUT, "raise --timeout",
                  "the job exceeded its --timeout");
}

static bool action_is_done(const struct action_run *a)
{
    return a->stages[a->stage_count - 1].finished;
}

static int run_until_done(struct driver *d)
{
    struct action_run *a = d->action_run;
    int r = 0;
    for (;;) {
        driver_check_interrupt_or_timeout(d);
        if (r == 0) r = driver_error(d)->code;
        if (r == 0) r = a->on_result_code;
        if (r == 0) r = stage_runs_finish_done_stages(d);
        if (r == 0 && !action_is_done(a)) r = dispatch_tasks(d);
        if (r != 0 || action_is_done(a)) break;
        /* Wakes for progress, for speculation, and at the deadline. */
        uint64_t until = d->env->now_ns(d->env) + PROGRESS_TICK_NS;
        uint64_t wake = sched_next_wakeup_ns(a->sched);
        if (wake < until) until = wake;
        if (d->deadline_ns != 0 && d->deadline_ns < until) until = d->deadline_ns;
        d->transport.wait(d->transport.arg, d, until);
        event_log_listener_on_timer(d);
        stage_progress_report_all(d);
    }
    /* Also after success: superseded copies may still run. */
    int drained = drain_running_tasks(d);
    return r != 0 ? r : drained;
}

/* The outputs are complete, so later actions of the job can read them before they are published. */
static int complete_outputs(struct driver *d)
{
    struct action_run *a = d->action_run;
    int r = 0;
    for (uint32_t i = 0; i < a->commit_count && r == 0; i++)
        r = a->action->publish ? job_outputs_publish(d, a->commits[i])
                               : commit_complete_output(a->commits[i], driver_error(d));
    for (uint32_t i = 0; i < a->commit_count && r == 0 && !a->action->publish; i++) {
        const struct commit *c = a->commits[i];
        const struct saved_output saved = {.path = c->out, .directory = c->parts};
        r = context_add_saved_output(d->g, &saved);
    }
    return r;
}

static int run_stages(struct driver *d)
{
    struct action_run *a = d->action_run;
    int r = send_small_broadcasts(d); /* first: they travel while the stages are built */
    if (r == 0) r = stage_runs_build(d);
    if (r == 0) r = stage_runs_schedule(d);
    event_log_listener_on_action_start(d);
    /* Outputs that were lost between actions, or that no stage of the last action needed. */
    if (r == 0) results_retry_lost_map_outputs(d, NULL);
    if (r == 0) r = send_output_stage(d);
    if (r == 0) r = run_until_done(d);
    stage_runs_record_unfinished(d);
    if (a->sched != NULL) send_stage_release(d);
    return r == 0 ? complete_outputs(d) : r;
}

/* Finds out what the stages need and only a run can show: the range bounds of a sort, the first
 * index of each partition. A preparation can run an action of its own, whose map outputs this one
 * then reuses. */
static int prepare_action(const struct action *action)
{
    struct glint_rdd **shuffles = NULL;
    uint32_t count = 0;
    int r = plan_needed_shuffles(action->rdd, false, &shuffles, &count);
    for (uint32_t i = 0; i < count && r == 0; i++)
        if (!shuffles[i]->shuffled) r = rdd_prepare_stage(shuffles[i]);
    mem_free(shuffles);
    if (r != 0 || rdd_is_shuffle(action->rdd)) return r;
    return rdd_prepare_stage(action->rdd);
}

int driver_run_action(struct runner *runner, const struct action *action)
{
    struct driver *d = (struct driver *)runner;
    struct glint *g = d->g;
    if (d->action_run != NULL) /* called from on_result: the driver has one action at a time */
        return error_set(&g->error, GLINT_E_PLAN_LIMIT, "collect first, then run the next action",
                         "%s runs inside another action's callback", action->op->name);
    if (rdd_partition_count(action->rdd) == 0 && context_failed(g)) return g->error.code;
    if (g->config.explain && explain_start_action(d, action) != 0) return g->error.code;
    const bool skipped =
        rdd_is_explain_only(action->rdd) || (g->config.explain && action->output_count > 0);
    struct action_run a = {.action = action, .commit_count = skipped ? 0 : action->output_count};
    int r = 0;
    /* Outputs are opened and checked before anything runs, so that a bad path fails early. */
    for (uint32_t i = 0; i < a.commit_count && r == 0; i++)
        r = job_outputs_open(d, action->outputs[i], &a.commits[i]);
    if (r == 0) r = job_outputs_check_inputs(d);
    if (r == 0) r = prepare_action(action);
    if (r == 0 && g->config.explain) r = explain_action(d, action, skipped);
    if (r != 0) job_outputs_fail(&a);
    if (r != 0 || skipped) return r;
    a.number = d->next_action++;
    a.bad_rows_before = job_metrics_counter_value(&d->metrics, "bad rows");
    d->action_run = &a;
    r = run_stages(d);
    if (r == 0) r = accumulators_merge(&d->accumulators, g);
    if (r != 0) job_outputs_fail(&a);
    if (r != 0) g->aborted = false; /* for explain: the error is about real rows, not empty ones */
    stage_progress_report_action_end(d);
    event_log_listener_on_action_end(d);
    executors_finish_action(d);
    d->action_run = NULL;
    if (r == 0 && d->transport.local && g->running == 1) stage_runs_cut_lineage(&a);
    stage_runs_fini(&a);
    sched_destroy(a.sched);
    return r;
}
