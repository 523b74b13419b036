/* The measurements of filter-vs-set: filters of several kinds and an exact set, with the same
 * elements added and looked up, in every trial. Driver only. */
#ifndef GLINT_JOBS_PAPERS_FILTER_COMPARISON_H
#define GLINT_JOBS_PAPERS_FILTER_COMPARISON_H

#include "jobs/bloom/bloom.h"
#include "jobs/papers/elements.h"
#include "jobs/papers/lists.h"
#include "jobs/papers/spread.h"
#include "jobs/papers/times.h"

/* The set, or the filters of one kind and size, over all trials. */
struct contender {
    bool exact;                 /* the set: has no params, and below only times */
    struct bloom_params params; /* of n elements */
    uint8_t seeds[BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES]; /* of this trial, if they are drawn */
    uint64_t bytes; /* in memory; for the set: in the last trial */
    uint64_t queries, false_positives;
    struct spread rate, from_bits; /* as measured, and as computed from the bits of each filter */
    double trial_rate[TIMES_MAX], trial_from_bits[TIMES_MAX];
    struct times build_ns, query_ns;  /* per element; one sample per trial */
    struct times rounds_us[LIST_MAX]; /* [rounds.count] */
};

/* Zero except for the first part; call filter_comparison_fini in any case. */
struct filter_comparison {
    struct glint *g;
    struct elements elements;
    uint32_t n;               /* added by each trial: 1 <= n < elements.count */
    bool first;               /* adds the first n in every trial; otherwise random ones */
    bool seeded;              /* draws the seeds of poly-abs and poly-mod for each trial */
    uint32_t trials, repeats; /* repeats 0: no times */
    uint64_t seed;
    struct list_i64 rounds;       /* a round looks up every added element */
    struct contender *contenders; /* the first one is the set */
    uint32_t count;

    uint32_t *order;         /* of this trial: the added elements, then the others */
    struct elements members; /* the added elements, contiguous, in that order */
    uint8_t *expected, *hit; /* [elements.count]: results of the set, and of a filter */
};

/* Returns 0 or the context's code. */
int filter_comparison_run(struct filter_comparison *d);
void filter_comparison_fini(struct filter_comparison *d);

#endif
