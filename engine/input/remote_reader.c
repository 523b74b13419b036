/* The states, with the function of each change:
 *
 *     IDLE    -> WAITING [send_range_request]      it is on its way
 *     WAITING -> ACTIVE  [await_response]    a response of the right version has arrived
 *     any     -> IDLE    [end_request]       it ended or failed, or bytes elsewhere are wanted
 *
 * When a failed request is repeated: remote_transfer.h. */
#include "engine/input/remote_reader.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/input/remote_target.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#define CONDITION_BYTES (REMOTE_VERSION_BYTES + 32)
#define DROP_BYTES      (16 * KIB)

struct remote_reader {
    struct env *env;
    const char *url, *name;
    bool opened; /* `target` is set */
    bool known;  /* `identity` is set */
    struct remote_identity identity;
    uint64_t expected_end;
    bool active, waiting; /* WAITING: both */
    bool ahead;           /* counted in `ahead_count` */
    struct remote_session *group;
    uint8_t *head; /* the first bytes, if they are kept */
    uint64_t head_size;
    uint64_t received; /* since the time was counted */
    uint64_t at, end;  /* of the active request: the next byte, and the end of what was asked for */
    struct remote_transfer transfer;
    char condition[CONDITION_BYTES];
    struct remote_retry retry; /* since the last byte */
    struct remote_target target;
};

static atomic_uint ahead_count; /* of this process, over its tasks */

struct remote_reader *remote_reader_create(struct env *env, const char *url, const char *name,
                                           int cancelled)
{
    struct remote_reader *r = mem_zalloc(sizeof *r);
    if (r == NULL) return NULL;
    r->env = env;
    r->url = url;
    r->name = name;
    r->retry.cancelled = cancelled;
    return r;
}

void remote_reader_set_identity(struct remote_reader *r, const struct remote_identity *identity,
                                uint64_t end)
{
    r->known = true;
    r->identity = *identity;
    r->expected_end = end;
}

static void end_request(struct remote_reader *r)
{
    if (r->active) remote_transfer_close(&r->transfer);
    if (r->ahead) atomic_fetch_sub(&ahead_count, 1);
    r->active = r->waiting = r->ahead = false;
}

void remote_reader_destroy(struct remote_reader *r)
{
    if (r == NULL) return;
    end_request(r);
    mem_free(r->head);
    mem_free(r);
}

/* ---- Responses */

static enum remote_result set_changed_error(const struct remote_reader *r, const char *what,
                                            struct glint_error *error)
{
    error_set(error, GLINT_E_INPUT_CHANGED, "run the job again when no process writes to its input",
              "%s: %s", r->name, what);
    return REMOTE_FAILED;
}

static enum remote_result set_unusable_error(const struct remote_reader *r, const char *hint,
                                             const char *what, struct glint_error *error)
{
    error_set(error, GLINT_E_INPUT_URL, hint, "%s: %s", r->name, what);
    return REMOTE_FAILED;
}

static enum remote_result set_garbled_error(const struct remote_reader *r, const char *what,
                                            struct glint_error *error)
{
    set_unusable_error(r, NULL, what, error);
    return REMOTE_GARBLED;
}

static enum remote_result set_http_status_error(struct remote_reader *r, struct glint_error *error)
{
    r->retry.wait_ms = r->transfer.retry_after_ms;
    if (r->transfer.status == 412 && r->known)
        return set_changed_error(r, "it was modified during the job", error);
    return remote_set_status_error(r->target.kind, r->name, &r->transfer, error);
}

/* The first response says what the object is. */
static enum remote_result set_identity_from_response(struct remote_reader *r,
                                                     struct glint_error *error)
{
    const struct remote_response *response = &r->transfer.response;
    const bool ranges = r->transfer.status == 206;
    if (ranges ? !response->has_total : !response->has_length)
        return set_unusable_error(r,
                                  "download it, or pipe it: curl -s URL | glint submit JOB - OUT",
                                  "the server does not say how long it is", error);
    r->known = true;
    r->identity.ranges = ranges;
    r->identity.size = ranges ? response->total : response->length;
    memcpy(r->identity.version, response->version, sizeof r->identity.version);
    return REMOTE_OK;
}

/* Whether the response is of the object, and contains the byte r->at. */
static enum remote_result check_range_response(struct remote_reader *r, struct glint_error *error)
{
    const struct remote_response *response = &r->transfer.response;
    const bool partial = r->transfer.status == 206;
    /* Without a byte it would be the range of a status 416. */
    const bool has_bytes = response->has_range && response->to > response->from;
    if (response->malformed || (partial && !has_bytes))
        return set_garbled_error(r, "the headers of the response contradict each other", error);
    if (partial && (response->from > r->at || response->to <= r->at))
        return set_garbled_error(r, "the server sent other bytes than it was asked for", error);
    if (!r->known) {
        const enum remote_result result = set_identity_from_response(r, error);
        if (result != REMOTE_OK) return result;
    }
    const bool sized = partial ? response->has_total : response->has_length;
    if (sized && (partial ? response->total : response->length) != r->identity.size)
        return set_changed_error(r, "its size has changed", error);
    if (strcmp(response->version, r->identity.version) != 0)
        return set_changed_error(r, "it was modified during the job", error);
    if (!partial) {
        r->at = 0; /* all of it: what is before the wanted bytes is dropped */
        r->end = r->identity.size;
    } else if (response->to > r->identity.size) {
        return set_garbled_error(r, "the headers of the response contradict each other", error);
    } else {
        r->at = response->from; /* bytes before the wanted ones are dropped, too */
        r->end = response->to;
    }
    return REMOTE_OK;
}

/* ---- Requests */

static int open_target(struct remote_reader *r, struct glint_error *error)
{
    int code = 0;
    if (!r->opened)
        code = remote_target_init(&r->target, r->env, r->url, r->name, r->retry.cancelled, error);
    r->opened = code == 0;
    return code;
}

/* An ETag that is not weak can be a condition; others are only compared. */
static const char *format_version_condition(struct remote_reader *r)
{
    const char *version = r->identity.version;
    if (!r->known || version[0] == '\0' || strncmp(version, "W/", 2) == 0) return NULL;
    const bool etag = version[0] == '"';
    const bool fits = text_format(r->condition, sizeof r->condition, "%s: %s",
                                  etag ? "If-Match" : "If-Unmodified-Since", version);
    return fits ? r->condition : NULL;
}

/* An empty object has no first byte: asks for all of it. */
static enum remote_result request_whole_object(struct remote_reader *r, struct glint_error *error)
{
    struct remote_request request;
    remote_transfer_close(&r->transfer);
    if (!remote_target_object(&r->target, 0, 0, &request))
        return set_unusable_error(r, NULL, "the URL is too long", error);
    return remote_transfer_open(&r->transfer, r->env, r->name, &request, error);
}

/* Asks for the bytes from `offset` to where they are expected to be read, at least `size`. */
static enum remote_result send_range_request(struct remote_reader *r, uint64_t offset,
                                             uint64_t size, struct glint_error *error)
{
    const uint64_t limit = r->known ? r->identity.size : INT64_MAX;
    const bool whole = r->known && !r->identity.ranges;
    struct remote_request request;
    uint64_t end = offset < r->expected_end ? r->expected_end : offset + size;
    if (end > limit) end = limit;
    assert(!r->active && offset < end);
    if (open_target(r, error) < 0) return REMOTE_FAILED;
    if (!remote_target_object(&r->target, offset, whole ? 0 : end, &request))
        return set_unusable_error(r, NULL, "the URL is too long", error);
    if (r->target.kind != REMOTE_WEBHDFS) request.condition = format_version_condition(r);
    request.group = r->group;
    r->active = r->waiting = true;
    r->at = offset;
    r->end = end;
    return remote_transfer_start(&r->transfer, r->env, r->name, &request, error);
}

static enum remote_result await_response(struct remote_reader *r, struct glint_error *error)
{
    enum remote_result result = remote_transfer_await(&r->transfer, error);
    r->waiting = false;
    if (result == REMOTE_OK && r->transfer.status == 416 && !r->known)
        result = request_whole_object(r, error);
    if (result == REMOTE_OK && r->transfer.status != 200 && r->transfer.status != 206)
        result = set_http_status_error(r, error);
    else if (result == REMOTE_OK && r->target.kind != REMOTE_WEBHDFS)
        result = check_range_response(r, error);
    return result;
}

/* Reads from the active request; *out_size is 0 at the end of what was asked for. */
static enum remote_result read_body(struct remote_reader *r, void *out, uint64_t size,
                                    uint64_t *out_size, struct glint_error *error)
{
    *out_size = 0;
    if (r->at == r->end) return REMOTE_OK;
    if (size > r->end - r->at) size = r->end - r->at;
    const enum remote_result result =
        remote_transfer_read(&r->transfer, out, size, out_size, error);
    if (result != REMOTE_OK) return result;
    r->at += *out_size;
    r->received += *out_size;
    if (*out_size > 0) return REMOTE_OK;
    error_set(error, GLINT_E_INPUT_IO, NULL,
              "%s: the server sent fewer bytes than it announced, up to byte %" PRIu64, r->name,
              r->at);
    return REMOTE_RETRY;
}

static enum remote_result skip_body_until(struct remote_reader *r, uint64_t offset,
                                          struct glint_error *error)
{
    uint8_t dropped[DROP_BYTES];
    enum remote_result result = REMOTE_OK;
    uint64_t n = 1;
    while (result == REMOTE_OK && r->at < offset && n > 0) {
        const uint64_t left = offset - r->at;
        result = read_body(r, dropped, left < DROP_BYTES ? left : DROP_BYTES, &n, error);
    }
    return result;
}

static enum remote_result begin_request(struct remote_reader *r, uint64_t offset, uint64_t size,
                                        struct glint_error *error)
{
    enum remote_result result = send_range_request(r, offset, size, error);
    if (result == REMOTE_OK) result = await_response(r, error);
    if (result == REMOTE_OK && (!r->known || offset < r->identity.size))
        result = skip_body_until(r, offset, error);
    return result;
}

/* One attempt to read at `offset`. */
static enum remote_result read_range_once(struct remote_reader *r, void *out, uint64_t size,
                                          uint64_t offset, uint64_t *out_size,
                                          struct glint_error *error)
{
    enum remote_result result = REMOTE_OK;
    *out_size = 0;
    /* A gap that takes less time to read than a new request. */
    if (r->active && (r->at > offset || offset - r->at > REMOTE_GAP_BYTES_MAX)) end_request(r);
    if (r->waiting) result = await_response(r, error);
    if (result == REMOTE_OK && r->active) result = skip_body_until(r, offset, error);
    if (result == REMOTE_OK && r->active && r->at == r->end) end_request(r);
    if (result == REMOTE_OK && !r->active) result = begin_request(r, offset, size, error);
    if (result == REMOTE_OK) result = read_body(r, out, size, out_size, error);
    if (result != REMOTE_OK) end_request(r);
    return result;
}

static int64_t read_range_with_retries(struct remote_reader *r, void *out, uint64_t size,
                                       uint64_t offset, struct glint_error *error)
{
    remote_retry_begin(&r->retry, r->env);
    for (;;) {
        struct glint_error problem = {.code = GLINT_OK};
        uint64_t n;
        const enum remote_result result = read_range_once(r, out, size, offset, &n, &problem);
        if (result == REMOTE_OK) {
            const int code = remote_retry_received(&r->retry, r->env, r->name, r->received, error);
            r->received = 0;
            return code < 0 ? code : (int64_t)n;
        }
        if (!remote_retry_wait(&r->retry, r->env, result, !r->known))
            return remote_retry_set_error(&r->retry, &problem, error);
    }
}

int64_t remote_reader_read(struct remote_reader *r, void *out, uint64_t size, uint64_t offset,
                           struct glint_error *error)
{
    uint64_t done = 0;
    assert(size > 0 && size <= INT64_MAX && offset <= INT64_MAX);
    if (offset < r->head_size) {
        done = r->head_size - offset < size ? r->head_size - offset : size;
        memcpy(out, r->head + offset, done);
    }
    while (done < size && (!r->known || offset + done < r->identity.size)) {
        const int64_t n =
            read_range_with_retries(r, (uint8_t *)out + done, size - done, offset + done, error);
        if (n < 0) return n;
        if (n == 0 && r->identity.size > 0)
            return error_set(error, GLINT_E_INPUT_URL, NULL, "%s: the server sent no bytes",
                             r->name);
        done += (uint64_t)n;
    }
    return (int64_t)done;
}

int64_t remote_reader_peek(struct remote_reader *r, uint64_t size, const uint8_t **out_head,
                           struct glint_error *error)
{
    assert(r->head == NULL);
    uint8_t *head = mem_alloc(size);
    if (head == NULL) return error_no_memory(error);
    const int64_t n = remote_reader_read(r, head, size, 0, error);
    r->head = head;
    r->head_size = n > 0 ? (uint64_t)n : 0;
    *out_head = head;
    return n;
}

bool remote_reader_start(struct remote_reader *r, struct remote_session *group, uint64_t size)
{
    struct glint_error later = {.code = GLINT_OK}; /* the read asks again */
    assert(size > 0);
    end_request(r);
    if (r->known && r->identity.size == 0) return false;
    if (atomic_fetch_add(&ahead_count, 1) >= REMOTE_AHEAD_MAX) {
        atomic_fetch_sub(&ahead_count, 1);
        return false;
    }
    r->ahead = true;
    r->group = group;
    const bool sent = send_range_request(r, 0, size, &later) == REMOTE_OK;
    if (!sent) end_request(r);
    return sent;
}

/* ---- Identity */

static bool is_hdfs_status_type(const json_t *status, const char *type)
{
    const char *value = json_string_value(json_object_get(status, "type"));
    return value != NULL && strcmp(value, type) == 0;
}

bool hdfs_status_read(const json_t *status, struct listed_object *out)
{
    const json_t *length = json_object_get(status, "length");
    const json_t *mtime = json_object_get(status, "modificationTime");
    const bool directory = is_hdfs_status_type(status, "DIRECTORY");
    *out = (struct listed_object){.is_directory = directory};
    out->known = json_is_integer(length) && json_is_integer(mtime) &&
                 json_integer_value(length) >= 0 &&
                 (directory || is_hdfs_status_type(status, "FILE"));
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
    const bool ok = hdfs_status_read(json_object_get(all, "FileStatus"), out);
    json_decref(all);
    return ok;
}

/* WebHDFS describes a file in a response of its own. */
static int fetch_identity_of_hdfs_file(struct remote_reader *r, struct remote_identity *out,
                                       struct glint_error *error)
{
    struct buffer text = {NULL, 0, 0};
    struct listed_object status;
    int code = open_target(r, error);
    if (code == 0)
        code = remote_document_read(&r->target, r->env, r->name, "op=GETFILESTATUS",
                                    REMOTE_STATUS_BYTES_MAX, &text, error);
    if (code == 0 && !hdfs_status_parse(text.data, text.size, &status))
        code = error_set(error, GLINT_E_INPUT_URL, NULL, "%s: the response is no status of a file",
                         r->name);
    buffer_fini(&text);
    if (code == 0) *out = status.identity;
    return code;
}

int64_t remote_reader_identify(struct remote_reader *r, void *head, uint64_t size,
                               struct remote_identity *out, struct glint_error *error)
{
    if (remote_url_kind(r->url) == REMOTE_WEBHDFS && !r->known) {
        struct remote_identity identity;
        const int code = fetch_identity_of_hdfs_file(r, &identity, error);
        if (code < 0) return code;
        *out = identity;
        if (remote_identity_is_directory(out)) return 0;
        remote_reader_set_identity(r, &identity, size);
    }
    const int64_t n = remote_reader_read(r, head, size, 0, error);
    if (n < 0) return n;
    assert(r->known);
    *out = r->identity;
    end_request(r);
    return n;
}

bool remote_identity_is_directory(const struct remote_identity *identity)
{
    return strncmp(identity->version, "directory ", 10) == 0;
}

int remote_reader_check_unchanged(struct remote_reader *r, struct glint_error *error)
{
    struct remote_identity now;
    if (remote_url_kind(r->url) != REMOTE_WEBHDFS) return 0; /* each response was checked */
    const int code = fetch_identity_of_hdfs_file(r, &now, error);
    if (code < 0) return code;
    if (now.size != r->identity.size) set_changed_error(r, "its size has changed", error);
    if (strcmp(now.version, r->identity.version) != 0)
        set_changed_error(r, "it was modified during the job", error);
    return error->code;
}
