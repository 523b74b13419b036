/* Records put together to a batch: numbers in arrays, bytes copied, one large record by reference.
 * Internal to the reduce half. */
#ifndef GLINT_SHUFFLE_BATCH_BUILDER_H
#define GLINT_SHUFFLE_BATCH_BUILDER_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/limits.h"

struct batch_builder_column {
    enum glint_type type;
    struct buffer bytes;
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    union {
        int64_t i64[BATCH_ROWS_MAX];
        double f64[BATCH_ROWS_MAX];
    } numbers;
};

struct batch_builder {
    uint32_t count;
    bool full; /* holds a record by reference */
    struct batch_builder_column key, value;
    struct glint_slice single_key, single_value;
};

enum batch_builder_result {
    BATCH_BUILDER_ADDED,
    BATCH_BUILDER_FULL,
    BATCH_BUILDER_WRONG_SIZE,
    BATCH_BUILDER_NO_MEMORY
};
/* Byte forms. Larger ones than EMIT_BUFFER_BYTES are borrowed until the batch was used. NO_ROOM:
 * the batch must go first. */
enum batch_builder_result batch_builder_add(struct batch_builder *r, struct glint_slice key,
                                            struct glint_slice value);
/* The batch so far, borrowed until batch_builder_clear. */
void batch_builder_get_batch(const struct batch_builder *r, struct glint_batch *out);
void batch_builder_clear(struct batch_builder *r);
void batch_builder_fini(struct batch_builder *r);

#endif
