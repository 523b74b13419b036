/* Batches of rows that a source makes of lines, where rows may be larger than their lines: they are
 * copied, and the batch's origin tells which line each row was. Task's thread. */
#ifndef GLINT_OPS_ROW_BATCH_H
#define GLINT_OPS_ROW_BATCH_H

#include "engine/batch.h"
#include "engine/plan/op.h"

struct row_batch {
    struct glint_task *task;
    enum flow (*push)(void *arg, const struct glint_batch *rows);
    void *arg;
    const struct glint_batch *in; /* the lines that are converted, with their origin */
    uint8_t *bytes;               /* of the batch that is built; free with mem_free */
    uint64_t capacity, used;
    uint32_t rows;
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX], offset[BATCH_ROWS_MAX];
};

/* Makes room for a row of up to `size` bytes after bytes + used; first passes the batch if it would
 * become too large. FLOW_FAIL with the task's error set. */
enum flow row_batch_reserve(struct row_batch *b, uint64_t size);
/* Adds the row of `size` bytes that was written to bytes + used. */
void row_batch_add(struct row_batch *b, struct glint_slice line, uint64_t size);
/* Passes the rows, if there are any, and begins a new batch. Call it before `in` changes. */
enum flow row_batch_flush(struct row_batch *b);

#endif
