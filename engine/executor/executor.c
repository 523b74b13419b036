/* Slots: each takes a task, runs its pipeline, hands back the outcome. */
#include "engine/executor/executor.h"

#include "engine/data/pack.h"
#include "engine/executor/pipeline.h"
#include "engine/executor/store.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define SLOT_ARENA_KEEP_BYTES (4 * MIB)

struct slot {
    struct executor *executor;
    pthread_t thread;
    struct glint_task task; /* memory that is used again: arena */
};

struct executor {
    struct executor_config config;
    struct store *store;
    uint64_t table_seed;
    atomic_bool cancel;
    atomic_uint_fast64_t next_attempt;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work;
    struct message *first, *last;
    bool ending;
    uint32_t started;
    struct slot slots[];
};

bool counters_encode(const struct task_counters *c, struct buffer *out)
{
    struct packer p;
    packer_init(&p);
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->used; i++) count += c->values[i] != 0;
    pack_array(&p, count);
    for (uint32_t i = 0; i < c->used; i++) {
        if (c->values[i] == 0) continue;
        pack_array(&p, 2);
        pack_text(&p, i < COUNT_BUILT_IN ? task_counter_names[i] : c->names[i]);
        pack_i64(&p, c->values[i]);
    }
    *out = p.out;
    return !p.failed;
}

static int slot_fetch(void *arg, struct glint_task *task, uint64_t shuffle, uint32_t partition,
                      struct run_slice **out, uint32_t *out_count)
{
    struct executor *e = arg;
    return store_inputs(e->store, shuffle, partition, &task->arena, out, out_count, &task->error);
}

static void task_prepare(struct slot *slot, const struct message *m)
{
    struct executor *e = slot->executor;
    struct glint_task *t = &slot->task;
    assert(m->type == MSG_TASK);
    struct arena arena = t->arena;
    arena_reset(&arena, SLOT_ARENA_KEEP_BYTES);
    *t = (struct glint_task){.env = e->config.env,
                             .options = &e->config.options,
                             .arena = arena,
                             .partition = m->partition,
                             .attempt = m->attempt,
                             .table_seed = e->table_seed,
                             .broadcast = store_broadcast,
                             .broadcast_arg = e->store,
                             .cancel_flag = &e->cancel};
    t->counters.used = COUNT_BUILT_IN;
    t->attempt_id = atomic_fetch_add(&e->next_attempt, 1);
}

/* Runs the task and fills in its outcome. */
static void slot_run(struct slot *slot, const struct message *m, struct message *outcome)
{
    struct executor *e = slot->executor;
    struct glint_task *task = &slot->task;
    struct run run = {.partitions = 0};
    task_prepare(slot, m);
    const struct stage_plan *stage = store_stage(e->store, m->stage);
    int r;
    if (stage == NULL) {
        r = error_set(&task->error, GLINT_E_PROTOCOL, NULL, "stage %u is not here", m->stage);
    } else {
        struct pipeline_input input = {.stage = stage,
                                       .partition = m->partition,
                                       .splits = {m->body.data, m->body.size},
                                       .fetch = slot_fetch,
                                       .fetch_arg = e};
        r = pipeline_run(task, &input, &run, &outcome->body);
    }
    const struct stage_node *root = stage != NULL ? &stage->nodes[stage->node_count - 1] : NULL;
    if (r == 0 && root->op->kind == OP_WIDE &&
        store_add_output(e->store, root->rdd, m->task, m->attempt, &run) != 0) {
        run_destroy(&run);
        r = error_no_memory(&task->error);
    }
    if (r == 0 && !counters_encode(&task->counters, &outcome->counters))
        r = error_no_memory(&task->error);
    outcome->type = r == 0 ? MSG_DONE : MSG_FAILED;
    if (r != 0) {
        buffer_fini(&outcome->body);
        *outcome->error = task->error;
    }
}

static struct message *next_task(struct executor *e)
{
    pthread_mutex_lock(&e->lock);
    while (e->first == NULL && !e->ending) pthread_cond_wait(&e->work, &e->lock);
    struct message *m = e->first;
    if (m != NULL) {
        e->first = m->next;
        assert(e->last != NULL);
        if (e->first == NULL) e->last = NULL;
        m->next = NULL;
    }
    pthread_mutex_unlock(&e->lock);
    return m;
}

/* The outcome message travels with the task from the start: reporting an error needs no memory. */
static void *slot_main(void *arg)
{
    struct slot *slot = arg;
    struct executor *e = slot->executor;
    for (struct message *m; (m = next_task(e)) != NULL;) {
        struct message *outcome = m->outcome;
        assert(outcome != NULL && outcome->error != NULL);
        m->outcome = NULL;
        slot_run(slot, m, outcome);
        message_destroy(m);
        e->config.deliver(e->config.deliver_arg, outcome);
    }
    arena_fini(&slot->task.arena);
    return NULL;
}

static int start_slots(struct executor *e, struct glint_error *error)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for the loop's thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = 0;
    for (; e->started < e->config.slots && r == 0; e->started++) {
        struct slot *slot = &e->slots[e->started];
        slot->executor = e;
        int failed = pthread_create(&slot->thread, NULL, slot_main, slot);
        if (failed != 0) {
            r = error_set_system(error, GLINT_E_SYSTEM, -failed, "start", "a thread");
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

struct executor *executor_create(const struct executor_config *config, struct glint_error *error)
{
    assert(config->slots > 0 && config->slots <= SLOTS_MAX);
    struct executor *e = mem_zalloc(sizeof *e + sizeof e->slots[0] * config->slots);
    if (e == NULL) {
        error_no_memory(error);
        return NULL;
    }
    e->config = *config;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->work, NULL);
    e->store = store_create();
    int r = e->store == NULL ? error_no_memory(error) : 0;
    if (r == 0 && config->env->random(config->env, &e->table_seed, sizeof e->table_seed) != 0)
        r = error_set(error, GLINT_E_SYSTEM, NULL, "the system gave no random numbers");
    if (r == 0) r = start_slots(e, error);
    if (r == 0) return e;
    executor_destroy(e);
    return NULL;
}

/* The outcome is made before the task is queued, so that every TASK is answered. */
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
    pthread_mutex_lock(&e->lock);
    assert(!e->ending && m->next == NULL);
    if (e->last != NULL)
        e->last->next = m;
    else
        e->first = m;
    e->last = m;
    pthread_cond_signal(&e->work);
    pthread_mutex_unlock(&e->lock);
    return 0;
}

int executor_receive(struct executor *e, struct message *m, struct glint_error *error)
{
    switch (m->type) {
    case MSG_STAGE:
    case MSG_OUTPUTS:
    case MSG_BROADCAST: return store_keep(e->store, m, e->config.registry, error);
    case MSG_TASK: return receive_task(e, m, error);
    case MSG_CANCEL: atomic_store(&e->cancel, m->id != 0); break;
    case MSG_FORGET: store_forget_stage(e->store, m->stage); break;
    default:
        error_set(error, GLINT_E_PROTOCOL, NULL, "an executor was sent a message of type %d",
                  (int)m->type);
        message_destroy(m);
        return error->code;
    }
    message_destroy(m);
    return 0;
}

void executor_destroy(struct executor *e)
{
    if (e == NULL) return;
    atomic_store(&e->cancel, true);
    pthread_mutex_lock(&e->lock);
    e->ending = true;
    pthread_cond_broadcast(&e->work);
    pthread_mutex_unlock(&e->lock);
    for (uint32_t i = 0; i < e->started; i++) pthread_join(e->slots[i].thread, NULL);
    for (struct message *m = e->first, *next; m != NULL; m = next) {
        next = m->next;
        message_destroy(m);
    }
    store_destroy(e->store);
    pthread_cond_destroy(&e->work);
    pthread_mutex_destroy(&e->lock);
    mem_free(e);
}
