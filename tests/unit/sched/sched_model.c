/* See sched_model.h. */
#include "tests/unit/sched/sched_model.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- Stages */

bool model_complete(const struct model *m, uint32_t stage)
{
    for (uint32_t t = 0; t < m->stages[stage].count; t++)
        if (m->stages[stage].tasks[t].state != MODEL_DONE) return false;
    return true;
}

bool model_needed(const struct model *m, uint32_t stage)
{
    if (stage + 1 == m->stage_count) return true;
    for (uint32_t i = stage + 1; i < m->stage_count; i++)
        if ((m->stages[i].parents >> stage & 1) != 0 && !model_complete(m, i) &&
            model_needed(m, i)) /* at most six stages */
            return true;
    return false;
}

bool model_ready(const struct model *m, uint32_t stage)
{
    for (uint32_t i = 0; i < stage; i++)
        if ((m->stages[stage].parents >> i & 1) != 0 && !model_complete(m, i)) return false;
    return model_needed(m, stage) && !m->stages[stage].failed;
}

/* ---- Executors and nodes */

uint32_t model_busy(const struct model *m, uint32_t executor)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < m->attempt_count; i++)
        busy += m->attempts[i].run.executor == executor && m->attempts[i].queue == 0;
    return busy;
}

uint32_t model_queued(const struct model *m, uint32_t executor)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < m->attempt_count; i++) all += m->attempts[i].run.executor == executor;
    return all - model_busy(m, executor);
}

static bool usable(const struct model *m, uint32_t node)
{
    for (uint32_t e = 0; e < m->executor_count; e++)
        if (m->executors[e].node == node && !m->executors[e].lost && !m->executors[e].draining)
            return true;
    return false;
}

bool model_node_is_excluded(const struct model *m, uint32_t node)
{
    if (m->failures_in_row[node] < SCHED_NODE_FAILURES_MAX) return false;
    for (uint32_t n = 0; n < MODEL_NODES; n++)
        if (usable(m, n) && m->failures_in_row[n] < SCHED_NODE_FAILURES_MAX) return true;
    return false;
}

static bool node_accepts_tasks(const struct model *m, uint32_t node)
{
    return usable(m, node) && !model_node_is_excluded(m, node);
}

static bool failed_there(const struct model_task *t, uint32_t node)
{
    for (uint32_t i = 0; i < t->failures; i++)
        if (t->failed_on[i] == node) return true;
    return false;
}

static bool may_run(const struct model *m, const struct model_task *t, uint32_t node)
{
    if (!failed_there(t, node)) return true;
    uint32_t last = t->failed_on[t->failures - 1];
    bool fresh = false, another = false;
    for (uint32_t n = 0; n < MODEL_NODES; n++) {
        fresh = fresh || (node_accepts_tasks(m, n) && !failed_there(t, n));
        another = another || (node_accepts_tasks(m, n) && n != last);
    }
    return !fresh && (node != last || !another);
}

#define SLOT_ROOM 1000u /* a free slot is better than any space in a queue */

static uint32_t room_at(const struct model *m, uint32_t e)
{
    if (m->executors[e].lost || m->executors[e].draining ||
        !node_accepts_tasks(m, m->executors[e].node))
        return 0;
    uint32_t slots = m->executors[e].slots - model_busy(m, e);
    return slots > 0 ? SLOT_ROOM + slots : m->executors[e].prefetch - model_queued(m, e);
}

/* The executor with the most room, which must be more than `most`. `t`: NULL for any task. */
static uint32_t find_executor(const struct model *m, const struct model_task *t,
                              uint32_t other_than, uint32_t most)
{
    uint32_t best = SCHED_NONE;
    for (uint32_t e = 0; e < m->executor_count; e++) {
        uint32_t node = m->executors[e].node;
        if (node == other_than || (t != NULL && !may_run(m, t, node))) continue;
        uint32_t room = room_at(m, e);
        if (room <= most) continue;
        most = room;
        best = e;
    }
    return best;
}

/* Another attempt of the same task that is not superseded, or NULL. */
static struct model_attempt *other_copy_of(struct model *m, const struct model_attempt *a)
{
    for (uint32_t i = 0; i < m->attempt_count; i++) {
        struct model_attempt *t = &m->attempts[i];
        if (!t->superseded && t->run.stage == a->run.stage && t->run.task == a->run.task &&
            t->run.attempt != a->run.attempt)
            return t;
    }
    return NULL;
}

/* ---- The next task */

/* The room that an executor must exceed: with SLOT_ROOM tasks of the stage are not queued. */
static uint32_t least_room(const struct model *m, uint32_t stage)
{
    const struct model_stage *st = &m->stages[stage];
    uint32_t slots = 0, waiting = 0;
    for (uint32_t e = 0; e < m->executor_count; e++)
        if (!m->executors[e].lost && !m->executors[e].draining) slots += m->executors[e].slots;
    for (uint32_t t = 0; t < st->count; t++) waiting += st->tasks[t].state == MODEL_WAITING;
    return m->process_died || waiting < slots ? SLOT_ROOM : 0;
}

static bool pick_in(const struct model *m, uint32_t stage, struct task_attempt *out)
{
    const struct model_stage *st = &m->stages[stage];
    uint32_t least = least_room(m, stage);
    uint32_t most = find_executor(m, NULL, SCHED_NONE, least), near = SCHED_NONE;
    if (most == SCHED_NONE) return false;
    uint32_t near_least = room_at(m, most) > SLOT_ROOM ? SLOT_ROOM : 0;
    for (uint32_t i = 0; i < st->count; i++) {
        const struct model_task *t = &st->tasks[i];
        if (t->state == MODEL_WAITING && t->prefer == most &&
            (near == SCHED_NONE || t->prefer_order < st->tasks[near].prefer_order))
            near = i;
    }
    if (near != SCHED_NONE && may_run(m, &st->tasks[near], m->executors[most].node)) {
        *out = (struct task_attempt){
            .executor = most, .stage = stage, .task = near, .attempt = st->tasks[near].attempts};
        return true;
    }
    for (uint32_t i = 0; i < st->count; i++) {
        const struct model_task *t = &st->tasks[i];
        if (t->state != MODEL_WAITING) continue;
        uint32_t e = t->prefer;
        if (e == SCHED_NONE || room_at(m, e) <= near_least || !may_run(m, t, m->executors[e].node))
            e = find_executor(m, t, t->last_failed_node, least);
        if (e == SCHED_NONE) e = find_executor(m, t, SCHED_NONE, least);
        if (e == SCHED_NONE) continue;
        *out =
            (struct task_attempt){.executor = e, .stage = stage, .task = i, .attempt = t->attempts};
        return true;
    }
    return false;
}

bool model_pick(const struct model *m, struct task_attempt *out)
{
    if (m->stopped || m->status != SCHED_RUNNING) return false;
    for (uint32_t i = 0; i < m->stage_count; i++)
        if (model_ready(m, i) && pick_in(m, i, out)) return true;
    return false;
}

bool model_may_revoke(const struct model *m, const struct model_attempt *t)
{
    const struct model_task *task = &m->stages[t->run.stage].tasks[t->run.task];
    for (uint32_t i = 0; i < m->attempt_count; i++)
        if (m->attempts[i].revoked && m->attempts[i].run.executor == t->run.executor) return false;
    if (m->stopped || m->status != SCHED_RUNNING || t->queue == 0 || t->superseded) return false;
    if (other_copy_of((struct model *)m, t) != NULL) return false;
    return m->process_died || m->executors[t->run.executor].draining ||
           !node_accepts_tasks(m, m->executors[t->run.executor].node) ||
           find_executor(m, task, SCHED_NONE, SLOT_ROOM) != SCHED_NONE;
}

/* ---- Speculative copies */

uint32_t model_copy_executor(const struct model *m, const struct model_attempt *t)
{
    return find_executor(m, &m->stages[t->run.stage].tasks[t->run.task],
                         m->executors[t->run.executor].node, SLOT_ROOM);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t model_slow_ns(const struct model *m, const struct model_attempt *t, uint64_t now_ns)
{
    const struct model_stage *st = &m->stages[t->run.stage];
    if (!m->speculate || m->stopped || m->status != SCHED_RUNNING || t->superseded ||
        !model_ready(m, t->run.stage) || other_copy_of((struct model *)m, t) != NULL)
        return UINT64_MAX;
    bool may = t->queue == 0;
    for (uint32_t i = 0; i < m->attempt_count; i++)
        may = may || (m->attempts[i].revoked && m->attempts[i].run.executor == t->run.executor &&
                      now_ns - m->attempts[i].revoke_ns >= SCHED_SPECULATE_NS_MIN);
    if (!may) return UINT64_MAX;
    uint64_t sorted[MODEL_DURATIONS];
    uint32_t done = 0;
    for (uint32_t i = 0; i < st->count; i++) done += st->tasks[i].state == MODEL_DONE;
    if (done * 4 < st->count * 3 || st->duration_count == 0) return UINT64_MAX;
    for (uint32_t i = 0; i < st->duration_count; i++) sorted[i] = st->durations[i];
    qsort(sorted, st->duration_count, sizeof *sorted, by_size);
    uint64_t median = sorted[(st->duration_count - 1) / 2], wait = median + median / 2;
    return wait > SCHED_SPECULATE_NS_MIN ? wait : SCHED_SPECULATE_NS_MIN;
}

/* ---- Events */

void model_begin(struct model *m, const struct task_attempt *run, uint64_t now_ns)
{
    struct model_stage *st = &m->stages[run->stage];
    struct model_task *t = &st->tasks[run->task];
    assert(m->attempt_count < MODEL_ATTEMPTS);
    t->state = MODEL_RUNNING;
    t->attempts++;
    t->prefer = SCHED_NONE;
    bool queued = model_busy(m, run->executor) == m->executors[run->executor].slots;
    m->attempts[m->attempt_count++] = (struct model_attempt){.run = *run,
                                                             .start_ns = now_ns,
                                                             .queue = queued ? ++m->last_queue : 0,
                                                             .stage_attempt = st->stage_attempt};
}

/* The attempt has ended: the next one in the executor's queue starts. */
static struct model_attempt remove_attempt(struct model *m, uint32_t number, uint64_t now_ns)
{
    struct model_attempt t = m->attempts[number], *first = NULL;
    m->attempts[number] = m->attempts[--m->attempt_count];
    for (uint32_t i = 0; i < m->attempt_count && t.queue == 0; i++) {
        struct model_attempt *next = &m->attempts[i];
        if (next->run.executor != t.run.executor || next->queue == 0) continue;
        if (first == NULL || next->queue < first->queue) first = next;
    }
    if (first == NULL) return t;
    first->queue = 0;
    first->revoked = false;
    first->start_ns = now_ns;
    return t;
}

bool model_done(struct model *m, uint32_t number, uint64_t now_ns)
{
    struct model_attempt t = remove_attempt(m, number, now_ns);
    if (t.superseded) return false;
    struct model_stage *st = &m->stages[t.run.stage];
    struct model_task *task = &st->tasks[t.run.task];
    struct model_attempt *other_copy = other_copy_of(m, &t);
    if (other_copy != NULL) other_copy->superseded = true;
    task->state = MODEL_DONE;
    task->executor = t.run.executor;
    task->attempt = t.run.attempt;
    assert(st->duration_count < MODEL_DURATIONS);
    if (t.queue == 0) st->durations[st->duration_count++] = now_ns - t.start_ns;
    st->stage_attempts_failed = 0;
    m->failures_in_row[m->executors[t.run.executor].node] = 0;
    return true;
}

static void fail_stage(struct model *m, uint32_t stage, enum sched_status why)
{
    m->stages[stage].failed = true;
    if (m->status == SCHED_RUNNING) m->status = why;
}

static void attempt_failed(struct model *m, const struct model_attempt *t,
                           enum sched_failure_kind why)
{
    struct model_stage *st = &m->stages[t->run.stage];
    struct model_task *task = &st->tasks[t->run.task];
    struct model_attempt *other_copy = other_copy_of(m, t);
    uint32_t node = m->executors[t->run.executor].node;
    if (model_needed(m, t->run.stage) && !st->failed) {
        if (why == SCHED_TASK_ERROR) task->failed_on[task->failures++] = node;
        if (why == SCHED_FATAL_ERROR || task->failures == TASK_ATTEMPTS_MAX) {
            if (other_copy != NULL) other_copy->superseded = true;
            task->state = MODEL_FAILED;
            fail_stage(m, t->run.stage, SCHED_TASK_FAILED);
            return;
        }
    }
    task->last_failed_node = node;
    if (other_copy == NULL) task->state = MODEL_WAITING;
}

bool model_failed(struct model *m, uint32_t number, enum sched_failure_kind why, uint64_t now_ns)
{
    struct model_attempt t = remove_attempt(m, number, now_ns);
    struct model_stage *st = &m->stages[t.run.stage];
    if (t.superseded) return false;
    if (why == SCHED_TASK_ERROR) m->failures_in_row[m->executors[t.run.executor].node]++;
    bool counts = why == SCHED_FETCH_ERROR && model_needed(m, t.run.stage) &&
                  t.stage_attempt == st->stage_attempt;
    attempt_failed(m, &t, why);
    if (!counts || st->failed) return true;
    st->stage_attempt++;
    if (++st->stage_attempts_failed == STAGE_ATTEMPTS_MAX)
        fail_stage(m, t.run.stage, SCHED_STAGE_FAILED);
    return true;
}

void model_output_lost(struct model *m, uint32_t stage, uint32_t task, uint32_t executor,
                       uint32_t attempt)
{
    struct model_task *t = &m->stages[stage].tasks[task];
    if (stage + 1 == m->stage_count || t->state != MODEL_DONE || t->executor != executor ||
        t->attempt != attempt)
        return;
    t->state = MODEL_WAITING;
    t->prefer = SCHED_NONE;
}

void model_lost(struct model *m, uint32_t executor, bool exit_caused_by_task, bool counts)
{
    if (m->executors[executor].lost) return;
    if (exit_caused_by_task && model_busy(m, executor) > 0)
        m->failures_in_row[m->executors[executor].node]++;
    m->executors[executor].lost = true;
    m->losses += counts;
    if (m->losses > EXECUTOR_FAILURES_MAX && m->status == SCHED_RUNNING)
        m->status = SCHED_TOO_MANY_LOSSES;
    for (uint32_t i = 0; i < m->stage_count; i++)
        for (uint32_t t = 0; t < m->stages[i].count; t++)
            model_output_lost(m, i, t, executor, m->stages[i].tasks[t].attempt);
    m->process_died = m->process_died || exit_caused_by_task;
    for (int queued = 1; queued >= 0; queued--)
        for (uint32_t i = m->attempt_count; i-- > 0;) {
            if (m->attempts[i].run.executor != executor || (m->attempts[i].queue != 0) != queued)
                continue;
            struct model_attempt t = remove_attempt(m, i, 0);
            enum sched_failure_kind why =
                exit_caused_by_task ? SCHED_TASK_ERROR : SCHED_FETCH_ERROR;
            if (!t.superseded) attempt_failed(m, &t, queued ? SCHED_KILLED : why);
        }
}
