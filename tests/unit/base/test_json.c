/* The JSON writer: commas, escapes, and bytes that are not UTF-8. */
#include "engine/base/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void expect_text(const char *data, size_t size, const char *wanted)
{
    struct json j = {.failed = false};
    json_text(&j, NULL, data, size);
    cr_assert_not(j.failed);
    cr_expect_eq(j.out.size, strlen(wanted));
    cr_expect_arr_eq(j.out.data, wanted, j.out.size, "%.*s instead of %s", (int)j.out.size,
                     (const char *)j.out.data, wanted);
    json_fini(&j);
}

#define TEXT(in, wanted) expect_text(in, sizeof(in) - 1, wanted)
#define LOST             "\xef\xbf\xbd"

Test(json, strings_are_escaped)
{
    TEXT("", "\"\"");
    TEXT("plain /", "\"plain /\"");
    TEXT("a\"b\\c", "\"a\\\"b\\\\c\"");
    TEXT("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    TEXT("\0\x01\x1f\x7f", "\"\\u0000\\u0001\\u001f\\u007f\"");
    TEXT("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

Test(json, unicode_controls_are_escaped)
{
    TEXT("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\"\\u0080\\u009b\\u009f\xc2\xa0\"");
    TEXT("\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", "\"\\u202e\\u2066\\u2069\"");
    TEXT("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\"\\u200e\\u200f\\u061c\"");
    TEXT("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf", "\"\\u2028\\u2029\xe2\x80\xaf\"");
}

Test(json, invalid_utf8_becomes_replacement_character)
{
    TEXT("\xff", "\"" LOST "\"");
    TEXT("a\x80z", "\"a" LOST "z\"");
    TEXT("\xc3", "\"" LOST "\"");                            /* truncated */
    TEXT("\xc0\xaf", "\"" LOST LOST "\"");                   /* overlong */
    TEXT("\xe0\x9f\x80", "\"" LOST LOST LOST "\"");          /* overlong */
    TEXT("\xed\xa0\x80", "\"" LOST LOST LOST "\"");          /* a surrogate */
    TEXT("\xf4\x90\x80\x80", "\"" LOST LOST LOST LOST "\""); /* beyond U+10FFFF */
    TEXT("\xf0\x9f\x98", "\"" LOST LOST LOST "\"");
    TEXT("\xe2\x82\"", "\"" LOST LOST "\\\"\"");
}

Test(json, nested_object_is_written)
{
    static const char wanted[] =
        "{\"a\":1,\"b\":[],\"c\":[1,\"x\",{\"d\":null}],\"e\":{},\"f\":9007199254740992,"
        "\"g\":\"9007199254740993\",\"h\":\"-9223372036854775808\",\"i\":\"18446744073709551615\","
        "\"j\":0.1,\"k\":null,\"l\":1234.567,\"m\":-5}";
    struct json j = {.failed = false};
    json_begin(&j, NULL, '{');
    json_i64(&j, "a", 1);
    json_begin(&j, "b", '[');
    json_end(&j, ']');
    json_begin(&j, "c", '[');
    json_i64(&j, NULL, 1);
    json_cstring(&j, NULL, "x");
    json_begin(&j, NULL, '{');
    json_cstring(&j, "d", NULL);
    json_end(&j, '}');
    json_end(&j, ']');
    json_begin(&j, "e", '{');
    json_end(&j, '}');
    json_i64(&j, "f", 9007199254740992);
    json_u64(&j, "g", 9007199254740993);
    json_i64(&j, "h", INT64_MIN);
    json_u64(&j, "i", UINT64_MAX);
    json_f64(&j, "j", 0.1);
    json_f64(&j, "k", NAN);
    json_ms(&j, "l", 1234567890);
    json_i64(&j, "m", -5);
    json_end(&j, '}');
    cr_assert_not(j.failed);
    cr_assert_eq(j.out.size, strlen(wanted), "%.*s", (int)j.out.size, (const char *)j.out.data);
    cr_expect_arr_eq(j.out.data, wanted, j.out.size);
    json_fini(&j);
}

Test(json, out_of_memory_is_sticky)
{
    struct json j = {.failed = false};
    mem_fail_at(1, true);
    json_begin(&j, NULL, '{');
    json_i64(&j, "a", 1);
    mem_fail_at(0, false);
    json_i64(&j, "b", 1);
    json_end(&j, '}');
    cr_expect(j.failed);
    json_fini(&j);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(json, bytes_lose_nothing)
{
    struct json j = {.failed = false};
    json_bytes(&j, NULL, "a\xff\xc3\xa9\x80\n", 6);
    const char *const wanted = "\"a\\udcff\xc3\xa9\\udc80\\n\"";
    cr_assert_not(j.failed);
    cr_assert_eq(j.out.size, strlen(wanted));
    cr_expect_arr_eq(j.out.data, wanted, j.out.size);
    json_fini(&j);
}
