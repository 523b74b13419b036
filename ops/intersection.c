/* intersection: the records that both sides have, each once. Each side is a bit. The shuffle merges
 * the bits of equal records, on the map side already, so only distinct records are shuffled. */
#include "engine/batch.h"
#include "ops/record_key.h"
#include "ops/selection.h"

#include <assert.h>

enum { IN_A = 1, IN_B = 2 };

/* Keeps the records that have the bits of both sides. */
struct both_state {
    uint16_t rows[BATCH_ROWS_MAX];
    struct selection_column key;
};

static enum flow intersection_push(void *state, const struct glint_batch *batch,
                                   struct glint_emitter *out)
{
    struct both_state *s = state;
    uint32_t count = 0;
    assert(batch->value.type == GLINT_I64);
    for (uint32_t row = 0; row < batch->rows; row++) {
        s->rows[count] = (uint16_t)row;
        count += batch->value.i64[row] == (IN_A | IN_B);
    }
    struct glint_batch kept = {.rows = count,
                               .key = selection_copy_column(&s->key, &batch->key, s->rows, count),
                               .value = {.type = GLINT_NONE}};
    glint_emit_batch(out, &kept);
    return out->flow;
}

const struct op op_intersection_both = {.name = "intersection.both",
                                        .kind = OP_NARROW,
                                        .state_size = sizeof(struct both_state),
                                        .push = intersection_push};

/* ---- Driver side */

const struct op op_intersection = {
    .name = "intersection", .kind = OP_WIDE, .function_kinds = 1u << GLINT_KIND_REDUCE};

struct glint_rdd *glint_intersection(struct glint_rdd *a, struct glint_rdd *b)
{
    struct glint_rdd *marks =
        group_records_by_marks(&op_intersection, a, IN_A, b, IN_B, &GLINT_OR_I64);
    if (marks == NULL) return NULL;
    struct rdd_spec spec = {
        .op = &op_intersection_both, .parents = {marks}, .schema = {marks->schema.key, GLINT_NONE}};
    return record_key_unpacked_rdd(rdd_create(marks->g, &spec), a->schema, marks);
}
