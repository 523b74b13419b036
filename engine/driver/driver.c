/* Creates and destroys the driver, and ends the job: publishes its outputs, or removes them after
 * an error (commit.c). Runs actions. */
#include "engine/driver/driver.h"

#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"
#include "engine/driver/stage_session.h"
#include "engine/input/input.h"
#include "engine/net/cluster.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

void driver_check_interrupt_or_timeout(struct driver *d)
{
    int code = atomic_load(&d->interrupt);
    if (code != 0) error_set(driver_error(d), (enum glint_code)code, NULL, "the job was cancelled");
    if (d->deadline_ns != 0 && d->env->now_ns(d->env) >= d->deadline_ns)
        error_set(driver_error(d), GLINT_E_TIMEOUT, "raise --timeout",
                  "the job exceeded its --timeout");
}

/* ---- Messages to executors, other than tasks. Broadcasts, stage plans and map output locations
 * are sent once to each executor, before the first task that needs them; small broadcasts, CANCEL
 * and RELEASE are sent to all executors. */

static int send_message_to_executor(struct driver *d, uint32_t executor, struct message *m)
{
    assert(!d->executors[executor].lost);
    return d->transport.send(d->transport.arg, executor, m, driver_error(d));
}

/* Sends a copy of `like`. A borrowed body is not copied: it lives as long as the job. */
static int send_message_copy(struct driver *d, uint32_t executor, const struct message *like)
{
    struct message *m = message_create(like->type);
    if (m == NULL) return error_no_memory(driver_error(d));
    *m = *like;
    if (!like->body_borrowed) m->body = (struct buffer){NULL, 0, 0};
    if (!like->body_borrowed && !buffer_append(&m->body, like->body.data, like->body.size)) {
        message_destroy(m);
        return error_no_memory(driver_error(d));
    }
    return send_message_to_executor(d, executor, m);
}

/* Sends all broadcasts with an id above the last one sent. */
static int send_broadcasts(struct driver *d, uint32_t executor)
{
    uint64_t sent = d->executors[executor].last_broadcast_sent, last = sent;
    for (struct glint_broadcast *b = d->g->broadcasts; b != NULL && b->id > sent; b = b->next) {
        struct message like = {.type = MSG_BROADCAST,
                               .id = b->id,
                               .body = {b->data, b->size, b->size},
                               .body_borrowed = true};
        int r = send_message_copy(d, executor, &like);
        if (r != 0) return r;
        if (b->id > last) last = b->id;
    }
    assert(last >= sent);
    d->executors[executor].last_broadcast_sent = last;
    return 0;
}

/* last_broadcast_sent is a single id, so a small broadcast cannot be sent ahead of a large one. */
static bool has_unsent_large_broadcast(const struct driver *d, const struct executor_state *m)
{
    const struct glint_broadcast *b = d->g->broadcasts;
    while (b != NULL && b->id > m->last_broadcast_sent && b->size <= BROADCAST_PREFETCH_BYTES_MAX)
        b = b->next;
    return b != NULL && b->id > m->last_broadcast_sent;
}

/* Sends broadcasts of at most BROADCAST_PREFETCH_BYTES_MAX to all executors, so that they arrive
 * while the driver plans the action. */
static int send_small_broadcasts(struct driver *d)
{
    int r = 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++)
        if (!d->executors[e].lost && !has_unsent_large_broadcast(d, &d->executors[e]))
            r = send_broadcasts(d, e);
    return r;
}

/* Locations of a shuffle whose map tasks are all done: a stage is ready only then. */
static int send_map_outputs(struct driver *d, uint32_t executor, uint32_t number)
{
    const struct map_outputs *o = d->action_run->stages[number].map_outputs;
    assert(o != NULL && map_outputs_is_complete(o));
    struct message like = {.type = MSG_MAP_OUTPUTS, .id = o->shuffle};
    int r = map_outputs_encode(o->locations, o->maps, &like.body, driver_error(d));
    if (r == 0) r = send_message_copy(d, executor, &like);
    buffer_fini(&like.body);
    return r;
}

/* Once to each executor. */
static int send_stage(struct driver *d, uint32_t executor, uint32_t number)
{
    const struct action_run *a = d->action_run;
    bool *sent = &d->executors[executor].plan_sent[number];
    const struct message like = {
        .type = MSG_STAGE, .stage = stage_message_id(a, number), .body = a->stages[number].plan};
    int r = *sent ? 0 : send_message_copy(d, executor, &like);
    *sent = r == 0;
    return r;
}

int send_output_stage(struct driver *d)
{
    const struct action_run *a = d->action_run;
    int r = 0;
    if (a->commit_count == 0 || d->transport.local) return 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++)
        if (!d->executors[e].lost) r = send_stage(d, e, a->stage_count - 1);
    return r;
}

/* Sends what the executor needs for a task of the stage and does not have: broadcasts, the stage's
 * plan, the locations of the map outputs that it reads. */
static int send_task_dependencies(struct driver *d, uint32_t executor, uint32_t number)
{
    struct action_run *a = d->action_run;
    struct executor_state *m = &d->executors[executor];
    const struct stage_run *stage = &a->stages[number];
    assert(!m->lost && m->plan_sent != NULL);
    int r = send_broadcasts(d, executor);
    if (r == 0) r = send_stage(d, executor, number);
    /* Locations are sent again after a map output was lost and made again: the epoch differs. */
    for (uint32_t i = 0; i < stage->parent_count && r == 0; i++) {
        uint32_t parent = stage->parents[i], epoch = sched_map_output_epoch(a->sched, parent) + 1;
        if (m->map_outputs_epoch_sent[parent] == epoch) continue;
        r = send_map_outputs(d, executor, parent);
        if (r == 0) m->map_outputs_epoch_sent[parent] = epoch;
    }
    return r;
}

int send_kill_task(struct driver *d, const struct task_attempt *run, enum kill_mode which)
{
    struct message like = {.type = MSG_KILL,
                           .stage = stage_message_id(d->action_run, run->stage),
                           .task = run->task,
                           .attempt = run->attempt,
                           .id = which};
    return send_message_copy(d, run->executor, &like);
}

static int send_message_to_all(struct driver *d, const struct message *like)
{
    int r = 0;
    for (uint32_t e = 0; e < d->executor_count && r == 0; e++)
        if (!d->executors[e].lost) r = send_message_copy(d, e, like);
    return r;
}

/* To all executors: cancel all tasks, or (false) accept tasks again. */
static int send_cancel(struct driver *d, bool cancel)
{
    return send_message_to_all(d, &(struct message){.type = MSG_CANCEL, .id = cancel});
}

/* Executors free what enum free_kind says. Errors are ignored, as below. */
static void send_free_message(struct driver *d, enum free_kind kind, uint64_t id, uint32_t maps)
{
    struct glint_error before = *driver_error(d);
    const struct message like = {.type = MSG_FREE, .task = kind, .id = id, .partition = maps};
    for (uint32_t e = 0; e < d->executor_count; e++) {
        const struct executor_state *m = &d->executors[e];
        if (!m->lost && (kind != FREE_BROADCAST || m->last_broadcast_sent >= id))
            send_message_copy(d, e, &like);
    }
    *driver_error(d) = before;
}

/* Executors free the running action's stages. Errors are ignored: a stage whose message could not
 * be sent stays in the executor's memory until the job ends. */
static void send_stage_release(struct driver *d)
{
    const struct action_run *a = d->action_run;
    struct glint_error before = *driver_error(d); /* out of memory here is not the action's error */
    for (uint32_t e = 0; e < d->executor_count; e++) {
        if (d->executors[e].lost || d->executors[e].plan_sent == NULL) continue;
        for (uint32_t i = 0; i < a->stage_count; i++) {
            struct message m = {.type = MSG_RELEASE, .stage = a->first_stage + i};
            if (d->executors[e].plan_sent[i] || a->stages[i].replanned) send_message_copy(d, e, &m);
            m.stage = stage_message_id(a, i);
            if (a->stages[i].replanned) send_message_copy(d, e, &m);
        }
    }
    *driver_error(d) = before;
}

/* ---- The end of an action while tasks still run: the driver cancels them and waits for them.
 *
 * Tasks of a local job use the driver's memory, so while the job continues the driver waits for
 * them without a limit. Executors on other machines can be left behind: what they send later has
 * the id of a finished stage and is ignored. When the job must end, because of an error, a signal
 * or the timeout, tasks have GRACE_NS. A function that does not return in that time is abandoned:
 * the process exits without freeing what it may use (glint.stuck); on another machine the executor
 * exits without it. */

#define SUPERSEDED_GRACE_NS (SECOND_NS / 2) /* for superseded copies on other machines */
#define GRACE_NS            (5 * SECOND_NS)
#define NOTE_AFTER_NS       SECOND_NS /* until the user is told what the driver waits for */

/* "task 3 of stage 1 (textFile..map; functions words.split) on e1 (10.0.0.1) and 2 more" */
static void describe_running_tasks(const struct driver *d, char *out, size_t capacity)
{
    const struct action_run *a = d->action_run;
    struct task_attempt run, first = {.executor = SCHED_NONE};
    uint32_t count = 0;
    for (uint32_t e = 0; e < d->executor_count; e++)
        for (uint32_t at = 0; sched_each_attempt_on(a->sched, e, &at, &run);) {
            if (run.queued) continue;
            if (count++ == 0) first = run;
        }
    out[0] = '\0';
    if (count == 0) return;
    char where[2 * NAME_BYTES_MAX], others[32] = "";
    const struct stage_run *stage = &a->stages[first.stage];
    executor_describe(d, first.executor, where, sizeof where);
    if (count > 1) text_format(others, sizeof others, " and %u more", count - 1);
    text_format(out, capacity, "task %u of stage %u (%s%s%s)%s%s",
                stage_run_partition(a, first.stage, first.task), stage->number, stage->name,
                stage->functions[0] != '\0' ? "; functions " : "", stage->functions, where, others);
}

static void note_waiting_for_tasks(const struct driver *d, uint64_t left_ns)
{
    char what[4 * NAME_BYTES_MAX], end[96] = "";
    describe_running_tasks(d, what, sizeof what);
    if (left_ns != UINT64_MAX)
        text_format(end, sizeof end, ", at most %llu s; a second signal ends the job at once",
                    (unsigned long long)((left_ns + SECOND_NS - 1) / SECOND_NS));
    glint_note(d->g, "waiting for %s to end%s", what, end);
}

/* The job must end, and these tasks did not end in time. */
static void set_unfinished_tasks_error(struct driver *d)
{
    struct glint_error *e = driver_error(d);
    char what[4 * NAME_BYTES_MAX], before[sizeof e->effect];
    bool remote = d->g->config.cluster != NULL;
    describe_running_tasks(d, what, sizeof what);
    memcpy(before, e->effect, sizeof before);
    text_format(e->effect, sizeof e->effect, "%s%s%s did not stop within %llu s", before,
                before[0] != '\0' ? "; " : "", what, (unsigned long long)(GRACE_NS / SECOND_NS));
    d->g->stuck = !remote;
}

/* `ending_ns`: since when the job must end, UINT64_MAX if it continues. Returns UINT64_MAX for no
 * limit. */
static uint64_t drain_deadline_ns(const struct driver *d, uint64_t start_ns, uint64_t ending_ns)
{
    const struct action_run *a = d->action_run;
    bool remote = d->g->config.cluster != NULL, done = a->stages[a->stage_count - 1].finished;
    if (remote && done) return start_ns + SUPERSEDED_GRACE_NS;
    if (ending_ns != UINT64_MAX) return ending_ns + GRACE_NS;
    return remote ? start_ns + GRACE_NS : UINT64_MAX;
}

/* Sending CANCEL can fail when out of memory. Tasks that end free memory, so it is retried until it
 * succeeds. Errors that occur while it waits are not errors of the action: *error is restored. */
/* Stops scheduling, cancels the running tasks and waits for them. Returns 0, or a code: the job was
 * interrupted while it waited, or the executors could not be told to accept tasks again. */
static int drain_running_tasks(struct driver *d)
{
    struct action_run *a = d->action_run;
    struct glint_error *error = driver_error(d), first = *error;
    if (sched_busy_slots(a->sched) == 0) return 0;
    uint64_t start = d->env->now_ns(d->env), now = start;
    uint64_t ending_since = first.code != GLINT_OK ? start : UINT64_MAX;
    bool cancel_sent = false, noted = false;
    a->over = true;
    sched_stop(a->sched);
    while (sched_busy_slots(a->sched) > 0 && now < drain_deadline_ns(d, start, ending_since)) {
        if (!cancel_sent) cancel_sent = send_cancel(d, true) == 0;
        d->transport.wait(d->transport.arg, d, now + PROGRESS_TICK_NS);
        *error = first;
        now = d->env->now_ns(d->env);
        driver_check_interrupt_or_timeout(d);
        first = *error;
        if (first.code != GLINT_OK && ending_since == UINT64_MAX) {
            ending_since = now;
            noted = false; /* the first note named no limit: now there is one */
        }
        if (noted || now < start + NOTE_AFTER_NS || sched_busy_slots(a->sched) == 0) continue;
        uint64_t end = drain_deadline_ns(d, start, ending_since);
        noted = true;
        note_waiting_for_tasks(d, end == UINT64_MAX ? end : end > now ? end - now : 0);
    }
    if (sched_busy_slots(a->sched) > 0 && first.code != GLINT_OK) set_unfinished_tasks_error(d);
    first = *error;
    /* Executors accept tasks again, for the next action. Not if stuck: the process is about to
     * exit, and the running function must see that it is cancelled. */
    int r = d->g->stuck ? 0 : send_cancel(d, false);
    if (first.code != GLINT_OK) *error = first;
    return first.code != GLINT_OK ? first.code : r;
}

/* ---- Runs one action, from its plan to its last result: the driver's main loop. */

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
    m->stage = stage_message_id(a, run->stage);
    m->task = run->task;
    m->attempt = run->attempt;
    m->partition = stage_run_partition(a, run->stage, run->task);
    r = rdd_encode_partition_splits(d->g, stage_top_rdd(a, run->stage), m->partition, &m->body);
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
    return sched_revoke_queued(s, &run) ? send_kill_task(d, &run, KILL_IF_QUEUED) : 0;
}

/* ---- The action */

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
static int complete_action_outputs(struct driver *d)
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

static int run_stages_of_action(struct driver *d)
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
    return r == 0 ? complete_action_outputs(d) : r;
}

/* Finds out what the stages need and only a run can show: the range bounds of a sort, the first
 * index of each partition. A preparation can run an action of its own, whose map outputs this one
 * then reuses. */
static int prepare_shuffles_of_action(const struct action *action)
{
    struct glint_rdd **shuffles = NULL;
    uint32_t count = 0;
    int r = plan_needed_shuffles(action->rdd, false, &shuffles, &count);
    for (uint32_t i = 0; i < count && r == 0; i++)
        if (!shuffles[i]->shuffled) r = rdd_prepare_all_in_stage(shuffles[i]);
    mem_free(shuffles);
    if (r != 0 || rdd_is_shuffle(action->rdd)) return r;
    return rdd_prepare_all_in_stage(action->rdd);
}

static int driver_run_action(struct driver *d, const struct action *action)
{
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
    if (r == 0) r = prepare_shuffles_of_action(action);
    if (r == 0 && g->config.explain) r = explain_action(d, action, skipped);
    if (r != 0) job_outputs_fail(&a);
    if (r != 0 || skipped) return r;
    a.number = d->next_action++;
    a.bad_rows_before = counters_value(&d->metrics.counters, "bad rows");
    d->action_run = &a;
    r = run_stages_of_action(d);
    if (r == 0) r = accumulators_merge(&d->accumulators, g);
    if (r != 0) job_outputs_fail(&a);
    if (r != 0) g->aborted = false; /* for explain: the error is about real rows, not empty ones */
    stage_progress_report_action_end(d);
    event_log_listener_on_action_end(d);
    executor_states_finish_action(d);
    d->action_run = NULL;
    if (r == 0 && d->transport.local && g->running == 1) stage_runs_cut_lineage(&a);
    stage_runs_fini(&a);
    sched_destroy(a.sched);
    return r;
}

/* ---- Creation and destruction of a context (glint_context.h): checks the options and starts the
 * driver, with executors in this process or of a cluster. */

/* The planner sizes partitions by the memory of a slot, and any task may run on any executor: takes
 * the smallest slot of the cluster, times `slots`. 0 with --listen, where executors are not known
 * yet. */
static uint64_t cluster_memory_bytes(const struct cluster *cluster, uint32_t slots)
{
    uint64_t least = 0;
    for (uint32_t i = 0; cluster->listen_host == NULL && i < cluster->executor_count; i++) {
        const struct cluster_executor *e = &cluster->executors[i];
        /* Without `slots` in its file an executor uses its processors: assume as many as here. */
        uint64_t share = e->memory_bytes / (e->slots > 0 ? e->slots : slots);
        if (share < SLOT_MEMORY_BYTES_MIN) share = SLOT_MEMORY_BYTES_MIN; /* else it won't start */
        if (i == 0 || share < least) least = share;
    }
    return least * slots;
}

/* Replaces zeros by defaults and checks limits. Returns 0, or BAD_VALUE, MEMORY_LIMIT. */
static int check_context_config(struct context_config *c, struct glint_error *error)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (c->slots == 0) c->slots = processors > 0 ? (uint32_t)processors : 1;
    if (c->memory_bytes == 0 && c->cluster != NULL && c->slots <= SLOTS_MAX)
        c->memory_bytes = cluster_memory_bytes(c->cluster, c->slots);
    if (c->memory_bytes == 0) c->memory_bytes = MEMORY_BYTES_DEFAULT;
    if (c->line_bytes_max == 0) c->line_bytes_max = LINE_BYTES_MAX_DEFAULT;
    if (c->result_bytes_max == 0) c->result_bytes_max = RESULT_BYTES_MAX;
    if (c->env == NULL) c->env = env_real();
    if (c->slots > SLOTS_MAX)
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "local[%u]: at most %u slots", c->slots,
                         SLOTS_MAX);
    char need[TEXT_NUMBER_MAX];
    text_format_bytes(need, SLOT_MEMORY_BYTES_MIN * c->slots);
    if (c->memory_bytes / c->slots < SLOT_MEMORY_BYTES_MIN)
        return error_set(error, GLINT_E_MEMORY_LIMIT, "raise --memory, or use fewer slots",
                         "%u slots need at least %s", c->slots, need);
    if (c->line_bytes_max > VALUE_BYTES_MAX)
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "--max-line is at most 4 GiB");
    if (c->result_bytes_max > RESULT_BYTES_MAX)
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "the result limit is at most %llu bytes",
                         (unsigned long long)RESULT_BYTES_MAX);
    return 0;
}

/* This process runs all tasks, or passes on what another engine has made of them. */
static int create_local_transport(struct glint *g, struct transport *out)
{
    struct transport local;
    int r = local_transport_create(g, out);
    if (r != 0 || g->config.stage == NULL) return r;
    local = *out;
    r = stage_transport_create(g, g->config.stage, &local, out);
    if (r != 0) local.destroy(local.arg);
    return r;
}

/* On a cluster, executors are added later, by events of the transport. Returns 0, or a code with
 * the context's error set. */
static int create_driver_and_transport(struct glint *g, bool remote)
{
    struct transport transport;
    int r = remote ? cluster_transport_create(g, g->config.cluster, &transport, &g->error)
                   : create_local_transport(g, &transport);
    if (r != 0) return r;
    struct driver *driver = driver_create(g, &transport);
    if (driver == NULL) {
        transport.destroy(transport.arg);
        return g->error.code;
    }
    const struct executor_info info = {
        .name = "local", .host = "localhost", .slots = g->config.slots};
    if (remote || driver_on_executor_added(driver, &info) == 0) return 0;
    driver_destroy(driver); /* and the transport */
    return g->error.code;
}

struct glint *context_create(const struct context_config *config, struct glint_error *error)
{
    struct context_config c = *config;
    memset(error, 0, sizeof *error);
    if (check_context_config(&c, error) != 0) return NULL;
    struct glint *g = mem_zalloc_or_fail(sizeof *g, error);
    if (g == NULL) return NULL;
    context_init(g, &c);
    if (c.env->random(c.env, &g->job_id, sizeof g->job_id) != 0)
        error_set(&g->error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    if (g->job_id == 0) g->job_id = 1;             /* 0 is no job */
    bool remote = c.cluster != NULL && !c.explain; /* explain needs no executors */
    int r = g->error.code;
    if (r == 0) r = create_driver_and_transport(g, remote);
    if (r == 0) return g;
    *error = g->error;
    context_fini(g);
    mem_free(g);
    return NULL;
}

void glint_destroy(struct glint *g)
{
    if (g == NULL) return;
    driver_destroy(g->driver);
    if (g->stuck) return; /* a task still runs and uses the context: leak it, the process exits */
    context_fini(g);
    mem_free(g);
}

uint64_t glint_job_id(const struct glint *g)
{
    return g->job_id;
}

void glint_interrupt(struct glint *g, enum glint_code code)
{
    driver_interrupt(g->driver, code);
}

const struct glint_summary *glint_summarize(struct glint *g)
{
    driver_summarize(g->driver, &g->summary);
    g->summary.answers = g->answers;
    return &g->summary;
}

/* ---- driver */

/* Publishes the outputs if no error has occurred. commit_job can itself fail; then nothing is
 * published, as after any other error. */
int glint_finish(struct glint *g)
{
    struct driver *d = g->driver;
    struct glint_error *e = driver_error(d);
    /* The last chance to cancel: after this the outputs are published. */
    if (e->code == GLINT_OK) driver_check_interrupt_or_timeout(d);
    if (d->g->config.explain) explain_finish_job(d);
    if (e->code == GLINT_OK) commit_job(d);
    if (e->code == GLINT_OK) {
        event_log_listener_on_job_end(d);
        return 0;
    }
    const char *kept = abort_job(d);
    /* text_format cannot read what it overwrites, so copy the effect first. */
    char what[sizeof e->effect];
    memcpy(what, e->effect, sizeof what);
    char left[64] = "";
    if (d->kept_count > 0)
        text_format(left, sizeof left, "; %u checkpoint%s left", d->kept_count,
                    d->kept_count == 1 ? " is" : "s are");
    text_format(e->effect, sizeof e->effect, "%s%s%s%s", what, what[0] ? "; " : "", kept, left);
    event_log_listener_on_job_end(d);
    return e->code;
}

/* Any thread, also signal handlers: only atomics, a write and the transport's wake. */
void driver_interrupt(struct driver *d, enum glint_code code)
{
    int none = 0;
    atomic_compare_exchange_strong(&d->interrupt, &none, (int)code); /* the first reason is kept */
    if (atomic_load(&d->cancel_opened)) cancel_post(&d->cancel);
    d->transport.wake(d->transport.arg);
}

static int driver_cancel_file(struct driver *d)
{
    const uint64_t now = d->env->now_ns(d->env);
    if (!atomic_load(&d->cancel_opened)) {
        uint64_t left = 0;
        if (d->deadline_ns != 0) left = d->deadline_ns > now ? d->deadline_ns - now : 1;
        if (cancel_open(&d->cancel, left, driver_error(d)) != 0) return driver_error(d)->code;
        atomic_store(&d->cancel_opened, true);
        /* After the store: an interrupt that came before it has not posted. */
        if (atomic_load(&d->interrupt) != 0) cancel_post(&d->cancel);
    }
    return cancel_file(&d->cancel);
}

static void driver_clear_error(struct driver *d)
{
    assert(d->action_run == NULL);
    /* Not closed: sources that exist have its number, and an interrupt may post now. */
    if (atomic_exchange(&d->interrupt, 0) != 0 && atomic_load(&d->cancel_opened))
        cancel_reset(&d->cancel);
    job_outputs_remove_failed(d);
}

const char *driver_output_name(const struct driver *d, const char *path)
{
    const char *copied = d->g->config.stdout_output;
    return copied != NULL && strcmp(path, copied) == 0 ? "-" : path;
}

void driver_summarize(struct driver *d, struct glint_summary *out)
{
    counters_sort(&d->metrics.counters);
    *out = (struct glint_summary){.job_id = d->g->job_id,
                                  .elapsed_ns = d->env->now_ns(d->env) - d->start_ns,
                                  .stages = d->metrics.stages_started,
                                  .tasks = d->metrics.tasks,
                                  .stages_skipped = d->metrics.stages_skipped,
                                  .retries = d->metrics.retries,
                                  .counter_count = d->metrics.counters.count,
                                  .counter_names = (const char *const *)d->metrics.counters.names,
                                  .counter_values = d->metrics.counters.values,
                                  .stage_count = d->metrics.stage_count,
                                  .stage_times = d->metrics.stages,
                                  .output_count =
                                      d->g->error.code == GLINT_OK ? d->published_count : 0,
                                  .outputs = d->published,
                                  .accumulators = accumulators_list(&d->accumulators)};
}

/* Decided while the stages are planned, when no task runs. */
static bool driver_reads_blocks(struct driver *d, struct glint_rdd *rdd)
{
    const struct action_run *a = d->action_run;
    const struct context_config *c = &d->g->config;
    assert(rdd->persist != 0);
    if (a != NULL && a->sched != NULL)
        return !a->blocks_lost && rdd->blocks_read_in == a->number + 1;
    if (c->explain || c->stage != NULL || !cached_rdds_is_complete(&d->cached, rdd->id))
        return false;
    if (a != NULL) rdd->blocks_read_in = a->number + 1;
    return true;
}

static struct block_location driver_find_block(struct driver *d, const struct glint_rdd *rdd,
                                               uint32_t partition)
{
    return cached_rdds_find_block(&d->cached, rdd->id, partition);
}

static void driver_unpersist(struct driver *d, const struct glint_rdd *rdd)
{
    if (!cached_rdds_remove(&d->cached, rdd->id)) return;
    d->cached_changes++;
    send_free_message(d, FREE_CACHED_BLOCKS, rdd->id, 0);
}

/* Between actions. A stuck task may still use what would be freed. */
static void driver_free_rdd(struct driver *d, const struct glint_rdd *rdd)
{
    uint32_t maps = 0;
    assert(d->action_run == NULL);
    if (d->g->stuck) return;
    driver_unpersist(d, rdd);
    if (map_outputs_remove_shuffle(&d->map_outputs, rdd->id, &maps))
        send_free_message(d, FREE_MAP_OUTPUTS, rdd->id, maps);
}

static void driver_free_broadcast(struct driver *d, uint64_t id, void *data)
{
    assert(d->action_run == NULL);
    if (d->g->stuck) return;
    send_free_message(d, FREE_BROADCAST, id, 0);
    if (d->transport.free_broadcast != NULL)
        d->transport.free_broadcast(d->transport.arg, id, data);
    else
        mem_free(data);
}

static int64_t driver_counter(struct driver *d, const char *name)
{
    return counters_value(&d->metrics.counters, name);
}

static bool driver_accumulator(struct driver *d, const char *name, struct glint_cell *out)
{
    return accumulators_find(&d->accumulators, name, out);
}

static void driver_clear_accumulator(struct driver *d, const char *name)
{
    accumulators_clear(&d->accumulators, name);
}

static void free_job_metrics(struct job_metrics *m)
{
    for (uint32_t i = 0; i < m->stage_count; i++) mem_free((char *)m->stages[i].name);
    mem_free(m->stages);
    counters_fini(&m->counters);
}

void driver_destroy(struct driver *d)
{
    job_outputs_fini(d);
    cancel_close(&d->cancel);
    d->transport.destroy(d->transport.arg);
    event_log_listener_close(d);
    if (d->g->stuck) return; /* a task that still runs may use the transport and the driver */
    map_outputs_destroy(d->map_outputs);
    cached_rdds_fini(&d->cached);
    executors_fini(d);
    reachability_fini(&d->reachability);
    free_job_metrics(&d->metrics);
    accumulators_fini(&d->accumulators);
    mem_free(d);
}

static const struct runner driver_runner = {.run = driver_run_action,
                                            .reserve = job_outputs_reserve,
                                            .reads_blocks = driver_reads_blocks,
                                            .find_block = driver_find_block,
                                            .unpersist = driver_unpersist,
                                            .free_rdd = driver_free_rdd,
                                            .free_broadcast = driver_free_broadcast,
                                            .cancel_file = driver_cancel_file,
                                            .check_interrupt = driver_check_interrupt_or_timeout,
                                            .clear_error = driver_clear_error,
                                            .counter = driver_counter,
                                            .accumulator = driver_accumulator,
                                            .clear_accumulator = driver_clear_accumulator};

struct driver *driver_create(struct glint *g, const struct transport *transport)
{
    struct driver *d = mem_zalloc_or_fail(sizeof *d, &g->error);
    struct env *env = g->config.env;
    assert(transport->send != NULL && transport->wait != NULL);
    if (d == NULL) return NULL;
    *d = (struct driver){
        .g = g, .env = env, .transport = *transport, .next_stage = 1, .start_ns = env->now_ns(env)};
    if (g->config.timeout_ns > 0) d->deadline_ns = d->start_ns + g->config.timeout_ns;
    if (event_log_listener_open(d) != 0) {
        mem_free(d);
        return NULL;
    }
    g->runner = &driver_runner;
    g->driver = d;
    return d;
}
