/* Lifecycle of a connection, from socket to last callback (states: conn.h). Every end goes through
 * conn_close_at_once, which closes the handles. When libuv has closed both, conn_on_handle_closed
 * frees what the connection owned, calls `closed` last, and frees the conn. */
#include "engine/net/conn.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/net/conn_internal.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>

static void conn_dial_fini(struct conn *c);

/* ---- Close */

/* libuv's close callback of both handles; the last one frees the conn. */
static void conn_on_handle_closed(uv_handle_t *handle)
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

/* Writes `state`, after conn_create the only function that does; states only increase. */
static void conn_set_state(struct conn *c, enum conn_state state)
{
    assert(state > c->state);
    c->state = state;
    c->has_opened = c->has_opened || state == CONN_OPEN;
}

static void conn_close_at_once(struct conn *c)
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
    conn_close_at_once(c);
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
    conn_close_at_once(timer->data);
}

/* libuv's cached time may be as old as the current callback, which would shorten the timeout. */
static void conn_start_timer(struct conn *c, uv_timer_cb on_time, uint64_t ms)
{
    uv_update_time(c->net->loop);
    uv_timer_start(&c->timer, on_time, ms, 0);
}

/* As conn_close with flush, also in HANDSHAKE, where a REJECT is to be sent. */
static void conn_close_gracefully(struct conn *c)
{
    /* Nothing can be sent any more. */
    if (c->broken) conn_close_at_once(c);
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
        conn_close_at_once(c);
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
    struct conn *c = mem_zalloc_or_fail(sizeof *c, error);
    if (c == NULL) return NULL;
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
        host_format_address(c->address, sizeof c->address,
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

/* ---- Dialling: tries the addresses of a host one after another until the connect timeout. Numeric
 * addresses need no lookup. A name is resolved on libuv's thread pool; such a request cannot always
 * be cancelled, so it may outlive its connection. */

static void on_tcp_connected(uv_connect_t *connect, int status);

static void on_retry_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    /* conn_close_at_once found this socket already closing, and counts on this callback. */
    if (c->state == CONN_CLOSED) {
        conn_on_handle_closed(handle);
        return;
    }
    /* A socket whose connect failed cannot be reused; the next address needs a new one. */
    int r = uv_tcp_init(c->net->loop, &c->tcp);
    assert(r == 0 && c->next_address != NULL);
    c->tcp.data = c;
    const struct addrinfo *a = c->next_address;
    c->next_address = a->ai_next;
    r = uv_tcp_connect(&c->connect, &c->tcp, a->ai_addr, on_tcp_connected);
    if (r != 0) on_tcp_connected(&c->connect, r);
}

static void on_tcp_connected(uv_connect_t *connect, int status)
{
    struct conn *c = connect->data;
    /* Closing the socket cancels the connect; libuv still calls back. */
    if (c->state == CONN_CLOSED) return;
    if (status == 0)
        conn_on_connected(c);
    else if (c->next_address == NULL)
        conn_fail_uv(c, status, "connect");
    else /* try the next address on a new socket */
        uv_close((uv_handle_t *)&c->tcp, on_retry_closed);
}

static void on_host_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct name_lookup *name_lookup = request->data;
    struct conn *c = name_lookup->conn;
    mem_free(name_lookup);
    if (c != NULL) c->name_lookup = NULL;
    /* The connection ended during the lookup. */
    if (c == NULL || c->state == CONN_CLOSED) {
        uv_freeaddrinfo(found);
        return;
    }
    assert(c->state == CONN_DIALLING);
    c->addresses = found;
    if (status != 0) {
        conn_fail_uv(c, status, "resolve the address");
        return;
    }
    c->next_address = found->ai_next;
    int r = uv_tcp_connect(&c->connect, &c->tcp, found->ai_addr, on_tcp_connected);
    if (r != 0) on_tcp_connected(&c->connect, r);
}

/* Cancels the name lookup and frees the addresses. */
static void conn_dial_fini(struct conn *c)
{
    if (c->name_lookup != NULL) {
        /* on_host_resolved frees the request, since a running lookup cannot be cancelled. */
        c->name_lookup->conn = NULL;
        uv_cancel((uv_req_t *)&c->name_lookup->request); /* no effect if it is already running */
    }
    if (c->addresses != NULL) uv_freeaddrinfo(c->addresses);
    c->name_lookup = NULL;
    c->addresses = c->next_address = NULL;
}

static int start_resolving(struct conn *c, const char *host, uint16_t port)
{
    char service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct name_lookup *r = mem_zalloc(sizeof *r);
    if (r == NULL) return UV_ENOMEM;
    text_format(service, sizeof service, "%u", port);
    r->conn = c;
    r->request.data = r;
    int result = uv_getaddrinfo(c->net->loop, &r->request, on_host_resolved, host, service, &hints);
    if (result == 0)
        c->name_lookup = r;
    else
        mem_free(r);
    return result;
}

static int start_dialling(struct conn *c, const char *host, uint16_t port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (uv_ip4_addr(host, port, &v4) == 0)
        return uv_tcp_connect(&c->connect, &c->tcp, (struct sockaddr *)&v4, on_tcp_connected);
    if (uv_ip6_addr(host, port, &v6) == 0)
        return uv_tcp_connect(&c->connect, &c->tcp, (struct sockaddr *)&v6, on_tcp_connected);
    return start_resolving(c, host, port);
}

struct conn *conn_dial(struct net *net, const struct conn_target *to,
                       const struct conn_events *events, void *arg, struct glint_error *error)
{
    struct conn *c = conn_create(net, true, error);
    if (c == NULL) return NULL;
    assert(to->channel > 0 && to->channel < CHANNELS_END && events != NULL);
    host_format_address(c->address, sizeof c->address, to->host, to->port);
    c->channel = to->channel;
    if (to->incarnation != NULL)
        memcpy(c->expected_incarnation, to->incarnation, sizeof c->expected_incarnation);
    int r = start_dialling(c, to->host, to->port);
    if (r == 0) {
        conn_set_events(c, events, arg);
        return c;
    }
    conn_fail_uv(c, r, "connect"); /* has no events yet: `closed` is not called */
    *error = c->why;
    return NULL;
}

/* ---- The handshake: exchange of hellos, or rejection. The dialling side sends its hello first.
 * The accepting side queues its own when the peer's hello is compatible, then calls its owner;
 * frames that the owner sends from inside `accepted` follow the hello. */

static struct hello make_own_hello(const struct conn *c)
{
    struct hello h = c->net->self;
    h.channel = c->channel;
    memcpy(h.expected_incarnation, c->expected_incarnation, sizeof h.expected_incarnation);
    return h;
}

static int queue_hello(struct conn *c, struct glint_error *why)
{
    struct hello h = make_own_hello(c);
    struct buffer payload = {NULL, 0, 0};
    int r = hello_encode(&h, &payload, why);
    if (r == 0 && !conn_enqueue(c, FRAME_HELLO, 0, &payload)) r = error_no_memory(why);
    buffer_fini(&payload);
    return r;
}

void conn_start_handshake(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    conn_set_state(c, CONN_HANDSHAKE);
    if (c->dialling && queue_hello(c, &why) != 0)
        conn_fail(c, &why);
    else
        conn_flush(c);
}

/* Sends the reason to the peer, then closes. Our hello, if queued, is discarded: the peer gets
 * either a hello or a REJECT. */
static void send_reject(struct conn *c, const struct glint_error *why)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    assert(why->code != GLINT_OK);
    c->why = *why;
    conn_discard_queue(c);
    bool queued =
        reject_encode(why, &payload, &ignored) == 0 && conn_enqueue(c, FRAME_REJECT, 0, &payload);
    buffer_fini(&payload);
    /* Without memory for the REJECT the peer only sees the close. */
    if (queued)
        conn_close_gracefully(c);
    else
        conn_fail(c, why);
}

static void finish_handshake(struct conn *c)
{
    struct hello self = make_own_hello(c);
    /* Limits what the peer can make this process do to the frames of its role. */
    c->expected = hello_allowed_frames(&self, &c->peer, c->dialling);
    conn_set_state(c, CONN_OPEN);
    uv_timer_stop(&c->timer);
}

/* The hellos are compatible; calls the listener's owner, which may send, close or reject. Corked,
 * so that nothing is written before its decision: a REJECT can then still replace our hello. */
static void accept_after_hello(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    if (queue_hello(c, &why) != 0) {
        conn_fail(c, &why);
        return;
    }
    c->corked = true;
    finish_handshake(c);
    bool accepted = listener_accept(c, &why);
    c->corked = false;
    /* A rejected connection never calls the owner back. */
    if (!accepted) conn_set_events(c, NULL, NULL);
    if (c->state == CONN_CLOSED) return;
    if (accepted) {
        listener_remove_pending(c);
        conn_flush(c);
        return;
    }
    c->has_opened = false; /* never open for its owner: counts as rejected */
    send_reject(c, &why);
}

/* A client secret is for the role CLIENT, the key of a job for its executors. Returns 0 or a code.
 */
static int check_hello_secret(const struct conn *c, struct glint_error *why)
{
    enum secret_kind kind =
        c->tls != NULL && !c->dialling ? tls_peer_secret_kind(c->tls) : SECRET_PEER;
    if (kind == SECRET_CLIENT && c->peer.role != ROLE_CLIENT)
        return error_set(why, GLINT_E_NOT_PERMITTED, "name the file of the cluster's own secret",
                         "%s has a client secret, which allows status requests only", c->peer.node);
    if (kind == SECRET_JOB && c->peer.role != ROLE_EXECUTOR)
        return error_set(why, GLINT_E_NOT_PERMITTED, NULL,
                         "%s has the key of a job, which is for its executors only", c->peer.node);
    return 0;
}

void conn_on_handshake_frame(struct conn *c, enum frame_type type, struct glint_slice payload)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(c->state == CONN_HANDSHAKE && (type == FRAME_HELLO || type == FRAME_REJECT));
    if (type == FRAME_REJECT) {
        /* Always sets `why`: to the peer's error, or to PROTOCOL. */
        reject_decode(payload, &why);
        conn_fail(c, &why);
        return;
    }
    if (hello_decode(payload, &c->peer, &why) == 0) {
        /* The dialling side chooses the channel. */
        if (!c->dialling) c->channel = c->peer.channel;
        struct hello self = make_own_hello(c);
        if (check_hello_secret(c, &why) == 0) hello_check_compatible(&self, &c->peer, &why);
    }
    /* Only the accepting side sends a REJECT; the dialling side just closes. */
    if (why.code != GLINT_OK && c->dialling)
        conn_fail(c, &why);
    else if (why.code != GLINT_OK)
        send_reject(c, &why);
    else if (!c->dialling)
        accept_after_hello(c);
    else {
        finish_handshake(c);
        /* Then sends also the frames that were queued before OPEN. */
        if (c->events->opened != NULL) c->events->opened(c->arg, c);
        conn_flush(c);
    }
}

/* ---- Heartbeats of an open connection: sends a PING per interval, and watches for the peer's. Any
 * frame of the peer counts as one. The connection's timer, which limited the handshake before,
 * serves them until the connection closes. */

static void on_heartbeat_timer(uv_timer_t *timer);

static void start_heartbeat_timer(struct conn *c, uint64_t now, uint64_t at_ns)
{
    conn_start_timer(c, on_heartbeat_timer, ms_until(at_ns, now));
}

static void set_suspect(struct conn *c, bool suspect)
{
    if (c->suspect == suspect) return;
    c->suspect = suspect;
    if (c->events != NULL && c->events->suspect != NULL) c->events->suspect(c->arg, c, suspect);
}

static void send_ping(struct conn *c, uint64_t now)
{
    struct ping ping = {.sent_ns = now};
    if (c->events->heartbeat != NULL) c->events->heartbeat(c->arg, c, &ping);
    conn_send_payload(c, FRAME_PING, 0, &ping_format, &ping);
}

static void on_heartbeat_timer(uv_timer_t *timer)
{
    struct conn *c = timer->data;
    struct glint_error why = {.code = GLINT_OK};
    bool due = false;
    uint64_t now = c->net->env->now_ns(c->net->env), next = UINT64_MAX;
    assert(conn_is_open(c) && c->has_heartbeat);
    enum life life = liveness_on_timer(&c->liveness, now, &due, &next);
    if (life == LIFE_DEAD) {
        error_set(&why, GLINT_E_CONNECTION, NULL, "no heartbeat for %llu ms",
                  (unsigned long long)(c->liveness.limits->dead_ns / MS_NS));
        if (c->net->self.role != ROLE_DRIVER) /* the driver tells the user */
            log_line(LOG_WARN, &(struct log_ids){.peer = c->address},
                     "%s: closing the connection of %s", why.cause, c->peer.node);
        conn_fail(c, &why);
        return;
    }
    start_heartbeat_timer(c, now, next);
    set_suspect(c, life == LIFE_SUSPECT);
    if (due && conn_is_open(c)) send_ping(c, now);
}

void conn_start_heartbeat(struct conn *c, const struct liveness_limits *limits)
{
    uint64_t now = c->net->env->now_ns(c->net->env);
    /* After a failed send the connection is closing: nothing more happens then. */
    assert(c->state >= CONN_OPEN && !c->has_heartbeat);
    c->has_heartbeat = true;
    liveness_init(&c->liveness, limits, now);
    if (conn_is_open(c)) start_heartbeat_timer(c, now, now + limits->heartbeat_ns);
}

void conn_on_any_bytes(struct conn *c)
{
    if (!c->has_heartbeat || !conn_is_open(c)) return;
    liveness_on_heartbeat(&c->liveness, c->net->env->now_ns(c->net->env));
    set_suspect(c, c->liveness.life == LIFE_SUSPECT);
}

uint64_t conn_last_seen_ns(const struct conn *c)
{
    assert(c->has_heartbeat);
    return c->liveness.last_seen_ns;
}

void host_format_address(char *out, size_t capacity, const char *host, unsigned port)
{
    text_format(out, capacity, strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, port);
}
