/* How executors come: daemons that are dialled, queues, late ones, those that dial us, and those
 * that must not come. */
#include "fixture.h"

TestSuite(remote_join, .init = enter, .fini = leave);

static void join_three(void)
{
    start(3);
    UNTIL_TRUE(context.driver.executors == 3);
    for (uint32_t i = 0; i < 3; i++) {
        UNTIL_TRUE(nodes[i].jobs == 1 && nodes[i].peers == 2);
        cr_expect_str_eq(context.driver.names[nodes[i].number], nodes[i].name);
        cr_expect_eq(context.driver.slots[nodes[i].number], nodes[i].slots);
    }
    cr_expect_eq(context.driver.lost, 0);
    cr_expect_str_eq(context.driver.notes, "");
    stop();
}

Test(remote_join, all_know_each_other)
{
    nodes[1].slots = 7;
    join_three();
}

Test(remote_join, all_know_each_other_over_tls)
{
    use_tls();
    join_three();
}

Test(remote_join, an_address_where_nobody_is_does_not_matter)
{
    nodes[0].stays_away = true;
    start(2);
    UNTIL_TRUE(context.driver.executors == 1);
    cr_expect_str_eq(context.driver.names[0], "e2");
    stop();
}

Test(remote_join, a_queue_that_lasts_is_noted)
{
    nodes[0].queue = 3;
    nodes[0].keeps_queue = true;
    start(1);
    UNTIL_TRUE(strstr(context.driver.notes, "place 1 in its queue\n") != NULL);
    cr_expect_null(strstr(context.driver.notes, "place 3 in its queue\n"));
    cr_expect_eq(context.driver.executors, 0);
    stop();
}

Test(remote_join, who_waits_in_a_queue_is_not_deserted)
{
    nodes[0].queue = 1;
    nodes[0].keeps_queue = true;
    cluster.start_ms = 50;
    cluster.heartbeat = (struct liveness_limits){10 * MS, 5000 * MS, 10000 * MS};
    start(1);
    UNTIL_TRUE(nodes[0].admits == 1 && context.driver.notes[0] != '\0');
    const uint32_t before = nodes[0].daemon_pings;
    UNTIL_TRUE(nodes[0].daemon_pings >= before + 15); /* start_ms have passed twice */
    cr_expect_eq(context.driver.deserted, 0);
    stop();
}

Test(remote_join, nobody_within_the_deadline)
{
    nodes[0].stays_away = nodes[1].stays_away = true;
    cluster.start_ms = 100;
    start(2);
    UNTIL_TRUE(context.driver.deserted == 1);
    cr_expect_eq(context.driver.desertion.code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(context.driver.desertion.cause, "e1 (127.0.0.1:"));
    cr_expect_not_null(strstr(context.driver.desertion.cause, "; e2 (127.0.0.1:"));
    cr_expect_not_null(strstr(context.driver.desertion.hint, "glint executor"));
    for (int i = 0; i < 3; i++) fake_context_wait_ms(&context, 60);
    cr_expect_eq(context.driver.deserted, 1);
    stop();
}

Test(remote_join, fewer_than_wished_are_none)
{
    nodes[1].never_ready = true;
    cluster.executors_min = 2;
    cluster.start_ms = 200;
    start(2);
    UNTIL_TRUE(context.driver.deserted == 1);
    cr_expect_eq(context.driver.executors, 0);
    cr_expect_not_null(strstr(context.driver.desertion.cause, "1 of 2 executors"));
    stop();
}

Test(remote_join, another_secret_is_not_tried_twice)
{
    use_tls();
    nodes[0].other_secret = true;
    start(1);
    UNTIL_TRUE(context.driver.deserted == 1);
    cr_expect_eq(context.driver.desertion.code, GLINT_E_AUTH);
    cr_expect_eq(nodes[0].admits, 0);
    stop();
}

Test(remote_join, another_secret_of_one_of_two)
{
    use_tls();
    nodes[0].other_secret = true;
    start(2);
    UNTIL_TRUE(context.driver.executors == 1 && context.driver.notes[0] != '\0');
    cr_expect_eq(context.driver.deserted, 0);
    cr_expect_not_null(strstr(context.driver.notes, "executor e1 (127.0.0.1:"));
    stop();
}

Test(remote_join, a_refusal_says_more_than_nobody)
{
    nodes[0].stays_away = true;
    nodes[1].build = "9.9.9-other";
    cluster.start_ms = 100;
    start(2);
    UNTIL_TRUE(context.driver.deserted == 1);
    cr_expect_eq(context.driver.desertion.code, GLINT_E_PEER_MISMATCH);
    stop();
}

Test(remote_join, another_build_is_refused_with_both)
{
    nodes[0].build = "9.9.9-other";
    start(1);
    UNTIL_TRUE(context.driver.deserted == 1);
    cr_expect_eq(context.driver.desertion.code, GLINT_E_PEER_MISMATCH);
    cr_expect_not_null(strstr(context.driver.desertion.cause, "9.9.9-other"));
    cr_expect_not_null(strstr(context.driver.desertion.cause, build_id()));
    stop();
}

Test(remote_join, another_cluster_is_refused_with_both)
{
    nodes[0].cluster = "elsewhere";
    start(1);
    UNTIL_TRUE(context.driver.deserted == 1);
    cr_expect_eq(context.driver.desertion.code, GLINT_E_PEER_MISMATCH);
    cr_expect_not_null(strstr(context.driver.desertion.cause, "elsewhere"));
    cr_expect_not_null(strstr(context.driver.desertion.cause, "fake"));
    stop();
}

Test(remote_join, a_cluster_without_executors)
{
    cr_expect_eq(fake_context_start(&context, &cluster, &error), GLINT_E_CONFIG);
    cr_expect(error.hint[0] != '\0');
}

Test(remote_join, a_secret_that_is_not_there)
{
    struct cluster_executor one = {.id = "e1", .host = "127.0.0.1", .port = 1};
    cluster.executors = &one;
    cluster.executor_count = 1;
    cluster.insecure_plaintext = false;
    cluster.secret_file = "/nowhere/secret";
    cr_expect_eq(fake_context_start(&context, &cluster, &error), GLINT_E_SECRET);
}

/* ---- Executors that dial */

Test(remote_join, those_that_dial)
{
    cluster.executors_min = 3;
    start_listening(3);
    UNTIL_TRUE(context.driver.executors == 3);
    for (uint32_t i = 0; i < 3; i++) {
        UNTIL_TRUE(nodes[i].peers == 2);
        cr_expect_str_eq(context.driver.names[nodes[i].number], nodes[i].name);
    }
    stop();
}

Test(remote_join, those_that_dial_over_tls)
{
    use_tls();
    start_listening(1);
    UNTIL_TRUE(context.driver.executors == 1);
    stop();
}

Test(remote_join, too_few_dial)
{
    cluster.executors_min = 2;
    cluster.start_ms = 300;
    start_listening(1);
    UNTIL_TRUE(context.driver.deserted == 1);
    cr_expect_eq(context.driver.executors, 0);
    cr_expect_eq(context.driver.desertion.code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(context.driver.desertion.cause, "1 of 2"));
    stop();
}

Test(remote_join, the_same_name_twice)
{
    nodes[1].name = nodes[0].name;
    start_listening(2);
    UNTIL_TRUE(context.driver.executors == 1 && nodes[0].ends + nodes[1].ends == 1);
    cr_assert_eq(send_task(0, 0), 0);
    UNTIL_TRUE(context.driver.messages == 1);
    cr_expect_eq(context.driver.executors, 1);
    stop();
}

Test(remote_join, a_port_that_is_taken)
{
    start(1);
    cluster.listen_host = "127.0.0.1";
    cluster.listen_port = nodes[0].port;
    static struct fake_context second;
    cr_expect_eq(fake_context_start(&second, &cluster, &error), GLINT_E_ADDRESS);
    stop();
}
