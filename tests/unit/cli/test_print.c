/* Output to a terminal: the form of errors, escaping of untrusted bytes, and a progress line that
 * fits. */
#include "engine/cli/cli_internal.h"
#include "engine/cli/print.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *printed; /* of the last call */
static size_t printed_size;

static void expect_safe(const char *text, const char *wanted)
{
    FILE *out = open_memstream(&printed, &printed_size);
    cr_assert_not_null(out);
    print_escaped(out, text, "  ");
    fclose(out);
    cr_expect_str_eq(printed, wanted);
    free(printed);
}

static void expect_error(const struct glint_error *error, bool color, const char *wanted)
{
    FILE *out = open_memstream(&printed, &printed_size);
    cr_assert_not_null(out);
    print_error(out, error, color);
    fclose(out);
    cr_expect_str_eq(printed, wanted);
    free(printed);
}

Test(print, unsafe_bytes_are_escaped)
{
    expect_safe("tt0000001 caf\xc3\xa9 \xe2\x82\xac", "tt0000001 caf\xc3\xa9 \xe2\x82\xac");
    expect_safe("\033[31m\a\t\r", "\\x1b[31m\\x07\\x09\\x0d");
    expect_safe("a\xff\xc3", "a\\xff\\xc3");
    expect_safe("\xc2\x9b"
                "31m",
                "\\xc2\\x9b31m");
    expect_safe("a\xe2\x80\xaez\xe2\x81\xa9", "a\\xe2\\x80\\xaez\\xe2\\x81\\xa9");
    expect_safe("one\ntwo\n", "one\n  two\n  ");
    expect_safe("", "");
}

Test(print, errors_show_code_cause_effect_and_hint)
{
    struct glint_error error = {.code = GLINT_E_UNKNOWN_OPTION, .cause = "glint has no --x"};
    expect_error(&error, false, "error[E0102]: unknown option\n  cause: glint has no --x\n");
    memcpy(error.effect, "e\033", 3);
    memcpy(error.hint, "h", 2);
    expect_error(&error, true,
                 "\033[1;31merror[E0102]:\033[0m unknown option\n  cause: glint has no --x\n"
                 "  effect: e\\x1b\n  hint: h\n");
}

Test(print, color_follows_option_environment_and_terminal)
{
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    cr_expect_not(print_color_enabled(PRINT_COLOR_AUTO));
    cr_expect(print_color_enabled(PRINT_COLOR_ALWAYS));
    setenv("TERM", "dumb", 1);
    unsetenv("NO_COLOR");
    cr_expect_not(print_color_enabled(PRINT_COLOR_AUTO));
    cr_expect_not(print_color_enabled(PRINT_COLOR_NEVER));
}

Test(progress, bar_shrinks_to_the_width)
{
    char line[PROGRESS_LINE_MAX];
    struct progress p = {.name = "textFile..join",
                         .stage = 7,
                         .tasks = 12,
                         .tasks_done = 3,
                         .tasks_running = 2,
                         .job_retries = 1,
                         .rows_read = 1250000,
                         .bytes_read = 600000000,
                         .bytes_total = 2400000000,
                         .elapsed_ns = 1000000000};
    progress_format(line, &p, 200);
    cr_expect_str_eq(line, "stage 7 textFile..join [==========>                             ] "
                           "3/12 tasks  2 running  1 retried  1.2 M rows/s  600 MB/s  0:03 left");
    progress_format(line, &p, 105);
    cr_expect_str_eq(line, "stage 7 textFile..join [==>        ] 3/12 tasks  "
                           "2 running  1 retried  1.2 M rows/s  600 MB/s  0:03 left");
    progress_format(line, &p, 80);
    cr_expect_str_eq(line, "stage 7 textFile..join [==>     ] 3/12 tasks  "
                           "1.2 M rows/s  600 MB/s  0:03 left");
}

Test(progress, narrow_lines_show_less)
{
    char line[PROGRESS_LINE_MAX];
    struct progress p = {.name = "textFile..join",
                         .stage = 7,
                         .tasks = 12,
                         .tasks_done = 3,
                         .rows_read = 999,
                         .bytes_read = 600000000,
                         .bytes_total = 6000000000000,
                         .elapsed_ns = 1000000000};
    progress_format(line, &p, 60);
    cr_expect_str_eq(line, "stage 7 3/12 tasks  999 rows/s  600 MB/s  2:46:39 left");
    progress_format(line, &p, 36);
    cr_expect_str_eq(line, "stage 7 3/12 tasks  2:46:39 left");
    progress_format(line, &p, 20);
    cr_expect_str_eq(line, "stage 7 3/12 tasks");
    p.bytes_total = 0; /* unknown: no guess */
    progress_format(line, &p, 60);
    cr_expect_str_eq(line, "stage 7 textFile..join 3/12 tasks  999 rows/s  600 MB/s");
}

Test(progress, line_fits_any_width)
{
    char line[PROGRESS_LINE_MAX];
    struct progress p = {.name = "textFile..aggregate", .tasks = 0};
    for (uint32_t tasks = 0; tasks <= 40; tasks += 8) {
        for (p.tasks = tasks, p.tasks_done = 0; p.tasks_done <= tasks; p.tasks_done++) {
            for (unsigned columns = 1; columns < 2000; columns += 1 + columns / 8) {
                p.elapsed_ns = UINT64_MAX / (columns + 1);
                p.bytes_read = UINT64_MAX / (columns + 2);
                p.bytes_total = UINT64_MAX;
                p.rows_read = UINT64_MAX / (columns + 3);
                progress_format(line, &p, columns);
                cr_assert_lt(strlen(line), columns);
            }
        }
    }
}
