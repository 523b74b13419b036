/* Peers by executor number, an inbox for requests from any thread, and one timer, which runs only
 * while a peer has requests.
 *
 * A peer is dialled when it has a request and no connection. A connection that closes while
 * requests are left is redialled once, after a backoff; then they fail. A complete response allows
 * another redial. */
#include "engine/transfer/peers.h"

#include "engine/net/deadline.h"

#include <assert.h>
#include <pthread.h>

#define TICK_MS   50u
#define REDIAL_MS 200u /* less a jitter */
#define NS_PER_MS 1000000u

struct peer {
    struct fetch_client client; /* first: callbacks of the connection cast it back */
    struct peers *peers;
    struct executor_address address;
    struct conn *conn;      /* being dialled or open; NULL: none, or it is the driver */
    bool redialled;         /* since the last complete response */
    uint64_t redial_at_ns;  /* not dialled before */
    struct glint_error why; /* why this side closed the connection */
};

struct peers {
    struct net *net;
    uint64_t fetch_ms;
    struct peer **list; /* [capacity] by peer_index_of_executor; NULL: unknown */
    uint64_t capacity;
    uv_async_t request_added;
    uv_timer_t timer;
    uint32_t handles; /* libuv handles still open */
    bool ended;       /* loop thread only */
    struct glint_error why;
    void (*closed)(void *arg);
    void *closed_arg;
    pthread_mutex_t lock; /* guards the fields below */
    /* Requests in the order of submission. One without `done` is a cancel: it ends those of its
     * owner that were submitted before it. */
    struct fetch_request *first, *last;
    bool closing;
};

/* The driver is the first one. */
static uint32_t peer_index_of_executor(uint32_t executor)
{
    static_assert((uint32_t)(EXECUTOR_ID_DRIVER + 1) == 0, "the driver's index");
    return executor + 1;
}

static bool peer_is_driver(const struct peer *l)
{
    return l->address.executor == EXECUTOR_ID_DRIVER;
}

static uint64_t peers_clock_ns(const struct peers *p)
{
    return p->net->env->now_ns(p->net->env);
}

/* ---- Any thread */

/* Appends a list to the inbox. Called with the lock; not while closing. */
static void request_inbox_append(struct peers *p, struct fetch_request *first,
                                 struct fetch_request *last)
{
    if (p->first != NULL)
        p->last->next = first;
    else
        p->first = first;
    p->last = last;
    uv_async_send(&p->request_added);
}

static void peers_submit(void *arg, struct fetch_request *first)
{
    struct peers *p = arg;
    struct fetch_request *last = first;
    assert(first != NULL);
    for (struct fetch_request *r = first; r != NULL; r = r->next) {
        assert(r->done != NULL);
        r->error.code = GLINT_OK;
        last = r;
    }
    pthread_mutex_lock(&p->lock);
    /* Read under the lock: after peers_close a request in the inbox would never end. */
    bool closing = p->closing;
    if (!closing) request_inbox_append(p, first, last);
    pthread_mutex_unlock(&p->lock);
    for (struct fetch_request *r = first, *next; closing && r != NULL; r = next) {
        next = r->next;
        fetch_request_end(r, &p->why); /* constant once `closing` is set */
    }
}

/* When out of memory the cancel is dropped: the requests then end by response or timeout. */
static void peers_cancel(void *arg, uint64_t owner)
{
    struct peers *p = arg;
    pthread_mutex_lock(&p->lock);
    bool again = p->first != NULL && p->last->done == NULL && p->last->owner == owner;
    struct fetch_request *cancel = p->closing || again ? NULL : mem_zalloc(sizeof *cancel);
    if (cancel != NULL) {
        cancel->owner = owner;
        request_inbox_append(p, cancel, cancel);
    }
    pthread_mutex_unlock(&p->lock);
}

struct fetcher peers_as_fetcher(struct peers *p)
{
    return (struct fetcher){.submit = peers_submit, .arg = p, .cancel = peers_cancel};
}

/* ---- Connections */

/* After peers_close: frees everything once no handle and no connection is open. Calls `closed`
 * last: it may free what the peers used. */
static void free_closed_peers(struct peers *p)
{
    if (!p->ended || p->handles > 0) return;
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->list[i] != NULL && p->list[i]->conn != NULL) return;
    for (uint32_t i = 0; i < p->capacity; i++) mem_free(p->list[i]);
    mem_free(p->list);
    pthread_mutex_destroy(&p->lock);
    void (*closed)(void *arg) = p->closed;
    void *arg = p->closed_arg;
    mem_free(p);
    if (closed != NULL) closed(arg);
}

/* Fails all requests with an error that names the peer. */
static void fail_peer_requests(struct peer *l, const struct glint_error *why)
{
    struct glint_error error = {.code = GLINT_OK};
    if (peer_is_driver(l))
        error_set(&error, GLINT_E_CONNECTION, NULL, "driver: %s", why->cause);
    else
        error_set(&error, why->code == GLINT_E_NO_MEMORY ? why->code : GLINT_E_CONNECTION,
                  "see that executor's log", "%s (%s:%u): %s", l->address.node, l->address.host,
                  l->address.port, why->cause);
    l->redialled = false;
    fetch_client_fail(&l->client, &error);
}

static void on_peer_opened(void *arg, struct conn *c)
{
    struct peer *l = arg;
    /* A connection cut while it was idle is noticed by the missing TCP acknowledgement, within
     * connect_ms instead of fetch_ms. */
    conn_set_ack_timeout(c, l->peers->net->connect_ms);
    if (!l->peers->ended) fetch_client_on_opened(&l->client, c);
}

static void on_peer_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct peer *l = arg;
    struct peers *p = l->peers;
    assert(l->conn == c);
    l->conn = NULL;
    fetch_client_on_closed(&l->client);
    if (l->client.responded) l->redialled = false;
    if (p->ended) {
        fetch_client_fail(&l->client, &p->why);
        free_closed_peers(p);
        return;
    }
    /* Not if this side closed it (code OK; l->why says why), nor if another process, or another
     * version, listens at that address now. */
    bool may_redial = why->code != GLINT_OK && why->code != GLINT_E_PEER_MISMATCH;
    if (l->client.waiting == 0 || l->redialled || !may_redial) {
        fail_peer_requests(l, why->code != GLINT_OK ? why : &l->why);
        return;
    }
    l->redialled = true;
    l->redial_at_ns = peers_clock_ns(p) + backoff_with_jitter(p->net->env, REDIAL_MS * NS_PER_MS);
}

static const struct conn_events peer_events = {.opened = on_peer_opened,
                                               .frame = fetch_client_on_frame,
                                               .buffer_for = fetch_client_buffer_for,
                                               .data = fetch_client_on_data,
                                               .closed = on_peer_closed};

static void peer_connect(struct peer *l)
{
    static_assert(offsetof(struct peer, client) == 0, "the argument of the client's callbacks");
    struct glint_error error = {.code = GLINT_OK};
    assert(!peer_is_driver(l) && l->conn == NULL && !l->peers->ended);
    l->client.responded = false;
    const struct conn_target to = {l->address.host, l->address.port, CHANNEL_DATA,
                                   l->address.incarnation};
    l->conn = conn_dial(l->peers->net, &to, &peer_events, l, &error);
    if (l->conn == NULL) fail_peer_requests(l, &error);
}

/* Sends what waits, and dials if necessary. */
static void peer_send(struct peer *l)
{
    bool dial = !peer_is_driver(l) && l->conn == NULL && l->client.waiting > 0;
    if (dial && peers_clock_ns(l->peers) >= l->redial_at_ns) peer_connect(l);
    fetch_client_send(&l->client);
}

/* Redials, and ends requests without progress. Returns false if the timer is not needed. */
static bool peer_on_timer(struct peer *l, uint64_t now)
{
    if (fetch_client_deadline_ns(&l->client) == UINT64_MAX) return false;
    peer_send(l);
    /* Dialling has its own deadline, net->connect_ms. */
    bool waits = l->client.conn != NULL || peer_is_driver(l);
    if (!waits || now < fetch_client_deadline_ns(&l->client)) return true;
    l->why.code = GLINT_OK;
    error_set(&l->why, GLINT_E_CONNECTION, NULL, "no data for %llu ms",
              (unsigned long long)l->peers->fetch_ms);
    if (peer_is_driver(l))
        fail_peer_requests(l, &l->why);
    else
        conn_close(l->conn, false); /* on_peer_closed does the rest */
    return true;
}

/* ---- Peers */

/* NULL: unknown executor. */
static struct peer *find_peer(const struct peers *p, uint32_t executor)
{
    uint32_t i = peer_index_of_executor(executor);
    return i < p->capacity ? p->list[i] : NULL;
}

static bool reserve_peers(struct peers *p, uint64_t count)
{
    uint64_t old = p->capacity;
    if (!array_reserve(&p->list, &p->capacity, count, sizeof *p->list)) return false;
    for (uint64_t i = old; i < p->capacity; i++) p->list[i] = NULL;
    return true;
}

/* Returns NULL when out of memory. */
static struct peer *add_peer(struct peers *p, const struct executor_address *address)
{
    uint32_t index = peer_index_of_executor(address->executor);
    if (!reserve_peers(p, index + UINT64_C(1))) return NULL;
    struct peer *l = mem_zalloc(sizeof *l);
    if (l == NULL) return NULL;
    fetch_client_init(&l->client, p->net->env, p->fetch_ms);
    l->peers = p;
    l->address = *address;
    p->list[index] = l;
    return l;
}

int peers_add_executor(struct peers *p, const struct executor_address *peer, bool ahead)
{
    if (peer->executor >= EXECUTORS_MAX) return GLINT_E_NO_MEMORY;
    if (find_peer(p, peer->executor) != NULL) return 0;
    struct peer *l = add_peer(p, peer);
    if (l == NULL) return GLINT_E_NO_MEMORY;
    if (ahead) peer_connect(l);
    return 0;
}

struct fetch_client *peers_driver_client(struct peers *p)
{
    return &find_peer(p, EXECUTOR_ID_DRIVER)->client;
}

void peers_set_driver_conn(struct peers *p, struct conn *conn)
{
    struct peer *l = find_peer(p, EXECUTOR_ID_DRIVER);
    struct glint_error why = {.code = GLINT_OK};
    if (conn != NULL) {
        fetch_client_on_opened(&l->client, conn);
        return;
    }
    fetch_client_on_closed(&l->client);
    error_set(&why, GLINT_E_CONNECTION, NULL, "the connection is closed");
    fail_peer_requests(l, &why);
}

/* ---- Loop thread */

static void on_peers_handle_closed(uv_handle_t *handle)
{
    struct peers *p = handle->data;
    assert(p->handles > 0);
    p->handles--;
    free_closed_peers(p);
}

static void on_peers_timer(uv_timer_t *timer)
{
    struct peers *p = timer->data;
    bool busy = false;
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->list[i] != NULL && peer_on_timer(p->list[i], peers_clock_ns(p))) busy = true;
    if (!busy) uv_timer_stop(timer);
}

/* Ends a request, or frees a cancel, that is not passed to a peer. */
static void end_or_free_request(struct fetch_request *r, const struct glint_error *why)
{
    if (r->done != NULL)
        fetch_request_end(r, why);
    else
        mem_free(r);
}

static void submit_inbox_request(struct peers *p, struct fetch_request *r)
{
    struct glint_error why = {.code = GLINT_OK};
    struct peer *l = find_peer(p, r->executor);
    for (uint32_t i = 0; r->done == NULL && i < p->capacity; i++)
        if (p->list[i] != NULL) fetch_client_cancel(&p->list[i]->client, r->owner);
    if (r->done != NULL && l != NULL) {
        fetch_client_add(&l->client, r);
        return;
    }
    error_set(&why, GLINT_E_CONNECTION, NULL, "unknown executor %u", r->executor);
    end_or_free_request(r, &why);
}

static struct fetch_request *take_request_inbox(struct peers *p)
{
    struct fetch_request *first = p->first;
    p->first = p->last = NULL;
    return first;
}

static void on_inbox_wakeup(uv_async_t *async)
{
    struct peers *p = async->data;
    if (p->ended) return;
    pthread_mutex_lock(&p->lock);
    struct fetch_request *first = take_request_inbox(p);
    pthread_mutex_unlock(&p->lock);
    if (first == NULL) return;
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        submit_inbox_request(p, r);
    }
    /* After all: what is cancelled at once is not sent. */
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->list[i] != NULL) peer_send(p->list[i]);
    /* The timer stops itself when no peer needs it (on_peers_timer). */
    if (!uv_is_active((uv_handle_t *)&p->timer))
        uv_timer_start(&p->timer, on_peers_timer, TICK_MS, TICK_MS);
}

struct peers *peers_create(struct net *net, uint64_t fetch_ms, struct glint_error *error)
{
    const struct executor_address driver = {.executor = EXECUTOR_ID_DRIVER};
    struct peers *p = mem_zalloc(sizeof *p);
    if (p == NULL) {
        error_no_memory(error);
        return NULL;
    }
    p->net = net;
    p->fetch_ms = fetch_ms;
    if (add_peer(p, &driver) == NULL) {
        mem_free(p->list);
        mem_free(p);
        error_no_memory(error);
        return NULL;
    }
    int r = uv_async_init(net->loop, &p->request_added, on_inbox_wakeup);
    assert(r == 0); /* event_loop_init opened its descriptors */
    uv_timer_init(net->loop, &p->timer);
    p->request_added.data = p->timer.data = p;
    p->handles = 2;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void peers_close(struct peers *p, const struct glint_error *why, void (*closed)(void *arg),
                 void *arg)
{
    assert(!p->ended && why->code != GLINT_OK && peers_driver_client(p)->conn == NULL);
    p->why = *why;
    p->closed = closed;
    p->closed_arg = arg;
    pthread_mutex_lock(&p->lock);
    struct fetch_request *first = take_request_inbox(p);
    /* From here on submit and cancel do not touch the inbox or the async handle. */
    p->closing = true;
    pthread_mutex_unlock(&p->lock);
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        end_or_free_request(r, why);
    }
    p->ended = true;
    for (uint32_t i = 0; i < p->capacity; i++) {
        struct peer *l = p->list[i];
        if (l == NULL) continue;
        fetch_client_fail(&l->client, why);
        if (l->conn != NULL) conn_close(l->conn, false); /* on_peer_closed ends those arriving */
    }
    uv_close((uv_handle_t *)&p->request_added, on_peers_handle_closed);
    uv_close((uv_handle_t *)&p->timer, on_peers_handle_closed);
}
