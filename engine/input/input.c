/* Resolves files, directories and globs into one list. Bad paths are collected with their reasons,
 * so that the user can fix a long list at once. Each component of a glob is matched in all
 * directories that matched so far, without recursion. */
#include "engine/input/input.h"

#include "engine/base/cancel.h"
#include "engine/base/path.h"
#include "engine/base/text.h"
#include "engine/input/format.h"
#include "engine/input/format_library.h"
#include "engine/input/input_source.h"
#include "engine/input/input_walk.h"
#include "engine/input/remote_target.h"
#include "engine/input/remote_url.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIPE_TEXT "a pipe, which only one process can read"
#define INPUT_ALTERNATIVES_MAX 10000u /* of braces */

/* The names of a directory, or the paths that match the components of a glob so far. */
struct name_list {
    struct input_walk *walk;
    const char *pattern; /* of names; NULL: all */
    char **items;
    uint64_t count, capacity;
};

/* Whether the error is not about this path: the walk stops, since others would fail too. */
static bool is_system_limit_error(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

int input_record_bad_path(struct input_walk *w, enum glint_code code, const char *path,
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
    return input_record_bad_path(
        w, GLINT_E_INPUT_KIND, path, reason,
        "jobs read files, pipes and directories of files; DIR/** reads nested "
        "directories, too");
}

/* Records a bad path, or sets the error if others would fail, too, unless it is set. Returns 0 or a
 * code. */
static int input_record_failed_call(struct input_walk *w, int error, const char *operation,
                                    const char *path)
{
    if (w->error->code != GLINT_OK) return w->error->code; /* it is cancelled */
    if (is_system_limit_error(error))
        return error_set_system(w->error, GLINT_E_INPUT_IO, error, operation, path);
    char reason[128];
    return input_record_bad_path(w, input_error_code(error), path,
                                 strerror_r(-error, reason, sizeof reason), NULL);
}

char *input_copy_text(struct input_walk *w, const char *text)
{
    char *copy = arena_strdup(&w->list->arena, text);
    if (copy == NULL) error_no_memory(w->error);
    return copy;
}

int input_detect_format(struct input_walk *w, const char *path, const char *name,
                        const uint8_t *head, uint64_t size, struct input_file *out)
{
    char reason[FORMAT_REASON_BYTES];
    out->format = format_detect_columns(head, size);
    if (out->format != 0) return 1;
    const char *hint =
        format_detect(name, head, size, w->list->nul_is_text, &out->compression, reason);
    return hint == NULL ? 1 : input_record_bad_path(w, GLINT_E_INPUT_FORMAT, path, reason, hint);
}

/* Of a file that is longer than its head. */
static bool ends_as_orc(struct env *env, int file, const uint8_t *head, uint64_t size)
{
    uint8_t tail[FORMAT_TAIL_BYTES];
    const int64_t n = (int64_t)sizeof tail;
    return memcmp(head, "ORC", 3) == 0 && size > FORMAT_HEAD_BYTES &&
           env_read_full(env, file, tail, sizeof tail, size - sizeof tail) == n &&
           format_is_orc_by_ends(head, tail);
}

/* Returns 1 if the file can be read, and sets the format of *out; 0 if it was recorded as bad; or a
 * code. `size` is that of its stat; *out_unsized: it has another number of bytes, as files of
 * /proc, /sys and some FUSE file systems, which make their bytes when they are read. */
static int detect_file_format(struct input_walk *w, const char *path, const char *stored,
                              uint64_t size, struct input_file *out, bool *out_unsized)
{
    uint8_t head[FORMAT_HEAD_BYTES];
    int file = w->env->open(w->env, ENV_CWD, stored != NULL ? stored : path, ENV_READ);
    if (file < 0) return input_record_failed_call(w, file, "open", path);
    const int64_t n = env_read_full(w->env, file, head, sizeof head, 0);
    struct env_stat now;
    /* A file that another process writes has another size now: its tasks report that. */
    *out_unsized = n >= 0 && (uint64_t)n != (size < sizeof head ? size : sizeof head) &&
                   w->env->stat_open(w->env, file, &now) == 0 && now.size == size;
    const bool text = w->list->content == INPUT_TEXT;
    const bool orc = text && n == (int64_t)sizeof head && ends_as_orc(w->env, file, head, size);
    w->env->close(w->env, file);
    if (n < 0) return input_record_failed_call(w, (int)n, "read", path);
    if (orc) out->format = FORMAT_ORC;
    if (orc) return 1;
    return input_detect_format(w, path, path, head, text ? (uint64_t)n : 0, out);
}

int input_append_file(struct input_walk *w, const struct input_file *file)
{
    struct input_list *list = w->list;
    if (!array_reserve(&list->files, &list->capacity, list->count + 1, sizeof *list->files))
        return error_no_memory(w->error);
    assert(list->count < list->capacity);
    struct input_file *added = &list->files[list->count];
    *added = *file;
    added->path = input_copy_text(w, file->path);
    if (file->stored != NULL) added->stored = input_copy_text(w, file->stored);
    if (w->error->code != GLINT_OK) return w->error->code;
    added->nul_is_text = list->nul_is_text;
    added->cancelled = list->cancelled;
    list->count++;
    list->bytes += file->size;
    return cancel_check(w->env, list->cancelled, w->error);
}

/* Adds standard input, a FIFO or a file without a size, to be copied when all paths are known to be
 * good. */
static int add_pipe(struct input_walk *w, const char *path, const char *why)
{
    if (w->list->spool == NULL)
        return input_record_bad_path(
            w, GLINT_E_INPUT_KIND, path, why,
            "run the job in one process, without a cluster, or save the piped "
            "data to a file; explain reads files only");
    return input_append_file(w, &(struct input_file){.path = path, .pipe = true});
}

/* `stored` is the path to open; NULL: `path`. */
static int add_input_file(struct input_walk *w, const char *path, const char *stored,
                          const struct env_stat *stat)
{
    struct input_file file = {.path = path,
                              .stored = stored,
                              .size = stat->size,
                              .mtime_ns = stat->mtime_ns,
                              .device = stat->device,
                              .inode = stat->inode};
    bool unsized;
    int r = detect_file_format(w, path, stored, stat->size, &file, &unsized);
    if (r <= 0) return r;
    if (unsized && stored == NULL)
        return add_pipe(w, path, "a file whose size is only known when it is read");
    assert(stat->kind == ENV_FILE);
    return input_append_file(w, &file);
}

/* Adds a copy. Returns 0 or NO_MEMORY. */
static int input_names_add(struct name_list *n, const char *name)
{
    if (!array_reserve(&n->items, &n->capacity, n->count + 1, sizeof *n->items))
        return error_no_memory(n->walk->error);
    n->items[n->count] = input_copy_text(n->walk, name);
    return n->items[n->count++] != NULL ? 0 : GLINT_E_NO_MEMORY;
}

/* Whether `n`, which is sorted, or NULL for no names, has the name. */
static void input_names_fini(struct name_list *n)
{
    mem_free(n->items);
}

/* Whether a name matches a component of a pattern; NULL: any. A name that begins with _ or . is
 * hidden unless the component begins so, too. */
static bool name_matches_glob(const char *pattern, const char *name)
{
    const bool hidden = name[0] == '_' || name[0] == '.';
    if (hidden && (pattern == NULL || pattern[0] != name[0])) return false;
    return pattern == NULL || fnmatch(pattern, name, FNM_PERIOD) == 0;
}

static int collect_input_name(void *arg, const char *name)
{
    struct name_list *n = arg;
    if (!name_matches_glob(n->pattern, name)) return 0;
    return input_names_add(n, name) == 0 ? 0 : -ENOMEM;
}

static int compare_file_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts by bytes. */
static void input_names_sort(struct name_list *n)
{
    if (n->count > 1) qsort(n->items, n->count, sizeof *n->items, compare_file_names);
}

static bool input_names_contain(const struct name_list *n, const char *name)
{
    return n != NULL && n->count > 0 &&
           bsearch(&name, n->items, n->count, sizeof *n->items, compare_file_names) != NULL;
}

/* Lists the names in `dir` that are input and match, sorted; none if it cannot be listed, which is
 * recorded of `path`, unless that is NULL and there is no such directory. Returns 0 or a code; call
 * input_names_fini in any case. */
static int input_names_list(struct name_list *n, struct input_walk *w, const char *dir,
                            const char *path, const char *pattern)
{
    *n = (struct name_list){.walk = w, .pattern = pattern};
    if (cancel_check(w->env, w->list->cancelled, w->error) != 0) return w->error->code;
    int r = env_list_dir(w->env, dir, collect_input_name, n);
    if (r == 0) input_names_sort(n);
    if (r == 0 || (path == NULL && (r == -ENOENT || r == -ENOTDIR))) return 0;
    n->count = 0;
    return input_record_failed_call(w, r, "list", path != NULL ? path : dir);
}

bool input_is_glob(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static int add_matched_path(struct name_list *paths, const char *dir, const char *name,
                            const char *slashes)
{
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s%s%s", dir, name, slashes)) return 0; /* cannot exist */
    return input_names_add(paths, path);
}

static bool input_is_link_to_directory(struct input_walk *w, const char *path)
{
    struct env_stat stat;
    return w->env->stat_name(w->env, ENV_CWD, path, &stat) == 0 && stat.kind == ENV_OTHER &&
           w->env->stat(w->env, path, &stat) == 0 && stat.kind == ENV_DIRECTORY;
}

/* Adds `path`, a name in a directory: to `dirs` if it is a directory itself, or else to `files`,
 * unless that is NULL. */
static int add_walked_entry(struct input_walk *w, const char *path, struct name_list *dirs,
                            struct name_list *files)
{
    struct env_stat stat;
    if (cancel_check(w->env, w->list->cancelled, w->error) != 0) return w->error->code;
    int r = w->env->stat_name(w->env, ENV_CWD, path, &stat);
    if (r < 0) return input_record_failed_call(w, r, "stat", path);
    if (stat.kind == ENV_DIRECTORY) return add_matched_path(dirs, path, "", "/");
    return files == NULL || input_is_link_to_directory(w, path) ? 0 : input_names_add(files, path);
}

/* Matches ** in each directory in `from`: the directory and all below it, or, if it is the last
 * component, the files in these. */
static int expand_double_star(struct input_walk *w, const struct name_list *from, bool last,
                              struct name_list *to)
{
    struct name_list found = {.walk = w};
    struct name_list *dirs = last ? &found : to;
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < from->count; i++) r = input_names_add(dirs, from->items[i]);
    for (uint64_t i = 0; r == 0 && i < dirs->count; i++) {
        struct name_list names;
        const char *dir = dirs->items[i];
        r = input_names_list(&names, w, dir[0] != '\0' ? dir : ".", i < from->count ? NULL : dir,
                             NULL);
        for (uint64_t k = 0; r == 0 && k < names.count; k++) {
            char path[PATH_MAX];
            if (text_format(path, sizeof path, "%s%s", dir, names.items[k]))
                r = add_walked_entry(w, path, dirs, last ? to : NULL);
        }
        input_names_fini(&names);
    }
    input_names_fini(&found);
    return r;
}

static int add_path_with_component(struct input_walk *w, const char *dir, const char *name,
                                   const char *slashes, struct name_list *to)
{
    char path[PATH_MAX];
    if (w->in_tree && text_format(path, sizeof path, "%s%s", dir, name) &&
        input_is_link_to_directory(w, path))
        return 0;
    return add_matched_path(to, dir, name, slashes);
}

/* Matches one component, `name` with the slashes after it, in each directory in `from`. A directory
 * that cannot be listed is an error; a path that is not a directory has no matches. */
static int expand_glob_component(struct input_walk *w, const struct name_list *from, char *name,
                                 const char *slashes, bool last, struct name_list *to)
{
    int r = 0;
    if (strcmp(name, "**") == 0) return expand_double_star(w, from, last, to);
    for (uint64_t i = 0; r == 0 && i < from->count; i++) {
        const char *dir = from->items[i];
        if (!input_is_glob(name)) {
            r = add_path_with_component(w, dir, name, slashes, to);
            continue;
        }
        struct name_list names;
        r = input_names_list(&names, w, dir[0] != '\0' ? dir : ".", NULL, name);
        for (uint64_t k = 0; r == 0 && k < names.count; k++)
            r = add_path_with_component(w, dir, names.items[k], slashes, to);
        input_names_fini(&names);
    }
    return r;
}

/* ---- Paths of a list */

void input_glob_init(struct input_glob *g, char *pattern)
{
    *g = (struct input_glob){.count = 0};
    for (char *p = pattern; p != NULL && g->count < GLOB_COMPONENTS_MAX; g->count++) {
        g->names[g->count] = p;
        p = strchr(p, '/');
        if (p != NULL) *p++ = '\0';
        g->too_long = p != NULL;
    }
    assert(g->count > 0);
    if (g->names[g->count - 1][0] == '\0') g->names[g->count - 1] = "*";
}

static bool is_double_star(const struct input_glob *g, uint32_t i)
{
    return strcmp(g->names[i], "**") == 0;
}

/* Adds the states in which ** has matched nothing; the last one matches a name at least. */
static uint64_t add_states_after_double_stars(const struct input_glob *g, uint64_t states)
{
    for (uint32_t i = 0; i + 1 < g->count; i++)
        if ((states >> i & 1) != 0 && is_double_star(g, i)) states |= UINT64_C(2) << i;
    return states;
}

/* Bit i of `states`: the first i components have matched what is before the name. */
static uint64_t match_name_in_states(const struct input_glob *g, uint64_t states, const char *name)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        if ((states >> i & 1) == 0) continue;
        if (!is_double_star(g, i))
            next |= name_matches_glob(g->names[i], name) ? UINT64_C(2) << i : 0;
        else if (name_matches_glob(NULL, name))
            next |= UINT64_C(1) << i | (i + 1 == g->count ? UINT64_C(2) << i : 0);
    }
    return add_states_after_double_stars(g, next);
}

bool input_glob_spans_directories(const struct input_glob *g)
{
    return g->count > 1 || is_double_star(g, 0);
}

enum glob_match input_glob_match(const struct input_glob *g, const char *path, bool directory,
                                 size_t *out_size)
{
    const uint64_t all = UINT64_C(1) << g->count;
    const bool files = is_double_star(g, g->count - 1); /* all that match are files */
    uint64_t states = add_states_after_double_stars(g, 1);
    char name[REMOTE_URL_BYTES]; /* names in lists of stores may be longer than those of files */
    *out_size = 0;
    for (const char *p = path; p != NULL && (states != 0 || *out_size > 0);) {
        const size_t size = strcspn(p, "/"), end = (size_t)(p - path) + size;
        if (!text_format(name, sizeof name, "%.*s", (int)size, p)) return GLOB_NONE;
        if (!name_matches_glob(NULL, name)) *out_size = 0; /* hidden in a directory that matches */
        states = match_name_in_states(g, states, name);
        p = path[end] == '/' ? path + end + 1 : NULL;
        if ((states & all) != 0 && !files && (p != NULL || directory) && *out_size == 0)
            *out_size = end;
    }
    if (directory && (states & ~all) != 0) return GLOB_BEGIN;
    if (!directory && (states & all) != 0) return GLOB_FILE;
    return *out_size > 0 ? GLOB_DIRECTORY : GLOB_NONE;
}

/* ---- */

/* Expands `pattern` component by component; `out` is empty. The paths may not exist. Returns 0 or a
 * code. */
static int input_glob_expand(struct input_walk *w, const char *pattern, struct name_list *out)
{
    int r = input_names_add(out, "");
    w->in_tree = false;
    for (const char *p = pattern; r == 0 && *p != '\0';) {
        const size_t length = strcspn(p, "/"), slash_count = strspn(p + length, "/");
        char name[PATH_MAX], slashes[PATH_MAX];
        struct name_list next = {.walk = w};
        text_format(name, sizeof name, "%.*s", (int)length, p);
        text_format(slashes, sizeof slashes, "%.*s", (int)slash_count, p + length);
        p += length + slash_count;
        r = expand_glob_component(w, out, name, slashes, *p == '\0', &next);
        w->in_tree = w->in_tree || strcmp(name, "**") == 0;
        input_names_fini(out);
        *out = next;
    }
    return r;
}

/* ---- Expands {a,b} in paths, as shells and Spark do: one group after the other, without
 * recursion, until none is left. */

/* Returns the brace that closes `open`, or NULL. */
static const char *input_find_closing_brace(const char *open)
{
    unsigned depth = 0;
    assert(*open == '{');
    for (const char *p = open; *p != '\0' && p - open < PATH_MAX; p++) {
        depth += *p == '{';
        if (*p == '}' && --depth == 0) return p;
    }
    return NULL;
}

/* Returns the end of the alternative that starts at `p`: its comma, or the closing brace. */
static const char *find_end_of_alternative(const char *p)
{
    unsigned depth = 0;
    for (; depth > 0 || (*p != ',' && *p != '}'); p++) {
        assert(*p != '\0');
        depth += *p == '{';
        depth -= *p == '}';
    }
    return p;
}

/* Returns the first group of two or more alternatives, or NULL. */
static const char *find_brace_group(const char *text)
{
    for (const char *p = strchr(text, '{'); p != NULL; p = strchr(p + 1, '{'))
        if (input_find_closing_brace(p) != NULL && *find_end_of_alternative(p + 1) == ',') return p;
    return NULL;
}

/* Whether it has a group {a,b}. Other braces are ordinary bytes. */
static bool input_has_braces(const char *text)
{
    return find_brace_group(text) != NULL;
}

/* Adds the texts that replace the first group of `text` by each of its alternatives. */
static int expand_brace_group(const char *text, const char *open, struct name_list *out)
{
    const char *end = input_find_closing_brace(open), *p = open;
    int r = 0;
    while (r == 0 && p != end) {
        char path[PATH_MAX];
        const char *start = p + 1;
        p = find_end_of_alternative(start);
        const int n = snprintf(path, sizeof path, "%.*s%.*s%s", (int)(open - text), text,
                               (int)(p - start), start, end + 1);
        if (n < 0 || (size_t)n >= sizeof path)
            return input_record_bad_path(out->walk, GLINT_E_INPUT_NOT_FOUND, text,
                                         "an alternative in braces is too long", NULL);
        r = input_names_add(out, path);
    }
    return r;
}

static int input_expand_braces(struct input_walk *w, const char *text, struct name_list *out)
{
    bool again = true;
    int r = input_names_add(out, text);
    while (r == 0 && again) {
        struct name_list next = {.walk = w};
        again = false;
        for (uint64_t i = 0; r == 0 && i < out->count; i++) {
            const char *group = find_brace_group(out->items[i]);
            again = again || group != NULL;
            r = group != NULL ? expand_brace_group(out->items[i], group, &next)
                              : input_names_add(&next, out->items[i]);
            if (r == 0 && next.count > INPUT_ALTERNATIVES_MAX)
                r = error_set(w->error, GLINT_E_PLAN_LIMIT, "use a pattern, such as *",
                              "%s: the braces stand for more than %u paths", text,
                              INPUT_ALTERNATIVES_MAX);
        }
        input_names_fini(out);
        *out = next;
    }
    return r;
}

/* A path that a pattern matches itself is added for that, once. */
static bool is_path_matched_by_glob(const struct input_walk *w, const char *path, bool directory)
{
    char slash[PATH_MAX];
    if (input_names_contain(w->matches, path)) return true;
    return directory && text_format(slash, sizeof slash, "%s/", path) &&
           input_names_contain(w->matches, slash);
}

/* A name that was listed cannot be examined. */
static int record_failed_stat(struct input_walk *w, int error, const char *path)
{
    return error == -ENOENT ? input_record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, path,
                                                    "a dangling symbolic link", NULL)
                            : input_record_failed_call(w, error, "stat", path);
}

/* Adds `name` in `dir`; `stored`: the directory of a saved output that it is in now, or NULL. */
static int add_directory_entry(struct input_walk *w, const char *dir, const char *stored,
                               const char *name)
{
    char path[PATH_MAX], part[PATH_MAX];
    struct env_stat stat;
    if (!text_format(path, sizeof path, "%s%s%s", dir, text_ends_with(dir, "/") ? "" : "/", name) ||
        !text_format(part, sizeof part, "%s/%s", stored != NULL ? stored : "", name))
        return input_record_failed_call(w, -ENAMETOOLONG, "open", dir);
    int r = w->env->stat(w->env, stored != NULL ? part : path, &stat);
    if (r < 0 && stored != NULL) return input_record_failed_call(w, r, "stat", path);
    if (r < 0) return record_failed_stat(w, r, path);
    if (is_path_matched_by_glob(w, path, stat.kind == ENV_DIRECTORY)) return 0;
    if (w->in_tree && input_is_link_to_directory(w, path)) return 0;
    if (stat.kind == ENV_FILE) return add_input_file(w, path, stored != NULL ? part : NULL, &stat);
    if (stat.kind == ENV_DIRECTORY && w->list->skips_nested) return 0;
    return record_bad_kind(
        w, path, stat.kind == ENV_DIRECTORY ? "a nested directory" : "not a regular file");
}

static int add_directory_entries(struct input_walk *w, const char *dir, const char *stored)
{
    struct name_list names;
    int r = input_names_list(&names, w, stored != NULL ? stored : dir, dir, NULL);
    for (uint64_t i = 0; r == 0 && i < names.count; i++)
        r = add_directory_entry(w, dir, stored, names.items[i]);
    input_names_fini(&names);
    return r;
}

static int add_read_directory(struct input_walk *w, const char *path, const struct env_stat *stat)
{
    struct input_list *list = w->list;
    if (!array_reserve(&list->dirs, &list->dir_capacity, list->dir_count + 1, sizeof *list->dirs))
        return error_no_memory(w->error);
    const char *copy = input_copy_text(w, path);
    if (copy == NULL) return GLINT_E_NO_MEMORY;
    list->dirs[list->dir_count++] = (struct input_dir){copy, stat->device, stat->inode};
    return 0;
}

/* ---- Outputs of the job itself */

static const struct saved_output *find_saved_output(const struct input_walk *w, const char *path)
{
    const struct saved_output *s = w->list->saved;
    while (s != NULL && !env_paths_are_same(w->env, s->path, path)) s = s->next;
    return s;
}

static int record_unwritten_output(struct input_walk *w, const struct saved_output *saved)
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

/* ---- Pipes */

static int spool_pipe(struct input_walk *w, struct input_file *file)
{
    const struct spooled_input *copy;
    struct env_stat stat;
    int r = input_spool_copy(w->list->spool, w->env, file->path, file->cancelled, &copy, w->error);
    if (r < 0) return r;
    file->stored = copy->stored;
    r = w->env->stat(w->env, copy->stored, &stat);
    if (r < 0) return input_record_failed_call(w, r, "stat", file->path);
    file->size = stat.size;
    file->mtime_ns = stat.mtime_ns;
    file->device = stat.device;
    file->inode = stat.inode;
    w->list->bytes += stat.size;
    bool unsized;
    r = detect_file_format(w, file->path, file->stored, file->size, file, &unsized);
    return r < 0 ? r : 0;
}

static int spool_pipes(struct input_walk *w)
{
    int r = 0;
    for (uint64_t i = 0; r == 0 && w->bad_count == 0 && i < w->list->count; i++)
        if (w->list->files[i].pipe) r = spool_pipe(w, &w->list->files[i]);
    return r;
}

/* ---- */

static bool is_null_device(const struct input_walk *w, const struct env_stat *stat)
{
    struct env_stat null;
    return w->env->stat(w->env, "/dev/null", &null) == 0 && null.device == stat->device &&
           null.inode == stat->inode;
}

/* An empty input: `join a /dev/null` is an idiom. */
static int add_null_device(struct input_walk *w, const char *path, const struct env_stat *stat)
{
    return input_append_file(w, &(struct input_file){.path = path,
                                                     .mtime_ns = stat->mtime_ns,
                                                     .pipe = w->list->spool != NULL});
}

static int add_existing_path(struct input_walk *w, const char *path, const struct env_stat *stat)
{
    if (stat->kind == ENV_FILE) return add_input_file(w, path, NULL, stat);
    if (stat->kind == ENV_DIRECTORY && add_read_directory(w, path, stat) != 0)
        return w->error->code;
    if (stat->kind == ENV_DIRECTORY) return add_directory_entries(w, path, NULL);
    if (stat->kind == ENV_FIFO) return add_pipe(w, path, PIPE_TEXT);
    if (is_null_device(w, stat)) return add_null_device(w, path, stat);
    return record_bad_kind(w, path, "not a regular file");
}

/* Whether the last component came from a directory's listing: then at least a link exists. */
static bool ends_in_glob(const char *pattern)
{
    const char *slash = strrchr(pattern, '/');
    return input_is_glob(slash != NULL ? slash : pattern);
}

/* Returns 1 if the path exists; 0 if it does not or was recorded as bad; or a code. */
static int add_glob_match(struct input_walk *w, const char *path, bool listed)
{
    struct env_stat stat;
    int r = w->env->stat(w->env, path, &stat);
    if (r == 0) {
        /* A pipe without a writer would wait without end, unnamed by the user. */
        r = stat.kind == ENV_FIFO ? record_bad_kind(w, path, "a named pipe that a pattern matches")
                                  : add_existing_path(w, path, &stat);
        return r == 0 ? 1 : r;
    }
    return r == -ENOTDIR || (r == -ENOENT && !listed) ? 0 : record_failed_stat(w, r, path);
}

static int add_matches_of_glob(struct input_walk *w, const char *pattern)
{
    struct name_list paths = {.walk = w};
    uint64_t matches = 0;
    const uint64_t bad_before = w->bad_count;
    int r = input_glob_expand(w, pattern, &paths);
    if (r == 0) input_names_sort(&paths);
    w->matches = &paths;
    for (uint64_t i = 0; r >= 0 && i < paths.count; i++) {
        /* Several ** reach a directory in more than one way. */
        if (i > 0 && strcmp(paths.items[i], paths.items[i - 1]) == 0) continue;
        r = add_glob_match(w, paths.items[i], ends_in_glob(pattern));
        matches += r > 0;
    }
    w->matches = NULL;
    w->in_tree = false;
    input_names_fini(&paths);
    if (r < 0) return r;
    if (matches > 0 || w->bad_count > bad_before) return 0;
    char hint[PATH_HINT_BYTES];
    const char *reason = path_explain_missing(pattern, hint);
    return input_record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, pattern,
                                 reason != NULL ? reason : "no file matches",
                                 reason != NULL ? hint : NULL);
}

/* Records that `path` does not exist, with a hint if it looks like a known mistake. */
static int record_missing_path(struct input_walk *w, int error, const char *path)
{
    char hint[PATH_HINT_BYTES];
    const char *reason = path_explain_missing(path, hint);
    if (reason == NULL || input_error_code(error) != GLINT_E_INPUT_NOT_FOUND)
        return input_record_failed_call(w, error, "stat", path);
    return input_record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, path, reason, hint);
}

static int add_input_path(struct input_walk *w, const char *text);

/* Each alternative is a path of its own: one that does not exist is an error. */
static int add_brace_alternatives(struct input_walk *w, const char *text)
{
    struct name_list paths = {.walk = w};
    int r = input_expand_braces(w, text, &paths);
    for (uint64_t i = 0; r == 0 && i < paths.count; i++) r = add_input_path(w, paths.items[i]);
    input_names_fini(&paths);
    return r;
}

static int add_input_path(struct input_walk *w, const char *text)
{
    struct env_stat stat;
    const char *path = text;
    if (text[0] == '\0')
        return input_record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, "''", "an empty path", NULL);
    if (strcmp(text, INPUT_STDIN) == 0) return add_pipe(w, text, PIPE_TEXT);
    const struct saved_output *saved = find_saved_output(w, path_from_file_url(text));
    if (saved != NULL && saved->directory == NULL) return record_unwritten_output(w, saved);
    if (saved != NULL && remote_url_kind(saved->directory) != REMOTE_NONE)
        return input_record_bad_path(w, GLINT_E_INPUT_KIND, text,
                                     "an output of this job, whose parts cannot be read before the "
                                     "job ends",
                                     "save it to a directory of a file system first");
    if (saved != NULL) return add_directory_entries(w, path_from_file_url(text), saved->directory);
    int r = w->env->stat(w->env, path, &stat);
    if (r < 0 && path_from_file_url(text) != text) {
        path = path_from_file_url(text);
        r = w->env->stat(w->env, path, &stat);
    }
    if (r == 0) return add_existing_path(w, path, &stat);
    if (input_has_braces(text) && remote_url_kind(text) != REMOTE_HTTP && !is_system_limit_error(r))
        return add_brace_alternatives(w, text);
    if (remote_url_kind(text) != REMOTE_NONE && !is_system_limit_error(r))
        return input_add_url(w, text);
    return input_is_glob(path) && !is_system_limit_error(r) ? add_matches_of_glob(w, path)
                                                            : record_missing_path(w, r, text);
}

/* Copies the path before the next comma that has no backslash before it and is not in braces. Of n
 * backslashes before a comma, n/2 belong to the name. Returns the rest, or NULL after the last
 * path; *out_fits is false if the path is longer than PATH_MAX. */
static const char *copy_next_path(const char *p, char *out, bool *out_fits)
{
    size_t n = 0, backslashes = 0; /* just before *p */
    const char *closed = p;        /* the end of the braces around *p */
    *out_fits = true;
    for (; *p != '\0'; p++) {
        if (*p == '{' && p >= closed && input_find_closing_brace(p) != NULL)
            closed = input_find_closing_brace(p);
        if (*p == ',') {
            n -= backslashes - backslashes / 2;
            if (backslashes % 2 == 0 && p >= closed) break;
        }
        backslashes = *p == '\\' ? backslashes + 1 : 0;
        *out_fits = n + 1 < PATH_MAX;
        if (!*out_fits) n--;
        out[n++] = *p;
    }
    out[n] = '\0';
    return *p == ',' ? p + 1 : NULL;
}

static int add_path_list(struct input_walk *w, const char *paths)
{
    int r = 0;
    for (const char *p = paths; r == 0 && p != NULL;) {
        char path[PATH_MAX];
        bool fits;
        p = copy_next_path(p, path, &fits);
        r = fits ? add_input_path(w, path)
                 : input_record_failed_call(w, -ENAMETOOLONG, "open", path);
    }
    return r;
}

/* Rows of text and rows of columns have no common form. */
static int check_files_of_one_kind(struct input_walk *w)
{
    struct input_list *list = w->list;
    for (uint64_t i = 0; i < list->count; i++) {
        const struct input_file *file = &list->files[i];
        if ((file->format != 0) != (list->files[0].format != 0))
            return input_record_bad_path(w, GLINT_E_INPUT_FORMAT, file->path,
                                         file->format != 0
                                             ? "a file of columns beside files of text"
                                             : "no file of columns, as others are",
                                         "read them by two jobs");
    }
    list->has_columns = list->count > 0 && list->files[0].format != 0;
    return 0;
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
    int r = one ? add_input_path(&w, paths) : add_path_list(&w, paths);
    if (r == 0) r = spool_pipes(&w);
    if (r == 0 && w.bad_count == 0) r = check_files_of_one_kind(&w);
    return r < 0 ? r : report_bad_paths(&w);
}

void input_list_fini(struct input_list *list)
{
    mem_free(list->files);
    mem_free(list->dirs);
    buffer_fini(&list->json);
    arena_fini(&list->arena);
    *list = (struct input_list){.files = NULL};
}
