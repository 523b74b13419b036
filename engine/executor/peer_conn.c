/* Requests in flight are in a table, and the request id contains the index: a response is found
 * without a search, and a late response to a request that has ended does not match the id in its
 * slot. */
#include "engine/executor/peer_conn.h"

#include "engine/net/backoff.h"

#include <assert.h>
#include <string.h>

#define REDIALS   1u
#define REDIAL_MS 200u /* less a jitter */
#define NS_PER_MS 1000000u

static_assert((PEER_CONN_REQUESTS_MAX & (PEER_CONN_REQUESTS_MAX - 1)) == 0,
              "a request id contains its index");
static_assert(FETCH_CHUNK_BYTES_MAX <= PEER_WINDOW_BYTES, "a chunk fits the window");

static uint64_t clock_ns(const struct peer_conn *l)
{
    return l->net->env->now_ns(l->net->env);
}

void fetch_request_end(struct fetch_request *r, const struct glint_error *why)
{
    if (why != NULL) {
        r->error = *why;
        buffer_fini(&r->response);
    }
    r->peer = NULL;
    r->done(r); /* `done` may free or reuse it */
}

void peer_conn_init(struct peer_conn *l, struct net *net, uint64_t fetch_ms,
                    const struct executor_address *address, bool external)
{
    memset(l, 0, sizeof *l);
    l->net = net;
    l->fetch_ms = fetch_ms;
    l->address = *address;
    l->external = external;
    l->redials_left = REDIALS;
}

/* ---- Queued requests */

static void lane_push(struct peer_conn *l, struct fetch_request *r, bool front)
{
    struct lane *lane = &l->lanes[r->owner % PEER_CONN_LANES];
    r->next = front ? lane->first : NULL;
    if (lane->first == NULL || front)
        lane->first = r;
    else
        lane->last->next = r;
    if (r->next == NULL) lane->last = r;
    l->waiting++;
}

static struct fetch_request *lane_pop(struct peer_conn *l, struct lane *lane)
{
    struct fetch_request *r = lane->first;
    assert(r != NULL && l->waiting > 0);
    lane->first = r->next;
    if (lane->first == NULL) lane->last = NULL;
    r->next = NULL;
    l->waiting--;
    return r;
}

/* The next non-empty lane, round-robin, so that a task with many requests does not delay others. */
static struct lane *next_waiting_lane(struct peer_conn *l)
{
    assert(l->waiting > 0);
    uint32_t i = l->next_lane;
    while (l->lanes[i % PEER_CONN_LANES].first == NULL) i++;
    l->next_lane = i % PEER_CONN_LANES;
    return &l->lanes[l->next_lane];
}

void peer_conn_add_request(struct peer_conn *l, struct fetch_request *r)
{
    /* An idle peer made no progress because nothing was requested: restart its timeout. */
    if (l->waiting == 0 && l->in_flight_count == 0) l->progress_ns = clock_ns(l);
    r->peer = l;
    lane_push(l, r, false);
}

/* ---- Requests in flight */

static struct in_flight *find_in_flight(struct peer_conn *l, uint64_t id)
{
    struct in_flight *f = &l->in_flight_requests[id % PEER_CONN_REQUESTS_MAX];
    return id != 0 && f->id == id ? f : NULL;
}

/* Frees the slot and its share of the window. */
static void in_flight_release(struct peer_conn *l, struct in_flight *f)
{
    assert(l->in_flight_count > 0 && l->in_flight_bytes >= f->bytes && !f->arriving);
    l->in_flight_count--;
    l->in_flight_bytes -= f->bytes;
    *f = (struct in_flight){.id = 0};
}

/* The most a response can contain. Exactly this size, except for an INDEX and for a compressed
 * broadcast block, which are smaller. */
static uint64_t response_bytes_max(const struct get_request *g)
{
    if (g->kind != GET_INDEX) return g->size;
    return INDEX_HEAD_BYTES_MAX + (uint64_t)g->map_count * INDEX_ENTRY_BYTES_MAX + g->size;
}

static void send_get(struct peer_conn *l, struct fetch_request *r)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    if (get_request_encode(&r->get, &payload, &error) != 0) {
        fetch_request_end(r, &error);
        return;
    }
    uint32_t index = 0;
    while (l->in_flight_requests[index].id != 0) index++;
    assert(index < PEER_CONN_REQUESTS_MAX);
    struct in_flight *f = &l->in_flight_requests[index];
    *f = (struct in_flight){.id = ++l->sequence * PEER_CONN_REQUESTS_MAX + index,
                            .request = r,
                            .bytes = response_bytes_max(&r->get)};
    if (l->in_flight_count == 0) l->progress_ns = clock_ns(l);
    l->in_flight_count++;
    l->in_flight_bytes += f->bytes;
    /* On failure the connection closes by itself and on_closed handles the request. */
    conn_send(l->conn, FRAME_GET, f->id, &payload);
}

static bool window_has_room(const struct peer_conn *l, const struct fetch_request *r)
{
    /* One request always fits, or one larger than the window would wait forever. */
    if (l->in_flight_count == 0) return true;
    return l->in_flight_count < PEER_CONN_REQUESTS_MAX &&
           l->in_flight_bytes + response_bytes_max(&r->get) <= PEER_WINDOW_BYTES;
}

/* ---- The connection */

static int on_frame(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error)
{
    (void)c;
    return peer_conn_on_frame(arg, f, payload, error);
}

static uint8_t *on_buffer_for(void *arg, struct conn *c, const struct frame *f)
{
    (void)c;
    return peer_conn_buffer_for(arg, f);
}

static void on_data(void *arg, struct conn *c, const struct frame *f)
{
    (void)c;
    peer_conn_on_data(arg, f);
}

static void on_opened(void *arg, struct conn *c)
{
    struct peer_conn *l = arg;
    /* A connection cut while it was idle is noticed by the missing TCP acknowledgement, within
     * connect_ms instead of fetch_ms. */
    conn_set_ack_timeout(c, l->net->connect_ms);
    peer_conn_on_opened(l);
}

static void on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    (void)c;
    peer_conn_on_closed(arg, why);
}

static const struct conn_events peer_conn_events = {on_opened, on_frame, on_buffer_for, on_data,
                                                    on_closed};

static void fail_all_requests(struct peer_conn *l, const struct glint_error *why)
{
    for (uint32_t i = 0; i < PEER_CONN_REQUESTS_MAX; i++) {
        struct in_flight *f = &l->in_flight_requests[i];
        struct fetch_request *r = f->request;
        if (f->id == 0 || f->arriving) continue;
        if (l->conn == NULL)
            in_flight_release(l, f);
        else
            f->request = NULL; /* its response may still arrive */
        if (r != NULL) fetch_request_end(r, why);
    }
    while (l->waiting > 0) fetch_request_end(lane_pop(l, next_waiting_lane(l)), why);
}

/* Fails all requests with an error that names the peer. */
static void fail_with_address(struct peer_conn *l, const struct glint_error *why)
{
    struct glint_error error = {.code = GLINT_OK};
    if (l->external)
        error_set(&error, GLINT_E_CONNECTION, NULL, "driver: %s", why->cause);
    else
        error_set(&error, why->code == GLINT_E_NO_MEMORY ? why->code : GLINT_E_CONNECTION,
                  "see that executor's log", "%s (%s:%u): %s", l->address.node, l->address.host,
                  l->address.port, why->cause);
    l->redials_left = REDIALS;
    fail_all_requests(l, &error);
}

void peer_conn_connect(struct peer_conn *l)
{
    struct glint_error error = {.code = GLINT_OK};
    assert(!l->external && l->conn == NULL && !l->ended);
    l->conn = conn_dial(l->net, l->address.host, l->address.port, CHANNEL_DATA,
                        l->address.incarnation, &peer_conn_events, l, &error);
    l->state = l->conn != NULL ? PEER_CONN_DIALLING : PEER_CONN_IDLE;
    if (l->conn == NULL) fail_with_address(l, &error);
}

void peer_conn_send_waiting(struct peer_conn *l)
{
    if (l->waiting == 0 || l->ended) return;
    if (l->state == PEER_CONN_IDLE && !l->external) peer_conn_connect(l);
    while (l->state == PEER_CONN_OPEN && l->waiting > 0) {
        struct lane *lane = next_waiting_lane(l);
        /* next_lane stays: this lane is first when the window has room again. */
        if (!window_has_room(l, lane->first)) break;
        l->next_lane = (l->next_lane + 1) % PEER_CONN_LANES;
        send_get(l, lane_pop(l, lane));
    }
}

void peer_conn_on_opened(struct peer_conn *l)
{
    l->state = PEER_CONN_OPEN;
    l->progress_ns = clock_ns(l);
    peer_conn_send_waiting(l);
}

/* Moves requests in flight to the front of their lanes, to be sent again first. After
 * peer_conn_shutdown they end instead. */
static void requeue_in_flight(struct peer_conn *l)
{
    for (uint32_t i = PEER_CONN_REQUESTS_MAX; i-- > 0;) {
        struct in_flight *f = &l->in_flight_requests[i];
        struct fetch_request *r = f->request;
        if (f->id == 0) continue;
        f->arriving = false;
        /* A response that was arriving at the shutdown: now the connection no longer writes to its
         * memory. */
        if (l->ended && r != NULL) {
            in_flight_release(l, f);
            fetch_request_end(r, &l->why);
            continue;
        }
        in_flight_release(l, f);
        if (r == NULL) continue;
        buffer_fini(&r->response); /* a partial response */
        lane_push(l, r, true);
    }
    assert(l->in_flight_count == 0 && l->in_flight_bytes == 0);
}

static bool may_redial(const struct peer_conn *l, const struct glint_error *why)
{
    /* Permanent: another process, or another version, listens at that address now. */
    bool permanent = why->code == GLINT_E_PEER_MISMATCH;
    /* Code OK: this side closed the connection, and l->why says why. */
    return !l->external && l->redials_left > 0 && !permanent && why->code != GLINT_OK;
}

void peer_conn_on_closed(struct peer_conn *l, const struct glint_error *why)
{
    l->conn = NULL;
    l->state = PEER_CONN_IDLE;
    requeue_in_flight(l);
    if (l->waiting == 0) {
        l->redials_left = REDIALS;
        if (l->ended) l->on_idle(l->on_idle_arg);
        return;
    }
    if (!may_redial(l, why)) {
        fail_with_address(l, why->code != GLINT_OK ? why : &l->why);
        return;
    }
    l->redials_left--;
    l->redial_at_ns = clock_ns(l) + backoff_with_jitter(l->net->env, REDIAL_MS * NS_PER_MS);
    l->state = PEER_CONN_BACKOFF;
}

bool peer_conn_on_timer(struct peer_conn *l)
{
    uint64_t at = clock_ns(l);
    if (l->state == PEER_CONN_BACKOFF && at >= l->redial_at_ns) {
        l->state = PEER_CONN_IDLE;
        peer_conn_send_waiting(l);
    }
    if (l->waiting == 0 && l->in_flight_count == 0) return l->state == PEER_CONN_BACKOFF;
    /* Dialling has its own deadline, net->connect_ms; a backoff ends at redial_at_ns. */
    bool waits = l->state == PEER_CONN_OPEN || (l->external && l->state == PEER_CONN_IDLE);
    if (!waits || at - l->progress_ns < l->fetch_ms * NS_PER_MS) return true;
    l->why.code = GLINT_OK;
    error_set(&l->why, GLINT_E_CONNECTION, NULL, "no data for %llu ms",
              (unsigned long long)l->fetch_ms);
    l->progress_ns = at;
    if (l->external)
        fail_with_address(l, &l->why);
    else
        conn_close(l->conn, false); /* peer_conn_on_closed does the rest */
    return true;
}

void peer_conn_cancel(struct peer_conn *l, uint64_t owner)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    /* The lane may contain requests of other owners: queue those again, in order. */
    struct lane *lane = &l->lanes[owner % PEER_CONN_LANES];
    struct fetch_request *r = lane->first;
    lane->first = lane->last = NULL;
    for (struct fetch_request *next; r != NULL; r = next) {
        next = r->next;
        l->waiting--;
        if (r->owner == owner)
            fetch_request_end(r, &why);
        else
            lane_push(l, r, false);
    }
    for (uint32_t i = 0; i < PEER_CONN_REQUESTS_MAX; i++) {
        struct in_flight *f = &l->in_flight_requests[i];
        /* If the response is arriving the connection writes into the request's memory: let it
         * finish. If not, the slot stays in use until the response arrives and is ignored. */
        if (f->request == NULL || f->request->owner != owner || f->arriving) continue;
        r = f->request;
        f->request = NULL;
        fetch_request_end(r, &why);
    }
}

void peer_conn_shutdown(struct peer_conn *l, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    l->ended = true;
    l->why = *why;
    if (l->state == PEER_CONN_BACKOFF) l->state = PEER_CONN_IDLE;
    fail_all_requests(l, why);
    if (l->conn != NULL && !l->external) conn_close(l->conn, false);
}

bool peer_conn_is_idle(const struct peer_conn *l)
{
    if (l->conn != NULL && !l->external) return false;
    for (uint32_t i = 0; i < PEER_CONN_REQUESTS_MAX; i++)
        if (l->in_flight_requests[i].arriving) return false;
    return true;
}

/* ---- Responses */

/* A complete response, also a FETCH_ERROR, shows that the peer works: restart the timeout and allow
 * another redial. */
static void mark_progress(struct peer_conn *l)
{
    l->progress_ns = clock_ns(l);
    l->redials_left = REDIALS;
}

int peer_conn_on_frame(struct peer_conn *l, const struct frame *f, struct glint_slice payload,
                       struct glint_error *error)
{
    if (f->type == FRAME_DATA) return 0; /* peer_conn_buffer_for did not want it */
    if (f->type != FRAME_FETCH_ERROR)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected frame type %d", (int)f->type);
    struct glint_error why = {.code = GLINT_OK};
    int r = fetch_error_decode(payload, &why, error);
    if (r != 0) return r;
    if (why.code == GLINT_OK)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "malformed error response");
    mark_progress(l);
    struct in_flight *in_flight = find_in_flight(l, f->request);
    /* Cancelled meanwhile, or the peer responds twice to one request. */
    if (in_flight == NULL || in_flight->arriving) return 0;
    struct fetch_request *request = in_flight->request;
    in_flight_release(l, in_flight);
    if (request != NULL) fetch_request_end(request, &why);
    peer_conn_send_waiting(l);
    return 0;
}

/* Returns the memory for the response's bytes, or NULL with *why set if its size is wrong. */
static uint8_t *response_buffer(struct fetch_request *r, const struct frame *f,
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

/* The start of a response restarts the timeout but allows no redial (mark_progress): a peer that
 * starts responses and never completes one must run out of redials. */
uint8_t *peer_conn_buffer_for(struct peer_conn *l, const struct frame *f)
{
    struct glint_error why = {.code = GLINT_OK};
    struct in_flight *in_flight = find_in_flight(l, f->request);
    l->progress_ns = clock_ns(l);
    if (in_flight == NULL || in_flight->arriving) return NULL;
    struct fetch_request *r = in_flight->request;
    uint8_t *buffer = r != NULL ? response_buffer(r, f, &why) : NULL;
    if (buffer != NULL) {
        in_flight->arriving = true;
        return buffer;
    }
    in_flight_release(l, in_flight);
    if (r != NULL) fetch_request_end(r, &why);
    peer_conn_send_waiting(l);
    return NULL;
}

void peer_conn_on_data(struct peer_conn *l, const struct frame *f)
{
    struct in_flight *in_flight = find_in_flight(l, f->request);
    mark_progress(l);
    if (in_flight == NULL || !in_flight->arriving) return;
    struct fetch_request *r = in_flight->request;
    if (r->response.data != NULL) r->response.size = f->length;
    in_flight->arriving = false;
    in_flight_release(l, in_flight);
    /* After a shutdown all requests fail, also one whose bytes have arrived. */
    fetch_request_end(r, l->ended ? &l->why : NULL);
    peer_conn_send_waiting(l);
}
