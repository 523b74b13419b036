/* The env of the operating system. Contains no policy: tests replace this file, so they would not
 * cover it. */
#include "engine/base/env.h"
#include "engine/base/spawn.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The calls have the env for tests: none here needs it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- Child processes with pipes. */

#define PIPE_BYTES (1 << 18) /* of input and output: fewer switches between the processes */

enum { INPUT, OUTPUT, ERRORS };

/* Closes the child's ends, and with `out` also those of this process. */
void env_pipes_close(struct env_pipes *p, const struct env_child *out)
{
    const int own[] = {out != NULL ? out->input : -1, out != NULL ? out->output : -1,
                       out != NULL ? out->errors : -1};
    for (int i = 0; i < ENV_PIPES; i++) {
        if (p->child[i] >= 0) close(p->child[i]);
        if (own[i] >= 0) close(own[i]);
    }
}

int env_pipes_open(struct env_pipes *p, struct env_child *out)
{
    int *const own[] = {&out->input, &out->output, &out->errors};
    *p = (struct env_pipes){.child = {-1, -1, -1}};
    *out = (struct env_child){.input = -1, .output = -1, .errors = -1, .exited = -1};
    for (int i = 0; i < ENV_PIPES; i++) {
        int pair[2]; /* to read, to write */
        if (pipe2(pair, O_CLOEXEC) != 0) {
            int error = errno;
            env_pipes_close(p, out);
            return -error;
        }
        *own[i] = pair[i == INPUT];
        p->child[i] = pair[i != INPUT];
        fcntl(*own[i], F_SETFL, O_NONBLOCK);
        /* Only an optimization: the kernel may refuse it. */
        if (i != ERRORS) fcntl(*own[i], F_SETPIPE_SZ, PIPE_BYTES);
    }
    return 0;
}

static int env_spawn(struct env *env, const char *path, char *const *words, char *const *variables,
                     struct env_child *out)
{
    struct env_pipes p;
    int r = env_pipes_open(&p, out);
    if (r < 0) return r;
    const struct spawn_program program = {
        .path = path,
        .words = words,
        .variables = variables,
        .files = {p.child[INPUT], p.child[OUTPUT], p.child[ERRORS]},
        .file_count = ENV_PIPES,
        .ends_with_thread = true};
    r = spawn_process(&program, &out->exited);
    if (r > 0) out->pid = r;
    env_pipes_close(&p, r > 0 ? NULL : out);
    return r > 0 ? 0 : r;
}

static int env_reap(struct env *env, int pid)
{
    int status = 0;
    pid_t found;
    assert(pid > 1);
    kill(-pid, SIGKILL); /* not reaped: the number is still that of its group */
    child_process_groups_remove(pid);
    do found = waitpid(pid, &status, 0);
    while (found < 0 && errno == EINTR);
    return found == pid ? status : -errno;
}

/* ---- The real system */

static_assert(ENV_CWD == AT_FDCWD, "ENV_CWD is passed to system calls unchanged");

static uint64_t real_now_ns(struct env *env)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int64_t real_wall_ns(struct env *env)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int real_random(struct env *env, void *out, size_t size)
{
    assert(size <= 256); /* getrandom is never interrupted up to this size */
    return getrandom(out, size, 0) == (ssize_t)size ? 0 : -errno;
}

static void real_node(struct env *env, struct env_node *out)
{
    memset(out, 0, sizeof *out);
    if (gethostname(out->host, sizeof out->host - 1) != 0) out->host[0] = '\0';
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, out->boot, sizeof out->boot - 1) : -1;
    if (n != (ssize_t)sizeof out->boot - 1) out->boot[0] = '\0';
    if (file >= 0) close(file);
}

static int real_open(struct env *env, int dir, const char *name, enum env_open_mode mode)
{
    static const struct {
        int flags;
        mode_t mode;
    } how[] = {
        [ENV_READ] = {O_RDONLY | O_NONBLOCK, 0},
        [ENV_READ_NOFOLLOW] = {O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0},
        [ENV_CREATE] = {O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600},
        [ENV_APPEND] = {O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOFOLLOW, 0600},
        [ENV_CREATE_PUBLIC] = {O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666},
        [ENV_LOCK] = {O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0},
        [ENV_DIR] = {O_RDONLY | O_DIRECTORY, 0},
        [ENV_DIR_NOFOLLOW] = {O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0},
        [ENV_SEARCH] = {O_PATH | O_DIRECTORY | O_NOFOLLOW, 0},
    };
    assert((size_t)mode < sizeof how / sizeof how[0]);
    int file = openat(dir, name, how[mode].flags | O_CLOEXEC, how[mode].mode);
    return file >= 0 ? file : -errno;
}

static int64_t real_pread(struct env *env, int file, void *out, size_t size, uint64_t offset)
{
    ssize_t n;
    do n = pread(file, out, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : -errno;
}

static int64_t real_write(struct env *env, int file, const void *data, size_t size)
{
    ssize_t n;
    do n = write(file, data, size);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : -errno;
}

static int real_close(struct env *env, int file)
{
    /* Linux has closed the descriptor even if close fails with EINTR: do not retry. */
    return close(file) == 0 || errno == EINTR ? 0 : -errno;
}

static int real_sync_file(struct env *env, int file)
{
    /* fdatasync also flushes the file's size, which is all that readers need. */
    return fdatasync(file) == 0 ? 0 : -errno;
}

static int real_sync_dir(struct env *env, int dir)
{
    return fsync(dir) == 0 ? 0 : -errno;
}

static void stat_from_system(const struct stat *s, struct env_stat *out)
{
    out->kind = S_ISREG(s->st_mode)    ? ENV_FILE
                : S_ISDIR(s->st_mode)  ? ENV_DIRECTORY
                : S_ISFIFO(s->st_mode) ? ENV_FIFO
                                       : ENV_OTHER;
    out->size = (uint64_t)s->st_size;
    out->mtime_ns = (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec;
    out->device = (uint64_t)s->st_dev;
    out->inode = (uint64_t)s->st_ino;
    out->mode = s->st_mode & 07777;
    out->owner = s->st_uid;
    out->links = s->st_nlink > UINT32_MAX ? UINT32_MAX : (uint32_t)s->st_nlink;
    out->mine = s->st_uid == geteuid();
}

static int real_stat_open(struct env *env, int file, struct env_stat *out)
{
    struct stat s;
    if (fstat(file, &s) != 0) return -errno;
    stat_from_system(&s, out);
    return 0;
}

static int real_stat(struct env *env, const char *path, struct env_stat *out)
{
    struct stat s;
    if (stat(path, &s) != 0) return -errno;
    stat_from_system(&s, out);
    return 0;
}

static int read_open_link(int link, char *out, size_t capacity, struct env_stat *out_stat)
{
    struct stat s;
    if (fstat(link, &s) != 0) return -errno;
    if (!S_ISLNK(s.st_mode)) return -EINVAL;
    ssize_t n = readlinkat(link, "", out, capacity);
    if (n < 0) return -errno;
    if ((size_t)n == capacity) return -ENAMETOOLONG;
    out[n] = '\0';
    stat_from_system(&s, out_stat);
    return 0;
}

static int real_read_link(struct env *env, int dir, const char *name, char *out, size_t capacity,
                          struct env_stat *out_stat)
{
    int link = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (link < 0) return -errno;
    int r = read_open_link(link, out, capacity, out_stat);
    close(link);
    return r;
}

static int real_stat_name(struct env *env, int dir, const char *name, struct env_stat *out)
{
    struct stat s;
    if (fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
    stat_from_system(&s, out);
    return 0;
}

static int real_make_dir(struct env *env, int dir, const char *name, bool only_owner)
{
    return mkdirat(dir, name, only_owner ? 0700 : 0777) == 0 ? 0 : -errno;
}

static int real_remove(struct env *env, int dir, const char *name, bool is_dir)
{
    return unlinkat(dir, name, is_dir ? AT_REMOVEDIR : 0) == 0 ? 0 : -errno;
}

int env_rename_noreplace_emulated(int from_dir, const char *from, int to_dir, const char *to)
{
    struct stat s;
    if (fstatat(from_dir, from, &s, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
    bool is_dir = S_ISDIR(s.st_mode);
    int file = is_dir ? mkdirat(to_dir, to, 0700)
                      : openat(to_dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return -errno;
    if (!is_dir) close(file);
    /* The name is reserved: this rename can only replace our own empty file or directory. */
    if (renameat(from_dir, from, to_dir, to) == 0) return 0;
    int error = errno;
    unlinkat(to_dir, to, is_dir ? AT_REMOVEDIR : 0);
    return -error;
}

static int real_rename(struct env *env, int from_dir, const char *from, int to_dir, const char *to,
                       enum env_rename_mode mode)
{
    static const unsigned flags[] = {[ENV_RENAME_NOREPLACE] = RENAME_NOREPLACE,
                                     [ENV_RENAME_EXCHANGE] = RENAME_EXCHANGE,
                                     [ENV_RENAME_REPLACE] = 0};
    assert((size_t)mode < sizeof flags / sizeof flags[0]);
    if (renameat2(from_dir, from, to_dir, to, flags[mode]) == 0) return 0;
    bool unable = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
    return unable && mode == ENV_RENAME_NOREPLACE
               ? env_rename_noreplace_emulated(from_dir, from, to_dir, to)
               : -errno;
}

/* Opens a separate descriptor, because closedir closes it. It shares its position with `dir`, so
 * rewind. */
static DIR *open_dir_stream(int dir)
{
    int own = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (d != NULL) {
        rewinddir(d);
    } else if (own >= 0) {
        int error = errno;
        close(own);
        errno = error;
    }
    return d;
}

static int real_list(struct env *env, int dir, int (*entry)(void *arg, const char *name), void *arg)
{
    DIR *stream = open_dir_stream(dir);
    if (stream == NULL) return -errno;
    int result = 0;
    while (result == 0) {
        errno = 0;
        const struct dirent *d = readdir(stream);
        if (d == NULL) {
            result = -errno;
            break;
        }
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
        result = entry(arg, d->d_name);
    }
    closedir(stream);
    return result;
}

static int real_lock(struct env *env, int file)
{
    return flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
}

static int real_lock_shared(struct env *env, int file)
{
    return flock(file, LOCK_SH | LOCK_NB) == 0 ? 0 : -errno;
}

static int64_t real_read(struct env *env, int file, void *out, size_t size)
{
    ssize_t n;
    do n = read(file, out, size);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : -errno;
}

static int real_poll(struct env *env, struct pollfd *files, uint32_t count, int timeout_ms)
{
    int n = poll(files, count, timeout_ms);
    return n >= 0 ? n : errno == EINTR ? 0 : -errno;
}

static int real_send_datagram(struct env *env, const char *name, const char *text)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t size = strlen(name);
    if (size == 0 || size >= sizeof address.sun_path) return -EINVAL;
    memcpy(address.sun_path, name, size);
    if (name[0] == '@') address.sun_path[0] = '\0';
    /* The name of an abstract socket has no NUL at its end. */
    const socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return -errno;
    const ssize_t sent =
        sendto(file, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address, length);
    const int error = sent < 0 ? errno : 0;
    close(file);
    return -error;
}

struct env *env_real(void)
{
    static struct env env = {
        .now_ns = real_now_ns,
        .wall_ns = real_wall_ns,
        .random = real_random,
        .node = real_node,
        .open = real_open,
        .pread = real_pread,
        .write = real_write,
        .close = real_close,
        .sync_file = real_sync_file,
        .sync_dir = real_sync_dir,
        .stat_open = real_stat_open,
        .stat = real_stat,
        .read_link = real_read_link,
        .stat_name = real_stat_name,
        .make_dir = real_make_dir,
        .remove = real_remove,
        .rename = real_rename,
        .list = real_list,
        .lock = real_lock,
        .lock_shared = real_lock_shared,
        .spawn = env_spawn,
        .reap = env_reap,
        .read = real_read,
        .poll = real_poll,
        .send_datagram = real_send_datagram,
    };
    return &env;
}
