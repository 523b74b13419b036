/* What membership's tasks count and its driver adds up. */
#ifndef GLINT_JOBS_PAPERS_MEMBERSHIP_H
#define GLINT_JOBS_PAPERS_MEMBERSHIP_H

#include "jobs/filters/sizes.h"

/* Tasks emit (number, struct member_tally): filter f under f, ids that c filters may hold under
 * MEMBER_COUNTS + c. */
enum { MEMBER_COUNTS = BLOOM_SET_MAX };

struct member_tally {
    uint64_t hits;     /* ids that the filter may hold; of a count: ids */
    uint64_t own;      /* ids whose key is the filter's */
    uint64_t own_hits; /* of these the filter may hold so many: all, or something is wrong */
};

extern const struct glint_function membership_tally, membership_add, membership_sets;

#endif
