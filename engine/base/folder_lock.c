/* See folder_lock.h. Another user may put anything under such a name into a shared folder, and
 * replace it at any moment: so it is opened once, without following a link, and must be ours; all
 * else goes through that descriptor. */
#include "engine/base/folder_lock.h"

#include "engine/base/leftovers.h"
#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAKE_TRIES       64 /* others may sweep in a loop, and each time just then */
#define NAME_DIGITS      16
#define HOLDER_BYTES_MAX 256

/* ---- Who holds it: three lines, host, boot id, and seconds since 1970 */

/* On a full disk the folder may still do, so this may fail: the holder is then unknown. */
static void write_holder(struct env *env, int file)
{
    char text[HOLDER_BYTES_MAX];
    struct env_node here;
    env->node(env, &here);
    if (text_format(text, sizeof text, "%s\n%s\n%lld\n", here.host, here.boot,
                    (long long)(env->wall_ns(env) / 1000000000)))
        env_write_all(env, file, text, strlen(text));
}

/* Cuts `text` behind its first line, and returns the second; NULL: there is none. */
static char *cut_line(char *text)
{
    char *end = text != NULL ? strchr(text, '\n') : NULL;
    if (end == NULL) return NULL;
    *end = '\0';
    return end + 1;
}

static bool is_young(struct env *env, int64_t since_s)
{
    return since_s > (env->wall_ns(env) - (int64_t)FOLDER_FOREIGN_NS) / 1000000000;
}

/* May a process of another node hold it, although no process of this node does? A
 * host's processes do not outlive a reboot, so either name is enough. */
static bool is_held_elsewhere(struct env *env, int file, const struct env_stat *stat)
{
    char text[HOLDER_BYTES_MAX] = "";
    struct env_node here;
    int64_t start_s = 0;
    env->node(env, &here);
    if (env_read_full(env, file, text, sizeof text - 1, 0) < 0) return true;
    char *boot = cut_line(text), *start = cut_line(boot), *end = cut_line(start);
    if (end != NULL && strcmp(text, here.host) == 0) return false;
    if (end != NULL && here.boot[0] != '\0' && strcmp(boot, here.boot) == 0) return false;
    bool dated = end != NULL && text_parse_i64((const uint8_t *)start, strlen(start), &start_s);
    return is_young(env, stat->mtime_ns / 1000000000) || (dated && is_young(env, start_s));
}

/* ---- Making one */

static int refuse_entry(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return -EEXIST;
}

/* The folder that was just made: ours, and empty, or it is another one by now. */
static int open_new(struct env *env, const char *folder)
{
    struct env_stat stat;
    int dir = env->open(env, ENV_CWD, folder, ENV_DIR_OWN);
    if (dir < 0) return dir;
    int r = env->stat_open(env, dir, &stat);
    if (r == 0 && !stat.mine) r = -EPERM;
    if (r == 0) r = env->list(env, dir, refuse_entry, NULL);
    if (r == 0) return dir;
    env->close(env, dir);
    return r;
}

/* -ESTALE, -ENOENT and -EWOULDBLOCK: another process took it for a leftover. */
static int lock_new(struct env *env, struct folder_lock *lock)
{
    struct env_stat stat;
    lock->file = env->open(env, lock->dir, FOLDER_LOCK_NAME, ENV_CREATE);
    if (lock->file < 0) return lock->file;
    int r = env->lock(env, lock->file);
    if (r == 0) r = env->stat_open(env, lock->file, &stat);
    if (r == 0 && stat.links == 0) r = -ESTALE;
    if (r == 0) write_holder(env, lock->file);
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

int folder_make(struct env *env, char *folder, bool only_owner, struct folder_lock *out)
{
    int r = -ESTALE;
    *out = FOLDER_NOT_LOCKED;
    for (int i = 0; i < MAKE_TRIES && (r == -ESTALE || r == -ENOENT || r == -EWOULDBLOCK); i++) {
        if (i > 0) rename_digits(folder);
        r = env->make_folder(env, ENV_CWD, folder, only_owner);
        if (r != 0) return r;
        r = out->dir = open_new(env, folder);
        if (r >= 0) r = lock_new(env, out);
        if (r == 0 && env == env_real()) leftovers_add(folder);
        if (r == 0) return 0;
        if (out->file >= 0) env->remove(env, out->dir, FOLDER_LOCK_NAME, false);
        env->remove(env, ENV_CWD, folder, true);
        folder_unlock(env, out);
    }
    return r;
}

void folder_unlock(struct env *env, struct folder_lock *lock)
{
    if (lock->dir >= 0) env->close(env, lock->dir);
    if (lock->file >= 0) env->close(env, lock->file);
    *lock = FOLDER_NOT_LOCKED;
}

/* ---- Removing */

struct removal {
    struct env *env;
    int dir;
    unsigned depth;
};

static int remove_but_lock(void *arg, const char *name)
{
    const struct removal *c = arg;
    return strcmp(name, FOLDER_LOCK_NAME) == 0
               ? 0
               : env_remove_tree(c->env, c->dir, name, c->depth - 1);
}

static int empty_folder(struct env *env, int dir, unsigned depth)
{
    assert(depth > 0);
    struct removal c = {env, dir, depth};
    int r = env->list(env, dir, remove_but_lock, &c);
    return r == 0 ? env->remove(env, dir, FOLDER_LOCK_NAME, false) : r;
}

int folder_remove(struct env *env, const char *folder, const struct folder_lock *lock,
                  unsigned depth)
{
    assert(lock->dir >= 0 && lock->file >= 0);
    int r = empty_folder(env, lock->dir, depth);
    if (r == 0 || r == -ENOENT) r = env->remove(env, ENV_CWD, folder, true);
    leftovers_drop(folder);
    return r == -ENOENT ? 0 : r;
}

struct sweep {
    struct env *env;
    const char *prefix;
    int parent;
    unsigned depth;
};

/* The lock, locked, if it is a leftover. Creates nothing: the folder's owner may be gone by now. */
static int lock_leftover(struct env *env, int dir)
{
    struct env_stat stat;
    int file = env->open(env, dir, FOLDER_LOCK_NAME, ENV_LOCK);
    if (file < 0) return file;
    int r = env->stat_open(env, file, &stat);
    if (r == 0 && (stat.kind != ENV_FILE || !stat.mine || stat.links != 1)) r = -EPERM;
    if (r == 0) r = env->lock(env, file);
    if (r == 0 && is_held_elsewhere(env, file, &stat)) r = -EWOULDBLOCK;
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
    struct env_stat stat;
    struct folder_lock lock = FOLDER_NOT_LOCKED;
    if (!is_name_of_ours(name, s->prefix)) return 0;
    lock.dir = env->open(env, s->parent, name, ENV_DIR_OWN);
    if (lock.dir >= 0 && env->stat_open(env, lock.dir, &stat) == 0 && stat.mine) {
        lock.file = lock_leftover(env, lock.dir);
        if (lock.file >= 0) empty_folder(env, lock.dir, s->depth);
        if (lock.file >= 0 || lock.file == -ENOENT) env->remove(env, s->parent, name, true);
    }
    folder_unlock(env, &lock);
    return 0;
}

void folder_remove_unlocked(struct env *env, const char *parent, const char *prefix, unsigned depth)
{
    assert(prefix[0] != '\0' && depth > 0);
    struct sweep s = {env, prefix, env->open(env, ENV_CWD, parent, ENV_DIR), depth};
    if (s.parent < 0) return;
    env->list(env, s.parent, sweep_entry, &s);
    env->close(env, s.parent);
}
