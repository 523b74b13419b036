/* The scheduler when executors and outputs are lost: what is made again, what counts, what ends. */
#include "tests/unit/driver/sched_help.h"

/* ---- Executors that are lost */

Test(sched_loss, running_tasks_of_a_lost_executor_wait_again_and_count_no_attempt)
{
    struct sched *s = cluster_of(LOSSES_MAX + 1, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i < LOSSES_MAX; i++) {
        struct sched_run run = next_of(s);
        cr_expect_eq(run.attempt, i, "the number of an attempt is not given twice");
        sched_on_executor_lost(s, run.executor, false, true);
        cr_expect_eq(sched_running(s), 0);
        cr_expect_not(done(s, run), "what a lost executor says is late");
    }
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    cr_expect_eq(sched_losses(s), LOSSES_MAX);
    cr_expect(sched_waits(s, 0, 0));
    finish(s);
    cr_expect(sched_stage_done(s, 0));
    sched_destroy(s);
}

Test(sched_loss, a_task_that_kills_its_process_each_time_ends_the_job)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i < TASK_ATTEMPTS_MAX; i++) {
        cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
        struct sched_run run = next_of(s);
        sched_on_executor_lost(s, run.executor, true, true);
        cr_assert(sched_add_executor(s, i % 2, 1, 0)); /* it is started again, on its node */
    }
    cr_expect_eq(sched_verdict(s), SCHED_TASK_FAILED);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched_loss, all_tasks_of_a_process_that_died_are_to_blame)
{
    struct sched *s = cluster_of(1, 3);
    add_chained(s, 0, 3);
    for (uint32_t i = 0; i < TASK_ATTEMPTS_MAX; i++) {
        for (uint32_t t = 0; t < 3; t++) expect_next(s, i, 0, t, i);
        sched_on_executor_lost(s, i, true, true);
        cr_assert(sched_add_executor(s, 0, 3, 0));
    }
    cr_expect(sched_stage_failed(s, 0));
    sched_destroy(s);
}

Test(sched_loss, a_job_may_lose_so_many_executors_and_no_more)
{
    struct sched *s = cluster_of(LOSSES_MAX + 2, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i < LOSSES_MAX; i++) sched_on_executor_lost(s, i, false, true);
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    sched_on_executor_lost(s, 0, false, true); /* once is enough */
    cr_expect_eq(sched_losses(s), LOSSES_MAX);
    sched_on_executor_lost(s, LOSSES_MAX, false, true);
    cr_expect_eq(sched_verdict(s), SCHED_LOSSES);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched_loss, an_executor_that_joins_while_tasks_run_gets_some)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 40);
    expect_next(s, 0, 0, 0, 0);
    expect_nothing(s);
    for (uint32_t e = 1; e < 20; e++) {
        cr_assert(sched_add_executor(s, e, 2, 0));
        expect_next(s, e, 0, 2 * e - 1, 0);
        expect_next(s, e, 0, 2 * e, 0);
    }
    cr_expect_eq(sched_executors_alive(s), 20);
    sched_destroy(s);
}

Test(sched_loss, none_is_left_and_a_new_one_takes_over)
{
    struct sched *s = cluster_of(1, 2);
    add_chained(s, 0, 2);
    add_chained(s, 1, 1);
    finish(s);
    sched_on_executor_lost(s, 0, false, true);
    cr_expect_eq(sched_executors_alive(s), 0);
    cr_expect(sched_stage_done(s, 1), "the driver has what the last stage answered");
    sched_destroy(s);

    s = cluster_of(1, 1);
    add_chained(s, 0, 2);
    expect_next(s, 0, 0, 0, 0);
    sched_on_executor_lost(s, 0, false, true);
    expect_nothing(s);
    cr_assert(sched_add_executor(s, 5, 1, 0));
    expect_next(s, 1, 0, 0, 1);
    sched_destroy(s);
}

/* ---- Drains */

Test(sched_drain, a_draining_executor_gets_no_more_and_ends_what_it_has)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 5);
    struct sched_run first = next_of(s);
    cr_expect_eq(first.executor, 0);
    sched_on_draining(s, 0);
    sched_on_draining(s, 0); /* twice: no harm */
    cr_expect_eq(sched_executors_alive(s), 1);
    expect_next(s, 1, 0, 1, 0);
    expect_next(s, 1, 0, 2, 0);
    expect_nothing(s);
    cr_expect(done(s, first));
    expect_nothing(s);
    cr_expect_eq(place_of(s, 0, 0), 0);
    sched_destroy(s);
}

Test(sched_silence, a_silent_executor_gets_no_more_until_it_is_heard)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 4);
    expect_next(s, 0, 0, 0, 0);
    sched_on_silent(s, 0, true);
    sched_on_silent(s, 9, true); /* nobody */
    expect_next(s, 1, 0, 1, 0);
    expect_next(s, 1, 0, 2, 0);
    expect_nothing(s);
    cr_expect_eq(sched_executors_alive(s), 2);
    sched_on_silent(s, 0, false);
    expect_next(s, 0, 0, 3, 0);
    sched_destroy(s);
}

Test(sched_drain, a_drain_is_no_loss_and_counts_no_attempt)
{
    struct sched *s = cluster_of(3 * LOSSES_MAX, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i + 1 < 3 * LOSSES_MAX; i++) {
        struct sched_run run = next_of(s);
        sched_on_draining(s, run.executor);
        sched_on_executor_lost(s, run.executor, false, false);
    }
    cr_expect_eq(sched_losses(s), 0);
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    cr_expect_eq(sched_executors_alive(s), 1);
    finish(s);
    cr_expect(sched_stage_done(s, 0));
    sched_destroy(s);
}

Test(sched_drain, outputs_of_a_drained_executor_are_made_again)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 2);
    add_chained(s, 1, 1);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 1, 0, 1, 0);
    cr_expect(sched_on_done(s, 0, 0, 0, 0, 0) && sched_on_done(s, 1, 0, 1, 0, 0));
    sched_on_draining(s, 0);
    cr_expect(sched_stage_done(s, 0)); /* they are there as long as it is */
    sched_on_executor_lost(s, 0, false, false);
    cr_expect_not(sched_stage_done(s, 0));
    expect_next(s, 1, 0, 0, 1);
    sched_destroy(s);
}

/* ---- Lineage */

Test(sched_lineage, only_the_outputs_that_were_lost_are_made_again)
{
    struct sched *s = cluster_of(4, 2);
    add_chained(s, 0, 8);
    add_chained(s, 1, 2);
    for (uint32_t i = 0; i < 8; i++) next_of(s);
    for (uint32_t t = 0; t < 8; t++) cr_expect(sched_on_done(s, t % 4, 0, t, 0, 0));
    sched_on_executor_lost(s, 2, false, true);
    cr_expect_eq(sched_tasks_done(s, 0), 6);
    struct sched_run a = next_of(s), b = next_of(s);
    cr_expect(a.stage == 0 && a.task == 2 && a.attempt == 1);
    cr_expect(b.stage == 0 && b.task == 6 && b.attempt == 1);
    expect_nothing(s); /* stage 1 waits */
    cr_expect(done(s, a) && done(s, b));
    finish(s);
    cr_expect(sched_stage_done(s, 1));
    sched_destroy(s);
}

Test(sched_lineage, a_lost_ancestor_is_made_again_from_as_far_back_as_needed)
{
    struct sched *s = cluster_of(2, 1);
    for (uint32_t i = 0; i < 4; i++) add_chained(s, i, 2);
    for (uint32_t i = 0; i < 6; i++) done(s, next_of(s)); /* one at a time: all on executor 0 */
    cr_expect(sched_stage_done(s, 2));
    cr_expect_not(sched_stage_needed(s, 0) || sched_stage_needed(s, 1));
    cr_expect(sched_stage_needed(s, 2) && sched_stage_needed(s, 3));
    expect_next(s, 0, 3, 0, 0);
    sched_on_executor_lost(s, 0, false, true);
    for (uint32_t i = 0; i < 4; i++) cr_expect(sched_stage_needed(s, i));
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t t = 0; t < 2; t++) {
            struct sched_run run = next_of(s);
            cr_expect(run.stage == i && run.task == t && run.executor == 1);
            cr_expect(done(s, run));
        }
    cr_expect(sched_stage_done(s, 3));
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    sched_destroy(s);
}

Test(sched_lineage, a_stage_whose_children_are_all_done_is_not_made_again)
{
    struct sched *s = cluster_of(2, 1);
    for (uint32_t i = 0; i < 3; i++) add_chained(s, i, 2);
    done(s, next_of(s)); /* stage 0 on executor 0 */
    done(s, next_of(s));
    sched_on_draining(s, 0);
    done(s, next_of(s)); /* stage 1 on executor 1 */
    done(s, next_of(s));
    sched_on_executor_lost(s, 0, false, false);
    cr_expect_eq(sched_tasks_done(s, 0), 0);
    cr_expect_not(sched_stage_needed(s, 0));
    expect_next(s, 1, 2, 0, 0);
    sched_destroy(s);
}

Test(sched_lineage, of_two_children_one_not_done_needs_the_parent)
{
    struct sched *s = cluster_of(1, 1);
    uint32_t zero = 0, both[] = {1, 2};
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, &zero, 1));
    cr_assert(sched_add_stage(s, 1, &zero, 1));
    cr_assert(sched_add_stage(s, 1, both, 2));
    done(s, next_of(s));
    done(s, next_of(s));
    cr_expect(sched_stage_done(s, 1));
    sched_on_output_lost(s, 0, 0, 0, 0);
    cr_expect(sched_stage_needed(s, 0));
    expect_next(s, 0, 0, 0, 1);
    sched_destroy(s);
}

Test(sched_lineage, a_running_reduce_task_keeps_running_when_a_map_output_is_lost)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 1);
    add_chained(s, 1, 3);
    done(s, next_of(s));
    struct sched_run a = next_of(s), b = next_of(s);
    sched_on_output_lost(s, 0, 0, 0, 0);
    cr_expect_eq(sched_running(s), 2);
    struct sched_run map = next_of(s);
    cr_expect(map.stage == 0 && map.attempt == 1);
    expect_nothing(s); /* task 2 of stage 1 waits for it */
    cr_expect(done(s, a), "it had fetched it before");
    cr_expect(done(s, b));
    cr_expect(done(s, map));
    struct sched_run last = next_of(s);
    cr_expect(last.stage == 1 && last.task == 2);
    sched_destroy(s);
}

Test(sched_lineage, the_result_of_the_last_stage_is_never_lost)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 2);
    struct sched_run run = next_of(s);
    done(s, run);
    sched_on_output_lost(s, 0, run.task, run.executor, run.attempt);
    sched_on_executor_lost(s, run.executor, true, true);
    cr_expect_eq(sched_tasks_done(s, 0), 1);
    expect_next(s, 1, 0, 1, 0);
    sched_destroy(s);
}

Test(sched_lineage, an_output_that_is_somewhere_else_by_now_is_not_lost)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 1);
    add_chained(s, 1, 1);
    done(s, next_of(s));
    sched_on_output_lost(s, 0, 0, 0, 0);
    sched_on_draining(s, 0);
    struct sched_run again = next_of(s);
    done(s, again);
    cr_expect_eq(place_of(s, 0, 0), 1);
    sched_on_output_lost(s, 0, 0, 0, 0); /* the old place */
    sched_on_output_lost(s, 0, 0, 1, 0); /* the old attempt */
    cr_expect(sched_stage_done(s, 0));
    sched_on_output_lost(s, 0, 0, 1, again.attempt);
    cr_expect_not(sched_stage_done(s, 0));
    sched_destroy(s);
}

Test(sched_lineage, what_fails_in_a_stage_that_is_no_longer_needed_ends_nothing)
{
    struct sched *s = cluster_of(1, 4);
    add_chained(s, 0, 1);
    add_chained(s, 1, 1);
    done(s, next_of(s));
    struct sched_run reduce = next_of(s);
    sched_on_output_lost(s, 0, 0, 0, 0);
    struct sched_run map = next_of(s);
    cr_expect_eq(map.stage, 0);
    cr_expect(done(s, reduce));
    cr_expect_not(sched_stage_needed(s, 0));
    cr_expect(failed(s, map, SCHED_FATAL));
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    cr_expect(sched_stage_done(s, 1));
    expect_nothing(s);
    cr_expect_eq(sched_running(s), 0);
    sched_destroy(s);
}

/* ---- Fetches that fail */

Test(sched_fetch, many_tasks_that_cannot_fetch_from_one_lost_executor_are_one_failed_attempt)
{
    struct sched *s = cluster_of(2, 40);
    add_chained(s, 0, 4);
    add_chained(s, 1, 40);
    for (uint32_t i = 0; i < 4; i++) done(s, next_of(s));
    struct sched_run runs[40];
    for (uint32_t i = 0; i < 40; i++) runs[i] = next_of(s);
    for (uint32_t i = 0; i < 40; i++)
        if (runs[i].executor == 1) fetch_failed(s, runs[i], 0, i % 4);
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    cr_expect_not(sched_stage_failed(s, 1));
    finish(s);
    cr_expect_eq(sched_tasks_done(s, 1), 20);
    sched_destroy(s);
}

Test(sched_fetch, four_attempts_in_a_row_that_cannot_fetch_fail_the_stage)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 1);
    add_chained(s, 1, 2);
    for (uint32_t i = 0; i < STAGE_ATTEMPTS_MAX; i++) {
        cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
        done(s, next_of(s));
        struct sched_run a = next_of(s), b = next_of(s);
        cr_expect(a.stage == 1 && b.stage == 1);
        fetch_failed(s, a, 0, 0);
        fetch_failed(s, b, 0, 0);
    }
    cr_expect(sched_stage_failed(s, 1));
    cr_expect_eq(sched_verdict(s), SCHED_STAGE_FAILED);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched_fetch, a_task_that_ends_well_begins_the_count_anew)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 1);
    add_chained(s, 1, 6);
    done(s, next_of(s));
    for (uint32_t task = 0; task < 6; task++) {
        for (uint32_t i = 0; i + 1 < STAGE_ATTEMPTS_MAX; i++) {
            struct sched_run run = next_of(s);
            cr_expect(run.stage == 1 && run.task == task);
            fetch_failed(s, run, 0, 0);
            done(s, next_of(s)); /* the map task */
        }
        struct sched_run run = next_of(s);
        cr_expect_eq(run.attempt, STAGE_ATTEMPTS_MAX - 1);
        cr_expect(done(s, run));
    }
    cr_expect(sched_stage_done(s, 1));
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    sched_destroy(s);
}

Test(sched_fetch, failures_of_two_stages_do_not_add_up)
{
    struct sched *s = cluster_of(1, 1);
    for (uint32_t i = 0; i < 3; i++) add_chained(s, i, 1);
    done(s, next_of(s));
    for (uint32_t stage = 1; stage < 3; stage++) {
        for (uint32_t i = 0; i + 1 < STAGE_ATTEMPTS_MAX; i++) {
            struct sched_run run = next_of(s);
            cr_expect_eq(run.stage, stage);
            fetch_failed(s, run, stage - 1, 0);
            done(s, next_of(s));
        }
        cr_expect(done(s, next_of(s)));
    }
    cr_expect(sched_stage_done(s, 2));
    sched_destroy(s);
}

Test(sched_fetch, a_fetch_that_fails_counts_no_attempt_of_the_task)
{
    struct sched *s = cluster_of(1, 2);
    add_chained(s, 0, 1);
    add_chained(s, 1, 2);
    done(s, next_of(s));
    for (uint32_t i = 0; i < 2; i++) {
        struct sched_run run = next_of(s);
        fetch_failed(s, run, 0, 0);
        done(s, next_of(s));
        cr_expect(failed(s, next_of(s), SCHED_OWN));
    }
    struct sched_run run = next_of(s);
    cr_expect(run.task == 0 && run.attempt == 4);
    fetch_failed(s, run, 0, 0);
    done(s, next_of(s));
    cr_expect(failed(s, next_of(s), SCHED_OWN));
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    cr_expect(failed(s, next_of(s), SCHED_OWN));
    cr_expect_eq(sched_verdict(s), SCHED_TASK_FAILED);
    sched_destroy(s);
}

Test(sched_fetch, failures_without_an_output_that_is_lost_end_too)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 1);
    add_chained(s, 1, 1);
    done(s, next_of(s));
    for (uint32_t i = 0; i < STAGE_ATTEMPTS_MAX; i++) {
        struct sched_run run = next_of(s);
        cr_expect(run.stage == 1 && run.attempt == i);
        cr_expect(failed(s, run, SCHED_FETCH));
    }
    cr_expect_eq(sched_verdict(s), SCHED_STAGE_FAILED);
    sched_destroy(s);
}

Test(sched_fetch, who_began_before_a_failure_is_part_of_it)
{
    struct sched *s = cluster_of(1, 8);
    add_chained(s, 0, 1);
    add_chained(s, 1, 8);
    done(s, next_of(s));
    struct sched_run runs[8];
    for (uint32_t i = 0; i < 8; i++) runs[i] = next_of(s);
    for (uint32_t i = 0; i < 8; i++) { /* each time, the map output is made again before the next */
        fetch_failed(s, runs[i], 0, 0);
        done(s, next_of(s));
    }
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    finish(s);
    cr_expect(sched_stage_done(s, 1));
    sched_destroy(s);
}

Test(sched_fetch, an_executor_lost_while_others_fetch_from_it_drops_its_outputs_once)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 4);
    add_chained(s, 1, 2);
    for (uint32_t i = 0; i < 4; i++) next_of(s);
    for (uint32_t t = 0; t < 4; t++) cr_expect(sched_on_done(s, t % 2, 0, t, 0, 0));
    struct sched_run on_0 = next_of(s), on_1 = next_of(s);
    cr_expect(on_0.executor == 0 && on_1.executor == 1);
    fetch_failed(s, on_0, 0, 1);
    cr_expect_eq(sched_tasks_done(s, 0), 3);
    sched_on_executor_lost(s, 1, false, true);
    cr_expect_eq(sched_tasks_done(s, 0), 2);
    sched_on_output_lost(s, 0, 3, 1, 0); /* late news of the same */
    cr_expect_eq(sched_tasks_done(s, 0), 2);
    finish(s);
    cr_expect(sched_stage_done(s, 1));
    cr_expect_eq(sched_losses(s), 1);
    sched_destroy(s);
}
