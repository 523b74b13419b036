/* Slots: each takes a task from the queue, runs it (executor.h) and delivers the outcome.
 *
 * A task is cancelled by setting its slot's flag, which the task checks between batches, and by
 * cancelling what it waits for: fetch requests and broadcasts. The flag is set before either, and a
 * fetch checks it again after it has submitted its requests (transfer/fetch.c), so a task cannot
 * start to wait after its requests were cancelled. */
#include "engine/executor/executor.h"

#include "engine/base/crash.h"
#include "engine/base/endian.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/base/worker_parent.h"
#include "engine/batch.h"
#include "engine/input/remote_store.h"
#include "engine/records/pack.h"
#include "engine/shuffle/task_accumulators.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- Map outputs that are all in this process are read directly; if one is on another executor,
 * all are read through a fetch (transfer/fetch.h). A map output that cannot be fetched or is
 * corrupt, local or remote, ends the attempt with FETCH_FAILED, which names it, so that the driver
 * recomputes it. */

/* With more partitions the driver gets no partition sizes. */
#define SIZES_MAX 65536u

/* A broadcast that the task uses, from the store or from the client. */
struct held_broadcast {
    struct held_broadcast *next;
    void *stored, *fetched; /* one is NULL */
};

struct attempt {
    const struct executor_config *config;
    struct store *store;
    struct block_store *blocks;
    struct glint_task *task;
    /* The shuffle being read. */
    uint64_t shuffle;
    struct fetch_input *inputs;
    uint32_t input_count;
    struct run_slice *slices;
    uint32_t slice_count;
    struct fetch *fetch;                /* NULL: none is open */
    struct fetch_failure fetch_failure; /* with FETCH_FAILED */
    struct held_broadcast *broadcasts;  /* in the task's arena */
};

static int attempt_find_broadcast(void *arg, uint64_t id, struct glint_slice *out)
{
    struct attempt *a = arg;
    struct held_broadcast *held = task_alloc(a->task, sizeof *held);
    if (held == NULL) return a->task->error.code;
    *held = (struct held_broadcast){.next = a->broadcasts};
    /* Inline broadcasts are in the store; larger ones are fetched in blocks. */
    held->stored = store_acquire_bytes(a->store, STORED_BROADCAST, id, out);
    if (held->stored == NULL && a->config->broadcasts != NULL)
        held->fetched = broadcast_client_wait(a->config->broadcasts, id, a->task->cancel_flag, out,
                                              &a->task->error);
    if (held->stored == NULL && held->fetched == NULL) return GLINT_E_PROTOCOL;
    a->broadcasts = held;
    return 0;
}

static void release_attempt_broadcasts(struct attempt *a)
{
    for (struct held_broadcast *b = a->broadcasts; b != NULL; b = b->next)
        if (b->stored != NULL)
            store_release(a->store, b->stored);
        else
            broadcast_client_release(a->config->broadcasts, b->fetched);
    a->broadcasts = NULL;
}

/* ---- Inputs */

/* Replaces the task's error by FETCH_FAILED with the location of one input. `unreachable` tells the
 * driver that the executor did not respond, so its other outputs are lost too. */
static int set_fetch_failed_error(struct attempt *a, uint32_t input)
{
    assert(input < a->input_count);
    const struct fetch_input *in = &a->inputs[input];
    struct glint_error why = a->task->error;
    a->task->error.code = GLINT_OK;
    a->fetch_failure =
        (struct fetch_failure){a->shuffle, in->map, in->executor, in->attempt,
                               why.code == GLINT_E_FETCH_FAILED && a->task->unreachable};
    return error_set(&a->task->error, GLINT_E_FETCH_FAILED, why.code != GLINT_OK ? why.hint : NULL,
                     "map output %u of shuffle %llu at executor %u: %s", in->map,
                     (unsigned long long)a->shuffle, in->executor,
                     why.code != GLINT_OK ? why.cause : "not found");
}

static bool is_local_input(const struct fetch_input *in, uint32_t partition)
{
    return in->local != NULL && partition < in->local->partitions;
}

static int open_attempt_inputs(struct attempt *a, uint32_t partition)
{
    uint32_t lost = UINT32_MAX;
    a->fetch = fetch_open(a->task, a->config->fetcher, a->shuffle, partition, a->inputs,
                          a->input_count, &a->slices, &a->slice_count, &lost);
    if (a->fetch != NULL) return 0;
    bool named = a->task->error.code == GLINT_E_FETCH_FAILED && lost < a->input_count;
    return named ? set_fetch_failed_error(a, lost) : a->task->error.code;
}

static int open_task_inputs(void *arg, struct glint_task *task, uint64_t shuffle,
                            uint32_t partition, struct run_slice **out, uint32_t *out_count)
{
    struct attempt *a = arg;
    assert(a->inputs == NULL && a->fetch == NULL && task == a->task);
    a->shuffle = shuffle;
    a->slice_count = 0;
    int r = store_acquire_inputs(a->store, shuffle, a->config->self, &task->arena, &a->inputs,
                                 &a->input_count, &task->error);
    for (uint32_t i = 0; r == 0 && i < a->input_count; i++) {
        bool mine = a->inputs[i].executor == a->config->self;
        /* A local output may have been removed, or belong to a shuffle with fewer partitions. */
        if (mine ? !is_local_input(&a->inputs[i], partition) : a->config->fetcher == NULL)
            r = set_fetch_failed_error(a, i);
    }
    if (r == 0) r = open_attempt_inputs(a, partition);
    *out = a->slices;
    *out_count = a->slice_count;
    if (r == 0) return 0;
    if (a->inputs != NULL) store_release_inputs(a->store, a->inputs, a->input_count);
    a->inputs = NULL;
    return r;
}

/* Converts the error of reading an input to FETCH_FAILED. In local mode an I/O error stays
 * SPILL_IO, so that the same task is retried: the disk may work again. In a cluster the map output
 * is recomputed on another executor. */
static void convert_input_error(struct attempt *a)
{
    enum glint_code code = a->task->error.code;
    uint32_t input = fetch_find_lost_input(a->fetch);
    if (input == UINT32_MAX) return;
    if (code == GLINT_E_SHUFFLE_CORRUPT || code == GLINT_E_FETCH_FAILED ||
        (code == GLINT_E_SPILL_IO && a->config->fetcher))
        set_fetch_failed_error(a, input);
}

static void close_task_inputs(void *arg, struct glint_task *task)
{
    struct attempt *a = arg;
    assert(a->inputs != NULL);
    /* Before fetch_close and the release: both free what names the input. */
    if (task->error.code != GLINT_OK) convert_input_error(a);
    fetch_close(a->fetch);
    store_release_inputs(a->store, a->inputs, a->input_count);
    a->fetch = NULL;
    a->inputs = NULL;
}

/* ---- The outcome */

/* Takes ownership of the run. Writes one size code per partition to `body`, for the driver's choice
 * of executors near the data. */
static int store_map_output(struct attempt *a, const struct message *m, uint64_t shuffle,
                            struct run *run, struct buffer *body)
{
    uint32_t sizes = run->partitions <= SIZES_MAX ? run->partitions : 0;
    bool memory = buffer_reserve(body, sizes);
    if (memory && sizes > 0) memset(body->data + body->size, size_code_encode(0), sizes);
    const uint32_t parts = run->numbers != NULL ? run->used : sizes;
    for (uint32_t i = 0; memory && sizes > 0 && i < parts; i++) {
        const uint32_t partition = run->numbers != NULL ? run->numbers[i] : i;
        body->data[body->size + partition] = size_code_encode(run->parts[i].bytes);
    }
    if (memory) body->size += sizes;
    /* From here on other executors can fetch the output; the driver names it to them only after
     * DONE. */
    if (memory && store_add_map_output(a->store, shuffle, m->task, m->attempt, run) == 0) return 0;
    run_destroy(run);
    return error_no_memory(&a->task->error);
}

/* A result too large for a message stays in the store until the driver has fetched it. */
static int store_large_result(struct attempt *a, struct message *outcome)
{
    if (a->config->fetcher == NULL || outcome->body.size <= RESULT_INLINE_BYTES_MAX) return 0;
    uint8_t checksum[RESULT_CHECKSUM_BYTES];
    outcome->size = outcome->body.size;
    put_le64(checksum, XXH3_64bits(outcome->body.data, outcome->body.size));
    outcome->id = store_add_result(a->store, &outcome->body);
    bool ok = outcome->id != 0 && buffer_append(&outcome->body, checksum, sizeof checksum);
    return ok ? 0 : error_no_memory(&a->task->error);
}

static void set_outcome_to_failed(struct attempt *a, struct message *outcome)
{
    buffer_fini(&outcome->body);
    outcome->type = MSG_FAILED;
    *outcome->error = a->task->error;
    if (outcome->error->code != GLINT_E_FETCH_FAILED) return;
    struct glint_error error = {.code = GLINT_OK};
    /* Out of memory: report that instead of a FETCH_FAILED without a location. */
    if (fetch_failure_encode(&a->fetch_failure, &outcome->body, &error) != 0)
        *outcome->error = error;
}

static int run_stage_of_attempt(struct attempt *a, const struct stage_plan *stage,
                                const struct message *m, struct message *outcome)
{
    struct run run = {.partitions = 0};
    struct pipeline_input input = {.stage = stage,
                                   .partition = m->partition,
                                   .splits = {m->body.data, m->body.size},
                                   .fetch = open_task_inputs,
                                   .fetch_end = close_task_inputs,
                                   .fetch_arg = a,
                                   .blocks = a->blocks,
                                   .fetcher = a->config->fetcher,
                                   .self = a->config->self};
    int r = pipeline_run(a->task, &input, &run, &outcome->body);
    if (r != 0) return r;
    const struct stage_node *root = &stage->nodes[stage->node_count - 1];
    bool wide = stage_node_is_shuffle(root);
    if (wide && store_stage_is_removed(a->store, stage)) { /* the driver ignores this attempt */
        run_destroy(&run);
        return error_set(&a->task->error, GLINT_E_INTERRUPTED, NULL, "attempt superseded");
    }
    r = wide ? store_map_output(a, m, root->rdd, &run, &outcome->body)
             : store_large_result(a, outcome);
    return r == 0 ? task_counters_encode(a->task, &outcome->counters) : r;
}

/* Tells the driver which cached blocks this executor has. Out of memory, it does not learn of them,
 * and prefers no executor for them. */
static void add_block_changes(struct block_store *blocks, struct message *outcome)
{
    struct cached_block_state *changes;
    struct glint_error ignored = {.code = GLINT_OK};
    const uint32_t count = block_store_take_changes(blocks, &changes);
    if (count > 0) cached_blocks_encode(changes, count, &outcome->blocks, &ignored);
    mem_free(changes);
}

void attempt_run(const struct executor_config *config, struct store *store,
                 struct block_store *blocks, struct glint_task *task, const struct message *m,
                 struct message *outcome)
{
    struct attempt a = {.config = config, .store = store, .blocks = blocks, .task = task};
    assert(m->type == MSG_TASK && outcome->error != NULL);
    task->broadcast = attempt_find_broadcast;
    task->broadcast_arg = &a;
    /* A reference: the driver may release the stage while this attempt still runs. */
    const struct stage_plan *stage = store_acquire_stage(store, m->stage, &task->error);
    task->stage = stage;
    int r = stage != NULL ? run_stage_of_attempt(&a, stage, m, outcome) : (int)task->error.code;
    task->stage = NULL;
    if (stage != NULL) store_release(store, stage);
    task->broadcast_arg = NULL;
    release_attempt_broadcasts(&a);
    assert(a.inputs == NULL && a.fetch == NULL);
    task_free_accumulators(task);
    if (blocks != NULL) add_block_changes(blocks, outcome);
    if (r != 0)
        set_outcome_to_failed(&a, outcome);
    else
        outcome->type = MSG_DONE;
}

/* ---- executor */

/* ---- Names of operators and functions belong to the program, so they outlive tasks. Everything
 * else here is read by the thread that owns it. */

/* The name of the user function that is running; NULL: none. Any thread. */
static const char *describe_task_function(struct glint_task *task)
{
    const struct glint_function *f = atomic_load_explicit(&task->function, memory_order_relaxed);
    return f != NULL ? f->name : NULL;
}

static void append_stage_to_crash_text(struct crash_text *out, const struct stage_plan *stage)
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
    if (task->stage != NULL) append_stage_to_crash_text(out, task->stage);
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
    struct worker_parents workers;
    pthread_mutex_t lock; /* guards the fields below */
    uint32_t idle;        /* slots waiting for work, without those already woken */
    struct message_queue tasks;
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
static int get_task_cancel_file(struct glint_task *task)
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
static void close_slot_wakeup(struct slot *slot)
{
    if (slot->has_wake) pipe_semaphore_close(&slot->wake);
    slot->has_wake = false;
}

/* Called with the lock, before `running` is set: executor_find_longest_cancelled_task reads the
 * task. */
static void prepare_task_of_slot(struct slot *slot, const struct message *m)
{
    struct executor *e = slot->executor;
    struct glint_task *t = &slot->task;
    assert(m->type == MSG_TASK && slot->running == NULL);
    const struct arena arena = t->arena;
    const uint64_t combined_keys = t->combined_keys;
    *t = (struct glint_task){.env = e->config.env,
                             .options = &e->config.options,
                             .arena = arena,
                             .partition = m->partition,
                             .attempt = m->attempt,
                             .attempt_id = slot->attempt_id,
                             .table_seed = e->table_seed,
                             .combined_keys = combined_keys,
                             .workers = &e->workers,
                             .run_memory = &e->run_memory,
                             .compress_outputs = e->config.fetcher != NULL,
                             .cancel_flag = &slot->cancel,
                             .cancel_file = get_task_cancel_file};
    t->counters.used = COUNT_BUILT_IN;
}

static struct message *wait_for_task(struct slot *slot)
{
    struct executor *e = slot->executor;
    arena_reset(&slot->task.arena, SLOT_ARENA_KEEP_BYTES);
    pthread_mutex_lock(&e->lock);
    while (e->tasks.first == NULL && !e->ending) {
        e->idle++;
        pthread_mutex_unlock(&e->lock);
        /* Wait without the lock: receive_task_message needs it to queue a task. A slot that was
         * woken may find the queue empty, because a busy slot took the task first; it then waits
         * again. */
        pipe_semaphore_wait(&e->work);
        pthread_mutex_lock(&e->lock);
    }
    struct message *m = message_queue_pop(&e->tasks);
    /* A new id per task, so that cancelling the fetches of one attempt never affects the next task
     * of this slot. */
    slot->attempt_id = ++e->last_attempt;
    if (m != NULL) prepare_task_of_slot(slot, m);
    slot->running = m;
    slot->cancel_requested_ns = 0;
    /* Under the same lock as receive_cancel_message and kill_attempt: a cancel either sees
     * `running`, or is seen here. */
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

/* The outcome message was allocated by receive_task_message: reporting an error needs no memory. */
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
        /* Before the message is freed: executor_find_longest_cancelled_task and kill_attempt read
         * `running`. */
        slot->running = NULL;
        close_slot_wakeup(slot);
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

static int64_t block_store_memory_limit(const struct executor_config *config)
{
    return (int64_t)(config->options.memory_bytes * config->slots / 100 * KEPT_MEMORY_PERCENT);
}

struct executor *executor_create(const struct executor_config *config, struct glint_error *error)
{
    assert(config->slots > 0 && config->slots <= SLOTS_MAX);
    struct executor *e = mem_zalloc_or_fail(sizeof *e + sizeof e->slots[0] * config->slots, error);
    if (e == NULL) return NULL;
    if (pipe_semaphore_open(&e->work, error) != 0) {
        mem_free(e);
        return NULL;
    }
    e->config = *config;
    e->run_memory = config->options.memory_bytes * config->slots / RUN_MEMORY_SHARE;
    mem_cache_raise_limit(block_store_memory_limit(config));
    pthread_mutex_init(&e->lock, NULL);
    worker_parents_init(&e->workers);
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
static int receive_task_message(struct executor *e, struct message *m, struct glint_error *error)
{
    if (!message_create_outcome(m)) {
        message_destroy(m);
        return error_no_memory(error);
    }
    atomic_fetch_add(&e->unfinished, 1);
    pthread_mutex_lock(&e->lock);
    assert(!e->ending);
    message_queue_append(&e->tasks, m);
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
static struct message *remove_queued_attempt(struct executor *e, const struct message *kill)
{
    struct message *before = NULL, *m = e->tasks.first;
    while (m != NULL && !is_same_attempt(m, kill)) {
        before = m;
        m = m->next;
    }
    if (m == NULL) return NULL;
    if (before != NULL)
        before->next = m->next;
    else
        e->tasks.first = m->next;
    if (e->tasks.last == m) e->tasks.last = before;
    m->next = NULL;
    return m;
}

/* Ends what the attempt waits for. Its cancel flag must be set already, or it could wait again. */
static void cancel_waits_of_attempt(struct executor *e, uint64_t attempt_id)
{
    const struct fetcher *f = e->config.fetcher;
    if (f != NULL && f->cancel != NULL) f->cancel(f->arg, attempt_id);
    if (e->config.broadcasts != NULL) broadcast_client_wake_waiters(e->config.broadcasts);
}

/* Called with the lock. */
static void request_attempt_cancel(struct slot *slot)
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
    struct message *queued = remove_queued_attempt(e, kill);
    for (uint32_t i = 0; always && queued == NULL && attempt_id == 0 && i < e->started; i++) {
        struct slot *slot = &e->slots[i];
        if (slot->running == NULL || !is_same_attempt(slot->running, kill)) continue;
        request_attempt_cancel(slot);
        attempt_id = slot->attempt_id;
    }
    pthread_mutex_unlock(&e->lock);
    if (attempt_id != 0) cancel_waits_of_attempt(e, attempt_id);
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
        request_attempt_cancel(&e->slots[i]);
        running[count++] = e->slots[i].attempt_id;
    }
    pthread_mutex_unlock(&e->lock);
    for (uint32_t i = 0; i < count; i++) cancel_waits_of_attempt(e, running[i]);
}

static void receive_cancel_message(struct executor *e, bool cancelled)
{
    pthread_mutex_lock(&e->lock);
    e->cancelled = cancelled;
    pthread_mutex_unlock(&e->lock);
    if (cancelled) cancel_running_tasks(e);
}

static void report_outputs_not_writable(struct executor *e, uint32_t stage,
                                        const struct glint_error *why)
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
static void probe_output_directories(struct executor *e, uint32_t stage)
{
    struct env *env = e->config.env;
    const struct stage_plan *plan = store_find_stage(e->store, stage);
    struct glint_error why = {.code = GLINT_OK};
    for (uint32_t i = 0; plan != NULL && i < plan->output_count && why.code == GLINT_OK; i++) {
        char path[PATH_MAX];
        if (remote_output_is_in_store(plan->outputs[i])) continue; /* the first tasks will say it */
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
    if (why.code != GLINT_OK) report_outputs_not_writable(e, stage, &why);
}

/* Those of a job in one process are tried by opening them: its driver has the same user. */
static int receive_stage_message(struct executor *e, struct message *m, struct glint_error *error)
{
    const uint32_t stage = m->stage;
    const int r = store_add_message(e->store, m, e->config.registry, error);
    if (r == 0 && e->config.fetcher != NULL) probe_output_directories(e, stage);
    return r;
}

/* Without a body the blocks are fetched (broadcast.h); small values arrive inline. */
static int receive_broadcast_message(struct executor *e, struct message *m,
                                     struct glint_error *error)
{
    if (e->config.broadcasts == NULL || m->body.size > 0)
        return store_add_message(e->store, m, e->config.registry, error);
    int r = broadcast_client_add(e->config.broadcasts, m->id, m->size, error);
    message_destroy(m);
    return r;
}

/* The file that a command has got of a broadcast, if one has. */
static void remove_command_file(struct executor *e, uint64_t broadcast)
{
    struct env *env = e->config.env;
    char path[PATH_MAX];
    if (task_command_file(&e->config.options, broadcast, path))
        (void)env->remove(env, ENV_CWD, path, false); /* most have none */
}

/* A kind that this version does not know is ignored: what is not freed only takes memory. */
static void receive_free_message(struct executor *e, const struct message *m)
{
    switch (m->task) {
    case FREE_CACHED_BLOCKS: block_store_remove_rdd(e->blocks, (uint32_t)m->id); break;
    case FREE_MAP_OUTPUTS: store_remove_shuffle(e->store, m->id, m->partition); break;
    case FREE_BROADCAST:
        store_remove(e->store, STORED_BROADCAST, m->id);
        if (e->config.broadcasts != NULL) broadcast_client_remove(e->config.broadcasts, m->id);
        remove_command_file(e, m->id);
        break;
    default: break;
    }
}

int executor_handle_message(struct executor *e, struct message *m, struct glint_error *error)
{
    switch (m->type) {
    case MSG_STAGE: return receive_stage_message(e, m, error);
    case MSG_MAP_OUTPUTS: return store_add_message(e->store, m, e->config.registry, error);
    case MSG_BROADCAST: return receive_broadcast_message(e, m, error);
    case MSG_TASK: return receive_task_message(e, m, error);
    case MSG_KILL: kill_attempt(e, m); break;
    case MSG_CANCEL: receive_cancel_message(e, m->id != 0); break;
    case MSG_RELEASE:
        if (m->id != 0)
            store_remove(e->store, STORED_RESULT, m->id);
        else
            store_remove(e->store, STORED_STAGE, m->stage);
        break;
    case MSG_FREE: receive_free_message(e, m); break;
    default:
        error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected message of type %d", (int)m->type);
        message_destroy(m);
        return error->code;
    }
    message_destroy(m);
    return 0;
}

uint64_t executor_find_longest_cancelled_task(struct executor *e, char *what, size_t capacity)
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

struct block_store *executor_blocks(struct executor *e)
{
    return e->blocks;
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
    worker_parents_fini(&e->workers);
    message_queue_fini(&e->tasks);
    store_destroy(e->store);
    block_store_destroy(e->blocks);
    pipe_semaphore_close(&e->work);
    pthread_mutex_destroy(&e->lock);
    mem_cache_raise_limit(-block_store_memory_limit(&e->config));
    mem_free(e);
}
