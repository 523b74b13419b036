/* Peers by executor number, an inbox for requests from any thread, and one timer, which runs only
 * while a peer has requests. */
#include "engine/executor/peers.h"

#include "engine/executor/peer_conn.h"

#include <assert.h>
#include <pthread.h>

#define TICK_MS 50u

struct peers {
    struct net *net;
    uint64_t fetch_ms;
    struct peer_conn **conns; /* [capacity] by executor number; NULL: unknown */
    uint32_t capacity;
    struct peer_conn *driver; /* created on first use */
    uv_async_t request_added;
    uv_timer_t timer;
    uint32_t handles; /* libuv handles still open */
    bool ended;       /* loop thread only */
    struct glint_error why;
    void (*closed)(void *arg);
    void *closed_arg;
    pthread_mutex_t lock; /* guards the fields below */
    struct fetch_request *first, *last;
    uint64_t *cancels; /* owners to cancel, of requests sent earlier */
    uint32_t cancel_count, cancel_capacity;
    bool closing;
};

static char cancelled_mark; /* request.peer: cancelled before the loop has seen it */

/* ---- Any thread */

static void peers_submit(void *arg, struct fetch_request *first)
{
    struct peers *p = arg;
    struct fetch_request *last = first;
    assert(first != NULL);
    for (struct fetch_request *r = first; r != NULL; r = r->next) {
        r->peer = NULL;
        r->error.code = GLINT_OK;
        last = r;
    }
    pthread_mutex_lock(&p->lock);
    /* Read under the lock: after peers_close a request in the inbox would never end. */
    bool closing = p->closing;
    if (!closing) {
        if (p->last != NULL)
            p->last->next = first;
        else
            p->first = first;
        p->last = last;
        uv_async_send(&p->request_added);
    }
    pthread_mutex_unlock(&p->lock);
    for (struct fetch_request *r = first, *next; closing && r != NULL; r = next) {
        next = r->next;
        fetch_request_end(r, &p->why); /* constant once `closing` is set */
    }
}

static bool has_cancel(const struct peers *p, uint64_t owner)
{
    for (uint32_t i = 0; i < p->cancel_count; i++)
        if (p->cancels[i] == owner) return true;
    return false;
}

/* When out of memory the cancel is dropped: the requests then end by response or timeout. */
static void add_cancel(struct peers *p, uint64_t owner)
{
    if (p->cancel_count == p->cancel_capacity) {
        uint32_t capacity = p->cancel_capacity * 2 + 16;
        uint64_t *grown =
            mem_grow(p->cancels, p->cancel_capacity * sizeof *grown, capacity * sizeof *grown);
        if (grown == NULL) return;
        p->cancels = grown;
        p->cancel_capacity = capacity;
    }
    p->cancels[p->cancel_count++] = owner;
}

/* Requests still in the inbox are marked; those that the loop already has are cancelled by
 * on_request_added. Requests that `owner` submits later are not affected. */
static void peers_cancel(void *arg, uint64_t owner)
{
    struct peers *p = arg;
    pthread_mutex_lock(&p->lock);
    for (struct fetch_request *r = p->first; r != NULL; r = r->next)
        if (r->owner == owner) r->peer = &cancelled_mark;
    if (!p->closing && !has_cancel(p, owner)) add_cancel(p, owner);
    /* Under the lock: after `closing` the handle may be closed. */
    if (!p->closing) uv_async_send(&p->request_added);
    pthread_mutex_unlock(&p->lock);
}

struct fetcher peers_as_fetcher(struct peers *p)
{
    return (struct fetcher){.submit = peers_submit, .arg = p, .cancel = peers_cancel};
}

/* ---- Peers */

/* NULL: unknown executor. */
static struct peer_conn *find_peer_conn(struct peers *p, uint32_t executor)
{
    if (executor == EXECUTOR_ID_DRIVER) return p->driver;
    return executor < p->capacity ? p->conns[executor] : NULL;
}

static bool reserve_peers(struct peers *p, uint32_t executor)
{
    if (executor < p->capacity) return true;
    uint32_t capacity = p->capacity * 2 > executor + 8 ? p->capacity * 2 : executor + 8;
    struct peer_conn **conns = mem_zalloc(capacity * sizeof(struct peer_conn *));
    if (conns == NULL) return false;
    for (uint32_t i = 0; i < p->capacity; i++) conns[i] = p->conns[i];
    mem_free(p->conns);
    p->conns = conns;
    p->capacity = capacity;
    return true;
}

/* Frees first and calls `closed` last: the callback may free what the peers used. */
static void peers_free(struct peers *p)
{
    for (uint32_t i = 0; i < p->capacity; i++) mem_free(p->conns[i]);
    mem_free(p->conns);
    mem_free(p->driver);
    mem_free(p->cancels);
    pthread_mutex_destroy(&p->lock);
    void (*closed)(void *arg) = p->closed;
    void *arg = p->closed_arg;
    mem_free(p);
    if (closed != NULL) closed(arg);
}

/* After peers_close: frees everything once no handle is open and no connection uses a peer. */
static void free_if_idle(void *arg)
{
    struct peers *p = arg;
    if (!p->ended || p->handles > 0) return;
    if (p->driver != NULL && !peer_conn_is_idle(p->driver)) return;
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->conns[i] != NULL && !peer_conn_is_idle(p->conns[i])) return;
    peers_free(p);
}

/* Returns NULL when out of memory. */
static struct peer_conn *add_peer_conn(struct peers *p, const struct executor_address *address,
                                       bool external)
{
    bool driver = address->executor == EXECUTOR_ID_DRIVER;
    assert(driver || address->executor < EXECUTORS_MAX);
    if (!driver && !reserve_peers(p, address->executor)) return NULL;
    struct peer_conn *l = mem_alloc(sizeof *l);
    if (l == NULL) return NULL;
    peer_conn_init(l, p->net, p->fetch_ms, address, external);
    l->on_idle = free_if_idle;
    l->on_idle_arg = p;
    if (driver)
        p->driver = l;
    else
        p->conns[address->executor] = l;
    return l;
}

int peers_add_executor(struct peers *p, const struct executor_address *peer, bool ahead)
{
    if (peer->executor >= EXECUTORS_MAX) return GLINT_E_NO_MEMORY;
    if (find_peer_conn(p, peer->executor) != NULL) return 0;
    struct peer_conn *l = add_peer_conn(p, peer, false);
    if (l == NULL) return GLINT_E_NO_MEMORY;
    if (ahead) peer_conn_connect(l);
    return 0;
}

int peers_add_open_conn(struct peers *p, uint32_t executor, struct conn *c)
{
    struct executor_address address = {.executor = executor};
    assert(executor == EXECUTOR_ID_DRIVER || executor < EXECUTORS_MAX);
    struct peer_conn *l = find_peer_conn(p, executor);
    if (l == NULL) l = add_peer_conn(p, &address, true);
    if (l == NULL) return GLINT_E_NO_MEMORY;
    assert(l->external && l->conn == NULL && conn_is_open(c));
    l->conn = c;
    peer_conn_on_opened(l);
    return 0;
}

/* The peer that uses an external connection; NULL: none. */
static struct peer_conn *find_external_conn(struct peers *p, const struct conn *c)
{
    if (p->driver != NULL && p->driver->conn == c) return p->driver;
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->conns[i] != NULL && p->conns[i]->external && p->conns[i]->conn == c)
            return p->conns[i];
    return NULL;
}

/* ---- Loop thread */

static void on_handle_closed(uv_handle_t *handle)
{
    struct peers *p = handle->data;
    assert(p->handles > 0);
    p->handles--;
    if (p->handles == 0) free_if_idle(p);
}

static void on_timer(uv_timer_t *timer)
{
    struct peers *p = timer->data;
    bool busy = p->driver != NULL && peer_conn_on_timer(p->driver);
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->conns[i] != NULL && peer_conn_on_timer(p->conns[i])) busy = true;
    if (!busy) uv_timer_stop(timer);
}

static void dispatch_request(struct peers *p, struct fetch_request *r)
{
    struct glint_error why = {.code = GLINT_OK};
    struct executor_address driver = {.executor = EXECUTOR_ID_DRIVER};
    struct peer_conn *l = find_peer_conn(p, r->executor);
    if (r->peer == &cancelled_mark) {
        error_set(&why, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
        fetch_request_end(r, &why);
        return;
    }
    /* The driver's data connection may not be open yet: let the request wait for it. */
    if (l == NULL && r->executor == EXECUTOR_ID_DRIVER) {
        l = add_peer_conn(p, &driver, true);
        if (l == NULL) error_no_memory(&why);
    }
    if (l == NULL) {
        error_set(&why, GLINT_E_CONNECTION, NULL, "unknown executor %u", r->executor);
        fetch_request_end(r, &why);
        return;
    }
    peer_conn_add_request(l, r);
    peer_conn_send_waiting(l);
}

/* Cancels come first: they apply to requests dispatched earlier, not to those in the inbox now. */
static void on_request_added(uv_async_t *async)
{
    struct peers *p = async->data;
    uint64_t *cancels;
    if (p->ended) return;
    pthread_mutex_lock(&p->lock);
    struct fetch_request *first = p->first;
    uint32_t cancel_count = p->cancel_count;
    cancels = p->cancels;
    p->first = p->last = NULL;
    p->cancels = NULL;
    p->cancel_count = p->cancel_capacity = 0;
    pthread_mutex_unlock(&p->lock);
    for (uint32_t k = 0; k < cancel_count; k++) {
        if (p->driver != NULL) peer_conn_cancel(p->driver, cancels[k]);
        for (uint32_t i = 0; i < p->capacity; i++)
            if (p->conns[i] != NULL) peer_conn_cancel(p->conns[i], cancels[k]);
    }
    mem_free(cancels);
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        dispatch_request(p, r);
    }
    /* The timer stops itself when no peer needs it (on_timer). */
    if (first != NULL && !uv_is_active((uv_handle_t *)&p->timer))
        uv_timer_start(&p->timer, on_timer, TICK_MS, TICK_MS);
}

struct peers *peers_create(struct net *net, uint64_t fetch_ms, struct glint_error *error)
{
    struct peers *p = mem_zalloc(sizeof *p);
    if (p == NULL) {
        error_no_memory(error);
        return NULL;
    }
    p->net = net;
    p->fetch_ms = fetch_ms;
    int r = uv_async_init(net->loop, &p->request_added, on_request_added);
    if (r != 0) {
        error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                  "cannot create a wakeup of the event loop: %s", uv_strerror(r));
        mem_free(p);
        return NULL;
    }
    uv_timer_init(net->loop, &p->timer);
    p->request_added.data = p->timer.data = p;
    p->handles = 2;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

int peers_on_frame(struct peers *p, struct conn *c, const struct frame *f,
                   struct glint_slice payload, struct glint_error *error)
{
    struct peer_conn *l = find_external_conn(p, c);
    if (l == NULL) return 0;
    return peer_conn_on_frame(l, f, payload, error);
}

uint8_t *peers_buffer_for(struct peers *p, struct conn *c, const struct frame *f)
{
    struct peer_conn *l = find_external_conn(p, c);
    return l != NULL ? peer_conn_buffer_for(l, f) : NULL;
}

void peers_on_data(struct peers *p, struct conn *c, const struct frame *f)
{
    struct peer_conn *l = find_external_conn(p, c);
    if (l != NULL) peer_conn_on_data(l, f);
    free_if_idle(p);
}

void peers_on_conn_closed(struct peers *p, struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    struct peer_conn *l = find_external_conn(p, c);
    error_set(&why, GLINT_E_CONNECTION, NULL, "the connection is closed");
    if (l != NULL) peer_conn_on_closed(l, &why);
    free_if_idle(p);
}

void peers_close(struct peers *p, const struct glint_error *why, void (*closed)(void *arg),
                 void *arg)
{
    assert(!p->ended && why->code != GLINT_OK);
    p->why = *why;
    p->closed = closed;
    p->closed_arg = arg;
    pthread_mutex_lock(&p->lock);
    struct fetch_request *first = p->first;
    p->first = p->last = NULL;
    /* From here on submit and cancel do not touch the inbox or the async handle. */
    p->closing = true;
    pthread_mutex_unlock(&p->lock);
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        fetch_request_end(r, why);
    }
    p->ended = true;
    if (p->driver != NULL) peer_conn_shutdown(p->driver, why);
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->conns[i] != NULL) peer_conn_shutdown(p->conns[i], why);
    uv_close((uv_handle_t *)&p->request_added, on_handle_closed);
    uv_close((uv_handle_t *)&p->timer, on_handle_closed);
}
