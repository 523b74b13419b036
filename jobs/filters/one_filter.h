/* Jobs that build one filter of a plain list: its size, the number of elements, and the filter
 * itself, built with the same pipelines as filters per key. Its key is 0. Driver only. */
#ifndef GLINT_JOBS_FILTERS_ONE_FILTER_H
#define GLINT_JOBS_FILTERS_ONE_FILTER_H

#include "jobs/filters/sizes.h"

/* The size is set by one of --p, --bits-per-element and --m; the default is p = 0.01. */
#define ONE_FILTER_OPTIONS                                                                         \
    {"p", "P", NULL, "size the filter for this false positive probability (0.01)"},                \
        {"bits-per-element", "B", NULL, "size it by bits per element, at least 1"},                \
        {"m", "BITS", NULL, "size it to this number of bits"},                                     \
        {"k", "N", NULL, "hashes per element (the optimal number), with the two above"},           \
        SIZES_OPTIONS

struct one_filter {
    struct bloom_sizing sizing; /* used if m is 0 */
    uint64_t m;
    uint32_t k; /* 0: the optimal number */
};

/* Returns 0 or the context's code. */
int one_filter_options(struct glint *g, const struct glint_job_args *args, struct one_filter *out);
/* Counts the lines that are valid for `fields`. Returns 0 or the context's code; COUNTS_INVALID if
 * there are none. `about` names them in errors. */
int one_filter_count_rows(struct glint_rdd *lines, const struct fields *fields, const char *about,
                          uint64_t *out);
/* The sizes of a filter of n > 0 elements. Call sizes_fini afterwards in any case. Returns 0 or
 * FILTER_LIMIT. */
int one_filter_sizes(struct glint *g, const struct one_filter *choice, uint64_t n,
                     struct sizes *out);

/* A filter that was built and broadcast, as the argument "filters". */
struct built_filter {
    struct sizes sizes;
    struct glint_broadcast *broadcast;
    uint64_t bits_set;
    double rate; /* the rate computed from its bits */
};

/* Counts and builds; `sample` has the lines of `path`. Returns 0 or the context's code. Call
 * built_filter_fini afterwards in any case. */
int built_filter_make(struct glint_rdd *sample, const struct fields *fields, const char *path,
                      const struct one_filter *choice, struct built_filter *out);
/* Reads the only filter that union, or bloom-build of a single key, saved. Returns 0 or the
 * context's code: FILTER_INVALID, or FILTER_MISMATCH if there are several. Call built_filter_fini
 * afterwards in any case. */
int built_filter_read(struct glint *g, const char *path, struct built_filter *out);
void built_filter_fini(struct built_filter *b);

#endif
