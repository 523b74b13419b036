/* Main function of the process that a daemon spawns for one driver. The control pipe brings the
 * configuration, returns the port or an error, and closes when the daemon stops or wants this
 * process to exit. Terminal signals are ignored: the daemon handles them and forwards SIGTERM. */
#include "engine/executor/executor_process_internal.h"

#include "engine/base/crash.h"
#include "engine/base/log.h"
#include "engine/base/thread.h"
#include "engine/executor/hardening.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

struct executor_main {
    struct executor_process executor_process;
    struct received_config received;
    const struct glint_config *registry;
    bool configured;
};

/* Sends the daemon the reason why this executor cannot start; the daemon rejects the driver with
 * it. */
static void send_failure(struct executor_process *c, const struct glint_error *why)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    log_error(LOG_ERROR, NULL, why);
    if (fetch_error_encode(why, &payload, &ignored) == 0)
        control_pipe_send(&c->control_pipe, PIPE_FAILED, &payload);
}

static void send_started(struct executor_process *c)
{
    struct executor_started started = {.port = listener_port(c->listener)};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    memcpy(started.incarnation, c->net.self.incarnation, sizeof started.incarnation);
    if (executor_started_encode(&started, &payload, &why) != 0 ||
        !control_pipe_send(&c->control_pipe, PIPE_READY, &payload)) {
        error_no_memory(&why);
        executor_process_end(c, &why);
    }
}

static bool on_daemon_message(void *arg, enum control_pipe_kind kind, struct glint_slice payload)
{
    struct executor_main *p = arg;
    struct executor_process *c = &p->executor_process;
    struct glint_error why = {.code = GLINT_OK};
    if (kind != PIPE_CONFIG || p->configured) return false;
    p->configured = true;
    /* SIGTERM or the timeout came before the configuration: it is ending already. */
    if (c->phase != PROCESS_STARTING) return true;
    if (executor_process_config_decode(payload, &p->received, &why) == 0) {
        p->received.config.registry = p->registry;
        p->received.config.env = c->env;
        executor_process_start(c, &p->received.config, &why);
        thread_restore_priority();
    }
    if (why.code == GLINT_OK) {
        send_started(c);
        return true;
    }
    send_failure(c, &why);
    executor_process_end(c, &why);
    return true;
}

/* End of the pipe: the daemon wants this process to exit, or has died. */
static void on_daemon_closed(void *arg)
{
    struct executor_main *p = arg;
    if (p->executor_process.phase < PROCESS_ENDING && p->executor_process.control != NULL)
        log_line(LOG_INFO, NULL, "shutdown requested by daemon");
    executor_process_end(&p->executor_process, NULL);
}

static const struct control_pipe_events control_pipe_events = {.message = on_daemon_message,
                                                               .ended = on_daemon_closed};

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    executor_process_on_signal(handle->data);
}

/* crash_handler_install's `report`, called in the signal handler. */
static void send_crash(const char *text, size_t size)
{
    control_pipe_write_from_signal(CONTROL_PIPE_FD, PIPE_CRASHED, text, size);
}

static int exit_with_error(const struct glint_error *error)
{
    log_error(LOG_ERROR, NULL, error);
    log_flush_repeats();
    return glint_code_exit_status(error->code);
}

int executor_process_main(const struct glint_config *registry)
{
    static struct executor_main p; /* static because it is large */
    struct executor_process *c = &p.executor_process;
    struct glint_error error = {.code = GLINT_OK};
    struct env *env = env_real();
    assert(p.registry == NULL);
    p.registry = registry;
    log_configure(env, false, NULL);
    /* Started by hand: there is no control pipe. */
    if (uv_guess_handle(CONTROL_PIPE_FD) != UV_NAMED_PIPE) {
        error_set(&error, GLINT_E_USAGE, "glint executor --cluster FILE --id ID",
                  "only an executor daemon can start this process");
        return exit_with_error(&error);
    }
    crash_handler_install("executor", send_crash); /* the daemon logs it with the process and job */
    crash_handler_enter_thread(NULL, NULL);
    thread_lower_priority(); /* let the driver and daemons finish their handshakes first */
    prctl(PR_SET_NAME, "glint", 0L, 0L, 0L); /* else "exe", from /proc/self/exe */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    /* Before any plan arrives, so that no user function runs without these restrictions. */
    set_no_new_privileges();
    raise_oom_score(env);
    if (executor_process_init(c, env, &error) != 0) return exit_with_error(&error);
    uv_signal_start(&c->terminate, on_signal, SIGTERM);
    control_pipe_init(&c->control_pipe, &c->loop, &control_pipe_events, &p);
    c->has_control_pipe = true;
    int r = control_pipe_open(&c->control_pipe, CONTROL_PIPE_FD);
    if (r == 0) r = control_pipe_read_start(&c->control_pipe);
    if (r != 0) {
        error_set_system(&error, GLINT_E_SYSTEM, r, "read", "the control pipe");
        executor_process_end(c, &error);
    }
    int code = executor_process_run_loop(c);
    log_flush_repeats();
    return glint_code_exit_status((enum glint_code)code);
}
