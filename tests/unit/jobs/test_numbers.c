/* Numbers of table fields: what is one, exact values, and the order of keys. */
#include "engine/base/text.h"
#include "jobs/rows/numbers.h"

#include <criterion/criterion.h>
#include <string.h>

static bool parse(const char *text, struct number *out)
{
    return number_parse((struct glint_slice){(const uint8_t *)text, strlen(text)}, out);
}

Test(numbers, exact_values)
{
    static const struct {
        const char *text;
        int64_t units;
        int decimals;
        double f64;
    } cases[] = {
        {"0", 0, 0, 0},
        {"-0", 0, 0, 0},
        {"+7", 7, 0, 7},
        {"007", 7, 0, 7},
        {"-1.50", -150, 2, -1.5},
        {".5", 5, 1, 0.5},
        {"0.123456789", 123456789, 9, 0.123456789},
        {"123456789012345678", 123456789012345678, 0, 123456789012345678.0},
        {"999999999999999999.0", 0, NUMBER_INEXACT, 1e18},
        {"9223372036854775807", INT64_MAX, 0, 0x1p63},
        {"-9223372036854775808", INT64_MIN, 0, -0x1p63},
        {"9223372036854775808", 0, NUMBER_INEXACT, 0x1p63},
        {"90071992547409.931", 90071992547409931, 3, 90071992547409.931},
        {"1e3", 0, NUMBER_INEXACT, 1000},
        {"5.", 0, NUMBER_INEXACT, 5},
        {"0.1234567891", 0, NUMBER_INEXACT, 0.1234567891},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct number n;
        cr_assert(parse(cases[i].text, &n), "%s", cases[i].text);
        cr_expect_eq(n.units, cases[i].units, "%s", cases[i].text);
        cr_expect_eq(n.decimals, cases[i].decimals, "%s", cases[i].text);
        cr_expect_eq(n.f64, cases[i].f64, "%s", cases[i].text);
    }
}

Test(numbers, rejects_other_texts)
{
    static const char *const texts[] = {"",    "-",   "+",     ".",   "-.",    "1 ",
                                        " 1",  "0x1", "1e",    "e",   "1.1.1", "nan",
                                        "inf", "--1", "1e999", "1,5", "1_0",   "x"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct number n;
        cr_expect_not(parse(texts[i], &n), "%s", texts[i]);
    }
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

/* Compares two keys as the engine does. */
static int compare_keys(const struct number *a, const struct number *b)
{
    uint8_t x[NUMBER_KEY_MAX], y[NUMBER_KEY_MAX];
    const uint32_t m = number_key(a, x), n = number_key(b, y);
    const int r = memcmp(x, y, m < n ? m : n);
    return r != 0 ? r : (int)m - (int)n;
}

Test(numbers, keys_have_the_order_of_numbers)
{
    static const char *const ascending[] = {"-1e300",
                                            "-9223372036854775809e1",
                                            "-9223372036854775808",
                                            "-9223372036854775807",
                                            "-9007199254740993",
                                            "-9007199254740992",
                                            "-1000.5",
                                            "-1",
                                            "-1e-300",
                                            "0",
                                            "1e-300",
                                            "0.5",
                                            "1",
                                            "9007199254740991",
                                            "9007199254740992",
                                            "9007199254740993",
                                            "9007199254740994",
                                            "9223372036854775295",
                                            "9223372036854775296",
                                            "9223372036854775806",
                                            "9223372036854775807",
                                            "9223372036854775808",
                                            "1e19",
                                            "1e300"};
    const size_t count = sizeof ascending / sizeof ascending[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            struct number a, b;
            cr_assert(parse(ascending[i], &a) && parse(ascending[j], &b));
            const int expected = (i > j) - (i < j);
            cr_expect_eq(sign(number_compare(&a, &b)), expected, "%s %s", ascending[i],
                         ascending[j]);
            cr_expect_eq(sign(compare_keys(&a, &b)), expected, "%s %s", ascending[i], ascending[j]);
        }
    }
}

Test(numbers, equal_numbers_have_equal_keys)
{
    static const char *const pairs[][2] = {{"0", "-0"},
                                           {"0", "-0.0"},
                                           {"0", "-0e0"},
                                           {"1", "1.0"},
                                           {"1000", "1e3"},
                                           {"-.50", "-0.5"},
                                           {"9007199254740992", "9007199254740992.0"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct number a, b;
        cr_assert(parse(pairs[i][0], &a) && parse(pairs[i][1], &b));
        cr_expect_eq(number_compare(&a, &b), 0, "%s", pairs[i][1]);
        cr_expect_eq(compare_keys(&a, &b), 0, "%s", pairs[i][1]);
    }
}

Test(numbers, format)
{
    static const char *const pairs[][2] = {{"-0", "0"},       {"1.50", "1.5"}, {"2.0", "2.0"},
                                           {"1e3", "1000.0"}, {"007", "7"},    {"-0.0", "0.0"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct number n;
        char text[TEXT_NUMBER_MAX];
        cr_assert(parse(pairs[i][0], &n));
        text[number_format(text, &n)] = '\0';
        cr_expect_str_eq(text, pairs[i][1]);
    }
}
