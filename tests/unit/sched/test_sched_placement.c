/* Placement: evenly, near the input, on another node after a failure. */
#include "tests/unit/sched/sched_helpers.h"

#include <string.h>

Test(sched_placement, executor_with_most_free_slots_is_next)
{
    struct sched *s = sched_create(false);
    static const uint32_t slots[] = {1, 3, 2}, order[] = {1, 1, 2, 0, 1, 2};
    for (uint32_t i = 0; i < 3; i++) cr_assert(sched_add_executor(s, i, slots[i], 0));
    add_chained(s, 0, 10);
    for (uint32_t i = 0; i < 6; i++) expect_next(s, order[i], 0, i, 0);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched_placement, tasks_of_a_stage_spread_evenly)
{
    struct sched *s = cluster_of(100, 8);
    add_chained(s, 0, 300);
    struct task_attempt run;
    while (sched_next_task(s, 0, &run)) continue;
    for (uint32_t e = 0; e < 100; e++) cr_expect_eq(sched_busy_slots_on(s, e), 3);
    sched_destroy(s);
}

Test(sched_placement, same_events_give_the_same_decisions)
{
    struct sched *a = cluster_of(37, 3), *b = cluster_of(37, 3);
    add_chained(a, 0, 200);
    add_chained(b, 0, 200);
    for (uint32_t t = 0; t < 200; t++) {
        sched_set_preferred_executor(a, 0, t, t * 7 % 37);
        sched_set_preferred_executor(b, 0, t, t * 7 % 37);
    }
    struct task_attempt x, y;
    while (sched_next_task(a, 0, &x)) {
        cr_assert(sched_next_task(b, 0, &y));
        cr_assert_eq(memcmp(&x, &y, offsetof(struct task_attempt, speculative)), 0);
        if (x.task % 3 == 0)
            cr_assert(failed(a, x, SCHED_TASK_ERROR) && failed(b, y, SCHED_TASK_ERROR));
        if (x.task % 3 == 1) cr_assert(done(a, x) && done(b, y));
        if (sched_status(a) != SCHED_RUNNING) break;
    }
    sched_destroy(a);
    sched_destroy(b);
}

/* ---- Locality */

Test(sched_placement, task_runs_where_its_input_is)
{
    struct sched *s = cluster_of(4, 2);
    add_chained(s, 0, 4);
    for (uint32_t t = 0; t < 4; t++) sched_set_preferred_executor(s, 0, t, 3 - t);
    bool seen[4] = {false};
    for (uint32_t i = 0; i < 4; i++) {
        struct task_attempt run = next_of(s);
        cr_expect_eq(run.executor, 3 - run.task);
        seen[run.task] = true;
    }
    cr_expect(seen[0] && seen[1] && seen[2] && seen[3]);
    sched_destroy(s);
}

Test(sched_placement, local_tasks_start_before_others)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 10);
    sched_set_preferred_executor(s, 0, 7, 0);
    sched_set_preferred_executor(s, 0, 4, 0);
    expect_next(s, 0, 0, 7, 0); /* in the order of the calls */
    cr_expect(sched_on_task_done(s, 0, 0, 7, 0, 0));
    expect_next(s, 0, 0, 4, 0);
    cr_expect(sched_on_task_done(s, 0, 0, 4, 0, 0));
    expect_next(s, 0, 0, 0, 0);
    sched_destroy(s);
}

Test(sched_placement, task_does_not_wait_for_a_busy_local_slot)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 3);
    for (uint32_t t = 0; t < 3; t++) sched_set_preferred_executor(s, 0, t, 0);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 1, 0, 1, 0); /* a remote slot is better than an idle one */
    expect_nothing(s);
    cr_expect(sched_on_task_done(s, 1, 0, 1, 0, 0));
    expect_next(s, 1, 0, 2, 0);
    sched_destroy(s);
}

/* An executor of as many slots as there may be, all of them busy, may still be the preferred one.
 */
Test(sched_placement, queues_where_the_input_is)
{
    const uint32_t tasks = 4 * SLOTS_MAX + 1;
    struct sched *s = sched_create(false);
    struct task_attempt run;
    for (uint32_t i = 0; i < 2; i++) cr_assert(sched_add_executor(s, i, SLOTS_MAX, SLOTS_MAX));
    add_chained(s, 0, tasks);
    for (uint32_t i = 0; i < 2 * SLOTS_MAX; i++) cr_assert(sched_next_task(s, 0, &run));
    for (uint32_t t = 0; t < tasks; t++)
        if (sched_task_is_waiting(s, 0, t)) sched_set_preferred_executor(s, 0, t, 1);
    run = next_of(s);
    cr_expect_eq(run.executor, 1);
    cr_expect(run.queued);
    sched_destroy(s);
}

Test(sched_placement, lost_or_draining_preference_is_ignored)
{
    struct sched *s = cluster_of(3, 4);
    add_chained(s, 0, 3);
    sched_set_preferred_executor(s, 0, 0, 0);
    sched_set_preferred_executor(s, 0, 1, 1);
    sched_set_preferred_executor(s, 0, 2, 0);
    sched_on_executor_lost(s, 0, false, true);
    sched_on_executor_draining(s, 1);
    for (uint32_t t = 0; t < 3; t++) expect_next(s, 2, 0, t, 0);
    sched_destroy(s);
}

Test(sched_placement, preference_can_change_and_lasts_one_attempt)
{
    struct sched *s = cluster_of(3, 1);
    add_chained(s, 0, 1);
    sched_set_preferred_executor(s, 0, 0, 1);
    sched_set_preferred_executor(s, 0, 0, 2);
    expect_next(s, 2, 0, 0, 0);
    sched_set_preferred_executor(s, 0, 0, 1); /* ignored: it runs */
    cr_expect(sched_on_task_failed(s, 2, 0, 0, 0, SCHED_KILLED, 0));
    expect_next(s, 0, 0, 0, 1);
    cr_expect(sched_on_task_failed(s, 0, 0, 0, 1, SCHED_KILLED, 0));
    sched_set_preferred_executor(s, 0, 0, 2);
    sched_set_preferred_executor(s, 0, 0, SCHED_NONE);
    expect_next(s, 1, 0, 0, 2);
    sched_destroy(s);
}

Test(sched_placement, older_stage_comes_before_a_preference)
{
    struct sched *s = cluster_of(2, 1);
    uint32_t both[] = {0, 1};
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, both, 2));
    sched_set_preferred_executor(s, 1, 0, 0);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 1, 1, 0, 0);
    sched_destroy(s);
}

/* ---- Another node */

Test(sched_retry, next_attempt_runs_on_another_node)
{
    struct sched *s = cluster_of(4, 2);
    add_chained(s, 0, 1);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < TASK_ATTEMPTS_MAX; i++) {
        struct task_attempt run = next_of(s);
        cr_expect_eq(seen & 1u << run.executor, 0, "node %u was used again", run.executor);
        seen |= 1u << run.executor;
        cr_expect(failed(s, run, SCHED_TASK_ERROR));
    }
    cr_expect_eq(sched_status(s), SCHED_TASK_FAILED);
    sched_destroy(s);
}

Test(sched_retry, other_executor_of_failed_node_is_avoided)
{
    struct sched *s = sched_create(false);
    cr_assert(sched_add_executor(s, 3, 4, 0));
    cr_assert(sched_add_executor(s, 3, 4, 0));
    cr_assert(sched_add_executor(s, 8, 1, 0));
    add_chained(s, 0, 1);
    expect_next(s, 0, 0, 0, 0);
    cr_expect(sched_on_task_failed(s, 0, 0, 0, 0, SCHED_TASK_ERROR, 0));
    expect_next(s, 2, 0, 0, 1);
    sched_destroy(s);
}

Test(sched_retry, failed_task_waits_for_a_busy_other_node)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 3);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 1, 0, 1, 0);
    cr_expect(sched_on_task_failed(s, 0, 0, 0, 0, SCHED_TASK_ERROR, 0));
    expect_next(s, 0, 0, 2, 0); /* tasks after it do not wait */
    cr_expect(sched_on_task_done(s, 0, 0, 2, 0, 0));
    expect_nothing(s);
    cr_expect(sched_on_task_done(s, 1, 0, 1, 0, 0));
    expect_next(s, 1, 0, 0, 1);
    sched_destroy(s);
}

Test(sched_retry, failed_node_is_used_if_it_is_the_last)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 2);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 1, 0, 1, 0);
    cr_expect(sched_on_task_failed(s, 0, 0, 0, 0, SCHED_TASK_ERROR, 0));
    expect_nothing(s);
    sched_on_executor_draining(s, 1); /* it accepts no more tasks */
    expect_next(s, 0, 0, 0, 1);
    sched_destroy(s);
}

Test(sched_retry, attempts_alternate_between_two_nodes)
{
    struct sched *s = cluster_of(2, 4);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i < TASK_ATTEMPTS_MAX; i++) {
        expect_next(s, i % 2, 0, 0, i);
        cr_expect(sched_on_task_failed(s, i % 2, 0, 0, i, SCHED_TASK_ERROR, 0));
    }
    sched_destroy(s);
}

Test(sched_retry, node_of_failed_fetch_or_kill_is_second_choice)
{
    static const enum sched_failure_kind whys[] = {SCHED_FETCH_ERROR, SCHED_KILLED};
    for (uint32_t i = 0; i < 2; i++) {
        struct sched *s = cluster_of(2, 2);
        add_chained(s, 0, 4);
        for (uint32_t t = 0; t < 4; t++) expect_next(s, t % 2, 0, t, 0);
        cr_expect(sched_on_task_failed(s, 0, 0, 0, 0, whys[i], 0));
        expect_next(s, 0, 0, 0, 1); /* the other one is full */
        cr_expect(sched_on_task_done(s, 1, 0, 1, 0, 0));
        cr_expect(sched_on_task_failed(s, 0, 0, 0, 1, whys[i], 0));
        expect_next(s, 1, 0, 0, 2);
        sched_destroy(s);
    }
}

Test(sched_retry, preference_does_not_return_to_failed_node)
{
    struct sched *s = cluster_of(3, 2);
    add_chained(s, 0, 1);
    sched_set_preferred_executor(s, 0, 0, 1);
    expect_next(s, 1, 0, 0, 0);
    cr_expect(sched_on_task_failed(s, 1, 0, 0, 0, SCHED_TASK_ERROR, 0));
    sched_set_preferred_executor(s, 0, 0, 1);
    expect_next(s, 0, 0, 0, 1);
    sched_destroy(s);
}

Test(sched_retry, waiting_retries_do_not_block_other_tasks)
{
    struct sched *s = cluster_of(2, 30);
    add_chained(s, 0, 100);
    struct task_attempt runs[60];
    for (uint32_t i = 0; i < 60; i++) runs[i] = next_of(s);
    for (uint32_t i = 0; i < 60; i++) {
        if (runs[i].executor != 0) continue;
        cr_expect(failed(s, runs[i], SCHED_TASK_ERROR));
        expect_next(s, 0, 0, 60 + i / 2, 0);
        cr_expect(sched_on_task_done(s, 0, 0, 60 + i / 2, 0, 0));
    }
    for (uint32_t i = 0; i < 60; i++) {
        if (runs[i].executor != 1) continue;
        cr_expect(done(s, runs[i]));
        expect_next(s, 1, 0, i - 1, 1);
        struct task_attempt run = {.executor = 1, .task = i - 1, .attempt = 1};
        cr_expect(done(s, run));
    }
    sched_destroy(s);
}

/* ---- Excluded nodes */

static struct task_attempt next_on(struct sched *s, uint32_t executor)
{
    struct task_attempt run;
    do {
        run = next_of(s);
    } while (run.executor != executor);
    return run;
}

/* Failures of different tasks. */
static void fail_in_a_row_on_0(struct sched *s, uint32_t times)
{
    struct task_attempt runs[2 * SCHED_NODE_FAILURES_MAX];
    cr_assert(times <= 2 * SCHED_NODE_FAILURES_MAX);
    for (uint32_t i = 0; i < times; i++) runs[i] = next_on(s, 0);
    for (uint32_t i = 0; i < times; i++) cr_expect(failed(s, runs[i], SCHED_TASK_ERROR));
}

Test(sched_node_exclusion, repeatedly_failing_node_is_excluded)
{
    struct sched *s = cluster_of(2, 40);
    add_chained(s, 0, 60);
    fail_in_a_row_on_0(s, SCHED_NODE_FAILURES_MAX - 1);
    cr_expect_not(sched_is_excluded_for_failures(s, 0));
    fail_in_a_row_on_0(s, 1);
    cr_expect(sched_is_excluded_for_failures(s, 0));
    cr_expect_not(sched_is_excluded_for_failures(s, 1));
    struct task_attempt run;
    while (sched_next_task(s, 0, &run)) {
        cr_expect_eq(run.executor, 1);
        cr_assert(done(s, run));
    }
    cr_expect_eq(usable_executors(s), 2);
    sched_destroy(s);
}

Test(sched_node_exclusion, only_node_is_not_excluded)
{
    struct sched *s = cluster_of(1, 10);
    add_chained(s, 0, 10);
    fail_in_a_row_on_0(s, SCHED_NODE_FAILURES_MAX);
    cr_expect_not(sched_is_excluded_for_failures(s, 0));
    finish(s);
    cr_expect(sched_stage_is_done(s, 0));
    sched_destroy(s);
}

Test(sched_node_exclusion, node_returns_when_no_other_is_left)
{
    struct sched *s = cluster_of(2, 20);
    add_chained(s, 0, 20);
    fail_in_a_row_on_0(s, SCHED_NODE_FAILURES_MAX);
    cr_expect(sched_is_excluded_for_failures(s, 0));
    sched_on_executor_lost(s, 1, false, true);
    cr_expect_not(sched_is_excluded_for_failures(s, 0));
    expect_next(s, 0, 0, 0, 1);
    cr_assert(sched_add_executor(s, 1, 1, 0));
    cr_expect(sched_is_excluded_for_failures(s, 0));
    sched_destroy(s);
}

Test(sched_node_exclusion, no_node_is_excluded_if_all_fail)
{
    struct sched *s = cluster_of(2, 8);
    add_chained(s, 0, 16);
    struct task_attempt runs[16];
    for (uint32_t i = 0; i < 16; i++) runs[i] = next_of(s);
    for (uint32_t i = 0; i < 16 && !sched_is_excluded_for_failures(s, 0); i++)
        if (runs[i].executor == 0) cr_expect(failed(s, runs[i], SCHED_TASK_ERROR));
    cr_expect_not(sched_is_excluded_for_failures(s, 1));
    for (uint32_t i = 0, n = 0; i < 16 && n < SCHED_NODE_FAILURES_MAX; i++)
        if (runs[i].executor == 1) n += failed(s, runs[i], SCHED_TASK_ERROR);
    cr_expect_not(sched_is_excluded_for_failures(s, 0));
    cr_expect_not(sched_is_excluded_for_failures(s, 1));
    struct task_attempt run;
    cr_expect(sched_next_task(s, 0, &run));
    sched_destroy(s);
}

Test(sched_node_exclusion, success_resets_the_failure_count)
{
    struct sched *s = cluster_of(2, 40);
    add_chained(s, 0, 70);
    struct task_attempt kept = next_on(s, 0);
    fail_in_a_row_on_0(s, SCHED_NODE_FAILURES_MAX - 1);
    cr_expect(done(s, kept));
    kept = next_on(s, 0);
    fail_in_a_row_on_0(s, SCHED_NODE_FAILURES_MAX - 1);
    cr_expect_not(sched_is_excluded_for_failures(s, 0));
    fail_in_a_row_on_0(s, 1);
    cr_expect(sched_is_excluded_for_failures(s, 0));
    cr_expect(done(s, kept)); /* it kept running there */
    cr_expect_not(sched_is_excluded_for_failures(s, 0));
    sched_destroy(s);
}

Test(sched_node_exclusion, only_task_errors_count)
{
    struct sched *s = cluster_of(2, 30);
    add_chained(s, 0, 50);
    struct task_attempt runs[50];
    for (uint32_t i = 0; i < 50; i++) runs[i] = next_of(s);
    for (uint32_t i = 0; i < 50; i++)
        if (runs[i].executor == 0)
            cr_expect(failed(s, runs[i], i < 25 ? SCHED_KILLED : SCHED_FETCH_ERROR));
    cr_expect_not(sched_is_excluded_for_failures(s, 0));
    sched_destroy(s);
}

Test(sched_node_exclusion, crash_counts_once_per_executor)
{
    struct sched *s = cluster_of(1, 8);
    cr_assert(sched_add_executor(s, 1, 1, 0));
    add_chained(s, 0, 200);
    for (uint32_t i = 0; i < SCHED_NODE_FAILURES_MAX; i++) {
        uint32_t e = i == 0 ? 0 : i + 1;
        cr_expect_not(sched_is_excluded_for_failures(s, e));
        struct task_attempt run;
        while (sched_next_task(s, 0, &run)) continue;
        cr_expect_gt(sched_busy_slots_on(s, e), 1);
        sched_on_executor_lost(s, e, true, true);
        cr_assert(sched_add_executor(s, 0, 8, 0));
    }
    cr_expect(sched_is_excluded_for_failures(s, SCHED_NODE_FAILURES_MAX + 1),
              "also for executors that join the node later");
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    sched_destroy(s);
}

Test(sched_node_exclusion, idle_crash_is_not_counted)
{
    struct sched *s = cluster_of(SCHED_NODE_FAILURES_MAX + 2, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i < SCHED_NODE_FAILURES_MAX; i++) {
        cr_assert(sched_add_executor(s, 0, 1, 0));
        sched_on_executor_lost(s, SCHED_NODE_FAILURES_MAX + 2 + i, true, true);
    }
    cr_expect_not(sched_is_excluded_for_failures(s, 0));
    expect_next(s, 0, 0, 0, 0);
    sched_destroy(s);
}

/* ---- Excluded */

Test(sched_placement, excluded_executor_gets_no_tasks)
{
    struct sched *s = cluster_of(3, 2);
    add_chained(s, 0, 10);
    sched_set_executor_excluded(s, 1, true);
    for (uint32_t i = 0; i < 4; i++) cr_expect_neq(next_of(s).executor, 1);
    expect_nothing(s);
    sched_set_executor_excluded(s, 1, false);
    cr_expect_eq(next_of(s).executor, 1);
    sched_destroy(s);
}

Test(sched_placement, excluded_executor_is_used_if_it_is_the_last)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 10);
    sched_set_executor_excluded(s, 1, true);
    sched_on_executor_lost(s, 0, false, true);
    cr_expect_eq(next_of(s).executor, 1);
    sched_destroy(s);
}

/* Also if the other executor is then excluded for failures. */
Test(sched_placement, excluded_executor_runs_if_the_other_fails)
{
    struct sched *s = cluster_of(2, SCHED_NODE_FAILURES_MAX);
    struct task_attempt runs[SCHED_NODE_FAILURES_MAX];
    add_chained(s, 0, 10);
    sched_set_executor_excluded(s, 1, true);
    for (uint32_t i = 0; i < SCHED_NODE_FAILURES_MAX; i++) runs[i] = next_of(s);
    expect_nothing(s);
    for (uint32_t i = 0; i < SCHED_NODE_FAILURES_MAX; i++)
        cr_expect(failed(s, runs[i], SCHED_TASK_ERROR));
    cr_expect_eq(next_of(s).executor, 1); /* both accept tasks now */
    sched_destroy(s);
}

Test(sched_placement, restarted_executor_is_not_excluded)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 10);
    sched_set_executor_excluded(s, 1, true);
    next_of(s);
    sched_on_executor_lost(s, 1, false, true);
    cr_assert(sched_add_executor(s, 1, 1, 0));
    cr_expect_eq(next_of(s).executor, 2);
    sched_destroy(s);
}
