/* glint explain JOB: the same words as submit, but only the plan is printed. */
#include "engine/cli/job.h"
#include "engine/cli/verbs.h"

static int explain_run(const struct cli_program *program, int argc, char **argv)
{
    return job_run(program, "glint explain", true, argc, argv);
}

const struct cli_verb verb_explain = {.name = "explain",
                                      .summary = "print a job's plan and its estimated cost",
                                      .usage = "JOB ARGUMENTS... [OPTION...]",
                                      .run = explain_run};
