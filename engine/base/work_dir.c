/* One directory per process: whatever the process leaves is deleted with its directory, and the
 * directory of a dead process is deleted by the next one in the same place. */
#include "engine/base/work_dir.h"

#include "engine/base/error.h"
#include "engine/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "glint-"

static const char *parent_or_default(const char *parent)
{
    if (parent == NULL) parent = getenv("TMPDIR");
    return parent != NULL && parent[0] != '\0' ? parent : "/tmp";
}

void work_dir_remove_stale(struct env *env, const char *parent)
{
    locked_dir_remove_stale(env, parent_or_default(parent), PREFIX, 1);
}

int work_dir_open(struct work_dir *w, struct env *env, const char *parent,
                  struct glint_error *error)
{
    const char *hint = "use a writable directory: --work-dir, or work_dir in cluster.toml";
    uint64_t id = 0;
    w->env = env;
    w->lock = LOCKED_DIR_NONE;
    w->path[0] = '\0';
    parent = parent_or_default(parent);
    work_dir_remove_stale(env, parent);
    if (env->random(env, &id, sizeof id) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s/" PREFIX "%016llx", parent, (unsigned long long)id))
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

void work_dir_close(struct work_dir *w)
{
    if (w->path[0] == '\0') return;
    locked_dir_remove(w->env, w->path, &w->lock, 1);
    locked_dir_unlock(w->env, &w->lock);
    w->path[0] = '\0';
}
