/* Random clusters, jobs and faults. After each event the scheduler must agree with a simple model
 * of it: no slot is used twice, no task is lost or done twice, no task stays queued while another
 * executor is better. When the faults stop, the job ends. A seed that fails is printed; one_seed
 * runs only that one. */
#include "tests/unit/sched/sched_model.h"

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "tests/unit/sched/sched_helpers.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS  2000
#define EVENTS 800
#define PAST   64u

struct model_run {
    struct sched *s;
    struct model *m;
    uint64_t seed, random, now_ns, trace;
    struct task_attempt past[PAST]; /* attempts that have ended */
    uint32_t faults;                /* failures per 100 attempts */
    uint32_t failing_tasks;         /* tasks below this number fail more often */
    bool only_fetches, frequent_losses, queues;
    uint32_t past_count, copies, queued, revoked;
    uint32_t epochs[MODEL_STAGES];
};

static uint32_t roll(struct model_run *g, uint32_t sides)
{
    g->random = hash_mix(g->random);
    return hash_to_range(g->random, sides);
}

static void join(struct model_run *g)
{
    struct model *m = g->m;
    if (m->executor_count == MODEL_EXECUTORS) return;
    uint32_t node = roll(g, MODEL_NODES), slots = 1 + roll(g, 3);
    uint32_t prefetch = g->queues ? roll(g, sched_prefetch_limit(slots) + 1) : 0;
    cr_assert(sched_add_executor(g->s, node, slots, prefetch));
    m->executors[m->executor_count].node = node;
    m->executors[m->executor_count].prefetch = prefetch;
    m->executors[m->executor_count++].slots = slots;
}

static void add_stage(struct model_run *g)
{
    struct model *m = g->m;
    uint32_t number = m->stage_count++, parents[MODEL_STAGES], parent_count = 0;
    struct model_stage *st = &m->stages[number];
    st->count = roll(g, 4) == 0 ? roll(g, 3) : roll(g, MODEL_TASKS);
    for (uint32_t i = 0; i < number; i++) {
        if (roll(g, 2) != 0) continue;
        st->parents |= 1u << i;
        parents[parent_count++] = i;
    }
    cr_assert(sched_add_stage(g->s, st->count, parents, parent_count));
    bool there = roll(g, 4) == 0;
    for (uint32_t t = 0; t < st->count; t++) {
        struct model_task *task = &st->tasks[t];
        task->last_failed_node = task->prefer = SCHED_NONE;
        if (!there || roll(g, 3) == 0) continue;
        task->state = MODEL_DONE;
        task->executor = roll(g, m->executor_count);
        task->attempt = roll(g, 5);
        task->attempts = task->attempt + 1;
        sched_add_available_output(g->s, number, t, task->executor, task->attempt);
    }
}

static void begin(struct model_run *g, uint64_t seed)
{
    *g = (struct model_run){.seed = seed, .random = seed};
    g->m = mem_zalloc(sizeof *g->m);
    cr_assert_not_null(g->m);
    g->m->speculate = roll(g, 2) == 0;
    g->faults = roll(g, 4) == 0 ? roll(g, 60) : roll(g, 10);
    g->failing_tasks = roll(g, 4) == 0 ? roll(g, 3) : 0;
    g->only_fetches = roll(g, 5) == 0;
    g->frequent_losses = roll(g, 8) == 0;
    g->queues = roll(g, 3) > 0;
    g->s = sched_create(g->m->speculate);
    cr_assert_not_null(g->s);
    for (uint32_t i = 1 + roll(g, 8); i > 0; i--) join(g);
    for (uint32_t i = 1 + roll(g, MODEL_STAGES); i > 0; i--) add_stage(g);
}

/* ---- What must be the same */

static void compare_stage(struct model_run *g, uint32_t i)
{
    const struct model_stage *st = &g->m->stages[i];
    uint32_t done = 0, executor, attempt;
    for (uint32_t t = 0; t < st->count; t++) {
        const struct model_task *task = &st->tasks[t];
        bool is = sched_output_location(g->s, i, t, &executor, &attempt);
        cr_assert_eq(is, task->state == MODEL_DONE, "seed %llu", (unsigned long long)g->seed);
        cr_assert(!is || (executor == task->executor && attempt == task->attempt));
        bool waits = task->state == MODEL_WAITING && model_needed(g->m, i) && !st->failed;
        cr_assert_eq(sched_task_is_waiting(g->s, i, t), waits, "seed %llu",
                     (unsigned long long)g->seed);
        done += is;
    }
    cr_assert_eq(sched_done_task_count(g->s, i), done);
    cr_assert_eq(sched_stage_is_done(g->s, i), model_complete(g->m, i));
    cr_assert_eq(sched_stage_is_needed(g->s, i), model_needed(g->m, i));
    cr_assert_eq(sched_stage_has_failed(g->s, i), st->failed);
}

static void compare_attempts(struct model_run *g, uint32_t executor)
{
    const struct model *m = g->m;
    struct task_attempt run;
    uint32_t busy = 0, queued = 0;
    for (uint32_t at = 0; sched_each_attempt_on(g->s, executor, &at, &run);) {
        cr_assert_eq(run.executor, executor);
        *(run.queued ? &queued : &busy) += 1;
    }
    cr_assert_eq(busy, model_busy(m, executor), "seed %llu", (unsigned long long)g->seed);
    cr_assert_eq(queued, model_queued(m, executor), "seed %llu", (unsigned long long)g->seed);
    cr_assert(busy <= m->executors[executor].slots && queued <= m->executors[executor].prefetch);
    cr_assert(busy == 0 || !m->executors[executor].lost);
    cr_assert(queued == 0 || busy == m->executors[executor].slots);
    cr_assert_eq(sched_busy_slots_on(g->s, executor), busy);
}

static void compare(struct model_run *g)
{
    const struct model *m = g->m;
    cr_assert_eq(sched_status(g->s), m->status, "seed %llu", (unsigned long long)g->seed);
    cr_assert_eq(sched_lost_executor_count(g->s), m->losses);
    uint32_t alive = 0, running = 0;
    for (uint32_t e = 0; e < m->executor_count; e++) {
        compare_attempts(g, e);
        running += model_busy(m, e);
        cr_assert_eq(sched_is_excluded_for_failures(g->s, e),
                     model_node_is_excluded(m, m->executors[e].node));
        alive += !m->executors[e].lost && !m->executors[e].draining;
    }
    cr_assert_eq(usable_executors(g->s), alive);
    cr_assert_eq(sched_busy_slots(g->s), running);
    /* Which of several failures ends the job depends on their order. */
    if (m->status != SCHED_RUNNING) return;
    for (uint32_t i = 0; i < m->stage_count; i++) compare_stage(g, i);
}

/* ---- Starting tasks */

static void check_copy(struct model_run *g, const struct task_attempt *run)
{
    for (uint32_t i = 0; i < g->m->attempt_count; i++) {
        const struct model_attempt *t = &g->m->attempts[i];
        if (t->superseded || t->run.stage != run->stage || t->run.task != run->task) continue;
        uint64_t slow_ns = model_slow_ns(g->m, t, g->now_ns);
        cr_assert(slow_ns < UINT64_MAX && g->now_ns - t->start_ns >= slow_ns, "seed %llu",
                  (unsigned long long)g->seed);
        cr_assert_eq(run->executor, model_copy_executor(g->m, t));
        cr_assert_eq(run->attempt, g->m->stages[run->stage].tasks[run->task].attempts);
        g->copies++;
        return;
    }
    cr_assert(false, "a copy of no attempt, seed %llu", (unsigned long long)g->seed);
}

/* The scheduler's median is exact to 1/16: no attempt is far over the limit without a copy. */
static void check_none_is_slow(struct model_run *g)
{
    for (uint32_t i = 0; i < g->m->attempt_count; i++) {
        const struct model_attempt *t = &g->m->attempts[i];
        uint64_t slow_ns = model_slow_ns(g->m, t, g->now_ns);
        if (slow_ns == UINT64_MAX || g->now_ns - t->start_ns < slow_ns + slow_ns / 8) continue;
        cr_assert_eq(model_copy_executor(g->m, t), SCHED_NONE, "seed %llu",
                     (unsigned long long)g->seed);
    }
}

/* No task can be started. */
static void revoke_queued(struct model_run *g)
{
    struct task_attempt run;
    bool any = false, found = false;
    for (uint32_t i = 0; i < g->m->attempt_count; i++)
        any = any || model_may_revoke(g->m, &g->m->attempts[i]);
    cr_assert_eq(sched_revoke_queued(g->s, &run), any, "seed %llu", (unsigned long long)g->seed);
    for (uint32_t i = 0; any && i < g->m->attempt_count; i++) {
        struct model_attempt *t = &g->m->attempts[i];
        if (t->run.stage != run.stage || t->run.task != run.task || t->run.attempt != run.attempt)
            continue;
        cr_assert(model_may_revoke(g->m, t), "seed %llu", (unsigned long long)g->seed);
        t->revoked = found = true;
        t->revoke_ns = g->now_ns;
        g->revoked++;
    }
    cr_assert_eq(found, any);
}

static bool start(struct model_run *g)
{
    struct task_attempt run, expected;
    bool found = model_pick(g->m, &expected);
    if (!sched_next_task(g->s, g->now_ns, &run)) {
        cr_assert_not(found, "task %u of stage %u waits, seed %llu", expected.task, expected.stage,
                      (unsigned long long)g->seed);
        check_none_is_slow(g);
        cr_assert_gt(sched_next_wakeup_ns(g->s), g->now_ns);
        revoke_queued(g);
        return false;
    }
    cr_assert_eq(run.speculative, !found, "seed %llu", (unsigned long long)g->seed);
    if (run.speculative)
        check_copy(g, &run);
    else
        cr_assert(run.executor == expected.executor && run.stage == expected.stage &&
                      run.task == expected.task && run.attempt == expected.attempt,
                  "seed %llu: e%u %u.%u.%u, not e%u %u.%u.%u", (unsigned long long)g->seed,
                  run.executor, run.stage, run.task, run.attempt, expected.executor, expected.stage,
                  expected.task, expected.attempt);
    model_begin(g->m, &run, g->now_ns);
    cr_assert_eq(run.queued, g->m->attempts[g->m->attempt_count - 1].queue != 0);
    g->queued += run.queued;
    g->trace = hash_mix(g->trace ^ ((uint64_t)run.executor << 48 | (uint64_t)run.stage << 40 |
                                    (uint64_t)run.task << 16 | run.attempt));
    return true;
}

/* ---- Events */

static void remember(struct model_run *g, struct task_attempt run)
{
    g->past[g->past_count++ % PAST] = run;
}

static void finish_ok(struct model_run *g, uint32_t number)
{
    struct task_attempt run = g->m->attempts[number].run, other_copy, other;
    remember(g, run);
    bool counts = model_done(g->m, number, g->now_ns);
    bool counted = done_at(g->s, run, g->now_ns);
    if (g->m->status != SCHED_RUNNING) return;
    cr_assert_eq(counted, counts, "seed %llu", (unsigned long long)g->seed);
    if (!counted || !sched_superseded_copy(g->s, run.stage, run.task, &other_copy)) return;
    bool runs = false;
    for (uint32_t i = 0; i < g->m->attempt_count; i++) {
        other = g->m->attempts[i].run;
        runs = runs || (other.executor == other_copy.executor && other.stage == run.stage &&
                        other.task == run.task && other.attempt == other_copy.attempt);
    }
    cr_assert(runs && other_copy.attempt != run.attempt);
}

static void finish_revoked(struct model_run *g, uint32_t number)
{
    struct task_attempt run = g->m->attempts[number].run;
    remember(g, run);
    bool counts = model_failed(g->m, number, SCHED_KILLED, g->now_ns);
    cr_assert_eq(failed_at(g->s, run, SCHED_KILLED, g->now_ns), counts);
}

static void finish_failed(struct model_run *g, uint32_t number)
{
    static const enum sched_failure_kind whys[] = {SCHED_TASK_ERROR, SCHED_TASK_ERROR,
                                                   SCHED_FETCH_ERROR, SCHED_KILLED};
    struct task_attempt run = g->m->attempts[number].run;
    enum sched_failure_kind why = roll(g, 1000) == 0 ? SCHED_FATAL_ERROR : whys[roll(g, 4)];
    if (g->only_fetches) why = SCHED_FETCH_ERROR;
    remember(g, run);
    bool counts = model_failed(g->m, number, why, g->now_ns);
    cr_assert_eq(failed_at(g->s, run, why, g->now_ns), counts, "seed %llu",
                 (unsigned long long)g->seed);
}

static void lose_output(struct model_run *g)
{
    uint32_t stage = roll(g, g->m->stage_count);
    const struct model_stage *st = &g->m->stages[stage];
    if (st->count == 0) return;
    uint32_t task = roll(g, st->count), executor = st->tasks[task].executor;
    /* Or a report about an older attempt. */
    uint32_t attempt = st->tasks[task].attempt + (roll(g, 4) == 0);
    model_output_lost(g->m, stage, task, executor, attempt);
    sched_on_map_output_lost(g->s, stage, task, executor, attempt);
}

static void stale_message(struct model_run *g)
{
    if (g->past_count == 0) return;
    uint32_t known = g->past_count < PAST ? g->past_count : PAST;
    struct task_attempt run = g->past[roll(g, known)];
    cr_assert_not(roll(g, 2) == 0 ? done_at(g->s, run, g->now_ns)
                                  : failed(g->s, run, (enum sched_failure_kind)roll(g, 4)));
}

static void lose(struct model_run *g, uint32_t executor)
{
    for (uint32_t i = 0; i < g->m->attempt_count; i++)
        if (g->m->attempts[i].run.executor == executor) remember(g, g->m->attempts[i].run);
    bool exit_caused_by_task = roll(g, 3) == 0, counts = roll(g, 3) > 0;
    model_lost(g->m, executor, exit_caused_by_task, counts);
    sched_on_executor_lost(g->s, executor, exit_caused_by_task, counts);
}

static void prefer(struct model_run *g)
{
    uint32_t stage = roll(g, g->m->stage_count);
    struct model_stage *st = &g->m->stages[stage];
    uint32_t executor = roll(g, g->m->executor_count);
    for (uint32_t t = 0; t < st->count; t++) {
        if (roll(g, 2) == 0) executor = roll(g, g->m->executor_count);
        sched_set_preferred_executor(g->s, stage, t, executor);
        if (st->tasks[t].state != MODEL_WAITING) continue;
        st->tasks[t].prefer = g->m->executors[executor].lost ? SCHED_NONE : executor;
        st->tasks[t].prefer_order = ++g->m->prefers;
    }
}

static void event(struct model_run *g)
{
    struct model *m = g->m;
    g->now_ns += roll(g, 60) * MS;
    uint32_t dice = roll(g, 100), executor = roll(g, m->executor_count);
    if (g->frequent_losses && dice < 10) {
        lose(g, executor);
        join(g);
    } else if (dice < 80 && m->attempt_count > 0) {
        uint32_t number = roll(g, m->attempt_count);
        bool fails = m->attempts[number].run.task < g->failing_tasks && roll(g, 4) > 0;
        if (m->attempts[number].revoked && roll(g, 4) > 0)
            finish_revoked(g, number);
        else if (m->attempts[number].queue != 0 && roll(g, 8) > 0)
            stale_message(g); /* or its outcome overtakes that of the attempt before it */
        else if (fails || roll(g, 100) < g->faults)
            finish_failed(g, number);
        else
            finish_ok(g, number);
    } else if (dice == 90)
        prefer(g);
    else if (dice == 91)
        join(g);
    else if (dice == 92 && roll(g, 4) == 0)
        lose(g, executor);
    else if (dice == 93 && roll(g, 3) == 0) {
        sched_on_executor_draining(g->s, executor);
        m->executors[executor].draining = !m->executors[executor].lost;
    } else if (dice > 95)
        lose_output(g);
    else
        stale_message(g);
    compare(g);
}

static void finish_one(struct model_run *g)
{
    uint32_t number = roll(g, g->m->attempt_count);
    while (g->m->attempts[number].queue != 0 && !g->m->attempts[number].revoked)
        number = (number + 1) % g->m->attempt_count;
    if (g->m->attempts[number].revoked)
        finish_revoked(g, number);
    else
        finish_ok(g, number);
}

/* No more faults: running tasks succeed and executors are left, so the job ends. */
static void end(struct model_run *g)
{
    struct model *m = g->m;
    uint32_t last = m->stage_count - 1;
    while (m->status == SCHED_RUNNING && !model_complete(m, last)) {
        if (usable_executors(g->s) == 0) join(g);
        while (start(g)) continue;
        cr_assert(m->attempt_count > 0, "no task runs and none can start, seed %llu",
                  (unsigned long long)g->seed);
        g->now_ns += 10 * MS;
        finish_one(g);
        compare(g);
    }
    sched_stop(g->s);
    m->stopped = true;
    cr_assert_not(start(g));
    while (m->attempt_count > 0) finish_one(g);
    cr_assert_eq(sched_busy_slots(g->s), 0);
    cr_assert_not(start(g));
    sched_destroy(g->s);
    mem_free(m);
}

struct reached {
    uint32_t copies, queued, revoked, statuses[4];
};

static uint64_t run_seed(uint64_t seed, struct reached *reached)
{
    struct model_run g;
    begin(&g, seed);
    compare(&g);
    uint32_t last = g.m->stage_count - 1;
    for (uint32_t i = 0; i < EVENTS && g.m->status == SCHED_RUNNING; i++) {
        for (uint32_t n = roll(&g, 12); n > 0 && start(&g); n--) continue;
        event(&g);
        if (model_complete(g.m, last)) break;
    }
    reached->statuses[g.m->status]++;
    end(&g);
    reached->copies += g.copies;
    reached->queued += g.queued;
    reached->revoked += g.revoked;
    return g.trace;
}

Test(sched_model, random_events_match_the_model)
{
    int64_t live = mem_live_blocks();
    struct reached reached = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) run_seed(hash_mix(seed), &reached);
    cr_expect_eq(mem_live_blocks(), live);
    cr_expect_gt(reached.copies, SEEDS / 20); /* the random runs cover the cases they are about */
    cr_expect_gt(reached.queued, SEEDS);
    cr_expect_gt(reached.revoked, SEEDS / 10);
    cr_expect_gt(reached.statuses[SCHED_RUNNING], SEEDS / 4);
    cr_expect_gt(reached.statuses[SCHED_TASK_FAILED], SEEDS / 20);
    cr_expect_gt(reached.statuses[SCHED_STAGE_FAILED], SEEDS / 200);
    cr_expect_gt(reached.statuses[SCHED_TOO_MANY_LOSSES], 0);
}

Test(sched_model, same_seed_gives_the_same_trace)
{
    struct reached reached = {0};
    for (uint64_t seed = 0; seed < 100; seed++)
        cr_assert_eq(run_seed(seed, &reached), run_seed(seed, &reached));
}
