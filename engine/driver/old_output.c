/* See old_output.h. */
#include "engine/driver/old_output.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/driver/commit_partitions.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define HINT                                                                                       \
    "name another output, or move it away: --overwrite replaces only outputs of glint jobs and "   \
    "empty directories"

/* A directory while its entries are visited. */
struct contents {
    struct env *env;
    int dir;
    unsigned depth;    /* 0: the output itself */
    const char *where; /* below the output, with a slash; "": the output */
    struct found *found;
    int error; /* old_output_remove: the first negative errno */
};

/* In all directories. */
struct found {
    uint64_t parts;
    bool success;
    char foreign[2 * NAME_MAX]; /* the first entry that no job writes, perhaps cut */
};

/* part-00007, part-00007.gz, part-00007.zst: as ops/save.c names them. */
static bool is_job_file(const struct contents *c, const char *name)
{
    if (strcmp(name, OLD_OUTPUT_SUCCESS) == 0) return c->depth == 0;
    if (strncmp(name, "part-", 5) != 0) return false;
    size_t digits = strspn(name + 5, "0123456789");
    const char *suffix = name + 5 + digits;
    return digits >= 5 &&
           (suffix[0] == '\0' || strcmp(suffix, ".gz") == 0 || strcmp(suffix, ".zst") == 0 ||
            strcmp(suffix, ".parquet") == 0 || strcmp(suffix, ".arrow") == 0);
}

static bool is_job_directory(const struct contents *c, const char *name)
{
    return c->depth < COMMIT_PARTITION_LEVELS && name[0] != '=' && strchr(name, '=') != NULL;
}

/* Visits a directory in another one. Returns as list, or a negative errno. */
static int visit_directory(const struct contents *outer, const char *name,
                           int (*entry)(void *arg, const char *name), int *out_error)
{
    struct env *env = outer->env;
    char where[2 * NAME_MAX];
    if (!text_format(where, sizeof where, "%s%s/", outer->where, name)) where[0] = '\0';
    struct contents c = {.env = env,
                         .dir = env->open(env, outer->dir, name, ENV_DIR_NOFOLLOW),
                         .depth = outer->depth + 1,
                         .where = where,
                         .found = outer->found};
    assert(c.depth <= COMMIT_PARTITION_LEVELS);
    if (c.dir < 0) return c.dir;
    const int r = env->list(env, c.dir, entry, &c);
    env->close(env, c.dir);
    *out_error = c.error;
    return r;
}

/* Called for each entry. 1 ends the listing: a foreign entry was found. */
static int check_old_output_entry(void *arg, const char *name)
{
    struct contents *c = arg;
    struct env_stat stat = {.kind = ENV_OTHER};
    const bool file = is_job_file(c, name), directory = !file && is_job_directory(c, name);
    int error, r = file || directory ? c->env->stat_name(c->env, c->dir, name, &stat) : 0;
    if (r != 0) return r;
    if (directory && stat.kind == ENV_DIRECTORY)
        return visit_directory(c, name, check_old_output_entry, &error);
    if (!file || stat.kind != ENV_FILE) {
        if (!text_format(c->found->foreign, sizeof c->found->foreign, "%s%s", c->where, name))
            text_format(c->found->foreign, sizeof c->found->foreign, "%s", name);
        return 1;
    }
    if (strcmp(name, OLD_OUTPUT_SUCCESS) == 0)
        c->found->success = true;
    else
        c->found->parts++;
    return 0;
}

static int reject_foreign_contents(const struct found *c, const char *shown,
                                   struct glint_error *error)
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
    struct found found = {.parts = 0};
    struct contents c = {.env = env, .where = "", .found = &found};
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
        r = env->list(env, c.dir, check_old_output_entry, &c);
        env->close(env, c.dir);
    }
    if (r < 0) return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "list", shown);
    return reject_foreign_contents(&found, shown, error);
}

static int remove_old_output_entry(void *arg, const char *name)
{
    struct contents *c = arg;
    struct env_stat stat = {.kind = ENV_OTHER};
    int r = -ENOTEMPTY, error = 0;
    if (is_job_file(c, name)) {
        r = c->env->remove(c->env, c->dir, name, false);
    } else if (is_job_directory(c, name)) {
        r = c->env->stat_name(c->env, c->dir, name, &stat);
        if (r == 0) r = stat.kind == ENV_DIRECTORY ? 0 : -ENOTEMPTY;
        if (r == 0) r = visit_directory(c, name, remove_old_output_entry, &error);
        if (r == 0) r = error;
        if (r == 0) r = c->env->remove(c->env, c->dir, name, true);
    }
    if (c->error == 0 && r != -ENOENT) c->error = r;
    return 0;
}

int old_output_remove(struct env *env, int dir, const char *name)
{
    struct contents c = {
        .env = env, .dir = env->open(env, dir, name, ENV_DIR_NOFOLLOW), .where = ""};
    int r = c.dir;
    if (c.dir >= 0) {
        r = env->list(env, c.dir, remove_old_output_entry, &c);
        env->close(env, c.dir);
    }
    if (r >= 0) r = c.error;
    int removed = env->remove(env, dir, name, true); /* even if unreadable: it may be empty */
    return removed == 0 ? 0 : r != 0 ? r : removed;
}

/* ---- Files that are inputs would be lost */

static int compare_ids(const void *a, const void *b)
{
    const struct old_output_id *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

struct id_listing {
    struct env *env;
    int dir;
    unsigned depth;
    struct old_output_ids *ids;
};

static int add_file_id(void *arg, const char *name)
{
    struct id_listing *l = arg;
    struct old_output_ids *ids = l->ids;
    struct env_stat stat;
    int r = l->env->stat_name(l->env, l->dir, name, &stat);
    if (r == 0 && stat.kind == ENV_DIRECTORY && l->depth < COMMIT_PARTITION_LEVELS) {
        struct id_listing inner = {l->env, l->env->open(l->env, l->dir, name, ENV_DIR_NOFOLLOW),
                                   l->depth + 1, ids};
        if (inner.dir < 0) return inner.dir == -ENOENT ? 0 : inner.dir;
        r = l->env->list(l->env, inner.dir, add_file_id, &inner);
        l->env->close(l->env, inner.dir);
        return r;
    }
    if (r != 0 || stat.links > 1) return r == -ENOENT ? 0 : r;
    if (!array_reserve(&ids->items, &ids->capacity, ids->count + 1, sizeof *ids->items))
        return -ENOMEM;
    ids->items[ids->count++] = (struct old_output_id){stat.device, stat.inode};
    return 0;
}

int old_output_list_ids(struct env *env, const char *out, struct old_output_ids *ids)
{
    *ids = (struct old_output_ids){.items = NULL};
    struct id_listing l = {env, env->open(env, ENV_CWD, out, ENV_DIR_NOFOLLOW), 0, ids};
    if (l.dir < 0) return l.dir == -ENOENT ? 0 : l.dir;
    const int r = env->list(env, l.dir, add_file_id, &l);
    env->close(env, l.dir);
    if (ids->count > 1) qsort(ids->items, ids->count, sizeof *ids->items, compare_ids);
    return r;
}

bool old_output_has_id(const struct old_output_ids *ids, uint64_t device, uint64_t inode)
{
    const struct old_output_id id = {device, inode};
    return ids->count > 0 && bsearch(&id, ids->items, ids->count, sizeof id, compare_ids) != NULL;
}
