/* Outputs that appear whole or not at all: written under a hidden name in the same folder, then
 * renamed. */
#ifndef GLINT_JOBS_COMMANDS_ATOMIC_OUTPUT_H
#define GLINT_JOBS_COMMANDS_ATOMIC_OUTPUT_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#include <limits.h>

struct atomic_output {
    char path[PATH_MAX];   /* as the user named it, without slashes at its end */
    char hidden[PATH_MAX]; /* where it is written: .NAME.RANDOM.tmp in the same folder */
};

/* Makes the names; nothing is created. 0 or a code (BAD_VALUE for a path that cannot name an
 * output). */
int atomic_output_init(struct atomic_output *b, struct env *env, const char *path,
                       struct glint_error *error);
/* Moves what was written to its name. 0 or OUTPUT_EXISTS, OUTPUT_IO. */
int atomic_output_publish(const struct atomic_output *b, struct env *env, enum env_rename_mode mode,
                          struct glint_error *error);

/* The same for a directory: atomic_output_init, refuses a path that exists, and creates it under
 * the hidden name. 0 or a code; only after 0 atomic_output_close_dir. */
int atomic_output_open_dir(struct atomic_output *b, struct env *env, const char *path,
                           struct glint_error *error);
/* Publishes the directory if `code` is 0, once the disk has the names in it (its files are the
 * caller's to sync), else removes it with its files. `code`, or the code of what failed here. */
int atomic_output_close_dir(struct atomic_output *b, struct env *env, int code,
                            struct glint_error *error);

#endif
