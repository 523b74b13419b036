/* What --overwrite replaces: an empty directory, or one that holds what a glint job writes and
 * nothing else. All else is refused before the job runs, and again when it is about to go.
 *
 * Driver thread only. */
#ifndef GLINT_DRIVER_OLD_OUTPUT_H
#define GLINT_DRIVER_OLD_OUTPUT_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#define OLD_OUTPUT_SUCCESS "_SUCCESS"

/* May the directory `name` in `dir` be replaced? `shown` is its path for messages. 0, or
 * OUTPUT_EXISTS or OUTPUT_CREATE: *error says what it is, or which of its files is not glint's. */
int old_output_check_replaceable(struct env *env, int dir, const char *name, const char *shown,
                                 struct glint_error *error);
/* Removes it, file by file: what no glint job writes stays, and the directory with it. 0 or a
 * negative errno, the first one. */
int old_output_remove(struct env *env, int dir, const char *name);
/* Is this the name of a file that a job writes into its output? */
bool old_output_is_job_file(const char *name);

#endif
