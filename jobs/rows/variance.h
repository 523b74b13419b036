/* The variance of numbers. Of exact numbers of up to 19 digits it is computed from exact sums: it
 * depends neither on their order nor on how they were divided among tasks. Others are doubles,
 * whose last digits do. Pure; any thread. */
#ifndef GLINT_JOBS_ROWS_VARIANCE_H
#define GLINT_JOBS_ROWS_VARIANCE_H

#include "jobs/rows/exact_sum.h"

/* Zeros are the variance of no number. */
struct __attribute__((packed)) variance {
    struct exact_sum sum, squares; /* of numbers whose square is exact */
    int64_t exact;                 /* how many */
    int64_t inexact;               /* others: how many, their mean, sum of squared differences: NaN
                                      if one is not finite, inf if it is too large */
    double mean, differences;
};

void variance_add(struct variance *v, const struct number *n);
void variance_merge(struct variance *v, const struct variance *more);
/* Sets *out to the variance, of a sample (divided by n - 1) or of all (by n): inf if it is too
 * large, NaN if a number is not finite. Returns false if there are too few numbers: less than two,
 * or none. */
bool variance_value(const struct variance *v, bool sample, double *out);

#endif
