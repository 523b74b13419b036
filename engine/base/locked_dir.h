/* Directories owned by a running process, and how other processes tell them from stale ones: the
 * file .glint-lock inside is locked while the owner lives. The kernel releases the lock however the
 * process ends. The file also contains the owner's node and start time, because locks may be local
 * to a node (depending on the mount options of NFS and Lustre) and then say nothing about processes
 * of other nodes.
 *
 * A directory is used and emptied through its descriptor, never by its path, which another user may
 * be able to redirect. The lock file is removed last: a directory without one is empty or not
 * ours. */
#ifndef GLINT_BASE_LOCKED_DIR_H
#define GLINT_BASE_LOCKED_DIR_H

#include "engine/base/env.h"
#include "engine/glint.h"

#include <limits.h>

#define LOCKED_DIR_LOCK_NAME ".glint-lock"
/* Locks of other nodes are respected this long. */
#define LOCKED_DIR_FOREIGN_NS (86400 * SECOND_NS)

/* A directory and its lock, both open; -1: not open. */
struct locked_dir {
    int dir;  /* the open directory */
    int file; /* its lock file */
};

#define LOCKED_DIR_NONE ((struct locked_dir){-1, -1})

/* Creates and locks the directory `path`, which ends with 16 hex digits and must not exist. If
 * another process removed it as stale before it was locked, tries again with other digits, which it
 * writes into `path`. Returns 0, or a negative errno; nothing is left then, and *out is
 * LOCKED_DIR_NONE. */
int locked_dir_create(struct env *env, char *path, bool only_owner, struct locked_dir *out);
/* Removes the directory with at most `depth` levels of directories inside. Unlock it afterwards.
 * Returns 0 or a negative errno. */
int locked_dir_remove(struct env *env, const char *path, const struct locked_dir *lock,
                      unsigned depth);
/* Closes the directory and its lock. May be called more than once. */
void locked_dir_unlock(struct env *env, struct locked_dir *lock);
/* Removes directories in `parent` that are named `prefix` and 16 hex digits and whose lock is free,
 * with at most `depth` levels of directories inside. Skips directories of other users, those that
 * cannot be removed, and those that another node locked less than LOCKED_DIR_FOREIGN_NS ago. Also
 * removes an empty one without a lock file, although its creator may be about to lock it: the
 * creator then retries. */
void locked_dir_remove_stale(struct env *env, const char *parent, const char *prefix,
                             unsigned depth);

/* The work directory of one process, for spilled data and map outputs: glint-RANDOM in --work-dir,
 * mode 0700, locked while the process lives. The next process that starts in
 * the same place removes directories of dead ones. */

/* `path` is empty unless the directory is open. */
struct work_dir {
    struct env *env;
    struct locked_dir lock;
    unsigned depth; /* levels of directories, as for locked_dir_remove */
    char path[PATH_MAX];
};

/* Creates the directory in `parent` (NULL: $TMPDIR or /tmp), after removing stale ones. Returns 0,
 * or WORK_DIR or SYSTEM with *error set. Blocks on disk. */
int work_dir_open(struct work_dir *w, struct env *env, const char *parent,
                  struct glint_error *error);
/* The same with another prefix than "glint-", and with directories inside: see
 * locked_dir_remove_stale. */
int work_dir_open_as(struct work_dir *w, struct env *env, const char *parent, const char *prefix,
                     unsigned depth, struct glint_error *error);
/* Removes the directory with all its contents; does nothing if it is not open. */
void work_dir_close(struct work_dir *w);
/* Removes directories of dead processes in `parent`. Any thread; blocks on disk. */
void work_dir_remove_stale(struct env *env, const char *parent);

#endif
