/* Child processes by vfork: fork would copy the page tables of all memory, and posix_spawn cannot
 * ask the kernel to kill the child when its parent ends (PR_SET_PDEATHSIG). The child shares the
 * memory of this process until it runs the program, so between the two it only makes system
 * calls. */
#include "engine/base/env_spawn.h"

#include "engine/base/child_groups.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 18) /* of input and output: fewer switches between the processes */

enum { INPUT, OUTPUT, ERRORS, FAILURE, PIPES };

/* Each pipe: the end of this process, the end of the child. */
struct pipes {
    int ends[PIPES][2];
};

static void close_pipes(const struct pipes *p)
{
    for (int i = 0; i < PIPES; i++)
        for (int end = 0; end < 2; end++)
            if (p->ends[i][end] >= 0) close(p->ends[i][end]);
}

/* Returns 0 or a negative errno with nothing open. */
static int open_pipes(struct pipes *p)
{
    *p = (struct pipes){.ends = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}}};
    for (int i = 0; i < PIPES; i++) {
        int pair[2]; /* to read, to write */
        if (pipe2(pair, O_CLOEXEC) != 0) {
            int error = errno;
            close_pipes(p);
            return -error;
        }
        p->ends[i][0] = pair[i == INPUT];
        p->ends[i][1] = pair[i != INPUT];
        if (i == FAILURE) continue;
        fcntl(p->ends[i][0], F_SETFL, O_NONBLOCK);
        /* Only an optimization: the kernel may refuse it. */
        if (i != ERRORS) fcntl(p->ends[i][0], F_SETPIPE_SZ, PIPE_BYTES);
    }
    return 0;
}

/* Runs in the child. Returns only after a failure, with errno set. */
static void run_program(const struct pipes *p, pid_t parent, const char *path, char *const *words,
                        char *const *variables)
{
    int ends[3];
    sigset_t none;
    /* The pipes may have numbers below 3, if this process was started without these. */
    for (int i = 0; i < 3; i++) ends[i] = fcntl(p->ends[i][1], F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 3; i++)
        if (ends[i] < 0 || dup2(ends[i], i) < 0) return;
    if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) != 0) return;
    for (int number = 1; number < _NSIG; number++) signal(number, SIG_DFL);
    sigemptyset(&none);
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
    if (getppid() != parent) _exit(1); /* it ended before the call above */
    /* Not the policy of a slot (thread_set_batch_policy): both wait for each other often. */
    sched_setscheduler(0, SCHED_OTHER, &(const struct sched_param){0});
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(path, words, variables);
}

/* Returns the child's pid, or a negative errno. */
static int start_program(const struct pipes *p, const char *path, char *const *words,
                         char *const *variables)
{
    const pid_t parent = getpid();
    const int report = fcntl(p->ends[FAILURE][1], F_DUPFD_CLOEXEC, 3);
    if (report < 0) return -errno;
    pid_t pid = vfork();
    if (pid == 0) {
        run_program(p, parent, path, words, variables);
        const int error = errno;
        ssize_t n = write(report, &error, sizeof error);
        _exit(n > 0 ? 127 : 126);
    }
    int error = pid < 0 ? errno : 0;
    close(report);
    return pid > 0 ? pid : -error;
}

/* Returns the errno that the child reported, as a negative number; 0: it runs the program. */
static int read_failure(struct pipes *p)
{
    int error = 0;
    close(p->ends[FAILURE][1]);
    p->ends[FAILURE][1] = -1;
    ssize_t n;
    do n = read(p->ends[FAILURE][0], &error, sizeof error);
    while (n < 0 && errno == EINTR);
    assert(error >= 0);
    return n == (ssize_t)sizeof error ? -error : 0;
}

int env_spawn(struct env *env, const char *path, char *const *words, char *const *variables,
              struct env_child *out)
{
    struct pipes p;
    struct sigaction now;
    sigset_t all, before;
    assert(words[0] != NULL);
    /* With SIGCHLD ignored the kernel would discard the exit status. */
    if (sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN) signal(SIGCHLD, SIG_DFL);
    int r = open_pipes(&p);
    if (r < 0) return r;
    sigfillset(&all); /* a handler of this process must not run in the child */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int pid = start_program(&p, path, words, variables);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    r = pid < 0 ? pid : read_failure(&p);
    int exited = r == 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1; /* has close-on-exec */
    if (r == 0 && exited < 0) r = -errno;
    if (pid > 0) child_groups_add(pid);
    if (r < 0 && pid > 0) env_reap(env, pid);
    if (r == 0) {
        *out = (struct env_child){.pid = pid,
                                  .input = p.ends[INPUT][0],
                                  .output = p.ends[OUTPUT][0],
                                  .errors = p.ends[ERRORS][0],
                                  .exited = exited};
        for (int i = 0; i < FAILURE; i++) p.ends[i][0] = -1;
    }
    close_pipes(&p);
    return r;
}

int env_reap(struct env *env, int pid)
{
    int status = 0;
    pid_t found;
    (void)env;
    assert(pid > 1);
    kill(-pid, SIGKILL); /* not reaped: the number is still that of its group */
    child_groups_remove(pid);
    do found = waitpid(pid, &status, 0);
    while (found < 0 && errno == EINTR);
    return found == pid ? status : -errno;
}
