/* What a shuffle does with records, as both halves and the plan agree on it.
 *
 * Constant while any task uses it; tasks share it. Keys and values travel in byte form
 * (engine/data/codec.h), so nothing here but `value` and `acc` knows types. */
#ifndef GLINT_SHUFFLE_SPEC_H
#define GLINT_SHUFFLE_SPEC_H

#include "engine/glint.h"

enum shuffle_partitioner {
    SHUFFLE_HASH,   /* by the key's byte form */
    SHUFFLE_RANGE,  /* as many bounds as are less than the key; the other way round if descending */
    SHUFFLE_SPREAD, /* by (map partition, index of the record in it) */
};

enum shuffle_combine {
    SHUFFLE_PASS,      /* none: each record goes through, equal keys in map order */
    SHUFFLE_FIRST,     /* the first record of a key stays: distinct. No function */
    SHUFFLE_REDUCE,    /* fn->merge or fn->merge_i64, from the first value */
    SHUFFLE_FOLD,      /* fn->merge, from `zero` */
    SHUFFLE_AGGREGATE, /* fn->merge from `zero`, fn->combine */
    SHUFFLE_COMBINE,   /* fn->create, fn->merge, fn->combine */
};

struct shuffle_spec {
    uint32_t partitions; /* of the reduce side */
    enum shuffle_partitioner partitioner;
    const struct glint_slice *bounds; /* RANGE: ascending, fewer than `partitions` */
    uint32_t bound_count;
    bool descending; /* order of keys */
    enum shuffle_combine combine;
    bool map_side; /* combine before the shuffle too; else only after it */
    /* Merging is not exactly associative (sums of f64): a key's values are then merged one after
     * the other, first in each map task, then over the map tasks, as if no table had ever been full
     * and any number of runs could be merged at once. Always so if acc is F64. */
    bool sequential;
    const struct glint_function *fn; /* NULL for PASS and FIRST */
    struct glint_slice zero;    /* FOLD, AGGREGATE: byte form of an accumulator. FOLD applies it
                                   once per key and map task (or once per key without map_side) */
    enum glint_type key, value; /* of the records that go in */
    enum glint_type acc; /* of the values that come out; as `value` unless AGGREGATE, COMBINE */
};

/* The reduce partition of one record. `index` counts the task's records. */
uint32_t shuffle_partition(const struct shuffle_spec *spec, struct glint_slice key,
                           uint32_t map_partition, uint64_t index);

#endif
