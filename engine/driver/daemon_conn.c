/* Connections to executor daemons. The driver dials each daemon of cluster.toml, requests an
 * executor for this job, and keeps the connection while that executor runs: only the daemon, its
 * parent process, knows how it exited.
 *
 * A daemon that is unreachable is launched if cluster.toml says how, and is dialled again with
 * exponential backoff until the job ends, so that executors can join late. Errors that a retry
 * cannot fix are final: a different build at once, a different secret after three attempts.
 * After the loss of an executor the driver reconnects, which also makes the daemon kill the old
 * process. */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/text.h"
#include "engine/net/backoff.h"

#include <assert.h>
#include <string.h>
#include <sys/wait.h>

#define BACKOFF_NS_MIN  (10 * MS_NS)
#define BACKOFF_NS_MAX  (1000 * MS_NS)
#define QUEUE_NOTE_NS   UINT64_C(500000000) /* queued this long: tell the user */
#define LAUNCHES_MAX    3u                  /* of one daemon; counts again after one joined */
#define LAUNCH_GRACE_MS 5000u               /* between SIGTERM and SIGKILL at the end of the job */

static void daemon_conn_dial(struct daemon_conn *p);

static uint64_t backoff_ns(const struct daemon_conn *p)
{
    uint32_t doublings = p->tries < 8 ? p->tries : 8;
    uint64_t backoff = BACKOFF_NS_MIN << doublings;
    /* The maximum after a failed TLS handshake: leave time for the cause to go away (a port that
     * another process has for a moment) before the third failure makes it permanent. */
    return backoff < BACKOFF_NS_MAX && p->auth_failures == 0 ? backoff : BACKOFF_NS_MAX;
}

static void daemon_conn_back_off(struct daemon_conn *p)
{
    if (p->conn != NULL) conn_close(p->conn, true);
    if (p->state == DAEMON_CONN_REJECTED) return; /* final */
    p->state = DAEMON_CONN_BACKOFF;
    p->queue_position = p->queue_position_reported = 0;
    p->next_dial_ns = cluster_transport_now(p->r) + backoff_with_jitter(p->r->env, backoff_ns(p));
    p->tries++;
    cluster_transport_arm_timer(p->r, p->next_dial_ns);
}

/* Something listens at the address and the handshake with it failed: launching a daemon there
 * would not help, since the port is in use. */
static bool is_rejection(enum glint_code code)
{
    return code == GLINT_E_AUTH || code == GLINT_E_PEER_MISMATCH || code == GLINT_E_NOT_PERMITTED;
}

/* Whether another attempt would fail the same way. A REJECT frame comes through TLS, so it is the
 * daemon's own decision and permanent. A failed TLS handshake can be caused by any process on the
 * network path, or one that has the port for a moment: it is permanent only after
 * AUTH_FAILURES_MAX in a row. */
static bool rejection_is_permanent(const struct daemon_conn *p, enum glint_code code)
{
    return is_rejection(code) && (code != GLINT_E_AUTH || p->auth_failures >= AUTH_FAILURES_MAX);
}

static void daemon_conn_fail(struct daemon_conn *p, const struct glint_error *why)
{
    struct cluster_transport *r = p->r;
    p->why = *why;
    p->reached = false;
    p->auth_failures = why->code == GLINT_E_AUTH ? p->auth_failures + 1 : 0;
    if (rejection_is_permanent(p, why->code)) p->state = DAEMON_CONN_REJECTED;
    /* With a single executor the job fails with the same text: no extra note. */
    if (rejection_is_permanent(p, why->code) && !p->missing_reported &&
        r->cluster->executor_count > 1) {
        p->missing_reported = true;
        inbox_push_note(r, "executor %s (%s:%u) is not used: %s", p->at->id, p->at->host,
                        p->at->port, why->cause);
    }
    daemon_conn_back_off(p);
    registration_join_if_enough(r);
}

void daemon_conn_on_executor_gone(struct daemon_conn *p, const struct glint_error *why,
                                  bool had_joined)
{
    p->executor_conn = NULL;
    /* It worked before: the loss is no reason for a long backoff or to stop launching. */
    if (had_joined) p->tries = p->launches = 0;
    p->why = *why;
    daemon_conn_back_off(p);
    registration_join_if_enough(p->r);
}

/* Detach the executor first: its loss must not lead to a backoff of this daemon_conn. Closing the
 * connection makes the daemon stop the executor, or removes the request from its queue. */
void daemon_conn_release_executor(struct daemon_conn *p)
{
    struct executor_conn *l = p->executor_conn;
    assert(!p->r->started && p->state != DAEMON_CONN_REJECTED);
    p->executor_conn = NULL;
    if (l != NULL) l->daemon_conn = NULL;
    if (l != NULL) executor_conn_fail_with(l, GLINT_E_INTERRUPTED, "the driver released it");
    if (p->conn != NULL) conn_close(p->conn, true);
    p->state = DAEMON_CONN_BACKOFF;
    p->queue_position = p->queue_position_reported = 0;
    p->next_dial_ns = cluster_transport_now(p->r);
}

/* ---- Starting a daemon */

static void on_launched_daemon_exit(void *arg, int wait_status)
{
    int status = WEXITSTATUS(wait_status),
        signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    struct daemon_conn *p = arg;
    struct cluster_transport *r = p->r;
    struct glint_error why = {.code = GLINT_OK};
    const char *log = launched_daemon_log_path(p->process);
    if (signal != 0)
        error_set(&why, GLINT_E_NO_EXECUTORS, NULL, "its process was killed by signal %d; log %s",
                  signal, log);
    else
        error_set(&why, GLINT_E_NO_EXECUTORS, NULL, "its process exited with status %d; log %s",
                  status, log);
    p->process = NULL;
    if (r->stopping) return;
    /* Not permanently_unreachable yet but after one more dial: if another job launched the same
     * daemon first, ours exits because the port is in use, and theirs can be reached. */
    p->launch_failed = p->launches >= LAUNCHES_MAX || (signal == 0 && status != 0);
    if (p->state == DAEMON_CONN_BACKOFF || p->state == DAEMON_CONN_DIALLING) p->why = why;
    if (p->state == DAEMON_CONN_BACKOFF) p->next_dial_ns = cluster_transport_now(r);
    cluster_transport_arm_timer(r, cluster_transport_now(r));
}

/* Launches the daemon, unless that is not configured, it is running, launching has failed for good,
 * or its executor was drained. */
static void daemon_conn_launch(struct daemon_conn *p)
{
    struct cluster_transport *r = p->r;
    if (r->cluster->launch == LAUNCH_NONE || p->process != NULL || p->launch_failed || p->drained)
        return;
    if (p->launches >= LAUNCHES_MAX || r->no_executors_reported) return;
    struct glint_error why = {.code = GLINT_OK};
    p->process = launched_daemon_start(r->net.loop, r->env, r->cluster, p->index,
                                       on_launched_daemon_exit, p, &why);
    p->launches++;
    p->tries = 0; /* short backoff: it will be up soon */
    if (p->process != NULL) return;
    assert(why.code != GLINT_OK);
    p->why = why;
    p->launch_failed = true;
}

/* ---- Frames from the daemon */

static int daemon_conn_on_executor_started(struct daemon_conn *p, struct glint_slice payload,
                                           struct glint_error *error)
{
    struct executor_started a;
    if (p->state != DAEMON_CONN_REQUESTED)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate EXECUTOR_STARTED");
    int r = executor_started_decode(payload, &a, error);
    if (r != 0) return r;
    p->state = DAEMON_CONN_EXECUTOR_STARTED;
    p->queue_position = p->queue_position_reported = 0;
    p->why.code = GLINT_OK;
    r = executor_conn_dial(p, &a, error);
    if (r == 0) registration_join_if_enough(p->r); /* one is kept now: more may be requested */
    return r;
}

static int daemon_conn_on_executor_exited(struct daemon_conn *p, struct glint_slice payload,
                                          struct glint_error *error)
{
    struct executor_exited exited;
    int r = executor_exited_decode(payload, &exited, error);
    if (r != 0) return r;
    if (p->executor_conn != NULL) {
        executor_conn_on_executor_exited(p->executor_conn, &exited);
        return 0;
    }
    if (p->state != DAEMON_CONN_REQUESTED) return 0; /* of an executor that was lost before */
    return error_set(error, GLINT_E_CONNECTION, NULL, "its process exited before it registered");
}

static void daemon_conn_on_queued(struct daemon_conn *p, uint64_t queue_position)
{
    if (p->state != DAEMON_CONN_REQUESTED) return; /* crossed with EXECUTOR_STARTED: stale */
    if (p->queue_position == 0) p->queued_ns = cluster_transport_now(p->r);
    p->queue_position = queue_position;
    cluster_transport_arm_timer(p->r, p->queued_ns + QUEUE_NOTE_NS);
    registration_join_if_enough(p->r);
}

static int daemon_conn_on_frame(void *arg, struct conn *c, const struct frame *f,
                                struct glint_slice payload, struct glint_error *error)
{
    struct daemon_conn *p = arg;
    struct ping ping;
    (void)c;
    if (p->r->stopping) return 0;
    liveness_on_heartbeat(&p->liveness, cluster_transport_now(p->r));
    switch (f->type) {
    case FRAME_PING: return ping_decode(payload, &ping, error);
    case FRAME_QUEUED: daemon_conn_on_queued(p, f->request); return 0;
    case FRAME_EXECUTOR_STARTED: return daemon_conn_on_executor_started(p, payload, error);
    case FRAME_EXECUTOR_EXITED: return daemon_conn_on_executor_exited(p, payload, error);
    case FRAME_CANCEL: {
        struct inbox_event *e = inbox_event_create(INBOX_CANCEL_REQUESTED, 0);
        if (e == NULL) return error_no_memory(error);
        inbox_push(p->r, e);
        return 0;
    }
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected frame type %d from a daemon",
                         (int)f->type);
    }
}

static void daemon_conn_on_opened(void *arg, struct conn *c)
{
    struct daemon_conn *p = arg;
    struct cluster_transport *r = p->r;
    const struct hello *peer = conn_peer_hello(c);
    struct glint_error why = {.code = GLINT_OK};
    struct job_identity identity = {.job = r->g->job_id};
    struct buffer payload = {NULL, 0, 0};
    if (r->stopping || p->state != DAEMON_CONN_DIALLING) return;
    if (peer->role != ROLE_DAEMON || strcmp(peer->node, p->at->id) != 0)
        error_set(&why, GLINT_E_PEER_MISMATCH, "check host and port in cluster.toml",
                  "expected executor %s, connected to %s", p->at->id, peer->node);
    text_format(identity.name, sizeof identity.name, "%s",
                r->g->config.job_name != NULL ? r->g->config.job_name : "job");
    p->launch_failed = p->permanently_unreachable = false;
    p->auth_failures = 0;
    p->reached = why.code == GLINT_OK;
    acquisition_order_enforce(r); /* one more executor is available: the limit may change */
    if (p->reached && !acquisition_order_may_request(p)) {
        daemon_conn_release_executor(p);
        return;
    }
    if (why.code == GLINT_OK && job_identity_encode(&identity, &payload, &why) == 0) {
        p->state = DAEMON_CONN_REQUESTED;
        liveness_init(&p->liveness, &r->cluster->heartbeat, cluster_transport_now(r));
        send_frame(c, FRAME_REQUEST_EXECUTOR, 0, &payload);
        cluster_transport_arm_timer(r,
                                    cluster_transport_now(r) + r->cluster->heartbeat.heartbeat_ns);
        return;
    }
    buffer_fini(&payload);
    daemon_conn_fail(p, &why);
}

static void daemon_conn_on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct daemon_conn *p = arg;
    assert(p->conn == c);
    p->conn = NULL;
    if (p->r->stopping) return;
    if (p->executor_conn != NULL) {
        /* The executor exits without its daemon, or runs on if only this connection broke: its own
         * connections show which. If it is lost already, EXECUTOR_EXITED can no longer arrive, so
         * do not wait for it. */
        if (p->executor_conn->state == EXECUTOR_CONN_CLOSING)
            executor_conn_finalize(p->executor_conn);
        return;
    }
    if (p->state == DAEMON_CONN_BACKOFF) {
        cluster_transport_arm_timer(p->r, p->next_dial_ns);
        return;
    }
    if (p->state == DAEMON_CONN_REJECTED) return;
    bool unreachable = p->state == DAEMON_CONN_DIALLING && !is_rejection(why->code);
    if (unreachable) p->permanently_unreachable = p->launch_failed;
    if (unreachable) daemon_conn_launch(p);
    /* "its process exited with status 1; log ..." says more than "connection refused". */
    struct glint_error cause = p->launch_failed ? p->why : *why;
    if (cause.code == GLINT_OK)
        error_set(&cause, GLINT_E_CONNECTION, NULL, "the connection was closed");
    daemon_conn_fail(p, &cause);
}

static const struct conn_events daemon_conn_events = {.opened = daemon_conn_on_opened,
                                                      .frame = daemon_conn_on_frame,
                                                      .closed = daemon_conn_on_closed};

/* ---- Timer */

static void daemon_conn_dial(struct daemon_conn *p)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(p->conn == NULL && p->executor_conn == NULL && p->state == DAEMON_CONN_BACKOFF);
    p->state = DAEMON_CONN_DIALLING;
    p->conn = conn_dial(&p->r->net, p->at->host, p->at->port, CHANNEL_CONTROL, NULL,
                        &daemon_conn_events, p, &why);
    if (p->conn == NULL) daemon_conn_fail(p, &why);
}

/* Progress for `glint status`, which gets it from the daemon. */
static void send_progress(struct daemon_conn *p)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK}; /* the next report replaces this one */
    pthread_mutex_lock(&p->r->lock);
    struct job_progress progress = p->r->progress;
    pthread_mutex_unlock(&p->r->lock);
    if (progress.stages == 0 || job_progress_encode(&progress, &payload, &ignored) != 0) return;
    send_frame(p->conn, FRAME_PROGRESS, 0, &payload);
}

static uint64_t daemon_conn_heartbeat(struct daemon_conn *p, uint64_t now)
{
    bool heartbeat_due = false;
    uint64_t next = UINT64_MAX;
    struct ping ping = {.sent_ns = now};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    if (liveness_on_timer(&p->liveness, now, &heartbeat_due, &next) == LIFE_DEAD) {
        error_set(&why, GLINT_E_CONNECTION, NULL, "no heartbeat from the daemon for %llu ms",
                  (unsigned long long)(p->r->cluster->heartbeat.dead_ns / MS_NS));
        if (p->executor_conn != NULL)
            conn_close(p->conn, false); /* its process may be well, and then it goes on */
        else
            daemon_conn_fail(p, &why);
        return UINT64_MAX;
    }
    if (heartbeat_due && ping_encode(&ping, &payload, &why) == 0)
        send_frame(p->conn, FRAME_PING, 0, &payload);
    buffer_fini(&payload);
    if (heartbeat_due && p->state == DAEMON_CONN_EXECUTOR_STARTED) send_progress(p);
    return next;
}

/* Tells the user only after QUEUE_NOTE_NS: often the daemon is just stopping the executor of the
 * previous job, and the request leaves the queue at once. */
static uint64_t daemon_conn_report_queue_position(struct daemon_conn *p, uint64_t now)
{
    if (p->queue_position == p->queue_position_reported) return UINT64_MAX;
    if (now < p->queued_ns + QUEUE_NOTE_NS) return p->queued_ns + QUEUE_NOTE_NS;
    p->queue_position_reported = p->queue_position;
    inbox_push_note(p->r, "executor %s (%s:%u) is busy: position %llu in its queue", p->at->id,
                    p->at->host, p->at->port, (unsigned long long)p->queue_position);
    return UINT64_MAX;
}

uint64_t daemon_conn_on_timer(struct daemon_conn *p, uint64_t now)
{
    struct cluster_transport *r = p->r;
    if (p->conn != NULL &&
        (p->state == DAEMON_CONN_REQUESTED || p->state == DAEMON_CONN_EXECUTOR_STARTED)) {
        uint64_t note = daemon_conn_report_queue_position(p, now),
                 heartbeat_due = daemon_conn_heartbeat(p, now);
        return note < heartbeat_due ? note : heartbeat_due;
    }
    /* `conn` is set while the previous connection still closes; its `closed` arms the timer. */
    if (p->state != DAEMON_CONN_BACKOFF || p->conn != NULL || p->executor_conn != NULL ||
        r->no_executors_reported)
        return UINT64_MAX;
    if (now < p->next_dial_ns) return p->next_dial_ns;
    if (p->reached && !acquisition_order_allows(p))
        return UINT64_MAX; /* registration_join_if_enough arms the timer when that changes */
    daemon_conn_dial(p);
    return p->state == DAEMON_CONN_BACKOFF ? p->next_dial_ns : UINT64_MAX;
}

void daemon_conn_close(struct daemon_conn *p)
{
    if (p->conn != NULL) conn_close(p->conn, true);
    if (p->process != NULL) launched_daemon_stop(p->process, LAUNCH_GRACE_MS);
}
