/* Folders of a running process, and how others tell them from leftovers: the file .lock inside is
 * locked as long as the process lives, by the system, whatever way the process ends.
 *
 * The lock is taken before the file gets its name, and the file is removed last, so that a folder
 * without .lock holds nothing but perhaps .lock.new. It is removed, too; a process that was just
 * making it makes it once more. */
#ifndef GLINT_BASE_FOLDER_LOCK_H
#define GLINT_BASE_FOLDER_LOCK_H

#include "engine/base/env.h"

#define FOLDER_LOCK_NAME ".lock"

/* Makes the folder PREFIX and 16 hex digits, which must not be there, and locks it; the digits are
 * others afterwards if somebody took it for a leftover before it was locked. Answers the open file,
 * to be closed to unlock, or a negative errno, after which nothing is left. */
int folder_make(struct env *env, char *folder, bool only_owner);
/* Removes such a folder with `depth` levels of folders inside it. 0 or a negative errno. */
int folder_remove(struct env *env, const char *folder, unsigned depth);
/* Removes folders of `parent` whose names are `prefix` and 16 hex digits and whose lock nobody
 * holds, `depth` levels of folders inside them too. What does not belong to this user, or cannot be
 * removed, is passed over. */
void folder_remove_unlocked(struct env *env, const char *parent, const char *prefix,
                            unsigned depth);

#endif
