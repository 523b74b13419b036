/* Folders of a running process, and how others tell them from leftovers: the file .glint-lock in it
 * is locked as long as the process lives, by the system, whatever way the process ends. It also
 * says where and when: a lock that is each node's own (NFS and Lustre can be mounted so) says
 * nothing about another node's processes.
 *
 * A folder is used and emptied by its descriptor, never by its path, which another user may be able
 * to point elsewhere. The lock is removed last: what has none is empty, or not ours. */
#ifndef GLINT_BASE_LOCKED_DIR_H
#define GLINT_BASE_LOCKED_DIR_H

#include "engine/base/env.h"

#define LOCKED_DIR_LOCK_NAME  ".glint-lock"
#define LOCKED_DIR_FOREIGN_NS (UINT64_C(86400) * 1000000000) /* of another node's */

struct locked_dir {
    int dir;  /* the open folder */
    int file; /* its lock */
};

#define LOCKED_DIR_NONE ((struct locked_dir){-1, -1})

/* Makes the folder PREFIX and 16 hex digits, which must not be there, and locks it; the digits are
 * others afterwards if another process took it for a leftover before it was locked. 0, or a
 * negative errno, after which nothing is left and *out is not locked. */
int locked_dir_create(struct env *env, char *path, bool only_owner, struct locked_dir *out);
/* Removes such a folder with `depth` levels of folders inside it; it is still to be unlocked. 0 or
 * a negative errno. */
int locked_dir_remove(struct env *env, const char *path, const struct locked_dir *lock,
                      unsigned depth);
/* Any number of times. */
void locked_dir_unlock(struct env *env, struct locked_dir *lock);
/* Removes folders of `parent` whose names are `prefix` and 16 hex digits and whose lock nobody
 * holds, `depth` levels of folders inside them too. What does not belong to this user, or cannot be
 * removed, is passed over; so is what another node locked less than LOCKED_DIR_FOREIGN_NS ago. An
 * empty one without a lock is removed, although it may be about to get one: its maker makes
 * another. */
void locked_dir_remove_stale(struct env *env, const char *parent, const char *prefix,
                             unsigned depth);

#endif
