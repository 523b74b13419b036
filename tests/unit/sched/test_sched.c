/* The scheduler without losses: order, slots, attempts, stale events. */
#include "engine/base/mem.h"
#include "tests/unit/sched/sched_helpers.h"

Test(sched, tasks_start_in_order_on_free_slots)
{
    struct sched *s = cluster_of(1, 2);
    add_chained(s, 0, 3);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 0, 1, 0);
    expect_nothing(s);
    cr_expect_eq(sched_busy_slots(s), 2);
    cr_expect_eq(sched_busy_slots_on(s, 0), 2);
    cr_expect(sched_on_task_done(s, 0, 0, 1, 0, 0));
    expect_next(s, 0, 0, 2, 0);
    cr_expect(sched_on_task_done(s, 0, 0, 0, 0, 0));
    cr_expect_not(sched_stage_is_done(s, 0));
    cr_expect(sched_on_task_done(s, 0, 0, 2, 0, 0));
    cr_expect(sched_stage_is_done(s, 0));
    cr_expect_eq(sched_done_task_count(s, 0), 3);
    cr_expect_eq(sched_busy_slots(s), 0);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, stage_waits_for_its_parents)
{
    struct sched *s = cluster_of(1, 8);
    uint32_t parents[] = {0, 1};
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, parents, 2));
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 1, 0, 0);
    expect_nothing(s);
    cr_expect(sched_on_task_done(s, 0, 1, 0, 0, 0));
    expect_nothing(s);
    cr_expect(sched_on_task_done(s, 0, 0, 0, 0, 0));
    expect_next(s, 0, 2, 0, 0);
    sched_destroy(s);
}

Test(sched, oldest_ready_stage_runs_first)
{
    struct sched *s = cluster_of(1, 1);
    uint32_t parents[] = {0, 1};
    cr_assert(sched_add_stage(s, 2, NULL, 0));
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, parents, 2));
    expect_next(s, 0, 0, 0, 0);
    cr_expect(failed(s, (struct task_attempt){.executor = 0}, SCHED_TASK_ERROR));
    expect_next(s, 0, 0, 0, 1); /* before task 1, which is before stage 1 */
    cr_expect(sched_on_task_done(s, 0, 0, 0, 1, 0));
    expect_next(s, 0, 0, 1, 0);
    cr_expect(sched_on_task_done(s, 0, 0, 1, 0, 0));
    expect_next(s, 0, 1, 0, 0);
    sched_destroy(s);
}

Test(sched, stage_without_tasks_is_done)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 0);
    add_chained(s, 1, 1);
    cr_expect(sched_stage_is_done(s, 0));
    expect_next(s, 0, 1, 0, 0);
    sched_destroy(s);
}

Test(sched, empty_final_stage_needs_no_parents)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 5);
    add_chained(s, 1, 0);
    cr_expect(sched_stage_is_done(s, 1));
    cr_expect_not(sched_stage_is_needed(s, 0));
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, available_outputs_are_not_recomputed)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 2);
    add_chained(s, 1, 1);
    sched_add_available_output(s, 0, 0, 1, 7);
    cr_expect_eq(place_of(s, 0, 0), 1);
    expect_next(s, 0, 0, 1, 0);
    expect_nothing(s);
    cr_expect(sched_on_task_done(s, 0, 0, 1, 0, 0));
    expect_next(s, 0, 1, 0, 0);
    sched_on_map_output_lost(s, 0, 0, 1, 7);
    struct task_attempt again = next_of(s);
    cr_expect(again.stage == 0 && again.task == 0);
    cr_expect_eq(again.attempt, 8, "attempt numbers continue");
    sched_destroy(s);
}

Test(sched, completed_stage_needs_no_parents)
{
    struct sched *s = cluster_of(1, 4);
    add_chained(s, 0, 3);
    add_chained(s, 1, 1);
    add_chained(s, 2, 1);
    sched_add_available_output(s, 1, 0, 0, 0);
    cr_expect_not(sched_stage_is_needed(s, 0));
    cr_expect(sched_stage_is_needed(s, 1) && sched_stage_is_needed(s, 2));
    expect_next(s, 0, 2, 0, 0);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, task_has_four_attempts)
{
    struct sched *s = cluster_of(1, 1);
    uint32_t stage = 9, task = 9;
    add_chained(s, 0, 2);
    for (uint32_t attempt = 0; attempt < TASK_ATTEMPTS_MAX; attempt++) {
        expect_next(s, 0, 0, 0, attempt);
        cr_expect_eq(sched_status(s), SCHED_RUNNING);
        cr_expect_not(sched_failed_task(s, &stage, &task));
        cr_expect(sched_on_task_failed(s, 0, 0, 0, attempt, SCHED_TASK_ERROR, 0));
        cr_expect_eq(sched_task_is_waiting(s, 0, 0), attempt + 1 < TASK_ATTEMPTS_MAX);
    }
    cr_expect(sched_stage_has_failed(s, 0));
    cr_expect_eq(sched_status(s), SCHED_TASK_FAILED);
    cr_expect(sched_failed_task(s, &stage, &task) && stage == 0 && task == 0);
    cr_expect_not(sched_stage_is_done(s, 0));
    expect_nothing(s); /* a failed stage starts nothing more */
    sched_destroy(s);
}

Test(sched, failures_of_different_tasks_do_not_add_up)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 8);
    for (uint32_t task = 0; task < 8; task++) {
        for (uint32_t attempt = 0; attempt + 1 < TASK_ATTEMPTS_MAX; attempt++) {
            expect_next(s, 0, 0, task, attempt);
            cr_expect(sched_on_task_failed(s, 0, 0, task, attempt, SCHED_TASK_ERROR, 0));
        }
        expect_next(s, 0, 0, task, TASK_ATTEMPTS_MAX - 1);
        cr_expect(sched_on_task_done(s, 0, 0, task, TASK_ATTEMPTS_MAX - 1, 0));
    }
    cr_expect(sched_stage_is_done(s, 0));
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    sched_destroy(s);
}

Test(sched, successful_attempt_is_recorded)
{
    struct sched *s = cluster_of(1, 1);
    uint32_t executor, attempt;
    add_chained(s, 0, 1);
    expect_next(s, 0, 0, 0, 0);
    cr_expect_not(sched_output_location(s, 0, 0, &executor, &attempt));
    cr_expect(sched_on_task_failed(s, 0, 0, 0, 0, SCHED_TASK_ERROR, 0));
    expect_next(s, 0, 0, 0, 1);
    cr_expect(sched_on_task_done(s, 0, 0, 0, 1, 0));
    cr_expect(sched_output_location(s, 0, 0, &executor, &attempt));
    cr_expect(executor == 0 && attempt == 1);
    sched_destroy(s);
}

Test(sched, fatal_error_is_not_retried)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 1);
    expect_next(s, 0, 0, 0, 0);
    cr_expect(sched_on_task_failed(s, 0, 0, 0, 0, SCHED_FATAL_ERROR, 0));
    cr_expect(sched_stage_has_failed(s, 0));
    cr_expect_eq(sched_status(s), SCHED_TASK_FAILED);
    cr_expect_not(sched_task_is_waiting(s, 0, 0));
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, killed_attempt_is_retried_and_not_counted)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 1);
    for (uint32_t attempt = 0; attempt < 10 * TASK_ATTEMPTS_MAX; attempt++) {
        expect_next(s, 0, 0, 0, attempt);
        cr_expect(sched_on_task_failed(s, 0, 0, 0, attempt, SCHED_KILLED, 0));
    }
    cr_expect(sched_task_is_waiting(s, 0, 0));
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    finish(s);
    cr_expect(sched_stage_is_done(s, 0));
    sched_destroy(s);
}

Test(sched, stale_and_invalid_events_are_ignored)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 1);
    cr_expect_not(sched_on_task_done(s, 0, 0, 0, 0, 0)); /* not started */
    expect_next(s, 0, 0, 0, 0);
    cr_expect_not(sched_on_task_done(s, 1, 0, 0, 0, 0)); /* another executor */
    cr_expect_not(sched_on_task_done(s, 9, 0, 0, 0, 0));
    cr_expect_not(sched_on_task_done(s, SCHED_NONE, 0, 0, 0, 0));
    cr_expect_not(sched_on_task_done(s, 0, 1, 0, 0, 0)); /* no such stage, task */
    cr_expect_not(sched_on_task_done(s, 0, 0, 1, 0, 0));
    cr_expect_not(sched_on_task_done(s, 0, 0, SCHED_NONE, 0, 0));
    cr_expect_not(sched_on_task_done(s, 0, 0, 0, 1, 0)); /* another attempt */
    cr_expect(sched_on_task_failed(s, 0, 0, 0, 0, SCHED_TASK_ERROR, 0));
    cr_expect_not(sched_on_task_done(s, 0, 0, 0, 0, 0)); /* stale */
    cr_expect_not(sched_on_task_failed(s, 0, 0, 0, 0, SCHED_TASK_ERROR, 0));
    cr_expect_eq(sched_busy_slots(s), 0);
    expect_next(s, 1, 0, 0, 1);
    cr_expect(sched_on_task_done(s, 1, 0, 0, 1, 0));
    cr_expect_not(sched_on_task_done(s, 1, 0, 0, 1, 0)); /* twice */
    cr_expect_not(sched_on_task_failed(s, 1, 0, 0, 1, SCHED_FATAL_ERROR, 0));
    sched_on_map_output_lost(s, 9, 0, 0, 0); /* nothing runs there */
    sched_on_map_output_lost(s, 0, 9, 0, 0);
    sched_on_map_output_lost(s, SCHED_NONE, 0, 0, 0);
    sched_on_executor_lost(s, 9, true, true);
    sched_on_executor_draining(s, 9);
    cr_expect(sched_stage_is_done(s, 0) && !sched_stage_has_failed(s, 0));
    cr_expect_eq(sched_lost_executor_count(s), 0);
    cr_expect_not(sched_is_excluded_for_failures(s, 9));
    sched_destroy(s);
}

Test(sched, nothing_starts_after_stop)
{
    struct sched *s = cluster_of(1, 2);
    add_chained(s, 0, 4);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 0, 1, 0);
    sched_stop(s);
    cr_expect(sched_on_task_failed(s, 0, 0, 0, 0, SCHED_TASK_ERROR, 0));
    expect_nothing(s);
    cr_expect(sched_on_task_done(s, 0, 0, 1, 0, 0));
    cr_expect_eq(sched_busy_slots(s), 0);
    expect_nothing(s);
    cr_expect_eq(sched_next_wakeup_ns(s), UINT64_MAX);
    sched_destroy(s);
}

Test(sched, epoch_changes_when_an_output_moves)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 1);
    add_chained(s, 1, 1);
    uint32_t before = sched_map_output_epoch(s, 0);
    struct task_attempt run = next_of(s);
    cr_expect_eq(sched_map_output_epoch(s, 0), before);
    done(s, run);
    uint32_t made = sched_map_output_epoch(s, 0);
    cr_expect_neq(made, before);
    sched_on_map_output_lost(s, 0, 0, run.executor, run.attempt);
    uint32_t lost = sched_map_output_epoch(s, 0);
    cr_expect(lost != made && lost != before);
    done(s, next_of(s));
    uint32_t again = sched_map_output_epoch(s, 0);
    cr_expect(again != lost && again != made && again != before);
    sched_destroy(s);
}

Test(sched, out_of_memory_is_reported_without_leaks)
{
    int64_t live = mem_live_blocks();
    bool all = false;
    for (int64_t n = 1; !all; n++) {
        uint32_t parent = 0;
        cr_assert_lt(n, 1000);
        mem_fail_at(n, false);
        struct sched *s = sched_create(true);
        bool ok = s != NULL;
        for (uint32_t i = 0; ok && i < 20; i++) ok = sched_add_executor(s, i, 1 + i % 3, 0);
        ok = ok && sched_add_stage(s, 70, NULL, 0);
        for (uint32_t i = 0; ok && i < 12; i++) ok = sched_add_stage(s, 3, &parent, 1);
        if (ok) sched_set_preferred_executor(s, 0, 1, 3);
        mem_fail_at(0, false);
        all = ok && n > 80; /* more than there are allocations */
        if (ok) finish(s);
        cr_expect(!ok || sched_stage_is_done(s, 12));
        sched_destroy(s);
        cr_expect_eq(mem_live_blocks(), live);
    }
}

Test(sched, memory_grows_with_the_tasks)
{
    struct sched *s = sched_create(true);
    cr_assert(sched_add_executor(s, 0, 4, 0));
    uint64_t before = sched_memory_bytes(s);
    add_chained(s, 0, 10);
    cr_expect_gt(sched_memory_bytes(s), before);
    sched_destroy(s);
}

Test(sched, task_takes_less_than_200_bytes)
{
    struct sched *s = sched_create(true);
    for (uint32_t i = 0; i < 1000; i++) cr_assert(sched_add_executor(s, i, 4, 0));
    add_chained(s, 0, PARTITIONS_MAX);
    for (uint32_t t = 0; t < PARTITIONS_MAX; t++) sched_set_preferred_executor(s, 0, t, t % 1000);
    finish(s);
    cr_expect(sched_stage_is_done(s, 0));
    cr_expect_lt(sched_memory_bytes(s), 200 * (uint64_t)PARTITIONS_MAX);
    sched_destroy(s);
}
