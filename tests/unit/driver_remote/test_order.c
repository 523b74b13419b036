/* What a driver that needs several executors keeps and asks for, while it waits for others: the
 * rule of remote_order.c, one driver at a time. Several drivers: tests/cluster/test_gangs.py. */
#include "fixture.h"

TestSuite(remote_order, .init = enter, .fini = leave);

/* A daemon whose executor serves another job, until act(node, FAKE_ADMIT). It says so when it is
 * asked, or with is_busy_and_slow when say_busy tells it to. */
static void is_busy(uint32_t node)
{
    nodes[node].queue = 1;
    nodes[node].keeps_queue = true;
}

static void is_busy_and_slow(uint32_t node)
{
    nodes[node].keeps_queue = true;
}

/* It is asked for the n-th time, and says that it is busy. */
static void say_busy(uint32_t node, uint32_t n)
{
    UNTIL_TRUE(nodes[node].admits == n);
    act(node, FAKE_QUEUED, 1);
}

Test(remote_order, nothing_is_kept_above_what_it_waits_for)
{
    is_busy_and_slow(0);
    cluster.executors_min = 2;
    start(2);
    UNTIL_TRUE(nodes[1].admits == 1);
    say_busy(0, 1);
    UNTIL_TRUE(nodes[1].leaves == 1);
    cr_expect_eq(nodes[0].leaves, 0);
    act(0, FAKE_ADMIT, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[0].admits, 1);
    cr_expect_eq(nodes[1].admits, 2);
    stop();
}

Test(remote_order, what_is_below_is_kept)
{
    is_busy(1);
    cluster.executors_min = 2;
    start(2);
    UNTIL_TRUE(nodes[0].joined == 1 && nodes[1].admits == 1);
    act(1, FAKE_ADMIT, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[0].leaves, 0);
    cr_expect_eq(nodes[0].admits, 1);
    cr_expect_eq(nodes[1].admits, 1);
    stop();
}

/* Drivers may read different files: the order is that of the ids. */
Test(remote_order, it_is_that_of_ids_and_not_of_the_file)
{
    nodes[0].name = "e2";
    nodes[1].name = "e1";
    is_busy_and_slow(1);
    cluster.executors_min = 2;
    start(2);
    UNTIL_TRUE(nodes[0].admits == 1);
    say_busy(1, 1);
    UNTIL_TRUE(nodes[0].leaves == 1);
    act(1, FAKE_ADMIT, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[1].leaves, 0);
    stop();
}

Test(remote_order, a_busy_one_that_is_not_needed_keeps_nobody_waiting)
{
    is_busy(0);
    cluster.executors_min = 2;
    start(3);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[1].admits, 1);
    cr_expect_eq(nodes[2].admits, 1);
    cr_expect_eq(nodes[1].leaves + nodes[2].leaves, 0);
    stop();
}

/* Two of three, two of them busy: the third is free, and others may have it meanwhile. */
Test(remote_order, the_highest_of_three_is_given_back_until_another_is_there)
{
    is_busy_and_slow(0);
    is_busy_and_slow(1);
    cluster.executors_min = 2;
    start(3);
    UNTIL_TRUE(nodes[2].admits == 1);
    say_busy(0, 1);
    say_busy(1, 1);
    UNTIL_TRUE(nodes[2].leaves == 1);
    cr_expect_eq(nodes[0].admits, 1);
    cr_expect_eq(nodes[1].admits, 1);
    act(1, FAKE_ADMIT, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(nodes[2].admits, 2);
    cr_expect_str_eq(context.driver.names[0], "e2");
    stop();
}

/* Three of three, the first busy: it waits in that queue only. */
Test(remote_order, queues_above_are_left)
{
    for (uint32_t i = 0; i < 3; i++) is_busy_and_slow(i);
    cluster.executors_min = 3;
    start(3);
    for (uint32_t i = 0; i < 3; i++) say_busy(i, 1);
    UNTIL_TRUE(nodes[1].leaves == 1 && nodes[2].leaves == 1);
    cr_expect_eq(nodes[0].leaves, 0);
    act(0, FAKE_ADMIT, 0);
    UNTIL_TRUE(nodes[1].admits == 2 && nodes[2].admits == 2);
    say_busy(1, 2);
    say_busy(2, 2);
    UNTIL_TRUE(nodes[2].leaves == 2);
    cr_expect_eq(nodes[1].leaves, 1);
    act(1, FAKE_ADMIT, 0);
    UNTIL_TRUE(nodes[2].admits == 3);
    act(2, FAKE_ADMIT, 0);
    UNTIL_TRUE(context.driver.executors == 3);
    cr_expect_eq(nodes[0].leaves, 0);
    cr_expect_eq(nodes[1].leaves, 1);
    cr_expect_eq(nodes[2].leaves, 2);
    stop();
}

/* One that comes later counts from then on. */
Test(remote_order, one_below_that_comes_later)
{
    nodes[0].stays_away = true;
    is_busy(0);
    cluster.executors_min = 2;
    start(2);
    UNTIL_TRUE(nodes[1].joined == 1);
    act(0, FAKE_DAEMON_STARTS, 0);
    UNTIL_TRUE(nodes[0].admits == 1 && nodes[1].leaves == 1);
    act(0, FAKE_ADMIT, 0);
    UNTIL_TRUE(context.driver.executors == 2);
    stop();
}

/* Whoever keeps one makes others wait, so its own wait ends, and says what each executor is. */
Test(remote_order, start_counts_while_it_keeps_one)
{
    is_busy(1);
    cluster.executors_min = 2;
    cluster.start_ms = 2000;
    start(2);
    UNTIL_TRUE(context.driver.deserted == 1);
    const struct glint_error *why = &context.driver.desertion;
    cr_expect_eq(why->code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(why->cause, "1 of 2 executors were there within"), "%s", why->cause);
    cr_expect_not_null(strstr(why->cause, "e1 (127.0.0.1:"), "%s", why->cause);
    cr_expect_not_null(strstr(why->cause, "): connected; e2"), "%s", why->cause);
    cr_expect_not_null(strstr(why->cause, "): queued at place 1"), "%s", why->cause);
    cr_expect_not_null(strstr(why->hint, "--executors"), "%s", why->hint);
    stop();
}

Test(remote_order, start_does_not_count_while_it_only_waits)
{
    is_busy_and_slow(0);
    cluster.executors_min = 2;
    cluster.start_ms = 2000;
    cluster.heartbeat = (struct liveness_limits){100 * MS, 5000 * MS, 10000 * MS};
    start(2);
    UNTIL_TRUE(nodes[1].admits == 1);
    say_busy(0, 1);
    UNTIL_TRUE(nodes[1].leaves == 1);
    const uint32_t before = nodes[0].daemon_pings;
    UNTIL_TRUE(nodes[0].daemon_pings >= before + 30); /* start_ms are over */
    cr_expect_eq(context.driver.deserted, 0);
    stop();
}

Test(remote_order, each_executor_is_said_to_be_what_it_is)
{
    is_busy(1);
    nodes[2].stays_away = true;
    cluster.executors_min = 3;
    cluster.start_ms = 2000;
    start(3);
    UNTIL_TRUE(context.driver.deserted == 1);
    const char *cause = context.driver.desertion.cause;
    cr_expect_not_null(strstr(cause, "): connected; e2"), "%s", cause);
    cr_expect_not_null(strstr(cause, "): queued at place 1; e3"), "%s", cause);
    cr_expect_not_null(strstr(cause, "): cannot connect: connection refused"), "%s", cause);
    stop();
}

/* The other one is there, and `start` is far away. */
Test(remote_order, another_build_among_those_wanted_ends_the_wait)
{
    nodes[1].build = "9.9.9-other";
    cluster.executors_min = 2;
    cluster.start_ms = 3600 * 1000;
    start(2);
    UNTIL_TRUE(context.driver.deserted == 1);
    const struct glint_error *why = &context.driver.desertion;
    cr_expect_eq(why->code, GLINT_E_PEER_MISMATCH);
    cr_expect_not_null(strstr(why->cause, "no more than 1 of 2 executors"), "%s", why->cause);
    cr_expect_not_null(strstr(why->cause, "9.9.9-other"), "%s", why->cause);
    cr_expect_eq(context.driver.executors, 0);
    stop();
}

Test(remote_order, another_build_beside_enough_others_does_not)
{
    nodes[0].build = "9.9.9-other";
    cluster.executors_min = 2;
    start(3);
    UNTIL_TRUE(context.driver.executors == 2);
    cr_expect_eq(context.driver.deserted, 0);
    stop();
}
