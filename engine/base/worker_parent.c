/* See worker_parent.h. */
#include "engine/base/worker_parent.h"

#include "engine/base/endian.h"
#include "engine/base/spawn.h"
#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESPONSE_MS  (60 * 1000) /* a parent that has not responded then is killed */
#define EXIT_MS      1000        /* from the end of its socket to its exit */
#define NUMBER       sizeof(uint32_t)
#define WORKERS_MAX  1024u /* of one parent */
#define WORKER_FILES 3u

struct worker_parent {
    struct worker_parent *next;
    struct buffer key; /* its arguments and environment, each with a NUL */
    int pid, exited;   /* its pidfd */
    int socket;
    int workers[WORKERS_MAX]; /* that are not reaped */
    uint32_t count;
};

void worker_parents_init(struct worker_parents *w)
{
    *w = (struct worker_parents){.first = NULL};
    pthread_mutex_init(&w->lock, NULL);
}

/* ---- Its socket */

/* Returns false if it has ended, or does not respond. */
static bool receive_response(struct worker_parent *p, void *out, size_t size)
{
    for (size_t done = 0; done < size;) {
        struct pollfd file = {.fd = p->socket, .events = POLLIN};
        const int ready = poll(&file, 1, RESPONSE_MS);
        if (ready < 0 && errno == EINTR) continue;
        const ssize_t n = ready > 0 ? read(p->socket, (char *)out + done, size - done) : 0;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static bool send_request(struct worker_parent *p, const uint8_t *data, size_t size,
                         const int files[WORKER_FILES])
{
    union {
        char bytes[CMSG_SPACE(WORKER_FILES * sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    for (size_t done = 0; done < size;) {
        struct iovec part = {(uint8_t *)(uintptr_t)data + done, size - done};
        struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
        if (files != NULL && done == 0) { /* they travel with the first byte */
            m.msg_control = control.bytes;
            m.msg_controllen = sizeof control.bytes;
            struct cmsghdr *c = CMSG_FIRSTHDR(&m);
            *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS,
                                  .cmsg_len = CMSG_LEN(WORKER_FILES * sizeof(int))};
            memcpy(CMSG_DATA(c), files, WORKER_FILES * sizeof(int));
        }
        struct pollfd file = {.fd = p->socket, .events = POLLOUT};
        if (poll(&file, 1, RESPONSE_MS) == 0) return false;
        const ssize_t n = sendmsg(p->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0) return false;
        done += (size_t)n;
    }
    return true;
}

/* ---- Start and end. With the lock. */

static bool append_texts(struct buffer *b, char *const *texts)
{
    bool ok = true;
    for (; *texts != NULL && ok; texts++) ok = buffer_append(b, *texts, strlen(*texts) + 1);
    return ok && buffer_append(b, "", 1);
}

static void destroy_worker_parent(struct worker_parent *p)
{
    /* The kernel kills its workers; here, too, since they may have started others. */
    for (uint32_t i = 0; i < p->count; i++) {
        kill(-p->workers[i], SIGKILL);
        child_process_groups_remove(p->workers[i]);
    }
    if (p->pid > 0) env_real()->reap(env_real(), p->pid);
    if (p->exited >= 0) close(p->exited);
    if (p->socket >= 0) close(p->socket);
    buffer_fini(&p->key);
    mem_free(p);
}

static void remove_worker_parent(struct worker_parents *w, struct worker_parent *p)
{
    struct worker_parent **at = &w->first;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    destroy_worker_parent(p);
}

void worker_parents_fini(struct worker_parents *w)
{
    while (w->first != NULL) remove_worker_parent(w, w->first);
    pthread_mutex_destroy(&w->lock);
}

static int spawn_worker_parent(struct worker_parent *p, const struct worker_start *start)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return -errno;
    const struct spawn_program program = {.path = start->path,
                                          .words = start->words,
                                          .variables = start->variables,
                                          .files = {pair[1], -1, STDERR_FILENO},
                                          .file_count = WORKER_FILES,
                                          .ends_with_thread = true};
    const int r = spawn_process(&program, &p->exited);
    close(pair[1]);
    p->socket = pair[0];
    if (r > 0) p->pid = r;
    return r > 0 ? 0 : r;
}

/* Returns the parent of the command, which it starts unless it runs. */
static int find_or_start_worker_parent(struct worker_parents *w, const struct worker_start *start,
                                       struct worker_parent **out)
{
    struct worker_parent *p = mem_zalloc(sizeof *p), *other = w->first;
    if (p == NULL) return -ENOMEM;
    p->exited = p->socket = -1;
    const bool made =
        append_texts(&p->key, start->words) && append_texts(&p->key, start->variables);
    while (
        made && other != NULL &&
        (other->key.size != p->key.size || memcmp(other->key.data, p->key.data, p->key.size) != 0))
        other = other->next;
    const int r = !made ? -ENOMEM : other != NULL ? 1 : spawn_worker_parent(p, start);
    if (r != 0) {
        destroy_worker_parent(p);
        *out = other;
        return r < 0 ? r : 0;
    }
    p->next = w->first;
    w->first = *out = p;
    return 0;
}

/* ---- Workers. With the lock. */

/* Kills and reaps worker number `at`. Returns its status; -ECHILD: the parent has ended. */
static int reap_worker(struct worker_parents *w, struct worker_parent *p, uint32_t at)
{
    uint8_t request[1 + NUMBER] = {'R'}, status[NUMBER];
    const int pid = p->workers[at];
    assert(at < p->count);
    kill(-pid, SIGKILL); /* not reaped: the number is still that of its group */
    child_process_groups_remove(pid);
    p->workers[at] = p->workers[--p->count];
    put_le32(request + 1, (uint32_t)pid);
    if (send_request(p, request, sizeof request, NULL) &&
        receive_response(p, status, sizeof status))
        return (int)get_le32(status);
    remove_worker_parent(w, p);
    return -ECHILD;
}

/* Sets *why, and *out_pid to 0, if the parent refuses. False: it has ended. */
static bool request_worker(struct worker_parent *p, const struct buffer *request,
                           const int files[WORKER_FILES], int *out_pid, char why[WORKER_WHY_BYTES])
{
    uint8_t number[NUMBER];
    if (!send_request(p, request->data, request->size, files)) return false;
    if (!receive_response(p, number, sizeof number)) return false;
    *out_pid = (int)get_le32(number);
    if (*out_pid > 1) return true;
    *out_pid = 0;
    if (!receive_response(p, number, sizeof number)) return false;
    const uint32_t size = get_le32(number);
    if (size >= WORKER_WHY_BYTES || !receive_response(p, why, size)) return false;
    why[size] = '\0';
    return true;
}

/* Its socket is closed, or it has not responded in time. */
static void describe_exit_of_worker_parent(const struct worker_parent *p,
                                           char why[WORKER_WHY_BYTES])
{
    siginfo_t info = {.si_pid = 0};
    struct pollfd file = {.fd = p->exited, .events = POLLIN};
    (void)poll(&file, 1, EXIT_MS);
    const bool exited =
        waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    if (!exited)
        text_format(why, WORKER_WHY_BYTES, "it does not respond");
    else
        text_format(why, WORKER_WHY_BYTES,
                    info.si_code == CLD_EXITED ? "it has ended with status %d"
                                               : "it was killed by signal %d",
                    info.si_status);
}

/* The request, and the three files, of a worker of `p`. Returns 0 or a negative errno. */
static int fork_worker(struct worker_parents *w, struct worker_parent *p,
                       const struct buffer *request, const int files[WORKER_FILES],
                       struct env_child *out, char why[WORKER_WHY_BYTES])
{
    int pid = 0;
    if (p->count == WORKERS_MAX) return -EAGAIN;
    if (!request_worker(p, request, files, &pid, why)) {
        describe_exit_of_worker_parent(p, why);
        remove_worker_parent(w, p);
        return -EPIPE;
    }
    if (pid == 0) return -EPROTO;
    child_process_groups_add(pid);
    p->workers[p->count++] = pid;
    out->pid = pid;
    out->exited = (int)syscall(SYS_pidfd_open, pid, 0); /* has close-on-exec */
    if (out->exited >= 0) return 0;
    const int error = -errno; /* its exit cannot be watched */
    reap_worker(w, p, p->count - 1);
    return error;
}

static bool pack_request(struct buffer *b, const struct worker_start *start)
{
    uint8_t head[1 + NUMBER] = {'F'};
    bool ok = buffer_append(b, head, sizeof head) && append_texts(b, start->worker_words) &&
              append_texts(b, start->worker_variables);
    if (!ok || b->size - sizeof head > UINT32_MAX) return false;
    put_le32(b->data + 1, (uint32_t)(b->size - sizeof head));
    return true;
}

int worker_start(struct worker_parents *w, const struct worker_start *start, struct env_child *out,
                 char why[WORKER_WHY_BYTES])
{
    struct env_pipes pipes;
    struct buffer request = {NULL, 0, 0};
    struct worker_parent *p = NULL;
    why[0] = '\0';
    int r = pack_request(&request, start) ? env_pipes_open(&pipes, out) : -ENOMEM;
    if (r != 0) {
        buffer_fini(&request);
        return r;
    }
    pthread_mutex_lock(&w->lock);
    /* Twice: a parent that was killed between two tasks is replaced. */
    for (int i = 0; i < 2 && (i == 0 || r == -EPIPE); i++) {
        r = find_or_start_worker_parent(w, start, &p);
        if (r == 0) r = fork_worker(w, p, &request, pipes.child, out, why);
    }
    pthread_mutex_unlock(&w->lock);
    env_pipes_close(&pipes, r == 0 ? NULL : out);
    buffer_fini(&request);
    return r == -EPIPE ? -EPROTO : r;
}

int worker_reap(struct worker_parents *w, int pid)
{
    int status = -ECHILD;
    uint32_t at = 0;
    assert(pid > 1);
    pthread_mutex_lock(&w->lock);
    struct worker_parent *p = w->first;
    while (p != NULL) {
        for (at = 0; at < p->count && p->workers[at] != pid;) at++;
        if (at < p->count) break;
        p = p->next;
    }
    if (p != NULL) status = reap_worker(w, p, at); /* else it was killed with its parent */
    pthread_mutex_unlock(&w->lock);
    return status == -ECHILD ? SIGKILL : status; /* as waitpid: killed by this signal */
}
