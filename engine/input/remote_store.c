/* See remote_store.h. */
#include "engine/input/remote_store.h"

#include "engine/base/text.h"
#include "engine/input/remote_transfer.h"
#include "engine/input/xml_elements.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define QUERY_BYTES     (3 * S3_UPLOAD_ID_BYTES + 3 * S3_KEY_BYTES)
#define REPLY_BYTES_MAX (64 * KIB)

/* ---- One request, and its repetitions */

struct call {
    const char *method, *key, *query;
    struct glint_slice content;
    enum s3_reply_kind wanted; /* S3_NOTHING: the status says all */
    bool may_be_missing;       /* 404 is an answer */
    bool brief;                /* given up after a part of the time */
    uint64_t size_max;         /* of the response's body */
};

struct answer {
    long status;
    char etag[REMOTE_VERSION_BYTES]; /* "": none */
    struct s3_reply reply;
    struct buffer body;
};

/* Codes of inputs, which requests set, become those of outputs. */
static int set_output_error(const struct glint_error *e, struct glint_error *error)
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
static enum remote_result set_refused(const struct remote_store *s, const struct remote_transfer *t,
                                      const struct s3_reply *reply, struct glint_error *error)
{
    const bool said = reply->kind == S3_ERROR && reply->code[0] != '\0';
    enum remote_result result;
    if (t->status >= 200 && t->status < 300) { /* with an error in its body */
        const bool passing = s3_code_is_passing(reply->code);
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
    if (result == REMOTE_FAILED && t->status != 403 && s3_code_is_passing(reply->code)) {
        error->code = GLINT_E_INPUT_IO;
        result = REMOTE_RETRY;
    }
    return result;
}

static enum remote_result set_garbled(const struct remote_store *s, struct glint_error *error)
{
    error_set(error, GLINT_E_INPUT_URL, "is this an endpoint of S3?",
              "%s: the response makes no sense", s->name);
    return REMOTE_GARBLED;
}

/* So S3Proxy calls an upload that was completed or aborted before. */
static bool is_invalid_part(const struct call *call, const struct s3_reply *reply)
{
    return call->wanted == S3_UPLOAD_COMPLETED && strcmp(reply->code, "InvalidPart") == 0;
}

/* The status and the body of a response that has come. */
static enum remote_result judge_answer(const struct remote_store *s, const struct call *call,
                                       const struct remote_transfer *t, struct answer *out,
                                       struct glint_error *error)
{
    out->status = t->status;
    text_format(out->etag, sizeof out->etag, "%s", t->response.has_etag ? t->response.version : "");
    const bool fine = t->status >= 200 && t->status < 300;
    if (!fine || call->wanted != S3_NOTHING)
        s3_reply_parse(out->body.data, out->body.size, &out->reply);
    const bool missing = t->status == 404 && strcmp(out->reply.code, "NoSuchBucket") != 0;
    if (call->may_be_missing && (missing || is_invalid_part(call, &out->reply))) {
        out->status = 404;
        return REMOTE_OK;
    }
    if (!fine || out->reply.kind == S3_ERROR) return set_refused(s, t, &out->reply, error);
    return out->reply.kind == call->wanted ? REMOTE_OK : set_garbled(s, error);
}

static enum remote_result call_once(struct remote_store *s, const struct call *call,
                                    struct remote_retry *retry, struct answer *out,
                                    struct glint_error *error)
{
    struct remote_transfer t;
    struct remote_request request;
    out->body.size = 0;
    memset(&out->reply, 0, sizeof out->reply);
    if (!remote_target_key(&s->target, call->key, call->query, &request)) {
        error_set(error, GLINT_E_INPUT_URL, "use shorter names", "%s: the URL is too long",
                  s->name);
        return REMOTE_FAILED;
    }
    request.method = strcmp(call->method, "GET") == 0 ? NULL : call->method;
    request.body = call->content.data;
    request.body_size = call->content.size;
    enum remote_result result = remote_transfer_open(&t, s->env, s->name, &request, error);
    if (result == REMOTE_OK)
        result = remote_transfer_read_all(&t, call->size_max, NULL, &out->body, error);
    if (result == REMOTE_OK) result = judge_answer(s, call, &t, out, error);
    retry->wait_ms = t.retry_after_ms;
    remote_transfer_close(&t);
    return result;
}

/* Returns 0 with the last response in *out, whose body the caller frees in any case. */
static int call_store(struct remote_store *s, const struct call *call, struct answer *out,
                      struct glint_error *error)
{
    struct remote_retry retry = {.cancelled = s->target.cancelled};
    remote_retry_begin(&retry, s->env);
    for (;;) {
        struct glint_error problem = {.code = GLINT_OK}, last = {.code = GLINT_OK};
        const enum remote_result result = call_once(s, call, &retry, out, &problem);
        if (result == REMOTE_OK) return 0;
        if (remote_retry_wait(&retry, s->env, result, call->brief)) continue;
        remote_retry_set_error(&retry, &problem, &last);
        return set_output_error(&last, error);
    }
}

/* For requests of whose response only the status matters. */
static int call_plainly(struct remote_store *s, const struct call *call, struct glint_error *error)
{
    struct answer answer = {.body = {NULL, 0, 0}};
    const int r = call_store(s, call, &answer, error);
    buffer_fini(&answer.body);
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
    return r == 0 ? 0 : set_output_error(&problem, error);
}

/* ---- Objects */

int remote_store_put(struct remote_store *s, const char *key, struct glint_slice content,
                     struct glint_error *error)
{
    const struct call call = {
        .method = "PUT", .key = key, .query = "", .content = content, .size_max = REPLY_BYTES_MAX};
    return call_plainly(s, &call, error);
}

int remote_store_get(struct remote_store *s, const char *key, uint64_t size_max, struct buffer *out,
                     struct glint_error *error)
{
    const struct call call = {
        .method = "GET", .key = key, .query = "", .may_be_missing = true, .size_max = size_max};
    struct answer answer = {.body = {NULL, 0, 0}};
    int r = call_store(s, &call, &answer, error);
    if (r == 0 && answer.status == 404) r = GLINT_E_INPUT_NOT_FOUND;
    if (r == 0 && !buffer_append(out, answer.body.data, answer.body.size))
        r = error_no_memory(error);
    buffer_fini(&answer.body);
    return r;
}

int remote_store_delete(struct remote_store *s, const char *key, struct glint_error *error)
{
    const struct call call = {.method = "DELETE",
                              .key = key,
                              .query = "",
                              .may_be_missing = true,
                              .size_max = REPLY_BYTES_MAX};
    return call_plainly(s, &call, error);
}

/* ---- Uploads */

int remote_store_create_upload(struct remote_store *s, const char *key,
                               char upload_id[S3_UPLOAD_ID_BYTES], struct glint_error *error)
{
    /* With =, as it is signed: a parameter without a value is signed as one with an empty one. */
    const struct call call = {.method = "POST",
                              .key = key,
                              .query = "uploads=",
                              .wanted = S3_UPLOAD_CREATED,
                              .size_max = REPLY_BYTES_MAX};
    struct answer answer = {.body = {NULL, 0, 0}};
    const int r = call_store(s, &call, &answer, error);
    if (r == 0) memcpy(upload_id, answer.reply.upload_id, S3_UPLOAD_ID_BYTES);
    buffer_fini(&answer.body);
    return r;
}

static int set_too_long(const struct remote_store *s, struct glint_error *error)
{
    return error_set(error, GLINT_E_OUTPUT_CREATE, NULL, "%s: a query is too long", s->name);
}

static bool add_parameter(char *query, const char *name, const char *value)
{
    return remote_url_add_parameter(query, QUERY_BYTES, name, value);
}

int remote_store_upload_part(struct remote_store *s, const char *key, const char *upload_id,
                             uint32_t number, struct glint_slice content,
                             struct store_upload_part *out, struct glint_error *error)
{
    char query[QUERY_BYTES] = "", digits[TEXT_NUMBER_MAX];
    struct answer answer = {.body = {NULL, 0, 0}};
    const struct call call = {.method = "PUT",
                              .key = key,
                              .query = query,
                              .content = content,
                              .size_max = REPLY_BYTES_MAX};
    assert(number >= 1 && number <= S3_PARTS_MAX);
    text_format(digits, sizeof digits, "%" PRIu32, number);
    if (!add_parameter(query, "partNumber", digits) || !add_parameter(query, "uploadId", upload_id))
        return set_too_long(s, error);
    int r = call_store(s, &call, &answer, error);
    if (r == 0 && answer.etag[0] == '\0')
        r = error_set(error, GLINT_E_OUTPUT_CREATE, "is this an endpoint of S3?",
                      "%s: the server did not say the ETag of a part", s->name);
    if (r == 0) memcpy(out->etag, answer.etag, sizeof out->etag);
    buffer_fini(&answer.body);
    return r;
}

static bool append_escaped(struct buffer *out, const char *text)
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

static bool append_part(struct buffer *out, uint32_t number, const char *etag)
{
    char begin[96];
    static const char end[] = "</ETag></Part>";
    text_format(begin, sizeof begin, "<Part><PartNumber>%" PRIu32 "</PartNumber><ETag>", number);
    return buffer_append(out, begin, strlen(begin)) && append_escaped(out, etag) &&
           buffer_append(out, end, sizeof end - 1);
}

int remote_store_complete_upload(struct remote_store *s, const char *key, const char *upload_id,
                                 const struct store_upload_part *parts, uint32_t count,
                                 struct glint_error *error)
{
    static const char begin[] = "<CompleteMultipartUpload "
                                "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    static const char end[] = "</CompleteMultipartUpload>";
    char query[QUERY_BYTES] = "";
    struct buffer body = {NULL, 0, 0};
    struct answer answer = {.body = {NULL, 0, 0}};
    assert(count >= 1 && count <= S3_PARTS_MAX);
    if (!add_parameter(query, "uploadId", upload_id)) return set_too_long(s, error);
    bool ok = buffer_append(&body, begin, sizeof begin - 1);
    for (uint32_t i = 0; ok && i < count; i++) ok = append_part(&body, i + 1, parts[i].etag);
    ok = ok && buffer_append(&body, end, sizeof end - 1);
    const struct call call = {.method = "POST",
                              .key = key,
                              .query = query,
                              .content = {body.data, body.size},
                              .wanted = S3_UPLOAD_COMPLETED,
                              .may_be_missing = true,
                              .size_max = REPLY_BYTES_MAX};
    int r = ok ? call_store(s, &call, &answer, error) : error_no_memory(error);
    if (r == 0 && answer.status == 404) r = GLINT_E_INPUT_NOT_FOUND;
    buffer_fini(&answer.body);
    buffer_fini(&body);
    return r;
}

int remote_store_abort_upload(struct remote_store *s, const char *key, const char *upload_id,
                              struct glint_error *error)
{
    char query[QUERY_BYTES] = "";
    const struct call call = {.method = "DELETE",
                              .key = key,
                              .query = query,
                              .may_be_missing = true,
                              .brief = true,
                              .size_max = REPLY_BYTES_MAX};
    if (!add_parameter(query, "uploadId", upload_id)) return set_too_long(s, error);
    return call_plainly(s, &call, error);
}

/* ---- Lists */

static int set_no_list(const struct remote_store *s, const char *what, struct glint_error *error)
{
    return error_set(error, GLINT_E_OUTPUT_CREATE, "is this an endpoint of S3?", "%s: %s", s->name,
                     what);
}

/* Parameters are in the order of their names, in which they are signed. */
static bool format_uploads_query(char *query, const char *prefix,
                                 const struct s3_uploads_marker *from)
{
    query[0] = '\0';
    return (from->key[0] == '\0' || add_parameter(query, "key-marker", from->key)) &&
           add_parameter(query, "prefix", prefix) &&
           (from->upload_id[0] == '\0' ||
            add_parameter(query, "upload-id-marker", from->upload_id)) &&
           add_parameter(query, "uploads", "");
}

int remote_store_list_uploads(struct remote_store *s, const char *prefix, s3_upload_call *entry,
                              void *arg, struct glint_error *error)
{
    char query[QUERY_BYTES];
    struct s3_uploads_marker from = {.key = ""}, next;
    struct answer answer = {.body = {NULL, 0, 0}};
    const struct call call = {
        .method = "GET", .key = "", .query = query, .size_max = REMOTE_PAGE_BYTES_MAX};
    int r = 0;
    do {
        if (!format_uploads_query(query, prefix, &from)) r = set_too_long(s, error);
        if (r == 0) r = call_store(s, &call, &answer, error);
        if (r == 0) r = s3_uploads_parse(answer.body.data, answer.body.size, &next, entry, arg);
        if (r == -1) r = set_no_list(s, "the response is no list of uploads", error);
        if (r == 0 && next.key[0] != '\0' && memcmp(&next, &from, sizeof next) == 0)
            r = set_no_list(s, "the next page of a list is the same one again", error);
        from = next;
    } while (r == 0 && next.key[0] != '\0');
    buffer_fini(&answer.body);
    return r;
}

int remote_store_list(struct remote_store *s, const char *prefix, listed_object_call *entry,
                      void *arg, struct glint_error *error)
{
    struct glint_error problem = {.code = GLINT_OK};
    const int r = s3_list_objects(&s->target, s->env, s->name, prefix, entry, arg, &problem);
    return problem.code == GLINT_OK ? r : set_output_error(&problem, error);
}
