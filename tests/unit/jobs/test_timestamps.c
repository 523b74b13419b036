/* Dates and times: what is one, and which moment it is. */
#include "jobs/rows/timestamps.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool parse(const char *text, struct timestamp *out)
{
    return timestamp_parse((struct glint_slice){(const uint8_t *)text, strlen(text)}, out);
}

Test(timestamps, moments)
{
    static const struct {
        const char *text;
        int64_t seconds;
        int32_t nanos;
    } cases[] = {
        {"1970-01-01", 0, 0},
        {"1969-12-31T23:59:59.000000001Z", -1, 1},
        {"0001-01-01", -INT64_C(62135596800), 0},
        {"0000-12-31T12:00", -INT64_C(62135640000), 0},
        {"0000-01-01", -INT64_C(62167219200), 0},
        {"0000-02-29", -INT64_C(62162121600), 0},
        {"9999-12-31 23:59:59.999999999", INT64_C(253402300799), 999999999},
        {"2000-02-29", 951782400, 0},
        {"+12000-01-01", INT64_C(316516204800), 0},
        {"+148108-07-06T14:00:27.387904", INT64_C(4611686018427), 387904000},
        {"-0044-03-15", -INT64_C(63549360000), 0},
        {"-0400-03-01", -INT64_C(74784816000), 0},
        {"-271821-04-20", -INT64_C(8640000000000), 0},
        {"+5881580-07-11", INT64_C(185542587100800), 0},
        {"2026-01-31T12:30", 1769862600, 0},
        {"2026-01-31T12:30Z", 1769862600, 0},
        {"2026-01-31T12:30+02", 1769855400, 0},
        {"2026-01-31T12:30-0230", 1769871600, 0},
        {"2026-01-31T12:30:00.5+00:30", 1769860800, 500000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct timestamp t;
        cr_assert(parse(cases[i].text, &t), "%s", cases[i].text);
        cr_expect_eq(t.seconds, cases[i].seconds, "%s: %lld", cases[i].text, (long long)t.seconds);
        cr_expect_eq(t.nanos, cases[i].nanos, "%s", cases[i].text);
    }
}

Test(timestamps, every_day_is_that_of_the_c_library)
{
    for (int64_t day = -720000; day < 2900000; day += 97) {
        char text[32];
        struct timestamp t;
        struct tm tm;
        const time_t seconds = day * 86400;
        if (gmtime_r(&seconds, &tm) == NULL || tm.tm_year + 1900 < 1 || tm.tm_year > 9999 - 1900)
            continue;
        snprintf(text, sizeof text, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        cr_assert(parse(text, &t), "%s", text);
        cr_assert_eq(t.seconds, seconds, "%s", text);
    }
}

Test(timestamps, what_is_none)
{
    static const char *const texts[] = {
        "",
        "2026",
        "2026-1-31",
        "2026-01-31 ",
        " 2026-01-31",
        "2026-13-01",
        "2026-00-01",
        "2026-01-00",
        "2026-01-32",
        "2026-02-29",
        "1900-02-29",
        "20260131",
        "2026/01/31",
        "2026-01-31T",
        "2026-01-31T12",
        "2026-01-31T24:00",
        "2026-01-31T12:60",
        "2026-01-31T12:30:60",
        "2026-01-31T12:30:",
        "2026-01-31T12:30:00.",
        "2026-01-31T12:30:00.0123456789",
        "2026-01-31T12:30Z+01",
        "2026-01-31T12:30+1",
        "2026-01-31T12:30+01:",
        "2026-01-31T12:30+01:60",
        "2026-01-31T12:30+24",
        "2026-01-31 12:30 Z",
        "-026-01-31",
        "+12345678-01-01",
        "+2026",
        "-",
    };
    struct timestamp t;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect(!parse(texts[i], &t), "%s", texts[i]);
    cr_expect(
        !timestamp_parse_date((struct glint_slice){(const uint8_t *)"2026-01-31T12:30", 16}, &t));
}
