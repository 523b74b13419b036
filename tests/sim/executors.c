/* Executor processes, as executor/executor_process.c. A task takes simulated time; at its end the
 * real attempt_run runs all of it. */
#include "tests/sim/sim.h"

#include "engine/base/locked_dir.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Fetches: served at once from the source's store, if the network allows it */

struct reading {
    struct glint_task task;
    struct task_options options;
};

static int read_output(const struct run *run, const struct get_request *get, uint8_t *into)
{
    if (get->offset + get->size > run->source.bytes) return GLINT_E_PROTOCOL;
    if (run->memory != NULL) {
        memcpy(into, run->memory + get->offset, get->size);
        return 0;
    }
    static struct reading reading;
    memset(&reading, 0, sizeof reading);
    reading.task.env = run->env;
    reading.task.options = &reading.options;
    return run->source.read(&run->source, &reading.task, get->offset, get->size, into);
}

static int serve_index(struct sim_executor *from, struct fetch_request *r)
{
    struct index_entry *parts = calloc(r->get.map_count + 1, sizeof *parts);
    const struct run **runs = calloc(r->get.map_count + 1, sizeof *runs);
    uint64_t room = r->get.size;
    for (uint32_t i = 0; i < r->get.map_count; i++) {
        runs[i] =
            store_acquire_map_output(from->store, r->get.id, r->get.maps[i][0], r->get.maps[i][1]);
        parts[i] = index_entry_create(runs[i], r->get.partition, &room);
    }
    int code = map_output_index_encode(parts, r->get.map_count, &r->response, &r->error);
    for (uint32_t i = 0; i < r->get.map_count; i++)
        if (runs[i] != NULL) store_release(from->store, runs[i]);
    free(runs);
    free(parts);
    return code;
}

static int serve_request(struct sim *s, struct sim_executor *requester, struct fetch_request *r)
{
    if (r->executor >= s->executor_count) return GLINT_E_PROTOCOL;
    struct sim_executor *from = s->executors[r->executor];
    if (!from->alive || s->nodes[from->node].paused_until > s->now ||
        !net_peer_open(s, requester->node, from->node))
        return GLINT_E_CONNECTION;
    if (r->get.kind == GET_INDEX) return serve_index(from, r);
    assert(r->get.kind == GET_MAP_OUTPUT);
    const struct run *run =
        store_acquire_map_output(from->store, r->get.id, r->get.map, r->get.attempt);
    if (run == NULL) return GLINT_E_FETCH_FAILED;
    int code = read_output(run, &r->get, r->into);
    store_release(from->store, run);
    return code;
}

struct sim_fetcher {
    struct fetcher fetcher;
    struct sim *sim;
    struct sim_executor *requester;
};

static void fetch_submit(void *arg, struct fetch_request *first)
{
    struct sim_fetcher *f = arg;
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        int code = serve_request(f->sim, f->requester, r);
        if (code != 0) {
            r->error.code = GLINT_OK;
            error_set(&r->error, (enum glint_code)code, NULL, "executor %u does not respond",
                      r->executor);
        }
        r->done(r);
    }
}

/* ---- Tasks */

static uint64_t duration(struct sim *s, const struct sim_node *node)
{
    uint64_t takes = MILLI + sim_random(s, 800 * MILLI);
    if (sim_chance(s, 50)) takes *= 20;
    if (node->slow_disk > 0) takes += sim_random(s, node->slow_disk);
    return takes * node->slow;
}

static void end_at(struct sim *s, const struct sim_executor *e, struct sim_task *t, uint64_t at)
{
    sim_push(
        s, (struct sim_event){.kind = SIM_TASK_FINISH, .executor = e->number, .task = t, .at = at});
}

/* Cancels the finish event of a task, or of all tasks of the executor (`t` NULL). */
static void cancel_finish_events(struct sim *s, const struct sim_executor *e,
                                 const struct sim_task *t)
{
    for (uint32_t i = 0; i < s->event_count; i++) {
        struct sim_event *event = &s->events[i];
        if (event->kind == SIM_TASK_FINISH && event->executor == e->number &&
            (t == NULL || event->task == t))
            event->task = NULL;
    }
}

static void start_tasks(struct sim *s, struct sim_executor *e)
{
    struct sim_node *node = &s->nodes[e->node];
    for (struct sim_task *t = e->tasks; t != NULL && e->busy < node->slots; t = t->next) {
        if (t->started) continue;
        t->started = true;
        e->busy++;
        end_at(s, e, t, s->now + duration(s, node));
    }
}

/* Most killed tasks end soon; some check the flag only when they are done. */
static void kill_task(struct sim *s, const struct sim_executor *e, struct sim_task *t)
{
    if (!t->killed && t->started && !sim_chance(s, 4)) {
        cancel_finish_events(s, e, t);
        end_at(s, e, t, s->now + sim_random(s, 50 * MILLI));
    }
    t->killed = true;
}

static void remove_task(struct sim_executor *e, struct sim_task *task)
{
    struct sim_task **link = &e->tasks;
    while (*link != task) link = &(*link)->next;
    *link = task->next;
    message_destroy(task->message);
    free(task);
}

/* Corrupts one byte in each partition of a map output (LASTING_CORRUPT_OUTPUTS). */
static void spoil(struct sim *s, struct sim_executor *e, const struct message *m)
{
    const struct stage_plan *stage = store_find_stage(e->store, m->stage);
    uint32_t shuffle = stage->nodes[stage->node_count - 1].rdd;
    const struct run *run = store_acquire_map_output(e->store, shuffle, m->task, m->attempt);
    if (run == NULL) return;
    for (uint32_t p = 0; p < run->partitions; p++) {
        const struct run_part *part = &run->parts[p];
        if (run->memory == NULL || part->bytes == 0) continue;
        run->memory[part->offset + sim_random(s, part->bytes)] ^= (uint8_t)(1 << sim_random(s, 8));
        s->counts.flips++;
    }
    store_release(e->store, run);
}

/* Whether this is the task that kills its executor (LASTING_POISON), in any attempt. */
static bool is_poison(struct sim *s, const struct message *m)
{
    if (s->lasting != LASTING_POISON || s->poison_left == 0) return false;
    if (m->stage != s->poison_stage || m->partition != s->poison_partition) return false;
    s->poison_left--;
    s->poison_done++;
    return true;
}

static struct message *make_outcome(const struct message *m)
{
    struct message *outcome = message_create(MSG_FAILED);
    outcome->error = mem_zalloc(sizeof *outcome->error);
    outcome->stage = m->stage;
    outcome->task = m->task;
    outcome->attempt = m->attempt;
    outcome->partition = m->partition;
    return outcome;
}

static void run_attempt(struct sim *s, struct sim_executor *e, const struct sim_task *t,
                        struct message *outcome)
{
    static struct glint_task task;
    atomic_store(&e->cancel_flag, e->cancel || t->killed);
    memset(&task, 0, sizeof task);
    task.env = &e->env.env;
    task.options = &e->config.options;
    task.partition = t->message->partition;
    task.attempt = t->message->attempt;
    task.attempt_id = ++e->attempts;
    task.table_seed = sim_random(s, UINT64_MAX);
    task.run_memory = &e->run_memory;
    task.cancel_flag = &e->cancel_flag;
    task.counters.used = COUNT_BUILT_IN;
    if (e->cancel || t->killed)
        error_set(outcome->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    else if (s->nodes[e->node].bad)
        error_set(outcome->error, GLINT_E_SYSTEM, NULL, "all tasks fail on node %u", e->node);
    else
        attempt_run(&e->config, e->store, NULL, &task, t->message, outcome);
    arena_fini(&task.arena);
}

void executor_task_ends(struct sim *s, struct sim_executor *e, struct sim_task *t)
{
    assert(e->alive && e->busy > 0 && t->started);
    if (is_poison(s, t->message)) {
        e->signalled = true;
        executor_dies(s, e, "killed by a task");
        return;
    }
    struct message *outcome = make_outcome(t->message);
    e->busy--;
    s->counts.tasks++;
    run_attempt(s, e, t, outcome);
    if (outcome->type == MSG_DONE && s->nodes[e->node].corrupts_outputs) spoil(s, e, t->message);
    if (outcome->type == MSG_FAILED) {
        sim_trace(s, "executor %u: task %u.%u of stage %u failed: %s", e->number, t->message->task,
                  t->message->attempt, t->message->stage, outcome->error->cause);
        s->counts.fetch_failures += outcome->error->code == GLINT_E_FETCH_FAILED;
    }
    remove_task(e, t);
    net_to_driver(s, e, outcome);
    start_tasks(s, e);
}

static void receive_task(struct sim *s, struct sim_executor *e, struct message *m)
{
    struct sim_task *t = calloc(1, sizeof *t), **link = &e->tasks;
    if (t == NULL) abort();
    t->message = m;
    while (*link != NULL) link = &(*link)->next;
    *link = t;
    start_tasks(s, e);
}

static void revoke_task(struct sim *s, struct sim_executor *e, struct sim_task *t)
{
    struct message *outcome = make_outcome(t->message);
    error_set(outcome->error, GLINT_E_INTERRUPTED, NULL, "the task was revoked");
    remove_task(e, t);
    net_to_driver(s, e, outcome);
}

/* KILL_ALWAYS: a queued attempt reports its end when its turn comes, without having run.
 * KILL_IF_QUEUED: it reports at once. */
static void receive_kill(struct sim *s, struct sim_executor *e, const struct message *m)
{
    bool anyhow = m->id == KILL_ALWAYS;
    for (struct sim_task *t = e->tasks, *next; t != NULL; t = next) {
        next = t->next;
        if (t->message->stage != m->stage || t->message->task != m->task ||
            t->message->attempt != m->attempt)
            continue;
        if (anyhow)
            kill_task(s, e, t);
        else if (!t->started)
            revoke_task(s, e, t);
    }
    if (anyhow) store_remove_attempt_output(e->store, m->stage, m->task, m->attempt);
}

static void receive_cancel(struct sim *s, struct sim_executor *e, bool cancel)
{
    e->cancel = cancel;
    for (struct sim_task *t = e->tasks; t != NULL && cancel; t = t->next) kill_task(s, e, t);
}

void executor_receives(struct sim *s, struct sim_executor *e, struct message *m)
{
    struct glint_error error = {.code = GLINT_OK};
    switch (m->type) {
    case MSG_STAGE:
    case MSG_MAP_OUTPUTS:
    case MSG_BROADCAST:
        if (store_add_message(e->store, m, &s->config, &error) != 0) {
            fprintf(stderr, "executor %u cannot store a message: %s\n", e->number, error.cause);
            abort();
        }
        return;
    case MSG_TASK: receive_task(s, e, m); return;
    case MSG_KILL: receive_kill(s, e, m); break;
    case MSG_CANCEL: receive_cancel(s, e, m->id != 0); break;
    case MSG_RELEASE: store_remove(e->store, STORED_STAGE, m->stage); break;
    default: abort();
    }
    message_destroy(m);
}

/* ---- Processes */

void executor_join(struct sim *s, uint32_t node)
{
    static struct sim_fetcher fetchers[EXECUTORS_SIM_MAX];
    assert(s->executor_count < EXECUTORS_SIM_MAX);
    struct sim_executor *e = calloc(1, sizeof *e);
    if (e == NULL) abort();
    e->number = s->executor_count++;
    s->executors[e->number] = e;
    e->node = node;
    e->alive = e->connected = true;
    s->nodes[node].starting = false;
    s->counts.joins++;
    sim_env_init(&e->env, s);
    e->env.full = s->nodes[node].disk_full;
    e->store = store_create();
    bool files = !s->nodes[node].corrupts_outputs && sim_chance(s, 2);
    e->run_memory = files ? 0 : 64 * MIB; /* where map outputs go */
    snprintf(e->work_dir, sizeof e->work_dir, "%.3000s/work-%u", s->dir, e->number);
    if (e->store == NULL || mkdir(e->work_dir, 0700) != 0) abort();
    fetchers[e->number] = (struct sim_fetcher){
        .fetcher = {.submit = fetch_submit, .arg = &fetchers[e->number]}, .sim = s, .requester = e};
    e->config = (struct executor_config){.slots = s->nodes[node].slots,
                                         .self = e->number,
                                         .options = {.memory_bytes = 64 * MIB,
                                                     .line_bytes_max = LINE_BYTES_MAX_DEFAULT,
                                                     .result_bytes_max = RESULT_BYTES_MAX,
                                                     .bad_rows_max = -1,
                                                     .work_dir = e->work_dir},
                                         .registry = &s->config,
                                         .env = &e->env.env,
                                         .fetcher = &fetchers[e->number].fetcher};
    liveness_init(&e->seen_by_driver, &s->cluster.heartbeat, s->now);
    liveness_init(&e->seen_by_executor, &s->cluster.heartbeat, s->now);
    sim_push(s,
             (struct sim_event){.kind = SIM_LIVENESS_TIMER, .executor = e->number, .at = s->now});
    sim_trace(s, "executor %u joins on node %u", e->number, node);
}

void executor_drains(struct sim *s, struct sim_executor *e)
{
    if (!e->alive || e->draining) return;
    e->draining = true;
    sim_trace(s, "executor %u drains", e->number);
    net_signal(s, e, SIM_DRAIN_TO_DRIVER);
    sim_push(s, (struct sim_event){.kind = SIM_DRAIN_TIMEOUT,
                                   .executor = e->number,
                                   .at = s->now + SECOND + sim_random(s, 30 * SECOND)});
}

static void executor_free(struct sim *s, struct sim_executor *e)
{
    if (!e->alive) return;
    e->alive = false;
    while (e->tasks != NULL) remove_task(e, e->tasks);
    store_destroy(e->store);
    e->store = NULL;
    if (env_remove_tree(env_real(), ENV_CWD, e->work_dir, 1) != 0) abort();
    cancel_finish_events(s, e, NULL);
}

void executor_dies(struct sim *s, struct sim_executor *e, const char *why)
{
    struct sim_node *node = &s->nodes[e->node];
    if (!e->alive) return;
    sim_trace(s, "executor %u dies: %s", e->number, why);
    executor_free(s, e);
    if (sim_chance(s, 2))
        net_reset(s, e);
    else
        net_close(s, e);
    if (node->starting || node->leaves || (e->draining && sim_chance(s, 2))) return;
    node->starting = true;
    sim_push(s, (struct sim_event){.kind = SIM_JOIN,
                                   .node = e->node,
                                   .at = s->now + 200 * MILLI + sim_random(s, 2 * SECOND)});
}

bool executor_is_idle(const struct sim_executor *e, uint32_t stages_end)
{
    assert(e->alive);
    bool idle = e->tasks == NULL && e->busy == 0 && !e->cancel;
    for (uint32_t i = 0; i < stages_end; i++) idle = idle && store_find_stage(e->store, i) == NULL;
    return idle;
}

void executors_destroy(struct sim *s)
{
    for (uint32_t i = 0; i < s->executor_count; i++) {
        executor_free(s, s->executors[i]);
        free(s->executors[i]);
    }
}
