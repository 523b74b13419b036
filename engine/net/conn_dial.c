/* Dialling: tries the addresses of a host one after another until the connect timeout. Numeric
 * addresses need no lookup. A name is resolved on libuv's thread pool; such a request cannot always
 * be cancelled, so it may outlive its connection. */
#include "engine/base/text.h"
#include "engine/net/conn_internal.h"

#include <assert.h>
#include <string.h>

static void on_connect(uv_connect_t *connect, int status);

static void on_retry_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    /* conn_end found this socket already closing, and counts on this callback. */
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
    r = uv_tcp_connect(&c->connect, &c->tcp, a->ai_addr, on_connect);
    if (r != 0) on_connect(&c->connect, r);
}

static void on_connect(uv_connect_t *connect, int status)
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

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
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
    int r = uv_tcp_connect(&c->connect, &c->tcp, found->ai_addr, on_connect);
    if (r != 0) on_connect(&c->connect, r);
}

void conn_dial_fini(struct conn *c)
{
    if (c->name_lookup != NULL) {
        /* on_resolved frees the request, since a running lookup cannot be cancelled. */
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
    int result = uv_getaddrinfo(c->net->loop, &r->request, on_resolved, host, service, &hints);
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
        return uv_tcp_connect(&c->connect, &c->tcp, (struct sockaddr *)&v4, on_connect);
    if (uv_ip6_addr(host, port, &v6) == 0)
        return uv_tcp_connect(&c->connect, &c->tcp, (struct sockaddr *)&v6, on_connect);
    return start_resolving(c, host, port);
}

struct conn *conn_dial(struct net *net, const char *host, uint16_t port, enum channel channel,
                       const uint8_t *expected_incarnation, const struct conn_events *events,
                       void *arg, struct glint_error *error)
{
    struct conn *c = conn_create(net, true, error);
    if (c == NULL) return NULL;
    assert(channel > 0 && channel < CHANNELS_END && events != NULL);
    text_format(c->address, sizeof c->address, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    c->channel = channel;
    if (expected_incarnation != NULL)
        memcpy(c->expected_incarnation, expected_incarnation, sizeof c->expected_incarnation);
    int r = start_dialling(c, host, port);
    if (r == 0) {
        conn_set_events(c, events, arg);
        return c;
    }
    conn_fail_uv(c, r, "connect"); /* has no events yet: `closed` is not called */
    *error = c->why;
    return NULL;
}
