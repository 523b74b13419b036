/* Events of attempts and executors, and their consequences for tasks and stages. */
#include "engine/base/mem.h"
#include "engine/driver/sched_internal.h"

#include <assert.h>

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

static void fail_task(struct sched *s, struct sched_task *t)
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
