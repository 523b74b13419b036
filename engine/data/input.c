/* Resolves files, directories and globs into one list. Bad paths are collected with their reasons,
 * so that the user can fix a long list at once. */
#include "engine/data/input.h"

#include "engine/base/path.h"
#include "engine/base/text.h"
#include "engine/data/format.h"
#include "engine/limits.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CAUSE_BYTES_KEPT 64 /* for "and N more" */

struct input_walk {
    struct env *env;
    struct input_list *list;
    struct glint_error *error;
    /* The bad paths so far. */
    uint64_t bad_count, bad_shown;
    enum glint_code bad_code;                           /* the first one's */
    char hint[sizeof(((struct glint_error *)0)->hint)]; /* the first one */
    char bad[sizeof(((struct glint_error *)0)->cause) - CAUSE_BYTES_KEPT];
};

/* The names of a directory, or the paths that match the components of a glob so far. */
struct name_list {
    struct input_walk *walk;
    const char *pattern; /* of names; NULL: all */
    char **items;
    uint64_t count, capacity;
};

enum glint_code input_error_code(int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -ELOOP:
    case -ENAMETOOLONG: return GLINT_E_INPUT_NOT_FOUND;
    case -EACCES:
    case -EPERM: return GLINT_E_INPUT_PERMISSION;
    case -EISDIR:
    case -ENXIO: return GLINT_E_INPUT_KIND;
    default: return GLINT_E_INPUT_IO;
    }
}

/* Whether the error is not about this path: the walk stops, since others would fail too. */
static bool is_fatal(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* Records a bad path; the walk continues. `hint` may be NULL. Returns 0. */
static int record_bad_path(struct input_walk *w, enum glint_code code, const char *path,
                           const char *reason, const char *hint)
{
    if (w->bad_count++ == 0) w->bad_code = code;
    if (hint != NULL && w->hint[0] == '\0') text_format(w->hint, sizeof w->hint, "%s", hint);
    if (w->bad_shown + 1 < w->bad_count) return 0; /* full */
    const size_t used = strlen(w->bad);
    char *out = w->bad + used;
    if (text_format(out, sizeof w->bad - used, "%s%s: %s", used > 0 ? "; " : "", path, reason))
        w->bad_shown++;
    else if (used > 0)
        *out = '\0';
    return 0;
}

static int record_bad_kind(struct input_walk *w, const char *path, const char *reason)
{
    return record_bad_path(w, GLINT_E_INPUT_KIND, path, reason,
                           "jobs read regular files and directories of files: save piped data to a "
                           "file, list nested directories separately");
}

static int record_failed_call(struct input_walk *w, int error, const char *operation,
                              const char *path)
{
    if (is_fatal(error))
        return error_set_system(w->error, GLINT_E_INPUT_IO, error, operation, path);
    char reason[128];
    return record_bad_path(w, input_error_code(error), path,
                           strerror_r(-error, reason, sizeof reason), NULL);
}

static char *arena_text(struct input_walk *w, const char *text)
{
    char *copy = arena_strdup(&w->list->arena, text);
    if (copy == NULL) error_no_memory(w->error);
    return copy;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

static enum compression compression_of_name(const char *path)
{
    static const char *const ends[COMPRESSION_COUNT] = {
        [COMPRESSION_GZIP] = ".gz", [COMPRESSION_ZSTD] = ".zst", [COMPRESSION_BZIP2] = ".bz2",
        [COMPRESSION_XZ] = ".xz",   [COMPRESSION_LZ4] = ".lz4",
    };
    for (unsigned i = COMPRESSION_NONE + 1; i < COMPRESSION_COUNT; i++)
        if (ends_with(path, ends[i])) return (enum compression)i;
    return COMPRESSION_NONE;
}

/* Returns 1 if the file can be read, and sets *out; 0 if it was recorded as bad; or a code. */
static int detect_file_format(struct input_walk *w, const char *path, const char *stored,
                              enum compression *out)
{
    uint8_t head[FORMAT_HEAD_BYTES];
    char reason[FORMAT_REASON_BYTES];
    int file = w->env->open(w->env, ENV_CWD, stored != NULL ? stored : path, ENV_READ);
    if (file < 0) return record_failed_call(w, file, "open", path);
    int64_t size = 0;
    if (w->list->content == INPUT_TEXT) size = env_read_full(w->env, file, head, sizeof head, 0);
    w->env->close(w->env, file);
    if (size < 0) return record_failed_call(w, (int)size, "read", path);
    *out = format_detect_compression(head, (uint64_t)size);
    if (*out != COMPRESSION_NONE) return 1;
    *out = compression_of_name(path);
    const char *hint =
        format_detect_unsupported(head, (uint64_t)size, *out != COMPRESSION_NONE, reason);
    return hint == NULL ? 1 : record_bad_path(w, GLINT_E_INPUT_FORMAT, path, reason, hint);
}

/* `stored` is the path to open; NULL: `path`. */
static int add_input_file(struct input_walk *w, const char *path, const char *stored,
                          const struct env_stat *stat)
{
    struct input_list *list = w->list;
    enum compression compression = COMPRESSION_NONE;
    int r = detect_file_format(w, path, stored, &compression);
    if (r <= 0) return r;
    if (!array_reserve(&list->files, &list->capacity, list->count + 1, sizeof *list->files))
        return error_no_memory(w->error);
    const char *copy = arena_text(w, path);
    const char *stored_copy = stored != NULL && copy != NULL ? arena_text(w, stored) : NULL;
    if (copy == NULL || (stored != NULL && stored_copy == NULL)) return GLINT_E_NO_MEMORY;
    assert(list->count < list->capacity && stat->kind == ENV_FILE);
    list->files[list->count++] = (struct input_file){.path = copy,
                                                     .stored = stored_copy,
                                                     .size = stat->size,
                                                     .mtime_ns = stat->mtime_ns,
                                                     .device = stat->device,
                                                     .inode = stat->inode,
                                                     .compression = compression};
    list->bytes += stat->size;
    return 0;
}

static int names_add(struct name_list *n, const char *name)
{
    if (!array_reserve(&n->items, &n->capacity, n->count + 1, sizeof *n->items))
        return error_no_memory(n->walk->error);
    n->items[n->count] = arena_text(n->walk, name);
    return n->items[n->count++] != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static void names_fini(struct name_list *n)
{
    mem_free(n->items);
}

static int collect_name(void *arg, const char *name)
{
    struct name_list *n = arg;
    if (name[0] == '_' || name[0] == '.') return 0;
    if (n->pattern != NULL && fnmatch(n->pattern, name, FNM_PERIOD) != 0) return 0;
    return names_add(n, name) == 0 ? 0 : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the names in `dir` that are input and match, sorted. Returns 0 or a negative errno; call
 * names_fini in both cases. */
static int list_input_names(struct name_list *n, struct input_walk *w, const char *dir,
                            const char *pattern)
{
    *n = (struct name_list){.walk = w, .pattern = pattern};
    int r = env_list_dir(w->env, dir, collect_name, n);
    if (r == 0 && n->count > 1) qsort(n->items, n->count, sizeof *n->items, compare_names);
    return r;
}

static int add_directory_entry(struct input_walk *w, const char *path)
{
    struct env_stat stat;
    int r = w->env->stat(w->env, path, &stat);
    if (r == -ENOENT)
        return record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, path, "a dangling symbolic link", NULL);
    if (r < 0) return record_failed_call(w, r, "stat", path);
    if (stat.kind == ENV_FILE) return add_input_file(w, path, NULL, &stat);
    return record_bad_kind(
        w, path, stat.kind == ENV_DIRECTORY ? "a nested directory" : "not a regular file");
}

static int record_directory(struct input_walk *w, const char *path, const struct env_stat *stat)
{
    struct input_list *list = w->list;
    if (!array_reserve(&list->dirs, &list->dir_capacity, list->dir_count + 1, sizeof *list->dirs))
        return error_no_memory(w->error);
    const char *copy = arena_text(w, path);
    if (copy == NULL) return GLINT_E_NO_MEMORY;
    list->dirs[list->dir_count++] = (struct input_dir){copy, stat->device, stat->inode};
    return 0;
}

static int add_directory(struct input_walk *w, const char *dir, const struct env_stat *stat)
{
    struct name_list names;
    int r = list_input_names(&names, w, dir, NULL);
    if (r < 0) r = record_failed_call(w, r, "list", dir);
    if (r == 0) r = record_directory(w, dir, stat);
    for (uint64_t i = 0; r == 0 && i < names.count; i++) {
        char path[PATH_MAX];
        assert(names.items[i] != NULL);
        const char *slash = ends_with(dir, "/") ? "" : "/";
        if (text_format(path, sizeof path, "%s%s%s", dir, slash, names.items[i]))
            r = add_directory_entry(w, path);
        else
            r = record_failed_call(w, -ENAMETOOLONG, "open", dir);
    }
    names_fini(&names);
    return r;
}

/* ---- Outputs of the job itself */

static const struct saved_output *find_saved_output(const struct input_walk *w, const char *path)
{
    const struct saved_output *s = w->list->saved;
    while (s != NULL && !env_paths_are_same(w->env, s->path, path)) s = s->next;
    return s;
}

/* The directory of a saved output contains only part files of this job: no other kinds. */
static int add_saved_part(struct input_walk *w, const char *path, const struct saved_output *saved,
                          const char *name)
{
    char part[PATH_MAX], stored[PATH_MAX];
    struct env_stat stat;
    if (!text_format(part, sizeof part, "%s/%s", path, name) ||
        !text_format(stored, sizeof stored, "%s/%s", saved->directory, name))
        return record_failed_call(w, -ENAMETOOLONG, "open", path);
    int r = w->env->stat(w->env, stored, &stat);
    return r < 0 ? record_failed_call(w, r, "stat", part) : add_input_file(w, part, stored, &stat);
}

static int record_unwritten(struct input_walk *w, const struct saved_output *saved)
{
    struct input_list *list = w->list;
    const uint32_t n = list->unwritten_count;
    const struct saved_output **grown = arena_alloc(&list->arena, sizeof *grown * (n + 1));
    if (grown == NULL) return error_no_memory(w->error);
    for (uint32_t i = 0; i < n; i++) grown[i] = list->unwritten[i];
    grown[n] = saved;
    list->unwritten = grown;
    list->unwritten_count++;
    return 0;
}

static int add_saved_output(struct input_walk *w, const char *path,
                            const struct saved_output *saved)
{
    struct name_list names;
    if (saved->directory == NULL) return record_unwritten(w, saved);
    int r = list_input_names(&names, w, saved->directory, NULL);
    if (r < 0) r = record_failed_call(w, r, "list", path);
    for (uint64_t i = 0; r == 0 && i < names.count; i++)
        r = add_saved_part(w, path, saved, names.items[i]);
    names_fini(&names);
    return r;
}

/* ---- */

static int add_existing(struct input_walk *w, const char *path, const struct env_stat *stat)
{
    if (stat->kind == ENV_FILE) return add_input_file(w, path, NULL, stat);
    if (stat->kind == ENV_DIRECTORY) return add_directory(w, path, stat);
    return record_bad_kind(w, path, "not a regular file");
}

static bool is_glob(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static int add_match(struct name_list *paths, const char *dir, const char *name,
                     const char *slashes)
{
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s%s%s", dir, name, slashes)) return 0; /* cannot exist */
    return names_add(paths, path);
}

/* Matches one component, `name` with the slashes after it, in each directory in `from`. A directory
 * that cannot be listed is an error; a path that is not a directory has no matches. */
static int glob_step(struct input_walk *w, const struct name_list *from, char *name,
                     const char *slashes, struct name_list *to)
{
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < from->count; i++) {
        const char *dir = from->items[i];
        if (!is_glob(name)) {
            r = add_match(to, dir, name, slashes);
            continue;
        }
        struct name_list names;
        r = list_input_names(&names, w, dir[0] != '\0' ? dir : ".", name);
        if (r == -ENOENT || r == -ENOTDIR)
            r = 0;
        else if (r < 0)
            r = record_failed_call(w, r, "list", dir[0] != '\0' ? dir : ".");
        for (uint64_t k = 0; r == 0 && k < names.count; k++)
            r = add_match(to, dir, names.items[k], slashes);
        names_fini(&names);
    }
    return r;
}

/* Expands `pattern` component by component. */
static int glob_paths(struct input_walk *w, const char *pattern, struct name_list *out)
{
    int r = names_add(out, "");
    for (const char *p = pattern; r == 0 && *p != '\0';) {
        const size_t length = strcspn(p, "/"), slash_count = strspn(p + length, "/");
        char name[PATH_MAX], slashes[PATH_MAX];
        struct name_list next = {.walk = w};
        text_format(name, sizeof name, "%.*s", (int)length, p);
        text_format(slashes, sizeof slashes, "%.*s", (int)slash_count, p + length);
        r = glob_step(w, out, name, slashes, &next);
        names_fini(out);
        *out = next;
        p += length + slash_count;
    }
    return r;
}

/* Whether the last component came from a directory's listing: then at least a link exists. */
static bool ends_in_glob(const char *pattern)
{
    const char *slash = strrchr(pattern, '/');
    return is_glob(slash != NULL ? slash : pattern);
}

/* Returns 1 if the path exists; 0 if it does not or was recorded as bad; or a code. */
static int add_glob_match(struct input_walk *w, const char *path, bool listed)
{
    struct env_stat stat;
    int r = w->env->stat(w->env, path, &stat);
    if (r == 0) {
        r = add_existing(w, path, &stat);
        return r == 0 ? 1 : r;
    }
    if (r == -ENOENT && listed)
        return record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, path, "a dangling symbolic link", NULL);
    return r == -ENOENT || r == -ENOTDIR ? 0 : record_failed_call(w, r, "stat", path);
}

static int add_glob(struct input_walk *w, const char *pattern)
{
    struct name_list paths = {.walk = w};
    uint64_t matches = 0;
    const uint64_t bad_before = w->bad_count;
    int r = glob_paths(w, pattern, &paths);
    if (r == 0 && paths.count > 1)
        qsort(paths.items, paths.count, sizeof *paths.items, compare_names);
    for (uint64_t i = 0; r >= 0 && i < paths.count; i++) {
        r = add_glob_match(w, paths.items[i], ends_in_glob(pattern));
        matches += r > 0;
    }
    names_fini(&paths);
    if (r < 0) return r;
    if (matches > 0 || w->bad_count > bad_before) return 0;
    char hint[PATH_HINT_BYTES];
    const char *reason = path_explain_missing(pattern, hint);
    return record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, pattern,
                           reason != NULL ? reason : "no file matches",
                           reason != NULL ? hint : NULL);
}

/* Records that `path` does not exist, with a hint if it looks like a known mistake. */
static int record_missing_path(struct input_walk *w, int error, const char *path)
{
    char hint[PATH_HINT_BYTES];
    const char *reason = path_explain_missing(path, hint);
    if (strcmp(path, "-") == 0)
        return record_bad_kind(w, path, "standard input is not a regular file");
    if (reason == NULL || input_error_code(error) != GLINT_E_INPUT_NOT_FOUND)
        return record_failed_call(w, error, "stat", path);
    return record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, path, reason, hint);
}

static int add_path(struct input_walk *w, const char *text)
{
    struct env_stat stat;
    const char *path = text;
    if (text[0] == '\0')
        return record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, "''", "an empty path", NULL);
    const struct saved_output *saved = find_saved_output(w, path_from_file_url(text));
    if (saved != NULL) return add_saved_output(w, path_from_file_url(text), saved);
    int r = w->env->stat(w->env, path, &stat);
    if (r < 0 && path_from_file_url(text) != text) {
        path = path_from_file_url(text);
        r = w->env->stat(w->env, path, &stat);
    }
    if (r == 0) return add_existing(w, path, &stat);
    return is_glob(path) && !is_fatal(r) ? add_glob(w, path) : record_missing_path(w, r, text);
}

static int add_path_list(struct input_walk *w, const char *paths)
{
    int r = 0;
    for (const char *p = paths; r == 0 && p != NULL;) {
        const char *comma = strchrnul(p, ',');
        char path[PATH_MAX];
        if (text_format(path, sizeof path, "%.*s", (int)(comma - p), p))
            r = add_path(w, path);
        else
            r = record_failed_call(w, -ENAMETOOLONG, "open", path);
        p = *comma == ',' ? comma + 1 : NULL;
    }
    return r;
}

static int report_bad_paths(const struct input_walk *w)
{
    if (w->bad_count == 0) return 0;
    char more[CAUSE_BYTES_KEPT] = "";
    if (w->bad_shown < w->bad_count)
        text_format(more, sizeof more, "; and %" PRIu64 " more", w->bad_count - w->bad_shown);
    return error_set(w->error, w->bad_code, w->hint, "%s%s", w->bad, more);
}

int input_list_resolve(struct env *env, const char *paths, enum input_content content,
                       struct input_list *out, struct glint_error *error)
{
    assert(out->count == 0 && out->files == NULL);
    struct input_walk w = {.env = env, .list = out, .error = error};
    out->content = content;
    struct env_stat stat;
    const bool one = strchr(paths, ',') == NULL || /* or a comma in its name */
                     find_saved_output(&w, path_from_file_url(paths)) != NULL ||
                     env->stat(env, path_from_file_url(paths), &stat) == 0;
    int r = one ? add_path(&w, paths) : add_path_list(&w, paths);
    return r < 0 ? r : report_bad_paths(&w);
}

void input_list_fini(struct input_list *list)
{
    mem_free(list->files);
    mem_free(list->dirs);
    arena_fini(&list->arena);
    *list = (struct input_list){.files = NULL};
}
