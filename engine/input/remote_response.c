/* See remote_transfer.h: what a response says, and whether its request is repeated. Apart from the
 * transfers, in whose place tests put scripts. */
#include "engine/input/remote_transfer.h"

#include "engine/input/remote_target.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* Numbers are at most INT64_MAX, so that sums of them cannot overflow in readers. */

struct slice {
    const char *at, *end;
};

static bool is_header_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns the value of the header if the line is one of that name; at == NULL: it is not. */
static struct slice header_value(const char *line, size_t size, const char *name)
{
    const size_t n = strlen(name);
    if (size <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
        return (struct slice){NULL, NULL};
    struct slice v = {line + n + 1, line + size};
    while (v.at < v.end && is_header_blank(*v.at)) v.at++;
    while (v.end > v.at && is_header_blank(v.end[-1])) v.end--;
    return v;
}

/* Parses digits at the front. */
static bool parse_header_number(struct slice *v, uint64_t *out)
{
    const char *begin = v->at;
    uint64_t n = 0;
    for (; v->at < v->end && *v->at >= '0' && *v->at <= '9'; v->at++) {
        const uint64_t digit = (uint64_t)(*v->at - '0');
        if (n > ((uint64_t)INT64_MAX - digit) / 10) return false;
        n = n * 10 + digit;
    }
    *out = n;
    return v->at > begin;
}

static bool skip_char(struct slice *v, char c)
{
    if (v->at == v->end || *v->at != c) return false;
    v->at++;
    return true;
}

static void parse_content_length(struct remote_response *r, struct slice v)
{
    uint64_t length;
    if (!parse_header_number(&v, &length) || v.at != v.end ||
        (r->has_length && r->length != length))
        r->malformed = true;
    else
        r->length = length;
    r->has_length = !r->malformed;
}

/* bytes 0-99/1000, bytes 0-99/ *, bytes * /1000 */
static bool parse_range(struct remote_response *r, struct slice v)
{
    static const char unit[] = "bytes";
    if (v.end - v.at < (ptrdiff_t)sizeof unit || strncasecmp(v.at, unit, sizeof unit - 1) != 0)
        return false;
    v.at += sizeof unit - 1;
    if (!skip_char(&v, ' ')) return false;
    r->from = r->to = 0;
    if (!skip_char(&v, '*')) {
        if (!parse_header_number(&v, &r->from) || !skip_char(&v, '-') ||
            !parse_header_number(&v, &r->to) || r->to < r->from)
            return false;
        r->to++;
    }
    if (!skip_char(&v, '/')) return false;
    r->has_total = !skip_char(&v, '*');
    if (r->has_total && !parse_header_number(&v, &r->total)) return false;
    return v.at == v.end && (!r->has_total || r->to <= r->total);
}

static void set_object_version(struct remote_response *r, struct slice v, bool etag)
{
    const size_t size = (size_t)(v.end - v.at);
    if (size == 0 || size >= sizeof r->version || (r->has_etag && !etag)) return;
    for (const char *p = v.at; p < v.end; p++)
        if (*p < ' ' || *p > '~') return;
    memcpy(r->version, v.at, size);
    r->version[size] = '\0';
    r->has_etag = etag;
}

void remote_response_add_line(struct remote_response *r, const char *line, size_t size)
{
    if (size >= 5 && memcmp(line, "HTTP/", 5) == 0) *r = (struct remote_response){.length = 0};
    if (size == 0 || *line == '\r' || *line == '\n') r->ended = true;
    struct slice v = header_value(line, size, "Content-Length");
    if (v.at != NULL) parse_content_length(r, v);
    v = header_value(line, size, "Content-Range");
    if (v.at != NULL) {
        if (r->has_range || !parse_range(r, v)) r->malformed = true;
        r->has_range = true;
    }
    v = header_value(line, size, "ETag");
    if (v.at != NULL) set_object_version(r, v, true);
    v = header_value(line, size, "Last-Modified");
    if (v.at != NULL) set_object_version(r, v, false);
    assert(strlen(r->version) < sizeof r->version);
}

/* ---- Repeated requests */

static uint64_t retry_time_limit_ns(bool first)
{
    const uint64_t ms = remote_timeout_ms();
    return (first ? ms / REMOTE_FIRST_TIMEOUT_SHARE : ms * REMOTE_TIMEOUTS_TO_GIVE_UP) * MS_NS;
}

static void add_time_without_progress(struct remote_retry *r, struct env *env)
{
    const uint64_t now = env->now_ns(env);
    r->late_ns += now - r->since_ns;
    r->since_ns = now;
}

void remote_retry_begin(struct remote_retry *r, struct env *env)
{
    r->since_ns = env->now_ns(env);
}

int remote_retry_received(struct remote_retry *r, struct env *env, const char *name, uint64_t bytes,
                          struct glint_error *error)
{
    const uint64_t paid_ns = bytes * (SECOND_NS / REMOTE_BYTES_PER_SECOND_MIN);
    add_time_without_progress(r, env);
    r->late_ns -= r->late_ns < paid_ns ? r->late_ns : paid_ns;
    if (r->late_ns == 0) r->failures = 0;
    if (r->late_ns <= retry_time_limit_ns(false)) return 0;
    return error_set(error, GLINT_E_INPUT_IO, NULL,
                     "%s: the server sends less than %" PRIu64 " bytes per second", name,
                     REMOTE_BYTES_PER_SECOND_MIN);
}

bool remote_retry_wait(struct remote_retry *r, struct env *env, enum remote_result result,
                       bool first)
{
    assert(result != REMOTE_OK);
    add_time_without_progress(r, env);
    r->failures++;
    const unsigned doublings = r->failures < 8 ? r->failures - 1 : 7;
    uint64_t ms = REMOTE_BACKOFF_MS_MIN << doublings, random = 0;
    if (ms > REMOTE_BACKOFF_MS_MAX) ms = REMOTE_BACKOFF_MS_MAX;
    if (env->random(env, &random, sizeof random) == 0) ms = ms / 2 + random % (ms / 2 + 1);
    if (ms < r->wait_ms) ms = r->wait_ms;
    r->wait_ms = 0;
    if (result == REMOTE_GARBLED && r->failures > REMOTE_GARBLED_MAX) return false;
    if (result == REMOTE_FAILED || r->late_ns + ms * MS_NS > retry_time_limit_ns(first))
        return false;
    remote_wait_before_retry(ms, r->cancelled);
    add_time_without_progress(r, env);
    return true;
}

int remote_retry_set_error(const struct remote_retry *r, const struct glint_error *last,
                           struct glint_error *error)
{
    const char *hint = last->hint[0] != '\0' ? last->hint : NULL;
    if (r->failures < 2) return error_set(error, last->code, hint, "%s", last->cause);
    return error_set(error, last->code, hint, "%s (%u attempts in %" PRIu64 " s)", last->cause,
                     r->failures, r->late_ns / SECOND_NS);
}

static const char *permission_hint(enum remote_kind kind)
{
    if (kind == REMOTE_S3)
        return "each process needs AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or "
               "~/.aws/credentials; S3 also answers 403 for names that do not exist";
    if (kind == REMOTE_WEBHDFS) return "HADOOP_USER_NAME is the user that asks";
    return "names and passwords of hosts are read from ~/.netrc, by each process from its own";
}

enum remote_result remote_set_status_error(enum remote_kind kind, const char *name,
                                           const struct remote_transfer *t,
                                           struct glint_error *error)
{
    const long status = t->status;
    const bool passing = status == 408 || status == 429 || (status >= 500 && status != 501);
    enum glint_code code = passing ? GLINT_E_INPUT_IO : GLINT_E_INPUT_URL;
    const char *hint = NULL;
    if (status == 404 || status == 410) code = GLINT_E_INPUT_NOT_FOUND;
    if (status == 401 || status == 403) {
        code = GLINT_E_INPUT_PERMISSION;
        hint = permission_hint(kind);
    }
    if (kind == REMOTE_S3 && status >= 300 && status < 400)
        hint = "the bucket is in another region: set AWS_REGION";
    if (passing && t->retry_after_ms > 0)
        error_set(error, code, hint, "%s: the server answered %ld, and asks to wait %" PRIu64 " s",
                  name, status, t->retry_after_ms / 1000);
    else
        error_set(error, code, hint, "%s: the server answered %ld", name, status);
    return passing ? REMOTE_RETRY : REMOTE_FAILED;
}

/* ---- Whole responses */

#define STEP_BYTES (16 * KIB)

enum remote_result remote_transfer_read_all(struct remote_transfer *t, uint64_t size_max,
                                            struct remote_retry *retry, struct buffer *out,
                                            struct glint_error *error)
{
    enum remote_result result = REMOTE_OK;
    uint64_t n = 1;
    while (result == REMOTE_OK && n > 0) {
        if (!buffer_reserve(out, STEP_BYTES)) {
            error_no_memory(error);
            return REMOTE_FAILED;
        }
        result = remote_transfer_read(t, out->data + out->size, STEP_BYTES, &n, error);
        out->size += n;
        if (result == REMOTE_OK && retry != NULL &&
            remote_retry_received(retry, t->env, t->name, n, error) < 0)
            return REMOTE_FAILED;
        if (out->size > size_max) {
            error_set(error, GLINT_E_INPUT_URL, NULL, "%s: the response is too long", t->name);
            return REMOTE_FAILED;
        }
    }
    return result;
}

static enum remote_result read_document_once(struct env *env, enum remote_kind kind,
                                             const char *name, const struct remote_request *request,
                                             uint64_t size_max, struct remote_retry *retry,
                                             struct buffer *out, struct glint_error *error)
{
    struct remote_transfer t;
    enum remote_result result = remote_transfer_open(&t, env, name, request, error);
    if (result == REMOTE_OK && t.status != 200)
        result = remote_set_status_error(kind, name, &t, error);
    retry->wait_ms = t.retry_after_ms;
    if (result == REMOTE_OK) result = remote_transfer_read_all(&t, size_max, retry, out, error);
    remote_transfer_close(&t);
    return result;
}

int remote_document_read(struct remote_target *target, struct env *env, const char *name,
                         const char *query, uint64_t size_max, struct buffer *out,
                         struct glint_error *error)
{
    struct remote_retry retry = {.cancelled = target->cancelled};
    struct remote_request request;
    const uint64_t before = out->size;
    assert(target->kind != REMOTE_HTTP);
    if (!remote_target_query(target, query, &request))
        return remote_set_url_error(name, "the URL is too long", error);
    remote_retry_begin(&retry, env);
    for (;;) {
        struct glint_error problem = {.code = GLINT_OK};
        out->size = before;
        const enum remote_result result =
            read_document_once(env, target->kind, name, &request, size_max, &retry, out, &problem);
        if (result == REMOTE_OK) return 0;
        if (!remote_retry_wait(&retry, env, result, true))
            return remote_retry_set_error(&retry, &problem, error);
    }
}
