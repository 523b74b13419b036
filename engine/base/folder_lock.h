/* Folders of a running process, and how others tell them from leftovers: the file .lock inside is
 * locked as long as the process lives, by the system, whatever way the process ends.
 *
 * The lock is taken before the file gets its name, so there is no moment at which a folder that
 * is just being made looks like a leftover. A process that dies before that leaves a folder without
 * .lock, which nobody removes: it might be anybody's. */
#ifndef GLINT_BASE_FOLDER_LOCK_H
#define GLINT_BASE_FOLDER_LOCK_H

#include "engine/base/env.h"

#define FOLDER_LOCK_NAME ".lock"

/* Locks a folder that the caller has just made. Answers the open file, to be closed to unlock, or
 * a negative errno; the folder may then hold a file that the caller is to remove with it. */
int folder_lock(struct env *env, const char *folder);
/* Removes folders `parent`/`prefix`* whose lock nobody holds, `depth` levels of folders inside
 * them too. What does not belong to this user, or cannot be removed, is passed over. */
void folder_remove_unlocked(struct env *env, const char *parent, const char *prefix,
                            unsigned depth);

#endif
