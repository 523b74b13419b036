/* Life cycle of the executor daemon. An idle daemon does not wake up. */
#include "engine/node/daemon.h"
#include "engine/base/locked_dir.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/net/net_init.h"
#include "engine/node/daemon_internal.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Notifications. One that cannot be sent is logged and otherwise ignored: the service manager
 * then does what its unit says. */

static void notify_service_manager(struct service_notify *n, const char *state)
{
    if (n->socket[0] == '\0') return;
    const int r = n->env->send_datagram(n->env, n->socket, state);
    if (r < 0)
        log_line(LOG_WARN, NULL, "cannot notify the service manager at %s: %s", n->socket,
                 strerror(-r));
}

static void on_watchdog_timer(void *arg)
{
    struct service_notify *n = arg;
    notify_service_manager(n, "WATCHDOG=1");
    deadline_start(&n->watchdog, n->period_ms);
}

/* Returns the time after which the service manager takes this process for hung; 0: never. */
static uint64_t watchdog_us(void)
{
    const char *time = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t us = 0, own = getpid();
    if (pid != NULL && !text_parse_i64((const uint8_t *)pid, strlen(pid), &own)) return 0;
    if (time == NULL || own != getpid()) return 0;
    return text_parse_i64((const uint8_t *)time, strlen(time), &us) && us > 0 ? (uint64_t)us : 0;
}

void service_notify_init(struct service_notify *n, uv_loop_t *loop, struct env *env)
{
    const char *socket = getenv("NOTIFY_SOCKET");
    *n = (struct service_notify){.env = env};
    if (socket != NULL && !text_format(n->socket, sizeof n->socket, "%s", socket))
        n->socket[0] = '\0';
    const uint64_t us = n->socket[0] != '\0' ? watchdog_us() : 0;
    if (us > 0) n->period_ms = us / 2 / 1000 > 0 ? us / 2 / 1000 : 1;
    if (n->period_ms > 0) deadline_init(&n->watchdog, loop, on_watchdog_timer, n);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void service_notify_ready(struct service_notify *n)
{
    notify_service_manager(n, "READY=1");
    if (n->period_ms > 0) deadline_start(&n->watchdog, n->period_ms);
}

void service_notify_stopping(struct service_notify *n)
{
    notify_service_manager(n, "STOPPING=1");
}

void service_notify_close(struct service_notify *n)
{
    if (n->period_ms > 0) deadline_close(&n->watchdog, NULL);
    n->period_ms = 0;
}

static int session_reply_status(struct daemon_session *v, struct glint_error *error);
static int session_reply_cancel(struct daemon_session *v, struct glint_slice payload,
                                struct glint_error *error);

/* ---- Connections of the daemon: drivers, which queue for an executor and receive their position,
 * and clients, which send STATUS or CANCEL. A driver that disconnects or misses its heartbeats
 * loses its position or its executor. Clients have places of their own. */

static void session_close(struct daemon_session *v)
{
    v->closing = true;
    conn_close(v->conn, true);
}

/* Sends REJECT with `why`, then closes the connection. */
static void session_reject(struct daemon_session *v, const struct glint_error *why)
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

static void daemon_uncount_session(struct daemon_session *v)
{
    uint32_t *count = v->is_driver ? &v->d->driver_count : &v->d->client_count;
    if (v->dropped) return;
    assert(*count > 0);
    --*count;
    v->dropped = true;
}

/* At once: a client that does not read must not keep its place. */
static void drop_client_session(struct daemon_session *v, const char *why)
{
    log_line(LOG_WARN, &(struct log_ids){.peer = conn_peer_address(v->conn)},
             "closing the connection of a client: %s", why);
    daemon_uncount_session(v);
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

/* Of the daemon `arg`: closes clients without a request for dead_ms. */
static void session_drop_idle_clients(void *arg)
{
    struct daemon *d = arg;
    const uint64_t now = daemon_now(d), dead_ns = d->cluster->heartbeat.dead_ns;
    struct daemon_session *v;
    if (d->stopping) return;
    while ((v = longest_idle_client(d)) != NULL && v->last_request_ns + dead_ns <= now)
        drop_client_session(v, "no request within dead");
    if (v != NULL) deadline_start_by(&d->client_deadline, v->last_request_ns + dead_ns, now);
}

/* Returns false with *error set if there are too many drivers. */
static bool daemon_count_session(struct daemon *d, bool is_driver, struct glint_error *error)
{
    if (is_driver && d->driver_count == DRIVERS_MAX) {
        error_set(error, GLINT_E_CONNECTION, NULL,
                  "too many drivers connected to executor %s (max %u)", d->self->id, DRIVERS_MAX);
        return false;
    }
    if (!is_driver && d->client_count == CLIENTS_MAX)
        drop_client_session(longest_idle_client(d), "too many clients");
    ++*(is_driver ? &d->driver_count : &d->client_count);
    return true;
}

/* ---- Queue */

/* The queued session that comes next after `after_order`; NULL: none. First in, first out. */
static struct daemon_session *next_queued_session(struct daemon *d, uint64_t after_order)
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

void job_queue_start_next(struct daemon *d)
{
    struct daemon_session *v;
    uint64_t queue_order = 0, queue_position = 0;
    if (d->stopping || d->draining) return;
    while (d->runner_count < d->cluster->drivers_max && (v = next_queued_session(d, 0)) != NULL)
        start_requested_executor(d, v);
    while ((v = next_queued_session(d, queue_order)) != NULL) {
        queue_order = v->queue_order;
        queue_position++;
        /* Send a position only when it has changed. */
        if (v->queue_position == queue_position) continue;
        v->queue_position = queue_position;
        conn_send(v->conn, FRAME_QUEUED, queue_position, NULL);
    }
    assert(queue_position <= QUEUE_LENGTH_MAX);
}

static void reject_because_draining(struct daemon_session *v)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_NO_EXECUTORS, NULL, "executor %s is draining: no new jobs",
              v->d->self->id);
    session_reject(v, &why);
}

/* Rejects all queued drivers, because the daemon drains. */
static void job_queue_reject_all(struct daemon *d)
{
    for (struct daemon_session *v = d->sessions; v != NULL; v = v->next)
        if (v->state == SESSION_QUEUED || v->state == SESSION_FETCHING) reject_because_draining(v);
}

static bool is_same_driver_process(const struct daemon_session *a, const struct daemon_session *b)
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
static bool replace_session_of_job(struct daemon_session *v)
{
    struct glint_error why = {.code = GLINT_OK};
    const struct log_ids ids = {.job = v->request.job.job, .peer = conn_peer_address(v->conn)};
    struct daemon_session *other = find_session_of_job(v, v->d->sessions);
    for (; other != NULL && is_same_driver_process(other, v);
         other = find_session_of_job(v, other->next)) {
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

static void enqueue_session(struct daemon_session *v)
{
    v->state = SESSION_QUEUED;
    v->queue_order = ++v->d->last_queue_order;
    v->queue_position = 0;
    job_queue_start_next(v->d);
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
    enqueue_session(v);
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
        reject_because_draining(v);
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
    /* The job must be known before replace_session_of_job looks for other sessions with it. */
    v->request = requested;
    v->requested_ns = daemon_now(d);
    if (!replace_session_of_job(v)) return 0;
    if (strcmp(conn_peer_hello(v->conn)->build, build_id()) == 0 && build_has_id(build_id()))
        enqueue_session(v);
    else
        start_program_fetch(v);
    return 0;
}

/* ---- Frames */

static int on_job_progress(struct daemon_session *v, struct glint_slice payload,
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
    case FRAME_PROGRESS: return on_job_progress(v, payload, error);
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
    daemon_uncount_session(v);
    if (v->runner != NULL) {
        /* The driver is gone, so its executor is of no use. */
        v->runner->session = NULL;
        executor_runner_stop(v->runner);
    }
    program_fetch_release(v->fetch);
    program_file_close(d->env, &v->program);
    secret_clear(&v->request.key);
    mem_free(v);
    job_queue_start_next(d);
    daemon_stop_if_done(d);
}

/* Until a program is fetched, DATA is not expected and closes the connection. */
static const struct conn_events session_events = {.frame = session_on_frame,
                                                  .closed = session_on_closed};

/* listener_open's `accepted`. Returns false with *error set to reject the connection. */
static bool session_on_accepted(void *arg, struct conn *conn, struct glint_error *error)
{
    struct daemon *d = arg;
    enum role role = conn_peer_hello(conn)->role;
    assert(role == ROLE_DRIVER || role == ROLE_CLIENT); /* the handshake rejects other roles */
    struct daemon_session *v = mem_zalloc(sizeof *v);
    if (v == NULL) error_no_memory(error);
    if (v == NULL || !daemon_count_session(d, role == ROLE_DRIVER, error)) {
        mem_free(v);
        return false;
    }
    v->d = d;
    v->conn = conn;
    v->is_driver = role == ROLE_DRIVER;
    v->program = PROGRAM_FILE_NONE;
    if (!v->is_driver) conn_pause_reads_while_sending(conn); /* request and response only */
    v->last_request_ns = daemon_now(d);
    v->next = d->sessions;
    d->sessions = v;
    if (!v->is_driver) session_drop_idle_clients(d);
    conn_set_events(conn, &session_events, v);
    conn_start_heartbeat(conn, &d->cluster->heartbeat);
    daemon_stop_if_done(d);
    return true;
}

/* ---- Requests of clients: STATUS (which jobs are running or queued) and CANCEL, which the daemon
 * forwards to the job's driver. */

/* Resident; 0: unknown. */
static uint64_t executor_runner_memory_bytes(const struct executor_runner *w)
{
    char path[64], text[128];
    text_format(path, sizeof path, "/proc/%d/statm", (int)w->process.pid);
    if (w->exited || !env_read_text(w->d->env, path, text, sizeof text)) return 0;
    const char *resident = strchr(text, ' '); /* the second number, in pages */
    int64_t pages;
    if (resident == NULL) return 0;
    size_t size = strcspn(++resident, " ");
    if (!text_parse_i64((const uint8_t *)resident, size, &pages) || pages < 0) return 0;
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void status_add_job(struct daemon_status *s, const struct daemon_session *v, uint64_t now)
{
    assert(s->job_count < STATUS_JOBS_MAX);
    struct status_job *j = &s->jobs[s->job_count++];
    *j = (struct status_job){.job = v->request.job.job,
                             .progress = v->progress,
                             .running = v->state == SESSION_SERVED,
                             .age_ns = now - v->requested_ns,
                             .heartbeat_age_ns = now - conn_last_seen_ns(v->conn)};
    text_format(j->name, sizeof j->name, "%s", v->request.job.name);
    if (v->runner != NULL) j->memory_bytes = executor_runner_memory_bytes(v->runner);
}

/* Adds the jobs in `state`; beyond STATUS_JOBS_MAX they are left out. */
static void status_add_jobs(struct daemon_status *s, const struct daemon *d,
                            enum daemon_session_state state, uint64_t now)
{
    for (const struct daemon_session *v = d->sessions; v != NULL; v = v->next)
        if (v->state == state && s->job_count < STATUS_JOBS_MAX) status_add_job(s, v, now);
}

/* daemon.c: reply to a client's STATUS and CANCEL. Return 0, or a code with *error set,
 * which closes the connection. */
static int session_reply_status(struct daemon_session *v, struct glint_error *error)
{
    const struct daemon *d = v->d;
    uint64_t now = daemon_now(d);
    struct daemon_status *s = mem_zalloc(sizeof *s);
    if (s == NULL) return error_no_memory(error);
    text_format(s->node, sizeof s->node, "%s", d->self->id);
    text_format(s->build, sizeof s->build, "%s", d->net.self.build);
    s->slots = d->self->slots;
    s->drivers_max = d->cluster->drivers_max;
    s->memory_bytes = d->self->memory_bytes;
    s->uptime_ns = now - d->started_ns;
    s->draining = d->draining;
    /* Running jobs first. */
    status_add_jobs(s, d, SESSION_SERVED, now);
    status_add_jobs(s, d, SESSION_QUEUED, now);
    status_add_jobs(s, d, SESSION_FETCHING, now);
    conn_send_payload(v->conn, FRAME_STATUS_REPLY, 0, &daemon_status_format, s);
    mem_free(s);
    return 0;
}

static void reject_client_secret(struct daemon_session *v)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_NOT_PERMITTED, "name the file of the cluster's own secret",
              "a client secret allows status requests only, not cancelling jobs");
    log_error(LOG_WARN, &(struct log_ids){.peer = conn_peer_address(v->conn)}, &why);
    session_reject(v, &why);
}

static int session_reply_cancel(struct daemon_session *v, struct glint_slice payload,
                                struct glint_error *error)
{
    struct daemon *d = v->d;
    struct job_identity requested;
    struct cancelled_jobs reported = {.job_count = 0};
    int r = job_identity_decode(payload, &requested, error);
    if (r != 0) return r;
    if (v->is_driver)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a driver cannot send CANCEL");
    /* A client secret grants status only: a client that has it must not stop jobs. */
    if (conn_secret_kind(v->conn) == SECRET_CLIENT) {
        reject_client_secret(v);
        return 0;
    }
    for (struct daemon_session *o = d->sessions; o != NULL; o = o->next) {
        /* Job id 0: cancel by name, which may match several jobs. */
        bool is_requested = requested.job != 0 ? o->request.job.job == requested.job
                                               : strcmp(o->request.job.name, requested.name) == 0;
        struct job_identity job = {.job = o->request.job.job};
        if (!is_requested || o->state == SESSION_NEW || reported.job_count == STATUS_JOBS_MAX)
            continue;
        log_line(LOG_INFO,
                 &(struct log_ids){.job = o->request.job.job, .peer = conn_peer_address(v->conn)},
                 "cancel requested");
        conn_send_payload(o->conn, FRAME_CANCEL, 0, &job_identity_format, &job);
        text_format(job.name, sizeof job.name, "%s", o->request.job.name);
        reported.jobs[reported.job_count++] = job;
    }
    conn_send_payload(v->conn, FRAME_CANCELLED, 0, &cancelled_jobs_format, &reported);
    return 0;
}

/* ---- daemon */

/* ---- Shutdown */

/* Closes everything; the loop stops with the last connection. No executor may be left. */
static void daemon_stop(struct daemon *d)
{
    assert(!d->stopping && d->runner_count == 0);
    d->stopping = true;
    listener_close(d->listener);
    d->listener = NULL;
    for (struct daemon_session *v = d->sessions; v != NULL; v = v->next) session_close(v);
    for (uint32_t i = 0; i < DAEMON_SIGNALS; i++)
        if (!uv_is_closing((uv_handle_t *)&d->signals[i])) signal_close_and_ignore(&d->signals[i]);
    deadline_close(&d->drain_deadline, NULL);
    deadline_close(&d->idle_deadline, NULL);
    deadline_close(&d->client_deadline, NULL);
    service_notify_close(&d->service);
}

/* Whether a launched daemon has neither a driver nor an executor. */
static bool daemon_is_idle(const struct daemon *d)
{
    if (!d->config->launched || d->runner_count > 0) return false;
    for (const struct daemon_session *v = d->sessions; v != NULL; v = v->next)
        if (v->is_driver) return false;
    return true;
}

void daemon_stop_if_done(struct daemon *d)
{
    if (d->stopping) return;
    if (d->draining && d->runner_count == 0) {
        log_line(LOG_INFO, NULL, "drained");
        daemon_stop(d);
        return;
    }
    bool idle = daemon_is_idle(d);
    if (!idle) deadline_stop(&d->idle_deadline);
    if (idle && !d->idle) deadline_start(&d->idle_deadline, d->cluster->heartbeat.dead_ns / MS_NS);
    d->idle = idle;
}

/* The drain time is over, or a second signal came: executors exit without draining. */
static void stop_runners_now(struct daemon *d)
{
    for (struct executor_runner *w = executor_runner_next(d->runners); w != NULL;
         w = executor_runner_next(w->next))
        executor_runner_drain(w, true);
}

static void on_daemon_signal(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;
    if (d->stopping) return;
    if (d->draining) {
        log_line(LOG_INFO, NULL, "second signal: stopping now");
        stop_runners_now(d);
        return;
    }
    d->draining = true;
    service_notify_stopping(&d->service);
    log_line(LOG_INFO, NULL, "draining after signal %d: %u jobs running, at most %llu ms", number,
             d->runner_count, (unsigned long long)d->cluster->drain_ms);
    /* Queued drivers never get an executor here: reject them now, so that they use other nodes. */
    job_queue_reject_all(d);
    for (struct executor_runner *w = executor_runner_next(d->runners); w != NULL;
         w = executor_runner_next(w->next))
        executor_runner_drain(w, false);
    deadline_start(&d->drain_deadline, d->cluster->drain_ms);
    daemon_stop_if_done(d);
}

/* ---- Deadlines */

static void on_drain_deadline(void *arg)
{
    struct daemon *d = arg;
    if (d->stopping) return;
    if (d->runner_count > 0) log_line(LOG_WARN, NULL, "drain timeout");
    stop_runners_now(d);
}

static void on_idle_deadline(void *arg)
{
    struct daemon *d = arg;
    if (d->stopping || !d->idle) return;
    log_line(LOG_INFO, NULL, "shutting down: launched for a job, and no driver is connected");
    daemon_stop(d);
}

/* ---- Startup */

/* Finds the file that standard error is redirected to, if any: the driver names it in its messages
 * when an executor exits. */
static void find_log_path(struct daemon *d)
{
    uv_fs_t fs;
    struct env_stat stat;
    int r = uv_fs_readlink(NULL, &fs, "/proc/self/fd/2", NULL);
    const char *path = r == 0 ? fs.ptr : "";
    if (path[0] == '/' && d->env->stat(d->env, path, &stat) == 0 && stat.kind == ENV_FILE &&
        !text_format(d->log, sizeof d->log, "%s", path))
        d->log[0] = '\0';
    uv_fs_req_cleanup(&fs);
}

/* The launching job rotates a log larger than log_bytes_max (driver/daemon_conn.c). So a daemon
 * starts with at most that much, and may add as much again. */
uint64_t daemon_log_bytes_max(const struct daemon *d)
{
    return d->config->launched ? 2 * d->cluster->log_bytes_max : 0;
}

static void open_daemon_signals(struct daemon *d)
{
    static const int numbers[DAEMON_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    for (uint32_t i = 0; i < DAEMON_SIGNALS; i++) {
        struct sigaction before;
        int r = uv_signal_init(&d->loop, &d->signals[i]);
        assert(r == 0); /* event_loop_init opened its descriptors */
        d->signals[i].data = d;
        /* A signal ignored by the parent, e.g. SIGHUP under nohup, stays ignored. */
        bool ignored = sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!ignored || numbers[i] == SIGTERM)
            uv_signal_start(&d->signals[i], on_daemon_signal, numbers[i]);
    }
}

static void print_daemon_ready(const struct daemon *d)
{
    char address[HOST_BYTES_MAX + 16];
    host_format_address(address, sizeof address, d->self->host, listener_port(d->listener));
    if (d->config->log_json)
        log_line(LOG_INFO, NULL, "executor %s ready on %s", d->self->id, address);
    else
        fprintf(stderr, "executor %s ready on %s\n", d->self->id, address);
}

static int daemon_start(struct daemon *d, struct glint_error *error)
{
    const struct cluster *c = d->cluster;
    const struct net_config net = {.role = ROLE_DAEMON,
                                   .cluster = c->name,
                                   .node = d->self->id,
                                   .secret_file = c->secret_file,
                                   .insecure_plaintext = c->insecure_plaintext,
                                   .connect_ms = c->connect_ms};
    int r = net_init(&d->net, &d->loop, d->env, &net, error);
    if (r != 0) return r;
    d->listener =
        listener_open(&d->net, d->self->host, d->self->port, session_on_accepted, d, error);
    if (d->listener == NULL) return error->code;
    /* Directories of executors of a daemon that was killed; those of live processes are locked. */
    work_dir_remove_stale(d->env, d->self->work_dir);
    find_log_path(d);
    d->started_ns = daemon_now(d);
    d->idle = d->config->launched;
    if (d->idle) deadline_start(&d->idle_deadline, c->start_ms);
    print_daemon_ready(d);
    service_notify_ready(&d->service);
    return 0;
}

int daemon_run(const struct daemon_config *config, struct glint_error *error)
{
    struct daemon d = {
        .config = config, .cluster = config->cluster, .self = config->self, .env = env_real()};
    assert(d.self->slots >= d.cluster->drivers_max);
    int r = event_loop_init(&d.loop, d.env, error);
    if (r != 0) return r;
    log_configure(d.env, config->log_json, d.self->id);
    log_limit_bytes(daemon_log_bytes_max(&d));
    deadline_init(&d.drain_deadline, &d.loop, on_drain_deadline, &d);
    deadline_init(&d.idle_deadline, &d.loop, on_idle_deadline, &d);
    deadline_init(&d.client_deadline, &d.loop, session_drop_idle_clients, &d);
    service_notify_init(&d.service, &d.loop, d.env);
    open_daemon_signals(&d);
    r = daemon_start(&d, error);
    /* After an error: closes what daemon_start opened; the loop below runs the close callbacks. */
    if (r != 0) daemon_stop(&d);
    uv_run(&d.loop, UV_RUN_DEFAULT);
    assert(d.stopping && d.runners == NULL && d.sessions == NULL);
    net_fini(&d.net);
    int failed = uv_loop_close(&d.loop);
    assert(failed == 0); /* all handles are closed */
    log_flush_repeats();
    return r;
}
