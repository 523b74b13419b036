/* Connections of the daemon: drivers, which queue for an executor and receive their position, and
 * clients, which send STATUS or CANCEL. A driver that disconnects or misses its heartbeats loses
 * its position or its executor. Clients have places of their own. */
#include "engine/node/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

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
    if (reject_encode(why, &payload, &ignored) == 0) conn_send(v->conn, FRAME_REJECT, 0, &payload);
    session_close(v);
}

void session_on_executor_exited(struct daemon_session *v)
{
    assert(v->state == SESSION_SERVED && v->runner != NULL);
    v->state = SESSION_NEW;
    v->runner = NULL;
}

/* ---- Places: clients never take those of drivers, since a client secret opens connections, too */

static void uncount(struct daemon_session *v)
{
    uint32_t *count = v->is_driver ? &v->d->driver_count : &v->d->client_count;
    if (v->dropped) return;
    assert(*count > 0);
    --*count;
    v->dropped = true;
}

/* At once: a client that does not read must not keep its place. */
static void drop_client(struct daemon_session *v, const char *why)
{
    log_line(LOG_WARN, &(struct log_ids){.peer = conn_peer_address(v->conn)},
             "closing the connection of a client: %s", why);
    uncount(v);
    v->closing = true;
    conn_close(v->conn, false);
}

/* The client without a request for longest. NULL: none. */
static struct daemon_session *longest_idle_client(const struct daemon *d)
{
    struct daemon_session *longest = NULL;
    for (struct daemon_session *v = d->sessions; v != NULL; v = v->next)
        if (!v->is_driver && !v->dropped &&
            (longest == NULL || v->last_request_ns < longest->last_request_ns))
            longest = v;
    return longest;
}

void session_drop_idle_clients(void *arg)
{
    struct daemon *d = arg;
    const uint64_t now = daemon_now(d), dead_ns = d->cluster->heartbeat.dead_ns;
    struct daemon_session *v;
    if (d->stopping) return;
    while ((v = longest_idle_client(d)) != NULL && v->last_request_ns + dead_ns <= now)
        drop_client(v, "no request within dead");
    if (v != NULL) deadline_start_by(&d->client_deadline, v->last_request_ns + dead_ns, now);
}

/* Returns false with *error set if there are too many drivers. */
static bool count_session(struct daemon *d, bool is_driver, struct glint_error *error)
{
    if (is_driver && d->driver_count == DRIVERS_MAX) {
        error_set(error, GLINT_E_CONNECTION, NULL,
                  "too many drivers connected to executor %s (max %u)", d->self->id, DRIVERS_MAX);
        return false;
    }
    if (!is_driver && d->client_count == CLIENTS_MAX)
        drop_client(longest_idle_client(d), "too many clients");
    ++*(is_driver ? &d->driver_count : &d->client_count);
    return true;
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
static void start_requested_executor(struct daemon *d, struct daemon_session *v)
{
    struct glint_error error = {.code = GLINT_OK};
    v->state = SESSION_SERVED;
    if (executor_runner_start(d, v, &error) == 0) return;
    log_error(LOG_ERROR, &(struct log_ids){.job = v->request.job.job}, &error);
    session_reject(v, &error);
}

void job_queue_run(struct daemon *d)
{
    struct daemon_session *v;
    uint64_t queue_order = 0, queue_position = 0;
    if (d->stopping || d->draining) return;
    while (d->runner_count < d->cluster->drivers_max && (v = next_in_queue(d, 0)) != NULL)
        start_requested_executor(d, v);
    while ((v = next_in_queue(d, queue_order)) != NULL) {
        queue_order = v->queue_order;
        queue_position++;
        /* Send a position only when it has changed. */
        if (v->queue_position == queue_position) continue;
        v->queue_position = queue_position;
        conn_send(v->conn, FRAME_QUEUED, queue_position, NULL);
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
        if (v->state == SESSION_QUEUED || v->state == SESSION_FETCHING) reject_draining(v);
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
        if (from != v && from->request.job.job == v->request.job.job && from->state != SESSION_NEW)
            return from;
    return NULL;
}

/* A driver that lost its connection may reconnect before the daemon notices: the new connection
 * replaces the old one. STATUS shows job ids, so an id proves nothing: the incarnation must be the
 * same. Returns false if the job is another driver's; `v` is then rejected. */
static bool replace_connection(struct daemon_session *v)
{
    struct glint_error why = {.code = GLINT_OK};
    const struct log_ids ids = {.job = v->request.job.job, .peer = conn_peer_address(v->conn)};
    struct daemon_session *other = find_session_of_job(v, v->d->sessions);
    for (; other != NULL && is_same_driver(other, v); other = find_session_of_job(v, other->next)) {
        log_line(LOG_INFO, &ids, "driver reconnected, replacing its connection from %s",
                 conn_peer_address(other->conn));
        /* The old executor serves the lost connections of this driver and cannot continue. */
        if (other->runner != NULL) executor_runner_stop(other->runner);
        if (other->state != SESSION_SERVED) other->state = SESSION_NEW;
        session_close(other);
    }
    if (other == NULL) return true;
    error_set(&why, GLINT_E_NO_EXECUTORS, NULL,
              "executor %s already has job %016llx of another driver (%s)", v->d->self->id,
              (unsigned long long)v->request.job.job, conn_peer_address(other->conn));
    log_error(LOG_WARN, &ids, &why);
    session_reject(v, &why);
    return false;
}

static void enqueue(struct daemon_session *v)
{
    v->state = SESSION_QUEUED;
    v->queue_order = ++v->d->last_queue_order;
    v->queue_position = 0;
    job_queue_run(v->d);
}

/* ---- Programs of another build */

static int session_on_frame(void *arg, struct conn *conn, const struct frame *f,
                            struct glint_slice payload, struct glint_error *error);
static void session_on_closed(void *arg, struct conn *conn, const struct glint_error *why);

static void on_program_fetched(void *arg, struct program_file *file, const struct glint_error *why)
{
    struct daemon_session *v = arg;
    if (v->closing || v->state != SESSION_FETCHING) return;
    if (why != NULL) {
        log_error(LOG_ERROR, &(struct log_ids){.job = v->request.job.job}, why);
        session_reject(v, why);
        return;
    }
    v->program = *file;
    *file = PROGRAM_FILE_NONE;
    enqueue(v);
}

static uint8_t *session_buffer_for(void *arg, struct conn *conn, const struct frame *f)
{
    struct daemon_session *v = arg;
    (void)conn;
    return program_fetch_buffer_for(v->fetch, f);
}

static void session_on_data(void *arg, struct conn *conn, const struct frame *f)
{
    struct daemon_session *v = arg;
    (void)conn;
    program_fetch_on_data(v->fetch, f);
}

static const struct conn_events fetching_session_events = {.frame = session_on_frame,
                                                           .buffer_for = session_buffer_for,
                                                           .data = session_on_data,
                                                           .closed = session_on_closed};

static void start_program_fetch(struct daemon_session *v)
{
    struct glint_error why = {.code = GLINT_OK};
    struct daemon *d = v->d;
    v->state = SESSION_FETCHING;
    if (!d->cluster->allow_programs)
        error_set(&why, GLINT_E_PEER_MISMATCH,
                  "install the same build of glint on every node and restart its executors, or set "
                  "allow_programs in their cluster.toml",
                  "executor %s runs build %s, the driver build %s", d->self->id, build_id(),
                  conn_peer_hello(v->conn)->build);
    else if (v->fetch == NULL)
        v->fetch =
            program_fetch_start(&d->net, v->conn, d->cluster->fetch_ms, on_program_fetched, v);
    else
        error_set(&why, GLINT_E_PROTOCOL, NULL, "second REQUEST_EXECUTOR of a driver");
    if (why.code == GLINT_OK && v->fetch == NULL) error_no_memory(&why);
    if (why.code == GLINT_OK) {
        conn_set_events(v->conn, &fetching_session_events, v);
        return;
    }
    log_error(LOG_WARN,
              &(struct log_ids){.job = v->request.job.job, .peer = conn_peer_address(v->conn)},
              &why);
    session_reject(v, &why);
}

static int on_executor_request(struct daemon_session *v, struct glint_slice payload,
                               struct glint_error *error)
{
    struct daemon *d = v->d;
    struct executor_request requested;
    uint32_t queued = 0;
    int r = executor_request_decode(payload, &requested, error);
    if (r != 0) return r;
    if (!v->is_driver || v->state != SESSION_NEW)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate or invalid REQUEST_EXECUTOR");
    if (d->draining) {
        reject_draining(v);
        return 0;
    }
    for (const struct daemon_session *o = d->sessions; o != NULL; o = o->next)
        queued += o->state == SESSION_QUEUED || o->state == SESSION_FETCHING;
    if (queued == QUEUE_LENGTH_MAX) {
        struct glint_error queue_full = {.code = GLINT_OK};
        error_set(&queue_full, GLINT_E_NO_EXECUTORS, NULL,
                  "too many queued jobs on executor %s (max %u)", d->self->id, queued);
        session_reject(v, &queue_full);
        return 0;
    }
    /* The job must be known before replace_connection looks for other sessions with it. */
    v->request = requested;
    v->requested_ns = daemon_now(d);
    if (!replace_connection(v)) return 0;
    if (strcmp(conn_peer_hello(v->conn)->build, build_id()) == 0 && build_is_marked(build_id()))
        enqueue(v);
    else
        start_program_fetch(v);
    return 0;
}

/* ---- Frames */

static int on_progress(struct daemon_session *v, struct glint_slice payload,
                       struct glint_error *error)
{
    if (!v->is_driver || v->request.job.job == 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "PROGRESS without a job");
    return job_progress_decode(payload, &v->progress, error);
}

static int session_on_frame(void *arg, struct conn *conn, const struct frame *f,
                            struct glint_slice payload, struct glint_error *error)
{
    struct daemon_session *v = arg;
    assert(v->conn == conn);
    /* Ignore frames that arrive while the last reply is flushed. */
    if (v->closing || v->d->stopping) return 0;
    if (f->type == FRAME_STATUS || f->type == FRAME_CANCEL) v->last_request_ns = daemon_now(v->d);
    switch (f->type) {
    case FRAME_PROGRESS: return on_progress(v, payload, error);
    case FRAME_REQUEST_EXECUTOR: return on_executor_request(v, payload, error);
    case FRAME_STATUS: return session_reply_status(v, error);
    case FRAME_CANCEL: return session_reply_cancel(v, payload, error);
    case FRAME_PROGRAM:
    case FRAME_FETCH_ERROR:
        if (v->fetch != NULL) return program_fetch_on_frame(v->fetch, f, payload, error);
        __attribute__((fallthrough));
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
    assert(v->conn == conn);
    if (why->code == GLINT_E_PROTOCOL)
        log_error(LOG_WARN, &(struct log_ids){.peer = conn_peer_address(conn)}, why);
    while (*at != v) at = &(*at)->next;
    *at = v->next;
    uncount(v);
    if (v->runner != NULL) {
        /* The driver is gone, so its executor is of no use. */
        v->runner->session = NULL;
        executor_runner_stop(v->runner);
    }
    program_fetch_release(v->fetch);
    program_file_close(d->env, &v->program);
    secret_clear(&v->request.key);
    mem_free(v);
    job_queue_run(d);
    daemon_stop_if_done(d);
}

/* Until a program is fetched, DATA is not expected and closes the connection. */
static const struct conn_events session_events = {.frame = session_on_frame,
                                                  .closed = session_on_closed};

bool session_on_accepted(void *arg, struct conn *conn, struct glint_error *error)
{
    struct daemon *d = arg;
    enum role role = conn_peer_hello(conn)->role;
    assert(role == ROLE_DRIVER || role == ROLE_CLIENT); /* the handshake rejects other roles */
    struct daemon_session *v = mem_zalloc(sizeof *v);
    if (v == NULL) error_no_memory(error);
    if (v == NULL || !count_session(d, role == ROLE_DRIVER, error)) {
        mem_free(v);
        return false;
    }
    v->d = d;
    v->conn = conn;
    v->is_driver = role == ROLE_DRIVER;
    v->program = PROGRAM_FILE_NONE;
    if (!v->is_driver) conn_set_half_duplex(conn); /* request and response only */
    v->last_request_ns = daemon_now(d);
    v->next = d->sessions;
    d->sessions = v;
    if (!v->is_driver) session_drop_idle_clients(d);
    conn_set_events(conn, &session_events, v);
    conn_start_heartbeat(conn, &d->cluster->heartbeat);
    daemon_stop_if_done(d);
    return true;
}
