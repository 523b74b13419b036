/* The running value of a key: how it starts, what it takes in, how it ends. Used by both halves.
 *
 * Values come in two forms: a raw one is a record of the map side (spec->value), the other is an
 * accumulator (spec->acc) that another table or task began. With FIRST, REDUCE and FOLD they are
 * the same. A fold's zero is left out until a map task's value is complete: whatever was spilled
 * meanwhile, it counts once. */
#ifndef GLINT_SHUFFLE_AGGREGATOR_H
#define GLINT_SHUFFLE_AGGREGATOR_H

#include "engine/data/accumulator.h"
#include "engine/data/merge.h"
#include "engine/data/task.h"
#include "engine/shuffle/shuffle_spec.h"

struct aggregator {
    struct glint_task *task;
    const struct shuffle_spec *spec;
    void *state;
    union glint_value zero;
    uint64_t chunk_bytes_max; /* 0: values are whole */
};
int aggregator_init(struct aggregator *f, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state);

/* 0 or the function's error. `acc` is acc_init's, or was used for another key. */
int aggregator_init_value(const struct aggregator *f, struct glint_acc *acc,
                          const union glint_value *value, bool raw);
int aggregator_merge_value(const struct aggregator *f, struct glint_acc *acc,
                           const union glint_value *value, bool raw);
/* FOLD: out = zero merged with acc's value. */
int aggregator_merge_zero(const struct aggregator *f, const struct glint_acc *acc,
                          struct glint_acc *out);

/* The spec's records are numbers in and out, and its function merges them in columns. */
bool aggregator_merges_columns(const struct shuffle_spec *spec);
/* Values of both forms look the same. */
static inline bool aggregator_values_are_accumulators(const struct shuffle_spec *spec)
{
    return spec->dependency.combine <= COMBINE_FOLD;
}

/* See shuffle_spec.sequential. */
static inline bool aggregator_is_sequential(const struct shuffle_spec *spec)
{
    return spec->sequential || spec->acc == GLINT_F64;
}

/* The values of one key after the other, in byte form. Keeps its memory from key to key. */
struct combiner {
    struct aggregator aggregator;
    struct acc_pool pool;
    struct glint_acc acc, with_zero_acc;
    bool started;
    uint8_t number[8];
};
int combiner_init(struct combiner *c, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state);
int combiner_add_value(struct combiner *c, struct glint_slice value, bool raw);
/* The value of the record at hand in `m`; a large one that begins a key is not copied but taken
 * over. */
int combiner_add_from_merge(struct combiner *c, struct merge *m, bool raw);
/* True: the value has reached the size at which it is passed on as a piece. */
bool combiner_chunk_is_full(const struct combiner *c);
/* The value so far, and an end to it: the next one added starts anew. *out is valid until then. */
int combiner_finish_value(struct combiner *c, bool with_zero, struct glint_slice *out);
void combiner_fini(struct combiner *c);

#endif
