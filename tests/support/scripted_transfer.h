/* HTTP responses that a test chooses: defines the functions of input/remote_transfer.h, in place
 * of those that use libcurl, for the program that includes it, in one file of it. The object that
 * is served has the byte scripted_byte(i) at i. Time passes only in waits. */
#ifndef GLINT_TESTS_SUPPORT_SCRIPTED_TRANSFER_H
#define GLINT_TESTS_SUPPORT_SCRIPTED_TRANSFER_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/input/remote_transfer.h"

#include <string.h>

#define SCRIPTED_TIMEOUT_MS 30000u

struct scripted_response {
    enum remote_result opened; /* not OK: with the error INPUT_IO */
    long status;
    const char *headers;      /* lines; valid until the next response */
    uint64_t from, size;      /* the bytes of the object in the body */
    uint64_t piece;           /* a read gets at most this many; 0: all that it asks for */
    enum remote_result ended; /* after the body; OK: its end */
    uint64_t retry_after_ms;
    uint64_t open_ms, piece_ms; /* how long the server takes */
};

/* Sets what differs from 200 without headers and body. */
static void (*scripted_respond)(void *arg, const struct remote_request *request,
                                struct scripted_response *out);
static void *scripted_arg;
static uint64_t scripted_ns = SECOND_NS;
static struct scripted_response scripted_current;
static unsigned scripted_requests, scripted_open;

static inline uint8_t scripted_byte(uint64_t at)
{
    return (uint8_t)(at * 131 + (at >> 8) * 7 + 3);
}

static uint64_t scripted_now_ns(struct env *env)
{
    (void)env;
    return scripted_ns;
}

static int64_t scripted_wall_ns(struct env *env)
{
    return (int64_t)scripted_now_ns(env);
}

static int scripted_random(struct env *env, void *out, size_t size)
{
    (void)env;
    memset(out, 0, size);
    return 0;
}

static inline struct env scripted_env(void)
{
    return (struct env){
        .now_ns = scripted_now_ns, .wall_ns = scripted_wall_ns, .random = scripted_random};
}

static enum remote_result scripted_end(const struct remote_transfer *t, enum remote_result result,
                                       struct glint_error *error)
{
    if (result != REMOTE_OK) error_set(error, GLINT_E_INPUT_IO, NULL, "%s: as scripted", t->name);
    return result;
}

enum remote_result remote_transfer_start(struct remote_transfer *t, struct env *env,
                                         const char *name, const struct remote_request *request,
                                         struct glint_error *error)
{
    struct scripted_response *s = &scripted_current;
    *s = (struct scripted_response){.status = 200, .headers = ""};
    memset(t, 0, sizeof *t);
    t->env = env;
    t->name = name;
    scripted_requests++;
    scripted_open++;
    scripted_respond(scripted_arg, request, s);
    scripted_ns += s->open_ms * MS_NS;
    t->status = s->status;
    t->retry_after_ms = s->retry_after_ms;
    for (const char *line = s->headers; *line != '\0';) {
        const size_t size = strcspn(line, "\n");
        remote_response_add_line(&t->response, line, size);
        line += size + (line[size] != '\0');
    }
    t->buffer = mem_alloc(1); /* a transfer that is not closed is a leak */
    if (t->buffer == NULL) {
        error_no_memory(error);
        return REMOTE_FAILED;
    }
    return REMOTE_OK;
}

enum remote_result remote_transfer_await(struct remote_transfer *t, struct glint_error *error)
{
    return scripted_end(t, scripted_current.opened, error);
}

enum remote_result remote_transfer_open(struct remote_transfer *t, struct env *env,
                                        const char *name, const struct remote_request *request,
                                        struct glint_error *error)
{
    const enum remote_result result = remote_transfer_start(t, env, name, request, error);
    return result == REMOTE_OK ? remote_transfer_await(t, error) : result;
}

enum remote_result remote_transfer_read(struct remote_transfer *t, void *out, uint64_t size,
                                        uint64_t *out_size, struct glint_error *error)
{
    const struct scripted_response *s = &scripted_current;
    uint64_t n = s->size - t->at < size ? s->size - t->at : size;
    if (s->piece > 0 && n > s->piece) n = s->piece;
    *out_size = 0;
    if (n == 0) return scripted_end(t, s->ended, error);
    scripted_ns += s->piece_ms * MS_NS;
    for (uint64_t i = 0; i < n; i++) ((uint8_t *)out)[i] = scripted_byte(s->from + t->at + i);
    t->at += n;
    *out_size = n;
    return REMOTE_OK;
}

void remote_transfer_close(struct remote_transfer *t)
{
    scripted_open -= t->buffer != NULL;
    mem_free(t->buffer);
    t->buffer = NULL;
}

struct remote_session *remote_session_open(struct glint_error *error)
{
    error_no_memory(error);
    return NULL;
}

void remote_session_close(struct remote_session *group)
{
    (void)group;
}

void remote_wait_before_retry(uint64_t ms, int cancelled)
{
    (void)cancelled;
    scripted_ns += ms * MS_NS;
}

uint64_t remote_timeout_ms(void)
{
    return SCRIPTED_TIMEOUT_MS;
}

#endif
