/* The `glint` program: the engine's command line with our operators, jobs and verbs. */
#include "engine/cli/cli.h"
#include "jobs/jobs.h"
#include "jobs/verbs/verbs.h"

int main(int argc, char **argv)
{
    static const struct cli_verb *const verbs[] = {&verb_cat, &verb_filter, &verb_generate, NULL};
    const struct cli_program program = {.name = "glint",
                                        .jobs = jobs_table,
                                        .ops = ops_table,
                                        .modules = jobs_modules,
                                        .verbs = verbs};
    return cli_main(&program, argc, argv);
}
