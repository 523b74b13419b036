/* The byte form of values keeps their order and decodes to the same value; the text form. */
#include "engine/records/codec.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <math.h>

static struct glint_slice encode_value(enum glint_type type, union glint_value v, uint8_t *scratch)
{
    return codec_encode(type, &v, scratch);
}

static int compare_encoded(enum glint_type type, union glint_value a, union glint_value b)
{
    uint8_t x[CODEC_NUMBER_BYTES], y[CODEC_NUMBER_BYTES];
    return codec_compare(encode_value(type, a, x), encode_value(type, b, y));
}

Test(codec, i64_encoding_keeps_order)
{
    const int64_t sorted[] = {INT64_MIN, INT64_MIN + 1, -256, -1, 0, 1, 255, 256, INT64_MAX};
    const int n = sizeof sorted / sizeof *sorted;
    for (int i = 0; i < n; i++) {
        cr_expect_eq(codec_decode_i64(codec_encode_i64(sorted[i])), sorted[i]);
        for (int k = 0; k < n; k++) {
            const int c = compare_encoded(GLINT_I64, (union glint_value){.i64 = sorted[i]},
                                          (union glint_value){.i64 = sorted[k]});
            cr_expect_eq((c > 0) - (c < 0), (i > k) - (i < k));
        }
    }
}

Test(codec, f64_encoding_keeps_order)
{
    const double sorted[] = {-INFINITY, -1e308, -1.5, -1,       -5e-324, 0,
                             5e-324,    1,      1.5,  INFINITY, NAN};
    const int n = sizeof sorted / sizeof *sorted;
    for (int i = 0; i < n; i++) {
        const double back = codec_decode_f64(codec_encode_f64(sorted[i]));
        cr_expect(memcmp(&back, &sorted[i], sizeof back) == 0 || isnan(back));
        for (int k = 0; k < n; k++) {
            const int c = compare_encoded(GLINT_F64, (union glint_value){.f64 = sorted[i]},
                                          (union glint_value){.f64 = sorted[k]});
            cr_expect_eq((c > 0) - (c < 0), (i > k) - (i < k), "%g, %g", sorted[i], sorted[k]);
        }
    }
    cr_expect_eq(codec_encode_f64(-0.0), codec_encode_f64(0.0));
    cr_expect_eq(codec_encode_f64(-NAN), codec_encode_f64(NAN));
    cr_expect(!signbit(codec_decode_f64(codec_encode_f64(-0.0))));
}

Test(codec, slices_encode_as_themselves)
{
    union glint_value v = {.bytes = {(const uint8_t *)"abc", 3}}, back;
    uint8_t scratch[CODEC_NUMBER_BYTES];
    const struct glint_slice s = codec_encode(GLINT_TEXT, &v, scratch);
    cr_expect(s.data == v.bytes.data && s.size == 3);
    cr_expect(codec_decode(GLINT_MSGPACK, s, &back) && back.bytes.data == s.data);
    cr_expect(!codec_decode(GLINT_I64, s, &back));
    cr_expect(!codec_decode(GLINT_NONE, s, &back));
    cr_expect(codec_decode(GLINT_NONE, (struct glint_slice){NULL, 0}, &back));
}

Test(codec, varints_round_trip)
{
    const uint64_t values[] = {0,         1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX / 2,
                               UINT64_MAX};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        uint8_t bytes[10];
        uint64_t back = 0;
        const unsigned n = codec_put_varint(bytes, values[i]);
        cr_expect_eq(codec_get_varint(bytes, bytes + n, &back), n);
        cr_expect_eq(back, values[i]);
        cr_expect_eq(codec_get_varint(bytes, bytes + n - 1, &back), 0);
    }
    const uint8_t over[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    uint64_t v;
    cr_expect_eq(codec_get_varint(over, over + 10, &v), 0);
}

static void expect_print(enum glint_type type, union glint_value v, const char *wanted)
{
    struct buffer out = {NULL, 0, 0};
    cr_assert(codec_print(type, &v, &out) && buffer_append(&out, "", 1));
    cr_expect_str_eq((const char *)out.data, wanted);
    buffer_fini(&out);
}

static void expect_json(const char *msgpack, uint64_t size, const char *wanted)
{
    union glint_value v = {.bytes = {(const uint8_t *)msgpack, size}};
    expect_print(GLINT_MSGPACK, v, wanted);
}
#define JSON(bytes, wanted) expect_json(bytes, sizeof bytes - 1, wanted)

Test(codec, values_print_as_text)
{
    expect_print(GLINT_I64, (union glint_value){.i64 = INT64_MIN}, "-9223372036854775808");
    expect_print(GLINT_F64, (union glint_value){.f64 = 0.1}, "0.1");
    expect_print(GLINT_TEXT, (union glint_value){.bytes = {(const uint8_t *)"a\tb", 3}}, "a\tb");
    expect_print(GLINT_BYTES, (union glint_value){.bytes = {NULL, 0}}, "");
    expect_print(GLINT_NONE, (union glint_value){.i64 = 0}, "");
}

Test(codec, msgpack_prints_as_json)
{
    JSON("\xc0", "null");
    JSON("\x93\xc2\xc3\x05", "[false, true, 5]");
    JSON("\xff", "-1");
    JSON("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615");
    JSON("\xd3\x80\0\0\0\0\0\0\0", "-9223372036854775808");
    JSON("\xd0\x80", "-128");
    JSON("\xd1\xff\xfe", "-2");
    JSON("\xd2\0\0\0\x09", "9");
    JSON("\xcb\x3f\xf8\0\0\0\0\0\0", "1.5");
    JSON("\xca\x3f\0\0\0", "0.5");
    JSON("\xcb\x7f\xf0\0\0\0\0\0\0", "null");
    JSON("\xa5q\"\\\n\x01", "\"q\\\"\\\\\\n\\u0001\"");
    JSON("\xa3\xe2\x82\xac", "\"\xe2\x82\xac\"");
    JSON("\xa4\xff\xc0\x80o", "\"\\ufffd\\ufffd\\ufffdo\"");
    JSON("\xa3\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    JSON("\xa4\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"");
    JSON("\xa4\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    JSON("\xa4\xf5\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    JSON("\xc4\x03\xff\0a", "\"\\u00ff\\u0000a\"");
    JSON("\x82\xa1k\x90\x07\x80", "{\"k\": [], \"7\": {}}");
    JSON("\x81\x92\x01\xa1x\xc0", "{\"[1, \\\"x\\\"]\": null}");
    JSON("\xd4\x05\x61", "{\"type\": 5, \"data\": \"a\"}");
    JSON("\xc1\xff", "\"\\u00c1\\u00ff\"");
    JSON("\x91", "\"\\u0091\"");
}

Test(codec, print_reports_out_of_memory)
{
    static const char bytes[] = "\x82\xa1k\x93\x01\x02\x03\x07\xa3xyz";
    union glint_value v = {.bytes = {(const uint8_t *)bytes, sizeof bytes - 1}};
    for (int64_t n = 1; n <= 3; n++) {
        struct buffer out = {NULL, 0, 0};
        mem_fail_at(n, false);
        cr_expect_eq(codec_print(GLINT_MSGPACK, &v, &out), n == 3);
        mem_fail_at(0, false);
        buffer_fini(&out);
        cr_expect_eq(mem_live_blocks(), 0);
    }
}

Test(codec, types_have_names)
{
    cr_expect_str_eq(codec_type_name(GLINT_MSGPACK), "msgpack");
    cr_expect_str_eq(codec_type_name(GLINT_ANY), "any");
}
