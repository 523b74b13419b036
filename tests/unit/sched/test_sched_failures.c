/* The scheduler when executors and map outputs are lost: what runs again, what counts, what ends
 * the job. */
#include "tests/unit/sched/sched_helpers.h"

/* ---- Lost executors */

Test(sched_executor_loss, lost_tasks_retry_and_are_not_counted)
{
    struct sched *s = cluster_of(EXECUTOR_FAILURES_MAX + 1, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i < EXECUTOR_FAILURES_MAX; i++) {
        struct task_attempt run = next_of(s);
        cr_expect_eq(run.attempt, i, "attempt numbers are not reused");
        sched_on_executor_lost(s, run.executor, false, true);
        cr_expect_eq(sched_busy_slots(s), 0);
        cr_expect_not(done(s, run), "messages of a lost executor are ignored");
    }
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    cr_expect_eq(sched_lost_executor_count(s), EXECUTOR_FAILURES_MAX);
    cr_expect(sched_task_is_waiting(s, 0, 0));
    finish(s);
    cr_expect(sched_stage_is_done(s, 0));
    sched_destroy(s);
}

Test(sched_executor_loss, task_killing_each_executor_fails_job)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i < TASK_ATTEMPTS_MAX; i++) {
        cr_expect_eq(sched_status(s), SCHED_RUNNING);
        struct task_attempt run = next_of(s);
        sched_on_executor_lost(s, run.executor, true, true);
        cr_assert(sched_add_executor(s, i % 2, 1, 0)); /* its process is restarted on its node */
    }
    cr_expect_eq(sched_status(s), SCHED_TASK_FAILED);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched_executor_loss, crash_counts_against_all_running_tasks)
{
    struct sched *s = cluster_of(1, 3);
    add_chained(s, 0, 3);
    for (uint32_t i = 0; i < TASK_ATTEMPTS_MAX; i++) {
        for (uint32_t t = 0; t < 3; t++) expect_next(s, i, 0, t, i);
        sched_on_executor_lost(s, i, true, true);
        cr_assert(sched_add_executor(s, 0, 3, 0));
    }
    cr_expect(sched_stage_has_failed(s, 0));
    sched_destroy(s);
}

Test(sched_executor_loss, losses_beyond_the_limit_fail_the_job)
{
    struct sched *s = cluster_of(EXECUTOR_FAILURES_MAX + 2, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i < EXECUTOR_FAILURES_MAX; i++) sched_on_executor_lost(s, i, false, true);
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    sched_on_executor_lost(s, 0, false, true); /* a second loss of it is ignored */
    cr_expect_eq(sched_lost_executor_count(s), EXECUTOR_FAILURES_MAX);
    sched_on_executor_lost(s, EXECUTOR_FAILURES_MAX, false, true);
    cr_expect_eq(sched_status(s), SCHED_TOO_MANY_LOSSES);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched_executor_loss, executor_joining_midway_gets_tasks)
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
    cr_expect_eq(usable_executors(s), 20);
    sched_destroy(s);
}

Test(sched_executor_loss, new_executor_replaces_the_last_lost_one)
{
    struct sched *s = cluster_of(1, 2);
    add_chained(s, 0, 2);
    add_chained(s, 1, 1);
    finish(s);
    sched_on_executor_lost(s, 0, false, true);
    cr_expect_eq(usable_executors(s), 0);
    cr_expect(sched_stage_is_done(s, 1), "the driver has the results of the last stage");
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

Test(sched_drain, draining_executor_finishes_without_new_tasks)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 5);
    struct task_attempt first = next_of(s);
    cr_expect_eq(first.executor, 0);
    sched_on_executor_draining(s, 0);
    sched_on_executor_draining(s, 0); /* a second call is ignored */
    cr_expect_eq(usable_executors(s), 1);
    expect_next(s, 1, 0, 1, 0);
    expect_next(s, 1, 0, 2, 0);
    expect_nothing(s);
    cr_expect(done(s, first));
    expect_nothing(s);
    cr_expect_eq(place_of(s, 0, 0), 0);
    sched_destroy(s);
}

Test(sched_suspect, suspect_executor_gets_no_tasks_until_alive)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 4);
    expect_next(s, 0, 0, 0, 0);
    sched_on_executor_suspect(s, 0, true);
    sched_on_executor_suspect(s, 9, true); /* no such executor */
    expect_next(s, 1, 0, 1, 0);
    expect_next(s, 1, 0, 2, 0);
    expect_nothing(s);
    cr_expect_eq(usable_executors(s), 2);
    sched_on_executor_suspect(s, 0, false);
    expect_next(s, 0, 0, 3, 0);
    sched_destroy(s);
}

Test(sched_drain, drain_counts_as_neither_loss_nor_failure)
{
    struct sched *s = cluster_of(3 * EXECUTOR_FAILURES_MAX, 1);
    add_chained(s, 0, 1);
    for (uint32_t i = 0; i + 1 < 3 * EXECUTOR_FAILURES_MAX; i++) {
        struct task_attempt run = next_of(s);
        sched_on_executor_draining(s, run.executor);
        sched_on_executor_lost(s, run.executor, false, false);
    }
    cr_expect_eq(sched_lost_executor_count(s), 0);
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    cr_expect_eq(usable_executors(s), 1);
    finish(s);
    cr_expect(sched_stage_is_done(s, 0));
    sched_destroy(s);
}

Test(sched_drain, outputs_of_drained_executor_are_recomputed)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 2);
    add_chained(s, 1, 1);
    expect_next(s, 0, 0, 0, 0);
    expect_next(s, 1, 0, 1, 0);
    cr_expect(sched_on_task_done(s, 0, 0, 0, 0, 0) && sched_on_task_done(s, 1, 0, 1, 0, 0));
    sched_on_executor_draining(s, 0);
    cr_expect(sched_stage_is_done(s, 0)); /* its outputs are available until it is lost */
    sched_on_executor_lost(s, 0, false, false);
    cr_expect_not(sched_stage_is_done(s, 0));
    expect_next(s, 1, 0, 0, 1);
    sched_destroy(s);
}

/* ---- Lineage */

Test(sched_lineage, only_lost_outputs_are_recomputed)
{
    struct sched *s = cluster_of(4, 2);
    add_chained(s, 0, 8);
    add_chained(s, 1, 2);
    for (uint32_t i = 0; i < 8; i++) next_of(s);
    for (uint32_t t = 0; t < 8; t++) cr_expect(sched_on_task_done(s, t % 4, 0, t, 0, 0));
    sched_on_executor_lost(s, 2, false, true);
    cr_expect_eq(sched_done_task_count(s, 0), 6);
    struct task_attempt a = next_of(s), b = next_of(s);
    cr_expect(a.stage == 0 && a.task == 2 && a.attempt == 1);
    cr_expect(b.stage == 0 && b.task == 6 && b.attempt == 1);
    expect_nothing(s); /* stage 1 waits */
    cr_expect(done(s, a) && done(s, b));
    finish(s);
    cr_expect(sched_stage_is_done(s, 1));
    sched_destroy(s);
}

Test(sched_lineage, lost_ancestors_are_recomputed_as_needed)
{
    struct sched *s = cluster_of(2, 1);
    for (uint32_t i = 0; i < 4; i++) add_chained(s, i, 2);
    for (uint32_t i = 0; i < 6; i++) done(s, next_of(s)); /* one at a time: all on executor 0 */
    cr_expect(sched_stage_is_done(s, 2));
    cr_expect_not(sched_stage_is_needed(s, 0) || sched_stage_is_needed(s, 1));
    cr_expect(sched_stage_is_needed(s, 2) && sched_stage_is_needed(s, 3));
    expect_next(s, 0, 3, 0, 0);
    sched_on_executor_lost(s, 0, false, true);
    for (uint32_t i = 0; i < 4; i++) cr_expect(sched_stage_is_needed(s, i));
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t t = 0; t < 2; t++) {
            struct task_attempt run = next_of(s);
            cr_expect(run.stage == i && run.task == t && run.executor == 1);
            cr_expect(done(s, run));
        }
    cr_expect(sched_stage_is_done(s, 3));
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    sched_destroy(s);
}

Test(sched_lineage, stage_with_finished_children_is_not_rerun)
{
    struct sched *s = cluster_of(2, 1);
    for (uint32_t i = 0; i < 3; i++) add_chained(s, i, 2);
    done(s, next_of(s)); /* stage 0 on executor 0 */
    done(s, next_of(s));
    sched_on_executor_draining(s, 0);
    done(s, next_of(s)); /* stage 1 on executor 1 */
    done(s, next_of(s));
    sched_on_executor_lost(s, 0, false, false);
    cr_expect_eq(sched_done_task_count(s, 0), 0);
    cr_expect_not(sched_stage_is_needed(s, 0));
    expect_next(s, 1, 2, 0, 0);
    sched_destroy(s);
}

Test(sched_lineage, unfinished_child_needs_its_parent)
{
    struct sched *s = cluster_of(1, 1);
    uint32_t zero = 0, both[] = {1, 2};
    cr_assert(sched_add_stage(s, 1, NULL, 0));
    cr_assert(sched_add_stage(s, 1, &zero, 1));
    cr_assert(sched_add_stage(s, 1, &zero, 1));
    cr_assert(sched_add_stage(s, 1, both, 2));
    done(s, next_of(s));
    done(s, next_of(s));
    cr_expect(sched_stage_is_done(s, 1));
    sched_on_map_output_lost(s, 0, 0, 0, 0);
    cr_expect(sched_stage_is_needed(s, 0));
    expect_next(s, 0, 0, 0, 1);
    sched_destroy(s);
}

Test(sched_lineage, running_reducers_survive_map_output_loss)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 1);
    add_chained(s, 1, 3);
    done(s, next_of(s));
    struct task_attempt a = next_of(s), b = next_of(s);
    sched_on_map_output_lost(s, 0, 0, 0, 0);
    cr_expect_eq(sched_busy_slots(s), 2);
    struct task_attempt map = next_of(s);
    cr_expect(map.stage == 0 && map.attempt == 1);
    expect_nothing(s); /* task 2 of stage 1 waits for it */
    cr_expect(done(s, a), "the attempt fetched the output before it was lost");
    cr_expect(done(s, b));
    cr_expect(done(s, map));
    struct task_attempt last = next_of(s);
    cr_expect(last.stage == 1 && last.task == 2);
    sched_destroy(s);
}

Test(sched_lineage, final_stage_results_are_never_lost)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 2);
    struct task_attempt run = next_of(s);
    done(s, run);
    sched_on_map_output_lost(s, 0, run.task, run.executor, run.attempt);
    sched_on_executor_lost(s, run.executor, true, true);
    cr_expect_eq(sched_done_task_count(s, 0), 1);
    expect_next(s, 1, 0, 1, 0);
    sched_destroy(s);
}

Test(sched_lineage, loss_of_a_moved_output_is_ignored)
{
    struct sched *s = cluster_of(2, 1);
    add_chained(s, 0, 1);
    add_chained(s, 1, 1);
    done(s, next_of(s));
    sched_on_map_output_lost(s, 0, 0, 0, 0);
    sched_on_executor_draining(s, 0);
    struct task_attempt again = next_of(s);
    done(s, again);
    cr_expect_eq(place_of(s, 0, 0), 1);
    sched_on_map_output_lost(s, 0, 0, 0, 0); /* the old location */
    sched_on_map_output_lost(s, 0, 0, 1, 0); /* the old attempt */
    cr_expect(sched_stage_is_done(s, 0));
    sched_on_map_output_lost(s, 0, 0, 1, again.attempt);
    cr_expect_not(sched_stage_is_done(s, 0));
    sched_destroy(s);
}

Test(sched_lineage, failure_in_an_unneeded_stage_is_ignored)
{
    struct sched *s = cluster_of(1, 4);
    add_chained(s, 0, 1);
    add_chained(s, 1, 1);
    done(s, next_of(s));
    struct task_attempt reduce = next_of(s);
    sched_on_map_output_lost(s, 0, 0, 0, 0);
    struct task_attempt map = next_of(s);
    cr_expect_eq(map.stage, 0);
    cr_expect(done(s, reduce));
    cr_expect_not(sched_stage_is_needed(s, 0));
    cr_expect(failed(s, map, SCHED_FATAL_ERROR));
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    cr_expect(sched_stage_is_done(s, 1));
    expect_nothing(s);
    cr_expect_eq(sched_busy_slots(s), 0);
    sched_destroy(s);
}

/* ---- Failed fetches */

Test(sched_fetch_failure, concurrent_failures_count_once)
{
    struct sched *s = cluster_of(2, 40);
    add_chained(s, 0, 4);
    add_chained(s, 1, 40);
    for (uint32_t i = 0; i < 4; i++) done(s, next_of(s));
    struct task_attempt runs[40];
    for (uint32_t i = 0; i < 40; i++) runs[i] = next_of(s);
    for (uint32_t i = 0; i < 40; i++)
        if (runs[i].executor == 1) fetch_failed(s, runs[i], 0, i % 4);
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    cr_expect_not(sched_stage_has_failed(s, 1));
    finish(s);
    cr_expect_eq(sched_done_task_count(s, 1), 20);
    sched_destroy(s);
}

Test(sched_fetch_failure, four_in_a_row_fail_the_stage)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 1);
    add_chained(s, 1, 2);
    for (uint32_t i = 0; i < STAGE_ATTEMPTS_MAX; i++) {
        cr_expect_eq(sched_status(s), SCHED_RUNNING);
        done(s, next_of(s));
        struct task_attempt a = next_of(s), b = next_of(s);
        cr_expect(a.stage == 1 && b.stage == 1);
        fetch_failed(s, a, 0, 0);
        fetch_failed(s, b, 0, 0);
    }
    cr_expect(sched_stage_has_failed(s, 1));
    cr_expect_eq(sched_status(s), SCHED_STAGE_FAILED);
    expect_nothing(s);
    sched_destroy(s);
}

Test(sched_fetch_failure, finished_task_resets_the_count)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 1);
    add_chained(s, 1, 6);
    done(s, next_of(s));
    for (uint32_t task = 0; task < 6; task++) {
        for (uint32_t i = 0; i + 1 < STAGE_ATTEMPTS_MAX; i++) {
            struct task_attempt run = next_of(s);
            cr_expect(run.stage == 1 && run.task == task);
            fetch_failed(s, run, 0, 0);
            done(s, next_of(s)); /* the map task */
        }
        struct task_attempt run = next_of(s);
        cr_expect_eq(run.attempt, STAGE_ATTEMPTS_MAX - 1);
        cr_expect(done(s, run));
    }
    cr_expect(sched_stage_is_done(s, 1));
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    sched_destroy(s);
}

Test(sched_fetch_failure, failures_of_two_stages_do_not_add_up)
{
    struct sched *s = cluster_of(1, 1);
    for (uint32_t i = 0; i < 3; i++) add_chained(s, i, 1);
    done(s, next_of(s));
    for (uint32_t stage = 1; stage < 3; stage++) {
        for (uint32_t i = 0; i + 1 < STAGE_ATTEMPTS_MAX; i++) {
            struct task_attempt run = next_of(s);
            cr_expect_eq(run.stage, stage);
            fetch_failed(s, run, stage - 1, 0);
            done(s, next_of(s));
        }
        cr_expect(done(s, next_of(s)));
    }
    cr_expect(sched_stage_is_done(s, 2));
    sched_destroy(s);
}

Test(sched_fetch_failure, is_not_counted_against_the_task)
{
    struct sched *s = cluster_of(1, 2);
    add_chained(s, 0, 1);
    add_chained(s, 1, 2);
    done(s, next_of(s));
    for (uint32_t i = 0; i < 2; i++) {
        struct task_attempt run = next_of(s);
        fetch_failed(s, run, 0, 0);
        done(s, next_of(s));
        cr_expect(failed(s, next_of(s), SCHED_TASK_ERROR));
    }
    struct task_attempt run = next_of(s);
    cr_expect(run.task == 0 && run.attempt == 4);
    fetch_failed(s, run, 0, 0);
    done(s, next_of(s));
    cr_expect(failed(s, next_of(s), SCHED_TASK_ERROR));
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    cr_expect(failed(s, next_of(s), SCHED_TASK_ERROR));
    cr_expect_eq(sched_status(s), SCHED_TASK_FAILED);
    sched_destroy(s);
}

Test(sched_fetch_failure, limit_applies_without_a_lost_output)
{
    struct sched *s = cluster_of(1, 1);
    add_chained(s, 0, 1);
    add_chained(s, 1, 1);
    done(s, next_of(s));
    for (uint32_t i = 0; i < STAGE_ATTEMPTS_MAX; i++) {
        struct task_attempt run = next_of(s);
        cr_expect(run.stage == 1 && run.attempt == i);
        cr_expect(failed(s, run, SCHED_FETCH_ERROR));
    }
    cr_expect_eq(sched_status(s), SCHED_STAGE_FAILED);
    sched_destroy(s);
}

Test(sched_fetch_failure, already_running_tasks_count_once)
{
    struct sched *s = cluster_of(1, 8);
    add_chained(s, 0, 1);
    add_chained(s, 1, 8);
    done(s, next_of(s));
    struct task_attempt runs[8];
    for (uint32_t i = 0; i < 8; i++) runs[i] = next_of(s);
    for (uint32_t i = 0; i < 8; i++) { /* each time the map output is recomputed before the next */
        fetch_failed(s, runs[i], 0, 0);
        done(s, next_of(s));
    }
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    finish(s);
    cr_expect(sched_stage_is_done(s, 1));
    sched_destroy(s);
}

Test(sched_fetch_failure, executor_loss_drops_its_outputs_once)
{
    struct sched *s = cluster_of(2, 2);
    add_chained(s, 0, 4);
    add_chained(s, 1, 2);
    for (uint32_t i = 0; i < 4; i++) next_of(s);
    for (uint32_t t = 0; t < 4; t++) cr_expect(sched_on_task_done(s, t % 2, 0, t, 0, 0));
    struct task_attempt on_0 = next_of(s), on_1 = next_of(s);
    cr_expect(on_0.executor == 0 && on_1.executor == 1);
    fetch_failed(s, on_0, 0, 1);
    cr_expect_eq(sched_done_task_count(s, 0), 3);
    sched_on_executor_lost(s, 1, false, true);
    cr_expect_eq(sched_done_task_count(s, 0), 2);
    sched_on_map_output_lost(s, 0, 3, 1, 0); /* a stale report of the same output */
    cr_expect_eq(sched_done_task_count(s, 0), 2);
    finish(s);
    cr_expect(sched_stage_is_done(s, 1));
    cr_expect_eq(sched_lost_executor_count(s), 1);
    sched_destroy(s);
}
