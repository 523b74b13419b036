/* See remote_list.h. */
#include "engine/input/remote_list.h"

#include "engine/base/text.h"
#include "engine/input/hdfs_status.h"
#include "engine/input/remote_document.h"
#include "engine/input/s3_list.h"
#include "engine/input/xml_library.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define QUERY_BYTES (2 * REMOTE_URL_BYTES)

struct s3_names {
    size_t prefix_size; /* of the keys: the directory and its slash */
    listed_object_call *entry;
    void *arg;
    uint64_t keys, pages;
};

static int add_key(void *arg, const struct listed_object *listed)
{
    struct s3_names *n = arg;
    char name[S3_TOKEN_BYTES];
    struct listed_object object = *listed;
    size_t size = strlen(listed->name);
    n->keys++;
    if (size <= n->prefix_size) return size == n->prefix_size ? 0 : -1; /* the directory itself */
    if (!text_format(name, sizeof name, "%s", listed->name + n->prefix_size)) return -1;
    size -= n->prefix_size;
    if (name[size - 1] == '/' && !listed->is_directory) return 0; /* in place of a directory */
    if (listed->is_directory) name[size - 1] = '\0';
    object.name = name;
    return n->entry(n->arg, &object);
}

static int set_list_error(const char *name, const char *what, struct glint_error *error)
{
    return error_set(error, GLINT_E_INPUT_URL, NULL, "%s: %s", name, what);
}

static int set_endless(const char *name, struct glint_error *error)
{
    return error_set(error, GLINT_E_INPUT_URL, "name a directory with fewer, or files in it",
                     "%s: the list has more than %" PRIu64 " names", name, REMOTE_NAMES_MAX);
}

/* Returns false if it is too long. Signing needs the parameters in this order. */
static bool format_query(char *out, const char *prefix, const char *token, bool recursive)
{
    const size_t capacity = QUERY_BYTES;
    out[0] = '\0';
    if (token[0] != '\0' && (!text_format(out, capacity, "continuation-token=") ||
                             !remote_url_encode(token, strlen(token), "", out, capacity)))
        return false;
    size_t used = strlen(out);
    if (!text_format(out + used, capacity - used, "%s%slist-type=2&prefix=", used > 0 ? "&" : "",
                     recursive ? "" : "delimiter=%2F&"))
        return false;
    return remote_url_encode(prefix, strlen(prefix), "", out, capacity);
}

static int list_s3(struct remote_target *t, struct env *env, const char *name, const char *prefix,
                   bool recursive, struct s3_names *names, struct glint_error *error)
{
    char query[QUERY_BYTES], token[S3_TOKEN_BYTES] = "", last[S3_TOKEN_BYTES];
    struct buffer page = {NULL, 0, 0};
    int r = xml_library_load(error);
    if (r != 0) return r;
    do {
        page.size = 0;
        memcpy(last, token, sizeof last);
        r = format_query(query, prefix, token, recursive)
                ? remote_document_read(t, env, name, query, REMOTE_PAGE_BYTES_MAX, &page, error)
                : set_list_error(name, "it is too long", error);
        if (r == 0) r = s3_list_parse(page.data, page.size, token, add_key, names);
        if (r == -1) r = set_list_error(name, "the response is no list of objects", error);
        names->pages++; /* they may be empty */
        if (r == 0 && names->keys + names->pages > REMOTE_NAMES_MAX) r = set_endless(name, error);
        if (r == 0 && token[0] != '\0' && strcmp(token, last) == 0)
            r = set_list_error(name, "the next page of the list is the same one again", error);
    } while (r == 0 && token[0] != '\0');
    buffer_fini(&page);
    return r;
}

/* A walk over directories of HDFS. Those that are still to be listed are at the end of `paths`:
 * relative to the URL, each after its predecessor's NUL. */
struct hdfs_walk {
    const char *url;
    bool recursive;
    int cancelled;
    uint64_t seen;
    listed_object_call *entry;
    void *arg;
    const char *directory; /* that is listed now; "": the URL itself */
    struct buffer paths;
    struct glint_error *error;
};

static int add_status(void *arg, const struct listed_object *status)
{
    struct hdfs_walk *w = arg;
    char path[REMOTE_URL_BYTES];
    struct listed_object object = *status;
    if (++w->seen > REMOTE_NAMES_MAX) return set_endless(w->url, w->error);
    if (!text_format(path, sizeof path, "%s%s%s", w->directory, w->directory[0] != '\0' ? "/" : "",
                     status->name))
        return set_list_error(w->url, "a name in it is too long", w->error);
    object.name = path;
    const int r = w->entry(w->arg, &object);
    if (r <= 0 || !status->is_directory || !w->recursive) return r;
    return buffer_append(&w->paths, path, strlen(path) + 1) ? 0 : error_no_memory(w->error);
}

static int list_directory(struct hdfs_walk *w, struct remote_target *t, struct env *env,
                          struct buffer *text)
{
    char url[REMOTE_URL_BYTES];
    if (!text_format(url, sizeof url, "%s%s%s", w->url, w->directory[0] != '\0' ? "/" : "",
                     w->directory))
        return set_list_error(w->url, "a name in it is too long", w->error);
    int r = remote_target_open(t, env, url, url, w->cancelled, w->error);
    text->size = 0;
    if (r == 0)
        r = remote_document_read(t, env, url, "op=LISTSTATUS", REMOTE_LIST_BYTES_MAX, text,
                                 w->error);
    if (r == 0) r = hdfs_list_parse(text->data, text->size, add_status, w);
    return r == -1 ? set_list_error(url, "the response is no list of files", w->error) : r;
}

static int list_hdfs(struct hdfs_walk *w, struct remote_target *t, struct env *env)
{
    struct buffer text = {NULL, 0, 0};
    char directory[REMOTE_URL_BYTES] = "";
    w->directory = directory;
    int r = list_directory(w, t, env, &text);
    while (r == 0 && w->paths.size > 0) {
        uint64_t start = w->paths.size - 1;
        while (start > 0 && w->paths.data[start - 1] != '\0') start--;
        assert(w->paths.size - start <= sizeof directory);
        memcpy(directory, w->paths.data + start, w->paths.size - start);
        w->paths.size = start;
        r = list_directory(w, t, env, &text);
    }
    buffer_fini(&text);
    buffer_fini(&w->paths);
    return r;
}

int remote_list(struct env *env, const char *url, const char *begin, bool recursive, int cancelled,
                listed_object_call *entry, void *arg, struct glint_error *error)
{
    struct remote_target *t = mem_alloc(sizeof *t);
    char prefix[REMOTE_URL_BYTES];
    if (t == NULL) return error_no_memory(error);
    const char *path = remote_url_place(url).path;
    int r = remote_target_open(t, env, url, url, cancelled, error);
    assert(r < 0 || t->kind != REMOTE_HTTP);
    if (r == 0 && t->kind == REMOTE_WEBHDFS) {
        struct hdfs_walk walk = {.url = url,
                                 .recursive = recursive,
                                 .cancelled = cancelled,
                                 .entry = entry,
                                 .arg = arg,
                                 .error = error};
        r = list_hdfs(&walk, t, env);
    } else if (r == 0) {
        struct s3_names names = {.entry = entry, .arg = arg};
        if (path[0] == '/') path++;
        const char *slash = path[0] != '\0' ? "/" : "";
        if (!text_format(prefix, sizeof prefix, "%s%s%s", path, slash, begin))
            r = set_list_error(url, "it is too long", error);
        names.prefix_size = strlen(path) + strlen(slash);
        if (r == 0) r = list_s3(t, env, url, prefix, recursive, &names, error);
        if (r == 0 && names.keys == 0 && path[0] != '\0' && begin[0] == '\0')
            r = error_set(error, GLINT_E_INPUT_NOT_FOUND, NULL, "%s: no object has this name", url);
    }
    mem_free(t);
    return r;
}
