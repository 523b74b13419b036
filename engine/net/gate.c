/* Accepting. What a new connection needs may be missing: memory, then it is taken into a handle of
 * the gate's own and closed at once; a descriptor, then libuv closes it with one that it keeps in
 * reserve, and where even that is gone, the gate closes its port and listens again a little later:
 * libuv would try again and again.
 *
 *   LISTENING -> RESTING [no descriptor]  RESTING -> LISTENING [timer]  any -> closed [gate_close]
 */
#include "engine/net/gate.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/net/conn_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#define BACKLOG     1024
#define FILES_SPARE 8u /* of the process, left for others */
#define TELL_MS     10000u
#define FILES_HINT  "raise the limit on open files (ulimit -n, or LimitNOFILE of the service)"

struct gate {
    struct net *net;
    uv_tcp_t tcp;      /* listens */
    uv_tcp_t turnaway; /* takes what there is no memory for */
    uv_timer_t rest;
    uv_timer_t warn;  /* each minute, of a port without TLS */
    unsigned handles; /* open ones */
    bool closed, resting, turning_away;
    bool another; /* came while one was turned away */
    struct sockaddr_storage address;
    uint16_t port;
    bool (*accepted)(void *arg, struct conn *c, struct glint_error *error);
    void *arg;
    struct pending pending;
    uint32_t silent_max; /* fewer than PENDING_MAX while descriptors are few */
    uint64_t told_ms;    /* when the log heard last of a lack; 0: never */
};

/* ---- Not open yet */

static uint32_t count_of(const struct gate *g, enum pending_class class)
{
    return g->pending.classes[class].count;
}

static bool any_pending(const struct gate *g)
{
    return count_of(g, PENDING_SILENT) + count_of(g, PENDING_KNOWN) > 0;
}

bool gate_admit(struct conn *c, struct glint_error *error)
{
    struct gate *g = c->gate;
    assert(g != NULL && c->state == CONN_OPEN);
    bool wanted = g->accepted(g->arg, c, error);
    assert(wanted == (error->code == GLINT_OK) && (!wanted || c->events != NULL));
    return wanted;
}

void gate_forget(struct conn *c)
{
    struct gate *g = c->gate;
    if (g == NULL) return;
    pending_remove(&g->pending, c);
    if (count_of(g, PENDING_SILENT) == 0) g->silent_max = PENDING_MAX;
    c->gate = NULL;
    if (c->why.code != GLINT_OK)
        log_line(LOG_WARN, NULL, "%s was not let in: %s",
                 c->address[0] != '\0' ? c->address : "a connection", c->why.cause);
}

static void drop(struct conn *c, const char *cause)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_CONNECTION, NULL, "%s", cause);
    conn_fail(c, &why);
}

/* One that just came to its class may be one too many. */
static void make_room(struct gate *g, enum pending_class class, uint32_t max)
{
    if (count_of(g, class) <= max) return;
    drop(pending_victim(&g->pending, class),
         "too many connections wait for their handshake, and its source had the most");
    assert(count_of(g, class) <= max);
}

void gate_know(struct conn *c)
{
    struct gate *g = c->gate;
    if (g == NULL || c->pending_class == PENDING_KNOWN) return;
    pending_know(&g->pending, c);
    make_room(g, PENDING_KNOWN, PENDING_MAX);
}

/* Descriptors that the work needs are not for those who have yet to show a key. */
static bool files_are_few(struct conn *c)
{
    struct rlimit limit;
    uv_os_fd_t file;
    if (uv_fileno((uv_handle_t *)&c->tcp, &file) != 0) return false;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    return (rlim_t)file + FILES_SPARE >= limit.rlim_cur;
}

/* ---- Listening */

static void on_handle_closed(uv_handle_t *handle)
{
    struct gate *g = handle->data;
    assert(g->handles > 0 && !any_pending(g));
    if (--g->handles == 0) mem_free(g);
}

static void on_connection(uv_stream_t *stream, int status);

static int listen_again(struct gate *g)
{
    int r = uv_tcp_bind(&g->tcp, (struct sockaddr *)&g->address, 0);
    return r != 0 ? r : uv_listen((uv_stream_t *)&g->tcp, BACKLOG, on_connection);
}

/* A lack that lasts is a line every ten seconds. */
static void tell_lack(struct gate *g, const char *what, int code)
{
    uint64_t now_ms = uv_now(g->net->loop);
    if (g->told_ms != 0 && now_ms - g->told_ms < TELL_MS) return;
    g->told_ms = now_ms;
    log_line(LOG_WARN, NULL, "cannot %s on port %u: %s; " FILES_HINT, what, g->port,
             uv_strerror(code));
}

/* A port that anybody may use is not to be forgotten. */
static void warn(uv_timer_t *timer)
{
    const struct gate *g = timer->data;
    log_line(LOG_WARN, NULL, "insecure_plaintext: whoever reaches port %u runs code as this user",
             g->port);
}

static void rest(struct gate *g);

static void on_rested(uv_timer_t *timer)
{
    struct gate *g = timer->data;
    int r = uv_tcp_init(g->net->loop, &g->tcp);
    assert(r == 0 && g->resting && !g->closed);
    g->tcp.data = g;
    g->handles++;
    g->resting = false;
    r = listen_again(g);
    if (r == 0) return;
    tell_lack(g, "listen again", r);
    rest(g);
}

static void on_port_closed(uv_handle_t *handle)
{
    struct gate *g = handle->data;
    if (g->closed) {
        on_handle_closed(handle);
        return;
    }
    g->handles--;
    uv_timer_start(&g->rest, on_rested, GATE_REST_MS, 0);
}

static void rest(struct gate *g)
{
    assert(!g->resting);
    g->resting = true;
    uv_close((uv_handle_t *)&g->tcp, on_port_closed);
}

static void on_turned_away(uv_handle_t *handle)
{
    struct gate *g = handle->data;
    bool another = g->another;
    g->turning_away = g->another = false;
    /* It still waits to be taken: libuv stands still until then. */
    if (another && !g->closed && !g->resting) on_connection((uv_stream_t *)&g->tcp, 0);
    on_handle_closed(handle);
}

static void turn_away(struct gate *g)
{
    g->another = g->turning_away;
    if (g->turning_away) return;
    int r = uv_tcp_init(g->net->loop, &g->turnaway);
    assert(r == 0);
    g->turnaway.data = g;
    g->turning_away = true;
    g->handles++;
    uv_accept((uv_stream_t *)&g->tcp, (uv_stream_t *)&g->turnaway); /* or its error: it is gone */
    uv_close((uv_handle_t *)&g->turnaway, on_turned_away);
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct gate *g = stream->data;
    struct glint_error error = {.code = GLINT_OK};
    if (status != 0) {
        tell_lack(g, "accept a connection", status);
        if (!g->resting) rest(g);
        return;
    }
    struct conn *c = conn_create(g->net, false, &error);
    if (c == NULL) {
        turn_away(g);
        return;
    }
    int r = uv_accept(stream, (uv_stream_t *)&c->tcp);
    if (r != 0) {
        conn_close(c, false);
        return;
    }
    conn_name_peer(c);
    c->gate = g;
    pending_add(&g->pending, c);
    make_room(g, PENDING_SILENT, g->silent_max);
    uint32_t silent = count_of(g, PENDING_SILENT);
    if (silent > 0 && c->state != CONN_CLOSED && files_are_few(c)) {
        if (silent > 1) g->silent_max = silent - 1;
        drop(pending_victim(&g->pending, PENDING_SILENT),
             "few file descriptors are left; " FILES_HINT);
    }
    if (c->state != CONN_CLOSED) conn_begin(c);
}

/* ---- Opening and closing */

static int find_address(struct gate *g, const char *host, uint16_t port)
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

/* Of any port, the one that it has become. */
static int note_port(struct gate *g)
{
    int size = sizeof g->address;
    int r = uv_tcp_getsockname(&g->tcp, (struct sockaddr *)&g->address, &size);
    g->port =
        ntohs(g->address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&g->address)->sin6_port
                                               : ((struct sockaddr_in *)&g->address)->sin_port);
    return r;
}

struct gate *gate_open(struct net *net, const char *host, uint16_t port,
                       bool (*accepted)(void *arg, struct conn *c, struct glint_error *error),
                       void *arg, struct glint_error *error)
{
    struct gate *g = mem_zalloc(sizeof *g);
    if (g == NULL) {
        error_no_memory(error);
        return NULL;
    }
    g->net = net;
    g->accepted = accepted;
    g->arg = arg;
    g->pending.env = net->env;
    g->silent_max = PENDING_MAX;
    int r = uv_tcp_init(net->loop, &g->tcp);
    if (r == 0) r = uv_timer_init(net->loop, &g->rest);
    if (r == 0) r = uv_timer_init(net->loop, &g->warn);
    assert(r == 0); /* none can fail: no descriptor is made yet */
    g->tcp.data = g->rest.data = g->warn.data = g;
    g->handles = 3;
    r = find_address(g, host, port);
    if (r == 0) r = listen_again(g);
    if (r == 0) r = note_port(g);
    if (r == 0 && net->tls == NULL) {
        warn(&g->warn);
        uv_timer_start(&g->warn, warn, GATE_WARN_MS, GATE_WARN_MS);
    }
    if (r == 0) return g;
    gate_close(g);
    if (r == UV_EMFILE || r == UV_ENFILE || r == UV_ENOMEM)
        error_set_system(error, GLINT_E_ADDRESS, r, "listen on", host);
    else
        error_set(error, GLINT_E_ADDRESS,
                  r == UV_EADDRINUSE
                      ? "another process listens there: end it, or choose another port"
                  : r == UV_EACCES ? "choose a port from 1024 on"
                                   : "listen on an address of this host",
                  "cannot listen on %s port %u: %s", host, port, uv_strerror(r));
    return NULL;
}

uint16_t gate_port(const struct gate *g)
{
    return g->port;
}

void gate_close(struct gate *g)
{
    if (g == NULL) return;
    assert(!g->closed);
    g->closed = true;
    for (unsigned class = 0; class < PENDING_CLASSES; class++)
        while (count_of(g, class) > 0) conn_close(g->pending.classes[class].list[0], false);
    uv_close((uv_handle_t *)&g->rest, on_handle_closed);
    uv_close((uv_handle_t *)&g->warn, on_handle_closed);
    if (!g->resting) uv_close((uv_handle_t *)&g->tcp, on_handle_closed);
}

bool host_is_loopback(const char *host)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (strcasecmp(host, "localhost") == 0) return true;
    if (uv_ip4_addr(host, 0, &v4) == 0) return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return uv_ip6_addr(host, 0, &v6) == 0 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}
