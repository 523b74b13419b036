/* Where the bytes of an input are: in a file, or at a URL (engine/remote/). Everything that reads
 * input reads it here. One thread. */
#ifndef GLINT_INPUT_INPUT_SOURCE_H
#define GLINT_INPUT_INPUT_SOURCE_H

#include "engine/base/env.h"
#include "engine/base/error.h"

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

/* Opens `stored`, or `path` if it is NULL; both are borrowed while open. `remote`: it is a URL, and
 * the object must be this one; NULL: a file. Bytes before `end` will be read, at first. `s` may be
 * uninitialized; call input_source_close in any case. Returns 0 or a code with *error set. */
int input_source_open(struct input_source *s, struct env *env, const char *path, const char *stored,
                      const struct remote_identity *remote, uint64_t end,
                      struct glint_error *error);
/* The same with a reader of an object, which is destroyed at the end. */
void input_source_adopt(struct input_source *s, struct env *env, const char *path,
                        struct remote_reader *reader);
/* Reads up to `size` > 0 bytes at `offset` and returns their number, 0 only at the end, or a code
 * with *error set. */
int64_t input_source_read_some(const struct input_source *s, void *out, uint64_t size,
                               uint64_t offset, struct glint_error *error);
/* As read_some, but fewer than `size` only at the end. */
int64_t input_source_read(const struct input_source *s, void *out, uint64_t size, uint64_t offset,
                          struct glint_error *error);
/* Zeros, a failed open and a second call are fine. */
void input_source_close(struct input_source *s);

#endif
