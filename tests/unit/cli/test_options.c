/* Parsing command lines by a table of options: what is accepted, what is rejected, and with which
 * message. */
#include "engine/base/mem.h"
#include "engine/cli/options.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct glint_job_option own[] = {{"ratio", "R", "0.6", "share"},
                                              {"seed", "S", NULL, "seed"},
                                              {"no-header", NULL, NULL, "keep the first line"},
                                              {NULL, NULL, NULL, NULL}};
static const struct glint_job_option common[] = {{"memory", "BYTES", "1G", "memory"},
                                                 {"quiet", NULL, NULL, "print nothing"},
                                                 {"verbose", NULL, NULL, "print more"},
                                                 {"secret", NULL, NULL, NULL},
                                                 {NULL, NULL, NULL, NULL}};
static const struct cli_syntax syntax = {.command = "glint submit split",
                                         .summary = "splits",
                                         .arguments = "INPUT OUTPUT",
                                         .arguments_min = 2,
                                         .arguments_max = 2,
                                         .own = own,
                                         .common = common,
                                         .common_title = "Options of all:"};

static struct cli_line line;
static struct glint_error error;

static bool parse_line(char **words)
{
    int count = 0;
    while (words[count] != NULL) count++;
    memset(&error, 0, sizeof error);
    return cli_line_parse(&line, &syntax, count, words, &error);
}

#define PARSE(...) parse_line((char *[]){(char *)"split", __VA_ARGS__, NULL})

static void expect_rejected(bool parsed, enum glint_code code, const char *cause)
{
    cr_expect_not(parsed);
    cr_expect_eq(error.code, code);
    cr_expect_not_null(strstr(error.cause, cause), "\"%s\" does not say \"%s\"", error.cause,
                       cause);
    cli_line_fini(&line);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(options, defaults_and_arguments_are_parsed)
{
    cr_assert(PARSE("in", "out"));
    cr_expect_str_eq(line.arguments[0], "in");
    cr_expect_str_eq(line.arguments[1], "out");
    cr_expect_str_eq(cli_line_option(&line, "ratio"), "0.6");
    cr_expect_str_eq(cli_line_option(&line, "memory"), "1G");
    cr_expect_null(cli_line_option(&line, "seed"));
    cr_expect_not(cli_line_flag(&line, "quiet"));
    cli_line_fini(&line);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(options, may_appear_anywhere)
{
    cr_assert(PARSE("--ratio", "0.5", "in", "--no-header", "--seed=7", "out", "-qv", "--secret"));
    cr_expect_eq(line.argument_count, 2);
    cr_expect_str_eq(line.arguments[1], "out");
    cr_expect_str_eq(cli_line_option(&line, "ratio"), "0.5");
    cr_expect_str_eq(cli_line_option(&line, "seed"), "7");
    cr_expect_str_eq(cli_line_option(&line, "no-header"), "true");
    cr_expect(cli_line_flag(&line, "quiet") && cli_line_flag(&line, "verbose"));
    cr_expect(cli_line_flag(&line, "secret"));
    cli_line_fini(&line);
}

Test(options, posixly_correct_is_ignored)
{
    setenv("POSIXLY_CORRECT", "1", 1);
    cr_assert(PARSE("in", "--seed", "7", "out"));
    cr_expect_str_eq(cli_line_option(&line, "seed"), "7");
    cr_expect_eq(line.argument_count, 2);
    cli_line_fini(&line);
    unsetenv("POSIXLY_CORRECT");
}

Test(options, last_occurrence_wins)
{
    cr_assert(PARSE("in", "out", "--seed", "1", "--seed=", "--ratio=--x"));
    cr_expect_str_eq(cli_line_option(&line, "seed"), "");
    cr_expect_str_eq(cli_line_option(&line, "ratio"), "--x");
    cli_line_fini(&line);
}

Test(options, values_may_look_like_options)
{
    cr_assert(PARSE("in", "out", "--seed", "--ratio"));
    cr_expect_str_eq(cli_line_option(&line, "seed"), "--ratio");
    cr_expect_str_eq(cli_line_option(&line, "ratio"), "0.6");
    cli_line_fini(&line);
}

Test(options, end_at_double_dash)
{
    cr_assert(PARSE("--seed", "1", "--", "--seed", "-"));
    cr_expect_str_eq(line.arguments[0], "--seed");
    cr_expect_str_eq(line.arguments[1], "-");
    cli_line_fini(&line);
    cr_assert(PARSE("-", "--", "--"));
    cr_expect_str_eq(line.arguments[0], "-");
    cr_expect_str_eq(line.arguments[1], "--");
    cli_line_fini(&line);
}

Test(options, unknown_option_is_rejected_with_suggestion)
{
    expect_rejected(PARSE("in", "out", "--ration", "1"), GLINT_E_UNKNOWN_OPTION, "--ration");
    cr_expect_not_null(strstr(error.hint, "did you mean --ratio?"), "%s", error.hint);
    expect_rejected(PARSE("in", "out", "--zzzzzz"), GLINT_E_UNKNOWN_OPTION, "--zzzzzz");
    cr_expect_null(strstr(error.hint, "did you mean"), "%s", error.hint);
    expect_rejected(PARSE("in", "out", "-x"), GLINT_E_UNKNOWN_OPTION, "-x");
    expect_rejected(PARSE("in", "out", "-qx"), GLINT_E_UNKNOWN_OPTION, "-qx");
    expect_rejected(PARSE("in", "out", "--=1"), GLINT_E_UNKNOWN_OPTION, "--");
    expect_rejected(PARSE("in", "out", "--secre"), GLINT_E_UNKNOWN_OPTION, "--secre");
    cr_expect_null(strstr(error.hint, "did you mean"), "hidden rows are not suggested");
}

Test(options, abbreviations_are_rejected)
{
    expect_rejected(PARSE("in", "out", "--rat", "1"), GLINT_E_UNKNOWN_OPTION, "--rat");
    cr_expect_not_null(strstr(error.hint, "--ratio"));
    expect_rejected(PARSE("in", "out", "--mem=1"), GLINT_E_UNKNOWN_OPTION, "--mem");
    expect_rejected(PARSE("in", "out", "--hel"), GLINT_E_UNKNOWN_OPTION, "--hel");
}

Test(options, missing_or_extra_value_is_rejected)
{
    expect_rejected(PARSE("in", "out", "--seed"), GLINT_E_USAGE, "--seed needs a value");
    expect_rejected(PARSE("in", "out", "--quiet=1"), GLINT_E_USAGE, "--quiet takes no value");
    expect_rejected(PARSE("in", "out", "--help=1"), GLINT_E_USAGE, "--help takes no value");
}

Test(options, wrong_argument_count_is_rejected)
{
    expect_rejected(PARSE("in"), GLINT_E_USAGE, "too few");
    cr_expect_str_eq(error.hint, "usage: glint submit split [OPTION...] INPUT OUTPUT");
    expect_rejected(PARSE("in", "out", "more"), GLINT_E_USAGE, "more");
}

Test(options, help_needs_no_arguments)
{
    cr_assert(PARSE("--help"));
    cr_expect(line.help);
    cli_line_fini(&line);
    cr_assert(PARSE("in", "-h"));
    cr_expect(line.help);
    cli_line_fini(&line);
    expect_rejected(PARSE("--help", "--nonsense"), GLINT_E_UNKNOWN_OPTION, "--nonsense");
}

Test(options, out_of_memory_is_an_error)
{
    mem_fail_at(1, false);
    bool parsed = PARSE("in", "out");
    mem_fail_at(0, false);
    expect_rejected(parsed, GLINT_E_NO_MEMORY, "memory");
}
