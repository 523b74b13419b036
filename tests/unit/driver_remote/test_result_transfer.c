/* Results, inline and fetched, and broadcasts. */
#include "fixture.h"

TestSuite(transport_data, .init = enter, .fini = leave);

static void start_one(enum fake_result result, uint64_t bytes)
{
    nodes[0].result = result;
    nodes[0].result_bytes = bytes;
    start(1);
    UNTIL_TRUE(context.driver.executors == 1);
}

Test(transport_data, small_results_arrive_in_order)
{
    start_one(FAKE_SMALL, 0);
    for (uint32_t i = 0; i < 100; i++) cr_assert_eq(send_task(0, i), 0);
    UNTIL_TRUE(context.driver.messages == 100);
    uint32_t task = 0;
    for (const struct message *m = context.driver.first; m != NULL; m = m->next, task++) {
        cr_assert_eq(m->type, MSG_DONE);
        cr_assert_eq(m->task, task);
        cr_assert_eq(m->body.data[0], task);
    }
    stop();
}

static void fetch(uint64_t bytes)
{
    start_one(FAKE_LARGE, bytes);
    for (uint32_t i = 0; i < 3; i++) cr_assert_eq(send_task(0, i), 0);
    UNTIL_TRUE(context.driver.messages == 3);
    for (const struct message *m = context.driver.first; m != NULL; m = m->next) {
        cr_assert_eq(m->type, MSG_DONE);
        cr_assert_eq(m->size, 0);
        cr_assert_eq(m->body.size, bytes);
        for (uint64_t i = 0; i < bytes; i++)
            cr_assert_eq(m->body.data[i], (uint8_t)(i * 7 + i / 251));
    }
    UNTIL_TRUE(nodes[0].releases == 3);
    stop();
}

Test(transport_data, large_results_are_fetched)
{
    fetch(11 * MIB + 17);
}

Test(transport_data, large_results_are_fetched_over_tls)
{
    use_tls();
    fetch(3 * MIB);
}

Test(transport_data, one_byte_result_is_fetched)
{
    fetch(1);
}

/* The results exceed result_bytes_max together: later ones are fetched when the driver has taken
 * the earlier ones. */
Test(transport_data, fetches_wait_for_result_memory)
{
    nodes[0].result = FAKE_LARGE;
    nodes[0].result_bytes = 3 * MIB;
    context.result_bytes_max = 4 * MIB;
    start(1);
    UNTIL_TRUE(context.driver.executors == 1);
    for (uint32_t i = 0; i < 6; i++) cr_assert_eq(send_task(0, i), 0);
    UNTIL_TRUE(context.driver.messages == 6);
    stop();
}

static void fetch_fails(enum fake_result result, uint64_t bytes, enum glint_code code)
{
    start_one(result, bytes);
    cr_assert_eq(send_task(0, 9), 0);
    UNTIL_TRUE(context.driver.messages == 1);
    const struct message *m = context.driver.first;
    cr_assert_eq(m->type, MSG_FAILED);
    cr_expect_eq(m->task, 9);
    cr_expect_eq(m->attempt, 3);
    cr_expect_eq(m->error->code, code);
    cr_expect_eq(context.driver.lost, 0);
    stop();
}

Test(transport_data, result_beyond_the_limit_is_not_fetched)
{
    fetch_fails(FAKE_HUGE, 0, GLINT_E_RESULT_LIMIT);
}

Test(transport_data, missing_result_fails_the_task)
{
    fetch_fails(FAKE_LOST, 20 * MIB, GLINT_E_CONNECTION);
}

Test(transport_data, corrupt_result_fails_the_task)
{
    fetch_fails(FAKE_DAMAGED, 3 * MIB, GLINT_E_SHUFFLE_CORRUPT);
}

Test(transport_data, response_of_wrong_length_loses_executor)
{
    start_one(FAKE_SHORT, 2 * MIB);
    cr_assert_eq(send_task(0, 1), 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_not_null(strstr(context.driver.why.cause, "unsolicited bytes"));
    cr_expect_eq(context.driver.messages, 0);
    stop();
}

Test(transport_data, stalled_result_loses_the_executor)
{
    cluster.fetch_ms = 60;
    start_one(FAKE_SILENT, 2 * MIB);
    cr_assert_eq(send_task(0, 1), 0);
    UNTIL_TRUE(context.driver.lost == 1);
    cr_expect_not_null(strstr(context.driver.why.cause, "result fetch made no progress for 60 ms"));
    stop();
}

/* ---- Broadcasts */

static void broadcast(uint32_t count, uint64_t id, uint64_t size)
{
    uint8_t *value = malloc(size);
    cr_assert_not_null(value);
    for (uint64_t i = 0; i < size; i++) value[i] = (uint8_t)(i * 31 + id);
    start(count);
    UNTIL_TRUE(context.driver.executors == count);
    for (uint32_t e = 0; e < count; e++) {
        struct message *m = message_create(MSG_BROADCAST);
        cr_assert_not_null(m);
        m->id = id;
        m->body = (struct buffer){value, size, size};
        m->body_borrowed = true;
        cr_assert_eq(context.transport.send(context.transport.arg, e, m, &error), 0);
    }
    for (uint32_t e = 0; e < count; e++) UNTIL_TRUE(nodes[e].values == 1);
    fake_context_wait_ms(&context, 0);
    cr_expect(cluster_transport_broadcast_bytes(&context.transport) > 0);
    cr_expect(context.driver.broadcast_bytes > 0);
    stop();
    free(value);
}

Test(transport_data, large_broadcast_is_sent_in_blocks)
{
    broadcast(1, 5, 9 * MIB + 3);
}

Test(transport_data, broadcast_is_sent_over_tls)
{
    use_tls();
    broadcast(1, 6, BROADCAST_INLINE_BYTES_MAX + 1);
}

/* The fake executors check that the message contains its body. */
Test(transport_data, small_broadcast_is_sent_inline)
{
    broadcast(2, 4, BROADCAST_INLINE_BYTES_MAX);
}

Test(transport_data, broadcast_reaches_several_executors)
{
    broadcast(4, 7, 10 * MIB);
}

Test(transport_data, oversized_message_is_rejected)
{
    start_one(FAKE_SMALL, 0);
    struct message *m = message_create(MSG_STAGE);
    cr_assert_not_null(m);
    cr_assert(buffer_reserve(&m->body, CONTROL_FRAME_BYTES_MAX));
    m->body.size = CONTROL_FRAME_BYTES_MAX;
    memset(m->body.data, 0, m->body.size);
    cr_expect_eq(context.transport.send(context.transport.arg, 0, m, &error), GLINT_E_PLAN_LIMIT);
    stop();
}
