/* The elements of a plain list in the driver's memory, for jobs that measure a data structure and
 * not how a cluster builds it. Driver only. */
#ifndef GLINT_JOBS_PAPERS_ELEMENTS_H
#define GLINT_JOBS_PAPERS_ELEMENTS_H

#include "jobs/rows/fields.h"

struct elements {
    uint8_t *base; /* element i is base[start[i]] .. base[end[i]], followed by READ_SLACK readable
                      bytes */
    uint32_t *start, *end;
    uint32_t count;
    uint64_t size, capacity,
        count_capacity; /* bytes used; capacity of base; capacity of start and end */
    struct glint *g;
    uint64_t bytes_max; /* limit of the total memory */
};

/* Converts lines to elements, (none, text); a job that uses it lists it in its module. */
extern const struct glint_function elements_take;
struct glint_rdd *elements_of_lines(struct glint_rdd *lines, const struct fields *fields);
/* Collects them, in order. Call elements_fini afterwards in any case. Returns 0 or the context's
 * code: MEMORY_LIMIT if they need more than half of a slot's memory. */
int elements_collect(struct glint_rdd *elements, struct elements *out);
/* Appends more elements. */
int elements_collect_more(struct glint_rdd *elements, struct elements *out);
/* Copies elements in the order of `which`; frees the previous content of *out. Returns 0 or the
 * context's code. */
int elements_copy_selected(const struct elements *from, const uint32_t *which, uint32_t count,
                           struct elements *out);
void elements_fini(struct elements *e);

#endif
