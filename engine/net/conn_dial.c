/* Dialling: a name's addresses are tried one after another, until the deadline. Numbers are not
 * asked for; a name is, on libuv's pool, which cannot always be told to stop: then the connection
 * ends without it. */
#include "engine/base/text.h"
#include "engine/net/conn_internal.h"

#include <assert.h>
#include <string.h>

static void on_connect(uv_connect_t *connect, int status);

static void on_retry_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    if (c->state == CONN_CLOSED) {
        conn_on_handle_closed(handle);
        return;
    }
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
    if (c->state == CONN_CLOSED) return;
    if (status == 0)
        conn_begin(c);
    else if (c->next_address == NULL)
        conn_fail_uv(c, status, "connect");
    else /* the next one, on a socket of its own */
        uv_close((uv_handle_t *)&c->tcp, on_retry_closed);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct resolving *resolving = request->data;
    struct conn *c = resolving->conn;
    mem_free(resolving);
    if (c != NULL) c->resolving = NULL;
    if (c == NULL || c->state == CONN_CLOSED) {
        uv_freeaddrinfo(found);
        return;
    }
    assert(c->state == CONN_DIALLING);
    c->addresses = found;
    if (status != 0) {
        conn_fail_uv(c, status, "find the address");
        return;
    }
    c->next_address = found->ai_next;
    int r = uv_tcp_connect(&c->connect, &c->tcp, found->ai_addr, on_connect);
    if (r != 0) on_connect(&c->connect, r);
}

void conn_dial_fini(struct conn *c)
{
    if (c->resolving != NULL) {
        c->resolving->conn = NULL;
        uv_cancel((uv_req_t *)&c->resolving->request); /* where it can be */
    }
    if (c->addresses != NULL) uv_freeaddrinfo(c->addresses);
    c->resolving = NULL;
    c->addresses = c->next_address = NULL;
}

static int resolve(struct conn *c, const char *host, uint16_t port)
{
    char service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct resolving *r = mem_zalloc(sizeof *r);
    if (r == NULL) return UV_ENOMEM;
    text_format(service, sizeof service, "%u", port);
    r->conn = c;
    r->request.data = r;
    int answer = uv_getaddrinfo(c->net->loop, &r->request, on_resolved, host, service, &hints);
    if (answer == 0)
        c->resolving = r;
    else
        mem_free(r);
    return answer;
}

static int dial(struct conn *c, const char *host, uint16_t port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (uv_ip4_addr(host, port, &v4) == 0)
        return uv_tcp_connect(&c->connect, &c->tcp, (struct sockaddr *)&v4, on_connect);
    if (uv_ip6_addr(host, port, &v6) == 0)
        return uv_tcp_connect(&c->connect, &c->tcp, (struct sockaddr *)&v6, on_connect);
    return resolve(c, host, port);
}

struct conn *conn_dial(struct net *net, const char *host, uint16_t port, enum channel channel,
                       const uint8_t *wanted, const struct conn_events *events, void *arg,
                       struct glint_error *error)
{
    struct conn *c = conn_create(net, true, error);
    if (c == NULL) return NULL;
    assert(channel > 0 && channel < CHANNELS_END && events != NULL);
    text_format(c->address, sizeof c->address, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    c->channel = channel;
    if (wanted != NULL) memcpy(c->wanted, wanted, sizeof c->wanted);
    int r = dial(c, host, port);
    if (r == 0) {
        conn_set(c, events, arg);
        return c;
    }
    conn_fail_uv(c, r, "connect"); /* which nobody hears of but by this: */
    *error = c->why;
    return NULL;
}
