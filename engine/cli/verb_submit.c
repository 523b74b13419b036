/* glint submit JOB: runs a job. */
#include "engine/cli/job.h"
#include "engine/cli/verbs.h"

static int submit_run(const struct cli_program *program, int argc, char **argv)
{
    return job_run(program, "glint submit", false, argc, argv);
}

const struct cli_verb verb_submit = {.name = "submit",
                                     .summary = "run a job",
                                     .usage = "JOB ARGUMENTS... [OPTION...]",
                                     .run = submit_run};
