/* An executor of the cluster's file: its daemon is dialled, asked for a process of our own, and
 * listened to for as long as that process lives, for it knows how processes end.
 *
 * A daemon that does not answer is started, where the file says how, and dialled again and again,
 * with growing pauses, until the job ends: executors that come later join later. What cannot change
 * by trying is not tried twice (another build), or not more than three times (another secret).
 * After a loss the connection is made again, which also tells the daemon to end the old process. */
#include "engine/driver/remote_internal.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>
#include <sys/wait.h>

#define PAUSE_NS_MIN    (10 * MS_NS)
#define PAUSE_NS_MAX    (1000 * MS_NS)
#define QUEUE_NOTE_NS   UINT64_C(500000000)
#define LAUNCHES_MAX    3u
#define LAUNCH_GRACE_MS 5000u

static void post_dial(struct post *p);

/* Half of it to all of it: those who fail together shall not come back together. */
static uint64_t jitter(struct remote *r, uint64_t pause_ns)
{
    uint32_t random = 0;
    if (r->env->random(r->env, &random, sizeof random) != 0) random = UINT32_MAX / 2;
    return pause_ns / 2 + pause_ns / 2 * random / UINT32_MAX;
}

static uint64_t pause_ns(const struct post *p)
{
    uint32_t doublings = p->tries < 8 ? p->tries : 8;
    uint64_t pause = PAUSE_NS_MIN << doublings;
    return pause < PAUSE_NS_MAX && p->auth_failures == 0 ? pause : PAUSE_NS_MAX;
}

static void post_rest(struct post *p)
{
    if (p->conn != NULL) conn_close(p->conn, true);
    if (p->state == POST_REFUSED) return;
    p->state = POST_RESTING;
    p->place = p->place_noted = 0;
    p->due_ns = remote_now(p->r) + jitter(p->r, pause_ns(p));
    p->tries++;
    remote_due(p->r, p->due_ns);
}

/* The daemon is there, and refuses us. */
static bool is_refusal(enum glint_code code)
{
    return code == GLINT_E_AUTH || code == GLINT_E_PEER_MISMATCH || code == GLINT_E_NOT_PERMITTED;
}

/* Another try would end the same way. A refusal comes through TLS and is the daemon's own; that TLS
 * fails may be caused by any process that is on the path, or has the port for a moment, and is
 * final the third time in a row. */
static bool is_final(const struct post *p, enum glint_code code)
{
    return is_refusal(code) && (code != GLINT_E_AUTH || p->auth_failures >= AUTH_FAILURES_MAX);
}

static void post_fail(struct post *p, const struct glint_error *why)
{
    struct remote *r = p->r;
    p->why = *why;
    p->reached = false;
    p->auth_failures = why->code == GLINT_E_AUTH ? p->auth_failures + 1 : 0;
    if (is_final(p, why->code)) p->state = POST_REFUSED;
    if (is_final(p, why->code) && !p->noted && r->cluster->executor_count > 1) {
        p->noted = true;
        inbox_note(r, "executor %s (%s:%u) is not used: %s", p->at->id, p->at->host, p->at->port,
                   why->cause);
    }
    post_rest(p);
    join_look(r);
}

void post_on_gone(struct post *p, const struct glint_error *why, bool had_joined)
{
    p->link = NULL;
    if (had_joined) p->tries = p->launches = 0;
    p->why = *why;
    post_rest(p);
    join_look(p->r);
}

/* Its process is nobody's from here on. */
void post_give_back(struct post *p)
{
    struct link *l = p->link;
    assert(!p->r->begun && p->state != POST_REFUSED);
    p->link = NULL;
    if (l != NULL) l->post = NULL;
    if (l != NULL) link_fail_with(l, GLINT_E_INTERRUPTED, "it was given back");
    if (p->conn != NULL) conn_close(p->conn, true);
    p->state = POST_RESTING;
    p->place = p->place_noted = 0;
    p->due_ns = remote_now(p->r);
}

/* ---- Starting a daemon */

static void on_launched_ended(void *arg, int wait_status)
{
    int status = WEXITSTATUS(wait_status),
        signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    struct post *p = arg;
    struct remote *r = p->r;
    struct glint_error why = {.code = GLINT_OK};
    const char *log = launch_log(p->process);
    if (signal != 0)
        error_set(&why, GLINT_E_NO_EXECUTORS, NULL, "its process was killed by signal %d; log %s",
                  signal, log);
    else
        error_set(&why, GLINT_E_NO_EXECUTORS, NULL, "its process ended with status %d; log %s",
                  status, log);
    p->process = NULL;
    if (r->stopping) return;
    /* One more dial: another job may have been faster, and then its daemon has the port. */
    p->spent = p->launches >= LAUNCHES_MAX || (signal == 0 && status != 0);
    if (p->state == POST_RESTING || p->state == POST_DIALLING) p->why = why;
    if (p->state == POST_RESTING) p->due_ns = remote_now(r);
    remote_due(r, remote_now(r));
}

static void post_launch(struct post *p)
{
    struct remote *r = p->r;
    if (r->cluster->launch == LAUNCH_NONE || p->process != NULL || p->spent || p->drained) return;
    if (p->launches >= LAUNCHES_MAX || r->deserted) return;
    struct glint_error why = {.code = GLINT_OK};
    p->process =
        launch_start(r->net.loop, r->env, r->cluster, p->index, on_launched_ended, p, &why);
    p->launches++;
    p->tries = 0;
    if (p->process != NULL) return;
    assert(why.code != GLINT_OK);
    p->why = why;
    p->spent = true;
}

/* ---- Its daemon speaks */

static int post_on_admitted(struct post *p, struct glint_slice payload, struct glint_error *error)
{
    struct admitted a;
    if (p->state != POST_ASKED)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a daemon admitted whom it had admitted");
    int r = admitted_decode(payload, &a, error);
    if (r != 0) return r;
    p->state = POST_ADMITTED;
    p->place = p->place_noted = 0;
    p->why.code = GLINT_OK;
    r = link_dial(p, &a, error);
    if (r == 0) join_look(p->r); /* others may be asked now */
    return r;
}

static int post_on_ended(struct post *p, struct glint_slice payload, struct glint_error *error)
{
    struct ended ended;
    int r = ended_decode(payload, &ended, error);
    if (r != 0) return r;
    if (p->link != NULL) {
        link_on_ended(p->link, &ended);
        return 0;
    }
    if (p->state != POST_ASKED) return 0;
    return error_set(error, GLINT_E_CONNECTION, NULL, "its process ended before it was there");
}

static void post_on_queued(struct post *p, uint64_t place)
{
    if (p->state != POST_ASKED) return;
    if (p->place == 0) p->queued_ns = remote_now(p->r);
    p->place = place;
    remote_due(p->r, p->queued_ns + QUEUE_NOTE_NS);
    join_look(p->r);
}

static int post_on_frame(void *arg, struct conn *c, const struct frame *f,
                         struct glint_slice payload, struct glint_error *error)
{
    struct post *p = arg;
    struct ping ping;
    (void)c;
    if (p->r->stopping) return 0;
    liveness_heard(&p->liveness, remote_now(p->r));
    switch (f->type) {
    case FRAME_PING: return ping_decode(payload, &ping, error);
    case FRAME_QUEUED: post_on_queued(p, f->request); return 0;
    case FRAME_ADMITTED: return post_on_admitted(p, payload, error);
    case FRAME_ENDED: return post_on_ended(p, payload, error);
    case FRAME_CANCEL: {
        struct event *e = event_create(EVENT_CANCELED, 0);
        if (e == NULL) return error_no_memory(error);
        inbox_push(p->r, e);
        return 0;
    }
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a daemon sent a frame of type %d",
                         (int)f->type);
    }
}

static void post_on_opened(void *arg, struct conn *c)
{
    struct post *p = arg;
    struct remote *r = p->r;
    const struct hello *peer = conn_peer(c);
    struct glint_error why = {.code = GLINT_OK};
    struct admit admit = {.job = r->g->job_id};
    struct buffer payload = {NULL, 0, 0};
    if (r->stopping || p->state != POST_DIALLING) return;
    if (peer->role != ROLE_DAEMON || strcmp(peer->node, p->at->id) != 0)
        error_set(&why, GLINT_E_PEER_MISMATCH, "look at host and port in the cluster's file",
                  "executor %s is wanted, and %s answers", p->at->id, peer->node);
    text_format(admit.name, sizeof admit.name, "%s",
                r->g->config.job_name != NULL ? r->g->config.job_name : "job");
    p->spent = p->hopeless = false;
    p->auth_failures = 0;
    p->reached = why.code == GLINT_OK;
    order_review(r); /* one more can be had */
    if (p->reached && !order_may_ask(p)) {
        post_give_back(p);
        return;
    }
    if (why.code == GLINT_OK && admit_encode(&admit, &payload, &why) == 0) {
        p->state = POST_ASKED;
        liveness_init(&p->liveness, &r->cluster->heartbeat, remote_now(r));
        link_send(c, FRAME_ADMIT, 0, &payload);
        remote_due(r, remote_now(r) + r->cluster->heartbeat.beat_ns);
        return;
    }
    buffer_fini(&payload);
    post_fail(p, &why);
}

static void post_on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct post *p = arg;
    assert(p->conn == c);
    p->conn = NULL;
    if (p->r->stopping) return;
    if (p->link != NULL) { /* the process will end too; its own connections say when */
        if (p->link->state == LINK_ENDING) link_settle(p->link);
        return;
    }
    if (p->state == POST_RESTING) {
        remote_due(p->r, p->due_ns);
        return;
    }
    if (p->state == POST_REFUSED) return;
    bool unreachable = p->state == POST_DIALLING && !is_refusal(why->code);
    if (unreachable) p->hopeless = p->spent;
    if (unreachable) post_launch(p);
    /* Of a process that ended and a port where nobody is, the first says more. */
    struct glint_error cause = p->spent ? p->why : *why;
    if (cause.code == GLINT_OK)
        error_set(&cause, GLINT_E_CONNECTION, NULL, "the connection was closed");
    post_fail(p, &cause);
}

static const struct conn_events post_events = {
    .opened = post_on_opened, .frame = post_on_frame, .closed = post_on_closed};

/* ---- What is due */

static void post_dial(struct post *p)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(p->conn == NULL && p->link == NULL && p->state == POST_RESTING);
    p->state = POST_DIALLING;
    p->conn = conn_dial(&p->r->net, p->at->host, p->at->port, CHANNEL_CONTROL, NULL, &post_events,
                        p, &why);
    if (p->conn == NULL) post_fail(p, &why);
}

static void send_progress(struct post *p)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK}; /* the next one says more */
    pthread_mutex_lock(&p->r->lock);
    struct job_progress progress = p->r->progress;
    pthread_mutex_unlock(&p->r->lock);
    if (progress.stages == 0 || job_progress_encode(&progress, &payload, &ignored) != 0) return;
    link_send(p->conn, FRAME_PROGRESS, 0, &payload);
}

static uint64_t post_beat(struct post *p, uint64_t now)
{
    bool beat = false;
    uint64_t next = UINT64_MAX;
    struct ping ping = {.sent_ns = now};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    if (liveness_look(&p->liveness, now, &beat, &next) == LIFE_DEAD) {
        error_set(&why, GLINT_E_CONNECTION, NULL, "the daemon gave no sign of life for %llu ms",
                  (unsigned long long)(p->r->cluster->heartbeat.dead_ns / MS_NS));
        if (p->link != NULL)
            conn_close(p->conn, false); /* its process may be well, and then it goes on */
        else
            post_fail(p, &why);
        return UINT64_MAX;
    }
    if (beat && ping_encode(&ping, &payload, &why) == 0)
        link_send(p->conn, FRAME_PING, 0, &payload);
    buffer_fini(&payload);
    if (beat && p->state == POST_ADMITTED) send_progress(p);
    return next;
}

/* The process of the job before may just be ending: that is nothing to tell. */
static uint64_t post_note_place(struct post *p, uint64_t now)
{
    if (p->place == p->place_noted) return UINT64_MAX;
    if (now < p->queued_ns + QUEUE_NOTE_NS) return p->queued_ns + QUEUE_NOTE_NS;
    p->place_noted = p->place;
    inbox_note(p->r, "executor %s (%s:%u) is busy; place %llu in its queue", p->at->id, p->at->host,
               p->at->port, (unsigned long long)p->place);
    return UINT64_MAX;
}

uint64_t post_look(struct post *p, uint64_t now)
{
    struct remote *r = p->r;
    if (p->conn != NULL && (p->state == POST_ASKED || p->state == POST_ADMITTED)) {
        uint64_t note = post_note_place(p, now), beat = post_beat(p, now);
        return note < beat ? note : beat;
    }
    if (p->state != POST_RESTING || p->conn != NULL || p->link != NULL || r->deserted)
        return UINT64_MAX;
    if (now < p->due_ns) return p->due_ns;
    if (p->reached && !order_allows(p)) return UINT64_MAX; /* join_look says when */
    post_dial(p);
    return p->state == POST_RESTING ? p->due_ns : UINT64_MAX;
}

void post_stop(struct post *p)
{
    if (p->conn != NULL) conn_close(p->conn, true);
    if (p->process != NULL) launch_stop(p->process, LAUNCH_GRACE_MS);
}
