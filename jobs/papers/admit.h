/* Functions that look up every line in one filter: used by admit, and by speedup, which measures
 * it. */
#ifndef GLINT_JOBS_PAPERS_ADMIT_H
#define GLINT_JOBS_PAPERS_ADMIT_H

#include "jobs/filters/one_filter.h"

/* The lines whose element the filter admits, or those that it rejects. `with_counters`: increments
 * the counters "admitted" and "rejected"; set it for only one of several such RDDs of the same
 * input.
 */
struct glint_rdd *admit_lines(struct glint_rdd *lines, const struct fields *fields,
                              const struct built_filter *filter, bool admitted, bool with_counters);

#endif
