/* Broadcasts: wrong, late, corrupt and missing responses. Whole broadcasts over threads are in
 * tests/plain/broadcasts.c. */
#include "engine/limits.h"
#include "engine/transfer/broadcast.h"
#include "tests/support/broadcast_net.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SIZE = 2 * (int)BROADCAST_BLOCK_BYTES_MIN + 7, ID = 9 };

static uint8_t bytes[SIZE];

/* The second block is all zeros, so it is sent compressed; the others are not. */
static struct glint_slice value(void)
{
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < SIZE; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        bytes[i] = i / BROADCAST_BLOCK_BYTES_MIN == 1 ? 0 : (uint8_t)x;
    }
    return (struct glint_slice){bytes, SIZE};
}

static int announce(struct broadcast_net *net, uint32_t node)
{
    struct glint_error error = {.code = GLINT_OK};
    return broadcast_client_add(net->nodes[node].broadcasts, ID, net->value.size, &error);
}

/* Calls broadcast_client_wait for a broadcast that is complete or has failed. */
static int get(struct broadcast_net *net, uint32_t node, struct glint_error *error)
{
    struct glint_slice out = {NULL, 0};
    *error = (struct glint_error){.code = GLINT_OK};
    void *ref = broadcast_client_wait(net->nodes[node].broadcasts, ID, NULL, &out, error);
    const int r = ref != NULL ? 0 : (int)error->code;
    if (ref != NULL) broadcast_client_release(net->nodes[node].broadcasts, ref);
    if (r == 0) {
        cr_assert_eq(out.size, net->value.size);
        cr_assert_eq(memcmp(out.data, net->value.data, out.size), 0);
    }
    cr_assert_eq(r, (int)error->code);
    return r;
}

/* Six blocks: so many that the driver does not send them all to every executor. */
static struct glint_slice large_value(void)
{
    static uint8_t large[5 * BROADCAST_BLOCK_BYTES_MIN + 7];
    for (uint64_t i = 0; i < sizeof large; i++) large[i] = (uint8_t)(i * 31 + i / 65536);
    return (struct glint_slice){large, sizeof large};
}

Test(broadcast_client, small_broadcast_comes_from_the_driver)
{
    struct broadcast_net net;
    struct glint_error error;
    net_open(&net, 3, ID, value(), 1000, 1);
    for (uint32_t n = 0; n < 3; n++) cr_assert_eq(announce(&net, n), 0);
    while (net_step(&net)) {
    }
    for (uint32_t n = 0; n < 3; n++) cr_expect_eq(get(&net, n, &error), 0);
    cr_expect_eq(net.driver_blocks, 9);
    cr_expect_eq(net.peer_blocks, 0);
    net_close(&net);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(broadcast_client, blocks_are_requested_when_the_connection_opens)
{
    struct broadcast_net net;
    struct glint_error error;
    net_open(&net, 1, ID, value(), 1000, 1);
    net.nodes[0].dialling = true;
    cr_assert_eq(announce(&net, 0), 0);
    cr_expect_not(net_step(&net), "nothing is sent");
    net.nodes[0].dialling = false;
    broadcast_client_request_missing_blocks(net.nodes[0].broadcasts);
    while (net_step(&net)) {
    }
    cr_expect_eq(get(&net, 0, &error), 0);
    broadcast_client_request_missing_blocks(net.nodes[0].broadcasts);
    cr_expect_not(net_step(&net), "it is complete");
    net_close(&net);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(broadcast_client, driver_sends_each_block_once)
{
    struct broadcast_net net;
    struct glint_error error;
    net_open(&net, 3, ID, large_value(), 1000, 1);
    for (uint32_t n = 0; n < 3; n++) cr_assert_eq(announce(&net, n), 0);
    cr_assert_eq(announce(&net, 0), 0, "an announced broadcast is known");
    while (net_step(&net)) {
    }
    for (uint32_t n = 0; n < 3; n++) cr_expect_eq(get(&net, n, &error), 0);
    cr_expect_eq(net.driver_blocks, 6);
    cr_expect_eq(net.peer_blocks, 12);
    cr_expect_leq(net.requests_most, 3 * 4);
    net_close(&net);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(broadcast_client, blocks_are_served_in_place_or_compressed)
{
    struct broadcast_net net;
    struct glint_slice a, b;
    struct glint_error error = {.code = GLINT_OK};
    net_open(&net, 1, ID, value(), 1000, 1);
    cr_assert_eq(announce(&net, 0), 0);
    struct broadcast_client *v = net.nodes[0].broadcasts;
    cr_expect_not(broadcast_client_find_block(v, ID, 0, &a), "not received yet");
    while (net_step(&net)) {
    }
    cr_expect_not(broadcast_client_find_block(v, ID, 3, &a));
    cr_expect_not(broadcast_client_find_block(v, ID + 1, 0, &a));
    void *whole = broadcast_client_wait(v, ID, NULL, &b, &error), *block;
    cr_assert_not_null(whole);
    cr_assert((block = broadcast_client_find_block(v, ID, 0, &a)) != NULL);
    broadcast_client_release(v, block);
    cr_expect(a.data == b.data && a.size == BROADCAST_BLOCK_BYTES_MIN);
    cr_assert((block = broadcast_client_find_block(v, ID, 1, &a)) != NULL);
    cr_expect_lt(a.size, BROADCAST_BLOCK_BYTES_MIN / 10);
    uint8_t *out = mem_zalloc(SIZE);
    uint64_t checksum = broadcast_block_checksum(ID, 1, net.value);
    memset(out + BROADCAST_BLOCK_BYTES_MIN, 1, BROADCAST_BLOCK_BYTES_MIN);
    cr_expect_eq(broadcast_block_decode(ID, 1, checksum, a, out, SIZE, &error), 0);
    cr_expect_eq(out[BROADCAST_BLOCK_BYTES_MIN], 0);
    mem_free(out);
    /* Removed: it is freed when no slot uses it and no block is being sent. */
    broadcast_client_remove(v, ID);
    broadcast_client_remove(v, ID);
    cr_expect_not(broadcast_client_find_block(v, ID, 0, &a));
    cr_expect_null(broadcast_client_wait(v, ID, NULL, &a, &error));
    cr_expect(b.data[0] == net.value.data[0] && a.size > 0);
    broadcast_client_release(v, block);
    broadcast_client_release(v, whole);
    net_close(&net);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(broadcast_client, unannounced_broadcast_is_an_error)
{
    struct broadcast_net net;
    struct glint_error error;
    net_open(&net, 1, ID, value(), 1000, 1);
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_PROTOCOL);
    struct block_assignment t = {.id = ID};
    error.code = GLINT_OK;
    cr_expect_eq(broadcast_client_on_assign(net.nodes[0].broadcasts, &t, &error),
                 (int)GLINT_E_PROTOCOL);
    error.code = GLINT_OK;
    cr_expect_eq(broadcast_client_add(net.nodes[0].broadcasts, ID, UINT64_MAX, &error),
                 (int)GLINT_E_VALUE_LIMIT);
    net_close(&net);
}

Test(broadcast_client, invalid_block_assignments_are_rejected)
{
    struct broadcast_net net;
    net_open(&net, 1, ID, value(), 1000, 1);
    cr_assert_eq(announce(&net, 0), 0);
    static const struct block_assignment wrong[] = {
        {.id = ID, .count = 1, .blocks = {{3, EXECUTOR_ID_DRIVER, 0}}},
        {.id = ID, .count = 1, .blocks = {{UINT32_MAX, EXECUTOR_ID_DRIVER, 0}}},
        {.id = ID, .count = 2, .blocks = {{1, EXECUTOR_ID_DRIVER, 0}, {1, 0, 0}}},
        {.id = ID, .count = BLOCK_REQUEST_MAX + 1},
        {.id = ID + 1, .count = 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct glint_error error = {.code = GLINT_OK};
        cr_expect_eq(broadcast_client_on_assign(net.nodes[0].broadcasts, &wrong[i], &error),
                     (int)GLINT_E_PROTOCOL, "%zu", i);
    }
    cr_expect_eq(net.requests_out, 0);
    while (net_step(&net)) {
    }
    struct glint_error error;
    cr_expect_eq(get(&net, 0, &error), 0);
    struct block_assignment late = {.id = ID, .count = 1, .blocks = {{0, EXECUTOR_ID_DRIVER, 0}}};
    error.code = GLINT_OK;
    cr_expect_eq(broadcast_client_on_assign(net.nodes[0].broadcasts, &late, &error),
                 (int)GLINT_E_PROTOCOL);
    net_close(&net);
}

Test(broadcast_client, corrupt_blocks_are_requested_again)
{
    unsigned repeats = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct broadcast_net net;
        struct glint_error error;
        net_open(&net, 5, ID, large_value(), 1000, seed);
        net.corrupt_share = net.fail_share = 60;
        for (uint32_t n = 0; n < 5; n++) cr_assert_eq(announce(&net, n), 0);
        while (net_step(&net)) {
        }
        for (uint32_t n = 0; n < 5; n++) cr_expect_eq(get(&net, n, &error), 0);
        cr_expect_leq(net.driver_blocks, 6 * 5,
                      "the driver never sends a block to one executor twice");
        cr_expect_gt(net.peer_blocks, 0, "peers send blocks too, corrupted");
        repeats += (unsigned)net.failures;
        net_close(&net);
    }
    cr_expect_gt(repeats, 0);
}

Test(broadcast_client, persistent_corruption_is_an_error)
{
    struct broadcast_net net;
    struct glint_error error;
    net_open(&net, 1, ID, large_value(), 1000, 1);
    net.corrupt_always = true;
    net.corrupt_share = 256;
    cr_assert_eq(announce(&net, 0), 0);
    while (net_step(&net)) {
    }
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_SHUFFLE_CORRUPT);
    net_close(&net);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(broadcast_client, lost_driver_ends_the_wait)
{
    struct broadcast_net net;
    struct glint_error error;
    net_open(&net, 1, ID, large_value(), 60000, 1);
    cr_assert_eq(announce(&net, 0), 0);
    cr_assert(net_step(&net) && net_step(&net));
    cr_assert_gt(net.requests_out, 0);
    net.nodes[0].disconnected = true;
    while (net_step(&net)) {
    }
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_CONNECTION);
    cr_expect(strstr(error.cause, "driver") != NULL);
    net_close(&net);
}

Test(broadcast_client, lack_of_progress_times_out)
{
    struct broadcast_net net;
    struct glint_error error;
    net_open(&net, 1, ID, large_value(), 1, 1);
    cr_assert_eq(announce(&net, 0), 0);
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_CONNECTION);
    cr_expect(strstr(error.cause, "0 of 6 blocks") != NULL, "%s", error.cause);
    while (net_step(&net)) {
    }
    cr_expect_eq(get(&net, 0, &error), 0, "it arrived after all");
    net_close(&net);
}

Test(broadcast_client, out_of_memory_can_be_retried)
{
    struct broadcast_net net;
    struct glint_error error;
    net_open(&net, 1, ID, value(), 1000, 1);
    for (int64_t n = 1; n <= 2; n++) {
        mem_fail_at(n, false);
        cr_expect_eq(announce(&net, 0), (int)GLINT_E_NO_MEMORY);
    }
    mem_fail_at(0, false);
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_PROTOCOL);
    cr_assert_eq(announce(&net, 0), 0);
    while (net_step(&net)) {
    }
    cr_expect_eq(get(&net, 0, &error), 0);
    net_close(&net);
    cr_expect_eq(mem_live_blocks(), 0);
}
