/* Programs of other builds that this daemon has fetched from drivers: files named by their SHA-256
 * in a private directory, $XDG_CACHE_HOME/glint/programs (~/.cache if unset), mode 0700, shared by
 * the daemons of one user. It keeps PROGRAM_CACHE_FILES files of PROGRAM_CACHE_BYTES at most; those
 * used longest ago are removed first, but none that is in use: a file in use has a shared
 * lock. Loop thread; blocks on disk. */
#ifndef GLINT_NODE_PROGRAM_CACHE_H
#define GLINT_NODE_PROGRAM_CACHE_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/net/wire.h"

#include <limits.h>

#define PROGRAM_CACHE_FILES 8u
#define PROGRAM_CACHE_BYTES (1 * GIB)

/* A file of the cache that is in use, or is being written. */
struct program_file {
    int file; /* open and locked; -1: none */
    char path[PATH_MAX];
    bool temporary; /* being written: removed by program_file_close */
};
#define PROGRAM_FILE_NONE ((struct program_file){.file = -1})

/* Opens a cached program and marks it as used now. Returns 0; GLINT_OK with out->file -1 if it is
 * not cached; or WORK_DIR with *error set. */
int program_cache_open(struct env *env, const struct program_info *program,
                       struct program_file *out, struct glint_error *error);
/* Makes room, and creates a temporary file for a program. Returns 0, or WORK_DIR, OUTPUT_FULL or
 * SYSTEM with *error set. */
int program_cache_create(struct env *env, const struct program_info *program,
                         struct program_file *out, struct glint_error *error);
/* Gives a complete and verified file its name. Returns 0 or a code with *error set. */
int program_cache_publish(struct env *env, const struct program_info *program,
                          struct program_file *f, struct glint_error *error);
/* Removes a damaged file. */
void program_cache_remove(struct env *env, struct program_file *f);
/* Ends the use of a file. */
void program_file_close(struct env *env, struct program_file *f);

#endif
