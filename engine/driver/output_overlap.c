/* A replaceable output contains no directories (old_output.h), so only its direct files can be
 * inputs that would be lost. */
#include "engine/driver/output_overlap.h"

#include "engine/base/mem.h"

#include <errno.h>
#include <stdlib.h>

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

int output_overlap_check(const struct commit *c, const struct input_list *inputs,
                         struct glint_error *error)
{
    /* Without `overwrite` OUT does not exist, so no input can be one of its files. */
    int r = reject_inside_input(c, inputs, error);
    return r == 0 && c->overwrite ? reject_inputs_inside(c, inputs, error) : r;
}
