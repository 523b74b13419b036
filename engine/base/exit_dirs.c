/* The signal handler only makes system calls on registered entries. It empties a directory through
 * its descriptor, and only if both descriptor and path still are the directory that was registered:
 * a crash may have overwritten the memory of the table. */
#include "engine/base/exit_dirs.h"

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

#define TRIES      8 /* other threads may still create files */
#define LIST_BYTES 4096

struct exit_dir {
    atomic_int dir; /* descriptor + 1; 0: free slot */
    dev_t device;
    ino_t inode;
    char given[PATH_MAX], path[PATH_MAX]; /* as registered, and absolute */
};

/* The record of getdents64(2). */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

static struct exit_dir exit_dirs[EXIT_DIRS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for register and unregister */

static bool make_absolute(const char *path, char *out)
{
    char here[PATH_MAX];
    int n = path[0] == '/'                      ? snprintf(out, PATH_MAX, "%s", path)
            : getcwd(here, sizeof here) != NULL ? snprintf(out, PATH_MAX, "%s/%s", here, path)
                                                : -1;
    return n > 0 && n < PATH_MAX;
}

/* Returns the slot of this path, or a free one for NULL. Caller holds the lock. */
static struct exit_dir *find_slot(const char *path)
{
    for (struct exit_dir *l = exit_dirs; l < exit_dirs + EXIT_DIRS_MAX; l++) {
        bool used = atomic_load(&l->dir) != 0;
        if (path == NULL ? !used : used && strcmp(l->given, path) == 0) return l;
    }
    return NULL;
}

void exit_dirs_register(const char *path)
{
    struct stat stat;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return;
    pthread_mutex_lock(&lock);
    struct exit_dir *l = find_slot(NULL);
    bool noted = l != NULL && fstat(dir, &stat) == 0 && make_absolute(path, l->path) &&
                 snprintf(l->given, PATH_MAX, "%s", path) < PATH_MAX;
    if (noted) {
        l->device = stat.st_dev;
        l->inode = stat.st_ino;
        atomic_store(&l->dir, dir + 1); /* last: a handler may read the slot at any moment */
    }
    pthread_mutex_unlock(&lock);
    if (!noted) close(dir);
}

void exit_dirs_unregister(const char *path)
{
    pthread_mutex_lock(&lock);
    struct exit_dir *l = find_slot(path);
    int dir = l != NULL ? atomic_exchange(&l->dir, 0) - 1 : -1;
    pthread_mutex_unlock(&lock);
    if (dir >= 0) close(dir);
}

bool exit_dirs_any_registered(void)
{
    for (int i = 0; i < EXIT_DIRS_MAX; i++)
        if (atomic_load(&exit_dirs[i].dir) != 0) return true;
    return false;
}

/* ---- In the signal handler */

static bool remove_contents_at(int dir, unsigned depth);

static bool remove_entry_at(int dir, const char *name, unsigned depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) return true;
    int inside =
        depth > 0 ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (inside < 0) return false;
    bool emptied = remove_contents_at(inside, depth - 1);
    close(inside);
    return emptied && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static bool remove_contents_at(int dir, unsigned depth)
{
    _Alignas(struct entry) char list[LIST_BYTES];
    /* New descriptor, to read from the first entry. */
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool all = again >= 0;
    long size = 0;
    while (again >= 0 && (size = syscall(SYS_getdents64, again, list, sizeof list)) > 0)
        for (long at = 0; at < size;) {
            const struct entry *e = (const struct entry *)(list + at);
            at += e->size;
            if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0) continue;
            all = remove_entry_at(dir, e->name, depth) && all;
        }
    if (again >= 0) close(again);
    return all && size == 0;
}

static bool is_still_registered_dir(const struct exit_dir *l, int dir)
{
    struct stat open, at_path;
    return fstat(dir, &open) == 0 &&
           fstatat(AT_FDCWD, l->path, &at_path, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_dev == l->device && open.st_ino == l->inode && at_path.st_dev == l->device &&
           at_path.st_ino == l->inode && S_ISDIR(open.st_mode) && open.st_uid == geteuid();
}

static bool remove_exit_dir(const struct exit_dir *l, int dir)
{
    for (int i = 0; i < TRIES; i++) {
        remove_contents_at(dir, 1);
        if (unlinkat(AT_FDCWD, l->path, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
        if (errno != ENOTEMPTY && errno != EEXIST) return false;
    }
    return false;
}

bool exit_dirs_remove_all(void)
{
    bool all = true;
    for (int i = 0; i < EXIT_DIRS_MAX; i++) {
        const struct exit_dir *l = &exit_dirs[i];
        int dir = atomic_load(&l->dir) - 1;
        if (dir >= 0 && is_still_registered_dir(l, dir)) all = remove_exit_dir(l, dir) && all;
    }
    return all;
}
