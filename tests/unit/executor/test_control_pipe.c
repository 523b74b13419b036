/* The control pipe: messages split at any byte, invalid messages, and a peer that closes the pipe.
 */
#include "engine/base/endian.h"
#include "engine/executor/control_pipe.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct end {
    struct control_pipe control_pipe;
    unsigned messages, ended, closed;
    enum control_pipe_kind kind;
    uint64_t bytes;
    bool refuses;
};

static uv_loop_t loop;
static struct end side;
static int other; /* the other end, as a raw descriptor */

static bool on_message(void *arg, enum control_pipe_kind kind, struct glint_slice payload)
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

static const struct control_pipe_events events = {on_message, on_ended};

static void begin(void)
{
    int files[2];
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, files), 0);
    memset(&side, 0, sizeof side);
    control_pipe_init(&side.control_pipe, &loop, &events, &side);
    cr_assert_eq(control_pipe_open(&side.control_pipe, files[0]), 0);
    cr_assert_eq(control_pipe_read_start(&side.control_pipe), 0);
    other = files[1];
}

static void end(void)
{
    control_pipe_close(&side.control_pipe, on_closed);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(side.closed, 1);
    cr_expect_eq(uv_loop_close(&loop), 0);
    if (other >= 0) close(other);
}

TestSuite(control_pipe, .init = begin, .fini = end);

static void put(const void *data, size_t size)
{
    cr_assert_eq(write(other, data, size), (ssize_t)size);
    uv_run(&loop, UV_RUN_NOWAIT);
}

static void put_message(uint32_t size, uint8_t kind)
{
    static uint8_t bytes[5 + CONTROL_PIPE_BYTES_MAX];
    put_le32(bytes, size);
    bytes[4] = kind;
    put(bytes, 5 + size);
}

Test(control_pipe, messages_may_arrive_in_fragments)
{
    const uint8_t bytes[] = {3, 0, 0, 0, PIPE_METRICS, 'a', 'b', 'c', 0, 0, 0, 0, PIPE_READY};
    for (size_t i = 0; i < sizeof bytes; i++) {
        put(bytes + i, 1);
        cr_expect_eq(side.messages, (i >= 7) + (i >= 12));
    }
    cr_expect_eq(side.bytes, 3);
    cr_expect_eq(side.kind, PIPE_READY);
    put(bytes, sizeof bytes);
    cr_expect_eq(side.messages, 4);
    cr_expect_eq(side.ended, 0);
}

Test(control_pipe, largest_message_is_accepted)
{
    put_message(CONTROL_PIPE_BYTES_MAX, PIPE_CONFIG);
    while (side.messages == 0) uv_run(&loop, UV_RUN_ONCE);
    cr_expect_eq(side.bytes, CONTROL_PIPE_BYTES_MAX);
}

Test(control_pipe, oversized_message_is_rejected)
{
    const uint8_t bytes[] = {1, 0x80, 0, 0, PIPE_METRICS};
    static_assert(CONTROL_PIPE_BYTES_MAX == 0x8000, "the invalid header has one byte more");
    put(bytes, sizeof bytes);
    cr_expect(side.ended == 1 && side.messages == 0);
}

Test(control_pipe, unknown_kind_is_rejected)
{
    put_message(0, PIPE_KINDS_END);
    put_message(0, PIPE_METRICS);
    cr_expect(side.ended == 1 && side.messages == 0);
}

Test(control_pipe, rejected_message_ends_the_pipe)
{
    side.refuses = true;
    put_message(1, PIPE_METRICS);
    put_message(1, PIPE_METRICS);
    cr_expect(side.ended == 1 && side.messages == 1);
    struct buffer none = {NULL, 0, 0};
    cr_expect_not(control_pipe_send(&side.control_pipe, PIPE_METRICS, &none));
}

Test(control_pipe, closed_peer_ends_the_pipe)
{
    close(other);
    other = -1;
    uv_run(&loop, UV_RUN_NOWAIT);
    cr_expect_eq(side.ended, 1);
}

Test(control_pipe, send_writes_a_framed_message)
{
    struct buffer payload = {NULL, 0, 0};
    uint8_t got[8];
    cr_assert(buffer_append(&payload, "xyz", 3));
    cr_assert(control_pipe_send(&side.control_pipe, PIPE_METRICS, &payload));
    cr_assert_eq(read(other, got, sizeof got), 8);
    cr_expect_eq(memcmp(got, "\3\0\0\0\4xyz", 8), 0);
}

Test(control_pipe, crash_report_is_truncated_to_the_limit)
{
    static char text[CONTROL_PIPE_BYTES_MAX + 10];
    const uint64_t sizes[] = {0, 300, sizeof text};
    for (int i = 0; i < 3; i++) {
        side.bytes = 0;
        control_pipe_write_from_signal(other, PIPE_CRASHED, text, sizes[i]);
        while (side.messages <= (unsigned)i) uv_run(&loop, UV_RUN_ONCE);
        cr_expect_eq(side.kind, PIPE_CRASHED);
        cr_expect_eq(side.bytes,
                     sizes[i] < CONTROL_PIPE_BYTES_MAX ? sizes[i] : CONTROL_PIPE_BYTES_MAX);
    }
}

Test(control_pipe, full_pipe_drops_messages)
{
    unsigned sent = 0;
    bool more = true;
    while (more && sent < 100000) {
        struct buffer payload = {NULL, 0, 0};
        cr_assert(buffer_reserve(&payload, 1000));
        payload.size = 1000;
        memset(payload.data, 0, payload.size);
        more = control_pipe_send(&side.control_pipe, PIPE_METRICS, &payload);
        sent += more;
    }
    cr_expect_not(more);
    cr_expect_eq(side.ended, 0);
}
