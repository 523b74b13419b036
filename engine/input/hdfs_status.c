/* See hdfs_status.h. A tree of JSON takes up to 80 times the memory of its text, so a list is cut
 * into its entries, which are parsed one by one. */
#include "engine/input/hdfs_status.h"

#include "engine/base/text.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static bool is_type(const json_t *status, const char *type)
{
    const char *value = json_string_value(json_object_get(status, "type"));
    return value != NULL && strcmp(value, type) == 0;
}

static bool read_status(const json_t *status, struct listed_object *out)
{
    const json_t *length = json_object_get(status, "length");
    const json_t *mtime = json_object_get(status, "modificationTime");
    const bool directory = is_type(status, "DIRECTORY");
    *out = (struct listed_object){.is_directory = directory};
    out->known = json_is_integer(length) && json_is_integer(mtime) &&
                 json_integer_value(length) >= 0 && (directory || is_type(status, "FILE"));
    if (!out->known) return false;
    out->identity.size = (uint64_t)json_integer_value(length);
    out->identity.ranges = true;
    text_format(out->identity.version, sizeof out->identity.version, "%s at %" PRId64,
                directory ? "directory" : "file", (int64_t)json_integer_value(mtime));
    return true;
}

bool hdfs_status_parse(const uint8_t *text, uint64_t size, struct listed_object *out)
{
    if (size == 0 || size > REMOTE_STATUS_BYTES_MAX) return false;
    json_t *all = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, NULL);
    const bool ok = read_status(json_object_get(all, "FileStatus"), out);
    json_decref(all);
    return ok;
}

/* The text of a list that is not parsed yet. */
struct list_text {
    const char *at, *end;
};

/* Skips the token, and white space before it. */
static bool skip_token(struct list_text *t, const char *token)
{
    const size_t size = strlen(token);
    while (t->at < t->end && *t->at != '\0' && strchr(" \t\r\n", *t->at) != NULL) t->at++;
    if ((size_t)(t->end - t->at) < size || memcmp(t->at, token, size) != 0) return false;
    t->at += size;
    return true;
}

static bool skip_tokens(struct list_text *t, const char *const *tokens, size_t count)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) ok = skip_token(t, tokens[i]);
    return ok;
}

static int parse_entry(struct list_text *t, listed_object_call *entry, void *arg)
{
    const size_t left = (size_t)(t->end - t->at);
    struct listed_object object;
    json_error_t error;
    json_t *status =
        json_loadb(t->at, left < REMOTE_STATUS_BYTES_MAX ? left : REMOTE_STATUS_BYTES_MAX,
                   JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
    const char *name = json_string_value(json_object_get(status, "pathSuffix"));
    int r = -1;
    read_status(status, &object);
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
    if (size == 0 || !skip_tokens(&t, begin, sizeof begin / sizeof *begin)) return -1;
    bool more = !skip_token(&t, "]");
    while (more) {
        const int r = parse_entry(&t, entry, arg);
        if (r != 0) return r;
        more = skip_token(&t, ",");
        if (!more && !skip_token(&t, "]")) return -1;
    }
    assert(t.at <= t.end);
    return skip_tokens(&t, end, sizeof end / sizeof *end) && t.at == t.end ? 0 : -1;
}
