#include "engine/driver/commit.h"

#include "engine/base/error.h"
#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define LOCK_NAME ".lock"

/* The folder that `out` stands in, and its own name. False: too long, or no name. */
static bool path_split(const char *out, char *folder, char *name, size_t capacity)
{
    size_t n = strlen(out);
    while (n > 1 && out[n - 1] == '/') n--;
    if (n == 0 || n >= capacity) return false;
    size_t cut = n;
    while (cut > 0 && out[cut - 1] != '/') cut--;
    if (!text_format(name, capacity, "%.*s", (int)(n - cut), out + cut)) return false;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
    if (cut == 0) return text_format(folder, capacity, ".");
    return text_format(folder, capacity, "%.*s", (int)(cut > 1 ? cut - 1 : 1), out);
}

/* The path as the user gave it, without slashes at its end. */
static bool trim_slashes(const char *path, char *out, size_t capacity)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return text_format(out, capacity, "%.*s", (int)n, path);
}

struct leftovers {
    struct env *env;
    const char *folder, *prefix;
};

/* Removes one hidden folder if its lock can be had. Errors are left: it is somebody else's rubbish. */
static int leftover_entry(void *arg, const char *name)
{
    const struct leftovers *l = arg;
    char path[PATH_MAX], lock_path[PATH_MAX];
    if (strncmp(name, l->prefix, strlen(l->prefix)) != 0) return 0;
    if (!text_format(path, sizeof path, "%s/%s", l->folder, name) ||
        !text_format(lock_path, sizeof lock_path, "%s/" LOCK_NAME, path))
        return 0;
    struct env_stat s;
    if (l->env->stat(l->env, lock_path, &s) != 0) return 0; /* not ours, or being made right now */
    int lock = l->env->open(l->env, lock_path, ENV_LOCK);
    if (lock < 0) return 0;
    if (l->env->lock(l->env, lock) == 0) env_remove_tree(l->env, path, 2);
    l->env->close(l->env, lock);
    return 0;
}

static int refuse_existing(struct commit *c, struct glint_error *error)
{
    struct env_stat s;
    int r = c->env->stat(c->env, c->out, &s);
    c->existed = r == 0;
    if (r == 0 && s.kind != ENV_FOLDER)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name a folder that does not exist yet",
                         "%s exists and is not a folder", c->out);
    if (r == 0 && !c->overwrite)
        return error_set(error, GLINT_E_OUTPUT_EXISTS,
                         "name another output, or pass --overwrite to replace it", "%s exists",
                         c->out);
    if (r != 0 && r != -ENOENT)
        return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "look at", c->out);
    return 0;
}

int commit_open(struct commit *c, struct env *env, const char *out, bool overwrite, uint64_t job,
                struct glint_error *error)
{
    char folder[PATH_MAX], name[PATH_MAX], prefix[PATH_MAX], lock_path[PATH_MAX];
    memset(c, 0, sizeof *c);
    c->env = env;
    c->overwrite = overwrite;
    c->lock = -1;
    c->state = COMMIT_REMOVED;
    bool fits = path_split(out, folder, name, sizeof folder) &&
                trim_slashes(out, c->out, sizeof c->out) &&
                text_format(prefix, sizeof prefix, ".%s.glint-", name) &&
                text_format(c->hidden, sizeof c->hidden, "%s/%s%016llx", folder, prefix,
                            (unsigned long long)job) &&
                text_format(lock_path, sizeof lock_path, "%s/" LOCK_NAME, c->hidden);
    if (!fits)
        return error_set(error, GLINT_E_OUTPUT_CREATE, "name a folder",
                         "\"%s\" cannot be an output folder", out);
    int r = refuse_existing(c, error);
    if (r != 0) return r;
    struct leftovers l = {env, folder, prefix};
    env->list(env, folder, leftover_entry, &l);
    r = env->make_folder(env, c->hidden, false);
    if (r != 0) return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "create", c->hidden);
    c->state = COMMIT_OPEN;
    c->lock = env->open(env, lock_path, ENV_LOCK);
    r = c->lock < 0 ? c->lock : env->lock(env, c->lock);
    if (r == 0) return 0;
    error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "lock", lock_path);
    commit_discard(c);
    return error->code;
}

int commit_keep(struct commit *c, struct glint_slice name, const char *part,
                struct glint_error *error)
{
    assert(c->state == COMMIT_OPEN);
    char from[PATH_MAX], to[PATH_MAX];
    if (name.size == 0 || name.size > 255 || memchr(name.data, '/', name.size) != NULL ||
        memchr(name.data, 0, name.size) != NULL)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a task named a file that is none");
    if (!text_format(from, sizeof from, "%s/%.*s", c->hidden, (int)name.size,
                     (const char *)name.data) ||
        !text_format(to, sizeof to, "%s/%s", c->hidden, part))
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter path", "%s is too long",
                         c->out);
    int r = c->env->rename(c->env, from, to, ENV_RENAME_NEW);
    return r == 0 ? 0 : error_set_system(error, GLINT_E_OUTPUT_IO, r, "rename", from);
}

static int write_success(struct commit *c, struct glint_error *error)
{
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s/_SUCCESS", c->hidden))
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter path", "%s is too long",
                         c->out);
    int file = c->env->open(c->env, path, ENV_PUBLIC);
    int r = file < 0 ? file : c->env->close(c->env, file);
    return r == 0 ? 0 : error_set_system(error, GLINT_E_OUTPUT_IO, r, "create", path);
}

int commit_complete(struct commit *c, struct glint_error *error)
{
    assert(c->state == COMMIT_OPEN);
    int r = write_success(c, error);
    if (r == 0) c->state = COMMIT_COMPLETE;
    return r;
}

static int publish_rename(struct commit *c, struct glint_error *error)
{
    if (c->overwrite) {
        int r = c->env->rename(c->env, c->hidden, c->out, ENV_RENAME_EXCHANGE);
        if (r == 0) { /* the hidden name now holds what stood there before */
            env_remove_tree(c->env, c->hidden, 64);
            return 0;
        }
        if (r != -ENOENT) return error_set_system(error, GLINT_E_OUTPUT_IO, r, "replace", c->out);
    }
    int r = c->env->rename(c->env, c->hidden, c->out, ENV_RENAME_NEW);
    if (r == -EEXIST)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name another output",
                         "%s appeared while the job ran", c->out);
    return r == 0 ? 0 : error_set_system(error, GLINT_E_OUTPUT_IO, r, "publish", c->out);
}

int commit_publish(struct commit *c, struct glint_error *error)
{
    assert(c->state == COMMIT_COMPLETE);
    char lock_path[PATH_MAX];
    if (text_format(lock_path, sizeof lock_path, "%s/" LOCK_NAME, c->hidden))
        c->env->remove_file(c->env, lock_path);
    int r = publish_rename(c, error);
    if (r != 0) return r;
    c->state = COMMIT_PUBLISHED;
    c->env->close(c->env, c->lock);
    c->lock = -1;
    return 0;
}

bool commit_discard(struct commit *c)
{
    bool clean = true;
    if (c->state == COMMIT_OPEN || c->state == COMMIT_COMPLETE) {
        clean = env_remove_tree(c->env, c->hidden, 2) == 0;
        c->state = COMMIT_REMOVED;
    }
    if (c->lock >= 0) c->env->close(c->env, c->lock);
    c->lock = -1;
    return clean;
}
