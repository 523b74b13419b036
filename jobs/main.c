/* The `glint` program: the engine's command line with the operators, jobs and commands of this
 * project. */
#include "engine/cli/cli.h"
#include "jobs/commands/commands.h"
#include "jobs/jobs.h"

int main(int argc, char **argv)
{
    static const struct cli_command *const commands[] = {&cmd_cat, &cmd_filter, &cmd_generate,
                                                         NULL};
    const struct cli_program program = {.name = "glint",
                                        .summary = "Runs dataflow jobs over text: counting, Bloom "
                                                   "filters per key, and more.",
                                        .jobs = jobs_table,
                                        .ops = ops_table,
                                        .modules = builtin_modules,
                                        .commands = commands};
    return cli_main(&program, argc, argv);
}
