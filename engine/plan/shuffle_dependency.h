/* How a shuffle distributes records over partitions, and whether it combines the values of a key.
 * Part of the plan; engine/shuffle executes it. */
#ifndef GLINT_PLAN_SHUFFLE_DEPENDENCY_H
#define GLINT_PLAN_SHUFFLE_DEPENDENCY_H

#include "engine/glint.h"

/* How the output partition of a record is chosen. */
enum partitioner {
    PARTITION_HASH,     /* hash of the encoded key */
    PARTITION_RANGE,    /* number of bounds below the key; reversed if descending */
    PARTITION_SPREAD,   /* by (map partition, index of the record): repartition */
    PARTITION_FUNCTION, /* a function of the job: glint_with_partitioner */
};

/* How values of equal keys are merged. */
enum combine {
    COMBINE_NONE,   /* every record is kept, equal keys in map order; no function */
    COMBINE_FIRST,  /* keeps the first record of each key: distinct; no function */
    COMBINE_REDUCE, /* `merge`, starting from the first value */
    /* `merge`, from `zero` once per key and map task; `merge` across map tasks. */
    COMBINE_FOLD,
    COMBINE_AGGREGATE, /* `merge`, from `zero`; `combine` across map tasks */
    COMBINE_CREATE,    /* `create` from the first value, `merge`; `combine` across map tasks */
};

/* The parameters of one shuffle; borrowed from the plan or the decoded stage. */
struct shuffle_dependency {
    enum partitioner partitioner;
    enum combine combine;
    bool descending;         /* sort order of the keys */
    struct glint_slice zero; /* FOLD, AGGREGATE: encoded initial accumulator */
    /* RANGE: encoded keys, ascending; fewer than the shuffle's partitions. */
    const struct glint_slice *bounds;
    uint32_t bound_count;
    const struct glint_function *partition_fn; /* FUNCTION; else NULL */
    struct glint_slice partition_args;         /* its encoded arguments */
};

#endif
