/* Child processes by vfork: fork would copy the page tables of all memory, and posix_spawn cannot
 * ask the kernel to kill the child when its parent ends (PR_SET_PDEATHSIG). The child shares the
 * memory of this process until it runs the program, so between the two it only makes system
 * calls. */
#include "engine/base/spawn.h"

#include "engine/base/path.h"
#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A table of numbers without a lock, since a signal handler reads it. */

#define GROUPS_MAX 1024 /* one for each slot */

static atomic_int groups[GROUPS_MAX]; /* 0: free */

void child_process_groups_add(int group)
{
    assert(group > 1);
    for (int i = 0; i < GROUPS_MAX; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&groups[i], &none, group)) return;
    }
}

void child_process_groups_remove(int group)
{
    for (int i = 0; i < GROUPS_MAX; i++) {
        int found = group;
        if (atomic_compare_exchange_strong(&groups[i], &found, 0)) return;
    }
}

void child_process_groups_kill_all(void)
{
    for (int i = 0; i < GROUPS_MAX; i++) {
        const int group = atomic_load(&groups[i]);
        if (group > 1) kill(-group, SIGKILL);
    }
}

/* ---- spawn */

#define NULL_DEVICE   "/dev/null"
#define SESSION_TRIES 8

int spawn_set_error(struct glint_error *error, enum glint_code code, int failed, const char *name)
{
    struct env_stat s;
    if (failed == -ENOEXEC)
        return error_set(error, code, "build it on a machine of the same architecture as this one",
                         "cannot start %s: it is no program for this machine", name);
    if (failed != -ENOENT || env_real()->stat(env_real(), NULL_DEVICE, &s) == 0)
        return error_set_system(error, code, failed, "start", name);
    return error_set(error, code, "a chroot needs it: mknod -m 666 dev/null c 1 3",
                     "cannot start %s: " NULL_DEVICE ", its standard input, was not found", name);
}

static void kill_and_reap(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}

/* Returns a descriptor that none of the program's first `count` files replaces: of `file`, or of
 * /dev/null for -1. Negative: failed, with errno set. */
static int dup_file_above(int file, int count)
{
    assert(count > STDERR_FILENO);
    if (file < 0) file = open(NULL_DEVICE, O_RDWR | O_CLOEXEC);
    return file < 0 || file >= count ? file : fcntl(file, F_DUPFD_CLOEXEC, count);
}

/* Runs in the child. Returns only after a failure, with errno set. */
static void exec_program(const struct spawn_program *p, pid_t parent)
{
    const int count = (int)p->file_count;
    int files[SPAWN_FILES_MAX];
    sigset_t none;
    for (int i = 0; i < count; i++) files[i] = dup_file_above(p->files[i], count);
    for (int i = 0; i < count; i++)
        if (files[i] < 0 || dup2(files[i], i) < 0) return;
    for (int number = 1; number < _NSIG; number++) signal(number, SIG_DFL);
    if (p->own_session && setsid() < 0) return;
    if (p->ends_with_thread) {
        if (syscall(SYS_close_range, p->file_count, ~0u, CLOSE_RANGE_CLOEXEC) != 0) return;
        if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
        if (getppid() != parent) _exit(1); /* it ended before the call above */
        child_process_groups_add(
            getpid()); /* here, since it may start others before vfork returns */
        /* Not the policy of a slot (thread_set_batch_policy): both wait for each other often. */
        sched_setscheduler(0, SCHED_OTHER, &(const struct sched_param){0});
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(p->path, p->words, p->variables != NULL ? p->variables : environ);
}

/* Returns 0 with the child's pid, or a negative errno. */
static int vfork_program(const struct spawn_program *p, pid_t *out_pid)
{
    volatile int error = 0; /* the child writes to it */
    const pid_t parent = getpid();
    *out_pid = vfork();
    if (*out_pid == 0) {
        exec_program(p, parent);
        error = errno;
        _exit(127);
    }
    return *out_pid < 0 ? -errno : -error;
}

int spawn_process(const struct spawn_program *p, int *out_exited)
{
    struct sigaction now;
    sigset_t all, before;
    pid_t pid;
    assert(p->file_count <= SPAWN_FILES_MAX && p->words[0] != NULL);
    /* With SIGCHLD ignored the kernel would discard the exit status. */
    if (sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN) signal(SIGCHLD, SIG_DFL);
    sigfillset(&all); /* a handler of this process must not run in the child */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = vfork_program(p, &pid);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* The child has done it, unless it is a fork, as with ThreadSanitizer, and is not so far yet:
     * the group must exist before it is killed. */
    if (p->ends_with_thread && pid > 0) setpgid(pid, pid);
    *out_exited = r == 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1; /* has close-on-exec */
    if (r == 0 && *out_exited >= 0) return pid;
    if (r == 0) r = -errno;
    /* Without a pidfd its exit cannot be watched: the caller sees a failed start. */
    if (pid > 0) child_process_groups_remove(pid);
    if (pid > 0) kill_and_reap(pid);
    return r;
}

struct session_search {
    pid_t session;
    uint32_t found;
};

/* Entries of /proc: "pid (name) state parent group session ...", where the name may have any
 * bytes. */
static int kill_if_in_session(void *arg, const char *name)
{
    struct session_search *s = arg;
    char path[64], text[512], state;
    int pid, session;
    if (name[0] < '1' || name[0] > '9') return 0;
    text_format(path, sizeof path, "/proc/%.16s/stat", name);
    if (!env_read_text(env_real(), path, text, sizeof text)) return 0;
    const char *end = strrchr(text, ')');
    if (end == NULL || sscanf(text, "%d", &pid) != 1 ||
        sscanf(end + 1, " %c %*d %*d %d", &state, &session) != 2)
        return 0;
    if (session != s->session || state == 'Z' || state == 'X' || pid <= 1) return 0;
    kill(pid, SIGKILL);
    s->found++;
    return 0;
}

/* Kills what a process left that was killed, or failed, and so could not end it. It is not reaped
 * yet: its number is still that of its session. */
static void kill_session(const struct spawn *s)
{
    siginfo_t info = {.si_pid = 0};
    struct session_search search = {.session = s->pid, .found = 1};
    if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (info.si_pid == 0 || (info.si_code == CLD_EXITED && info.si_status == 0)) return;
    /* Again: they may have started others meanwhile. */
    for (int i = 0; i < SESSION_TRIES && search.found > 0; i++) {
        search.found = 0;
        if (env_list_dir(env_real(), "/proc", kill_if_in_session, &search) != 0) return;
    }
}

static void on_child_exited(uv_poll_t *poll, int status, int events)
{
    struct spawn *s = poll->data;
    int wait_status = 0;
    (void)status, (void)events;
    assert(s->open && s->running);
    if (s->end_session) kill_session(s);
    pid_t found = waitpid(s->pid, &wait_status, WNOHANG);
    /* Woken too early: still running. */
    if (found == 0) return;
    assert(found == s->pid); /* only this function reaps it */
    uv_poll_stop(poll);
    s->running = false;
    s->exited(s->arg, wait_status);
}

int spawn_start(struct spawn *s, uv_loop_t *loop, const struct spawn_program *program,
                void (*exited)(void *arg, int wait_status), void *arg)
{
    char path[PATH_MAX];
    struct spawn_program found = *program;
    assert(program->own_session || !program->end_session);
    *s = (struct spawn){
        .file = -1, .exited = exited, .arg = arg, .end_session = program->end_session};
    found.path = path;
    if (!path_find_program(env_real(), program->path, path, sizeof path)) return -ENOENT;
    int r = spawn_process(&found, &s->file);
    if (r < 0) return r;
    s->pid = r;
    r = uv_poll_init(loop, &s->poll, s->file);
    if (r != 0) {
        kill_and_reap(s->pid);
        close(s->file);
        return r;
    }
    s->poll.data = s;
    s->open = s->running = true;
    r = uv_poll_start(&s->poll, UV_READABLE, on_child_exited);
    assert(r == 0);
    return 0;
}

void spawn_kill(struct spawn *s, int number)
{
    if (s->running) kill(s->pid, number); /* not reaped: the pid is still its own */
}

static void on_spawn_closed(uv_handle_t *handle)
{
    struct spawn *s = handle->data;
    s->closed(s->arg);
}

bool spawn_close(struct spawn *s, void (*closed)(void *arg))
{
    if (!s->open) return false;
    assert(!uv_is_closing((uv_handle_t *)&s->poll));
    s->closed = closed;
    s->open = s->running = false;
    uv_close((uv_handle_t *)&s->poll, on_spawn_closed);
    /* libuv has removed the descriptor from epoll in uv_close. */
    close(s->file);
    return true;
}
