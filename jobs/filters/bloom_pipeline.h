/* The methods to turn rows into filters, as chains of RDDs, and their costs. */
#ifndef GLINT_JOBS_FILTERS_BLOOM_PIPELINE_H
#define GLINT_JOBS_FILTERS_BLOOM_PIPELINE_H

#include "jobs/filters/sizes.h"

/* What map tasks send to reduce tasks. */
enum bloom_method {
    BLOOM_LISTS_FIXED,  /* each row's k bit indexes, in 4 bytes each, or 8 if they do not fit */
    BLOOM_LISTS_VARINT, /* the same, 7 bits per byte */
    BLOOM_LISTS_VINT,   /* the same, as Hadoop's VIntWritable */
    BLOOM_LISTS_ONCE,   /* as varints, each index of a key once per task, which remembers them in a
                           filter per key */
    BLOOM_PARTIALS,     /* a filter per key from each task */
    BLOOM_METHODS,
};
extern const char *const bloom_method_names[BLOOM_METHODS];

/* Shuffle bytes by the papers' formulas: k n v, where v is the size of a filter's largest index,
 * and tasks x sum of (m / 8 + BLOOM_PARTIAL_EXTRA). */
enum { BLOOM_PARTIAL_EXTRA = 8 }; /* the multi-set paper's filters carry m and k */
uint64_t bloom_method_bytes(const struct sizes *s, enum bloom_method method, uint64_t tasks);
/* The cheaper one of varint lists and partials, of those that fit a slot's memory. */
enum bloom_method bloom_method_choose(const struct glint *g, const struct sizes *s, uint64_t tasks);

/* Returns 0 if a slot's memory is enough for the partial filters of a task, else MEMORY_LIMIT. */
int bloom_check_memory(struct glint *g, const struct sizes *s);
/* Size of the largest filter's bits: the memory of a reduce task with lists. */
uint32_t bloom_largest_k(const struct sizes *s);
uint64_t bloom_largest_bytes(const struct sizes *s);
/* The minimum size of a split, so that partial filters are small in comparison. */
uint64_t bloom_split_bytes(const struct sizes *s);

/* (key, filter as msgpack): the filters of the rows in `lines`. Returns NULL if `lines` is NULL. */
struct glint_rdd *bloom_pipeline(struct glint_rdd *lines, const struct sizes *s,
                                 enum bloom_method method, const struct fields *f);
/* The same for filters of a file, (key, msgpack), with the rows added to them; `s` are their sizes.
 * `strict`: more ids than one is sized for are an error. */
struct glint_rdd *bloom_add_pipeline(struct glint_rdd *lines, struct glint_rdd *filters,
                                     const struct sizes *s, const struct fields *f, bool strict);
/* The same for few rows, which the driver and each task have in memory as indexes. `args` has
 * fields, sizes, "strict" and "remove"; the filters stay in their order. */
struct glint_rdd *bloom_add_few_rows(struct glint_rdd *lines, struct glint_rdd *filters,
                                     const struct sizes *s, struct glint_args *args, bool remove);
/* Whether hashes of all rows, if they are uncompressed text, fit half of a slot's memory. */
bool bloom_can_broadcast_rows(const struct glint_rdd *lines, const struct sizes *s, bool remove);
/* The filters, of the layout counting, without the rows. A row that is not in its filter fails the
 * job with FILTER_MISMATCH. */
struct glint_rdd *bloom_remove_pipeline(struct glint_rdd *lines, struct glint_rdd *filters,
                                        const struct sizes *s, const struct fields *f);

#endif
