/* Opens files that are trusted, after checking their permissions. A file that another user could
 * have written, or a secret that another user could read, is rejected with a hint that has the
 * command to fix it. */
#ifndef GLINT_BASE_FILE_CHECK_H
#define GLINT_BASE_FILE_CHECK_H

#include "engine/base/env.h"
#include "engine/base/error.h"

/* What the file is trusted for, and so who may own, read and write it. */
enum file_use {
    FILE_CONFIG, /* names programs to run: owned by this user or root, writable only by its owner */
    FILE_SECRET, /* like CONFIG, and readable only by its owner (if root: also by its group) */
    FILE_KEY,    /* like SECRET: a private key that another program made */
    /* For appending, created with mode 0600: owned by this user, no second hard link. */
    FILE_LOG,
};

/* Opens a regular file for its use; never blocks on a FIFO. A log must not be a symlink. For the
 * other uses, each symlink on the path, directories included, must belong to this user or root. The
 * links that are checked are the ones that are followed, even if the path changes meanwhile.
 *
 * Returns the open file, or a negative errno with *error set to `code` (-EPERM: rejected). */
int file_open_checked(struct env *env, const char *path, enum file_use use, enum glint_code code,
                      struct env_stat *out_stat, struct glint_error *error);

#endif
