/* Fetch failures: decides which map outputs are made again, and which executors are excluded.
 *
 * An output that is damaged or missing is made again. If its holder does not respond, either the
 * holder or the reader may be cut off from the others. So no output is given up at first: the task
 * is retried on a third executor, and its success or failure shows which one is at fault
 * (reachability.h). That one is then excluded: its attempts are killed, and its map outputs are
 * made again by others. */
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"
#include "engine/driver/event_log_listener.h"

#include <assert.h>
#include <string.h>

/* Failures older than this are dropped when an action starts, since networks recover. Within an
 * action they are kept: a retry on an executor that is still at fault would cost an attempt. */
#define UNREACHABLE_EXPIRY_NS (60 * SECOND_NS)

uint64_t fetch_failures_attempt_start_ns(const struct driver *d, uint32_t executor, uint32_t stage,
                                         const struct message *m)
{
    struct task_attempt run;
    for (uint32_t at = 0; sched_each_attempt_on(d->action_run->sched, executor, &at, &run);)
        if (run.stage == stage && run.task == m->task && run.attempt == m->attempt)
            return run.start_ns;
    return 0;
}

/* ---- Outputs */

static void mark_output_lost(struct driver *d, uint32_t stage, uint32_t map)
{
    struct action_run *a = d->action_run;
    struct map_output_location location = a->stages[stage].map_outputs->locations[map];
    map_outputs_remove(a->stages[stage].map_outputs, map, location);
    sched_on_map_output_lost(a->sched, stage, map, location.executor, location.attempt);
}

/* Marks one map output lost. If the executor did not respond, or has lost one before, all outputs
 * of the shuffle on it: finding out one by one would cost a failed attempt each, and after
 * STAGE_ATTEMPTS_MAX of them in a row the stage fails. */
static void mark_outputs_lost(struct driver *d, uint32_t stage, const struct fetch_failure *f,
                              const struct glint_error *why)
{
    const struct map_outputs *o = d->action_run->stages[stage].map_outputs;
    bool all = f->unreachable || d->executors[f->executor].has_lost_outputs;
    d->executors[f->executor].has_lost_outputs = true;
    for (uint32_t map = 0; map < o->maps; map++) {
        struct map_output_location location = o->locations[map];
        /* A stale report: the output has been made again since. */
        if (map == f->map ? location.attempt != f->attempt : !all) continue;
        if (location.executor == f->executor && o->available[map]) mark_output_lost(d, stage, map);
    }
    results_retry_lost_map_outputs(d, why);
}

static void mark_shuffle_outputs_lost(struct driver *d, const struct fetch_failure *f,
                                      const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct map_outputs *o = a->stages[i].map_outputs;
        if (o != NULL && o->shuffle == f->shuffle && f->map < o->maps)
            mark_outputs_lost(d, i, f, why);
    }
}

/* All map outputs of the running action on the executor. Returns their number. */
static uint32_t mark_executor_outputs_lost(struct driver *d, uint32_t executor,
                                           const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct map_outputs *o = a->stages[i].map_outputs;
        for (uint32_t map = 0; o != NULL && map < o->maps; map++) {
            if (!o->available[map] || o->locations[map].executor != executor) continue;
            mark_output_lost(d, i, map);
            count++;
        }
    }
    results_retry_lost_map_outputs(d, why);
    return count;
}

/* ---- Executors */

/* Kills the executor's attempts: they cannot fetch their input, or no other executor could fetch
 * their output. */
static int kill_attempts_on(struct driver *d, uint32_t executor)
{
    struct task_attempt run;
    int r = 0;
    for (uint32_t at = 0;
         r == 0 && sched_each_attempt_on(d->action_run->sched, executor, &at, &run);)
        if (!run.superseded) r = send_kill(d, &run, KILL_ALWAYS);
    return r;
}

static int exclude_executor(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    struct executor_state *m = &d->executors[executor];
    uint32_t map_outputs = mark_executor_outputs_lost(d, executor, why);
    if (!m->exclusion_reported)
        glint_note(d->g,
                   "executor %s (%s) excluded: fetches between it and other executors fail "
                   "(last failure: %s); %u map output%s to recompute",
                   m->name, m->host, why->cause, map_outputs, map_outputs == 1 ? "" : "s");
    m->exclusion_reported = true;
    event_log_listener_on_executor_state(d, executor, EXECUTOR_STATE_EXCLUDED, why);
    int r = kill_attempts_on(d, executor);
    /* Attempts elsewhere would wait for the fetch timeout. */
    return r == 0 ? kill_readers_of_executor(d, executor) : r;
}

/* Excludes the executors that are at fault now, and readmits those that no longer are: a new
 * failure can shift the fault to another executor. `why`: the last failure. */
static int update_excluded(struct driver *d, const struct glint_error *why)
{
    int r = 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++) {
        struct executor_state *m = &d->executors[e];
        bool now = !m->lost && reachability_is_at_fault(&d->reachability, e);
        if (now == m->excluded_unreachable) continue;
        m->excluded_unreachable = now;
        sched_set_executor_excluded(d->action_run->sched, e, now);
        if (now) r = exclude_executor(d, e, why);
    }
    return r;
}

/* The task's next attempt prefers an executor on a third node. Starting at the task's number
 * spreads the retries over all of them. False: no such executor. */
static bool avoid_both_nodes(struct driver *d, uint32_t stage, uint32_t task, uint32_t reader,
                             uint32_t holder)
{
    for (uint32_t i = 0; i < d->executor_count; i++) {
        uint32_t e = (task + i) % d->executor_count;
        const struct executor_state *m = &d->executors[e];
        if (m->lost || m->draining || m->suspect || m->excluded_unreachable) continue;
        if (m->node == d->executors[reader].node || m->node == d->executors[holder].node) continue;
        sched_set_preferred_executor(d->action_run->sched, stage, task, e);
        return true;
    }
    return false;
}

/* ---- Events */

static int on_executor_unreachable(struct driver *d, uint32_t reader, uint32_t stage, uint32_t task,
                                   const struct fetch_failure *f, const struct glint_error *why,
                                   uint64_t start_ns)
{
    enum reachability_update update = reachability_record_failure(
        &d->reachability, d->executor_count, reader, f->executor, start_ns, d->env->now_ns(d->env));
    int r = update_excluded(d, why);
    if (r != 0 || d->executors[reader].excluded_unreachable ||
        d->executors[f->executor].excluded_unreachable)
        return r;
    /* Not decided yet. Without a third node, or without room to record the pair, it never would be:
     * then make the outputs again, so that the job can go on. */
    bool third = avoid_both_nodes(d, stage, task, reader, f->executor);
    if (!third || update == REACHABILITY_FULL) mark_shuffle_outputs_lost(d, f, why);
    return 0;
}

int fetch_failures_on_task_failed(struct driver *d, uint32_t executor, uint32_t stage,
                                  const struct message *m, uint64_t start_ns)
{
    struct fetch_failure f;
    struct glint_error ignored = {.code = GLINT_OK};
    if (fetch_failure_decode((struct glint_slice){m->body.data, m->body.size}, &f, &ignored) != 0)
        return 0;
    /* A lost executor's outputs have been marked lost already. */
    if (f.executor >= d->executor_count || d->executors[f.executor].lost) return 0;
    if (f.unreachable && f.executor != executor)
        return on_executor_unreachable(d, executor, stage, m->task, &f, m->error, start_ns);
    mark_shuffle_outputs_lost(d, &f, m->error);
    return 0;
}

int fetch_failures_on_action_start(struct driver *d)
{
    struct glint_error why = {.code = GLINT_OK};
    uint64_t now = d->env->now_ns(d->env);
    reachability_expire_before(&d->reachability,
                               now > UNREACHABLE_EXPIRY_NS ? now - UNREACHABLE_EXPIRY_NS : 0);
    if (d->action_run->stage_count == 1) return 0; /* its tasks read no map outputs */
    error_set(&why, GLINT_E_FETCH_FAILED, NULL, "a fetch in the previous action");
    return update_excluded(d, &why);
}

void fetch_failures_on_executor_lost(struct driver *d, uint32_t executor)
{
    const struct action_run *a = d->action_run;
    struct glint_error why = {.code = GLINT_OK};
    assert(d->executors[executor].lost);
    reachability_remove_executor(&d->reachability, executor);
    if (a == NULL || a->sched == NULL || a->over) return;
    error_set(&why, GLINT_E_FETCH_FAILED, NULL, "with executors other than %s, which is lost",
              d->executors[executor].name);
    update_excluded(d, &why);
}
