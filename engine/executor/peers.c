/* Links by number, an inbox that any thread puts requests into, and one timer, which runs only
 * while something is waited for. */
#include "engine/executor/peers.h"

#include "engine/executor/peer_link.h"

#include <assert.h>
#include <pthread.h>

#define TICK_MS 50u

struct peers {
    struct net *net;
    uint64_t fetch_ms;
    struct peer_link **links; /* [capacity] by number, NULL: not known */
    uint32_t capacity;
    struct peer_link *driver; /* NULL until somebody wants it */
    uv_async_t arrived;
    uv_timer_t timer;
    uint32_t handles; /* open */
    bool ended;       /* loop's thread */
    struct glint_error why;
    void (*closed)(void *arg);
    void *closed_arg;
    pthread_mutex_t lock; /* guards what follows */
    struct fetch_request *first, *last;
    uint64_t *cancels; /* owners whose requests of before are to end */
    uint32_t cancel_count, cancel_capacity;
    bool refuses;
};

static char cancelled_mark; /* request.peer of what was cancelled before the loop saw it */

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
    bool refuses = p->refuses;
    if (!refuses) {
        if (p->last != NULL)
            p->last->next = first;
        else
            p->first = first;
        p->last = last;
        uv_async_send(&p->arrived);
    }
    pthread_mutex_unlock(&p->lock);
    for (struct fetch_request *r = first, *next; refuses && r != NULL; r = next) {
        next = r->next;
        request_end(r, &p->why); /* constant since `refuses` */
    }
}

static bool has_cancel(const struct peers *p, uint64_t owner)
{
    for (uint32_t i = 0; i < p->cancel_count; i++)
        if (p->cancels[i] == owner) return true;
    return false;
}

/* Where there is no memory to note it, requests end when their peers do. */
static void note_cancel(struct peers *p, uint64_t owner)
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

static void peers_cancel(void *arg, uint64_t owner)
{
    struct peers *p = arg;
    pthread_mutex_lock(&p->lock);
    for (struct fetch_request *r = p->first; r != NULL; r = r->next)
        if (r->owner == owner) r->peer = &cancelled_mark;
    if (!p->refuses && !has_cancel(p, owner)) note_cancel(p, owner);
    if (!p->refuses) uv_async_send(&p->arrived);
    pthread_mutex_unlock(&p->lock);
}

struct fetcher peers_fetcher(struct peers *p)
{
    return (struct fetcher){.submit = peers_submit, .arg = p, .cancel = peers_cancel};
}

/* ---- Links */

static struct peer_link *link_at(struct peers *p, uint32_t executor)
{
    if (executor == TRACK_DRIVER) return p->driver;
    return executor < p->capacity ? p->links[executor] : NULL;
}

static bool reserve(struct peers *p, uint32_t executor)
{
    if (executor < p->capacity) return true;
    uint32_t capacity = p->capacity * 2 > executor + 8 ? p->capacity * 2 : executor + 8;
    struct peer_link **links = mem_zalloc(capacity * sizeof(struct peer_link *));
    if (links == NULL) return false;
    for (uint32_t i = 0; i < p->capacity; i++) links[i] = p->links[i];
    mem_free(p->links);
    p->links = links;
    p->capacity = capacity;
    return true;
}

static void free_all(struct peers *p)
{
    for (uint32_t i = 0; i < p->capacity; i++) mem_free(p->links[i]);
    mem_free(p->links);
    mem_free(p->driver);
    mem_free(p->cancels);
    pthread_mutex_destroy(&p->lock);
    void (*closed)(void *arg) = p->closed;
    void *arg = p->closed_arg;
    mem_free(p);
    if (closed != NULL) closed(arg);
}

/* After peers_close: is it over? */
static void end_if_quiet(void *arg)
{
    struct peers *p = arg;
    if (!p->ended || p->handles > 0) return;
    if (p->driver != NULL && !link_is_quiet(p->driver)) return;
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->links[i] != NULL && !link_is_quiet(p->links[i])) return;
    free_all(p);
}

/* NULL without memory. */
static struct peer_link *add_link(struct peers *p, const struct peer *where, bool external)
{
    bool driver = where->executor == TRACK_DRIVER;
    assert(driver || where->executor < EXECUTORS_MAX);
    if (!driver && !reserve(p, where->executor)) return NULL;
    struct peer_link *l = mem_alloc(sizeof *l);
    if (l == NULL) return NULL;
    link_init(l, p->net, p->fetch_ms, where, external);
    l->quiet = end_if_quiet;
    l->quiet_arg = p;
    if (driver)
        p->driver = l;
    else
        p->links[where->executor] = l;
    return l;
}

int peers_add(struct peers *p, const struct peer *peer, bool ahead)
{
    if (peer->executor >= EXECUTORS_MAX) return GLINT_E_NO_MEMORY;
    if (link_at(p, peer->executor) != NULL) return 0;
    struct peer_link *l = add_link(p, peer, false);
    if (l == NULL) return GLINT_E_NO_MEMORY;
    if (ahead) link_connect(l);
    return 0;
}

int peers_add_conn(struct peers *p, uint32_t executor, struct conn *c)
{
    struct peer where = {.executor = executor};
    assert(executor == TRACK_DRIVER || executor < EXECUTORS_MAX);
    struct peer_link *l = link_at(p, executor);
    if (l == NULL) l = add_link(p, &where, true);
    if (l == NULL) return GLINT_E_NO_MEMORY;
    assert(l->external && l->conn == NULL && conn_is_open(c));
    l->conn = c;
    link_on_opened(l);
    return 0;
}

/* The link that a connection of somebody else's serves. */
static struct peer_link *external_link(struct peers *p, const struct conn *c)
{
    if (p->driver != NULL && p->driver->conn == c) return p->driver;
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->links[i] != NULL && p->links[i]->external && p->links[i]->conn == c)
            return p->links[i];
    return NULL;
}

/* ---- The loop's thread */

static void on_handle_closed(uv_handle_t *handle)
{
    struct peers *p = handle->data;
    assert(p->handles > 0);
    p->handles--;
    if (p->handles == 0) end_if_quiet(p);
}

static void on_timer(uv_timer_t *timer)
{
    struct peers *p = timer->data;
    bool busy = p->driver != NULL && link_tick(p->driver);
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->links[i] != NULL && link_tick(p->links[i])) busy = true;
    if (!busy) uv_timer_stop(timer);
}

static void place(struct peers *p, struct fetch_request *r)
{
    struct glint_error why = {.code = GLINT_OK};
    struct peer driver = {.executor = TRACK_DRIVER};
    struct peer_link *l = link_at(p, r->executor);
    if (r->peer == &cancelled_mark) {
        error_set(&why, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
        request_end(r, &why);
        return;
    }
    if (l == NULL && r->executor == TRACK_DRIVER) {
        l = add_link(p, &driver, true);
        if (l == NULL) error_no_memory(&why);
    }
    if (l == NULL) {
        error_set(&why, GLINT_E_CONNECTION, NULL, "executor %u is not known here", r->executor);
        request_end(r, &why);
        return;
    }
    link_add(l, r);
    link_pump(l);
}

static void on_arrived(uv_async_t *async)
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
        if (p->driver != NULL) link_cancel(p->driver, cancels[k]);
        for (uint32_t i = 0; i < p->capacity; i++)
            if (p->links[i] != NULL) link_cancel(p->links[i], cancels[k]);
    }
    mem_free(cancels);
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        place(p, r);
    }
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
    int r = uv_async_init(net->loop, &p->arrived, on_arrived);
    if (r != 0) {
        error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                  "cannot wake the event loop: %s", uv_strerror(r));
        mem_free(p);
        return NULL;
    }
    uv_timer_init(net->loop, &p->timer);
    p->arrived.data = p->timer.data = p;
    p->handles = 2;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

int peers_on_frame(struct peers *p, struct conn *c, const struct frame *f,
                   struct glint_slice payload, struct glint_error *error)
{
    struct peer_link *l = external_link(p, c);
    if (l == NULL) return 0;
    return link_on_frame(l, f, payload, error);
}

uint8_t *peers_into(struct peers *p, struct conn *c, const struct frame *f)
{
    struct peer_link *l = external_link(p, c);
    return l != NULL ? link_into(l, f) : NULL;
}

void peers_on_data(struct peers *p, struct conn *c, const struct frame *f)
{
    struct peer_link *l = external_link(p, c);
    if (l != NULL) link_on_data(l, f);
    end_if_quiet(p);
}

void peers_on_closed(struct peers *p, struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    struct peer_link *l = external_link(p, c);
    error_set(&why, GLINT_E_CONNECTION, NULL, "the connection ended");
    if (l != NULL) link_on_closed(l, &why);
    end_if_quiet(p);
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
    p->refuses = true;
    pthread_mutex_unlock(&p->lock);
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        request_end(r, why);
    }
    p->ended = true;
    if (p->driver != NULL) link_end(p->driver, why);
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->links[i] != NULL) link_end(p->links[i], why);
    uv_close((uv_handle_t *)&p->arrived, on_handle_closed);
    uv_close((uv_handle_t *)&p->timer, on_handle_closed);
}
