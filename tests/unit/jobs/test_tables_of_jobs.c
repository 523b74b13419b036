/* The tables of glint's jobs: what the engine checks of other programs' jobs at their start. */
#include "jobs/jobs.h"

#include <criterion/criterion.h>

Test(tables_of_jobs, lists_end_with_null)
{
    cr_assert_not_null(jobs_table[0]);
    for (uint32_t i = 0; jobs_table[i] != NULL; i++) {
        const struct glint_job *j = jobs_table[i];
        cr_expect_null(j->positional[GLINT_JOB_POSITIONAL_MAX], "%s", j->name);
        cr_expect_null(j->outputs[GLINT_JOB_OUTPUTS_MAX], "%s", j->name);
        cr_expect_null(j->functions[GLINT_JOB_FUNCTIONS_MAX], "%s", j->name);
    }
}
