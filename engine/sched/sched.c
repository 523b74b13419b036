/* The scheduler's tables, the changes of their states, getters and events; which task runs next,
 * and where: sched_placement.c. */
#include "engine/sched/sched.h"

#include "engine/base/mem.h"
#include "engine/sched/sched_internal.h"

#include <assert.h>
#include <string.h>

/* ---- State changes of tasks, attempts, stages, executors and nodes. All of them are made here, so
 * that the bitmaps, rings and buckets that make sched_next_task fast always match the states. */

static void sched_task_ring_add(struct sched_task_ring *ring, struct sched_task *t)
{
    assert(t->next == NULL && t->prev == NULL);
    struct sched_task *first = ring->first;
    t->next = first != NULL ? first : t;
    t->prev = first != NULL ? first->prev : t;
    t->prev->next = t;
    t->next->prev = t;
    if (first == NULL) ring->first = t;
}

static void sched_task_ring_remove(struct sched_task_ring *ring, struct sched_task *t)
{
    assert(ring->first != NULL && t->next != NULL);
    if (ring->first == t) ring->first = t->next != t ? t->next : NULL;
    t->prev->next = t->next;
    t->next->prev = t->prev;
    t->next = t->prev = NULL;
}

/* ---- Stages */

/* Recomputes in which of the scheduler's two stage bitmaps the stage is. */
static void update_stage_sets(struct sched *s, uint32_t number)
{
    const struct sched_stage *stage = &s->stages[number];
    hbitmap_assign(&s->runnable_stages, number, stage->ready && !hbitmap_is_empty(&stage->waiting));
    bool speculatable = s->speculate && stage->needed && !sched_stage_is_complete(stage) &&
                        (uint64_t)stage->done * 4 >= (uint64_t)stage->count * 3;
    hbitmap_assign(&s->speculatable, number, speculatable);
}

/* A stage is needed if a needed child is not complete. Children have higher numbers than their
 * parents, so one pass from the last stage to the first is enough. */
static void mark_needed_stages(struct sched *s)
{
    for (uint32_t i = 0; i < s->stage_count; i++) s->stages[i].needed = i + 1 == s->stage_count;
    for (uint32_t i = s->stage_count; i-- > 0;) {
        const struct sched_stage *stage = &s->stages[i];
        if (!stage->needed || sched_stage_is_complete(stage)) continue;
        for (uint32_t p = 0; p < stage->parent_count; p++)
            s->stages[stage->parents[p]].needed = true;
    }
}

/* Called at the end of each event that may have changed a stage: recomputes which stages are needed
 * and which are ready. */
static void sched_update_stages(struct sched *s)
{
    if (!s->stages_stale) return;
    s->stages_stale = false;
    mark_needed_stages(s);
    for (uint32_t i = 0; i < s->stage_count; i++) {
        struct sched_stage *stage = &s->stages[i];
        stage->ready = stage->needed && !stage->failed;
        /* Not while a parent is incomplete: a task reads its share of every map output. */
        for (uint32_t p = 0; p < stage->parent_count && stage->ready; p++)
            stage->ready = sched_stage_is_complete(&s->stages[stage->parents[p]]);
        update_stage_sets(s, i);
    }
}

/* Fails the stage. The first `why` becomes the scheduler's status. */
static void sched_fail_stage(struct sched *s, struct sched_stage *stage, enum sched_status why)
{
    assert(stage->needed && why != SCHED_RUNNING);
    stage->failed = true;
    s->stages_stale = true;
    if (s->status == SCHED_RUNNING) s->status = why;
}

/* ---- Tasks */

/* Undoes what the task's present state has in the tables. */
static void remove_task_from_state_sets(struct sched *s, struct sched_stage *stage,
                                        struct sched_task *t)
{
    if (t->state == TASK_WAITING) {
        hbitmap_clear(&stage->waiting, sched_task_number(s, t));
        stage->waiting_count--;
        if (t->executor != SCHED_NONE) sched_task_ring_remove(&stage->preferred[t->executor], t);
    }
    if (t->state == TASK_DONE) {
        assert(stage->done > 0 && stage != &s->stages[s->stage_count - 1]);
        if (sched_stage_is_complete(stage)) s->stages_stale = true;
        sched_task_ring_remove(&s->executors[t->executor].outputs, t);
        stage->done--;
        stage->epoch++;
        /* The superseded copy keeps running, and its result is still ignored; but the task no
         * longer refers to it, and gets a new attempt. */
        t->other_copy = NULL;
    }
    t->executor = SCHED_NONE;
}

/* The only two functions that write a task's state; they keep the bitmaps and rings in step. The
 * caller updates t->run before, and calls sched_update_stages at the end of the event. */
static void sched_task_set_state(struct sched *s, struct sched_task *t, enum task_state state)
{
    struct sched_stage *stage = &s->stages[t->stage];
    assert(t->state != TASK_FAILED && state != TASK_DONE);
    assert((state == TASK_RUNNING) == (t->run != NULL) || state == TASK_FAILED);
    remove_task_from_state_sets(s, stage, t);
    t->state = (uint8_t)state;
    if (state == TASK_WAITING) {
        hbitmap_set(&stage->waiting, sched_task_number(s, t));
        stage->waiting_count++;
    }
    update_stage_sets(s, t->stage);
}

static void sched_task_set_done(struct sched *s, struct sched_task *t, uint32_t executor,
                                uint32_t attempt)
{
    struct sched_stage *stage = &s->stages[t->stage];
    assert(t->state == TASK_WAITING || t->state == TASK_RUNNING);
    assert(t->run == NULL && attempt < t->attempts);
    remove_task_from_state_sets(s, stage, t);
    t->state = TASK_DONE;
    t->executor = executor;
    t->attempt = attempt;
    sched_task_ring_add(&s->executors[executor].outputs, t);
    stage->done++;
    stage->epoch++;
    assert(stage->done <= stage->count);
    if (sched_stage_is_complete(stage)) {
        s->stages_stale = true;
        mem_free(stage->preferred); /* no task waits, so all its rings are empty */
        stage->preferred = NULL;
        stage->preferred_capacity = 0;
    }
    update_stage_sets(s, t->stage);
}

/* ---- Executors and nodes */

static bool node_is_excluded_or_failing(const struct sched_node *n)
{
    return n->excluded || n->failures_in_row >= SCHED_NODE_FAILURES_MAX;
}

bool sched_node_accepts_tasks(const struct sched *s, uint32_t node)
{
    const struct sched_node *n = &s->nodes[node];
    /* With only excluded nodes left, a slow job is better than none. */
    return n->usable > 0 && (!node_is_excluded_or_failing(n) || s->nodes_good == 0);
}

/* Recomputes the executor's bucket. Call it after any change of its slots, queue, state or node. */
static void sched_executor_update_bucket(struct sched *s, uint32_t executor)
{
    struct sched_executor *e = &s->executors[executor];
    bool takes = !e->lost && !e->draining && !e->suspect && sched_node_accepts_tasks(s, e->node);
    uint32_t slots = e->slots - e->busy, bucket = 0;
    if (takes) bucket = slots > 0 ? QUEUE_ONLY + slots : e->prefetch - e->queued;
    if (bucket == e->bucket) return;
    if (e->bucket != 0) {
        hbitmap_clear(&s->buckets[e->bucket], executor);
        if (hbitmap_is_empty(&s->buckets[e->bucket]))
            hbitmap_clear(&s->nonempty_buckets, BUCKETS_MAX - e->bucket);
    }
    e->bucket = bucket;
    if (bucket != 0) {
        hbitmap_set(&s->buckets[bucket], executor);
        hbitmap_set(&s->nonempty_buckets, BUCKETS_MAX - bucket);
    }
}

/* Writes the node and updates the counts of good and bad nodes. If a node became bad or good, or
 * the last good one is gone, or the first one came, then executors of any node may accept tasks or
 * stop accepting them. */
static void update_node_and_counts(struct sched *s, uint32_t node, struct sched_node now)
{
    struct sched_node *n = &s->nodes[node];
    bool any_good = s->nodes_good > 0,
         turned = node_is_excluded_or_failing(n) != node_is_excluded_or_failing(&now);
    if (n->usable > 0) *(node_is_excluded_or_failing(n) ? &s->nodes_bad : &s->nodes_good) -= 1;
    *n = now;
    if (n->usable > 0) *(node_is_excluded_or_failing(n) ? &s->nodes_bad : &s->nodes_good) += 1;
    assert(s->nodes_good <= s->node_capacity && s->nodes_bad <= s->node_capacity);
    if (!turned && any_good == (s->nodes_good > 0)) return;
    for (uint32_t e = 0; e < s->executor_count; e++) sched_executor_update_bucket(s, e);
}

/* The executor was added (true), or drains or is lost: counts it, its slots and its node. */
static void sched_executor_set_usable(struct sched *s, uint32_t executor, bool usable)
{
    struct sched_node n = s->nodes[s->executors[executor].node];
    assert(usable || n.usable > 0);
    n.usable += usable ? 1 : UINT32_MAX; /* + 1 or - 1 */
    uint32_t slots = s->executors[executor].slots;
    s->slots = usable ? s->slots + slots : s->slots - slots;
    update_node_and_counts(s, s->executors[executor].node, n);
    sched_executor_update_bucket(s, executor);
}

/* Counts SCHED_TASK_ERROR failures in a row; a success resets them. */
static void sched_node_record_outcome(struct sched *s, uint32_t node, bool failed)
{
    struct sched_node n = s->nodes[node];
    if (!failed && n.failures_in_row == 0) return;
    n.failures_in_row = failed ? n.failures_in_row + 1 : 0;
    update_node_and_counts(s, node, n);
}

static void sched_node_set_excluded(struct sched *s, uint32_t node, bool excluded)
{
    struct sched_node n = s->nodes[node];
    if (n.excluded == excluded) return;
    n.excluded = excluded;
    update_node_and_counts(s, node, n);
}

/* ---- Attempts */

/* Appends to the queue: the executor starts its tasks in the order in which they were sent. */
static void attempt_queue_add(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    struct sched_attempt **link = &e->queue;
    while (*link != NULL) link = &(*link)->next_queued;
    *link = a;
    a->queued = true;
    e->queued++;
    hbitmap_set(&s->executors_with_queue, a->executor);
}

static void attempt_queue_remove(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    struct sched_attempt **link = &e->queue;
    while (*link != a) link = &(*link)->next_queued;
    *link = a->next_queued;
    a->next_queued = NULL;
    if (a->revoked) e->revoking = false; /* started or returned: another one can be revoked */
    a->queued = a->revoked = false;
    e->queued--;
    if (e->queue != NULL) return;
    hbitmap_clear(&s->executors_with_queue, a->executor);
    hbitmap_clear(&s->draining_with_queue, a->executor);
}

/* The attempt occupies a slot from now on. */
static void occupy_slot(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    assert(e->busy < e->slots && !a->queued);
    e->busy++;
    s->running++;
    a->start_ns = s->now_ns;
}

/* Candidates for a speculative copy are running or queued attempts without another copy. Without
 * speculation there are none. */
static void speculation_add_candidate(struct sched *s, struct sched_attempt *a)
{
    if (!s->speculate) return;
    struct sched_stage *stage = &s->stages[a->task->stage];
    assert(a->next == NULL && a->prev == NULL);
    struct sched_attempt *first = stage->oldest, *after = first;
    a->next = a->prev = a;
    if (first == NULL) {
        stage->oldest = a;
        return;
    }
    /* Insert it before the first one that started later. A new attempt starts last, so it goes to
     * the end. One that is a candidate again, since its copy has ended, belongs near the front. */
    bool last = first->prev->start_ns <= a->start_ns;
    while (!last && after->start_ns <= a->start_ns) after = after->next;
    a->next = after;
    a->prev = after->prev;
    a->prev->next = a->next->prev = a;
    if (!last && after == first) stage->oldest = a;
}

static void speculation_remove_candidate(struct sched *s, struct sched_attempt *a)
{
    if (a->prev == NULL) return;
    struct sched_stage *stage = &s->stages[a->task->stage];
    assert(stage->oldest != NULL);
    if (stage->oldest == a) stage->oldest = a->next != a ? a->next : NULL;
    a->prev->next = a->next;
    a->next->prev = a->prev;
    a->next = a->prev = NULL;
}

struct sched_attempt *sched_attempt_add(struct sched *s, struct sched_task *t, uint32_t executor)
{
    struct sched_executor *e = &s->executors[executor];
    struct sched_attempt *a = e->free;
    bool queued = e->busy == e->slots;
    /* A task has at most one speculative copy at a time, and it is never queued. */
    assert(a != NULL && a->task == NULL && t->other_copy == NULL && !(queued && t->run != NULL));
    e->free = a->next_queued;
    *a = (struct sched_attempt){.task = t,
                                .executor = executor,
                                .number = t->attempts++,
                                .stage_attempt = s->stages[t->stage].stage_attempt,
                                .sent_ns = s->now_ns,
                                .start_ns = s->now_ns,
                                .speculative = t->run != NULL};
    if (queued)
        attempt_queue_add(s, e, a);
    else
        occupy_slot(s, e, a);
    sched_executor_update_bucket(s, executor);
    if (a->speculative) {
        speculation_remove_candidate(s, t->run); /* it has its copy */
        t->other_copy = a;
        return a;
    }
    t->run = a;
    sched_task_set_state(s, t, TASK_RUNNING);
    speculation_add_candidate(s, a);
    return a;
}

/* A slot was freed, and the executor starts the first queued task without a message from the
 * driver. So the driver assumes the same. */
static void start_queued_attempt(struct sched *s, struct sched_executor *e)
{
    struct sched_attempt *a = e->queue;
    attempt_queue_remove(s, e, a);
    /* Its start time changes, and with it its place among the candidates. */
    speculation_remove_candidate(s, a);
    occupy_slot(s, e, a);
    if (sched_attempt_is_only_copy(a)) speculation_add_candidate(s, a);
}

/* Removes the attempt from its task and from its executor. If it occupied a slot, the first queued
 * attempt gets the slot. The caller updates the task's state. */
static void sched_attempt_finish(struct sched *s, struct sched_attempt *a)
{
    struct sched_executor *e = &s->executors[a->executor];
    struct sched_task *t = a->task;
    bool occupied = !a->queued;
    assert(t != NULL && e->busy > 0 && s->running > 0);
    speculation_remove_candidate(s, a);
    if (!occupied) attempt_queue_remove(s, e, a);
    if (t->run == a || t->other_copy == a) {
        if (t->run == a) t->run = t->other_copy;
        t->other_copy = NULL;
        if (t->run != NULL) speculation_add_candidate(s, t->run); /* it may get another copy */
    }
    a->task = NULL;
    a->next_queued = e->free;
    e->free = a;
    e->busy -= occupied;
    s->running -= occupied;
    if (occupied && e->queue != NULL) start_queued_attempt(s, e);
    sched_executor_update_bucket(s, a->executor);
}

/* ---- The tables */

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

static bool reserve_preferred_tasks(struct sched_stage *stage, uint32_t executor)
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
    if (!reserve_preferred_tasks(st, executor)) return;
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

/* ---- Events of attempts and executors, and their consequences for tasks and stages. */

/* Returns the attempt if it runs or is queued on that executor. NULL: a stale message. */
static struct sched_attempt *find_attempt(const struct sched *s, uint32_t executor, uint32_t stage,
                                          uint32_t task, uint32_t attempt)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return NULL;
    if (stage >= s->stage_count || task >= s->stages[stage].count) return NULL;
    const struct sched_task *t = &s->stages[stage].tasks[task];
    struct sched_attempt *known[] = {t->run, t->other_copy};
    for (int i = 0; i < 2; i++)
        if (known[i] != NULL && known[i]->number == attempt && known[i]->executor == executor)
            return known[i];
    /* A superseded attempt may have no link from its task: see remove_task_from_state_sets. */
    const struct sched_executor *e = &s->executors[executor];
    for (uint32_t i = 0; i < e->slots + e->prefetch; i++)
        if (e->attempts[i].task == t && e->attempts[i].number == attempt) return &e->attempts[i];
    return NULL;
}

/* `a` has succeeded. Returns the task's other copy, now superseded, or NULL. */
static struct sched_attempt *supersede_other_copy(struct sched_task *t, struct sched_attempt *a)
{
    struct sched_attempt *other = t->run != a ? t->run : t->other_copy;
    assert(t->state == TASK_RUNNING && (t->run == a || t->other_copy == a));
    t->run = a;
    t->other_copy = NULL;
    if (other != NULL) other->superseded = true;
    return other;
}

bool sched_on_task_done(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                        uint32_t attempt, uint64_t now_ns)
{
    struct sched_attempt *a = find_attempt(s, executor, stage, task, attempt);
    if (a == NULL) return false;
    s->now_ns = now_ns;
    if (a->superseded) { /* the other copy's result was taken first: never two results per task */
        sched_attempt_finish(s, a);
        return false;
    }
    struct sched_task *t = a->task;
    struct sched_attempt *other_copy = supersede_other_copy(t, a);
    /* A queued one can be done here if the message about the attempt before it comes later. Its
     * start time is then unknown. */
    if (!a->queued) sched_record_duration(s, a, now_ns);
    sched_attempt_finish(s, a);
    sched_task_set_done(s, t, executor, attempt);
    t->other_copy = other_copy;
    s->stages[stage].stage_attempts_failed = 0;
    sched_node_record_outcome(s, s->executors[executor].node, false);
    sched_update_stages(s);
    return true;
}

/* One lost executor makes many tasks fail to fetch at about the same time; that counts once. So the
 * first fetch failure ends the stage attempt, and failures of task attempts that started before it
 * do not count again. */
static void count_fetch_failure(struct sched *s, struct sched_stage *stage, uint32_t stage_attempt)
{
    assert(stage_attempt <= stage->stage_attempt);
    if (stage_attempt != stage->stage_attempt || stage->failed || !stage->needed) return;
    stage->stage_attempt++;
    stage->stage_attempts_failed++;
    if (stage->stage_attempts_failed >= STAGE_ATTEMPTS_MAX)
        sched_fail_stage(s, stage, SCHED_STAGE_FAILED);
}

/* Counts a failed attempt. False: it was the last one allowed. */
static bool count_task_failure(struct sched_task *t, uint32_t node)
{
    assert(t->failures < TASK_ATTEMPTS_MAX);
    t->failures++;
    if (t->failures == TASK_ATTEMPTS_MAX) return false;
    t->failed_on[t->failures - 1] = node;
    return true;
}

/* An attempt of the task has ended. The task waits again, unless another copy still runs. */
static void set_waiting_if_no_copy(struct sched *s, struct sched_task *t, uint32_t node)
{
    t->last_failed_node = node;
    if (t->run != NULL) return;
    sched_task_set_state(s, t, TASK_WAITING);
}

static void fail_task_and_stage(struct sched *s, struct sched_task *t)
{
    if (t->run != NULL) t->run->superseded = true;
    sched_task_set_state(s, t, TASK_FAILED);
    if (s->failed == NULL) s->failed = t;
    sched_fail_stage(s, &s->stages[t->stage], SCHED_TASK_FAILED);
}

/* An attempt failed. In a stage that is not needed any more nothing counts: its failure must not
 * end an action that can do without it. */
static void on_attempt_failed(struct sched *s, struct sched_task *t, uint32_t node,
                              enum sched_failure_kind why)
{
    const struct sched_stage *stage = &s->stages[t->stage];
    bool counts = stage->needed && !stage->failed;
    if (counts &&
        (why == SCHED_FATAL_ERROR || (why == SCHED_TASK_ERROR && !count_task_failure(t, node)))) {
        fail_task_and_stage(s, t);
        return;
    }
    set_waiting_if_no_copy(s, t, node);
}

bool sched_on_task_failed(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                          uint32_t attempt, enum sched_failure_kind why, uint64_t now_ns)
{
    struct sched_attempt *a = find_attempt(s, executor, stage, task, attempt);
    if (a == NULL) return false;
    s->now_ns = now_ns;
    struct sched_task *t = a->task;
    /* sched_attempt_finish releases the attempt, so copy what is needed of it. */
    bool superseded = a->superseded;
    uint32_t node = s->executors[executor].node, stage_attempt = a->stage_attempt;
    sched_attempt_finish(s, a);
    if (superseded) return false;
    if (why == SCHED_TASK_ERROR) sched_node_record_outcome(s, node, true);
    on_attempt_failed(s, t, node, why);
    if (why == SCHED_FETCH_ERROR) count_fetch_failure(s, &s->stages[stage], stage_attempt);
    sched_update_stages(s);
    return true;
}

/* The executor's map outputs are lost with it: their tasks wait again. Tasks of the last stage stay
 * done, since the driver has their results. */
static void requeue_lost_outputs(struct sched *s, struct sched_executor *e)
{
    struct sched_task_ring kept = {NULL};
    for (struct sched_task *t; (t = e->outputs.first) != NULL;) {
        assert(t->state == TASK_DONE);
        if (t->stage + 1 < s->stage_count) {
            sched_task_set_state(s, t, TASK_WAITING);
            continue;
        }
        sched_task_ring_remove(&e->outputs, t);
        sched_task_ring_add(&kept, t);
    }
    e->outputs = kept;
}

void sched_on_executor_lost(struct sched *s, uint32_t executor, bool exit_caused_by_task,
                            bool counts)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return;
    struct sched_executor *e = &s->executors[executor];
    e->lost = true;
    if (!e->draining) sched_executor_set_usable(s, executor, false);
    sched_node_set_excluded(s, e->node, false); /* its next process may be reachable */
    if (counts) s->losses++;
    if (s->losses > EXECUTOR_FAILURES_MAX && s->status == SCHED_RUNNING)
        s->status = SCHED_TOO_MANY_LOSSES;
    requeue_lost_outputs(s, e);
    /* Before the attempts fail: lost map outputs can make a stage needed again, and only failures
     * in needed stages count. */
    sched_update_stages(s);
    /* Queued attempts first: freeing a slot would start them. They count for nothing. */
    while (e->queue != NULL) {
        struct sched_task *t = e->queue->task;
        bool superseded = e->queue->superseded;
        sched_attempt_finish(s, e->queue);
        if (!superseded) on_attempt_failed(s, t, e->node, SCHED_KILLED);
    }
    if (exit_caused_by_task) s->process_died = true;
    if (exit_caused_by_task && e->busy > 0)
        sched_node_record_outcome(s, e->node, true); /* one death is one failure of the node */
    /* After a signal any running task may be the cause, so all of them count. Otherwise the network
     * or the host failed: SCHED_FETCH_ERROR here only means "does not count for the task". */
    for (uint32_t i = 0; i < e->slots + e->prefetch; i++) {
        struct sched_attempt *a = &e->attempts[i];
        struct sched_task *t = a->task;
        if (t == NULL) continue;
        bool superseded = a->superseded;
        sched_attempt_finish(s, a);
        if (!superseded)
            on_attempt_failed(s, t, e->node,
                              exit_caused_by_task ? SCHED_TASK_ERROR : SCHED_FETCH_ERROR);
    }
    assert(e->busy == 0 && e->bucket == 0);
    mem_free(e->attempts);
    e->attempts = e->free = NULL;
    sched_update_stages(s);
}

void sched_on_executor_draining(struct sched *s, uint32_t executor)
{
    if (executor >= s->executor_count) return;
    struct sched_executor *e = &s->executors[executor];
    if (e->lost || e->draining) return;
    e->draining = true;
    hbitmap_assign(&s->draining_with_queue, executor, e->queue != NULL);
    sched_executor_set_usable(s, executor, false);
}

void sched_on_executor_suspect(struct sched *s, uint32_t executor, bool suspect)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return;
    s->executors[executor].suspect = suspect;
    sched_executor_update_bucket(s, executor);
}

void sched_on_map_output_lost(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor,
                              uint32_t attempt)
{
    if (stage >= s->stage_count || stage == s->stage_count - 1) return; /* from a message */
    if (task >= s->stages[stage].count) return;
    struct sched_task *t = &s->stages[stage].tasks[task];
    /* A stale report: the output is already being made again, or a newer attempt has made it. */
    if (t->state != TASK_DONE || t->executor != executor || t->attempt != attempt) return;
    sched_task_set_state(s, t, TASK_WAITING);
    sched_update_stages(s);
}

void sched_set_executor_excluded(struct sched *s, uint32_t executor, bool excluded)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return;
    sched_node_set_excluded(s, s->executors[executor].node, excluded);
}

void sched_stop(struct sched *s)
{
    s->stopped = true;
}
