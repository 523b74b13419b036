/* Fetches over real connections: the same bytes with and without TLS, from memory and from files. A
 * connection that fails is redialled once, and then named in the error; nothing is leaked. */
#include "engine/transfer/fetch_client.h"
#include "tests/support/block_plane.h"

#include <criterion/criterion.h>

static struct plane p;

static void expect_all_right(bool tls, uint32_t value_bytes)
{
    int64_t live = mem_live_blocks();
    cr_assert(plane_open(&p, tls, 60000, value_bytes));
    for (uint32_t round = 0; round < 4; round++) {
        plane_start(&p, 1 + round % PLANE_SLOTS_MAX, round + 3, round * 2);
        plane_run(&p);
        cr_expect_eq(plane_right(&p), p.slot_count, "round %u: %s", round,
                     p.slots[0].t.task.error.cause);
    }
    cr_expect(plane_close(&p));
    cr_expect_eq(mem_live_blocks(), live);
}

Test(peers, fetched_bytes_match)
{
    expect_all_right(false, 2000);
    expect_all_right(false, 300000);
}

Test(peers, fetched_bytes_match_over_tls)
{
    expect_all_right(true, 2000);
    expect_all_right(true, 300000);
}

static void count_done(struct fetch_request *r)
{
    (*(uint32_t *)r->arg)++;
}

/* At most FETCH_CLIENT_REQUESTS_MAX are in flight; the queued ones end with the connection. */
Test(peers, requests_in_flight_are_limited)
{
    enum { COUNT = FETCH_CLIENT_REQUESTS_MAX + 6 };
    static struct fetch_request requests[COUNT];
    uint8_t into[COUNT];
    uint32_t done = 0;
    cr_assert(plane_open(&p, false, 60000, 100));
    p.servers[0].fault = PLANE_SILENT;
    for (uint32_t i = 0; i < COUNT; i++)
        requests[i] = (struct fetch_request){.executor = 1,
                                             .get = {.kind = GET_RESULT, .id = i + 1, .size = 1},
                                             .into = &into[i],
                                             .done = count_done,
                                             .arg = &done,
                                             .next = i + 1 < COUNT ? &requests[i + 1] : NULL};
    p.fetcher.submit(p.fetcher.arg, requests);
    while (p.servers[0].gets < FETCH_CLIENT_REQUESTS_MAX) uv_run(&p.loop, UV_RUN_ONCE);
    cr_expect_eq(done, 0);
    cr_expect(plane_close(&p));
    cr_expect_eq(p.servers[0].gets, FETCH_CLIENT_REQUESTS_MAX);
    cr_expect_eq(done, COUNT);
}

/* A connection that fails at any request is redialled once. */
Test(peers, broken_connection_is_redialed)
{
    for (uint64_t at = 0; at < 12; at += 3) {
        cr_assert(plane_open(&p, at % 2 == 0, 60000, 30000));
        p.servers[1].fault = PLANE_CLOSES_ONCE;
        p.servers[1].fault_at = at;
        plane_start(&p, 2, at, 0);
        plane_run(&p);
        cr_expect_eq(plane_right(&p), 2, "%llu: %s", (unsigned long long)at,
                     p.slots[0].t.task.error.cause);
        cr_expect_gt(p.servers[1].gets, at);
        cr_expect(plane_close(&p));
    }
}

/* As it comes when a request was cancelled. */
Test(peers, data_for_no_request_is_ignored)
{
    cr_assert(plane_open(&p, false, 60000, 30000));
    p.servers[1].fault = PLANE_STRAY;
    plane_start(&p, 2, 5, 0);
    plane_run(&p);
    cr_expect_eq(plane_right(&p), 2, "%s", p.slots[0].t.task.error.cause);
    cr_expect(plane_close(&p));
}

static void expect_lost(uint32_t server, const char *words)
{
    for (uint32_t i = 0; i < p.slot_count; i++) {
        const struct plane_slot *s = &p.slots[i];
        cr_expect_eq(s->result, GLINT_E_FETCH_FAILED, "%d", s->result);
        cr_assert_lt(s->lost, PLANE_MAPS);
        cr_expect_eq(s->inputs[s->lost].executor, server);
        cr_expect_not_null(strstr(s->t.task.error.cause, words), "%s", s->t.task.error.cause);
    }
}

Test(peers, peer_that_always_disconnects_is_named)
{
    for (uint64_t at = 0; at < 8; at += 7) {
        cr_assert(plane_open(&p, false, 60000, 100000));
        p.servers[2].fault = PLANE_CLOSES;
        p.servers[2].fault_at = at;
        plane_start(&p, 2, 5, 0);
        plane_run(&p);
        expect_lost(3, "e3 (127.0.0.1:");
        cr_expect(plane_close(&p));
    }
}

/* A response that starts and never completes is no progress: redials are limited. */
Test(peers, peer_with_torn_responses_is_named)
{
    for (uint64_t at = 0; at < 8; at += 7) {
        cr_assert(plane_open(&p, false, 60000, 100000));
        p.servers[2].fault = PLANE_TRUNCATES;
        p.servers[2].fault_at = at;
        plane_start(&p, 2, 5, 0);
        plane_run(&p);
        expect_lost(3, "e3 (127.0.0.1:");
        cr_expect_gt(p.servers[2].gets, at);
        cr_expect(plane_close(&p));
    }
}

Test(peers, silent_peer_is_named)
{
    for (uint64_t at = 0; at < 8; at += 7) {
        cr_assert(plane_open(&p, false, 300, 100000));
        p.servers[0].fault = PLANE_SILENT;
        p.servers[0].fault_at = at;
        plane_start(&p, 2, 5, 0);
        plane_run(&p);
        expect_lost(1, "no data for");
        cr_expect(plane_close(&p));
    }
}

Test(peers, unreachable_peer_is_named)
{
    cr_assert(plane_open(&p, false, 60000, 1000));
    listener_close(p.servers[1].listener);
    p.servers[1].listener = NULL;
    plane_start(&p, 2, 5, 0);
    plane_run(&p);
    expect_lost(2, "e2 (127.0.0.1:");
    cr_expect(plane_close(&p));
}

Test(peers, missing_output_is_named)
{
    cr_assert(plane_open(&p, false, 60000, 1000));
    p.wrong_map = 7;
    plane_start(&p, 1, 5, 0);
    plane_run(&p);
    expect_lost(2, "map output not found");
    cr_expect_eq(p.slots[0].lost, 7);
    cr_expect(plane_close(&p));
}

/* Tasks that wait for a silent peer end when they are cancelled and when peers_close is called. */
Test(peers, cancel_or_close_ends_waiting_tasks)
{
    for (int closed = 0; closed < 2; closed++) {
        cr_assert(plane_open(&p, false, 60000, 1000));
        for (uint32_t i = 0; i < PLANE_SERVERS; i++) p.servers[i].fault = PLANE_SILENT;
        plane_start(&p, 2, 5, 0);
        while (p.servers[0].gets + p.servers[1].gets + p.servers[2].gets < 6)
            uv_run(&p.loop, UV_RUN_ONCE);
        for (uint32_t i = 0; i < 2 && closed == 0; i++) {
            atomic_store(&p.slots[i].cancel, true);
            p.fetcher.cancel(p.fetcher.arg, p.slots[i].t.task.attempt_id);
        }
        if (closed == 1) plane_close_peers(&p);
        plane_run(&p);
        for (uint32_t i = 0; i < 2; i++)
            cr_expect_eq(p.slots[i].result,
                         closed == 1 ? GLINT_E_FETCH_FAILED : GLINT_E_INTERRUPTED);
        cr_expect(plane_close(&p));
    }
}

static void value_done(struct fetch_request *r)
{
    (void)r;
    uv_stop(&p.loop);
}

/* Sends `get`, with a static buffer. The server announces 1000 bytes and sends one. */
static struct fetch_request torn(const struct get_request *get)
{
    static uint8_t place[4096];
    struct fetch_request r = {.executor = 1, .get = *get, .into = place, .done = value_done};
    int64_t live = mem_live_blocks();
    cr_assert(get->size <= sizeof place && plane_open(&p, false, 60000, 2000));
    p.servers[0].fault = PLANE_TRUNCATES;
    p.fetcher.submit(p.fetcher.arg, &r);
    uv_run(&p.loop, UV_RUN_DEFAULT);
    cr_expect_null(r.response.data);
    cr_expect(plane_close(&p));
    cr_expect_eq(mem_live_blocks(), live);
    return r;
}

static struct fetch_request torn_value(uint32_t size)
{
    return torn(
        &(struct get_request){.kind = GET_BROADCAST_BLOCK, .id = 5, .block = 0, .size = size});
}

Test(peers, torn_compressed_block_leaves_nothing)
{
    cr_expect_eq(torn_value(4096).error.code, GLINT_E_CONNECTION);
}

Test(peers, oversized_block_is_rejected)
{
    cr_expect_eq(torn_value(999).error.code, GLINT_E_PROTOCOL);
}

/* Only a broadcast block may be compressed, and so be shorter than requested. */
Test(peers, response_of_another_length_is_refused)
{
    for (uint32_t size = 999; size <= 1001; size++) {
        const struct get_request get = {.kind = GET_RESULT, .id = 1, .size = size};
        int expected = size == 1000 ? GLINT_E_CONNECTION : GLINT_E_PROTOCOL;
        cr_expect_eq(torn(&get).error.code, expected, "%u", size);
    }
}
