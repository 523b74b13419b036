/* The main function of a program with jobs of its own. */
#include "engine/cli/cli.h"
#include "engine/cli/print.h"
#include "engine/plan/context_config.h"

#include <string.h>

/* The tables come from the program's author: reports what would make it crash. */
static bool job_is_valid(const struct glint_job *const *jobs, uint32_t at,
                         struct glint_error *error)
{
    const struct glint_job *j = jobs[at];
    const char *wrong = NULL;
    if (j->struct_size != 0 && j->struct_size != sizeof *j) { /* no other member may be read */
        error_set(error, GLINT_E_PLAN_ARGUMENT, "compile the program with this version",
                  "job %u of this program: it was compiled with the headers of another version of "
                  "glint",
                  at);
        return false;
    }
    if (j->name == NULL || j->name[0] == '\0')
        wrong = "it has no name";
    else if (j->run == NULL)
        wrong = "it has no run";
    else if (j->positional[GLINT_JOB_POSITIONAL_MAX] != NULL)
        wrong = "it has too many positional arguments";
    else if (j->outputs[GLINT_JOB_OUTPUTS_MAX] != NULL)
        wrong = "it has too many outputs";
    else if (j->functions[GLINT_JOB_FUNCTIONS_MAX] != NULL)
        wrong = "it has too many functions";
    for (uint32_t i = 0; wrong == NULL && i < at; i++)
        if (strcmp(jobs[i]->name, j->name) == 0) wrong = "another job has its name";
    if (wrong == NULL) return true;
    error_set(error, GLINT_E_PLAN_ARGUMENT, "see struct glint_job in <glint/glint.h>",
              "job %u (%s) of this program: %s", at, j->name != NULL ? j->name : "NULL", wrong);
    return false;
}

int glint_main_with_jobs(int argc, char **argv, const struct glint_job *const *jobs)
{
    const char *path = argc > 0 ? argv[0] : "glint", *slash = strrchr(path, '/');
    const struct cli_program program = {.name = slash != NULL ? slash + 1 : path,
                                        .summary =
                                            "Runs dataflow jobs, on this machine or on a cluster.",
                                        .jobs = jobs,
                                        .ops = ops_table,
                                        .modules = builtin_modules};
    struct glint_error error = {.code = GLINT_OK};
    for (uint32_t i = 0; jobs[i] != NULL; i++)
        if (!job_is_valid(jobs, i, &error)) return cli_fail(&error);
    return cli_main(&program, argc, argv);
}
