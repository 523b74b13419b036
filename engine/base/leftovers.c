/* The handler only makes system calls on what was noted before. A directory is emptied through its
 * descriptor, and only if that and its path still lead to the directory that was added: memory may
 * have been overwritten before the crash. */
#include "engine/base/leftovers.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES      8 /* other threads may still write */
#define LIST_BYTES 4096

struct leftover {
    atomic_int dir; /* + 1; 0: free */
    dev_t device;
    ino_t inode;
    char given[PATH_MAX], path[PATH_MAX]; /* the same, absolute */
};

/* getdents64(2) */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

static struct leftover leftovers[LEFTOVERS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for add and drop */

static bool make_absolute(const char *path, char *out)
{
    char here[PATH_MAX];
    int n = path[0] == '/'                      ? snprintf(out, PATH_MAX, "%s", path)
            : getcwd(here, sizeof here) != NULL ? snprintf(out, PATH_MAX, "%s/%s", here, path)
                                                : -1;
    return n > 0 && n < PATH_MAX;
}

/* The entry of this path, NULL for a free one. With the lock. */
static struct leftover *find(const char *path)
{
    for (struct leftover *l = leftovers; l < leftovers + LEFTOVERS_MAX; l++) {
        bool used = atomic_load(&l->dir) != 0;
        if (path == NULL ? !used : used && strcmp(l->given, path) == 0) return l;
    }
    return NULL;
}

void leftovers_add(const char *path)
{
    struct stat stat;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return;
    pthread_mutex_lock(&lock);
    struct leftover *l = find(NULL);
    bool noted = l != NULL && fstat(dir, &stat) == 0 && make_absolute(path, l->path) &&
                 snprintf(l->given, PATH_MAX, "%s", path) < PATH_MAX;
    if (noted) {
        l->device = stat.st_dev;
        l->inode = stat.st_ino;
        atomic_store(&l->dir, dir + 1); /* last: a handler may look at any moment */
    }
    pthread_mutex_unlock(&lock);
    if (!noted) close(dir);
}

void leftovers_drop(const char *path)
{
    pthread_mutex_lock(&lock);
    struct leftover *l = find(path);
    int dir = l != NULL ? atomic_exchange(&l->dir, 0) - 1 : -1;
    pthread_mutex_unlock(&lock);
    if (dir >= 0) close(dir);
}

bool leftovers_any(void)
{
    for (int i = 0; i < LEFTOVERS_MAX; i++)
        if (atomic_load(&leftovers[i].dir) != 0) return true;
    return false;
}

/* ---- In a signal handler */

static bool empty(int dir, unsigned depth);

static bool remove_entry(int dir, const char *name, unsigned depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) return true;
    int inside =
        depth > 0 ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (inside < 0) return false;
    bool emptied = empty(inside, depth - 1);
    close(inside);
    return emptied && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static bool empty(int dir, unsigned depth)
{
    _Alignas(struct entry) char list[LIST_BYTES];
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* from its first entry */
    bool all = again >= 0;
    long size = 0;
    while (again >= 0 && (size = syscall(SYS_getdents64, again, list, sizeof list)) > 0)
        for (long at = 0; at < size;) {
            const struct entry *e = (const struct entry *)(list + at);
            at += e->size;
            if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0) continue;
            all = remove_entry(dir, e->name, depth) && all;
        }
    if (again >= 0) close(again);
    return all && size == 0;
}

static bool is_still(const struct leftover *l, int dir)
{
    struct stat open, there;
    return fstat(dir, &open) == 0 && fstatat(AT_FDCWD, l->path, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_dev == l->device && open.st_ino == l->inode && there.st_dev == l->device &&
           there.st_ino == l->inode && S_ISDIR(open.st_mode) && open.st_uid == geteuid();
}

static bool remove_leftover(const struct leftover *l, int dir)
{
    for (int i = 0; i < TRIES; i++) {
        empty(dir, 1);
        if (unlinkat(AT_FDCWD, l->path, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
        if (errno != ENOTEMPTY && errno != EEXIST) return false;
    }
    return false;
}

bool leftovers_remove(void)
{
    bool all = true;
    for (int i = 0; i < LEFTOVERS_MAX; i++) {
        const struct leftover *l = &leftovers[i];
        int dir = atomic_load(&l->dir) - 1;
        if (dir >= 0 && is_still(l, dir)) all = remove_leftover(l, dir) && all;
    }
    return all;
}
