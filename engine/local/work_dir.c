#include "engine/local/work_dir.h"

#include "engine/base/error.h"
#include "engine/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "glint-"
#define LOCK_NAME ".lock"

struct stale {
    struct env *env;
    const char *parent;
};

/* Errors are passed over: a folder of another user is none of ours. */
static int stale_entry(void *arg, const char *name)
{
    const struct stale *s = arg;
    char path[PATH_MAX], lock_path[PATH_MAX];
    struct env_stat st;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return 0;
    if (!text_format(path, sizeof path, "%s/%s", s->parent, name) ||
        !text_format(lock_path, sizeof lock_path, "%s/" LOCK_NAME, path) ||
        s->env->stat(s->env, lock_path, &st) != 0)
        return 0;
    int lock = s->env->open(s->env, lock_path, ENV_LOCK);
    if (lock < 0) return 0;
    if (s->env->lock(s->env, lock) == 0) env_remove_tree(s->env, path, 1);
    s->env->close(s->env, lock);
    return 0;
}

int work_dir_open(struct work_dir *w, struct env *env, const char *parent, struct glint_error *error)
{
    const char *hint = "name a folder that you may write to with --work-dir";
    char lock_path[PATH_MAX];
    uint64_t id = 0;
    w->env = env;
    w->lock = -1;
    w->path[0] = '\0';
    if (parent == NULL) parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] == '\0') parent = "/tmp";
    struct stale stale = {env, parent};
    env->list(env, parent, stale_entry, &stale);
    if (env->random(env, &id, sizeof id) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "the system gave no random numbers");
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s/" PREFIX "%016llx", parent, (unsigned long long)id) ||
        !text_format(lock_path, sizeof lock_path, "%s/" LOCK_NAME, path))
        return error_set(error, GLINT_E_WORK_DIR, hint, "the work directory's path is too long");
    int r = env->make_folder(env, path, true);
    if (r != 0) {
        error_set_system(error, GLINT_E_WORK_DIR, r, "create", path);
        if (error->hint[0] == '\0') text_format(error->hint, sizeof error->hint, "%s", hint);
        return error->code;
    }
    memcpy(w->path, path, sizeof path);
    w->lock = env->open(env, lock_path, ENV_LOCK);
    r = w->lock < 0 ? w->lock : env->lock(env, w->lock);
    if (r == 0) return 0;
    error_set_system(error, GLINT_E_WORK_DIR, r, "lock", lock_path);
    work_dir_close(w);
    return error->code;
}

void work_dir_close(struct work_dir *w)
{
    if (w->path[0] != '\0') env_remove_tree(w->env, w->path, 1);
    w->path[0] = '\0';
    if (w->lock >= 0) w->env->close(w->env, w->lock);
    w->lock = -1;
}
