/* Threads get a fixed stack size: the default depends on ulimit -s, and thread-local buffers, which
 * are allocated in the stack too, may exceed a small one. */
#include "engine/base/thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)8 << 20) /* only touched pages use memory */
#define SLICE_NS    100000000u        /* the maximum that Linux accepts */

/* Linux' sched_setattr(2): glibc 2.36 lacks it, and the kernel's header conflicts with <sched.h>.
 * Before Linux 6.12 the `runtime` (time slice) of a batch thread is ignored. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period; /* ns */
};

int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg, struct glint_error *error)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return error_no_memory(error);
    int failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    assert(failed == 0);
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
    failed = pthread_create(out, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed == 0) return 0;
    return error_set(error, GLINT_E_SYSTEM,
                     "raise the limit on processes (ulimit -u) or on memory, or use fewer slots",
                     "cannot start a thread: %s", strerror(failed));
}

static void set_scheduling_policy(uint32_t policy, uint64_t slice_ns)
{
    static_assert(sizeof(struct scheduling) == 48, "SCHED_ATTR_SIZE_VER0");
    struct scheduling as = {.size = sizeof as,
                            .policy = policy,
                            .nice = getpriority(PRIO_PROCESS, 0),
                            .runtime = slice_ns};
    syscall(SYS_sched_setattr, 0, &as, 0u);
}

void thread_set_batch_policy(void)
{
    set_scheduling_policy(SCHED_BATCH, SLICE_NS);
}

void thread_lower_priority(void)
{
    set_scheduling_policy(SCHED_BATCH, 0);
    sched_yield();
}

void thread_restore_priority(void)
{
    set_scheduling_policy(SCHED_OTHER, 0);
}

int pipe_semaphore_open(struct pipe_semaphore *b, struct glint_error *error)
{
    if (pipe2(b->ends, O_CLOEXEC) == 0) return 0;
    return error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                     "cannot make a pipe: %s", strerror(errno));
}

void pipe_semaphore_post(const struct pipe_semaphore *b)
{
    ssize_t n;
    while ((n = write(b->ends[1], "", 1)) < 0 && errno == EINTR) continue;
    assert(n == 1);
}

void pipe_semaphore_wait(const struct pipe_semaphore *b)
{
    ssize_t n;
    char byte;
    while ((n = read(b->ends[0], &byte, 1)) < 0 && errno == EINTR) continue;
    assert(n == 1);
}

void pipe_semaphore_close(struct pipe_semaphore *b)
{
    close(b->ends[0]);
    close(b->ends[1]);
}

/* The deadline is on the clock of `env`, which tests may replace; the semaphore waits on the
 * system's monotonic clock: the wall clock may be set. Converts by the time left. */
void semaphore_wait_until(sem_t *s, struct env *env, uint64_t deadline_ns)
{
    struct env *system = env_real();
    const uint64_t now = env->now_ns(env), left = deadline_ns > now ? deadline_ns - now : 0;
    uint64_t at = system->now_ns(system) + left;
    if (at < left) at = INT64_MAX; /* overflow */
    const struct timespec end = {(time_t)(at / SECOND_NS), (long)(at % SECOND_NS)};
    if (sem_clockwait(s, CLOCK_MONOTONIC, &end) != 0) return;
    while (sem_trywait(s) == 0) continue; /* one return for all that was posted */
}
