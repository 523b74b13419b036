/* A task for unit tests: with its own spill directory and an env whose n-th call fails. One thread,
 * except the env, which threads that serve the task's files also call. */
#ifndef TESTS_SUPPORT_TEST_TASK_H
#define TESTS_SUPPORT_TEST_TASK_H

#include "engine/records/task.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEST_RUN_MEMORY GIB

struct test_task {
    struct env env; /* must be first: calls cast it */
    struct glint_task task;
    struct task_options options;
    char dir[64];
    atomic_uint_fast64_t calls; /* of open, pread, write and close, so far */
    uint64_t fail_at;           /* this call fails with `error`; 0: none */
    int error;
    atomic_int_fast64_t open_files;
    atomic_uint_fast64_t run_memory;
};

static inline int test_call(struct env *env)
{
    struct test_task *t = (struct test_task *)env;
    return ++t->calls == t->fail_at ? t->error : 0;
}

static inline int test_open(struct env *env, int dir, const char *path, enum env_open_mode mode)
{
    int r = test_call(env);
    if (r == 0) r = env_real()->open(env_real(), dir, path, mode);
    if (r >= 0) ((struct test_task *)env)->open_files++;
    return r;
}

static inline int64_t test_pread(struct env *env, int file, void *out, size_t size, uint64_t offset)
{
    int r = test_call(env);
    return r < 0 ? r : env_real()->pread(env_real(), file, out, size, offset);
}

static inline int64_t test_write(struct env *env, int file, const void *data, size_t size)
{
    int r = test_call(env);
    return r < 0 ? r : env_real()->write(env_real(), file, data, size);
}

/* A failing close still closes the file. */
static inline int test_close(struct env *env, int file)
{
    int r = test_call(env);
    ((struct test_task *)env)->open_files--;
    int real = env_real()->close(env_real(), file);
    return r < 0 ? r : real;
}

static inline void test_task_init(struct test_task *t, uint64_t memory_bytes)
{
    *t = (struct test_task){.env = *env_real(), .error = -EIO};
    t->env.open = test_open;
    t->env.pread = test_pread;
    t->env.write = test_write;
    t->env.close = test_close;
    const char *parent = getenv("TMPDIR");
    snprintf(t->dir, sizeof t->dir, "%.40s/glint-test-XXXXXX",
             parent != NULL && strlen(parent) <= 40 ? parent : "/tmp");
    if (mkdtemp(t->dir) == NULL) abort();
    t->options = (struct task_options){.memory_bytes = memory_bytes, .work_dir = t->dir};
    t->task = (struct glint_task){
        .env = &t->env, .options = &t->options, .attempt_id = 1, .table_seed = 0x5eed};
    t->run_memory = TEST_RUN_MEMORY;
    t->task.run_memory = &t->run_memory;
}

/* Returns true if no file is left, open or in the directory, and runs have released
 * their memory. */
static inline bool test_task_fini(struct test_task *t)
{
    arena_fini(&t->task.arena);
    return rmdir(t->dir) == 0 && t->run_memory == TEST_RUN_MEMORY && t->open_files == 0;
}

/* A pseudo-random number, the same in every run. */
static inline uint64_t test_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
