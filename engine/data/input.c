/* Three ways to name files, one list. What cannot be used is gathered with its reason while the
 * walk goes on, so that a user mends a long list in one go. */
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

struct walk {
    struct env *env;
    struct input_list *list;
    struct glint_error *error;
    /* What cannot be used, so far. */
    uint64_t bad_count, bad_shown;
    enum glint_code bad_code;                           /* the first one's */
    char hint[sizeof(((struct glint_error *)0)->hint)]; /* of the first one that has any */
    char bad[sizeof(((struct glint_error *)0)->cause) - CAUSE_BYTES_KEPT];
};

/* Names while a folder is listed: they come in no order. */
struct names {
    struct walk *walk;
    const char *pattern; /* NULL: all */
    char **items;
    uint64_t count, capacity;
};

enum glint_code input_code(int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -ELOOP:
    case -ENAMETOOLONG: return GLINT_E_INPUT_MISSING;
    case -EACCES:
    case -EPERM: return GLINT_E_INPUT_DENIED;
    case -EISDIR:
    case -ENXIO: return GLINT_E_INPUT_KIND;
    default: return GLINT_E_INPUT_IO;
    }
}

/* Not this path's fault: no reason to look at the others. */
static bool is_fatal(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* Notes a path that cannot be used; the walk goes on. `hint` may be NULL. */
static int bad_path(struct walk *w, enum glint_code code, const char *path, const char *reason,
                    const char *hint)
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

static int bad_kind(struct walk *w, const char *path, const char *reason)
{
    return bad_path(w, GLINT_E_INPUT_KIND, path, reason,
                    "jobs read regular files, and folders of such: save what comes through a pipe, "
                    "name the folders inside of a folder one by one");
}

static int bad_call(struct walk *w, int error, const char *verb, const char *path)
{
    if (is_fatal(error)) return error_set_system(w->error, GLINT_E_INPUT_IO, error, verb, path);
    char reason[128];
    return bad_path(w, input_code(error), path, strerror_r(-error, reason, sizeof reason), NULL);
}

static char *arena_text(struct walk *w, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = arena_alloc(&w->list->arena, size);
    if (copy == NULL)
        error_no_memory(w->error);
    else
        memcpy(copy, text, size);
    return copy;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

/* 1: the file can be read, and is gzip if *gzip says so; 0: it is noted as bad; below 0: a code. */
static int look_into(struct walk *w, const char *path, const char *stored, bool *gzip)
{
    uint8_t head[FORMAT_HEAD_BYTES];
    char reason[FORMAT_REASON_BYTES];
    int file = w->env->open(w->env, ENV_CWD, stored != NULL ? stored : path, ENV_READ);
    if (file < 0) return bad_call(w, file, "open", path);
    int64_t size = 0;
    if (w->list->content == INPUT_TEXT) size = env_read_full(w->env, file, head, sizeof head, 0);
    w->env->close(w->env, file);
    if (size < 0) return bad_call(w, (int)size, "read", path);
    *gzip = ends_with(path, ".gz") || format_is_gzip(head, (uint64_t)size);
    if (format_is_gzip(head, (uint64_t)size)) return 1;
    const char *hint = format_refuse(head, (uint64_t)size, *gzip, reason);
    return hint == NULL ? 1 : bad_path(w, GLINT_E_INPUT_FORMAT, path, reason, hint);
}

/* `stored` is where the file is now, NULL: at `path`. */
static int add_file(struct walk *w, const char *path, const char *stored,
                    const struct env_stat *stat)
{
    struct input_list *list = w->list;
    bool gzip = false;
    int r = look_into(w, path, stored, &gzip);
    if (r <= 0) return r;
    if (list->count == list->capacity) {
        const uint64_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        struct input_file *files = mem_grow(list->files, list->count * sizeof *list->files,
                                            capacity * sizeof *list->files);
        if (files == NULL) return error_no_memory(w->error);
        list->files = files;
        list->capacity = capacity;
    }
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
                                                     .gzip = gzip};
    list->bytes += stat->size;
    return 0;
}

static int keep_name(void *arg, const char *name)
{
    struct names *n = arg;
    if (name[0] == '_' || name[0] == '.') return 0;
    if (n->pattern != NULL && fnmatch(n->pattern, name, FNM_PERIOD) != 0) return 0;
    if (n->count == n->capacity) {
        const uint64_t capacity = n->capacity > 0 ? 2 * n->capacity : 64;
        char **items = mem_grow(n->items, n->count * sizeof *n->items, capacity * sizeof *n->items);
        if (items == NULL) return -ENOMEM;
        n->items = items;
        n->capacity = capacity;
    }
    assert(n->count < n->capacity);
    n->items[n->count] = arena_text(n->walk, name);
    return n->items[n->count++] != NULL ? 0 : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in `folder` that count as input and match, sorted. 0 or a negative errno; names_fini.
 */
static int names_list(struct names *n, struct walk *w, const char *folder, const char *pattern)
{
    *n = (struct names){.walk = w, .pattern = pattern};
    int r = env_list(w->env, folder, keep_name, n);
    if (r == 0 && n->count > 1) qsort(n->items, n->count, sizeof *n->items, compare_names);
    return r;
}

static void names_fini(struct names *n)
{
    mem_free(n->items);
}

static int add_folder_entry(struct walk *w, const char *path)
{
    struct env_stat stat;
    int r = w->env->stat(w->env, path, &stat);
    if (r == -ENOENT) return bad_path(w, GLINT_E_INPUT_MISSING, path, "a link to nothing", NULL);
    if (r < 0) return bad_call(w, r, "stat", path);
    if (stat.kind == ENV_FILE) return add_file(w, path, NULL, &stat);
    return bad_kind(w, path,
                    stat.kind == ENV_FOLDER ? "a folder inside a folder" : "not a regular file");
}

static int note_folder(struct walk *w, const char *path, const struct env_stat *stat)
{
    struct input_list *list = w->list;
    if (list->folder_count == list->folder_capacity) {
        const uint64_t capacity = list->folder_capacity > 0 ? 2 * list->folder_capacity : 4;
        struct input_folder *folders =
            mem_grow(list->folders, list->folder_count * sizeof *folders,
                     capacity * sizeof *folders);
        if (folders == NULL) return error_no_memory(w->error);
        list->folders = folders;
        list->folder_capacity = capacity;
    }
    const char *copy = arena_text(w, path);
    if (copy == NULL) return GLINT_E_NO_MEMORY;
    list->folders[list->folder_count++] =
        (struct input_folder){copy, stat->device, stat->inode};
    return 0;
}

static int add_folder(struct walk *w, const char *folder, const struct env_stat *stat)
{
    struct names names;
    int r = names_list(&names, w, folder, NULL);
    if (r < 0) r = bad_call(w, r, "list", folder);
    if (r == 0) r = note_folder(w, folder, stat);
    for (uint64_t i = 0; r == 0 && i < names.count; i++) {
        char path[PATH_MAX];
        assert(names.items[i] != NULL);
        const char *slash = ends_with(folder, "/") ? "" : "/";
        if (text_format(path, sizeof path, "%s%s%s", folder, slash, names.items[i]))
            r = add_folder_entry(w, path);
        else
            r = bad_call(w, -ENAMETOOLONG, "open", folder);
    }
    names_fini(&names);
    return r;
}

/* ---- Outputs of the job itself */

static const struct saved_output *find_saved(const struct walk *w, const char *path)
{
    const struct saved_output *s = w->list->saved;
    while (s != NULL && !env_is_same_name(w->env, s->path, path)) s = s->next;
    return s;
}

/* Only files of parts are in it, made by this job. */
static int add_part(struct walk *w, const char *path, const struct saved_output *saved,
                    const char *name)
{
    char part[PATH_MAX], stored[PATH_MAX];
    struct env_stat stat;
    if (!text_format(part, sizeof part, "%s/%s", path, name) ||
        !text_format(stored, sizeof stored, "%s/%s", saved->directory, name))
        return bad_call(w, -ENAMETOOLONG, "open", path);
    int r = w->env->stat(w->env, stored, &stat);
    return r < 0 ? bad_call(w, r, "stat", part) : add_file(w, part, stored, &stat);
}

static int note_unwritten(struct walk *w, const struct saved_output *saved)
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

static int add_saved(struct walk *w, const char *path, const struct saved_output *saved)
{
    struct names names;
    if (saved->directory == NULL) return note_unwritten(w, saved);
    int r = names_list(&names, w, saved->directory, NULL);
    if (r < 0) r = bad_call(w, r, "list", path);
    for (uint64_t i = 0; r == 0 && i < names.count; i++)
        r = add_part(w, path, saved, names.items[i]);
    names_fini(&names);
    return r;
}

/* ---- */

static int add_existing(struct walk *w, const char *path, const struct env_stat *stat)
{
    if (stat->kind == ENV_FILE) return add_file(w, path, NULL, stat);
    if (stat->kind == ENV_FOLDER) return add_folder(w, path, stat);
    return bad_kind(w, path, "not a regular file");
}

static bool is_magic(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* Paths while a glob is followed from folder to folder, in order. */
struct paths {
    char **items;
    uint64_t count, capacity;
};

static int paths_add(struct walk *w, struct paths *p, const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s%s", folder, name)) return 0; /* cannot exist */
    if (p->count == p->capacity) {
        const uint64_t capacity = p->capacity > 0 ? 2 * p->capacity : 16;
        char **items = mem_grow(p->items, p->count * sizeof *p->items, capacity * sizeof *p->items);
        if (items == NULL) return error_no_memory(w->error);
        p->items = items;
        p->capacity = capacity;
    }
    p->items[p->count] = arena_text(w, path);
    return p->items[p->count++] != NULL ? 0 : GLINT_E_NO_MEMORY;
}

/* Follows one component, `name` and the slashes behind it, from each folder in `from`. A folder
 * that cannot be listed is an error, one that is none has no matches. */
static int glob_step(struct walk *w, const struct paths *from, char *name, const char *slashes,
                     struct paths *to)
{
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < from->count; i++) {
        char whole[PATH_MAX];
        const char *folder = from->items[i];
        if (!is_magic(name)) {
            if (text_format(whole, sizeof whole, "%s%s", name, slashes))
                r = paths_add(w, to, folder, whole);
            continue;
        }
        struct names names;
        r = names_list(&names, w, folder[0] != '\0' ? folder : ".", name);
        if (r == -ENOENT || r == -ENOTDIR)
            r = 0;
        else if (r < 0)
            r = bad_call(w, r, "list", folder[0] != '\0' ? folder : ".");
        for (uint64_t k = 0; r == 0 && k < names.count; k++)
            if (text_format(whole, sizeof whole, "%s%s", names.items[k], slashes))
                r = paths_add(w, to, folder, whole);
        names_fini(&names);
    }
    return r;
}

/* All paths that `pattern` may stand for, component by component. */
static int glob_paths(struct walk *w, const char *pattern, struct paths *out)
{
    int r = paths_add(w, out, "", "");
    for (const char *p = pattern; r == 0 && *p != '\0';) {
        const size_t length = strcspn(p, "/"), behind = strspn(p + length, "/");
        char name[PATH_MAX], slashes[PATH_MAX];
        struct paths next = {NULL, 0, 0};
        text_format(name, sizeof name, "%.*s", (int)length, p);
        text_format(slashes, sizeof slashes, "%.*s", (int)behind, p + length);
        r = glob_step(w, out, name, slashes, &next);
        mem_free(out->items);
        *out = next;
        p += length + behind;
    }
    return r;
}

/* Whether the last component came from a folder's listing: then it is there, as a link at least. */
static bool is_listed(const char *pattern)
{
    const char *slash = strrchr(pattern, '/');
    return is_magic(slash != NULL ? slash : pattern);
}

/* 1: the path exists; 0: it does not, or is noted as bad; below 0: a code. */
static int add_match(struct walk *w, const char *path, bool listed)
{
    struct env_stat stat;
    int r = w->env->stat(w->env, path, &stat);
    if (r == 0) {
        r = add_existing(w, path, &stat);
        return r == 0 ? 1 : r;
    }
    if (r == -ENOENT && listed)
        return bad_path(w, GLINT_E_INPUT_MISSING, path, "a link to nothing", NULL);
    return r == -ENOENT || r == -ENOTDIR ? 0 : bad_call(w, r, "stat", path);
}

static int add_glob(struct walk *w, const char *pattern)
{
    struct paths paths = {NULL, 0, 0};
    uint64_t matches = 0;
    const uint64_t bad_before = w->bad_count;
    int r = glob_paths(w, pattern, &paths);
    if (r == 0 && paths.count > 1)
        qsort(paths.items, paths.count, sizeof *paths.items, compare_names);
    for (uint64_t i = 0; r >= 0 && i < paths.count; i++) {
        r = add_match(w, paths.items[i], is_listed(pattern));
        matches += r > 0;
    }
    mem_free(paths.items);
    if (r < 0) return r;
    if (matches > 0 || w->bad_count > bad_before) return 0;
    char hint[PATH_HINT_BYTES];
    const char *reason = path_explain(pattern, hint);
    return bad_path(w, GLINT_E_INPUT_MISSING, pattern, reason != NULL ? reason : "nothing matches",
                    reason != NULL ? hint : NULL);
}

/* There is nothing at `path`, whatever it looks like. */
static int bad_missing(struct walk *w, int error, const char *path)
{
    char hint[PATH_HINT_BYTES];
    const char *reason = path_explain(path, hint);
    if (strcmp(path, "-") == 0) return bad_kind(w, path, "standard input is not a regular file");
    if (reason == NULL || input_code(error) != GLINT_E_INPUT_MISSING)
        return bad_call(w, error, "stat", path);
    return bad_path(w, GLINT_E_INPUT_MISSING, path, reason, hint);
}

static int add_path(struct walk *w, const char *text)
{
    struct env_stat stat;
    const char *path = text;
    if (text[0] == '\0') return bad_path(w, GLINT_E_INPUT_MISSING, "''", "an empty name", NULL);
    const struct saved_output *saved = find_saved(w, path_local(text));
    if (saved != NULL) return add_saved(w, path_local(text), saved);
    int r = w->env->stat(w->env, path, &stat);
    if (r < 0 && path_local(text) != text) {
        path = path_local(text);
        r = w->env->stat(w->env, path, &stat);
    }
    if (r == 0) return add_existing(w, path, &stat);
    return is_magic(path) && !is_fatal(r) ? add_glob(w, path) : bad_missing(w, r, text);
}

static int add_list(struct walk *w, const char *paths)
{
    int r = 0;
    for (const char *p = paths; r == 0 && p != NULL;) {
        const char *comma = strchrnul(p, ',');
        char path[PATH_MAX];
        if (text_format(path, sizeof path, "%.*s", (int)(comma - p), p))
            r = add_path(w, path);
        else
            r = bad_call(w, -ENAMETOOLONG, "open", path);
        p = *comma == ',' ? comma + 1 : NULL;
    }
    return r;
}

static int report_bad(const struct walk *w)
{
    if (w->bad_count == 0) return 0;
    char more[CAUSE_BYTES_KEPT] = "";
    if (w->bad_shown < w->bad_count)
        text_format(more, sizeof more, "; and %" PRIu64 " more", w->bad_count - w->bad_shown);
    return error_set(w->error, w->bad_code, w->hint, "%s%s", w->bad, more);
}

int input_list_make(struct env *env, const char *paths, enum input_content content,
                    struct input_list *out, struct glint_error *error)
{
    assert(out->count == 0 && out->files == NULL);
    struct walk w = {.env = env, .list = out, .error = error};
    out->content = content;
    struct env_stat stat;
    const bool one = strchr(paths, ',') == NULL || /* or a comma in its name */
                     find_saved(&w, path_local(paths)) != NULL ||
                     env->stat(env, path_local(paths), &stat) == 0;
    int r = one ? add_path(&w, paths) : add_list(&w, paths);
    return r < 0 ? r : report_bad(&w);
}

void input_list_fini(struct input_list *list)
{
    mem_free(list->files);
    mem_free(list->folders);
    arena_fini(&list->arena);
    *list = (struct input_list){.files = NULL};
}
