/* Compares the validation with msgpack-c: every accepted value can be decoded and has the same
 * size. */
#include "engine/records/pack.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <msgpack.h>

static bool scan(const char *bytes, uint64_t size, uint64_t *out)
{
    return msgpack_validate((const uint8_t *)bytes, size, out);
}

static void expect_valid(const char *bytes, uint64_t size, bool good)
{
    uint64_t end = 0;
    cr_expect_eq(scan(bytes, size, &end), good, "%02x", (uint8_t)bytes[0]);
    cr_expect_eq(end, good ? size : 0, "set only on success");
}
#define GOOD(bytes) expect_valid(bytes, sizeof bytes - 1, true)
#define BAD(bytes)  expect_valid(bytes, sizeof bytes - 1, false)

Test(msgpack_validate, every_head_byte_is_validated)
{
    GOOD("\x00");
    GOOD("\x7f");
    GOOD("\xe0");
    GOOD("\xc0");
    BAD("\xc1");
    GOOD("\xa2xy");
    BAD("\xa2x");
    GOOD("\x80");
    GOOD("\x92\x01\x02");
    BAD("\x92\x01");
    GOOD("\x81\x01\x02");
    BAD("\x81\x01");
    GOOD("\xc4\x01z");
    GOOD("\xc5\x00\x01z");
    GOOD("\xc6\x00\x00\x00\x01z");
    BAD("\xc6\xff\xff\xff\xffz");
    GOOD("\xc7\x02\x05zz");
    GOOD("\xc8\x00\x02\x05zz");
    GOOD("\xc9\x00\x00\x00\x02\x05zz");
    BAD("\xc9\x00\x00\x00\x02\x05z");
    GOOD("\xd4\x01z");
    GOOD("\xd8\x01zzzzzzzzzzzzzzzz");
    BAD("\xd8\x01zzzzzzzzzzzzzzz");
    GOOD("\xd9\x01z");
    GOOD("\xdc\x00\x01\xc0");
    GOOD("\xdd\x00\x00\x00\x01\xc0");
    BAD("\xdd\xff\xff\xff\xff");
    GOOD("\xde\x00\x01\xc0\xc0");
    GOOD("\xdf\x00\x00\x00\x00");
    BAD("\xdf\x80\x00\x00\x00\xc0\xc0");
    uint64_t end;
    cr_expect(!scan("", 0, &end));
    cr_expect(scan("\x01\x02", 2, &end) && end == 1, "more may follow");
}

Test(msgpack_validate, nesting_depth_is_limited)
{
    char bytes[40];
    memset(bytes, '\x91', sizeof bytes);
    bytes[MSGPACK_DEPTH_MAX] = '\xc0';
    expect_valid(bytes, MSGPACK_DEPTH_MAX + 1, true);
    bytes[MSGPACK_DEPTH_MAX] = '\x91';
    bytes[MSGPACK_DEPTH_MAX + 1] = '\xc0';
    expect_valid(bytes, MSGPACK_DEPTH_MAX + 2, false);
    bytes[MSGPACK_DEPTH_MAX - 1] = '\x90';
    expect_valid(bytes, MSGPACK_DEPTH_MAX, true);
}

/* Two arrays each claim all remaining bytes: both cannot be complete. */
Test(msgpack_validate, nested_lengths_cannot_exceed_input)
{
    BAD("\x94\x94\x01\x02\x03\x04");
    GOOD("\x92\x92\x01\x02\x03");
}

Test(msgpack_validate, heads_are_decoded)
{
    struct msgpack_head h;
    cr_expect(msgpack_read_head((const uint8_t *)"\xd1\x80\x00", 3, &h) &&
              h.kind == MSGPACK_KIND_INT);
    cr_expect(h.i64 == -32768 && h.head_size == 3);
    cr_expect(msgpack_read_head((const uint8_t *)"\xd0\x05", 2, &h) &&
              h.kind == MSGPACK_KIND_UINT && h.u64 == 5);
    cr_expect(msgpack_read_head((const uint8_t *)"\xc3", 1, &h) && h.kind == MSGPACK_KIND_BOOL &&
              h.boolean);
    cr_expect(msgpack_read_head((const uint8_t *)"\xd6\xfe"
                                                 "abcd",
                                6, &h) &&
              h.kind == MSGPACK_KIND_EXT);
    cr_expect(h.ext_type == -2 && h.size == 4 && h.head_size == 2);
}

Test(msgpack_validate, truncated_value_reports_bytes_needed)
{
    static const char bytes[] = "\x93\xa3xyz\xcd\x01\x02\x92\xc0\xc4\x02qq";
    const uint64_t size = sizeof bytes - 1;
    for (uint64_t cut = 0; cut < size; cut++) {
        uint64_t needs = 0;
        cr_expect_eq(msgpack_validate_prefix((const uint8_t *)bytes, cut, &needs),
                     MSGPACK_TRUNCATED);
        cr_expect(needs > cut && needs <= size, "%lu of %lu", needs, cut);
    }
    uint64_t whole;
    cr_expect_eq(msgpack_validate_prefix((const uint8_t *)bytes, size, &whole), MSGPACK_COMPLETE);
    cr_expect_eq(msgpack_validate_prefix((const uint8_t *)"\x91\xc1", 2, &whole), MSGPACK_INVALID);
    uint8_t deeper[MSGPACK_DEPTH_MAX + 1];
    memset(deeper, 0x91, sizeof deeper);
    cr_expect_eq(msgpack_validate_prefix(deeper, sizeof deeper, &whole), MSGPACK_INVALID,
                 "more bytes cannot make it valid");
}

Test(msgpack_validate, accepted_values_decode_with_msgpack_c)
{
    static const uint8_t heads[] = {0x01, 0x82, 0x93, 0xa2, 0xc0, 0xc3, 0xc4, 0xc7, 0xca, 0xcb,
                                    0xcc, 0xcd, 0xd0, 0xd2, 0xd5, 0xd9, 0xdc, 0xde, 0xff};
    uint64_t state = 5, passed = 0;
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[48];
        const uint64_t size = 1 + test_random(&state) % sizeof bytes;
        for (uint64_t k = 0; k < size; k++) {
            const uint64_t r = test_random(&state);
            bytes[k] = r % 3 == 0 ? heads[(r >> 8) % sizeof heads] : (uint8_t)((r >> 8) % 4);
        }
        uint64_t end = 0;
        msgpack_unpacked unpacked;
        msgpack_unpacked_init(&unpacked);
        size_t at = 0;
        const bool good = msgpack_validate(bytes, size, &end);
        if (good) {
            cr_assert_eq(msgpack_unpack_next(&unpacked, (const char *)bytes, size, &at),
                         MSGPACK_UNPACK_SUCCESS);
            cr_assert_eq(at, end);
        }
        passed += good;
        msgpack_unpacked_destroy(&unpacked);
    }
    cr_expect_gt(passed, 20000);
}
