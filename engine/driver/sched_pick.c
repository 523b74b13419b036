/* Which task is next, and where.
 *
 * The oldest stage that is ready goes first. The executor with the most free slots takes a task
 * that prefers it; if there is none, the first task that waits goes to the executor that it
 * prefers, if that one has a free slot, or else to the one with the most. So tasks spread evenly,
 * none waits for the one place where its data is, and an executor does what is near before what is
 * far. Where no slot is free, all that is the same for room in queues. */
#include "engine/driver/sched_internal.h"

#include <assert.h>

/* Of the tasks that may run nowhere now, so many are passed over for others behind them. */
#define PASSED_OVER_MAX 64u

/* Where a task must not run: the nodes where it failed by its own doing; if no other node takes
 * tasks, only the last of them; if that is the only one, none. It rather waits for another node
 * than fail again where a failure comes quickly. */
struct avoid {
    const uint32_t *nodes;
    uint32_t count;
    uint32_t other_than; /* and not there */
};

static bool avoided(const struct avoid *a, uint32_t node)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->nodes[i] == node) return true;
    return node == a->other_than;
}

static struct avoid avoid_of(const struct sched *s, const struct sched_task *t)
{
    uint32_t takes = s->nodes_good > 0 ? s->nodes_good : s->nodes_bad, failed = 0;
    struct avoid all = {t->failed_on, 0, SCHED_NONE};
    assert(t->failures < TASK_ATTEMPTS_MAX);
    for (; all.count < t->failures; all.count++) {
        uint32_t node = t->failed_on[all.count];
        if (!avoided(&all, node)) failed += sched_node_takes(s, node);
    }
    if (takes > failed || all.count == 0) return all;
    const uint32_t *last = &t->failed_on[t->failures - 1];
    bool others = takes > (sched_node_takes(s, *last) ? 1u : 0u);
    return (struct avoid){last, others ? 1 : 0, SCHED_NONE};
}

/* In buckets above that one. */
static uint32_t find(const struct sched *s, const struct avoid *a, uint32_t above)
{
    for (uint32_t i = bits_next(&s->rooms, 0); i < BUCKETS_MAX - above;
         i = bits_next(&s->rooms, i + 1)) {
        const struct bits *bucket = &s->buckets[BUCKETS_MAX - i];
        for (uint32_t e = bits_next(bucket, 0); e != BITS_NONE; e = bits_next(bucket, e + 1))
            if (!avoided(a, s->executors[e].node)) return e;
    }
    return SCHED_NONE;
}

static uint32_t find_for(const struct sched *s, const struct sched_task *t, uint32_t other_than,
                         uint32_t above)
{
    struct avoid a = avoid_of(s, t);
    a.other_than = other_than;
    return find(s, &a, above);
}

uint32_t sched_find_executor(const struct sched *s, const struct sched_task *t, uint32_t other_than)
{
    return find_for(s, t, other_than, QUEUE_ONLY);
}

/* The node that the last attempt left is only the second choice. */
static uint32_t find_for_waiting(const struct sched *s, const struct sched_task *t, uint32_t above)
{
    uint32_t e = find_for(s, t, t->left, above);
    if (e == SCHED_NONE && t->left != SCHED_NONE) e = find_for(s, t, SCHED_NONE, above);
    return e;
}

static bool may_run_on(const struct sched *s, const struct sched_task *t, uint32_t executor,
                       uint32_t above)
{
    if (s->executors[executor].bucket <= above) return false;
    struct avoid a = avoid_of(s, t);
    return !avoided(&a, s->executors[executor].node);
}

static struct sched_task *pick(const struct sched *s, const struct sched_stage *stage,
                               uint32_t *out_executor)
{
    bool ahead = !s->process_died && stage->waiting_count >= s->slots;
    uint32_t above = ahead ? 0 : QUEUE_ONLY, passed = 0;
    uint32_t most = find(s, &(struct avoid){NULL, 0, SCHED_NONE}, above);
    if (most == SCHED_NONE) return NULL;
    uint32_t near_above = s->executors[most].bucket > QUEUE_ONLY ? QUEUE_ONLY : 0;
    if (most < stage->preferred_count) {
        struct sched_task *near = stage->preferred[most].first;
        *out_executor = most;
        if (near != NULL && may_run_on(s, near, most, near_above)) return near;
    }
    for (uint32_t i = bits_next(&stage->waiting, 0); i != BITS_NONE && passed < PASSED_OVER_MAX;
         i = bits_next(&stage->waiting, i + 1), passed++) {
        struct sched_task *t = &stage->tasks[i];
        assert(t->state == TASK_WAITING && t->run == NULL);
        bool near = t->executor != SCHED_NONE && may_run_on(s, t, t->executor, near_above);
        *out_executor = near ? t->executor : find_for_waiting(s, t, above);
        if (*out_executor != SCHED_NONE) return t;
    }
    return NULL;
}

bool sched_next(struct sched *s, uint64_t now_ns, struct sched_run *out)
{
    assert(!s->stages_stale);
    s->now_ns = now_ns;
    if (s->stopped || s->verdict != SCHED_GOES_ON || bits_empty(&s->rooms)) return false;
    struct sched_task *t = NULL;
    uint32_t executor = SCHED_NONE;
    for (uint32_t i = bits_next(&s->open, 0); i != BITS_NONE && t == NULL;
         i = bits_next(&s->open, i + 1))
        t = pick(s, &s->stages[i], &executor);
    if (t == NULL && sched_any_slot_free(s)) t = sched_slow_pick(s, &executor);
    if (t == NULL) return false;
    *out = sched_run_of(s, sched_begin(s, t, executor));
    return true;
}

/* An attempt that is queued in one of these executors, and may run elsewhere now if it does not go
 * back anyhow. NULL: none. */
static struct sched_attempt *find_queued(const struct sched *s, const struct bits *executors,
                                         bool anyhow)
{
    for (uint32_t i = bits_next(executors, 0); i != BITS_NONE; i = bits_next(executors, i + 1)) {
        const struct sched_executor *e = &s->executors[i];
        struct sched_attempt *last = NULL; /* it is the least likely to begin before it hears */
        if (e->silent || e->recalls) continue;
        bool back = anyhow || !sched_node_takes(s, e->node);
        for (struct sched_attempt *a = e->queue; a != NULL; a = a->behind)
            if (sched_is_alone(a) &&
                (back || sched_find_executor(s, a->task, SCHED_NONE) != SCHED_NONE))
                last = a;
        if (last != NULL) return last;
    }
    return NULL;
}

bool sched_recall(struct sched *s, struct sched_run *out)
{
    if (s->stopped || s->verdict != SCHED_GOES_ON) return false;
    struct sched_attempt *a = find_queued(s, &s->leaving, true);
    if (a == NULL && (s->process_died || s->nodes_bad > 0 || sched_any_slot_free(s)))
        a = find_queued(s, &s->queues, s->process_died);
    if (a == NULL) return false;
    struct sched_executor *e = &s->executors[a->executor];
    a->recalled = e->recalls = true;
    e->recall_ns = s->now_ns;
    *out = sched_run_of(s, a);
    return true;
}
