/* The folder of one run for what does not fit into memory: glint-RANDOM in --work-dir, mode 0700,
 * locked (base/locked_dir.h) while the run lives. What dead runs left is removed by the next one.
 */
#ifndef GLINT_EXECUTOR_WORK_DIR_H
#define GLINT_EXECUTOR_WORK_DIR_H

#include "engine/base/locked_dir.h"
#include "engine/glint.h"

#include <limits.h>

struct work_dir {
    struct env *env;
    struct locked_dir lock;
    char path[PATH_MAX]; /* "": not open */
};

/* `parent` NULL: $TMPDIR or /tmp. 0, or WORK_DIR with *error set. */
int work_dir_open(struct work_dir *w, struct env *env, const char *parent,
                  struct glint_error *error);
void work_dir_close(struct work_dir *w);
/* Removes what dead runs left in `parent`; any thread. */
void work_dir_remove_stale(struct env *env, const char *parent);

#endif
