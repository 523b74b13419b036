/* Connections to executor daemons. The driver dials each daemon of cluster.toml, requests an
 * executor for this job, and keeps the connection while that executor runs: only the daemon, its
 * parent process, knows how it exited.
 *
 * A daemon that is unreachable is launched if cluster.toml says how, and is dialled again with
 * exponential backoff until the job ends, so that executors can join late. Errors that a retry
 * cannot fix are final: a different build at once, a different secret after three attempts.
 * After the loss of an executor the driver reconnects, which also makes the daemon kill the old
 * process. */
#include "engine/base/file_check.h"
#include "engine/base/mem.h"
#include "engine/base/spawn.h"
#include "engine/base/text.h"
#include "engine/driver/cluster_transport_internal.h"
#include "engine/net/deadline.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* ---- Starts processes by argument vectors, without a shell. They get their own session, so that
 * ^C at a terminal only reaches `glint submit`, which then stops them in order.
 *
 * A log larger than log_bytes_max is rotated when the next process starts: it is renamed to
 * ID.log.1, which replaces the previous one. */

#define WORDS_MAX 64u
#define WORD_MAX  (2u * PATH_MAX)

struct launched_daemon {
    struct spawn process;
    struct deadline grace; /* of launched_daemon_stop */
    uint32_t open_handles; /* freed when the last one has closed */
    bool stopping;
    void (*ended)(void *arg, int wait_status);
    void *arg;
    char log[PATH_MAX];
};

/* ---- The log */

static int rotate_launch_log(struct env *env, const char *path)
{
    char older[PATH_MAX];
    if (!text_format(older, sizeof older, "%s.1", path)) return -ENAMETOOLONG;
    return env->rename(env, ENV_CWD, path, ENV_CWD, older, ENV_RENAME_REPLACE);
}

/* Returns a descriptor, or a code with *error set. The path may be in a directory that others can
 * write to (/tmp): file_open_checked rejects links, pipes and other users' files. */
static int open_launch_log(struct env *env, const struct cluster *c, char *path,
                           struct glint_error *error)
{
    struct env_stat stat;
    int r = env_make_parents(env, path);
    int file = r == 0 ? file_open_checked(env, path, FILE_LOG, GLINT_E_CONFIG, &stat, error) : -1;
    if (file >= 0 && c->log_bytes_max > 0 && stat.size > c->log_bytes_max) {
        env->close(env, file);
        r = rotate_launch_log(env, path);
        file = r == 0 ? file_open_checked(env, path, FILE_LOG, GLINT_E_CONFIG, &stat, error) : -1;
    }
    if (r != 0) error_set_system(error, GLINT_E_CONFIG, r, "write the log", path);
    return file >= 0 ? file : (int)error->code;
}

/* ---- The command line */

struct arguments {
    char *items[WORDS_MAX + 1]; /* ends with NULL */
    uint32_t count;
};

static void launch_arguments_fini(struct arguments *w)
{
    for (uint32_t i = 0; i < w->count; i++) mem_free(w->items[i]);
}

static int launch_arguments_add(struct arguments *w, const char *word, struct glint_error *error)
{
    assert(w->count <= WORDS_MAX && w->items[w->count] == NULL);
    if (w->count == WORDS_MAX)
        return error_set(error, GLINT_E_CONFIG, NULL, "launch_command has more than %u arguments",
                         WORDS_MAX);
    w->items[w->count] = mem_strdup(word);
    if (w->items[w->count] == NULL) return error_no_memory(error);
    w->items[++w->count] = NULL;
    return 0;
}

/* Copies an argument and replaces {host}, {id} and {config}; other text in braces is kept. Returns
 * false if it does not fit. */
static bool expand_launch_argument(const char *word, const struct cluster *c, uint32_t executor,
                                   char *out, size_t capacity)
{
    const struct {
        const char *name, *value;
    } names[] = {{"{host}", c->executors[executor].host},
                 {"{id}", c->executors[executor].id},
                 {"{config}", c->path != NULL ? c->path : ""}};
    size_t used = 0;
    while (*word != '\0') {
        const char *value = NULL;
        for (size_t i = 0; i < sizeof names / sizeof names[0] && value == NULL; i++)
            if (strncmp(word, names[i].name, strlen(names[i].name)) == 0) {
                value = names[i].value;
                word += strlen(names[i].name);
            }
        bool fits = value != NULL ? text_format(out + used, capacity - used, "%s", value)
                                  : text_format(out + used, capacity - used, "%c", *word++);
        if (!fits) return false;
        used += strlen(out + used);
    }
    out[used] = '\0';
    return true;
}

static int build_launch_command(struct arguments *w, const struct cluster *c, uint32_t executor,
                                struct glint_error *error)
{
    char word[WORD_MAX];
    int r = 0;
    for (uint32_t i = 0; c->launch_command[i] != NULL && r == 0; i++) {
        if (!expand_launch_argument(c->launch_command[i], c, executor, word, sizeof word))
            return error_set(error, GLINT_E_CONFIG, NULL,
                             "an argument of launch_command is too long");
        r = launch_arguments_add(w, word, error);
    }
    return r;
}

/* The command line of LAUNCH_LOCAL. Runs the executable of this process, or the cluster's program,
 * and not one found in PATH, since the handshake requires equal builds. */
static int build_local_launch_command(struct arguments *w, const struct cluster *c,
                                      uint32_t executor, struct glint_error *error)
{
    char self[PATH_MAX];
    size_t size = sizeof self;
    int r = 0;
    if (c->program != NULL)
        text_format(self, sizeof self, "%s", c->program);
    else
        r = uv_exepath(self, &size);
    if (r != 0) return error_set_system(error, GLINT_E_SYSTEM, r, "find", "this program's file");
    if (c->path == NULL)
        return error_set(error, GLINT_E_CONFIG, "write a cluster.toml",
                         "executors can be launched only with a cluster.toml");
    const char *const items[] = {
        self, "executor", "--cluster", c->path, "--id", c->executors[executor].id, "--launched"};
    for (size_t i = 0; i < sizeof items / sizeof items[0] && r == 0; i++)
        r = launch_arguments_add(w, items[i], error);
    return r;
}

/* ---- The process */

static void on_launch_closed(void *arg)
{
    struct launched_daemon *p = arg;
    assert(p->open_handles > 0);
    if (--p->open_handles == 0) mem_free(p);
}

static void close_launch_handles(struct launched_daemon *p)
{
    p->open_handles = 1;
    if (spawn_close(&p->process, on_launch_closed)) p->open_handles++;
    deadline_close(&p->grace, on_launch_closed);
}

static void on_stop_grace_over(void *arg)
{
    struct launched_daemon *p = arg;
    spawn_kill(&p->process, SIGKILL);
}

/* `ended` is skipped after launched_daemon_stop: its owner may be gone by then. */
static void on_launched_process_exit(void *arg, int wait_status)
{
    struct launched_daemon *p = arg;
    if (!p->stopping) p->ended(p->arg, wait_status);
    close_launch_handles(p);
}

static bool is_environment_overridden(const char *const *variables, const char *variable)
{
    size_t size = strcspn(variable, "=") + 1;
    for (; variables != NULL && *variables != NULL; variables++)
        if (strncmp(*variables, variable, size) == 0) return true;
    return false;
}

/* Returns the environment: launch_variables, which carry the options of `glint submit`, and the
 * variables of this process that they do not override. The array is the caller's, its strings are
 * borrowed. NULL: out of memory. */
static char **build_launch_environment(const struct cluster *c)
{
    uint64_t own = 0, count = 0, n = 0;
    while (environ[own] != NULL) own++;
    while (c->launch_variables != NULL && c->launch_variables[count] != NULL) count++;
    char **all = mem_alloc((own + count + 1) * sizeof *all);
    if (all == NULL) return NULL;
    for (uint64_t i = 0; i < count; i++) all[n++] = (char *)(uintptr_t)c->launch_variables[i];
    for (uint64_t i = 0; i < own; i++)
        if (!is_environment_overridden(c->launch_variables, environ[i])) all[n++] = environ[i];
    assert(n <= own + count);
    all[n] = NULL;
    return all;
}

/* Returns 0 or a negative errno. The deadline is open in either case, so it must be closed by the
 * loop before `p` is freed. */
static int spawn_daemon_process(struct launched_daemon *p, uv_loop_t *loop, const struct cluster *c,
                                struct arguments *w, int log)
{
    char **variables = build_launch_environment(c);
    const struct spawn_program program = {.path = w->items[0],
                                          .words = w->items,
                                          .variables = variables,
                                          .files = {-1, log, log},
                                          .file_count = 3,
                                          .own_session = true};
    deadline_init(&p->grace, loop, on_stop_grace_over, p);
    p->open_handles = 1;
    int r = variables != NULL
                ? spawn_start(&p->process, loop, &program, on_launched_process_exit, p)
                : UV_ENOMEM;
    mem_free(variables);
    return r;
}

struct launched_daemon *launched_daemon_start(uv_loop_t *loop, struct env *env,
                                              const struct cluster *cluster, uint32_t executor,
                                              void (*ended)(void *arg, int wait_status), void *arg,
                                              struct glint_error *error)
{
    struct arguments w = {.count = 0};
    struct launched_daemon *p = mem_zalloc_or_fail(sizeof *p, error);
    int log = -1, r = 0;
    assert(executor < cluster->executor_count && cluster->launch != LAUNCH_NONE);
    if (p == NULL) return NULL;
    p->ended = ended;
    p->arg = arg;
    if (!text_format(p->log, sizeof p->log, "%s/%s.log",
                     cluster->log_dir != NULL ? cluster->log_dir : "/tmp",
                     cluster->executors[executor].id))
        r = error_set(error, GLINT_E_CONFIG, NULL, "log_dir is too long");
    if (r == 0)
        r = cluster->launch == LAUNCH_LOCAL
                ? build_local_launch_command(&w, cluster, executor, error)
                : build_launch_command(&w, cluster, executor, error);
    if (r == 0) {
        log = open_launch_log(env, cluster, p->log, error);
        r = log < 0 ? log : spawn_daemon_process(p, loop, cluster, &w, log);
        if (r != 0 && log >= 0) spawn_set_error(error, GLINT_E_SYSTEM, r, w.items[0]);
    }
    if (log >= 0) env->close(env, log); /* the process has its own descriptor */
    launch_arguments_fini(&w);
    if (r == 0) return p;
    if (p->open_handles > 0)
        close_launch_handles(p);
    else
        mem_free(p);
    return NULL;
}

const char *launched_daemon_log_path(const struct launched_daemon *p)
{
    return p->log;
}

void launched_daemon_stop(struct launched_daemon *p, uint64_t grace_ms)
{
    assert(!p->stopping);
    p->stopping = true;
    if (!p->process.running) return;
    spawn_kill(&p->process, SIGTERM);
    deadline_start(&p->grace, grace_ms);
}

#define QUEUE_NOTE_MS   500u  /* queued this long: tell the user */
#define LAUNCHES_MAX    3u    /* of one daemon; counts again after one joined */
#define LAUNCH_GRACE_MS 5000u /* between SIGTERM and SIGKILL at the end of the job */

static void daemon_conn_back_off(struct daemon_conn *p)
{
    if (p->conn != NULL) conn_close(p->conn, true);
    if (p->state == DAEMON_CONN_REJECTED) return; /* final */
    p->state = DAEMON_CONN_BACKOFF;
    p->queue_position = p->queue_position_reported = 0;
    p->next_dial_ns = cluster_transport_now(p->r) + backoff_next_ns(&p->backoff, p->r->env);
    daemon_conn_redial(p);
}

void daemon_conn_fail(struct daemon_conn *p, const struct glint_error *why)
{
    struct cluster_transport *r = p->r;
    p->why = *why;
    p->reached = false;
    bool permanent = backoff_on_error(&p->backoff, why->code);
    if (permanent) p->state = DAEMON_CONN_REJECTED;
    /* With a single executor the job fails with the same text: no extra note. */
    if (permanent && !p->missing_reported && r->cluster->executor_count > 1) {
        p->missing_reported = true;
        inbox_push_note(r, "executor %s (%s:%u) is not used: %s", p->at->id, p->at->host,
                        p->at->port, why->cause);
    }
    daemon_conn_back_off(p);
    registration_join_if_enough_executors(r);
}

void daemon_conn_on_executor_gone(struct daemon_conn *p, const struct glint_error *why,
                                  bool had_joined)
{
    p->executor_conn = NULL;
    /* It worked before: the loss is no reason for a long backoff or to stop launching. */
    if (had_joined) p->backoff.attempts = p->launches = 0;
    p->why = *why;
    daemon_conn_back_off(p);
    registration_join_if_enough_executors(p->r);
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
    daemon_conn_redial(p);
    registration_join_if_enough_executors(r);
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
    p->backoff.attempts = 0; /* short backoff: it will be up soon */
    if (p->process != NULL) return;
    assert(why.code != GLINT_OK);
    p->why = why;
    p->launch_failed = true;
}

/* ---- Frames from the daemon */

struct executor_conn *daemon_conn_add_executor(struct daemon_conn *p, struct glint_error *error)
{
    assert(p->executor_conn == NULL);
    struct executor_conn *l = executor_conn_create(p->r, p->incarnation, error);
    if (l == NULL) return NULL;
    p->state = DAEMON_CONN_EXECUTOR_STARTED;
    p->fetches_program = false;
    p->queue_position = p->queue_position_reported = 0;
    /* How the last process ended stays the reason until the next one registers. */
    if (p->why.code != GLINT_E_EXECUTOR_LOST) p->why = (struct glint_error){.code = GLINT_OK};
    p->executor_conn = l;
    l->daemon_conn = p;
    text_format(l->name, sizeof l->name, "%s", p->at->id);
    text_format(l->host, sizeof l->host, "%s", p->at->host);
    registration_join_if_enough_executors(p->r); /* one is kept now: more may be requested */
    return l;
}

/* Its process may have connected before this frame arrived. */
static int daemon_conn_on_executor_started(struct daemon_conn *p, struct glint_error *error)
{
    if (p->state == DAEMON_CONN_EXECUTOR_STARTED) return 0;
    if (p->state != DAEMON_CONN_REQUESTED)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected EXECUTOR_STARTED");
    return daemon_conn_add_executor(p, error) != NULL ? 0 : error->code;
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
    executor_exited_describe(&exited, error);
    return error->code;
}

static void daemon_conn_on_queued(struct daemon_conn *p, uint64_t queue_position)
{
    if (p->state != DAEMON_CONN_REQUESTED) return; /* crossed with EXECUTOR_STARTED: stale */
    p->queue_position = queue_position;
    p->fetches_program = false;
    deadline_start_earlier(&p->queue_note, QUEUE_NOTE_MS);
    registration_join_if_enough_executors(p->r);
}

static int daemon_conn_on_frame(void *arg, struct conn *c, const struct frame *f,
                                struct glint_slice payload, struct glint_error *error)
{
    struct daemon_conn *p = arg;
    if (p->r->stopping) return 0;
    switch (f->type) {
    case FRAME_QUEUED: daemon_conn_on_queued(p, f->request); return 0;
    case FRAME_EXECUTOR_STARTED: return daemon_conn_on_executor_started(p, error);
    case FRAME_EXECUTOR_EXITED: return daemon_conn_on_executor_exited(p, payload, error);
    case FRAME_PROGRAM_REQUEST: return program_server_on_request(p, error);
    case FRAME_GET: /* a slow network: start_ms counts from the last block */
        p->r->no_executor_since_ns = cluster_transport_now(p->r);
        return fetch_server_on_get(p->r->fetch_server, c, f, payload, error);
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

static int send_executor_request(struct daemon_conn *p, struct conn *c, struct glint_error *error)
{
    struct cluster_transport *r = p->r;
    const char *name = r->g->config.job_name;
    struct executor_request request = {.job = {.job = r->g->job_id}, .key = r->job_key};
    text_format(request.job.name, sizeof request.job.name, "%s", name != NULL ? name : "job");
    int code = executor_listener_address(r, c, request.driver_host, &request.driver_port, error);
    if (code == 0 && r->env->random(r->env, p->incarnation, sizeof p->incarnation) != 0)
        code = error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    memcpy(request.incarnation, p->incarnation, sizeof request.incarnation);
    if (code != 0) return code;
    host_format_address(p->driver_address, sizeof p->driver_address, request.driver_host,
                        request.driver_port);
    p->state = DAEMON_CONN_REQUESTED;
    conn_send_payload(c, FRAME_REQUEST_EXECUTOR, 0, &executor_request_format, &request);
    conn_start_heartbeat(c, &r->cluster->heartbeat);
    return 0;
}

static void daemon_conn_on_opened(void *arg, struct conn *c)
{
    struct daemon_conn *p = arg;
    struct cluster_transport *r = p->r;
    const struct hello *peer = conn_peer_hello(c);
    struct glint_error why = {.code = GLINT_OK};
    if (r->stopping || p->state != DAEMON_CONN_DIALLING) return;
    if (peer->role != ROLE_DAEMON || strcmp(peer->node, p->at->id) != 0)
        error_set(&why, GLINT_E_PEER_MISMATCH, "check host and port in cluster.toml",
                  "expected executor %s, connected to %s", p->at->id, peer->node);
    p->launch_failed = p->permanently_unreachable = false;
    p->backoff.auth_failures = 0;
    p->reached = why.code == GLINT_OK;
    /* One more executor is available: the limit may change. */
    acquisition_order_release_above_limit(r);
    if (p->reached && !acquisition_order_may_request(p)) {
        daemon_conn_release_executor(p);
        /* It was the last response that the order waited for. */
        acquisition_order_release_above_limit(r);
        return;
    }
    if (why.code != GLINT_OK || send_executor_request(p, c, &why) != 0) daemon_conn_fail(p, &why);
}

static void daemon_conn_on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct daemon_conn *p = arg;
    assert(p->conn == c);
    fetch_server_on_closed(p->r->fetch_server, c);
    p->conn = NULL;
    p->fetches_program = false;
    if (p->r->stopping) return;
    if (p->executor_conn != NULL) {
        /* The executor exits without its daemon, or runs on if only this connection broke: its own
         * connections show which. If it is lost already, EXECUTOR_EXITED can no longer arrive, so
         * do not wait for it. */
        struct executor_conn *l = p->executor_conn;
        if (l->state == EXECUTOR_CONN_CLOSING)
            executor_conn_finalize(l);
        else if (l->control == NULL && l->data == NULL)
            executor_conn_fail(l, why); /* it may not have connected because its node is down */
        return;
    }
    if (p->state == DAEMON_CONN_BACKOFF) {
        daemon_conn_redial(p);
        return;
    }
    if (p->state == DAEMON_CONN_REJECTED) return;
    /* After a rejection a process has the port: launching a daemon there would not help. */
    bool unreachable = p->state == DAEMON_CONN_DIALLING && !error_is_rejection(why->code);
    if (unreachable) p->permanently_unreachable = p->launch_failed;
    if (unreachable) daemon_conn_launch(p);
    /* "its process exited with status 1; log ..." says more than "connection refused". */
    struct glint_error cause = p->launch_failed ? p->why : *why;
    if (cause.code == GLINT_OK)
        error_set(&cause, GLINT_E_CONNECTION, NULL, "the connection was closed");
    daemon_conn_fail(p, &cause);
}

/* Progress for `glint status`, which gets it from the daemon. */
static void daemon_conn_on_ping(void *arg, struct conn *c, struct ping *ping)
{
    struct daemon_conn *p = arg;
    (void)ping;
    if (p->state != DAEMON_CONN_EXECUTOR_STARTED) return;
    pthread_mutex_lock(&p->r->lock);
    struct job_progress progress = p->r->progress;
    pthread_mutex_unlock(&p->r->lock);
    if (p->executor_conn != NULL) progress.tasks_running = p->executor_conn->tasks_running;
    if (progress.stages > 0)
        conn_send_payload(c, FRAME_PROGRESS, 0, &job_progress_format, &progress);
}

static const struct conn_events daemon_conn_events = {.opened = daemon_conn_on_opened,
                                                      .frame = daemon_conn_on_frame,
                                                      .heartbeat = daemon_conn_on_ping,
                                                      .closed = daemon_conn_on_closed};

/* ---- Deadlines */

static void daemon_conn_dial(struct daemon_conn *p)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(p->conn == NULL && p->executor_conn == NULL && p->state == DAEMON_CONN_BACKOFF);
    p->state = DAEMON_CONN_DIALLING;
    const struct conn_target to = {p->at->host, p->at->port, CHANNEL_CONTROL, NULL};
    p->conn = conn_dial(&p->r->net, &to, &daemon_conn_events, p, &why);
    if (p->conn == NULL) daemon_conn_fail(p, &why);
}

void daemon_conn_redial(struct daemon_conn *p)
{
    struct cluster_transport *r = p->r;
    /* `conn` is set while the previous connection still closes; its `closed` calls this again. */
    if (r->stopping || r->no_executors_reported || p->state != DAEMON_CONN_BACKOFF ||
        p->conn != NULL || p->executor_conn != NULL)
        return;
    uint64_t left_ms = ms_until(p->next_dial_ns, cluster_transport_now(r));
    if (left_ms > 0)
        deadline_start(&p->redial, left_ms);
    else if (!p->reached || acquisition_order_allows(p))
        daemon_conn_dial(p);
}

static void on_redial_deadline(void *arg)
{
    daemon_conn_redial(arg);
}

/* Tells the user only after QUEUE_NOTE_MS: often the daemon is just stopping the executor of the
 * previous job, and the request leaves the queue at once. */
static void on_queue_note_deadline(void *arg)
{
    struct daemon_conn *p = arg;
    if (p->queue_position == p->queue_position_reported) return;
    p->queue_position_reported = p->queue_position;
    inbox_push_note(p->r, "executor %s (%s:%u) is busy: position %llu in its queue", p->at->id,
                    p->at->host, p->at->port, (unsigned long long)p->queue_position);
}

void daemon_conn_init(struct daemon_conn *p)
{
    deadline_init(&p->redial, &p->r->loop, on_redial_deadline, p);
    deadline_init(&p->queue_note, &p->r->loop, on_queue_note_deadline, p);
}

void daemon_conn_close(struct daemon_conn *p)
{
    if (p->conn != NULL) conn_close(p->conn, true);
    if (p->process != NULL) launched_daemon_stop(p->process, LAUNCH_GRACE_MS);
    deadline_close(&p->redial, NULL);
    deadline_close(&p->queue_note, NULL);
}
