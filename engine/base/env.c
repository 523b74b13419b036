/* Functions on top of any env: whole reads and writes, listing by path, removing a tree. */
#include "engine/base/env.h"

#include "engine/base/path.h"
#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

int64_t env_read_full(struct env *env, int file, void *out, uint64_t size, uint64_t offset)
{
    assert(size <= INT64_MAX);
    uint64_t done = 0;
    while (done < size) {
        int64_t n = env->pread(env, file, (uint8_t *)out + done, size - done, offset + done);
        if (n < 0) return n;
        assert((uint64_t)n <= size - done);
        if (n == 0) break;
        done += (uint64_t)n;
    }
    return (int64_t)done;
}

int env_sync_dir(struct env *env, int dir)
{
    int r = env->sync_dir(env, dir);
    return r == -EINVAL || r == -EOPNOTSUPP ? 0 : r;
}

bool env_read_text(struct env *env, const char *path, char *out, uint64_t capacity)
{
    int file = env->open(env, ENV_CWD, path, ENV_READ);
    int64_t n = file >= 0 ? env_read_full(env, file, out, capacity - 1, 0) : 0;
    if (file >= 0) env->close(env, file);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

int env_write_all(struct env *env, int file, const void *data, uint64_t size)
{
    uint64_t done = 0;
    while (done < size) {
        int64_t n = env->write(env, file, (const uint8_t *)data + done, size - done);
        if (n < 0) return (int)n;
        if (n == 0) return -EIO;
        assert((uint64_t)n <= size - done);
        done += (uint64_t)n;
    }
    return 0;
}

int env_make_parents(struct env *env, char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = env->make_dir(env, ENV_CWD, path, true);
        *slash = '/';
        if (r != 0 && r != -EEXIST) return r;
    }
    return 0;
}

int env_list_dir(struct env *env, const char *path, int (*entry)(void *arg, const char *name),
                 void *arg)
{
    int dir = env->open(env, ENV_CWD, path, ENV_DIR);
    if (dir < 0) return dir;
    int r = env->list(env, dir, entry, arg);
    env->close(env, dir);
    return r;
}

bool env_is_same_file(const struct env_stat *a, const struct env_stat *b)
{
    return a->device == b->device && a->inode == b->inode;
}

/* Goes up by .. and not by the path's components, which may be symlinks. */
bool env_path_is_within(struct env *env, const char *path, const struct env_stat *outer)
{
    char at[PATH_MAX];
    struct env_stat here, above;
    bool known = text_format(at, sizeof at, "%s", path) && env->stat(env, at, &here) == 0;
    while (known && !env_is_same_file(&here, outer)) {
        size_t used = strlen(at);
        known = text_format(at + used, sizeof at - used, "/..") &&
                env->stat(env, at, &above) == 0 && !env_is_same_file(&here, &above);
        here = above;
    }
    return known;
}

bool env_paths_are_same(struct env *env, const char *a, const char *b)
{
    char directory_a[PATH_MAX], directory_b[PATH_MAX], name_a[PATH_MAX], name_b[PATH_MAX];
    struct env_stat above_a, above_b;
    return path_split(a, directory_a, name_a, PATH_MAX) &&
           path_split(b, directory_b, name_b, PATH_MAX) && strcmp(name_a, name_b) == 0 &&
           (strcmp(directory_a, directory_b) == 0 ||
            (env->stat(env, directory_a, &above_a) == 0 &&
             env->stat(env, directory_b, &above_b) == 0 && env_is_same_file(&above_a, &above_b)));
}

struct remove_context {
    struct env *env;
    int dir;
    unsigned depth;
};

static int remove_dir_entry(void *arg, const char *name)
{
    const struct remove_context *c = arg;
    if (c->depth > 0) return env_remove_tree(c->env, c->dir, name, c->depth - 1);
    int r = c->env->remove(c->env, c->dir, name, false);
    return r == -ENOENT ? 0 : r;
}

static int remove_directory(struct env *env, int dir, const char *name, unsigned depth)
{
    struct remove_context c = {env, env->open(env, dir, name, ENV_DIR_NOFOLLOW), depth};
    int emptied = c.dir < 0 ? c.dir : env->list(env, c.dir, remove_dir_entry, &c);
    if (c.dir >= 0) env->close(env, c.dir);
    int r = env->remove(env, dir, name, true); /* even if listing failed: it may be empty */
    return r != 0 && emptied != 0 ? emptied : r;
}

/* Tries to remove it as a file first: this distinguishes a directory from a symlink to one, which
 * must not be entered. */
int env_remove_tree(struct env *env, int dir, const char *name, unsigned depth)
{
    int r = env->remove(env, dir, name, false);
    if (r == -EISDIR) r = remove_directory(env, dir, name, depth);
    return r == -ENOENT ? 0 : r;
}
