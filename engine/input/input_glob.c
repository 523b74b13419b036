/* Expands globs: each component is matched in all directories that matched so far, without
 * recursion. */
#include "engine/base/cancel.h"
#include "engine/base/text.h"
#include "engine/input/input_walk.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a copy. Returns 0 or NO_MEMORY. */
static int input_names_add(struct name_list *n, const char *name)
{
    if (!array_reserve(&n->items, &n->capacity, n->count + 1, sizeof *n->items))
        return error_no_memory(n->walk->error);
    n->items[n->count] = input_copy_text(n->walk, name);
    return n->items[n->count++] != NULL ? 0 : GLINT_E_NO_MEMORY;
}

void input_names_fini(struct name_list *n)
{
    mem_free(n->items);
}

/* Whether a name matches a component of a pattern; NULL: any. A name that begins with _ or . is
 * hidden unless the component begins so, too. */
static bool name_matches(const char *pattern, const char *name)
{
    const bool hidden = name[0] == '_' || name[0] == '.';
    if (hidden && (pattern == NULL || pattern[0] != name[0])) return false;
    return pattern == NULL || fnmatch(pattern, name, FNM_PERIOD) == 0;
}

static int collect_name(void *arg, const char *name)
{
    struct name_list *n = arg;
    if (!name_matches(n->pattern, name)) return 0;
    return input_names_add(n, name) == 0 ? 0 : -ENOMEM;
}

static int compare_file_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void input_names_sort(struct name_list *n)
{
    if (n->count > 1) qsort(n->items, n->count, sizeof *n->items, compare_file_names);
}

bool input_names_contain(const struct name_list *n, const char *name)
{
    return n != NULL && n->count > 0 &&
           bsearch(&name, n->items, n->count, sizeof *n->items, compare_file_names) != NULL;
}

int input_names_list(struct name_list *n, struct input_walk *w, const char *dir, const char *path,
                     const char *pattern)
{
    *n = (struct name_list){.walk = w, .pattern = pattern};
    if (cancel_check(w->env, w->list->cancelled, w->error) != 0) return w->error->code;
    int r = env_list_dir(w->env, dir, collect_name, n);
    if (r == 0) input_names_sort(n);
    if (r == 0 || (path == NULL && (r == -ENOENT || r == -ENOTDIR))) return 0;
    n->count = 0;
    return input_record_failed_call(w, r, "list", path != NULL ? path : dir);
}

bool input_is_glob(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static int add_match(struct name_list *paths, const char *dir, const char *name,
                     const char *slashes)
{
    char path[PATH_MAX];
    if (!text_format(path, sizeof path, "%s%s%s", dir, name, slashes)) return 0; /* cannot exist */
    return input_names_add(paths, path);
}

bool input_is_link_to_directory(struct input_walk *w, const char *path)
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
    if (stat.kind == ENV_DIRECTORY) return add_match(dirs, path, "", "/");
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
    return add_match(to, dir, name, slashes);
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
            next |= name_matches(g->names[i], name) ? UINT64_C(2) << i : 0;
        else if (name_matches(NULL, name))
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
    char name[PATH_MAX];
    *out_size = 0;
    for (const char *p = path; p != NULL && (states != 0 || *out_size > 0);) {
        const size_t size = strcspn(p, "/"), end = (size_t)(p - path) + size;
        if (!text_format(name, sizeof name, "%.*s", (int)size, p)) return GLOB_NONE;
        if (!name_matches(NULL, name)) *out_size = 0; /* hidden in a directory that matches */
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

int input_glob_expand(struct input_walk *w, const char *pattern, struct name_list *out)
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

const char *input_brace_end(const char *open)
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
static const char *alternative_end(const char *p)
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
        if (input_brace_end(p) != NULL && *alternative_end(p + 1) == ',') return p;
    return NULL;
}

bool input_has_braces(const char *text)
{
    return find_brace_group(text) != NULL;
}

/* Adds the texts that replace the first group of `text` by each of its alternatives. */
static int expand_brace_group(const char *text, const char *open, struct name_list *out)
{
    const char *end = input_brace_end(open), *p = open;
    int r = 0;
    while (r == 0 && p != end) {
        char path[PATH_MAX];
        const char *start = p + 1;
        p = alternative_end(start);
        const int n = snprintf(path, sizeof path, "%.*s%.*s%s", (int)(open - text), text,
                               (int)(p - start), start, end + 1);
        if (n < 0 || (size_t)n >= sizeof path)
            return input_record_bad_path(out->walk, GLINT_E_INPUT_NOT_FOUND, text,
                                         "an alternative in braces is too long", NULL);
        r = input_names_add(out, path);
    }
    return r;
}

int input_expand_braces(struct input_walk *w, const char *text, struct name_list *out)
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
