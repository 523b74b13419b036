/* The accumulator of one key: create, merge, finish. Used by the map side and the reduce side.
 *
 * A value is either raw, a record of the map side (type spec->value), or an accumulator (type
 * spec->acc) that another hash table or task has produced. With COMBINE_FIRST, COMBINE_REDUCE and
 * COMBINE_FOLD both have the same form.
 *
 * The zero of COMBINE_FOLD is merged only into the complete value of a map task, never into a
 * partial value. Therefore it counts once per key and map task, however often the task spilled. */
#ifndef GLINT_SHUFFLE_AGGREGATOR_H
#define GLINT_SHUFFLE_AGGREGATOR_H

#include "engine/records/hash_table.h"
#include "engine/records/run.h"
#include "engine/records/task.h"
#include "engine/shuffle/shuffle.h"

/* Calls the job's function with the arguments that the spec's combine mode needs. Stores no
 * accumulators; needs no fini. Task's thread. */
struct aggregator {
    struct glint_task *task; /* borrowed, as spec and state are */
    const struct shuffle_spec *spec;
    void *state;              /* of spec->fn */
    union glint_value zero;   /* decoded; FOLD and AGGREGATE only */
    uint64_t chunk_bytes_max; /* 0: values are not cut into chunks */
    /* GLINT_STRUCT: the sizes of raw values and of accumulators, 0: other types; and memory to
     * align one of them in, NULL: neither is one. */
    uint32_t value_struct, acc_struct;
    uint8_t *copy;
};
/* Returns 0, or a code with the task's error set: SHUFFLE_CORRUPT if the spec's zero does not
 * decode as spec->acc, FUNCTION_FAILED if it has not the function's size. */
int aggregator_init(struct aggregator *f, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state);

/* Starts `acc` with the first value of a key. `acc` comes from acc_init or was used for another
 * key: its old value is overwritten. Returns 0 or the function's error. */
int aggregator_init_value(const struct aggregator *f, struct glint_acc *acc,
                          const union glint_value *value, bool raw);
/* Merges a further value of the key into `acc`. With COMBINE_FIRST it does nothing. Returns 0 or
 * the function's error. */
int aggregator_merge_value(const struct aggregator *f, struct glint_acc *acc,
                           const union glint_value *value, bool raw);

/* Whether a batch can be merged with one call of fn->merge_i64 or fn->merge_f64: values and
 * accumulators are such numbers, the mode is REDUCE or FOLD, and the function has that form. */
bool aggregator_merges_columns(const struct shuffle_spec *spec);
/* The numbers of such a column. */
static inline const int64_t *aggregator_column_bits(const struct glint_column *column)
{
    return column->type == GLINT_I64 ? column->i64 : (const int64_t *)column->f64;
}
/* Then: merges value[i] into acc[slot[i]], where f64 are their bits; or `value` into *acc, `times`
 * times, for functions with repeat_i64. Both return 0 or the function's error. */
int aggregator_merge_columns(const struct aggregator *f, int64_t *acc, const uint32_t *slot,
                             const int64_t *value, uint32_t rows);
int aggregator_merge_repeated(const struct aggregator *f, int64_t *acc, int64_t value,
                              uint64_t times);
/* Whether raw values and accumulators have the same form (FIRST, REDUCE, FOLD). */
static inline bool aggregator_values_are_accumulators(const struct shuffle_spec *spec)
{
    return spec->dependency.combine <= COMBINE_FOLD;
}

/* Whether the values of a key must be merged strictly in order: see shuffle_spec.sequential. */
static inline bool aggregator_is_sequential(const struct shuffle_spec *spec)
{
    return spec->sequential || spec->acc == GLINT_F64;
}

/* Combines sorted records: the values of one key after the other, in byte form. Reuses its memory
 * for every key. Zeros before combiner_init. Task's thread. */
struct combiner {
    struct aggregator aggregator;
    struct acc_pool pool;
    struct glint_acc acc, with_zero_acc;
    bool started;      /* acc has a value */
    uint8_t number[8]; /* the byte form of a number that combiner_finish_value returned */
};
/* Returns 0 or the error of aggregator_init. Call combiner_fini in both cases. */
int combiner_init(struct combiner *c, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state);
/* Merges `value` (byte form, copied) into the current key's value. Returns 0, SHUFFLE_CORRUPT if it
 * does not fit its type, or the function's error. */
int combiner_add_value(struct combiner *c, struct glint_slice value, bool raw);
/* The same with the value of the current record in `m`. If it is larger than ACC_LARGE_BYTES and
 * starts a key, its buffer is swapped instead of copied: a copy would need the value's size in
 * memory twice. */
int combiner_add_from_merge(struct combiner *c, struct merge *m, bool raw);
/* Whether the value has reached fn->chunk_bytes_max: the caller must emit it as one chunk. */
bool combiner_chunk_is_full(const struct combiner *c);
/* Sets *out to the current value in byte form and resets the combiner: the next value starts a new
 * one. *out is valid until then. `with_zero`: merges the zero of COMBINE_FOLD into it. Returns 0 or
 * the function's error. */
int combiner_finish_value(struct combiner *c, bool with_zero, struct glint_slice *out);
/* Frees the memory. Zeros are fine. */
void combiner_fini(struct combiner *c);

#endif
