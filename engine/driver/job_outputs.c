/* The outputs of a job. Each is opened before the tasks that write it run, and is checked against
 * the other outputs and against the inputs. All are published together when the job ends
 * (commit_job), or all are removed (abort_job). */
#include "engine/base/mem.h"
#include "engine/base/path.h"
#include "engine/base/text.h"
#include "engine/driver/commit.h"
#include "engine/driver/driver_internal.h"
#include "engine/input/input.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>

/* ---- A replaceable output contains no directories (commit.h), so only its direct files can be
 * inputs that would be lost. */

struct file_id {
    uint64_t device, inode;
};

/* The files of an existing output, sorted by compare_file_ids. */
struct file_ids {
    struct env *env;
    int dir;
    struct file_id *items;
    uint64_t count, capacity;
};

static int compare_file_ids(const void *a, const void *b)
{
    const struct file_id *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Skips files with more than one hard link: removing this name keeps the input. */
static int add_id(void *arg, const char *name)
{
    struct file_ids *ids = arg;
    struct env_stat stat;
    int r = ids->env->stat_name(ids->env, ids->dir, name, &stat);
    if (r != 0 || stat.links > 1) return r == -ENOENT ? 0 : r;
    if (!array_reserve(&ids->items, &ids->capacity, ids->count + 1, sizeof *ids->items))
        return -ENOMEM;
    ids->items[ids->count++] = (struct file_id){stat.device, stat.inode};
    return 0;
}

/* Returns 0 or a negative errno. An output that does not exist has no files. */
static int list_ids(struct file_ids *ids, const struct commit *c)
{
    *ids = (struct file_ids){.env = c->env};
    int r = ids->dir = c->env->open(c->env, ENV_CWD, c->out, ENV_DIR_NOFOLLOW);
    if (r < 0) return r == -ENOENT ? 0 : r;
    r = c->env->list(c->env, ids->dir, add_id, ids);
    c->env->close(c->env, ids->dir);
    if (ids->count > 1) qsort(ids->items, ids->count, sizeof *ids->items, compare_file_ids);
    return r;
}

static int reject_inputs_inside(const struct commit *c, const struct input_list *inputs,
                                struct glint_error *error)
{
    struct file_ids ids;
    int r = list_ids(&ids, c);
    if (r != 0) r = error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "list", c->out);
    for (uint64_t i = 0; i < inputs->count && r == 0 && ids.count > 0; i++) {
        const struct input_file *file = &inputs->files[i];
        struct file_id id = {file->device, file->inode};
        if (bsearch(&id, ids.items, ids.count, sizeof id, compare_file_ids) != NULL)
            r = error_set(error, GLINT_E_OUTPUT_EXISTS, "name another output",
                          "the input %s is in %s, which --overwrite would replace", file->path,
                          c->out);
    }
    mem_free(ids.items);
    return r;
}

/* OUT may not exist yet: checks the hidden directory, which has the same parent. */
static int reject_inside_input(const struct commit *c, const struct input_list *inputs,
                               struct glint_error *error)
{
    for (uint64_t i = 0; i < inputs->dir_count; i++) {
        const struct input_dir *directory = &inputs->dirs[i];
        struct env_stat id = {.device = directory->device, .inode = directory->inode};
        if (env_path_is_within(c->env, c->hidden, &id))
            return error_set(error, GLINT_E_OUTPUT_CREATE, "name an output outside the input",
                             "%s is inside the input %s, which could not be read again", c->out,
                             directory->path);
    }
    return 0;
}

/* Returns 0, or OUTPUT_EXISTS (an input is a file of the replaced output), OUTPUT_CREATE (the
 * output is inside an input directory, or the old output cannot be read), NO_MEMORY. */
static int output_overlap_check(const struct commit *c, const struct input_list *inputs,
                                struct glint_error *error)
{
    /* Without `overwrite` OUT does not exist, so no input can be one of its files. */
    int r = reject_inside_input(c, inputs, error);
    return r == 0 && c->overwrite ? reject_inputs_inside(c, inputs, error) : r;
}

/* ---- job outputs */

/* Finds the output that job_outputs_reserve opened for `path`; NULL: none. */
static struct commit *find_reserved(const struct driver *d, const char *path)
{
    for (uint32_t i = 0; i < d->commit_count; i++)
        if (d->commits[i]->reserved && commit_has_path(d->commits[i], path)) return d->commits[i];
    return NULL;
}

static struct commit *add_commit(struct driver *d)
{
    struct commit *c = NULL;
    if (array_reserve(&d->commits, &d->commit_capacity, d->commit_count + 1, sizeof c))
        c = mem_zalloc(sizeof *c);
    if (c == NULL)
        error_no_memory(driver_error(d));
    else
        d->commits[d->commit_count++] = c;
    return c;
}

/* The group of executors that run as a user of their own, as those of the packages' unit do. */
static bool find_executors_group(const struct context_config *config, uint32_t *out)
{
    const struct group *g = config->cluster != NULL ? getgrnam("glint") : NULL;
    if (g != NULL) *out = g->gr_gid;
    return g != NULL;
}

int job_outputs_open(struct driver *d, const char *path, struct commit **out)
{
    const struct context_config *config = &d->g->config;
    struct commit_options options = {config->overwrite, config->no_sync, NULL};
    uint32_t group;
    struct commit *c = *out = find_reserved(d, path_from_file_url(path));
    if (c != NULL) { /* opened and checked by job_outputs_reserve */
        c->reserved = false;
        return 0;
    }
    c = *out = add_commit(d);
    if (c == NULL) return driver_error(d)->code;
    if (find_executors_group(config, &group)) options.group = &group;
    /* The id in the hidden directory's name differs for each output, since two of them may have
     * the same name and parent until commit_check_disjoint rejects them. */
    int r = commit_open_output(c, d->env, path, options, d->g->job_id + d->commit_count,
                               driver_error(d));
    for (uint32_t i = 0; i + 1 < d->commit_count && r == 0; i++)
        r = commit_check_disjoint(d->commits[i], c, driver_error(d));
    return r;
}

void job_outputs_fail(struct action_run *a)
{
    for (uint32_t i = 0; i < a->commit_count; i++)
        if (a->commits[i] != NULL) a->commits[i]->failed = true;
}

void job_outputs_remove_failed(struct driver *d)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < d->commit_count; i++) {
        struct commit *c = d->commits[i];
        if (!c->failed || c->state == COMMIT_KEPT) {
            d->commits[kept++] = c;
            continue;
        }
        if (!commit_cleanup(c))
            context_warn(d->g, "what a failed action wrote could not be removed and is left in %s",
                         c->hidden);
        mem_free(c);
    }
    d->commit_count = kept;
}

int job_outputs_reserve(struct driver *d, const char *path)
{
    struct commit *c = NULL;
    int r = job_outputs_open(d, path, &c);
    if (r == 0) c->reserved = true;
    return r;
}

/* g->rdds is sorted by id, newest first, so each output visits only RDDs that it has not checked.
 */
int job_outputs_check_inputs(struct driver *d)
{
    struct glint *g = d->g;
    int r = 0;
    for (uint32_t i = 0; i < d->commit_count && r == 0; i++) {
        struct commit *c = d->commits[i];
        if (c->state == COMMIT_KEPT) continue; /* the job may read it */
        const struct glint_rdd *rdd = g->rdds;
        uint32_t newest = rdd != NULL ? rdd->id : 0;
        for (; rdd != NULL && rdd->id > c->rdds_checked && r == 0; rdd = rdd->next)
            if (rdd->inputs != NULL) r = output_overlap_check(c, rdd->inputs, &g->error);
        if (r == 0) c->rdds_checked = newest;
    }
    return r;
}

static void clean_up_published(struct driver *d, struct commit *c)
{
    /* An old output that remains is no reason to fail the job. */
    if (!commit_cleanup(c))
        context_warn(d->g, "the output that %s replaced could not be removed and is left in %s",
                     c->out, c->hidden);
}

int job_outputs_publish(struct driver *d, struct commit *c)
{
    int r = commit_complete_output(c, driver_error(d));
    if (r == 0) r = commit_publish_all_or_none(&c, 1, driver_error(d));
    if (r != 0) return r;
    clean_up_published(d, c);
    c->state = COMMIT_KEPT;
    d->kept_count++;
    return 0;
}

int commit_job(struct driver *d)
{
    /* Allocated first: after publishing nothing may fail. */
    d->published = mem_zalloc(sizeof *d->published * (d->commit_count + 1)); /* never 0 bytes */
    if (d->published == NULL) return error_no_memory(driver_error(d));
    int r = commit_publish_all_or_none(d->commits, d->commit_count, driver_error(d));
    for (uint32_t i = 0; i < d->commit_count && r == 0; i++) {
        struct commit *c = d->commits[i];
        if (c->state == COMMIT_PUBLISHED || c->state == COMMIT_KEPT)
            d->published[d->published_count++] = c->out;
        if (c->state != COMMIT_KEPT) clean_up_published(d, c);
    }
    return r;
}

const char *abort_job(struct driver *d)
{
    bool clean = true, rolled_back = true, used = false;
    for (uint32_t i = 0; i < d->commit_count; i++) {
        struct commit *c = d->commits[i];
        if (c->state == COMMIT_KEPT) continue;
        used = used || !c->reserved;
        rolled_back = rolled_back && c->state != COMMIT_PUBLISHED;
        clean = commit_cleanup(c) && clean;
    }
    if (clean && !used) return "no output was written";
    if (!rolled_back) return "an output was published and could not be rolled back";
    return clean ? "no output was published; existing outputs are unchanged"
                 : "no output was published; a hidden directory next to the output is left";
}

void job_outputs_fini(struct driver *d)
{
    for (uint32_t i = 0; i < d->commit_count; i++) {
        commit_cleanup(d->commits[i]);
        mem_free(d->commits[i]);
    }
    mem_free(d->commits);
    mem_free(d->published);
}
