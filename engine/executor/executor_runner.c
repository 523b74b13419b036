/* Executor processes of the daemon. An executor exits when the daemon closes the control pipe;
 * after KILL_MS it is killed. Work directories that a killed process leaves are removed on libuv's
 * thread pool, because that may take long. The exit is reported once the process has exited and its
 * pipe was read to the end, because the pipe may contain the reason. */
#include "engine/executor/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/executor/oom_kills.h"
#include "engine/executor/work_dir.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS_MIN  5000u
#define KILL_MS       8000u /* longer than the executor's own grace periods */
#define KILL_MS_SHORT 2000u
#define PIPE_REST_MS  200u /* to read the rest of a dead process's pipe */

struct executor_runner *executor_runner_next(struct executor_runner *w)
{
    while (w != NULL && w->state == RUNNER_CLOSED) w = w->next;
    return w;
}

static const struct log_ids *runner_log_ids(const struct executor_runner *w, struct log_ids *out)
{
    *out = (struct log_ids){.job = w->job};
    return out;
}

/* ---- Work directories */

struct work_dir_cleanup {
    uv_work_t work;
    struct env *env;
    const char *parent;
};

static void on_cleanup_thread(uv_work_t *work)
{
    const struct work_dir_cleanup *s = work->data;
    work_dir_remove_stale(s->env, s->parent);
}

static void on_cleanup_done(uv_work_t *work, int status)
{
    (void)status;
    mem_free(work->data);
}

/* When out of memory the directories stay until the next executor or daemon starts. */
static void cleanup_work_dirs(struct daemon *d)
{
    struct work_dir_cleanup *s = mem_zalloc(sizeof *s);
    if (s == NULL) return;
    s->env = d->env;
    s->parent = d->self->work_dir;
    s->work.data = s;
    int failed = uv_queue_work(&d->loop, &s->work, on_cleanup_thread, on_cleanup_done);
    assert(failed == 0); /* fails only without a work function */
}

/* ---- Exit */

static void runner_unref(struct executor_runner *w)
{
    struct daemon *d = w->d;
    struct executor_runner **at = &d->runners;
    assert(w->handles > 0 && w->state == RUNNER_CLOSED);
    if (--w->handles > 0) return;
    while (*at != w) at = &(*at)->next;
    *at = w->next;
    mem_free(w);
}

static void on_process_closed(void *arg)
{
    runner_unref(arg);
}

static void on_pipe_closed(void *arg)
{
    struct executor_runner *w = arg;
    w->pipe_closed = true;
    if (w->state == RUNNER_CLOSED) runner_unref(w);
}

static void close_pipe(struct executor_runner *w)
{
    if (w->control_pipe.open) control_pipe_close(&w->control_pipe, on_pipe_closed);
}

/* Closes the handles and frees the slot for the next driver. */
static void runner_close(struct executor_runner *w)
{
    struct daemon *d = w->d;
    assert(w->state != RUNNER_CLOSED && d->runner_count > 0);
    w->state = RUNNER_CLOSED;
    d->runner_count--;
    if (w->session != NULL) session_on_executor_exited(w->session);
    w->session = NULL;
    close_pipe(w);
    w->handles = !w->pipe_closed;
    if (spawn_close(&w->process, on_process_closed)) w->handles++;
    assert(w->handles > 0); /* at least the pipe's, if the spawn failed */
}

static void send_executor_exited(struct executor_runner *w, bool out_of_memory)
{
    struct daemon_session *v = w->session;
    struct executor_exited exited = {.wait_status = w->wait_status, .out_of_memory = out_of_memory};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (v == NULL) return;
    text_format(exited.log, sizeof exited.log, "%s", w->d->log);
    if (WIFSIGNALED(w->wait_status)) text_format(exited.crash, sizeof exited.crash, "%s", w->crash);
    if (executor_exited_encode(&exited, &payload, &ignored) == 0)
        session_send(v, FRAME_EXECUTOR_EXITED, 0, &payload);
}

static void runner_finish(struct executor_runner *w)
{
    struct daemon *d = w->d;
    struct daemon_session *v = w->session;
    struct log_ids ids;
    int status = w->wait_status;
    bool killed = WIFSIGNALED(status),
         rejected = w->state == RUNNER_STARTING && w->failure.code != 0;
    bool out_of_memory = killed && oom_kill_count(d->env) > w->oom_kills_before;
    assert(w->exited);
    if (killed)
        log_line(LOG_ERROR, runner_log_ids(w, &ids), "process %d was killed by signal %d%s",
                 w->process.pid, WTERMSIG(status),
                 out_of_memory ? " (out of memory in its control group)" : "");
    else if (WEXITSTATUS(status) != 0)
        log_line(LOG_ERROR, runner_log_ids(w, &ids), "process %d ended with status %d",
                 w->process.pid, WEXITSTATUS(status));
    /* A process that exits with 0 has removed its own directory. One that exits with another code
     * may not have: a user function may call exit. */
    if (status != 0) cleanup_work_dirs(d);
    /* An executor that could not start is reported with its error, in a REJECT, which closes the
     * session. */
    if (!rejected) send_executor_exited(w, out_of_memory);
    runner_close(w);
    if (rejected && v != NULL) session_reject(v, &w->failure);
    /* drivers_max allows one more executor now. */
    job_queue_run(d);
    daemon_stop_if_done(d);
}

static void on_process_exit(void *arg, int wait_status)
{
    struct executor_runner *w = arg;
    w->exited = true;
    w->wait_status = wait_status;
    /* The exit and the pipe's end arrive in any order. If a process that the job forked still has
     * the pipe open, its end never arrives: wait at most PIPE_REST_MS. */
    if (!w->control_pipe.open || w->pipe_ended) {
        runner_finish(w);
        return;
    }
    w->deadline_ns = daemon_now(w->d) + PIPE_REST_MS * MS_NS;
    daemon_arm_timer(w->d, w->deadline_ns);
}

static void arm_kill_timer(struct executor_runner *w, uint64_t kill_ms)
{
    uint64_t kill_ns = daemon_now(w->d) + kill_ms * MS_NS;
    bool already = w->state == RUNNER_STOPPING;
    if (w->exited || w->state == RUNNER_CLOSED) return;
    w->state = RUNNER_STOPPING;
    /* A later stop may shorten the time but must not extend it. */
    if (!already || kill_ns < w->deadline_ns) w->deadline_ns = kill_ns;
    daemon_arm_timer(w->d, w->deadline_ns);
}

void executor_runner_stop(struct executor_runner *w)
{
    if (w->state == RUNNER_STOPPING || w->state == RUNNER_CLOSED) return;
    arm_kill_timer(w, KILL_MS);
    close_pipe(w);
    /* It had exited, and only the rest of the pipe was awaited: that is closed now. */
    if (w->exited && w->state != RUNNER_CLOSED) runner_finish(w);
}

void executor_runner_drain(struct executor_runner *w, bool now)
{
    if (w->exited) return;
    spawn_kill(&w->process, SIGTERM); /* no error if it has exited */
    if (!now && w->state == RUNNER_RUNNING) return;
    arm_kill_timer(w, KILL_MS_SHORT);
    close_pipe(w);
}

uint64_t executor_runner_on_timer(struct executor_runner *w, uint64_t now)
{
    struct log_ids ids;
    if (w->state == RUNNER_RUNNING && !w->exited) return UINT64_MAX;
    if (now < w->deadline_ns) return w->deadline_ns;
    if (w->exited) {
        runner_finish(w);
        return UINT64_MAX;
    }
    /* runner_finish sends this error to the driver when the killed process has exited. */
    if (w->state == RUNNER_STARTING && w->failure.code == GLINT_OK)
        error_set(&w->failure, GLINT_E_EXECUTOR_LOST, NULL,
                  "the executor process did not start in time");
    log_line(LOG_WARN, runner_log_ids(w, &ids), "killing process %d: it did not exit in time",
             w->process.pid);
    spawn_kill(&w->process, SIGKILL);
    w->deadline_ns = UINT64_MAX;
    return UINT64_MAX;
}

/* ---- Control pipe */

static bool on_pipe_ready(struct executor_runner *w, struct glint_slice payload)
{
    struct executor_started started;
    struct buffer out = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (w->state != RUNNER_STARTING || executor_started_decode(payload, &started, &ignored) != 0)
        return false;
    w->state = RUNNER_RUNNING;
    if (w->d->draining) {
        executor_runner_stop(w);
        return true;
    }
    /* The driver disconnected; executor_runner_stop was called then. */
    if (w->session == NULL) return true;
    if (executor_started_encode(&started, &out, &ignored) != 0) return false;
    session_send(w->session, FRAME_EXECUTOR_STARTED, 0, &out);
    return true;
}

/* The first line describes the crash and is also sent to the driver; the backtrace follows. */
static bool on_pipe_crashed(struct executor_runner *w, struct glint_slice text)
{
    struct log_ids ids;
    const char *first_line = (const char *)text.data;
    const char *end = memchr(first_line, '\n', text.size);
    size_t size = end != NULL ? (size_t)(end - first_line) : text.size, rest = text.size - size;
    text_format(w->crash, sizeof w->crash, "%.*s", (int)size, first_line);
    log_line(LOG_ERROR, runner_log_ids(w, &ids), "process %d: %.*s", w->process.pid, (int)size,
             first_line);
    if (rest > 1)
        log_line(LOG_ERROR, runner_log_ids(w, &ids), "backtrace: %.*s", (int)rest - 1, end + 1);
    return true;
}

static bool on_pipe_message(void *arg, enum control_pipe_kind kind, struct glint_slice payload)
{
    struct executor_runner *w = arg;
    struct glint_error ignored = {.code = GLINT_OK};
    switch (kind) {
    case PIPE_READY: return on_pipe_ready(w, payload);
    case PIPE_METRICS: return executor_metrics_decode(payload, &w->reported, &ignored) == 0;
    case PIPE_CRASHED: return on_pipe_crashed(w, payload);
    case PIPE_FAILED: return fetch_error_decode(payload, &w->failure, &ignored) == 0;
    default: return false;
    }
}

/* If the executor runs but the pipe has ended (a user function may have closed the descriptor, or
 * written an invalid message), it cannot be told to exit: it is killed unless it exits soon. */
static void on_pipe_ended(void *arg)
{
    struct executor_runner *w = arg;
    w->pipe_ended = true;
    if (w->exited)
        runner_finish(w);
    else if (w->state == RUNNER_RUNNING)
        arm_kill_timer(w, KILL_MS);
}

static const struct control_pipe_events control_pipe_events = {.message = on_pipe_message,
                                                               .ended = on_pipe_ended};

/* ---- Start */

static int send_config(struct executor_runner *w, struct glint_error *error)
{
    const struct cluster *c = w->d->cluster;
    const struct cluster_executor *self = w->d->self;
    const struct executor_process_config config = {.cluster = c->name,
                                                   .node = self->id,
                                                   .secret_file = c->secret_file,
                                                   .insecure_plaintext = c->insecure_plaintext,
                                                   .host = self->host,
                                                   .ports = c->ports,
                                                   .slots = self->slots / c->drivers_max,
                                                   .memory_bytes =
                                                       self->memory_bytes / c->drivers_max,
                                                   .work_dir = self->work_dir,
                                                   .heartbeat = c->heartbeat,
                                                   .connect_ms = c->connect_ms,
                                                   .fetch_ms = c->fetch_ms,
                                                   .drain_ms = c->drain_ms,
                                                   .start_ms = c->start_ms,
                                                   .log_json = w->d->config->log_json,
                                                   .log_bytes_max = daemon_log_bytes_max(w->d)};
    struct buffer payload = {NULL, 0, 0};
    if (executor_process_config_encode(&config, &payload, error) != 0) return error->code;
    return control_pipe_send(&w->control_pipe, PIPE_CONFIG, &payload) ? 0 : error_no_memory(error);
}

/* Spawns /proc/self/exe, so that an upgrade of the file on disk does not start another version.
 * Returns 0 or a negative errno. */
static int spawn_executor(struct executor_runner *w)
{
    static char name[] = "glint", command[] = "executor", option[] = "--executor-process";
    char *argv[] = {name, command, option, NULL};
    int pair[2]; /* the daemon's end, the executor's end */
    int r = uv_socketpair(SOCK_STREAM, 0, pair, UV_NONBLOCK_PIPE, 0);
    if (r != 0) return r;
    r = control_pipe_open(&w->control_pipe, pair[0]);
    if (r == 0) {
        struct spawn_program p = {.path = "/proc/self/exe", .words = argv};
        p.files[0] = -1;
        p.files[1] = p.files[2] = STDERR_FILENO;
        p.files[CONTROL_PIPE_FD] = pair[1];
        p.file_count = CONTROL_PIPE_FD + 1;
        r = spawn_start(&w->process, &w->d->loop, &p, on_process_exit, w);
    } else {
        w->d->env->close(w->d->env, pair[0]);
    }
    w->d->env->close(w->d->env, pair[1]);
    return r;
}

int executor_runner_start(struct daemon *d, struct daemon_session *v, struct glint_error *error)
{
    struct executor_runner *w = mem_zalloc(sizeof *w);
    assert(d->runner_count < d->cluster->drivers_max && v->runner == NULL);
    if (w == NULL) return error_no_memory(error);
    w->d = d;
    w->job = v->job;
    /* Compared when the executor is killed: SIGKILL alone does not say who sent it. */
    w->oom_kills_before = oom_kill_count(d->env);
    control_pipe_init(&w->control_pipe, &d->loop, &control_pipe_events, w);
    w->next = d->runners;
    d->runners = w;
    d->runner_count++;
    int r = spawn_executor(w);
    if (r != 0) {
        spawn_set_error(error, GLINT_E_SYSTEM, r, "the executor process");
        runner_close(w);
        return error->code;
    }
    r = control_pipe_read_start(&w->control_pipe);
    if (r != 0) error_set_system(error, GLINT_E_SYSTEM, r, "read", "the control pipe");
    if (r == 0) r = send_config(w, error);
    if (r != 0) {
        executor_runner_stop(w);
        return error->code;
    }
    w->session = v;
    v->runner = w;
    /* At least START_MS_MIN: on a busy machine a process may take longer to start than a short
     * start_ms. */
    uint64_t limit_ms = d->cluster->start_ms > START_MS_MIN ? d->cluster->start_ms : START_MS_MIN;
    w->deadline_ns = daemon_now(d) + limit_ms * MS_NS;
    daemon_arm_timer(d, w->deadline_ns);
    return 0;
}
