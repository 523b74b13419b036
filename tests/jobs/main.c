/* A program that embeds the engine: glint's command line with the jobs of the tests. */
#include "engine/cli/cli.h"
#include "engine/plan/context_config.h"
#include "tests/jobs/jobs.h"

static const struct glint_job *const jobs[] = {&words_job, &letters_job, &joined_job,
                                               &talk_job,  &both_job,    &first_job,
                                               &some_job,  &null_job,    &forever_job,
                                               &kept_job,  &grouped_job, &loop_job,
                                               &read_job,  &plan_job,    &chain_job,
                                               NULL};
static const struct cli_command *const commands[] = {NULL};

int main(int argc, char **argv)
{
    const struct cli_program program = {.name = "jobs",
                                        .summary = "Runs the jobs of the tests.",
                                        .jobs = jobs,
                                        .ops = ops_table,
                                        .modules = builtin_modules,
                                        .commands = commands};
    return cli_main(&program, argc, argv);
}
