/* Where the bytes of an input are: in a file, or at a URL (engine/remote/). Everything that reads
 * input reads it here. One thread. */
#ifndef GLINT_INPUT_INPUT_SOURCE_H
#define GLINT_INPUT_INPUT_SOURCE_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"

struct remote_identity;
struct remote_reader;

struct input_source {
    struct env *env;
    const char *path; /* as messages name it */
    int file;         /* with remote == NULL */
    uint64_t size;    /* as the caller knows it, for messages; 0: unknown */
    struct remote_reader *remote;
    bool open;
};

/* Returns the code for a system call on an input file that failed with `error`, a negative
 * errno. */
enum glint_code input_error_code(int error);
/* Opens `stored`, or `path` if it is NULL; both are borrowed while open. `remote`: it is a URL, and
 * the object must be this one; NULL: a file. Bytes before `end` will be read, at first;
 * `cancelled` ends waits for the server (0: none). `s` may be uninitialized; call
 * input_source_close in any case. Returns 0 or a code with *error set. */
int input_source_open(struct input_source *s, struct env *env, const char *path, const char *stored,
                      const struct remote_identity *remote, uint64_t end, int cancelled,
                      struct glint_error *error);
/* The same with a reader of an object, which is destroyed at the end. */
void input_source_adopt(struct input_source *s, struct env *env, const char *path,
                        struct remote_reader *reader);
/* Reads `size` > 0 bytes at `offset`, fewer only at the end, and returns their number, or a code
 * with *error set. */
int64_t input_source_read(const struct input_source *s, void *out, uint64_t size, uint64_t offset,
                          struct glint_error *error);
/* Zeros, a failed open and a second call are fine. */
void input_source_close(struct input_source *s);

/* Input that can be read only once: standard input and FIFOs. Splits are read concurrently, and
 * again when a task is retried, so it is copied to a file first. The file has no name: whatever
 * ends the process, nothing is left. Only the process that made the copy can read it. Driver
 * thread. */

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
