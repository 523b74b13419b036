/* The two connections to the driver: messages and heartbeats on the control connection, blocks on
 * the data connection. Each is useless without the other, so the executor treats the end of either
 * as the loss of the driver. Everything that a job needs is created when its JOB message arrives.
 *
 * A scheduler such as Slurm starts processes in any order, so a driver that does not listen yet is
 * dialled again, with growing backoff, for start_ms. A process that a daemon started has a driver
 * that listens: it gives up after DIALS_MAX failures. */
#include "engine/base/log.h"
#include "engine/executor/executor_process_internal.h"
#include "engine/net/net_init.h"

#include <assert.h>
#include <string.h>

#define DIALS_MAX 6u

/* ---- Sending */

void driver_conn_send_drain(struct executor_process *c)
{
    if (c->control != NULL) conn_send(c->control, FRAME_DRAIN, 0, NULL);
}

static void send_registration(struct executor_process *c)
{
    const struct executor_registration registration = {listener_port(c->listener), c->config.slots,
                                                       c->config.memory_bytes};
    conn_send_payload(c->control, FRAME_REGISTER, 0, &executor_registration_format, &registration);
}

/* broadcast_client_create's request_blocks. The first broadcast may be announced before the data
 * connection is open. */
static bool send_broadcast_block_request(void *arg, const struct block_request *t)
{
    struct executor_process *c = arg;
    if (c->phase == PROCESS_WAITING && c->data != NULL && !conn_is_open(c->data)) return true;
    return c->data != NULL && conn_is_open(c->data) &&
           conn_send_payload(c->data, FRAME_BLOCK_REQUEST, 0, &block_request_format, t);
}

/* ---- The job */

/* Relative paths of a job are relative to the driver's directory. If this node has no such
 * directory they must not resolve to other files; in the work directory they are not found. */
static void chdir_to_driver_directory(struct executor_process *c, const char *dir)
{
    if (dir[0] == '\0') return;
    int r = uv_chdir(dir);
    if (r == 0) return;
    log_line(LOG_WARN, NULL,
             "the driver's directory %s does not exist on this node (%s): relative paths will not "
             "be found",
             dir, uv_strerror(r));
    r = uv_chdir(c->work_dir.path);
    assert(r == 0); /* this process created and locked it */
}

static int create_job_services(struct executor_process *c, const struct task_options *options,
                               struct glint_error *error)
{
    c->peers = peers_create(&c->net, c->config.cluster->fetch_ms, error);
    if (c->peers == NULL) return error->code;
    c->fetcher = peers_as_fetcher(c->peers);
    c->broadcasts = broadcast_client_create(c->env, &c->fetcher, c->config.cluster->fetch_ms,
                                            send_broadcast_block_request, c);
    c->cancel = message_create(MSG_CANCEL);
    if (c->broadcasts == NULL || c->cancel == NULL) return error_no_memory(error);
    /* CANCEL with an id other than 0 cancels; 0 allows tasks again. */
    c->cancel->id = 1;
    const struct executor_config config = {.slots = c->config.slots,
                                           .self = c->number,
                                           .options = *options,
                                           .registry = c->config.registry,
                                           .env = c->env,
                                           .fetcher = &c->fetcher,
                                           .broadcasts = c->broadcasts,
                                           .deliver = executor_outbox_add,
                                           .deliver_arg = c};
    c->executor = executor_create(&config, error);
    if (c->executor == NULL) return error->code;
    c->fetch_server = store_create_fetch_server(&c->loop, executor_store(c->executor),
                                                executor_blocks(c->executor), c->broadcasts);
    return c->fetch_server != NULL ? 0 : error_no_memory(error);
}

static int start_job_of_message(struct executor_process *c, const struct message *m,
                                struct glint_error *error)
{
    struct task_options options = {.memory_bytes = c->config.memory_bytes / c->config.slots,
                                   .allow_commands = c->config.cluster->allow_commands,
                                   .python = c->config.cluster->python,
                                   .work_dir = c->work_dir.path};
    if (c->has_job || m->id >= EXECUTORS_MAX)
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "duplicate JOB, or invalid executor id %llu", (unsigned long long)m->id);
    if (c->net.tls != NULL && !c->has_job_key)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "JOB before JOB_KEY");
    net_forget_secrets(&c->net); /* the job's code shall not get at more than this job */
    c->has_job = true;
    c->number = (uint32_t)m->id;
    int r = job_options_decode(buffer_slice(&m->body), &options, error);
    if (r == 0) r = create_job_services(c, &options, error);
    if (r != 0) return r;
    chdir_to_driver_directory(c, options.dir);
    /* Else driver_conn_on_opened does it. */
    if (c->data != NULL && conn_is_open(c->data)) peers_set_driver_conn(c->peers, c->data);
    return 0;
}

/* An invalid plan is the job's fault, and another executor would not help: the error is logged and
 * the connection stays open. The stage's tasks then fail with the error, so the driver gets it. */
static bool is_error_of_plan(const struct message *m, enum glint_code code)
{
    return m->type == MSG_STAGE && (code == GLINT_E_PLAN_FUNCTION || code == GLINT_E_PLAN_TYPE ||
                                    code == GLINT_E_PLAN_ARGUMENT || code == GLINT_E_PLAN_LIMIT);
}

static int on_driver_message(struct executor_process *c, struct glint_slice payload,
                             struct glint_error *error)
{
    struct message *m = message_decode(payload, error);
    if (m == NULL) return error->code;
    /* executor_handle_message frees `m`; this is what is_error_of_plan needs of it. */
    const struct message header = {.type = m->type, .stage = m->stage};
    /* JOB is the first message and comes once: everything else needs what it creates. */
    if (m->type == MSG_JOB || c->executor == NULL) {
        int r = m->type == MSG_JOB ? start_job_of_message(c, m, error)
                                   : error_set(error, GLINT_E_PROTOCOL, NULL, "message before JOB");
        message_destroy(m);
        return r;
    }
    int r = executor_handle_message(c->executor, m, error);
    if (r == 0 || !is_error_of_plan(&header, (enum glint_code)r)) return r;
    log_error(LOG_ERROR, NULL, error);
    error->code = GLINT_OK;
    return 0;
}

/* Connects to other executors in advance: nearly all jobs shuffle, and a handshake would delay the
 * first fetch between two stages. Of two executors the one with the lower number connects in
 * advance, because the scheduler prefers it for tasks that may run anywhere. */
static int on_executor_added_frame(struct executor_process *c, struct glint_slice payload,
                                   struct glint_error *error)
{
    struct executor_address peer;
    int r = executor_address_decode(payload, &peer, error);
    if (r != 0) return r;
    if (c->peers == NULL || peer.executor >= EXECUTORS_MAX)
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "EXECUTOR_ADDED before JOB, or invalid executor id %u", peer.executor);
    bool ahead = peer.executor > c->number && c->peers_connected_early < PEERS_PRECONNECT_MAX;
    c->peers_connected_early += ahead;
    return peers_add_executor(c->peers, &peer, ahead) == 0 ? 0 : error_no_memory(error);
}

/* ---- Frames */

/* Only for a process that connected with the cluster's secret. */
static int on_job_key_frame(struct executor_process *c, struct glint_slice payload,
                            struct glint_error *error)
{
    struct secret key;
    if (c->has_job_key) return error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate JOB_KEY");
    int r = job_key_decode(payload, &key, error);
    if (r == 0) r = net_set_job_key(&c->net, &key, error);
    c->has_job_key = r == 0;
    return r;
}

static int handle_control_frame(struct executor_process *c, const struct frame *f,
                                struct glint_slice payload, struct glint_error *error)
{
    switch (f->type) {
    case FRAME_JOB_KEY: return on_job_key_frame(c, payload, error);
    case FRAME_MESSAGE: return on_driver_message(c, payload, error);
    case FRAME_EXECUTOR_ADDED: return on_executor_added_frame(c, payload, error);
    default:
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected %s frame from the driver",
                         frame_type_name(f->type));
    }
}

static int on_broadcast_block_assign_frame(struct executor_process *c, struct glint_slice payload,
                                           struct glint_error *error)
{
    struct block_assignment assignment;
    int r = block_assignment_decode(payload, &assignment, error);
    return r != 0 ? r : broadcast_client_on_assign(c->broadcasts, &assignment, error);
}

static int handle_data_frame(struct executor_process *c, const struct frame *f,
                             struct glint_slice payload, struct glint_error *error)
{
    bool ready = c->fetch_server != NULL;
    if (ready && f->type == FRAME_GET)
        return fetch_server_on_get(c->fetch_server, c->data, f, payload, error);
    if (ready && f->type == FRAME_FETCH_ERROR)
        return fetch_client_on_frame(peers_driver_client(c->peers), c->data, f, payload, error);
    if (ready && f->type == FRAME_BLOCK_ASSIGN)
        return on_broadcast_block_assign_frame(c, payload, error);
    return error_set(error, GLINT_E_PROTOCOL, NULL,
                     "unexpected %s frame on the driver's data connection",
                     frame_type_name(f->type));
}

static int on_driver_frame(void *arg, struct conn *conn, const struct frame *f,
                           struct glint_slice payload, struct glint_error *error)
{
    struct executor_process *c = arg;
    /* Discard what arrives while the connections are closing. */
    if (c->phase >= PROCESS_ENDING) return 0;
    return conn == c->control ? handle_control_frame(c, f, payload, error)
                              : handle_data_frame(c, f, payload, error);
}

/* DATA from the driver is for the peer EXECUTOR_ID_DRIVER: blocks of broadcasts. */
static uint8_t *driver_conn_buffer_for(void *arg, struct conn *conn, const struct frame *f)
{
    struct executor_process *c = arg;
    return c->peers != NULL ? fetch_client_buffer_for(peers_driver_client(c->peers), conn, f)
                            : NULL;
}

static void on_driver_data(void *arg, struct conn *conn, const struct frame *f)
{
    struct executor_process *c = arg;
    if (c->peers != NULL) fetch_client_on_data(peers_driver_client(c->peers), conn, f);
}

/* ---- Dialling */

static const struct conn_events driver_conn_events;

static void on_driver_dial_failed(struct executor_process *c, const struct glint_error *why);

static struct conn *dial_driver_conn(struct executor_process *c, enum channel channel,
                                     const uint8_t *incarnation, struct glint_error *why)
{
    const struct conn_target to = {c->config.join_host, c->config.join_port, channel, incarnation};
    return conn_dial(&c->net, &to, &driver_conn_events, c, why);
}

void driver_conn_dial(struct executor_process *c)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(c->phase == PROCESS_WAITING && c->control == NULL && c->data == NULL);
    c->redial_at_ns = UINT64_MAX;
    c->before = c->last;
    c->has_registered = false;
    c->has_job_key = c->config.from_daemon != NULL; /* else each driver sends its own */
    c->last.code = GLINT_OK;
    c->control = dial_driver_conn(c, CHANNEL_CONTROL, NULL, &why);
    if (c->control == NULL) on_driver_dial_failed(c, &why);
}

void driver_conn_give_up(struct executor_process *c)
{
    struct glint_error why = {.code = GLINT_OK};
    if (c->last.code == GLINT_OK) c->last = c->before;          /* still dialling */
    error_set(&c->last, GLINT_E_CONNECTION, NULL, "timed out"); /* unless it has an error */
    error_set(&why, c->last.code, c->last.hint[0] != '\0' ? c->last.hint : DRIVER_HOST_HINT,
              "cannot connect to the driver at %s:%u: %s", c->config.join_host, c->config.join_port,
              c->last.cause);
    executor_process_end(c, &why);
}

/* A connection failed before both were open: dials again later, or ends the process. */
static void on_driver_dial_failed(struct executor_process *c, const struct glint_error *why)
{
    if (c->control != NULL) conn_close(c->control, false);
    if (c->data != NULL) conn_close(c->data, false);
    if (c->last.code == GLINT_OK) c->last = *why;
    if (c->last.code == GLINT_OK)
        error_set(&c->last, GLINT_E_CONNECTION, NULL, "the driver closed the connection");
    /* Called again when the other connection has closed. */
    if (c->control != NULL || c->data != NULL) return;
    if (backoff_on_error(&c->backoff, c->last.code)) {
        executor_process_end(c, &c->last);
        return;
    }
    uint64_t wait_ns = backoff_next_ns(&c->backoff, c->env);
    if (c->config.from_daemon != NULL && c->backoff.attempts == DIALS_MAX) {
        driver_conn_give_up(c);
        return;
    }
    /* Log only the first failure: retries are frequent. */
    if (!c->waiting_logged)
        log_line(LOG_INFO, NULL, "waiting for a driver at %s:%u: %s", c->config.join_host,
                 c->config.join_port, c->last.cause);
    c->waiting_logged = true;
    c->redial_at_ns = executor_process_now(c) + wait_ns;
    executor_process_arm_timer(c, c->redial_at_ns);
}

/* ---- Opened and closed */

static void on_control_conn_opened(struct executor_process *c)
{
    struct glint_error why = {.code = GLINT_OK};
    /* The data connection must reach the same driver process as the control connection, not one
     * that was started on the same port since. */
    memcpy(c->driver, conn_peer_hello(c->control)->incarnation, sizeof c->driver);
    c->data = dial_driver_conn(c, CHANNEL_DATA, c->driver, &why);
    if (c->data == NULL) {
        on_driver_dial_failed(c, &why);
        return;
    }
    conn_start_heartbeat(c->control, &c->config.cluster->heartbeat);
    c->has_registered = true;
    send_registration(c);
}

static void on_driver_conn_opened(void *arg, struct conn *conn)
{
    struct executor_process *c = arg;
    if (c->phase >= PROCESS_ENDING) return;
    if (conn == c->control) {
        on_control_conn_opened(c);
        return;
    }
    if (c->peers != NULL) peers_set_driver_conn(c->peers, conn);
    if (c->broadcasts != NULL) broadcast_client_request_missing_blocks(c->broadcasts);
    if (c->control == NULL || !conn_is_open(c->control) || c->phase != PROCESS_WAITING) return;
    c->phase = PROCESS_SERVING;
    c->redial_at_ns = UINT64_MAX;
    log_line(LOG_INFO, NULL, "serving driver at %s with %u slots", conn_peer_address(c->control),
             c->config.slots);
    executor_process_arm_timer(c, executor_process_now(c));
}

/* Whether the driver just closed or was lost, instead of sending something invalid. */
static bool is_orderly_close(enum glint_code code)
{
    return code == GLINT_OK || code == GLINT_E_CONNECTION;
}

static void on_driver_conn_closed(void *arg, struct conn *conn, const struct glint_error *why)
{
    struct executor_process *c = arg;
    assert(conn == c->control || conn == c->data);
    if (conn == c->control) {
        c->control = NULL;
    } else {
        c->data = NULL;
        if (c->peers != NULL) peers_set_driver_conn(c->peers, NULL);
        if (c->fetch_server != NULL) fetch_server_on_closed(c->fetch_server, conn);
    }
    if (c->phase >= PROCESS_ENDING) {
        executor_process_arm_timer(c, executor_process_now(c));
        return;
    }
    /* The driver may send invalid frames, or JOB, before the data connection is open: then another
     * attempt would not help. */
    bool is_final = c->has_job || (c->has_registered && why->code == GLINT_E_PROTOCOL);
    if (c->phase == PROCESS_WAITING && !is_final) {
        on_driver_dial_failed(c, why);
        return;
    }
    if (is_orderly_close(why->code))
        log_line(LOG_INFO, NULL, "driver disconnected: %s",
                 why->code != GLINT_OK ? why->cause : "it closed the connection");
    /* A lost driver is the normal end of an executor; a protocol error is a failure. */
    executor_process_end(c, is_orderly_close(why->code) ? NULL : why);
}

/* What the driver, and with it `glint status`, knows about this process. */
static void fill_driver_ping(void *arg, struct conn *conn, struct ping *ping)
{
    struct executor_process *c = arg;
    size_t resident = 0;
    (void)conn;
    if (c->executor != NULL) ping->tasks_running = executor_unfinished_tasks(c->executor);
    /* Unfinished tasks beyond the slots are queued, not running. */
    if (ping->tasks_running > c->config.slots) ping->tasks_running = c->config.slots;
    if (uv_resident_set_memory(&resident) == 0) ping->memory_bytes = resident;
    /* Whether a cancelled task does not stop is checked with each heartbeat. */
    executor_process_arm_timer(c, executor_process_now(c));
}

static const struct conn_events driver_conn_events = {.opened = on_driver_conn_opened,
                                                      .frame = on_driver_frame,
                                                      .buffer_for = driver_conn_buffer_for,
                                                      .data = on_driver_data,
                                                      .heartbeat = fill_driver_ping,
                                                      .closed = on_driver_conn_closed};
