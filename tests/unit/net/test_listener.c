/* A listener and its clients: compatible peers, incompatible peers, and unauthenticated clients. */
#include "engine/net/frame.h"
#include "tests/support/conn_fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FOR_BOTH(secrets) for (unsigned secrets = 0; secrets < 2; secrets++)

static struct side *const server = &fixture.server, *const client = &fixture.client;

/* ---- Incompatible peers */

static void expect_rejected(enum glint_code code, const char *a, const char *b)
{
    struct glint_error error = {.code = GLINT_OK};
    cr_assert(conn_fixture_dial(CHANNEL_DATA, NULL, &error));
    CONN_FIXTURE_WAIT(client->closed && server->net.rejected > 0);
    cr_expect_not(fixture.late);
    cr_expect_eq(client->why.code, code, "%s", client->why.cause);
    cr_expect(strstr(client->why.cause, a) != NULL && strstr(client->why.cause, b) != NULL, "%s",
              client->why.cause);
    cr_expect_eq(client->opened + server->opened, 0);
    cr_expect_eq(client->net.rejected, 1);
    cr_expect_eq(server->net.rejected, 1);
}

Test(listener, other_build_is_rejected_naming_both)
{
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        memcpy(client->net.self.build, "0.2.0-def", 10);
        expect_rejected(GLINT_E_PEER_MISMATCH, "0.1.0-abc", "0.2.0-def");
        conn_fixture_close();
    }
}

Test(listener, other_cluster_is_rejected_naming_both)
{
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        memcpy(client->net.self.cluster, "prod", 5);
        expect_rejected(GLINT_E_PEER_MISMATCH, "prod", "test");
        conn_fixture_close();
    }
}

Test(listener, other_protocol_is_rejected_naming_both)
{
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        client->net.self.protocol_min = client->net.self.protocol_max = 98;
        expect_rejected(GLINT_E_PEER_MISMATCH, "98", "1");
        conn_fixture_close();
    }
}

Test(listener, connection_to_itself_is_rejected)
{
    conn_fixture_open(1);
    memcpy(client->net.self.incarnation, server->net.self.incarnation, INCARNATION_BYTES);
    expect_rejected(GLINT_E_PEER_MISMATCH, "itself", "");
    conn_fixture_close();
}

Test(listener, unexpected_incarnation_is_rejected)
{
    struct glint_error error = {.code = GLINT_OK};
    uint8_t expected_incarnation[INCARNATION_BYTES];
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        memset(expected_incarnation, 9, sizeof expected_incarnation);
        cr_assert(conn_fixture_dial(CHANNEL_DATA, expected_incarnation, &error));
        CONN_FIXTURE_WAIT(client->closed);
        cr_expect_eq(client->why.code, GLINT_E_PEER_MISMATCH);
        cr_expect_eq(server->opened, 0);
        conn_fixture_close();

        conn_fixture_open(secrets);
        cr_assert(conn_fixture_dial(CHANNEL_DATA, server->net.self.incarnation, &error));
        CONN_FIXTURE_WAIT(client->opened);
        cr_expect_not(fixture.late);
        conn_fixture_close();
    }
}

Test(listener, wrong_secret_is_rejected)
{
    conn_fixture_open(2);
    expect_rejected(GLINT_E_AUTH, "secret", "");
    cr_expect_not_null(strstr(client->why.hint, "secret"));
    cr_expect_eq(fixture.accepted, 0);
    conn_fixture_close();
}

Test(listener, one_sided_tls_is_reported_on_both_sides)
{
    for (int secret_of_client = 0; secret_of_client < 2; secret_of_client++) {
        struct glint_error error = {.code = GLINT_OK};
        conn_fixture_open(1);
        (secret_of_client ? server : client)->net.tls = NULL;
        cr_assert(conn_fixture_dial(CHANNEL_DATA, NULL, &error));
        CONN_FIXTURE_WAIT(client->closed && server->net.rejected > 0);
        cr_expect_not(fixture.late);
        cr_expect(client->why.code == GLINT_E_CONNECTION || client->why.code == GLINT_E_PROTOCOL);
        cr_expect_not_null(strstr(client->why.hint, "insecure_plaintext"));
        conn_fixture_close();
    }
}

Test(listener, owner_may_reject_a_peer)
{
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        fixture.reject_cause = "e1 is already connected";
        expect_rejected(GLINT_E_PEER_MISMATCH, "e1 is already connected", "");
        cr_expect_eq(fixture.accepted, 1);
        cr_expect_str_eq(client->why.hint, "try another");
        conn_fixture_close();
    }
}

/* ---- Unauthenticated clients */

static void frame_bytes(uint8_t *out, enum frame_type type, uint32_t length, uint32_t head)
{
    struct frame f = {.type = type, .length = 0, .head = 0, .request = 0};
    frame_encode(&f, NULL, out);
    memcpy(out + 8, &length, 4);
    memcpy(out + 12, &head, 4);
}

Test(listener, unauthenticated_clients_are_disconnected)
{
    static const char http[] = "GET / HTTP/1.1\r\n\r\n", ssh[] = "SSH-2.0-x\r\n";
    static const char tls12[] = "\x16\x03\x01\x00\x05hello", endless[] = "\x16\x03\x01\x40\x00";
    static uint8_t zeros[200000], early[32], huge[32], message[2000], halves[100];
    frame_bytes(early, FRAME_PING, 8, 8);
    frame_bytes(huge, FRAME_HELLO, UINT32_MAX, UINT32_MAX);
    frame_bytes(message, FRAME_MESSAGE, 16 << 20, 16 << 20);
    frame_bytes(halves, FRAME_HELLO, 100, 100);
    static uint8_t long_hello[20000];
    memcpy(long_hello, endless, 5);
    long_hello[5] = 1; /* claims to be a ClientHello of many megabytes */
    long_hello[6] = 0x7f;
    const struct {
        const void *bytes;
        uint64_t size;
    } texts[] = {{http, sizeof http - 1},
                 {"GET ", 4},
                 {ssh, sizeof ssh - 1},
                 {tls12, sizeof tls12 - 1},
                 {zeros, sizeof zeros},
                 {early, sizeof early},
                 {huge, sizeof huge},
                 {"", 0},
                 {"G", 1},
                 {message, sizeof message},
                 {halves, 60},
                 {"GLNT", 4},
                 {long_hello, sizeof long_hello}};
    FOR_BOTH(secrets)
    {
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            for (uint64_t step = 0; step < 2; step++) {
                struct raw_client s;
                conn_fixture_open(secrets);
                server->net.connect_ms = texts[i].size > 100 ? 2000 : 60;
                raw_client_dial(&s, texts[i].bytes, texts[i].size,
                                texts[i].size < 100 ? step : step * 1000);
                CONN_FIXTURE_WAIT(s.ended);
                cr_expect_not(fixture.late, "text %zu", i);
                cr_expect_eq(fixture.accepted, 0);
                cr_expect_eq(server->net.rejected, 1);
                conn_fixture_close();
            }
        }
    }
}

Test(listener, hello_sent_byte_by_byte_is_accepted)
{
    static uint8_t bytes[FRAME_HEADER_BYTES + HELLO_BYTES_MAX];
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct raw_client s;
    conn_fixture_open(0);
    struct hello h = client->net.self;
    h.channel = CHANNEL_CONTROL;
    cr_assert_eq(hello_encode(&h, &payload, &error), 0);
    uint32_t size = (uint32_t)payload.size;
    frame_encode(&(struct frame){FRAME_HELLO, size, size, 0}, payload.data, bytes);
    memcpy(bytes + FRAME_HEADER_BYTES, payload.data, payload.size);
    buffer_fini(&payload);
    raw_client_dial(&s, bytes, FRAME_HEADER_BYTES + size, 1);
    CONN_FIXTURE_WAIT(server->opened && s.got > FRAME_HEADER_BYTES);
    cr_expect_not(fixture.late);
    raw_client_close(&s, false);
    CONN_FIXTURE_WAIT(server->closed);
    cr_expect_eq(server->why.code, GLINT_E_CONNECTION);
    conn_fixture_close();
}

/* A client that completes the handshake without TLS, then sends `more`. */
static void authenticated_then(struct raw_client *s, const void *more, uint64_t more_size,
                               uint64_t step)
{
    static uint8_t bytes[4 * 1024 * 1024];
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct hello h = client->net.self;
    h.channel = CHANNEL_DATA;
    cr_assert_eq(hello_encode(&h, &payload, &error), 0);
    uint32_t size = (uint32_t)payload.size;
    frame_encode(&(struct frame){FRAME_HELLO, size, size, 0}, payload.data, bytes);
    memcpy(bytes + FRAME_HEADER_BYTES, payload.data, payload.size);
    buffer_fini(&payload);
    memcpy(bytes + FRAME_HEADER_BYTES + size, more, more_size);
    raw_client_dial(s, bytes, FRAME_HEADER_BYTES + size + more_size, step);
}

Test(listener, peer_vanishing_in_data_closes_the_connection)
{
    static uint8_t bytes[MIB];
    for (int reset = 0; reset < 2; reset++) {
        struct raw_client s;
        struct frame f = {FRAME_DATA, 2 * MIB, 0, 4};
        frame_encode(&f, NULL, bytes);
        conn_fixture_open(0);
        server->wants_data = true;
        authenticated_then(&s, bytes, sizeof bytes, 0);
        CONN_FIXTURE_WAIT(server->net.bytes_received > sizeof bytes);
        cr_expect_not(fixture.late);
        raw_client_close(&s, reset);
        CONN_FIXTURE_WAIT(server->closed);
        cr_expect_eq(server->why.code, GLINT_E_CONNECTION);
        cr_expect_eq(server->datas, 0);
        conn_fixture_close();
    }
}

static void expect_no_data(struct side *s, struct conn *c, enum moment at)
{
    static struct conn_events no_data;
    no_data = conn_fixture_events;
    no_data.buffer_for = NULL;
    if (at == AT_OPENED) conn_set_events(c, &no_data, s);
}

Test(listener, protocol_violations_close_the_connection)
{
    static uint8_t frames[3][FRAME_HEADER_BYTES + 4];
    frame_bytes(frames[0], FRAME_HELLO, 0, 0);
    frame_encode(&(struct frame){FRAME_GET, 4, 4, 0}, (const uint8_t *)"abcd", frames[1]);
    memcpy(frames[1] + FRAME_HEADER_BYTES, "abce", 4);
    frame_encode(&(struct frame){FRAME_DATA, 4, 0, 0}, NULL, frames[2]);
    for (int i = 0; i < 3; i++) {
        for (uint64_t step = 0; step < 2; step++) {
            struct raw_client s;
            conn_fixture_open(0);
            if (i == 2) server->hook = expect_no_data;
            authenticated_then(&s, frames[i], sizeof frames[i], step);
            CONN_FIXTURE_WAIT(server->closed && s.ended);
            cr_expect_not(fixture.late);
            cr_expect_eq(server->why.code, GLINT_E_PROTOCOL, "%s", server->why.cause);
            cr_expect_eq(server->frames, 0);
            conn_fixture_close();
        }
    }
}

Test(listener, idle_sockets_do_not_block_peers)
{
    enum { MANY = 1000 };
    struct raw_client *many = calloc(MANY, sizeof *many);
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        for (int i = 0; i < MANY; i++) raw_client_dial(&many[i], "", 0, 0);
        conn_fixture_connect();
        cr_expect_geq(server->net.rejected, MANY - PENDING_MAX - 1);
        conn_fixture_close_listener();
        unsigned ended = 0;
        while (ended < MANY) {
            conn_fixture_begin_wait();
            cr_assert(conn_fixture_run_once());
            ended = 0;
            for (int i = 0; i < MANY; i++) ended += many[i].ended;
        }
        cr_expect_eq(server->closed, 0);
        conn_fixture_close();
    }
    free(many);
}

Test(listener, unauthenticated_clients_cannot_exhaust_fds)
{
    enum { MANY = 40 };
    static struct raw_client many[MANY];
    struct rlimit limit, low;
    int next;
    conn_fixture_open(1);
    /* Both ends of all sockets are in this process: the limit leaves room for the clients' ends. */
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < MANY; i++) {
        raw_client_dial(&many[i], "", 0, 0);
        many[i].never_reads = true;
    }
    next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_geq(next, 0);
    close(next);
    low = limit;
    low.rlim_cur = (rlim_t)next + 14;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    CONN_FIXTURE_WAIT(server->net.rejected >= MANY - 8);
    cr_expect_not(fixture.late);
    int spare[4];
    for (int i = 0; i < 4; i++) {
        spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        cr_expect_geq(spare[i], 0, "%d", errno);
    }
    for (int i = 0; i < 4; i++) close(spare[i]);
    conn_fixture_connect();
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < MANY; i++) raw_client_close(&many[i], false);
    conn_fixture_close();
}

static void stop_counting(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

/* Number of loop iterations in `ms`. */
static unsigned count_turns(uint64_t ms)
{
    static uv_timer_t timer;
    unsigned turns = 0;
    uv_timer_init(&fixture.loop, &timer);
    uv_update_time(&fixture.loop);
    uv_timer_start(&timer, stop_counting, ms, 0);
    while (uv_is_active((uv_handle_t *)&timer)) {
        uv_run(&fixture.loop, UV_RUN_ONCE);
        turns++;
    }
    return turns;
}

/* Without any descriptor the listener backs off instead of spinning, and later listens again. */
Test(listener, backs_off_without_descriptors)
{
    static struct raw_client s;
    struct rlimit limit, none;
    conn_fixture_open(0);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    raw_client_dial(&s, "", 0, 0);
    none = limit;
    none.rlim_cur = 3;
    close(fixture.loop.emfile_fd); /* as if another thread had used libuv's reserve descriptor */
    fixture.loop.emfile_fd = -1;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    cr_expect_leq(count_turns(3 * LISTENER_BACKOFF_MS), 40, "busy loop");
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CONN_FIXTURE_WAIT(s.ended);
    cr_expect_not(fixture.late);
    /* It listens again; connections during the backoff are refused, so retry. */
    struct glint_error error = {.code = GLINT_OK};
    while (!client->opened) {
        client->closed = 0;
        cr_assert(conn_fixture_dial(CHANNEL_DATA, NULL, &error));
        CONN_FIXTURE_WAIT(client->opened || client->closed);
        cr_assert_not(fixture.late);
    }
    conn_fixture_close();
}

/* ---- Dialling and listening */

Test(listener, refused_connect_is_reported_to_the_dialer)
{
    struct glint_error error = {.code = GLINT_OK};
    conn_fixture_open(0);
    uint16_t port = listener_port(fixture.listener);
    conn_fixture_close_listener();
    for (int i = 0; i < 3; i++) uv_run(&fixture.loop, UV_RUN_NOWAIT);
    conn_fixture_dial_to("127.0.0.1", port, CHANNEL_DATA, NULL, &error);
    cr_assert(client->conn != NULL);
    CONN_FIXTURE_WAIT(client->closed);
    cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
    cr_expect_not_null(strstr(client->why.cause, "refused"), "%s", client->why.cause);
    conn_fixture_close();
}

Test(listener, host_name_is_resolved_or_reported)
{
    struct glint_error error = {.code = GLINT_OK};
    conn_fixture_open(1);
    conn_fixture_dial_to("localhost", listener_port(fixture.listener), CHANNEL_DATA, NULL, &error);
    CONN_FIXTURE_WAIT(client->opened);
    cr_expect_not(fixture.late);
    conn_fixture_close();
    conn_fixture_open(1);
    conn_fixture_dial_to("no such host", 1, CHANNEL_DATA, NULL, &error);
    CONN_FIXTURE_WAIT(client->closed);
    cr_expect_eq(client->why.code, GLINT_E_CONNECTION, "%s", client->why.cause);
    conn_fixture_close();
    conn_fixture_open(1); /* closed while the name is being resolved */
    conn_fixture_dial_to("localhost", listener_port(fixture.listener), CHANNEL_DATA, NULL, &error);
    conn_close(client->conn, false);
    CONN_FIXTURE_WAIT(client->closed);
    cr_expect_eq(client->why.code, GLINT_OK);
    conn_fixture_close();
}

static bool reject_every_conn(void *arg, struct conn *c, struct glint_error *error)
{
    (void)arg;
    (void)c;
    error_set(error, GLINT_E_PEER_MISMATCH, NULL, "rejected by the test");
    return false;
}

static void no_buffer_for_data(uv_stream_t *stream, int status)
{
    (void)stream;
    (void)status;
}

Test(listener, silent_server_times_out)
{
    FOR_BOTH(secrets)
    {
        struct glint_error error = {.code = GLINT_OK};
        struct sockaddr_in at;
        int size = sizeof at;
        uv_tcp_t mute;
        conn_fixture_open(secrets);
        client->net.connect_ms = 50;
        uv_tcp_init(&fixture.loop, &mute);
        uv_ip4_addr("127.0.0.1", 0, &at);
        cr_assert_eq(uv_tcp_bind(&mute, (struct sockaddr *)&at, 0), 0);
        cr_assert_eq(uv_listen((uv_stream_t *)&mute, 1, no_buffer_for_data), 0);
        cr_assert_eq(uv_tcp_getsockname(&mute, (struct sockaddr *)&at, &size), 0);
        conn_fixture_dial_to("127.0.0.1", ntohs(at.sin_port), CHANNEL_DATA, NULL, &error);
        CONN_FIXTURE_WAIT(client->closed);
        cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
        cr_expect_not_null(strstr(client->why.cause, "after 50 ms"), "%s", client->why.cause);
        uv_close((uv_handle_t *)&mute, NULL);
        conn_fixture_close();
    }
}

Test(listener, port_in_use_is_an_error)
{
    struct glint_error error = {.code = GLINT_OK};
    conn_fixture_open(0);
    cr_expect_null(listener_open(&server->net, "127.0.0.1", listener_port(fixture.listener),
                                 reject_every_conn, NULL, &error));
    cr_expect_eq(error.code, GLINT_E_ADDRESS);
    cr_expect_not_null(strstr(error.hint, "port"));
    memset(&error, 0, sizeof error);
    cr_expect_null(listener_open(&server->net, "192.0.2.1", 0, reject_every_conn, NULL, &error));
    cr_expect_eq(error.code, GLINT_E_ADDRESS, "not an address of this host");
    cr_expect_str_eq(error.hint, "listen on an address of this host");
    conn_fixture_close();
}

Test(listener, loopback_hosts_are_recognized)
{
    static const char *const yes[] = {"localhost", "LocalHost", "127.0.0.1", "127.8.8.8", "::1"};
    static const char *const no[] = {"0.0.0.0",           "::", "10.0.0.1",
                                     "localhost.example", "",   "128.0.0.1"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) cr_expect(host_is_loopback(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) cr_expect_not(host_is_loopback(no[i]));
}
