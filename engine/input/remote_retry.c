/* See remote_retry.h. */
#include "engine/input/remote_retry.h"

#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>

static uint64_t limit_ns(bool first)
{
    const uint64_t ms = remote_timeout_ms();
    return (first ? ms / REMOTE_FIRST_TIMEOUT_SHARE : ms * REMOTE_TIMEOUTS_TO_GIVE_UP) * MS_NS;
}

static void count_time(struct remote_retry *r, struct env *env)
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
    count_time(r, env);
    r->late_ns -= r->late_ns < paid_ns ? r->late_ns : paid_ns;
    if (r->late_ns == 0) r->failures = 0;
    if (r->late_ns <= limit_ns(false)) return 0;
    return error_set(error, GLINT_E_INPUT_IO, NULL,
                     "%s: the server sends less than %" PRIu64 " bytes per second", name,
                     REMOTE_BYTES_PER_SECOND_MIN);
}

bool remote_retry_wait(struct remote_retry *r, struct env *env, enum remote_result result,
                       bool first)
{
    assert(result != REMOTE_OK);
    count_time(r, env);
    r->failures++;
    const unsigned doublings = r->failures < 8 ? r->failures - 1 : 7;
    uint64_t ms = REMOTE_BACKOFF_MS_MIN << doublings, random = 0;
    if (ms > REMOTE_BACKOFF_MS_MAX) ms = REMOTE_BACKOFF_MS_MAX;
    if (env->random(env, &random, sizeof random) == 0) ms = ms / 2 + random % (ms / 2 + 1);
    if (ms < r->wait_ms) ms = r->wait_ms;
    r->wait_ms = 0;
    if (result == REMOTE_GARBLED && r->failures > REMOTE_GARBLED_MAX) return false;
    if (result == REMOTE_FAILED || r->late_ns + ms * MS_NS > limit_ns(first)) return false;
    remote_wait(ms, r->cancelled);
    count_time(r, env);
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
