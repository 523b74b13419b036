/* Speculation: second attempts of tasks that run far longer than the others of their stage. */
#include "tests/unit/driver/sched_help.h"

/* Executor i on node i; of one stage of `tasks`, all but the last `left` are done after `ms` each;
 * the runs of those are in out. */
static struct sched *nearly_done(uint32_t executors, uint32_t slots, uint32_t tasks, uint32_t left,
                                 uint64_t ms, struct sched_run *out)
{
    struct sched *s = sched_create(true);
    struct sched_run runs[64];
    cr_assert(s != NULL && tasks <= 64 && left <= tasks);
    for (uint32_t i = 0; i < executors; i++) cr_assert(sched_add_executor(s, i, slots, 0));
    add_chained(s, 0, tasks);
    for (uint32_t i = 0; i < tasks; i++) runs[i] = next_at(s, 0);
    for (uint32_t i = 0; i + left < tasks; i++) cr_assert(done_at(s, runs[i], ms * MS));
    for (uint32_t i = 0; i < left; i++) out[i] = runs[tasks - left + i];
    return s;
}

static bool nothing_at(struct sched *s, uint64_t now_ns)
{
    struct sched_run run;
    return !sched_next(s, now_ns, &run);
}

Test(sched_twin, one_that_runs_far_longer_than_others_gets_a_twin_on_another_node)
{
    struct sched_run slow;
    struct sched *s = nearly_done(3, 8, 16, 1, 1000, &slow);
    cr_expect(nothing_at(s, 1400 * MS));
    uint64_t wake = sched_wake_ns(s);
    cr_expect(wake > 1500 * MS && wake < 1700 * MS, "%llu", (unsigned long long)wake);
    cr_expect(nothing_at(s, wake - 1));
    struct sched_run twin = next_at(s, wake);
    cr_expect(twin.speculative && twin.task == slow.task && twin.attempt == 1);
    cr_expect_neq(twin.executor, slow.executor);
    cr_expect_eq(sched_running(s), 2);
    cr_expect_eq(sched_wake_ns(s), UINT64_MAX);
    cr_expect(nothing_at(s, 100000 * MS)); /* two at most */
    sched_destroy(s);
}

Test(sched_twin, the_first_that_ends_well_wins_and_the_other_is_late)
{
    for (uint32_t winner = 0; winner < 2; winner++) {
        struct sched_run both[2], other;
        uint32_t executor, attempt;
        struct sched *s = nearly_done(2, 8, 8, 1, 1000, both);
        cr_expect_not(sched_twin(s, 0, both[0].task, &other));
        both[1] = next_at(s, 9000 * MS);
        cr_expect_not(sched_twin(s, 0, both[0].task, &other), "none is done");
        cr_expect(done_at(s, both[winner], 9100 * MS));
        cr_expect(sched_stage_done(s, 0));
        cr_expect_eq(sched_running(s), 1, "the other one has its slot until it ends");
        cr_assert(sched_twin(s, 0, both[0].task, &other));
        cr_expect_eq(other.executor, both[1 - winner].executor);
        cr_expect_eq(other.attempt, both[1 - winner].attempt);
        cr_expect_eq(other.speculative, winner == 0);
        cr_expect_not(done_at(s, other, 9200 * MS));
        cr_expect_eq(sched_running(s), 0);
        cr_expect_not(sched_twin(s, 0, both[0].task, &other));
        cr_assert(sched_output(s, 0, both[0].task, &executor, &attempt));
        cr_expect(executor == both[winner].executor && attempt == both[winner].attempt);
        cr_expect_eq(sched_tasks_done(s, 0), 8);
        sched_destroy(s);
    }
}

Test(sched_twin, a_twin_that_was_told_to_end_may_fail_and_counts_for_nothing)
{
    struct sched_run slow;
    struct sched *s = nearly_done(2, 8, 8, 1, 1000, &slow);
    struct sched_run twin = next_at(s, 9000 * MS);
    cr_expect(done_at(s, twin, 9100 * MS));
    cr_expect_not(failed(s, slow, SCHED_FATAL));
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    cr_expect_eq(sched_running(s), 0);
    sched_destroy(s);
}

Test(sched_twin, if_one_fails_the_other_goes_on)
{
    for (uint32_t loser = 0; loser < 2; loser++) {
        struct sched_run both[2];
        struct sched *s = nearly_done(3, 8, 8, 1, 1000, both);
        both[1] = next_at(s, 9000 * MS);
        cr_expect(failed(s, both[loser], SCHED_OWN));
        cr_expect_eq(sched_running(s), 1);
        cr_expect_not(sched_waits(s, 0, both[loser].task), "no attempt more because of it");
        cr_expect(nothing_at(s, 9000 * MS) || loser == 1);
        cr_expect(done_at(s, both[1 - loser], 9100 * MS));
        cr_expect(sched_stage_done(s, 0));
        sched_destroy(s);
    }
}

Test(sched_twin, failures_of_both_are_counted_for_the_task)
{
    struct sched_run slow;
    struct sched *s = nearly_done(4, 16, 16, 1, 1000, &slow);
    for (uint32_t i = 0; i + 1 < TASK_ATTEMPTS_MAX; i++) {
        struct sched_run twin = next_at(s, 100000 * MS);
        cr_expect(twin.speculative && twin.attempt == i + 1);
        cr_expect(failed(s, twin, SCHED_OWN));
    }
    cr_expect_eq(sched_verdict(s), SCHED_GOES_ON);
    cr_expect(failed(s, slow, SCHED_OWN));
    cr_expect_eq(sched_verdict(s), SCHED_TASK_FAILED);
    sched_destroy(s);
}

Test(sched_twin, a_lost_executor_takes_only_its_own_of_both)
{
    for (uint32_t lost = 0; lost < 2; lost++) {
        struct sched_run both[2];
        struct sched *s = nearly_done(2, 8, 8, 1, 1000, both);
        both[1] = next_at(s, 9000 * MS);
        sched_on_executor_lost(s, both[lost].executor, true, true);
        cr_expect_eq(sched_running(s), 1);
        cr_expect_not(done_at(s, both[lost], 9100 * MS));
        cr_expect(done_at(s, both[1 - lost], 9100 * MS));
        cr_expect(sched_stage_done(s, 0));
        sched_destroy(s);
    }
}

Test(sched_twin, before_three_in_four_are_done_nobody_is_slow)
{
    struct sched_run slow[17];
    struct sched *s = nearly_done(3, 16, 32, 9, 1000, slow);
    cr_expect(nothing_at(s, 100000 * MS));
    cr_expect_eq(sched_wake_ns(s), UINT64_MAX);
    cr_expect(done_at(s, slow[0], 100000 * MS));
    cr_expect(next_at(s, 100000 * MS).speculative);
    sched_destroy(s);
}

Test(sched_twin, short_tasks_get_none)
{
    struct sched_run slow;
    struct sched *s = nearly_done(2, 8, 8, 1, 1, &slow);
    cr_expect(nothing_at(s, SCHED_SPECULATE_NS_MIN - 1));
    cr_expect_eq(sched_wake_ns(s), SCHED_SPECULATE_NS_MIN);
    cr_expect(next_at(s, SCHED_SPECULATE_NS_MIN).speculative);
    sched_destroy(s);
}

Test(sched_twin, tasks_that_wait_come_first)
{
    struct sched_run slow[2];
    struct sched *s = nearly_done(3, 8, 16, 2, 1000, slow);
    cr_expect(failed(s, slow[0], SCHED_OWN));
    struct sched_run first = next_at(s, 9000 * MS), second = next_at(s, 9000 * MS);
    cr_expect(!first.speculative && first.task == slow[0].task);
    cr_expect(second.speculative && second.task == slow[1].task);
    sched_destroy(s);
}

Test(sched_twin, without_another_node_there_is_none_and_no_time_to_wake_at)
{
    struct sched *s = sched_create(true);
    cr_assert(sched_add_executor(s, 4, 8, 0) && sched_add_executor(s, 4, 8, 0));
    add_chained(s, 0, 4);
    struct sched_run runs[4];
    for (uint32_t i = 0; i < 4; i++) runs[i] = next_at(s, 0);
    for (uint32_t i = 0; i < 3; i++) cr_expect(done_at(s, runs[i], 1000 * MS));
    cr_expect(nothing_at(s, 90000 * MS));
    cr_expect_eq(sched_wake_ns(s), UINT64_MAX, "or the driver would spin");
    cr_assert(sched_add_executor(s, 5, 1, 0));
    struct sched_run twin = next_at(s, 90000 * MS);
    cr_expect(twin.speculative && twin.executor == 2);
    sched_destroy(s);
}

Test(sched_twin, unless_it_is_asked_for_there_is_none)
{
    struct sched *s = cluster_of(2, 8);
    add_chained(s, 0, 8);
    struct sched_run runs[8];
    for (uint32_t i = 0; i < 8; i++) runs[i] = next_at(s, 0);
    for (uint32_t i = 0; i < 7; i++) cr_expect(done_at(s, runs[i], 1000 * MS));
    cr_expect(nothing_at(s, UINT64_MAX));
    cr_expect_eq(sched_wake_ns(s), UINT64_MAX);
    sched_destroy(s);
}

Test(sched_twin, an_output_lost_while_the_twin_still_ends_is_made_anew)
{
    struct sched_run slow, other;
    struct sched *s = sched_create(true);
    cr_assert(sched_add_executor(s, 0, 8, 0) && sched_add_executor(s, 1, 8, 0));
    add_chained(s, 0, 4);
    add_chained(s, 1, 1);
    struct sched_run runs[4];
    for (uint32_t i = 0; i < 4; i++) runs[i] = next_at(s, 0);
    for (uint32_t i = 0; i < 3; i++) cr_expect(done_at(s, runs[i], 1000 * MS));
    slow = runs[3];
    struct sched_run twin = next_at(s, 9000 * MS);
    cr_expect(done_at(s, twin, 9100 * MS));
    cr_assert(sched_twin(s, 0, 3, &other));
    sched_on_output_lost(s, 0, 3, twin.executor, twin.attempt);
    cr_expect_not(sched_twin(s, 0, 3, &other));
    struct sched_run again = next_at(s, 9200 * MS);
    cr_expect(again.task == 3 && again.attempt == 2);
    cr_expect_not(done_at(s, slow, 9300 * MS), "it was told to end");
    cr_expect_not(sched_stage_done(s, 0));
    cr_expect(done_at(s, again, 9400 * MS));
    cr_expect(sched_stage_done(s, 0));
    cr_expect_eq(sched_running(s), 0);
    sched_destroy(s);
}
