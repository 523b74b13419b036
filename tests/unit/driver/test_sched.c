/* The scheduler, event by event: it is a pure function, so a test is a list of events and commands.
 */
#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/driver/sched.h"
#include "engine/limits.h"

#include <criterion/criterion.h>
#include <string.h>

static struct sched *with_executors(const uint32_t *slots, uint32_t count)
{
    struct sched *s = sched_create();
    cr_assert_not_null(s);
    for (uint32_t i = 0; i < count; i++) cr_assert(sched_add_executor(s, slots[i]));
    return s;
}

static struct sched *with_slots(uint32_t slots)
{
    return with_executors(&slots, 1);
}

static void expect_next(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                        uint32_t attempt)
{
    struct sched_run run;
    cr_assert(sched_next(s, &run));
    cr_expect_eq(run.executor, executor);
    cr_expect_eq(run.stage, stage);
    cr_expect_eq(run.task, task);
    cr_expect_eq(run.attempt, attempt);
}

static void expect_nothing(struct sched *s)
{
    struct sched_run run;
    cr_expect_not(sched_next(s, &run));
}

Test(sched, tasks_go_in_order_to_free_slots)
{
    struct sched *s = with_slots(2);
    cr_assert(sched_add_stage(s, 3, NULL, 0));
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 0, 1, 0);
    expect_nothing(s);
    cr_expect_eq(sched_running(s), 2);
    cr_expect(sched_on_done(s, 0, 0, 1, 0));
    expect_next(s, 0, 0, 2, 0);
    cr_expect(sched_on_done(s, 0, 0, 0, 0));
    cr_expect_not(sched_stage_done(s, 0));
    cr_expect(sched_on_done(s, 0, 0, 2, 0));
    cr_expect(sched_stage_done(s, 0));
    cr_expect_eq(sched_tasks_done(s, 0), 3);
    cr_expect_eq(sched_running(s), 0);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, a_stage_waits_for_its_parents)
{
    struct sched *s = with_slots(8);
    uint32_t parents[] = {0, 1};
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, parents, 2));
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 1, 0, 0);
    expect_nothing(s);
    cr_expect(sched_on_done(s, 0, 1, 0, 0));
    expect_nothing(s);
    cr_expect(sched_on_done(s, 0, 0, 0, 0));
    expect_next(s, 0, 2, 0, 0);
    sched_destroy(s);
}

Test(sched, a_stage_without_tasks_is_done)
{
    struct sched *s = with_slots(1);
    uint32_t parent = 0;
    cr_assert(sched_add_stage(s, 0, NULL, 0));
    cr_assert(sched_add_stage(s, 1, &parent, 1));
    cr_expect(sched_stage_done(s, 0));
    expect_next(s, 0, 1, 0, 0);
    sched_destroy(s);
}

Test(sched, a_task_has_four_attempts)
{
    struct sched *s = with_slots(1);
    cr_assert(sched_add_stage(s, 2, NULL, 0));
    for (uint32_t attempt = 0; attempt < TASK_ATTEMPTS_MAX; attempt++) {
        expect_next(s, 0, 0, 0, attempt);
        cr_expect_not(sched_stage_failed(s, 0));
        cr_expect(sched_on_failed(s, 0, 0, 0, attempt, true));
    }
    cr_expect(sched_stage_failed(s, 0));
    cr_expect_not(sched_stage_done(s, 0));
    cr_expect_eq(sched_retries(s), TASK_ATTEMPTS_MAX - 1);
    expect_nothing(s); /* a failed stage starts nothing more */
    sched_destroy(s);
}

Test(sched, the_attempt_that_counts_is_known)
{
    struct sched *s = with_slots(1);
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    expect_next(s, 0, 0, 0, 0);
    cr_expect(sched_on_failed(s, 0, 0, 0, 0, true));
    expect_next(s, 0, 0, 0, 1);
    cr_expect(sched_on_done(s, 0, 0, 0, 1));
    cr_expect_eq(sched_attempt(s, 0, 0), 1);
    sched_destroy(s);
}

Test(sched, some_errors_are_final)
{
    struct sched *s = with_slots(1);
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    expect_next(s, 0, 0, 0, 0);
    cr_expect(sched_on_failed(s, 0, 0, 0, 0, false));
    cr_expect(sched_stage_failed(s, 0));
    cr_expect_eq(sched_retries(s), 0);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, late_and_made_up_events_are_ignored)
{
    uint32_t slots[] = {1, 1};
    struct sched *s = with_executors(slots, 2);
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_expect_not(sched_on_done(s, 0, 0, 0, 0)); /* not started */
    expect_next(s, 0, 0, 0, 0);
    cr_expect_not(sched_on_done(s, 1, 0, 0, 0)); /* another executor */
    cr_expect_not(sched_on_done(s, 9, 0, 0, 0));
    cr_expect_not(sched_on_done(s, 0, 1, 0, 0)); /* no such stage, task */
    cr_expect_not(sched_on_done(s, 0, 0, 1, 0));
    cr_expect_not(sched_on_done(s, 0, 0, 0, 1)); /* another attempt */
    cr_expect(sched_on_failed(s, 0, 0, 0, 0, true));
    cr_expect_not(sched_on_done(s, 0, 0, 0, 0)); /* late */
    cr_expect_not(sched_on_failed(s, 0, 0, 0, 0, true));
    cr_expect_eq(sched_running(s), 0);
    expect_next(s, 0, 0, 0, 1);
    cr_expect(sched_on_done(s, 0, 0, 0, 1));
    cr_expect_not(sched_on_done(s, 0, 0, 0, 1)); /* twice */
    cr_expect_not(sched_on_failed(s, 0, 0, 0, 1, false));
    cr_expect(sched_stage_done(s, 0) && !sched_stage_failed(s, 0));
    sched_destroy(s);
}

Test(sched, the_executor_with_most_free_slots_is_next)
{
    uint32_t slots[] = {1, 3, 2};
    struct sched *s = with_executors(slots, 3);
    cr_assert(sched_add_stage(s, 10, NULL, 0));
    static const uint32_t order[] = {1, 1, 2, 0, 1, 2};
    for (uint32_t i = 0; i < 6; i++) expect_next(s, order[i], 0, i, 0);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, stopping_starts_nothing_more)
{
    struct sched *s = with_slots(2);
    cr_assert(sched_add_stage(s, 4, NULL, 0));
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 0, 1, 0);
    sched_stop(s);
    cr_expect(sched_on_failed(s, 0, 0, 0, 0, true));
    expect_nothing(s);
    cr_expect(sched_on_done(s, 0, 0, 1, 0));
    cr_expect_eq(sched_running(s), 0);
    expect_nothing(s);
    sched_destroy(s);
}

/* Made-up clusters and faults: every task ends once, no slot is used twice, and one seed plays the
 * same game again. */
static uint64_t play(uint64_t seed, uint32_t tasks)
{
    uint64_t random = seed, trace = 0;
    uint32_t slots[7], busy[7] = {0}, executors = 1 + (uint32_t)(seed % 7), running = 0;
    for (uint32_t i = 0; i < executors; i++)
        slots[i] = 1 + (uint32_t)(random = hash_mix(random)) % 5;
    struct sched *s = with_executors(slots, executors);
    uint32_t parents[] = {0, 1};
    cr_assert(sched_add_stage(s, tasks, NULL, 0));
    cr_assert(sched_add_stage(s, tasks / 2, NULL, 0));
    cr_assert(sched_add_stage(s, tasks, parents, 2));
    struct sched_run runs[64], run;
    bool failed = false;
    while (!sched_stage_done(s, 2) && !(failed && running == 0)) {
        while (sched_next(s, &run)) {
            trace = hash_mix(trace ^ ((uint64_t)run.executor << 48 | (uint64_t)run.stage << 40 |
                                      (uint64_t)run.task << 8 | run.attempt));
            cr_assert(run.attempt < TASK_ATTEMPTS_MAX &&
                      ++busy[run.executor] <= slots[run.executor]);
            cr_assert(run.stage < 2 || (sched_stage_done(s, 0) && sched_stage_done(s, 1)));
            runs[running++] = run;
        }
        cr_assert(running > 0 && running == sched_running(s));
        uint32_t pick = (uint32_t)((random = hash_mix(random)) % running);
        run = runs[pick];
        runs[pick] = runs[--running];
        busy[run.executor]--;
        bool ok = (random = hash_mix(random)) % 10 > 0;
        cr_assert(ok ? sched_on_done(s, run.executor, run.stage, run.task, run.attempt)
                     : sched_on_failed(s, run.executor, run.stage, run.task, run.attempt, true));
        failed = sched_stage_failed(s, 0) || sched_stage_failed(s, 1) || sched_stage_failed(s, 2);
    }
    cr_expect(failed || sched_running(s) == 0);
    sched_destroy(s);
    return trace;
}

Test(sched, one_seed_plays_the_same_game_again)
{
    for (uint64_t seed = 0; seed < 200; seed++)
        cr_assert_eq(play(seed, 1 + (uint32_t)(seed % 90)), play(seed, 1 + (uint32_t)(seed % 90)));
}

Test(sched, many_tasks)
{
    cr_expect_neq(play(5, PARTITIONS_MAX), 0);
}

Test(sched, no_memory)
{
    int64_t live = mem_live();
    for (int64_t n = 1; n < 12; n++) {
        uint32_t parent = 0;
        mem_fail_at(n, false);
        struct sched *s = sched_create();
        bool ok = s != NULL && sched_add_executor(s, 2) && sched_add_stage(s, 3, NULL, 0) &&
                  sched_add_stage(s, 3, &parent, 1);
        mem_fail_at(0, false);
        cr_expect_eq(ok, n > 8, "%lld", (long long)n);
        sched_destroy(s);
        cr_expect_eq(mem_live(), live);
    }
}
