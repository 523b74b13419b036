/* Only the paths of elements that matter are looked at, by the names of an element and its parent.
 * Expat keeps all open elements, so their depth is limited, and limits the expansion of
 * entities. */
#include "engine/input/s3_list.h"

#include "engine/base/text.h"
#include "engine/input/xml_library.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define DEPTH_MAX 8u
#define NAME_MAX_ 32u

struct list_parser {
    XML_Parser xml;
    char names[DEPTH_MAX][NAME_MAX_]; /* of the open elements */
    unsigned depth;
    bool is_list, truncated, too_long;
    char text[S3_TOKEN_BYTES]; /* of the current element */
    size_t size;
    /* Of the current entry: its size and its ETag may be missing. */
    char key[S3_TOKEN_BYTES];
    bool sized, versioned;
    struct listed_object object;
    char *token;
    listed_object_call *entry;
    void *arg;
    int result;
};

static void stop(struct list_parser *p, int result)
{
    if (p->result == 0) p->result = result;
    XML_StopParser(p->xml, XML_FALSE);
}

static void on_start(void *arg, const char *name, const char **attributes)
{
    struct list_parser *p = arg;
    (void)attributes;
    if (p->depth == DEPTH_MAX) {
        stop(p, -1);
        return;
    }
    if (p->depth == 0) p->is_list = strcmp(name, "ListBucketResult") == 0;
    strncpy(p->names[p->depth], name, NAME_MAX_ - 1);
    p->names[p->depth][NAME_MAX_ - 1] = '\0';
    p->depth++;
    p->size = 0;
    p->text[0] = '\0';
    p->too_long = false;
}

static void on_doctype(void *arg, const char *name, const char *system_id, const char *public_id,
                       int has_internal_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_internal_subset;
    stop(arg, -1); /* no list has one */
}

static void on_text(void *arg, const char *text, int size)
{
    struct list_parser *p = arg;
    const size_t n = (size_t)size;
    assert(p->size < sizeof p->text);
    if (n >= sizeof p->text - p->size) {
        p->too_long = true;
        return;
    }
    memcpy(p->text + p->size, text, n);
    p->size += n;
    p->text[p->size] = '\0';
}

static bool ends(const struct list_parser *p, const char *parent, const char *name)
{
    const unsigned at = p->depth; /* of the element that ends */
    const unsigned wanted = parent != NULL ? 2 : 1;
    return p->is_list && at == wanted && strcmp(p->names[at], name) == 0 &&
           (parent == NULL || strcmp(p->names[at - 1], parent) == 0);
}

static void set_size(struct list_parser *p)
{
    int64_t size;
    p->sized = text_parse_i64((const uint8_t *)p->text, p->size, &size) && size >= 0;
    if (p->sized) p->object.identity.size = (uint64_t)size;
}

/* Some stores leave out the quotes, which the header of a response has. */
static void set_version(struct list_parser *p)
{
    char *version = p->object.identity.version;
    const bool quoted = p->text[0] == '"' || strncmp(p->text, "W/\"", 3) == 0;
    p->versioned = p->size > 0 && !p->too_long &&
                   text_format(version, REMOTE_VERSION_BYTES, quoted ? "%s" : "\"%s\"", p->text);
    for (const char *c = version; p->versioned && *c != '\0'; c++)
        p->versioned = *c >= ' ' && *c <= '~';
}

/* Ends an entry: its key, or common prefix, is in p->key. */
static void add_s3_object(struct list_parser *p, bool is_prefix)
{
    if (p->key[0] == '\0') {
        stop(p, -1);
        return;
    }
    p->object.name = p->key;
    p->object.is_directory = is_prefix;
    p->object.known = p->sized && p->versioned;
    p->object.identity.ranges = true;
    const int result = p->entry(p->arg, &p->object);
    if (result != 0) stop(p, result);
    p->key[0] = '\0';
    p->sized = p->versioned = false;
}

static void set_name(struct list_parser *p)
{
    memcpy(p->key, p->text, p->too_long ? 0 : p->size + 1);
    if (p->too_long || p->size == 0) stop(p, -1);
}

static void on_end(void *arg, const char *name)
{
    struct list_parser *p = arg;
    (void)name;
    if (p->result != 0) return; /* the end of an empty element, after its start stopped expat */
    assert(p->depth > 0);
    p->depth--;
    if (ends(p, "Contents", "Key") || ends(p, "CommonPrefixes", "Prefix")) set_name(p);
    if (ends(p, "Contents", "Size")) set_size(p);
    if (ends(p, "Contents", "ETag")) set_version(p);
    if (ends(p, NULL, "Contents") || ends(p, NULL, "CommonPrefixes"))
        add_s3_object(p, strcmp(p->names[p->depth], "Contents") != 0);
    if (ends(p, NULL, "NextContinuationToken")) {
        memcpy(p->token, p->text, p->size + 1);
        if (p->too_long) stop(p, -1);
    }
    if (ends(p, NULL, "IsTruncated")) p->truncated = strcmp(p->text, "true") == 0;
    p->size = 0;
    p->text[0] = '\0';
}

int s3_list_parse(const uint8_t *text, uint64_t size, char *token, listed_object_call *entry,
                  void *arg)
{
    struct list_parser p = {.token = token, .entry = entry, .arg = arg};
    struct glint_error unused = {.code = GLINT_OK};
    token[0] = '\0';
    if (size > INT_MAX || xml_library_load(&unused) != 0) return -1;
    p.xml = XML_ParserCreate(NULL);
    if (p.xml == NULL) return -1;
    XML_SetUserData(p.xml, &p);
    XML_SetElementHandler(p.xml, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(p.xml, on_doctype);
    XML_SetCharacterDataHandler(p.xml, on_text);
    const bool ok = XML_Parse(p.xml, (const char *)text, (int)size, XML_TRUE) == XML_STATUS_OK;
    XML_ParserFree(p.xml);
    if (p.result != 0) return p.result;
    if (!ok || !p.is_list || (p.truncated && token[0] == '\0')) return -1;
    if (!p.truncated) token[0] = '\0'; /* some stores send one with the last page, too */
    return 0;
}
