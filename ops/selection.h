/* A batch with a subset of its rows: offsets and numbers are copied, bytes are not. */
#ifndef GLINT_OPS_SELECTION_H
#define GLINT_OPS_SELECTION_H

#include "engine/batch.h"
#include "engine/records/emitter.h"

/* Memory for the offsets or numbers of one selected column. */
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

/* The column of `type` whose numbers or offsets are in `c`. Texts are in base[0, size); `alone`:
 * they are one row, which may have a size that offsets do not. */
struct glint_column selection_column_of(const struct selection_column *c, enum glint_type type,
                                        const uint8_t *base, uint64_t size, bool alone);
/* Selects rows of a column by number, in any order and possibly repeated. The result refers to the
 * bytes of `from`; its offsets and numbers are in `c`, and valid until the next call. */
struct glint_column selection_copy_column(struct selection_column *c,
                                          const struct glint_column *from, const uint16_t *rows,
                                          uint32_t count);
/* Emits rows[0..count) of the batch by reference; row numbers must ascend. Returns out->flow. */
enum flow selection_emit(struct selection *c, const struct glint_batch *batch, const uint16_t *rows,
                         uint32_t count, struct glint_emitter *out);

#endif
