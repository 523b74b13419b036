/* Requests that are out have a place in a table, and their frame's id says which: an answer is
 * found without a search, and one that comes too late meets another id. */
#include "engine/executor/peer_link.h"

#include <assert.h>
#include <string.h>

#define REDIALS         1u
#define REDIAL_MS_MIN   50u
#define REDIAL_MS_RANGE 150u
#define NS_PER_MS       1000000u

static_assert((LINK_REQUESTS_MAX & (LINK_REQUESTS_MAX - 1)) == 0, "an id has a place in it");
static_assert(FETCH_CHUNK_BYTES_MAX <= PEER_WINDOW_BYTES, "a chunk fits into the window");

static uint64_t now(const struct peer_link *l)
{
    return l->net->env->now_ns(l->net->env);
}

void request_end(struct fetch_request *r, const struct glint_error *why)
{
    if (why != NULL) {
        r->error = *why;
        buffer_fini(&r->answer);
    }
    r->peer = NULL;
    r->done(r); /* it is its owner's again */
}

void link_init(struct peer_link *l, struct net *net, uint64_t fetch_ms, const struct peer *where,
               bool external)
{
    memset(l, 0, sizeof *l);
    l->net = net;
    l->fetch_ms = fetch_ms;
    l->where = *where;
    l->external = external;
    l->redials_left = REDIALS;
}

/* ---- Requests that wait */

static void lane_push(struct peer_link *l, struct fetch_request *r, bool front)
{
    struct lane *lane = &l->lanes[r->owner % LINK_LANES];
    r->next = front ? lane->first : NULL;
    if (lane->first == NULL || front)
        lane->first = r;
    else
        lane->last->next = r;
    if (r->next == NULL) lane->last = r;
    l->waiting++;
}

static struct fetch_request *lane_pop(struct peer_link *l, struct lane *lane)
{
    struct fetch_request *r = lane->first;
    assert(r != NULL && l->waiting > 0);
    lane->first = r->next;
    if (lane->first == NULL) lane->last = NULL;
    r->next = NULL;
    l->waiting--;
    return r;
}

/* The lane whose turn it is; there is one. */
static struct lane *turn(struct peer_link *l)
{
    assert(l->waiting > 0);
    uint32_t i = l->next_lane;
    while (l->lanes[i % LINK_LANES].first == NULL) i++;
    l->next_lane = i % LINK_LANES;
    return &l->lanes[l->next_lane];
}

void link_add(struct peer_link *l, struct fetch_request *r)
{
    if (l->waiting == 0 && l->flying == 0) l->progress_ns = now(l);
    r->peer = l;
    lane_push(l, r, false);
}

/* ---- Requests that are out */

static struct flight *flight_of(struct peer_link *l, uint64_t id)
{
    struct flight *f = &l->flights[id % LINK_REQUESTS_MAX];
    return id != 0 && f->id == id ? f : NULL;
}

/* The place is free again. */
static void land(struct peer_link *l, struct flight *f)
{
    assert(l->flying > 0 && l->flying_bytes >= f->bytes && !f->arriving);
    l->flying--;
    l->flying_bytes -= f->bytes;
    *f = (struct flight){.id = 0};
}

/* What may come: exactly so much, but for PARTS and for what is packed. */
static uint64_t answer_bytes_max(const struct get *g)
{
    if (g->kind != GET_PARTS) return g->size;
    return PARTS_HEAD_BYTES_MAX + (uint64_t)g->map_count * PART_ANSWER_BYTES_MAX + g->size;
}

static void send_get(struct peer_link *l, struct fetch_request *r)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    if (get_encode(&r->get, &payload, &error) != 0) {
        request_end(r, &error);
        return;
    }
    uint32_t place = 0;
    while (l->flights[place].id != 0) place++;
    assert(place < LINK_REQUESTS_MAX);
    struct flight *f = &l->flights[place];
    *f = (struct flight){.id = ++l->sequence * LINK_REQUESTS_MAX + place,
                         .request = r,
                         .bytes = answer_bytes_max(&r->get)};
    if (l->flying == 0) l->progress_ns = now(l);
    l->flying++;
    l->flying_bytes += f->bytes;
    /* Where it cannot be queued the connection ends, and that is an event of its own. */
    conn_send(l->conn, FRAME_GET, f->id, &payload);
}

static bool has_room(const struct peer_link *l, const struct fetch_request *r)
{
    if (l->flying == 0) return true;
    return l->flying < LINK_REQUESTS_MAX &&
           l->flying_bytes + answer_bytes_max(&r->get) <= PEER_WINDOW_BYTES;
}

/* ---- The connection */

static int on_frame(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error)
{
    (void)c;
    return link_on_frame(arg, f, payload, error);
}

static uint8_t *on_into(void *arg, struct conn *c, const struct frame *f)
{
    (void)c;
    return link_into(arg, f);
}

static void on_data(void *arg, struct conn *c, const struct frame *f)
{
    (void)c;
    link_on_data(arg, f);
}

static void on_opened(void *arg, struct conn *c)
{
    struct peer_link *l = arg;
    conn_expect_acks(c, l->net->connect_ms); /* it may have been cut while it had nothing to do */
    link_on_opened(l);
}

static void on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    (void)c;
    link_on_closed(arg, why);
}

static const struct conn_events link_events = {on_opened, on_frame, on_into, on_data, on_closed};

static void fail_all(struct peer_link *l, const struct glint_error *why)
{
    for (uint32_t i = 0; i < LINK_REQUESTS_MAX; i++) {
        struct flight *f = &l->flights[i];
        struct fetch_request *r = f->request;
        if (f->id == 0 || f->arriving) continue;
        if (l->conn == NULL)
            land(l, f);
        else
            f->request = NULL; /* its answer may still come */
        if (r != NULL) request_end(r, why);
    }
    while (l->waiting > 0) request_end(lane_pop(l, turn(l)), why);
}

/* Its requests end, with an error that says where. */
static void give_up(struct peer_link *l, const struct glint_error *why)
{
    struct glint_error error = {.code = GLINT_OK};
    if (l->external)
        error_set(&error, GLINT_E_CONNECTION, NULL, "the driver: %s", why->cause);
    else
        error_set(&error, why->code == GLINT_E_NO_MEMORY ? why->code : GLINT_E_CONNECTION,
                  "look at that executor's log", "%s (%s:%u): %s", l->where.node, l->where.host,
                  l->where.port, why->cause);
    l->redials_left = REDIALS;
    fail_all(l, &error);
}

void link_connect(struct peer_link *l)
{
    struct glint_error error = {.code = GLINT_OK};
    assert(!l->external && l->conn == NULL && !l->ended);
    l->conn = conn_dial(l->net, l->where.host, l->where.port, CHANNEL_DATA, l->where.incarnation,
                        &link_events, l, &error);
    l->state = l->conn != NULL ? LINK_DIALLING : LINK_IDLE;
    if (l->conn == NULL) give_up(l, &error);
}

void link_pump(struct peer_link *l)
{
    if (l->waiting == 0 || l->ended) return;
    if (l->state == LINK_IDLE && !l->external) link_connect(l);
    while (l->state == LINK_OPEN && l->waiting > 0) {
        struct lane *lane = turn(l);
        if (!has_room(l, lane->first)) break;
        l->next_lane = (l->next_lane + 1) % LINK_LANES;
        send_get(l, lane_pop(l, lane));
    }
}

void link_on_opened(struct peer_link *l)
{
    l->state = LINK_OPEN;
    l->progress_ns = now(l);
    link_pump(l);
}

/* What was asked for is asked for again, before all that waits. */
static void take_back(struct peer_link *l)
{
    for (uint32_t i = LINK_REQUESTS_MAX; i-- > 0;) {
        struct flight *f = &l->flights[i];
        struct fetch_request *r = f->request;
        if (f->id == 0) continue;
        f->arriving = false;
        if (l->ended && r != NULL) {
            land(l, f);
            request_end(r, &l->why);
            continue;
        }
        land(l, f);
        if (r == NULL) continue;
        buffer_fini(&r->answer); /* what came of it */
        lane_push(l, r, true);
    }
    assert(l->flying == 0 && l->flying_bytes == 0);
}

static bool may_redial(const struct peer_link *l, const struct glint_error *why)
{
    bool hopeless = why->code == GLINT_E_PEER_MISMATCH;
    return !l->external && l->redials_left > 0 && !hopeless && why->code != GLINT_OK;
}

void link_on_closed(struct peer_link *l, const struct glint_error *why)
{
    uint8_t jitter = 0;
    l->conn = NULL;
    l->state = LINK_IDLE;
    take_back(l);
    if (l->waiting == 0) {
        l->redials_left = REDIALS;
        if (l->ended) l->quiet(l->quiet_arg);
        return;
    }
    if (!may_redial(l, why)) {
        give_up(l, why->code != GLINT_OK ? why : &l->why);
        return;
    }
    if (l->net->env->random(l->net->env, &jitter, sizeof jitter) != 0) jitter = 0;
    uint64_t pause_ms = REDIAL_MS_MIN + jitter * REDIAL_MS_RANGE / UINT8_MAX;
    l->redials_left--;
    l->again_ns = now(l) + pause_ms * NS_PER_MS;
    l->state = LINK_PAUSED;
}

bool link_tick(struct peer_link *l)
{
    uint64_t at = now(l);
    if (l->state == LINK_PAUSED && at >= l->again_ns) {
        l->state = LINK_IDLE;
        link_pump(l);
    }
    if (l->waiting == 0 && l->flying == 0) return l->state == LINK_PAUSED;
    bool waits = l->state == LINK_OPEN || (l->external && l->state == LINK_IDLE);
    if (!waits || at - l->progress_ns < l->fetch_ms * NS_PER_MS) return true;
    l->why.code = GLINT_OK;
    error_set(&l->why, GLINT_E_CONNECTION, NULL, "nothing came for %llu ms",
              (unsigned long long)l->fetch_ms);
    l->progress_ns = at;
    if (l->external)
        give_up(l, &l->why);
    else
        conn_close(l->conn, false); /* the rest when it has closed */
    return true;
}

void link_cancel(struct peer_link *l, uint64_t owner)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    struct lane *lane = &l->lanes[owner % LINK_LANES];
    struct fetch_request *r = lane->first;
    lane->first = lane->last = NULL;
    for (struct fetch_request *next; r != NULL; r = next) {
        next = r->next;
        l->waiting--;
        if (r->owner == owner)
            request_end(r, &why);
        else
            lane_push(l, r, false);
    }
    for (uint32_t i = 0; i < LINK_REQUESTS_MAX; i++) {
        struct flight *f = &l->flights[i];
        if (f->request == NULL || f->request->owner != owner || f->arriving) continue;
        r = f->request;
        f->request = NULL;
        request_end(r, &why);
    }
}

void link_end(struct peer_link *l, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    l->ended = true;
    l->why = *why;
    if (l->state == LINK_PAUSED) l->state = LINK_IDLE;
    fail_all(l, why);
    if (l->conn != NULL && !l->external) conn_close(l->conn, false);
}

bool link_is_quiet(const struct peer_link *l)
{
    if (l->conn != NULL && !l->external) return false;
    for (uint32_t i = 0; i < LINK_REQUESTS_MAX; i++)
        if (l->flights[i].arriving) return false;
    return true;
}

/* ---- Answers */

static void progressed(struct peer_link *l)
{
    l->progress_ns = now(l);
    l->redials_left = REDIALS;
}

int link_on_frame(struct peer_link *l, const struct frame *f, struct glint_slice payload,
                  struct glint_error *error)
{
    if (f->type == FRAME_DATA) return 0; /* nobody wanted it */
    if (f->type != FRAME_GONE)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a frame of type %d is no answer",
                         (int)f->type);
    struct glint_error why = {.code = GLINT_OK};
    int r = gone_decode(payload, &why, error);
    if (r != 0) return r;
    if (why.code == GLINT_OK) return error_set(error, GLINT_E_PROTOCOL, NULL, "gone without error");
    progressed(l);
    struct flight *flight = flight_of(l, f->request);
    if (flight == NULL || flight->arriving) return 0;
    struct fetch_request *request = flight->request;
    land(l, flight);
    if (request != NULL) request_end(request, &why);
    link_pump(l);
    return 0;
}

/* Where a request's bytes go, or NULL with *why set. */
static uint8_t *place_for(struct fetch_request *r, const struct frame *f, struct glint_error *why)
{
    uint64_t most = answer_bytes_max(&r->get);
    bool packed = r->get.kind == GET_VALUE && f->length > 0 && f->length < most;
    bool in_place = r->into != NULL && !packed;
    if (in_place ? f->length != most : f->length > most) {
        error_set(why, GLINT_E_PROTOCOL, NULL, "%u bytes were answered for %llu", f->length,
                  (unsigned long long)most);
        return NULL;
    }
    if (in_place) return r->into;
    assert(r->answer.data == NULL);
    uint8_t *bytes = mem_alloc(f->length);
    if (bytes == NULL) error_no_memory(why);
    r->answer = (struct buffer){bytes, 0, f->length};
    return bytes;
}

uint8_t *link_into(struct peer_link *l, const struct frame *f)
{
    struct glint_error why = {.code = GLINT_OK};
    struct flight *flight = flight_of(l, f->request);
    l->progress_ns = now(l); /* a connection that can no more than begin is not dialled forever */
    if (flight == NULL || flight->arriving) return NULL;
    struct fetch_request *r = flight->request;
    uint8_t *place = r != NULL ? place_for(r, f, &why) : NULL;
    if (place != NULL) {
        flight->arriving = true;
        return place;
    }
    land(l, flight);
    if (r != NULL) request_end(r, &why);
    link_pump(l);
    return NULL;
}

void link_on_data(struct peer_link *l, const struct frame *f)
{
    struct flight *flight = flight_of(l, f->request);
    progressed(l);
    if (flight == NULL || !flight->arriving) return;
    struct fetch_request *r = flight->request;
    if (r->answer.data != NULL) r->answer.size = f->length;
    flight->arriving = false;
    land(l, flight);
    request_end(r, l->ended ? &l->why : NULL);
    link_pump(l);
}
