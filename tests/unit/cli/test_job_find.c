/* Finding the job's name among options whose values look like job names. */
#include "engine/cli/cli_internal.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct glint_job_option split_options[] = {
    {"ratio", "R", "0.6", "share"}, {"no-header", NULL, NULL, "keep"}, {NULL, NULL, NULL, NULL}};
static const struct glint_job split = {.name = "split", .summary = "", .options = split_options};
static const struct glint_job count = {.name = "count", .summary = ""};
static const struct glint_job *const jobs[] = {&split, &count, NULL};
static const struct cli_program program = {.name = "glint", .jobs = jobs};

static struct glint_error error;

static const struct glint_job *find_job(int *at, char **words)
{
    int argc = 0;
    while (words[argc] != NULL) argc++;
    memset(&error, 0, sizeof error);
    *at = -1;
    return job_find(&program, "glint submit", argc, words, at, &error);
}

#define FIND(at, ...) find_job(at, (char *[]){(char *)"submit", __VA_ARGS__, NULL})

Test(job_find, job_is_found_among_options)
{
    int at;
    cr_expect_eq(FIND(&at, "count", "in", "out"), &count);
    cr_expect_eq(at, 1);
    cr_expect_eq(FIND(&at, "--ratio", "count", "split"), &split);
    cr_expect_eq(at, 3);
    cr_expect_eq(FIND(&at, "--ratio=0.5", "--master", "local", "-v", "--json", "split", "a"),
                 &split);
    cr_expect_eq(at, 6);
    cr_expect_eq(FIND(&at, "--no-header", "split"), &split);
    cr_expect_eq(FIND(&at, "--", "count"), &count);
    cr_expect_eq(at, 2);
    cr_expect_eq(FIND(&at, "--help", "count"), &count);
}

Test(job_find, no_job_is_an_error_unless_help_is_asked)
{
    int at;
    cr_expect_null(find_job(&at, (char *[]){(char *)"submit", NULL}));
    cr_expect_eq(error.code, GLINT_E_USAGE);
    cr_expect_null(FIND(&at, "--json", "--"));
    cr_expect_eq(error.code, GLINT_E_USAGE);
    cr_expect_null(FIND(&at, "--master"));
    cr_expect_eq(error.code, GLINT_E_USAGE);
    cr_expect_null(FIND(&at, "-h"));
    cr_expect_eq(error.code, GLINT_OK, "help was requested");
    cr_expect_null(FIND(&at, "--json", "--help"));
    cr_expect_eq(error.code, GLINT_OK);
}

Test(job_find, unknown_names_are_rejected_with_suggestion)
{
    int at;
    cr_expect_null(FIND(&at, "cuont", "a"));
    cr_expect_eq(error.code, GLINT_E_UNKNOWN_JOB);
    cr_expect_not_null(strstr(error.hint, "did you mean count?"), "%s", error.hint);
    cr_expect_null(FIND(&at, "reticulate"));
    cr_expect_null(strstr(error.hint, "did you mean"));
    cr_expect_null(FIND(&at, "--rato", "0.5", "split"));
    cr_expect_eq(error.code, GLINT_E_UNKNOWN_OPTION);
    cr_expect_not_null(strstr(error.hint, "did you mean --ratio?"), "%s", error.hint);
    cr_expect_null(FIND(&at, "--mastr=local", "split"));
    cr_expect_not_null(strstr(error.hint, "did you mean --master?"), "%s", error.hint);
}
