/* See locked_dir.h. In a shared directory another user may create any entry under such a name, and
 * replace it at any moment. So a directory is opened once, without following symlinks, must belong
 * to this user, and is then used only through that descriptor. */
#include "engine/base/locked_dir.h"

#include "engine/base/crash.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAKE_TRIES      64 /* a cleanup may run at the same time, even in a loop */
#define NAME_DIGITS     16
#define OWNER_BYTES_MAX 256

/* ---- The owner: three lines with host, boot id, and seconds since 1970 */

/* On a full disk the directory may still be usable, so a failure is ignored: the owner is
 * unknown. */
static void write_lock_owner(struct env *env, int file)
{
    char text[OWNER_BYTES_MAX];
    struct env_node here;
    env->node(env, &here);
    if (text_format(text, sizeof text, "%s\n%s\n%lld\n", here.host, here.boot,
                    (long long)(env->wall_ns(env) / 1000000000)))
        env_write_all(env, file, text, strlen(text));
}

/* Terminates the first line of `text` and returns the second; NULL: there is no line end. */
static char *split_lock_line(char *text)
{
    char *end = text != NULL ? strchr(text, '\n') : NULL;
    if (end == NULL) return NULL;
    *end = '\0';
    return end + 1;
}

static bool is_recent_lock_time(struct env *env, int64_t since_s)
{
    return since_s > (env->wall_ns(env) - (int64_t)LOCKED_DIR_FOREIGN_NS) / 1000000000;
}

/* True if a process of another node may own the directory, although no process of this node holds
 * the lock. Processes do not survive a reboot, so the same host name or the same boot id means that
 * the owner has ended. */
static bool is_locked_by_other_node(struct env *env, int file, const struct env_stat *stat)
{
    char text[OWNER_BYTES_MAX] = "";
    struct env_node here;
    int64_t start_s = 0;
    env->node(env, &here);
    if (env_read_full(env, file, text, sizeof text - 1, 0) < 0) return true;
    char *boot = split_lock_line(text), *start = split_lock_line(boot),
         *end = split_lock_line(start);
    if (end != NULL && strcmp(text, here.host) == 0) return false;
    if (end != NULL && here.boot[0] != '\0' && strcmp(boot, here.boot) == 0) return false;
    bool dated = end != NULL && text_parse_i64((const uint8_t *)start, strlen(start), &start_s);
    return is_recent_lock_time(env, stat->mtime_ns / 1000000000) ||
           (dated && is_recent_lock_time(env, start_s));
}

/* ---- Creating */

static int fail_if_any_entry(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return -EEXIST;
}

/* Opens the directory that was just created. It must be ours and empty, otherwise it was
 * replaced. */
static int open_new_dir(struct env *env, const char *path)
{
    struct env_stat stat;
    int dir = env->open(env, ENV_CWD, path, ENV_DIR_NOFOLLOW);
    if (dir < 0) return dir;
    int r = env->stat_open(env, dir, &stat);
    if (r == 0 && !stat.mine) r = -EPERM;
    if (r == 0) r = env->list(env, dir, fail_if_any_entry, NULL);
    if (r == 0) return dir;
    env->close(env, dir);
    return r;
}

/* -ESTALE, -ENOENT and -EWOULDBLOCK: another process is removing it as stale. */
static int lock_new_dir(struct env *env, struct locked_dir *lock)
{
    struct env_stat stat;
    lock->file = env->open(env, lock->dir, LOCKED_DIR_LOCK_NAME, ENV_CREATE);
    if (lock->file < 0) return lock->file;
    int r = env->lock(env, lock->file);
    if (r == 0) r = env->stat_open(env, lock->file, &stat);
    /* A cleanup may have unlinked the file between open and lock: the lock would protect
     * nothing. */
    if (r == 0 && stat.links == 0) r = -ESTALE;
    if (r == 0) write_lock_owner(env, lock->file);
    return r;
}

/* Changes the digits at the end: a cleanup may still be removing the directory with the old
 * name. */
static void pick_another_dir_name(char *path)
{
    size_t size = strlen(path);
    assert(size > NAME_DIGITS);
    char *digits = path + size - NAME_DIGITS;
    uint64_t number = strtoull(digits, NULL, 16) + UINT64_C(0x9e3779b97f4a7c15);
    text_format(digits, NAME_DIGITS + 1, "%016llx", (unsigned long long)number);
}

int locked_dir_create(struct env *env, char *path, bool only_owner, struct locked_dir *out)
{
    int r = -ESTALE;
    *out = LOCKED_DIR_NONE;
    for (int i = 0; i < MAKE_TRIES && (r == -ESTALE || r == -ENOENT || r == -EWOULDBLOCK); i++) {
        if (i > 0) pick_another_dir_name(path);
        r = env->make_dir(env, ENV_CWD, path, only_owner);
        if (r != 0) return r;
        r = out->dir = open_new_dir(env, path);
        if (r >= 0) r = lock_new_dir(env, out);
        if (r == 0 && env == env_real()) exit_dirs_register(path);
        if (r == 0) return 0;
        if (out->file >= 0) env->remove(env, out->dir, LOCKED_DIR_LOCK_NAME, false);
        env->remove(env, ENV_CWD, path, true);
        locked_dir_unlock(env, out);
    }
    return r;
}

void locked_dir_unlock(struct env *env, struct locked_dir *lock)
{
    if (lock->dir >= 0) env->close(env, lock->dir);
    if (lock->file >= 0) env->close(env, lock->file);
    *lock = LOCKED_DIR_NONE;
}

/* ---- Removing */

struct contents_removal {
    struct env *env;
    int dir;
    unsigned depth;
};

static int remove_unless_lock(void *arg, const char *name)
{
    const struct contents_removal *c = arg;
    return strcmp(name, LOCKED_DIR_LOCK_NAME) == 0
               ? 0
               : env_remove_tree(c->env, c->dir, name, c->depth - 1);
}

static int remove_dir_contents(struct env *env, int dir, unsigned depth)
{
    assert(depth > 0);
    struct contents_removal c = {env, dir, depth};
    int r = env->list(env, dir, remove_unless_lock, &c);
    return r == 0 ? env->remove(env, dir, LOCKED_DIR_LOCK_NAME, false) : r;
}

int locked_dir_remove(struct env *env, const char *path, const struct locked_dir *lock,
                      unsigned depth)
{
    assert(lock->dir >= 0 && lock->file >= 0);
    int r = remove_dir_contents(env, lock->dir, depth);
    if (r == 0 || r == -ENOENT) r = env->remove(env, ENV_CWD, path, true);
    exit_dirs_unregister(path);
    return r == -ENOENT ? 0 : r;
}

struct stale_search {
    struct env *env;
    const char *prefix;
    int parent;
    unsigned depth;
};

/* Returns the locked lock file if the directory is stale. Never creates the file: the owner may
 * have removed the directory meanwhile. */
static int lock_stale_dir(struct env *env, int dir)
{
    struct env_stat stat;
    int file = env->open(env, dir, LOCKED_DIR_LOCK_NAME, ENV_LOCK);
    if (file < 0) return file;
    int r = env->stat_open(env, file, &stat);
    if (r == 0 && (stat.kind != ENV_FILE || !stat.mine || stat.links != 1)) r = -EPERM;
    if (r == 0) r = env->lock(env, file);
    if (r == 0 && is_locked_by_other_node(env, file, &stat)) r = -EWOULDBLOCK;
    if (r == 0) return file;
    env->close(env, file);
    return r;
}

static bool is_locked_dir_name(const char *name, const char *prefix)
{
    if (strncmp(name, prefix, strlen(prefix)) != 0) return false;
    const char *digits = name + strlen(prefix);
    return strlen(digits) == NAME_DIGITS && strspn(digits, "0123456789abcdef") == NAME_DIGITS;
}

static int remove_stale_entry(void *arg, const char *name)
{
    const struct stale_search *s = arg;
    struct env *env = s->env;
    struct env_stat stat;
    struct locked_dir lock = LOCKED_DIR_NONE;
    if (!is_locked_dir_name(name, s->prefix)) return 0;
    lock.dir = env->open(env, s->parent, name, ENV_DIR_NOFOLLOW);
    if (lock.dir >= 0 && env->stat_open(env, lock.dir, &stat) == 0 && stat.mine) {
        lock.file = lock_stale_dir(env, lock.dir);
        if (lock.file >= 0) remove_dir_contents(env, lock.dir, s->depth);
        if (lock.file >= 0 || lock.file == -ENOENT) env->remove(env, s->parent, name, true);
    }
    locked_dir_unlock(env, &lock);
    return 0;
}

void locked_dir_remove_stale(struct env *env, const char *parent, const char *prefix,
                             unsigned depth)
{
    assert(prefix[0] != '\0' && depth > 0);
    struct stale_search s = {env, prefix, env->open(env, ENV_CWD, parent, ENV_DIR), depth};
    if (s.parent < 0) return;
    env->list(env, s.parent, remove_stale_entry, &s);
    env->close(env, s.parent);
}

/* One directory per process: whatever the process leaves is deleted with its directory, and the
 * directory of a dead process is deleted by the next one in the same place. */

#define PREFIX "glint-"
#define LEVELS 32u /* of directories: files that a driver has sent to commands may be such */

static const char *temp_parent_or_default(const char *parent)
{
    if (parent == NULL) parent = getenv("TMPDIR");
    return parent != NULL && parent[0] != '\0' ? parent : "/tmp";
}

void work_dir_remove_stale(struct env *env, const char *parent)
{
    locked_dir_remove_stale(env, temp_parent_or_default(parent), PREFIX, LEVELS);
}

int work_dir_open_as(struct work_dir *w, struct env *env, const char *parent, const char *prefix,
                     unsigned depth, struct glint_error *error)
{
    const char *hint = "use a writable directory: --work-dir, or work_dir in cluster.toml";
    uint64_t id = 0;
    w->env = env;
    w->lock = LOCKED_DIR_NONE;
    w->depth = depth;
    w->path[0] = '\0';
    parent = temp_parent_or_default(parent);
    locked_dir_remove_stale(env, parent, prefix, depth);
    if (env->random(env, &id, sizeof id) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s/%s%016llx", parent, prefix, (unsigned long long)id))
        return error_set(error, GLINT_E_WORK_DIR, hint, "the work directory's path is too long");
    int r = locked_dir_create(env, path, true, &w->lock);
    if (r == 0) {
        memcpy(w->path, path, sizeof path);
        return 0;
    }
    error_set_system(error, GLINT_E_WORK_DIR, r, "create", path);
    if (error->hint[0] == '\0') text_format(error->hint, sizeof error->hint, "%s", hint);
    return error->code;
}

int work_dir_open(struct work_dir *w, struct env *env, const char *parent,
                  struct glint_error *error)
{
    return work_dir_open_as(w, env, parent, PREFIX, LEVELS, error);
}

void work_dir_close(struct work_dir *w)
{
    if (w->path[0] == '\0') return;
    locked_dir_remove(w->env, w->path, &w->lock, w->depth);
    locked_dir_unlock(w->env, &w->lock);
    w->path[0] = '\0';
}
