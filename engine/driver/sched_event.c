/* What happened to attempts and executors, and what becomes of their tasks. */
#include "engine/base/mem.h"
#include "engine/driver/sched_internal.h"

#include <assert.h>

/* The attempt, if it is this one that runs or is queued there. */
static struct sched_attempt *find_attempt(const struct sched *s, uint32_t executor, uint32_t stage,
                                          uint32_t task, uint32_t attempt)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return NULL;
    if (stage >= s->stage_count || task >= s->stages[stage].count) return NULL;
    const struct sched_task *t = &s->stages[stage].tasks[task];
    struct sched_attempt *known[] = {t->run, t->twin};
    for (int i = 0; i < 2; i++)
        if (known[i] != NULL && known[i]->number == attempt && known[i]->executor == executor)
            return known[i];
    const struct sched_executor *e = &s->executors[executor];
    for (uint32_t i = 0; i < e->slots + e->ahead; i++)
        if (e->attempts[i].task == t && e->attempts[i].number == attempt) return &e->attempts[i];
    return NULL;
}

/* The attempt is the only one that its task still wants. Answers its twin, which is doomed. */
static struct sched_attempt *part_from_twin(struct sched_task *t, struct sched_attempt *a)
{
    struct sched_attempt *other = t->run != a ? t->run : t->twin;
    assert(t->state == TASK_RUNNING && (t->run == a || t->twin == a));
    t->run = a;
    t->twin = NULL;
    if (other != NULL) other->doomed = true;
    return other;
}

bool sched_on_done(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                   uint32_t attempt, uint64_t now_ns)
{
    struct sched_attempt *a = find_attempt(s, executor, stage, task, attempt);
    if (a == NULL) return false;
    s->now_ns = now_ns;
    if (a->doomed) {
        sched_end(s, a);
        return false;
    }
    struct sched_task *t = a->task;
    struct sched_attempt *twin = part_from_twin(t, a);
    if (!a->queued) sched_slow_done(s, a, now_ns); /* else another's news come later than its own */
    sched_end(s, a);
    sched_become_done(s, t, executor, attempt);
    t->twin = twin;
    s->stages[stage].rounds_failed = 0;
    sched_node_outcome(s, s->executors[executor].node, false);
    sched_settle(s);
    return true;
}

/* What could not be fetched in one round counts once, however many tasks missed it. A round ends
 * with its first failure; who began before that belongs to the old one. */
static void count_fetch_failure(struct sched *s, struct sched_stage *stage, uint32_t round)
{
    assert(round <= stage->round);
    if (round != stage->round || stage->failed || !stage->needed) return;
    stage->round++;
    stage->rounds_failed++;
    if (stage->rounds_failed >= STAGE_ATTEMPTS_MAX) sched_fail_stage(s, stage, SCHED_STAGE_FAILED);
}

/* An attempt that counts; false: it was the last one. */
static bool count_failure(struct sched_task *t, uint32_t node)
{
    assert(t->failures < TASK_ATTEMPTS_MAX);
    t->failures++;
    if (t->failures == TASK_ATTEMPTS_MAX) return false;
    t->failed_on[t->failures - 1] = node;
    return true;
}

/* The task has an attempt less: it waits, if that was the only one. */
static void task_again(struct sched *s, struct sched_task *t, uint32_t node)
{
    t->left = node;
    if (t->run != NULL) return;
    sched_become(s, t, TASK_WAITING);
}

static void task_failed(struct sched *s, struct sched_task *t)
{
    if (t->run != NULL) t->run->doomed = true;
    sched_become(s, t, TASK_FAILED);
    if (s->failed == NULL) s->failed = t;
    sched_fail_stage(s, &s->stages[t->stage], SCHED_TASK_FAILED);
}

/* An attempt did not end well. Of a stage that nobody needs any more nothing counts. */
static void attempt_failed(struct sched *s, struct sched_task *t, uint32_t node,
                           enum sched_failure why)
{
    const struct sched_stage *stage = &s->stages[t->stage];
    bool counts = stage->needed && !stage->failed;
    if (counts && (why == SCHED_FATAL || (why == SCHED_OWN && !count_failure(t, node)))) {
        task_failed(s, t);
        return;
    }
    task_again(s, t, node);
}

bool sched_on_failed(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                     uint32_t attempt, enum sched_failure why, uint64_t now_ns)
{
    struct sched_attempt *a = find_attempt(s, executor, stage, task, attempt);
    if (a == NULL) return false;
    s->now_ns = now_ns;
    struct sched_task *t = a->task;
    bool doomed = a->doomed;
    uint32_t node = s->executors[executor].node, round = a->round;
    sched_end(s, a);
    if (doomed) return false;
    if (why == SCHED_OWN) sched_node_outcome(s, node, true);
    attempt_failed(s, t, node, why);
    if (why == SCHED_FETCH) count_fetch_failure(s, &s->stages[stage], round);
    sched_settle(s);
    return true;
}

/* Its results of the last stage are with the driver already. */
static void outputs_lost(struct sched *s, struct sched_executor *e)
{
    struct sched_ring kept = {NULL};
    for (struct sched_task *t; (t = e->outputs.first) != NULL;) {
        assert(t->state == TASK_DONE);
        if (t->stage + 1 < s->stage_count) {
            sched_become(s, t, TASK_WAITING);
            continue;
        }
        sched_ring_remove(&e->outputs, t);
        sched_ring_add(&kept, t);
    }
    e->outputs = kept;
}

void sched_on_executor_lost(struct sched *s, uint32_t executor, bool blame, bool counts)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return;
    struct sched_executor *e = &s->executors[executor];
    e->lost = true;
    if (!e->draining) sched_executor_usable(s, executor, false);
    sched_node_exclude(s, e->node, false); /* its next process may be reached */
    if (counts) s->losses++;
    if (s->losses > LOSSES_MAX && s->verdict == SCHED_GOES_ON) s->verdict = SCHED_LOSSES;
    outputs_lost(s, e);
    sched_settle(s); /* whether a task that runs here is needed, may follow from them */
    while (e->queue != NULL) {
        struct sched_task *t = e->queue->task;
        bool doomed = e->queue->doomed;
        sched_end(s, e->queue);
        if (!doomed) attempt_failed(s, t, e->node, SCHED_REFUSED);
    }
    if (blame) s->process_died = true;
    if (blame && e->busy > 0) sched_node_outcome(s, e->node, true); /* it died once, for all */
    for (uint32_t i = 0; i < e->slots + e->ahead; i++) {
        struct sched_attempt *a = &e->attempts[i];
        struct sched_task *t = a->task;
        if (t == NULL) continue;
        bool doomed = a->doomed;
        sched_end(s, a);
        if (!doomed) attempt_failed(s, t, e->node, blame ? SCHED_OWN : SCHED_FETCH);
    }
    assert(e->busy == 0 && e->bucket == 0);
    mem_free(e->attempts);
    e->attempts = e->free = NULL;
    sched_settle(s);
}

void sched_on_draining(struct sched *s, uint32_t executor)
{
    if (executor >= s->executor_count) return;
    struct sched_executor *e = &s->executors[executor];
    if (e->lost || e->draining) return;
    e->draining = true;
    bits_put(&s->leaving, executor, e->queue != NULL);
    sched_executor_usable(s, executor, false);
}

void sched_on_silent(struct sched *s, uint32_t executor, bool silent)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return;
    s->executors[executor].silent = silent;
    sched_executor_review(s, executor);
}

void sched_on_output_lost(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor,
                          uint32_t attempt)
{
    if (stage >= s->stage_count || stage == s->stage_count - 1) return;
    if (task >= s->stages[stage].count) return;
    struct sched_task *t = &s->stages[stage].tasks[task];
    if (t->state != TASK_DONE || t->executor != executor || t->attempt != attempt) return;
    sched_become(s, t, TASK_WAITING);
    sched_settle(s);
}

void sched_exclude(struct sched *s, uint32_t executor, bool excluded)
{
    if (executor >= s->executor_count || s->executors[executor].lost) return;
    sched_node_exclude(s, s->executors[executor].node, excluded);
}

void sched_stop(struct sched *s)
{
    s->stopped = true;
}
