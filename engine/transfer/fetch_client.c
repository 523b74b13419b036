/* Requests in flight are in a table, and the request id contains the index: a response is found
 * without a search, and a late response to a request that has ended does not match the id in its
 * slot. */
#include "engine/transfer/fetch_client.h"

#include "engine/net/deadline.h"

#include <assert.h>
#include <pthread.h>

static_assert((FETCH_CLIENT_REQUESTS_MAX & (FETCH_CLIENT_REQUESTS_MAX - 1)) == 0,
              "a request id contains its index");
static_assert(FETCH_CHUNK_BYTES_MAX <= FETCH_CLIENT_WINDOW_BYTES, "a chunk fits the window");

/* Calls the request's `done`; `why` NULL: the bytes have arrived. */
static void fetch_request_end(struct fetch_request *r, const struct glint_error *why)
{
    if (why != NULL) {
        r->error = *why;
        buffer_fini(&r->response);
    }
    r->done(r); /* `done` may free or reuse it */
}

void fetch_client_init(struct fetch_client *c, struct env *env, uint64_t timeout_ms)
{
    *c = (struct fetch_client){.env = env, .timeout_ms = timeout_ms};
}

static void record_fetch_progress(struct fetch_client *c)
{
    c->progress_ns = c->env->now_ns(c->env);
}

static bool has_pending_requests(const struct fetch_client *c)
{
    return c->waiting > 0 || c->in_flight_count > 0;
}

uint64_t fetch_client_deadline_ns(const struct fetch_client *c)
{
    return has_pending_requests(c) ? c->progress_ns + c->timeout_ms * MS_NS : UINT64_MAX;
}

/* ---- Waiting requests */

static void request_lane_push(struct fetch_client *c, struct fetch_request *r, bool front)
{
    struct lane *lane = &c->lanes[r->owner % FETCH_CLIENT_LANES];
    r->next = front ? lane->first : NULL;
    if (lane->first == NULL || front)
        lane->first = r;
    else
        lane->last->next = r;
    if (r->next == NULL) lane->last = r;
    c->waiting++;
}

static struct fetch_request *request_lane_pop(struct fetch_client *c, struct lane *lane)
{
    struct fetch_request *r = lane->first;
    assert(r != NULL && c->waiting > 0);
    lane->first = r->next;
    if (lane->first == NULL) lane->last = NULL;
    r->next = NULL;
    c->waiting--;
    return r;
}

/* The next non-empty lane, round-robin, so that a task with many requests does not delay others. */
static struct lane *next_waiting_lane(struct fetch_client *c)
{
    assert(c->waiting > 0);
    while (c->lanes[c->next_lane].first == NULL)
        c->next_lane = (c->next_lane + 1) % FETCH_CLIENT_LANES;
    return &c->lanes[c->next_lane];
}

/* Queues a request, to be sent by the next fetch_client_send. */
static void fetch_client_add(struct fetch_client *c, struct fetch_request *r)
{
    /* There was no progress because nothing was requested: restart the timeout. */
    if (!has_pending_requests(c)) record_fetch_progress(c);
    request_lane_push(c, r, false);
}

/* ---- Requests in flight */

static struct in_flight *find_in_flight(struct fetch_client *c, uint64_t id)
{
    struct in_flight *f = &c->in_flight_requests[id % FETCH_CLIENT_REQUESTS_MAX];
    return id != 0 && f->id == id && !f->arriving ? f : NULL;
}

/* Frees the slot and its share of the window, and returns the request. */
static struct fetch_request *release_in_flight_request(struct fetch_client *c, struct in_flight *f)
{
    struct fetch_request *r = f->request;
    assert(c->in_flight_count > 0 && c->in_flight_bytes >= f->bytes);
    c->in_flight_count--;
    c->in_flight_bytes -= f->bytes;
    *f = (struct in_flight){.id = 0};
    return r;
}

/* The most a response can contain. Exactly this size, except for an INDEX and for a compressed
 * broadcast block, which are smaller. */
static uint64_t response_bytes_max(const struct get_request *g)
{
    if (g->kind != GET_INDEX) return g->size;
    return INDEX_HEAD_BYTES_MAX + (uint64_t)g->map_count * INDEX_ENTRY_BYTES_MAX + g->size;
}

static void send_get_frame(struct fetch_client *c, struct fetch_request *r)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    if (get_request_encode(&r->get, &payload, &error) != 0) {
        buffer_fini(&payload);
        fetch_request_end(r, &error);
        return;
    }
    uint32_t index = 0;
    while (c->in_flight_requests[index].id != 0) index++;
    assert(index < FETCH_CLIENT_REQUESTS_MAX);
    struct in_flight *f = &c->in_flight_requests[index];
    *f = (struct in_flight){.id = ++c->sequence * FETCH_CLIENT_REQUESTS_MAX + index,
                            .request = r,
                            .bytes = response_bytes_max(&r->get)};
    if (c->in_flight_count == 0) record_fetch_progress(c);
    c->in_flight_count++;
    c->in_flight_bytes += f->bytes;
    /* On failure the connection closes by itself, and fetch_client_on_closed takes it back. */
    conn_send(c->conn, FRAME_GET, f->id, &payload);
}

static bool request_window_has_room(const struct fetch_client *c, const struct fetch_request *r)
{
    /* One request always fits, or one larger than the window would wait forever. */
    if (c->in_flight_count == 0) return true;
    return c->in_flight_count < FETCH_CLIENT_REQUESTS_MAX &&
           c->in_flight_bytes + response_bytes_max(&r->get) <= FETCH_CLIENT_WINDOW_BYTES;
}

/* Sends waiting requests while the window has room. */
static void fetch_client_send(struct fetch_client *c)
{
    while (c->conn != NULL && c->waiting > 0) {
        struct lane *lane = next_waiting_lane(c);
        /* next_lane stays: this lane is first when the window has room again. */
        if (!request_window_has_room(c, lane->first)) return;
        c->next_lane = (c->next_lane + 1) % FETCH_CLIENT_LANES;
        send_get_frame(c, request_lane_pop(c, lane));
    }
}

void fetch_client_submit(void *client, struct fetch_request *first)
{
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        fetch_client_add(client, r);
    }
    fetch_client_send(client);
}

/* Ends the requests of `owner` (NULL: all). If a response is arriving the connection writes into
 * the request's memory: let it finish. If not, the slot stays in use until the response arrives and
 * is ignored. */
static void end_requests_of_owner(struct fetch_client *c, const uint64_t *owner,
                                  const struct glint_error *why)
{
    struct fetch_request *ended = NULL, **end = &ended;
    for (uint32_t i = 0; i < FETCH_CLIENT_REQUESTS_MAX; i++) {
        struct in_flight *f = &c->in_flight_requests[i];
        struct fetch_request *r = f->request;
        if (r == NULL || f->arriving || (owner != NULL && r->owner != *owner)) continue;
        f->request = NULL;
        *end = r;
        end = &r->next;
    }
    for (uint32_t i = 0; i < FETCH_CLIENT_LANES; i++) {
        struct fetch_request *r = c->lanes[i].first;
        c->lanes[i] = (struct lane){NULL, NULL};
        for (struct fetch_request *next; r != NULL; r = next) {
            next = r->next;
            c->waiting--;
            if (owner != NULL && r->owner != *owner) {
                request_lane_push(c, r, false);
                continue;
            }
            *end = r;
            end = &r->next;
        }
    }
    *end = NULL;
    for (struct fetch_request *next; ended != NULL; ended = next) {
        next = ended->next;
        fetch_request_end(ended, why); /* may submit others */
    }
}

/* Ends the requests of `owner` with INTERRUPTED, except one whose response is arriving: the
 * connection writes into its memory. */
static void fetch_client_cancel(struct fetch_client *c, uint64_t owner)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    end_requests_of_owner(c, &owner, &why);
}

void fetch_client_fail(struct fetch_client *c, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    record_fetch_progress(c);
    end_requests_of_owner(c, NULL, why);
}

/* ---- The connection */

void fetch_client_on_opened(struct fetch_client *c, struct conn *conn)
{
    assert(c->conn == NULL && conn_is_open(conn));
    c->conn = conn;
    record_fetch_progress(c);
    fetch_client_send(c);
}

void fetch_client_on_closed(struct fetch_client *c)
{
    c->conn = NULL;
    for (uint32_t i = FETCH_CLIENT_REQUESTS_MAX; i-- > 0;) {
        if (c->in_flight_requests[i].id == 0) continue;
        struct fetch_request *r = release_in_flight_request(c, &c->in_flight_requests[i]);
        if (r == NULL) continue;
        buffer_fini(&r->response); /* a partial response */
        request_lane_push(c, r, true);
    }
    assert(c->in_flight_count == 0 && c->in_flight_bytes == 0);
}

int fetch_client_on_frame(void *client, struct conn *conn, const struct frame *f,
                          struct glint_slice payload, struct glint_error *error)
{
    struct fetch_client *c = client;
    (void)conn;
    if (f->type != FRAME_FETCH_ERROR)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected frame type %d", (int)f->type);
    struct glint_error why = {.code = GLINT_OK};
    int r = fetch_error_decode(payload, &why, error);
    if (r != 0) return r;
    assert(why.code < 0); /* decoding accepts no other */
    record_fetch_progress(c);
    c->responded = true;
    struct in_flight *in_flight = find_in_flight(c, f->request);
    if (in_flight == NULL) return 0; /* the peer responds twice to one request */
    struct fetch_request *request = release_in_flight_request(c, in_flight);
    if (request != NULL) fetch_request_end(request, &why);
    fetch_client_send(c);
    return 0;
}

/* Returns the memory for the response's bytes, or NULL with *why set if its size is wrong. */
static uint8_t *check_response_buffer(struct fetch_request *r, const struct frame *f,
                                      struct glint_error *why)
{
    uint64_t most = response_bytes_max(&r->get);
    /* A shorter broadcast block is compressed: it needs its own buffer before it is decompressed
     * into place. */
    bool packed = r->get.kind == GET_BROADCAST_BLOCK && f->length > 0 && f->length < most;
    bool in_place = r->into != NULL && !packed;
    if (in_place ? f->length != most : f->length > most) {
        error_set(why, GLINT_E_PROTOCOL, NULL, "response of %u bytes, expected %llu", f->length,
                  (unsigned long long)most);
        return NULL;
    }
    if (in_place) return r->into;
    assert(r->response.data == NULL);
    uint8_t *bytes = mem_alloc(f->length);
    if (bytes == NULL) error_no_memory(why);
    r->response = (struct buffer){bytes, 0, f->length};
    return bytes;
}

/* The start of a response is progress, but does not set `responded`: a peer that starts responses
 * and never completes one must run out of redials. */
uint8_t *fetch_client_buffer_for(void *client, struct conn *conn, const struct frame *f)
{
    struct fetch_client *c = client;
    struct glint_error why = {.code = GLINT_OK};
    struct in_flight *in_flight = find_in_flight(c, f->request);
    (void)conn;
    record_fetch_progress(c);
    if (in_flight == NULL) return NULL;
    uint8_t *buffer =
        in_flight->request != NULL ? check_response_buffer(in_flight->request, f, &why) : NULL;
    if (buffer != NULL) {
        in_flight->arriving = true;
        return buffer;
    }
    struct fetch_request *r = release_in_flight_request(c, in_flight);
    if (r != NULL) fetch_request_end(r, &why);
    fetch_client_send(c);
    return NULL;
}

void fetch_client_on_data(void *client, struct conn *conn, const struct frame *f)
{
    struct fetch_client *c = client;
    struct in_flight *in_flight = &c->in_flight_requests[f->request % FETCH_CLIENT_REQUESTS_MAX];
    (void)conn;
    assert(in_flight->id == f->request && in_flight->arriving);
    record_fetch_progress(c);
    c->responded = true;
    struct fetch_request *r = release_in_flight_request(c, in_flight);
    if (r->response.data != NULL) r->response.size = f->length;
    fetch_request_end(r, NULL);
    fetch_client_send(c);
}

/* ---- Peers by executor number, an inbox for requests from any thread, and one timer, which runs
 * only while a peer has requests.
 *
 * A peer is dialled when it has a request and no connection. A connection that closes while
 * requests are left is redialled once, after a backoff; then they fail. A complete response allows
 * another redial. */

#define TICK_MS   50u
#define REDIAL_MS 200u /* less a jitter */
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
    l->redial_at_ns = peers_clock_ns(p) + backoff_with_jitter(p->net->env, REDIAL_MS * MS_NS);
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
static void peer_send_or_dial(struct peer *l)
{
    bool dial = !peer_is_driver(l) && l->conn == NULL && l->client.waiting > 0;
    if (dial && peers_clock_ns(l->peers) >= l->redial_at_ns) peer_connect(l);
    fetch_client_send(&l->client);
}

/* Redials, and ends requests without progress. Returns false if the timer is not needed. */
static bool peer_on_timer(struct peer *l, uint64_t now)
{
    if (fetch_client_deadline_ns(&l->client) == UINT64_MAX) return false;
    peer_send_or_dial(l);
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
        if (p->list[i] != NULL) peer_send_or_dial(p->list[i]);
    /* The timer stops itself when no peer needs it (on_peers_timer). */
    if (!uv_is_active((uv_handle_t *)&p->timer))
        uv_timer_start(&p->timer, on_peers_timer, TICK_MS, TICK_MS);
}

struct peers *peers_create(struct net *net, uint64_t fetch_ms, struct glint_error *error)
{
    const struct executor_address driver = {.executor = EXECUTOR_ID_DRIVER};
    struct peers *p = mem_zalloc_or_fail(sizeof *p, error);
    if (p == NULL) return NULL;
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

/* ---- Downloads in chunks. A request that has ended is used again for the next chunk. */

static void on_chunk_done(struct fetch_request *r);

static void make_request_for_next_chunk(struct chunked_fetch *f, struct fetch_request *r)
{
    uint64_t left = f->get.size - f->requested;
    *r = (struct fetch_request){.executor = f->executor,
                                .get = f->get,
                                .into = f->into + f->requested,
                                .done = on_chunk_done,
                                .arg = f};
    r->get.offset = f->requested;
    r->get.size = left < FETCH_CHUNK_BYTES_MAX ? left : FETCH_CHUNK_BYTES_MAX;
    f->requested += r->get.size;
    f->in_flight++;
    f->fetcher.submit(f->fetcher.arg, r);
}

static bool has_next_chunk(const struct chunked_fetch *f)
{
    return f->error.code == GLINT_OK && f->requested < f->get.size;
}

static void on_chunk_done(struct fetch_request *r)
{
    struct chunked_fetch *f = r->arg;
    assert(f->in_flight > 0);
    if (f->error.code == GLINT_OK) f->error = r->error;
    if (has_next_chunk(f)) make_request_for_next_chunk(f, r);
    if (--f->in_flight == 0) f->done(f);
}

void chunked_fetch_start(struct chunked_fetch *f)
{
    assert(f->get.size > 0 && f->in_flight == 0 && f->requested == 0);
    f->in_flight = 1; /* this function: `done` is called after the last submit */
    for (uint32_t i = 0; i < CHUNKED_FETCH_REQUESTS && has_next_chunk(f); i++)
        make_request_for_next_chunk(f, &f->requests[i]);
    if (--f->in_flight == 0) f->done(f);
}
