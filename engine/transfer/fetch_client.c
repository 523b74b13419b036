/* Requests in flight are in a table, and the request id contains the index: a response is found
 * without a search, and a late response to a request that has ended does not match the id in its
 * slot. */
#include "engine/transfer/fetch_client.h"

#include "engine/net/wire.h"

#include <assert.h>

#define NS_PER_MS 1000000u

static_assert((FETCH_CLIENT_REQUESTS_MAX & (FETCH_CLIENT_REQUESTS_MAX - 1)) == 0,
              "a request id contains its index");
static_assert(FETCH_CHUNK_BYTES_MAX <= FETCH_CLIENT_WINDOW_BYTES, "a chunk fits the window");

void fetch_request_end(struct fetch_request *r, const struct glint_error *why)
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

static void note_response_progress(struct fetch_client *c)
{
    c->progress_ns = c->env->now_ns(c->env);
}

static bool has_pending_requests(const struct fetch_client *c)
{
    return c->waiting > 0 || c->in_flight_count > 0;
}

uint64_t fetch_client_deadline_ns(const struct fetch_client *c)
{
    return has_pending_requests(c) ? c->progress_ns + c->timeout_ms * NS_PER_MS : UINT64_MAX;
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

void fetch_client_add(struct fetch_client *c, struct fetch_request *r)
{
    /* There was no progress because nothing was requested: restart the timeout. */
    if (!has_pending_requests(c)) note_response_progress(c);
    request_lane_push(c, r, false);
}

void fetch_client_submit(void *client, struct fetch_request *first)
{
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        fetch_client_add(client, r);
    }
    fetch_client_send(client);
}

/* ---- Requests in flight */

static struct in_flight *find_in_flight(struct fetch_client *c, uint64_t id)
{
    struct in_flight *f = &c->in_flight_requests[id % FETCH_CLIENT_REQUESTS_MAX];
    return id != 0 && f->id == id && !f->arriving ? f : NULL;
}

/* Frees the slot and its share of the window, and returns the request. */
static struct fetch_request *in_flight_release(struct fetch_client *c, struct in_flight *f)
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
    if (c->in_flight_count == 0) note_response_progress(c);
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

void fetch_client_send(struct fetch_client *c)
{
    while (c->conn != NULL && c->waiting > 0) {
        struct lane *lane = next_waiting_lane(c);
        /* next_lane stays: this lane is first when the window has room again. */
        if (!request_window_has_room(c, lane->first)) return;
        c->next_lane = (c->next_lane + 1) % FETCH_CLIENT_LANES;
        send_get_frame(c, request_lane_pop(c, lane));
    }
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

void fetch_client_cancel(struct fetch_client *c, uint64_t owner)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    end_requests_of_owner(c, &owner, &why);
}

void fetch_client_fail(struct fetch_client *c, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    note_response_progress(c);
    end_requests_of_owner(c, NULL, why);
}

/* ---- The connection */

void fetch_client_on_opened(struct fetch_client *c, struct conn *conn)
{
    assert(c->conn == NULL && conn_is_open(conn));
    c->conn = conn;
    note_response_progress(c);
    fetch_client_send(c);
}

void fetch_client_on_closed(struct fetch_client *c)
{
    c->conn = NULL;
    for (uint32_t i = FETCH_CLIENT_REQUESTS_MAX; i-- > 0;) {
        if (c->in_flight_requests[i].id == 0) continue;
        struct fetch_request *r = in_flight_release(c, &c->in_flight_requests[i]);
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
    note_response_progress(c);
    c->responded = true;
    struct in_flight *in_flight = find_in_flight(c, f->request);
    if (in_flight == NULL) return 0; /* the peer responds twice to one request */
    struct fetch_request *request = in_flight_release(c, in_flight);
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
    note_response_progress(c);
    if (in_flight == NULL) return NULL;
    uint8_t *buffer =
        in_flight->request != NULL ? check_response_buffer(in_flight->request, f, &why) : NULL;
    if (buffer != NULL) {
        in_flight->arriving = true;
        return buffer;
    }
    struct fetch_request *r = in_flight_release(c, in_flight);
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
    note_response_progress(c);
    c->responded = true;
    struct fetch_request *r = in_flight_release(c, in_flight);
    if (r->response.data != NULL) r->response.size = f->length;
    fetch_request_end(r, NULL);
    fetch_client_send(c);
}
