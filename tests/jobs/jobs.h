/* Jobs of the test program tests/jobs/main.c. */
#ifndef TESTS_JOBS_JOBS_H
#define TESTS_JOBS_JOBS_H

#include "ops/ops.h"

extern const struct glint_job words_job, letters_job, joined_job, kept_job, talk_job, both_job,
    first_job, some_job, null_job, forever_job, grouped_job, loop_job, chain_job, read_job,
    plan_job;

#endif
