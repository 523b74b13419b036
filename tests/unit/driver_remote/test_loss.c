/* How executors go: closed connections, ends that their daemon tells of, silence, nonsense, drains;
 * and who comes after them. */
#include "fixture.h"

#include <signal.h>

TestSuite(remote_loss, .init = enter, .fini = leave);

static void start_joined(uint32_t count)
{
    start(count);
    UNTIL_TRUE(context.driver.executors == count);
    for (uint32_t i = 0; i < count; i++) UNTIL_TRUE(nodes[i].jobs == 1);
}

Test(remote_loss, a_signal_is_named)
{
    start_joined(2);
    cr_assert_eq(send_task((uint32_t)nodes[1].number, 41), 0);
    UNTIL_TRUE(context.driver.messages == 1);
    act(1, FAKE_DIE, SIGKILL);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_CHILD);
    cr_expect(context.driver.is_lost[nodes[1].number]);
    cr_expect_eq(context.driver.why.code, GLINT_E_EXECUTOR_LOST);
    cr_expect_str_eq(context.driver.why.cause,
                     "killed by signal 9 (Killed); log /var/log/fake.log");
    stop();
}

Test(remote_loss, an_exit_status_is_no_task_s_fault)
{
    start_joined(1);
    act(0, FAKE_DIE, 70 << 8);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_CONNECTION);
    cr_expect_str_eq(context.driver.why.cause,
                     "its process ended with status 70; log /var/log/fake.log");
    stop();
}

Test(remote_loss, a_connection_without_a_word)
{
    start_joined(1);
    act(0, FAKE_CLOSE, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_CONNECTION);
    cr_expect_eq(context.driver.why.code, GLINT_E_EXECUTOR_LOST);
    stop();
}

Test(remote_loss, a_daemon_s_end_is_its_process_s)
{
    start_joined(1);
    act(0, FAKE_DAEMON_ENDS, 0);
    act(0, FAKE_CLOSE, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_CONNECTION);
    stop();
}

Test(remote_loss, another_process_comes_under_another_number)
{
    start_joined(2);
    UNTIL_TRUE(nodes[0].peers == 1 && nodes[1].peers == 1);
    act(0, FAKE_DIE, SIGSEGV);
    UNTIL_TRUE(context.driver.executors == 3);
    UNTIL_TRUE(nodes[0].jobs == 2 && nodes[0].number == 2);
    cr_expect_eq(context.driver.lost, 1);
    cr_expect_str_eq(context.driver.names[2], "e1");
    UNTIL_TRUE(nodes[0].peers == 2 && nodes[1].peers == 2);
    cr_assert_eq(send_task(2, 5), 0);
    UNTIL_TRUE(context.driver.messages == 1);
    cr_expect_eq(context.driver.first->id, 2);
    stop();
}

Test(remote_loss, what_is_sent_to_the_lost_is_nothing)
{
    start_joined(2);
    act(0, FAKE_DIE, SIGKILL);
    cr_expect_eq(send_task((uint32_t)nodes[0].number, 1), 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(send_task(0, 1), 0);
    cr_expect_eq(send_task(1, 1), 0);
    UNTIL_TRUE(nodes[0].tasks + nodes[1].tasks > 0);
    stop();
}

Test(remote_loss, silence)
{
    nodes[0].silent = true;
    cluster.heartbeat = (struct liveness_limits){20 * MS, 60 * MS, 120 * MS};
    start(2);
    UNTIL_TRUE(context.driver.executors >= 2 && context.driver.lost >= 1);
    cr_expect_eq(context.driver.loss, LOSS_CONNECTION);
    cr_expect_not_null(strstr(context.driver.why.cause, "no sign of life for 120 ms"));
    for (uint32_t e = 0; e < context.driver.executors; e++)
        cr_expect(!context.driver.is_lost[e] || strcmp(context.driver.names[e], "e1") == 0);
    stop();
}

/* Long before it is dead the driver hears that it is silent, and then that it is not. */
Test(remote_loss, a_short_silence)
{
    cluster.heartbeat = (struct liveness_limits){10 * MS, 50 * MS, 60000 * MS};
    start_joined(1);
    act(0, FAKE_MUTE, 0);
    UNTIL_TRUE(context.driver.is_silent[0]);
    act(0, FAKE_SPEAK, 0);
    UNTIL_TRUE(!context.driver.is_silent[0]);
    cr_expect_geq(context.driver.silences, 1);
    cr_expect_eq(context.driver.lost, 0);
    stop();
}

Test(remote_loss, signs_of_life_go_out)
{
    cluster.heartbeat = (struct liveness_limits){10 * MS, 5000 * MS, 10000 * MS};
    start_joined(1);
    UNTIL_TRUE(nodes[0].pings >= 3);
    cr_expect_eq(context.driver.lost, 0);
    stop();
}

Test(remote_loss, nonsense_ends_it)
{
    nodes[0].result = FAKE_NONSENSE;
    start_joined(1);
    cr_assert_eq(send_task(0, 1), 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.messages, 0);
    cr_expect_not_null(strstr(context.driver.why.cause, "does not parse"));
    stop();
}

Test(remote_loss, a_frame_of_somebody_else_ends_it)
{
    start_joined(1);
    act(0, FAKE_BAD_FRAME, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_not_null(strstr(context.driver.why.cause, "a QUEUED frame on the control"));
    stop();
}

Test(remote_loss, a_drain_is_no_loss)
{
    start_joined(2);
    act(0, FAKE_DRAIN, 0);
    UNTIL_TRUE(context.driver.draining == 1);
    cr_expect(context.driver.is_draining[nodes[0].number]);
    cr_expect_eq(context.driver.lost, 0);
    act(0, FAKE_DAEMON_ENDS, 0);
    act(0, FAKE_CLOSE, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_DRAINED);
    stop();
}

Test(remote_loss, the_last_one_leaves_and_nobody_comes)
{
    cluster.start_ms = 100;
    start_joined(1);
    act(0, FAKE_DAEMON_ENDS, 0);
    act(0, FAKE_CLOSE, 0);
    UNTIL_TRUE(context.driver.deserted == 1);
    cr_expect_eq(context.driver.lost, 1);
    cr_expect_eq(context.driver.desertion.code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(context.driver.desertion.cause, "e1 (127.0.0.1:"));
    stop();
}

Test(remote_loss, somebody_cancels_the_job)
{
    start_joined(1);
    act(0, FAKE_CANCEL, 0);
    UNTIL_TRUE(context.driver.canceled == 1);
    stop();
}

Test(remote_loss, one_that_dialled)
{
    start_listening(2);
    UNTIL_TRUE(context.driver.executors == 2);
    UNTIL_TRUE(nodes[1].jobs == 1);
    act(1, FAKE_CLOSE, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect(context.driver.is_lost[nodes[1].number]);
    stop();
}

/* ---- The end, whatever there is */

Test(remote_loss, an_end_at_once)
{
    start(4);
    stop();
}

Test(remote_loss, an_end_while_they_come)
{
    for (uint32_t round = 0; round < 8; round++) {
        nodes[0].port = nodes[1].port = 0;
        start(2);
        for (uint32_t i = 0; i < round; i++) fake_context_wait_ms(&context, 1);
        stop();
        nodes[0].jobs = nodes[0].joined = nodes[1].jobs = nodes[1].joined = 0;
    }
}

Test(remote_loss, an_end_in_a_queue)
{
    nodes[0].queue = 1;
    nodes[0].keeps_queue = true;
    start(1);
    UNTIL_TRUE(nodes[0].admits == 1);
    stop();
}

Test(remote_loss, an_end_with_nobody)
{
    nodes[0].stays_away = true;
    start(1);
    fake_context_wait_ms(&context, 20);
    stop();
}

Test(remote_loss, an_end_before_the_cause_is_known)
{
    start_joined(1);
    act(0, FAKE_CLOSE, 0);
    UNTIL_TRUE(nodes[0].ends == 1);
    stop();
}

Test(remote_loss, an_end_with_tasks_under_way)
{
    nodes[0].result = FAKE_SILENT;
    nodes[0].result_bytes = 3 * MIB;
    start_joined(1);
    for (uint32_t i = 0; i < 8; i++) cr_assert_eq(send_task(0, i), 0);
    UNTIL_TRUE(nodes[0].tasks > 0);
    stop();
}

static void *wake_later(void *arg)
{
    (void)arg;
    context.transport.wake(context.transport.arg);
    return NULL;
}

Test(remote_loss, a_wait_is_woken)
{
    pthread_t thread;
    nodes[0].stays_away = true;
    start(1);
    cr_assert_eq(pthread_create(&thread, NULL, wake_later, NULL), 0);
    fake_context_wait_ms(&context, 600000); /* comes back long before */
    cr_assert_eq(pthread_join(thread, NULL), 0);
    stop();
}
