/* An env with one file in memory, for tests and fuzzers of readers. Any call of a reader can fail,
 * or see that the file has changed. One thread. */
#ifndef TESTS_SUPPORT_MEMORY_ENV_H
#define TESTS_SUPPORT_MEMORY_ENV_H

#include "engine/base/env.h"

#include <errno.h>
#include <string.h>

struct memory_env {
    struct env env; /* must be first: calls cast it */
    const uint8_t *data;
    uint64_t size;
    int64_t mtime_ns;
    uint64_t read_max; /* bytes per pread; 0: no limit */
    uint64_t calls;    /* so far */
    uint64_t fail_at;  /* this call fails with `error`; 0: none */
    int error;
    uint64_t change_at; /* from this call on the file has a different mtime; 0: never */
    int64_t open_files;
};

/* Counts a call. Returns 0, or the error that it must return. */
static inline int memory_env_call(struct env *env)
{
    struct memory_env *m = (struct memory_env *)env;
    m->calls++;
    if (m->change_at != 0 && m->calls == m->change_at) m->mtime_ns++;
    return m->calls == m->fail_at ? m->error : 0;
}

static inline int memory_env_open(struct env *env, int dir, const char *path,
                                  enum env_open_mode mode)
{
    (void)dir;
    (void)path;
    (void)mode;
    int r = memory_env_call(env);
    if (r == 0) ((struct memory_env *)env)->open_files++;
    return r < 0 ? r : 3;
}

static inline int64_t memory_env_pread(struct env *env, int file, void *out, size_t size,
                                       uint64_t offset)
{
    (void)file;
    const struct memory_env *m = (struct memory_env *)env;
    int r = memory_env_call(env);
    if (r < 0) return r;
    if (offset >= m->size) return 0;
    if (size > m->size - offset) size = m->size - offset;
    if (m->read_max > 0 && size > m->read_max) size = m->read_max;
    memcpy(out, m->data + offset, size);
    return (int64_t)size;
}

static inline int memory_env_close(struct env *env, int file)
{
    (void)file;
    ((struct memory_env *)env)->open_files--;
    return 0;
}

static inline int memory_env_stat_open(struct env *env, int file, struct env_stat *out)
{
    (void)file;
    const struct memory_env *m = (struct memory_env *)env;
    int r = memory_env_call(env);
    *out =
        (struct env_stat){.kind = ENV_FILE, .size = m->size, .mtime_ns = m->mtime_ns, .mine = true};
    return r;
}

static inline int memory_env_stat(struct env *env, const char *path, struct env_stat *out)
{
    (void)path;
    return memory_env_stat_open(env, 3, out);
}

static inline void memory_env_init(struct memory_env *m, const void *data, uint64_t size)
{
    *m = (struct memory_env){.env = {.open = memory_env_open,
                                     .pread = memory_env_pread,
                                     .close = memory_env_close,
                                     .stat_open = memory_env_stat_open,
                                     .stat = memory_env_stat},
                             .data = (const uint8_t *)data,
                             .size = size,
                             .error = -EIO};
}

#endif
