/* Name and file type decide what is glint's: a job writes _SUCCESS and parts, all regular files.
 * _SUCCESS is written last, so parts without it are not the output of a glint job that succeeded,
 * perhaps of another tool. */
#include "engine/driver/old_output.h"

#include "engine/base/text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define HINT                                                                                       \
    "name another output, or move it away: --overwrite replaces only outputs of glint jobs and "   \
    "empty directories"

struct contents {
    struct env *env;
    int dir;
    uint64_t parts;
    bool success;
    char foreign[NAME_MAX + 1]; /* the first entry that no job writes */
    int error;                  /* old_output_remove: the first negative errno */
};

/* part-00007, part-00007.gz, part-00007.zst: as ops/save.c names them. */
bool old_output_is_job_file(const char *name)
{
    if (strcmp(name, OLD_OUTPUT_SUCCESS) == 0) return true;
    if (strncmp(name, "part-", 5) != 0) return false;
    size_t digits = strspn(name + 5, "0123456789");
    const char *suffix = name + 5 + digits;
    return digits >= 5 &&
           (suffix[0] == '\0' || strcmp(suffix, ".gz") == 0 || strcmp(suffix, ".zst") == 0);
}

/* Called for each entry. 1 ends the listing: a foreign entry was found. */
static int check_entry(void *arg, const char *name)
{
    struct contents *c = arg;
    struct env_stat stat = {.kind = ENV_OTHER};
    int r = old_output_is_job_file(name) ? c->env->stat_name(c->env, c->dir, name, &stat) : 0;
    if (r != 0) return r;
    if (stat.kind != ENV_FILE) {
        text_format(c->foreign, sizeof c->foreign, "%s", name);
        return 1;
    }
    if (strcmp(name, OLD_OUTPUT_SUCCESS) == 0)
        c->success = true;
    else
        c->parts++;
    return 0;
}

static int reject_contents(const struct contents *c, const char *shown, struct glint_error *error)
{
    if (c->foreign[0] != '\0')
        return error_set(error, GLINT_E_OUTPUT_EXISTS, HINT,
                         "%s contains %s, which was not written by glint", shown, c->foreign);
    if (c->parts > 0 && !c->success)
        return error_set(
            error, GLINT_E_OUTPUT_EXISTS, HINT,
            "%s contains parts but no " OLD_OUTPUT_SUCCESS ": no glint job completed it", shown);
    return 0;
}

int old_output_check_replaceable(struct env *env, int dir, const char *name, const char *shown,
                                 struct glint_error *error)
{
    struct env_stat stat;
    struct contents c = {.env = env};
    int r = env->stat_name(env, dir, name, &stat);
    if (r == 0 && stat.kind != ENV_DIRECTORY)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name the directory itself",
                         "%s is a symbolic link, and --overwrite would replace it", shown);
    /* The current directory would become the hidden one, which is removed. */
    if (r == 0 && env_path_is_within(env, ".", &stat))
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name another output",
                         "%s is the current directory, or contains it", shown);
    if (r == 0) r = c.dir = env->open(env, dir, name, ENV_DIR_NOFOLLOW);
    if (r >= 0) {
        r = env->list(env, c.dir, check_entry, &c);
        env->close(env, c.dir);
    }
    if (r < 0) return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "list", shown);
    return reject_contents(&c, shown, error);
}

static int remove_entry(void *arg, const char *name)
{
    struct contents *c = arg;
    int r = old_output_is_job_file(name) ? c->env->remove(c->env, c->dir, name, false) : -ENOTEMPTY;
    if (c->error == 0 && r != -ENOENT) c->error = r;
    return 0;
}

int old_output_remove(struct env *env, int dir, const char *name)
{
    struct contents c = {.env = env, .dir = env->open(env, dir, name, ENV_DIR_NOFOLLOW)};
    int r = c.dir;
    if (c.dir >= 0) {
        r = env->list(env, c.dir, remove_entry, &c);
        env->close(env, c.dir);
    }
    if (r >= 0) r = c.error;
    int removed = env->remove(env, dir, name, true); /* even if unreadable: it may be empty */
    return removed == 0 ? 0 : r != 0 ? r : removed;
}
