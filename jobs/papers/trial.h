/* A trial: filters built from some rows and asked for others, and what they
 * answered. What fpr-table and fpr-check repeat over probabilities, schemes and
 * samples; nothing is saved in between. Driver only. */
#ifndef GLINT_JOBS_PAPERS_TRIAL_H
#define GLINT_JOBS_PAPERS_TRIAL_H

#include "jobs/filters/sizes.h"

struct trial_key {
    uint64_t bits_set;
    double rate_from_bits; /* what the filter's bits say */
    uint64_t hits, rows;   /* rows of the test with this key; of them false positives */
};

/* Zeros but for g and fields before, trial_fini after in any case. */
struct trial {
    struct glint *g;
    struct fields fields;
    struct sizes sizes;     /* of the rows that filters are built from */
    struct trial_key *keys; /* [sizes.count] */
    uint64_t no_filter;     /* rows of the test whose key has none */
};

/* Counts the rows of each key. 0 or the context's code. */
int trial_count(struct trial *t, struct glint_rdd *train);
/* Builds filters of that sizing from the rows that were counted and looks each
 * row of `test` up in the filter of its own key. May be called again. 0 or the
 * context's code. */
int trial_run(struct trial *t, const struct bloom_sizing *sizing, struct glint_rdd *train,
              struct glint_rdd *test);
void trial_fini(struct trial *t);

static inline double trial_rate(const struct trial_key *k)
{
    return k->rows > 0 ? (double)k->hits / (double)k->rows : 0;
}

#endif
