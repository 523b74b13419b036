/* State and what follows from it: every change of a task, an attempt, an executor or a node passes
 * here, so that the sets that make the next pick quick are always true. */
#include "engine/base/mem.h"
#include "engine/driver/sched_internal.h"

#include <assert.h>

void sched_ring_add(struct sched_ring *ring, struct sched_task *t)
{
    assert(t->next == NULL && t->prev == NULL);
    struct sched_task *first = ring->first;
    t->next = first != NULL ? first : t;
    t->prev = first != NULL ? first->prev : t;
    t->prev->next = t;
    t->next->prev = t;
    if (first == NULL) ring->first = t;
}

void sched_ring_remove(struct sched_ring *ring, struct sched_task *t)
{
    assert(ring->first != NULL && t->next != NULL);
    if (ring->first == t) ring->first = t->next != t ? t->next : NULL;
    t->prev->next = t->next;
    t->next->prev = t->prev;
    t->next = t->prev = NULL;
}

/* ---- Stages */

static void stage_review(struct sched *s, uint32_t number)
{
    const struct sched_stage *stage = &s->stages[number];
    bits_put(&s->open, number, stage->ready && !bits_empty(&stage->waiting));
    bool late = s->speculate && stage->needed && !sched_complete(stage) &&
                (uint64_t)stage->done * 4 >= (uint64_t)stage->count * 3;
    bits_put(&s->late, number, late);
}

static void stages_need(struct sched *s)
{
    for (uint32_t i = 0; i < s->stage_count; i++) s->stages[i].needed = i + 1 == s->stage_count;
    for (uint32_t i = s->stage_count; i-- > 0;) {
        const struct sched_stage *stage = &s->stages[i];
        if (!stage->needed || sched_complete(stage)) continue;
        for (uint32_t p = 0; p < stage->parent_count; p++)
            s->stages[stage->parents[p]].needed = true;
    }
}

void sched_settle(struct sched *s)
{
    if (!s->stages_stale) return;
    s->stages_stale = false;
    stages_need(s);
    for (uint32_t i = 0; i < s->stage_count; i++) {
        struct sched_stage *stage = &s->stages[i];
        stage->ready = stage->needed && !stage->failed;
        for (uint32_t p = 0; p < stage->parent_count && stage->ready; p++)
            stage->ready = sched_complete(&s->stages[stage->parents[p]]);
        stage_review(s, i);
    }
}

void sched_fail_stage(struct sched *s, struct sched_stage *stage, enum sched_verdict why)
{
    assert(stage->needed && why != SCHED_GOES_ON);
    stage->failed = true;
    s->stages_stale = true;
    if (s->verdict == SCHED_GOES_ON) s->verdict = why;
}

/* ---- Tasks */

static void leave_state(struct sched *s, struct sched_stage *stage, struct sched_task *t)
{
    if (t->state == TASK_WAITING) {
        bits_remove(&stage->waiting, sched_task_number(s, t));
        stage->waiting_count--;
        if (t->executor != SCHED_NONE) sched_ring_remove(&stage->preferred[t->executor], t);
    }
    if (t->state == TASK_DONE) {
        assert(stage->done > 0 && stage != &s->stages[s->stage_count - 1]);
        if (sched_complete(stage)) s->stages_stale = true;
        sched_ring_remove(&s->executors[t->executor].outputs, t);
        stage->done--;
        stage->epoch++;
        t->twin = NULL; /* it goes on until it ends, as nobody's */
    }
    t->executor = SCHED_NONE;
}

void sched_become(struct sched *s, struct sched_task *t, enum task_state state)
{
    struct sched_stage *stage = &s->stages[t->stage];
    assert(t->state != TASK_FAILED && state != TASK_DONE);
    assert((state == TASK_RUNNING) == (t->run != NULL) || state == TASK_FAILED);
    leave_state(s, stage, t);
    t->state = (uint8_t)state;
    if (state == TASK_WAITING) {
        bits_add(&stage->waiting, sched_task_number(s, t));
        stage->waiting_count++;
    }
    stage_review(s, t->stage);
}

void sched_become_done(struct sched *s, struct sched_task *t, uint32_t executor, uint32_t attempt)
{
    struct sched_stage *stage = &s->stages[t->stage];
    assert(t->state == TASK_WAITING || t->state == TASK_RUNNING);
    assert(t->run == NULL && attempt < t->attempts);
    leave_state(s, stage, t);
    t->state = TASK_DONE;
    t->executor = executor;
    t->attempt = attempt;
    sched_ring_add(&s->executors[executor].outputs, t);
    stage->done++;
    stage->epoch++;
    assert(stage->done <= stage->count);
    if (sched_complete(stage)) {
        s->stages_stale = true;
        mem_free(stage->preferred);
        stage->preferred = NULL;
        stage->preferred_count = 0;
    }
    stage_review(s, t->stage);
}

/* ---- Attempts */

static void queue_add(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    struct sched_attempt **link = &e->queue;
    while (*link != NULL) link = &(*link)->behind;
    *link = a;
    a->queued = true;
    e->queued++;
    bits_add(&s->queues, a->executor);
}

static void queue_remove(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    struct sched_attempt **link = &e->queue;
    while (*link != a) link = &(*link)->behind;
    *link = a->behind;
    a->behind = NULL;
    if (a->recalled) e->recalls = false;
    a->queued = a->recalled = false;
    e->queued--;
    if (e->queue != NULL) return;
    bits_remove(&s->queues, a->executor);
    bits_remove(&s->leaving, a->executor);
}

/* It holds a slot from now on. */
static void hold_slot(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    assert(e->busy < e->slots && !a->queued);
    e->busy++;
    s->running++;
    a->begun_ns = s->now_ns;
}

struct sched_attempt *sched_begin(struct sched *s, struct sched_task *t, uint32_t executor)
{
    struct sched_executor *e = &s->executors[executor];
    struct sched_attempt *a = e->free;
    bool queued = e->busy == e->slots;
    assert(a != NULL && a->task == NULL && t->twin == NULL && !(queued && t->run != NULL));
    e->free = a->behind;
    *a = (struct sched_attempt){.task = t,
                                .executor = executor,
                                .number = t->attempts++,
                                .round = s->stages[t->stage].round,
                                .begun_ns = s->now_ns,
                                .speculative = t->run != NULL};
    if (queued)
        queue_add(s, e, a);
    else
        hold_slot(s, e, a);
    sched_executor_review(s, executor);
    if (a->speculative) {
        sched_slow_ended(s, t->run); /* it has its twin */
        t->twin = a;
        return a;
    }
    t->run = a;
    sched_become(s, t, TASK_RUNNING);
    sched_slow_begun(s, a);
    return a;
}

static void begin_queued(struct sched *s, struct sched_executor *e)
{
    struct sched_attempt *a = e->queue;
    queue_remove(s, e, a);
    sched_slow_ended(s, a);
    hold_slot(s, e, a);
    if (sched_is_alone(a)) sched_slow_begun(s, a);
}

void sched_end(struct sched *s, struct sched_attempt *a)
{
    struct sched_executor *e = &s->executors[a->executor];
    struct sched_task *t = a->task;
    bool held = !a->queued;
    assert(t != NULL && e->busy > 0 && s->running > 0);
    sched_slow_ended(s, a);
    if (!held) queue_remove(s, e, a);
    if (t->run == a || t->twin == a) {
        if (t->run == a) t->run = t->twin;
        t->twin = NULL;
        if (t->run != NULL) sched_slow_begun(s, t->run); /* it may have another twin */
    }
    a->task = NULL;
    a->behind = e->free;
    e->free = a;
    e->busy -= held;
    s->running -= held;
    if (held && e->queue != NULL) begin_queued(s, e);
    sched_executor_review(s, a->executor);
}

/* ---- Executors and nodes */

static bool node_bad(const struct sched_node *n)
{
    return n->excluded || n->failures_in_row >= SCHED_NODE_FAILURES_MAX;
}

bool sched_node_takes(const struct sched *s, uint32_t node)
{
    const struct sched_node *n = &s->nodes[node];
    return n->usable > 0 && (!node_bad(n) || s->nodes_good == 0);
}

void sched_executor_review(struct sched *s, uint32_t executor)
{
    struct sched_executor *e = &s->executors[executor];
    bool takes = !e->lost && !e->draining && !e->silent && sched_node_takes(s, e->node);
    uint32_t slots = e->slots - e->busy, bucket = 0;
    if (takes) bucket = slots > 0 ? QUEUE_ONLY + slots : e->ahead - e->queued;
    if (bucket == e->bucket) return;
    if (e->bucket != 0) {
        bits_remove(&s->buckets[e->bucket], executor);
        if (bits_empty(&s->buckets[e->bucket])) bits_remove(&s->rooms, BUCKETS_MAX - e->bucket);
    }
    e->bucket = bucket;
    if (bucket != 0) {
        bits_add(&s->buckets[bucket], executor);
        bits_add(&s->rooms, BUCKETS_MAX - bucket);
    }
}

/* Nodes of each kind, counted anew for this one. If a node turned, or the last good one went, or
 * the first one came, then executors of any node may be concerned. */
static void node_change(struct sched *s, uint32_t node, struct sched_node now)
{
    struct sched_node *n = &s->nodes[node];
    bool any_good = s->nodes_good > 0, turned = node_bad(n) != node_bad(&now);
    if (n->usable > 0) *(node_bad(n) ? &s->nodes_bad : &s->nodes_good) -= 1;
    *n = now;
    if (n->usable > 0) *(node_bad(n) ? &s->nodes_bad : &s->nodes_good) += 1;
    assert(s->nodes_good <= s->node_count && s->nodes_bad <= s->node_count);
    if (!turned && any_good == (s->nodes_good > 0)) return;
    for (uint32_t e = 0; e < s->executor_count; e++) sched_executor_review(s, e);
}

void sched_executor_usable(struct sched *s, uint32_t executor, bool usable)
{
    struct sched_node n = s->nodes[s->executors[executor].node];
    assert(usable || (n.usable > 0 && s->alive > 0));
    n.usable += usable ? 1 : UINT32_MAX;
    s->alive += usable ? 1 : UINT32_MAX;
    uint32_t slots = s->executors[executor].slots;
    s->slots = usable ? s->slots + slots : s->slots - slots;
    node_change(s, s->executors[executor].node, n);
    sched_executor_review(s, executor);
}

void sched_node_outcome(struct sched *s, uint32_t node, bool failed)
{
    struct sched_node n = s->nodes[node];
    if (!failed && n.failures_in_row == 0) return;
    n.failures_in_row = failed ? n.failures_in_row + 1 : 0;
    node_change(s, node, n);
}

void sched_node_exclude(struct sched *s, uint32_t node, bool excluded)
{
    struct sched_node n = s->nodes[node];
    if (n.excluded == excluded) return;
    n.excluded = excluded;
    node_change(s, node, n);
}
