/* Child processes by posix_spawn, and a pidfd in the event loop for the exit. If this process
 * inherited SIGCHLD as ignored, the kernel would reap children itself and their exit status would
 * be lost, so the default is restored first. */
#include "engine/base/spawn.h"

#include "engine/base/env.h"
#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A table of numbers without a lock, since a signal handler reads it. */

#define GROUPS_MAX 1024 /* one for each slot */

static atomic_int groups[GROUPS_MAX]; /* 0: free */

void child_groups_add(int group)
{
    assert(group > 1);
    for (int i = 0; i < GROUPS_MAX; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&groups[i], &none, group)) return;
    }
}

void child_groups_remove(int group)
{
    for (int i = 0; i < GROUPS_MAX; i++) {
        int found = group;
        if (atomic_compare_exchange_strong(&groups[i], &found, 0)) return;
    }
}

void child_groups_kill_all(void)
{
    for (int i = 0; i < GROUPS_MAX; i++) {
        const int group = atomic_load(&groups[i]);
        if (group > 1) kill(-group, SIGKILL);
    }
}

/* ---- spawn */

#define NULL_DEVICE   "/dev/null"
#define SESSION_TRIES 8

/* Returns 0 or an errno. */
static int add_file_actions(posix_spawn_file_actions_t *actions, const struct spawn_program *p)
{
    int r = 0;
    for (int i = 0; r == 0 && i < (int)p->file_count; i++)
        r = p->files[i] >= 0 ? posix_spawn_file_actions_adddup2(actions, p->files[i], i)
                             : posix_spawn_file_actions_addopen(actions, i, NULL_DEVICE, O_RDWR, 0);
    return r;
}

static int set_spawn_attributes(posix_spawnattr_t *attributes, const struct spawn_program *p)
{
    sigset_t all, none;
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    if (p->own_session) flags |= POSIX_SPAWN_SETSID;
    /* The loop's signal handlers and mask must not affect the program. */
    sigfillset(&all);
    sigemptyset(&none);
    int r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0) r = posix_spawnattr_setsigmask(attributes, &none);
    return r == 0 ? posix_spawnattr_setflags(attributes, flags) : r;
}

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

static int spawn_with_pidfd(struct spawn *s, const struct spawn_program *p)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    struct sigaction before;
    /* With SIGCHLD ignored waitpid would fail with ECHILD. */
    if (sigaction(SIGCHLD, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL);
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0) return -r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = add_file_actions(&actions, p);
        if (r == 0) r = set_spawn_attributes(&attributes, p);
        if (r == 0)
            r = posix_spawnp(&s->pid, p->path, &actions, &attributes, p->words,
                             p->variables != NULL ? p->variables : environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

struct session_search {
    pid_t session;
    uint32_t found;
};

/* Entries of /proc: "pid (name) state parent group session ...", where the name may have any
 * bytes. */
static int kill_in_session(void *arg, const char *name)
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
        if (env_list_dir(env_real(), "/proc", kill_in_session, &search) != 0) return;
    }
}

static void on_exited(uv_poll_t *poll, int status, int events)
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

/* The child runs, but its exit cannot be watched: kill it, so that the caller sees a
 * failed start. */
static void kill_and_reap(struct spawn *s)
{
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR) continue;
}

int spawn_start(struct spawn *s, uv_loop_t *loop, const struct spawn_program *program,
                void (*exited)(void *arg, int wait_status), void *arg)
{
    assert(program->file_count <= SPAWN_FILES_MAX && program->words[0] != NULL);
    *s = (struct spawn){
        .file = -1, .exited = exited, .arg = arg, .end_session = program->end_session};
    assert(program->own_session || !program->end_session);
    int r = spawn_with_pidfd(s, program);
    if (r != 0) return r;
    s->file = (int)syscall(SYS_pidfd_open, s->pid, 0); /* has close-on-exec */
    r = s->file >= 0 ? uv_poll_init(loop, &s->poll, s->file) : -errno;
    if (r == 0) {
        s->poll.data = s;
        s->open = s->running = true;
        r = uv_poll_start(&s->poll, UV_READABLE, on_exited);
        assert(r == 0);
        return 0;
    }
    kill_and_reap(s);
    if (s->file >= 0) close(s->file);
    return r;
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
