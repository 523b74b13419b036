/* The main function of a program with jobs of its own. */
#include "engine/cli/cli.h"

#include <string.h>

int glint_main_with_jobs(int argc, char **argv, const struct glint_job *const *jobs)
{
    const char *path = argc > 0 ? argv[0] : "glint", *slash = strrchr(path, '/');
    const struct cli_program program = {.name = slash != NULL ? slash + 1 : path,
                                        .summary =
                                            "Runs dataflow jobs, on this machine or on a cluster.",
                                        .jobs = jobs,
                                        .ops = ops_table,
                                        .modules = builtin_modules};
    return cli_main(&program, argc, argv);
}
