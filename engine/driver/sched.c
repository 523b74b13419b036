/* Creates the scheduler's tables, and the getters. For the other files see sched_internal.h. */
#include "engine/driver/sched.h"

#include "engine/base/mem.h"
#include "engine/driver/sched_internal.h"

#include <assert.h>
#include <string.h>

struct sched *sched_create(bool speculate)
{
    struct sched *s = mem_zalloc(sizeof *s);
    if (s == NULL) return NULL;
    s->speculate = speculate;
    if (hbitmap_reserve(&s->nonempty_buckets, BUCKETS_MAX + 1)) return s;
    mem_free(s);
    return NULL;
}

static void sched_stage_fini(struct sched_stage *stage)
{
    mem_free(stage->tasks);
    mem_free(stage->parents);
    mem_free(stage->preferred);
    mem_free(stage->durations);
    hbitmap_fini(&stage->waiting);
}

void sched_destroy(struct sched *s)
{
    if (s == NULL) return;
    for (uint32_t i = 0; i < s->stage_count; i++) sched_stage_fini(&s->stages[i]);
    for (uint32_t i = 0; i < s->executor_count; i++) mem_free(s->executors[i].attempts);
    for (uint32_t i = 0; i <= BUCKETS_MAX; i++) hbitmap_fini(&s->buckets[i]);
    hbitmap_fini(&s->nonempty_buckets);
    hbitmap_fini(&s->executors_with_queue);
    hbitmap_fini(&s->draining_with_queue);
    hbitmap_fini(&s->runnable_stages);
    hbitmap_fini(&s->speculatable);
    mem_free(s->stages);
    mem_free(s->executors);
    mem_free(s->nodes);
    mem_free(s);
}

/* ---- Executors */

static bool reserve_nodes(struct sched *s, uint32_t count)
{
    uint64_t old = s->node_capacity;
    if (!array_reserve(&s->nodes, &s->node_capacity, count, sizeof *s->nodes)) return false;
    memset(s->nodes + old, 0, sizeof *s->nodes * (s->node_capacity - old));
    return true;
}

/* Reserves the buckets for executors with up to `room` slots or queued tasks. Done when an executor
 * is added, so that no event needs memory and can fail. */
static bool reserve_task_buckets(struct sched *s, uint32_t room)
{
    uint32_t most = room > s->bucket_limit ? room : s->bucket_limit;
    uint32_t executors = (uint32_t)s->executor_capacity;
    for (uint32_t i = 1; i <= most; i++)
        if (!hbitmap_reserve(&s->buckets[i], executors) ||
            !hbitmap_reserve(&s->buckets[QUEUE_ONLY + i], executors))
            return false;
    s->bucket_limit = most;
    return hbitmap_reserve(&s->executors_with_queue, executors) &&
           hbitmap_reserve(&s->draining_with_queue, executors);
}

bool sched_add_executor(struct sched *s, uint32_t node, uint32_t slots, uint32_t prefetch)
{
    assert(slots > 0 && slots <= SLOTS_MAX && prefetch <= SLOTS_MAX && node < EXECUTORS_MAX);
    if (!reserve_nodes(s, node + 1) ||
        !array_reserve(&s->executors, &s->executor_capacity, s->executor_count + 1,
                       sizeof *s->executors) ||
        !reserve_task_buckets(s, slots > prefetch ? slots : prefetch))
        return false;
    struct sched_executor e = {.node = node, .slots = slots, .prefetch = prefetch};
    /* All attempts that the executor can have at a time, so that starting one needs no memory. */
    uint32_t attempt_count = slots + prefetch;
    e.attempts = e.free = mem_zalloc(sizeof *e.attempts * attempt_count);
    if (e.attempts == NULL) return false;
    for (uint32_t i = 0; i + 1 < attempt_count; i++) e.attempts[i].next_queued = &e.attempts[i + 1];
    s->executors[s->executor_count++] = e;
    sched_executor_set_usable(s, s->executor_count - 1, true);
    return true;
}

/* ---- Stages */

static bool reserve_stages(struct sched *s)
{
    return array_reserve(&s->stages, &s->stage_capacity, s->stage_count + 1, sizeof *s->stages) &&
           hbitmap_reserve(&s->runnable_stages, (uint32_t)s->stage_capacity) &&
           hbitmap_reserve(&s->speculatable, (uint32_t)s->stage_capacity);
}

static bool sched_stage_init(struct sched_stage *stage, uint32_t number, bool speculate)
{
    stage->tasks = mem_zalloc(sizeof *stage->tasks * stage->count);
    stage->parents = mem_alloc(sizeof *stage->parents * stage->parent_count);
    if (speculate) stage->durations = mem_zalloc(sizeof *stage->durations);
    if (stage->tasks == NULL || stage->parents == NULL || (speculate && stage->durations == NULL) ||
        !hbitmap_reserve(&stage->waiting, stage->count))
        return false;
    for (uint32_t i = 0; i < stage->count; i++) {
        stage->tasks[i].stage = number;
        stage->tasks[i].executor = stage->tasks[i].last_failed_node = SCHED_NONE;
        hbitmap_set(&stage->waiting, i);
    }
    stage->waiting_count = stage->count;
    return true;
}

bool sched_add_stage(struct sched *s, uint32_t tasks, const uint32_t *parents,
                     uint32_t parent_count)
{
    struct sched_stage stage = {.count = tasks, .parent_count = parent_count};
    assert(s->running == 0);
    if (!reserve_stages(s) || !sched_stage_init(&stage, s->stage_count, s->speculate)) {
        sched_stage_fini(&stage);
        return false;
    }
    for (uint32_t i = 0; i < parent_count; i++) {
        assert(parents[i] < s->stage_count);
        stage.parents[i] = parents[i];
    }
    s->stages[s->stage_count++] = stage;
    s->stages_stale = true;
    sched_update_stages(s);
    return true;
}

static struct sched_task *sched_task_at(const struct sched *s, uint32_t stage, uint32_t task)
{
    assert(stage < s->stage_count && task < s->stages[stage].count);
    return &s->stages[stage].tasks[task];
}

void sched_add_available_output(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor,
                                uint32_t attempt)
{
    struct sched_task *t = sched_task_at(s, stage, task);
    assert(executor < s->executor_count && !s->executors[executor].lost);
    assert(t->state == TASK_WAITING && t->attempts == 0 && attempt < UINT32_MAX);
    t->attempts = attempt + 1; /* a new attempt must differ from the one that made the output */
    sched_task_set_done(s, t, executor, attempt);
    sched_update_stages(s);
}

static bool reserve_preferred(struct sched_stage *stage, uint32_t executor)
{
    uint64_t old = stage->preferred_capacity, each = sizeof *stage->preferred;
    if (!array_reserve(&stage->preferred, &stage->preferred_capacity, executor + 1, each))
        return false;
    memset(stage->preferred + old, 0, each * (stage->preferred_capacity - old));
    return true;
}

void sched_set_preferred_executor(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor)
{
    struct sched_task *t = sched_task_at(s, stage, task);
    struct sched_stage *st = &s->stages[stage];
    assert(executor == SCHED_NONE || executor < s->executor_count);
    if (t->state != TASK_WAITING) return;
    if (t->executor != SCHED_NONE) sched_task_ring_remove(&st->preferred[t->executor], t);
    t->executor = SCHED_NONE;
    if (executor == SCHED_NONE || s->executors[executor].lost) return;
    if (!reserve_preferred(st, executor)) return;
    t->executor = executor;
    sched_task_ring_add(&st->preferred[executor], t);
}

/* ---- Getters */

bool sched_stage_is_done(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return sched_stage_is_complete(&s->stages[stage]);
}

bool sched_stage_has_failed(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].failed;
}

bool sched_stage_is_needed(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].needed;
}

uint32_t sched_done_task_count(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].done;
}

uint32_t sched_map_output_epoch(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].epoch;
}

bool sched_output_location(const struct sched *s, uint32_t stage, uint32_t task,
                           uint32_t *out_executor, uint32_t *out_attempt)
{
    const struct sched_task *t = sched_task_at(s, stage, task);
    if (t->state != TASK_DONE) return false;
    *out_executor = t->executor;
    *out_attempt = t->attempt;
    return true;
}

bool sched_superseded_copy(const struct sched *s, uint32_t stage, uint32_t task,
                           struct task_attempt *out)
{
    const struct sched_task *t = sched_task_at(s, stage, task);
    if (t->state != TASK_DONE || t->other_copy == NULL) return false;
    assert(t->other_copy->superseded && t->other_copy->task == t);
    *out = sched_attempt_info(s, t->other_copy);
    return true;
}

bool sched_each_attempt_on(const struct sched *s, uint32_t executor, uint32_t *at,
                           struct task_attempt *out)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return false;
    const struct sched_executor *e = &s->executors[executor];
    while (*at < e->slots + e->prefetch && e->attempts[*at].task == NULL) *at += 1;
    if (*at == e->slots + e->prefetch) return false;
    *out = sched_attempt_info(s, &e->attempts[(*at)++]);
    return true;
}

bool sched_is_excluded_for_failures(const struct sched *s, uint32_t executor)
{
    if (executor >= s->executor_count) return false;
    const struct sched_node *n = &s->nodes[s->executors[executor].node];
    return n->failures_in_row >= SCHED_NODE_FAILURES_MAX && s->nodes_good > 0;
}

enum sched_status sched_status(const struct sched *s)
{
    return s->status;
}

bool sched_failed_task(const struct sched *s, uint32_t *out_stage, uint32_t *out_task)
{
    if (s->failed == NULL) return false;
    *out_stage = s->failed->stage;
    *out_task = sched_task_number(s, s->failed);
    return true;
}

uint32_t sched_busy_slots(const struct sched *s)
{
    return s->running;
}

uint32_t sched_busy_slots_on(const struct sched *s, uint32_t executor)
{
    assert(executor < s->executor_count);
    return s->executors[executor].busy;
}

uint32_t sched_usable_executor_count(const struct sched *s)
{
    return s->usable_executors;
}

bool sched_task_is_waiting(const struct sched *s, uint32_t stage, uint32_t task)
{
    const struct sched_task *t = sched_task_at(s, stage, task);
    return t->state == TASK_WAITING && s->stages[stage].needed && !s->stages[stage].failed;
}

uint32_t sched_lost_executor_count(const struct sched *s)
{
    return s->losses;
}

uint64_t sched_memory_bytes(const struct sched *s)
{
    uint64_t size =
        sizeof *s + sizeof *s->executors * s->executor_capacity +
        sizeof *s->stages * s->stage_capacity + sizeof *s->nodes * s->node_capacity +
        hbitmap_memory_bytes(&s->nonempty_buckets) + hbitmap_memory_bytes(&s->runnable_stages) +
        hbitmap_memory_bytes(&s->speculatable) + hbitmap_memory_bytes(&s->executors_with_queue) +
        hbitmap_memory_bytes(&s->draining_with_queue);
    for (uint32_t i = 0; i <= BUCKETS_MAX; i++) size += hbitmap_memory_bytes(&s->buckets[i]);
    for (uint32_t i = 0; i < s->executor_count; i++) {
        const struct sched_executor *e = &s->executors[i];
        if (!e->lost) size += sizeof *e->attempts * ((uint64_t)e->slots + e->prefetch);
    }
    for (uint32_t i = 0; i < s->stage_count; i++) {
        const struct sched_stage *stage = &s->stages[i];
        size += sizeof *stage->tasks * stage->count + hbitmap_memory_bytes(&stage->waiting) +
                sizeof *stage->parents * stage->parent_count +
                sizeof *stage->preferred * stage->preferred_capacity;
        if (stage->durations != NULL) size += sizeof *stage->durations;
    }
    return size;
}
