/* Adds objects at URLs to the list. The first response of a server says what an object is, and has
 * the bytes that tell its format. */
#include "engine/base/text.h"
#include "engine/data/format.h"
#include "engine/data/input_walk.h"
#include "engine/remote/remote_list.h"
#include "engine/remote/remote_reader.h"
#include "engine/remote/remote_url.h"

#include <assert.h>
#include <fnmatch.h>
#include <limits.h>
#include <string.h>

/* Records why the object cannot be read. A server that cannot be reached ends the walk: each of its
 * other objects would wait as long. */
static int record_failed_url(struct input_walk *w, const char *name, const struct glint_error *e)
{
    const char *hint = e->hint[0] != '\0' ? e->hint : NULL;
    if (e->code == GLINT_E_NO_MEMORY || e->code == GLINT_E_INPUT_IO ||
        e->code == GLINT_E_INTERRUPTED)
        return error_set(w->error, e->code, hint, "%s", e->cause);
    const size_t n = strlen(name);
    const bool prefixed = strncmp(e->cause, name, n) == 0 && strncmp(e->cause + n, ": ", 2) == 0;
    return input_record_bad_path(w, e->code, name, e->cause + (prefixed ? n + 2 : 0), hint);
}

/* Returns 1 and sets `file`; 0 if it was recorded as bad; or a code. *out_code says why it is bad;
 * `quiet`: INPUT_NOT_FOUND is not recorded. */
static int identify(struct input_walk *w, const char *url, const char *name, bool quiet,
                    struct input_file *file, enum glint_code *out_code)
{
    uint8_t head[FORMAT_HEAD_BYTES];
    struct remote_identity identity = {.size = 0};
    struct glint_error problem = {.code = GLINT_OK};
    struct remote_reader *reader = remote_reader_create(w->env, url, name);
    if (reader == NULL) return error_no_memory(w->error);
    if (w->list->cancelled > 0) remote_reader_end_waits_on(reader, w->list->cancelled);
    const int64_t n = remote_reader_identify(reader, head, sizeof head, &identity, &problem);
    remote_reader_destroy(reader);
    *out_code = problem.code;
    if (n < 0)
        return quiet && problem.code == GLINT_E_INPUT_NOT_FOUND
                   ? 0
                   : record_failed_url(w, name, &problem);
    char path[PATH_MAX];
    const size_t size = remote_url_kind(url) == REMOTE_HTTP ? strcspn(url, "?#") : strlen(url);
    assert(size < sizeof path);
    memcpy(path, url, size);
    path[size] = '\0';
    const uint64_t used = w->list->content == INPUT_TEXT ? (uint64_t)n : 0;
    if (!remote_identity_is_directory(&identity) &&
        input_detect_format(w, name, path, head, used, &file->compression) == 0)
        return 0;
    struct remote_identity *copy = arena_alloc(&w->list->arena, sizeof *copy);
    if (copy == NULL) return error_no_memory(w->error);
    *copy = identity;
    file->remote = copy;
    file->size = identity.size;
    return 1;
}

static int append_object(struct input_walk *w, const char *url, const char *name,
                         struct input_file *file)
{
    const bool hidden = strcmp(url, name) != 0;
    file->path = input_copy_text(w, name);
    if (file->path != NULL && hidden) file->stored = input_copy_text(w, url);
    if (file->path == NULL || (hidden && file->stored == NULL)) return GLINT_E_NO_MEMORY;
    return input_append_file(w, file);
}

/* ---- Directories */

struct url_list {
    struct name_list names;
    const char *url, *pattern;
    bool recursive;
};

/* Whether a component of the name starts with _ or . */
static bool is_hidden(const char *name)
{
    for (const char *p = name; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        if (*p == '_' || *p == '.') return true;
    }
    return false;
}

static int add_listed(void *arg, const struct listed_object *object)
{
    struct url_list *l = arg;
    const char *name = object->name;
    const bool is_directory = object->is_directory;
    if (is_hidden(name)) return 0;
    if (is_directory && l->recursive) return 1;
    if (l->pattern != NULL && fnmatch(l->pattern, name, FNM_PATHNAME) != 0) return 0;
    char path[PATH_MAX];
    if (!is_directory) return input_names_add(&l->names, name);
    if (!text_format(path, sizeof path, "%s/%s", l->url, name)) path[0] = '\0';
    return input_record_bad_path(l->names.walk, GLINT_E_INPUT_KIND, path, "a nested directory",
                                 "a URL that ends in /** reads nested directories, too");
}

/* Adds the objects in the directory `url`, in the order of their names. */
static int add_directory(struct input_walk *w, const char *url, const char *pattern, bool recursive)
{
    struct glint_error problem = {.code = GLINT_OK};
    struct url_list l = {
        .names = {.walk = w}, .url = url, .pattern = pattern, .recursive = recursive};
    enum glint_code code;
    const uint64_t bad_before = w->bad_count;
    int r = remote_list(w->env, url, url, recursive, 0, add_listed, &l, &problem);
    if (r < 0 && problem.code != GLINT_OK) r = record_failed_url(w, url, &problem);
    input_names_sort(&l.names);
    for (uint64_t i = 0; r == 0 && i < l.names.count; i++) {
        char object[PATH_MAX];
        struct input_file file = {.path = NULL};
        if (!text_format(object, sizeof object, "%s/%s", url, l.names.items[i]))
            r = input_record_bad_path(w, GLINT_E_INPUT_URL, url, "a name in it is too long", NULL);
        else if ((r = identify(w, object, object, false, &file, &code)) > 0)
            r = append_object(w, object, object, &file);
    }
    if (r == 0 && pattern != NULL && l.names.count == 0 && w->bad_count == bad_before) {
        char path[PATH_MAX];
        if (!text_format(path, sizeof path, "%s/%s", url, pattern)) path[0] = '\0';
        r = input_record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, path, "no object matches", NULL);
    }
    input_names_fini(&l.names);
    return r;
}

/* A URL of s3 or webhdfs with a pattern: it may be in the last component, or be ** there. */
static int add_pattern(struct input_walk *w, char *url)
{
    char *slash = strrchr(url, '/');
    const char *path = remote_url_place(url).path;
    *slash = '\0';
    const bool recursive = strcmp(slash + 1, "**") == 0;
    if (slash < path || input_is_glob(path)) {
        *slash = '/';
        return input_record_bad_path(w, GLINT_E_INPUT_URL, url, "a pattern that cannot be listed",
                                     "a pattern is in the last component of a URL");
    }
    return add_directory(w, url, recursive ? NULL : slash + 1, recursive);
}

/* `url` is of s3 or webhdfs: an object, or a directory of objects. */
static int add_stored(struct input_walk *w, const char *text)
{
    char url[PATH_MAX];
    enum glint_code code = GLINT_OK;
    struct input_file file = {.path = NULL};
    size_t size = strlen(text);
    memcpy(url, text, size + 1);
    const size_t root = (size_t)(remote_url_place(url).path - url);
    if (input_is_glob(url + root)) return add_pattern(w, url);
    const bool directory = url[size - 1] == '/' || size == root;
    while (size > root && url[size - 1] == '/') url[--size] = '\0';
    if (!directory) {
        int r = identify(w, url, url, true, &file, &code);
        if (r > 0 && !remote_identity_is_directory(file.remote))
            return append_object(w, url, url, &file);
        if (r < 0 || (r == 0 && code != GLINT_E_INPUT_NOT_FOUND)) return r;
    }
    return add_directory(w, url, NULL, false);
}

/* ---- */

int input_add_url(struct input_walk *w, const char *url)
{
    char name[2 * PATH_MAX];
    const char *hint;
    enum glint_code code;
    struct input_file file = {.path = NULL};
    if (strlen(url) >= PATH_MAX || !remote_url_redact(url, name, sizeof name))
        return input_record_bad_path(w, GLINT_E_INPUT_URL, "a URL", "it is too long", NULL);
    const char *problem = remote_url_check(url, &hint);
    if (problem != NULL) return input_record_bad_path(w, GLINT_E_INPUT_URL, name, problem, hint);
    if (remote_url_kind(url) != REMOTE_HTTP) return add_stored(w, url);
    int r = identify(w, url, name, false, &file, &code);
    return r > 0 ? append_object(w, url, name, &file) : r;
}
