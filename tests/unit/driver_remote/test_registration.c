/* How executors join: by dialled daemons, from queues, late, by dialling the driver; and which are
 * rejected. */
#include "fixture.h"

TestSuite(registration, .init = enter, .fini = leave);

/* The driver has sent heartbeats after the process had sent REGISTER. */
static void until_registered(uint32_t node)
{
    UNTIL_TRUE(nodes[node].joined == 1);
    const uint32_t before = nodes[node].pings;
    UNTIL_TRUE(nodes[node].pings >= before + 20);
}

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

Test(registration, executors_learn_all_peers)
{
    nodes[1].slots = 7;
    join_three();
}

Test(registration, executors_learn_all_peers_over_tls)
{
    use_tls();
    join_three();
}

Test(registration, unreachable_executor_is_tolerated)
{
    nodes[0].port_closed = true;
    start(2);
    UNTIL_TRUE(context.driver.executors == 1);
    cr_expect_str_eq(context.driver.names[0], "e2");
    stop();
}

Test(registration, long_queue_wait_is_reported)
{
    nodes[0].queue = 3;
    nodes[0].never_starts = true;
    start(1);
    UNTIL_TRUE(strstr(context.driver.notes, "position 1 in its queue\n") != NULL);
    cr_expect_null(strstr(context.driver.notes, "position 3 in its queue\n"));
    cr_expect_eq(context.driver.executors, 0);
    stop();
}

Test(registration, queued_driver_does_not_time_out)
{
    nodes[0].queue = 1;
    nodes[0].never_starts = true;
    use_stepped_clock();
    start(1);
    UNTIL_TRUE(nodes[0].executor_requests == 1 && context.driver.notes[0] != '\0');
    pass_start_time();
    const uint32_t before = nodes[0].daemon_pings;
    UNTIL_TRUE(nodes[0].daemon_pings >= before + 3); /* the driver's timers have run */
    cr_expect_eq(context.driver.no_executors, 0);
    stop();
}

Test(registration, no_executor_by_the_deadline_is_an_error)
{
    nodes[0].port_closed = nodes[1].port_closed = true;
    use_stepped_clock();
    start(2);
    pass_start_time();
    UNTIL_TRUE(context.driver.no_executors == 1);
    cr_expect_eq(context.driver.no_executors_error.code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, "e1 (127.0.0.1:"));
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, "; e2 (127.0.0.1:"));
    cr_expect_not_null(strstr(context.driver.no_executors_error.hint, "glint executor"));
    pass_start_time();
    for (int i = 0; i < 3; i++) fake_context_wait_ms(&context, 20);
    cr_expect_eq(context.driver.no_executors, 1);
    stop();
}

Test(registration, too_few_executors_by_deadline_is_an_error)
{
    nodes[1].never_ready = true;
    cluster.executors_min = 2;
    use_stepped_clock();
    start(2);
    until_registered(0);
    UNTIL_TRUE(nodes[1].executor_requests == 1);
    pass_start_time();
    UNTIL_TRUE(context.driver.no_executors == 1);
    cr_expect_eq(context.driver.executors, 0);
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, "1 of 2 executors"));
    stop();
}

Test(registration, wrong_secret_is_not_retried)
{
    use_tls();
    nodes[0].other_secret = true;
    start(1);
    UNTIL_TRUE(context.driver.no_executors == 1);
    cr_expect_eq(context.driver.no_executors_error.code, GLINT_E_AUTH);
    cr_expect_eq(nodes[0].executor_requests, 0);
    stop();
}

Test(registration, wrong_secret_of_one_executor_is_reported)
{
    use_tls();
    nodes[0].other_secret = true;
    start(2);
    UNTIL_TRUE(context.driver.executors == 1 && context.driver.notes[0] != '\0');
    cr_expect_eq(context.driver.no_executors, 0);
    cr_expect_not_null(strstr(context.driver.notes, "executor e1 (127.0.0.1:"));
    stop();
}

Test(registration, rejection_outranks_unreachable_as_cause)
{
    nodes[0].port_closed = true;
    nodes[1].build = "9.9.9-other";
    use_stepped_clock();
    start(2);
    UNTIL_TRUE(strstr(context.driver.notes, "is not used: ") != NULL);
    pass_start_time();
    UNTIL_TRUE(context.driver.no_executors == 1);
    cr_expect_eq(context.driver.no_executors_error.code, GLINT_E_PEER_MISMATCH);
    stop();
}

Test(registration, other_build_is_rejected_naming_both)
{
    nodes[0].build = "9.9.9-other";
    start(1);
    UNTIL_TRUE(context.driver.no_executors == 1);
    cr_expect_eq(context.driver.no_executors_error.code, GLINT_E_PEER_MISMATCH);
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, "9.9.9-other"));
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, build_id()));
    stop();
}

Test(registration, other_cluster_is_rejected_naming_both)
{
    nodes[0].cluster = "elsewhere";
    start(1);
    UNTIL_TRUE(context.driver.no_executors == 1);
    cr_expect_eq(context.driver.no_executors_error.code, GLINT_E_PEER_MISMATCH);
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, "elsewhere"));
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, "fake"));
    stop();
}

Test(registration, missing_secret_file_is_an_error)
{
    struct cluster_executor one = {.id = "e1", .host = "127.0.0.1", .port = 1};
    cluster.executors = &one;
    cluster.executor_count = 1;
    cluster.insecure_plaintext = false;
    cluster.secret_file = "/nowhere/secret";
    cr_expect_eq(fake_context_start(&context, &cluster, &error), GLINT_E_SECRET);
}

/* ---- Executors that dial */

Test(registration, dialing_executors_register)
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

Test(registration, dialing_executors_register_over_tls)
{
    use_tls();
    start_listening(1);
    UNTIL_TRUE(context.driver.executors == 1);
    stop();
}

Test(registration, too_few_dialing_executors_is_an_error)
{
    cluster.executors_min = 2;
    use_stepped_clock();
    start_listening(1);
    until_registered(0);
    pass_start_time();
    UNTIL_TRUE(context.driver.no_executors == 1);
    cr_expect_eq(context.driver.executors, 0);
    cr_expect_eq(context.driver.no_executors_error.code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause, "1 of 2"));
    stop();
}

Test(registration, duplicate_name_is_rejected)
{
    nodes[1].name = nodes[0].name;
    start_listening(2);
    UNTIL_TRUE(context.driver.executors == 1 && nodes[0].ends + nodes[1].ends == 1);
    cr_assert_eq(send_task(0, 0), 0);
    UNTIL_TRUE(context.driver.messages == 1);
    cr_expect_eq(context.driver.executors, 1);
    stop();
}

Test(registration, port_in_use_is_an_error)
{
    start(1);
    cluster.listen_host = "127.0.0.1";
    cluster.listen_port = nodes[0].port;
    static struct fake_context second;
    cr_expect_eq(fake_context_start(&second, &cluster, &error), GLINT_E_ADDRESS);
    stop();
}

/* ---- Processes that do not connect */

Test(registration, process_that_never_connects_names_the_driver_address)
{
    nodes[0].never_connects = true;
    use_stepped_clock();
    start(1);
    UNTIL_TRUE(nodes[0].executor_requests == 1);
    pass_start_time();
    UNTIL_TRUE(context.driver.no_executors == 1);
    cr_expect_eq(context.driver.no_executors_error.code, GLINT_E_NO_EXECUTORS);
    cr_expect_not_null(strstr(context.driver.no_executors_error.cause,
                              "its process has not connected to the driver at 127.0.0.1:"));
    cr_expect_not_null(strstr(context.driver.no_executors_error.hint, "set driver_host"));
    stop();
}
