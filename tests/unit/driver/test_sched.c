/* The scheduler where nothing is lost: order, slots, attempts, events that come late. */
#include "engine/base/mem.h"
#include "tests/unit/driver/sched_help.h"

Test(sched, tasks_go_in_order_to_free_slots)
{
    struct sched *s = cluster_of(1, 2);
    add_chained(s, 0, 3);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 0, 1, 0);
    expect_nothing(s);
    cr_expect_eq(sched_running(s), 2);
    cr_expect_eq(sched_running_on(s, 0), 2);
    cr_expect(sched_on_done(s, 0, 0, 1, 0, 0));
    expect_next(s, 0, 0, 2, 0);
    cr_expect(sched_on_done(s, 0, 0, 0, 0, 0));
    cr_expect_not(sched_stage_done(s, 0));
    cr_expect(sched_on_done(s, 0, 0, 2, 0, 0));
    cr_expect(sched_stage_done(s, 0));
    cr_expect_eq(sched_tasks_done(s, 0), 3);
    cr_expect_eq(sched_running(s), 0);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, a_stage_waits_for_its_parents)
{
    struct sched *s = cluster_of(1, 8);
    uint32_t parents[] = {0, 1};
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, parents, 2));
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 1, 0, 0);
    expect_nothing(s);
    cr_expect(sched_on_done(s, 0, 1, 0, 0, 0));
    expect_nothing(s);
    cr_expect(sched_on_done(s, 0, 0, 0, 0, 0));
    expect_next(s, 0, 2, 0, 0);
    sched_destroy(s);
}

Test(sched, the_oldest_ready_stage_goes_first)
{
    struct sched *s = cluster_of(1, 1);
    uint32_t parents[] = {0, 1};
    cr_assert(sched_add_stage(s, 2, NULL, 0));
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, parents, 2));
    expect_next(s, 0, 0, 0, 0);
    cr_expect(failed(s, (struct sched_run){0, 0, 0, 0, false, 0, false, false}, SCHED_OWN));
    expect_next(s, 0, 0, 0, 1); /* before task 1, which is before stage 1 */
    cr_expect(sched_on_done(s, 0, 0, 0, 1, 0));
    expect_next(s, 0, 0, 1, 0);
    cr_expect(sched_on_done(s, 0, 0, 1, 0, 0));
    expect_next(s, 0, 1, 0, 0);
    sched_destroy(s);
}

Test(sched, a_stage_without_tasks_is_done)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 0);
    add_chained(s, 1, 1);
    cr_expect(sched_stage_done(s, 0));
    expect_next(s, 0, 1, 0, 0);
    sched_destroy(s);
}

Test(sched, a_last_stage_without_tasks_needs_nothing_above_it)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 5);
    add_chained(s, 1, 0);
    cr_expect(sched_stage_done(s, 1));
    cr_expect_not(sched_stage_needed(s, 0));
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, what_is_there_already_is_not_made_again)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 2);
    add_chained(s, 1, 1);
    sched_set_done(s, 0, 0, 1, 7);
    cr_expect_eq(place_of(s, 0, 0), 1);
    expect_next(s, 0, 0, 1, 0);
    expect_nothing(s);
    cr_expect(sched_on_done(s, 0, 0, 1, 0, 0));
    expect_next(s, 0, 1, 0, 0);
    sched_on_output_lost(s, 0, 0, 1, 7);
    struct sched_run again = next_of(s);
    cr_expect(again.stage == 0 && again.task == 0);
    cr_expect_eq(again.attempt, 8, "numbers of attempts go on where they were");
    sched_destroy(s);
}

Test(sched, a_stage_that_is_there_needs_nothing_above_it)
{
    struct sched *s = cluster_of(1, 4);
    add_chained(s, 0, 3);
    add_chained(s, 1, 1);
    add_chained(s, 2, 1);
    sched_set_done(s, 1, 0, 0, 0);
    cr_expect_not(sched_stage_needed(s, 0));
    cr_expect(sched_stage_needed(s, 1) && sched_stage_needed(s, 2));
    expect_next(s, 0, 2, 0, 0);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, a_task_has_four_attempts)
{
    struct sched *s = cluster_of(1, 1);
    uint32_t stage = 9, task = 9;
    add_chained(s, 0, 2);
    for (uint32_t attempt = 0; attempt < TASK_ATTEMPTS_MAX; attempt++) {
        expect_next(s, 0, 0, 0, attempt);
        cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
        cr_expect_not(sched_failed(s, &stage, &task));
        cr_expect(sched_on_failed(s, 0, 0, 0, attempt, SCHED_OWN, 0));
        cr_expect_eq(sched_waits(s, 0, 0), attempt + 1 < TASK_ATTEMPTS_MAX);
    }
    cr_expect(sched_stage_failed(s, 0));
    cr_expect_eq(sched_verdict(s), SCHED_TASK_FAILED);
    cr_expect(sched_failed(s, &stage, &task) && stage == 0 && task == 0);
    cr_expect_not(sched_stage_done(s, 0));
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
            cr_expect(sched_on_failed(s, 0, 0, task, attempt, SCHED_OWN, 0));
        }
        expect_next(s, 0, 0, task, TASK_ATTEMPTS_MAX - 1);
        cr_expect(sched_on_done(s, 0, 0, task, TASK_ATTEMPTS_MAX - 1, 0));
    }
    cr_expect(sched_stage_done(s, 0));
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    sched_destroy(s);
}

Test(sched, the_attempt_that_counts_is_known)
{
    struct sched *s = cluster_of(1, 1);
    uint32_t executor, attempt;
    add_chained(s, 0, 1);
    expect_next(s, 0, 0, 0, 0);
    cr_expect_not(sched_output(s, 0, 0, &executor, &attempt));
    cr_expect(sched_on_failed(s, 0, 0, 0, 0, SCHED_OWN, 0));
    expect_next(s, 0, 0, 0, 1);
    cr_expect(sched_on_done(s, 0, 0, 0, 1, 0));
    cr_expect(sched_output(s, 0, 0, &executor, &attempt));
    cr_expect(executor == 0 && attempt == 1);
    sched_destroy(s);
}

Test(sched, some_errors_are_final)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 1);
    expect_next(s, 0, 0, 0, 0);
    cr_expect(sched_on_failed(s, 0, 0, 0, 0, SCHED_FATAL, 0));
    cr_expect(sched_stage_failed(s, 0));
    cr_expect_eq(sched_verdict(s), SCHED_TASK_FAILED);
    cr_expect_not(sched_waits(s, 0, 0));
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched, a_refused_task_is_started_again_and_counts_for_nothing)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 1);
    for (uint32_t attempt = 0; attempt < 10 * TASK_ATTEMPTS_MAX; attempt++) {
        expect_next(s, 0, 0, 0, attempt);
        cr_expect(sched_on_failed(s, 0, 0, 0, attempt, SCHED_REFUSED, 0));
    }
    cr_expect(sched_waits(s, 0, 0));
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    finish(s);
    cr_expect(sched_stage_done(s, 0));
    sched_destroy(s);
}

Test(sched, late_and_made_up_events_are_ignored)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 1);
    cr_expect_not(sched_on_done(s, 0, 0, 0, 0, 0)); /* not started */
    expect_next(s, 0, 0, 0, 0);
    cr_expect_not(sched_on_done(s, 1, 0, 0, 0, 0)); /* another executor */
    cr_expect_not(sched_on_done(s, 9, 0, 0, 0, 0));
    cr_expect_not(sched_on_done(s, SCHED_NONE, 0, 0, 0, 0));
    cr_expect_not(sched_on_done(s, 0, 1, 0, 0, 0)); /* no such stage, task */
    cr_expect_not(sched_on_done(s, 0, 0, 1, 0, 0));
    cr_expect_not(sched_on_done(s, 0, 0, SCHED_NONE, 0, 0));
    cr_expect_not(sched_on_done(s, 0, 0, 0, 1, 0)); /* another attempt */
    cr_expect(sched_on_failed(s, 0, 0, 0, 0, SCHED_OWN, 0));
    cr_expect_not(sched_on_done(s, 0, 0, 0, 0, 0)); /* late */
    cr_expect_not(sched_on_failed(s, 0, 0, 0, 0, SCHED_OWN, 0));
    cr_expect_eq(sched_running(s), 0);
    expect_next(s, 1, 0, 0, 1);
    cr_expect(sched_on_done(s, 1, 0, 0, 1, 0));
    cr_expect_not(sched_on_done(s, 1, 0, 0, 1, 0)); /* twice */
    cr_expect_not(sched_on_failed(s, 1, 0, 0, 1, SCHED_FATAL, 0));
    sched_on_output_lost(s, 9, 0, 0, 0); /* nothing there */
    sched_on_output_lost(s, 0, 9, 0, 0);
    sched_on_output_lost(s, SCHED_NONE, 0, 0, 0);
    sched_on_executor_lost(s, 9, true, true);
    sched_on_draining(s, 9);
    cr_expect(sched_stage_done(s, 0) && !sched_stage_failed(s, 0));
    cr_expect_eq(sched_losses(s), 0);
    cr_expect_not(sched_set_aside(s, 9));
    sched_destroy(s);
}

Test(sched, stopping_starts_nothing_more)
{
    struct sched *s = cluster_of(1, 2);
    add_chained(s, 0, 4);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 0, 0, 1, 0);
    sched_stop(s);
    cr_expect(sched_on_failed(s, 0, 0, 0, 0, SCHED_OWN, 0));
    expect_nothing(s);
    cr_expect(sched_on_done(s, 0, 0, 1, 0, 0));
    cr_expect_eq(sched_running(s), 0);
    expect_nothing(s);
    cr_expect_eq(sched_wake_ns(s), UINT64_MAX);
    sched_destroy(s);
}

Test(sched, the_epoch_tells_that_an_output_is_elsewhere)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 1);
    add_chained(s, 1, 1);
    uint32_t before = sched_epoch(s, 0);
    struct sched_run run = next_of(s);
    cr_expect_eq(sched_epoch(s, 0), before);
    done(s, run);
    uint32_t made = sched_epoch(s, 0);
    cr_expect_neq(made, before);
    sched_on_output_lost(s, 0, 0, run.executor, run.attempt);
    uint32_t lost = sched_epoch(s, 0);
    cr_expect(lost != made && lost != before);
    done(s, next_of(s));
    uint32_t again = sched_epoch(s, 0);
    cr_expect(again != lost && again != made && again != before);
    sched_destroy(s);
}

Test(sched, no_memory_at_any_point_is_said_and_leaks_nothing)
{
    int64_t live = mem_live();
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
        if (ok) sched_prefer(s, 0, 1, 3);
        mem_fail_at(0, false);
        all = ok && n > 80; /* more than there are */
        if (ok) finish(s);
        cr_expect(!ok || sched_stage_done(s, 12));
        sched_destroy(s);
        cr_expect_eq(mem_live(), live);
    }
}

Test(sched, a_task_takes_less_than_200_bytes)
{
    struct sched *s = sched_create(true);
    for (uint32_t i = 0; i < 1000; i++) cr_assert(sched_add_executor(s, i, 4, 0));
    add_chained(s, 0, PARTITIONS_MAX);
    for (uint32_t t = 0; t < PARTITIONS_MAX; t++) sched_prefer(s, 0, t, t % 1000);
    finish(s);
    cr_expect(sched_stage_done(s, 0));
    cr_expect_lt(sched_memory_bytes(s), 200 * (uint64_t)PARTITIONS_MAX);
    sched_destroy(s);
}
