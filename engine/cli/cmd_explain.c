/* glint explain JOB: same command line as submit, but only prints the plan. */
#include "engine/cli/commands.h"
#include "engine/cli/job.h"

static int explain_run(const struct cli_program *program, int argc, char **argv)
{
    return job_command_run(program, "glint explain", true, argc, argv);
}

const struct cli_command cmd_explain = {.name = "explain",
                                        .summary = "print a job's plan and its estimated cost",
                                        .run = explain_run};
