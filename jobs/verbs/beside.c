/* The random part keeps two processes that write the same output apart; the rename decides. */
#include "jobs/verbs/beside.h"

#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int beside_init(struct beside *b, struct env *env, const char *path, struct glint_error *error)
{
    uint64_t number;
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') size--;
    if (size == 0 || size >= sizeof b->path || (size == 1 && path[0] == '/'))
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "\"%s\" cannot name an output", path);
    memcpy(b->path, path, size);
    b->path[size] = '\0';
    const char *slash = strrchr(b->path, '/'), *name = slash != NULL ? slash + 1 : b->path;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, NULL, "%s is a folder", b->path);
    int failed = env->random(env, &number, sizeof number);
    if (failed != 0)
        return error_set_system(error, GLINT_E_SYSTEM, failed, "draw", "a random name");
    /* The name is cut, since a file's name has at most 255 bytes. */
    bool fits = text_format(b->hidden, sizeof b->hidden, "%.*s.%.200s.%016llx.tmp",
                            (int)(name - b->path), b->path, name, (unsigned long long)number);
    if (fits) return GLINT_OK;
    return error_set(error, GLINT_E_BAD_VALUE, NULL, "the path of the output is too long");
}

int beside_publish(const struct beside *b, struct env *env, enum env_rename_mode mode,
                   struct glint_error *error)
{
    assert(b->hidden[0] != '\0' && strcmp(b->path, b->hidden) != 0);
    int failed = env->rename(env, ENV_CWD, b->hidden, ENV_CWD, b->path, mode);
    if (failed == -EEXIST)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, NULL, "something is named %s by now",
                         b->path);
    return failed == 0 ? GLINT_OK
                       : error_set_system(error, GLINT_E_OUTPUT_IO, failed, "rename to", b->path);
}
