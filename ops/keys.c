/* keys and values: one column of a pair RDD becomes the elements. Cells are passed by reference. */
#include "engine/batch.h"
#include "ops/ops.h"

#include <assert.h>

static enum flow push_one_column(const struct glint_batch *batch, const struct glint_column *column,
                                 struct glint_emitter *out)
{
    struct glint_batch elements = {.rows = batch->rows,
                                   .key = {.type = GLINT_NONE},
                                   .value = *column,
                                   .origin = batch->origin};
    assert(column->type != GLINT_ANY && batch->key.type != GLINT_NONE);
    glint_emit_batch(out, &elements);
    return out->flow;
}

static enum flow keys_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)state;
    return push_one_column(batch, &batch->key, out);
}

static enum flow values_push(void *state, const struct glint_batch *batch,
                             struct glint_emitter *out)
{
    (void)state;
    return push_one_column(batch, &batch->value, out);
}

static struct glint_rdd *keys_or_values_rdd(struct glint_rdd *rdd, const struct op *op,
                                            enum glint_type type)
{
    if (!rdd_is_pair(rdd)) return rdd_fail(rdd, GLINT_E_PLAN_TYPE, "%s needs keys", op->name);
    struct rdd_spec spec = {.op = op, .parents = {rdd}, .schema = {GLINT_NONE, type}};
    return rdd_create(rdd->g, &spec);
}

struct glint_rdd *glint_keys(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("keys");
    return keys_or_values_rdd(rdd, &op_keys, rdd->schema.key);
}

struct glint_rdd *glint_values(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("values");
    return keys_or_values_rdd(rdd, &op_values, rdd->schema.value);
}

const struct op op_keys = {.name = "keys", .kind = OP_NARROW, .push = keys_push};
const struct op op_values = {.name = "values", .kind = OP_NARROW, .push = values_push};
