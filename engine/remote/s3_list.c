/* Only the paths of elements that matter are looked at, by the names of an element and its parent.
 * Expat limits the expansion of entities. */
#include "engine/remote/s3_list.h"

#include <assert.h>
#include <expat.h>
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
    char *token;
    int (*entry)(void *arg, const char *key, bool is_prefix);
    void *arg;
    int result;
};

static void on_start(void *arg, const char *name, const char **attributes)
{
    struct list_parser *p = arg;
    (void)attributes;
    if (p->depth == 0) p->is_list = strcmp(name, "ListBucketResult") == 0;
    if (p->depth < DEPTH_MAX) {
        strncpy(p->names[p->depth], name, NAME_MAX_ - 1);
        p->names[p->depth][NAME_MAX_ - 1] = '\0';
    }
    p->depth++;
    p->size = 0;
    p->text[0] = '\0';
    p->too_long = false;
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

static void on_end(void *arg, const char *name)
{
    struct list_parser *p = arg;
    (void)name;
    assert(p->depth > 0);
    p->depth--;
    if (p->depth >= DEPTH_MAX || p->result != 0) return;
    const bool key = ends(p, "Contents", "Key"), prefix = ends(p, "CommonPrefixes", "Prefix");
    const bool token = ends(p, NULL, "NextContinuationToken");
    if ((key || prefix || token) && (p->too_long || p->size == 0))
        p->result = -1;
    else if (key || prefix)
        p->result = p->entry(p->arg, p->text, prefix);
    else if (token)
        memcpy(p->token, p->text, p->size + 1);
    else if (ends(p, NULL, "IsTruncated"))
        p->truncated = strcmp(p->text, "true") == 0;
    p->size = 0;
    p->text[0] = '\0';
    if (p->result != 0) XML_StopParser(p->xml, XML_FALSE);
}

int s3_list_parse(const uint8_t *text, uint64_t size, char *token,
                  int (*entry)(void *arg, const char *key, bool is_prefix), void *arg)
{
    struct list_parser p = {.token = token, .entry = entry, .arg = arg};
    token[0] = '\0';
    if (size > INT_MAX) return -1;
    p.xml = XML_ParserCreate(NULL);
    if (p.xml == NULL) return -1;
    XML_SetUserData(p.xml, &p);
    XML_SetElementHandler(p.xml, on_start, on_end);
    XML_SetCharacterDataHandler(p.xml, on_text);
    const bool ok = XML_Parse(p.xml, (const char *)text, (int)size, XML_TRUE) == XML_STATUS_OK;
    XML_ParserFree(p.xml);
    if (p.result != 0) return p.result;
    if (!ok || !p.is_list || p.truncated != (token[0] != '\0')) return -1;
    return 0;
}
