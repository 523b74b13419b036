/* The state is static because a handler has no other way to reach it. A handler may run on any
 * thread while the main thread is about to destroy the context, hence the count of handlers inside.
 */
#include "engine/cli/signals.h"

#include "engine/plan/config.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static _Atomic(struct glint *) watched;
static atomic_int pending_code, received, inside;
static const char *left_behind;
static size_t left_size;

static_assert(ATOMIC_POINTER_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
              "a signal handler must not wait for a lock");

/* Only what is safe in a handler: write and _exit. */
static void end_at_once(int number)
{
    static const char first[] = "\nglint: ended at once by a second signal; ";
    ssize_t written = write(STDERR_FILENO, first, sizeof first - 1);
    written = write(STDERR_FILENO, left_behind, left_size);
    written = write(STDERR_FILENO, "\n", 1);
    (void)written;
    _exit(128 + (number == SIGINT ? SIGINT : SIGTERM));
}

static void on_signal(int number)
{
    int saved = errno;
    atomic_fetch_add(&inside, 1);
    if (atomic_fetch_add(&received, 1) > 0) end_at_once(number);
    enum glint_code code = number == SIGINT ? GLINT_E_INTERRUPTED : GLINT_E_TERMINATED;
    atomic_store(&pending_code, code);
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
    left_size = strlen(left);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    sigfillset(&action.sa_mask); /* handlers do not nest */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue;
        int failed = sigaction(numbers[i], &action, NULL);
        assert(failed == 0);
    }
}

void signals_watch(struct glint *g)
{
    assert(g != NULL && atomic_load(&watched) == NULL);
    atomic_store(&watched, g);
    enum glint_code code = signals_pending();
    if (code != GLINT_OK) glint_interrupt(g, code);
}

void signals_unwatch(void)
{
    atomic_store(&watched, NULL);
    while (atomic_load(&inside) > 0) sched_yield();
}

enum glint_code signals_pending(void)
{
    return (enum glint_code)atomic_load(&pending_code);
}
