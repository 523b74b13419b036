/* Counts events on both sides of a connection, and calls a test's hook for each. */
#include "tests/support/conn_fixture.h"

#include "engine/base/text.h"
#include "engine/net/net_init.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conn_fixture fixture;

static void need(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "conn_fixture: %s\n", what);
    abort();
}

/* ---- A side's events */

static void call_hook(struct side *s, struct conn *c, enum moment at)
{
    if (s->hook != NULL) s->hook(s, c, at);
}

static void on_opened(void *arg, struct conn *c)
{
    struct side *s = arg;
    need(s->opened == 0 && s->conn == c && conn_is_open(c), "unexpected `opened`");
    s->opened++;
    call_hook(s, c, AT_OPENED);
}

static int on_frame(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error)
{
    struct side *s = arg;
    need(s->closed == 0 && s->opened == 1 && s->conn == c, "unexpected `frame`");
    need(payload.size == f->length && f->type != FRAME_DATA, "`frame` with an invalid frame");
    s->frames++;
    s->last_request = f->request;
    s->last_size = payload.size;
    if (payload.size > 0 && payload.size <= CONN_FIXTURE_LAST_MAX)
        memcpy(s->last, payload.data, payload.size);
    call_hook(s, c, AT_FRAME);
    if (s->reject_frames) return error_set(error, GLINT_E_PROTOCOL, NULL, "rejected by the test");
    return 0;
}

static uint8_t *on_into(void *arg, struct conn *c, const struct frame *f)
{
    struct side *s = arg;
    need(s->closed == 0 && f->type == FRAME_DATA && f->length <= CONN_FIXTURE_INTO_MAX,
         "unexpected DATA");
    call_hook(s, c, AT_INTO);
    return s->wants_data ? s->into : NULL;
}

static void on_data(void *arg, struct conn *c, const struct frame *f)
{
    struct side *s = arg;
    need(s->closed == 0 && s->wants_data, "`data` without a buffer");
    s->datas++;
    s->data_bytes += f->length;
    s->last_request = f->request;
    call_hook(s, c, AT_DATA);
}

static void on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct side *s = arg;
    need(s->closed == 0 && s->conn == c, "closed twice");
    s->conn = NULL;
    s->closed++;
    s->why = *why;
    call_hook(s, c, AT_CLOSED);
}

const struct conn_events conn_fixture_events = {.opened = on_opened,
                                                .frame = on_frame,
                                                .buffer_for = on_into,
                                                .data = on_data,
                                                .closed = on_closed};

void conn_fixture_on_sent(void *arg, bool ok)
{
    struct side *s = arg;
    need(s->closed == 0, "sent after closed");
    if (ok)
        s->sent++;
    else
        s->unsent++;
    call_hook(s, s->conn, AT_SENT);
}

static bool on_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    (void)arg;
    fixture.accepted++;
    if (fixture.reject_cause != NULL) {
        error_set(error, GLINT_E_PEER_MISMATCH, "try another", "%s", fixture.reject_cause);
        return false;
    }
    need(fixture.server.conn == NULL, "a second connection was accepted");
    conn_set_events(c, &conn_fixture_events, &fixture.server);
    fixture.server.conn = c;
    on_opened(&fixture.server, c);
    return true;
}

/* ---- The fixture */

static void fill_hello(struct hello *h, enum role role, const char *node, uint8_t mark)
{
    *h = (struct hello){.protocol_min = PROTOCOL_MIN, .protocol_max = PROTOCOL_MAX, .role = role};
    text_format(h->cluster, sizeof h->cluster, "test");
    text_format(h->node, sizeof h->node, "%s", node);
    text_format(h->build, sizeof h->build, "0.1.0-abc");
    memset(h->incarnation, mark, sizeof h->incarnation);
}

static void side_open(struct side *s, struct tls_context *tls, enum role role, const char *node,
                      uint8_t mark)
{
    s->net = (struct net){.loop = &fixture.loop,
                          .env = env_real(),
                          .tls = tls,
                          .connect_ms = CONN_FIXTURE_LIMIT_MS / 2};
    fill_hello(&s->net.self, role, node, mark);
    s->last = malloc(CONN_FIXTURE_LAST_MAX);
    s->into = malloc(CONN_FIXTURE_INTO_MAX);
    need(s->last != NULL && s->into != NULL, "no memory");
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    fixture.late = true;
}

void conn_fixture_open(unsigned secrets)
{
    struct glint_error error = {.code = GLINT_OK};
    struct secrets a = {.count = 1}, b = {.count = 1};
    memset(&fixture, 0, sizeof fixture);
    fixture.live = mem_live_blocks();
    for (unsigned i = 0; i < SECRET_BYTES; i++) {
        a.list[0].bytes[i] = (uint8_t)(i * 7);
        b.list[0].bytes[i] = (uint8_t)(i + 1);
    }
    need(event_loop_init(&fixture.loop, env_real(), &error) == 0, error.cause);
    uv_timer_init(&fixture.loop, &fixture.limit);
    if (secrets > 0) {
        fixture.server_tls = tls_context_create(&a, false, &error);
        fixture.client_tls = tls_context_create(secrets == 1 ? &a : &b, false, &error);
        need(fixture.server_tls != NULL && fixture.client_tls != NULL, error.cause);
    }
    side_open(&fixture.server, fixture.server_tls, ROLE_EXECUTOR, "e1", 1);
    side_open(&fixture.client, fixture.client_tls, ROLE_DRIVER, "driver", 2);
    fixture.listener =
        listener_open(&fixture.server.net, "127.0.0.1", 0, on_accepted, NULL, &error);
    need(fixture.listener != NULL, error.cause);
}

void conn_fixture_close_listener(void)
{
    listener_close(fixture.listener);
    fixture.listener = NULL;
}

static void side_close(struct side *s)
{
    s->hook = NULL;
    if (s->conn != NULL) conn_close(s->conn, false);
}

static void side_free(struct side *s)
{
    need(s->conn == NULL, "a connection is left");
    free(s->last);
    free(s->into);
}

void conn_fixture_close(void)
{
    side_close(&fixture.server);
    side_close(&fixture.client);
    conn_fixture_close_listener();
    uv_close((uv_handle_t *)&fixture.limit, NULL);
    uv_run(&fixture.loop, UV_RUN_DEFAULT);
    need(uv_loop_close(&fixture.loop) == 0, "a handle is left");
    tls_context_destroy(fixture.server_tls);
    tls_context_destroy(fixture.client_tls);
    side_free(&fixture.server);
    side_free(&fixture.client);
    need(mem_live_blocks() == fixture.live, "memory is left");
}

bool conn_fixture_dial_to(const char *host, uint16_t port, enum channel channel,
                          const uint8_t *expected_incarnation, struct glint_error *error)
{
    const struct conn_target to = {host, port, channel, expected_incarnation};
    struct side *s = &fixture.client;
    s->conn = conn_dial(&s->net, &to, &conn_fixture_events, s, error);
    return s->conn != NULL;
}

bool conn_fixture_dial(enum channel channel, const uint8_t *expected_incarnation,
                       struct glint_error *error)
{
    return conn_fixture_dial_to("127.0.0.1", listener_port(fixture.listener), channel,
                                expected_incarnation, error);
}

void conn_fixture_begin_wait(void)
{
    fixture.late = false;
    uv_update_time(&fixture.loop);
    uv_timer_start(&fixture.limit, on_limit, CONN_FIXTURE_LIMIT_MS, 0);
}

bool conn_fixture_run_once(void)
{
    uv_run(&fixture.loop, UV_RUN_ONCE);
    return !fixture.late;
}

void conn_fixture_connect(void)
{
    struct glint_error error = {.code = GLINT_OK};
    need(conn_fixture_dial(CHANNEL_DATA, NULL, &error), error.cause);
    CONN_FIXTURE_WAIT(fixture.client.opened && fixture.server.opened);
    need(!fixture.late, "did not connect");
}

/* ---- Bytes */

static uint8_t byte_at(uint64_t i, uint64_t seed)
{
    return (uint8_t)((i * 31 + (i >> 8) * 7 + seed * 101) ^ (i >> 16));
}

void conn_fixture_fill(uint8_t *out, uint64_t size, uint64_t seed)
{
    for (uint64_t i = 0; i < size; i++) out[i] = byte_at(i, seed);
}

bool conn_fixture_is_filled(const uint8_t *bytes, uint64_t size, uint64_t seed)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] != byte_at(i, seed)) return false;
    return true;
}

bool conn_fixture_send(struct side *s, uint64_t size, uint64_t request)
{
    struct buffer payload = {NULL, 0, 0};
    if (!buffer_reserve(&payload, size)) return false;
    if (size > 0) conn_fixture_fill(payload.data, size, request);
    payload.size = size;
    bool ok = conn_send(s->conn, FRAME_GET, request, &payload);
    need(payload.data == NULL, "conn_send did not take the payload");
    return ok;
}

/* ---- Raw clients */

static void raw_client_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    static char bytes[64 * 1024];
    (void)handle;
    (void)suggested;
    *out = uv_buf_init(bytes, sizeof bytes);
}

void raw_client_close(struct raw_client *s, bool reset)
{
    s->ended = true;
    if (!uv_is_closing((uv_handle_t *)&s->pace)) uv_close((uv_handle_t *)&s->pace, NULL);
    if (uv_is_closing((uv_handle_t *)&s->tcp)) return;
    if (!reset || uv_tcp_close_reset(&s->tcp, NULL) != 0) uv_close((uv_handle_t *)&s->tcp, NULL);
}

static void raw_client_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct raw_client *s = stream->data;
    (void)buf;
    if (n > 0) s->got += (uint64_t)n;
    if (n < 0) raw_client_close(s, false);
}

static void raw_client_write(uv_timer_t *pace)
{
    struct raw_client *s = pace->data;
    uint64_t n = s->size - s->at;
    if (s->step > 0 && n > s->step) n = s->step;
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)s->bytes + s->at, (unsigned)n);
    int sent = n > 0 ? uv_try_write((uv_stream_t *)&s->tcp, &buf, 1) : 0;
    if (sent > 0) s->at += (uint64_t)sent;
    if (s->at == s->size) uv_timer_stop(pace);
}

static void raw_client_connected(uv_connect_t *connect, int status)
{
    struct raw_client *s = connect->data;
    if (status != 0) {
        raw_client_close(s, false);
        return;
    }
    s->connected = true;
    if (!s->never_reads) uv_read_start((uv_stream_t *)&s->tcp, raw_client_alloc, raw_client_read);
    if (s->size > 0) uv_timer_start(&s->pace, raw_client_write, 0, 1);
}

void raw_client_dial(struct raw_client *s, const void *bytes, uint64_t size, uint64_t step)
{
    struct sockaddr_in to, from;
    *s = (struct raw_client){.bytes = bytes, .size = size, .step = step};
    uv_tcp_init(&fixture.loop, &s->tcp);
    uv_ip4_addr("127.0.0.2", 0, &from);
    need(uv_tcp_bind(&s->tcp, (struct sockaddr *)&from, 0) == 0, "no second address");
    uv_timer_init(&fixture.loop, &s->pace);
    s->tcp.data = s->pace.data = s->connect.data = s;
    uv_ip4_addr("127.0.0.1", listener_port(fixture.listener), &to);
    int r = uv_tcp_connect(&s->connect, &s->tcp, (struct sockaddr *)&to, raw_client_connected);
    if (r != 0) raw_client_close(s, false);
}
