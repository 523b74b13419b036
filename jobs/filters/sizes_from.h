/* Sizes that follow from RDDs of the job at hand, where sizes_read takes a
 * COUNTS file: from counts that were not saved, or from filters that know their
 * own parameters. Driver only. sizes_fini after, in any case. */
#ifndef GLINT_JOBS_FILTERS_SIZES_FROM_H
#define GLINT_JOBS_FILTERS_SIZES_FROM_H

#include "jobs/filters/sizes.h"

/* `counts`: (key, i64), each key once, as reduceByKey makes them; `text` says
 * of which type the keys are. sizes_apply before use. COUNTS_INVALID: there are
 * none, or more than a set may have. */
int sizes_from_counts(struct glint_rdd *counts, bool text, struct sizes *out);

/* `filters`: (key, msgpack), as msgpackFile reads them. All must be of one
 * kind: FILTER_MISMATCH; FILTER_INVALID. `about` names them in errors. */
int sizes_from_filters(struct glint_rdd *filters, bool text, const char *about, struct sizes *out);

/* Collects `filters`, one for each of the sizes' keys at most, into one
 * broadcast that bloom_set_attach reads; sizes.present says which there are.
 * Where they are not NULL, out_bits_set[key] and out_rate[key] become what the
 * filter's bits say: how many are set, and which rate follows. NULL: the
 * context's error. */
struct glint_broadcast *filters_broadcast(struct glint_rdd *filters, struct sizes *sizes,
                                          const char *about, uint64_t *out_bits_set,
                                          double *out_rate);

#endif
