/* Input that can be read only once: standard input and FIFOs. Splits are read concurrently, and
 * again when a task is retried, so it is copied to a file first. The file has no name: whatever
 * ends the process, nothing is left. Only the process that made the copy can read it. Driver
 * thread. */
#ifndef GLINT_INPUT_INPUT_SPOOL_H
#define GLINT_INPUT_INPUT_SPOOL_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"

/* The path of standard input. */
#define INPUT_STDIN "-"

struct spooled_input {
    struct spooled_input *next;
    const char *path;   /* as the user named it */
    const char *stored; /* the path of the copy */
    int file;
};

/* The copies of a job. Zeros, and `parent`, are an empty one. */
struct input_spool {
    const char *parent; /* the directory for copies; NULL: $TMPDIR or /tmp */
    struct spooled_input *first;
    struct arena arena;
};

/* Copies `path`, INPUT_STDIN or a FIFO, up to its end, and sets *out; a path that has been copied
 * before gives the same copy. Blocks until its writers close it, or `cancelled` is readable (0: no
 * such descriptor). Returns 0, INPUT_IO, WORK_DIR, SYSTEM, INTERRUPTED or NO_MEMORY. */
int input_spool_copy(struct input_spool *s, struct env *env, const char *path, int cancelled,
                     const struct spooled_input **out, struct glint_error *error);
/* Deletes all copies. */
void input_spool_fini(struct input_spool *s, struct env *env);

#endif
