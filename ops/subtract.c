/* subtract: the records that the other side does not have; keeps duplicates. Equal records are
 * merged into a count, on the map side already; a record of the other side makes the count negative
 * for good. */
#include "engine/batch.h"
#include "ops/record_key.h"
#include "ops/selection.h"

#include <assert.h>

struct left_state {
    uint32_t rows; /* selected, not yet emitted */
    uint64_t weight;
    uint16_t row[BATCH_ROWS_MAX];
    struct selection_column key;
};

static enum flow subtract_flush_left(struct left_state *s, const struct glint_batch *batch,
                                     struct glint_emitter *out)
{
    struct glint_batch left = {.rows = s->rows,
                               .key = selection_copy_column(&s->key, &batch->key, s->row, s->rows),
                               .value = {.type = GLINT_NONE}};
    glint_emit_batch(out, &left);
    s->rows = 0;
    s->weight = 0;
    return out->flow;
}

/* Emits each record as often as it was counted, by reference. Batches are limited by total size,
 * since a consumer may copy every row. */
static enum flow subtract_push_left(void *state, const struct glint_batch *batch,
                                    struct glint_emitter *out)
{
    struct left_state *s = state;
    bool numbers = batch->key.type == GLINT_I64 || batch->key.type == GLINT_F64;
    assert(s->rows == 0 && batch->value.type == GLINT_I64);
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t size = numbers ? 0 : glint_column_slice(&batch->key, row).size;
        for (int64_t n = batch->value.i64[row]; n > 0; n--) {
            bool full = s->rows == BATCH_ROWS_MAX || s->weight + size > EMIT_BUFFER_BYTES;
            if (s->rows > 0 && full && subtract_flush_left(s, batch, out) != FLOW_MORE)
                return out->flow;
            s->row[s->rows++] = (uint16_t)row;
            s->weight += size;
        }
    }
    return subtract_flush_left(s, batch, out);
}

const struct op op_subtract_left = {.name = "subtract.left",
                                    .kind = OP_NARROW,
                                    .state_size = sizeof(struct left_state),
                                    .push = subtract_push_left};

/* ---- Driver side */

const struct op op_subtract = {
    .name = "subtract", .kind = OP_WIDE, .function_kinds = 1u << GLINT_KIND_REDUCE};

struct glint_rdd *glint_subtract(struct glint_rdd *rdd, struct glint_rdd *other)
{
    struct glint_rdd *counts =
        group_records_by_marks(&op_subtract, rdd, 1, other, -1, &count_unless_negative);
    if (counts == NULL) return NULL;
    struct rdd_spec spec = {
        .op = &op_subtract_left, .parents = {counts}, .schema = {counts->schema.key, GLINT_NONE}};
    return record_key_unpacked_rdd(rdd_create(counts->g, &spec), rdd->schema, counts);
}
