/* How executors are lost: closed connections, exits reported by their daemon, missing heartbeats,
 * malformed messages, drains; and their replacements. */
#include "fixture.h"

#include <signal.h>

TestSuite(executor_loss, .init = enter, .fini = leave);

static void start_joined(uint32_t count)
{
    start(count);
    UNTIL_TRUE(context.driver.executors == count);
    for (uint32_t i = 0; i < count; i++) UNTIL_TRUE(nodes[i].jobs == 1);
}

Test(executor_loss, signal_is_named_in_the_cause)
{
    start_joined(2);
    cr_assert_eq(send_task((uint32_t)nodes[1].number, 41), 0);
    UNTIL_TRUE(context.driver.messages == 1);
    act(1, FAKE_DIE, SIGKILL);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_SIGNALED);
    cr_expect(context.driver.is_lost[nodes[1].number]);
    cr_expect_eq(context.driver.why.code, GLINT_E_EXECUTOR_LOST);
    cr_expect_str_eq(context.driver.why.cause,
                     "killed by signal 9 (Killed); log /var/log/fake.log");
    stop();
}

Test(executor_loss, exit_status_blames_no_task)
{
    start_joined(1);
    act(0, FAKE_DIE, 70 << 8);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_CONNECTION);
    cr_expect_str_eq(context.driver.why.cause,
                     "its process exited with status 70; log /var/log/fake.log");
    stop();
}

Test(executor_loss, closed_connection_is_a_loss)
{
    start_joined(1);
    act(0, FAKE_CLOSE, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_CONNECTION);
    cr_expect_eq(context.driver.why.code, GLINT_E_EXECUTOR_LOST);
    stop();
}

Test(executor_loss, daemon_exit_loses_its_executor)
{
    start_joined(1);
    act(0, FAKE_DAEMON_ENDS, 0);
    act(0, FAKE_CLOSE, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.loss, LOSS_CONNECTION);
    stop();
}

Test(executor_loss, replacement_executor_gets_a_new_id)
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

Test(executor_loss, sends_to_lost_executor_are_ignored)
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

Test(executor_loss, missed_heartbeats_lose_the_executor)
{
    nodes[0].no_heartbeat = true;
    cluster.heartbeat = (struct liveness_limits){20 * MS, 1000 * MS, 3000 * MS};
    start(2);
    UNTIL_TRUE(context.driver.executors >= 2 && context.driver.lost >= 1);
    cr_expect_eq(context.driver.loss, LOSS_CONNECTION);
    cr_expect_not_null(strstr(context.driver.why.cause, "no heartbeat for 3000 ms"));
    for (uint32_t e = 0; e < context.driver.executors; e++)
        cr_expect(!context.driver.is_lost[e] || strcmp(context.driver.names[e], "e1") == 0);
    stop();
}

/* An executor becomes suspect long before it is lost, and alive again with the next heartbeat. */
Test(executor_loss, short_silence_only_makes_it_suspect)
{
    cluster.heartbeat = (struct liveness_limits){10 * MS, 50 * MS, 60000 * MS};
    start_joined(1);
    act(0, FAKE_STOP_HEARTBEAT, 0);
    UNTIL_TRUE(context.driver.is_suspect[0]);
    act(0, FAKE_RESUME_HEARTBEAT, 0);
    UNTIL_TRUE(!context.driver.is_suspect[0]);
    cr_expect_geq(context.driver.suspects, 1);
    cr_expect_eq(context.driver.lost, 0);
    stop();
}

Test(executor_loss, heartbeats_are_sent)
{
    cluster.heartbeat = (struct liveness_limits){10 * MS, 5000 * MS, 10000 * MS};
    start_joined(1);
    UNTIL_TRUE(nodes[0].pings >= 3);
    cr_expect_eq(context.driver.lost, 0);
    stop();
}

Test(executor_loss, malformed_message_loses_the_executor)
{
    nodes[0].result = FAKE_NONSENSE;
    start_joined(1);
    cr_assert_eq(send_task(0, 1), 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_eq(context.driver.messages, 0);
    cr_expect_not_null(strstr(context.driver.why.cause, "does not parse"));
    stop();
}

Test(executor_loss, unexpected_frame_loses_the_executor)
{
    start_joined(1);
    act(0, FAKE_BAD_FRAME, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_not_null(strstr(context.driver.why.cause, "unexpected QUEUED frame on the control"));
    stop();
}

Test(executor_loss, drain_is_not_reported_as_failure)
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

Test(executor_loss, losing_the_last_executor_is_an_error)
{
    use_stepped_clock();
    start_joined(1);
    act(0, FAKE_DAEMON_ENDS, 0);
    act(0, FAKE_CLOSE, 0);
    /* More than once: start_ms counts from the loss. */
    UNTIL_TRUE((pass_start_time(), context.driver.no_executors == 1));
    cr_expect_eq(context.driver.lost, 1);
    cr_expect_eq(context.driver.no_executors_error.code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, "e1 (127.0.0.1:"));
    stop();
}

Test(executor_loss, cancel_request_reaches_the_driver)
{
    start_joined(1);
    act(0, FAKE_CANCEL, 0);
    UNTIL_TRUE(context.driver.cancel_requests == 1);
    stop();
}

/* The frame may arrive after the process has connected. */
Test(executor_loss, started_executor_may_be_reported_again)
{
    start_joined(1);
    act(0, FAKE_STARTED, 0);
    act(0, FAKE_CANCEL, 0);
    UNTIL_TRUE(context.driver.cancel_requests == 1);
    cr_expect_eq(nodes[0].leaves, 0);
    cr_expect_eq(context.driver.lost, 0);
    stop();
}

Test(executor_loss, malformed_exit_closes_the_connection_to_the_daemon)
{
    start_joined(1);
    act(0, FAKE_BAD_EXIT, 0);
    UNTIL_TRUE(nodes[0].leaves == 1 && context.driver.lost == 1);
    cr_expect_null(strstr(context.driver.why.cause, "process"), "%s", context.driver.why.cause);
    stop();
}

Test(executor_loss, loss_of_dialing_executor_is_reported)
{
    start_listening(2);
    UNTIL_TRUE(context.driver.executors == 2);
    UNTIL_TRUE(nodes[1].jobs == 1);
    act(1, FAKE_CLOSE, 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect(context.driver.is_lost[nodes[1].number]);
    stop();
}

/* ---- Shutdown in any state */

Test(executor_loss, immediate_shutdown_is_clean)
{
    start(4);
    stop();
}

Test(executor_loss, shutdown_during_registration_is_clean)
{
    for (uint32_t round = 0; round < 8; round++) {
        nodes[0].port = nodes[1].port = 0;
        start(2);
        for (uint32_t i = 0; i < round; i++) fake_context_wait_ms(&context, 1);
        stop();
        nodes[0].jobs = nodes[0].joined = nodes[1].jobs = nodes[1].joined = 0;
    }
}

Test(executor_loss, shutdown_while_queued_is_clean)
{
    nodes[0].queue = 1;
    nodes[0].never_starts = true;
    start(1);
    UNTIL_TRUE(nodes[0].executor_requests == 1);
    stop();
}

Test(executor_loss, shutdown_without_executors_is_clean)
{
    nodes[0].port_closed = true;
    start(1);
    fake_context_wait_ms(&context, 20);
    stop();
}

Test(executor_loss, shutdown_before_loss_cause_is_clean)
{
    start_joined(1);
    act(0, FAKE_CLOSE, 0);
    UNTIL_TRUE(nodes[0].ends == 1);
    stop();
}

Test(executor_loss, shutdown_with_running_tasks_is_clean)
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

Test(executor_loss, wakeup_ends_the_wait)
{
    pthread_t thread;
    nodes[0].port_closed = true;
    start(1);
    cr_assert_eq(pthread_create(&thread, NULL, wake_later, NULL), 0);
    fake_context_wait_ms(&context, 600000); /* returns long before */
    cr_assert_eq(pthread_join(thread, NULL), 0);
    stop();
}
