/* Intercepts calls of a process under test (LD_PRELOAD), so that a fault happens at an event and
 * not at a time: the second open of a file, the millionth byte over TCP, a row that is read. The
 * program under test is unchanged.
 *
 * $GLINT_HOOKS has rules, one per line: CALL WHAT NUMBER ACTION MARKER
 *
 *   open    WHAT is in the path                    the NUMBERth such call
 *   read    WHAT is in the bytes that were read    the NUMBERth such call
 *   change  rename, unlink, rmdir, mkdir or open for writing; WHAT is in a path   the NUMBERth such
 * call send    WHAT is ignored                        when the process has sent NUMBER bytes over
 * TCP
 *
 *   hold    waits until the file MARKER.go exists
 *   kill    SIGKILL to itself          segv    SIGSEGV to itself       stop    SIGSTOP to itself
 *   exit    _exit(42)
 *   cut     shuts the connection down  flip    changes one byte before it is sent (send only)
 *
 * A NUMBER of 0 matches any call. A rule acts once among all processes: it creates the file MARKER
 * first, and does nothing if the file exists; the MARKER - is not a file, and that rule acts each
 * time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define RULES_MAX 16

struct rule {
    char call[16], what[256], action[16], marker[PATH_MAX];
    unsigned long number;
    atomic_ulong seen;
};

static struct rule rules[RULES_MAX];
static int rule_count;

__attribute__((constructor)) static void hooks_read(void)
{
    const char *text = getenv("GLINT_HOOKS");
    while (text != NULL && *text != '\0' && rule_count < RULES_MAX) {
        struct rule *r = &rules[rule_count];
        if (sscanf(text, "%15s %255s %lu %15s %4095s", r->call, r->what, &r->number, r->action,
                   r->marker) != 5) {
            fprintf(stderr, "hooks: no rule: %s\n", text);
            _exit(99);
        }
        rule_count++;
        text = strchr(text, '\n');
        text += text != NULL;
    }
}

/* The system's functions, which are not intercepted. */
static int plain_open(const char *path, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static bool first_time(const struct rule *r)
{
    if (strcmp(r->marker, "-") == 0) return true;
    int file = plain_open(r->marker, O_CREAT | O_EXCL | O_WRONLY);
    if (file >= 0) syscall(SYS_close, file);
    return file >= 0;
}

static void hold(const struct rule *r)
{
    char go[PATH_MAX + 8];
    snprintf(go, sizeof go, "%s.go", r->marker);
    while (syscall(SYS_access, go, F_OK) != 0) poll(NULL, 0, 2);
}

static void die(int number)
{
    signal(number, SIG_DFL);
    kill(getpid(), number);
    for (;;) pause();
}

static void act(const struct rule *r)
{
    if (!first_time(r)) return;
    if (strcmp(r->action, "hold") == 0) hold(r);
    if (strcmp(r->action, "kill") == 0) die(SIGKILL);
    if (strcmp(r->action, "segv") == 0) die(SIGSEGV);
    if (strcmp(r->action, "exit") == 0) _exit(42);
    if (strcmp(r->action, "stop") == 0) kill(getpid(), SIGSTOP);
}

static bool is_turn(struct rule *r)
{
    unsigned long turn = atomic_fetch_add(&r->seen, 1) + 1;
    return r->number == 0 || turn == r->number;
}

static void on_path(const char *call, const char *path)
{
    int before = errno;
    for (int i = 0; i < rule_count; i++)
        if (strcmp(rules[i].call, call) == 0 && strstr(path, rules[i].what) != NULL &&
            is_turn(&rules[i]))
            act(&rules[i]);
    errno = before;
}

static void on_bytes(const void *bytes, ssize_t size)
{
    for (int i = 0; i < rule_count; i++)
        if (strcmp(rules[i].call, "read") == 0 && size > 0 &&
            memmem(bytes, (size_t)size, rules[i].what, strlen(rules[i].what)) != NULL &&
            is_turn(&rules[i]))
            act(&rules[i]);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The path of a name in an open directory starts with the directory's current path. */
static void on_name(const char *call, int dir, const char *name)
{
    char path[2 * PATH_MAX] = "", link[64];
    size_t size = 0;
    if (dir != AT_FDCWD && name[0] != '/') {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t n = readlink(link, path, PATH_MAX);
        size = n > 0 ? (size_t)n : 0;
    }
    snprintf(path + size, sizeof path - size, "%s%s", size > 0 ? "/" : "", name);
    on_path(call, path);
}

int openat(int dir, const char *name, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    on_name(flags & O_CREAT ? "change" : "open", dir, name);
    return REAL(openat)(dir, name, flags, mode);
}

ssize_t pread(int file, void *out, size_t size, off_t offset)
{
    ssize_t n = REAL(pread)(file, out, size, offset);
    on_bytes(out, n);
    return n;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    on_name("change", to_dir, to);
    return REAL(renameat2)(from_dir, from, to_dir, to, flags);
}

int unlinkat(int dir, const char *name, int flags)
{
    on_name("change", dir, name);
    return REAL(unlinkat)(dir, name, flags);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
    on_name("change", dir, name);
    return REAL(mkdirat)(dir, name, mode);
}

/* ---- Sent bytes */

static bool is_tcp(int file)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    return getsockname(file, (struct sockaddr *)&a, &size) == 0 &&
           (a.ss_family == AF_INET || a.ss_family == AF_INET6);
}

/* The rule that applies, if this process sends these bytes, too. */
static const struct rule *rule_of_send(int file, size_t bytes)
{
    const struct rule *found = NULL;
    for (int i = 0; i < rule_count; i++) {
        struct rule *r = &rules[i];
        if (strcmp(r->call, "send") != 0 || bytes == 0 || !is_tcp(file)) continue;
        unsigned long before = atomic_fetch_add(&r->seen, bytes);
        if (before < r->number && before + bytes >= r->number) found = r;
    }
    return found;
}

/* Sends the first half of the bytes, with the last one of them changed. Like any write it may send
 * fewer. */
static ssize_t send_flipped(int file, const struct iovec *parts, int count, size_t bytes)
{
    size_t size = bytes / 2 + 1, used = 0;
    unsigned char *copy = malloc(size);
    if (copy == NULL) return 0;
    for (int i = 0; i < count && used < size; i++) {
        size_t n = parts[i].iov_len < size - used ? parts[i].iov_len : size - used;
        memcpy(copy + used, parts[i].iov_base, n);
        used += n;
    }
    copy[used - 1] ^= 0x10;
    ssize_t sent = 0;
    while (sent < (ssize_t)used) {
        ssize_t n = send(file, copy + sent, used - (size_t)sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) break;
        if (n < 0) poll(NULL, 0, 1);
        sent += n > 0 ? n : 0;
    }
    free(copy);
    return sent > 0 ? sent : -1;
}

/* True: *out is the result of the call. */
static bool on_send(int file, const struct iovec *parts, int count, ssize_t *out)
{
    size_t bytes = 0;
    int before = errno;
    for (int i = 0; i < count; i++) bytes += parts[i].iov_len;
    const struct rule *r = rule_of_send(file, bytes);
    errno = before;
    if (r == NULL) return false;
    if (strcmp(r->action, "flip") == 0 && first_time(r)) {
        *out = send_flipped(file, parts, count, bytes);
        return true;
    }
    if (strcmp(r->action, "cut") == 0 && first_time(r)) shutdown(file, SHUT_RDWR);
    act(r);
    return false;
}

ssize_t sendmsg(int file, const struct msghdr *m, int flags)
{
    ssize_t n;
    return on_send(file, m->msg_iov, (int)m->msg_iovlen, &n) ? n : REAL(sendmsg)(file, m, flags);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    ssize_t n;
    return on_send(file, parts, count, &n) ? n : REAL(writev)(file, parts, count);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    ssize_t n;
    struct iovec part = {(void *)(uintptr_t)bytes, size};
    return on_send(file, &part, 1, &n) ? n : REAL(write)(file, bytes, size);
}

/* The bytes are in a file: they can be counted and cut off, but not changed. */
ssize_t sendfile(int to, int from, off_t *offset, size_t size)
{
    const struct rule *r = rule_of_send(to, size);
    if (r != NULL && strcmp(r->action, "cut") == 0 && first_time(r)) shutdown(to, SHUT_RDWR);
    if (r != NULL && strcmp(r->action, "flip") != 0) act(r);
    return REAL(sendfile)(to, from, offset, size);
}
