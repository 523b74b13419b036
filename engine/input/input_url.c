/* Adds objects at URLs to the list. The first response of a server says what an object is, and has
 * the bytes that tell its format. */
#include "engine/base/text.h"
#include "engine/input/format.h"
#include "engine/input/input_walk.h"
#include "engine/input/remote_list.h"
#include "engine/input/remote_reader.h"
#include "engine/input/remote_transfer.h"
#include "engine/input/remote_url.h"
#include "engine/limits.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ALL_FILES "*" /* of a directory */

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

static struct remote_reader *create_reader(struct input_walk *w, const char *url, const char *name)
{
    struct remote_reader *reader = remote_reader_create(w->env, url, name);
    if (reader != NULL && w->list->cancelled > 0)
        remote_reader_end_waits_on(reader, w->list->cancelled);
    return reader;
}

/* Returns 1, or NO_MEMORY. */
static int set_identity(struct input_walk *w, const struct remote_identity *identity,
                        struct input_file *file)
{
    struct remote_identity *copy = arena_alloc(&w->list->arena, sizeof *copy);
    if (copy == NULL) return error_no_memory(w->error);
    *copy = *identity;
    file->remote = copy;
    file->size = identity->size;
    return 1;
}

/* Returns 1 and sets `file`; 0 if it was recorded as bad; or a code. *out_code says why it is bad;
 * `quiet`: INPUT_NOT_FOUND is not recorded. */
static int identify(struct input_walk *w, struct remote_reader *reader, const char *url,
                    const char *name, bool quiet, struct input_file *file,
                    enum glint_code *out_code)
{
    uint8_t head[FORMAT_HEAD_BYTES];
    struct remote_identity identity = {.size = 0};
    struct glint_error problem = {.code = GLINT_OK};
    const int64_t n = remote_reader_identify(reader, head, sizeof head, &identity, &problem);
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
    return set_identity(w, &identity, file);
}

static int identify_url(struct input_walk *w, const char *url, const char *name, bool quiet,
                        struct input_file *file, enum glint_code *out_code)
{
    struct remote_reader *reader = create_reader(w, url, name);
    if (reader == NULL) return error_no_memory(w->error);
    const int r = identify(w, reader, url, name, quiet, file, out_code);
    remote_reader_destroy(reader);
    return r;
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

struct url_entry {
    const char *name, *url;          /* in the list's arena */
    struct remote_identity identity; /* if `known` */
    bool known;
    struct remote_reader *reader; /* whose request was sent; NULL: none */
};

/* The objects of a directory. */
struct url_list {
    struct input_walk *walk;
    struct url_entry *entries;
    uint64_t count, capacity;
    const char *url;
    struct input_glob glob;
    uint64_t nested; /* objects in directories that match */
    struct remote_session *group;
};

static int add_listed(void *arg, const struct listed_object *object)
{
    struct url_list *l = arg;
    char path[PATH_MAX];
    const enum glob_match match = input_glob_match(&l->glob, object->name, object->is_directory);
    if (match == GLOB_NONE) return 0;
    if (match == GLOB_BEGIN) return 1;
    if (match == GLOB_DIRECTORY && !object->is_directory && l->nested++ > 0) return 0;
    const bool fits = text_format(path, sizeof path, "%s/%s", l->url, object->name);
    if (match == GLOB_DIRECTORY)
        return input_record_bad_path(l->walk, GLINT_E_INPUT_KIND, fits ? path : "",
                                     "a nested directory",
                                     "a URL that ends in /** reads nested directories, too");
    if (!fits)
        return input_record_bad_path(l->walk, GLINT_E_INPUT_URL, l->url, "a name in it is too long",
                                     NULL);
    if (!array_reserve(&l->entries, &l->capacity, l->count + 1, sizeof *l->entries))
        return error_no_memory(l->walk->error);
    const char *url = input_copy_text(l->walk, path);
    if (url == NULL) return GLINT_E_NO_MEMORY;
    l->entries[l->count++] = (struct url_entry){.name = url + strlen(l->url) + 1,
                                                .url = url,
                                                .known = object->known,
                                                .identity = object->identity};
    return 0;
}

static int compare_listed(const void *a, const void *b)
{
    return strcmp(((const struct url_entry *)a)->name, ((const struct url_entry *)b)->name);
}

/* Whether the list says all that is needed of it: a small object is read once, by its task. */
static bool is_listed_whole(const struct url_list *l, const struct url_entry *e)
{
    return e->known &&
           (l->walk->list->content != INPUT_TEXT || e->identity.size <= REMOTE_SMALL_BYTES_MAX);
}

static void start_entry(struct url_list *l, struct url_entry *e)
{
    if (is_listed_whole(l, e) || l->group == NULL) return;
    e->reader = create_reader(l->walk, e->url, e->url);
    if (e->reader == NULL) return;
    if (e->known) remote_reader_expect(e->reader, &e->identity, FORMAT_HEAD_BYTES);
    remote_reader_start(e->reader, l->group, FORMAT_HEAD_BYTES);
}

static int add_listed_object(struct url_list *l, struct url_entry *e)
{
    struct input_walk *w = l->walk;
    struct input_file file = {.path = NULL};
    enum glint_code code;
    int r;
    if (is_listed_whole(l, e)) {
        const bool text = w->list->content == INPUT_TEXT;
        file.detect = text && e->identity.size > 0;
        if (!file.detect) file.compression = format_compression_of_name(e->url);
        r = set_identity(w, &e->identity, &file);
    } else if (e->reader != NULL) {
        r = identify(w, e->reader, e->url, e->url, false, &file, &code);
    } else {
        r = identify_url(w, e->url, e->url, false, &file, &code);
    }
    remote_reader_destroy(e->reader);
    e->reader = NULL;
    return r > 0 ? append_object(w, e->url, e->url, &file) : r;
}

/* Adds the objects in the order of their names. Requests for those that follow are sent before. */
static int add_entries(struct url_list *l)
{
    struct glint_error ignored = {.code = GLINT_OK};
    uint64_t next = 0;
    int r = 0;
    if (l->count > 1) qsort(l->entries, l->count, sizeof *l->entries, compare_listed);
    if (l->count > 1) l->group = remote_group_open(&ignored);
    for (uint64_t i = 0; r == 0 && i < l->count; i++) {
        for (; next < l->count && next - i < REMOTE_AHEAD_MAX; next++)
            start_entry(l, &l->entries[next]);
        r = add_listed_object(l, &l->entries[i]);
    }
    for (uint64_t i = 0; i < next; i++) remote_reader_destroy(l->entries[i].reader);
    remote_group_close(l->group);
    return r;
}

/* Adds the objects below the directory `url` that match, in the order of their names. */
static int add_url_directory(struct input_walk *w, const char *url, const char *pattern)
{
    struct glint_error problem = {.code = GLINT_OK};
    struct url_list l = {.walk = w, .url = url};
    const uint64_t bad_before = w->bad_count;
    char names[PATH_MAX], begin[PATH_MAX], path[PATH_MAX];
    text_format(names, sizeof names, "%s", pattern);
    text_format(begin, sizeof begin, "%.*s", (int)strcspn(pattern, "*?[\\"), pattern);
    if (!text_format(path, sizeof path, "%s/%s", url, pattern)) path[0] = '\0';
    input_glob_init(&l.glob, names);
    if (l.glob.too_long)
        return input_record_bad_path(w, GLINT_E_INPUT_URL, path, "too many names in a pattern",
                                     NULL);
    int r = remote_list(w->env, url, begin, input_glob_is_deep(&l.glob), w->list->cancelled,
                        add_listed, &l, &problem);
    if (r < 0 && problem.code != GLINT_OK) r = record_failed_url(w, url, &problem);
    if (r == 0) r = add_entries(&l);
    if (r == 0 && strcmp(pattern, ALL_FILES) != 0 && l.count == 0 && w->bad_count == bad_before)
        r = input_record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, path, "no object matches", NULL);
    mem_free(l.entries);
    return r;
}

/* A URL of s3 or webhdfs with a pattern. What precedes its first component with one is listed. */
static int add_pattern(struct input_walk *w, char *url)
{
    const char *path = remote_url_place(url).path;
    char *slash = url + (path - url), *end = slash + strcspn(slash, "*?[");
    assert(*slash == '/' && *end != '\0');
    while (end > slash && *end != '/') end--;
    *end = '\0';
    return add_url_directory(w, url, end + 1);
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
        int r = identify_url(w, url, url, true, &file, &code);
        if (r > 0 && !remote_identity_is_directory(file.remote))
            return append_object(w, url, url, &file);
        if (r < 0 || (r == 0 && code != GLINT_E_INPUT_NOT_FOUND)) return r;
    }
    return add_url_directory(w, url, ALL_FILES);
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
    int r = identify_url(w, url, name, false, &file, &code);
    return r > 0 ? append_object(w, url, name, &file) : r;
}
