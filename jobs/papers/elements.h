/* The elements of a plain list in the driver's memory, for jobs that measure a structure itself and
 * not how a cluster fills it. Driver only. */
#ifndef GLINT_JOBS_PAPERS_ELEMENTS_H
#define GLINT_JOBS_PAPERS_ELEMENTS_H

#include "jobs/rows/fields.h"

struct elements {
    uint8_t *base; /* element i is base[start[i]] .. base[end[i]], READ_SLACK readable behind it */
    uint32_t *start, *end;
    uint32_t count;
    uint64_t size, capacity, count_capacity; /* bytes; room in base; room in start and end */
    struct glint *g;
    uint64_t bytes_max; /* bytes that all of it may take */
};

/* Lines to elements, (none, text): what the job's module must list. */
extern const struct glint_function elements_take;
struct glint_rdd *elements_of_lines(struct glint_rdd *lines, const struct fields *fields);
/* Collects them, in order. elements_fini after, in any case. 0 or the context's code:
 * MEMORY_LIMIT where they take more than half of what a slot has. */
int elements_collect(struct glint_rdd *elements, struct elements *out);
/* Collects more of them, behind those that are there. */
int elements_collect_more(struct glint_rdd *elements, struct elements *out);
/* Copies of some, in the order of `which`; what was in *out before goes. 0 or the context's code.
 */
int elements_copy_selected(const struct elements *from, const uint32_t *which, uint32_t count,
                           struct elements *out);
void elements_fini(struct elements *e);

#endif
