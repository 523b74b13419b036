/* Connections over loopback, both sides in one loop: opening, frames and data both ways, refusals,
 * and bytes that are none of ours. */
#include "engine/net/conn.h"
#include "engine/net/gate.h"
#include "engine/net/loop.h"

#include <criterion/criterion.h>
#include <string.h>

struct side {
    struct net net;
    struct conn *conn;
    unsigned opened, closed, frames, datas;
    struct glint_error why;
    uint8_t *into;
    uint64_t into_size, got;
    uint64_t last_request;
    struct buffer last;
    unsigned sent, unsent;
};

struct world {
    uv_loop_t loop;
    struct side server, client;
    struct gate *gate;
    struct tls_context *tls[2];
    uint8_t *data;
    uv_timer_t limit;
    bool late;
    const char *refusal;
};

static struct world w;

static void on_opened(void *arg, struct conn *c)
{
    struct side *s = arg;
    s->conn = c;
    s->opened++;
}

static int on_frame(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error)
{
    struct side *s = arg;
    (void)c;
    if (f->type == FRAME_PING && payload.size == 3)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a bad ping");
    s->frames++;
    s->last_request = f->request;
    s->last.size = 0;
    cr_assert(buffer_append(&s->last, payload.data, payload.size));
    return 0;
}

static uint8_t *on_into(void *arg, struct conn *c, const struct frame *f)
{
    struct side *s = arg;
    (void)c;
    return s->into != NULL && f->length <= s->into_size ? s->into : NULL;
}

static void on_data(void *arg, struct conn *c, const struct frame *f)
{
    struct side *s = arg;
    (void)c;
    s->datas++;
    s->got += f->length;
    s->last_request = f->request;
}

static void on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct side *s = arg;
    (void)c;
    s->conn = NULL;
    s->closed++;
    s->why = *why;
}

static const struct conn_events events = {on_opened, on_frame, on_into, on_data, on_closed};

static bool on_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    (void)arg;
    if (w.refusal != NULL) {
        error_set(error, GLINT_E_PEER_MISMATCH, NULL, "%s", w.refusal);
        return false;
    }
    conn_set(c, &events, &w.server);
    w.server.conn = c;
    w.server.opened++;
    return true;
}

static void hello_fill(struct hello *h, enum role role, const char *node, uint8_t mark)
{
    *h = (struct hello){.protocol_min = 1, .protocol_max = 1, .role = role};
    strcpy(h->cluster, "test");
    strcpy(h->node, node);
    strcpy(h->build, "0.1.0-abc");
    memset(h->incarnation, mark, sizeof h->incarnation);
}

static void on_limit(uv_timer_t *timer)
{
    w.late = true;
    uv_stop(timer->loop);
}

static void open_world(bool tls, bool same_secret)
{
    struct glint_error error = {.code = GLINT_OK};
    struct secret a, b;
    memset(&w, 0, sizeof w);
    for (unsigned i = 0; i < SECRET_BYTES; i++)
        a.bytes[i] = (uint8_t)(i * 7), b.bytes[i] = (uint8_t)(i + 1);
    cr_assert_eq(loop_open(&w.loop, env_real(), &error), 0);
    uv_timer_init(&w.loop, &w.limit);
    if (tls) {
        w.tls[0] = tls_context_create(&a, &error);
        w.tls[1] = tls_context_create(same_secret ? &a : &b, &error);
        cr_assert(w.tls[0] != NULL && w.tls[1] != NULL);
    }
    w.server.net =
        (struct net){.loop = &w.loop, .env = env_real(), .tls = w.tls[0], .connect_ms = 2000};
    w.client.net =
        (struct net){.loop = &w.loop, .env = env_real(), .tls = w.tls[1], .connect_ms = 2000};
    hello_fill(&w.server.net.self, ROLE_EXECUTOR, "e1", 1);
    hello_fill(&w.client.net.self, ROLE_DRIVER, "driver", 2);
    w.gate = gate_open(&w.server.net, "127.0.0.1", 0, on_accepted, NULL, &error);
    cr_assert(w.gate != NULL, "%s", error.cause);
}

static void dial(const uint8_t *wanted)
{
    struct glint_error error = {.code = GLINT_OK};
    cr_assert(conn_dial(&w.client.net, "127.0.0.1", gate_port(w.gate), CHANNEL_DATA, wanted,
                        &events, &w.client, &error) != NULL);
}

/* Turns until `done` or for 10 s. */
#define RUN_UNTIL(done)                                                                            \
    do {                                                                                           \
        w.late = false;                                                                            \
        uv_timer_start(&w.limit, on_limit, 10000, 0);                                              \
        while (!(done) && !w.late) uv_run(&w.loop, UV_RUN_ONCE);                                   \
        cr_assert(done, "not within 10 s: " #done);                                                \
    } while (0)

static void close_world(void)
{
    if (w.client.conn != NULL) conn_close(w.client.conn, false);
    if (w.server.conn != NULL) conn_close(w.server.conn, false);
    gate_close(w.gate);
    uv_close((uv_handle_t *)&w.limit, NULL);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    cr_expect_eq(uv_loop_close(&w.loop), 0);
    tls_context_destroy(w.tls[0]);
    tls_context_destroy(w.tls[1]);
    buffer_fini(&w.server.last);
    buffer_fini(&w.client.last);
    mem_free(w.data);
    cr_expect_eq(mem_live(), 0);
}

static void on_sent(void *arg, bool ok)
{
    struct side *s = arg;
    if (ok)
        s->sent++;
    else
        s->unsent++;
}

static void exchange(bool tls)
{
    static uint8_t into[2 * MIB];
    open_world(tls, true);
    dial(NULL);
    RUN_UNTIL(w.client.opened && w.server.opened);
    cr_expect_str_eq(conn_peer(w.client.conn)->node, "e1");
    cr_expect_str_eq(conn_peer(w.server.conn)->node, "driver");
    for (unsigned size = 0; size < 300000; size = size * 3 + 1) {
        struct buffer payload = {NULL, 0, 0};
        unsigned before = w.server.frames;
        for (unsigned i = 0; i < size; i++) {
            uint8_t byte = (uint8_t)(i * 31 + size);
            cr_assert(buffer_append(&payload, &byte, 1));
        }
        cr_assert(conn_send(w.client.conn, FRAME_MESSAGE, size, &payload));
        RUN_UNTIL(w.server.frames > before);
        cr_assert_eq(w.server.last.size, size);
        cr_assert_eq(w.server.last_request, size);
        for (unsigned i = 0; i < size; i++)
            cr_assert_eq(w.server.last.data[i], (uint8_t)(i * 31 + size));
    }
    w.data = mem_alloc(sizeof into);
    for (size_t i = 0; i < sizeof into; i++) w.data[i] = (uint8_t)(i * 17 >> 3);
    w.client.into = into;
    w.client.into_size = sizeof into;
    for (unsigned i = 0; i < 50; i++)
        conn_send_data(w.server.conn, i, (struct glint_slice){w.data, sizeof into - i}, on_sent,
                       &w.server);
    RUN_UNTIL(w.client.datas == 50 && w.server.sent == 50);
    cr_expect_eq(memcmp(into, w.data, sizeof into - 49), 0);
    w.client.into = NULL; /* nobody wants it */
    conn_send_data(w.server.conn, 51, (struct glint_slice){w.data, sizeof into}, on_sent,
                   &w.server);
    cr_assert(conn_send(w.server.conn, FRAME_DRAIN, 7, NULL));
    RUN_UNTIL(w.client.last_request == 7);
    cr_expect_eq(w.client.datas, 50);
    conn_close(w.client.conn, true);
    RUN_UNTIL(w.client.closed && w.server.closed);
    cr_expect_eq(w.client.why.code, GLINT_OK);
    cr_expect_eq(w.server.why.code, GLINT_E_CONNECTION);
    close_world();
}

Test(conn, frames_and_data_both_ways)
{
    exchange(false);
}

Test(conn, frames_and_data_both_ways_through_tls)
{
    exchange(true);
}

Test(conn, another_secret_is_not_let_in)
{
    open_world(true, false);
    dial(NULL);
    RUN_UNTIL(w.client.closed);
    cr_expect_eq(w.client.why.code, GLINT_E_AUTH, "%s", w.client.why.cause);
    cr_expect_eq(w.client.opened + w.server.opened, 0);
    cr_expect_eq(w.server.net.refused, 1);
    close_world();
}

Test(conn, what_does_not_fit_is_refused_with_both_values)
{
    open_world(true, true);
    strcpy(w.client.net.self.build, "0.2.0-def");
    dial(NULL);
    RUN_UNTIL(w.client.closed);
    cr_expect_eq(w.client.why.code, GLINT_E_PEER_MISMATCH);
    cr_expect(strstr(w.client.why.cause, "0.1.0-abc") && strstr(w.client.why.cause, "0.2.0-def"),
              "%s", w.client.why.cause);
    close_world();
}

Test(conn, another_start_of_the_process_is_noticed)
{
    uint8_t wanted[INCARNATION_BYTES] = {9, 9};
    open_world(false, true);
    dial(wanted);
    RUN_UNTIL(w.client.closed);
    cr_expect_eq(w.client.why.code, GLINT_E_PEER_MISMATCH);
    close_world();
}

Test(conn, the_gate_s_owner_may_refuse)
{
    open_world(true, true);
    w.refusal = "there is an e1 already";
    dial(NULL);
    RUN_UNTIL(w.client.closed);
    cr_expect_eq(w.client.why.code, GLINT_E_PEER_MISMATCH);
    cr_expect_str_eq(w.client.why.cause, "there is an e1 already");
    close_world();
}

Test(conn, a_bad_frame_ends_the_connection)
{
    struct buffer payload = {NULL, 0, 0};
    open_world(true, true);
    dial(NULL);
    RUN_UNTIL(w.client.opened && w.server.opened);
    cr_assert(buffer_append(&payload, "bad", 3));
    cr_assert(conn_send(w.client.conn, FRAME_PING, 0, &payload));
    RUN_UNTIL(w.client.closed && w.server.closed);
    cr_expect_eq(w.server.why.code, GLINT_E_PROTOCOL);
    close_world();
}

/* ---- Strangers: plain sockets that send what they like, or nothing */

struct stranger {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    const char *text;
    size_t size;
    bool ended;
    char got[4096];
    size_t got_size;
};

static void stranger_alloc(uv_handle_t *h, size_t n, uv_buf_t *out)
{
    static char buffer[4096];
    (void)h;
    (void)n;
    *out = uv_buf_init(buffer, sizeof buffer);
}

static void stranger_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct stranger *s = stream->data;
    if (n > 0 && s->got_size + (size_t)n <= sizeof s->got) {
        memcpy(s->got + s->got_size, buf->base, (size_t)n);
        s->got_size += (size_t)n;
    }
    if (n < 0) {
        s->ended = true;
        if (!uv_is_closing((uv_handle_t *)stream)) uv_close((uv_handle_t *)stream, NULL);
    }
}

static void stranger_connected(uv_connect_t *connect, int status)
{
    struct stranger *s = connect->data;
    cr_assert_eq(status, 0);
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)s->text, (unsigned)s->size);
    uv_read_start((uv_stream_t *)&s->tcp, stranger_alloc, stranger_read);
    if (s->size > 0) uv_write(&s->write, (uv_stream_t *)&s->tcp, &buf, 1, NULL);
}

static void stranger_dial(struct stranger *s, const char *text, size_t size)
{
    struct sockaddr_in to;
    memset(s, 0, sizeof *s);
    s->text = text;
    s->size = size;
    uv_tcp_init(&w.loop, &s->tcp);
    s->tcp.data = s->connect.data = s;
    uv_ip4_addr("127.0.0.1", gate_port(w.gate), &to);
    cr_assert_eq(uv_tcp_connect(&s->connect, &s->tcp, (struct sockaddr *)&to, stranger_connected),
                 0);
}

Test(gate, strangers_are_shown_out)
{
    static struct stranger s;
    static const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    char zeros[2000] = {0};
    const struct {
        const char *text;
        size_t size;
    } texts[] = {{http, sizeof http - 1}, {zeros, sizeof zeros}, {"", 0}, {"GLNT", 4}};
    for (int tls = 0; tls < 2; tls++) {
        for (size_t i = 0; i < 4; i++) {
            open_world(tls, true);
            w.server.net.connect_ms = 200;
            stranger_dial(&s, texts[i].text, texts[i].size);
            RUN_UNTIL(s.ended);
            cr_expect_eq(w.server.opened, 0);
            cr_expect_eq(w.server.net.refused, 1);
            close_world();
        }
    }
}

Test(gate, a_thousand_idle_sockets_keep_nobody_out)
{
    enum { MANY = 1000 };
    struct stranger *many = calloc(MANY, sizeof *many);
    open_world(true, true);
    for (int i = 0; i < MANY; i++) stranger_dial(&many[i], "", 0);
    dial(NULL);
    RUN_UNTIL(w.client.opened && w.server.opened);
    gate_close(w.gate);
    w.gate = NULL;
    conn_close(w.client.conn, false);
    unsigned ended = 0;
    RUN_UNTIL((ended = 0, ({
                   for (int i = 0; i < MANY; i++) ended += many[i].ended;
               }),
               ended == MANY));
    close_world();
    free(many);
}

Test(gate, loopback_is_known)
{
    cr_expect(host_is_loopback("localhost") && host_is_loopback("127.0.0.1"));
    cr_expect(host_is_loopback("127.8.8.8") && host_is_loopback("::1"));
    cr_expect_not(host_is_loopback("0.0.0.0") || host_is_loopback("::"));
    cr_expect_not(host_is_loopback("10.0.0.1") || host_is_loopback("localhost.example"));
}

Test(gate, a_port_in_use_is_an_error)
{
    struct glint_error error = {.code = GLINT_OK};
    open_world(false, true);
    cr_expect(gate_open(&w.client.net, "127.0.0.1", gate_port(w.gate), on_accepted, NULL, &error) ==
              NULL);
    cr_expect_eq(error.code, GLINT_E_ADDRESS);
    close_world();
}
