/* The ways from rows to filters, as chains of RDDs, and what each costs. */
#ifndef GLINT_JOBS_FILTERS_BLOOM_PIPELINE_H
#define GLINT_JOBS_FILTERS_BLOOM_PIPELINE_H

#include "jobs/filters/sizes.h"

/* What goes from the map tasks to the reduce tasks. */
enum bloom_method {
    BLOOM_LISTS_FIXED,  /* each row's k bit indexes, in 4 bytes each, or 8 where
                           they are wide */
    BLOOM_LISTS_VARINT, /* the same, 7 bits to a byte */
    BLOOM_LISTS_VINT,   /* the same, as Hadoop's VIntWritable */
    BLOOM_LISTS_ONCE,   /* as varints, each index of a key once per task: tasks remember them, in a
                           filter per key */
    BLOOM_PARTIALS,     /* of each task a filter per key */
    BLOOM_METHODS,
};
extern const char *const bloom_method_names[BLOOM_METHODS];

/* Bytes between the stages as the papers' formulas have them: k n v, v of a filter's largest index,
 * and tasks x sum of (m / 8 + BLOOM_PARTIAL_EXTRA). */
enum { BLOOM_PARTIAL_EXTRA = 8 }; /* the multi-set paper's filters carry m and k */
uint64_t bloom_method_bytes(const struct sizes *s, enum bloom_method method, uint64_t tasks);
/* The cheaper one of varint lists and partials, of those that fit a slot's
 * memory. */
enum bloom_method bloom_method_choose(const struct glint *g, const struct sizes *s, uint64_t tasks);

/* 0 where a slot can hold the partial filters of a task, or MEMORY_LIMIT. */
int bloom_check_memory(struct glint *g, const struct sizes *s);
/* Of the largest filter's bits: what a reduce task of lists holds. */
uint64_t bloom_largest_bytes(const struct sizes *s);
/* How large a split should be at least, so that partial filters stay small beside it. */
uint64_t bloom_split_bytes(const struct sizes *s);

/* (key, filter as msgpack): the filters of the rows in `lines`. NULL in, NULL
 * out. */
struct glint_rdd *bloom_pipeline(struct glint_rdd *lines, const struct sizes *s,
                                 enum bloom_method method, const struct fields *f);

#endif
