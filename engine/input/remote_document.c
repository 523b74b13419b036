/* See remote_document.h. */
#include "engine/input/remote_document.h"

#include "engine/input/remote_transfer.h"
#include "engine/limits.h"

#include <assert.h>

#define STEP_BYTES (64 * KIB)

static enum remote_result on_document_body(struct remote_transfer *t, uint64_t size_max,
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
        if (result == REMOTE_OK && remote_retry_received(retry, t->env, t->name, n, error) < 0)
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
    if (result == REMOTE_OK) result = on_document_body(&t, size_max, retry, out, error);
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
        return error_set(error, GLINT_E_INPUT_URL, NULL, "%s: the URL is too long", name);
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
