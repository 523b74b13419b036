/* See remote_store.h. */
#include "engine/input/remote_store.h"

#include "engine/base/cancel.h"
#include "engine/base/text.h"
#include "engine/input/remote_transfer.h"
#include "engine/input/remote_url.h"
#include "engine/input/xml_elements.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define QUERY_BYTES     (3 * S3_UPLOAD_ID_BYTES + 3 * S3_KEY_BYTES)
#define REPLY_BYTES_MAX (64 * KIB)

/* ---- Replies (s3_reply.h). Amazon sends white space before a document while it completes an
 * upload, so that the connection stays open. */

/* Copies a text that is sent back in a later request. Returns false, with *out empty, if it is
 * unusable. */
static bool copy_printable_element_text(char *out, size_t capacity, const struct xml_element *e)
{
    const bool usable = e->size > 0 && !e->too_long && text_format(out, capacity, "%s", e->text) &&
                        text_is_printable(out);
    if (!usable) out[0] = '\0';
    return usable;
}

static void copy_element_text_for_error(char *out, size_t capacity, const struct xml_element *e)
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
        !copy_printable_element_text(reply->upload_id, sizeof reply->upload_id, e))
        return -1;
    if (xml_element_is(e, NULL, "Code") && reply->kind == S3_ERROR)
        copy_element_text_for_error(reply->code, sizeof reply->code, e);
    if (xml_element_is(e, NULL, "Message") && reply->kind == S3_ERROR)
        copy_element_text_for_error(reply->message, sizeof reply->message, e);
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

/* Whether the same request may have another answer a moment later. */
static bool s3_error_is_transient(const char *code)
{
    static const char *const passing[] = {"InternalError",    "ServiceUnavailable", "SlowDown",
                                          "OperationAborted", "RequestTimeout",     "Throttling"};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strcmp(code, passing[i]) == 0) return true;
    return false;
}

struct uploads_page {
    bool is_list, truncated;
    struct s3_upload upload; /* that is being read */
    struct s3_uploads_marker *next;
    s3_upload_call *entry;
    void *arg;
};

static int end_listed_upload(struct uploads_page *p)
{
    if (p->upload.key[0] == '\0' || p->upload.upload_id[0] == '\0') return -1;
    const int r = p->entry(p->arg, &p->upload);
    memset(&p->upload, 0, sizeof p->upload);
    return r;
}

/* Returns false if the element has this name and a text that cannot be used. */
static bool read_element_if_named(const struct xml_element *e, const char *parent, const char *name,
                                  char *out, size_t capacity)
{
    return !xml_element_is(e, parent, name) || copy_printable_element_text(out, capacity, e);
}

static int on_uploads_element(void *arg, const struct xml_element *e)
{
    struct uploads_page *p = arg;
    struct s3_upload *u = &p->upload;
    p->is_list = strcmp(e->root, "ListMultipartUploadsResult") == 0;
    if (!p->is_list) return -1;
    if (!read_element_if_named(e, "Upload", "Key", u->key, sizeof u->key) ||
        !read_element_if_named(e, "Upload", "UploadId", u->upload_id, sizeof u->upload_id) ||
        !read_element_if_named(e, "Upload", "Initiated", u->initiated, sizeof u->initiated))
        return -1;
    if (xml_element_is(e, NULL, "Upload")) return end_listed_upload(p);
    /* Of the last page they are empty. */
    if (xml_element_is(e, NULL, "NextKeyMarker") && e->size > 0 &&
        !copy_printable_element_text(p->next->key, sizeof p->next->key, e))
        return -1;
    if (xml_element_is(e, NULL, "NextUploadIdMarker") && e->size > 0 &&
        !copy_printable_element_text(p->next->upload_id, sizeof p->next->upload_id, e))
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

/* ---- One request, and its repetitions */

#define PARAMETERS_MAX  4
#define UPLOAD_GRACE_MS 5000u

struct call {
    const char *method, *key;
    /* Of the query: names and values, in the order of the names, in which they are signed. Without
     * a value there is no such parameter. */
    const char *parameters[PARAMETERS_MAX][2];
    struct glint_slice content;
    enum s3_reply_kind wanted; /* S3_NOTHING: the status says all */
    bool may_be_missing;       /* 404 is an answer, without a body */
    bool brief;                /* given up after a part of the time */
    uint64_t grace_ms;         /* struct remote_request's */
    struct buffer *body;       /* gets the response's body; NULL: it is not kept */
    uint64_t body_max;         /* with `body`: its size */
};

struct answer {
    long status;
    char etag[REMOTE_VERSION_BYTES]; /* "": none */
    struct s3_reply reply;
};

/* Codes of inputs, which requests set, become those of outputs. */
static int set_error_of_output(const struct glint_error *e, struct glint_error *error)
{
    const char *hint = e->hint[0] != '\0' ? e->hint : NULL;
    enum glint_code code = e->code;
    if (code == GLINT_E_INPUT_IO) code = GLINT_E_OUTPUT_IO;
    if (code == GLINT_E_INPUT_URL || code == GLINT_E_INPUT_PERMISSION ||
        code == GLINT_E_INPUT_NOT_FOUND)
        code = GLINT_E_OUTPUT_CREATE;
    return error_set(error, code, hint, "%s", e->cause);
}

/* Adds what the store says to the error of the status. */
static enum remote_result set_store_refused_error(const struct remote_store *s,
                                                  const struct remote_transfer *t,
                                                  const struct s3_reply *reply,
                                                  struct glint_error *error)
{
    const bool said = reply->kind == S3_ERROR && reply->code[0] != '\0';
    enum remote_result result;
    if (t->status >= 200 && t->status < 300) { /* with an error in its body */
        const bool passing = s3_error_is_transient(reply->code);
        error_set(error, passing ? GLINT_E_INPUT_IO : GLINT_E_INPUT_URL, NULL,
                  "%s: the server answered %ld with an error", s->name, t->status);
        result = passing ? REMOTE_RETRY : REMOTE_FAILED;
    } else {
        result = remote_set_status_error(REMOTE_S3, s->name, t, error);
    }
    if (!said) return result;
    const size_t used = strlen(error->cause);
    text_format(error->cause + used, sizeof error->cause - used, ": %s%s%s", reply->code,
                reply->message[0] != '\0' ? ", " : "", reply->message);
    if (result == REMOTE_FAILED && t->status != 403 && s3_error_is_transient(reply->code)) {
        error->code = GLINT_E_INPUT_IO;
        result = REMOTE_RETRY;
    }
    return result;
}

static enum remote_result set_store_garbled_error(const struct remote_store *s,
                                                  struct glint_error *error)
{
    error_set(error, GLINT_E_INPUT_URL, "is this an endpoint of S3?",
              "%s: the response makes no sense", s->name);
    return REMOTE_GARBLED;
}

/* So S3Proxy calls an upload that was completed or aborted before. */
static bool is_reply_to_ended_upload(const struct call *call, const struct s3_reply *reply)
{
    return call->wanted == S3_UPLOAD_COMPLETED && strcmp(reply->code, "InvalidPart") == 0;
}

/* The status and the body of a response that has come. */
static enum remote_result check_store_response(const struct remote_store *s,
                                               const struct call *call,
                                               const struct remote_transfer *t,
                                               struct glint_slice body, struct answer *out,
                                               struct glint_error *error)
{
    out->status = t->status;
    text_format(out->etag, sizeof out->etag, "%s", t->response.has_etag ? t->response.version : "");
    const bool fine = t->status >= 200 && t->status < 300;
    if (!fine || call->wanted != S3_NOTHING) s3_reply_parse(body.data, body.size, &out->reply);
    const bool missing = t->status == 404 && strcmp(out->reply.code, "NoSuchBucket") != 0;
    if (call->may_be_missing && (missing || is_reply_to_ended_upload(call, &out->reply))) {
        out->status = 404;
        return REMOTE_OK;
    }
    if (!fine || out->reply.kind == S3_ERROR)
        return set_store_refused_error(s, t, &out->reply, error);
    return out->reply.kind == call->wanted ? REMOTE_OK : set_store_garbled_error(s, error);
}

/* Appends the response's body to `body`. */
static enum remote_result send_store_request_once(struct remote_store *s, const struct call *call,
                                                  const char *query, struct remote_retry *retry,
                                                  struct buffer *body, struct answer *out,
                                                  struct glint_error *error)
{
    struct remote_transfer t;
    struct remote_request request;
    const uint64_t before = body->size, max = call->body != NULL ? call->body_max : REPLY_BYTES_MAX;
    memset(&out->reply, 0, sizeof out->reply);
    if (!remote_target_key(&s->target, call->key, query, &request)) {
        error_set(error, GLINT_E_INPUT_URL, "use shorter names", "%s: the URL is too long",
                  s->name);
        return REMOTE_FAILED;
    }
    request.method = strcmp(call->method, "GET") == 0 ? NULL : call->method;
    request.body = call->content.data;
    request.body_size = call->content.size;
    request.grace_ms = call->grace_ms;
    if (cancel_check(s->env, s->target.cancelled, error) != 0) return REMOTE_FAILED;
    enum remote_result result = remote_transfer_open(&t, s->env, s->name, &request, error);
    if (result == REMOTE_OK) result = remote_transfer_read_all(&t, before + max, NULL, body, error);
    const struct glint_slice text = {body->data + before, body->size - before};
    if (result == REMOTE_OK) result = check_store_response(s, call, &t, text, out, error);
    if (result != REMOTE_OK || out->status == 404) body->size = before;
    retry->wait_ms = t.retry_after_ms;
    remote_transfer_close(&t);
    return result;
}

/* Returns 0 with the last response in *out, which may be NULL. */
static int send_store_request(struct remote_store *s, const struct call *call, struct answer *out,
                              struct glint_error *error)
{
    struct remote_retry retry = {.cancelled = s->target.cancelled};
    struct buffer unused = {NULL, 0, 0}, *body = call->body != NULL ? call->body : &unused;
    struct answer ignored;
    char query[QUERY_BYTES] = "";
    int r = 1;
    for (int i = 0; i < PARAMETERS_MAX; i++)
        if (call->parameters[i][1] != NULL &&
            !remote_url_add_parameter(query, sizeof query, call->parameters[i][0],
                                      call->parameters[i][1]))
            return error_set(error, GLINT_E_OUTPUT_CREATE, NULL, "%s: a query is too long",
                             s->name);
    remote_retry_begin(&retry, s->env);
    while (r > 0) {
        struct glint_error problem = {.code = GLINT_OK}, last = {.code = GLINT_OK};
        const enum remote_result result = send_store_request_once(
            s, call, query, &retry, body, out != NULL ? out : &ignored, &problem);
        if (result == REMOTE_OK) {
            r = 0;
        } else if (!remote_retry_wait(&retry, s->env, result, call->brief)) {
            remote_retry_set_error(&retry, &problem, &last);
            r = set_error_of_output(&last, error);
        }
    }
    buffer_fini(&unused);
    return r;
}

int remote_store_init(struct remote_store *s, struct env *env, const char *url, int cancelled,
                      struct glint_error *error)
{
    struct glint_error problem = {.code = GLINT_OK};
    const char *hint = NULL;
    *s = (struct remote_store){.env = env, .name = url};
    assert(remote_url_kind(url) == REMOTE_S3);
    const char *reason = remote_url_check(url, &hint);
    if (reason != NULL) return error_set(error, GLINT_E_OUTPUT_CREATE, hint, "%s: %s", url, reason);
    int r = remote_target_init(&s->target, env, url, url, cancelled, &problem);
    if (r == 0) r = xml_library_load(&problem);
    return r == 0 ? 0 : set_error_of_output(&problem, error);
}

/* ---- Objects */

int remote_store_put(struct remote_store *s, const char *key, struct glint_slice content,
                     struct glint_error *error)
{
    const struct call call = {.method = "PUT", .key = key, .content = content};
    return send_store_request(s, &call, NULL, error);
}

int remote_store_get(struct remote_store *s, const char *key, uint64_t size_max, struct buffer *out,
                     struct glint_error *error)
{
    const struct call call = {
        .method = "GET", .key = key, .may_be_missing = true, .body = out, .body_max = size_max};
    struct answer answer;
    const int r = send_store_request(s, &call, &answer, error);
    return r == 0 && answer.status == 404 ? GLINT_E_INPUT_NOT_FOUND : r;
}

int remote_store_delete(struct remote_store *s, const char *key, struct glint_error *error)
{
    const struct call call = {.method = "DELETE", .key = key, .may_be_missing = true};
    return send_store_request(s, &call, NULL, error);
}

/* ---- Uploads */

/* Begins an upload of parts, which no reader sees before it is completed. A cancelled task waits
 * for the answer: without its id it could not abort the upload, and the driver may have looked for
 * such before the store began it. */
static int remote_store_create_upload(struct remote_store *s, const char *key,
                                      char upload_id[S3_UPLOAD_ID_BYTES], struct glint_error *error)
{
    /* Sent with =, as it is signed: as one with an empty value. */
    const struct call call = {.method = "POST",
                              .key = key,
                              .parameters = {{"uploads", ""}},
                              .wanted = S3_UPLOAD_CREATED,
                              .grace_ms = UPLOAD_GRACE_MS};
    struct answer answer;
    const int r = send_store_request(s, &call, &answer, error);
    if (r == 0) memcpy(upload_id, answer.reply.upload_id, S3_UPLOAD_ID_BYTES);
    return r;
}

/* Uploads a part, from 1 on. A part that exists is replaced. */
static int remote_store_upload_part(struct remote_store *s, const char *key, const char *upload_id,
                                    uint32_t number, struct glint_slice content,
                                    struct store_upload_part *out, struct glint_error *error)
{
    char digits[TEXT_NUMBER_MAX];
    struct answer answer;
    const struct call call = {.method = "PUT",
                              .key = key,
                              .parameters = {{"partNumber", digits}, {"uploadId", upload_id}},
                              .content = content};
    assert(number >= 1 && number <= S3_PARTS_MAX);
    text_format(digits, sizeof digits, "%" PRIu32, number);
    const int r = send_store_request(s, &call, &answer, error);
    if (r == 0 && answer.etag[0] == '\0')
        return error_set(error, GLINT_E_OUTPUT_CREATE, "is this an endpoint of S3?",
                         "%s: the server did not say the ETag of a part", s->name);
    if (r == 0) memcpy(out->etag, answer.etag, sizeof out->etag);
    return r;
}

static bool append_xml_escaped(struct buffer *out, const char *text)
{
    bool ok = true;
    for (; ok && *text != '\0'; text++) {
        const char *entity = *text == '"'   ? "&quot;"
                             : *text == '&' ? "&amp;"
                             : *text == '<' ? "&lt;"
                             : *text == '>' ? "&gt;"
                                            : NULL;
        ok = entity != NULL ? buffer_append(out, entity, strlen(entity))
                            : buffer_append(out, text, 1);
    }
    return ok;
}

static bool append_part_element(struct buffer *out, uint32_t number, const char *etag)
{
    char begin[96];
    static const char end[] = "</ETag></Part>";
    text_format(begin, sizeof begin, "<Part><PartNumber>%" PRIu32 "</PartNumber><ETag>", number);
    return buffer_append(out, begin, strlen(begin)) && append_xml_escaped(out, etag) &&
           buffer_append(out, end, sizeof end - 1);
}

int remote_store_complete_upload(struct remote_store *s, const char *key, const char *upload_id,
                                 const struct store_upload_part *parts, uint32_t count,
                                 struct glint_error *error)
{
    static const char begin[] = "<CompleteMultipartUpload "
                                "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    static const char end[] = "</CompleteMultipartUpload>";
    struct buffer body = {NULL, 0, 0};
    struct answer answer;
    assert(count >= 1 && count <= S3_PARTS_MAX);
    bool ok = buffer_append(&body, begin, sizeof begin - 1);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = append_part_element(&body, i + 1, parts[i].etag);
    ok = ok && buffer_append(&body, end, sizeof end - 1);
    const struct call call = {.method = "POST",
                              .key = key,
                              .parameters = {{"uploadId", upload_id}},
                              .content = {body.data, body.size},
                              .wanted = S3_UPLOAD_COMPLETED,
                              .may_be_missing = true};
    int r = ok ? send_store_request(s, &call, &answer, error) : error_no_memory(error);
    if (r == 0 && answer.status == 404) r = GLINT_E_INPUT_NOT_FOUND;
    buffer_fini(&body);
    return r;
}

int remote_store_abort_upload(struct remote_store *s, const char *key, const char *upload_id,
                              struct glint_error *error)
{
    const struct call call = {.method = "DELETE",
                              .key = key,
                              .parameters = {{"uploadId", upload_id}},
                              .may_be_missing = true,
                              .brief = true};
    return send_store_request(s, &call, NULL, error);
}

/* ---- Lists */

static int set_no_upload_list_error(const struct remote_store *s, const char *what,
                                    struct glint_error *error)
{
    return error_set(error, GLINT_E_OUTPUT_CREATE, "is this an endpoint of S3?", "%s: %s", s->name,
                     what);
}

int remote_store_list_uploads(struct remote_store *s, const char *prefix, s3_upload_call *entry,
                              void *arg, struct glint_error *error)
{
    struct s3_uploads_marker from = {.key = ""}, next;
    struct buffer page = {NULL, 0, 0};
    int r = 0;
    do {
        const struct call call = {
            .method = "GET",
            .key = "",
            .parameters = {{"key-marker", from.key[0] != '\0' ? from.key : NULL},
                           {"prefix", prefix},
                           {"upload-id-marker", from.upload_id[0] != '\0' ? from.upload_id : NULL},
                           {"uploads", ""}},
            .body = &page,
            .body_max = REMOTE_PAGE_BYTES_MAX};
        page.size = 0;
        r = send_store_request(s, &call, NULL, error);
        if (r == 0) r = s3_uploads_parse(page.data, page.size, &next, entry, arg);
        if (r == -1) r = set_no_upload_list_error(s, "the response is no list of uploads", error);
        if (r == 0 && next.key[0] != '\0' && memcmp(&next, &from, sizeof next) == 0)
            r = set_no_upload_list_error(s, "the next page of a list is the same one again", error);
        from = next;
    } while (r == 0 && next.key[0] != '\0');
    buffer_fini(&page);
    return r;
}

int remote_store_list(struct remote_store *s, const char *prefix, listed_object_call *entry,
                      void *arg, struct glint_error *error)
{
    struct glint_error problem = {.code = GLINT_OK};
    const int r = s3_list_objects(&s->target, s->env, s->name, prefix, entry, arg, &problem);
    return problem.code == GLINT_OK ? r : set_error_of_output(&problem, error);
}

/* ---- Names */

bool remote_output_is_in_store(const char *attempts)
{
    return remote_url_kind(attempts) == REMOTE_S3;
}

size_t remote_part_parse(const char *name, const char **out_job, const char **out_suffix)
{
    *out_job = NULL;
    *out_suffix = name;
    if (strncmp(name, "part-", 5) != 0) return 0;
    const size_t size = 5 + strspn(name + 5, "0123456789");
    if (size < 5 + 5) return 0;
    *out_suffix = name + size;
    const char *job = name + size + 1;
    if (name[size] == '-' && strspn(job, "0123456789abcdef") == REMOTE_JOB_DIGITS) {
        *out_job = job;
        *out_suffix = job + REMOTE_JOB_DIGITS;
    }
    return size;
}

bool remote_format_part_url(const char *attempts, const char *part, char *out, size_t capacity)
{
    const char *slash = strrchr(attempts, '/'), *job, *suffix;
    const size_t digits = remote_part_parse(part, &job, &suffix);
    if (slash == NULL || strlen(slash + 1) != REMOTE_JOB_DIGITS || digits == 0 || job != NULL)
        return false;
    return text_format(out, capacity, "%.*s/%.*s-%s%s", (int)(slash - attempts), attempts,
                       (int)digits, part, slash + 1, suffix);
}

bool remote_name_is_commit(const char *name)
{
    const size_t size = sizeof REMOTE_COMMIT_PREFIX - 1;
    return strncmp(name, REMOTE_COMMIT_PREFIX, size) == 0 &&
           strspn(name + size, "0123456789abcdef") == REMOTE_JOB_DIGITS &&
           name[size + REMOTE_JOB_DIGITS] == '\0';
}

/* ---- Writers. Parts have to be of S3_PART_BYTES_MIN at least, and there are at most S3_PARTS_MAX:
 * so parts get twice as large after each tenth of these, as far as the memory goes. A part is kept
 * until the store has it. */

struct remote_writer {
    struct remote_store store;
    char url[PATH_MAX];
    const char *key; /* in `url` */
    char id[S3_UPLOAD_ID_BYTES];
    uint64_t memory_max, size;
    uint8_t *data; /* of the next part: `fill` bytes, room for `capacity` */
    uint64_t fill, capacity;
    struct store_upload_part *parts;
    uint64_t part_capacity;
    uint32_t part_count;
    bool created, finished;
};

/* Of the part that is filled now. */
static uint64_t current_part_bytes(const struct remote_writer *w)
{
    const uint64_t wanted = S3_PART_BYTES_MIN << (w->part_count / (S3_PARTS_MAX / 10));
    return wanted < w->memory_max ? wanted : w->memory_max;
}

int remote_writer_create(struct remote_writer **out, struct env *env, const char *url,
                         uint64_t memory_max, int cancelled, struct glint_error *error)
{
    struct remote_writer *w = *out = NULL;
    assert(memory_max >= S3_PART_BYTES_MIN && remote_output_is_in_store(url));
    if (strlen(url) >= sizeof w->url)
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter URL", "%s is too long", url);
    w = mem_zalloc(sizeof *w);
    if (w == NULL) return error_no_memory(error);
    memcpy(w->url, url, strlen(url) + 1);
    w->memory_max = memory_max;
    w->key = remote_url_split(w->url).path;
    if (*w->key == '/') w->key++;
    int r = remote_store_init(&w->store, env, w->url, cancelled, error);
    if (r == 0) r = remote_store_create_upload(&w->store, w->key, w->id, error);
    w->created = r == 0;
    if (r != 0) {
        remote_writer_destroy(w, false);
        return r;
    }
    *out = w;
    return 0;
}

static int upload_part(struct remote_writer *w, struct glint_error *error)
{
    if (w->part_count == S3_PARTS_MAX)
        return error_set(error, GLINT_E_OUTPUT_FULL,
                         "raise --memory, for larger parts, or --partitions",
                         "%s: after %" PRIu64 " bytes it has %u parts, and no more are allowed",
                         w->url, w->size, S3_PARTS_MAX);
    if (!array_reserve(&w->parts, &w->part_capacity, w->part_count + 1u, sizeof *w->parts))
        return error_no_memory(error);
    const int r = remote_store_upload_part(&w->store, w->key, w->id, w->part_count + 1,
                                           (struct glint_slice){w->data, w->fill},
                                           &w->parts[w->part_count], error);
    if (r != 0) return r;
    w->part_count++;
    w->size += w->fill;
    w->fill = 0;
    return 0;
}

/* Makes room for at least one byte. Small objects take little memory. */
static bool grow_current_part(struct remote_writer *w)
{
    const uint64_t bytes = current_part_bytes(w);
    uint64_t capacity = w->capacity > 0 ? 4 * w->capacity : 256 * KIB;
    if (capacity > bytes) capacity = bytes;
    if (w->capacity >= capacity) return true;
    uint8_t *grown = mem_grow(w->data, w->fill, capacity);
    if (grown == NULL) return false;
    w->data = grown;
    w->capacity = capacity;
    return true;
}

int remote_writer_write(struct remote_writer *w, const void *data, uint64_t size,
                        struct glint_error *error)
{
    const uint8_t *from = data;
    assert(!w->finished);
    while (size > 0) {
        if (w->fill == current_part_bytes(w)) {
            const int r = upload_part(w, error);
            if (r != 0) return r;
        }
        if (w->fill == w->capacity && !grow_current_part(w)) return error_no_memory(error);
        uint64_t room = w->capacity < current_part_bytes(w) ? w->capacity : current_part_bytes(w);
        room -= w->fill;
        const uint64_t n = size < room ? size : room;
        assert(n > 0);
        memcpy(w->data + w->fill, from, n);
        w->fill += n;
        from += n;
        size -= n;
    }
    return 0;
}

int remote_writer_finish(struct remote_writer *w, struct glint_error *error)
{
    assert(!w->finished);
    const int r = w->fill > 0 || w->part_count == 0 ? upload_part(w, error) : 0;
    w->finished = r == 0;
    mem_free(w->data);
    w->data = NULL;
    return r;
}

void remote_writer_pack(const struct remote_writer *w, struct packer *p)
{
    assert(w->finished && w->part_count > 0);
    pack_array(p, 2 + w->part_count);
    pack_text(p, w->id);
    pack_u64(p, w->size);
    for (uint32_t i = 0; i < w->part_count; i++) pack_text(p, w->parts[i].etag);
}

void remote_writer_destroy(struct remote_writer *w, bool keep)
{
    struct glint_error ignored = {.code = GLINT_OK};
    if (w == NULL) return;
    /* Also of a task that was cancelled. What is left if it fails, the driver aborts. */
    w->store.target.cancelled = 0;
    if (w->created && !(keep && w->finished))
        remote_store_abort_upload(&w->store, w->key, w->id, &ignored);
    mem_free(w->parts);
    mem_free(w->data);
    mem_free(w);
}

int remote_upload_unpack(struct unpacker *u, struct remote_upload *out, struct glint_error *error)
{
    struct unpacker fields = unpack_array(u);
    *out = (struct remote_upload){.size = 0};
    bool sound = !u->failed && fields.count >= 3 && fields.count <= 2 + S3_PARTS_MAX;
    out->part_count = sound ? (uint32_t)(fields.count - 2) : 0;
    if (sound && (out->parts = mem_alloc(out->part_count * sizeof *out->parts)) == NULL)
        return error_no_memory(error);
    unpack_text(&fields, out->id, sizeof out->id);
    out->size = unpack_u64(&fields, INT64_MAX);
    sound = sound && out->id[0] != '\0' && text_is_printable(out->id);
    for (uint32_t i = 0; sound && i < out->part_count; i++) {
        char *etag = out->parts[i].etag;
        unpack_text(&fields, etag, sizeof out->parts[i].etag);
        sound = etag[0] != '\0' && text_is_printable(etag);
    }
    if (sound && unpack_is_complete(&fields)) return 0;
    mem_free(out->parts);
    out->parts = NULL;
    return error_set(error, GLINT_E_PROTOCOL, NULL, "an upload that is not valid");
}
