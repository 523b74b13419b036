/* Speculation: copies of tasks that run far longer than the others of their stage. */
#include "tests/unit/sched/sched_helpers.h"

/* Executor i on node i; of one stage of `tasks`, all but the last `left` are done after `ms` each.
 * Sets out[] to the attempts of those. */
static struct sched *nearly_done(uint32_t executors, uint32_t slots, uint32_t tasks, uint32_t left,
                                 uint64_t ms, struct task_attempt *out)
{
    struct sched *s = sched_create(true);
    struct task_attempt runs[64];
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
    struct task_attempt run;
    return !sched_next_task(s, now_ns, &run);
}

Test(sched_speculation, slow_task_gets_a_copy_on_another_node)
{
    struct task_attempt slow;
    struct sched *s = nearly_done(3, 8, 16, 1, 1000, &slow);
    cr_expect(nothing_at(s, 1400 * MS));
    uint64_t wake = sched_next_wakeup_ns(s);
    cr_expect(wake > 1500 * MS && wake < 1700 * MS, "%llu", (unsigned long long)wake);
    cr_expect(nothing_at(s, wake - 1));
    struct task_attempt other_copy = next_at(s, wake);
    cr_expect(other_copy.speculative && other_copy.task == slow.task && other_copy.attempt == 1);
    cr_expect_neq(other_copy.executor, slow.executor);
    cr_expect_eq(sched_busy_slots(s), 2);
    cr_expect_eq(sched_next_wakeup_ns(s), UINT64_MAX);
    cr_expect(nothing_at(s, 100000 * MS)); /* at most two attempts */
    sched_destroy(s);
}

Test(sched_speculation, first_success_wins)
{
    for (uint32_t winner = 0; winner < 2; winner++) {
        struct task_attempt both[2], other;
        uint32_t executor, attempt;
        struct sched *s = nearly_done(2, 8, 8, 1, 1000, both);
        cr_expect_not(sched_superseded_copy(s, 0, both[0].task, &other));
        both[1] = next_at(s, 9000 * MS);
        cr_expect_not(sched_superseded_copy(s, 0, both[0].task, &other), "no attempt has finished");
        cr_expect(done_at(s, both[winner], 9100 * MS));
        cr_expect(sched_stage_is_done(s, 0));
        cr_expect_eq(sched_busy_slots(s), 1, "the other attempt occupies its slot until it ends");
        cr_assert(sched_superseded_copy(s, 0, both[0].task, &other));
        cr_expect_eq(other.executor, both[1 - winner].executor);
        cr_expect_eq(other.attempt, both[1 - winner].attempt);
        cr_expect_eq(other.speculative, winner == 0);
        cr_expect_not(done_at(s, other, 9200 * MS));
        cr_expect_eq(sched_busy_slots(s), 0);
        cr_expect_not(sched_superseded_copy(s, 0, both[0].task, &other));
        cr_assert(sched_output_location(s, 0, both[0].task, &executor, &attempt));
        cr_expect(executor == both[winner].executor && attempt == both[winner].attempt);
        cr_expect_eq(sched_done_task_count(s, 0), 8);
        sched_destroy(s);
    }
}

Test(sched_speculation, failure_of_superseded_attempt_is_ignored)
{
    struct task_attempt slow;
    struct sched *s = nearly_done(2, 8, 8, 1, 1000, &slow);
    struct task_attempt other_copy = next_at(s, 9000 * MS);
    cr_expect(done_at(s, other_copy, 9100 * MS));
    cr_expect_not(failed(s, slow, SCHED_FATAL_ERROR));
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    cr_expect_eq(sched_busy_slots(s), 0);
    sched_destroy(s);
}

Test(sched_speculation, other_copy_continues_after_a_failure)
{
    for (uint32_t loser = 0; loser < 2; loser++) {
        struct task_attempt both[2];
        struct sched *s = nearly_done(3, 8, 8, 1, 1000, both);
        both[1] = next_at(s, 9000 * MS);
        cr_expect(failed(s, both[loser], SCHED_TASK_ERROR));
        cr_expect_eq(sched_busy_slots(s), 1);
        cr_expect_not(sched_task_is_waiting(s, 0, both[loser].task),
                      "the failure starts no new attempt");
        cr_expect(nothing_at(s, 9000 * MS) || loser == 1);
        cr_expect(done_at(s, both[1 - loser], 9100 * MS));
        cr_expect(sched_stage_is_done(s, 0));
        sched_destroy(s);
    }
}

Test(sched_speculation, failures_of_both_copies_count)
{
    struct task_attempt slow;
    struct sched *s = nearly_done(4, 16, 16, 1, 1000, &slow);
    for (uint32_t i = 0; i + 1 < TASK_ATTEMPTS_MAX; i++) {
        struct task_attempt other_copy = next_at(s, 100000 * MS);
        cr_expect(other_copy.speculative && other_copy.attempt == i + 1);
        cr_expect(failed(s, other_copy, SCHED_TASK_ERROR));
    }
    cr_expect_eq(sched_status(s), SCHED_RUNNING);
    cr_expect(failed(s, slow, SCHED_TASK_ERROR));
    cr_expect_eq(sched_status(s), SCHED_TASK_FAILED);
    sched_destroy(s);
}

Test(sched_speculation, executor_loss_ends_only_its_own_copy)
{
    for (uint32_t lost = 0; lost < 2; lost++) {
        struct task_attempt both[2];
        struct sched *s = nearly_done(2, 8, 8, 1, 1000, both);
        both[1] = next_at(s, 9000 * MS);
        sched_on_executor_lost(s, both[lost].executor, true, true);
        cr_expect_eq(sched_busy_slots(s), 1);
        cr_expect_not(done_at(s, both[lost], 9100 * MS));
        cr_expect(done_at(s, both[1 - lost], 9100 * MS));
        cr_expect(sched_stage_is_done(s, 0));
        sched_destroy(s);
    }
}

Test(sched_speculation, no_copy_before_three_quarters_finish)
{
    struct task_attempt slow[17];
    struct sched *s = nearly_done(3, 16, 32, 9, 1000, slow);
    cr_expect(nothing_at(s, 100000 * MS));
    cr_expect_eq(sched_next_wakeup_ns(s), UINT64_MAX);
    cr_expect(done_at(s, slow[0], 100000 * MS));
    cr_expect(next_at(s, 100000 * MS).speculative);
    sched_destroy(s);
}

Test(sched_speculation, short_tasks_get_no_copy)
{
    struct task_attempt slow;
    struct sched *s = nearly_done(2, 8, 8, 1, 1, &slow);
    cr_expect(nothing_at(s, SCHED_SPECULATE_NS_MIN - 1));
    cr_expect_eq(sched_next_wakeup_ns(s), SCHED_SPECULATE_NS_MIN);
    cr_expect(next_at(s, SCHED_SPECULATE_NS_MIN).speculative);
    sched_destroy(s);
}

Test(sched_speculation, waiting_tasks_start_before_copies)
{
    struct task_attempt slow[2];
    struct sched *s = nearly_done(3, 8, 16, 2, 1000, slow);
    cr_expect(failed(s, slow[0], SCHED_TASK_ERROR));
    struct task_attempt first = next_at(s, 9000 * MS), second = next_at(s, 9000 * MS);
    cr_expect(!first.speculative && first.task == slow[0].task);
    cr_expect(second.speculative && second.task == slow[1].task);
    sched_destroy(s);
}

Test(sched_speculation, no_copy_or_wakeup_without_another_node)
{
    struct sched *s = sched_create(true);
    cr_assert(sched_add_executor(s, 4, 8, 0) && sched_add_executor(s, 4, 8, 0));
    add_chained(s, 0, 4);
    struct task_attempt runs[4];
    for (uint32_t i = 0; i < 4; i++) runs[i] = next_at(s, 0);
    for (uint32_t i = 0; i < 3; i++) cr_expect(done_at(s, runs[i], 1000 * MS));
    cr_expect(nothing_at(s, 90000 * MS));
    cr_expect_eq(sched_next_wakeup_ns(s), UINT64_MAX, "else the driver would loop");
    cr_assert(sched_add_executor(s, 5, 1, 0));
    struct task_attempt other_copy = next_at(s, 90000 * MS);
    cr_expect(other_copy.speculative && other_copy.executor == 2);
    sched_destroy(s);
}

Test(sched_speculation, no_copy_unless_enabled)
{
    struct sched *s = cluster_of(2, 8);
    add_chained(s, 0, 8);
    struct task_attempt runs[8];
    for (uint32_t i = 0; i < 8; i++) runs[i] = next_at(s, 0);
    for (uint32_t i = 0; i < 7; i++) cr_expect(done_at(s, runs[i], 1000 * MS));
    cr_expect(nothing_at(s, UINT64_MAX));
    cr_expect_eq(sched_next_wakeup_ns(s), UINT64_MAX);
    sched_destroy(s);
}

Test(sched_speculation, output_lost_while_copy_ends_is_recomputed)
{
    struct task_attempt slow, other;
    struct sched *s = sched_create(true);
    cr_assert(sched_add_executor(s, 0, 8, 0) && sched_add_executor(s, 1, 8, 0));
    add_chained(s, 0, 4);
    add_chained(s, 1, 1);
    struct task_attempt runs[4];
    for (uint32_t i = 0; i < 4; i++) runs[i] = next_at(s, 0);
    for (uint32_t i = 0; i < 3; i++) cr_expect(done_at(s, runs[i], 1000 * MS));
    slow = runs[3];
    struct task_attempt other_copy = next_at(s, 9000 * MS);
    cr_expect(done_at(s, other_copy, 9100 * MS));
    cr_assert(sched_superseded_copy(s, 0, 3, &other));
    sched_on_map_output_lost(s, 0, 3, other_copy.executor, other_copy.attempt);
    cr_expect_not(sched_superseded_copy(s, 0, 3, &other));
    struct task_attempt again = next_at(s, 9200 * MS);
    cr_expect(again.task == 3 && again.attempt == 2);
    cr_expect_not(done_at(s, slow, 9300 * MS), "the attempt was superseded");
    cr_expect_not(sched_stage_is_done(s, 0));
    cr_expect(done_at(s, again, 9400 * MS));
    cr_expect(sched_stage_is_done(s, 0));
    cr_expect_eq(sched_busy_slots(s), 0);
    sched_destroy(s);
}
