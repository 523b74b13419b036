/* See folder_lock.h. Another user may put anything under such a name into a shared folder, so a
 * folder is removed only for a lock file that is ours, and links are never followed. */
#include "engine/base/folder_lock.h"

#include "engine/base/leftovers.h"
#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define UNNAMED     FOLDER_LOCK_NAME ".new"
#define MAKE_TRIES  8
#define NAME_DIGITS 16

/* The open file. -ENOENT and -EWOULDBLOCK may mean that somebody took the folder for a leftover. */
static int lock_folder(struct env *env, const char *folder)
{
    char unnamed[PATH_MAX], named[PATH_MAX];
    if (!text_format(unnamed, sizeof unnamed, "%s/" UNNAMED, folder) ||
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

/* Other digits at the end: whoever sweeps may still be at the folder that has the old ones. */
static void rename_digits(char *folder)
{
    size_t size = strlen(folder);
    assert(size > NAME_DIGITS);
    char *digits = folder + size - NAME_DIGITS;
    uint64_t number = strtoull(digits, NULL, 16) + UINT64_C(0x9e3779b97f4a7c15);
    text_format(digits, NAME_DIGITS + 1, "%016llx", (unsigned long long)number);
}

int folder_make(struct env *env, char *folder, bool only_owner)
{
    int file = -EWOULDBLOCK;
    for (int i = 0; i < MAKE_TRIES && (file == -EWOULDBLOCK || file == -ENOENT); i++) {
        if (i > 0) rename_digits(folder);
        int r = env->make_folder(env, folder, only_owner);
        if (r != 0) return r;
        file = lock_folder(env, folder);
        if (file < 0) env_remove_tree(env, folder, 0);
    }
    if (file >= 0 && env == env_real()) leftovers_add(folder);
    return file;
}

struct removal {
    struct env *env;
    const char *folder;
    unsigned depth;
};

static int remove_but_lock(void *arg, const char *name)
{
    const struct removal *c = arg;
    char path[PATH_MAX];
    if (strcmp(name, FOLDER_LOCK_NAME) == 0) return 0;
    if (!text_format(path, sizeof path, "%s/%s", c->folder, name)) return -ENAMETOOLONG;
    return env_remove_tree(c->env, path, c->depth);
}

int folder_remove(struct env *env, const char *folder, unsigned depth)
{
    assert(depth > 0);
    struct removal c = {env, folder, depth - 1};
    int r = env->list(env, folder, remove_but_lock, &c);
    if (r == 0) r = env_remove_tree(env, folder, 0);
    leftovers_drop(folder);
    return r;
}

struct sweep {
    struct env *env;
    const char *parent, *prefix;
    unsigned depth;
};

/* A file of ours that nobody holds: answers it locked. Creates nothing: its owner may be gone by
 * now.
 */
static int take_lock(struct env *env, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct env_stat st;
    if (!text_format(path, sizeof path, "%s/%s", folder, name)) return -ENAMETOOLONG;
    int file = env->open(env, path, ENV_OWN);
    if (file < 0) return file;
    int r = env->stat_open(env, file, &st);
    if (r == 0 && (st.kind != ENV_FILE || !st.mine)) r = -EPERM;
    if (r == 0) r = env->lock(env, file);
    if (r == 0) return file;
    env->close(env, file);
    return r;
}

static bool is_name_of_ours(const char *name, const char *prefix)
{
    if (strncmp(name, prefix, strlen(prefix)) != 0) return false;
    const char *digits = name + strlen(prefix);
    return strlen(digits) == NAME_DIGITS && strspn(digits, "0123456789abcdef") == NAME_DIGITS;
}

static int sweep_entry(void *arg, const char *name)
{
    const struct sweep *s = arg;
    struct env *env = s->env;
    char path[PATH_MAX];
    if (!is_name_of_ours(name, s->prefix)) return 0;
    if (!text_format(path, sizeof path, "%s/%s", s->parent, name)) return 0;
    int file = take_lock(env, path, FOLDER_LOCK_NAME);
    if (file == -ENOENT) {
        file = take_lock(env, path, UNNAMED);
        if (file == -ENOENT) env->remove_folder(env, path); /* if it is empty */
    }
    if (file < 0) return 0;
    folder_remove(env, path, s->depth);
    env->close(env, file);
    return 0;
}

void folder_remove_unlocked(struct env *env, const char *parent, const char *prefix, unsigned depth)
{
    assert(prefix[0] != '\0' && depth > 0);
    struct sweep s = {env, parent, prefix, depth};
    env->list(env, parent, sweep_entry, &s);
}
