/* A trial: builds filters from some rows, looks up others, and returns the results. fpr-table and
 * fpr-check repeat it over probabilities, schemes and samples; nothing is saved in between. Driver
 * only. */
#ifndef GLINT_JOBS_PAPERS_TRIAL_H
#define GLINT_JOBS_PAPERS_TRIAL_H

#include "jobs/filters/sizes.h"

struct trial_key {
    uint64_t bits_set;
    double rate_from_bits; /* predicted by the filter's bits */
    uint64_t hits, rows;   /* tested rows with this key; false positives among them */
};

/* Zero except for g and fields; call trial_fini in any case. */
struct trial {
    struct glint *g;
    struct fields fields;
    struct sizes sizes;     /* of the rows that the filters are built from */
    struct trial_key *keys; /* [sizes.count] */
    uint64_t no_filter;     /* tested rows whose key has no filter */
};

/* Counts the rows of each key. Returns 0 or the context's code. */
int trial_count_keys(struct trial *t, struct glint_rdd *train);
/* Builds filters with the sizing from the counted rows, and looks up each row of `test` in the
 * filter of its key. Can be called repeatedly. Returns 0 or the context's code. */
int trial_run(struct trial *t, const struct bloom_sizing *sizing, struct glint_rdd *train,
              struct glint_rdd *test);
void trial_fini(struct trial *t);

static inline double trial_rate(const struct trial_key *k)
{
    return k->rows > 0 ? (double)k->hits / (double)k->rows : 0;
}

#endif
