/* Plain arrays, walked in order: a stage's tasks are given out from the first on, so
 * `first_waiting` and `first_open` make the next task a step, not a search. */
#include "engine/driver/sched.h"

#include "engine/base/mem.h"
#include "engine/limits.h"

#include <assert.h>
#include <string.h>

enum task_state { TASK_WAITING, TASK_RUNNING, TASK_DONE, TASK_FAILED };

struct sched_task {
    uint8_t state, failures;
    uint32_t attempt;
    uint32_t executor;
};

struct sched_stage {
    struct sched_task *tasks;
    uint32_t count, done, first_waiting; /* no task before it waits */
    bool failed;
    uint32_t *parents;
    uint32_t parent_count;
};

struct sched_executor {
    uint32_t slots, busy;
};

struct sched {
    struct sched_executor *executors;
    struct sched_stage *stages;
    uint32_t executor_count, stage_count;
    uint32_t running, retries;
    uint32_t first_open; /* no stage before it has tasks to start */
    bool stopped;
};

struct sched *sched_create(void)
{
    return mem_zalloc(sizeof(struct sched));
}

void sched_destroy(struct sched *s)
{
    if (s == NULL) return;
    for (uint32_t i = 0; i < s->stage_count; i++) {
        mem_free(s->stages[i].tasks);
        mem_free(s->stages[i].parents);
    }
    mem_free(s->stages);
    mem_free(s->executors);
    mem_free(s);
}

bool sched_add_executor(struct sched *s, uint32_t slots)
{
    assert(slots > 0);
    uint64_t size = sizeof *s->executors * s->executor_count;
    struct sched_executor *grown = mem_grow(s->executors, size, size + sizeof *grown);
    if (grown == NULL) return false;
    s->executors = grown;
    s->executors[s->executor_count++] = (struct sched_executor){slots, 0};
    return true;
}

bool sched_add_stage(struct sched *s, uint32_t tasks, const uint32_t *parents,
                     uint32_t parent_count)
{
    struct sched_stage stage = {.count = tasks, .parent_count = parent_count};
    stage.tasks = mem_zalloc(sizeof *stage.tasks * tasks);
    stage.parents = mem_alloc(sizeof *parents * parent_count);
    uint64_t size = sizeof *s->stages * s->stage_count;
    struct sched_stage *grown = NULL;
    if (stage.tasks != NULL && stage.parents != NULL)
        grown = mem_grow(s->stages, size, size + sizeof *grown);
    if (grown == NULL) {
        mem_free(stage.tasks);
        mem_free(stage.parents);
        return false;
    }
    for (uint32_t i = 0; i < parent_count; i++) {
        assert(parents[i] < s->stage_count);
        stage.parents[i] = parents[i];
    }
    s->stages = grown;
    s->stages[s->stage_count++] = stage;
    return true;
}

bool sched_stage_done(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].done == s->stages[stage].count;
}

bool sched_stage_failed(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].failed;
}

static bool stage_ready(const struct sched *s, const struct sched_stage *stage)
{
    for (uint32_t i = 0; i < stage->parent_count; i++)
        if (!sched_stage_done(s, stage->parents[i])) return false;
    return !stage->failed;
}

/* The executor with the most free slots, the lowest number among equals. */
static struct sched_executor *pick_executor(struct sched *s)
{
    struct sched_executor *best = NULL;
    for (uint32_t i = 0; i < s->executor_count; i++) {
        struct sched_executor *e = &s->executors[i];
        if (e->busy == e->slots) continue;
        if (best == NULL || e->slots - e->busy > best->slots - best->busy) best = e;
    }
    return best;
}

/* A waiting task of the stage, or NULL. */
static struct sched_task *pick_task(struct sched_stage *stage)
{
    while (stage->first_waiting < stage->count &&
           stage->tasks[stage->first_waiting].state != TASK_WAITING)
        stage->first_waiting++;
    return stage->first_waiting < stage->count ? &stage->tasks[stage->first_waiting] : NULL;
}

bool sched_next(struct sched *s, struct sched_run *out)
{
    if (s->stopped) return false;
    struct sched_executor *executor = pick_executor(s);
    if (executor == NULL) return false;
    while (s->first_open < s->stage_count && sched_stage_done(s, s->first_open)) s->first_open++;
    for (uint32_t i = s->first_open; i < s->stage_count; i++) {
        struct sched_stage *stage = &s->stages[i];
        if (stage->done == stage->count || !stage_ready(s, stage)) continue;
        struct sched_task *task = pick_task(stage);
        if (task == NULL) continue;
        assert(!stage->failed && task->failures < TASK_ATTEMPTS_MAX);
        task->state = TASK_RUNNING;
        task->executor = (uint32_t)(executor - s->executors);
        executor->busy++;
        s->running++;
        *out =
            (struct sched_run){task->executor, i, (uint32_t)(task - stage->tasks), task->attempt};
        return true;
    }
    return false;
}

/* The task if this very attempt runs on this executor; it then no longer does. */
static struct sched_task *end_attempt(struct sched *s, uint32_t executor, uint32_t stage,
                                      uint32_t task, uint32_t attempt)
{
    if (stage >= s->stage_count || task >= s->stages[stage].count) return NULL;
    struct sched_task *t = &s->stages[stage].tasks[task];
    if (t->state != TASK_RUNNING || t->attempt != attempt || t->executor != executor) return NULL;
    assert(s->running > 0 && s->executors[executor].busy > 0);
    s->running--;
    s->executors[executor].busy--;
    return t;
}

bool sched_on_done(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                   uint32_t attempt)
{
    struct sched_task *t = end_attempt(s, executor, stage, task, attempt);
    if (t == NULL) return false;
    t->state = TASK_DONE;
    s->stages[stage].done++;
    assert(s->stages[stage].done <= s->stages[stage].count);
    return true;
}

bool sched_on_failed(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                     uint32_t attempt, bool again)
{
    struct sched_task *t = end_attempt(s, executor, stage, task, attempt);
    if (t == NULL) return false;
    struct sched_stage *st = &s->stages[stage];
    t->failures++;
    if (!again || t->failures >= TASK_ATTEMPTS_MAX) {
        t->state = TASK_FAILED;
        st->failed = true;
        return true;
    }
    t->state = TASK_WAITING;
    t->attempt++;
    s->retries++;
    if (task < st->first_waiting) st->first_waiting = task;
    return true;
}

void sched_stop(struct sched *s)
{
    s->stopped = true;
}

uint32_t sched_tasks_done(const struct sched *s, uint32_t stage)
{
    assert(stage < s->stage_count);
    return s->stages[stage].done;
}

uint32_t sched_running(const struct sched *s)
{
    return s->running;
}

uint32_t sched_attempt(const struct sched *s, uint32_t stage, uint32_t task)
{
    assert(stage < s->stage_count && task < s->stages[stage].count);
    assert(s->stages[stage].tasks[task].state == TASK_DONE);
    return s->stages[stage].tasks[task].attempt;
}

uint32_t sched_retries(const struct sched *s)
{
    return s->retries;
}
