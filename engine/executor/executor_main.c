/* An executor process: `glint executor --join`, started by a user or, with its credentials on the
 * inherited pipe, by a daemon. A daemon's process ignores the terminal's signals, since the daemon
 * handles them and forwards SIGTERM. It exits when the pipe ends: the daemon wants it to exit, or
 * has died. Before it exits with an error it reports that to the daemon. */
#include "engine/base/crash.h"
#include "engine/base/env.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/executor/executor_process_internal.h"
#include "engine/net/exit_report.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

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

/* ---- The process */

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
static void write_crash_to_daemon(const char *text, size_t size)
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
    restrict_process_privileges(config);
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
