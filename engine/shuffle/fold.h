/* The running value of a key: how it starts, what it takes in, how it ends. Used by both halves.
 *
 * Values come in two forms: a raw one is a record of the map side (spec->value), the other is an
 * accumulator (spec->acc) that another table or task began. With FIRST, REDUCE and FOLD they are
 * the same. A fold's zero is left out until a map task's value is complete: whatever was spilled
 * meanwhile, it counts once. */
#ifndef GLINT_SHUFFLE_FOLD_H
#define GLINT_SHUFFLE_FOLD_H

#include "engine/data/acc.h"
#include "engine/data/merge.h"
#include "engine/data/task.h"
#include "engine/shuffle/spec.h"

struct fold {
    struct glint_task *task;
    const struct shuffle_spec *spec;
    void *state;
    union glint_value zero;
    uint64_t piece_bytes; /* 0: values are whole */
};
int fold_init(struct fold *f, struct glint_task *task, const struct shuffle_spec *spec,
              void *state);

/* 0 or the function's error. `acc` is acc_make's, or was used for another key. */
int fold_start(const struct fold *f, struct glint_acc *acc, const union glint_value *value,
               bool raw);
int fold_merge(const struct fold *f, struct glint_acc *acc, const union glint_value *value,
               bool raw);
/* FOLD: out = zero merged with acc's value. */
int fold_zero(const struct fold *f, const struct glint_acc *acc, struct glint_acc *out);

/* The spec's records are numbers in and out, and its function merges them in columns. */
bool fold_has_columns(const struct shuffle_spec *spec);
/* Values of both forms look the same. */
static inline bool fold_one_form(const struct shuffle_spec *spec)
{
    return spec->wide.combine <= COMBINE_FOLD;
}

/* See shuffle_spec.sequential. */
static inline bool fold_is_sequential(const struct shuffle_spec *spec)
{
    return spec->sequential || spec->acc == GLINT_F64;
}

/* The values of one key after the other, in byte form. Keeps its memory from key to key. */
struct combiner {
    struct fold fold;
    struct pool pool;
    struct glint_acc acc, folded;
    bool begun;
    uint8_t number[8];
};
int combiner_init(struct combiner *c, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state);
int combiner_add(struct combiner *c, struct glint_slice value, bool raw);
/* The value of the record at hand in `m`; a large one that begins a key is not copied but taken
 * over. */
int combiner_add_next(struct combiner *c, struct merge *m, bool raw);
/* True: the value has reached the size at which it is passed on as a piece. */
bool combiner_is_piece(const struct combiner *c);
/* The value so far, and an end to it: the next one added starts anew. *out is valid until then. */
int combiner_take(struct combiner *c, bool with_zero, struct glint_slice *out);
void combiner_fini(struct combiner *c);

#endif
