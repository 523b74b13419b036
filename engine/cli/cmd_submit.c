/* glint submit JOB: runs a job. */
#include "engine/cli/commands.h"
#include "engine/cli/job.h"

static int submit_run(const struct cli_program *program, int argc, char **argv)
{
    return job_command_run(program, "glint submit", false, argc, argv);
}

const struct cli_command cmd_submit = {.name = "submit",
                                       .summary = "run a job",
                                       .run = submit_run};
