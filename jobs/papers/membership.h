/* The counts of membership's tasks, which its driver sums. */
#ifndef GLINT_JOBS_PAPERS_MEMBERSHIP_H
#define GLINT_JOBS_PAPERS_MEMBERSHIP_H

#include "jobs/filters/sizes.h"

/* Tasks emit (number, struct member_tally): number f for filter f, and MEMBER_COUNTS + c for ids
 * that c filters report. */
enum { MEMBER_COUNTS = BLOOM_SET_MAX };

struct member_tally {
    uint64_t hits;     /* ids that the filter reports; for a count: ids */
    uint64_t own;      /* ids with the key of the filter */
    uint64_t own_hits; /* those of them that the filter reports: all, unless there is a defect */
};

extern const struct glint_function membership_tally, membership_add, membership_sets;

#endif
