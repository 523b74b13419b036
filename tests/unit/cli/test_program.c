/* glint_main: the jobs of a program are checked before anything runs. */
#include "engine/glint.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>

static int run(struct glint *g, const struct glint_job_args *args)
{
    (void)g, (void)args;
    return 0;
}

TestSuite(program, .init = cr_redirect_stderr);

static void expect_rejected(const struct glint_job *job, const char *wrong)
{
    static const struct glint_job good = {.name = "good", .run = run};
    static char name[] = "program", version[] = "version";
    char *argv[] = {name, version, NULL}, expected[512];
    cr_assert_eq(glint_main(2, argv, &good, job), 70);
    snprintf(expected, sizeof expected, "job 1 (%s) of this program: %s",
             job->name != NULL ? job->name : "NULL", wrong);
    fflush(stderr);
    FILE *file = cr_get_redirected_stderr();
    char text[4096];
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    cr_expect_not_null(strstr(text, expected), "%s: %s", expected, text);
}

Test(program, job_without_a_name_is_rejected)
{
    expect_rejected(&(struct glint_job){.run = run}, "it has no name");
}

Test(program, job_of_another_version_of_the_header_is_rejected)
{
    static char name[] = "program", version[] = "version";
    char *argv[] = {name, version, NULL}, text[4096];
    const struct glint_job job = {.struct_size = sizeof job - 8, .name = "old", .run = run};
    cr_assert_eq(glint_main(2, argv, &job), 70);
    fflush(stderr);
    size_t size = fread(text, 1, sizeof text - 1, cr_get_redirected_stderr());
    text[size] = '\0';
    cr_expect_not_null(strstr(text, "job 0 of this program: it was compiled with the headers"));
}

Test(program, job_without_run_is_rejected)
{
    expect_rejected(&(struct glint_job){.name = "idle"}, "it has no run");
}

Test(program, job_with_too_many_arguments_is_rejected)
{
    struct glint_job job = {.name = "long", .run = run};
    for (int i = 0; i <= GLINT_JOB_POSITIONAL_MAX; i++) job.positional[i] = "INPUT";
    expect_rejected(&job, "it has too many positional arguments");
}

Test(program, job_with_too_many_functions_is_rejected)
{
    struct glint_job job = {.name = "long", .run = run};
    for (int i = 0; i <= GLINT_JOB_FUNCTIONS_MAX; i++) job.functions[i] = &GLINT_SUM_I64;
    expect_rejected(&job, "it has too many functions");
}

Test(program, job_with_too_many_outputs_is_rejected)
{
    struct glint_job job = {.name = "long", .run = run};
    for (int i = 0; i <= GLINT_JOB_OUTPUTS_MAX; i++) job.outputs[i] = "OUTPUT";
    expect_rejected(&job, "it has too many outputs");
}

Test(program, job_with_the_name_of_another_is_rejected)
{
    expect_rejected(&(struct glint_job){.name = "good", .run = run}, "another job has its name");
}
