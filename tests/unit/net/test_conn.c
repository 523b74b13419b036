/* Connections over loopback, both sides in one loop: opening, frames and data both ways, every way
 * to end. Each test runs with and without TLS. */
#include "engine/net/conn_internal.h"
#include "tests/support/conn_world.h"

#include <criterion/criterion.h>
#include <string.h>

#define FOR_BOTH(secrets) for (unsigned secrets = 0; secrets < 2; secrets++)

static struct side *const server = &world.server, *const client = &world.client;

/* ---- Frames */

Test(conn, both_sides_know_each_other)
{
    char host[64];
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        cr_expect_str_eq(conn_peer(client->conn)->node, "e1");
        cr_expect_str_eq(conn_peer(server->conn)->node, "driver");
        cr_expect_eq(conn_peer(server->conn)->channel, CHANNEL_DATA);
        conn_host(server->conn, host, sizeof host);
        cr_expect_str_eq(host, "127.0.0.1");
        cr_expect(strncmp(conn_address(server->conn), "127.0.0.1:", 10) == 0);
        cr_expect(server->net.bytes_sent > 0 && server->net.bytes_received > 0);
        cr_expect_eq(server->net.refused + client->net.refused, 0);
        world_close();
    }
}

Test(conn, frames_of_all_sizes_arrive_whole)
{
    static const uint64_t sizes[] = {0,      1,      31,     32,     33,       255,   4063,
                                     4064,   16351,  16352,  16353,  65535,    65536, 262111,
                                     262112, 262113, 262144, 300000, 500 * KIB};
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            cr_assert(world_send(client, sizes[i], i));
            cr_assert(world_send(server, sizes[i], i + 1));
            WORLD_WAIT(server->frames == i + 1 && client->frames == i + 1);
            cr_assert_not(world.late);
            cr_assert_eq(server->last_size, sizes[i]);
            cr_assert_eq(client->last_request, i + 1);
            cr_assert(world_is_filled(server->last, sizes[i], i));
            cr_assert(world_is_filled(client->last, sizes[i], i + 1));
        }
        world_close();
    }
}

static void check_order(struct side *s, struct conn *c, enum moment at)
{
    (void)c;
    if (at != AT_FRAME) return;
    cr_assert_eq(s->last_request, s->frames);
    cr_assert(world_is_filled(s->last, s->last_size, s->last_request));
}

Test(conn, many_small_frames_go_together_and_in_order)
{
    enum { MANY = 20000 };
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        server->hook = check_order;
        world_connect();
        for (unsigned i = 1; i <= MANY; i++) cr_assert(world_send(client, i % 100, i));
        cr_expect_geq(conn_queued(client->conn), 90u * MANY / 2);
        WORLD_WAIT(server->frames == MANY);
        cr_expect_not(world.late);
        WORLD_WAIT(conn_queued(client->conn) == 0);
        cr_expect_not(world.late);
        world_close();
    }
}

Test(conn, what_is_sent_before_it_is_open_comes_behind_the_hello)
{
    struct glint_error error = {.code = GLINT_OK};
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        cr_assert(world_dial(CHANNEL_DATA, NULL, &error));
        cr_expect_not(conn_is_open(client->conn));
        cr_assert(world_send(client, 100, 1));
        WORLD_WAIT(server->frames == 1);
        cr_expect_not(world.late);
        world_close();
    }
}

static void send_at_once(struct side *s, struct conn *c, enum moment at)
{
    (void)c;
    if (at == AT_OPENED) cr_assert(world_send(s, 5, 77));
}

Test(conn, what_is_sent_from_inside_the_first_callbacks_arrives)
{
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        server->hook = client->hook = send_at_once;
        world_connect();
        WORLD_WAIT(server->frames == 1 && client->frames == 1);
        cr_expect_not(world.late);
        world_close();
    }
}

/* ---- Data */

static bool send_data(struct side *s, const uint8_t *bytes, uint64_t size, uint64_t request)
{
    struct glint_slice slice = {bytes, size};
    return conn_send_data(s->conn, request, slice, world_on_sent, s);
}

static uint8_t *data_of(uint64_t size, uint64_t seed)
{
    uint8_t *data = malloc(size + 1);
    cr_assert_not_null(data);
    world_fill(data, size, seed);
    return data;
}

Test(conn, data_of_all_sizes_goes_where_it_is_wanted)
{
    static const uint64_t sizes[] = {1,         16351,         16352,   65535,   65536,
                                     MIB,       MIB + 1,       262144,  MIB - 1, 3 * MIB + 17,
                                     100 * KIB, 4 * MIB + 999, 8 * MIB, 8,       0};
    uint8_t *data = data_of(8 * MIB, 3);
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        client->wants_data = true;
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            memset(client->into, 0xee, WORLD_INTO_MAX);
            send_data(server, data, sizes[i], i);
            WORLD_WAIT(client->datas == i + 1 && server->sent == i + 1);
            cr_assert_not(world.late);
            cr_assert_eq(client->last_request, i);
            cr_assert(memcmp(client->into, data, sizes[i]) == 0);
            cr_assert(sizes[i] == 8 * MIB || client->into[sizes[i]] == 0xee);
        }
        world_close();
    }
    free(data);
}

Test(conn, much_data_both_ways_at_once_with_frames_between)
{
    enum { MANY = 60 };
    uint8_t *data = data_of(2 * MIB, 5);
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        client->wants_data = server->wants_data = true;
        for (unsigned i = 0; i < MANY; i++) {
            send_data(server, data, 2 * MIB - i * 1000, i);
            send_data(client, data, 2 * MIB - i * 3000, i);
            cr_assert(world_send(server, i, i) && world_send(client, i * 10, i));
        }
        WORLD_WAIT(client->datas == MANY && server->datas == MANY && client->frames == MANY &&
                   server->frames == MANY && server->sent == MANY && client->sent == MANY);
        cr_assert_not(world.late);
        cr_expect(memcmp(client->into, data, MIB) == 0 && memcmp(server->into, data, MIB) == 0);
        cr_expect_eq(conn_queued(client->conn) + conn_queued(server->conn), 0);
        world_close();
    }
    free(data);
}

Test(conn, data_that_nobody_wants_is_passed_over)
{
    uint8_t *data = data_of(MIB, 1);
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        for (unsigned i = 0; i < 3; i++) send_data(server, data, MIB - i, i);
        cr_assert(world_send(server, 10, 9));
        WORLD_WAIT(client->frames == 1);
        cr_expect_eq(client->datas, 0);
        cr_expect_eq(server->sent, 3);
        cr_expect_not(world.late);
        world_close();
    }
    free(data);
}

static uint8_t more[64];

static void send_more(struct side *s, struct conn *c, enum moment at)
{
    if (at == AT_SENT && s->sent < 1000 && c != NULL) send_data(s, more, sizeof more, s->sent);
}

Test(conn, sent_may_send_more)
{
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        client->wants_data = true;
        server->hook = send_more;
        send_data(server, more, sizeof more, 0);
        WORLD_WAIT(client->datas == 1000);
        cr_expect_not(world.late);
        world_close();
    }
}

/* What waits stays plain and borrowed: only a part of it is encrypted at a time. */
Test(conn, much_data_is_encrypted_in_parts)
{
    enum { MANY = 4 };
    uint8_t *data = data_of(8 * MIB, 2);
    uint64_t sent = 0;
    world_open(1);
    world_connect();
    client->wants_data = true;
    for (unsigned i = 0; i < MANY; i++) cr_assert(send_data(server, data, 8 * MIB, i));
    cr_expect_gt(conn_queued(server->conn), 24 * MIB);
    world_begin_wait();
    while (client->datas < MANY) {
        cr_assert(world_turn());
        cr_assert_leq(server->conn->encrypted.capacity, MIB);
        cr_assert_leq(server->net.bytes_sent - sent, 4 * MIB, "others have their turn meanwhile");
        sent = server->net.bytes_sent;
    }
    cr_expect(memcmp(client->into, data, 8 * MIB) == 0);
    WORLD_WAIT(conn_queued(server->conn) == 0);
    for (int i = 0; i < 3; i++) uv_run(&world.loop, UV_RUN_NOWAIT);
    cr_expect_leq(server->conn->encrypted.capacity, 64 * KIB, "an idle one keeps little");
    world_close();
    free(data);
}

Test(conn, a_frame_longer_than_its_type_may_be_is_not_sent)
{
    static const enum frame_type types[] = {FRAME_PING, FRAME_GET, FRAME_MESSAGE};
    FOR_BOTH(secrets)
    {
        for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
            struct buffer payload = {NULL, 0, 0};
            uint64_t most = frame_bytes_max(types[i]);
            world_open(secrets);
            world_connect();
            cr_assert(buffer_reserve(&payload, most + 1));
            memset(payload.data, 0, most + 1);
            payload.size = most + 1;
            cr_expect_not(conn_send(client->conn, types[i], 1, &payload));
            cr_expect_null(payload.data);
            WORLD_WAIT(client->closed && server->closed);
            cr_expect_eq(client->why.code, GLINT_E_PROTOCOL);
            cr_expect_not_null(strstr(client->why.cause, frame_name(types[i])));
            cr_expect_eq(server->frames, 0);
            world_close();
        }
    }
}

/* ---- Ends */

Test(conn, a_closed_connection_is_an_event_of_both_sides)
{
    FOR_BOTH(secrets)
    {
        for (int flush = 0; flush < 2; flush++) {
            world_open(secrets);
            world_connect();
            conn_close(client->conn, flush);
            WORLD_WAIT(client->closed && server->closed);
            cr_expect_not(world.late);
            cr_expect_eq(client->why.code, GLINT_OK);
            cr_expect_eq(server->why.code, GLINT_E_CONNECTION);
            world_close();
        }
    }
}

Test(conn, flushing_sends_everything_even_past_unread_bytes)
{
    uint8_t *data = data_of(8 * MIB, 2);
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        client->wants_data = true;
        for (unsigned i = 0; i < 4; i++) send_data(server, data, 8 * MIB, i);
        cr_assert(world_send(server, 1000, 5));
        for (unsigned i = 0; i < 100; i++) cr_assert(world_send(client, 20000, i));
        conn_close(server->conn, true);
        cr_expect_not(world_send(server, 1, 6), "it takes no more");
        WORLD_WAIT(client->closed && server->closed);
        cr_expect_not(world.late);
        cr_expect_eq(client->datas, 4);
        cr_expect_eq(client->frames, 1);
        cr_expect_eq(client->last_request, 5);
        cr_expect_eq(server->sent, 4);
        cr_expect_eq(server->why.code, GLINT_OK);
        world_close();
    }
    free(data);
}

Test(conn, what_was_not_sent_is_told)
{
    uint8_t *data = data_of(8 * MIB, 2);
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        for (unsigned i = 0; i < 20; i++) send_data(server, data, 8 * MIB, i);
        conn_close(server->conn, false);
        cr_expect_not(send_data(server, data, 1, 20), "it takes no more");
        cr_expect_eq(server->sent + server->unsent, 0, "never from inside a call");
        WORLD_WAIT(server->closed);
        cr_expect_eq(server->sent + server->unsent, 20);
        cr_expect_geq(server->unsent, 19);
        world_close();
    }
    free(data);
}

static void turn_until_sent(const struct side *s)
{
    world_begin_wait();
    while (conn_queued(s->conn) > 0) cr_assert(world_turn());
}

/* The other side has gone with an RST, since it had not read all; what it had said before counts.
 */
Test(conn, what_came_before_a_write_failed_is_delivered)
{
    enum { MANY = 50 };
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        client->hook = check_order;
        world_connect();
        uv_read_stop((uv_stream_t *)&server->conn->tcp);
        uv_read_stop((uv_stream_t *)&client->conn->tcp);
        cr_assert(world_send(client, 100, 1));
        for (unsigned i = 1; i <= MANY; i++) cr_assert(world_send(server, 1000, i));
        turn_until_sent(client);
        turn_until_sent(server);
        conn_close(server->conn, false);
        WORLD_WAIT(server->closed);
        while (!client->conn->broken) {
            world_send(client, 100, 2);
            cr_assert(world_turn());
        }
        cr_expect_eq(client->frames, 0);
        cr_expect_not(world_send(client, 100, 2), "it takes no more");
        cr_assert_eq(conn_read_start(client->conn), 0);
        WORLD_WAIT(client->closed);
        cr_expect_not(world.late);
        cr_expect_eq(client->frames, MANY);
        cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
        cr_expect_not_null(strstr(client->why.cause, "cannot send"), "%s", client->why.cause);
        world_close();
    }
}

Test(conn, a_frame_that_its_taker_does_not_like_ends_it)
{
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world_connect();
        server->refuse_frames = true;
        cr_assert(world_send(client, 3, 0));
        cr_assert(world_send(client, 3, 0));
        WORLD_WAIT(client->closed && server->closed);
        cr_expect_eq(server->why.code, GLINT_E_PROTOCOL);
        cr_expect_eq(server->frames, 1);
        world_close();
    }
}

Test(conn, a_receiver_that_stands_still_is_given_up)
{
    struct glint_error error = {.code = GLINT_OK};
    FOR_BOTH(secrets)
    {
        bool ok = true;
        world_open(secrets);
        world_connect();
        for (unsigned i = 0; ok && i < 100; i++) { /* nobody turns the loop */
            struct buffer payload = {NULL, 0, 0};
            cr_assert(buffer_reserve(&payload, MIB));
            memset(payload.data, 0, MIB);
            payload.size = MIB;
            ok = conn_send(client->conn, FRAME_GET, i, &payload);
        }
        cr_expect_not(ok);
        cr_expect_leq(conn_queued(client->conn), CONN_QUEUE_BYTES_MAX + MIB);
        WORLD_WAIT(client->closed);
        cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
        cr_expect_not_null(strstr(client->why.cause, "does not read"));
        world_close();
    }
    (void)error;
}

Test(conn, data_goes_on_while_keys_are_renewed)
{
    uint8_t *data = data_of(8 * MIB, 5);
    world_open(1);
    tls_context_set_key_records(world.server_tls, 5); /* each 64 KiB, and more often */
    tls_context_set_key_records(world.client_tls, 7);
    world_connect();
    server->wants_data = client->wants_data = true;
    for (unsigned i = 1; i <= 3; i++) {
        cr_assert(world_send(server, i * 10000, i) && world_send(client, i * 20000, i));
        cr_assert(send_data(server, data, 8 * MIB, i) && send_data(client, data, 8 * MIB, i));
        WORLD_WAIT(server->datas == i && client->datas == i && server->frames == i &&
                   client->frames == i);
        cr_assert_not(world.late);
        cr_assert(memcmp(client->into, data, 8 * MIB) == 0);
        cr_assert(memcmp(server->into, data, 8 * MIB) == 0);
        cr_assert(world_is_filled(server->last, i * 20000, i));
    }
    WORLD_WAIT(server->sent == 3 && client->sent == 3);
    world_close();
    free(data);
}

/* A frame of 12 bytes takes hundreds: what waits is bounded by memory, not by bytes of the wire. */
Test(conn, small_frames_that_wait_count_by_their_memory)
{
    world_open(0);
    world_connect();
    uint64_t count = 0;
    while (world_send(client, 12, count)) count++; /* nobody turns the loop */
    cr_expect_gt(count, 1000);
    cr_expect_lt(count, CONN_QUEUE_BYTES_MAX / 256, "%llu frames", (unsigned long long)count);
    WORLD_WAIT(client->closed);
    cr_expect_not_null(strstr(client->why.cause, "does not read"));
    world_close();
}

static enum moment close_at;
static bool close_flush;

static void close_from_inside(struct side *s, struct conn *c, enum moment at)
{
    if (at != close_at || c == NULL || s->closed) return;
    conn_close(c, close_flush);
    conn_close(c, close_flush); /* again is fine */
}

Test(conn, it_may_be_closed_from_inside_every_callback)
{
    uint8_t *data = data_of(MIB, 2);
    FOR_BOTH(secrets)
    {
        for (int i = 0; i < 4 * AT_CLOSED; i++) {
            struct glint_error error = {.code = GLINT_OK};
            close_at = (enum moment)(i / 4);
            close_flush = i & 1;
            world_open(secrets);
            client->wants_data = server->wants_data = true;
            (i & 2 ? client : server)->hook = close_from_inside;
            cr_assert(world_dial(CHANNEL_DATA, NULL, &error));
            WORLD_WAIT(client->opened || client->closed);
            for (unsigned k = 0; k < 3; k++) {
                if (client->conn != NULL) cr_expect(world_send(client, 10, k) || client->conn);
                if (client->conn != NULL) send_data(client, data, MIB, k);
                if (server->conn != NULL) cr_expect(world_send(server, 10, k) || server->conn);
                if (server->conn != NULL) send_data(server, data, MIB, k);
            }
            WORLD_WAIT(client->closed && (server->closed || server->opened == 0));
            cr_expect_not(world.late, "closing at %d, flush %d", (int)close_at, close_flush);
            world_close();
        }
    }
    free(data);
}
