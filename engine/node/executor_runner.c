/* Executor processes of the daemon: it starts them, with what they need in their arguments and, for
 * secrets, on a pipe (wire.h), and watches them. They connect to the driver themselves. A
 * process exits when the daemon closes the pipe; after KILL_MS it is killed. Work directories that
 * a killed process leaves are removed on libuv's thread pool, because that may take long. The exit
 * is reported once the process has exited and its pipe was read to the end, because the pipe may
 * contain the reason. */

#include "engine/base/locked_dir.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/node/daemon_internal.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- cgroup v2: memory.events of the group that /proc/self/cgroup names by "0::/PATH". cgroup v1:
 * memory.oom_control of "N:memory:/PATH". Both contain a line "oom_kill COUNT". In a container the
 * path may be the host's, and the files are at the root instead. */

#define TEXT_BYTES_MAX 4096u

static bool parse_kill_count(const char *text, uint64_t *out)
{
    static const char name[] = "oom_kill ";
    const char *at = text;
    while (at != NULL && strncmp(at, name, sizeof name - 1) != 0) {
        at = strchr(at, '\n');
        if (at != NULL) at++;
    }
    if (at == NULL) return false;
    at += sizeof name - 1;
    int64_t count;
    if (!text_parse_i64((const uint8_t *)at, strcspn(at, "\n"), &count) || count < 0) return false;
    *out = (uint64_t)count;
    return true;
}

static bool read_kill_count(struct env *env, const char *root, const char *group, size_t group_size,
                            const char *name, uint64_t *out)
{
    char path[PATH_MAX], text[TEXT_BYTES_MAX];
    if (!text_format(path, sizeof path, "%s%.*s/%s", root, (int)group_size, group, name))
        return false;
    return env_read_text(env, path, text, sizeof text) && parse_kill_count(text, out);
}

static bool read_group_kill_count(struct env *env, const char *root, const char *group,
                                  const char *name, uint64_t *out)
{
    size_t size = strcspn(group, "\n");
    return read_kill_count(env, root, group, size, name, out) ||
           read_kill_count(env, root, "", 0, name, out);
}

uint64_t oom_kill_count(struct env *env)
{
    char groups[TEXT_BYTES_MAX];
    uint64_t count = 0;
    if (!env_read_text(env, "/proc/self/cgroup", groups, sizeof groups)) return 0;
    const char *v1 = strstr(groups, ":memory:"), *v2 = strstr(groups, "0::");
    if (v1 != NULL && read_group_kill_count(env, "/sys/fs/cgroup/memory", v1 + strlen(":memory:"),
                                            "memory.oom_control", &count))
        return count;
    if (v2 != NULL &&
        read_group_kill_count(env, "/sys/fs/cgroup", v2 + strlen("0::"), "memory.events", &count))
        return count;
    assert(count == 0);
    return 0;
}

/* ---- executor runner */

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

static void clean_up_work_dirs_on_pool(uv_work_t *work)
{
    const struct work_dir_cleanup *s = work->data;
    work_dir_remove_stale(s->env, s->parent);
}

static void on_work_dirs_cleaned_up(uv_work_t *work, int status)
{
    (void)status;
    mem_free(work->data);
}

/* When out of memory the directories stay until the next executor or daemon starts. */
static void start_work_dirs_cleanup(struct daemon *d)
{
    struct work_dir_cleanup *s = mem_zalloc(sizeof *s);
    if (s == NULL) return;
    s->env = d->env;
    s->parent = d->self->work_dir;
    s->work.data = s;
    int failed =
        uv_queue_work(&d->loop, &s->work, clean_up_work_dirs_on_pool, on_work_dirs_cleaned_up);
    assert(failed == 0); /* fails only without a work function */
}

/* ---- Exit */

static void runner_unref(struct executor_runner *w)
{
    struct daemon *d = w->d;
    struct executor_runner **at = &d->runners;
    assert(w->handles > 0);
    if (--w->handles > 0) return;
    assert(w->state == RUNNER_CLOSED);
    while (*at != w) at = &(*at)->next;
    *at = w->next;
    buffer_fini(&w->report);
    program_file_close(d->env, &w->program);
    mem_free(w);
}

static void on_runner_handle_closed(void *arg)
{
    runner_unref(arg);
}

static void on_pipe_closed(uv_handle_t *handle)
{
    runner_unref(handle->data);
}

static void close_executor_pipe(struct executor_runner *w)
{
    w->pipe_ended = true;
    if (!uv_is_closing((uv_handle_t *)&w->pipe)) uv_close((uv_handle_t *)&w->pipe, on_pipe_closed);
}

/* Closes the handles and frees the slot for the next driver. */
static void close_runner_handles(struct executor_runner *w)
{
    struct daemon *d = w->d;
    assert(w->state != RUNNER_CLOSED && d->runner_count > 0);
    w->state = RUNNER_CLOSED;
    d->runner_count--;
    if (w->session != NULL) session_on_executor_exited(w->session);
    w->session = NULL;
    close_executor_pipe(w);
    deadline_close(&w->deadline, on_runner_handle_closed);
    if (spawn_close(&w->process, on_runner_handle_closed)) w->handles++;
}

static void report_executor_exit(struct executor_runner *w)
{
    struct daemon *d = w->d;
    struct log_ids ids;
    int status = w->wait_status;
    bool killed = WIFSIGNALED(status);
    struct executor_exited exited = {.wait_status = status,
                                     .out_of_memory =
                                         killed && oom_kill_count(d->env) > w->oom_kills_before};
    assert(w->exited);
    struct glint_slice backtrace = exit_report_parse(buffer_slice(&w->report), &exited.why);
    text_format(exited.log, sizeof exited.log, "%s", d->log);
    runner_log_ids(w, &ids);
    if (killed && exited.why.code != GLINT_OK)
        log_line(LOG_ERROR, &ids, "process %d: %s", w->process.pid, exited.why.cause);
    if (killed && backtrace.size > 0)
        log_line(LOG_ERROR, &ids, "backtrace: %.*s", (int)backtrace.size,
                 (const char *)backtrace.data);
    if (killed)
        log_line(LOG_ERROR, &ids, "process %d was killed by signal %d%s", w->process.pid,
                 WTERMSIG(status),
                 exited.out_of_memory ? " (out of memory in its control group)" : "");
    else if (WEXITSTATUS(status) != 0)
        log_line(LOG_ERROR, &ids, "process %d ended with status %d", w->process.pid,
                 WEXITSTATUS(status));
    /* A process that exits with 0 has removed its own directory. One that exits with another code
     * may not have: a user function may call exit. */
    if (status != 0) start_work_dirs_cleanup(d);
    if (w->session != NULL)
        conn_send_payload(w->session->conn, FRAME_EXECUTOR_EXITED, 0, &executor_exited_format,
                          &exited);
    close_runner_handles(w);
    /* drivers_max allows one more executor now. */
    job_queue_start_next(d);
    daemon_stop_if_done(d);
}

static void on_executor_process_exit(void *arg, int wait_status)
{
    struct executor_runner *w = arg;
    w->exited = true;
    w->wait_status = wait_status;
    /* The exit and the pipe's end arrive in any order. If a process that the job forked still has
     * the pipe open, its end never arrives: wait at most PIPE_REST_MS. */
    if (w->pipe_ended)
        report_executor_exit(w);
    else
        deadline_start(&w->deadline, PIPE_REST_MS);
}

static void start_kill_deadline(struct executor_runner *w, uint64_t kill_ms)
{
    uint64_t kill_ns = daemon_now(w->d) + kill_ms * MS_NS;
    bool already = w->state == RUNNER_STOPPING;
    if (w->exited || w->state == RUNNER_CLOSED) return;
    w->state = RUNNER_STOPPING;
    /* A later stop may shorten the time but must not extend it. */
    if (already && kill_ns >= w->kill_ns) return;
    w->kill_ns = kill_ns;
    deadline_start(&w->deadline, kill_ms);
}

static void on_stop_deadline(void *arg)
{
    struct executor_runner *w = arg;
    struct log_ids ids;
    if (w->state == RUNNER_CLOSED) return;
    if (w->exited) {
        report_executor_exit(w);
        return;
    }
    log_line(LOG_WARN, runner_log_ids(w, &ids), "killing process %d: it did not exit in time",
             w->process.pid);
    spawn_kill(&w->process, SIGKILL);
}

void executor_runner_stop(struct executor_runner *w)
{
    if (w->state != RUNNER_RUNNING) return;
    start_kill_deadline(w, KILL_MS);
    close_executor_pipe(w);
    /* It had exited, and only the rest of the pipe was awaited: that is closed now. */
    if (w->exited) report_executor_exit(w);
}

void executor_runner_drain(struct executor_runner *w, bool now)
{
    if (w->exited) return;
    spawn_kill(&w->process, SIGTERM); /* no error if it has exited */
    if (!now) return;
    start_kill_deadline(w, KILL_MS_SHORT);
    close_executor_pipe(w);
}

/* ---- The pipe */

static void on_exit_report_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    static char chunk[4096];
    (void)handle, (void)suggested;
    *out = uv_buf_init(chunk, sizeof chunk);
}

/* If the process runs but the pipe has ended (a user function may have closed the descriptor), it
 * cannot be told to exit: it is killed unless it exits soon. */
static void on_exit_report_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct executor_runner *w = stream->data;
    if (n >= 0) {
        uint64_t room = EXIT_REPORT_BYTES_MAX - w->report.size;
        uint64_t kept = (uint64_t)n < room ? (uint64_t)n : room; /* the rest is dropped */
        if (kept > 0)
            buffer_append(&w->report, buf->base, kept); /* or, without memory, all of it */
        return;
    }
    uv_read_stop(stream);
    w->pipe_ended = true;
    if (w->exited)
        report_executor_exit(w);
    else
        start_kill_deadline(w, KILL_MS);
}

/* ---- Start */

/* The arguments of `glint executor --join`, which the process parses like a user's. */
struct process_arguments {
    char text[24][PATH_MAX];
    char *argv[2 * 24 + 6];
    uint32_t count, words;
};

static void executor_arguments_add(struct process_arguments *a, const char *option,
                                   const char *format, ...) __attribute__((format(printf, 3, 4)));

static void executor_arguments_add(struct process_arguments *a, const char *option,
                                   const char *format, ...)
{
    va_list args;
    assert(a->count < sizeof a->text / sizeof a->text[0]);
    assert(a->words + 2 < sizeof a->argv / sizeof a->argv[0]);
    char *text = a->text[a->count++];
    va_start(args, format);
    vsnprintf(text, sizeof a->text[0], format, args);
    va_end(args);
    a->argv[a->words++] = (char *)(uintptr_t)option;
    a->argv[a->words++] = text;
}

static void executor_arguments_add_ms(struct process_arguments *a, const char *option, uint64_t ms)
{
    executor_arguments_add(a, option, "%llums", (unsigned long long)ms);
}

static void executor_arguments_fill(struct process_arguments *a, const struct daemon *d,
                                    const struct executor_request *request)
{
    static char name[] = "glint", command[] = "executor", from_daemon[] = "--executor-process",
                insecure[] = "--insecure-plaintext", commands[] = "--allow-commands";
    const struct cluster *c = d->cluster;
    const struct cluster_executor *self = d->self;
    char driver[HOST_BYTES_MAX + 16];
    *a = (struct process_arguments){.argv = {name, command, from_daemon}, .words = 3};
    host_format_address(driver, sizeof driver, request->driver_host, request->driver_port);
    executor_arguments_add(a, "--join", "%s", driver);
    if (c->insecure_plaintext) a->argv[a->words++] = insecure;
    if (c->allow_commands) a->argv[a->words++] = commands;
    if (c->python != NULL) executor_arguments_add(a, "--python", "%s", c->python);
    executor_arguments_add(a, "--cluster-name", "%s", c->name);
    executor_arguments_add(a, "--id", "%s", self->id);
    executor_arguments_add(a, "--host", "%s", self->host);
    if (c->ports.first != 0)
        executor_arguments_add(a, "--ports", "%u-%u", c->ports.first, c->ports.last);
    executor_arguments_add(a, "--slots", "%u", self->slots / c->drivers_max);
    executor_arguments_add(a, "--memory", "%llu",
                           (unsigned long long)(self->memory_bytes / c->drivers_max));
    if (self->work_dir != NULL) executor_arguments_add(a, "--work-dir", "%s", self->work_dir);
    executor_arguments_add_ms(a, "--heartbeat", c->heartbeat.heartbeat_ns / MS_NS);
    executor_arguments_add_ms(a, "--suspect", c->heartbeat.suspect_ns / MS_NS);
    executor_arguments_add_ms(a, "--dead", c->heartbeat.dead_ns / MS_NS);
    executor_arguments_add_ms(a, "--connect", c->connect_ms);
    executor_arguments_add_ms(a, "--fetch", c->fetch_ms);
    executor_arguments_add_ms(a, "--drain", c->drain_ms);
    executor_arguments_add_ms(a, "--start", c->start_ms);
    executor_arguments_add(a, "--log-format", "%s", d->config->log_json ? "json" : "text");
    executor_arguments_add(a, "--log-limit", "%llu", (unsigned long long)daemon_log_bytes_max(d));
}

/* Starts the driver's program, or the daemon's own: /proc/self/exe, so that an upgrade of the file
 * on disk does not start another version. The driver's program is the file that was verified, by
 * its descriptor: its path may lead elsewhere by now. Returns 0 or a negative errno. */
static int spawn_executor(struct executor_runner *w, const struct executor_request *request)
{
    static struct process_arguments arguments; /* large; loop thread only */
    struct env *env = w->d->env;
    struct process_credentials credentials = {.key = request->key};
    int pair[2]; /* the daemon's end, the process's end */
    memcpy(credentials.incarnation, request->incarnation, sizeof credentials.incarnation);
    executor_arguments_fill(&arguments, w->d, request);
    int r = uv_socketpair(SOCK_STREAM, 0, pair, UV_NONBLOCK_PIPE, 0);
    if (r != 0) return r;
    r = env_write_all(env, pair[0], &credentials, sizeof credentials);
    secret_clear(&credentials.key);
    if (r == 0) r = uv_pipe_open(&w->pipe, pair[0]);
    if (r != 0) {
        env->close(env, pair[0]);
    } else {
        char path[32] = "/proc/self/exe";
        struct spawn_program p = {
            .path = path, .words = arguments.argv, .own_session = true, .end_session = true};
        p.files[0] = -1;
        p.files[1] = p.files[2] = STDERR_FILENO;
        p.files[PROCESS_PIPE_FD] = pair[1];
        p.file_count = PROCESS_PIPE_FD + 1;
        if (w->program.file >= 0) {
            assert(w->program.file > PROCESS_PROGRAM_FD); /* the loop has the first ones */
            p.files[PROCESS_PROGRAM_FD] = w->program.file;
            p.file_count = PROCESS_PROGRAM_FD + 1;
            text_format(path, sizeof path, "/proc/self/fd/%d", PROCESS_PROGRAM_FD);
        }
        r = spawn_start(&w->process, &w->d->loop, &p, on_executor_process_exit, w);
    }
    env->close(env, pair[1]);
    return r;
}

int executor_runner_start(struct daemon *d, struct daemon_session *v, struct glint_error *error)
{
    struct executor_runner *w = mem_zalloc(sizeof *w);
    assert(d->runner_count < d->cluster->drivers_max && v->runner == NULL);
    if (w == NULL) return error_no_memory(error);
    w->d = d;
    w->job = v->request.job.job;
    w->program = v->program;
    v->program = PROGRAM_FILE_NONE;
    /* Compared when the executor is killed: SIGKILL alone does not say who sent it. */
    w->oom_kills_before = oom_kill_count(d->env);
    uv_pipe_init(&d->loop, &w->pipe, 0); /* cannot fail: opens no descriptor */
    w->pipe.data = w;
    deadline_init(&w->deadline, &d->loop, on_stop_deadline, w);
    w->handles = 2;
    w->next = d->runners;
    d->runners = w;
    d->runner_count++;
    int r = spawn_executor(w, &v->request);
    secret_clear(&v->request.key);
    if (r != 0) {
        spawn_set_error(error, GLINT_E_SYSTEM, r,
                        w->program.file >= 0 ? w->program.path : "the executor process");
        close_runner_handles(w);
        return error->code;
    }
    r = uv_read_start((uv_stream_t *)&w->pipe, on_exit_report_alloc, on_exit_report_read);
    if (r != 0) {
        executor_runner_stop(w);
        return error_set_system(error, GLINT_E_SYSTEM, r, "read", "the pipe of a process");
    }
    w->session = v;
    v->runner = w;
    conn_send(v->conn, FRAME_EXECUTOR_STARTED, 0, NULL);
    return 0;
}
