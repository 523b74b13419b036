/* The connections to one executor: control for messages and heartbeats, data for blocks. One is of
 * no use without the other, so the executor is lost when either closes.
 *
 * Only the executor's daemon knows how the process exited, and reports it a moment later. The loss
 * is reported to the driver with that status, but after at most EXIT_REPORT_MS. */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

#define EXIT_REPORT_MS 1000u

void send_frame(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload)
{
    conn_send(c, type, request, payload); /* on failure the connection closes by itself */
    if (payload != NULL) buffer_fini(payload);
}

struct executor_conn *executor_conn_create(struct cluster_transport *r, const uint8_t *incarnation,
                                           struct glint_error *error)
{
    /* Numbers are never reused, so a job can use EXECUTORS_MAX executors in all. */
    if (r->executor_conn_count >= CLUSTER_EXECUTORS_MAX || r->number_count >= EXECUTORS_MAX) {
        error_set(error, GLINT_E_NO_EXECUTORS, NULL,
                  "the job has reached its maximum number of executors");
        return NULL;
    }
    struct executor_conn *l = mem_zalloc(sizeof *l);
    if (l == NULL) {
        error_no_memory(error);
        return NULL;
    }
    l->r = r;
    memcpy(l->incarnation, incarnation, sizeof l->incarnation);
    /* Both connections, and then REGISTER. */
    l->deadline_ns = cluster_transport_now(r) + 2 * r->net.connect_ms * MS_NS;
    liveness_init(&l->liveness, &r->cluster->heartbeat, cluster_transport_now(r));
    *r->executor_conns_end = l;
    r->executor_conns_end = &l->next;
    r->executor_conn_count++;
    cluster_transport_arm_timer(r, l->deadline_ns);
    return l;
}

/* Frees it when no references remain: both connections have closed, whose callbacks use it, and
 * the loss is reported. */
static void executor_conn_free_if_unused(struct executor_conn *l)
{
    struct cluster_transport *r = l->r;
    if (l->control != NULL || l->data != NULL) return;
    if (l->state != EXECUTOR_CONN_CLOSED && !r->stopping) return;
    struct executor_conn **at = &r->executor_conns;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    if (r->executor_conns_end == &l->next) r->executor_conns_end = at;
    assert(r->executor_conn_count > 0 && l->sending_bytes == 0);
    r->executor_conn_count--;
    task_result_fetch_fini(l);
    inbox_event_destroy(l->lost_event);
    mem_free(l);
}

/* ---- Failure and loss */

static void close_both_conns(struct executor_conn *l, bool flush)
{
    if (l->control != NULL) conn_close(l->control, flush);
    if (l->data != NULL) conn_close(l->data, flush);
}

void executor_conn_finalize(struct executor_conn *l)
{
    struct cluster_transport *r = l->r;
    assert(l->state == EXECUTOR_CONN_CLOSING);
    l->state = EXECUTOR_CONN_CLOSED;
    struct glint_error why = l->why;
    enum executor_loss_reason loss = LOSS_CONNECTION;
    /* If it never joined and did not exit, `why` is a failed dial and more precise. */
    if (l->joined || l->has_exited) loss = executor_loss_describe(l, &why);
    if (l->joined) {
        l->lost_event->loss = loss;
        l->lost_event->why = why;
        inbox_push(r, l->lost_event);
        l->lost_event = NULL;
    }
    if (l->daemon_conn != NULL) {
        if (l->draining) l->daemon_conn->drained = true; /* on purpose: do not launch it again */
        daemon_conn_on_executor_gone(l->daemon_conn, &why, l->joined);
    }
    l->daemon_conn = NULL;
    registration_on_executor_gone(l);
    executor_conn_free_if_unused(l);
}

void executor_conn_fail(struct executor_conn *l, const struct glint_error *why)
{
    struct cluster_transport *r = l->r;
    if (l->state >= EXECUTOR_CONN_CLOSING || r->stopping) return;
    l->state = EXECUTOR_CONN_CLOSING;
    l->why = *why;
    if (l->why.code == GLINT_OK)
        error_set(&l->why, GLINT_E_CONNECTION, NULL, "the connection was closed");
    close_both_conns(l, false);
    /* Finalize from the timer: callers still use `l`, which executor_conn_finalize may free. */
    l->deadline_ns = cluster_transport_now(r);
    cluster_transport_arm_timer(r, l->deadline_ns);
}

/* A connection was closed by the executor, perhaps because its process crashed: waits up to
 * EXIT_REPORT_MS for the daemon's EXECUTOR_EXITED, which says whether a task killed it. A protocol
 * error needs no such explanation. */
static void executor_conn_fail_by_peer(struct executor_conn *l, const struct glint_error *why)
{
    struct cluster_transport *r = l->r;
    if (l->state >= EXECUTOR_CONN_CLOSING || r->stopping) return;
    executor_conn_fail(l, why);
    bool may_hear = l->daemon_conn != NULL && l->daemon_conn->conn != NULL && !l->has_exited;
    if (may_hear && l->why.code == GLINT_E_CONNECTION) l->deadline_ns += EXIT_REPORT_MS * MS_NS;
}

void executor_conn_fail_with(struct executor_conn *l, enum glint_code code, const char *cause, ...)
{
    struct glint_error why = {.code = GLINT_OK};
    va_list args;
    va_start(args, cause);
    error_set_va(&why, code, NULL, cause, args);
    va_end(args);
    executor_conn_fail(l, &why);
}

void executor_conn_on_executor_exited(struct executor_conn *l, const struct executor_exited *exited)
{
    if (l->has_exited || l->state == EXECUTOR_CONN_CLOSED) return;
    l->has_exited = true;
    l->exited = *exited;
    /* If its connections are still open, messages that it sent before it exited (DONE) may still
     * be in flight: wait until the connections close, at most EXIT_REPORT_MS. */
    l->deadline_ns = cluster_transport_now(l->r) +
                     (l->state == EXECUTOR_CONN_CLOSING ? 0 : EXIT_REPORT_MS * MS_NS);
    cluster_transport_arm_timer(l->r, l->deadline_ns);
}

/* ---- Frames from the executor */

/* OPENING -> REGISTERED. REGISTER may arrive before the data connection is open. */

static void executor_conn_check_registered(struct executor_conn *l)
{
    if (l->state != EXECUTOR_CONN_OPENING || !l->is_registered || l->control == NULL ||
        l->data == NULL)
        return;
    if (!conn_is_open(l->control) || !conn_is_open(l->data)) return;
    l->state = EXECUTOR_CONN_REGISTERED;
    registration_join_if_enough(l->r);
}

static int on_register(struct executor_conn *l, struct glint_slice payload,
                       struct glint_error *error)
{
    struct executor_registration ready;
    int r = executor_registration_decode(payload, &ready, error);
    if (r != 0) return r;
    /* Zero slots or port 0 would make it an executor that never runs or serves anything. */
    if (l->is_registered || ready.slots == 0 || ready.slots > SLOTS_MAX || ready.port == 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "duplicate or invalid REGISTER: %u slots, port %u", ready.slots,
                         ready.port);
    l->is_registered = true;
    l->slots = ready.slots;
    l->port = ready.port;
    executor_conn_check_registered(l);
    return 0;
}

static int on_task_message(struct executor_conn *l, struct glint_slice payload,
                           struct glint_error *error)
{
    struct message *m = message_decode(payload, error);
    if (m == NULL) return error->code;
    /* An executor sends only results of tasks, and gets no task before it joins. */
    bool known = l->joined && (m->type == MSG_DONE || (m->type == MSG_FAILED && m->error != NULL));
    if (!known) {
        message_destroy(m);
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected message from an executor");
    }
    if (m->type == MSG_DONE && m->id != 0) { /* the result stayed with the executor */
        task_result_fetch_add(l, m);
        return 0;
    }
    struct inbox_event *e = inbox_event_create(INBOX_MESSAGE, l->number);
    if (e == NULL) {
        message_destroy(m);
        return error_no_memory(error);
    }
    e->message = m;
    inbox_push(l->r, e);
    return 0;
}

static int on_drain_request(struct executor_conn *l, struct glint_error *error)
{
    if (l->draining || !l->joined) { /* not joined: join_job_and_notify reports it */
        l->draining = true;
        return 0;
    }
    struct inbox_event *e = inbox_event_create(INBOX_EXECUTOR_DRAINING, l->number);
    if (e == NULL) return error_no_memory(error);
    l->draining = true;
    inbox_push(l->r, e);
    return 0;
}

static int on_control_frame(struct executor_conn *l, const struct frame *f,
                            struct glint_slice payload, struct glint_error *error)
{
    struct ping ping;
    switch (f->type) {
    case FRAME_PING: return ping_decode(payload, &ping, error);
    case FRAME_REGISTER: return on_register(l, payload, error);
    case FRAME_MESSAGE: return on_task_message(l, payload, error);
    case FRAME_DRAIN: return on_drain_request(l, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected frame type %d from an executor",
                         (int)f->type);
    }
}

static int on_data_frame(struct executor_conn *l, const struct frame *f, struct glint_slice payload,
                         struct glint_error *error)
{
    switch (f->type) {
    case FRAME_GET: return broadcast_server_on_get(l, f, payload, error);
    case FRAME_BLOCK_REQUEST: return broadcast_server_on_block_request(l, payload, error);
    case FRAME_FETCH_ERROR: return task_result_fetch_on_error(l, f, payload, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "unexpected frame type %d on an executor's data connection", (int)f->type);
    }
}

/* Reports a change between suspect and alive. When out of memory the state is not changed, so the
 * next heartbeat or timer tries again. */
static void set_suspect(struct executor_conn *l, bool suspect)
{
    struct inbox_event *e =
        l->joined && l->suspect != suspect
            ? inbox_event_create(suspect ? INBOX_EXECUTOR_SUSPECT : INBOX_EXECUTOR_ALIVE, l->number)
            : NULL;
    if (e == NULL) return;
    l->suspect = suspect;
    inbox_push(l->r, e);
}

/* Any frame on either connection counts as a heartbeat. */
static void record_last_seen(struct executor_conn *l)
{
    liveness_on_heartbeat(&l->liveness, cluster_transport_now(l->r));
    set_suspect(l, false);
}

static int executor_conn_on_frame(void *arg, struct conn *c, const struct frame *f,
                                  struct glint_slice payload, struct glint_error *error)
{
    struct executor_conn *l = arg;
    /* Frames may still arrive until `closed`: after its loss the driver must not see them. */
    if (l->state >= EXECUTOR_CONN_CLOSING || l->r->stopping) return 0;
    record_last_seen(l);
    return c == l->control ? on_control_frame(l, f, payload, error)
                           : on_data_frame(l, f, payload, error);
}

static uint8_t *executor_conn_buffer_for(void *arg, struct conn *c, const struct frame *f)
{
    struct executor_conn *l = arg;
    if (c != l->data || l->state >= EXECUTOR_CONN_CLOSING || l->r->stopping) return NULL;
    record_last_seen(l);
    return task_result_fetch_buffer_for(l, f);
}

static void executor_conn_on_data(void *arg, struct conn *c, const struct frame *f)
{
    struct executor_conn *l = arg;
    if (c != l->data || l->state >= EXECUTOR_CONN_CLOSING || l->r->stopping) return;
    record_last_seen(l);
    task_result_fetch_on_data(l, f);
}

static void executor_conn_on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct executor_conn *l = arg;
    assert(c == l->control || c == l->data);
    if (c == l->control)
        l->control = NULL;
    else
        l->data = NULL;
    executor_conn_fail_by_peer(l, why);
    executor_conn_free_if_unused(l);
}

/* ---- Opening connections */

static void executor_conn_on_opened(void *arg, struct conn *c)
{
    struct executor_conn *l = arg;
    const struct hello *peer = conn_peer_hello(c);
    if (l->state >= EXECUTOR_CONN_CLOSING || l->r->stopping) return;
    /* The executor may have exited already, and another process may have got its port. */
    if (peer->role != ROLE_EXECUTOR ||
        memcmp(peer->incarnation, l->incarnation, sizeof l->incarnation) != 0)
        executor_conn_fail_with(l, GLINT_E_CONNECTION,
                                "the process at %s is not the one that the daemon started",
                                conn_peer_address(c));
    else
        executor_conn_check_registered(l);
}

static const struct conn_events executor_conn_events = {.opened = executor_conn_on_opened,
                                                        .frame = executor_conn_on_frame,
                                                        .buffer_for = executor_conn_buffer_for,
                                                        .data = executor_conn_on_data,
                                                        .closed = executor_conn_on_closed};

int executor_conn_dial(struct daemon_conn *p, const struct executor_started *a,
                       struct glint_error *error)
{
    struct cluster_transport *r = p->r;
    struct executor_conn *l = executor_conn_create(r, a->incarnation, error);
    if (l == NULL) return error->code;
    assert(p->executor_conn == NULL);
    p->executor_conn = l;
    l->daemon_conn = p;
    text_format(l->name, sizeof l->name, "%s", p->at->id);
    text_format(l->host, sizeof l->host, "%s", p->at->host);
    struct glint_error why = {.code = GLINT_OK};
    l->control = conn_dial(&r->net, l->host, a->port, CHANNEL_CONTROL, a->incarnation,
                           &executor_conn_events, l, &why);
    if (l->control != NULL)
        l->data = conn_dial(&r->net, l->host, a->port, CHANNEL_DATA, a->incarnation,
                            &executor_conn_events, l, &why);
    if (l->data == NULL) executor_conn_fail(l, &why); /* also if control failed: data is NULL */
    return 0;
}

void executor_conn_attach(struct executor_conn *l, struct conn *c)
{
    bool control = conn_peer_hello(c)->channel == CHANNEL_CONTROL;
    assert(conn_is_open(c) && (control ? l->control : l->data) == NULL);
    if (control)
        l->control = c;
    else
        l->data = c;
    conn_set_events(c, &executor_conn_events, l);
    executor_conn_check_registered(l); /* `opened` is called for dialled connections only */
}

/* ---- Timer */

static uint64_t executor_conn_heartbeat(struct executor_conn *l, uint64_t now)
{
    bool heartbeat_due = false;
    uint64_t next = UINT64_MAX;
    struct ping ping = {.sent_ns = now};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    enum life life = liveness_on_timer(&l->liveness, now, &heartbeat_due, &next);
    if (life != LIFE_DEAD) set_suspect(l, life == LIFE_SUSPECT);
    if (life == LIFE_DEAD) {
        executor_conn_fail_with(l, GLINT_E_CONNECTION, "no heartbeat for %llu ms",
                                (unsigned long long)(l->r->cluster->heartbeat.dead_ns / MS_NS));
        return now; /* to finalize it */
    }
    if (heartbeat_due && ping_encode(&ping, &payload, &ignored) == 0)
        send_frame(l->control, FRAME_PING, 0, &payload);
    buffer_fini(&payload);
    return next;
}

uint64_t executor_conn_on_timer(struct executor_conn *l, uint64_t now)
{
    /* The process has exited but its connections are still open, e.g. the FIN was lost. */
    bool exited = l->has_exited && l->state < EXECUTOR_CONN_CLOSING;
    if ((l->state == EXECUTOR_CONN_OPENING || exited) && now >= l->deadline_ns)
        executor_conn_fail_with(l, GLINT_E_CONNECTION,
                                exited ? "its process has exited"
                                       : "its process did not register in time");
    if (l->state == EXECUTOR_CONN_CLOSING) {
        if (now < l->deadline_ns) return l->deadline_ns;
        executor_conn_finalize(l);
        return UINT64_MAX;
    }
    if (l->state == EXECUTOR_CONN_CLOSED) return UINT64_MAX;
    uint64_t next = l->state == EXECUTOR_CONN_OPENING || exited ? l->deadline_ns : UINT64_MAX;
    uint64_t due = l->control != NULL && conn_is_open(l->control) ? executor_conn_heartbeat(l, now)
                                                                  : UINT64_MAX;
    if (due < next) next = due;
    due = task_result_fetch_on_timer(l, now);
    return due < next ? due : next;
}

void executor_conn_close(struct executor_conn *l)
{
    close_both_conns(l, true);
    executor_conn_free_if_unused(l);
}
