/* Options that are comma-separated lists: --p 0.01,0.05. Each function returns 0 or the context's
 * code: BAD_VALUE with option and item. */
#ifndef GLINT_JOBS_PAPERS_LISTS_H
#define GLINT_JOBS_PAPERS_LISTS_H

#include "jobs/filters/sizes.h"

enum { LIST_MAX = 64 };

/* Iterates over the items; initialize with zeros. Returns false after the last one. */
struct list_cursor {
    const char *rest;
    bool started;
};
bool list_next(struct list_cursor *c, const char *text, struct glint_slice *out);

struct list_f64 {
    uint32_t count;
    double items[LIST_MAX];
};
struct list_i64 {
    uint32_t count;
    int64_t items[LIST_MAX];
};
struct list_schemes {
    uint32_t count;
    enum bloom_scheme items[LIST_MAX];
};

/* Probabilities, strictly between 0 and 1. */
int list_parse_probabilities(struct glint *g, const struct glint_job_args *args, const char *option,
                             struct list_f64 *out);
/* Finite numbers. */
int list_parse_reals(struct glint *g, const struct glint_job_args *args, const char *option,
                     struct list_f64 *out);
int list_parse_numbers(struct glint *g, const struct glint_job_args *args, const char *option,
                       int64_t min, int64_t max, struct list_i64 *out);
/* Schemes by name, including those of block layouts. */
int list_parse_schemes(struct glint *g, const struct glint_job_args *args, const char *option,
                       struct list_schemes *out);

#endif
