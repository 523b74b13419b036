/* See s3_reply.h. Amazon sends white space before a document while it completes an upload, so that
 * the connection stays open. */
#include "engine/input/s3_reply.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

/* Copies a text that is sent back in a later request. Returns false, with *out empty, if it is
 * unusable. */
static bool copy_id(char *out, size_t capacity, const struct xml_element *e)
{
    const bool usable = e->size > 0 && !e->too_long && text_format(out, capacity, "%s", e->text) &&
                        text_is_printable(out);
    if (!usable) out[0] = '\0';
    return usable;
}

static void copy_shown(char *out, size_t capacity, const struct xml_element *e)
{
    text_format(out, capacity, "%s", e->text);
    text_make_printable(out);
}

static int on_reply_element(void *arg, const struct xml_element *e)
{
    static const struct {
        const char *root;
        enum s3_reply_kind kind;
    } kinds[] = {{"Error", S3_ERROR},
                 {"InitiateMultipartUploadResult", S3_UPLOAD_CREATED},
                 {"CompleteMultipartUploadResult", S3_UPLOAD_COMPLETED}};
    struct s3_reply *reply = arg;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(e->root, kinds[i].root) == 0) reply->kind = kinds[i].kind;
    if (reply->kind == S3_NOTHING) return -1;
    if (xml_element_is(e, NULL, "UploadId") && reply->kind == S3_UPLOAD_CREATED &&
        !copy_id(reply->upload_id, sizeof reply->upload_id, e))
        return -1;
    if (xml_element_is(e, NULL, "Code") && reply->kind == S3_ERROR)
        copy_shown(reply->code, sizeof reply->code, e);
    if (xml_element_is(e, NULL, "Message") && reply->kind == S3_ERROR)
        copy_shown(reply->message, sizeof reply->message, e);
    return 0;
}

void s3_reply_parse(const uint8_t *text, uint64_t size, struct s3_reply *out)
{
    memset(out, 0, sizeof *out);
    while (size > 0 && strchr(" \t\r\n", *text) != NULL && *text != '\0') text++, size--;
    const int r = xml_elements_parse(text, size, on_reply_element, out);
    if (r != 0 || (out->kind == S3_UPLOAD_CREATED && out->upload_id[0] == '\0'))
        out->kind = S3_NOTHING;
    assert(out->kind != S3_UPLOAD_CREATED || out->upload_id[0] != '\0');
}

bool s3_code_is_passing(const char *code)
{
    static const char *const passing[] = {"InternalError",    "ServiceUnavailable", "SlowDown",
                                          "OperationAborted", "RequestTimeout",     "Throttling"};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strcmp(code, passing[i]) == 0) return true;
    return false;
}

/* ---- Uploads */

struct uploads_page {
    bool is_list, truncated;
    struct s3_upload upload; /* that is being read */
    struct s3_uploads_marker *next;
    s3_upload_call *entry;
    void *arg;
};

static int end_upload(struct uploads_page *p)
{
    if (p->upload.key[0] == '\0' || p->upload.upload_id[0] == '\0') return -1;
    const int r = p->entry(p->arg, &p->upload);
    memset(&p->upload, 0, sizeof p->upload);
    return r;
}

/* Returns false if the element has this name and a text that cannot be used. */
static bool read_id(const struct xml_element *e, const char *parent, const char *name, char *out,
                    size_t capacity)
{
    return !xml_element_is(e, parent, name) || copy_id(out, capacity, e);
}

static int on_uploads_element(void *arg, const struct xml_element *e)
{
    struct uploads_page *p = arg;
    struct s3_upload *u = &p->upload;
    p->is_list = strcmp(e->root, "ListMultipartUploadsResult") == 0;
    if (!p->is_list) return -1;
    if (!read_id(e, "Upload", "Key", u->key, sizeof u->key) ||
        !read_id(e, "Upload", "UploadId", u->upload_id, sizeof u->upload_id) ||
        !read_id(e, "Upload", "Initiated", u->initiated, sizeof u->initiated))
        return -1;
    if (xml_element_is(e, NULL, "Upload")) return end_upload(p);
    /* Of the last page they are empty. */
    if (xml_element_is(e, NULL, "NextKeyMarker") && e->size > 0 &&
        !copy_id(p->next->key, sizeof p->next->key, e))
        return -1;
    if (xml_element_is(e, NULL, "NextUploadIdMarker") && e->size > 0 &&
        !copy_id(p->next->upload_id, sizeof p->next->upload_id, e))
        return -1;
    if (xml_element_is(e, NULL, "IsTruncated")) p->truncated = strcmp(e->text, "true") == 0;
    return 0;
}

int s3_uploads_parse(const uint8_t *text, uint64_t size, struct s3_uploads_marker *next,
                     s3_upload_call *entry, void *arg)
{
    struct uploads_page p = {.next = next, .entry = entry, .arg = arg};
    memset(next, 0, sizeof *next);
    const int r = xml_elements_parse(text, size, on_uploads_element, &p);
    if (r != 0) return r;
    if (!p.is_list || (p.truncated && next->key[0] == '\0')) return -1;
    if (!p.truncated) memset(next, 0, sizeof *next);
    return 0;
}
