/* What filter-vs-set measures: filters of several kinds and an exact set, filled with the same
 * elements and asked for the same ones, trial after trial. Driver only. */
#ifndef GLINT_JOBS_PAPERS_FILTER_COMPARISON_H
#define GLINT_JOBS_PAPERS_FILTER_COMPARISON_H

#include "jobs/bloom/bloom.h"
#include "jobs/papers/elements.h"
#include "jobs/papers/lists.h"
#include "jobs/papers/spread.h"
#include "jobs/papers/times.h"

/* The set, or filters of one kind and size, over the trials. */
struct contender {
    bool exact;                                    /* the set: no params, nothing below but times */
    struct bloom_params params;                    /* of n elements */
    uint8_t seeds[BLOOM_K_MAX * BLOOM_SEED_BYTES]; /* of this trial, where they are drawn */
    uint64_t bytes;                                /* in memory; of the set: in the last trial */
    uint64_t queries, false_positives;
    struct spread rate, from_bits; /* measured; what the bits of each filter say */
    double trial_rate[TIMES_MAX], trial_from_bits[TIMES_MAX];
    struct times build_ns, query_ns;  /* per element; a sample per trial */
    struct times rounds_us[LIST_MAX]; /* [rounds.count] */
};

/* Zeros but for the first part before, filter_comparison_fini after in any case. */
struct filter_comparison {
    struct glint *g;
    struct elements elements;
    uint32_t n;               /* put in by each trial: 1 <= n < elements.count */
    bool first;               /* the first n of them, in every trial; else chosen by chance */
    bool seeded;              /* the seeds of poly-abs and poly-mod are drawn for each trial */
    uint32_t trials, repeats; /* no repeats: no times */
    uint64_t seed;
    struct list_i64 rounds;       /* a round asks for each one that is in */
    struct contender *contenders; /* the first is the set */
    uint32_t count;

    uint32_t *order;         /* those that are in, then the others; of this trial */
    struct elements members; /* those that are in, in that order, side by side */
    uint8_t *expected, *hit; /* [elements.count]: what the set answers, and a filter */
};

/* 0 or the context's code. */
int filter_comparison_run(struct filter_comparison *d);
void filter_comparison_fini(struct filter_comparison *d);

#endif
