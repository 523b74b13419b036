/* Sizes from RDDs of the current job, where sizes_read_from_source reads a COUNTS file: from counts
 * that were not saved, or from filters, which contain their parameters. Driver only. Call
 * sizes_fini afterwards in any case. */
#ifndef GLINT_JOBS_FILTERS_SIZES_FROM_H
#define GLINT_JOBS_FILTERS_SIZES_FROM_H

#include "jobs/filters/sizes.h"

/* `counts`: (key, i64), each key once, as from reduceByKey; `text`: keys are text. Call
 * sizes_compute_params before use. Returns COUNTS_INVALID if there are none, or more than the
 * maximum of a set. */
int sizes_from_counts(struct glint_rdd *counts, bool text, struct sizes *out);

/* `filters`: (key, msgpack), as read by msgpackFile. All must be of one kind, else FILTER_MISMATCH;
 * or FILTER_INVALID. `about` names them in errors. */
int sizes_from_filters(struct glint_rdd *filters, bool text, const char *about, struct sizes *out);
/* The same of (key, the beginning of a filter), as read by glint_msgpack_file_heads. Compares no
 * checksum: that is for those who read the bits. */
int sizes_from_heads(struct glint_rdd *heads, bool text, const char *about, struct sizes *out);

/* [map] (key, filter as msgpack) -> (key, its parameters): of every job that calls
 * sizes_from_filters; of the beginning of a filter: sizes_from_heads. */
extern const struct glint_function sizes_filter_head, sizes_filter_begin;

/* The ids of the filters must be texts: for jobs that read no others. Returns 0 or FILTER_MISMATCH.
 */
int sizes_check_text_ids(struct glint *g, const struct sizes *sizes, const char *about);

/* Collects `filters`, at most one for each of the sizes' keys, into one broadcast that
 * bloom_set_attach reads; sizes.present marks those found. If not NULL, out_bits_set[key] and
 * out_rate[key] receive the number of set bits and the rate that follows from it. Returns NULL with
 * the context's error set. */
struct glint_broadcast *filters_broadcast(struct glint_rdd *filters, struct sizes *sizes,
                                          const char *about, uint64_t *out_bits_set,
                                          double *out_rate);

#endif
