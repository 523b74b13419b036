/* Frame headers: valid ones round-trip, all others are rejected. */
#include "engine/net/frame.h"

#include "engine/base/hash.h"
#include "engine/limits.h"

#include "tests/unit/net/bytes.h"

#include <endian.h>

TestSuite(frame, .init = begin, .fini = end);

static const uint8_t payload[] = "forty-two bytes of payload, no more no less";

static struct frame make(enum frame_type type)
{
    uint32_t length = frame_payload_bytes_max(type) < sizeof payload ? 0 : sizeof payload;
    return (struct frame){type, length, type == FRAME_DATA ? 0 : length, 0x0102030405060708};
}

/* The types allowed before the hello, or all that may follow it. */
static const struct frame_type_set *expected(bool after_hello)
{
    static const struct frame_type_set all = {UINT32_MAX & ~FRAME_BIT(FRAME_HELLO),
                                              "after the handshake"};
    return after_hello ? &all : &frames_before_hello;
}

static bool needs_hello(enum frame_type type)
{
    return type != FRAME_HELLO;
}

/* Decodes a header and verifies the checksum. Returns 0 or a code. */
static int read_frame(const uint8_t *header, bool after_hello, const uint8_t *head,
                      struct frame *out)
{
    memset(&error, 0, sizeof error);
    int r = frame_decode(header, expected(after_hello), out, &error);
    if (r == 0) r = frame_verify_checksum(header, out, head, &error);
    cr_assert_eq(r, error.code);
    cr_assert(r == 0 || r == GLINT_E_PROTOCOL);
    cr_assert(r == 0 || error.cause[0] != '\0');
    return r;
}

Test(frame, every_type_round_trips)
{
    for (int type = 1; type < FRAME_TYPES_END; type++) {
        struct frame f = make(type), back;
        uint8_t header[FRAME_HEADER_BYTES];
        frame_encode(&f, payload, header);
        cr_expect_eq(read_frame(header, needs_hello(type), payload, &back), 0, "%s", error.cause);
        cr_expect(back.type == f.type && back.length == f.length && back.head == f.head &&
                  back.request == f.request);
        cr_expect_str_neq(frame_type_name(type), "unknown");
    }
    cr_expect_str_eq(frame_type_name(0), "unknown");
    cr_expect_str_eq(frame_type_name(FRAME_TYPES_END), "unknown");
}

/* Byte by byte as in the picture of frame.h, which other implementations rely on. */
Test(frame, bytes_match_the_documented_layout)
{
    static const uint8_t expected[24] = {'G', 'L', 'N', 'T', 1, FRAME_PING, 0, 0, 3, 0, 0, 0,
                                         3,   0,   0,   0,   8, 7,          6, 5, 4, 3, 2, 1};
    struct frame f = {FRAME_PING, 3, 3, 0x0102030405060708};
    uint8_t header[FRAME_HEADER_BYTES], covered[27];
    frame_encode(&f, (const uint8_t *)"abc", header);
    cr_expect_arr_eq(header, expected, sizeof expected);
    memcpy(covered, expected, sizeof expected);
    memcpy(covered + 24, "abc", 3);
    uint64_t checksum = htole64(XXH3_64bits(covered, sizeof covered));
    cr_expect_arr_eq(header + 24, &checksum, sizeof checksum);
}

Test(frame, every_flipped_bit_is_detected)
{
    for (int type = 1; type < FRAME_TYPES_END; type++) {
        struct frame f = make(type), back;
        uint8_t bytes[FRAME_HEADER_BYTES + sizeof payload];
        frame_encode(&f, payload, bytes);
        memcpy(bytes + FRAME_HEADER_BYTES, payload, sizeof payload);
        for (unsigned bit = 0; bit < 8 * (FRAME_HEADER_BYTES + f.head); bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            for (int after_hello = 0; after_hello < 2; after_hello++) {
                memset(&error, 0, sizeof error);
                int r = frame_decode(bytes, expected(after_hello), &back, &error);
                /* If the flipped bit makes the frame longer, the receiver would wait for
                 * more bytes. */
                if (r == 0 && back.head <= sizeof payload)
                    r = frame_verify_checksum(bytes, &back, bytes + FRAME_HEADER_BYTES, &error);
                else if (r == 0)
                    continue;
                cr_assert_eq(r, GLINT_E_PROTOCOL, "type %d, bit %u", type, bit);
            }
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

/* The payload of DATA is covered by the checksums of its blocks only. */
Test(frame, checksum_does_not_cover_data)
{
    struct frame f = make(FRAME_DATA), back;
    uint8_t header[FRAME_HEADER_BYTES];
    frame_encode(&f, NULL, header);
    cr_expect_eq(read_frame(header, true, NULL, &back), 0);
    cr_expect(back.head == 0 && back.length == sizeof payload);
}

static void expect_rejected(struct frame f, bool after_hello, const char *what)
{
    struct frame back = {FRAME_PING, 1, 1, 1};
    uint8_t header[FRAME_HEADER_BYTES];
    struct frame sound = {f.type, 0, 0, f.request};
    frame_encode(&sound, payload, header);
    uint32_t sizes[2] = {htole32(f.length), htole32(f.head)};
    memcpy(header + 8, sizes, sizeof sizes);
    memset(&error, 0, sizeof error);
    cr_expect_eq(frame_decode(header, expected(after_hello), &back, &error), GLINT_E_PROTOCOL);
    cr_expect_not_null(strstr(error.cause, what), "\"%s\" has no \"%s\"", error.cause, what);
    cr_expect(back.type == 0 && back.length == 0);
}

Test(frame, length_beyond_its_type_is_rejected)
{
    for (int type = 1; type < FRAME_TYPES_END; type++) {
        uint32_t most = frame_payload_bytes_max(type);
        struct frame f = {type, most, type == FRAME_DATA ? 0 : most, 0}, back;
        uint8_t header[FRAME_HEADER_BYTES];
        uint8_t *full = mem_zalloc((uint64_t)most + 1);
        frame_encode(&f, full, header);
        cr_expect_eq(read_frame(header, needs_hello(type), full, &back), 0, "%s", error.cause);
        mem_free(full);
        f.length = most + 1;
        f.head = type == FRAME_DATA ? 0 : f.length;
        expect_rejected(f, needs_hello(type), frame_type_name(type));
        f.length = f.head = UINT32_MAX;
        expect_rejected(f, needs_hello(type), "4294967295");
    }
    cr_expect_eq(frame_payload_bytes_max(FRAME_HELLO), HELLO_BYTES_MAX);
    cr_expect_eq(frame_payload_bytes_max(FRAME_REJECT), HELLO_BYTES_MAX);
}

Test(frame, wrong_checksummed_length_is_rejected)
{
    expect_rejected((struct frame){FRAME_DATA, 100, 1, 0}, true, "covers 1");
    expect_rejected((struct frame){FRAME_PING, 100, 99, 0}, true, "covers 99");
    expect_rejected((struct frame){FRAME_PING, 100, 101, 0}, true, "covers 101");
}

Test(frame, hello_comes_first_and_once)
{
    for (int type = 1; type < FRAME_TYPES_END; type++) {
        struct frame f = make(type), back;
        uint8_t header[FRAME_HEADER_BYTES];
        frame_encode(&f, payload, header);
        bool first = type == FRAME_HELLO || type == FRAME_REJECT;
        cr_expect_eq(read_frame(header, false, payload, &back), first ? 0 : GLINT_E_PROTOCOL);
        cr_expect_eq(read_frame(header, true, payload, &back),
                     type != FRAME_HELLO ? 0 : GLINT_E_PROTOCOL);
    }
}

Test(frame, other_protocols_are_recognized)
{
    static const struct {
        const char bytes[FRAME_HEADER_BYTES + 1], *what;
    } others[] = {
        {"GET / HTTP/1.1\r\nHost: localhost\r", "HTTP"},
        {"POST /run HTTP/1.1\r\nHost: local\r", "HTTP"},
        {"DELETE / HTTP/1.1\r\nHost: local\r\n", "HTTP"},
        {"HTTP/1.1 400 Bad Request\r\nServer", "HTTP"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP"},
        {"SSH-2.0-OpenSSH_9.2p1 Debian-2", "SSH"},
        {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS"},
        {"\x15\x03\x03\x00\x02\x02\x28", "TLS"},
        {"\x17\x03\x03\x00\x20", "TLS"},
        {"", "00 00 00 00"},
        {"GLNX", "47 4c 4e 58"},
        {"\xff\xff\xff\xff", "ff ff ff ff"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct frame back;
        for (int after_hello = 0; after_hello < 2; after_hello++) {
            memset(&error, 0, sizeof error);
            const uint8_t *bytes = (const uint8_t *)others[i].bytes;
            cr_expect_eq(frame_decode(bytes, expected(after_hello), &back, &error),
                         GLINT_E_PROTOCOL);
            cr_expect_not_null(strstr(error.cause, others[i].what), "%s", error.cause);
            cr_expect(error.hint[0] != '\0');
        }
    }
}

Test(frame, bad_version_flags_or_type_is_named)
{
    struct frame f = make(FRAME_PING), back;
    uint8_t header[FRAME_HEADER_BYTES];
    static const struct {
        unsigned at;
        uint8_t value;
        const char *what;
    } changes[] = {{4, 2, "version 2, expected version 1"},
                   {4, 0, "version 0, expected version 1"},
                   {5, 0, "type 0"},
                   {5, FRAME_TYPES_END, "unknown frame type"},
                   {5, 255, "type 255"},
                   {6, 1, "flags 0001"},
                   {7, 128, "flags 8000"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        frame_encode(&f, payload, header);
        header[changes[i].at] = changes[i].value;
        memset(&error, 0, sizeof error);
        cr_expect_eq(frame_decode(header, expected(true), &back, &error), GLINT_E_PROTOCOL);
        cr_expect_not_null(strstr(error.cause, changes[i].what), "%s", error.cause);
    }
}
