/* Each function of the env checks one shared counter, then calls env_real(). */
#include "tests/support/faults.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

enum { SHORT_BYTES = 7 };

static enum fault_mode fault_mode;
static int fault_error;
static atomic_int_fast64_t countdown;
static _Atomic(const char *) first_failed;

void faults_set(enum fault_mode mode, int64_t n, int error)
{
    assert(error < 0 && n > 0);
    fault_mode = mode;
    fault_error = error;
    atomic_store(&countdown, n);
    atomic_store(&first_failed, NULL);
}

const char *faults_failed(void)
{
    return atomic_load(&first_failed);
}

static bool must_fail(const char *call)
{
    if (fault_mode != FAULT_ONCE && fault_mode != FAULT_FROM_THEN_ON) return false;
    int64_t left = atomic_fetch_sub(&countdown, 1);
    if (left > 1 || (left < 1 && fault_mode == FAULT_ONCE)) return false;
    const char *none = NULL;
    atomic_compare_exchange_strong(&first_failed, &none, call);
    return true;
}

static uint64_t now_ns(struct env *env)
{
    (void)env;
    return env_real()->now_ns(env_real());
}

static int64_t wall_ns(struct env *env)
{
    (void)env;
    return env_real()->wall_ns(env_real());
}

static void fault_node(struct env *env, struct env_node *out)
{
    (void)env;
    env_real()->node(env_real(), out);
}

static int fault_random(struct env *env, void *out, size_t size)
{
    (void)env;
    return must_fail("random") ? fault_error : env_real()->random(env_real(), out, size);
}

/* Directories are opened only to list them. Removal needs that too, so it fails only
 * in FAULT_ONCE. */
static bool list_must_fail(void)
{
    return fault_mode == FAULT_ONCE && must_fail("list");
}

static int fault_open(struct env *env, int dir, const char *name, enum env_open_mode mode)
{
    (void)env;
    bool directory = mode == ENV_DIR || mode == ENV_DIR_NOFOLLOW;
    if (directory ? list_must_fail() : must_fail("open")) return fault_error;
    return env_real()->open(env_real(), dir, name, mode);
}

static size_t at_most(size_t size)
{
    return fault_mode == FAULT_SHORT && size > SHORT_BYTES ? SHORT_BYTES : size;
}

static int64_t fault_pread(struct env *env, int file, void *out, size_t size, uint64_t offset)
{
    (void)env;
    if (must_fail("pread")) return fault_error;
    return env_real()->pread(env_real(), file, out, at_most(size), offset);
}

static int64_t fault_write(struct env *env, int file, const void *data, size_t size)
{
    (void)env;
    if (must_fail("write")) return fault_error;
    return env_real()->write(env_real(), file, data, at_most(size));
}

/* A failing close still closes the file, as on Linux. */
static int fault_close(struct env *env, int file)
{
    (void)env;
    int closed = env_real()->close(env_real(), file);
    return must_fail("close") ? fault_error : closed;
}

static int fault_sync_file(struct env *env, int file)
{
    (void)env;
    return must_fail("sync_file") ? fault_error : env_real()->sync_file(env_real(), file);
}

static int fault_sync_dir(struct env *env, int dir)
{
    (void)env;
    return must_fail("sync_dir") ? fault_error : env_real()->sync_dir(env_real(), dir);
}

static int fault_stat_open(struct env *env, int file, struct env_stat *out)
{
    (void)env;
    return must_fail("stat_open") ? fault_error : env_real()->stat_open(env_real(), file, out);
}

static int fault_stat(struct env *env, const char *path, struct env_stat *out)
{
    (void)env;
    return must_fail("stat") ? fault_error : env_real()->stat(env_real(), path, out);
}

static int fault_read_link(struct env *env, int dir, const char *name, char *out, size_t capacity,
                           struct env_stat *out_stat)
{
    (void)env;
    if (must_fail("read_link")) return fault_error;
    return env_real()->read_link(env_real(), dir, name, out, capacity, out_stat);
}

static int fault_stat_name(struct env *env, int dir, const char *name, struct env_stat *out)
{
    (void)env;
    if (must_fail("stat_name")) return fault_error;
    return env_real()->stat_name(env_real(), dir, name, out);
}

static int fault_make_dir(struct env *env, int dir, const char *name, bool only_owner)
{
    (void)env;
    if (must_fail("make_dir")) return fault_error;
    return env_real()->make_dir(env_real(), dir, name, only_owner);
}

static int fault_remove(struct env *env, int dir, const char *name, bool is_dir)
{
    (void)env;
    return env_real()->remove(env_real(), dir, name, is_dir);
}

static int fault_rename(struct env *env, int from_dir, const char *from, int to_dir, const char *to,
                        enum env_rename_mode mode)
{
    (void)env;
    if (must_fail("rename")) return fault_error;
    return env_real()->rename(env_real(), from_dir, from, to_dir, to, mode);
}

static int fault_list(struct env *env, int dir, int (*entry)(void *arg, const char *name),
                      void *arg)
{
    (void)env;
    return list_must_fail() ? fault_error : env_real()->list(env_real(), dir, entry, arg);
}

static int fault_lock(struct env *env, int file)
{
    (void)env;
    return must_fail("lock") ? fault_error : env_real()->lock(env_real(), file);
}

static int fault_lock_shared(struct env *env, int file)
{
    (void)env;
    return must_fail("lock") ? fault_error : env_real()->lock_shared(env_real(), file);
}

static int fault_spawn(struct env *env, const char *path, char *const *words,
                       char *const *variables, struct env_child *out)
{
    (void)env;
    if (must_fail("spawn")) return fault_error;
    return env_real()->spawn(env_real(), path, words, variables, out);
}

/* Never fails, as removal: a test can then check that no process is left. */
static int fault_reap(struct env *env, int pid)
{
    (void)env;
    return env_real()->reap(env_real(), pid);
}

static int64_t fault_read(struct env *env, int file, void *out, size_t size)
{
    (void)env;
    if (must_fail("read")) return fault_error;
    return env_real()->read(env_real(), file, out, at_most(size));
}

static int fault_poll(struct env *env, struct pollfd *files, uint32_t count, int timeout_ms)
{
    (void)env;
    if (must_fail("poll")) return fault_error;
    return env_real()->poll(env_real(), files, count, timeout_ms);
}

static int fault_send_datagram(struct env *env, const char *socket, const char *text)
{
    (void)env;
    if (must_fail("send_datagram")) return fault_error;
    return env_real()->send_datagram(env_real(), socket, text);
}

struct env *faults_env(void)
{
    static struct env env = {
        .now_ns = now_ns,
        .wall_ns = wall_ns,
        .random = fault_random,
        .node = fault_node,
        .open = fault_open,
        .pread = fault_pread,
        .write = fault_write,
        .close = fault_close,
        .sync_file = fault_sync_file,
        .sync_dir = fault_sync_dir,
        .stat_open = fault_stat_open,
        .stat = fault_stat,
        .read_link = fault_read_link,
        .stat_name = fault_stat_name,
        .make_dir = fault_make_dir,
        .remove = fault_remove,
        .rename = fault_rename,
        .list = fault_list,
        .lock = fault_lock,
        .lock_shared = fault_lock_shared,
        .spawn = fault_spawn,
        .reap = fault_reap,
        .read = fault_read,
        .poll = fault_poll,
        .send_datagram = fault_send_datagram,
    };
    return &env;
}
