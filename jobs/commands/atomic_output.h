/* Outputs that are created atomically: written under a hidden name in the same directory, then
 * renamed. */
#ifndef GLINT_JOBS_COMMANDS_ATOMIC_OUTPUT_H
#define GLINT_JOBS_COMMANDS_ATOMIC_OUTPUT_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#include <limits.h>

struct atomic_output {
    char path[PATH_MAX];   /* as given by the user, without trailing slashes */
    char hidden[PATH_MAX]; /* where it is written: .NAME.RANDOM.tmp in the same directory */
};

/* Computes the names; creates nothing. Returns 0 or a code (BAD_VALUE if the path is not a valid
 * output name). */
int atomic_output_init(struct atomic_output *b, struct env *env, const char *path,
                       struct glint_error *error);
/* Renames what was written to its final name. Returns 0, or OUTPUT_EXISTS or OUTPUT_IO. */
int atomic_output_publish(const struct atomic_output *b, struct env *env, enum env_rename_mode mode,
                          struct glint_error *error);

/* The same for a directory: calls atomic_output_init, rejects a path that exists, and creates the
 * directory under the hidden name. Returns 0 or a code; call atomic_output_commit_or_remove_dir
 * only after 0.
 */
int atomic_output_open_dir(struct atomic_output *b, struct env *env, const char *path,
                           struct glint_error *error);
/* If `code` is 0, syncs and publishes the directory (the caller syncs its files), else removes it
 * with its files. Returns `code`, or the code of a failure here. */
int atomic_output_commit_or_remove_dir(struct atomic_output *b, struct env *env, int code,
                                       struct glint_error *error);

/* Creates the file `name` in the directory, whose path is then in `path`, of PATH_MAX bytes.
 * Returns it, or -1 with *error set. */
int atomic_output_open_file(const struct atomic_output *b, struct env *env, const char *name,
                            char *path, struct glint_error *error);
/* Closes a file, synced if `code` is 0. Returns `code`, or the code of a failure here. */
int atomic_output_sync_and_close_file(struct env *env, int file, int code, const char *path,
                                      struct glint_error *error);

#endif
