/* countByKey and countByValue: replace each value by 1, sum by key, and collect. */
#include "engine/batch.h"
#include "ops/ops.h"

#include <assert.h>

/* A constant column of ones, which all emitted batches refer to. */
struct ones_state {
    int64_t ones[BATCH_ROWS_MAX];
};

static int count_by_open(void *state, const struct op_open *o)
{
    (void)o;
    struct ones_state *s = state;
    for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) s->ones[i] = 1;
    return 0;
}

static enum flow emit_keys_with_one(const struct ones_state *s, const struct glint_batch *batch,
                                    const struct glint_column *key, struct glint_emitter *out)
{
    struct glint_batch counted = *batch;
    assert(batch->rows <= BATCH_ROWS_MAX);
    counted.key = *key;
    counted.value = (struct glint_column){.type = GLINT_I64, .i64 = s->ones};
    glint_emit_batch(out, &counted);
    return out->flow;
}

static enum flow count_keys_push(void *state, const struct glint_batch *batch,
                                 struct glint_emitter *out)
{
    return emit_keys_with_one(state, batch, &batch->key, out);
}

static enum flow count_values_push(void *state, const struct glint_batch *batch,
                                   struct glint_emitter *out)
{
    return emit_keys_with_one(state, batch, &batch->value, out);
}

#define ONES_OP(op_name, push_)                                                                    \
    {                                                                                              \
        .name = op_name, .kind = OP_NARROW, .state_size = sizeof(struct ones_state),               \
        .open = count_by_open, .push = push_                                                       \
    }

const struct op op_count_by_key = ONES_OP("countByKey", count_keys_push);
const struct op op_count_by_value = ONES_OP("countByValue", count_values_push);

static int run_count_by(struct glint_rdd *rdd, const struct op *op, enum glint_type key,
                        struct glint_rows *out)
{
    struct rdd_spec spec = {.op = op, .parents = {rdd}, .schema = {key, GLINT_I64}};
    struct glint_rdd *counts = glint_reduce_by_key(rdd_create(rdd->g, &spec), &GLINT_SUM_I64, NULL);
    if (counts == NULL) return rdd->g->error.code;
    int r = glint_collect(counts, out);
    if (r == 0) r = result_rows_sort(rdd->g, out);
    if (r != 0) glint_rows_free(out);
    return r;
}

int glint_count_by_key(struct glint_rdd *rdd, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error("countByKey");
    if (!rdd_is_pair(rdd)) rdd_fail(rdd, GLINT_E_PLAN_TYPE, "countByKey needs keys");
    return run_count_by(rdd, &op_count_by_key, rdd->schema.key, out);
}

int glint_count_by_value(struct glint_rdd *rdd, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error("countByValue");
    if (rdd_is_pair(rdd))
        rdd_fail(rdd, GLINT_E_PLAN_TYPE,
                 "countByValue needs single elements, not pairs: use keys or values first");
    return run_count_by(rdd, &op_count_by_value, rdd->schema.value, out);
}
