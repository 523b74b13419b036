/* Rows of a batch are of one batch of lines, so that one origin describes them. */
#include "ops/row_batch.h"

#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

enum flow row_batch_flush(struct row_batch *b)
{
    const struct glint_batch *in = b->in;
    struct glint_origin origin = *in->origin;
    struct glint_batch out = {.rows = b->rows,
                              .key = {.type = GLINT_NONE},
                              .value = {.type = GLINT_TEXT, .base = b->bytes, .size = b->used}};
    assert(in->origin->base != NULL);
    if (b->rows == 0) return FLOW_MORE;
    origin.base = b->bytes;
    origin.size = b->used;
    origin.rows = b->rows;
    origin.row_start = b->start;
    origin.row_offset = b->offset;
    if (origin.input == NULL) {
        origin.input = in->origin->base;
        origin.input_size = in->origin->size;
    }
    out.origin = &origin;
    if (b->used <= BATCH_BYTES_MAX) { /* or there is one row, larger than a batch */
        out.value.start = b->start;
        out.value.end = b->end;
    }
    assert(b->used <= BATCH_BYTES_MAX || b->rows == 1);
    const enum flow flow = b->push(b->arg, &out);
    b->task->origin = in->origin;
    b->rows = 0;
    b->used = 0;
    return flow;
}

enum flow row_batch_reserve(struct row_batch *b, uint64_t size)
{
    const enum flow flow = b->used + size > BATCH_BYTES_MAX || b->rows == BATCH_ROWS_MAX
                               ? row_batch_flush(b)
                               : FLOW_MORE;
    if (flow != FLOW_MORE || (b->bytes != NULL && b->used + size <= b->capacity)) return flow;
    const uint64_t need = b->used + size;
    const uint64_t capacity = need < BATCH_BYTES_MAX ? BATCH_BYTES_MAX : need;
    uint8_t *bytes = mem_alloc(capacity);
    if (bytes == NULL) {
        error_no_memory(&b->task->error);
        return FLOW_FAIL;
    }
    if (b->used > 0) memcpy(bytes, b->bytes, b->used);
    mem_free(b->bytes);
    b->bytes = bytes;
    b->capacity = capacity;
    return FLOW_MORE;
}

void row_batch_add(struct row_batch *b, struct glint_slice line, uint64_t size)
{
    const uint64_t end = b->used + size;
    assert(end <= b->capacity && b->rows < BATCH_ROWS_MAX);
    b->start[b->rows] = (uint32_t)b->used;
    b->end[b->rows] = (uint32_t)end;
    b->offset[b->rows++] = (uint32_t)(line.data - b->in->origin->base);
    b->used = end;
}
