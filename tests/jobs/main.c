/* A program that embeds the engine: glint's command line with the jobs of the tests. */
#include "engine/cli/cli.h"
#include "tests/jobs/jobs.h"

extern const struct glint_module ops_module;
static const struct glint_job *const jobs[] = {&words_job, &talk_job,    &first_job, &some_job,
                                               &null_job,  &forever_job, NULL};
static const struct glint_module *const modules[] = {&ops_module, &words_module, NULL};
static const struct cli_command *const commands[] = {NULL};

int main(int argc, char **argv)
{
    const struct cli_program program = {
        .name = "jobs", .jobs = jobs, .ops = ops_table, .modules = modules, .commands = commands};
    return cli_main(&program, argc, argv);
}
