/* Prefetch: when and where tasks are queued, and how they are revoked. */
#include "tests/unit/sched/sched_helpers.h"

/* Executor i on node i, with a prefetch of as many tasks as it has slots; one stage. */
static struct sched *queues_of(uint32_t executors, uint32_t slots, uint32_t tasks)
{
    struct sched *s = sched_create(true);
    cr_assert_not_null(s);
    for (uint32_t i = 0; i < executors; i++) cr_assert(sched_add_executor(s, i, slots, slots));
    add_chained(s, 0, tasks);
    return s;
}

static struct task_attempt expect_place(struct sched *s, uint32_t executor, uint32_t task,
                                        bool queued)
{
    struct task_attempt run = next_of(s);
    cr_expect_eq(run.executor, executor, "executor %u, not %u", run.executor, executor);
    cr_expect_eq(run.task, task, "task %u, not %u", run.task, task);
    cr_expect_eq(run.queued, queued);
    return run;
}

static void expect_no_revoke(struct sched *s)
{
    struct task_attempt run;
    expect_nothing(s);
    cr_expect_not(sched_revoke_queued(s, &run));
}

static struct task_attempt revoke_of(struct sched *s)
{
    struct task_attempt run = {.executor = SCHED_NONE};
    expect_nothing(s);
    cr_assert(sched_revoke_queued(s, &run));
    return run;
}

Test(sched_prefetch, tasks_queue_while_enough_remain_for_slots)
{
    struct sched *s = queues_of(2, 1, 6);
    struct task_attempt first = expect_place(s, 0, 0, false);
    expect_place(s, 1, 1, false);
    struct task_attempt second = expect_place(s, 0, 2, true);
    expect_place(s, 1, 3, true);
    expect_no_revoke(s); /* two tasks wait, but both queues are full */
    cr_expect_eq(sched_busy_slots(s), 2);
    cr_expect(done(s, first)); /* the queued one gets its slot */
    cr_expect_eq(sched_busy_slots_on(s, 0), 1);
    expect_place(s, 0, 4, true);
    expect_no_revoke(s); /* one waits for the first free slot */
    cr_expect(done(s, second));
    expect_no_revoke(s);
    sched_destroy(s);
}

/* In the order in which they were queued, not of their numbers. */
Test(sched_prefetch, several_tasks_queue_behind_one_slot)
{
    struct sched *s = sched_create(false);
    struct task_attempt runs[1 + SCHED_PREFETCH];
    cr_assert(sched_add_executor(s, 0, 1, sched_prefetch_limit(1)));
    add_chained(s, 0, 9);
    for (uint32_t i = 0; i < 1 + SCHED_PREFETCH; i++) runs[i] = expect_place(s, 0, i, i > 0);
    expect_no_revoke(s);
    for (uint32_t i = 0; i < 1 + SCHED_PREFETCH; i++) {
        struct task_attempt run;
        uint32_t at = 0;
        while (sched_each_attempt_on(s, 0, &at, &run)) cr_expect_eq(run.queued, run.task != i);
        cr_expect(done(s, runs[i]));
        if (i < 3) runs[i] = expect_place(s, 0, 1 + SCHED_PREFETCH + i, true);
    }
    sched_destroy(s);
    cr_expect_eq(sched_prefetch_limit(16), SCHED_PREFETCH_MAX);
    cr_expect_eq(sched_prefetch_limit(SLOTS_MAX), SLOTS_MAX);
}

Test(sched_prefetch, free_slots_fill_before_queues)
{
    struct sched *s = sched_create(false);
    cr_assert(sched_add_executor(s, 0, 4, 4) && sched_add_executor(s, 1, 1, 1));
    add_chained(s, 0, 20);
    for (uint32_t t = 5; t < 10; t++) sched_set_preferred_executor(s, 0, t, 0);
    uint32_t on[2] = {0}, queued = 0;
    for (uint32_t i = 0; i < 5; i++) {
        struct task_attempt run = next_of(s);
        on[run.executor]++;
        queued += run.queued;
    }
    cr_expect(on[0] == 4 && on[1] == 1 && queued == 0);
    cr_expect(next_of(s).queued);
    sched_destroy(s);
}

/* Executor 0 runs a slow task with another one queued; executor 1 has finished the other two of the
 * stage, and has a free slot. */
static struct sched *one_queued(struct task_attempt *out_slow, struct task_attempt *out_queued)
{
    struct sched *s = queues_of(2, 1, 4);
    *out_slow = expect_place(s, 0, 0, false);
    struct task_attempt quick = expect_place(s, 1, 1, false);
    *out_queued = expect_place(s, 0, 2, true);
    cr_expect(done(s, quick));
    struct task_attempt last = expect_place(s, 1, 3, false);
    expect_no_revoke(s);
    cr_expect(done(s, last));
    return s;
}

Test(sched_prefetch, queued_task_is_revoked_for_a_free_slot)
{
    struct task_attempt slow, queued;
    struct sched *s = one_queued(&slow, &queued);
    struct task_attempt revoked = revoke_of(s);
    cr_expect(revoked.executor == 0 && revoked.task == 2 && revoked.attempt == queued.attempt);
    expect_no_revoke(s); /* one at a time */
    cr_expect(failed(s, revoked, SCHED_KILLED));
    expect_next(s, 1, 0, 2, 1);
    cr_expect(done(s, slow));
    expect_no_revoke(s);
    sched_destroy(s);
}

Test(sched_prefetch, task_started_before_revoke_continues)
{
    struct task_attempt slow, queued;
    struct sched *s = one_queued(&slow, &queued);
    revoke_of(s);
    cr_expect(done(s, slow)); /* so the other gets its slot */
    expect_no_revoke(s);
    cr_expect(done(s, queued));
    cr_expect(sched_stage_is_done(s, 0));
    sched_destroy(s);
}

Test(sched_prefetch, drain_revokes_queued_tasks)
{
    struct sched *s = queues_of(2, 2, 20);
    while (sched_busy_slots_on(s, 1) < 2) next_of(s);
    struct task_attempt run;
    while (sched_next_task(s, 0, &run)) cr_expect(run.queued);
    sched_on_executor_draining(s, 1);
    for (int i = 0; i < 2; i++) {
        run = revoke_of(s);
        cr_expect_eq(run.executor, 1);
        cr_expect(failed(s, run, SCHED_KILLED));
    }
    expect_no_revoke(s);
    cr_expect_eq(sched_busy_slots_on(s, 1), 2, "running tasks continue");
    sched_destroy(s);
}

Test(sched_prefetch, suspect_executor_is_not_asked_to_revoke)
{
    struct task_attempt slow, queued;
    struct sched *s = one_queued(&slow, &queued);
    sched_on_executor_suspect(s, 0, true);
    expect_no_revoke(s);
    sched_on_executor_suspect(s, 0, false);
    cr_expect_eq(revoke_of(s).task, queued.task);
    sched_destroy(s);
}

Test(sched_prefetch, excluded_node_has_its_queue_revoked)
{
    struct sched *s = sched_create(false);
    struct task_attempt run, ran[SCHED_NODE_FAILURES_MAX + 1];
    uint32_t count = 0;
    cr_assert(sched_add_executor(s, 0, SCHED_NODE_FAILURES_MAX + 1, SCHED_NODE_FAILURES_MAX + 1));
    cr_assert(sched_add_executor(s, 1, 1, 1));
    add_chained(s, 0, 40);
    while (sched_next_task(s, 0, &run))
        if (run.executor == 0 && !run.queued) ran[count++] = run;
    cr_assert_eq(count, SCHED_NODE_FAILURES_MAX + 1);
    for (uint32_t i = 0; i < SCHED_NODE_FAILURES_MAX; i++)
        cr_expect(failed(s, ran[i], SCHED_TASK_ERROR));
    cr_expect(sched_is_excluded_for_failures(s, 0));
    run = revoke_of(s);
    cr_expect(run.executor == 0 && run.queued);
    cr_expect(failed(s, run, SCHED_KILLED));
    expect_no_revoke(s);
    sched_destroy(s);
}

Test(sched_prefetch, crash_counts_against_running_tasks_only)
{
    struct sched *s = queues_of(1, 1, 8);
    for (uint32_t i = 0; i + 1 < TASK_ATTEMPTS_MAX; i++) {
        struct task_attempt ran = next_of(s), run;
        cr_expect(ran.task == 0 && ran.attempt == i);
        cr_expect_eq(sched_next_task(s, 0, &run), i == 0, "no prefetch after an executor died");
        sched_on_executor_lost(s, i, true, true);
        cr_expect_eq(sched_status(s), SCHED_RUNNING);
        cr_expect(sched_task_is_waiting(s, 0, 0));
        cr_assert(sched_add_executor(s, i + 1, 1, 1));
    }
    expect_next(s, TASK_ATTEMPTS_MAX - 1, 0, 0, TASK_ATTEMPTS_MAX - 1);
    sched_on_executor_lost(s, TASK_ATTEMPTS_MAX - 1, true, true);
    cr_expect_eq(sched_status(s), SCHED_TASK_FAILED);
    sched_destroy(s);
}

Test(sched_prefetch, crash_revokes_all_queued_tasks)
{
    struct sched *s = queues_of(3, 1, 20);
    struct task_attempt run;
    while (sched_next_task(s, 0, &run)) continue;
    sched_on_executor_lost(s, 0, true, true);
    for (int i = 0; i < 2; i++) cr_expect(failed(s, revoke_of(s), SCHED_KILLED));
    expect_no_revoke(s);
    cr_expect_eq(sched_busy_slots(s), 2);
    sched_destroy(s);
}

Test(sched_prefetch, task_start_time_is_when_it_gets_its_slot)
{
    struct sched *s = queues_of(1, 1, 8);
    for (uint64_t i = 0; i < 4; i++) {
        struct task_attempt run = next_at(s, 1000 * i * MS), queued = next_at(s, 1000 * i * MS);
        cr_assert(queued.queued);
        uint64_t end_ns = (1000 * i + 500) * MS;
        cr_assert(i % 2 == 0 ? done_at(s, run, end_ns)
                             : failed_at(s, run, SCHED_TASK_ERROR, end_ns));
        uint32_t at = 0;
        cr_assert(sched_each_attempt_on(s, 0, &at, &run));
        cr_expect(run.task == queued.task && !run.queued && run.start_ns == end_ns);
        cr_assert(done_at(s, run, end_ns));
    }
    sched_destroy(s);
}

/* Executor 0 stalls with a running and a queued task; executor 1 finishes all others, and then
 * speculative copies of these two. */
static struct sched *stalled(struct task_attempt *out_runs, struct task_attempt *out_queued)
{
    struct sched *s = queues_of(2, 1, 8);
    struct task_attempt run;
    uint32_t copies = 0, revoked = 0;
    *out_runs = next_of(s);
    next_of(s);
    *out_queued = next_of(s);
    cr_assert(out_queued->queued && out_queued->executor == out_runs->executor);
    for (uint64_t now_ns = 0; !sched_stage_is_done(s, 0); now_ns += 10 * MS) {
        while (sched_next_task(s, now_ns, &run)) copies += run.speculative;
        revoked += sched_revoke_queued(s, &run); /* no outcome arrives */
        uint32_t at = 0;
        if (sched_each_attempt_on(s, 1, &at, &run)) cr_assert(done_at(s, run, now_ns));
        cr_assert(now_ns < 1000 * MS);
    }
    cr_expect(revoked == 1 && copies == 2);
    return s;
}

/* While one queued task is being revoked, the others queued for the same slot get no copies: they
 * are revoked next. */
Test(sched_prefetch, no_copy_while_another_task_is_revoked)
{
    struct sched *s = sched_create(true);
    struct task_attempt run, back;
    cr_assert(sched_add_executor(s, 0, 1, 3) && sched_add_executor(s, 1, 1, 0));
    add_chained(s, 0, 16);
    uint32_t at = 0;
    const struct task_attempt slow = next_of(s);
    for (uint32_t i = 0; i < 4; i++) next_of(s); /* three queued on 0, one on 1 */
    for (uint64_t now_ns = 0; sched_done_task_count(s, 0) < 12; now_ns += MS) {
        at = 0;
        cr_assert(sched_each_attempt_on(s, 1, &at, &run) && done_at(s, run, now_ns));
        sched_next_task(s, now_ns, &run);
    }
    cr_assert(sched_next_task(s, 1000 * MS, &run) && run.speculative && run.task == slow.task);
    cr_assert(done_at(s, run, 1000 * MS));
    cr_expect_not(sched_next_task(s, 1000 * MS, &run),
                  "a queued task is revoked before it gets a copy");
    cr_assert(sched_revoke_queued(s, &back));
    cr_expect_not(sched_next_task(s, 1000 * MS + SCHED_SPECULATE_NS_MIN - 1, &run));
    cr_expect_eq(sched_next_wakeup_ns(s), 1000 * MS + SCHED_SPECULATE_NS_MIN);
    cr_expect(sched_next_task(s, 1000 * MS + SCHED_SPECULATE_NS_MIN, &run) && run.speculative);
    cr_expect(back.queued && back.executor == 0);
    sched_destroy(s);
}

Test(sched_prefetch, unanswered_revoke_gets_a_speculative_copy)
{
    struct task_attempt runs, queued;
    struct sched *s = stalled(&runs, &queued);
    cr_expect(!done(s, runs) && !done(s, queued), "late messages are ignored");
    cr_expect_eq(sched_busy_slots(s), 0);
    sched_destroy(s);
}

Test(sched_prefetch, executor_loss_keeps_results_of_copies)
{
    for (int blame = 0; blame < 2; blame++) {
        struct task_attempt runs, queued;
        struct sched *s = stalled(&runs, &queued);
        sched_on_executor_lost(s, 0, blame != 0, true);
        cr_expect(sched_stage_is_done(s, 0));
        expect_no_revoke(s);
        sched_destroy(s);
    }
}
