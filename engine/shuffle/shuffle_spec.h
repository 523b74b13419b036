/* What a shuffle does with records, as both halves agree on it.
 *
 * Constant while any task uses it; tasks share it. Keys and values travel in byte form
 * (engine/data/codec.h), so nothing here but `value` and `acc` knows types. */
#ifndef GLINT_SHUFFLE_SHUFFLE_SPEC_H
#define GLINT_SHUFFLE_SHUFFLE_SPEC_H

#include "engine/plan/shuffle_dependency.h"

struct shuffle_spec {
    uint32_t partitions;                  /* of the reduce side */
    struct shuffle_dependency dependency; /* as the plan says */
    bool map_side; /* combine before the shuffle too; else only after it, a zero once per key */
    /* Merging is not exactly associative (sums of f64): a key's values are then merged one after
     * the other, first in each map task, then over the map tasks, as if no table had ever been full
     * and any number of runs could be merged at once. Always so if acc is F64. */
    bool sequential;
    const struct glint_function *fn; /* NULL for NONE and FIRST */
    enum glint_type key, value;      /* of the records that go in */
    enum glint_type acc; /* of the values that come out; as `value` unless AGGREGATE, CREATE */
};

/* The reduce partition of one record. `index` counts the task's records. */
uint32_t shuffle_partition_of(const struct shuffle_spec *spec, struct glint_slice key,
                              uint32_t map_partition, uint64_t index);

/* Where a record stands in a run. */
struct shuffle_position {
    uint32_t partition;
    struct glint_slice key;
};
/* < 0: a comes before b. */
int shuffle_compare_positions(const struct shuffle_spec *spec, struct shuffle_position a,
                              struct shuffle_position b);

#endif
