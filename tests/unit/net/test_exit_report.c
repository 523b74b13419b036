/* What an executor process reports of its end. A job may write anything there. */
#include "engine/base/error.h"
#include "engine/net/wire.h"

#include <criterion/criterion.h>
#include <string.h>

static struct glint_slice parse(const char *text, struct glint_error *out)
{
    return exit_report_parse((struct glint_slice){(const uint8_t *)text, strlen(text)}, out);
}

Test(exit_report, error_is_parsed_as_formatted)
{
    char text[4096];
    struct glint_error out, why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_CONNECTION, "a hint", "a cause: %d", 7);
    size_t size = exit_report_format(&why, text, sizeof text);
    cr_expect_eq(size, strlen(text));
    cr_expect_eq(parse(text, &out).size, 0);
    cr_expect_eq(out.code, GLINT_E_CONNECTION);
    cr_expect_str_eq(out.cause, "a cause: 7");
    cr_expect_str_eq(out.hint, "a hint");
}

Test(exit_report, crash_has_a_cause_and_a_backtrace)
{
    struct glint_error out;
    struct glint_slice rest = parse("e1 crashed: signal 11\nframe 1\nframe 2\n", &out);
    cr_expect_eq(out.code, GLINT_E_EXECUTOR_LOST);
    cr_expect_str_eq(out.cause, "e1 crashed: signal 11");
    cr_expect_str_eq(out.hint, "");
    cr_assert_eq(rest.size, strlen("frame 1\nframe 2\n"));
    cr_expect(memcmp(rest.data, "frame 1\nframe 2\n", rest.size) == 0);
}

Test(exit_report, nothing_is_no_error)
{
    struct glint_error out = {.code = GLINT_E_SYSTEM};
    cr_expect_eq(parse("", &out).size, 0);
    cr_expect_eq(out.code, GLINT_OK);
    cr_expect_str_eq(out.cause, "");
}

Test(exit_report, false_report_is_printable_and_bounded)
{
    static char text[EXIT_REPORT_BYTES_MAX + 1];
    static const char *const texts[] = {"\n",      "E",       "E0601",   "E0601 ",    "E9999 x",
                                        "E-001 x", "E0000 x", "Exxxx x", "E0601 x\n", "\n\n\n"};
    struct glint_error out;
    memset(text, '\033', sizeof text - 1);
    cr_expect_eq(parse(text, &out).size, 0);
    cr_expect_eq(out.code, GLINT_E_EXECUTOR_LOST);
    cr_expect_lt(strlen(out.cause), sizeof out.cause);
    cr_expect_null(strchr(out.cause, '\033'));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        parse(texts[i], &out);
        cr_expect(out.code != GLINT_OK && error_is_known(out.code), "%s", texts[i]);
    }
    parse("E9999 of a later version\nits hint", &out); /* unknown: a lost executor */
    cr_expect_eq(out.code, GLINT_E_EXECUTOR_LOST);
    cr_expect_str_eq(out.cause, "of a later version");
    cr_expect_str_eq(out.hint, "its hint");
}
