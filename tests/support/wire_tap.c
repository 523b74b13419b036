/* See wire_tap.h. */
#include "tests/support/wire_tap.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "wire_tap: %s\n", what);
    abort();
}

static void hang_up(struct tap *t)
{
    for (int i = 0; i < TAP_DIRECTIONS; i++)
        if (!uv_is_closing((uv_handle_t *)&t->ends[i])) uv_close((uv_handle_t *)&t->ends[i], NULL);
    uv_idle_stop(&t->pace);
}

static void pass_on(struct tap *t, int i)
{
    struct tap_direction *w = &t->directions[i];
    uint64_t end = w->size < w->cut_at ? w->size : w->cut_at;
    uint64_t n = end - w->sent < t->step ? end - w->sent : t->step;
    uv_buf_t buf = uv_buf_init((char *)w->bytes + w->sent, (unsigned)n);
    int r = n > 0 ? uv_try_write((uv_stream_t *)&t->ends[i], &buf, 1) : 0;
    if (r > 0) w->sent += (uint64_t)r;
    bool over = (w->sent == w->cut_at && !t->stalls) || (w->ended && w->sent == w->size);
    if (over || (r < 0 && r != UV_EAGAIN)) hang_up(t);
}

static void on_turn(uv_idle_t *pace)
{
    struct tap *t = pace->data;
    for (int i = 0; i < TAP_DIRECTIONS && !uv_is_closing((uv_handle_t *)&t->ends[0]); i++)
        pass_on(t, i);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    static char bytes[64 * 1024];
    (void)handle;
    (void)suggested;
    *out = uv_buf_init(bytes, sizeof bytes);
}

/* Bytes from one end are forwarded to the other. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct tap *t = stream->data;
    bool from_client = stream == (uv_stream_t *)&t->ends[TAP_TO_CLIENT];
    struct tap_direction *w =
        &t->directions[from_client && !t->reflects ? TAP_TO_SERVER : TAP_TO_CLIENT];
    if (n < 0) {
        w->ended = true;
        uv_read_stop(stream);
    }
    if (n <= 0) return;
    if (w->size + (uint64_t)n > w->capacity) {
        w->capacity = (w->size + (uint64_t)n) * 2;
        w->bytes = realloc(w->bytes, w->capacity);
        need(w->bytes != NULL, "no memory");
    }
    memcpy(w->bytes + w->size, buf->base, (size_t)n);
    w->size += (uint64_t)n;
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct tap *t = connect->data;
    if (status != 0 || t->closing) return;
    t->joined = true;
    for (int i = 0; i < TAP_DIRECTIONS; i++)
        uv_read_start((uv_stream_t *)&t->ends[i], on_alloc, on_read);
    uv_idle_start(&t->pace, on_turn);
}

static void on_accepted(uv_stream_t *listener, int status)
{
    struct tap *t = listener->data;
    struct sockaddr_in to;
    need(status == 0 && !t->joined, "a tap is used once");
    need(uv_accept(listener, (uv_stream_t *)&t->ends[TAP_TO_CLIENT]) == 0, "cannot accept");
    for (int i = 0; i < TAP_DIRECTIONS; i++) uv_tcp_nodelay(&t->ends[i], 1);
    uv_ip4_addr("127.0.0.1", listener_port(fixture.listener), &to);
    int r =
        uv_tcp_connect(&t->connect, &t->ends[TAP_TO_SERVER], (struct sockaddr *)&to, on_connected);
    need(r == 0, "cannot connect");
}

void tap_open(struct tap *t, uint64_t step)
{
    struct sockaddr_in at;
    *t = (struct tap){.step = step};
    uv_tcp_init(&fixture.loop, &t->listener);
    uv_idle_init(&fixture.loop, &t->pace);
    t->listener.data = t->pace.data = t->connect.data = t;
    for (int i = 0; i < TAP_DIRECTIONS; i++) {
        uv_tcp_init_ex(&fixture.loop, &t->ends[i], i == TAP_TO_SERVER ? AF_INET : AF_UNSPEC);
        t->ends[i].data = t;
        t->directions[i].cut_at = UINT64_MAX;
    }
    uv_ip4_addr("127.0.0.1", 0, &at);
    need(uv_tcp_bind(&t->listener, (struct sockaddr *)&at, 0) == 0 &&
             uv_listen((uv_stream_t *)&t->listener, 4, on_accepted) == 0,
         "cannot listen");
}

void tap_dial(struct tap *t)
{
    struct side *s = &fixture.client;
    struct glint_error error = {.code = GLINT_OK};
    struct sockaddr_in at;
    int size = sizeof at;
    need(uv_tcp_getsockname(&t->listener, (struct sockaddr *)&at, &size) == 0, "no port");
    conn_fixture_dial_to("127.0.0.1", ntohs(at.sin_port), CHANNEL_DATA, NULL, &error);
    need(s->conn != NULL, error.cause);
}

void tap_close(struct tap *t)
{
    assert(!t->closing);
    t->closing = true;
    hang_up(t);
    uv_close((uv_handle_t *)&t->pace, NULL);
    uv_close((uv_handle_t *)&t->listener, NULL);
}

void tap_free(struct tap *t)
{
    for (int i = 0; i < TAP_DIRECTIONS; i++) free(t->directions[i].bytes);
}
