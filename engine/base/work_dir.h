/* The work directory of one process, for spilled data and map outputs: glint-RANDOM in --work-dir,
 * mode 0700, locked (base/locked_dir.h) while the process lives. The next process that starts in
 * the same place removes directories of dead ones. */
#ifndef GLINT_BASE_WORK_DIR_H
#define GLINT_BASE_WORK_DIR_H

#include "engine/base/locked_dir.h"
#include "engine/glint.h"

#include <limits.h>

/* `path` is empty unless the directory is open. */
struct work_dir {
    struct env *env;
    struct locked_dir lock;
    char path[PATH_MAX];
};

/* Creates the directory in `parent` (NULL: $TMPDIR or /tmp), after removing stale ones. Returns 0,
 * or WORK_DIR or SYSTEM with *error set. Blocks on disk. */
int work_dir_open(struct work_dir *w, struct env *env, const char *parent,
                  struct glint_error *error);
/* Removes the directory with all its contents; does nothing if it is not open. */
void work_dir_close(struct work_dir *w);
/* Removes directories of dead processes in `parent`. Any thread; blocks on disk. */
void work_dir_remove_stale(struct env *env, const char *parent);

#endif
