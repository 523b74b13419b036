/* See remote_list.h. */
#include "engine/input/remote_list.h"

#include "engine/base/text.h"
#include "engine/input/format.h"
#include "engine/input/input_walk.h"
#include "engine/input/remote_store.h"
#include "engine/input/remote_transfer.h"
#include "engine/input/xml_elements.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- S3 */

struct list_parser {
    bool is_list, truncated;
    /* Of the current entry: its size and its ETag may be missing. */
    char key[S3_TOKEN_BYTES];
    bool sized, versioned;
    struct listed_object object;
    char *token;
    listed_object_call *entry;
    void *arg;
};

static void parse_object_size(struct list_parser *p, const struct xml_element *e)
{
    int64_t size;
    p->sized = text_parse_i64((const uint8_t *)e->text, e->size, &size) && size >= 0;
    if (p->sized) p->object.identity.size = (uint64_t)size;
}

/* Some stores leave out the quotes, which the header of a response has. */
static void parse_object_version(struct list_parser *p, const struct xml_element *e)
{
    char *version = p->object.identity.version;
    const bool quoted = e->text[0] == '"' || strncmp(e->text, "W/\"", 3) == 0;
    p->versioned = e->size > 0 && !e->too_long &&
                   text_format(version, REMOTE_VERSION_BYTES, quoted ? "%s" : "\"%s\"", e->text);
    for (const char *c = version; p->versioned && *c != '\0'; c++)
        p->versioned = *c >= ' ' && *c <= '~';
}

/* Ends an entry: its key, or common prefix, is in p->key. */
static int add_s3_object(struct list_parser *p, bool is_prefix)
{
    if (p->key[0] == '\0') return -1;
    p->object.name = p->key;
    p->object.is_directory = is_prefix;
    p->object.known = p->sized && p->versioned;
    p->object.identity.ranges = true;
    const int result = p->entry(p->arg, &p->object);
    p->key[0] = '\0';
    p->sized = p->versioned = false;
    return result;
}

/* Returns false if the element's text is empty or too long. */
static bool copy_element_text(char out[S3_TOKEN_BYTES], const struct xml_element *e)
{
    static_assert(XML_TEXT_BYTES <= S3_TOKEN_BYTES, "a text fits");
    memcpy(out, e->text, e->size + 1);
    return !e->too_long && e->size > 0;
}

static int on_list_element(void *arg, const struct xml_element *e)
{
    struct list_parser *p = arg;
    p->is_list = strcmp(e->root, "ListBucketResult") == 0;
    if (!p->is_list) return -1;
    if ((xml_element_is(e, "Contents", "Key") || xml_element_is(e, "CommonPrefixes", "Prefix")) &&
        !copy_element_text(p->key, e))
        return -1;
    if (xml_element_is(e, "Contents", "Size")) parse_object_size(p, e);
    if (xml_element_is(e, "Contents", "ETag")) parse_object_version(p, e);
    if (xml_element_is(e, NULL, "Contents")) return add_s3_object(p, false);
    if (xml_element_is(e, NULL, "CommonPrefixes")) return add_s3_object(p, true);
    if (xml_element_is(e, NULL, "NextContinuationToken") && !copy_element_text(p->token, e) &&
        e->too_long)
        return -1;
    if (xml_element_is(e, NULL, "IsTruncated")) p->truncated = strcmp(e->text, "true") == 0;
    return 0;
}

int s3_list_parse(const uint8_t *text, uint64_t size, char *token, listed_object_call *entry,
                  void *arg)
{
    struct list_parser p = {.token = token, .entry = entry, .arg = arg};
    token[0] = '\0';
    const int r = xml_elements_parse(text, size, on_list_element, &p);
    if (r != 0) return r;
    if (!p.is_list || (p.truncated && token[0] == '\0')) return -1;
    if (!p.truncated) token[0] = '\0'; /* some stores send one with the last page, too */
    return 0;
}

/* ---- A tree of JSON takes up to 80 times the memory of its text, so a list is cut
 * into its entries, which are parsed one by one. */

/* The text of a list that is not parsed yet. */
struct list_text {
    const char *at, *end;
};

/* Skips the token, and white space before it. */
static bool skip_json_token(struct list_text *t, const char *token)
{
    const size_t size = strlen(token);
    while (t->at < t->end && *t->at != '\0' && strchr(" \t\r\n", *t->at) != NULL) t->at++;
    if ((size_t)(t->end - t->at) < size || memcmp(t->at, token, size) != 0) return false;
    t->at += size;
    return true;
}

static bool skip_json_tokens(struct list_text *t, const char *const *tokens, size_t count)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) ok = skip_json_token(t, tokens[i]);
    return ok;
}

static int parse_hdfs_list_entry(struct list_text *t, listed_object_call *entry, void *arg)
{
    const size_t left = (size_t)(t->end - t->at);
    struct listed_object object;
    json_error_t error;
    json_t *status =
        json_loadb(t->at, left < REMOTE_STATUS_BYTES_MAX ? left : REMOTE_STATUS_BYTES_MAX,
                   JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
    const char *name = json_string_value(json_object_get(status, "pathSuffix"));
    int r = -1;
    hdfs_status_read(status, &object);
    /* A name is one component: a server must not lead elsewhere. */
    if (name != NULL && name[0] != '\0' && strchr(name, '/') == NULL) {
        object.name = name;
        r = entry(arg, &object);
    }
    if (status != NULL) t->at += error.position;
    json_decref(status);
    return r;
}

int hdfs_list_parse(const uint8_t *text, uint64_t size, listed_object_call *entry, void *arg)
{
    static const char *const begin[] = {"{", "\"FileStatuses\"", ":", "{", "\"FileStatus\"", ":",
                                        "["};
    static const char *const end[] = {"}", "}", ""};
    struct list_text t = {(const char *)text, (const char *)text + size};
    if (size == 0 || !skip_json_tokens(&t, begin, sizeof begin / sizeof *begin)) return -1;
    bool more = !skip_json_token(&t, "]");
    while (more) {
        const int r = parse_hdfs_list_entry(&t, entry, arg);
        if (r != 0) return r;
        more = skip_json_token(&t, ",");
        if (!more && !skip_json_token(&t, "]")) return -1;
    }
    assert(t.at <= t.end);
    return skip_json_tokens(&t, end, sizeof end / sizeof *end) && t.at == t.end ? 0 : -1;
}

/* ---- remote list */

#define QUERY_BYTES (2 * REMOTE_URL_BYTES)

struct s3_names {
    size_t prefix_size; /* of the keys: the directory and its slash */
    listed_object_call *entry;
    void *arg;
    uint64_t keys, pages;
};

static int add_listed_key(void *arg, const struct listed_object *listed)
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

static int set_list_too_long_error(const char *name, struct glint_error *error)
{
    return error_set(error, GLINT_E_INPUT_URL, "name a directory with fewer, or files in it",
                     "%s: the list has more than %" PRIu64 " names", name, REMOTE_NAMES_MAX);
}

/* Returns false if it is too long. Signing needs the parameters in this order. */
static bool format_list_query(char *out, const char *prefix, const char *token, bool recursive)
{
    out[0] = '\0';
    return (token[0] == '\0' ||
            remote_url_add_parameter(out, QUERY_BYTES, "continuation-token", token)) &&
           (recursive || remote_url_add_parameter(out, QUERY_BYTES, "delimiter", "/")) &&
           remote_url_add_parameter(out, QUERY_BYTES, "list-type", "2") &&
           remote_url_add_parameter(out, QUERY_BYTES, "prefix", prefix);
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
        r = format_list_query(query, prefix, token, recursive)
                ? remote_document_read(t, env, name, query, REMOTE_PAGE_BYTES_MAX, &page, error)
                : remote_set_url_error(name, "it is too long", error);
        if (r == 0) r = s3_list_parse(page.data, page.size, token, add_listed_key, names);
        if (r == -1) r = remote_set_url_error(name, "the response is no list of objects", error);
        names->pages++; /* they may be empty */
        if (r == 0 && names->keys + names->pages > REMOTE_NAMES_MAX)
            r = set_list_too_long_error(name, error);
        if (r == 0 && token[0] != '\0' && strcmp(token, last) == 0)
            r = remote_set_url_error(name, "the next page of the list is the same one again",
                                     error);
    } while (r == 0 && token[0] != '\0');
    buffer_fini(&page);
    return r;
}

int s3_list_objects(struct remote_target *t, struct env *env, const char *name, const char *prefix,
                    listed_object_call *entry, void *arg, struct glint_error *error)
{
    struct s3_names names = {.prefix_size = strlen(prefix), .entry = entry, .arg = arg};
    return list_s3(t, env, name, prefix, false, &names, error);
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

static int add_listed_hdfs_status(void *arg, const struct listed_object *status)
{
    struct hdfs_walk *w = arg;
    char path[REMOTE_URL_BYTES];
    struct listed_object object = *status;
    if (++w->seen > REMOTE_NAMES_MAX) return set_list_too_long_error(w->url, w->error);
    if (!text_format(path, sizeof path, "%s%s%s", w->directory, w->directory[0] != '\0' ? "/" : "",
                     status->name))
        return remote_set_url_error(w->url, "a name in it is too long", w->error);
    object.name = path;
    const int r = w->entry(w->arg, &object);
    if (r <= 0 || !status->is_directory || !w->recursive) return r;
    return buffer_append(&w->paths, path, strlen(path) + 1) ? 0 : error_no_memory(w->error);
}

static int list_hdfs_directory(struct hdfs_walk *w, struct remote_target *t, struct env *env,
                               struct buffer *text)
{
    char url[REMOTE_URL_BYTES];
    if (!text_format(url, sizeof url, "%s%s%s", w->url, w->directory[0] != '\0' ? "/" : "",
                     w->directory))
        return remote_set_url_error(w->url, "a name in it is too long", w->error);
    int r = remote_target_init(t, env, url, url, w->cancelled, w->error);
    text->size = 0;
    if (r == 0)
        r = remote_document_read(t, env, url, "op=LISTSTATUS", REMOTE_LIST_BYTES_MAX, text,
                                 w->error);
    if (r == 0) r = hdfs_list_parse(text->data, text->size, add_listed_hdfs_status, w);
    return r == -1 ? remote_set_url_error(url, "the response is no list of files", w->error) : r;
}

static int list_hdfs(struct hdfs_walk *w, struct remote_target *t, struct env *env)
{
    struct buffer text = {NULL, 0, 0};
    char directory[REMOTE_URL_BYTES] = "";
    w->directory = directory;
    int r = list_hdfs_directory(w, t, env, &text);
    while (r == 0 && w->paths.size > 0) {
        uint64_t start = w->paths.size - 1;
        while (start > 0 && w->paths.data[start - 1] != '\0') start--;
        assert(w->paths.size - start <= sizeof directory);
        memcpy(directory, w->paths.data + start, w->paths.size - start);
        w->paths.size = start;
        r = list_hdfs_directory(w, t, env, &text);
    }
    buffer_fini(&text);
    buffer_fini(&w->paths);
    return r;
}

/* `url` is of s3 or webhdfs, without a slash at its end. Calls `entry` for each name in it, in any
 * order: relative to the URL. Names that do not begin with `begin` may be left out. With
 * `recursive` names have slashes; a directory, which s3 does not have, is listed if `entry` returns
 * 1 for it. Otherwise the first result that is not 0 ends the walk and is returned; or returns 0,
 * or a code with *error set: INTERRUPTED once `cancelled` (0: none) is readable, INPUT_URL also for
 * a list that has no end. */
static int remote_list(struct env *env, const char *url, const char *begin, bool recursive,
                       int cancelled, listed_object_call *entry, void *arg,
                       struct glint_error *error)
{
    struct remote_target *t = mem_alloc(sizeof *t);
    char prefix[REMOTE_URL_BYTES];
    if (t == NULL) return error_no_memory(error);
    const char *path = remote_url_split(url).path;
    int r = remote_target_init(t, env, url, url, cancelled, error);
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
            r = remote_set_url_error(url, "it is too long", error);
        names.prefix_size = strlen(path) + strlen(slash);
        if (r == 0) r = list_s3(t, env, url, prefix, recursive, &names, error);
        if (r == 0 && names.keys == 0 && path[0] != '\0' && begin[0] == '\0')
            r = error_set(error, GLINT_E_INPUT_NOT_FOUND, NULL, "%s: no object has this name", url);
    }
    mem_free(t);
    return r;
}

/* ---- Adds objects at URLs to the list. The first response of a server says what an object is, and
 * has the bytes that tell its format. */

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

/* Returns 1, or NO_MEMORY. */
static int set_file_identity(struct input_walk *w, const struct remote_identity *identity,
                             struct input_file *file)
{
    file->remote = arena_copy(&w->list->arena, identity, sizeof *identity);
    if (file->remote == NULL) return error_no_memory(w->error);
    file->size = identity->size;
    return 1;
}

/* Returns 1 and sets `file`; 0 if it was recorded as bad; or a code. *out_code says why it is bad;
 * `quiet`: INPUT_NOT_FOUND is not recorded. */
static int fetch_identity_of_object(struct input_walk *w, struct remote_reader *reader,
                                    const char *url, const char *name, bool quiet,
                                    struct input_file *file, enum glint_code *out_code)
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
        input_detect_format(w, name, path, head, used, file) == 0)
        return 0;
    return set_file_identity(w, &identity, file);
}

static int fetch_identity_of_url(struct input_walk *w, const char *url, const char *name,
                                 bool quiet, struct input_file *file, enum glint_code *out_code)
{
    struct remote_reader *reader = remote_reader_create(w->env, url, name, w->list->cancelled);
    if (reader == NULL) return error_no_memory(w->error);
    const int r = fetch_identity_of_object(w, reader, url, name, quiet, file, out_code);
    remote_reader_destroy(reader);
    return r;
}

static int append_object(struct input_walk *w, const char *url, const char *name,
                         struct input_file *file)
{
    file->path = name;
    file->stored = strcmp(url, name) != 0 ? url : NULL;
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
    const char *
        *pending; /* directories with the record of a commit, relative to `url`; "": itself */
    uint64_t pending_count, pending_capacity;
    struct remote_session *group;
};

/* ---- An output of a job of glint whose commit is not finished is neither the old nor the new one.
 */

static int record_directory_with_commit(struct input_walk *w, const char *directory)
{
    char hint[2 * PATH_MAX];
    text_format(hint, sizeof hint,
                "wait for the job that writes it; if none does, finish it: glint clean --finish %s",
                directory);
    return input_record_bad_path(w, GLINT_E_INPUT_PENDING, directory,
                                 "a job started to commit its output there, and has not finished",
                                 hint);
}

static int add_directory_with_commit(struct url_list *l, const char *name)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(name, '/');
    if (!text_format(directory, sizeof directory, "%.*s", (int)(slash != NULL ? slash - name : 0),
                     name))
        return 0; /* nor is a name in it an input */
    if (!array_reserve(&l->pending, &l->pending_capacity, l->pending_count + 1, sizeof *l->pending))
        return error_no_memory(l->walk->error);
    l->pending[l->pending_count] = input_copy_text(l->walk, directory);
    return l->pending[l->pending_count++] != NULL ? 0 : GLINT_E_NO_MEMORY;
}

/* Records directories in which a commit is pending and from which objects are read. */
static int record_pending_directories(struct url_list *l)
{
    char path[PATH_MAX];
    int r = 0;
    for (uint64_t i = 0; i < l->pending_count && r == 0; i++) {
        const char *directory = l->pending[i];
        const size_t size = strlen(directory);
        bool read = size == 0;
        for (uint64_t j = 0; j < l->count && !read; j++)
            read = strncmp(l->entries[j].name, directory, size) == 0 &&
                   l->entries[j].name[size] == '/' &&
                   strchr(l->entries[j].name + size + 1, '/') == NULL;
        if (read &&
            text_format(path, sizeof path, "%s%s%s", l->url, size > 0 ? "/" : "", directory))
            r = record_directory_with_commit(l->walk, path);
    }
    return r;
}

static bool is_commit_record(const char *name)
{
    const char *slash = strrchr(name, '/');
    return remote_name_is_commit(slash != NULL ? slash + 1 : name);
}

/* HDFS lists all names, whatever they should begin with. */
static int find_commit_record_in_listing(void *arg, const struct listed_object *object)
{
    bool *found = arg;
    *found = *found || is_commit_record(object->name);
    return 0;
}

/* For objects that were not found by listing their directory. */
static int check_directory_has_no_commit(struct input_walk *w, const char *directory)
{
    struct glint_error problem = {.code = GLINT_OK};
    bool found = false;
    int r = remote_list(w->env, directory, REMOTE_COMMIT_PREFIX, false, w->list->cancelled,
                        find_commit_record_in_listing, &found, &problem);
    if (r < 0 && problem.code != GLINT_OK) r = record_failed_url(w, directory, &problem);
    return r == 0 && found ? record_directory_with_commit(w, directory) : r;
}

static int collect_listed_object(void *arg, const struct listed_object *object)
{
    struct url_list *l = arg;
    char path[PATH_MAX];
    size_t size;
    if (is_commit_record(object->name)) return add_directory_with_commit(l, object->name);
    const enum glob_match match =
        input_glob_match(&l->glob, object->name, object->is_directory, &size);
    if (match == GLOB_NONE) return 0;
    if (match == GLOB_BEGIN) return 1;
    if (match == GLOB_DIRECTORY && l->walk->list->skips_nested) return 0;
    if (match == GLOB_DIRECTORY && !object->is_directory && l->nested++ > 0) return 0;
    if (match != GLOB_DIRECTORY) size = strlen(object->name);
    const bool fits = text_format(path, sizeof path, "%s/%.*s", l->url, (int)size, object->name);
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

static int compare_listed_names(const void *a, const void *b)
{
    return strcmp(((const struct url_entry *)a)->name, ((const struct url_entry *)b)->name);
}

/* Whether the list says all that is needed of it: a small object is read once, by its task. */
static bool is_known_from_list(const struct url_list *l, const struct url_entry *e)
{
    if (!e->known) return false;
    return l->walk->list->content != INPUT_TEXT ||
           (e->identity.size <= REMOTE_SMALL_BYTES_MAX && !format_is_columns_name(e->url));
}

static void start_identifying_object(struct url_list *l, struct url_entry *e)
{
    if (is_known_from_list(l, e) || l->group == NULL) return;
    e->reader = remote_reader_create(l->walk->env, e->url, e->url, l->walk->list->cancelled);
    if (e->reader == NULL) return;
    if (e->known) remote_reader_set_identity(e->reader, &e->identity, FORMAT_HEAD_BYTES);
    remote_reader_start(e->reader, l->group, FORMAT_HEAD_BYTES);
}

static int add_listed_object(struct url_list *l, struct url_entry *e)
{
    struct input_walk *w = l->walk;
    struct input_file file = {.path = NULL};
    enum glint_code code;
    int r;
    if (is_known_from_list(l, e)) {
        const bool text = w->list->content == INPUT_TEXT;
        file.detect = text && e->identity.size > 0;
        if (!file.detect) file.compression = format_compression_of_name(e->url);
        r = set_file_identity(w, &e->identity, &file);
    } else if (e->reader != NULL) {
        r = fetch_identity_of_object(w, e->reader, e->url, e->url, false, &file, &code);
    } else {
        r = fetch_identity_of_url(w, e->url, e->url, false, &file, &code);
    }
    remote_reader_destroy(e->reader);
    e->reader = NULL;
    return r > 0 ? append_object(w, e->url, e->url, &file) : r;
}

/* Adds the objects in the order of their names. Requests for those that follow are sent before. */
static int add_listed_objects(struct url_list *l)
{
    struct glint_error ignored = {.code = GLINT_OK};
    uint64_t next = 0;
    int r = 0;
    if (l->count > 1) qsort(l->entries, l->count, sizeof *l->entries, compare_listed_names);
    if (l->count > 1) l->group = remote_session_open(&ignored);
    for (uint64_t i = 0; r == 0 && i < l->count; i++) {
        for (; next < l->count && next - i < REMOTE_AHEAD_MAX; next++)
            start_identifying_object(l, &l->entries[next]);
        r = add_listed_object(l, &l->entries[i]);
    }
    for (uint64_t i = 0; i < next; i++) remote_reader_destroy(l->entries[i].reader);
    remote_session_close(l->group);
    return r;
}

/* Whether names that begin so, and only those are listed, may be parts of a job. */
static bool may_match_part_names(const char *begin)
{
    const size_t size = strlen(begin), part = sizeof "part-" - 1;
    return size > 0 && strncmp(begin, "part-", size < part ? size : part) == 0;
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
    int r = remote_list(w->env, url, begin, input_glob_spans_directories(&l.glob),
                        w->list->cancelled, collect_listed_object, &l, &problem);
    if (r < 0 && problem.code != GLINT_OK) r = record_failed_url(w, url, &problem);
    if (r == 0) r = record_pending_directories(&l);
    if (r == 0 && may_match_part_names(begin)) r = check_directory_has_no_commit(w, url);
    if (r == 0) r = add_listed_objects(&l);
    if (r == 0 && strcmp(pattern, ALL_FILES) != 0 && l.count == 0 && w->bad_count == bad_before)
        r = input_record_bad_path(w, GLINT_E_INPUT_NOT_FOUND, path, "no object matches", NULL);
    mem_free(l.entries);
    mem_free(l.pending);
    return r;
}

/* A URL of s3 or webhdfs with a pattern. What precedes its first component with one is listed. */
static int add_url_with_glob(struct input_walk *w, char *url)
{
    const char *path = remote_url_split(url).path;
    char *slash = url + (path - url), *end = slash + strcspn(slash, "*?[");
    assert(*slash == '/' && *end != '\0');
    while (end > slash && *end != '/') end--;
    *end = '\0';
    return add_url_directory(w, url, end + 1);
}

/* A single object, which may be a part of an output. */
static int add_object_of_store(struct input_walk *w, const char *url, struct input_file *file)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(url, '/'), *job = NULL, *suffix;
    const uint64_t bad_before = w->bad_count;
    int r = 0;
    if (slash != NULL && remote_part_parse(slash + 1, &job, &suffix) > 0 && job != NULL &&
        text_format(directory, sizeof directory, "%.*s", (int)(slash - url), url))
        r = check_directory_has_no_commit(w, directory);
    return r == 0 && w->bad_count == bad_before ? append_object(w, url, url, file) : r;
}

/* `url` is of s3 or webhdfs: an object, or a directory of objects. */
static int add_s3_or_webhdfs_url(struct input_walk *w, const char *text)
{
    char url[PATH_MAX];
    enum glint_code code = GLINT_OK;
    struct input_file file = {.path = NULL};
    size_t size = strlen(text);
    memcpy(url, text, size + 1);
    const size_t root = (size_t)(remote_url_split(url).path - url);
    if (input_is_glob(url + root)) return add_url_with_glob(w, url);
    const bool directory = url[size - 1] == '/' || size == root;
    while (size > root && url[size - 1] == '/') url[--size] = '\0';
    if (!directory) {
        int r = fetch_identity_of_url(w, url, url, true, &file, &code);
        if (r > 0 && !remote_identity_is_directory(file.remote))
            return add_object_of_store(w, url, &file);
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
    if (remote_url_kind(url) != REMOTE_HTTP) return add_s3_or_webhdfs_url(w, url);
    int r = fetch_identity_of_url(w, url, name, false, &file, &code);
    return r > 0 ? append_object(w, url, name, &file) : r;
}
