/* What a shuffle does with records: how they are spread over partitions, and whether the values of
 * a key are combined. Part of the plan; the shuffle carries it out. */
#ifndef GLINT_PLAN_SHUFFLE_DEPENDENCY_H
#define GLINT_PLAN_SHUFFLE_DEPENDENCY_H

#include "engine/glint.h"

enum partitioner {
    PARTITION_HASH,   /* by the key's byte form */
    PARTITION_RANGE,  /* as many bounds as are less than the key; the other way round if descending
                       */
    PARTITION_SPREAD, /* by (map partition, index of the record in it): repartition */
};

enum combine {
    COMBINE_NONE,      /* each record goes through, equal keys in map order. No function */
    COMBINE_FIRST,     /* the first record of a key stays: distinct. No function */
    COMBINE_REDUCE,    /* merge, from the first value */
    COMBINE_FOLD,      /* merge, from `zero`, once per key and map task; merge between them */
    COMBINE_AGGREGATE, /* merge, from `zero`; combine between map tasks */
    COMBINE_CREATE,    /* create from the first value, merge; combine between map tasks */
};

struct shuffle_dependency {
    enum partitioner partitioner;
    enum combine combine;
    bool descending;         /* order of keys */
    struct glint_slice zero; /* FOLD, AGGREGATE: an accumulator in byte form */
    /* RANGE: fewer than the shuffle's partitions, keys in byte form, ascending. */
    const struct glint_slice *bounds;
    uint32_t bound_count;
};

#endif
