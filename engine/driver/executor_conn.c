/* The connections of one executor: control for messages and heartbeats, data for blocks. One is of
 * no use without the other, so the executor is lost when either closes.
 *
 * Only the executor's daemon knows how the process exited, and reports it a moment later. The loss
 * is reported to the driver with that status, but after at most EXIT_REPORT_MS. */
#include "engine/base/endian.h"
#include "engine/base/hash.h"
#include "engine/driver/cluster_transport_internal.h"
#include "engine/transfer/fetch_client.h"

#include <assert.h>
#include <string.h>
#include <sys/wait.h>

/* ---- Fetches task results that are too large for a message (above RESULT_INLINE_BYTES_MAX) and
 * stayed with their executor (struct chunked_fetch), and passes them to the driver as if the
 * DONE had contained them.
 *
 *   pending  -> fetching  [start_result_fetch: it fits into result_bytes_max]
 *   fetching -> ended     [on_result_fetched: pushes DONE with the result, or FAILED, to the inbox]
 *
 * Results that are fetched and not yet taken by the driver are limited to result_bytes_max, which
 * is also the limit of an action's result: a slow driver's memory stays bounded. */

struct result_fetch {
    struct result_fetch *next;
    struct executor_conn *executor_conn;
    struct message *m;           /* DONE; its body becomes the result */
    uint64_t checksum;           /* XXH3-64 of the whole result */
    struct chunked_fetch *fetch; /* NULL: pending */
};

/* Frees all but the message. */
static void result_fetch_free(struct result_fetch *s)
{
    struct result_fetch **at = &s->executor_conn->result_fetches;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    mem_free(s->fetch);
    mem_free(s);
}

/* Passes a message to the driver, with `fetched_bytes` of a result. */
static void push_result_message(struct executor_conn *l, struct message *m, uint64_t fetched_bytes)
{
    if (inbox_push_message(l->r, l->number, m, fetched_bytes)) return;
    atomic_fetch_sub(&l->r->fetched_results_bytes, fetched_bytes);
    executor_conn_fail_with(
        l, GLINT_E_NO_MEMORY,
        "the driver is out of memory: cannot process a message of the executor");
}

/* Passes the DONE to the driver as a FAILED of the same attempt. */
static void push_task_failed_message(struct executor_conn *l, struct message *m,
                                     const struct glint_error *why)
{
    m->type = MSG_FAILED;
    m->id = m->size = 0;
    buffer_fini(&m->body);
    buffer_fini(&m->counters);
    m->error = mem_alloc(sizeof *m->error);
    if (m->error == NULL) {
        message_destroy(m);
        executor_conn_fail_with(
            l, GLINT_E_NO_MEMORY,
            "the driver is out of memory: cannot process a message of the executor");
        return;
    }
    *m->error = *why;
    push_result_message(l, m, 0);
}

/* ---- Fetching */

/* Lets the executor free its copy of the result. */
static void send_result_release(struct executor_conn *l, uint64_t id)
{
    struct message m = {.type = MSG_RELEASE, .id = id};
    message_send(l->control, &m);
}

/* chunked_fetch's `done`. */
static void on_result_fetched(struct chunked_fetch *f)
{
    struct result_fetch *s = f->arg;
    struct executor_conn *l = s->executor_conn;
    struct message *m = s->m;
    struct glint_error why = {.code = GLINT_OK};
    uint64_t size = m->size;
    if (f->error.code != GLINT_OK)
        error_set(&why, GLINT_E_CONNECTION, NULL, "cannot fetch a task's result: %s",
                  f->error.cause);
    else if (hash_checksum(m->body.data, size) != s->checksum)
        error_set(&why, GLINT_E_SHUFFLE_CORRUPT, NULL,
                  "a task's result is damaged: checksum mismatch");
    bool lost = l->state != EXECUTOR_CONN_JOINED || l->r->stopping; /* reported by its event */
    result_fetch_free(s);
    if (lost || why.code != GLINT_OK) atomic_fetch_sub(&l->r->fetched_results_bytes, size);
    if (lost) {
        message_destroy(m);
        return;
    }
    send_result_release(l, m->id);
    if (why.code != GLINT_OK) {
        push_task_failed_message(l, m, &why);
    } else {
        m->body.size = size;
        m->id = m->size = 0; /* now like a DONE with an inline result */
        push_result_message(l, m, size);
    }
    task_result_fetch_start_pending(l->r);
}

/* Allocates the result and sends the first requests. If there is no memory only the attempt
 * fails. */
static void start_result_fetch(struct executor_conn *l, struct result_fetch *s)
{
    struct message *m = s->m;
    struct glint_error why = {.code = GLINT_OK};
    assert(m->body.data == NULL && s->fetch == NULL && m->size > 0);
    s->fetch = mem_zalloc(sizeof *s->fetch);
    m->body.data = mem_alloc(m->size);
    if (s->fetch == NULL || m->body.data == NULL) {
        error_no_memory(&why);
        result_fetch_free(s);
        push_task_failed_message(l, m, &why);
        return;
    }
    m->body.capacity = m->size;
    atomic_fetch_add(&l->r->fetched_results_bytes, m->size);
    s->fetch->fetcher = (struct fetcher){.submit = fetch_client_submit, .arg = &l->fetches};
    s->fetch->get = (struct get_request){.kind = GET_RESULT, .id = m->id, .size = m->size};
    s->fetch->into = m->body.data;
    s->fetch->done = on_result_fetched;
    s->fetch->arg = s;
    chunked_fetch_start(s->fetch);
    cluster_transport_arm_timer(l->r, fetch_client_deadline_ns(&l->fetches));
}

void task_result_fetch_start_pending(struct cluster_transport *r)
{
    uint64_t max = r->g->config.result_bytes_max;
    for (struct executor_conn *l = r->executor_conns; l != NULL; l = l->next)
        for (struct result_fetch *s = l->result_fetches, *next;
             s != NULL && l->state == EXECUTOR_CONN_JOINED; s = next) {
            next = s->next;
            uint64_t in_use = atomic_load(&r->fetched_results_bytes);
            /* One is always allowed, else a result could wait forever. */
            if (s->fetch == NULL && (in_use == 0 || in_use + s->m->size <= max))
                start_result_fetch(l, s);
        }
}

/* Queues the fetch of a DONE whose result stayed with the executor. Takes ownership of `m`. */
static void task_result_fetch_add(struct executor_conn *l, struct message *m)
{
    struct cluster_transport *r = l->r;
    struct glint_error why = {.code = GLINT_OK};
    uint64_t max = r->g->config.result_bytes_max;
    assert(l->joined && m->type == MSG_DONE);
    if (m->size == 0 || m->body.size != RESULT_CHECKSUM_BYTES) { /* the body is the checksum */
        message_destroy(m);
        executor_conn_fail_with(l, GLINT_E_PROTOCOL, "result both inline and by reference");
        return;
    }
    if (m->size > max) {
        error_set(&why, GLINT_E_RESULT_LIMIT, "save the result as files instead of collecting it",
                  "a task's result has %llu bytes, the limit is %llu", (unsigned long long)m->size,
                  (unsigned long long)max);
        push_task_failed_message(l, m, &why);
        return;
    }
    struct result_fetch *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        message_destroy(m);
        executor_conn_fail_with(l, GLINT_E_NO_MEMORY,
                                "the driver is out of memory: cannot fetch a task result");
        return;
    }
    s->executor_conn = l;
    s->m = m;
    s->checksum = get_le64(m->body.data);
    buffer_fini(&m->body);
    struct result_fetch **at = &l->result_fetches;
    while (*at != NULL) at = &(*at)->next;
    *at = s;
    task_result_fetch_start_pending(r);
}

/* Frees the queued fetches. Those that were started have ended with the connection. */
static void task_result_fetch_fini(struct executor_conn *l)
{
    while (l->result_fetches != NULL) {
        struct message *m = l->result_fetches->m;
        assert(l->result_fetches->fetch == NULL);
        result_fetch_free(l->result_fetches);
        message_destroy(m);
    }
}

/* ---- executor conn */

#define EXIT_NOT_LOADED 127 /* the status of ld.so that misses a library: ld.so(8), and of sh */
#define EXIT_REPORT_MS  1000u
#define REGISTER_MS_MIN 8000u /* on a busy machine a process takes long to start */

/* Until the process has started, connected twice and sent REGISTER. Longer than the process itself
 * tries to connect: it knows why that fails, and reports it to its daemon. */
static uint64_t registration_timeout_ms(const struct cluster_transport *r)
{
    uint64_t ms = 4 * r->net.connect_ms;
    return ms > REGISTER_MS_MIN ? ms : REGISTER_MS_MIN;
}

static void executor_conn_on_deadline(void *arg);

struct executor_conn *executor_conn_create(struct cluster_transport *r, const uint8_t *incarnation,
                                           struct glint_error *error)
{
    /* Numbers are never reused, so a job can use EXECUTORS_MAX executors in all. */
    if (r->executor_conn_count >= CLUSTER_EXECUTORS_MAX || r->number_count >= EXECUTORS_MAX) {
        error_set(error, GLINT_E_NO_EXECUTORS, NULL,
                  "the job has reached its maximum number of executors");
        return NULL;
    }
    struct executor_conn *l = mem_zalloc_or_fail(sizeof *l, error);
    if (l == NULL) return NULL;
    l->r = r;
    memcpy(l->incarnation, incarnation, sizeof l->incarnation);
    fetch_client_init(&l->fetches, r->env, r->cluster->fetch_ms);
    deadline_init(&l->deadline, &r->loop, executor_conn_on_deadline, l);
    deadline_start(&l->deadline, registration_timeout_ms(r));
    *r->executor_conns_end = l;
    r->executor_conns_end = &l->next;
    r->executor_conn_count++;
    return l;
}

static void on_loss_deadline_closed(void *arg)
{
    struct executor_conn *l = arg;
    task_result_fetch_fini(l);
    inbox_event_destroy(l->lost_event);
    mem_free(l);
}

/* Frees it when no references remain: both connections have closed, whose callbacks use it, and
 * the loss is reported. */
static void executor_conn_free_if_unused(struct executor_conn *l)
{
    struct cluster_transport *r = l->r;
    if (l->control != NULL || l->data != NULL || l->freeing) return;
    if (l->state != EXECUTOR_CONN_CLOSED && !r->stopping) return;
    struct executor_conn **at = &r->executor_conns;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    if (r->executor_conns_end == &l->next) r->executor_conns_end = at;
    assert(r->executor_conn_count > 0);
    r->executor_conn_count--;
    l->freeing = true;
    deadline_close(&l->deadline, on_loss_deadline_closed);
}

/* ---- Failure and loss */

void executor_exited_describe(const struct executor_exited *e, struct glint_error *out)
{
    int status = e->wait_status;
    const char *name = WIFSIGNALED(status) ? sigdescr_np(WTERMSIG(status)) : NULL;
    memset(out, 0, sizeof *out);
    if (e->why.code != GLINT_OK)
        error_set(out, e->why.code, e->why.hint, "%s", e->why.cause);
    else if (WIFSIGNALED(status))
        error_set(out, GLINT_E_EXECUTOR_LOST, "see its log", "killed by signal %d (%s)%s",
                  WTERMSIG(status), name != NULL ? name : "unknown",
                  e->out_of_memory ? " (out of memory in its control group)" : "");
    else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_LOADED)
        error_set(out, GLINT_E_EXECUTOR_LOST, "install it there: the node's log has its name",
                  "its process exited with status %d: a library that the program needs is missing",
                  EXIT_NOT_LOADED);
    else
        error_set(out, GLINT_E_EXECUTOR_LOST, "see its log", "its process exited with status %d",
                  WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* Sets *out to EXECUTOR_LOST with the cause and the path of the log: the exit of its process if the
 * daemon reported it, else the error of its connection. */
static enum executor_loss_reason describe_executor_loss(const struct executor_conn *l,
                                                        struct glint_error *out)
{
    struct glint_error what = l->why;
    const char *log = l->has_exited ? l->exited.log : "";
    assert((l->joined || l->has_exited) && l->why.code != GLINT_OK);
    if (log[0] == '\0' && l->daemon_conn != NULL && l->daemon_conn->process != NULL)
        log = launched_daemon_log_path(l->daemon_conn->process);
    if (l->has_exited) executor_exited_describe(&l->exited, &what);
    memset(out, 0, sizeof *out);
    error_set(out, GLINT_E_EXECUTOR_LOST, "see its log", "%s%s%s", what.cause,
              log[0] != '\0' ? "; log " : "", log);
    if (l->draining) return LOSS_DRAINED;
    /* Only a signal (crash, OOM kill) is blamed on the tasks that ran there: a process that exits
     * with a status has ended by its own decision. */
    return l->has_exited && WIFSIGNALED(l->exited.wait_status) ? LOSS_SIGNALED : LOSS_CONNECTION;
}

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
    /* A process that could not start says why, which is more precise than its exit status. */
    if (!l->joined && l->has_exited)
        executor_exited_describe(&l->exited, &why);
    else if (l->joined)
        loss = describe_executor_loss(l, &why);
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
    /* Finalize from the loop: callers still use `l`, which executor_conn_finalize may free. */
    deadline_start(&l->deadline, 0);
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
    if (may_hear && l->why.code == GLINT_E_CONNECTION) deadline_start(&l->deadline, EXIT_REPORT_MS);
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
    bool connected = l->control != NULL || l->data != NULL;
    bool wait = connected && l->state != EXECUTOR_CONN_CLOSING;
    deadline_start(&l->deadline, wait ? EXIT_REPORT_MS : 0);
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
    if (l->daemon_conn != NULL) l->daemon_conn->why = (struct glint_error){.code = GLINT_OK};
    fetch_client_on_opened(&l->fetches, l->data);
    if (!l->has_exited) deadline_stop(&l->deadline);
    registration_join_if_enough_executors(l->r);
}

static int on_register_frame(struct executor_conn *l, struct glint_slice payload,
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
    l->memory_bytes = ready.memory_bytes;
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
    return inbox_push_message(l->r, l->number, m, 0) ? 0 : error_no_memory(error);
}

static int on_drain_frame(struct executor_conn *l, struct glint_error *error)
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
    switch (f->type) {
    case FRAME_REGISTER: return on_register_frame(l, payload, error);
    case FRAME_MESSAGE: return on_task_message(l, payload, error);
    case FRAME_DRAIN: return on_drain_frame(l, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected frame type %d from an executor",
                         (int)f->type);
    }
}

static int on_data_frame(struct executor_conn *l, const struct frame *f, struct glint_slice payload,
                         struct glint_error *error)
{
    switch (f->type) {
    case FRAME_GET: return fetch_server_on_get(l->r->fetch_server, l->data, f, payload, error);
    case FRAME_BLOCK_REQUEST: return broadcast_server_on_block_request(l, payload, error);
    case FRAME_FETCH_ERROR: return fetch_client_on_frame(&l->fetches, l->data, f, payload, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "unexpected frame type %d on an executor's data connection", (int)f->type);
    }
}

/* Heartbeats are missing, or arrive again. When out of memory the driver just does not know. */
static void executor_conn_on_suspect(void *arg, struct conn *c, bool suspect)
{
    struct executor_conn *l = arg;
    (void)c;
    if (!l->joined || l->state >= EXECUTOR_CONN_CLOSING || l->r->stopping) return;
    struct inbox_event *e =
        inbox_event_create(suspect ? INBOX_EXECUTOR_SUSPECT : INBOX_EXECUTOR_ALIVE, l->number);
    if (e != NULL) inbox_push(l->r, e);
}

static void executor_conn_on_ping(void *arg, const struct ping *ping)
{
    struct executor_conn *l = arg;
    struct cluster_transport *r = l->r;
    l->tasks_running = ping->tasks_running;
    if (!l->joined) return;
    pthread_mutex_lock(&r->lock);
    r->health[l->number].received_ns = cluster_transport_now(r);
    r->health[l->number].memory_bytes = ping->memory_bytes;
    pthread_mutex_unlock(&r->lock);
}

static int executor_conn_on_frame(void *arg, struct conn *c, const struct frame *f,
                                  struct glint_slice payload, struct glint_error *error)
{
    struct executor_conn *l = arg;
    /* Frames may still arrive until `closed`: after its loss the driver must not see them. */
    if (l->state >= EXECUTOR_CONN_CLOSING || l->r->stopping) return 0;
    return c == l->control ? on_control_frame(l, f, payload, error)
                           : on_data_frame(l, f, payload, error);
}

static uint8_t *executor_conn_buffer_for(void *arg, struct conn *c, const struct frame *f)
{
    struct executor_conn *l = arg;
    if (c != l->data || l->state >= EXECUTOR_CONN_CLOSING || l->r->stopping) return NULL;
    uint8_t *buffer = fetch_client_buffer_for(&l->fetches, c, f);
    if (buffer == NULL)
        executor_conn_fail_with(l, GLINT_E_PROTOCOL, "%u unsolicited bytes", f->length);
    return buffer;
}

static void executor_conn_on_data(void *arg, struct conn *c, const struct frame *f)
{
    struct executor_conn *l = arg;
    if (c != l->data || l->state >= EXECUTOR_CONN_CLOSING || l->r->stopping) return;
    fetch_client_on_data(&l->fetches, c, f);
}

/* The data connection has closed. Its fetches end after the executor's state has changed, so that
 * they report nothing. */
static void end_data_transfers(struct executor_conn *l, struct conn *c)
{
    struct glint_error closed = {.code = GLINT_OK};
    error_set(&closed, GLINT_E_CONNECTION, NULL, "the connection was closed");
    fetch_server_on_closed(l->r->fetch_server, c);
    fetch_client_on_closed(&l->fetches);
    fetch_client_fail(&l->fetches, &closed);
}

static void executor_conn_on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct executor_conn *l = arg;
    assert(c == l->control || c == l->data);
    bool is_data = c == l->data;
    *(is_data ? &l->data : &l->control) = NULL;
    executor_conn_fail_by_peer(l, why);
    if (is_data) end_data_transfers(l, c);
    executor_conn_free_if_unused(l);
}

static const struct conn_events executor_conn_events = {.frame = executor_conn_on_frame,
                                                        .buffer_for = executor_conn_buffer_for,
                                                        .data = executor_conn_on_data,
                                                        .suspect = executor_conn_on_suspect,
                                                        .ping = executor_conn_on_ping,
                                                        .closed = executor_conn_on_closed};

void executor_conn_attach(struct executor_conn *l, struct conn *c)
{
    bool control = conn_peer_hello(c)->channel == CHANNEL_CONTROL;
    assert(conn_is_open(c) && (control ? l->control : l->data) == NULL);
    if (control)
        l->control = c;
    else
        l->data = c;
    conn_set_events(c, &executor_conn_events, l);
    if (control) conn_start_heartbeat(c, &l->r->cluster->heartbeat);
    /* An executor that connected with the cluster's secret needs the job's key, with which the
     * executors connect to each other. */
    if (control && conn_secret_kind(c) == SECRET_PEER && l->r->net.tls != NULL)
        conn_send_payload(c, FRAME_JOB_KEY, 0, &job_key_format, &l->r->job_key);
    executor_conn_check_registered(l);
}

/* ---- Deadline */

static void executor_conn_on_deadline(void *arg)
{
    struct executor_conn *l = arg;
    if (l->state == EXECUTOR_CONN_CLOSING) {
        executor_conn_finalize(l);
    } else if (l->has_exited) { /* its connections are still open: the FIN was lost */
        executor_conn_fail_with(l, GLINT_E_CONNECTION, "its process has exited");
    } else if (l->state == EXECUTOR_CONN_OPENING && l->daemon_conn != NULL) {
        struct glint_error why = {.code = GLINT_OK};
        error_set(&why, GLINT_E_CONNECTION, DRIVER_HOST_HINT,
                  "its process did not connect to the driver at %s within %llu ms",
                  l->daemon_conn->driver_address,
                  (unsigned long long)registration_timeout_ms(l->r));
        executor_conn_fail(l, &why);
    } else if (l->state == EXECUTOR_CONN_OPENING) {
        executor_conn_fail_with(l, GLINT_E_CONNECTION, "it did not register in time");
    }
}

uint64_t executor_conn_on_timer(struct executor_conn *l, uint64_t now)
{
    uint64_t due = fetch_client_deadline_ns(&l->fetches);
    if (l->state >= EXECUTOR_CONN_CLOSING) return UINT64_MAX;
    if (now >= due)
        executor_conn_fail_with(l, GLINT_E_CONNECTION, "result fetch made no progress for %llu ms",
                                (unsigned long long)l->r->cluster->fetch_ms);
    return now >= due ? UINT64_MAX : due;
}

void executor_conn_close(struct executor_conn *l)
{
    close_both_conns(l, true);
    executor_conn_free_if_unused(l);
}
