/* The pipe between a daemon and a child: messages in any pieces, nonsense, and the other's end. */
#include "engine/base/little.h"
#include "engine/executor/line.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct end {
    struct line line;
    unsigned messages, ended, closed;
    enum line_kind kind;
    uint64_t bytes;
    bool refuses;
};

static uv_loop_t loop;
static struct end side;
static int other; /* the raw end of a line */

static bool on_message(void *arg, enum line_kind kind, struct glint_slice payload)
{
    struct end *e = arg;
    e->messages++;
    e->kind = kind;
    e->bytes += payload.size;
    return !e->refuses;
}

static void on_ended(void *arg)
{
    ((struct end *)arg)->ended++;
}

static void on_closed(void *arg)
{
    ((struct end *)arg)->closed++;
}

static const struct line_events events = {on_message, on_ended};

static void begin(void)
{
    int files[2];
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, files), 0);
    memset(&side, 0, sizeof side);
    line_init(&side.line, &loop, &events, &side);
    cr_assert_eq(line_take(&side.line, files[0]), 0);
    cr_assert_eq(line_start(&side.line), 0);
    other = files[1];
}

static void end(void)
{
    line_close(&side.line, on_closed);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(side.closed, 1);
    cr_expect_eq(uv_loop_close(&loop), 0);
    if (other >= 0) close(other);
}

TestSuite(line, .init = begin, .fini = end);

static void put(const void *data, size_t size)
{
    cr_assert_eq(write(other, data, size), (ssize_t)size);
    uv_run(&loop, UV_RUN_NOWAIT);
}

static void put_message(uint32_t size, uint8_t kind)
{
    static uint8_t bytes[5 + LINE_BYTES_MAX];
    little_put32(bytes, size);
    bytes[4] = kind;
    put(bytes, 5 + size);
}

Test(line, pieces)
{
    const uint8_t bytes[] = {3, 0, 0, 0, LINE_STATE, 'a', 'b', 'c', 0, 0, 0, 0, LINE_READY};
    for (size_t i = 0; i < sizeof bytes; i++) {
        put(bytes + i, 1);
        cr_expect_eq(side.messages, (i >= 7) + (i >= 12));
    }
    cr_expect_eq(side.bytes, 3);
    cr_expect_eq(side.kind, LINE_READY);
    put(bytes, sizeof bytes);
    cr_expect_eq(side.messages, 4);
    cr_expect_eq(side.ended, 0);
}

Test(line, the_largest_message)
{
    put_message(LINE_BYTES_MAX, LINE_CONFIG);
    while (side.messages == 0) uv_run(&loop, UV_RUN_ONCE);
    cr_expect_eq(side.bytes, LINE_BYTES_MAX);
}

Test(line, too_large)
{
    const uint8_t bytes[] = {1, 0x80, 0, 0, LINE_STATE};
    static_assert(LINE_BYTES_MAX == 0x8000, "one more than that");
    put(bytes, sizeof bytes);
    cr_expect(side.ended == 1 && side.messages == 0);
}

Test(line, unknown_kinds)
{
    put_message(0, LINE_KINDS_END);
    put_message(0, LINE_STATE);
    cr_expect(side.ended == 1 && side.messages == 0);
}

Test(line, nonsense_to_its_taker)
{
    side.refuses = true;
    put_message(1, LINE_STATE);
    put_message(1, LINE_STATE);
    cr_expect(side.ended == 1 && side.messages == 1);
    struct buffer none = {NULL, 0, 0};
    cr_expect_not(line_send(&side.line, LINE_STATE, &none));
}

Test(line, the_other_is_gone)
{
    close(other);
    other = -1;
    uv_run(&loop, UV_RUN_NOWAIT);
    cr_expect_eq(side.ended, 1);
}

Test(line, sends)
{
    struct buffer payload = {NULL, 0, 0};
    uint8_t got[8];
    cr_assert(buffer_append(&payload, "xyz", 3));
    cr_assert(line_send(&side.line, LINE_STATE, &payload));
    cr_assert_eq(read(other, got, sizeof got), 8);
    cr_expect_eq(memcmp(got, "\3\0\0\0\4xyz", 8), 0);
}

Test(line, what_a_crash_writes_is_a_message_cut_to_the_bound)
{
    static char text[LINE_BYTES_MAX + 10];
    const uint64_t sizes[] = {0, 300, sizeof text};
    for (int i = 0; i < 3; i++) {
        side.bytes = 0;
        line_write_now(other, LINE_CRASHED, text, sizes[i]);
        while (side.messages <= (unsigned)i) uv_run(&loop, UV_RUN_ONCE);
        cr_expect_eq(side.kind, LINE_CRASHED);
        cr_expect_eq(side.bytes, sizes[i] < LINE_BYTES_MAX ? sizes[i] : LINE_BYTES_MAX);
    }
}

Test(line, a_reader_that_sleeps_loses_messages)
{
    unsigned sent = 0;
    bool more = true;
    while (more && sent < 100000) {
        struct buffer payload = {NULL, 0, 0};
        cr_assert(buffer_reserve(&payload, 1000));
        payload.size = 1000;
        memset(payload.data, 0, payload.size);
        more = line_send(&side.line, LINE_STATE, &payload);
        sent += more;
    }
    cr_expect_not(more);
    cr_expect_eq(side.ended, 0);
}
