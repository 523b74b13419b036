/* An executor process: `glint executor --join`, started by a user or, with its credentials on the
 * inherited pipe, by a daemon. A daemon's process ignores the terminal's signals, since the daemon
 * handles them and forwards SIGTERM. It exits when the pipe ends: the daemon wants it to exit, or
 * has died. Before it exits with an error it reports that to the daemon. */
#include "engine/executor/executor_process_internal.h"

#include "engine/base/crash.h"
#include "engine/base/log.h"
#include "engine/base/thread.h"
#include "engine/executor/exit_report.h"
#include "engine/executor/hardening.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

static void on_executor_signal(uv_signal_t *handle, int number)
{
    (void)number;
    executor_process_on_signal(handle->data);
}

/* ---- The daemon's pipe */

static void on_pipe_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    static char ignored[64]; /* the daemon sends nothing more */
    (void)handle, (void)suggested;
    *out = uv_buf_init(ignored, sizeof ignored);
}

static void on_pipe_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
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
static void report_crash(const char *text, size_t size)
{
    env_write_all(env_real(), PROCESS_PIPE_FD, text, size);
}

static int watch_daemon(struct executor_process *c, struct glint_error *error)
{
    uv_pipe_init(&c->loop, &c->daemon_pipe, 0); /* cannot fail: opens no descriptor */
    c->daemon_pipe.data = c;
    c->has_daemon = true;
    int r = uv_pipe_open(&c->daemon_pipe, PROCESS_PIPE_FD);
    if (r == 0) r = uv_read_start((uv_stream_t *)&c->daemon_pipe, on_pipe_alloc, on_pipe_read);
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
static void restrict_process(const struct executor_process_config *config)
{
    if (config->from_daemon) {
        crash_handler_install("executor", report_crash); /* the daemon logs it with the job */
        thread_lower_priority(); /* let the driver and daemons finish their handshakes first */
        prctl(PR_SET_NAME, "glint", 0L, 0L, 0L); /* else "exe", from /proc/self/exe */
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        raise_oom_score(config->env);
    } else {
        crash_handler_install(config->node, NULL);
    }
    crash_handler_enter_thread(NULL, NULL);
    set_no_new_privileges();
}

void executor_process_report(const struct executor_process *c, const struct glint_error *why)
{
    char text[sizeof why->cause + sizeof why->hint + 16];
    if (c->has_daemon)
        env_write_all(c->env, PROCESS_PIPE_FD, text, exit_report_format(why, text, sizeof text));
}

int executor_process_run(const struct executor_process_config *config, struct glint_error *error)
{
    static struct executor_process process; /* static because it is large */
    struct executor_process *c = &process;
    struct glint_error why = {.code = GLINT_OK};
    restrict_process(config);
    if (executor_process_init(c, config->env, error) != 0) return error->code;
    uv_signal_start(&c->terminate, on_executor_signal, SIGTERM);
    if (!config->from_daemon) uv_signal_start(&c->interrupt, on_executor_signal, SIGINT);
    if (config->from_daemon) watch_daemon(c, &why);
    if (why.code == GLINT_OK) executor_process_start(c, config, &why);
    if (why.code != GLINT_OK) executor_process_end(c, &why);
    if (config->from_daemon) thread_restore_priority();
    int r = executor_process_run_loop(c);
    if (r != 0) *error = c->why;
    return r;
}
