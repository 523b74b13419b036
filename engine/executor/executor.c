/* Slots: each takes a task from the queue, runs it (attempt.h) and delivers the outcome.
 *
 * A task is cancelled by setting its slot's flag, which the task checks between batches, and by
 * cancelling what it waits for: fetch requests and broadcasts. The flag is set before either, and a
 * fetch checks it again after it has submitted its requests (transfer/fetch.c), so a task cannot
 * start to wait after its requests were cancelled. */
#include "engine/executor/executor.h"

#include "engine/base/crash.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/batch.h"
#include "engine/executor/attempt.h"
#include "engine/executor/store.h"
#include "engine/net/message.h"
#include "engine/plan/stage_plan.h"
#include "engine/records/pack.h"
#include "engine/records/task.h"
#include "engine/shuffle/task_accumulators.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* ---- Names of operators and functions belong to the program, so they outlive tasks. Everything
 * else here is read by the thread that owns it. */

/* The name of the user function that is running; NULL: none. Any thread. */
static const char *describe_task_function(struct glint_task *task)
{
    const struct glint_function *f = atomic_load_explicit(&task->function, memory_order_relaxed);
    return f != NULL ? f->name : NULL;
}

static void crash_add_stage(struct crash_text *out, const struct stage_plan *stage)
{
    crash_text_append(out, " of stage ");
    crash_text_append(out, stage->nodes[0].op->name);
    if (stage->node_count == 1) return;
    crash_text_append(out, "..");
    crash_text_append(out, stage->nodes[stage->node_count - 1].op->name);
}

/* Appends e.g. "task 3 (attempt 0) of stage textFile..map, in function words.split, reading in.txt
 * from byte 0". Task's own thread; async-signal-safe. */
static void describe_task(const struct glint_task *task, const struct message *m,
                          struct crash_text *out)
{
    const struct glint_function *f = atomic_load_explicit(&task->function, memory_order_relaxed);
    const struct glint_origin *origin = task->origin;
    crash_text_append(out, "task ");
    crash_text_append_u64(out, m->partition);
    crash_text_append(out, " (attempt ");
    crash_text_append_u64(out, m->attempt);
    crash_text_append(out, ")");
    if (task->stage != NULL) crash_add_stage(out, task->stage);
    crash_text_append(out, f != NULL ? ", in function " : ", in no function of the job");
    if (f != NULL) crash_text_append(out, f->name);
    if (origin == NULL || origin->path == NULL) return;
    crash_text_append(out, ", reading ");
    crash_text_append(out, origin->path);
    crash_text_append(out, " from byte ");
    crash_text_append_u64(out, origin->offset);
    if (origin->compression != 0) crash_text_append(out, ", decompressed");
}

/* ---- Executor */

#define SLOT_ARENA_KEEP_BYTES (4 * MIB)

struct slot {
    struct executor *executor;
    pthread_t thread;
    struct glint_task task; /* reset for each task; keeps its arena */
    atomic_bool cancel;     /* written under the executor's lock */
    /* Guarded by the executor's lock. */
    const struct message *running; /* NULL: idle */
    uint64_t attempt_id;
    uint64_t cancel_requested_ns; /* 0: not cancelled */
    struct pipe_semaphore wake;   /* of the task: posted by a cancel */
    bool has_wake;
};

struct executor {
    struct executor_config config;
    struct store *store;
    struct block_store *blocks;
    uint64_t table_seed;
    atomic_uint_fast64_t run_memory; /* bytes finished runs may still use */
    atomic_uint_fast32_t unfinished;
    struct pipe_semaphore work;
    pthread_mutex_t lock; /* guards the fields below */
    uint32_t idle;        /* slots waiting for work, without those already woken */
    struct message *first, *last;
    uint64_t last_attempt;
    bool cancelled, ending;
    uint32_t started;
    struct slot slots[];
};

int task_counters_encode(struct glint_task *task, struct buffer *out)
{
    const struct task_counters *c = &task->counters;
    struct packer p = {.failed = false};
    uint32_t count = task_accumulators_count(task);
    for (uint32_t i = 0; i < c->used; i++) count += c->values[i] != 0;
    pack_array(&p, count);
    for (uint32_t i = 0; i < c->used; i++) {
        if (c->values[i] == 0) continue;
        pack_array(&p, 2);
        pack_text(&p, i < COUNT_BUILT_IN ? task_counter_names[i] : c->names[i]);
        pack_i64(&p, c->values[i]);
    }
    const int r = task_accumulators_pack(task, &p);
    if (r == 0) return packer_finish(&p, out, &task->error);
    packer_fini(&p);
    return r;
}

/* ---- Slot threads */

/* task->cancel_file */
static int cancel_file(struct glint_task *task)
{
    struct slot *slot = (struct slot *)(void *)((char *)task - offsetof(struct slot, task));
    pthread_mutex_lock(&slot->executor->lock);
    if (!slot->has_wake && pipe_semaphore_open(&slot->wake, &task->error) == 0) {
        slot->has_wake = true;
        if (atomic_load(&slot->cancel)) pipe_semaphore_post(&slot->wake);
    }
    const int file = slot->has_wake ? slot->wake.ends[0] : -1;
    pthread_mutex_unlock(&slot->executor->lock);
    return file;
}

/* Called with the lock, when the task has ended. */
static void close_wake(struct slot *slot)
{
    if (slot->has_wake) pipe_semaphore_close(&slot->wake);
    slot->has_wake = false;
}

/* Called with the lock, before `running` is set: executor_find_stuck_task reads the task. */
static void task_prepare(struct slot *slot, const struct message *m)
{
    struct executor *e = slot->executor;
    struct glint_task *t = &slot->task;
    assert(m->type == MSG_TASK && slot->running == NULL);
    const struct arena arena = t->arena;
    *t = (struct glint_task){.env = e->config.env,
                             .options = &e->config.options,
                             .arena = arena,
                             .partition = m->partition,
                             .attempt = m->attempt,
                             .attempt_id = slot->attempt_id,
                             .table_seed = e->table_seed,
                             .run_memory = &e->run_memory,
                             .compress_outputs = e->config.fetcher != NULL,
                             .cancel_flag = &slot->cancel,
                             .cancel_file = cancel_file};
    t->counters.used = COUNT_BUILT_IN;
}

static struct message *pop_task(struct executor *e)
{
    struct message *m = e->first;
    if (m == NULL) return NULL;
    e->first = m->next;
    assert(e->last != NULL);
    if (e->first == NULL) e->last = NULL;
    m->next = NULL;
    return m;
}

static struct message *wait_for_task(struct slot *slot)
{
    struct executor *e = slot->executor;
    arena_reset(&slot->task.arena, SLOT_ARENA_KEEP_BYTES);
    pthread_mutex_lock(&e->lock);
    while (e->first == NULL && !e->ending) {
        e->idle++;
        pthread_mutex_unlock(&e->lock);
        /* Wait without the lock: receive_task needs it to queue a task. A slot that was woken may
         * find the queue empty, because a busy slot took the task first; it then waits again. */
        pipe_semaphore_wait(&e->work);
        pthread_mutex_lock(&e->lock);
    }
    struct message *m = pop_task(e);
    /* A new id per task, so that cancelling the fetches of one attempt never affects the next task
     * of this slot. */
    slot->attempt_id = ++e->last_attempt;
    if (m != NULL) task_prepare(slot, m);
    slot->running = m;
    slot->cancel_requested_ns = 0;
    /* Under the same lock as receive_cancel and kill_attempt: a cancel either sees `running`, or is
     * seen here. */
    atomic_store(&slot->cancel, e->cancelled || e->ending);
    pthread_mutex_unlock(&e->lock);
    return m;
}

/* `unfinished` drops after the delivery, so 0 means that all outcomes were delivered. */
static void deliver_outcome(struct executor *e, struct message *outcome)
{
    e->config.deliver(e->config.deliver_arg, outcome);
    uint32_t before = (uint32_t)atomic_fetch_sub(&e->unfinished, 1);
    assert(before > 0);
}

static void describe_slot(void *arg, struct crash_text *out)
{
    const struct slot *slot = arg;
    const struct message *m = slot->running; /* written by this thread only: no lock */
    if (m != NULL)
        describe_task(&slot->task, m, out);
    else
        crash_text_append(out, "between two tasks");
}

/* The outcome message was allocated by receive_task: reporting an error needs no memory. */
static void *slot_main(void *arg)
{
    struct slot *slot = arg;
    struct executor *e = slot->executor;
    crash_handler_enter_thread(describe_slot, slot);
    thread_set_batch_policy(); /* do not preempt the loop thread that just woke this slot */
    for (struct message *m; (m = wait_for_task(slot)) != NULL;) {
        struct message *outcome = m->outcome;
        assert(outcome != NULL && outcome->error != NULL);
        m->outcome = NULL;
        outcome->slot = (uint32_t)(slot - e->slots);
        outcome->start_ns = e->config.env->now_ns(e->config.env);
        attempt_run(&e->config, e->store, e->blocks, &slot->task, m, outcome);
        outcome->run_ns = e->config.env->now_ns(e->config.env) - outcome->start_ns;
        pthread_mutex_lock(&e->lock);
        /* Before the message is freed: executor_find_stuck_task and kill_attempt read `running`. */
        slot->running = NULL;
        close_wake(slot);
        pthread_mutex_unlock(&e->lock);
        message_destroy(m);
        deliver_outcome(e, outcome);
    }
    arena_fini(&slot->task.arena);
    crash_handler_leave_thread();
    return NULL;
}

static int start_slots(struct executor *e, struct glint_error *error)
{
    int r = 0;
    while (e->started < e->config.slots && r == 0) {
        struct slot *slot = &e->slots[e->started];
        slot->executor = e;
        r = thread_start(&slot->thread, slot_main, slot, error);
        if (r == 0) e->started++;
    }
    return r;
}

static int64_t kept_memory_bytes(const struct executor_config *config)
{
    return (int64_t)(config->options.memory_bytes * config->slots / 100 * KEPT_MEMORY_PERCENT);
}

struct executor *executor_create(const struct executor_config *config, struct glint_error *error)
{
    assert(config->slots > 0 && config->slots <= SLOTS_MAX);
    struct executor *e = mem_zalloc(sizeof *e + sizeof e->slots[0] * config->slots);
    if (e == NULL) {
        error_no_memory(error);
        return NULL;
    }
    if (pipe_semaphore_open(&e->work, error) != 0) {
        mem_free(e);
        return NULL;
    }
    e->config = *config;
    e->run_memory = config->options.memory_bytes * config->slots / RUN_MEMORY_SHARE;
    mem_keep_large_blocks(kept_memory_bytes(config));
    pthread_mutex_init(&e->lock, NULL);
    e->store = store_create();
    e->blocks =
        block_store_create(config->env, config->options.work_dir,
                           config->options.memory_bytes * config->slots / CACHED_MEMORY_SHARE);
    int r = e->store == NULL || e->blocks == NULL ? error_no_memory(error) : 0;
    if (r == 0 && config->env->random(config->env, &e->table_seed, sizeof e->table_seed) != 0)
        r = error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    if (r == 0) r = start_slots(e, error);
    if (r == 0) return e;
    executor_destroy(e);
    return NULL;
}

/* ---- Owner's thread */

/* The outcome is allocated before the task is queued, so that every queued TASK gets a response. */
static int receive_task(struct executor *e, struct message *m, struct glint_error *error)
{
    assert(m->outcome == NULL && m->next == NULL);
    m->outcome = message_create(MSG_FAILED);
    if (m->outcome != NULL) m->outcome->error = mem_zalloc(sizeof *m->outcome->error);
    if (m->outcome == NULL || m->outcome->error == NULL) {
        message_destroy(m);
        return error_no_memory(error);
    }
    m->outcome->stage = m->stage;
    m->outcome->task = m->task;
    m->outcome->attempt = m->attempt;
    m->outcome->partition = m->partition;
    atomic_fetch_add(&e->unfinished, 1);
    pthread_mutex_lock(&e->lock);
    assert(!e->ending && m->next == NULL);
    if (e->last != NULL)
        e->last->next = m;
    else
        e->first = m;
    e->last = m;
    bool wake_one = e->idle > 0;
    /* Counted here and not by the slot: two tasks in a row must wake two slots. */
    if (wake_one) e->idle--;
    pthread_mutex_unlock(&e->lock);
    if (wake_one) pipe_semaphore_post(&e->work);
    return 0;
}

static bool is_same_attempt(const struct message *a, const struct message *b)
{
    return a->stage == b->stage && a->task == b->task && a->attempt == b->attempt;
}

/* Removes the attempt from the queue and returns it; NULL: not queued. */
static struct message *remove_queued(struct executor *e, const struct message *kill)
{
    struct message *before = NULL, *m = e->first;
    while (m != NULL && !is_same_attempt(m, kill)) {
        before = m;
        m = m->next;
    }
    if (m == NULL) return NULL;
    if (before != NULL)
        before->next = m->next;
    else
        e->first = m->next;
    if (e->last == m) e->last = before;
    m->next = NULL;
    return m;
}

/* Ends what the attempt waits for. Its cancel flag must be set already, or it could wait again. */
static void cancel_waits(struct executor *e, uint64_t attempt_id)
{
    const struct fetcher *f = e->config.fetcher;
    if (f != NULL && f->cancel != NULL) f->cancel(f->arg, attempt_id);
    if (e->config.broadcasts != NULL) broadcast_client_wake_waiters(e->config.broadcasts);
}

/* Called with the lock. */
static void request_cancel(struct slot *slot)
{
    struct env *env = slot->executor->config.env;
    const bool first = slot->cancel_requested_ns == 0;
    if (first) slot->cancel_requested_ns = env->now_ns(env);
    atomic_store(&slot->cancel, true);
    if (first && slot->has_wake) pipe_semaphore_post(&slot->wake);
}

/* Kills one attempt: queued, running, or already finished with a map output that was superseded.
 * KILL_IF_QUEUED (the driver revokes a prefetched attempt to run it elsewhere) ignores one that
 * runs. */
static void kill_attempt(struct executor *e, const struct message *kill)
{
    bool always = kill->id == KILL_ALWAYS;
    uint64_t attempt_id = 0;
    pthread_mutex_lock(&e->lock);
    struct message *queued = remove_queued(e, kill);
    for (uint32_t i = 0; always && queued == NULL && attempt_id == 0 && i < e->started; i++) {
        struct slot *slot = &e->slots[i];
        if (slot->running == NULL || !is_same_attempt(slot->running, kill)) continue;
        request_cancel(slot);
        attempt_id = slot->attempt_id;
    }
    pthread_mutex_unlock(&e->lock);
    if (attempt_id != 0) cancel_waits(e, attempt_id);
    /* It may have finished before the KILL arrived: the driver will not use its output. */
    if (always && attempt_id == 0)
        store_remove_attempt_output(e->store, kill->stage, kill->task, kill->attempt);
    if (queued == NULL) return;
    struct message *outcome = queued->outcome;
    queued->outcome = NULL;
    error_set(outcome->error, GLINT_E_INTERRUPTED, NULL, "attempt superseded");
    message_destroy(queued);
    deliver_outcome(e, outcome);
}

static void cancel_running_tasks(struct executor *e)
{
    uint64_t running[SLOTS_MAX];
    uint32_t count = 0;
    pthread_mutex_lock(&e->lock);
    for (uint32_t i = 0; i < e->started; i++) {
        if (e->slots[i].running == NULL) continue;
        request_cancel(&e->slots[i]);
        running[count++] = e->slots[i].attempt_id;
    }
    pthread_mutex_unlock(&e->lock);
    for (uint32_t i = 0; i < count; i++) cancel_waits(e, running[i]);
}

static void receive_cancel(struct executor *e, bool cancelled)
{
    pthread_mutex_lock(&e->lock);
    e->cancelled = cancelled;
    pthread_mutex_unlock(&e->lock);
    if (cancelled) cancel_running_tasks(e);
}

static void fail_outputs(struct executor *e, uint32_t stage, const struct glint_error *why)
{
    struct message *m = message_create(MSG_FAILED);
    if (m != NULL) m->error = mem_alloc(sizeof *m->error);
    if (m == NULL || m->error == NULL) {
        message_destroy(m); /* the tasks will say it */
        return;
    }
    m->stage = stage;
    m->attempt = ATTEMPT_NONE;
    *m->error = *why;
    e->config.deliver(e->config.deliver_arg, m);
}

/* Creates a file where the stage's tasks will: before they run, and not after all that precedes
 * them, the driver learns that this user may not. */
static void try_outputs(struct executor *e, uint32_t stage)
{
    struct env *env = e->config.env;
    const struct stage_plan *plan = store_find_stage(e->store, stage);
    struct glint_error why = {.code = GLINT_OK};
    for (uint32_t i = 0; plan != NULL && i < plan->output_count && why.code == GLINT_OK; i++) {
        char path[PATH_MAX];
        if (!text_format(path, sizeof path, "%s/try-%016llx", plan->outputs[i],
                         (unsigned long long)e->table_seed))
            continue;
        const int file = env->open(env, ENV_CWD, path, ENV_CREATE);
        if (file < 0) {
            error_set_shared_path(&why, GLINT_E_OUTPUT_IO, file, "create", path);
            const size_t used = strlen(why.cause);
            text_format(why.cause + used, sizeof why.cause - used, ", as user %u",
                        (unsigned)geteuid());
            continue;
        }
        env->close(env, file);
        env->remove(env, ENV_CWD, path, false);
    }
    if (why.code != GLINT_OK) fail_outputs(e, stage, &why);
}

/* Those of a job in one process are tried by opening them: its driver has the same user. */
static int receive_stage(struct executor *e, struct message *m, struct glint_error *error)
{
    const uint32_t stage = m->stage;
    const int r = store_add_message(e->store, m, e->config.registry, error);
    if (r == 0 && e->config.fetcher != NULL) try_outputs(e, stage);
    return r;
}

/* Without a body the blocks are fetched (broadcast_client.h); small values arrive inline. */
static int receive_broadcast(struct executor *e, struct message *m, struct glint_error *error)
{
    if (e->config.broadcasts == NULL || m->body.size > 0)
        return store_add_message(e->store, m, e->config.registry, error);
    int r = broadcast_client_add(e->config.broadcasts, m->id, m->size, error);
    message_destroy(m);
    return r;
}

/* A kind that this version does not know is ignored: what is not freed only takes memory. */
static void receive_free(struct executor *e, const struct message *m)
{
    switch (m->task) {
    case FREE_CACHED_BLOCKS: block_store_remove_rdd(e->blocks, (uint32_t)m->id); break;
    case FREE_MAP_OUTPUTS: store_remove_shuffle(e->store, m->id, m->partition); break;
    case FREE_BROADCAST:
        store_remove_broadcast(e->store, m->id);
        if (e->config.broadcasts != NULL) broadcast_client_remove(e->config.broadcasts, m->id);
        break;
    default: break;
    }
}

int executor_handle_message(struct executor *e, struct message *m, struct glint_error *error)
{
    switch (m->type) {
    case MSG_STAGE: return receive_stage(e, m, error);
    case MSG_MAP_OUTPUTS: return store_add_message(e->store, m, e->config.registry, error);
    case MSG_BROADCAST: return receive_broadcast(e, m, error);
    case MSG_TASK: return receive_task(e, m, error);
    case MSG_KILL: kill_attempt(e, m); break;
    case MSG_CANCEL: receive_cancel(e, m->id != 0); break;
    case MSG_RELEASE:
        if (m->id != 0)
            store_remove_result(e->store, m->id);
        else
            store_remove_stage(e->store, m->stage);
        break;
    case MSG_FREE: receive_free(e, m); break;
    default:
        error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected message of type %d", (int)m->type);
        message_destroy(m);
        return error->code;
    }
    message_destroy(m);
    return 0;
}

uint64_t executor_find_stuck_task(struct executor *e, char *what, size_t capacity)
{
    uint64_t oldest = 0;
    what[0] = '\0';
    pthread_mutex_lock(&e->lock);
    for (uint32_t i = 0; i < e->started; i++) {
        struct slot *slot = &e->slots[i];
        if (slot->running == NULL || slot->cancel_requested_ns == 0) continue;
        if (oldest != 0 && slot->cancel_requested_ns >= oldest) continue;
        const char *function = describe_task_function(&slot->task);
        oldest = slot->cancel_requested_ns;
        text_format(what, capacity, "task %u (attempt %u)%s%s", slot->running->partition,
                    slot->running->attempt, function != NULL ? ", in function " : "",
                    function != NULL ? function : "");
    }
    pthread_mutex_unlock(&e->lock);
    return oldest;
}

uint32_t executor_unfinished_tasks(struct executor *e)
{
    return (uint32_t)atomic_load(&e->unfinished);
}

struct store *executor_store(struct executor *e)
{
    return e->store;
}

void executor_destroy(struct executor *e)
{
    if (e == NULL) return;
    pthread_mutex_lock(&e->lock);
    e->ending = true;
    /* One post per waiting slot; slots that are busy check `ending` before they wait. */
    for (; e->idle > 0; e->idle--) pipe_semaphore_post(&e->work);
    pthread_mutex_unlock(&e->lock);
    cancel_running_tasks(e);
    for (uint32_t i = 0; i < e->started; i++) pthread_join(e->slots[i].thread, NULL);
    for (struct message *m = e->first, *next; m != NULL; m = next) {
        next = m->next;
        message_destroy(m);
    }
    store_destroy(e->store);
    block_store_destroy(e->blocks);
    pipe_semaphore_close(&e->work);
    pthread_mutex_destroy(&e->lock);
    mem_keep_large_blocks(-kept_memory_bytes(&e->config));
    mem_free(e);
}
