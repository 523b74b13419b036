/* The state is static, because a signal handler has no other way to access it. A handler may run on
 * any thread while the main thread is about to destroy the context: `inside` counts the running
 * handlers, and signals_unwatch waits for them. */
#include "engine/cli/signals.h"

#include "engine/base/crash.h"
#include "engine/base/log.h"
#include "engine/base/spawn.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static _Atomic(struct glint *) watched;
static atomic_int pending_code, received, inside;
static atomic_bool job_runs;
static const char *left_behind;

static_assert(ATOMIC_POINTER_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
              "a signal handler must not wait for a lock");

static void write_text_to_stderr(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

/* Async-signal-safe. */
static void exit_at_once(const char *why, enum glint_code code)
{
    bool any = exit_dirs_any_registered();
    child_process_groups_kill_all();
    const char *start = log_line_prefix();
    write_text_to_stderr(start[0] != '\0' ? start : "\n");
    write_text_to_stderr("glint: stopped at once: ");
    write_text_to_stderr(why);
    write_text_to_stderr("; ");
    write_text_to_stderr(exit_dirs_remove_all() && any ? "its output is removed" : left_behind);
    write_text_to_stderr("\n");
    _exit(glint_code_exit_status(code));
}

static void on_timeout_alarm(int number)
{
    enum glint_code code = signals_pending();
    (void)number;
    exit_at_once("the job's own code did not return", code != GLINT_OK ? code : GLINT_E_TIMEOUT);
}

static void on_job_signal(int number)
{
    /* The interrupted code may be about to read errno. */
    int saved = errno;
    enum glint_code code = number == SIGINT ? GLINT_E_INTERRUPTED : GLINT_E_TERMINATED;
    atomic_fetch_add(&inside, 1);
    if (atomic_fetch_add(&received, 1) > 0) exit_at_once("a second signal", code);
    /* Stores the code before it reads `watched`; signals_watch does it the other way round. So a
     * signal that arrives at that moment is seen by at least one of them. */
    atomic_store(&pending_code, code);
    if (atomic_load(&job_runs)) alarm(SIGNALS_RETURN_S);
    struct glint *g = atomic_load(&watched);
    if (g != NULL) glint_interrupt(g, code);
    atomic_fetch_sub(&inside, 1);
    errno = saved;
}

void signals_start(const char *left)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    assert(left != NULL && left_behind == NULL);
    left_behind = left;
    struct sigaction action = {.sa_handler = on_job_signal, .sa_flags = SA_RESTART}, before;
    sigfillset(&action.sa_mask); /* handlers do not nest */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue;
        int failed = sigaction(numbers[i], &action, NULL);
        assert(failed == 0);
    }
}

/* Returns seconds, rounded up; 0 (no alarm) if they do not fit. */
static unsigned alarm_seconds_after(uint64_t timeout_ns)
{
    uint64_t s = (timeout_ns + 999999999) / 1000000000 + SIGNALS_RETURN_S;
    return s < INT32_MAX ? (unsigned)s : 0;
}

void signals_watch(struct glint *g, uint64_t timeout_ns)
{
    struct sigaction action = {.sa_handler = on_timeout_alarm};
    assert(g != NULL && atomic_load(&watched) == NULL);
    sigfillset(&action.sa_mask);
    int failed = sigaction(SIGALRM, &action, NULL);
    assert(failed == 0);
    atomic_store(&job_runs, true);
    if (timeout_ns > 0) alarm(alarm_seconds_after(timeout_ns));
    atomic_store(&watched, g);
    enum glint_code code = signals_pending();
    if (code == GLINT_OK) return;
    alarm(SIGNALS_RETURN_S);
    glint_interrupt(g, code);
}

void signals_job_returned(void)
{
    atomic_store(&job_runs, false);
    alarm(0);
}

void signals_unwatch(void)
{
    atomic_store(&watched, NULL);
    /* A handler that read `watched` before may still use the context. */
    while (atomic_load(&inside) > 0) sched_yield();
}

enum glint_code signals_pending(void)
{
    return (enum glint_code)atomic_load(&pending_code);
}
