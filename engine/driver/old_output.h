/* What --overwrite may replace: an empty directory, or one that contains only what a glint job
 * writes. Everything else is rejected before the job runs, and again when it is replaced, so that a
 * mistyped path never deletes the user's files.
 *
 * Driver thread only. */
#ifndef GLINT_DRIVER_OLD_OUTPUT_H
#define GLINT_DRIVER_OLD_OUTPUT_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#define OLD_OUTPUT_SUCCESS "_SUCCESS"

/* Checks whether the directory `name` in `dir` may be replaced. `shown` is its path for messages.
 * Returns 0; OUTPUT_EXISTS if it is a link, is or contains the current directory, contains a file
 * that is not glint's, or parts without _SUCCESS; OUTPUT_CREATE if it cannot be read. */
int old_output_check_replaceable(struct env *env, int dir, const char *name, const char *shown,
                                 struct glint_error *error);
/* Removes it file by file. A file that no glint job writes is kept, and so is the directory then.
 * Returns 0 or the first negative errno. */
int old_output_remove(struct env *env, int dir, const char *name);
/* Whether a job writes files of this name into its output. */
bool old_output_is_job_file(const char *name);

#endif
