/* The states, with the function of each change:
 *
 *     IDLE   -> ACTIVE  [begin_request]     a response of the right version has arrived
 *     ACTIVE -> IDLE    [end_request]       it ended or failed, or bytes elsewhere are wanted
 *
 * Time without a new byte is limited, not the number of attempts: a server that restarts takes as
 * long as it takes, and each byte that arrives is progress. */
#include "engine/remote/remote_reader.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/limits.h"
#include "engine/remote/remote_transfer.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define CONDITION_BYTES (REMOTE_VERSION_BYTES + 32)
#define DROP_BYTES      (16 * KIB)

struct remote_reader {
    struct env *env;
    const char *url, *name;
    bool known; /* `identity` is set */
    struct remote_identity identity;
    uint64_t expected_end;
    bool active;
    uint64_t at, end; /* of the active request: the next byte, and the end of what was asked for */
    struct remote_transfer transfer;
    char condition[CONDITION_BYTES];
    uint64_t first_failure_ns; /* since the last byte; 0: none */
    uint32_t failures;         /* since then */
};

struct remote_reader *remote_reader_create(struct env *env, const char *url, const char *name)
{
    struct remote_reader *r = mem_zalloc(sizeof *r);
    if (r == NULL) return NULL;
    r->env = env;
    r->url = url;
    r->name = name;
    return r;
}

void remote_reader_expect(struct remote_reader *r, const struct remote_identity *identity,
                          uint64_t end)
{
    r->known = true;
    r->identity = *identity;
    r->expected_end = end;
}

static void end_request(struct remote_reader *r)
{
    if (r->active) remote_transfer_close(&r->transfer);
    r->active = false;
}

void remote_reader_destroy(struct remote_reader *r)
{
    if (r == NULL) return;
    end_request(r);
    mem_free(r);
}

/* ---- Responses */

static enum remote_result set_changed(const struct remote_reader *r, const char *what,
                                      struct glint_error *error)
{
    error_set(error, GLINT_E_INPUT_CHANGED, "run the job again when no process writes to its input",
              "%s: %s", r->name, what);
    return REMOTE_FAILED;
}

static enum remote_result set_unusable(const struct remote_reader *r, const char *hint,
                                       const char *what, struct glint_error *error)
{
    error_set(error, GLINT_E_INPUT_URL, hint, "%s: %s", r->name, what);
    return REMOTE_FAILED;
}

static enum remote_result set_status_error(const struct remote_reader *r, struct glint_error *error)
{
    const long status = r->transfer.status;
    const bool passing = status == 408 || status == 429 || (status >= 500 && status != 501);
    enum glint_code code = passing ? GLINT_E_INPUT_IO : GLINT_E_INPUT_URL;
    const char *hint = NULL;
    if (status == 412 && r->known) return set_changed(r, "it was modified during the job", error);
    if (status == 404 || status == 410) code = GLINT_E_INPUT_NOT_FOUND;
    if (status == 401 || status == 403) {
        code = GLINT_E_INPUT_PERMISSION;
        hint = "names and passwords of hosts are read from ~/.netrc, by each process from its own";
    }
    error_set(error, code, hint, "%s: the server answered %ld", r->name, status);
    return passing ? REMOTE_RETRY : REMOTE_FAILED;
}

/* The first response says what the object is. */
static enum remote_result learn_identity(struct remote_reader *r, struct glint_error *error)
{
    const struct remote_response *response = &r->transfer.response;
    const bool ranges = r->transfer.status == 206;
    if (ranges ? !response->has_total : !response->has_length)
        return set_unusable(r, "download it, or pipe it: curl -s URL | glint submit JOB - OUT",
                            "the server does not say how long it is", error);
    r->known = true;
    r->identity.ranges = ranges;
    r->identity.size = ranges ? response->total : response->length;
    memcpy(r->identity.version, response->version, sizeof r->identity.version);
    return REMOTE_OK;
}

/* Whether the response is of the object, and contains the byte r->at. */
static enum remote_result check_response(struct remote_reader *r, struct glint_error *error)
{
    const struct remote_response *response = &r->transfer.response;
    const bool partial = r->transfer.status == 206;
    if (response->malformed || (partial && !response->has_range))
        return set_unusable(r, NULL, "the headers of the response contradict each other", error);
    if (!r->known) {
        const enum remote_result result = learn_identity(r, error);
        if (result != REMOTE_OK) return result;
    }
    const bool sized = partial ? response->has_total : response->has_length;
    if (sized && (partial ? response->total : response->length) != r->identity.size)
        return set_changed(r, "its size has changed", error);
    if (strcmp(response->version, r->identity.version) != 0)
        return set_changed(r, "it was modified during the job", error);
    if (!partial) {
        r->at = 0; /* all of it: what is before the wanted bytes is dropped */
        r->end = r->identity.size;
    } else if (response->from != r->at || response->to > r->identity.size) {
        return set_unusable(r, NULL, "the server sent other bytes than it was asked for", error);
    } else {
        r->end = response->to;
    }
    return REMOTE_OK;
}

/* ---- Requests */

/* An ETag that is not weak can be a condition; others are only compared. */
static const char *format_condition(struct remote_reader *r)
{
    const char *version = r->identity.version;
    if (!r->known || version[0] == '\0' || strncmp(version, "W/", 2) == 0) return NULL;
    const bool etag = version[0] == '"';
    const bool fits = text_format(r->condition, sizeof r->condition, "%s: %s",
                                  etag ? "If-Match" : "If-Unmodified-Since", version);
    return fits ? r->condition : NULL;
}

/* Asks for the bytes from `offset` to where they are expected to be read, at least `size`. */
static enum remote_result begin_request(struct remote_reader *r, uint64_t offset, uint64_t size,
                                        struct glint_error *error)
{
    const uint64_t limit = r->known ? r->identity.size : INT64_MAX;
    uint64_t end = offset < r->expected_end ? r->expected_end : offset + size;
    if (end > limit) end = limit;
    assert(!r->active && offset < end);
    const bool whole = r->known && !r->identity.ranges;
    const struct remote_request request = {
        .url = r->url, .from = offset, .to = whole ? 0 : end, .condition = format_condition(r)};
    r->active = true;
    r->at = offset;
    enum remote_result result =
        remote_transfer_open(&r->transfer, r->env, r->name, &request, error);
    if (result == REMOTE_OK && r->transfer.status == 416 && !r->known) {
        /* An empty object has no first byte. */
        remote_transfer_close(&r->transfer);
        const struct remote_request all = {.url = r->url};
        result = remote_transfer_open(&r->transfer, r->env, r->name, &all, error);
    }
    if (result == REMOTE_OK && r->transfer.status != 200 && r->transfer.status != 206)
        result = set_status_error(r, error);
    else if (result == REMOTE_OK)
        result = check_response(r, error);
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
    if (*out_size > 0) return REMOTE_OK;
    error_set(error, GLINT_E_INPUT_IO, NULL,
              "%s: the server sent fewer bytes than it announced, up to byte %" PRIu64, r->name,
              r->at);
    return REMOTE_RETRY;
}

static enum remote_result drop_until(struct remote_reader *r, uint64_t offset,
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

/* One attempt to read at `offset`. */
static enum remote_result read_once(struct remote_reader *r, void *out, uint64_t size,
                                    uint64_t offset, uint64_t *out_size, struct glint_error *error)
{
    enum remote_result result = REMOTE_OK;
    *out_size = 0;
    /* A gap that takes less time to read than a new request. */
    if (r->active && (r->at > offset || offset - r->at > REMOTE_GAP_BYTES_MAX)) end_request(r);
    if (r->active) result = drop_until(r, offset, error);
    if (result == REMOTE_OK && r->active && r->at == r->end) end_request(r);
    if (result == REMOTE_OK && !r->active) {
        result = begin_request(r, offset, size, error);
        if (result == REMOTE_OK && (!r->known || offset < r->identity.size))
            result = drop_until(r, offset, error);
    }
    if (result == REMOTE_OK) result = read_body(r, out, size, out_size, error);
    if (result != REMOTE_OK) end_request(r);
    return result;
}

/* Waits before the next attempt. Returns false if it is time to give up. */
static bool wait_to_retry(struct remote_reader *r)
{
    const uint64_t now = r->env->now_ns(r->env);
    /* Nothing is lost yet if the first request fails: the URL may be wrong. */
    const uint64_t give_up_ms = remote_timeout_ms() * (r->known ? REMOTE_TIMEOUTS_TO_GIVE_UP : 1) /
                                (r->known ? 1 : REMOTE_FIRST_TIMEOUT_SHARE);
    if (r->failures++ == 0) r->first_failure_ns = now;
    const unsigned doublings = r->failures < 8 ? r->failures - 1 : 7;
    uint64_t ms = REMOTE_BACKOFF_MS_MIN << doublings, random = 0;
    if (ms > REMOTE_BACKOFF_MS_MAX) ms = REMOTE_BACKOFF_MS_MAX;
    if (r->env->random(r->env, &random, sizeof random) == 0) ms = ms / 2 + random % (ms / 2 + 1);
    if (now - r->first_failure_ns + ms * MS_NS > give_up_ms * MS_NS) return false;
    remote_wait(ms);
    return true;
}

static int set_given_up(const struct remote_reader *r, const struct glint_error *last,
                        struct glint_error *error)
{
    return error_set(error, last->code, last->hint[0] != '\0' ? last->hint : NULL,
                     "%s (%u attempts in %" PRIu64 " s)", last->cause, r->failures,
                     (r->env->now_ns(r->env) - r->first_failure_ns) / SECOND_NS);
}

static int64_t read_some(struct remote_reader *r, void *out, uint64_t size, uint64_t offset,
                         struct glint_error *error)
{
    for (;;) {
        struct glint_error problem = {.code = GLINT_OK};
        uint64_t n;
        const enum remote_result result = read_once(r, out, size, offset, &n, &problem);
        if (result == REMOTE_OK) {
            r->failures = 0;
            return (int64_t)n;
        }
        if (result == REMOTE_RETRY && wait_to_retry(r)) continue;
        if (result == REMOTE_RETRY) return set_given_up(r, &problem, error);
        return error_set(error, problem.code, problem.hint[0] != '\0' ? problem.hint : NULL, "%s",
                         problem.cause);
    }
}

int64_t remote_reader_read(struct remote_reader *r, void *out, uint64_t size, uint64_t offset,
                           struct glint_error *error)
{
    uint64_t done = 0;
    assert(size > 0 && size <= INT64_MAX && offset <= INT64_MAX);
    while (done < size && (!r->known || offset + done < r->identity.size)) {
        const int64_t n = read_some(r, (uint8_t *)out + done, size - done, offset + done, error);
        if (n < 0) return n;
        assert(n > 0 || r->identity.size == 0);
        done += (uint64_t)n;
    }
    return (int64_t)done;
}

int64_t remote_reader_identify(struct remote_reader *r, void *head, uint64_t size,
                               struct remote_identity *out, struct glint_error *error)
{
    const int64_t n = remote_reader_read(r, head, size, 0, error);
    if (n < 0) return n;
    assert(r->known);
    *out = r->identity;
    end_request(r);
    return n;
}
