/* The table of a program with one job, that of docs/jobs.md: in place of jobs/table.c. */
#include "jobs/jobs.h"

extern const struct glint_job words_job;
extern const struct glint_module ops_module, words_module;

const struct glint_job *const jobs_table[] = {&words_job, NULL};
const struct glint_module *const jobs_modules[] = {&ops_module, &words_module, NULL};
