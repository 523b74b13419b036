/* Copies offsets or numbers of selected rows: one load and one store per row and column, without
 * branches. */
#include "ops/selection.h"

#include <assert.h>

struct glint_column selection_column_of(const struct selection_column *c, enum glint_type type,
                                        const uint8_t *base, uint64_t size, bool alone)
{
    struct glint_column out = {.type = type};
    if (type == GLINT_I64) {
        out.i64 = c->i64;
    } else if (type == GLINT_F64) {
        out.f64 = c->f64;
    } else if (type != GLINT_NONE) {
        out.base = base;
        out.size = size;
        out.start = alone ? NULL : c->start;
        out.end = alone ? NULL : c->end;
    }
    return out;
}

struct glint_column selection_copy_column(struct selection_column *c,
                                          const struct glint_column *from, const uint16_t *rows,
                                          uint32_t count)
{
    struct glint_column to = *from;
    assert(count <= BATCH_ROWS_MAX);
    if (from->type == GLINT_I64) {
        for (uint32_t i = 0; i < count; i++) c->i64[i] = from->i64[rows[i]];
        to.i64 = c->i64;
    } else if (from->type == GLINT_F64) {
        for (uint32_t i = 0; i < count; i++) c->f64[i] = from->f64[rows[i]];
        to.f64 = c->f64;
    } else if (from->type != GLINT_NONE && from->start != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            c->start[i] = from->start[rows[i]];
            c->end[i] = from->end[rows[i]];
        }
        to.start = c->start;
        to.end = c->end;
    }
    return to;
}

enum flow selection_emit(struct selection *c, const struct glint_batch *batch, const uint16_t *rows,
                         uint32_t count, struct glint_emitter *out)
{
    assert(count <= batch->rows);
    /* All rows kept: pass the batch on without copying offsets. */
    if (count == batch->rows) {
        glint_emit_batch(out, batch);
    } else if (count > 0) {
        struct glint_batch kept = *batch;
        kept.rows = count;
        kept.key = selection_copy_column(&c->key, &batch->key, rows, count);
        kept.value = selection_copy_column(&c->value, &batch->value, rows, count);
        glint_emit_batch(out, &kept);
    }
    return out->flow;
}
