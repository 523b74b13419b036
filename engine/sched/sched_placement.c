/* Picks the next task and its executor.
 *
 * The oldest ready stage is first. The executor with the most free slots gets a task that prefers
 * it. If no task does, the first waiting task goes to its own preferred executor if that one has a
 * free slot, else to the one with the most. So tasks are spread evenly, no task waits for the
 * executor that has its data, and executors run local tasks before remote ones. If no slot is free,
 * the same rules apply to the space in the executors' queues. */
#include "engine/sched/sched_internal.h"

#include <assert.h>

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

void sched_record_duration(struct sched *s, const struct sched_attempt *a, uint64_t now_ns)
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
static uint64_t speculation_start_ns(const struct sched *s, const struct sched_stage *stage,
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
            if (speculation_start_ns(s, stage, a) <= s->now_ns)
                *out_executor = sched_find_executor(s, a->task, s->executors[a->executor].node);
            if (*out_executor != SCHED_NONE) return a->task;
            a = a->next;
        } while (a != stage->oldest);
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
            if (passed) deadline = speculation_start_ns(s, stage, a);
            if (deadline > s->now_ns && deadline < wake) wake = deadline;
            a = a->next;
        } while (passed && a != stage->oldest);
    }
    return wake;
}
