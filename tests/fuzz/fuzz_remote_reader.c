/* Responses of a server that says anything, read by a reader that does anything: the bytes that it
 * returns are those that were served, or it returns an error. */
#include "engine/input/remote_reader.h"

#include "tests/support/scripted_transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define READ_BYTES_MAX 512u
/* A response has at most so many bytes, whatever it announces: a reader drops what is before its
 * offset where a server has no ranges, and a run has to end. */
#define SERVED_BYTES_MAX (UINT64_C(1) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of the input. */
struct script {
    const uint8_t *at, *end;
    char headers[200];
};

static uint8_t next_byte(struct script *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

/* Sizes and offsets: small ones mostly. */
static uint64_t next_number(struct script *s)
{
    const uint8_t kind = next_byte(s);
    const uint64_t low = next_byte(s);
    if (kind < 200) return low;
    return kind < 250 ? low << 8 | next_byte(s) : UINT64_MAX >> (low % 64);
}

static void add_header(struct script *s, const char *line)
{
    const size_t used = strlen(s->headers);
    snprintf(s->headers + used, sizeof s->headers - used, "%s\n", line);
}

static void add_range(struct script *s, uint64_t from, uint64_t to, uint64_t total, uint8_t how)
{
    char line[100];
    if (how % 8 == 7)
        snprintf(line, sizeof line, "Content-Range: bytes */%" PRIu64, total);
    else if (how % 8 == 6)
        snprintf(line, sizeof line, "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/*", from, to - 1);
    else
        snprintf(line, sizeof line, "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from,
                 to - 1, total);
    if (how % 8 != 5) add_header(s, line);
}

/* A right response, unless the input says what is wrong with it. */
static void respond(void *arg, const struct remote_request *request, struct scripted_response *out)
{
    static const long statuses[] = {200, 206, 206, 206, 416, 412, 503, 302};
    static const enum remote_result results[] = {REMOTE_OK, REMOTE_OK, REMOTE_RETRY, REMOTE_GARBLED,
                                                 REMOTE_FAILED};
    struct script *s = arg;
    const uint8_t how = next_byte(s), wrong = next_byte(s);
    uint64_t total = 400, from = request->from, to = request->to;
    char line[60];
    out->status = request->to > 0 ? statuses[how % 8] : 200;
    if (wrong & 1) total = next_number(s);
    if (wrong & 2) from = next_number(s);
    if (wrong & 4) to = next_number(s);
    if (to > total) to = total;
    s->headers[0] = '\0';
    if (out->status == 200) {
        snprintf(line, sizeof line, "Content-Length: %" PRIu64, total);
        if (how % 16 < 12) add_header(s, line);
        out->size = total;
    } else {
        add_range(s, from, to, total, how >> 3);
        out->from = from;
        out->size = to > from ? to - from : 0;
    }
    if (wrong & 8) out->size = next_number(s);
    if (out->size > SERVED_BYTES_MAX) out->size = SERVED_BYTES_MAX;
    snprintf(line, sizeof line, "ETag: \"%d\"", wrong & 16 ? next_byte(s) % 2 : 0);
    if (how < 240) add_header(s, line);
    out->piece = wrong & 32 ? next_byte(s) : 0;
    out->ended = wrong & 64 ? results[next_byte(s) % 5] : REMOTE_OK;
    out->opened = wrong & 128 ? results[next_byte(s) % 5] : REMOTE_OK;
    out->piece_ms = wrong & 32 ? next_number(s) % 100000 : 0;
    out->headers = s->headers;
}

/* Returns whether it went well. */
static bool check_read(struct remote_reader *r, uint64_t size, uint64_t offset)
{
    uint8_t out[READ_BYTES_MAX];
    struct glint_error error = {.code = GLINT_OK};
    const int64_t n = remote_reader_read(r, out, size, offset, &error);
    if (n < 0 && (error.code != (int)n || error.cause[0] == '\0')) abort();
    if (n > (int64_t)size || (n >= 0 && error.code != GLINT_OK)) abort();
    for (int64_t i = 0; i < n; i++)
        if (out[i] != scripted_byte(offset + (uint64_t)i)) abort();
    return n >= 0;
}

static void check_peek(struct script *s, struct remote_reader *r)
{
    struct glint_error error = {.code = GLINT_OK};
    const uint8_t *kept = NULL;
    const int64_t n = remote_reader_peek(r, 1 + next_byte(s), &kept, &error);
    for (int64_t i = 0; i < n; i++)
        if (kept[i] != scripted_byte((uint64_t)i)) abort();
}

static void check_reader(struct script *s, struct remote_reader *r)
{
    uint8_t head[READ_BYTES_MAX];
    struct remote_identity identity = {.size = 0};
    struct glint_error error = {.code = GLINT_OK};
    const uint64_t head_size = 1 + next_byte(s);
    const int64_t n = remote_reader_identify(r, head, head_size, &identity, &error);
    if (n < 0) return;
    if ((uint64_t)n > identity.size || (uint64_t)n > head_size) abort();
    for (int64_t i = 0; i < n; i++)
        if (head[i] != scripted_byte((uint64_t)i)) abort();
    if (next_byte(s) % 2 == 0) remote_reader_set_identity(r, &identity, next_number(s) % 1000);
    if (next_byte(s) % 4 == 0) remote_reader_start(r, NULL, 1 + next_number(s) % 1000);
    if (next_byte(s) % 4 == 0) check_peek(s, r);
    while (s->at < s->end) {
        const uint64_t offset = next_number(s) % (INT64_MAX / 2);
        if (!check_read(r, 1 + next_byte(s), offset)) return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {.at = data, .end = data + size};
    struct env env = scripted_env();
    scripted_respond = respond;
    scripted_arg = &script;
    struct remote_reader *r = remote_reader_create(&env, "http://host/x", "http://host/x", 0);
    if (r == NULL) return 0;
    check_reader(&script, r);
    remote_reader_destroy(r);
    if (scripted_open != 0 || mem_live_blocks() != 0) abort();
    return 0;
}
