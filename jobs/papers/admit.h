/* What asks one filter for every line: admit, and speedup, which measures it. */
#ifndef GLINT_JOBS_PAPERS_ADMIT_H
#define GLINT_JOBS_PAPERS_ADMIT_H

#include "jobs/filters/one_filter.h"

/* The lines whose element the filter admits, or those that it rejects. `told`: the lines of each
 * kind are counted in the counters "admitted" and "rejected"; of several such RDDs over one input
 * one should be told. */
struct glint_rdd *admit_lines(struct glint_rdd *lines, const struct fields *fields,
                              const struct built_filter *filter, bool admitted, bool with_counters);

#endif
