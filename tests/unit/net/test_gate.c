/* What comes to a gate: those who fit, those who do not, and strangers. */
#include "engine/net/frame.h"
#include "tests/support/conn_world.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FOR_BOTH(secrets) for (unsigned secrets = 0; secrets < 2; secrets++)

static struct side *const server = &world.server, *const client = &world.client;

/* ---- Who does not fit */

static void expect_refused(enum glint_code code, const char *a, const char *b)
{
    struct glint_error error = {.code = GLINT_OK};
    cr_assert(world_dial(CHANNEL_DATA, NULL, &error));
    WORLD_WAIT(client->closed && server->net.refused > 0);
    cr_expect_not(world.late);
    cr_expect_eq(client->why.code, code, "%s", client->why.cause);
    cr_expect(strstr(client->why.cause, a) != NULL && strstr(client->why.cause, b) != NULL, "%s",
              client->why.cause);
    cr_expect_eq(client->opened + server->opened, 0);
    cr_expect_eq(client->net.refused, 1);
    cr_expect_eq(server->net.refused, 1);
}

Test(gate, another_build_is_refused_with_both_values)
{
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        memcpy(client->net.self.build, "0.2.0-def", 10);
        expect_refused(GLINT_E_PEER_MISMATCH, "0.1.0-abc", "0.2.0-def");
        world_close();
    }
}

Test(gate, another_cluster_is_refused_with_both_values)
{
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        memcpy(client->net.self.cluster, "prod", 5);
        expect_refused(GLINT_E_PEER_MISMATCH, "prod", "test");
        world_close();
    }
}

Test(gate, another_protocol_is_refused_with_both_ranges)
{
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        client->net.self.protocol_min = client->net.self.protocol_max = 98;
        expect_refused(GLINT_E_PEER_MISMATCH, "98", "1");
        world_close();
    }
}

Test(gate, itself_is_refused)
{
    world_open(1);
    memcpy(client->net.self.incarnation, server->net.self.incarnation, INCARNATION_BYTES);
    expect_refused(GLINT_E_PEER_MISMATCH, "itself", "");
    world_close();
}

Test(gate, another_start_than_the_wanted_one_is_noticed)
{
    struct glint_error error = {.code = GLINT_OK};
    uint8_t wanted[INCARNATION_BYTES];
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        memset(wanted, 9, sizeof wanted);
        cr_assert(world_dial(CHANNEL_DATA, wanted, &error));
        WORLD_WAIT(client->closed);
        cr_expect_eq(client->why.code, GLINT_E_PEER_MISMATCH);
        cr_expect_eq(server->opened, 0);
        world_close();

        world_open(secrets);
        cr_assert(world_dial(CHANNEL_DATA, server->net.self.incarnation, &error));
        WORLD_WAIT(client->opened);
        cr_expect_not(world.late);
        world_close();
    }
}

Test(gate, another_secret_is_not_let_in)
{
    world_open(2);
    expect_refused(GLINT_E_AUTH, "secret", "");
    cr_expect_not_null(strstr(client->why.hint, "secret"));
    cr_expect_eq(world.accepted, 0);
    world_close();
}

Test(gate, tls_on_one_side_only_is_told_on_both)
{
    for (int secret_of_client = 0; secret_of_client < 2; secret_of_client++) {
        struct glint_error error = {.code = GLINT_OK};
        world_open(1);
        (secret_of_client ? server : client)->net.tls = NULL;
        cr_assert(world_dial(CHANNEL_DATA, NULL, &error));
        WORLD_WAIT(client->closed && server->net.refused > 0);
        cr_expect_not(world.late);
        cr_expect(client->why.code == GLINT_E_CONNECTION || client->why.code == GLINT_E_PROTOCOL);
        cr_expect_not_null(strstr(client->why.hint, "insecure_plaintext"));
        world_close();
    }
}

Test(gate, its_owner_may_refuse)
{
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        world.refusal = "there is an e1 already";
        expect_refused(GLINT_E_PEER_MISMATCH, "there is an e1 already", "");
        cr_expect_eq(world.accepted, 1);
        cr_expect_str_eq(client->why.hint, "try another");
        world_close();
    }
}

/* ---- Strangers */

static void frame_bytes(uint8_t *out, enum frame_type type, uint32_t length, uint32_t head)
{
    struct frame f = {.type = type, .length = 0, .head = 0, .request = 0};
    frame_encode(&f, NULL, out);
    memcpy(out + 8, &length, 4);
    memcpy(out + 12, &head, 4);
}

Test(gate, strangers_are_shown_out)
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
    long_hello[5] = 1; /* a ClientHello of many megabytes */
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
                struct stranger s;
                world_open(secrets);
                server->net.connect_ms = texts[i].size > 100 ? 2000 : 60;
                stranger_dial(&s, texts[i].bytes, texts[i].size,
                              texts[i].size < 100 ? step : step * 1000);
                WORLD_WAIT(s.ended);
                cr_expect_not(world.late, "text %zu", i);
                cr_expect_eq(world.accepted, 0);
                cr_expect_eq(server->net.refused, 1);
                world_close();
            }
        }
    }
}

Test(gate, a_hello_byte_by_byte_is_let_in)
{
    static uint8_t bytes[FRAME_HEADER_BYTES + HELLO_BYTES_MAX];
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct stranger s;
    world_open(0);
    struct hello h = client->net.self;
    h.channel = CHANNEL_CONTROL;
    cr_assert_eq(hello_encode(&h, &payload, &error), 0);
    uint32_t size = (uint32_t)payload.size;
    frame_encode(&(struct frame){FRAME_HELLO, size, size, 0}, payload.data, bytes);
    memcpy(bytes + FRAME_HEADER_BYTES, payload.data, payload.size);
    buffer_fini(&payload);
    stranger_dial(&s, bytes, FRAME_HEADER_BYTES + size, 1);
    WORLD_WAIT(server->opened && s.got > FRAME_HEADER_BYTES);
    cr_expect_not(world.late);
    stranger_leave(&s, false);
    WORLD_WAIT(server->closed);
    cr_expect_eq(server->why.code, GLINT_E_CONNECTION);
    world_close();
}

/* One who gets in without TLS, and then sends `more`. */
static void friend_then(struct stranger *s, const void *more, uint64_t more_size, uint64_t step)
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
    stranger_dial(s, bytes, FRAME_HEADER_BYTES + size + more_size, step);
}

Test(gate, a_peer_that_vanishes_in_a_data_frame_ends_the_connection)
{
    static uint8_t bytes[MIB];
    for (int reset = 0; reset < 2; reset++) {
        struct stranger s;
        struct frame f = {FRAME_DATA, 2 * MIB, 0, 4};
        frame_encode(&f, NULL, bytes);
        world_open(0);
        server->wants_data = true;
        friend_then(&s, bytes, sizeof bytes, 0);
        WORLD_WAIT(server->net.bytes_received > sizeof bytes);
        cr_expect_not(world.late);
        stranger_leave(&s, reset);
        WORLD_WAIT(server->closed);
        cr_expect_eq(server->why.code, GLINT_E_CONNECTION);
        cr_expect_eq(server->datas, 0);
        world_close();
    }
}

static void expect_no_data(struct side *s, struct conn *c, enum moment at)
{
    static struct conn_events no_data;
    no_data = world_events;
    no_data.into = NULL;
    if (at == AT_OPENED) conn_set(c, &no_data, s);
}

Test(gate, a_second_hello_a_flipped_bit_and_data_nobody_expects_end_the_connection)
{
    static uint8_t frames[3][FRAME_HEADER_BYTES + 4];
    frame_bytes(frames[0], FRAME_HELLO, 0, 0);
    frame_encode(&(struct frame){FRAME_GET, 4, 4, 0}, (const uint8_t *)"abcd", frames[1]);
    memcpy(frames[1] + FRAME_HEADER_BYTES, "abce", 4);
    frame_encode(&(struct frame){FRAME_DATA, 4, 0, 0}, NULL, frames[2]);
    for (int i = 0; i < 3; i++) {
        for (uint64_t step = 0; step < 2; step++) {
            struct stranger s;
            world_open(0);
            if (i == 2) server->hook = expect_no_data;
            friend_then(&s, frames[i], sizeof frames[i], step);
            WORLD_WAIT(server->closed && s.ended);
            cr_expect_not(world.late);
            cr_expect_eq(server->why.code, GLINT_E_PROTOCOL, "%s", server->why.cause);
            cr_expect_eq(server->frames, 0);
            world_close();
        }
    }
}

Test(gate, a_thousand_idle_sockets_keep_nobody_out)
{
    enum { MANY = 1000 };
    struct stranger *many = calloc(MANY, sizeof *many);
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        for (int i = 0; i < MANY; i++) stranger_dial(&many[i], "", 0, 0);
        world_connect();
        cr_expect_geq(server->net.refused, MANY - PENDING_MAX - 1);
        world_close_gate();
        unsigned ended = 0;
        while (ended < MANY) {
            world_begin_wait();
            cr_assert(world_turn());
            ended = 0;
            for (int i = 0; i < MANY; i++) ended += many[i].ended;
        }
        cr_expect_eq(server->closed, 0);
        world_close();
    }
    free(many);
}

Test(gate, few_descriptors_are_not_taken_by_strangers)
{
    enum { MANY = 40 };
    static struct stranger many[MANY];
    struct rlimit limit, low;
    int next;
    world_open(1);
    /* All sockets of this test, both ends, are of one process: room for the strangers' own ends. */
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < MANY; i++) {
        stranger_dial(&many[i], "", 0, 0);
        many[i].stays = true;
    }
    next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_geq(next, 0);
    close(next);
    low = limit;
    low.rlim_cur = (rlim_t)next + 14;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    WORLD_WAIT(server->net.refused >= MANY - 8);
    cr_expect_not(world.late);
    int spare[4];
    for (int i = 0; i < 4; i++) {
        spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        cr_expect_geq(spare[i], 0, "%d", errno);
    }
    for (int i = 0; i < 4; i++) close(spare[i]);
    world_connect();
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < MANY; i++) stranger_leave(&many[i], false);
    world_close();
}

static void stop_counting(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

/* How often the loop turns in a while. */
static unsigned count_turns(uint64_t ms)
{
    static uv_timer_t timer;
    unsigned turns = 0;
    uv_timer_init(&world.loop, &timer);
    uv_update_time(&world.loop);
    uv_timer_start(&timer, stop_counting, ms, 0);
    while (uv_is_active((uv_handle_t *)&timer)) {
        uv_run(&world.loop, UV_RUN_ONCE);
        turns++;
    }
    return turns;
}

/* A gate without any descriptor rests, does not spin, and listens again. */
Test(gate, without_descriptors_it_rests)
{
    static struct stranger s;
    struct rlimit limit, none;
    world_open(0);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    stranger_dial(&s, "", 0, 0);
    none = limit;
    none.rlim_cur = 3;
    close(world.loop.emfile_fd); /* as if another thread had taken what libuv keeps in reserve */
    world.loop.emfile_fd = -1;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    cr_expect_leq(count_turns(3 * GATE_REST_MS), 40, "it spins");
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    WORLD_WAIT(s.ended);
    cr_expect_not(world.late);
    /* It listens again: whoever comes too early is turned down, and comes again. */
    struct glint_error error = {.code = GLINT_OK};
    while (!client->opened) {
        client->closed = 0;
        cr_assert(world_dial(CHANNEL_DATA, NULL, &error));
        WORLD_WAIT(client->opened || client->closed);
        cr_assert_not(world.late);
    }
    world_close();
}

/* ---- Dialling and listening */

Test(gate, nobody_there_is_an_error_of_the_dialler)
{
    struct glint_error error = {.code = GLINT_OK};
    world_open(0);
    uint16_t port = gate_port(world.gate);
    world_close_gate();
    for (int i = 0; i < 3; i++) uv_run(&world.loop, UV_RUN_NOWAIT);
    client->conn = conn_dial(&client->net, "127.0.0.1", port, CHANNEL_DATA, NULL, &world_events,
                             client, &error);
    cr_assert(client->conn != NULL);
    WORLD_WAIT(client->closed);
    cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
    cr_expect_not_null(strstr(client->why.cause, "refused"), "%s", client->why.cause);
    world_close();
}

Test(gate, a_name_is_resolved_and_one_that_is_none_is_an_error)
{
    struct glint_error error = {.code = GLINT_OK};
    world_open(1);
    client->conn = conn_dial(&client->net, "localhost", gate_port(world.gate), CHANNEL_DATA, NULL,
                             &world_events, client, &error);
    WORLD_WAIT(client->opened);
    cr_expect_not(world.late);
    world_close();
    world_open(1);
    client->conn = conn_dial(&client->net, "no such host", 1, CHANNEL_DATA, NULL, &world_events,
                             client, &error);
    WORLD_WAIT(client->closed);
    cr_expect_eq(client->why.code, GLINT_E_CONNECTION, "%s", client->why.cause);
    world_close();
    world_open(1); /* closed while it is resolved */
    client->conn = conn_dial(&client->net, "localhost", gate_port(world.gate), CHANNEL_DATA, NULL,
                             &world_events, client, &error);
    conn_close(client->conn, false);
    WORLD_WAIT(client->closed);
    cr_expect_eq(client->why.code, GLINT_OK);
    world_close();
}

static bool take_nobody(void *arg, struct conn *c, struct glint_error *error)
{
    (void)arg;
    (void)c;
    error_set(error, GLINT_E_PEER_MISMATCH, NULL, "nobody");
    return false;
}

static void take_none(uv_stream_t *stream, int status)
{
    (void)stream;
    (void)status;
}

Test(gate, a_side_that_says_nothing_is_given_up)
{
    FOR_BOTH(secrets)
    {
        struct glint_error error = {.code = GLINT_OK};
        struct sockaddr_in at;
        int size = sizeof at;
        uv_tcp_t mute;
        world_open(secrets);
        client->net.connect_ms = 50;
        uv_tcp_init(&world.loop, &mute);
        uv_ip4_addr("127.0.0.1", 0, &at);
        cr_assert_eq(uv_tcp_bind(&mute, (struct sockaddr *)&at, 0), 0);
        cr_assert_eq(uv_listen((uv_stream_t *)&mute, 1, take_none), 0);
        cr_assert_eq(uv_tcp_getsockname(&mute, (struct sockaddr *)&at, &size), 0);
        client->conn = conn_dial(&client->net, "127.0.0.1", ntohs(at.sin_port), CHANNEL_DATA, NULL,
                                 &world_events, client, &error);
        WORLD_WAIT(client->closed);
        cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
        cr_expect_not_null(strstr(client->why.cause, "within 50 ms"), "%s", client->why.cause);
        uv_close((uv_handle_t *)&mute, NULL);
        world_close();
    }
}

Test(gate, a_port_in_use_is_an_error)
{
    struct glint_error error = {.code = GLINT_OK};
    world_open(0);
    cr_expect_null(
        gate_open(&server->net, "127.0.0.1", gate_port(world.gate), take_nobody, NULL, &error));
    cr_expect_eq(error.code, GLINT_E_ADDRESS);
    cr_expect_not_null(strstr(error.hint, "port"));
    memset(&error, 0, sizeof error);
    cr_expect_null(gate_open(&server->net, "192.0.2.1", 0, take_nobody, NULL, &error));
    cr_expect_eq(error.code, GLINT_E_ADDRESS, "not an address of this host");
    cr_expect_str_eq(error.hint, "listen on an address of this host");
    world_close();
}

Test(gate, loopback_is_known)
{
    static const char *const yes[] = {"localhost", "LocalHost", "127.0.0.1", "127.8.8.8", "::1"};
    static const char *const no[] = {"0.0.0.0",           "::", "10.0.0.1",
                                     "localhost.example", "",   "128.0.0.1"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) cr_expect(host_is_loopback(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) cr_expect_not(host_is_loopback(no[i]));
}
