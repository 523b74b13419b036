/* Creates the scheduler's tables, and the getters. For the other files see sched_internal.h. */
#include "engine/sched/sched.h"

#include "engine/base/mem.h"
#include "engine/sched/sched_internal.h"

#include <assert.h>
#include <string.h>

static struct sched_task *speculation_pick_task(const struct sched *s, uint32_t *out_executor);

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

/* ---- Picks the next task and its executor.
 *
 * The oldest ready stage is first. The executor with the most free slots gets a task that prefers
 * it. If no task does, the first waiting task goes to its own preferred executor if that one has a
 * free slot, else to the one with the most. So tasks are spread evenly, no task waits for the
 * executor that has its data, and executors run local tasks before remote ones. If no slot is free,
 * the same rules apply to the space in the executors' queues. */

/* How many waiting tasks that can run nowhere now are skipped; bounds the time of a call. */
#define PASSED_OVER_MAX 64u

/* The nodes where a task must not run: those where it failed with SCHED_TASK_ERROR. If no other
 * node accepts tasks, only the last of them; if that is the only node, none. A task waits for
 * another node to be free rather than fail again on a node where it fails fast. */
struct avoided_nodes {
    const uint32_t *nodes;
    uint32_t count;
    uint32_t other_than; /* one more node; SCHED_NONE: no more */
};

static bool is_avoided_node(const struct avoided_nodes *a, uint32_t node)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->nodes[i] == node) return true;
    return node == a->other_than;
}

static struct avoided_nodes avoided_nodes_of(const struct sched *s, const struct sched_task *t)
{
    uint32_t takes = s->nodes_good > 0 ? s->nodes_good : s->nodes_bad, failed = 0;
    struct avoided_nodes all = {t->failed_on, 0, SCHED_NONE};
    assert(t->failures < TASK_ATTEMPTS_MAX);
    /* Count each node once, even if the task failed there several times. */
    for (; all.count < t->failures; all.count++) {
        uint32_t node = t->failed_on[all.count];
        if (!is_avoided_node(&all, node)) failed += sched_node_accepts_tasks(s, node);
    }
    if (takes > failed || all.count == 0) return all;
    const uint32_t *last = &t->failed_on[t->failures - 1];
    bool others = takes > (sched_node_accepts_tasks(s, *last) ? 1u : 0u);
    return (struct avoided_nodes){last, others ? 1 : 0, SCHED_NONE};
}

/* Returns the executor in the highest bucket above `above`: 0 allows queueing, QUEUE_ONLY requires
 * a free slot. */
static uint32_t find_free_executor(const struct sched *s, const struct avoided_nodes *a,
                                   uint32_t above)
{
    for (uint32_t i = hbitmap_next(&s->nonempty_buckets, 0); i < BUCKETS_MAX - above;
         i = hbitmap_next(&s->nonempty_buckets, i + 1)) {
        const struct hbitmap *bucket = &s->buckets[BUCKETS_MAX - i];
        for (uint32_t e = hbitmap_next(bucket, 0); e != HBITMAP_NONE;
             e = hbitmap_next(bucket, e + 1))
            if (!is_avoided_node(a, s->executors[e].node)) return e;
    }
    return SCHED_NONE;
}

static uint32_t find_executor_for(const struct sched *s, const struct sched_task *t,
                                  uint32_t other_than, uint32_t above)
{
    struct avoided_nodes a = avoided_nodes_of(s, t);
    a.other_than = other_than;
    return find_free_executor(s, &a, above);
}

/* Returns the executor with the most free slots (the lowest number if several have as many) on a
 * node where the task may run: not on node `other_than`, and not where it failed while another node
 * accepts tasks. SCHED_NONE: no such executor. */
static uint32_t sched_find_executor(const struct sched *s, const struct sched_task *t,
                                    uint32_t other_than)
{
    return find_executor_for(s, t, other_than, QUEUE_ONLY);
}

/* The node of the last failed attempt is only the second choice, even if its failure did not count:
 * what made it fail may still be wrong there. */
static uint32_t find_executor_for_waiting(const struct sched *s, const struct sched_task *t,
                                          uint32_t above)
{
    uint32_t e = find_executor_for(s, t, t->last_failed_node, above);
    if (e == SCHED_NONE && t->last_failed_node != SCHED_NONE)
        e = find_executor_for(s, t, SCHED_NONE, above);
    return e;
}

static bool task_may_run_on(const struct sched *s, const struct sched_task *t, uint32_t executor,
                            uint32_t above)
{
    if (s->executors[executor].bucket <= above) return false;
    struct avoided_nodes a = avoided_nodes_of(s, t);
    return !is_avoided_node(&a, s->executors[executor].node);
}

static struct sched_task *pick_task_for_free_slot(const struct sched *s,
                                                  const struct sched_stage *stage,
                                                  uint32_t *out_executor)
{
    /* With fewer waiting tasks than slots, a queued task would soon wait while a slot elsewhere is
     * free. After a process died: see sched.h. */
    bool prefetch = !s->process_died && stage->waiting_count >= s->slots;
    uint32_t above = prefetch ? 0 : QUEUE_ONLY, passed = 0;
    uint32_t most = find_free_executor(s, &(struct avoided_nodes){NULL, 0, SCHED_NONE}, above);
    if (most == SCHED_NONE) return NULL;
    /* While a slot is free anywhere, do not queue a task at its preferred executor. */
    uint32_t near_above = s->executors[most].bucket > QUEUE_ONLY ? QUEUE_ONLY : 0;
    if (most < stage->preferred_capacity) {
        struct sched_task *near = stage->preferred[most].first;
        *out_executor = most;
        if (near != NULL && task_may_run_on(s, near, most, near_above)) return near;
    }
    for (uint32_t i = hbitmap_next(&stage->waiting, 0);
         i != HBITMAP_NONE && passed < PASSED_OVER_MAX;
         i = hbitmap_next(&stage->waiting, i + 1), passed++) {
        struct sched_task *t = &stage->tasks[i];
        assert(t->state == TASK_WAITING && t->run == NULL);
        bool near = t->executor != SCHED_NONE && task_may_run_on(s, t, t->executor, near_above);
        *out_executor = near ? t->executor : find_executor_for_waiting(s, t, above);
        if (*out_executor != SCHED_NONE) return t;
    }
    return NULL;
}

bool sched_next_task(struct sched *s, uint64_t now_ns, struct task_attempt *out)
{
    assert(!s->stages_stale);
    s->now_ns = now_ns;
    if (s->stopped || s->status != SCHED_RUNNING || hbitmap_is_empty(&s->nonempty_buckets))
        return false;
    struct sched_task *t = NULL;
    uint32_t executor = SCHED_NONE;
    for (uint32_t i = hbitmap_next(&s->runnable_stages, 0); i != HBITMAP_NONE && t == NULL;
         i = hbitmap_next(&s->runnable_stages, i + 1))
        t = pick_task_for_free_slot(s, &s->stages[i], &executor);
    /* Speculative copies only use slots that no waiting task can use, and are never queued. */
    if (t == NULL && sched_has_free_slot(s)) t = speculation_pick_task(s, &executor);
    if (t == NULL) return false;
    *out = sched_attempt_info(s, sched_attempt_add(s, t, executor));
    return true;
}

/* Returns an attempt that is queued at one of these executors and can run elsewhere now. With
 * `always`, or if its own node is excluded, it is returned even if no other executor is free.
 * NULL: none. */
static struct sched_attempt *find_revocable_attempt(const struct sched *s,
                                                    const struct hbitmap *executors, bool always)
{
    for (uint32_t i = hbitmap_next(executors, 0); i != HBITMAP_NONE;
         i = hbitmap_next(executors, i + 1)) {
        const struct sched_executor *e = &s->executors[i];
        /* The last one is the least likely to start before the KILL arrives. */
        struct sched_attempt *last = NULL;
        /* A suspect executor would not respond; speculation handles its queue. One KILL at a time
         * per executor: with more, more tasks could come back than there are free slots. */
        if (e->suspect || e->revoking) continue;
        bool revoke_always = always || !sched_node_accepts_tasks(s, e->node);
        for (struct sched_attempt *a = e->queue; a != NULL; a = a->next_queued)
            if (sched_attempt_is_only_copy(a) &&
                (revoke_always || sched_find_executor(s, a->task, SCHED_NONE) != SCHED_NONE))
                last = a;
        if (last != NULL) return last;
    }
    return NULL;
}

bool sched_revoke_queued(struct sched *s, struct task_attempt *out)
{
    if (s->stopped || s->status != SCHED_RUNNING) return false;
    struct sched_attempt *a = find_revocable_attempt(s, &s->draining_with_queue, true);
    /* Without a free slot a queued attempt is best left where it is, unless its node is excluded.
     * After a process died all are revoked, so that no task is queued behind another: sched.h. */
    if (a == NULL && (s->process_died || s->nodes_bad > 0 || sched_has_free_slot(s)))
        a = find_revocable_attempt(s, &s->executors_with_queue, s->process_died);
    if (a == NULL) return false;
    struct sched_executor *e = &s->executors[a->executor];
    a->revoked = e->revoking = true;
    e->revoke_ns = s->now_ns;
    *out = sched_attempt_info(s, a);
    return true;
}

/* ---- Speculation: when 3 in 4 tasks of a stage are done, an attempt that runs far longer than
 * they did gets a speculative copy on another node. The first of the two that succeeds counts.
 *
 * A stage's candidates are a ring in order of their start times. The limit is the same for all, so
 * the oldest candidate reaches it first, and a search stops at the first one below the limit. */

static_assert(DURATION_BUCKETS >= 16 * (64 - 3), "every duration has a bucket");

static uint32_t duration_bucket(uint64_t ns)
{
    if (ns < 16) return (uint32_t)ns;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(ns);
    return (power - 3) * 16 + (uint32_t)(ns >> (power - 4) & 15);
}

/* Returns the first duration above the bucket. The cap keeps sums of it from overflowing. */
static uint64_t duration_bucket_end(uint32_t bucket)
{
    if (bucket < 16) return bucket + 1;
    uint32_t power = bucket / 16 + 3;
    return power < 62 ? (uint64_t)(17 + bucket % 16) << (power - 4) : UINT64_MAX / 4;
}

static void durations_record(struct durations *d, uint64_t ns)
{
    uint32_t bucket = duration_bucket(ns);
    assert(bucket < DURATION_BUCKETS);
    d->count[bucket]++;
    d->total++;
    if (bucket < d->median) d->below++;
    /* `half` durations are below the median. Move its bucket until that holds again. */
    uint32_t half = (d->total - 1) / 2;
    while (d->below > half) d->below -= d->count[--d->median];
    while (d->below + d->count[d->median] <= half) d->below += d->count[d->median++];
}

/* A task is done: its duration counts for the median of its stage. */
static void speculation_record_duration(struct sched *s, const struct sched_attempt *a,
                                        uint64_t now_ns)
{
    struct durations *d = s->stages[a->task->stage].durations;
    if (d != NULL) durations_record(d, now_ns > a->start_ns ? now_ns - a->start_ns : 0);
}

/* When the attempt becomes too slow; UINT64_MAX: no task of its stage is done to compare with. */
static uint64_t slow_deadline_ns(const struct sched_stage *stage, const struct sched_attempt *a)
{
    if (stage->durations->total == 0) return UINT64_MAX;
    uint64_t median = duration_bucket_end(stage->durations->median), wait = median + median / 2;
    /* For tasks of a few milliseconds a copy costs more than it saves. */
    if (wait < SCHED_SPECULATE_NS_MIN) wait = SCHED_SPECULATE_NS_MIN;
    return a->start_ns + wait;
}

/* When the attempt may get a copy. A queued one is revoked first, which is cheaper than a copy; it
 * gets one only if its executor is suspect, or has not responded within SCHED_SPECULATE_NS_MIN. */
static uint64_t copy_start_ns(const struct sched *s, const struct sched_stage *stage,
                              const struct sched_attempt *a)
{
    const struct sched_executor *e = &s->executors[a->executor];
    uint64_t deadline = slow_deadline_ns(stage, a),
             revoke_deadline = e->revoke_ns + SCHED_SPECULATE_NS_MIN;
    if (!a->queued || e->suspect) return deadline;
    if (!e->revoking) return UINT64_MAX;
    return deadline > revoke_deadline ? deadline : revoke_deadline;
}

/* Returns a task whose only attempt is too slow, and the executor for its copy; NULL: none. */
static struct sched_task *speculation_pick_task(const struct sched *s, uint32_t *out_executor)
{
    for (uint32_t i = hbitmap_next(&s->speculatable, 0); i != HBITMAP_NONE;
         i = hbitmap_next(&s->speculatable, i + 1)) {
        const struct sched_stage *stage = &s->stages[i];
        const struct sched_attempt *a = stage->oldest;
        if (!stage->ready || a == NULL) continue;
        do {
            if (slow_deadline_ns(stage, a) > s->now_ns) break; /* all behind it are younger */
            assert(a->task->run == a && a->task->other_copy == NULL);
            *out_executor = SCHED_NONE;
            if (copy_start_ns(s, stage, a) <= s->now_ns)
                *out_executor = sched_find_executor(s, a->task, s->executors[a->executor].node);
            if (*out_executor != SCHED_NONE) return a->task;
            a = a->next;
        } while (a != stage->oldest);
    }
    return NULL;
}

/* A deadline that has passed by the last sched_next_task is not returned: no executor could run the
 * copy then, and only an event can change that. */
uint64_t sched_next_wakeup_ns(const struct sched *s)
{
    uint64_t wake = UINT64_MAX;
    if (s->stopped || s->status != SCHED_RUNNING || !sched_has_free_slot(s)) return wake;
    for (uint32_t i = hbitmap_next(&s->speculatable, 0); i != HBITMAP_NONE;
         i = hbitmap_next(&s->speculatable, i + 1)) {
        const struct sched_stage *stage = &s->stages[i];
        const struct sched_attempt *a = stage->oldest;
        if (!stage->ready || a == NULL) continue;
        bool passed;
        do {
            uint64_t deadline = slow_deadline_ns(stage, a);
            passed = deadline <= s->now_ns;
            if (passed) deadline = copy_start_ns(s, stage, a);
            if (deadline > s->now_ns && deadline < wake) wake = deadline;
            a = a->next;
        } while (passed && a != stage->oldest);
    }
    return wake;
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
    /* A superseded attempt may have no link from its task: see leave_task_state. */
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
    if (!a->queued) speculation_record_duration(s, a, now_ns);
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
