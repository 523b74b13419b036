/* The scheduler's tables: made here, asked here. What happens to them: see sched_internal.h. */
#include "engine/driver/sched.h"

#include "engine/base/mem.h"
#include "engine/driver/sched_internal.h"

#include <assert.h>
#include <string.h>

#define EXECUTORS_FIRST 16u

struct sched *sched_create(bool speculate)
{
    struct sched *s = mem_zalloc(sizeof *s);
    if (s == NULL) return NULL;
    s->speculate = speculate;
    if (bits_reserve(&s->rooms, BUCKETS_MAX + 1)) return s;
    mem_free(s);
    return NULL;
}

static void stage_fini(struct sched_stage *stage)
{
    mem_free(stage->tasks);
    mem_free(stage->parents);
    mem_free(stage->preferred);
    mem_free(stage->durations);
    bits_fini(&stage->waiting);
}

void sched_destroy(struct sched *s)
{
    if (s == NULL) return;
    for (uint32_t i = 0; i < s->stage_count; i++) stage_fini(&s->stages[i]);
    for (uint32_t i = 0; i < s->executor_count; i++) mem_free(s->executors[i].attempts);
    for (uint32_t i = 0; i <= BUCKETS_MAX; i++) bits_fini(&s->buckets[i]);
    bits_fini(&s->rooms);
    bits_fini(&s->queues);
    bits_fini(&s->leaving);
    bits_fini(&s->open);
    bits_fini(&s->late);
    mem_free(s->stages);
    mem_free(s->executors);
    mem_free(s->nodes);
    mem_free(s);
}

/* ---- Executors */

static bool reserve_nodes(struct sched *s, uint32_t count)
{
    if (count <= s->node_count) return true;
    if (count < 2 * s->node_count) count = 2 * s->node_count;
    uint64_t size = sizeof *s->nodes * s->node_count, wanted = sizeof *s->nodes * count;
    struct sched_node *grown = mem_grow(s->nodes, size, wanted);
    if (grown == NULL) return false;
    memset(grown + s->node_count, 0, wanted - size);
    s->nodes = grown;
    s->node_count = count;
    return true;
}

static bool reserve_executors(struct sched *s)
{
    if (s->executor_count < s->executor_capacity) return true;
    uint32_t capacity = s->executor_capacity > 0 ? 2 * s->executor_capacity : EXECUTORS_FIRST;
    uint64_t size = sizeof *s->executors * s->executor_count;
    struct sched_executor *grown = mem_grow(s->executors, size, sizeof *s->executors * capacity);
    if (grown == NULL) return false;
    s->executors = grown;
    s->executor_capacity = capacity;
    return true;
}

/* For executors with so much room, free or in their queues. */
static bool reserve_buckets(struct sched *s, uint32_t room)
{
    uint32_t most = room > s->room_most ? room : s->room_most;
    for (uint32_t i = 1; i <= most; i++)
        if (!bits_reserve(&s->buckets[i], s->executor_capacity) ||
            !bits_reserve(&s->buckets[QUEUE_ONLY + i], s->executor_capacity))
            return false;
    s->room_most = most;
    return bits_reserve(&s->queues, s->executor_capacity) &&
           bits_reserve(&s->leaving, s->executor_capacity);
}

bool sched_add_executor(struct sched *s, uint32_t node, uint32_t slots, uint32_t ahead)
{
    assert(slots > 0 && slots <= SLOTS_MAX && ahead <= SLOTS_MAX && node < EXECUTORS_MAX);
    if (!reserve_nodes(s, node + 1) || !reserve_executors(s) ||
        !reserve_buckets(s, slots > ahead ? slots : ahead))
        return false;
    struct sched_executor e = {.node = node, .slots = slots, .ahead = ahead};
    uint32_t places = slots + ahead;
    e.attempts = e.free = mem_zalloc(sizeof *e.attempts * places);
    if (e.attempts == NULL) return false;
    for (uint32_t i = 0; i + 1 < places; i++) e.attempts[i].behind = &e.attempts[i + 1];
    s->executors[s->executor_count++] = e;
    sched_executor_usable(s, s->executor_count - 1, true);
    return true;
}

/* ---- Stages */

static bool reserve_stages(struct sched *s)
{
    if (s->stage_count == s->stage_capacity) {
        uint32_t capacity = s->stage_capacity > 0 ? 2 * s->stage_capacity : 8;
        uint64_t size = sizeof *s->stages * s->stage_count;
        struct sched_stage *grown = mem_grow(s->stages, size, sizeof *s->stages * capacity);
        if (grown == NULL) return false;
        s->stages = grown;
        s->stage_capacity = capacity;
    }
    return bits_reserve(&s->open, s->stage_capacity) && bits_reserve(&s->late, s->stage_capacity);
}

static bool stage_init(struct sched_stage *stage, uint32_t number, bool speculate)
{
    stage->tasks = mem_zalloc(sizeof *stage->tasks * stage->count);
    stage->parents = mem_alloc(sizeof *stage->parents * stage->parent_count);
    if (speculate) stage->durations = mem_zalloc(sizeof *stage->durations);
    if (stage->tasks == NULL || stage->parents == NULL || (speculate && stage->durations == NULL) ||
        !bits_reserve(&stage->waiting, stage->count))
        return false;
    for (uint32_t i = 0; i < stage->count; i++) {
        stage->tasks[i].stage = number;
        stage->tasks[i].executor = stage->tasks[i].left = SCHED_NONE;
        bits_add(&stage->waiting, i);
    }
    stage->waiting_count = stage->count;
    return true;
}

bool sched_add_stage(struct sched *s, uint32_t tasks, const uint32_t *parents,
                     uint32_t parent_count)
{
    struct sched_stage stage = {.count = tasks, .parent_count = parent_count};
    assert(s->running == 0);
    if (!reserve_stages(s) || !stage_init(&stage, s->stage_count, s->speculate)) {
        stage_fini(&stage);
        return false;
    }
    for (uint32_t i = 0; i < parent_count; i++) {
        assert(parents[i] < s->stage_count);
        stage.parents[i] = parents[i];
    }
    s->stages[s->stage_count++] = stage;
    s->stages_stale = true;
    sched_settle(s);
    return true;
}

static struct sched_task *task_at(const struct sched *s, uint32_t stage, uint32_t task)
{
    assert(stage < s->stage_count && task < s->stages[stage].count);
    return &s->stages[stage].tasks[task];
}

void sched_set_done(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor,
                    uint32_t attempt)
{
    struct sched_task *t = task_at(s, stage, task);
    assert(executor < s->executor_count && !s->executors[executor].lost);
    assert(t->state == TASK_WAITING && t->attempts == 0 && attempt < UINT32_MAX);
    t->attempts = attempt + 1;
    sched_become_done(s, t, executor, attempt);
    sched_settle(s);
}

static bool reserve_preferred(struct sched *s, struct sched_stage *stage, uint32_t executor)
{
    if (executor < stage->preferred_count) return true;
    uint32_t count = s->executor_capacity;
    uint64_t size = sizeof *stage->preferred * stage->preferred_count;
    uint64_t wanted = sizeof *stage->preferred * count;
    struct sched_ring *grown = mem_grow(stage->preferred, size, wanted);
    if (grown == NULL) return false;
    memset(grown + stage->preferred_count, 0, wanted - size);
    stage->preferred = grown;
    stage->preferred_count = count;
    return true;
}

void sched_prefer(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor)
{
    struct sched_task *t = task_at(s, stage, task);
    struct sched_stage *st = &s->stages[stage];
    assert(executor == SCHED_NONE || executor < s->executor_count);
    if (t->state != TASK_WAITING) return;
    if (t->executor != SCHED_NONE) sched_ring_remove(&st->preferred[t->executor], t);
    t->executor = SCHED_NONE;
    if (executor == SCHED_NONE || s->executors[executor].lost) return;
    if (!reserve_preferred(s, st, executor)) return;
    t->executor = executor;
    sched_ring_add(&st->preferred[executor], t);
}

/* ---- Questions */

bool sched_stage_done(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return sched_complete(&s->stages[stage]);
}

bool sched_stage_failed(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].failed;
}

bool sched_stage_needed(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].needed;
}

uint32_t sched_tasks_done(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].done;
}

uint32_t sched_epoch(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].epoch;
}

bool sched_output(const struct sched *s, uint32_t stage, uint32_t task, uint32_t *out_executor,
                  uint32_t *out_attempt)
{
    const struct sched_task *t = task_at(s, stage, task);
    if (t->state != TASK_DONE) return false;
    *out_executor = t->executor;
    *out_attempt = t->attempt;
    return true;
}

bool sched_twin(const struct sched *s, uint32_t stage, uint32_t task, struct sched_run *out)
{
    const struct sched_task *t = task_at(s, stage, task);
    if (t->state != TASK_DONE || t->twin == NULL) return false;
    assert(t->twin->doomed && t->twin->task == t);
    *out = sched_run_of(s, t->twin);
    return true;
}

bool sched_each(const struct sched *s, uint32_t executor, uint32_t *at, struct sched_run *out)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return false;
    const struct sched_executor *e = &s->executors[executor];
    while (*at < e->slots + e->ahead && e->attempts[*at].task == NULL) *at += 1;
    if (*at == e->slots + e->ahead) return false;
    *out = sched_run_of(s, &e->attempts[(*at)++]);
    return true;
}

bool sched_set_aside(const struct sched *s, uint32_t executor)
{
    if (executor >= s->executor_count) return false;
    const struct sched_node *n = &s->nodes[s->executors[executor].node];
    return n->failures_in_row >= SCHED_NODE_FAILURES_MAX && s->nodes_good > 0;
}

enum sched_verdict sched_verdict(const struct sched *s)
{
    return s->verdict;
}

bool sched_failed(const struct sched *s, uint32_t *out_stage, uint32_t *out_task)
{
    if (s->failed == NULL) return false;
    *out_stage = s->failed->stage;
    *out_task = sched_task_number(s, s->failed);
    return true;
}

uint32_t sched_running(const struct sched *s)
{
    return s->running;
}

uint32_t sched_running_on(const struct sched *s, uint32_t executor)
{
    assert(executor < s->executor_count);
    return s->executors[executor].busy;
}

uint32_t sched_executors_alive(const struct sched *s)
{
    return s->alive;
}

bool sched_waits(const struct sched *s, uint32_t stage, uint32_t task)
{
    const struct sched_task *t = task_at(s, stage, task);
    return t->state == TASK_WAITING && s->stages[stage].needed && !s->stages[stage].failed;
}

uint32_t sched_losses(const struct sched *s)
{
    return s->losses;
}

uint64_t sched_memory_bytes(const struct sched *s)
{
    uint64_t size = sizeof *s + sizeof *s->executors * s->executor_capacity +
                    sizeof *s->stages * s->stage_capacity + sizeof *s->nodes * s->node_count +
                    bits_memory_bytes(&s->rooms) + bits_memory_bytes(&s->open) +
                    bits_memory_bytes(&s->late) + bits_memory_bytes(&s->queues) +
                    bits_memory_bytes(&s->leaving);
    for (uint32_t i = 0; i <= BUCKETS_MAX; i++) size += bits_memory_bytes(&s->buckets[i]);
    for (uint32_t i = 0; i < s->executor_count; i++) {
        const struct sched_executor *e = &s->executors[i];
        if (!e->lost) size += sizeof *e->attempts * ((uint64_t)e->slots + e->ahead);
    }
    for (uint32_t i = 0; i < s->stage_count; i++) {
        const struct sched_stage *stage = &s->stages[i];
        size += sizeof *stage->tasks * stage->count + bits_memory_bytes(&stage->waiting) +
                sizeof *stage->parents * stage->parent_count +
                sizeof *stage->preferred * stage->preferred_count;
        if (stage->durations != NULL) size += sizeof *stage->durations;
    }
    return size;
}
