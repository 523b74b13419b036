/* Which executors a driver that needs several keeps and requests while it waits for others
 * (acquisition_policy.c), with one driver. Several drivers: tests/cluster/test_gang_scheduling.py.
 */
#include "fixture.h"

TestSuite(acquisition_order, .init = enter, .fini = leave);

/* A daemon that serves another job until act(node, FAKE_START_EXECUTOR). It responds QUEUED at
 * once; with is_busy_and_slow only when say_busy is called. */
static void is_busy(uint32_t node)
{
    nodes[node].queue = 1;
    nodes[node].never_starts = true;
}

static void is_busy_and_slow(uint32_t node)
{
    nodes[node].never_starts = true;
}

/* Waits for the n-th REQUEST_EXECUTOR and responds QUEUED. */
static void say_busy(uint32_t node, uint32_t n)
{
    UNTIL_TRUE(nodes[node].executor_requests == n);
    act(node, FAKE_QUEUED, 1);
}

Test(acquisition_order, executors_above_a_queued_one_are_released)
{
    is_busy_and_slow(0);
    cluster.executors_min = 2;
    start(2);
    UNTIL_TRUE(nodes[1].executor_requests == 1);
    say_busy(0, 1);
    UNTIL_TRUE(nodes[1].leaves == 1);
    cr_expect_eq(nodes[0].leaves, 0);
    act(0, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[0].executor_requests, 1);
    cr_expect_eq(nodes[1].executor_requests, 2);
    stop();
}

Test(acquisition_order, executors_below_a_queued_one_are_kept)
{
    is_busy(1);
    cluster.executors_min = 2;
    start(2);
    UNTIL_TRUE(nodes[0].joined == 1 && nodes[1].executor_requests == 1);
    act(1, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[0].leaves, 0);
    cr_expect_eq(nodes[0].executor_requests, 1);
    cr_expect_eq(nodes[1].executor_requests, 1);
    stop();
}

/* Drivers may read different cluster.toml files, so the order is by id. */
Test(acquisition_order, order_is_by_id_not_by_file)
{
    nodes[0].name = "e2";
    nodes[1].name = "e1";
    is_busy_and_slow(1);
    cluster.executors_min = 2;
    start(2);
    UNTIL_TRUE(nodes[0].executor_requests == 1);
    say_busy(1, 1);
    UNTIL_TRUE(nodes[0].leaves == 1);
    act(1, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[1].leaves, 0);
    stop();
}

Test(acquisition_order, unneeded_busy_executor_delays_nothing)
{
    is_busy(0);
    cluster.executors_min = 2;
    start(3);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[1].executor_requests, 1);
    cr_expect_eq(nodes[2].executor_requests, 1);
    cr_expect_eq(nodes[1].leaves + nodes[2].leaves, 0);
    stop();
}

/* Needs two of three, two are busy: the third is free, but is released for other jobs. */
Test(acquisition_order, third_is_released_until_a_lower_one_joins)
{
    is_busy_and_slow(0);
    is_busy_and_slow(1);
    cluster.executors_min = 2;
    start(3);
    UNTIL_TRUE(nodes[2].executor_requests == 1);
    say_busy(0, 1);
    say_busy(1, 1);
    UNTIL_TRUE(nodes[2].leaves == 1);
    cr_expect_eq(nodes[0].executor_requests, 1);
    cr_expect_eq(nodes[1].executor_requests, 1);
    act(1, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[2].executor_requests, 2);
    cr_expect_str_eq(context.driver.names[0], "e2");
    stop();
}

/* Needs three of three, all busy: the driver stays in the queue of the lowest only. */
Test(acquisition_order, only_the_lowest_queue_is_waited_in)
{
    for (uint32_t i = 0; i < 3; i++) is_busy_and_slow(i);
    cluster.executors_min = 3;
    start(3);
    for (uint32_t i = 0; i < 3; i++) say_busy(i, 1);
    UNTIL_TRUE(nodes[1].leaves == 1 && nodes[2].leaves == 1);
    cr_expect_eq(nodes[0].leaves, 0);
    act(0, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(nodes[1].executor_requests == 2 && nodes[2].executor_requests == 2);
    say_busy(1, 2);
    say_busy(2, 2);
    UNTIL_TRUE(nodes[2].leaves == 2);
    cr_expect_eq(nodes[1].leaves, 1);
    act(1, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(nodes[2].executor_requests == 3);
    act(2, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 3);
    cr_expect_eq(nodes[0].leaves, 0);
    cr_expect_eq(nodes[1].leaves, 1);
    cr_expect_eq(nodes[2].leaves, 2);
    stop();
}

/* A daemon that is reachable later counts from then on. */
Test(acquisition_order, late_lower_executor_releases_the_higher)
{
    nodes[0].port_closed = true;
    is_busy(0);
    cluster.executors_min = 2;
    start(2);
    UNTIL_TRUE(nodes[1].joined == 1);
    act(0, FAKE_DAEMON_STARTS, 0);
    UNTIL_TRUE(nodes[0].executor_requests == 1 && nodes[1].leaves == 1);
    act(0, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    stop();
}

/* The order is followed when nothing more will arrive: e1 is busy, e3 was kept because e2 had not
 * responded yet, and e2 is not requested once it does. */
Test(acquisition_order, late_handshake_releases_what_it_delayed)
{
    nodes[1].name = "e3";
    nodes[2].name = "e2";
    is_busy(0);
    cluster.executors_min = 3;
    start_with_silent_last(3);
    UNTIL_TRUE(nodes[1].joined == 1);
    UNTIL_TRUE(strstr(context.driver.notes, "e1 (127.0.0.1:") != NULL); /* it is busy */
    cr_expect_eq(nodes[1].leaves, 0);
    respond();
    UNTIL_TRUE(nodes[1].leaves == 1 && nodes[2].leaves == 1);
    cr_expect_eq(nodes[2].executor_requests, 0);
    act(0, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 3);
    stop();
}

/* A daemon that fetches the driver's program may take long, so it does not delay the order. */
Test(acquisition_order, program_fetch_delays_nothing)
{
    is_busy(0);
    is_busy_and_slow(1);
    cluster.executors_min = 3;
    start(3);
    UNTIL_TRUE(nodes[1].executor_requests == 1 && nodes[2].joined == 1);
    UNTIL_TRUE(strstr(context.driver.notes, "e1 (127.0.0.1:") != NULL); /* it is busy */
    cr_expect_eq(nodes[2].leaves, 0);
    act(1, FAKE_PROGRAM_REQUEST, 0);
    UNTIL_TRUE(nodes[2].leaves == 1);
    act(0, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(nodes[2].executor_requests == 2);
    act(1, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 3);
    stop();
}

/* The only queue position is at the highest daemon, and the lower ones fetch the program: without
 * it the driver would be queued nowhere and request it again at once. */
Test(acquisition_order, only_queue_position_stays_while_lower_daemons_fetch)
{
    is_busy_and_slow(0);
    is_busy_and_slow(1);
    is_busy(2);
    cluster.executors_min = 2;
    start(3);
    UNTIL_TRUE(nodes[0].executor_requests == 1 && nodes[1].executor_requests == 1);
    UNTIL_TRUE(strstr(context.driver.notes, "e3 (127.0.0.1:") != NULL); /* it is busy */
    act(0, FAKE_PROGRAM_REQUEST, 0);
    act(1, FAKE_PROGRAM_REQUEST, 0);
    act(2, FAKE_QUEUED, 2);
    UNTIL_TRUE(strstr(context.driver.notes, "position 2") != NULL);
    cr_expect_eq(nodes[2].leaves, 0);
    act(0, FAKE_QUEUED, 1);
    UNTIL_TRUE(nodes[2].leaves == 1); /* now it is queued at a lower one */
    act(0, FAKE_START_EXECUTOR, 0);
    act(1, FAKE_START_EXECUTOR, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    stop();
}

/* A driver that keeps an executor makes others wait, so its own wait is limited by start_ms. The
 * error contains the state of each executor. */
Test(acquisition_order, start_timeout_runs_while_holding_one)
{
    is_busy(1);
    cluster.executors_min = 2;
    use_stepped_clock();
    start(2);
    UNTIL_TRUE(strstr(context.driver.notes, "position 1 in its queue") != NULL);
    pass_start_time();
    UNTIL_TRUE(context.driver.no_executors == 1);
    const struct glint_error *why = &context.driver.no_executors_error;
    cr_expect_eq(why->code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(why->cause, "1 of 2 executors registered within"), "%s", why->cause);
    cr_expect_not_null(strstr(why->cause, "e1 (127.0.0.1:"), "%s", why->cause);
    cr_expect_not_null(strstr(why->cause, "): connected; e2"), "%s", why->cause);
    cr_expect_not_null(strstr(why->cause, "): queued at position 1"), "%s", why->cause);
    cr_expect_not_null(strstr(why->hint, "--executors"), "%s", why->hint);
    stop();
}

Test(acquisition_order, start_timeout_pauses_while_only_queued)
{
    is_busy_and_slow(0);
    cluster.executors_min = 2;
    use_stepped_clock();
    start(2);
    UNTIL_TRUE(nodes[1].executor_requests == 1);
    say_busy(0, 1);
    UNTIL_TRUE(nodes[1].leaves == 1);
    pass_start_time();
    const uint32_t before = nodes[0].daemon_pings;
    UNTIL_TRUE(nodes[0].daemon_pings >= before + 3); /* the driver's timers have run */
    cr_expect_eq(context.driver.no_executors, 0);
    stop();
}

Test(acquisition_order, error_lists_the_state_of_each_executor)
{
    is_busy(1);
    nodes[2].port_closed = true;
    cluster.executors_min = 3;
    use_stepped_clock();
    start(3);
    UNTIL_TRUE(strstr(context.driver.notes, "position 1 in its queue") != NULL);
    pass_start_time();
    UNTIL_TRUE(context.driver.no_executors == 1);
    const char *cause = context.driver.no_executors_error.cause;
    cr_expect_not_null(strstr(cause, "): connected; e2"), "%s", cause);
    cr_expect_not_null(strstr(cause, "): queued at position 1; e3"), "%s", cause);
    cr_expect_not_null(strstr(cause, "): cannot connect: connection refused"), "%s", cause);
    stop();
}

/* The minimum can never be reached, so the job fails long before start_ms. */
Test(acquisition_order, needed_other_build_ends_the_wait)
{
    nodes[1].build = "9.9.9-other";
    cluster.executors_min = 2;
    cluster.start_ms = 3600 * 1000;
    start(2);
    UNTIL_TRUE(context.driver.no_executors == 1);
    const struct glint_error *why = &context.driver.no_executors_error;
    cr_expect_eq(why->code, GLINT_E_PEER_MISMATCH);
    cr_expect_not_null(strstr(why->cause, "only 1 of 2 executors are available"), "%s", why->cause);
    cr_expect_not_null(strstr(why->cause, "9.9.9-other"), "%s", why->cause);
    cr_expect_eq(context.driver.executors, 0);
    stop();
}

Test(acquisition_order, unneeded_other_build_is_ignored)
{
    nodes[0].build = "9.9.9-other";
    cluster.executors_min = 2;
    start(3);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(context.driver.no_executors, 0);
    stop();
}
