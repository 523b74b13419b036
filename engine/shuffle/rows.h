/* Records put together to a batch: numbers in arrays, bytes copied, one large record by reference.
 * Internal to the reduce half. */
#ifndef GLINT_SHUFFLE_ROWS_H
#define GLINT_SHUFFLE_ROWS_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/limits.h"

struct rows_column {
    enum glint_type type;
    struct buffer bytes;
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    union {
        int64_t i64[BATCH_ROWS_MAX];
        double f64[BATCH_ROWS_MAX];
    } numbers;
};

struct rows {
    uint32_t count;
    bool full; /* holds a record by reference */
    struct rows_column key, value;
    struct glint_slice alone_key, alone_value;
};

enum rows_added { ROWS_ADDED, ROWS_NO_ROOM, ROWS_WRONG_SIZE, ROWS_NO_MEMORY };
/* Byte forms. Larger ones than EMIT_BUFFER_BYTES are borrowed until the batch was used. NO_ROOM:
 * the batch must go first. */
enum rows_added rows_add(struct rows *r, struct glint_slice key, struct glint_slice value);
/* The batch so far, borrowed until rows_clear. */
void rows_batch(const struct rows *r, struct glint_batch *out);
void rows_clear(struct rows *r);
void rows_fini(struct rows *r);

#endif
