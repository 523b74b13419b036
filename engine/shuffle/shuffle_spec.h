/* The definition of one shuffle, which the map side and the reduce side share.
 *
 * Constant while a task uses it. Keys and values are in byte form
 * (engine/records/codec.h), so only the members `key`, `value` and `acc` refer to types. */
#ifndef GLINT_SHUFFLE_SHUFFLE_SPEC_H
#define GLINT_SHUFFLE_SHUFFLE_SPEC_H

#include "engine/plan/op.h"

struct shuffle_spec {
    uint32_t partitions;                  /* of the reduce side */
    struct shuffle_dependency dependency; /* as the plan says */
    /* Combine on the map side too. If false, values are combined on the reduce side only, and a
     * zero is merged once per key. */
    bool map_side;
    /* Merging is not exactly associative, as sums of f64. The values of a key are then merged one
     * after the other, first in each map task, then over the map tasks in order, as if memory and
     * fan-in were unlimited. So the result does not depend on spills or on the cluster. Always in
     * effect if acc is F64. */
    bool sequential;
    const struct glint_function *fn;   /* NULL for NONE and FIRST */
    struct function_call *partitioner; /* PARTITION_FUNCTION on the map side: opened by the task */
    const uint64_t *bound_prefixes;    /* of shuffle_spec_prepare */
    bool (*needs_match)(struct glint_slice value); /* as struct op's */
    enum glint_type key, value;                    /* of the map side's input records */
    enum glint_type acc; /* of the reduce side's values; as `value` unless AGGREGATE, CREATE */
};

/* Makes what shuffle_partition_of needs for PARTITION_RANGE, in the task's memory. Returns 0 or
 * NO_MEMORY with the task's error set. */
int shuffle_spec_prepare(struct shuffle_spec *spec, struct glint_task *task);
/* Returns the reduce partition of one record; `key` is in byte form. `index` is the record's index
 * in its map task; only PARTITION_SPREAD uses it and `map_partition`. Pure: a retried task gets the
 * same partitions. If a partitioner of the job fails, sets the task's error and returns 0: callers
 * check the error once per batch, not per record. */
uint32_t shuffle_partition_of(const struct shuffle_spec *spec, struct glint_slice key,
                              uint32_t map_partition, uint64_t index);

/* The sort position of a record in a run. */
struct shuffle_position {
    uint32_t partition;
    struct glint_slice key;
};
/* Returns < 0 if `a` comes before `b`, 0 if they are equal, > 0 otherwise. */
int shuffle_compare_positions(const struct shuffle_spec *spec, struct shuffle_position a,
                              struct shuffle_position b);

#endif
