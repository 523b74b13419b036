/* Lifecycle of a connection, from socket to last callback (states: conn.h). Every end goes through
 * conn_end, which closes the handles. When libuv has closed both, conn_on_handle_closed frees what
 * the connection owned, calls `closed` last, and frees the conn. */
#include "engine/net/conn.h"

#include "engine/base/text.h"
#include "engine/net/conn_internal.h"
#include "engine/net/net_init.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>

/* ---- Close */

void conn_on_handle_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    assert(c->handles > 0 && c->state == CONN_CLOSED);
    /* libuv still references the conn until both handles are closed. */
    if (--c->handles > 0) return;
    conn_dial_fini(c);
    conn_write_fini(c);
    buffer_fini(&c->payload);
    tls_close(c->tls);
    c->tls = NULL;
    assert(c->listener == NULL && c->queued == 0);
    if (c->events != NULL && c->events->closed != NULL) c->events->closed(c->arg, c, &c->why);
    mem_free(c);
}

static void close_conn_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) uv_close(handle, conn_on_handle_closed);
}

void conn_set_state(struct conn *c, enum conn_state state)
{
    assert(state > c->state);
    c->state = state;
    c->has_opened = c->has_opened || state == CONN_OPEN;
}

static void conn_end(struct conn *c)
{
    if (c->state == CONN_CLOSED) return;
    if (!c->has_opened) c->net->rejected++;
    conn_set_state(c, CONN_CLOSED);
    listener_remove_pending(c);
    close_conn_handle((uv_handle_t *)&c->tcp);
    close_conn_handle((uv_handle_t *)&c->timer);
}

void conn_fail(struct conn *c, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    if (c->state == CONN_CLOSED) return;
    /* The first error is the cause; later ones are its consequences. During a graceful close errors
     * such as a reset by the peer are expected. */
    if (c->why.code == GLINT_OK && !c->ending) c->why = *why;
    conn_end(c);
}

static int set_uv_error(struct conn *c, int code, const char *operation, struct glint_error *why)
{
    bool has_opened = c->state == CONN_OPEN;
    /* Errors of this host, not of the peer: the hint is about its limits. */
    if (code == UV_EMFILE || code == UV_ENFILE || code == UV_ENOMEM)
        return error_set_system(why, GLINT_E_CONNECTION, code, operation, c->address);
    /* A peer that fails the handshake closes or resets the connection without telling why, so hint
     * at its log and at the usual misconfigurations. */
    if (code == UV_EOF || (code == UV_ECONNRESET && !has_opened))
        return error_set(why, GLINT_E_CONNECTION,
                         has_opened            ? NULL
                         : c->net->tls != NULL ? "see the peer's log; secret_file and "
                                                 "insecure_plaintext must be the same on both sides"
                                               : "see the peer's log; insecure_plaintext must be "
                                                 "the same on both sides",
                         "the peer closed the connection%s",
                         has_opened ? "" : " before the handshake was complete");
    return error_set(why, GLINT_E_CONNECTION, NULL, "cannot %s: %s", operation, uv_strerror(code));
}

void conn_fail_uv(struct conn *c, int code, const char *operation)
{
    struct glint_error why = {.code = GLINT_OK};
    set_uv_error(c, code, operation, &why);
    conn_fail(c, &why);
}

static void on_close_timeout(uv_timer_t *timer)
{
    conn_end(timer->data);
}

/* libuv's cached time may be as old as the current callback, which would shorten the timeout. */
void conn_start_timer(struct conn *c, uv_timer_cb on_time, uint64_t ms)
{
    uv_update_time(c->net->loop);
    uv_timer_start(&c->timer, on_time, ms, 0);
}

void conn_close_gracefully(struct conn *c)
{
    /* Nothing can be sent any more. */
    if (c->broken) conn_end(c);
    if (c->state == CONN_CLOSED) return;
    /* A peer that does not read or does not close must not keep the connection open. */
    if (!c->ending) conn_start_timer(c, on_close_timeout, CLOSE_MS);
    c->ending = true;
    conn_flush(c);
}

void conn_close(struct conn *c, bool flush)
{
    if (flush && c->state == CONN_OPEN)
        conn_close_gracefully(c);
    else
        conn_end(c);
}

/* A write error does not end the connection at once: the peer may have sent data, such as an error
 * that explains its close, before it closed. Keep reading until EOF, or until the timeout for a
 * peer that is gone without FIN. */
void conn_on_write_error(struct conn *c, int code, const char *operation)
{
    if (c->state == CONN_CLOSED || c->broken) return;
    /* Nothing is left to deliver during a graceful close or a handshake. */
    if (c->ending || c->state != CONN_OPEN) {
        conn_fail_uv(c, code, operation);
        return;
    }
    c->broken = true;
    set_uv_error(c, code, operation, &c->why);
    conn_discard_queue(c);
    if (c->state != CONN_CLOSED) conn_start_timer(c, on_close_timeout, CLOSE_MS);
}

/* ---- Open */

static void on_open_timeout(uv_timer_t *timer)
{
    struct conn *c = timer->data;
    static const char *const missing[CONN_OPEN] = {[CONN_DIALLING] = "a TCP connection",
                                                   [CONN_TLS_HANDSHAKE] = "a TLS handshake",
                                                   [CONN_HANDSHAKE] = "a hello"};
    struct glint_error why = {.code = GLINT_OK};
    assert(c->state < CONN_OPEN);
    error_set(&why, GLINT_E_CONNECTION, NULL, "timed out waiting for %s after %llu ms",
              missing[c->state], (unsigned long long)c->net->connect_ms);
    conn_fail(c, &why);
}

/* Makes a write to a closed connection return EPIPE instead of killing the process. A handler that
 * the program has installed is kept. */
static void ignore_pipe_signal(void)
{
    struct sigaction now;
    if (sigaction(SIGPIPE, NULL, &now) != 0 || now.sa_handler != SIG_DFL) return;
    now.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &now, NULL);
}

struct conn *conn_create(struct net *net, bool dialling, struct glint_error *error)
{
    struct conn *c = mem_zalloc(sizeof *c);
    if (c == NULL) {
        error_no_memory(error);
        return NULL;
    }
    ignore_pipe_signal();
    c->net = net;
    c->dialling = dialling;
    c->state = dialling ? CONN_DIALLING : CONN_TLS_HANDSHAKE;
    c->expected = frames_before_hello;
    STAILQ_INIT(&c->queue);
    STAILQ_INIT(&c->writing);
    int r = uv_timer_init(net->loop, &c->timer);
    if (r == 0) r = uv_tcp_init(net->loop, &c->tcp);
    assert(r == 0); /* cannot fail: no descriptor is created yet */
    c->timer.data = c->tcp.data = c->connect.data = c->write.data = c->shutdown.data = c;
    c->handles = 2;
    /* One timeout for TCP connect, TLS and hello together: a peer cannot extend it by sending a
     * byte from time to time. */
    conn_start_timer(c, on_open_timeout, net->connect_ms);
    return c;
}

void conn_set_peer_address(struct conn *c)
{
    struct sockaddr_storage s;
    int size = sizeof s;
    uint16_t port = 0;
    /* Fails if the peer has already reset the connection. */
    if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&s, &size) == 0) {
        bool six = s.ss_family == AF_INET6;
        port = ntohs(six ? ((struct sockaddr_in6 *)&s)->sin6_port
                         : ((struct sockaddr_in *)&s)->sin_port);
        uv_ip_name((struct sockaddr *)&s, c->host, sizeof c->host);
        c->source_key = address_source_key((struct sockaddr *)&s);
    }
    /* The address of a dialled connection is the configured one, as the user knows it. */
    if (!c->dialling)
        text_format(c->address, sizeof c->address, strchr(c->host, ':') ? "[%s]:%u" : "%s:%u",
                    c->host[0] != '\0' ? c->host : "unknown peer", port);
}

void conn_on_connected(struct conn *c)
{
    if (c->dialling) {
        conn_set_state(c, CONN_TLS_HANDSHAKE);
        conn_set_peer_address(c);
    }
    assert(c->state == CONN_TLS_HANDSHAKE && (c->dialling || c->address[0] != '\0'));
    /* Nagle's algorithm would delay small control frames until the previous one is acknowledged. */
    int r = uv_tcp_nodelay(&c->tcp, 1);
    if (r == 0) r = conn_read_start(c);
    if (r != 0) {
        conn_fail_uv(c, r, "set up the socket");
        return;
    }
    /* The accepting side starts TLS on the first received byte (tls_handshake_step). */
    if (c->net->tls == NULL)
        conn_start_handshake(c);
    else if (c->dialling && conn_start_tls(c))
        conn_flush(c);
}

bool conn_start_tls(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(c->tls == NULL && c->state == CONN_TLS_HANDSHAKE);
    /* A rotated secret takes effect with the next handshake, without a restart. */
    net_reload_secrets(c->net);
    c->tls = tls_open(c->net->tls, c->dialling, &why);
    if (c->tls == NULL) conn_fail(c, &why);
    return c->tls != NULL;
}

/* ---- Accessors */

void conn_set_ack_timeout(struct conn *c, uint64_t ms)
{
    uv_os_fd_t file;
    unsigned limit = ms < UINT32_MAX ? (unsigned)ms : UINT32_MAX;
    if (c->state == CONN_CLOSED || uv_fileno((const uv_handle_t *)&c->tcp, &file) != 0) return;
    setsockopt(file, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

bool conn_is_open(const struct conn *c)
{
    return c->state == CONN_OPEN && !c->ending && !c->broken;
}

const struct hello *conn_peer_hello(const struct conn *c)
{
    assert(c->has_opened);
    return &c->peer;
}

enum secret_kind conn_secret_kind(const struct conn *c)
{
    assert(c->has_opened);
    return c->tls != NULL ? tls_peer_secret_kind(c->tls) : SECRET_PEER;
}

const char *conn_peer_address(const struct conn *c)
{
    return c->address;
}

void conn_peer_host(const struct conn *c, char *out, size_t capacity)
{
    text_format(out, capacity, "%s", c->host);
}

bool conn_local_host(const struct conn *c, char *out, size_t capacity)
{
    struct sockaddr_storage s;
    int size = sizeof s;
    return uv_tcp_getsockname(&c->tcp, (struct sockaddr *)&s, &size) == 0 &&
           uv_ip_name((struct sockaddr *)&s, out, capacity) == 0;
}

uint64_t conn_queued_bytes(const struct conn *c)
{
    return c->queued;
}

void conn_set_events(struct conn *c, const struct conn_events *events, void *arg)
{
    c->events = events;
    c->arg = arg;
}
