/* Broadcast values: what a wrong, a late, a damaged and a missing answer does. Whole broadcasts
 * over threads are in tests/plain/values.c. */
#include "engine/limits.h"
#include "engine/net/value.h"
#include "tests/support/values_net.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SIZE = 2 * (int)VALUE_BLOCK_BYTES_MIN + 7, ID = 9 };

static uint8_t bytes[SIZE];

/* The second block is all zeros and so travels packed, the others do not. */
static struct glint_slice value(void)
{
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < SIZE; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        bytes[i] = i / VALUE_BLOCK_BYTES_MIN == 1 ? 0 : (uint8_t)x;
    }
    return (struct glint_slice){bytes, SIZE};
}

static int announce(struct values_net *net, uint32_t node)
{
    struct glint_error error = {.code = GLINT_OK};
    return values_announce(net->nodes[node].values, ID, net->value.size, &error);
}

/* values_get of a value that is there, or will not be. */
static int get(struct values_net *net, uint32_t node, struct glint_error *error)
{
    struct glint_slice out = {NULL, 0};
    *error = (struct glint_error){.code = GLINT_OK};
    int r = values_get(net->nodes[node].values, ID, NULL, &out, error);
    if (r == 0) {
        cr_assert_eq(out.size, net->value.size);
        cr_assert_eq(memcmp(out.data, net->value.data, out.size), 0);
    }
    cr_assert_eq(r, (int)error->code);
    return r;
}

/* Six blocks: more than the driver sends to everybody. */
static struct glint_slice large_value(void)
{
    static uint8_t large[5 * VALUE_BLOCK_BYTES_MIN + 7];
    for (uint64_t i = 0; i < sizeof large; i++) large[i] = (uint8_t)(i * 31 + i / 65536);
    return (struct glint_slice){large, sizeof large};
}

Test(values, small_ones_come_from_the_driver)
{
    struct values_net net;
    struct glint_error error;
    net_open(&net, 3, ID, value(), 1000, 1);
    for (uint32_t n = 0; n < 3; n++) cr_assert_eq(announce(&net, n), 0);
    while (net_step(&net)) {
    }
    for (uint32_t n = 0; n < 3; n++) cr_expect_eq(get(&net, n, &error), 0);
    cr_expect_eq(net.driver_blocks, 9);
    cr_expect_eq(net.peer_blocks, 0);
    net_close(&net);
    cr_expect_eq(mem_live(), 0);
}

Test(values, come_once_from_the_driver_and_then_from_others)
{
    struct values_net net;
    struct glint_error error;
    net_open(&net, 3, ID, large_value(), 1000, 1);
    for (uint32_t n = 0; n < 3; n++) cr_assert_eq(announce(&net, n), 0);
    cr_assert_eq(announce(&net, 0), 0, "the second time it is known");
    while (net_step(&net)) {
    }
    for (uint32_t n = 0; n < 3; n++) cr_expect_eq(get(&net, n, &error), 0);
    cr_expect_eq(net.driver_blocks, 6);
    cr_expect_eq(net.peer_blocks, 12);
    cr_expect_leq(net.requests_most, 3 * 4);
    net_close(&net);
    cr_expect_eq(mem_live(), 0);
}

Test(values, blocks_are_served_from_their_place_or_as_they_came)
{
    struct values_net net;
    struct glint_slice a, b;
    struct glint_error error = {.code = GLINT_OK};
    net_open(&net, 1, ID, value(), 1000, 1);
    cr_assert_eq(announce(&net, 0), 0);
    struct values *v = net.nodes[0].values;
    cr_expect_not(values_block(v, ID, 0, &a), "not here yet");
    while (net_step(&net)) {
    }
    cr_expect_not(values_block(v, ID, 3, &a));
    cr_expect_not(values_block(v, ID + 1, 0, &a));
    cr_assert_eq(values_get(v, ID, NULL, &b, &error), 0);
    cr_assert(values_block(v, ID, 0, &a));
    cr_expect(a.data == b.data && a.size == VALUE_BLOCK_BYTES_MIN);
    cr_assert(values_block(v, ID, 1, &a));
    cr_expect_lt(a.size, VALUE_BLOCK_BYTES_MIN / 10);
    uint8_t *out = mem_zalloc(SIZE);
    uint64_t sum = value_sum(ID, 1, net.value);
    memset(out + VALUE_BLOCK_BYTES_MIN, 1, VALUE_BLOCK_BYTES_MIN);
    cr_expect_eq(value_take(ID, 1, sum, a, out, SIZE, &error), 0);
    cr_expect_eq(out[VALUE_BLOCK_BYTES_MIN], 0);
    mem_free(out);
    net_close(&net);
    cr_expect_eq(mem_live(), 0);
}

Test(values, what_was_never_announced)
{
    struct values_net net;
    struct glint_error error;
    net_open(&net, 1, ID, value(), 1000, 1);
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_PROTOCOL);
    struct tracked t = {.id = ID};
    error.code = GLINT_OK;
    cr_expect_eq(values_on_tracked(net.nodes[0].values, &t, &error), (int)GLINT_E_PROTOCOL);
    error.code = GLINT_OK;
    cr_expect_eq(values_announce(net.nodes[0].values, ID, UINT64_MAX, &error),
                 (int)GLINT_E_VALUE_LIMIT);
    net_close(&net);
}

Test(values, answers_that_cannot_be)
{
    struct values_net net;
    net_open(&net, 1, ID, value(), 1000, 1);
    cr_assert_eq(announce(&net, 0), 0);
    static const struct tracked wrong[] = {
        {.id = ID, .count = 1, .blocks = {{3, TRACK_DRIVER, 0}}},
        {.id = ID, .count = 1, .blocks = {{UINT32_MAX, TRACK_DRIVER, 0}}},
        {.id = ID, .count = 2, .blocks = {{1, TRACK_DRIVER, 0}, {1, 0, 0}}},
        {.id = ID, .count = TRACK_BLOCKS_MAX + 1},
        {.id = ID + 1, .count = 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct glint_error error = {.code = GLINT_OK};
        cr_expect_eq(values_on_tracked(net.nodes[0].values, &wrong[i], &error),
                     (int)GLINT_E_PROTOCOL, "%zu", i);
    }
    cr_expect_eq(net.requests_out, 0);
    while (net_step(&net)) {
    }
    struct glint_error error;
    cr_expect_eq(get(&net, 0, &error), 0);
    struct tracked late = {.id = ID, .count = 1, .blocks = {{0, TRACK_DRIVER, 0}}};
    error.code = GLINT_OK;
    cr_expect_eq(values_on_tracked(net.nodes[0].values, &late, &error), (int)GLINT_E_PROTOCOL);
    net_close(&net);
}

Test(values, damaged_blocks_are_asked_for_again)
{
    unsigned repeats = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct values_net net;
        struct glint_error error;
        net_open(&net, 5, ID, large_value(), 1000, seed);
        net.corrupt_share = net.fail_share = 60;
        for (uint32_t n = 0; n < 5; n++) cr_assert_eq(announce(&net, n), 0);
        while (net_step(&net)) {
        }
        for (uint32_t n = 0; n < 5; n++) cr_expect_eq(get(&net, n, &error), 0);
        cr_expect_leq(net.driver_blocks, 6 * 5, "the driver never sends a block twice to one");
        cr_expect_gt(net.peer_blocks, 0, "others send, too, and what they send is damaged");
        repeats += (unsigned)net.failures;
        net_close(&net);
    }
    cr_expect_gt(repeats, 0);
}

Test(values, what_is_damaged_every_time_ends_the_value)
{
    struct values_net net;
    struct glint_error error;
    net_open(&net, 1, ID, large_value(), 1000, 1);
    net.corrupt_always = true;
    net.corrupt_share = 256;
    cr_assert_eq(announce(&net, 0), 0);
    while (net_step(&net)) {
    }
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_RUN_CORRUPT);
    net_close(&net);
    cr_expect_eq(mem_live(), 0);
}

Test(values, a_driver_that_is_gone_ends_the_wait)
{
    struct values_net net;
    struct glint_error error;
    net_open(&net, 1, ID, large_value(), 60000, 1);
    cr_assert_eq(announce(&net, 0), 0);
    cr_assert(net_step(&net) && net_step(&net));
    cr_assert_gt(net.requests_out, 0);
    net.nodes[0].mute = true;
    while (net_step(&net)) {
    }
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_CONNECTION);
    cr_expect(strstr(error.cause, "driver") != NULL);
    net_close(&net);
}

Test(values, no_progress_has_an_end)
{
    struct values_net net;
    struct glint_error error;
    net_open(&net, 1, ID, large_value(), 1, 1);
    cr_assert_eq(announce(&net, 0), 0);
    cr_expect_eq(get(&net, 0, &error), (int)GLINT_E_CONNECTION);
    cr_expect(strstr(error.cause, "0 of 6 blocks") != NULL, "%s", error.cause);
    while (net_step(&net)) {
    }
    cr_expect_eq(get(&net, 0, &error), 0, "it came after all");
    net_close(&net);
}

Test(values, without_memory)
{
    struct values_net net;
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
    cr_expect_eq(mem_live(), 0);
}
