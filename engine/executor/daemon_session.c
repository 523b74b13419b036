/* Connections of the daemon: drivers, which queue for an executor and receive their position, and
 * clients, which send STATUS or CANCEL. A driver that disconnects or misses its heartbeats loses
 * its position or its executor. */
#include "engine/executor/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <string.h>

void session_send(struct daemon_session *v, enum frame_type type, uint64_t request,
                  struct buffer *payload)
{
    /* If it fails the connection closes by itself: session_on_closed cleans up. */
    conn_send(v->conn, type, request, payload);
    if (payload != NULL) buffer_fini(payload);
}

void session_close(struct daemon_session *v)
{
    v->closing = true;
    conn_close(v->conn, true);
}

void session_reject(struct daemon_session *v, const struct glint_error *why)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    v->state = SESSION_NEW;
    if (reject_encode(why, &payload, &ignored) == 0) session_send(v, FRAME_REJECT, 0, &payload);
    session_close(v);
}

void session_on_executor_exited(struct daemon_session *v)
{
    assert(v->state == SESSION_SERVED && v->runner != NULL);
    v->state = SESSION_NEW;
    v->runner = NULL;
}

/* ---- Queue */

/* The queued session that comes next after `after_order`; NULL: none. First in, first out. */
static struct daemon_session *next_in_queue(struct daemon *d, uint64_t after_order)
{
    struct daemon_session *first = NULL;
    for (struct daemon_session *v = d->sessions; v != NULL; v = v->next)
        if (v->state == SESSION_QUEUED && v->queue_order > after_order &&
            (first == NULL || v->queue_order < first->queue_order))
            first = v;
    return first;
}

/* Starts an executor for a queued driver, or rejects the driver. */
static void start_executor(struct daemon *d, struct daemon_session *v)
{
    struct glint_error error = {.code = GLINT_OK};
    v->state = SESSION_SERVED;
    if (executor_runner_start(d, v, &error) == 0) return;
    log_error(LOG_ERROR, &(struct log_ids){.job = v->job}, &error);
    session_reject(v, &error);
}

void job_queue_run(struct daemon *d)
{
    struct daemon_session *v;
    uint64_t queue_order = 0, queue_position = 0;
    if (d->stopping || d->draining) return;
    while (d->runner_count < d->cluster->drivers_max && (v = next_in_queue(d, 0)) != NULL)
        start_executor(d, v);
    while ((v = next_in_queue(d, queue_order)) != NULL) {
        queue_order = v->queue_order;
        queue_position++;
        /* Send a position only when it has changed. */
        if (v->queue_position == queue_position) continue;
        v->queue_position = queue_position;
        session_send(v, FRAME_QUEUED, queue_position, NULL);
    }
    assert(queue_position <= QUEUE_LENGTH_MAX);
}

static void reject_draining(struct daemon_session *v)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_NO_EXECUTORS, NULL, "executor %s is draining: no new jobs",
              v->d->self->id);
    session_reject(v, &why);
}

void job_queue_reject_all(struct daemon *d)
{
    for (struct daemon_session *v = d->sessions; v != NULL; v = v->next)
        if (v->state == SESSION_QUEUED) reject_draining(v);
}

static bool is_same_driver(const struct daemon_session *a, const struct daemon_session *b)
{
    return memcmp(conn_peer_hello(a->conn)->incarnation, conn_peer_hello(b->conn)->incarnation,
                  INCARNATION_BYTES) == 0;
}

/* Another connection with the same job, from `from` on; NULL: none. */
static struct daemon_session *find_session_of_job(const struct daemon_session *v,
                                                  struct daemon_session *from)
{
    for (; from != NULL; from = from->next)
        if (from != v && from->job == v->job && from->state != SESSION_NEW) return from;
    return NULL;
}

/* A driver that lost its connection may reconnect before the daemon notices: the new connection
 * replaces the old one. STATUS shows job ids, so an id proves nothing: the incarnation must be the
 * same. Returns false if the job is another driver's; `v` is then rejected. */
static bool replace_connection(struct daemon_session *v)
{
    struct glint_error why = {.code = GLINT_OK};
    const struct log_ids ids = {.job = v->job, .peer = conn_peer_address(v->conn)};
    struct daemon_session *other = find_session_of_job(v, v->d->sessions);
    for (; other != NULL && is_same_driver(other, v); other = find_session_of_job(v, other->next)) {
        log_line(LOG_INFO, &ids, "driver reconnected, replacing its connection from %s",
                 conn_peer_address(other->conn));
        /* The old executor serves the lost connections of this driver and cannot continue. */
        if (other->runner != NULL) executor_runner_stop(other->runner);
        if (other->state == SESSION_QUEUED) other->state = SESSION_NEW;
        session_close(other);
    }
    if (other == NULL) return true;
    error_set(&why, GLINT_E_NO_EXECUTORS, NULL,
              "executor %s already has job %016llx of another driver (%s)", v->d->self->id,
              (unsigned long long)v->job, conn_peer_address(other->conn));
    log_error(LOG_WARN, &ids, &why);
    session_reject(v, &why);
    return false;
}

static int on_executor_request(struct daemon_session *v, struct glint_slice payload,
                               struct glint_error *error)
{
    struct daemon *d = v->d;
    struct job_identity requested;
    uint32_t queued = 0;
    int r = job_identity_decode(payload, &requested, error);
    if (r != 0) return r;
    if (!v->is_driver || v->state != SESSION_NEW || requested.job == 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate or invalid REQUEST_EXECUTOR");
    if (d->draining) {
        reject_draining(v);
        return 0;
    }
    for (const struct daemon_session *o = d->sessions; o != NULL; o = o->next)
        queued += o->state == SESSION_QUEUED;
    if (queued == QUEUE_LENGTH_MAX) {
        struct glint_error queue_full = {.code = GLINT_OK};
        error_set(&queue_full, GLINT_E_NO_EXECUTORS, NULL,
                  "too many queued jobs on executor %s (max %u)", d->self->id, queued);
        session_reject(v, &queue_full);
        return 0;
    }
    v->job = requested.job;
    /* The job must be known before replace_connection looks for other sessions with it. */
    text_format(v->name, sizeof v->name, "%s", requested.name);
    if (!replace_connection(v)) return 0;
    v->state = SESSION_QUEUED;
    v->queue_order = ++d->last_queue_order;
    v->queue_position = 0;
    v->requested_ns = daemon_now(d);
    job_queue_run(d);
    return 0;
}

/* ---- Frames */

static int on_progress(struct daemon_session *v, struct glint_slice payload,
                       struct glint_error *error)
{
    if (!v->is_driver || v->job == 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "PROGRESS without a job");
    return job_progress_decode(payload, &v->progress, error);
}

static int session_on_frame(void *arg, struct conn *conn, const struct frame *f,
                            struct glint_slice payload, struct glint_error *error)
{
    struct daemon_session *v = arg;
    struct ping ping;
    assert(v->conn == conn);
    /* Ignore frames that arrive while the last reply is flushed. */
    if (v->closing || v->d->stopping) return 0;
    liveness_on_heartbeat(&v->liveness, daemon_now(v->d));
    switch (f->type) {
    case FRAME_PING: return ping_decode(payload, &ping, error);
    case FRAME_PROGRESS: return on_progress(v, payload, error);
    case FRAME_REQUEST_EXECUTOR: return on_executor_request(v, payload, error);
    case FRAME_STATUS: return session_reply_status(v, error);
    case FRAME_CANCEL: return session_reply_cancel(v, payload, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected %s frame",
                         frame_type_name(f->type));
    }
}

static void session_on_closed(void *arg, struct conn *conn, const struct glint_error *why)
{
    struct daemon_session *v = arg;
    struct daemon *d = v->d;
    struct daemon_session **at = &d->sessions;
    assert(v->conn == conn && d->session_count > 0);
    if (why->code == GLINT_E_PROTOCOL)
        log_error(LOG_WARN, &(struct log_ids){.peer = conn_peer_address(conn)}, why);
    while (*at != v) at = &(*at)->next;
    *at = v->next;
    d->session_count--;
    if (v->runner != NULL) {
        /* The driver is gone, so its executor is of no use. */
        v->runner->session = NULL;
        executor_runner_stop(v->runner);
    }
    mem_free(v);
    job_queue_run(d);
    daemon_stop_if_done(d);
}

static const struct conn_events session_events = {.frame = session_on_frame,
                                                  .closed = session_on_closed};

bool session_on_accepted(void *arg, struct conn *conn, struct glint_error *error)
{
    struct daemon *d = arg;
    enum role role = conn_peer_hello(conn)->role;
    assert(role == ROLE_DRIVER || role == ROLE_CLIENT); /* the handshake rejects other roles */
    if (d->session_count == SESSIONS_MAX) {
        error_set(error, GLINT_E_CONNECTION, NULL, "too many connections to executor %s (max %u)",
                  d->self->id, SESSIONS_MAX);
        return false;
    }
    struct daemon_session *v = mem_zalloc(sizeof *v);
    if (v == NULL) {
        error_no_memory(error);
        return false;
    }
    v->d = d;
    v->conn = conn;
    v->is_driver = role == ROLE_DRIVER;
    if (!v->is_driver) conn_set_half_duplex(conn); /* request and response only */
    liveness_init(&v->liveness, &d->cluster->heartbeat, daemon_now(d));
    v->next = d->sessions;
    d->sessions = v;
    d->session_count++;
    conn_set_events(conn, &session_events, v);
    /* An idle daemon has no timer: arm it for this session's heartbeats. */
    daemon_arm_timer(d, daemon_now(d) + d->cluster->heartbeat.heartbeat_ns);
    daemon_stop_if_done(d);
    return true;
}

/* ---- Heartbeats */

uint64_t session_on_timer(struct daemon_session *v, uint64_t now)
{
    bool heartbeat_due = false;
    uint64_t next = UINT64_MAX;
    const struct ping ping = {.sent_ns = now};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (v->closing) return UINT64_MAX;
    if (liveness_on_timer(&v->liveness, now, &heartbeat_due, &next) == LIFE_DEAD) {
        /* Without flush: a peer that is dead does not read either. */
        log_line(LOG_WARN, &(struct log_ids){.job = v->job, .peer = conn_peer_address(v->conn)},
                 "no heartbeat for %llu ms: closing the connection",
                 (unsigned long long)(v->d->cluster->heartbeat.dead_ns / MS_NS));
        v->closing = true;
        conn_close(v->conn, false);
        return UINT64_MAX;
    }
    /* Clients get no heartbeats: they send one request and wait for the reply. */
    if (heartbeat_due && v->is_driver && ping_encode(&ping, &payload, &ignored) == 0)
        session_send(v, FRAME_PING, 0, &payload);
    return next;
}
