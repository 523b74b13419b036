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
    struct sched_attempt *known[] = {t->run, t->other_copy};
    for (int i = 0; i < 2; i++)
        if (known[i] != NULL && known[i]->number == attempt && known[i]->executor == executor)
            return known[i];
    const struct sched_executor *e = &s->executors[executor];
    for (uint32_t i = 0; i < e->slots + e->prefetch; i++)
        if (e->attempts[i].task == t && e->attempts[i].number == attempt) return &e->attempts[i];
    return NULL;
}

/* The attempt is the only one that its task still wants. Answers its twin, which is doomed. */
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
    if (a->superseded) {
        sched_attempt_finish(s, a);
        return false;
    }
    struct sched_task *t = a->task;
    struct sched_attempt *other_copy = supersede_other_copy(t, a);
    if (!a->queued)
        speculation_record_duration(s, a, now_ns); /* else another's news come later than its own */
    sched_attempt_finish(s, a);
    sched_task_set_done(s, t, executor, attempt);
    t->other_copy = other_copy;
    s->stages[stage].stage_attempts_failed = 0;
    sched_node_record_outcome(s, s->executors[executor].node, false);
    sched_update_stages(s);
    return true;
}

/* What could not be fetched in one round counts once, however many tasks missed it. A round ends
 * with its first failure; who began before that belongs to the old one. */
static void count_fetch_failure(struct sched *s, struct sched_stage *stage, uint32_t stage_attempt)
{
    assert(stage_attempt <= stage->stage_attempt);
    if (stage_attempt != stage->stage_attempt || stage->failed || !stage->needed) return;
    stage->stage_attempt++;
    stage->stage_attempts_failed++;
    if (stage->stage_attempts_failed >= STAGE_ATTEMPTS_MAX)
        sched_fail_stage(s, stage, SCHED_STAGE_FAILED);
}

/* An attempt that counts; false: it was the last one. */
static bool count_task_failure(struct sched_task *t, uint32_t node)
{
    assert(t->failures < TASK_ATTEMPTS_MAX);
    t->failures++;
    if (t->failures == TASK_ATTEMPTS_MAX) return false;
    t->failed_on[t->failures - 1] = node;
    return true;
}

/* The task has an attempt less: it waits, if that was the only one. */
static void set_waiting_if_no_copy(struct sched *s, struct sched_task *t, uint32_t node)
{
    t->last_failed_node = node;
    if (t->run != NULL) return;
    sched_task_set_state(s, t, TASK_WAITING);
}

static void fail_task(struct sched *s, struct sched_task *t)
{
    if (t->run != NULL) t->run->superseded = true;
    sched_task_set_state(s, t, TASK_FAILED);
    if (s->failed == NULL) s->failed = t;
    sched_fail_stage(s, &s->stages[t->stage], SCHED_TASK_FAILED);
}

/* An attempt did not end well. Of a stage that nobody needs any more nothing counts. */
static void on_attempt_failed(struct sched *s, struct sched_task *t, uint32_t node,
                              enum sched_failure_kind why)
{
    const struct sched_stage *stage = &s->stages[t->stage];
    bool counts = stage->needed && !stage->failed;
    if (counts &&
        (why == SCHED_FATAL_ERROR || (why == SCHED_TASK_ERROR && !count_task_failure(t, node)))) {
        fail_task(s, t);
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

/* Its results of the last stage are with the driver already. */
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
    sched_node_set_excluded(s, e->node, false); /* its next process may be reached */
    if (counts) s->losses++;
    if (s->losses > EXECUTOR_FAILURES_MAX && s->status == SCHED_RUNNING)
        s->status = SCHED_TOO_MANY_LOSSES;
    requeue_lost_outputs(s, e);
    sched_update_stages(s); /* whether a task that runs here is needed, may follow from them */
    while (e->queue != NULL) {
        struct sched_task *t = e->queue->task;
        bool superseded = e->queue->superseded;
        sched_attempt_finish(s, e->queue);
        if (!superseded) on_attempt_failed(s, t, e->node, SCHED_KILLED);
    }
    if (exit_caused_by_task) s->process_died = true;
    if (exit_caused_by_task && e->busy > 0)
        sched_node_record_outcome(s, e->node, true); /* it died once, for all */
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
    if (stage >= s->stage_count || stage == s->stage_count - 1) return;
    if (task >= s->stages[stage].count) return;
    struct sched_task *t = &s->stages[stage].tasks[task];
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
