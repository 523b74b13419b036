/* One check for all files that are believed, before a byte of them is read or written. What another
 * user could have written, or could read where it is a secret, is refused with the command that
 * makes it right. */
#ifndef GLINT_BASE_FILE_CHECK_H
#define GLINT_BASE_FILE_CHECK_H

#include "engine/base/env.h"
#include "engine/base/error.h"

enum file_use {
    FILE_CONFIG, /* it names programs that are run: of this user or root, written by them alone */
    FILE_SECRET, /* the same, and read by them alone, but for the group of a file of root's */
    FILE_LOG,    /* appended to; made with mode 0600 if it is not there. This user's, of one name */
};

/* Opens a regular file for its use; a FIFO is not waited for. A log is no link. For the others each
 * link on the way, the path's own directories included, must belong to this user or root: those
 * that are checked are those that are followed, even if the path changes meanwhile.
 *
 * The open file, or a negative errno with *error set to `code` (-EPERM: refused). */
int file_open_checked(struct env *env, const char *path, enum file_use use, enum glint_code code,
                      struct env_stat *out_stat, struct glint_error *error);

#endif
