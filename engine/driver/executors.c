/* The driver's table of executors: additions, drains, losses, and what each has been sent. */
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"

#include <assert.h>
#include <string.h>

/* ---- When attempts ran. A message that waited, in the network or for the driver, says
 * less than one that did not: of all offsets that messages allow, the smallest counts. */

bool executor_clock_init(struct executor_clock *c, uint32_t slots)
{
    assert(slots > 0);
    *c = (struct executor_clock){.slots = slots};
    c->ends_ns = mem_zalloc(sizeof *c->ends_ns * slots);
    return c->ends_ns != NULL;
}

void executor_clock_fini(struct executor_clock *c)
{
    mem_free(c->ends_ns);
    *c = (struct executor_clock){.slots = 0};
}

/* Modulo 2^64: less than 2^63 after it. */
static bool is_later_modulo(uint64_t a, uint64_t b)
{
    return a != b && a - b < UINT64_MAX / 2;
}

static uint64_t clamp_ns(uint64_t ns, uint64_t min, uint64_t max)
{
    assert(min <= max);
    return ns < min ? min : ns > max ? max : ns;
}

struct attempt_times executor_clock_convert(struct executor_clock *c, const struct message *m,
                                            uint64_t sent_ns, uint64_t now_ns)
{
    const uint64_t ended_ns = m->start_ns + m->run_ns;
    uint64_t earliest_ns = sent_ns, *last_end_ns = NULL;
    struct attempt_times t;
    assert(sent_ns <= now_ns);
    if (!c->known || is_later_modulo(ended_ns + c->offset_ns, now_ns))
        c->offset_ns = now_ns - ended_ns;
    if (is_later_modulo(sent_ns, m->start_ns + c->offset_ns)) c->offset_ns = sent_ns - m->start_ns;
    c->known = true;
    if (m->slot < c->slots) last_end_ns = &c->ends_ns[m->slot];
    if (last_end_ns != NULL && *last_end_ns > earliest_ns) earliest_ns = *last_end_ns;
    t.start_ns = clamp_ns(m->start_ns + c->offset_ns, earliest_ns, now_ns);
    t.end_ns = clamp_ns(ended_ns + c->offset_ns, t.start_ns, now_ns);
    if (last_end_ns != NULL) *last_end_ns = t.end_ns;
    return t;
}

/* ---- The table */

void executor_states_finish_action(struct driver *d)
{
    for (uint32_t e = 0; e < d->executor_count; e++) {
        mem_free(d->executors[e].plan_sent);
        mem_free(d->executors[e].map_outputs_epoch_sent);
        d->executors[e].plan_sent = NULL;
        d->executors[e].map_outputs_epoch_sent = NULL;
    }
}

void executors_fini(struct driver *d)
{
    executor_states_finish_action(d);
    for (uint32_t e = 0; e < d->executor_count; e++) executor_clock_fini(&d->executors[e].clock);
    mem_free(d->executors);
}

static bool executor_state_start_action(struct executor_state *e, uint32_t stage_count)
{
    assert(e->plan_sent == NULL && e->map_outputs_epoch_sent == NULL);
    if (e->lost) return true;
    /* Each action has a new scheduler, which knows nothing of earlier failures. */
    e->excluded_for_failures = e->has_lost_outputs = e->excluded_unreachable = false;
    e->cannot_write = false;
    e->plan_sent = mem_zalloc(sizeof *e->plan_sent * stage_count);
    e->map_outputs_epoch_sent = mem_zalloc(sizeof *e->map_outputs_epoch_sent * stage_count);
    return e->plan_sent != NULL && e->map_outputs_epoch_sent != NULL;
}

bool executor_states_start_action(struct driver *d, uint32_t stage_count)
{
    assert(stage_count > 0);
    for (uint32_t e = 0; e < d->executor_count; e++)
        if (!executor_state_start_action(&d->executors[e], stage_count)) return false;
    return true;
}

void executor_describe(const struct driver *d, uint32_t executor, char *out, size_t capacity)
{
    assert(executor < d->executor_count && capacity > 0);
    out[0] = '\0';
    if (d->g->config.cluster != NULL)
        text_format(out, capacity, " on %s (%s)", d->executors[executor].name,
                    d->executors[executor].host);
}

/* ---- Events */

static struct executor_state *executor_state_add(struct driver *d, const struct executor_info *info)
{
    assert(info->slots > 0 && d->executor_count < EXECUTORS_MAX);
    if (!array_reserve(&d->executors, &d->executor_capacity, d->executor_count + 1,
                       sizeof *d->executors))
        return NULL;
    struct executor_state *m = &d->executors[d->executor_count];
    *m = (struct executor_state){.slots = info->slots, .node = d->executor_count};
    if (!executor_clock_init(&m->clock, info->slots)) return NULL;
    text_format(m->name, sizeof m->name, "%s", info->name);
    text_format(m->host, sizeof m->host, "%s", info->host);
    /* A restarted executor gets a new number, but keeps its node, so that a task which failed there
     * avoids it. */
    for (uint32_t e = 0; e < d->executor_count; e++) {
        const struct executor_state *old = &d->executors[e];
        if (strcmp(old->host, m->host) != 0 || strcmp(old->name, m->name) != 0) continue;
        m->node = old->node;
        break;
    }
    d->executor_count++;
    return m;
}

int driver_on_executor_added(struct driver *d, const struct executor_info *info)
{
    struct action_run *a = d->action_run;
    struct executor_state *m = executor_state_add(d, info);
    bool ok = m != NULL;
    /* It joins the running action at once; otherwise executor_states_start_action includes it
     * later. */
    if (ok && a != NULL && a->sched != NULL)
        ok = executor_state_start_action(m, a->stage_count) &&
             sched_add_executor(a->sched, m->node, m->slots, sched_prefetch_limit(m->slots));
    if (ok)
        event_log_listener_on_executor_state(d, d->executor_count - 1, EXECUTOR_STATE_JOINED, NULL);
    if (!ok) return error_no_memory(driver_error(d));
    return a != NULL && a->sched != NULL ? send_output_stage(d) : 0;
}

void driver_on_executor_draining(struct driver *d, uint32_t executor)
{
    assert(executor < d->executor_count);
    d->executors[executor].draining = true;
    event_log_listener_on_executor_state(d, executor, EXECUTOR_STATE_DRAINING, NULL);
    if (d->action_run != NULL && d->action_run->sched != NULL)
        sched_on_executor_draining(d->action_run->sched, executor);
}

void driver_on_executor_suspect(struct driver *d, uint32_t executor, bool suspect)
{
    struct executor_state *m = &d->executors[executor];
    assert(executor < d->executor_count && !m->lost);
    if (m->suspect == suspect) return;
    m->suspect = suspect;
    glint_note(d->g, "executor %s (%s) is %s", m->name, m->host,
               suspect ? "suspect (no heartbeat): no new tasks" : "alive again");
    if (d->action_run != NULL && d->action_run->sched != NULL)
        sched_on_executor_suspect(d->action_run->sched, executor, suspect);
}

void executors_update_excluded(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    const struct executor_state *m = &d->executors[executor];
    /* Exclusion is per node, so the flag of the node's first executor is the node's. */
    bool *reported = &d->executors[m->node].excluded_for_failures,
         now = sched_is_excluded_for_failures(d->action_run->sched, executor);
    if (now && !*reported) {
        glint_note(
            d->g,
            "executor %s (%s) excluded: the last %u tasks on it failed, the last one with: %s",
            m->name, m->host, SCHED_NODE_FAILURES_MAX, why->cause);
        event_log_listener_on_executor_state(d, executor, EXECUTOR_STATE_EXCLUDED, why);
    }
    *reported = now;
}

/* Adds to the cause the task that ran there, or else the last one that finished. As far as the
 * driver knows: a queued task may have started since. */
static struct glint_error describe_lost_executor(const struct driver *d, uint32_t executor,
                                                 const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    const struct executor_state *m = &d->executors[executor];
    struct glint_error described = *why;
    struct task_attempt run;
    uint32_t at = 0;
    bool ran = false;
    while (!ran && a != NULL && a->sched != NULL &&
           sched_each_attempt_on(a->sched, executor, &at, &run))
        ran = !run.queued;
    if (ran)
        text_format(described.cause, sizeof described.cause, "%s; it ran task %u (attempt %u)",
                    why->cause, stage_run_partition(a, run.stage, run.task), run.attempt);
    else if (m->has_done)
        text_format(described.cause, sizeof described.cause,
                    "%s; its last task was %u (attempt %u)", why->cause, m->done_partition,
                    m->done_attempt);
    return described;
}

/* Tells the user why the executor was lost, and how much work must be done again. */
static void note_executor_loss(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    const struct executor_state *m = &d->executors[executor];
    uint32_t running = a != NULL && a->sched != NULL ? sched_busy_slots_on(a->sched, executor) : 0;
    uint32_t map_outputs = 0;
    /* Of all shuffles of the job, though only those that a later stage reads are made again. */
    for (const struct map_outputs *o = d->map_outputs; o != NULL; o = o->next)
        for (uint32_t i = 0; i < o->maps; i++)
            map_outputs += o->available[i] && o->locations[i].executor == executor;
    glint_note(d->g,
               "executor %s (%s) lost: %s; %u running task%s and %u map output%s to recompute",
               m->name, m->host, why->cause[0] != '\0' ? why->cause : "unknown cause", running,
               running == 1 ? "" : "s", map_outputs, map_outputs == 1 ? "" : "s");
}

/* In case this loss ends the action: see results_set_error_of_failed_sched. */
static void remember_last_loss(struct driver *d, uint32_t executor, const struct glint_error *why)
{
    struct glint_error *last = &d->action_run->last_error;
    char where[2 * NAME_BYTES_MAX];
    *last = *why;
    executor_describe(d, executor, where, sizeof where);
    text_format(last->effect, sizeof last->effect, "the last attempt of a task was lost%s", where);
}

/* Also if the output is lost by now: an attempt may still be reading it. */
static bool stage_reads_from_executor(const struct action_run *a, uint32_t stage, uint32_t executor)
{
    for (uint32_t i = 0; i < a->stages[stage].parent_count; i++) {
        const struct map_outputs *o = a->stages[a->stages[stage].parents[i]].map_outputs;
        for (uint32_t m = 0; o != NULL && m < o->maps; m++)
            if (o->locations[m].executor == executor) return true;
    }
    return false;
}

/* Tasks that fetch from a process that ended see a closed connection. From one that only stopped
 * responding they would wait for the fetch timeout. So kill them: the kill counts as no failure,
 * and they run again once the map outputs they read are available again. */
int kill_readers_of_executor(struct driver *d, uint32_t executor)
{
    const struct action_run *a = d->action_run;
    struct task_attempt run;
    int r = 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++)
        for (uint32_t at = 0; r == 0 && sched_each_attempt_on(a->sched, e, &at, &run);)
            if (!run.superseded && stage_reads_from_executor(a, run.stage, executor))
                r = send_kill_task(d, &run, KILL_ALWAYS);
    return r;
}

/* Reports the loss to the scheduler and records the retries. The list of running attempts is read
 * before, since the scheduler then drops them; whether a task is retried is known only after. */
static void update_sched_on_loss(struct driver *d, uint32_t executor,
                                 enum executor_loss_reason loss, const struct glint_error *why)
{
    const struct action_run *a = d->action_run;
    struct task_attempt runs[SLOTS_MAX], run;
    uint32_t count = 0;
    for (uint32_t at = 0; sched_each_attempt_on(a->sched, executor, &at, &run);)
        if (!run.queued && !run.superseded && count < SLOTS_MAX) runs[count++] = run;
    sched_on_executor_lost(a->sched, executor, loss == LOSS_SIGNALED, loss != LOSS_DRAINED);
    for (uint32_t i = 0; i < count; i++) results_retry_task(d, &runs[i], why);
    results_retry_lost_map_outputs(d, why);
}

void driver_on_executor_lost(struct driver *d, uint32_t executor, enum executor_loss_reason loss,
                             const struct glint_error *why)
{
    struct action_run *a = d->action_run;
    assert(executor < d->executor_count && !d->executors[executor].lost);
    const struct glint_error described = describe_lost_executor(d, executor, why);
    why = &described;
    if (loss != LOSS_DRAINED) note_executor_loss(d, executor, why);
    event_log_listener_on_executor_state(d, executor, EXECUTOR_STATE_LOST, why);
    event_log_listener_on_executor_lost(d, executor, why);
    d->executors[executor].lost = true;
    if (loss != LOSS_DRAINED) d->losses++;
    /* First, so that the retries below include the lost outputs. */
    map_outputs_remove_executor(d->map_outputs, executor);
    cached_rdds_remove_executor(&d->cached, executor);
    d->cached_changes += d->cached.count > 0;
    if (a != NULL && a->sched != NULL) {
        /* Before the scheduler's status is checked, which reports last_error. */
        if (loss != LOSS_DRAINED) remember_last_loss(d, executor, why);
        update_sched_on_loss(d, executor, loss, why);
        executors_update_excluded(d, executor, why);
        if (!a->over && results_set_error_of_failed_sched(d) != 0) {
            a->over = true;
            sched_stop(a->sched);
        }
        fetch_failures_on_executor_lost(d, executor);
        /* After a signal or a drain its process has ended: readers see that. */
        if (!a->over && loss == LOSS_CONNECTION) kill_readers_of_executor(d, executor);
    }
    /* The scheduler counts the losses of one action, the driver those of the job. */
    if (d->losses > EXECUTOR_FAILURES_MAX)
        error_set(driver_error(d), GLINT_E_TOO_MANY_EXECUTOR_FAILURES, "see the executors' logs",
                  "%u executors were lost; the last one, %s: %s", d->losses,
                  d->executors[executor].name, why->cause);
}

void driver_on_counter_increment(struct driver *d, const char *name, int64_t by)
{
    assert(by >= 0);
    counters_add(&d->metrics.counters, name, by, driver_error(d));
}

void driver_on_no_executors(struct driver *d, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    if (driver_error(d)->code == GLINT_OK) *driver_error(d) = *why; /* the first error is kept */
}

void driver_on_cancel_requested(struct driver *d)
{
    driver_interrupt(d, GLINT_E_CANCELLED);
}
