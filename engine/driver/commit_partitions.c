/* Moves the files of a part's directories of partitions into the output's (commit.h). */
#include "engine/base/mem.h"
#include "engine/driver/commit.h"
#include "engine/glint.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(COMMIT_PARTITION_LEVELS == GLINT_PARTITION_COLUMNS_MAX, "a directory per column");

struct partition_merge {
    struct env *env;
    bool sync;
    uint32_t directories; /* that were made */
};

/* Names in a directory, each with a NUL: entries are renamed after the listing. */
static int collect_entry_name(void *arg, const char *name)
{
    return buffer_append(arg, name, strlen(name) + 1) ? 0 : -ENOMEM;
}

static int move_directory_entries(struct partition_merge *m, int from, int to, unsigned depth);

/* Moves what is in the directory `name`. */
static int move_partition_directory(struct partition_merge *m, int from, int to, const char *name,
                                    unsigned depth)
{
    struct env *env = m->env;
    int r = env->make_dir(env, to, name, false);
    m->directories += r == 0;
    if (m->directories > GLINT_PARTITIONS_SAVED_MAX) return -EDQUOT;
    if (r != 0 && r != -EEXIST) return r;
    const int inner = env->open(env, from, name, ENV_DIR_NOFOLLOW);
    const int outer = inner >= 0 ? env->open(env, to, name, ENV_DIR_NOFOLLOW) : inner;
    r = outer >= 0 ? move_directory_entries(m, inner, outer, depth + 1) : outer;
    if (inner >= 0) env->close(env, inner);
    if (outer >= 0) env->close(env, outer);
    return r == 0 ? env->remove(env, from, name, true) : r;
}

static int move_directory_entries(struct partition_merge *m, int from, int to, unsigned depth)
{
    struct env *env = m->env;
    struct buffer names = {NULL, 0, 0};
    assert(depth <= COMMIT_PARTITION_LEVELS);
    int r = env->list(env, from, collect_entry_name, &names);
    for (uint64_t at = 0; r == 0 && at < names.size;) {
        const char *name = (const char *)names.data + at;
        struct env_stat stat;
        at += strlen(name) + 1;
        r = env->stat_name(env, from, name, &stat);
        if (r != 0) break;
        if (stat.kind == ENV_DIRECTORY && depth < COMMIT_PARTITION_LEVELS)
            r = move_partition_directory(m, from, to, name, depth);
        else if (stat.kind == ENV_FILE && depth > 0)
            r = env->rename(env, from, name, to, name, ENV_RENAME_NOREPLACE);
        else
            r = -ENOTDIR;
    }
    buffer_fini(&names);
    return r == 0 && m->sync && depth > 0 ? env_sync_dir(env, to) : r;
}

/* Moves what is in one part, if it is a directory: only one of columns is. */
static int merge_part_into_output(struct partition_merge *m, int output, const char *part)
{
    const char *suffix = strrchr(part, '.');
    const bool columns = strncmp(part, "part-", 5) == 0 && suffix != NULL &&
                         (strcmp(suffix, ".parquet") == 0 || strcmp(suffix, ".arrow") == 0);
    struct env_stat stat;
    int r = columns ? m->env->stat_name(m->env, output, part, &stat) : 0;
    if (r != 0 || !columns || stat.kind != ENV_DIRECTORY) return r;
    const int from = m->env->open(m->env, output, part, ENV_DIR_NOFOLLOW);
    if (from < 0) return from;
    r = move_directory_entries(m, from, output, 0);
    m->env->close(m->env, from);
    return r == 0 ? m->env->remove(m->env, output, part, true) : r;
}

int commit_partitions_merge(struct env *env, int dir, const char *name, bool sync,
                            const char *shown, struct glint_error *error)
{
    struct partition_merge m = {.env = env, .sync = sync};
    struct buffer names = {NULL, 0, 0};
    const int output = env->open(env, dir, name, ENV_DIR_NOFOLLOW);
    int r = output >= 0 ? env->list(env, output, collect_entry_name, &names) : output;
    for (uint64_t at = 0; r == 0 && at < names.size;) {
        const char *part = (const char *)names.data + at;
        at += strlen(part) + 1;
        r = merge_part_into_output(&m, output, part);
    }
    if (output >= 0) env->close(env, output);
    buffer_fini(&names);
    if (m.directories > GLINT_PARTITIONS_SAVED_MAX)
        return error_set(error, GLINT_E_PLAN_LIMIT, "choose columns with fewer values",
                         "%s: the output has more than %d directories", shown,
                         GLINT_PARTITIONS_SAVED_MAX);
    if (r == -ENOMEM) return error_no_memory(error);
    return r == 0 ? 0 : error_set_system(error, GLINT_E_OUTPUT_IO, r, "complete", shown);
}
