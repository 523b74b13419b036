/* What a shuffle does with records: how they are spread over partitions, and whether the values of
 * a key are combined. Part of the plan; the shuffle carries it out. */
#ifndef GLINT_PLAN_WIDE_H
#define GLINT_PLAN_WIDE_H

#include "engine/glint.h"

enum partitioner {
    PARTITION_HASH,   /* by the key's bytes */
    PARTITION_RANGE,  /* by sorted bounds: sorts */
    PARTITION_SPREAD, /* by (map partition, row): repartition */
};

enum combine {
    COMBINE_NONE,      /* every record goes through */
    COMBINE_FIRST,     /* the first record of a key stays: distinct */
    COMBINE_REDUCE,    /* the first value, then merge */
    COMBINE_FOLD,      /* zero, then merge, once per key and map task; merge again between them */
    COMBINE_AGGREGATE, /* zero, then merge; combine between map tasks */
    COMBINE_CREATE,    /* create(first), then merge; combine between map tasks */
};

struct wide {
    enum partitioner partitioner;
    enum combine combine;
    bool descending;
    struct glint_slice zero; /* FOLD, AGGREGATE: an accumulator in byte form */
    /* RANGE: fewer than `partitions` keys in byte form, ascending. */
    const struct glint_slice *bounds;
    uint32_t bound_count;
};

#endif
