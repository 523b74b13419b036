/* Texts of ids with a type: which are values, and their bytes. */
#include "jobs/rows/id_values.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The value's bytes as hexadecimal digits, or why there is none. */
static const char *value_of(const char *type, uint32_t width, const char *text)
{
    static char shown[4 * ID_VALUE_MAX];
    uint8_t out[64] = {0};
    uint64_t size = 0;
    uint32_t number;
    cr_assert(bloom_id_type_parse(type, strlen(type), &number), "%s", type);
    const struct glint_slice slice = {(const uint8_t *)text, strlen(text)};
    const char *wrong = id_value_parse(number, width, slice, out, &size);
    if (wrong != NULL) return wrong;
    cr_assert(size <= ID_VALUE_MAX);
    shown[0] = '\0';
    for (uint64_t i = 0; i < size; i++) snprintf(shown + 2 * i, 3, "%02x", out[i]);
    return shown;
}

Test(id_values, values)
{
    static const struct {
        const char *type;
        uint32_t width;
        const char *text, *value;
    } cases[] = {
        {"text", 0, "5", "35"},
        {"bytes", 0, "00fF", "00ff"},
        {"bytes", 0, "0x0a", "0a"},
        {"bytes", 0, "\\x0a", "0a"},
        {"bytes", 0, "", ""},
        {"i32", 4, "5", "05000000"},
        {"i32", 4, "-2147483648", "00000080"},
        {"i32", 8, "-1", "ffffffffffffffff"},
        {"i64", 8, "9223372036854775807", "ffffffffffffff7f"},
        {"i64", 8, "-0", "0000000000000000"},
        {"u64", 8, "18446744073709551615", "ffffffffffffffff"},
        {"u64", 8, "-0", "0000000000000000"},
        {"u64", 8, "+7", "0700000000000000"},
        {"f64", 8, "1.5", "000000000000f83f"},
        {"f64", 8, "15e-1", "000000000000f83f"},
        {"f64", 8, "-0.0", "0000000000000080"},
        {"f64", 8, "nan", "000000000000f87f"},
        {"f64", 8, "NaN", "000000000000f87f"},
        {"f64", 8, "inf", "000000000000f07f"},
        {"f64", 8, "-Infinity", "000000000000f0ff"},
        {"date", 4, "1970-01-02", "01000000"},
        {"date", 8, "1969-12-31", "ffffffffffffffff"},
        {"timestamp", 8, "1970-01-01T00:00:01Z", "40420f0000000000"},
        {"timestamp", 8, "1970-01-01 02:00:01.000001+02:00", "41420f0000000000"},
        {"timestamp", 8, "1969-12-31T23:59:59.999999", "ffffffffffffffff"},
        {"uuid", 16, "01890a5d-ac96-774b-bcce-B302099A8057", "01890a5dac96774bbcceb302099a8057"},
        {"uuid", 16, "0123456789abcdef", "30313233343536373839616263646566"},
        {"decimal(9,2)", 4, "1.5", "96000000"},
        {"decimal(9,2)", 4, "1.500", "96000000"},
        {"decimal(9,2)", 4, "-0.01", "ffffffff"},
        {"decimal(18,0)", 8, "999999999999999999", "ffff63a7b3b6e00d"},
        {"decimal(3,3)", 4, "0.001", "01000000"},
        {"decimal(9,2)", 4, "1e1", "e8030000"},
        {"decimal(9,2)", 4, "+15E-1", "96000000"},
        {"decimal(9,2)", 4, "100e-4", "01000000"},
        {"decimal(9,2)", 4, "0e999999999999", "00000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(value_of(cases[i].type, cases[i].width, cases[i].text), cases[i].value,
                         "%s %s", cases[i].type, cases[i].text);
}

Test(id_values, others_are_none)
{
    static const struct {
        const char *type;
        uint32_t width;
        const char *text, *why;
    } cases[] = {
        {"bytes", 0, "0", "it is not an even number of hexadecimal digits"},
        {"bytes", 0, "0g", "it is not hexadecimal digits"},
        {"i32", 4, "2147483648", "it is not a whole number of 32 bits"},
        {"i32", 8, "-2147483649", "it is not a whole number of 32 bits"},
        {"i64", 8, "9223372036854775808", "it is not a whole number of 64 bits"},
        {"i64", 8, "5.0", "it is not a whole number of 64 bits"},
        {"i64", 8, "", "it is not a whole number of 64 bits"},
        {"u64", 8, "-1", "it is not a whole number from 0 on"},
        {"u64", 8, "18446744073709551616", "it is over 2^64 - 1"},
        {"u64", 8, "", "it is not a whole number"},
        {"f64", 8, "nano", "it is not a number"},
        {"f64", 8, "1e999", "it is not a number"},
        {"f64", 8, "one", "it is not a number"},
        {"date", 4, "2026-02-29", "it is not a date, such as 2026-11-29"},
        {"date", 4, "2026-02-28T00:00", "it is not a date, such as 2026-11-29"},
        {"timestamp", 8, "16:00", "it is not a time, such as 2026-11-29T16:00:00Z"},
        {"timestamp", 8, "2026-02-28T00:00:00.0000001", "it has digits beyond microseconds"},
        {"uuid", 16, "01890a5d-ac96-774b-bcce-b302099a805",
         "it is not a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057"},
        {"uuid", 16, "01890a5d-ac96-774b-bcce-b302099a80-7",
         "it is not a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057"},
        {"uuid", 16, "01890a5dxac96-774b-bcce-b302099a8057",
         "it is not a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057"},
        {"decimal(9,2)", 4, "1.005", "it has more digits after the point than its type"},
        {"decimal(9,2)", 4, "10000000.00", "it has more digits than its type"},
        {"decimal(9,2)", 4, "-10000000", "it has more digits than its type"},
        {"decimal(9,2)", 4, "99999999999999999999999999999999999999",
         "it has more digits than its type"},
        {"decimal(9,2)", 4, "x", "it is not a decimal number"},
        {"decimal(9,2)", 4, "1e", "it is not a decimal number"},
        {"decimal(9,2)", 4, "e1", "it is not a decimal number"},
        {"decimal(9,2)", 4, "1e1.5", "it is not a decimal number"},
        {"decimal(9,2)", 4, "1e7", "it has more digits than its type"},
        {"decimal(9,2)", 4, "1e-3", "it has more digits after the point than its type"},
        {"decimal(9,2)", 4, "1e-999999", "it has more digits after the point than its type"},
        {"u64", 8, "-", "it is not a whole number from 0 on"},
        {"u64", 8, "+-1", "it is not a whole number from 0 on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(value_of(cases[i].type, cases[i].width, cases[i].text), cases[i].why,
                         "%s %s", cases[i].type, cases[i].text);
}

Test(id_values, format_writes_what_parse_reads)
{
    static const struct {
        const char *type;
        uint32_t width;
        const char *text;
    } cases[] = {{"text", 0, "x y"},
                 {"bytes", 0, "00ff0a"},
                 {"i32", 4, "-2147483648"},
                 {"i32", 8, "-1"},
                 {"i64", 8, "5555"},
                 {"i64", 8, "-9223372036854775808"},
                 {"u64", 8, "18446744073709551615"},
                 {"f64", 8, "1.5"},
                 {"f64", 8, "-0.0"},
                 {"f64", 8, "nan"},
                 {"f64", 8, "-inf"},
                 {"date", 4, "2026-11-30"},
                 {"date", 8, "1969-12-31"},
                 {"timestamp", 8, "1970-01-01T00:00:01Z"},
                 {"timestamp", 8, "1969-12-31T23:59:59.999999Z"},
                 {"uuid", 16, "01890a5d-ac96-774b-bcce-b302099a8057"},
                 {"decimal(9,2)", 4, "-0.01"},
                 {"decimal(18,0)", 8, "999999999999999999"},
                 {"decimal(18,3)", 8, "12.345"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t value[ID_VALUE_SHOWN_MAX];
        char out[ID_VALUE_TEXT_MAX];
        uint64_t size;
        uint32_t type;
        cr_assert(bloom_id_type_parse(cases[i].type, strlen(cases[i].type), &type));
        const struct glint_slice text = {(const uint8_t *)cases[i].text, strlen(cases[i].text)};
        cr_assert_eq(id_value_parse(type, cases[i].width, text, value, &size), NULL);
        id_value_format(type, value, size, true, out);
        cr_assert_str_eq(out, cases[i].text, "%s", cases[i].type);
    }
}

/* The extreme values have a text, too; a cut text ends with a whole character. */
Test(id_values, format_of_extremes_and_cut_texts)
{
    static const struct {
        const char *bytes, *whole, *cut;
    } texts[] = {{"ab", "ab", "ab"},
                 {"a\xc3", "a\xc3", "a"},
                 {"a\xc3\xbc", "a\xc3\xbc", "a\xc3\xbc"},
                 {"a\xe2\x82", "a\xe2\x82", "a"},
                 {"a\xf0\x9f\x98", "a\xf0\x9f\x98", "a"},
                 {"a\xf0\x9f\x98\x80", "a\xf0\x9f\x98\x80", "a\xf0\x9f\x98\x80"},
                 {"\x80\x80\x80\x80", "\x80\x80\x80\x80", "\x80\x80\x80\x80"},
                 {"", "", ""}};
    static const char *const types[] = {"i32", "i64", "u64", "f64", "date", "timestamp"};
    char out[ID_VALUE_TEXT_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const uint8_t *bytes = (const uint8_t *)texts[i].bytes;
        id_value_format(0, bytes, strlen(texts[i].bytes), true, out);
        cr_assert_str_eq(out, texts[i].whole);
        id_value_format(0, bytes, strlen(texts[i].bytes), false, out);
        cr_assert_str_eq(out, texts[i].cut, "%zu", i);
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (uint32_t width = 4; width <= 8; width += 4) {
            uint8_t value[8] = {0, 0, 0, width == 4 ? 0x80 : 0, 0, 0, 0, 0x80};
            uint32_t type;
            cr_assert(bloom_id_type_parse(types[i], strlen(types[i]), &type));
            id_value_format(type, value, width, true, out);
            cr_assert(strlen(out) > 0, "%s", types[i]);
        }
    }
}
