/* Numbers of table fields: what is one, exact values, and the order of keys. */
#include "jobs/rows/exact_sum.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static bool parse(const char *text, struct number *out)
{
    return number_parse((struct glint_slice){(const uint8_t *)text, strlen(text)}, out);
}

Test(numbers, exact_values)
{
    static const struct {
        const char *text;
        int64_t high;
        uint64_t low;
        int decimals;
    } cases[] = {
        {"0", 0, 0, 0},
        {"-0", 0, 0, 0},
        {"+7", 0, 7, 0},
        {"007", 0, 7, 0},
        {"-1.50", -1, -UINT64_C(150), 2},
        {".5", 0, 5, 1},
        {"5.", 0, 5, 0},
        {"0.123456789", 0, 123456789, 9},
        {".123456789012345678", 0, 123456789012345678, 18},
        {"123456789012345678", 0, 123456789012345678, 0},
        {"9223372036854775807", 0, INT64_MAX, 0},
        {"-9223372036854775808", -1, (uint64_t)INT64_MIN, 0},
        {"18446744073709551615", 0, UINT64_MAX, 0},
        {"18446744073709551616", 1, 0, 0},
        {"-18446744073709551616.0", -10, 0, 1},
        {"99999999999999999999999999999999999999", 0x4b3b4ca85a86c47a, 0x098a223fffffffff, 0},
        {"-99999999999999999999999999999999999999", -0x4b3b4ca85a86c47b, 0xf675ddc000000001, 0},
        {"0.00000000000000000000000000000000000001", 0, 1, 38},
        {"00000000000000000000000000000000000000000001.0000000000000000000000", 0, 10, 1},
        {"0.0000000000000000000000", 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct number n;
        cr_assert(parse(cases[i].text, &n), "%s", cases[i].text);
        cr_expect_eq(n.high, cases[i].high, "%s", cases[i].text);
        cr_expect_eq(n.low, cases[i].low, "%s", cases[i].text);
        cr_expect_eq(n.decimals, cases[i].decimals, "%s", cases[i].text);
    }
}

Test(numbers, other_values_are_doubles)
{
    static const struct {
        const char *text;
        double f64;
    } cases[] = {
        {"1e3", 1000},
        {"-1.5E-2", -0.015},
        {"-0e0", 0},
        {"100000000000000000000000000000000000000", 1e38}, /* 39 digits */
        {"0.000000000000000000000000000000000000001", 1e-39},
        {"12345678901234567890.1234567890123456789", 12345678901234567890.1234567890123456789},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct number n;
        cr_assert(parse(cases[i].text, &n), "%s", cases[i].text);
        cr_expect_eq(n.decimals, NUMBER_INEXACT, "%s", cases[i].text);
        cr_expect_eq(n.f64, cases[i].f64, "%s", cases[i].text);
        cr_expect_not(signbit(n.f64) && n.f64 == 0, "%s", cases[i].text);
    }
}

Test(numbers, rejects_other_texts)
{
    static const char *const texts[] = {"",    "-",   "+",     ".",   "-.",    "1 ",
                                        " 1",  "0x1", "1e",    "e",   "1.1.1", "+nan",
                                        "nan(1)", "--1", "1e999", "1,5", "1_0", "x"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct number n;
        cr_expect_not(parse(texts[i], &n), "%s", texts[i]);
    }
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static int compare_keys(const char *a, const char *b)
{
    uint8_t x[200], y[200];
    const struct glint_slice s = {(const uint8_t *)a, strlen(a)};
    const struct glint_slice t = {(const uint8_t *)b, strlen(b)};
    cr_assert(NUMBER_KEY_MAX + s.size <= sizeof x && NUMBER_KEY_MAX + t.size <= sizeof y);
    const uint32_t m = number_key(s, x), n = number_key(t, y);
    cr_assert(m > 0 && m <= NUMBER_KEY_MAX + s.size && n > 0 && n <= NUMBER_KEY_MAX + t.size);
    cr_assert(x[0] > 0 && y[0] > 0, "empty fields have a first byte of zero");
    const int r = memcmp(x, y, m < n ? m : n);
    cr_assert(r != 0 || m == n, "the key of %s begins like that of %s", a, b);
    return r;
}

static const char *const ascending[] = {
    "-1e300",
    "-123456789012345678901234567890123456789012",
    "-123456789012345678901234567890123456789011",
    "-9223372036854775809e1",
    "-18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775807",
    "-9007199254740993",
    "-9007199254740992",
    "-1000.5",
    "-1",
    "-0.99999999999999999999",
    "-1e-300",
    "0",
    "1e-300",
    "0.1",
    "0.10000000000000000001",
    "0.123456789012345678",
    "0.1234567890123456781",
    "0.5",
    "1",
    "9.99",
    "10.00000000000000000000000000000000000001",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.5",
    "9007199254740994",
    "9223372036854775295",
    "9223372036854775296",
    "9223372036854775806",
    "9223372036854775807",
    "9223372036854775808",
    "10000000000000000000",
    "18446744073709551613",
    "18446744073709551614",
    "18446744073709551615",
    "99999999999999999999999999999999999998",
    "99999999999999999999999999999999999999",
    "1e300",
};

Test(numbers, keys_and_comparisons_have_the_order_of_numbers)
{
    const size_t count = sizeof ascending / sizeof ascending[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            struct number a, b;
            cr_assert(parse(ascending[i], &a) && parse(ascending[j], &b));
            const int expected = (i > j) - (i < j);
            cr_expect_eq(sign(compare_keys(ascending[i], ascending[j])), expected, "%s %s",
                         ascending[i], ascending[j]);
            const bool same_double = a.decimals < 0 && b.decimals < 0 && a.f64 == b.f64;
            cr_expect_eq(sign(number_compare(&a, &b)), same_double ? 0 : expected, "%s %s",
                         ascending[i], ascending[j]);
        }
    }
}

Test(numbers, exact_numbers_are_before_equal_doubles)
{
    struct number exact, inexact;
    cr_assert(parse("1000", &exact) && parse("1e3", &inexact));
    cr_expect_lt(number_compare(&exact, &inexact), 0);
    cr_expect_gt(number_compare(&inexact, &exact), 0);
}

Test(numbers, equal_numbers_have_equal_keys)
{
    static const char *const pairs[][2] = {
        {"0", "-0"},
        {"0", "-0.0"},
        {"0", "-0e0"},
        {"0", "0.00000000000000000000000"},
        {"1", "1.0"},
        {"1000", "1e3"},
        {"-.50", "-0.5"},
        {"9007199254740992", "9007199254740992.0"},
        {"18446744073709551615", "18446744073709551615.000"},
        {"12345678901234567890", "1234567890123456789e1"},
        {"123456789012345678", "00000000000000123456789012345678.0000000000"},
        {"1e-70", "0.01e-68"},
        {"1e70", "100e68"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        cr_expect_eq(compare_keys(pairs[i][0], pairs[i][1]), 0, "%s", pairs[i][1]);
}

Test(numbers, infinities_are_before_and_behind_all)
{
    const size_t count = sizeof ascending / sizeof ascending[0];
    for (size_t i = 0; i < count; i++) {
        cr_expect_lt(compare_keys("-inf", ascending[i]), 0, "%s", ascending[i]);
        cr_expect_lt(compare_keys(ascending[i], "inf"), 0, "%s", ascending[i]);
    }
    cr_expect_lt(compare_keys("-inf", "inf"), 0);
    cr_expect_lt(compare_keys("inf", "nan"), 0);
}

Test(numbers, nan_and_infinities)
{
    static const struct {
        const char *text, *format;
    } words[] = {{"nan", "nan"},      {"NaN", "nan"},      {"inf", "inf"},       {"+inf", "inf"},
                 {"Infinity", "inf"}, {"-Inf", "-inf"},    {"-infinity", "-inf"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct number n, zero;
        char text[NUMBER_FORMAT_MAX + 1];
        cr_assert(parse(words[i].text, &n) && parse("1e300", &zero), "%s", words[i].text);
        cr_expect_eq(n.decimals, NUMBER_INEXACT);
        text[number_format(text, &n)] = '\0';
        cr_expect_str_eq(text, words[i].format);
        cr_expect_eq(number_compare(&n, &n), 0, "%s", words[i].text);
        cr_expect_eq(sign(number_compare(&n, &zero)), words[i].text[0] == '-' ? -1 : 1);
        cr_expect_eq(compare_keys(words[i].text, words[i].format), 0);
    }
}

Test(numbers, no_number_has_no_key)
{
    static const char *const texts[] = {"-",    "1e999", "0x10", "1234567890123456789012x",
                                        "+nan", "infin", "1inf"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint8_t key[100];
        cr_expect_eq(
            number_key((struct glint_slice){(const uint8_t *)texts[i], strlen(texts[i])}, key), 0,
            "%s", texts[i]);
    }
}

Test(numbers, format)
{
    static const char *const pairs[][2] = {
        {"-0", "0"},
        {"1.50", "1.5"},
        {"2.0", "2.0"},
        {"1e3", "1000.0"},
        {"007", "7"},
        {"-0.0", "0.0"},
        {"0.00001", "0.00001"},
        {"123456789012345.678", "123456789012345.678"},
        {"-18446744073709551614", "-18446744073709551614"},
        {"-0.00000000000000000000000000000000000012", "-0.00000000000000000000000000000000000012"},
        {"99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct number n;
        char text[NUMBER_FORMAT_MAX + 1];
        cr_assert(parse(pairs[i][0], &n));
        text[number_format(text, &n)] = '\0';
        cr_expect_str_eq(text, pairs[i][1]);
    }
}

/* ---- Sums */

static struct exact_sum sum_of(const char *const *texts, size_t count)
{
    struct exact_sum sum = {.decimals = 0};
    for (size_t i = 0; i < count; i++) {
        struct number n;
        cr_assert(parse(texts[i], &n) && n.decimals >= 0, "%s", texts[i]);
        exact_sum_add(&sum, &n);
    }
    return sum;
}

#define NINES "99999999999999999999999999999999999999"

static const struct {
    const char *numbers[4], *sum;
    double f64;
} sums[] = {
    {{"0"}, "0", 0},
    {{"1", "-1.0"}, "0.0", 0},
    {{"-1", "1", "-1"}, "-1", -1},
    {{"0.1", "0.2", "0.30"}, "0.6", 0.6},
    {{"9223372036854775807", "9223372036854775807", "-5"}, "18446744073709551609", 0x1p64},
    {{"99999999999999999999", "-99999999999999999999", "1"}, "1", 1},
    {{"18446744073709551615", "1"}, "18446744073709551616", 0x1p64},
    {{"-18446744073709551616", "1"}, "-18446744073709551615", -0x1p64},
    {{"12345678901.123456789", "12345678901.123456789"},
     "24691357802.246913578",
     24691357802.246913578},
    {{NINES, NINES, NINES, "1"}, "299999999999999999999999999999999999998", 3e38},
    {{"-" NINES, "0.00000000000000000000000000000000000001"},
     "-99999999999999999999999999999999999998.99999999999999999999999999999999999999",
     -1e38},
    {{"0.000000000000000000000000000001", NINES, "-" NINES},
     "0.000000000000000000000000000001",
     1e-30},
};

Test(exact_sum, any_order_and_merges)
{
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        size_t count = 0;
        const char *reversed[4];
        while (count < 4 && sums[i].numbers[count] != NULL) count++;
        for (size_t j = 0; j < count; j++) reversed[j] = sums[i].numbers[count - 1 - j];
        struct exact_sum all = sum_of(sums[i].numbers, count), back = sum_of(reversed, count),
                         merged = sum_of(reversed, 1), rest = sum_of(reversed + 1, count - 1);
        exact_sum_merge(&merged, &rest);
        const struct exact_sum *const ways[] = {&all, &back, &merged};
        for (size_t j = 0; j < 3; j++) {
            char text[EXACT_SUM_FORMAT_MAX + 1];
            text[exact_sum_format(text, ways[j])] = '\0';
            cr_expect_str_eq(text, sums[i].sum);
            cr_expect_eq(exact_sum_f64(ways[j]), sums[i].f64, "%s", sums[i].sum);
            cr_expect_eq(exact_sum_sign(ways[j]), (sums[i].f64 > 0) - (sums[i].f64 < 0));
        }
    }
}
