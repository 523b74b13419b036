/* Connections over loopback, both sides in one loop: opening, frames and data in both directions,
 * and every way to close. Most tests run with and without TLS. */
#include "engine/net/conn_internal.h"
#include "tests/support/conn_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#define FOR_BOTH(secrets) for (unsigned secrets = 0; secrets < 2; secrets++)

static struct side *const server = &fixture.server, *const client = &fixture.client;

/* ---- Frames */

Test(conn, both_sides_learn_the_peer_identity)
{
    char host[64];
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        cr_expect_str_eq(conn_peer_hello(client->conn)->node, "e1");
        cr_expect_str_eq(conn_peer_hello(server->conn)->node, "driver");
        cr_expect_eq(conn_peer_hello(server->conn)->channel, CHANNEL_DATA);
        conn_peer_host(server->conn, host, sizeof host);
        cr_expect_str_eq(host, "127.0.0.1");
        cr_expect(strncmp(conn_peer_address(server->conn), "127.0.0.1:", 10) == 0);
        cr_expect(server->net.bytes_sent > 0 && server->net.bytes_received > 0);
        cr_expect_eq(server->net.rejected + client->net.rejected, 0);
        conn_fixture_close();
    }
}

Test(conn, frames_of_all_sizes_arrive_intact)
{
    static const uint64_t sizes[] = {0,      1,      31,     32,     33,       255,   4063,
                                     4064,   16351,  16352,  16353,  65535,    65536, 262111,
                                     262112, 262113, 262144, 300000, 500 * KIB};
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            cr_assert(conn_fixture_send(client, sizes[i], i));
            cr_assert(conn_fixture_send(server, sizes[i], i + 1));
            CONN_FIXTURE_WAIT(server->frames == i + 1 && client->frames == i + 1);
            cr_assert_not(fixture.late);
            cr_assert_eq(server->last_size, sizes[i]);
            cr_assert_eq(client->last_request, i + 1);
            cr_assert(conn_fixture_is_filled(server->last, sizes[i], i));
            cr_assert(conn_fixture_is_filled(client->last, sizes[i], i + 1));
        }
        conn_fixture_close();
    }
}

static void check_order(struct side *s, struct conn *c, enum moment at)
{
    (void)c;
    if (at != AT_FRAME) return;
    cr_assert_eq(s->last_request, s->frames);
    cr_assert(conn_fixture_is_filled(s->last, s->last_size, s->last_request));
}

Test(conn, many_small_frames_arrive_in_order)
{
    enum { MANY = 20000 };
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        server->hook = check_order;
        conn_fixture_connect();
        for (unsigned i = 1; i <= MANY; i++) cr_assert(conn_fixture_send(client, i % 100, i));
        cr_expect_geq(conn_queued_bytes(client->conn), 90u * MANY / 2);
        CONN_FIXTURE_WAIT(server->frames == MANY);
        cr_expect_not(fixture.late);
        CONN_FIXTURE_WAIT(conn_queued_bytes(client->conn) == 0);
        cr_expect_not(fixture.late);
        conn_fixture_close();
    }
}

Test(conn, frames_sent_before_open_follow_the_hello)
{
    struct glint_error error = {.code = GLINT_OK};
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        cr_assert(conn_fixture_dial(CHANNEL_DATA, NULL, &error));
        cr_expect_not(conn_is_open(client->conn));
        cr_assert(conn_fixture_send(client, 100, 1));
        CONN_FIXTURE_WAIT(server->frames == 1);
        cr_expect_not(fixture.late);
        conn_fixture_close();
    }
}

static void send_at_once(struct side *s, struct conn *c, enum moment at)
{
    (void)c;
    if (at == AT_OPENED) cr_assert(conn_fixture_send(s, 5, 77));
}

Test(conn, frames_sent_in_open_callback_arrive)
{
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        server->hook = client->hook = send_at_once;
        conn_fixture_connect();
        CONN_FIXTURE_WAIT(server->frames == 1 && client->frames == 1);
        cr_expect_not(fixture.late);
        conn_fixture_close();
    }
}

/* ---- Data */

static bool send_data(struct side *s, const uint8_t *bytes, uint64_t size, uint64_t request)
{
    struct glint_slice slice = {bytes, size};
    return conn_send_data(s->conn, request, slice, conn_fixture_on_sent, s);
}

static uint8_t *data_of(uint64_t size, uint64_t seed)
{
    uint8_t *data = malloc(size + 1);
    cr_assert_not_null(data);
    conn_fixture_fill(data, size, seed);
    return data;
}

Test(conn, data_of_all_sizes_lands_in_its_buffer)
{
    static const uint64_t sizes[] = {1,         16351,         16352,   65535,   65536,
                                     MIB,       MIB + 1,       262144,  MIB - 1, 3 * MIB + 17,
                                     100 * KIB, 4 * MIB + 999, 8 * MIB, 8,       0};
    uint8_t *data = data_of(8 * MIB, 3);
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        client->wants_data = true;
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            memset(client->into, 0xee, CONN_FIXTURE_INTO_MAX);
            send_data(server, data, sizes[i], i);
            CONN_FIXTURE_WAIT(client->datas == i + 1 && server->sent == i + 1);
            cr_assert_not(fixture.late);
            cr_assert_eq(client->last_request, i);
            cr_assert(memcmp(client->into, data, sizes[i]) == 0);
            cr_assert(sizes[i] == 8 * MIB || client->into[sizes[i]] == 0xee);
        }
        conn_fixture_close();
    }
    free(data);
}

Test(conn, data_and_frames_interleave_both_ways)
{
    enum { MANY = 60 };
    uint8_t *data = data_of(2 * MIB, 5);
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        client->wants_data = server->wants_data = true;
        for (unsigned i = 0; i < MANY; i++) {
            send_data(server, data, 2 * MIB - i * 1000, i);
            send_data(client, data, 2 * MIB - i * 3000, i);
            cr_assert(conn_fixture_send(server, i, i) && conn_fixture_send(client, i * 10, i));
        }
        CONN_FIXTURE_WAIT(client->datas == MANY && server->datas == MANY &&
                          client->frames == MANY && server->frames == MANY &&
                          server->sent == MANY && client->sent == MANY);
        cr_assert_not(fixture.late);
        cr_expect(memcmp(client->into, data, MIB) == 0 && memcmp(server->into, data, MIB) == 0);
        cr_expect_eq(conn_queued_bytes(client->conn) + conn_queued_bytes(server->conn), 0);
        conn_fixture_close();
    }
    free(data);
}

Test(conn, unwanted_data_is_skipped)
{
    uint8_t *data = data_of(MIB, 1);
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        for (unsigned i = 0; i < 3; i++) send_data(server, data, MIB - i, i);
        cr_assert(conn_fixture_send(server, 10, 9));
        CONN_FIXTURE_WAIT(client->frames == 1);
        cr_expect_eq(client->datas, 0);
        cr_expect_eq(server->sent, 3);
        cr_expect_not(fixture.late);
        conn_fixture_close();
    }
    free(data);
}

static uint8_t more[64];

static void send_more(struct side *s, struct conn *c, enum moment at)
{
    if (at == AT_SENT && s->sent < 1000 && c != NULL) send_data(s, more, sizeof more, s->sent);
}

Test(conn, sent_callback_may_send_more)
{
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        client->wants_data = true;
        server->hook = send_more;
        send_data(server, more, sizeof more, 0);
        CONN_FIXTURE_WAIT(client->datas == 1000);
        cr_expect_not(fixture.late);
        conn_fixture_close();
    }
}

/* Queued DATA stays plain and borrowed: only a part of it is encrypted per write. */
Test(conn, bulk_data_is_encrypted_in_parts)
{
    enum { MANY = 4 };
    uint8_t *data = data_of(8 * MIB, 2);
    uint64_t sent = 0;
    conn_fixture_open(1);
    conn_fixture_connect();
    client->wants_data = true;
    for (unsigned i = 0; i < MANY; i++) cr_assert(send_data(server, data, 8 * MIB, i));
    cr_expect_gt(conn_queued_bytes(server->conn), 24 * MIB);
    conn_fixture_begin_wait();
    while (client->datas < MANY) {
        cr_assert(conn_fixture_run_once());
        cr_assert_leq(server->conn->encrypted.capacity, MIB);
        cr_assert_leq(server->net.bytes_sent - sent, 4 * MIB,
                      "other connections are served in between");
        sent = server->net.bytes_sent;
    }
    cr_expect(memcmp(client->into, data, 8 * MIB) == 0);
    CONN_FIXTURE_WAIT(conn_queued_bytes(server->conn) == 0);
    for (int i = 0; i < 3; i++) uv_run(&fixture.loop, UV_RUN_NOWAIT);
    cr_expect_leq(server->conn->encrypted.capacity, 64 * KIB,
                  "an idle connection keeps only a small buffer");
    conn_fixture_close();
    free(data);
}

Test(conn, oversized_frame_is_not_sent)
{
    static const enum frame_type types[] = {FRAME_PING, FRAME_GET, FRAME_MESSAGE};
    FOR_BOTH(secrets)
    {
        for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
            struct buffer payload = {NULL, 0, 0};
            uint64_t most = frame_payload_bytes_max(types[i]);
            conn_fixture_open(secrets);
            conn_fixture_connect();
            cr_assert(buffer_reserve(&payload, most + 1));
            memset(payload.data, 0, most + 1);
            payload.size = most + 1;
            cr_expect_not(conn_send(client->conn, types[i], 1, &payload));
            cr_expect_null(payload.data);
            CONN_FIXTURE_WAIT(client->closed && server->closed);
            cr_expect_eq(client->why.code, GLINT_E_PROTOCOL);
            cr_expect_not_null(strstr(client->why.cause, frame_type_name(types[i])));
            cr_expect_eq(server->frames, 0);
            conn_fixture_close();
        }
    }
}

/* ---- Close */

Test(conn, close_is_reported_to_both_sides)
{
    FOR_BOTH(secrets)
    {
        for (int flush = 0; flush < 2; flush++) {
            conn_fixture_open(secrets);
            conn_fixture_connect();
            conn_close(client->conn, flush);
            CONN_FIXTURE_WAIT(client->closed && server->closed);
            cr_expect_not(fixture.late);
            cr_expect_eq(client->why.code, GLINT_OK);
            cr_expect_eq(server->why.code, GLINT_E_CONNECTION);
            conn_fixture_close();
        }
    }
}

Test(conn, flush_sends_everything_despite_unread_input)
{
    uint8_t *data = data_of(8 * MIB, 2);
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        client->wants_data = true;
        for (unsigned i = 0; i < 4; i++) send_data(server, data, 8 * MIB, i);
        cr_assert(conn_fixture_send(server, 1000, 5));
        for (unsigned i = 0; i < 100; i++) cr_assert(conn_fixture_send(client, 20000, i));
        conn_close(server->conn, true);
        cr_expect_not(conn_fixture_send(server, 1, 6), "a closing connection accepts no frames");
        CONN_FIXTURE_WAIT(client->closed && server->closed);
        cr_expect_not(fixture.late);
        cr_expect_eq(client->datas, 4);
        cr_expect_eq(client->frames, 1);
        cr_expect_eq(client->last_request, 5);
        cr_expect_eq(server->sent, 4);
        cr_expect_eq(server->why.code, GLINT_OK);
        conn_fixture_close();
    }
    free(data);
}

Test(conn, unsent_data_is_reported)
{
    uint8_t *data = data_of(8 * MIB, 2);
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        for (unsigned i = 0; i < 20; i++) send_data(server, data, 8 * MIB, i);
        conn_close(server->conn, false);
        cr_expect_not(send_data(server, data, 1, 20), "a closing connection accepts no frames");
        cr_expect_eq(server->sent + server->unsent, 0, "`sent` is never called from inside a call");
        CONN_FIXTURE_WAIT(server->closed);
        cr_expect_eq(server->sent + server->unsent, 20);
        cr_expect_geq(server->unsent, 19);
        conn_fixture_close();
    }
    free(data);
}

static void turn_until_sent(const struct side *s)
{
    conn_fixture_begin_wait();
    while (conn_queued_bytes(s->conn) > 0) cr_assert(conn_fixture_run_once());
}

/* The server closes with unread input, so the client gets an RST and its write fails. What the
 * server had sent before is still delivered. */
Test(conn, input_before_a_failed_write_is_delivered)
{
    enum { MANY = 50 };
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        client->hook = check_order;
        conn_fixture_connect();
        uv_read_stop((uv_stream_t *)&server->conn->tcp);
        uv_read_stop((uv_stream_t *)&client->conn->tcp);
        cr_assert(conn_fixture_send(client, 100, 1));
        for (unsigned i = 1; i <= MANY; i++) cr_assert(conn_fixture_send(server, 1000, i));
        turn_until_sent(client);
        turn_until_sent(server);
        conn_close(server->conn, false);
        CONN_FIXTURE_WAIT(server->closed);
        while (!client->conn->broken) {
            conn_fixture_send(client, 100, 2);
            cr_assert(conn_fixture_run_once());
        }
        cr_expect_eq(client->frames, 0);
        cr_expect_not(conn_fixture_send(client, 100, 2), "a closing connection accepts no frames");
        cr_assert_eq(conn_read_start(client->conn), 0);
        CONN_FIXTURE_WAIT(client->closed);
        cr_expect_not(fixture.late);
        cr_expect_eq(client->frames, MANY);
        cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
        cr_expect_not_null(strstr(client->why.cause, "cannot send"), "%s", client->why.cause);
        conn_fixture_close();
    }
}

Test(conn, rejected_frame_closes_the_connection)
{
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        conn_fixture_connect();
        server->reject_frames = true;
        cr_assert(conn_fixture_send(client, 3, 0));
        cr_assert(conn_fixture_send(client, 3, 0));
        CONN_FIXTURE_WAIT(client->closed && server->closed);
        cr_expect_eq(server->why.code, GLINT_E_PROTOCOL);
        cr_expect_eq(server->frames, 1);
        conn_fixture_close();
    }
}

Test(conn, stalled_receiver_is_disconnected)
{
    struct glint_error error = {.code = GLINT_OK};
    FOR_BOTH(secrets)
    {
        bool ok = true;
        conn_fixture_open(secrets);
        conn_fixture_connect();
        for (unsigned i = 0; ok && i < 100; i++) { /* the loop does not run */
            struct buffer payload = {NULL, 0, 0};
            cr_assert(buffer_reserve(&payload, MIB));
            memset(payload.data, 0, MIB);
            payload.size = MIB;
            ok = conn_send(client->conn, FRAME_GET, i, &payload);
        }
        cr_expect_not(ok);
        cr_expect_leq(conn_queued_bytes(client->conn), CONN_QUEUE_BYTES_MAX + MIB);
        CONN_FIXTURE_WAIT(client->closed);
        cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
        cr_expect_not_null(strstr(client->why.cause, "does not read"));
        conn_fixture_close();
    }
    (void)error;
}

Test(conn, data_flows_during_key_updates)
{
    uint8_t *data = data_of(8 * MIB, 5);
    conn_fixture_open(1);
    tls_context_set_key_records(fixture.server_tls, 5); /* a new key after 5 records or fewer */
    tls_context_set_key_records(fixture.client_tls, 7);
    conn_fixture_connect();
    server->wants_data = client->wants_data = true;
    for (unsigned i = 1; i <= 3; i++) {
        cr_assert(conn_fixture_send(server, i * 10000, i) &&
                  conn_fixture_send(client, i * 20000, i));
        cr_assert(send_data(server, data, 8 * MIB, i) && send_data(client, data, 8 * MIB, i));
        CONN_FIXTURE_WAIT(server->datas == i && client->datas == i && server->frames == i &&
                          client->frames == i);
        cr_assert_not(fixture.late);
        cr_assert(memcmp(client->into, data, 8 * MIB) == 0);
        cr_assert(memcmp(server->into, data, 8 * MIB) == 0);
        cr_assert(conn_fixture_is_filled(server->last, i * 20000, i));
    }
    CONN_FIXTURE_WAIT(server->sent == 3 && client->sent == 3);
    conn_fixture_close();
    free(data);
}

/* A frame of 12 bytes takes hundreds of bytes of memory: the queue limit counts memory, not bytes
 * on the wire. */
Test(conn, queue_limit_counts_memory_of_small_frames)
{
    conn_fixture_open(0);
    conn_fixture_connect();
    uint64_t count = 0;
    while (conn_fixture_send(client, 12, count)) count++; /* the loop does not run */
    cr_expect_gt(count, 1000);
    cr_expect_lt(count, CONN_QUEUE_BYTES_MAX / 256, "%llu frames", (unsigned long long)count);
    CONN_FIXTURE_WAIT(client->closed);
    cr_expect_not_null(strstr(client->why.cause, "does not read"));
    conn_fixture_close();
}

static enum moment close_at;
static bool close_flush;

static void close_from_inside(struct side *s, struct conn *c, enum moment at)
{
    if (at != close_at || c == NULL || s->closed) return;
    conn_close(c, close_flush);
    conn_close(c, close_flush); /* closing twice is allowed */
}

Test(conn, close_is_allowed_in_every_callback)
{
    uint8_t *data = data_of(MIB, 2);
    FOR_BOTH(secrets)
    {
        for (int i = 0; i < 4 * AT_CLOSED; i++) {
            struct glint_error error = {.code = GLINT_OK};
            close_at = (enum moment)(i / 4);
            close_flush = i & 1;
            conn_fixture_open(secrets);
            client->wants_data = server->wants_data = true;
            (i & 2 ? client : server)->hook = close_from_inside;
            cr_assert(conn_fixture_dial(CHANNEL_DATA, NULL, &error));
            CONN_FIXTURE_WAIT(client->opened || client->closed);
            for (unsigned k = 0; k < 3; k++) {
                if (client->conn != NULL)
                    cr_expect(conn_fixture_send(client, 10, k) || client->conn);
                if (client->conn != NULL) send_data(client, data, MIB, k);
                if (server->conn != NULL)
                    cr_expect(conn_fixture_send(server, 10, k) || server->conn);
                if (server->conn != NULL) send_data(server, data, MIB, k);
            }
            CONN_FIXTURE_WAIT(client->closed && (server->closed || server->opened == 0));
            cr_expect_not(fixture.late, "closing at %d, flush %d", (int)close_at, close_flush);
            conn_fixture_close();
        }
    }
    free(data);
}
