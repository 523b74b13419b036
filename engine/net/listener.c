/* Accepting connections when resources are short. Without memory for a conn, the connection is
 * accepted into a handle of the listener and closed at once, since libuv waits until a pending
 * connection is accepted. Without a descriptor libuv closes it using one it keeps in reserve; if
 * that fails too, the listener closes its port and listens again a little later, because libuv
 * would retry in a busy loop.
 *
 *   LISTENING -> BACKOFF [no descriptor]   BACKOFF -> LISTENING [timer]
 *   any -> closed [listener_close] */
#include "engine/net/listener.h"

#include "engine/base/env.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/net/conn_internal.h"

#include <assert.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#define BACKLOG           1024
#define DESCRIPTORS_SPARE 8u /* always left for files and outgoing connections */
#define LOG_INTERVAL_MS   10000u
#define FILES_HINT        "raise the limit on open files (ulimit -n, or LimitNOFILE of the service)"

struct listener {
    struct net *net;
    uv_tcp_t tcp;           /* listens */
    uv_tcp_t rejected_conn; /* accepts, then closes, if there is no memory for a conn */
    uv_timer_t accept_backoff;
    uv_timer_t plaintext_warning; /* every minute, without TLS */
    unsigned handles;             /* not closed yet; the listener is freed at 0 */
    bool closed, backing_off, rejecting;
    bool another_pending; /* another connection came while rejected_conn was closing */
    struct sockaddr_storage address;
    uint16_t port;
    listener_accepted_fn *accepted;
    void *arg;
    struct pending_conns pending;
    uint32_t unknown_max;    /* below PENDING_MAX while descriptors are few */
    uint64_t last_logged_ms; /* last log line about a shortage; 0: none yet */
};

/* ---- Pending connections: which one to drop. Sources are found by a linear scan of a few KiB: a
 * hash table would need protection against attackers who choose their addresses to collide. */

#define IPV4_KEY                                                                                   \
    (UINT64_C(0xffffffff) << 32) /* cannot be the prefix of an IPv6 host: ff00::/8 is multicast */

uint64_t address_source_key(const struct sockaddr *address)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    uint64_t prefix;
    uint32_t v4;
    if (address->sa_family == AF_INET)
        return IPV4_KEY | ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
    if (address->sa_family != AF_INET6) return 0;
    /* A dual-stack socket reports IPv4 peers as ::ffff:a.b.c.d, which share one /64. */
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        memcpy(&v4, v6->sin6_addr.s6_addr + 12, sizeof v4);
        return IPV4_KEY | ntohl(v4);
    }
    memcpy(&prefix, v6->sin6_addr.s6_addr, sizeof prefix);
    return prefix;
}

static bool is_pending_source_unused(const struct pending_source *s)
{
    for (unsigned i = 0; i < PENDING_CLASSES; i++)
        if (s->counts[i] > 0) return false;
    return true;
}

static struct pending_source *find_pending_source_or_slot(struct pending_conns *p, uint64_t key)
{
    struct pending_source *free = NULL;
    for (size_t i = 0; i < sizeof p->sources / sizeof p->sources[0]; i++) {
        struct pending_source *s = &p->sources[i];
        if (!is_pending_source_unused(s) && s->key == key) return s;
        if (free == NULL && is_pending_source_unused(s)) free = s;
    }
    assert(free != NULL); /* there are as many entries as connections */
    free->key = key;
    return free;
}

static void pending_class_add(struct pending_conns *p, struct conn *c, enum pending_class class)
{
    struct pending_list *l = &p->classes[class];
    assert(l->count <= PENDING_MAX);
    c->pending_class = class;
    c->pending_at = l->count;
    l->list[l->count++] = c;
    c->source->counts[class]++;
}

static void pending_class_remove(struct pending_conns *p, struct conn *c)
{
    struct pending_list *l = &p->classes[c->pending_class];
    assert(l->count > 0 && l->list[c->pending_at] == c);
    struct conn *last = l->list[--l->count];
    l->list[c->pending_at] = last;
    last->pending_at = c->pending_at;
    c->source->counts[c->pending_class]--;
}

void pending_conns_add(struct pending_conns *p, struct conn *c)
{
    c->source = find_pending_source_or_slot(p, c->source_key);
    pending_class_add(p, c, PENDING_UNKNOWN);
}

void pending_conns_mark_known(struct pending_conns *p, struct conn *c)
{
    assert(c->pending_class == PENDING_UNKNOWN);
    pending_class_remove(p, c);
    pending_class_add(p, c, PENDING_KNOWN);
}

void pending_conns_remove(struct pending_conns *p, struct conn *c)
{
    pending_class_remove(p, c);
    c->source = NULL;
}

struct conn *pending_conns_choose_to_drop(struct pending_conns *p, enum pending_class class)
{
    const struct pending_list *l = &p->classes[class];
    uint32_t most = 0, candidates = 0, random = 0;
    assert(l->count > 0);
    /* Counts the connections of all sources that have the most. */
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t count = l->list[i]->source->counts[class];
        candidates = count > most ? 1 : candidates + (count == most);
        if (count > most) most = count;
    }
    /* Random, so that an attacker cannot predict which one is kept. */
    if (p->env->random(p->env, &random, sizeof random) != 0) random = 0;
    uint32_t chosen = random % candidates;
    for (uint32_t i = 0;; i++) {
        assert(i < l->count);
        if (l->list[i]->source->counts[class] == most && chosen-- == 0) return l->list[i];
    }
}

/* ---- Pending connections: those of a listener */

static uint32_t total_pending_count(const struct listener *g, enum pending_class class)
{
    return g->pending.classes[class].count;
}

static bool is_any_conn_pending(const struct listener *g)
{
    return total_pending_count(g, PENDING_UNKNOWN) + total_pending_count(g, PENDING_KNOWN) > 0;
}

bool listener_accept(struct conn *c, struct glint_error *error)
{
    struct listener *g = c->listener;
    assert(g != NULL && c->state == CONN_OPEN);
    bool wanted = g->accepted(g->arg, c, error);
    assert(wanted == (error->code == GLINT_OK) && (!wanted || c->events != NULL));
    return wanted;
}

void listener_remove_pending(struct conn *c)
{
    struct listener *g = c->listener;
    if (g == NULL) return;
    pending_conns_remove(&g->pending, c);
    /* The flood is over: restore the limit. */
    if (total_pending_count(g, PENDING_UNKNOWN) == 0) g->unknown_max = PENDING_MAX;
    c->listener = NULL;
    if (c->why.code != GLINT_OK)
        log_line(LOG_WARN, NULL, "rejected connection from %s: %s",
                 c->address[0] != '\0' ? c->address : "unknown peer", c->why.cause);
}

static void drop_pending_conn(struct conn *c, const char *cause)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_CONNECTION, NULL, "%s", cause);
    conn_fail(c, &why);
}

/* Drops a connection if the last one added to the class exceeds `max`; it may be the added one. */
static void drop_conn_over_limit(struct listener *g, enum pending_class class, uint32_t max)
{
    if (total_pending_count(g, class) <= max) return;
    drop_pending_conn(pending_conns_choose_to_drop(&g->pending, class),
                      "too many pending connections; its source has the most");
    assert(total_pending_count(g, class) <= max);
}

void listener_on_known_key(struct conn *c)
{
    struct listener *g = c->listener;
    if (g == NULL || c->pending_class == PENDING_KNOWN) return;
    pending_conns_mark_known(&g->pending, c);
    drop_conn_over_limit(g, PENDING_KNOWN, PENDING_MAX);
}

/* Reserves descriptors for authenticated connections and files. Descriptors are numbered from the
 * lowest free one, so a number near the limit means that almost all are in use. */
static bool is_short_of_descriptors(struct conn *c)
{
    struct rlimit limit;
    uv_os_fd_t file;
    if (uv_fileno((uv_handle_t *)&c->tcp, &file) != 0) return false;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    return (rlim_t)file + DESCRIPTORS_SPARE >= limit.rlim_cur;
}

/* ---- Listening */

static void on_listener_handle_closed(uv_handle_t *handle)
{
    struct listener *g = handle->data;
    /* The handle of a connection rejected without memory closes while the listener goes on. */
    assert(g->handles > 0 && !(g->closed && is_any_conn_pending(g)));
    if (--g->handles == 0) mem_free(g);
}

static void on_listener_connection(uv_stream_t *stream, int status);

static int listen_again(struct listener *g)
{
    int r = uv_tcp_bind(&g->tcp, (struct sockaddr *)&g->address, 0);
    return r != 0 ? r : uv_listen((uv_stream_t *)&g->tcp, BACKLOG, on_listener_connection);
}

/* At most one line every ten seconds while the shortage lasts. */
static void log_descriptor_shortage(struct listener *g, const char *what, int code)
{
    uint64_t now_ms = uv_now(g->net->loop);
    if (g->last_logged_ms != 0 && now_ms - g->last_logged_ms < LOG_INTERVAL_MS) return;
    g->last_logged_ms = now_ms;
    log_line(LOG_WARN, NULL, "cannot %s on port %u: %s; " FILES_HINT, what, g->port,
             uv_strerror(code));
}

/* Repeated, so that the warning is in any recent part of the log. */
static void log_plaintext_warning(uv_timer_t *timer)
{
    const struct listener *g = timer->data;
    log_line(LOG_WARN, NULL,
             "insecure_plaintext: any client that can reach port %u can run code as this user",
             g->port);
}

static void accept_backoff(struct listener *g);

static void on_accept_backoff_over(uv_timer_t *timer)
{
    struct listener *g = timer->data;
    int r = uv_tcp_init(g->net->loop, &g->tcp);
    assert(r == 0 && g->backing_off && !g->closed);
    g->tcp.data = g;
    g->handles++;
    g->backing_off = false;
    r = listen_again(g);
    if (r == 0) return;
    log_descriptor_shortage(g, "listen again", r);
    accept_backoff(g);
}

static void on_listening_port_closed(uv_handle_t *handle)
{
    struct listener *g = handle->data;
    if (g->closed) {
        on_listener_handle_closed(handle);
        return;
    }
    g->handles--;
    /* Not before: the handle is reused, and closing the port has freed a descriptor. */
    uv_timer_start(&g->accept_backoff, on_accept_backoff_over, LISTENER_BACKOFF_MS, 0);
}

static void accept_backoff(struct listener *g)
{
    assert(!g->backing_off);
    g->backing_off = true;
    uv_close((uv_handle_t *)&g->tcp, on_listening_port_closed);
}

static void on_rejected_closed(uv_handle_t *handle)
{
    struct listener *g = handle->data;
    bool another_pending = g->another_pending;
    g->rejecting = g->another_pending = false;
    /* The other connection is still pending in libuv, which reports no more until it
     * is accepted. */
    if (another_pending && !g->closed && !g->backing_off)
        on_listener_connection((uv_stream_t *)&g->tcp, 0);
    on_listener_handle_closed(handle);
}

static void reject_without_memory(struct listener *g)
{
    g->another_pending = g->rejecting;
    if (g->rejecting) return;
    int r = uv_tcp_init(g->net->loop, &g->rejected_conn);
    assert(r == 0);
    g->rejected_conn.data = g;
    g->rejecting = true;
    g->handles++;
    /* On error the peer has already closed. */
    uv_accept((uv_stream_t *)&g->tcp, (uv_stream_t *)&g->rejected_conn);
    uv_close((uv_handle_t *)&g->rejected_conn, on_rejected_closed);
}

static void on_listener_connection(uv_stream_t *stream, int status)
{
    struct listener *g = stream->data;
    struct glint_error error = {.code = GLINT_OK};
    if (status != 0) {
        log_descriptor_shortage(g, "accept a connection", status);
        if (!g->backing_off) accept_backoff(g);
        return;
    }
    struct conn *c = conn_create(g->net, false, &error);
    if (c == NULL) {
        reject_without_memory(g);
        return;
    }
    int r = uv_accept(stream, (uv_stream_t *)&c->tcp);
    if (r != 0) {
        conn_close(c, false);
        return;
    }
    conn_set_peer_address(c);
    c->listener = g;
    pending_conns_add(&g->pending, c);
    drop_conn_over_limit(g, PENDING_UNKNOWN, g->unknown_max);
    uint32_t unknown = total_pending_count(g, PENDING_UNKNOWN);
    if (unknown > 0 && c->state != CONN_CLOSED && is_short_of_descriptors(c)) {
        /* Later connections then displace pending ones instead of taking more descriptors. */
        if (unknown > 1) g->unknown_max = unknown - 1;
        drop_pending_conn(pending_conns_choose_to_drop(&g->pending, PENDING_UNKNOWN),
                          "few file descriptors are left; " FILES_HINT);
    }
    /* The new connection may have been the one dropped. */
    if (c->state != CONN_CLOSED) conn_on_connected(c);
}

/* ---- Opening and closing */

static int resolve_address(struct listener *g, const char *host, uint16_t port)
{
    if (uv_ip4_addr(host, port, (struct sockaddr_in *)&g->address) == 0) return 0;
    if (uv_ip6_addr(host, port, (struct sockaddr_in6 *)&g->address) == 0) return 0;
    uv_getaddrinfo_t resolve;
    char service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_PASSIVE};
    text_format(service, sizeof service, "%u", port);
    int r = uv_getaddrinfo(g->net->loop, &resolve, NULL, host, service, &hints);
    if (r != 0) return r;
    assert(resolve.addrinfo->ai_addrlen <= sizeof g->address);
    memcpy(&g->address, resolve.addrinfo->ai_addr, resolve.addrinfo->ai_addrlen);
    uv_freeaddrinfo(resolve.addrinfo);
    return 0;
}

/* Sets g->port, for port 0 to the one the system chose. g->address gets it too, so that listening
 * again after a backoff uses the same port. */
static int read_bound_port(struct listener *g)
{
    int size = sizeof g->address;
    int r = uv_tcp_getsockname(&g->tcp, (struct sockaddr *)&g->address, &size);
    g->port =
        ntohs(g->address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&g->address)->sin6_port
                                               : ((struct sockaddr_in *)&g->address)->sin_port);
    return r;
}

/* listener_open. *port_taken: another port of this host may be free. */
static struct listener *open_listening_port(struct net *net, const char *host, uint16_t port,
                                            listener_accepted_fn *accepted, void *arg,
                                            bool *port_taken, struct glint_error *error)
{
    *port_taken = false;
    struct listener *g = mem_zalloc_or_fail(sizeof *g, error);
    if (g == NULL) return NULL;
    g->net = net;
    g->accepted = accepted;
    g->arg = arg;
    g->pending.env = net->env;
    g->unknown_max = PENDING_MAX;
    int r = uv_tcp_init(net->loop, &g->tcp);
    if (r == 0) r = uv_timer_init(net->loop, &g->accept_backoff);
    if (r == 0) r = uv_timer_init(net->loop, &g->plaintext_warning);
    assert(r == 0); /* cannot fail: no descriptor is created yet */
    g->tcp.data = g->accept_backoff.data = g->plaintext_warning.data = g;
    g->handles = 3;
    r = resolve_address(g, host, port);
    if (r == 0) r = listen_again(g);
    if (r == 0) r = read_bound_port(g);
    if (r == 0 && net->tls == NULL) {
        log_plaintext_warning(&g->plaintext_warning);
        uv_timer_start(&g->plaintext_warning, log_plaintext_warning, LISTENER_WARN_MS,
                       LISTENER_WARN_MS);
    }
    if (r == 0) return g;
    listener_close(g);
    *port_taken = r == UV_EADDRINUSE || r == UV_EACCES;
    if (r == UV_EMFILE || r == UV_ENFILE || r == UV_ENOMEM)
        error_set_system(error, GLINT_E_ADDRESS, r, "listen on", host);
    else
        error_set(error, GLINT_E_ADDRESS,
                  r == UV_EADDRINUSE
                      ? "another process uses this port: stop it, or choose another port"
                  : r == UV_EACCES ? "choose a port of 1024 or higher"
                                   : "listen on an address of this host",
                  "cannot listen on %s port %u: %s", host, port, uv_strerror(r));
    return NULL;
}

struct listener *listener_open(struct net *net, const char *host, uint16_t port,
                               listener_accepted_fn *accepted, void *arg, struct glint_error *error)
{
    bool port_taken;
    return open_listening_port(net, host, port, accepted, arg, &port_taken, error);
}

struct listener *listener_open_in_range(struct net *net, const char *host, struct port_range ports,
                                        listener_accepted_fn *accepted, void *arg,
                                        struct glint_error *error)
{
    struct listener *g = NULL;
    bool port_taken = true;
    for (uint32_t port = ports.first; port_taken && port <= ports.last; port++) {
        error->code = GLINT_OK;
        g = open_listening_port(net, host, (uint16_t)port, accepted, arg, &port_taken, error);
    }
    if (port_taken && ports.first < ports.last) {
        const struct glint_error last = *error;
        error->code = GLINT_OK;
        error_set(error, last.code,
                  "use a larger range: `ports` (of a driver: `driver_ports`) in cluster.toml",
                  "none of the ports %u to %u is free: %s", ports.first, ports.last, last.cause);
    }
    return g;
}

uint16_t listener_port(const struct listener *g)
{
    return g->port;
}

void listener_close(struct listener *g)
{
    if (g == NULL) return;
    assert(!g->closed);
    g->closed = true;
    /* conn_close removes the connection from its list. */
    for (unsigned class = 0; class < PENDING_CLASSES; class ++)
        while (total_pending_count(g, class) > 0)
            conn_close(g->pending.classes[class].list[0], false);
    uv_close((uv_handle_t *)&g->accept_backoff, on_listener_handle_closed);
    uv_close((uv_handle_t *)&g->plaintext_warning, on_listener_handle_closed);
    /* During a backoff g->tcp is already closing or closed. */
    if (!g->backing_off) uv_close((uv_handle_t *)&g->tcp, on_listener_handle_closed);
}

bool host_is_loopback(const char *host)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (strcasecmp(host, "localhost") == 0) return true;
    if (uv_ip4_addr(host, 0, &v4) == 0) return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return uv_ip6_addr(host, 0, &v6) == 0 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}
