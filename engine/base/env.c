/* What every env has in common: whole reads and writes, and removing a tree. */
#include "engine/base/env.h"

#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

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

struct remove_context {
    struct env *env;
    const char *path;
    unsigned depth;
};

static int remove_entry(void *arg, const char *name)
{
    const struct remove_context *c = arg;
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s/%s", c->path, name)) return -ENAMETOOLONG;
    int r = c->env->remove_file(c->env, path);
    if (r == -EISDIR && c->depth > 0) r = env_remove_tree(c->env, path, c->depth - 1);
    return r == -ENOENT ? 0 : r;
}

/* Removing as a file comes first: it tells a folder from a link to one, which must not be entered.
 */
int env_remove_tree(struct env *env, const char *path, unsigned depth)
{
    struct remove_context c = {env, path, depth};
    int r = env->remove_file(env, path);
    if (r == -EISDIR) {
        int emptied = env->list(env, path, remove_entry, &c);
        r = env->remove_folder(env, path); /* also if it cannot be listed: it may be empty */
        if (r != 0 && emptied != 0) r = emptied;
    }
    return r == -ENOENT ? 0 : r;
}
