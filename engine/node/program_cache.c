/* See program_cache.h. A file is complete when it has its final name; what a daemon that was killed
 * left under a temporary name is not locked any more, and is removed when room is made. */
#include "engine/node/program_cache.h"

#include "engine/base/text.h"
#include "engine/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_MAX 256u

static int cache_error(struct glint_error *error, int r, const char *operation, const char *path)
{
    if (error->code != GLINT_OK) return error->code;
    return error_set_system(error, GLINT_E_WORK_DIR, r, operation, path);
}

/* Creates the directory and its parents. It must be this user's alone: what is in it is run. */
static int open_directory(struct env *env, char out[PATH_MAX], struct glint_error *error)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct env_stat s;
    bool fits = false;
    if (cache != NULL && cache[0] == '/')
        fits = text_format(out, PATH_MAX - SHA256_TEXT_MAX - 32, "%s/glint/programs", cache);
    else if (home != NULL && home[0] == '/')
        fits = text_format(out, PATH_MAX - SHA256_TEXT_MAX - 32, "%s/.cache/glint/programs", home);
    if (!fits)
        return error_set(error, GLINT_E_WORK_DIR, "set HOME or XDG_CACHE_HOME",
                         "no directory for programs: neither XDG_CACHE_HOME nor HOME is set");
    int r = 0;
    for (char *slash = strchr(out + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL) *slash = '\0';
        r = env->make_dir(env, ENV_CWD, out, true);
        if (slash != NULL) *slash = '/';
        if (slash == NULL || (r != 0 && r != -EEXIST)) break;
    }
    if (r != 0 && r != -EEXIST) return cache_error(error, r, "create", out);
    r = env->stat_name(env, ENV_CWD, out, &s);
    if (r != 0) return cache_error(error, r, "use", out);
    if (s.kind == ENV_DIRECTORY && s.mine && (s.mode & 077) == 0) return 0;
    return error_set(error, GLINT_E_WORK_DIR, "remove it, or chmod 700",
                     "%s must be a directory that only this user can access", out);
}

static void file_path(const char *directory, const struct program_info *program, char out[PATH_MAX])
{
    char name[SHA256_TEXT_MAX];
    sha256_text(program->sha256, name);
    text_format(out, PATH_MAX, "%s/%s", directory, name);
}

int program_cache_open(struct env *env, const struct program_info *program,
                       struct program_file *out, struct glint_error *error)
{
    char directory[PATH_MAX];
    struct env_stat s;
    *out = PROGRAM_FILE_NONE;
    if (open_directory(env, directory, error) != 0) return error->code;
    file_path(directory, program, out->path);
    int file = env->open(env, ENV_CWD, out->path, ENV_READ_NOFOLLOW);
    if (file == -ENOENT) return 0;
    if (file < 0) return cache_error(error, file, "open", out->path);
    /* A lock that cannot be had: it is being removed. A file of another user, or that others may
     * write, could change once it is verified. */
    if (env->lock_shared(env, file) == 0 && env->stat_open(env, file, &s) == 0 && s.links > 0 &&
        s.kind == ENV_FILE && s.mine && (s.mode & 022) == 0 && s.size == program->size) {
        futimens(file, NULL); /* its age is that of its last use */
        out->file = file;
        return 0;
    }
    env->close(env, file);
    return 0;
}

/* ---- Room */

struct cache_entry {
    char name[SHA256_TEXT_MAX + 32];
    int64_t used_ns;
    uint64_t bytes;
};

struct cache_listing {
    struct env *env;
    const char *directory;
    uint32_t count;
    struct cache_entry entries[NAMES_MAX];
};

static int add_cached_program(void *arg, const char *name)
{
    struct cache_listing *l = arg;
    char path[PATH_MAX];
    struct env_stat s;
    struct cache_entry *e = &l->entries[l->count];
    if (l->count == NAMES_MAX) return 1;
    if (!text_format(e->name, sizeof e->name, "%s", name)) return 0; /* not ours */
    text_format(path, sizeof path, "%s/%s", l->directory, name);
    if (l->env->stat_name(l->env, ENV_CWD, path, &s) != 0 || s.kind != ENV_FILE) return 0;
    e->used_ns = s.mtime_ns;
    e->bytes = s.size;
    l->count++;
    return 0;
}

static int compare_age(const void *a, const void *b)
{
    const struct cache_entry *x = a, *y = b;
    return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Being written, or left by a daemon that was killed. */
static bool is_temporary(const struct cache_entry *e)
{
    return strchr(e->name, '.') != NULL;
}

/* Removes a file unless it is in use. */
static bool remove_unused(struct env *env, const char *path)
{
    int file = env->open(env, ENV_CWD, path, ENV_READ_NOFOLLOW);
    bool removed =
        file >= 0 && env->lock(env, file) == 0 && env->remove(env, ENV_CWD, path, false) == 0;
    if (file >= 0) env->close(env, file);
    return removed;
}

static int evict_programs(struct env *env, const char *directory, uint64_t bytes,
                          struct glint_error *error)
{
    struct cache_listing *l = mem_zalloc(sizeof *l);
    uint64_t total = bytes;
    if (l == NULL) return error_no_memory(error);
    l->env = env;
    l->directory = directory;
    env_list_dir(env, directory, add_cached_program, l);
    qsort(l->entries, l->count, sizeof l->entries[0], compare_age);
    uint32_t left = 1;
    for (uint32_t i = 0; i < l->count; i++) {
        left += !is_temporary(&l->entries[i]);
        total += l->entries[i].bytes;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        const struct cache_entry *e = &l->entries[i];
        char path[PATH_MAX];
        bool fits = left <= PROGRAM_CACHE_FILES && total <= PROGRAM_CACHE_BYTES;
        if (fits && !is_temporary(e)) continue;
        text_format(path, sizeof path, "%s/%s", directory, e->name);
        if (!remove_unused(env, path)) continue;
        total -= e->bytes;
        left -= !is_temporary(e);
    }
    mem_free(l);
    if (left <= PROGRAM_CACHE_FILES && total <= PROGRAM_CACHE_BYTES) return 0;
    return error_set(error, GLINT_E_WORK_DIR, "wait for the jobs that run them",
                     "the program cache %s is full: all programs in it are in use", directory);
}

int program_cache_create(struct env *env, const struct program_info *program,
                         struct program_file *out, struct glint_error *error)
{
    char directory[PATH_MAX];
    uint64_t number;
    *out = PROGRAM_FILE_NONE;
    if (program->size > PROGRAM_CACHE_BYTES)
        return error_set(error, GLINT_E_WORK_DIR, "strip it, or install it on every node",
                         "the driver's program has %llu bytes, the program cache is for %llu",
                         (unsigned long long)program->size,
                         (unsigned long long)PROGRAM_CACHE_BYTES);
    if (open_directory(env, directory, error) != 0) return error->code;
    if (evict_programs(env, directory, program->size, error) != 0) return error->code;
    if (env->random(env, &number, sizeof number) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    text_format(out->path, sizeof out->path, "%s/%016llx.part", directory,
                (unsigned long long)number);
    out->file = env->open(env, ENV_CWD, out->path, ENV_CREATE);
    if (out->file < 0) {
        int r = out->file;
        out->file = -1;
        return cache_error(error, r, "create", out->path);
    }
    out->temporary = true;
    env->lock(env, out->file); /* a new file of our own: it is not locked yet */
    return 0;
}

int program_cache_publish(struct env *env, const struct program_info *program,
                          struct program_file *f, struct glint_error *error)
{
    char directory[PATH_MAX], path[PATH_MAX], same[32];
    if (open_directory(env, directory, error) != 0) return error->code;
    file_path(directory, program, path);
    /* A file that is open for writing cannot be executed. The path may be another file by now. */
    text_format(same, sizeof same, "/proc/self/fd/%d", f->file);
    const int file = env->open(env, ENV_CWD, same, ENV_READ);
    if (file < 0) return cache_error(error, file, "open", f->path);
    int r = fchmod(file, 0500) == 0 ? 0 : -errno;
    if (r == 0) r = env->rename(env, ENV_CWD, f->path, ENV_CWD, path, ENV_RENAME_REPLACE);
    if (r != 0) {
        env->close(env, file);
        return cache_error(error, r, "rename", f->path);
    }
    f->temporary = false;
    program_file_close(env, f);
    env->lock_shared(env, file); /* fails if it is being removed: it runs all the same */
    f->file = file;
    text_format(f->path, sizeof f->path, "%s", path);
    return 0;
}

void program_cache_remove(struct env *env, struct program_file *f)
{
    if (f->file < 0) return;
    env->remove(env, ENV_CWD, f->path, false);
    f->temporary = false;
    program_file_close(env, f);
}

void program_file_close(struct env *env, struct program_file *f)
{
    if (f->file < 0) return;
    if (f->temporary) env->remove(env, ENV_CWD, f->path, false);
    env->close(env, f->file);
    f->file = -1;
}
