/* A batch with only some of its rows: offsets and numbers are moved together, bytes stay. */
#ifndef GLINT_OPS_SELECTION_H
#define GLINT_OPS_SELECTION_H

#include "engine/data/emitter.h"

struct selection_column {
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    union {
        int64_t i64[BATCH_ROWS_MAX];
        double f64[BATCH_ROWS_MAX];
    };
};

struct selection {
    struct selection_column key, value;
};

/* Rows of a column by their numbers, in any order, also more than once: by reference, offsets and
 * numbers in `c`. */
struct glint_column selection_copy_column(struct selection_column *c,
                                          const struct glint_column *from, const uint16_t *rows,
                                          uint32_t count);
/* Emits rows[0..count) of the batch, ascending row numbers, by reference. */
enum flow selection_emit(struct selection *c, const struct glint_batch *batch, const uint16_t *rows,
                         uint32_t count, struct glint_emitter *out);

#endif
