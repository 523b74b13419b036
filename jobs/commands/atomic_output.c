/* The random part of the hidden name separates two processes that write the same output; the rename
 * decides which one wins. */
#include "jobs/commands/atomic_output.h"

#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int atomic_output_init(struct atomic_output *b, struct env *env, const char *path,
                       struct glint_error *error)
{
    uint64_t number;
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') size--;
    if (size == 0 || size >= sizeof b->path || (size == 1 && path[0] == '/'))
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "\"%s\" is not a valid output name", path);
    memcpy(b->path, path, size);
    b->path[size] = '\0';
    const char *slash = strrchr(b->path, '/'), *name = slash != NULL ? slash + 1 : b->path;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, NULL, "%s is a directory", b->path);
    int failed = env->random(env, &number, sizeof number);
    if (failed != 0)
        return error_set_system(error, GLINT_E_SYSTEM, failed, "draw", "a random name");
    /* Truncated, because a file name has at most 255 bytes. */
    bool fits = text_format(b->hidden, sizeof b->hidden, "%.*s.%.200s.%016llx.tmp",
                            (int)(name - b->path), b->path, name, (unsigned long long)number);
    if (fits) return GLINT_OK;
    return error_set(error, GLINT_E_BAD_VALUE, NULL, "the path of the output is too long");
}

int atomic_output_publish(const struct atomic_output *b, struct env *env, enum env_rename_mode mode,
                          struct glint_error *error)
{
    assert(b->hidden[0] != '\0' && strcmp(b->path, b->hidden) != 0);
    int failed = env->rename(env, ENV_CWD, b->hidden, ENV_CWD, b->path, mode);
    if (failed == -EEXIST)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, NULL, "%s was created by another process",
                         b->path);
    return failed == 0 ? GLINT_OK
                       : error_set_system(error, GLINT_E_OUTPUT_IO, failed, "rename to", b->path);
}

int atomic_output_open_dir(struct atomic_output *b, struct env *env, const char *path,
                           struct glint_error *error)
{
    struct env_stat stat;
    if (strcmp(path, "-") == 0)
        return error_set(error, GLINT_E_USAGE, "name a directory; ./- is one named so",
                         "the output is a directory, which standard output cannot be");
    int code = atomic_output_init(b, env, path, error);
    if (code != 0) return code;
    if (env->stat(env, b->path, &stat) == 0)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name another directory, or remove it",
                         "%s exists", b->path);
    code = env->make_dir(env, ENV_CWD, b->hidden, false);
    if (code == 0) return GLINT_OK;
    return error_set_system(error, GLINT_E_OUTPUT_CREATE, code, "create", b->path);
}

static int sync_output_directory(struct env *env, const char *path)
{
    int dir = env->open(env, ENV_CWD, path, ENV_DIR);
    if (dir < 0) return dir;
    int failed = env_sync_dir(env, dir), closed = env->close(env, dir);
    return failed != 0 ? failed : closed;
}

/* Syncs the directory that contains `b`. */
static int sync_parent(const struct atomic_output *b, struct env *env)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(b->path, '/');
    text_format(parent, sizeof parent, "%.*s",
                slash == NULL ? 1 : (int)(slash - b->path) + (slash == b->path),
                slash == NULL ? "." : b->path);
    return sync_output_directory(env, parent);
}

int atomic_output_commit_or_remove_dir(struct atomic_output *b, struct env *env, int code,
                                       struct glint_error *error)
{
    int failed = code == 0 ? sync_output_directory(env, b->hidden) : 0;
    if (failed != 0) code = error_set_system(error, GLINT_E_OUTPUT_IO, failed, "sync", b->path);
    if (code == 0) code = atomic_output_publish(b, env, ENV_RENAME_NOREPLACE, error);
    if (code == 0) {
        failed = sync_parent(b, env);
        if (failed == 0) return GLINT_OK;
        code = error_set_system(error, GLINT_E_OUTPUT_IO, failed, "sync the name of", b->path);
        text_format(error->effect, sizeof error->effect,
                    "%s is complete, but a power loss may remove it", b->path);
        return code;
    }
    int left = env_remove_tree(env, ENV_CWD, b->hidden, 0);
    text_format(error->effect, sizeof error->effect, "%s was not created%s%s", b->path,
                left != 0 ? "; remaining files: " : "", left != 0 ? b->hidden : "");
    return code;
}

int atomic_output_open_file(const struct atomic_output *b, struct env *env, const char *name,
                            char *path, struct glint_error *error)
{
    if (!text_format(path, PATH_MAX, "%s/%s", b->hidden, name)) {
        error_set(error, GLINT_E_BAD_VALUE, NULL, "the path of the output is too long");
        return -1;
    }
    const int file = env->open(env, ENV_CWD, path, ENV_CREATE_PUBLIC);
    if (file >= 0) return file;
    error_set_system(error, GLINT_E_OUTPUT_CREATE, file, "create", path);
    return -1;
}

int atomic_output_sync_and_close_file(struct env *env, int file, int code, const char *path,
                                      struct glint_error *error)
{
    int failed = code == 0 ? env->sync_file(env, file) : 0;
    const int closed = env->close(env, file);
    if (failed == 0) failed = closed;
    return code != 0 || failed == 0
               ? code
               : error_set_system(error, GLINT_E_OUTPUT_IO, failed, "write", path);
}
