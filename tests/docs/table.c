/* The job table of the program for docs/jobs.md, which has one job; linked instead of
 * jobs/table.c. */
#include "jobs/jobs.h"

extern const struct glint_job words_job;
extern const struct glint_module ops_module, words_module;

const struct glint_job *const jobs_table[] = {&words_job, NULL};
const struct glint_module *const jobs_modules[] = {&ops_module, &words_module, NULL};
