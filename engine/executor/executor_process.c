/* Life cycle of an executor process, from opening the loop to the last free. What happens in
 * between comes from connections (driver_conn.c) and slots.
 *
 * Shutdown has an order. Tasks are cancelled and connections closed at once; everything else closes
 * only when no task runs and no connection is open, because until then tasks may fetch and blocks
 * may be sent. A task that ignores its cancel flag for GRACE_MS is not waited for: the process
 * exits. */
#include "engine/base/crash.h"
#include "engine/base/env.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/executor/executor_process_internal.h"
#include "engine/limits.h"
#include "engine/net/net_init.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- Task outcomes on their way to the driver. Slot threads queue them and wake the loop; the
 * loop sends as many as the control connection has room for. Outcomes left when the driver is gone
 * are dropped. */

#define WINDOW_BYTES (CONN_QUEUE_BYTES_MAX / 2)
#define AGAIN_NS     (10 * MS_NS)

void executor_outbox_add(void *arg, struct message *m)
{
    struct executor_process *c = arg;
    assert(m->type == MSG_DONE || m->type == MSG_FAILED);
    pthread_mutex_lock(&c->lock);
    message_queue_append(&c->outbox, m);
    pthread_mutex_unlock(&c->lock);
    uv_async_send(&c->outcome_added);
}

static struct message *executor_outbox_pop(struct executor_process *c)
{
    pthread_mutex_lock(&c->lock);
    struct message *m = message_queue_pop(&c->outbox);
    pthread_mutex_unlock(&c->lock);
    return m;
}

static bool executor_outbox_is_empty(struct executor_process *c)
{
    pthread_mutex_lock(&c->lock);
    bool empty = c->outbox.first == NULL;
    pthread_mutex_unlock(&c->lock);
    return empty;
}

/* Sends outcomes while the connection has room. Returns when to call it again; UINT64_MAX: all
 * sent. */
static uint64_t executor_outbox_send_to_driver(struct executor_process *c, uint64_t now)
{
    /* A frame is queued only below WINDOW_BYTES, so the largest one still fits. */
    static_assert(WINDOW_BYTES + CONTROL_FRAME_BYTES_MAX <= CONN_QUEUE_BYTES_MAX,
                  "a frame sent within the window fits the send queue");
    while (c->phase == PROCESS_SERVING && c->control != NULL) {
        /* Beyond CONN_QUEUE_BYTES_MAX conn_send would close the connection; wait for the socket
         * instead. */
        if (conn_queued_bytes(c->control) >= WINDOW_BYTES)
            return executor_outbox_is_empty(c) ? UINT64_MAX : now + AGAIN_NS;
        struct message *m = executor_outbox_pop(c);
        if (m == NULL) break;
        /* If it fails the connection closes by itself: driver_on_closed ends the process. */
        message_send(c->control, m);
        message_destroy(m);
    }
    return UINT64_MAX;
}

/* ---- Connections accepted on an executor's port: of other executors of the job, which may only
 * send GET frames. */

#define INBOUND_PEERS_MAX (2 * CLUSTER_EXECUTORS_MAX)

/* The handshake only proves that the peer belongs to the job: it may read blocks. */
static int inbound_peer_on_frame(void *arg, struct conn *conn, const struct frame *f,
                                 struct glint_slice payload, struct glint_error *error)
{
    struct inbound_peer *g = arg;
    struct executor_process *c = g->executor_process;
    if (c->phase >= PROCESS_ENDING) return 0;
    if (f->type == FRAME_GET && c->fetch_server != NULL)
        return fetch_server_on_get(c->fetch_server, conn, f, payload, error);
    return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected %s frame from an executor",
                     frame_type_name(f->type));
}

static void inbound_peer_on_closed(void *arg, struct conn *conn, const struct glint_error *why)
{
    struct inbound_peer *g = arg;
    struct executor_process *c = g->executor_process;
    struct inbound_peer **at = &c->inbound_peers;
    (void)why; /* the peer decides whether to reconnect */
    assert(g->conn == conn && c->inbound_peer_count > 0);
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    c->inbound_peer_count--;
    if (c->fetch_server != NULL) fetch_server_on_closed(c->fetch_server, conn);
    mem_free(g);
    /* The shutdown waits for the last connection. */
    if (c->phase == PROCESS_ENDING) executor_process_arm_timer(c, executor_process_now(c));
}

static const struct conn_events inbound_peer_events = {.frame = inbound_peer_on_frame,
                                                       .closed = inbound_peer_on_closed};

static bool accept_inbound_peer(struct executor_process *c, struct conn *conn,
                                struct glint_error *error)
{
    /* More than one per executor: an old connection may still be open when its peer has
     * reconnected. */
    if (c->inbound_peer_count == INBOUND_PEERS_MAX) {
        error_set(error, GLINT_E_CONNECTION, NULL, "too many executor connections (max %u)",
                  INBOUND_PEERS_MAX);
        return false;
    }
    struct inbound_peer *g = mem_alloc(sizeof *g);
    if (g == NULL) {
        error_no_memory(error);
        return false;
    }
    *g = (struct inbound_peer){c->inbound_peers, c, conn};
    c->inbound_peers = g;
    c->inbound_peer_count++;
    conn_set_events(conn, &inbound_peer_events, g);
    return true;
}

/* listener_open's `accepted`: another executor of the job. Returns false with *error set to
 * reject. */
static bool executor_process_on_accepted(void *arg, struct conn *conn, struct glint_error *error)
{
    struct executor_process *c = arg;
    if (c->phase >= PROCESS_ENDING) {
        error_set(error, GLINT_E_CONNECTION, NULL, "%s is shutting down", c->config.node);
        return false;
    }
    /* With TLS only the job's key opens it: until the driver has sent that, the process still has
     * the cluster's secret. */
    bool of_job = c->net.tls == NULL || conn_secret_kind(conn) == SECRET_JOB;
    if (conn_peer_hello(conn)->role == ROLE_EXECUTOR && of_job)
        return accept_inbound_peer(c, conn, error);
    error_set(error, GLINT_E_PEER_MISMATCH, "check the addresses in cluster.toml",
              "%s is an executor process, not a daemon", c->config.node);
    return false;
}

/* Tells the daemon, if there is one, why this process ends. */
static void executor_process_report(const struct executor_process *c, const struct glint_error *why)
{
    char text[sizeof why->cause + sizeof why->hint + 16];
    if (c->has_daemon)
        env_write_all(c->env, PROCESS_PIPE_FD, text, exit_report_format(why, text, sizeof text));
}

/* ---- The process */

#define GRACE_MS 3000u /* for tasks and connections, from PROCESS_ENDING */
#define STUCK_TASK_DEADS                                                                           \
    6u /* times dead_ns: if a cancelled task runs that much longer the process exits */
#define GRACE_SHORT_MS  500u /* instead, after a second signal */
#define END_TIMER_NS    (10 * MS_NS)
#define DRAIN_TIMER_NS  (50 * MS_NS)
#define DRIVER_CONNECTS 3u    /* times connect_ms: for a driver that has requested this process */
#define DRIVER_MS_MIN   5000u /* at least; less than the driver waits (executor_conn.c) */

/* ---- Shutdown */

/* Exits without joining the slots: a task does not stop, or the thread pool is stuck in a name
 * lookup. */
static void exit_with_stuck_tasks(struct executor_process *c)
{
    uint32_t running = c->executor != NULL ? executor_unfinished_tasks(c->executor) : 0;
    char what[2 * NAME_BYTES_MAX] = "";
    if (c->executor != NULL) executor_find_longest_cancelled_task(c->executor, what, sizeof what);
    log_line(LOG_WARN, NULL, "exiting with %u task%s still running%s%s", running,
             running == 1 ? "" : "s", what[0] != '\0' ? ": " : "", what);
    work_dir_close(&c->work_dir);
    log_flush_repeats();
    _exit(glint_code_exit_status(c->why.code));
}

/* Closes the remaining handles, which nothing uses any more. The loop stops with the last one; the
 * timer is unreferenced, so it does not keep the loop running. */
static void close_remaining_handles(struct executor_process *c, uint64_t now)
{
    struct glint_error gone = {.code = GLINT_OK};
    assert(c->phase == PROCESS_ENDING && c->control == NULL && c->data == NULL &&
           c->inbound_peers == NULL);
    c->phase = PROCESS_CLOSING;
    thread_lower_priority(); /* freeing memory must not delay the driver's exit */
    error_set(&gone, GLINT_E_INTERRUPTED, NULL, "the executor is shutting down");
    if (c->peers != NULL) peers_close(c->peers, &gone, NULL, NULL);
    c->peers = NULL;
    uv_close((uv_handle_t *)&c->outcome_added, NULL);
    signal_close_and_ignore(&c->terminate);
    signal_close_and_ignore(&c->interrupt);
    if (c->has_daemon) uv_close((uv_handle_t *)&c->daemon_pipe, NULL);
    /* Until then handles may be slow to close, e.g. a name lookup on the thread pool; then
     * exit_with_stuck_tasks. */
    uint64_t left = c->deadline_ns > now ? c->deadline_ns - now : 0;
    deadline_start(&c->timer, CLOSE_MS + left / MS_NS);
    uv_unref((uv_handle_t *)&c->timer.timer);
}

void executor_process_end(struct executor_process *c, const struct glint_error *why)
{
    struct glint_error ignored = {.code = GLINT_OK};
    if (c->phase >= PROCESS_ENDING) return;
    c->phase = PROCESS_ENDING;
    if (why != NULL) c->why = *why;
    if (why != NULL) executor_process_report(c, why);
    c->redial_at_ns = UINT64_MAX;
    c->deadline_ns = executor_process_now(c) + (c->signals > 1 ? GRACE_SHORT_MS : GRACE_MS) * MS_NS;
    if (c->executor != NULL)
        executor_handle_message(c->executor, c->cancel, &ignored);
    else
        message_destroy(c->cancel);
    c->cancel = NULL;
    listener_close(c->listener);
    c->listener = NULL;
    /* Flush only the control connection: its queue may contain outcomes and DRAIN. */
    if (c->control != NULL) conn_close(c->control, true);
    if (c->data != NULL) conn_close(c->data, false);
    for (struct inbound_peer *g = c->inbound_peers; g != NULL; g = g->next)
        conn_close(g->conn, false);
    executor_process_arm_timer(c, executor_process_now(c));
}

static uint64_t process_ending_on_timer(struct executor_process *c, uint64_t now)
{
    bool tasks = c->executor != NULL && executor_unfinished_tasks(c->executor) > 0;
    if (!tasks && c->control == NULL && c->data == NULL && c->inbound_peers == NULL) {
        close_remaining_handles(c, now);
        return UINT64_MAX;
    }
    /* Poll: a slot wakes the loop before it counts its task as finished (executor.c:
     * deliver_outcome). */
    if (now >= c->deadline_ns) exit_with_stuck_tasks(c);
    return now + END_TIMER_NS;
}

/* A cancelled task that does not stop blocks its slot for the rest of the job. After the limit the
 * process exits, and the driver runs its tasks on other executors. Returns when to check again. */
static uint64_t check_cancelled_tasks_on_timer(struct executor_process *c, uint64_t now)
{
    char what[2 * NAME_BYTES_MAX];
    uint64_t limit_ns = STUCK_TASK_DEADS * c->config.cluster->heartbeat.dead_ns;
    uint64_t cancel_requested_ns =
        c->executor != NULL ? executor_find_longest_cancelled_task(c->executor, what, sizeof what)
                            : 0;
    if (cancel_requested_ns == 0) return UINT64_MAX; /* checked again with the next heartbeat */
    if (now < cancel_requested_ns + limit_ns) return cancel_requested_ns + limit_ns;
    error_set(&c->why, GLINT_E_TIMEOUT, NULL, "%s was cancelled and did not stop within %llu ms",
              what, (unsigned long long)(limit_ns / MS_NS));
    log_error(LOG_ERROR, NULL, &c->why);
    executor_process_report(c, &c->why);
    exit_with_stuck_tasks(c);
    return UINT64_MAX;
}

/* ---- Draining */

/* Drained: no task is left, all outcomes are sent, and the driver has released all results and map
 * outputs. Exiting before that would lose map outputs, whose tasks would have to run again. */
static bool is_executor_drained(struct executor_process *c)
{
    if (c->executor == NULL) return true;
    if (executor_unfinished_tasks(c->executor) > 0 || !executor_outbox_is_empty(c)) return false;
    return !store_has_fetchable_data(executor_store(c->executor));
}

static uint64_t drain_on_timer(struct executor_process *c, uint64_t now)
{
    if (!c->draining) return UINT64_MAX;
    if (now < c->drain_deadline_ns && !is_executor_drained(c)) {
        uint64_t next = now + DRAIN_TIMER_NS;
        return next < c->drain_deadline_ns ? next : c->drain_deadline_ns;
    }
    log_line(LOG_INFO, NULL, now < c->drain_deadline_ns ? "drained" : "drain timeout");
    executor_process_end(c, NULL);
    return now;
}

/* SIGTERM or SIGINT: the first drains, the second ends. */
static void executor_process_on_signal(struct executor_process *c)
{
    uint64_t now = executor_process_now(c);
    c->signals++;
    if (c->phase == PROCESS_ENDING && c->signals > 1 &&
        c->deadline_ns > now + GRACE_SHORT_MS * MS_NS)
        c->deadline_ns = now + GRACE_SHORT_MS * MS_NS;
    if (c->phase >= PROCESS_ENDING) return;
    /* Without a driver there is nothing to drain; a second signal means now. */
    if (c->phase < PROCESS_SERVING || c->signals > 1) {
        executor_process_end(c, NULL);
        return;
    }
    assert(!c->draining);
    c->draining = true;
    c->drain_deadline_ns = now + c->config.cluster->drain_ms * MS_NS;
    log_line(LOG_INFO, NULL, "draining: no new tasks, at most %llu ms",
             (unsigned long long)c->config.cluster->drain_ms);
    driver_conn_send_drain(c);
    executor_process_arm_timer(c, now);
}

/* ---- The timer */

static void on_driver_dial_timeout(struct executor_process *c)
{
    struct glint_error why = {.code = GLINT_OK};
    if (c->config.from_daemon != NULL) {
        driver_conn_give_up(c);
        return;
    }
    error_set(&why, GLINT_E_CONNECTION, "start one: glint submit --listen HOST:PORT",
              "no driver at %s:%u within %llu ms%s%s", c->config.join_host, c->config.join_port,
              (unsigned long long)c->config.cluster->start_ms, c->last.code != GLINT_OK ? ": " : "",
              c->last.cause);
    executor_process_end(c, &why);
}

/* Everything that depends on time, by phase. Returns when to call it again. */
static uint64_t executor_process_on_timer(struct executor_process *c, uint64_t now)
{
    if (c->phase < PROCESS_SERVING && now >= c->deadline_ns) on_driver_dial_timeout(c);
    if (c->phase < PROCESS_SERVING && now >= c->redial_at_ns) driver_conn_dial(c);
    if (c->phase == PROCESS_WAITING) { /* poll: a late timer shows that this process was paused */
        uint64_t next_check = now + c->config.cluster->heartbeat.heartbeat_ns;
        return earlier_ns(next_check, earlier_ns(c->deadline_ns, c->redial_at_ns));
    }
    if (c->phase == PROCESS_ENDING) return process_ending_on_timer(c, now);
    assert(c->phase == PROCESS_SERVING);
    /* Each of these may end the process: check the phase again before the next. */
    uint64_t next = executor_outbox_send_to_driver(c, now);
    if (c->phase == PROCESS_SERVING) next = earlier_ns(next, drain_on_timer(c, now));
    if (c->phase == PROCESS_SERVING)
        next = earlier_ns(next, check_cancelled_tasks_on_timer(c, now));
    return c->phase == PROCESS_SERVING ? next : now;
}

static void on_process_timer(void *arg)
{
    struct executor_process *c = arg;
    uint64_t now = executor_process_now(c);
    if (c->phase == PROCESS_CLOSING) exit_with_stuck_tasks(c);
    /* Paused (SIGSTOP, suspend): extend the deadline, no driver could connect meanwhile. */
    if (c->phase == PROCESS_WAITING &&
        liveness_is_process_pause(&c->config.cluster->heartbeat, c->timer.expired_by_ns, now))
        c->deadline_ns += now - c->timer.expired_by_ns;
    uint64_t next = executor_process_on_timer(c, now);
    if (next != UINT64_MAX) executor_process_arm_timer(c, next);
}

void executor_process_arm_timer(struct executor_process *c, uint64_t at_ns)
{
    if (c->phase != PROCESS_CLOSING) deadline_start_by(&c->timer, at_ns, executor_process_now(c));
}

/* Loop thread: a slot has queued an outcome. */
static void on_outbox_wakeup(uv_async_t *async)
{
    struct executor_process *c = async->data;
    uint64_t now = executor_process_now(c), next = now;
    if (c->phase == PROCESS_SERVING) next = executor_outbox_send_to_driver(c, now);
    /* Draining or ending may wait only for this task. */
    if (c->draining || c->phase == PROCESS_ENDING) next = now;
    if (next != UINT64_MAX) executor_process_arm_timer(c, next);
}

/* ---- Startup */

/* executor_process.c */
/* Sets up the loop, timer and signal handles. Returns 0, or a code with *error set. */
static int executor_process_init(struct executor_process *c, struct env *env,
                                 struct glint_error *error)
{
    *c = (struct executor_process){.env = env,
                                   .phase = PROCESS_WAITING,
                                   .redial_at_ns = UINT64_MAX,
                                   .work_dir = {.lock = LOCKED_DIR_NONE}};
    if (event_loop_init(&c->loop, env, error) != 0) return error->code;
    pthread_mutex_init(&c->lock, NULL);
    deadline_init(&c->timer, &c->loop, on_process_timer, c);
    int r = uv_async_init(&c->loop, &c->outcome_added, on_outbox_wakeup);
    assert(r == 0); /* event_loop_init opened its descriptors */
    r = uv_signal_init(&c->loop, &c->terminate);
    assert(r == 0);
    r = uv_signal_init(&c->loop, &c->interrupt);
    assert(r == 0);
    c->outcome_added.data = c->terminate.data = c->interrupt.data = c;
    return 0;
}

/* Makes the work directory's path absolute: driver_conn.c changes the current directory. */
static int open_work_dir(struct executor_process *c, struct glint_error *error)
{
    char current_dir[PATH_MAX], path[PATH_MAX];
    size_t size = sizeof current_dir;
    int r = work_dir_open(&c->work_dir, c->env, c->config.work_dir, error);
    if (r != 0 || c->work_dir.path[0] == '/') return r;
    r = uv_cwd(current_dir, &size);
    if (r != 0)
        return error_set_system(error, GLINT_E_WORK_DIR, r, "determine", "the current directory");
    if (!text_format(path, sizeof path, "%s/%s", current_dir, c->work_dir.path))
        return error_set(error, GLINT_E_WORK_DIR, NULL, "the work directory's path is too long");
    memcpy(c->work_dir.path, path, sizeof path);
    return 0;
}

/* Opens the work directory and the port, and dials the driver. `config`'s strings are borrowed.
 * Returns 0, or a code with *error set (the caller then calls executor_process_end). */
static int executor_process_start(struct executor_process *c,
                                  const struct executor_process_config *config,
                                  struct glint_error *error)
{
    assert(c->phase == PROCESS_WAITING && config->slots > 0 && config->slots <= SLOTS_MAX);
    const struct process_credentials *given = config->from_daemon;
    const struct net_config net = {.role = ROLE_EXECUTOR,
                                   .cluster = config->cluster->name,
                                   .node = config->node,
                                   .secret_file = config->cluster->secret_file,
                                   .job_key = given != NULL ? &given->key : NULL,
                                   .incarnation = given != NULL ? given->incarnation : NULL,
                                   .insecure_plaintext = config->cluster->insecure_plaintext,
                                   .connect_ms = config->cluster->connect_ms};
    const struct port_range port = {config->port, config->port};
    c->config = *config;
    c->has_job_key = given != NULL;
    log_configure(c->env, config->log_json, config->node);
    log_limit_bytes(config->log_bytes_max);
    if (config->memory_bytes / config->slots < SLOT_MEMORY_BYTES_MIN)
        return error_set(error, GLINT_E_MEMORY_LIMIT, "raise memory, or use fewer slots",
                         "%u slots need at least %llu MiB of memory", config->slots,
                         (unsigned long long)(config->slots * SLOT_MEMORY_BYTES_MIN / MIB));
    int r = net_init(&c->net, &c->loop, c->env, &net, error);
    if (r == 0) r = open_work_dir(c, error);
    if (r != 0) return r;
    c->listener = listener_open_in_range(&c->net, config->host,
                                         config->port != 0 ? port : config->cluster->ports,
                                         executor_process_on_accepted, c, error);
    if (c->listener == NULL) return error->code;
    uint64_t wait_ms =
        given != NULL ? DRIVER_CONNECTS * config->cluster->connect_ms : config->cluster->start_ms;
    if (given != NULL && wait_ms < DRIVER_MS_MIN) wait_ms = DRIVER_MS_MIN;
    c->deadline_ns = executor_process_now(c) + wait_ms * MS_NS;
    driver_conn_dial(c);
    executor_process_arm_timer(c, c->deadline_ns);
    return 0;
}

/* Runs the loop until the process is CLOSING and frees everything. Returns why.code. */
static int executor_process_run_loop(struct executor_process *c)
{
    uv_run(&c->loop, UV_RUN_DEFAULT);
    assert(c->phase == PROCESS_CLOSING);
    /* The timer could still call exit_with_stuck_tasks until here; a second run lets its close
     * callback happen. */
    deadline_close(&c->timer, NULL);
    uv_run(&c->loop, UV_RUN_DEFAULT);
    fetch_server_destroy(c->fetch_server);
    broadcast_client_destroy(c->broadcasts);
    executor_destroy(c->executor);
    message_queue_fini(&c->outbox);
    net_fini(&c->net);
    work_dir_close(&c->work_dir);
    pthread_mutex_destroy(&c->lock);
    int failed = uv_loop_close(&c->loop);
    assert(failed == 0); /* all handles are closed */
    return c->why.code;
}

/* ---- An executor process: `glint executor --join`, started by a user or, with its credentials on
 * the inherited pipe, by a daemon. A daemon's process ignores the terminal's signals, since the
 * daemon handles them and forwards SIGTERM. It exits when the pipe ends: the daemon wants it to
 * exit, or has died. Before it exits with an error it reports that to the daemon. */

/* ---- /proc/self/oom_score_adj is inherited, so the executor adds to the value that an
 * administrator chose for the daemon; raising it needs no privilege. A step of 200 weighs as much
 * as a fifth of the available memory, and a daemon uses a few MiB. */

#define OOM_FILE  "/proc/self/oom_score_adj"
#define OOM_RAISE 200
#define OOM_MAX   1000

/* Programs started by this process cannot gain privileges (set-user-ID, file capabilities). Failure
 * is logged as a warning. */
static void set_no_new_privileges(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0)
        log_line(LOG_WARN, NULL, "cannot set no_new_privs: %s", strerror(errno));
}

static int write_oom_score(struct env *env)
{
    char text[TEXT_NUMBER_MAX];
    int64_t adjust, n;
    int file = env->open(env, ENV_CWD, OOM_FILE, ENV_READ);
    if (file < 0) return file;
    n = env_read_full(env, file, text, sizeof text - 1, 0);
    env->close(env, file);
    if (n < 0) return (int)n;
    text[n] = '\0';
    if (!text_parse_i64((const uint8_t *)text, strcspn(text, "\n"), &adjust)) return -EINVAL;
    adjust = adjust + OOM_RAISE < OOM_MAX ? adjust + OOM_RAISE : OOM_MAX;
    file = env->open(env, ENV_CWD, OOM_FILE, ENV_APPEND);
    if (file < 0) return file;
    int r = env_write_all(env, file, text, text_format_i64(text, adjust));
    env->close(env, file);
    return r;
}

/* Makes the OOM killer choose this process before the daemon that spawned it. Call before net_init,
 * which makes the process non-dumpable: a user who is not root can then no longer write the file.
 * Failure is logged as a warning. */
static void try_raise_oom_score(struct env *env)
{
    int r = write_oom_score(env);
    if (r != 0) log_line(LOG_WARN, NULL, "cannot raise %s: %s", OOM_FILE, strerror(-r));
}

/* ---- Signals */

static void on_executor_signal(uv_signal_t *handle, int number)
{
    (void)number;
    executor_process_on_signal(handle->data);
}

/* ---- The daemon's pipe */

static void on_daemon_pipe_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    static char ignored[64]; /* the daemon sends nothing more */
    (void)handle, (void)suggested;
    *out = uv_buf_init(ignored, sizeof ignored);
}

static void on_daemon_pipe_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct executor_process *c = stream->data;
    (void)buf;
    if (n >= 0) return;
    uv_read_stop(stream);
    if (c->phase < PROCESS_ENDING && c->control != NULL)
        log_line(LOG_INFO, NULL, "shutdown requested by daemon");
    executor_process_end(c, NULL);
}

/* crash_handler_install's `report`, called in the signal handler. */
static void write_crash_to_daemon(const char *text, size_t size)
{
    env_write_all(env_real(), PROCESS_PIPE_FD, text, size);
}

static int watch_daemon_pipe(struct executor_process *c, struct glint_error *error)
{
    uv_pipe_init(&c->loop, &c->daemon_pipe, 0); /* cannot fail: opens no descriptor */
    c->daemon_pipe.data = c;
    c->has_daemon = true;
    int r = uv_pipe_open(&c->daemon_pipe, PROCESS_PIPE_FD);
    if (r == 0)
        r = uv_read_start((uv_stream_t *)&c->daemon_pipe, on_daemon_pipe_alloc,
                          on_daemon_pipe_read);
    return r == 0 ? 0 : error_set_system(error, GLINT_E_SYSTEM, r, "read", "the daemon's pipe");
}

int executor_process_read_credentials(struct process_credentials *out, struct glint_error *error)
{
    uv_fs_t read;
    uv_buf_t buf = uv_buf_init((char *)out, sizeof *out);
    /* Programs started by this process must not inherit these. */
    ioctl(PROCESS_PROGRAM_FD, FIOCLEX);
    if (uv_guess_handle(PROCESS_PIPE_FD) == UV_NAMED_PIPE && ioctl(PROCESS_PIPE_FD, FIOCLEX) == 0 &&
        uv_fs_read(NULL, &read, PROCESS_PIPE_FD, &buf, 1, -1, NULL) == (int)sizeof *out)
        return 0;
    return error_set(error, GLINT_E_USAGE, "glint executor --cluster FILE --id ID",
                     "only an executor daemon can start this process");
}

/* ---- Main */

/* Before any plan arrives, so that no user function runs without these restrictions. */
static void restrict_process_privileges(const struct executor_process_config *config)
{
    if (config->from_daemon) {
        crash_handler_install("executor",
                              write_crash_to_daemon); /* the daemon logs it with the job */
        thread_lower_priority(); /* let the driver and daemons finish their handshakes first */
        prctl(PR_SET_NAME, "glint", 0L, 0L, 0L); /* else "exe", from /proc/self/exe */
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        try_raise_oom_score(config->env);
    } else {
        crash_handler_install(config->node, NULL);
    }
    crash_handler_enter_thread(NULL, NULL);
    set_no_new_privileges();
}

int executor_process_run(const struct executor_process_config *config, struct glint_error *error)
{
    static struct executor_process process; /* static because it is large */
    struct executor_process *c = &process;
    struct glint_error why = {.code = GLINT_OK};
    restrict_process_privileges(config);
    if (executor_process_init(c, config->env, error) != 0) return error->code;
    uv_signal_start(&c->terminate, on_executor_signal, SIGTERM);
    if (!config->from_daemon) uv_signal_start(&c->interrupt, on_executor_signal, SIGINT);
    if (config->from_daemon) watch_daemon_pipe(c, &why);
    if (why.code == GLINT_OK) executor_process_start(c, config, &why);
    if (why.code != GLINT_OK) executor_process_end(c, &why);
    if (config->from_daemon) thread_restore_priority();
    int r = executor_process_run_loop(c);
    if (r != 0) *error = c->why;
    return r;
}
