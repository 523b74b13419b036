/* See folder_lock.h. Another user may put anything under such a name into a shared folder, so a
 * folder is removed only for a lock file that is ours, and links are never followed. */
#include "engine/base/folder_lock.h"

#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

int folder_lock(struct env *env, const char *folder)
{
    char unnamed[PATH_MAX], named[PATH_MAX];
    if (!text_format(unnamed, sizeof unnamed, "%s/" FOLDER_LOCK_NAME ".new", folder) ||
        !text_format(named, sizeof named, "%s/" FOLDER_LOCK_NAME, folder))
        return -ENAMETOOLONG;
    int file = env->open(env, unnamed, ENV_CREATE);
    if (file < 0) return file;
    int r = env->lock(env, file);
    if (r == 0) r = env->rename(env, unnamed, named, ENV_RENAME_REPLACE);
    if (r == 0) return file;
    env->close(env, file);
    return r;
}

struct sweep {
    struct env *env;
    const char *parent, *prefix;
    unsigned depth;
};

static int sweep_entry(void *arg, const char *name)
{
    const struct sweep *s = arg;
    struct env *env = s->env;
    char path[PATH_MAX], lock_path[PATH_MAX];
    struct env_stat st;
    if (strncmp(name, s->prefix, strlen(s->prefix)) != 0) return 0;
    if (!text_format(path, sizeof path, "%s/%s", s->parent, name) ||
        !text_format(lock_path, sizeof lock_path, "%s/" FOLDER_LOCK_NAME, path))
        return 0;
    int file =
        env->open(env, lock_path, ENV_READ); /* creates nothing: its owner may be gone by now */
    if (file < 0) return 0;
    if (env->stat_open(env, file, &st) == 0 && st.kind == ENV_FILE && st.mine &&
        env->lock(env, file) == 0)
        env_remove_tree(env, path, s->depth);
    env->close(env, file);
    return 0;
}

void folder_remove_unlocked(struct env *env, const char *parent, const char *prefix, unsigned depth)
{
    assert(prefix[0] != '\0');
    struct sweep s = {env, parent, prefix, depth};
    env->list(env, parent, sweep_entry, &s);
}
