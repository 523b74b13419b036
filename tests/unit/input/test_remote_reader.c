/* The reader above the headers, with responses that a test chooses: what it returns was served, or
 * it returns an error. */
#include "engine/input/remote_reader.h"
#include "engine/limits.h"

#include "tests/support/scripted_transfer.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define SIZE 100000u

static struct env env;
static struct remote_reader *reader;
static struct remote_identity identity;
static struct glint_error error;
static uint8_t bytes[SIZE];
static char headers[200];

/* What the server does wrong in the first so many responses. */
struct mistakes {
    unsigned count;
    const char *headers;
    long status;
    enum remote_result opened, ended;
    uint64_t size, piece, piece_ms;
};
static struct mistakes mistakes;

static void respond(void *arg, const struct remote_request *request, struct scripted_response *out)
{
    (void)arg;
    out->status = 206;
    out->from = request->from;
    out->size = request->to - request->from;
    snprintf(headers, sizeof headers, "Content-Range: bytes %llu-%llu/%u\nETag: \"x\"",
             (unsigned long long)request->from, (unsigned long long)request->to - 1, SIZE);
    out->headers = headers;
    if (mistakes.count == 0) return;
    mistakes.count--;
    if (mistakes.headers != NULL) out->headers = mistakes.headers;
    if (mistakes.status != 0) out->status = mistakes.status;
    if (mistakes.size != 0) out->size = mistakes.size;
    out->opened = mistakes.opened;
    out->ended = mistakes.ended;
    out->piece = mistakes.piece;
    out->piece_ms = mistakes.piece_ms;
}

static void begin(void)
{
    env = scripted_env();
    scripted_respond = respond;
    scripted_requests = 0;
    mistakes = (struct mistakes){.count = 0};
    error = (struct glint_error){.code = GLINT_OK};
    reader = remote_reader_create(&env, "http://host/x", "x", 0);
    cr_assert_eq(remote_reader_identify(reader, bytes, 1000, &identity, &error), 1000);
    cr_assert(identity.size == SIZE && identity.ranges && scripted_requests == 1);
    remote_reader_set_identity(reader, &identity, SIZE);
}

static void end(void)
{
    remote_reader_destroy(reader);
    cr_expect_eq(scripted_open, 0u);
}

TestSuite(remote_reader, .init = begin, .fini = end);

static int64_t read_at(uint64_t offset, uint64_t size)
{
    memset(bytes, 0, sizeof bytes);
    error = (struct glint_error){.code = GLINT_OK};
    const int64_t n = remote_reader_read(reader, bytes, size, offset, &error);
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(bytes[i], scripted_byte(offset + (uint64_t)i), "byte %lld", (long long)i);
    return n;
}

static void expect_error(enum glint_code code, const char *cause)
{
    cr_expect_eq(read_at(500, 1000), code);
    cr_expect(strstr(error.cause, cause) != NULL, "%s", error.cause);
}

Test(remote_reader, a_range_without_a_byte_is_no_answer)
{
    mistakes =
        (struct mistakes){.count = 1, .headers = "Content-Range: bytes */100000\nETag: \"x\""};
    cr_expect_eq(read_at(0, SIZE), SIZE);
    cr_expect_eq(scripted_requests, 3u, "it was asked for again");
    mistakes.count = 1000;
    expect_error(GLINT_E_INPUT_URL, "x: the headers of the response contradict each other (4 att");
    cr_expect_eq(scripted_requests, 7u);
    mistakes.count = 0;
    cr_expect_eq(read_at(0, SIZE), SIZE);
}

Test(remote_reader, ranges_must_have_the_wanted_byte)
{
    static const char *const wrong[] = {"bytes 501-1499/100000", "bytes 400-499/100000"};
    for (size_t i = 0; i < 2; i++) {
        char line[100];
        snprintf(line, sizeof line, "Content-Range: %s\nETag: \"x\"", wrong[i]);
        mistakes = (struct mistakes){.count = 9, .headers = line};
        expect_error(GLINT_E_INPUT_URL, "the server sent other bytes than it was asked for");
    }
    mistakes =
        (struct mistakes){.count = 9, .headers = "Content-Range: bytes 500-599/99\nETag: \"x\""};
    expect_error(GLINT_E_INPUT_URL, "contradict each other");
    mistakes =
        (struct mistakes){.count = 9, .headers = "Content-Range: bytes 500-599/600\nETag: \"x\""};
    expect_error(GLINT_E_INPUT_CHANGED, "its size has changed");
    mistakes =
        (struct mistakes){.count = 9, .headers = "Content-Range: bytes 500-599/*\nETag: \"y\""};
    expect_error(GLINT_E_INPUT_CHANGED, "it was modified");
}

static void respond_with_more(void *arg, const struct remote_request *request,
                              struct scripted_response *out)
{
    respond(arg, request, out);
    out->from = request->from - request->from % 4096;
    out->size = request->from - out->from + 100;
    snprintf(headers, sizeof headers, "Content-Range: bytes %llu-%llu/%u\nETag: \"x\"",
             (unsigned long long)out->from, (unsigned long long)(out->from + out->size - 1), SIZE);
}

/* Also the first one, which would say how long the object is. */
Test(remote_reader, the_first_response_is_repeated_if_it_has_other_bytes)
{
    remote_reader_destroy(reader);
    reader = remote_reader_create(&env, "http://host/x", "x", 0);
    mistakes = (struct mistakes){.count = 1, .headers = "Content-Range: bytes 9999-99999/*"};
    error = (struct glint_error){.code = GLINT_OK};
    cr_assert_eq(remote_reader_identify(reader, bytes, 1000, &identity, &error), 1000, "%s",
                 error.cause);
    cr_expect(identity.size == SIZE && scripted_requests == 3);
}

Test(remote_reader, ranges_may_begin_earlier_and_end_earlier)
{
    scripted_respond = respond_with_more;
    cr_expect_eq(read_at(5000, 1000), 1000);
    cr_expect_eq(scripted_requests, 11u);
}

Test(remote_reader, failures_are_repeated_from_the_same_byte)
{
    mistakes = (struct mistakes){.count = 3, .ended = REMOTE_RETRY, .size = 700};
    cr_expect_eq(read_at(0, SIZE), SIZE);
    cr_expect_eq(scripted_requests, 5u);
    mistakes = (struct mistakes){.count = 3, .size = 700}; /* fewer bytes than announced */
    cr_expect_eq(read_at(0, SIZE), SIZE);
    mistakes = (struct mistakes){.count = 1000, .opened = REMOTE_RETRY};
    expect_error(GLINT_E_INPUT_IO, "x: as scripted (");
    mistakes = (struct mistakes){.count = 1000, .status = 503};
    expect_error(GLINT_E_INPUT_IO, "x: the server answered 503 (");
}

Test(remote_reader, requests_are_sent_before_the_read)
{
    cr_expect(remote_reader_start(reader, NULL, 700));
    cr_expect_eq(scripted_requests, 2u);
    cr_expect_eq(read_at(0, 700), 700);
    cr_expect_eq(scripted_requests, 2u);
    mistakes = (struct mistakes){.count = 1, .opened = REMOTE_RETRY};
    cr_expect(remote_reader_start(reader, NULL, SIZE));
    cr_expect_eq(read_at(0, SIZE), SIZE, "a failure is seen, and repaired, by the read");
    cr_expect_eq(scripted_requests, 4u);
    cr_expect(remote_reader_start(reader, NULL, 700));
    cr_expect_eq(read_at(50000, 700), 700, "other bytes");
}

Test(remote_reader, requests_of_a_process_are_limited)
{
    struct remote_reader *others[REMOTE_AHEAD_MAX];
    for (unsigned i = 0; i < REMOTE_AHEAD_MAX; i++) {
        others[i] = remote_reader_create(&env, "http://host/x", "x", 0);
        remote_reader_set_identity(others[i], &identity, SIZE);
        cr_expect(remote_reader_start(others[i], NULL, SIZE));
    }
    cr_expect(!remote_reader_start(reader, NULL, SIZE));
    cr_expect_eq(read_at(0, SIZE), SIZE);
    remote_reader_destroy(others[0]);
    cr_expect(remote_reader_start(reader, NULL, SIZE));
    for (unsigned i = 1; i < REMOTE_AHEAD_MAX; i++) remote_reader_destroy(others[i]);
}

Test(remote_reader, the_first_bytes_are_kept)
{
    const uint8_t *head;
    cr_expect_eq(remote_reader_peek(reader, 4096, &head, &error), 4096);
    cr_expect(head[4095] == scripted_byte(4095));
    cr_expect_eq(read_at(0, SIZE), SIZE);
    cr_expect_eq(read_at(100, 50), 50);
    cr_expect_eq(read_at(4000, 500), 500);
    cr_expect_eq(scripted_requests, 3u, "of what was read, only bytes that were not kept again");
}

/* As long as a server sends 1 KiB per second, a job waits; with less, as for one that is down. */
Test(remote_reader, a_server_must_send_a_least_rate)
{
    mistakes = (struct mistakes){.count = 1000, .piece = 600, .piece_ms = 500};
    cr_expect_eq(read_at(0, SIZE), SIZE);
    mistakes.piece = 200;
    mistakes.piece_ms = 1000;
    const uint64_t begin_ns = scripted_ns;
    cr_expect_eq(read_at(0, SIZE), GLINT_E_INPUT_IO);
    cr_expect_str_eq(error.cause, "x: the server sends less than 1024 bytes per second");
    const uint64_t gave_up_ms = REMOTE_TIMEOUTS_TO_GIVE_UP * SCRIPTED_TIMEOUT_MS;
    cr_expect_gt(scripted_ns - begin_ns, gave_up_ms * MS_NS);
    cr_expect_lt(scripted_ns - begin_ns, 2 * gave_up_ms * MS_NS);
}

/* A byte for each connection is not enough either. */
Test(remote_reader, a_byte_now_and_then_is_no_progress)
{
    mistakes = (struct mistakes){
        .count = 100000, .piece = 1, .piece_ms = 20000, .size = 1, .ended = REMOTE_RETRY};
    const uint64_t begin_ns = scripted_ns;
    cr_expect_eq(read_at(0, SIZE), GLINT_E_INPUT_IO);
    cr_expect_lt(scripted_ns - begin_ns, 5 * 60 * SECOND_NS);
}

/* An outage shorter than the limit is made up for by the bytes after it. */
Test(remote_reader, bytes_pay_for_an_outage)
{
    for (int i = 0; i < 5; i++) {
        mistakes = (struct mistakes){.count = 10, .opened = REMOTE_RETRY};
        cr_expect_eq(read_at(0, SIZE), SIZE);
    }
}
