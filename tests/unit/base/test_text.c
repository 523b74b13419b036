/* Numbers as text: the output is the shortest text that reads back, spelled as in Python and in
 * Java. */
#include "engine/base/hash.h"
#include "engine/base/text.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_formats(double value, const char *python, const char *java)
{
    char out[TEXT_NUMBER_MAX];
    size_t n = text_format_f64(out, value);
    cr_expect_str_eq(out, python);
    cr_expect_eq(n, strlen(out));
    n = text_format_f64_java(out, value);
    cr_expect_str_eq(out, java);
    cr_expect_eq(n, strlen(out));
}

Test(text, doubles_print_like_python_and_java)
{
    expect_formats(0.0, "0.0", "0.0");
    expect_formats(-0.0, "-0.0", "-0.0");
    expect_formats(1, "1.0", "1.0");
    expect_formats(0.1, "0.1", "0.1");
    expect_formats(-2.5, "-2.5", "-2.5");
    expect_formats(100.0, "100.0", "100.0");
    expect_formats(0.001, "0.001", "0.001");
    expect_formats(0.0001, "0.0001", "1.0E-4");
    expect_formats(0.00001, "1e-05", "1.0E-5");
    expect_formats(1.5e-7, "1.5e-07", "1.5E-7");
    expect_formats(9999999, "9999999.0", "9999999.0");
    expect_formats(1e7, "10000000.0", "1.0E7");
    expect_formats(12345678.9, "12345678.9", "1.23456789E7");
    expect_formats(1e15, "1000000000000000.0", "1.0E15");
    expect_formats(1e16, "1e+16", "1.0E16");
    expect_formats(9007199254740993.0, "9007199254740992.0", "9.007199254740992E15");
    expect_formats(123456789012345680.0, "1.2345678901234568e+17", "1.2345678901234568E17");
    expect_formats(1e22, "1e+22", "1.0E22");
    expect_formats(1e23, "1e+23", "1.0E23");
    expect_formats(1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157E308");
    expect_formats(0.010001985505807604, "0.010001985505807604", "0.010001985505807604");
    expect_formats(0.010696912538469175, "0.010696912538469175", "0.010696912538469175");
    expect_formats(INFINITY, "inf", "Infinity");
    expect_formats(-INFINITY, "-inf", "-Infinity");
    expect_formats(NAN, "nan", "NaN");
}

/* Doubles below DBL_MIN have fewer bits, and a power of two is closer to its lower neighbour. */
Test(text, subnormals_and_powers_of_two_print_shortest)
{
    expect_formats(5e-324, "5e-324", "5.0E-324");
    expect_formats(1e-323, "1e-323", "1.0E-323");
    expect_formats(1.5e-323, "1.5e-323", "1.5E-323");
    expect_formats(2.2250738585072014e-308, "2.2250738585072014e-308", "2.2250738585072014E-308");
    expect_formats(0x1p-44, "5.684341886080802e-14", "5.684341886080802E-14");
    expect_formats(0x1p-20, "9.5367431640625e-07", "9.5367431640625E-7");
    expect_formats(0x1p-1022, "2.2250738585072014e-308", "2.2250738585072014E-308");
}

static double random_double(uint64_t i)
{
    uint64_t bits = hash_mix(i);
    double value;
    switch (i % 4) {
    case 0: return (double)(bits % 1000000) / (double)(1 + hash_mix(bits) % 1000000);
    case 1: return ldexp(1, (int)(bits % 2098) - 1074);
    case 2: bits &= 0x800fffffffffffffu; break; /* below DBL_MIN */
    default: break;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Checks by brute force that no text with one digit fewer reads back. */
static bool is_shortest(double value, const char *text)
{
    int digits = 0, zeros = 0;
    for (const char *p = text; *p != '\0' && *p != 'e'; p++) {
        if (*p == '0' && digits > 0) zeros++;
        if (*p >= '1' && *p <= '9') {
            digits += zeros + 1;
            zeros = 0;
        }
    }
    char shorter[64];
    if (digits <= 1) return true;
    snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
    return strtod(shorter, NULL) != value;
}

Test(text, doubles_round_trip)
{
    char out[TEXT_NUMBER_MAX];
    for (uint64_t i = 0; i < 200000; i++) {
        double value = random_double(i), back;
        if (!isfinite(value)) continue;
        cr_assert_lt(text_format_f64(out, value), sizeof out);
        cr_assert_eq(strtod(out, NULL), value, "%a is %s", value, out);
        cr_assert(is_shortest(value, out), "%a is %s", value, out);
        cr_assert(text_parse_f64((const uint8_t *)out, strlen(out), &back) && back == value);
        cr_assert_lt(text_format_f64_java(out, value), sizeof out);
        cr_assert_eq(strtod(out, NULL), value, "%a is %s", value, out);
    }
}

static bool parse_i64(const char *text, int64_t *out)
{
    return text_parse_i64((const uint8_t *)text, strlen(text), out);
}

Test(text, integers_round_trip)
{
    static const int64_t values[] = {0, 1, -1, 42, INT64_MAX, INT64_MIN, INT64_MIN + 1, 1000000007};
    char out[TEXT_NUMBER_MAX], wanted[TEXT_NUMBER_MAX];
    int64_t back;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(wanted, sizeof wanted, "%lld", (long long)values[i]);
        cr_expect_eq(text_format_i64(out, values[i]), strlen(wanted));
        cr_expect_str_eq(out, wanted);
        cr_expect(parse_i64(out, &back) && back == values[i]);
    }
    cr_expect(parse_i64("+7", &back) && back == 7);
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "0x10",
                                      "--1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999",
                                      "1e3",
                                      "\xd9\xa1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(parse_i64(bad[i], &back), "%s", bad[i]);
    cr_expect_not(text_parse_i64((const uint8_t *)"1\0002", 3, &back));
}

Test(text, invalid_doubles_are_rejected)
{
    static const char *const bad[] = {"",      "nan",   "inf", "-inf", "1e999", "-1e999",
                                      "0x1p3", " 1",    "1 ",  "1,5",  ".",     "e5",
                                      "1e",    "1.2.3", "--1", "+-1",  "1e+-5", "tt01"};
    double out;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(text_parse_f64((const uint8_t *)bad[i], strlen(bad[i]), &out), "%s", bad[i]);
    char longest[600];
    memset(longest, '1', sizeof longest);
    cr_expect_not(text_parse_f64((const uint8_t *)longest, sizeof longest, &out));
    cr_expect_not(text_parse_f64((const uint8_t *)"1\0002", 3, &out));
    cr_expect(text_parse_f64((const uint8_t *)".5", 2, &out) && out == 0.5);
    cr_expect(text_parse_f64((const uint8_t *)"1e-999", 6, &out) && out == 0);
    cr_expect(text_parse_f64((const uint8_t *)"5.99", 3, &out) &&
              out == 5.9); /* not past the end */
}

/* Up to 20 digits, a point anywhere, and signs: the short ones take a path of their own. */
Test(text, decimals_are_parsed_as_by_strtod)
{
    static const char *const signs[] = {"", "-", "+"};
    uint64_t seed = 1;
    for (int i = 0; i < 300000; i++) {
        char text[32] = "";
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const unsigned digits = 1 + (unsigned)(seed >> 33) % 20;
        const unsigned point = (unsigned)(seed >> 40) % 24;
        size_t size = (size_t)snprintf(text, sizeof text, "%s", signs[(seed >> 50) % 3]);
        for (unsigned d = 0; d < digits; d++) {
            if (d == point) text[size++] = '.';
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[size++] = (char)('0' + (seed >> 40) % 10 * (seed >> 60 > 2));
        }
        if (digits == point) text[size++] = '.';
        double got = 0, wanted = strtod(text, NULL);
        cr_assert(text_parse_f64((const uint8_t *)text, size, &got), "%s", text);
        cr_assert(memcmp(&got, &wanted, sizeof got) == 0, "%s: %a, not %a", text, got, wanted);
    }
}

Test(text, decimals_around_2_to_53_are_parsed_as_by_strtod)
{
    for (int64_t i = -100; i < 100; i++) {
        char text[32];
        const int size = snprintf(text, sizeof text, "%lld", ((long long)1 << 53) + i);
        for (int point = 0; point < size; point++) {
            char with_point[33];
            double got = 0;
            snprintf(with_point, sizeof with_point, "%.*s.%s", point, text, text + point);
            cr_assert(text_parse_f64((const uint8_t *)with_point, (uint64_t)size + 1, &got));
            cr_assert_eq(got, strtod(with_point, NULL), "%s", with_point);
        }
    }
}

Test(text, byte_sizes_are_parsed_and_printed)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"64K", 65536},
                {"64KiB", 65536},
                {"64KB", 65536},
                {"1.5G", 1610612736},
                {"7B", 7},
                {"0.5M", 524288},
                {"2T", 2199023255552},
                {"1GiB", 1073741824}};
    static const char *const bad[] = {"",    "K",  "-1",    "1X",          "1KiBs",
                                      "1 K", "1k", "1.2.3", "9999999999T", "1iB"};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        cr_expect(text_parse_bytes(good[i].text, &bytes) && bytes == good[i].bytes, "%s",
                  good[i].text);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(text_parse_bytes(bad[i], &bytes), "%s", bad[i]);
    char out[TEXT_NUMBER_MAX];
    text_format_bytes(out, 7);
    cr_expect_str_eq(out, "7 B");
    text_format_bytes(out, 12 * 1024);
    cr_expect_str_eq(out, "12.0 KiB");
    text_format_bytes(out, UINT64_MAX);
    cr_expect_str_eq(out, "16.0 EiB");
}

Test(text, format_reports_truncation)
{
    char out[6];
    cr_expect(text_format(out, sizeof out, "%s", "12345"));
    cr_expect_not(text_format(out, sizeof out, "%s", "123456"));
    cr_expect_str_eq(out, "12345");
    cr_expect(text_format(out, sizeof out, "%s", ""));
    cr_expect_str_eq(out, "");
}

Test(text, timestamps_print_as_utc)
{
    static const struct {
        int64_t ns;
        const char *text;
    } moments[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1795330800123456789, "2026-11-22T07:00:00.123Z"},
        {951782400000000000, "2000-02-29T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000000, "1969-12-31T23:59:59.999Z"},
        {-1000000001, "1969-12-31T23:59:58.999Z"},
        {INT64_MAX, "2262-04-11T23:47:16.854Z"},
        {INT64_MIN, "1677-09-21T00:12:43.145Z"},
    };
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        char out[TEXT_NUMBER_MAX];
        cr_expect_eq(text_format_time(out, moments[i].ns), strlen(moments[i].text));
        cr_expect_str_eq(out, moments[i].text);
    }
}

Test(text, unprintable_characters_are_replaced)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"", ""},
        {"plain ~", "plain ~"},
        {"gr\xc3\xb6\xc3\x9f \xe2\x82\xac \xf0\x9f\x8c\x8d", "gr\xc3\xb6\xc3\x9f \xe2\x82\xac "
                                                             "\xf0\x9f\x8c\x8d"},
        {"two\nlines\tand a tab", "two lines and a tab"},
        {"\033[2J\x7f\r", "?[2J??"},
        {"\xc2\x9b"
         "1m\xc2\xa0",
         "??1m\xc2\xa0"},                    /* CSI in two bytes; a no-break space may stay */
        {"abc\xe2\x80\xaetxt", "abc???txt"}, /* U+202E: the rest would show as "txt" reversed */
        {"\xe2\x81\xa6\xe2\x80\x8e\xd8\x9c", "????????"},
        {"\xe2\x80\xa8|\xc2\x85", "???|??"}, /* line breaks to some readers */
        {"\xd7\xa9\xe2\x80\x93\xe2\x80\xa7", "\xd7\xa9\xe2\x80\x93\xe2\x80\xa7"},
        {"\xff\xc3", "??"},
        {"\xe2\x82", "??"},
        {"\xed\xa0\x80", "???"}, /* a surrogate */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        cr_assert(text_format(text, sizeof text, "%s", rows[i].text));
        cr_expect_eq(text_is_printable(text), strcmp(rows[i].text, rows[i].shown) == 0, "row %zu",
                     i);
        text_make_printable(text);
        cr_expect_str_eq(text, rows[i].shown, "row %zu", i);
        cr_expect(text_is_printable(text));
    }
}
