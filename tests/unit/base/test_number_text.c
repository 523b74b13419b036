/* Numbers as text beside the C library: the shortest digits by trying every precision with printf,
 * and what strtod reads of a text that has only the bytes of a decimal number. */
#include "engine/base/hash.h"
#include "engine/base/number_text.h"
#include "engine/base/text.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double read_f64(const char *text)
{
    return strtod(text, NULL);
}

static double read_f32(const char *text)
{
    return (double)strtof(text, NULL);
}

/* Tries the next larger decimal of the same length. Only a power of two can need it: its lower
 * neighbour is nearer than its upper one, so the nearest decimal may fail to round-trip where the
 * next larger one does. */
static bool round_up(char *text, double value, double (*read)(const char *))
{
    int exponent;
    if (frexp(value, &exponent) != 0.5) return false;
    char *last = strchr(text, 'e') - 1;
    while (last > text && (*last == '9' || *last == '.')) last--;
    if (*last == '9') return false; /* all nines: a shorter precision would have matched */
    ++*last;
    for (char *p = last + 1; *p != 'e'; p++)
        if (*p == '9') *p = '0';
    return read(text) == value;
}

/* The shortest scientific text that `read` reads as `value`, by trying. */
static void find_shortest(char *text, double value, double (*read)(const char *))
{
    for (int precision = 0; precision <= 16; precision++) {
        snprintf(text, NUMBER_SCIENTIFIC_MAX, "%.*e", precision, value);
        if (read(text) == value || round_up(text, value, read)) return;
    }
    cr_assert_fail("%a has no text", value);
}

static void expect_shortest(double value)
{
    char wanted[NUMBER_SCIENTIFIC_MAX], got[NUMBER_SCIENTIFIC_MAX];
    find_shortest(wanted, value, read_f64);
    const size_t size = number_shortest_f64(got, value);
    cr_assert(size == strlen(wanted) && memcmp(got, wanted, size) == 0, "%a is %.*s, not %s", value,
              (int)size, got, wanted);
}

static void expect_shortest_float(float value)
{
    char wanted[NUMBER_SCIENTIFIC_MAX], got[NUMBER_SCIENTIFIC_MAX], text[TEXT_NUMBER_MAX];
    find_shortest(wanted, (double)value, read_f32);
    const size_t size = number_shortest_f32(got, value);
    cr_assert(size == strlen(wanted) && memcmp(got, wanted, size) == 0, "%a is %.*s, not %s",
              (double)value, (int)size, got, wanted);
    cr_assert_lt(text_format_f32(text, -value), sizeof text);
    cr_assert_eq(strtof(text, NULL), -value, "%s", text);
    cr_assert_eq((float)strtod(text, NULL), -value, "%s", text);
}

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

Test(number_text, doubles_are_shortest)
{
    for (int exponent = -1074; exponent < 1024; exponent++) {
        const double power = ldexp(1, exponent);
        expect_shortest(power);
        expect_shortest(nextafter(power, INFINITY));
        if (exponent > -1074) expect_shortest(nextafter(power, 0));
    }
    for (int exponent = -323; exponent < 309; exponent++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", exponent);
        expect_shortest(strtod(text, NULL));
        expect_shortest(nextafter(strtod(text, NULL), 0));
    }
    for (uint64_t i = 0; i < 60000; i++) {
        const uint64_t bits = hash_mix(i) >> 1;
        const double value = double_of_bits(bits), below_least = double_of_bits(bits >> 11);
        if (isfinite(value) && value > 0) expect_shortest(value);
        if (below_least > 0) expect_shortest(below_least);
        expect_shortest((double)(1 + bits % 1000000) / (double)(1 + hash_mix(bits) % 1000));
        expect_shortest((double)(1 + bits % UINT64_C(0x3fffffffffffff)));
    }
    expect_shortest(DBL_MAX);
}

Test(number_text, floats_are_shortest)
{
    for (int exponent = -149; exponent < 128; exponent++) {
        const float power = ldexpf(1, exponent);
        expect_shortest_float(power);
        expect_shortest_float(nextafterf(power, INFINITY));
        if (exponent > -149) expect_shortest_float(nextafterf(power, 0));
    }
    for (uint32_t bits = 1; bits < 0x7f800000u; bits += 15101) {
        float value;
        memcpy(&value, &bits, sizeof value);
        expect_shortest_float(value);
    }
    expect_shortest_float(FLT_MAX);
    char text[TEXT_NUMBER_MAX];
    cr_expect_eq(text_format_f32(text, 1 + FLT_EPSILON), strlen("1.0000001"));
    cr_expect_str_eq(text, "1.0000001");
    text_format_f32(text, 16777218.0f * 64);
    cr_expect_str_eq(text, "1073742000.0");
    text_format_f32(text, -INFINITY);
    cr_expect_str_eq(text, "-inf");
}

static double half_of_bits(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    return exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
}

/* The next digit more is needed only if the text with one fewer is not nearer than to others. */
Test(number_text, halves_are_shortest)
{
    for (uint16_t bits = 1; bits < 0x7c00; bits++) {
        char text[TEXT_NUMBER_MAX], wanted[TEXT_NUMBER_MAX], tried[NUMBER_SCIENTIFIC_MAX];
        const double value = half_of_bits(bits);
        const double below = half_of_bits((uint16_t)(bits - 1)), above = half_of_bits(bits + 1);
        double read = (double)INFINITY;
        for (int digits = 1; 2 * read <= below + value || 2 * read >= value + above; digits++) {
            snprintf(tried, sizeof tried, "%.*e", digits - 1, value);
            read = strtod(tried, NULL);
        }
        text_format_f64(wanted, read);
        text_format_f16(text, value);
        cr_assert_str_eq(text, wanted);
    }
}

/* As strtod, of a text of the bytes of decimal numbers that it reads whole. */
static bool parse_by_c(const char *text, size_t size, double *out)
{
    char *end;
    if (size == 0 || strspn(text, "0123456789.+-eE") != size) return false;
    *out = strtod(text, &end);
    return end == text + size && isfinite(*out);
}

static void expect_parsed(const char *text)
{
    double got = 0, wanted = 0;
    const size_t size = strlen(text);
    const bool right = parse_by_c(text, size, &wanted);
    cr_assert_eq(text_parse_f64((const uint8_t *)text, size, &got), right, "%s", text);
    cr_assert(!right || memcmp(&got, &wanted, sizeof got) == 0, "%s: %a", text, got);
    cr_assert_eq(number_parse_f64(text, size, &got), right, "%s", text);
    cr_assert(!right || memcmp(&got, &wanted, sizeof got) == 0, "%s: %a", text, got);
}

Test(number_text, texts_are_parsed_as_by_strtod)
{
    static const char *const edges[] = {"1e-400",
                                        "-1e-400",
                                        "2e-324",
                                        "3e-324",
                                        "+3e-324",
                                        "1e400",
                                        "0e99999999999999999999",
                                        "1e99999999999999999999",
                                        "1e-99999999999999999999",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "2.2250738585072011e-308",
                                        "9007199254740993",
                                        "9007199254740992.99999999999999999999999",
                                        "+",
                                        "-",
                                        "+-1",
                                        "-+1",
                                        "++1",
                                        "inf",
                                        "+inf",
                                        "-nan",
                                        "nan(1)",
                                        "infinity",
                                        "0x1",
                                        "1e",
                                        "1e+",
                                        "-.5",
                                        "5.",
                                        "-.",
                                        ".e1",
                                        " 1"};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) expect_parsed(edges[i]);
    /* Random texts of such bytes, and of numbers, whole and cut. */
    static const char bytes[] = "0123456789012345678901234567890123456789..+--eE";
    for (uint64_t i = 0; i < 300000; i++) {
        char text[40];
        uint64_t random = hash_mix(i);
        size_t size = random % 12;
        for (size_t at = 0; at < size; at++) {
            random = hash_mix(random);
            text[at] = bytes[random % (sizeof bytes - 1)];
        }
        text[size] = '\0';
        expect_parsed(text);
        const double value = double_of_bits(hash_mix(random));
        snprintf(text, sizeof text, "%.*e", (int)(i % 24), value);
        expect_parsed(text);
        text[random % (strlen(text) + 1)] = '\0';
        expect_parsed(text);
    }
}

/* Numbers with few decimals have a way of their own: their digits are those of the others. */
static void expect_digits(const char *text, const char *scientific, size_t size)
{
    char digits[TEXT_NUMBER_MAX], wanted[NUMBER_SCIENTIFIC_MAX];
    size_t n = 0, w = 0;
    for (const char *p = text; *p != '\0' && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && (n > 0 || *p != '0')) digits[n++] = *p;
    while (n > 0 && digits[n - 1] == '0') n--;
    for (size_t i = 0; i < size && scientific[i] != 'e'; i++)
        if (scientific[i] != '.') wanted[w++] = scientific[i];
    cr_assert(n == w && memcmp(digits, wanted, n) == 0, "%s is not %.*s", text, (int)size,
              scientific);
}

Test(number_text, few_decimals_are_shortest)
{
    char text[TEXT_NUMBER_MAX], scientific[NUMBER_SCIENTIFIC_MAX];
    for (uint64_t i = 0; i < 400000; i++) {
        static const double scales[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
        const uint64_t random = hash_mix(i);
        const double scale = scales[random % 9];
        double value = (double)(1 + (random >> 8) % UINT64_C(2000000000000000)) / scale;
        if (i % 3 == 1) value = (double)(1 + (random >> 8) % 2000000) / scale;
        if (i % 3 == 2) value = nextafter(value, i % 2 == 0 ? 0 : 1e300);
        cr_assert_lt(text_format_f64(text, -value), sizeof text);
        cr_assert_eq(strtod(text, NULL), -value, "%s", text);
        expect_digits(text + 1, scientific, number_shortest_f64(scientific, value));
        float small = (float)value;
        if (i % 3 == 2) small = nextafterf(small, 0);
        cr_assert_lt(text_format_f32(text, small), sizeof text);
        cr_assert_eq(strtof(text, NULL), small, "%s", text);
        expect_digits(text, scientific, number_shortest_f32(scientific, small));
    }
}

Test(number_text, integers_are_as_by_printf)
{
    char got[TEXT_NUMBER_MAX], wanted[TEXT_NUMBER_MAX];
    for (uint64_t i = 0; i < 200000; i++) {
        const uint64_t value = hash_mix(i) >> hash_mix(i + 1) % 64;
        snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)value);
        cr_assert_eq(text_format_u64(got, value), strlen(wanted));
        cr_assert_str_eq(got, wanted);
        snprintf(wanted, sizeof wanted, "%lld", (long long)value);
        cr_assert_eq(text_format_i64(got, (int64_t)value), strlen(wanted));
        cr_assert_str_eq(got, wanted);
        snprintf(wanted, sizeof wanted, "%09llu", (unsigned long long)value % 1000000000);
        memset(got, 0, sizeof got);
        text_put_digits(got, value, 9);
        cr_assert_str_eq(got, wanted);
    }
    uint64_t power = 1;
    for (int i = 0; i < 19; i++, power *= 10) {
        cr_expect_eq(text_format_u64(got, power), (size_t)i + 1);
        cr_expect(i == 0 || text_format_u64(got, power - 1) == (size_t)i);
    }
}
