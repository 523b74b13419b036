/* Connections of a daemon: drivers, who queue for a child process and are told their places, and
 * clients, who ask one question. A driver that is silent or gone gives up its place, or its child.
 */
#include "engine/executor/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <string.h>

void visitor_send(struct visitor *v, enum frame_type type, uint64_t request, struct buffer *payload)
{
    conn_send(v->conn, type, request, payload); /* where it fails the connection ends by itself */
    if (payload != NULL) buffer_fini(payload);
}

void visitor_close(struct visitor *v)
{
    v->closing = true;
    conn_close(v->conn, true);
}

void visitor_refuse(struct visitor *v, const struct glint_error *why)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    v->state = VISITOR_NEW;
    if (refuse_encode(why, &payload, &ignored) == 0) visitor_send(v, FRAME_REFUSE, 0, &payload);
    visitor_close(v);
}

void visitor_on_ended(struct visitor *v)
{
    assert(v->state == VISITOR_SERVED && v->ward != NULL);
    v->state = VISITOR_NEW;
    v->ward = NULL;
}

/* ---- The queue */

static struct visitor *first_queued(struct daemon *d, uint64_t after_ticket)
{
    struct visitor *first = NULL;
    for (struct visitor *v = d->visitors; v != NULL; v = v->next)
        if (v->state == VISITOR_QUEUED && v->ticket > after_ticket &&
            (first == NULL || v->ticket < first->ticket))
            first = v;
    return first;
}

static void serve(struct daemon *d, struct visitor *v)
{
    struct glint_error error = {.code = GLINT_OK};
    v->state = VISITOR_SERVED;
    if (ward_start(d, v, &error) == 0) return;
    log_error(LOG_ERROR, &(struct log_ids){.job = v->job}, &error);
    visitor_refuse(v, &error);
}

void queue_pump(struct daemon *d)
{
    struct visitor *v;
    uint64_t ticket = 0, place = 0;
    if (d->stopping || d->draining) return;
    while (d->ward_count < d->cluster->drivers_max && (v = first_queued(d, 0)) != NULL) serve(d, v);
    while ((v = first_queued(d, ticket)) != NULL) {
        ticket = v->ticket;
        place++;
        if (v->place == place) continue;
        v->place = place;
        visitor_send(v, FRAME_QUEUED, place, NULL);
    }
    assert(place <= QUEUE_LENGTH_MAX);
}

static void refuse_draining(struct visitor *v)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_NO_EXECUTORS, NULL, "executor %s drains: it takes no more jobs",
              v->d->self->id);
    visitor_refuse(v, &why);
}

void queue_refuse_all(struct daemon *d)
{
    for (struct visitor *v = d->visitors; v != NULL; v = v->next)
        if (v->state == VISITOR_QUEUED) refuse_draining(v);
}

static bool is_same_driver(const struct visitor *a, const struct visitor *b)
{
    return memcmp(conn_peer(a->conn)->incarnation, conn_peer(b->conn)->incarnation,
                  INCARNATION_BYTES) == 0;
}

/* Another connection that has the job; NULL: none. */
static struct visitor *find_job(const struct visitor *v, struct visitor *from)
{
    for (; from != NULL; from = from->next)
        if (from != v && from->job == v->job && from->state != VISITOR_NEW) return from;
    return NULL;
}

/* A driver that has lost its connection comes again before we notice: its old one is replaced. The
 * id of a job is in STATUS, so it proves nothing: the incarnation must be the same. False: the job
 * is another driver's, and `v` is refused. */
static bool replace_connection(struct visitor *v)
{
    struct glint_error why = {.code = GLINT_OK};
    const struct log_ids ids = {.job = v->job, .peer = conn_address(v->conn)};
    struct visitor *other = find_job(v, v->d->visitors);
    for (; other != NULL && is_same_driver(other, v); other = find_job(v, other->next)) {
        log_line(LOG_INFO, &ids, "its driver is here again, and replaces its connection from %s",
                 conn_address(other->conn));
        if (other->ward != NULL) ward_let_go(other->ward);
        if (other->state == VISITOR_QUEUED) other->state = VISITOR_NEW;
        visitor_close(other);
    }
    if (other == NULL) return true;
    error_set(&why, GLINT_E_NO_EXECUTORS, NULL,
              "executor %s has a job %016llx of another driver (%s)", v->d->self->id,
              (unsigned long long)v->job, conn_address(other->conn));
    log_error(LOG_WARN, &ids, &why);
    visitor_refuse(v, &why);
    return false;
}

static int on_admit(struct visitor *v, struct glint_slice payload, struct glint_error *error)
{
    struct daemon *d = v->d;
    struct admit admit;
    uint32_t queued = 0;
    int r = admit_decode(payload, &admit, error);
    if (r != 0) return r;
    if (!v->is_driver || v->state != VISITOR_NEW || admit.job == 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "ADMIT twice, or of nobody's job");
    if (d->draining) {
        refuse_draining(v);
        return 0;
    }
    for (const struct visitor *o = d->visitors; o != NULL; o = o->next)
        queued += o->state == VISITOR_QUEUED;
    if (queued == QUEUE_LENGTH_MAX) {
        struct glint_error full = {.code = GLINT_OK};
        error_set(&full, GLINT_E_NO_EXECUTORS, NULL, "%u jobs wait for executor %s already", queued,
                  d->self->id);
        visitor_refuse(v, &full);
        return 0;
    }
    v->job = admit.job;
    text_format(v->name, sizeof v->name, "%s", admit.name);
    if (!replace_connection(v)) return 0;
    v->state = VISITOR_QUEUED;
    v->ticket = ++d->last_ticket;
    v->place = 0;
    v->since_ns = daemon_now(d);
    queue_pump(d);
    return 0;
}

/* ---- Frames */

static int on_progress(struct visitor *v, struct glint_slice payload, struct glint_error *error)
{
    if (!v->is_driver || v->job == 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "PROGRESS of no job");
    return job_progress_decode(payload, &v->progress, error);
}

static int visitor_frame(void *arg, struct conn *conn, const struct frame *f,
                         struct glint_slice payload, struct glint_error *error)
{
    struct visitor *v = arg;
    struct ping ping;
    assert(v->conn == conn);
    if (v->closing || v->d->stopping) return 0;
    liveness_heard(&v->liveness, daemon_now(v->d));
    switch (f->type) {
    case FRAME_PING: return ping_decode(payload, &ping, error);
    case FRAME_PROGRESS: return on_progress(v, payload, error);
    case FRAME_ADMIT: return on_admit(v, payload, error);
    case FRAME_STATUS: return status_answer(v, error);
    case FRAME_CANCEL: return cancel_answer(v, payload, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a daemon was sent a %s frame",
                         frame_name(f->type));
    }
}

static void visitor_closed(void *arg, struct conn *conn, const struct glint_error *why)
{
    struct visitor *v = arg;
    struct daemon *d = v->d;
    struct visitor **at = &d->visitors;
    assert(v->conn == conn && d->visitor_count > 0);
    if (why->code == GLINT_E_PROTOCOL)
        log_error(LOG_WARN, &(struct log_ids){.peer = conn_address(conn)}, why);
    while (*at != v) at = &(*at)->next;
    *at = v->next;
    d->visitor_count--;
    if (v->ward != NULL) {
        v->ward->visitor = NULL;
        ward_let_go(v->ward);
    }
    mem_free(v);
    queue_pump(d);
    daemon_check(d);
}

static const struct conn_events visitor_events = {.frame = visitor_frame, .closed = visitor_closed};

bool visitor_on_accepted(void *arg, struct conn *conn, struct glint_error *error)
{
    struct daemon *d = arg;
    enum role role = conn_peer(conn)->role;
    assert(role == ROLE_DRIVER || role == ROLE_CLIENT); /* the hello is checked */
    if (d->visitor_count == VISITORS_MAX) {
        error_set(error, GLINT_E_CONNECTION, NULL, "executor %s has %u connections already",
                  d->self->id, VISITORS_MAX);
        return false;
    }
    struct visitor *v = mem_zalloc(sizeof *v);
    if (v == NULL) {
        error_no_memory(error);
        return false;
    }
    v->d = d;
    v->conn = conn;
    v->is_driver = role == ROLE_DRIVER;
    if (!v->is_driver) conn_read_in_turn(conn); /* it asks, and is answered */
    liveness_init(&v->liveness, &d->cluster->heartbeat, daemon_now(d));
    v->next = d->visitors;
    d->visitors = v;
    d->visitor_count++;
    conn_set(conn, &visitor_events, v);
    daemon_due(d, daemon_now(d) + d->cluster->heartbeat.beat_ns);
    daemon_check(d);
    return true;
}

/* ---- Signs of life */

uint64_t visitor_look(struct visitor *v, uint64_t now)
{
    bool beat = false;
    uint64_t next = UINT64_MAX;
    const struct ping ping = {.sent_ns = now};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (v->closing) return UINT64_MAX;
    if (liveness_look(&v->liveness, now, &beat, &next) == LIFE_DEAD) {
        log_line(LOG_WARN, &(struct log_ids){.job = v->job, .peer = conn_address(v->conn)},
                 "no sign of life for %llu ms: the connection is given up",
                 (unsigned long long)(v->d->cluster->heartbeat.dead_ns / MS_NS));
        v->closing = true;
        conn_close(v->conn, false);
        return UINT64_MAX;
    }
    if (beat && v->is_driver && ping_encode(&ping, &payload, &ignored) == 0)
        visitor_send(v, FRAME_PING, 0, &payload);
    return next;
}
