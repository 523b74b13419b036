/* What the driver says to an executor, and what it is told. Two connections: messages and signs of
 * life on one, blocks on the other; each is of no use without the other, so the end of either is
 * the driver's end for us. Everything that a job needs is made when its JOB comes. */
#include "engine/executor/child_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/executor/store.h"

#include <assert.h>
#include <string.h>

/* ---- To the driver */

static void send_control(struct child *c, enum frame_type type, struct buffer *payload)
{
    if (c->control != NULL) conn_send(c->control, type, 0, payload);
    if (payload != NULL) buffer_fini(payload);
}

void child_send_drain(struct child *c)
{
    send_control(c, FRAME_DRAIN, NULL);
}

static void send_ready(struct child *c)
{
    const struct ready ready = {gate_port(c->gate), c->config.slots, c->config.memory_bytes};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    if (ready_encode(&ready, &payload, &why) == 0)
        send_control(c, FRAME_READY, &payload);
    else
        child_end(c, &why);
}

/* values.h: track. */
static bool send_track(void *arg, const struct track *t)
{
    struct child *c = arg;
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (c->data == NULL || !conn_is_open(c->data)) return false;
    if (track_encode(t, &payload, &ignored) != 0) return false;
    bool sent = conn_send(c->data, FRAME_TRACK, 0, &payload);
    buffer_fini(&payload);
    return sent;
}

/* ---- The job */

/* Relative paths of the job begin where the driver stands. Where this node has no such folder they
 * must not mean something else: in the work directory there is nothing to be found. */
static void enter_folder(struct child *c, const char *folder)
{
    if (folder[0] == '\0') return;
    int r = uv_chdir(folder);
    if (r == 0) return;
    log_line(LOG_WARN, NULL,
             "the driver's folder %s is not on this node (%s): relative paths lead "
             "nowhere",
             folder, uv_strerror(r));
    r = uv_chdir(c->work_dir.path);
    assert(r == 0); /* it is ours, and locked */
}

static int make_parts(struct child *c, const struct task_options *options,
                      struct glint_error *error)
{
    c->peers = peers_create(&c->net, c->config.fetch_ms, error);
    if (c->peers == NULL) return error->code;
    c->fetcher = peers_fetcher(c->peers);
    c->values = values_create(c->env, &c->fetcher, c->config.fetch_ms, send_track, c);
    c->cancel = message_create(MSG_CANCEL);
    if (c->values == NULL || c->cancel == NULL) return error_no_memory(error);
    c->cancel->id = 1;
    const struct executor_config config = {.slots = c->config.slots,
                                           .self = c->number,
                                           .options = *options,
                                           .registry = c->config.registry,
                                           .env = c->env,
                                           .fetcher = &c->fetcher,
                                           .values = c->values,
                                           .deliver = child_deliver,
                                           .deliver_arg = c};
    c->executor = executor_create(&config, error);
    if (c->executor == NULL) return error->code;
    c->serve = serve_create(&c->net, executor_store(c->executor), c->values);
    return c->serve != NULL ? 0 : error_no_memory(error);
}

static int begin_job(struct child *c, const struct message *m, struct glint_error *error)
{
    struct task_options options = {.memory_bytes = c->config.memory_bytes / c->config.slots,
                                   .work_dir = c->work_dir.path};
    if (c->has_job || m->id >= EXECUTORS_MAX)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a second JOB, or one for executor %llu",
                         (unsigned long long)m->id);
    c->has_job = true;
    c->number = (uint32_t)m->id;
    int r = job_decode((struct glint_slice){m->body.data, m->body.size}, &options, error);
    if (r == 0) r = make_parts(c, &options, error);
    if (r != 0) return r;
    enter_folder(c, options.folder);
    if (c->data == NULL || !conn_is_open(c->data)) return 0; /* soon */
    return peers_add_conn(c->peers, TRACK_DRIVER, c->data) == 0 ? 0 : error_no_memory(error);
}

/* A plan that cannot be read here is the job's fault: its tasks fail with that, and nobody else
 * needs to try. */
static bool is_of_plan(const struct message *m, enum glint_code code)
{
    return m->type == MSG_STAGE && (code == GLINT_E_PLAN_FUNCTION || code == GLINT_E_PLAN_TYPE ||
                                    code == GLINT_E_PLAN_ARGUMENT || code == GLINT_E_PLAN_LIMIT);
}

static int on_message(struct child *c, struct glint_slice payload, struct glint_error *error)
{
    struct message *m = message_decode(payload, error);
    if (m == NULL) return error->code;
    const struct message like = {.type = m->type, .stage = m->stage};
    if (m->type == MSG_JOB || c->executor == NULL) {
        int r = m->type == MSG_JOB
                    ? begin_job(c, m, error)
                    : error_set(error, GLINT_E_PROTOCOL, NULL, "a message before JOB");
        message_destroy(m);
        return r;
    }
    int r = executor_receive(c->executor, m, error);
    if (r == 0 || !is_of_plan(&like, (enum glint_code)r)) return r;
    log_error(LOG_ERROR, NULL, error);
    error->code = GLINT_OK;
    return 0;
}

/* Nearly all jobs shuffle, and a handshake then takes its time between two stages. Of two executors
 * the one with the lower number connects ahead, since a task that may run anywhere goes to it. */
static int on_peer(struct child *c, struct glint_slice payload, struct glint_error *error)
{
    struct peer peer;
    int r = peer_decode(payload, &peer, error);
    if (r != 0) return r;
    if (c->peers == NULL || peer.executor >= EXECUTORS_MAX)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "PEER before JOB, or of number %u",
                         peer.executor);
    bool ahead = peer.executor > c->number && c->peers_ahead < PEERS_AHEAD_MAX;
    c->peers_ahead += ahead;
    return peers_add(c->peers, &peer, ahead) == 0 ? 0 : error_no_memory(error);
}

/* ---- Frames */

static int on_control_frame(struct child *c, const struct frame *f, struct glint_slice payload,
                            struct glint_error *error)
{
    struct ping ping;
    switch (f->type) {
    case FRAME_PING: return ping_decode(payload, &ping, error);
    case FRAME_MESSAGE: return on_message(c, payload, error);
    case FRAME_PEER: return on_peer(c, payload, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "the driver sent a %s frame",
                         frame_name(f->type));
    }
}

static int on_tracked(struct child *c, struct glint_slice payload, struct glint_error *error)
{
    struct tracked tracked;
    int r = tracked_decode(payload, &tracked, error);
    return r != 0 ? r : values_on_tracked(c->values, &tracked, error);
}

static int on_data_frame(struct child *c, const struct frame *f, struct glint_slice payload,
                         struct glint_error *error)
{
    bool ready = c->serve != NULL;
    if (ready && f->type == FRAME_GET) return serve_on_get(c->serve, c->data, f, payload, error);
    if (ready && f->type == FRAME_GONE) return peers_on_frame(c->peers, c->data, f, payload, error);
    if (ready && f->type == FRAME_TRACKED) return on_tracked(c, payload, error);
    return error_set(error, GLINT_E_PROTOCOL, NULL, "the driver sent a %s frame for data",
                     frame_name(f->type));
}

static int driver_frame(void *arg, struct conn *conn, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error)
{
    struct child *c = arg;
    if (c->phase >= CHILD_ENDING) return 0;
    if (c->phase == CHILD_SERVING) liveness_heard(&c->liveness, child_now(c));
    return conn == c->control ? on_control_frame(c, f, payload, error)
                              : on_data_frame(c, f, payload, error);
}

static uint8_t *driver_into(void *arg, struct conn *conn, const struct frame *f)
{
    struct child *c = arg;
    if (c->phase == CHILD_SERVING) liveness_heard(&c->liveness, child_now(c));
    return c->peers != NULL ? peers_into(c->peers, conn, f) : NULL;
}

static void driver_data(void *arg, struct conn *conn, const struct frame *f)
{
    struct child *c = arg;
    if (c->phase == CHILD_SERVING) liveness_heard(&c->liveness, child_now(c));
    if (c->peers != NULL) peers_on_data(c->peers, conn, f);
}

/* ---- Its coming and going */

void child_on_driver(struct child *c, struct conn *conn)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(conn_is_open(conn) && (conn == c->control || conn == c->data));
    if (c->phase >= CHILD_ENDING) return;
    if (conn == c->control) send_ready(c);
    if (conn == c->data && c->peers != NULL && peers_add_conn(c->peers, TRACK_DRIVER, conn) != 0) {
        error_no_memory(&why);
        child_end(c, &why);
    }
    bool both =
        c->control != NULL && c->data != NULL && conn_is_open(c->control) && conn_is_open(c->data);
    if (!both || c->phase != CHILD_WAITING) return;
    c->phase = CHILD_SERVING;
    c->redial_ns = UINT64_MAX;
    liveness_init(&c->liveness, &c->config.heartbeat, child_now(c));
    log_line(LOG_INFO, NULL, "serves the driver at %s with %u slots", conn_address(c->control),
             c->config.slots);
    child_due(c, child_now(c));
}

static void driver_opened(void *arg, struct conn *conn)
{
    struct child *c = arg;
    struct glint_error why = {.code = GLINT_OK};
    bool accepted = c->config.join_host == NULL; /* and known already */
    if (c->phase >= CHILD_ENDING || accepted) return;
    if (conn == c->control) {
        memcpy(c->driver, conn_peer(conn)->incarnation, sizeof c->driver);
        c->data = conn_dial(&c->net, c->config.join_host, c->config.join_port, CHANNEL_DATA,
                            c->driver, &child_driver_events, c, &why);
        if (c->data == NULL) conn_close(conn, false);
    }
    child_on_driver(c, conn);
}

/* Whether the connection's end is the driver's, and not a fault of what it said. */
static bool is_plain_end(enum glint_code code)
{
    return code == GLINT_OK || code == GLINT_E_CONNECTION;
}

static void driver_closed(void *arg, struct conn *conn, const struct glint_error *why)
{
    struct child *c = arg;
    assert(conn == c->control || conn == c->data);
    if (conn == c->control) {
        c->control = NULL;
    } else {
        c->data = NULL;
        if (c->peers != NULL) peers_on_closed(c->peers, conn);
        if (c->serve != NULL) serve_on_closed(c->serve, conn);
    }
    if (c->phase >= CHILD_ENDING) {
        child_due(c, child_now(c));
        return;
    }
    if (c->phase == CHILD_WAITING && c->config.join_host != NULL) {
        child_join_failed(c, why);
        return;
    }
    if (is_plain_end(why->code))
        log_line(LOG_INFO, NULL, "the driver is gone: %s",
                 why->code != GLINT_OK ? why->cause : "it has closed the connection");
    else
        log_error(LOG_ERROR, NULL, why);
    child_end(c, is_plain_end(why->code) ? NULL : why);
}

const struct conn_events child_driver_events = {.opened = driver_opened,
                                                .frame = driver_frame,
                                                .into = driver_into,
                                                .data = driver_data,
                                                .closed = driver_closed};

/* ---- Signs of life */

static void tell_daemon(struct child *c, const struct child_state *s)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (!c->has_line || child_state_encode(s, &payload, &ignored) != 0) return;
    line_send(&c->line, LINE_STATE, &payload);
}

static void beat(struct child *c, uint64_t now)
{
    struct child_state s = {.tasks_running = 0};
    size_t resident = 0;
    if (c->executor != NULL) s.tasks_running = executor_running(c->executor);
    if (s.tasks_running > c->config.slots) s.tasks_running = c->config.slots; /* more wait */
    if (uv_resident_set_memory(&resident) == 0) s.memory_bytes = resident;
    const struct ping ping = {now, s.memory_bytes, s.tasks_running};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (ping_encode(&ping, &payload, &ignored) == 0) send_control(c, FRAME_PING, &payload);
    tell_daemon(c, &s);
}

uint64_t child_driver_look(struct child *c, uint64_t now)
{
    bool due = false;
    uint64_t next = UINT64_MAX;
    assert(c->phase == CHILD_SERVING);
    if (liveness_look(&c->liveness, now, &due, &next) == LIFE_DEAD) {
        log_line(LOG_WARN, NULL, "the driver gave no sign of life for %llu ms",
                 (unsigned long long)(c->config.heartbeat.dead_ns / MS_NS));
        child_end(c, NULL);
        return now;
    }
    if (due) beat(c, now);
    return next;
}
