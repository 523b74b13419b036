/* The process that a daemon spawns for one driver. Its line brings the configuration, takes back
 * where it listens, or why it cannot, and ends with the daemon. Signals of a terminal are the
 * daemon's to understand: it passes on what they mean. */
#include "engine/executor/child_internal.h"

#include "engine/base/crash.h"
#include "engine/base/log.h"
#include "engine/base/thread.h"
#include "engine/executor/confine.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

struct child_process {
    struct child child;
    struct child_received received;
    const struct glint_config *registry;
    bool configured;
};

static void report_failure(struct child *c, const struct glint_error *why)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    log_error(LOG_ERROR, NULL, why);
    if (gone_encode(why, &payload, &ignored) == 0) line_send(&c->line, LINE_FAILED, &payload);
}

static void report_ready(struct child *c)
{
    struct admitted ready = {.port = gate_port(c->gate)};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    memcpy(ready.incarnation, c->net.self.incarnation, sizeof ready.incarnation);
    if (admitted_encode(&ready, &payload, &why) != 0 ||
        !line_send(&c->line, LINE_READY, &payload)) {
        error_no_memory(&why);
        child_end(c, &why);
    }
}

static bool on_message(void *arg, enum line_kind kind, struct glint_slice payload)
{
    struct child_process *p = arg;
    struct child *c = &p->child;
    struct glint_error why = {.code = GLINT_OK};
    if (kind != LINE_CONFIG || p->configured) return false;
    p->configured = true;
    if (c->phase != CHILD_STARTING) return true;
    if (child_config_decode(payload, &p->received, &why) == 0) {
        p->received.config.registry = p->registry;
        p->received.config.env = c->env;
        child_start(c, &p->received.config, &why);
        thread_step_forth();
    }
    if (why.code == GLINT_OK) {
        report_ready(c);
        return true;
    }
    report_failure(c, &why);
    child_end(c, &why);
    return true;
}

static void on_daemon_gone(void *arg)
{
    struct child_process *p = arg;
    if (p->child.phase < CHILD_ENDING && p->child.control != NULL)
        log_line(LOG_INFO, NULL, "its daemon lets it go");
    child_end(&p->child, NULL);
}

static const struct line_events line_events = {.message = on_message, .ended = on_daemon_gone};

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    child_on_signal(handle->data);
}

static void report_crash(const char *text, size_t size)
{
    line_write_now(CHILD_PIPE_FILE, LINE_CRASHED, text, size);
}

static int fail(const struct glint_error *error)
{
    log_error(LOG_ERROR, NULL, error);
    log_end();
    return glint_code_exit_status(error->code);
}

int child_main(const struct glint_config *registry)
{
    static struct child_process p; /* once per process, and large */
    struct child *c = &p.child;
    struct glint_error error = {.code = GLINT_OK};
    struct env *env = env_real();
    assert(p.registry == NULL);
    p.registry = registry;
    log_start(env, false, NULL);
    if (uv_guess_handle(CHILD_PIPE_FILE) != UV_NAMED_PIPE) {
        error_set(&error, GLINT_E_USAGE, "glint executor --cluster FILE --id ID",
                  "only a daemon starts an executor's child");
        return fail(&error);
    }
    crash_start("it", report_crash); /* to the daemon, who knows whose it is */
    crash_thread_begin(NULL, NULL);
    thread_step_back(); /* beside the driver and daemons, who have to greet each other */
    prctl(PR_SET_NAME, "glint", 0L, 0L, 0L); /* it was started as /proc/self/exe */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    confine_privileges();
    confine_memory(env);
    if (child_open(c, env, &error) != 0) return fail(&error);
    uv_signal_start(&c->terminate, on_signal, SIGTERM);
    line_init(&c->line, &c->loop, &line_events, &p);
    c->has_line = true;
    int r = line_take(&c->line, CHILD_PIPE_FILE);
    if (r == 0) r = line_start(&c->line);
    if (r != 0) {
        error_set_system(&error, GLINT_E_SYSTEM, r, "read", "the daemon's pipe");
        child_end(c, &error);
    }
    int code = child_close(c);
    log_end();
    return glint_code_exit_status((enum glint_code)code);
}
