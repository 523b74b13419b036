/* keyBy: a function computes the key of each element. The values are passed on by reference. */
#include "engine/batch.h"
#include "ops/ops.h"

#include <assert.h>

static enum flow key_by_push(void *state, const struct glint_batch *batch,
                             struct glint_emitter *out)
{
    assert(batch->key.type == GLINT_NONE);
    /* The emitter takes the value of each row from the input batch, by reference. */
    out->keep_value = true;
    return function_call_batch(&((struct function_op_state *)state)->call, batch, out);
}

struct glint_rdd *glint_key_by(struct glint_rdd *rdd, const struct glint_function *function,
                               struct glint_args *args)
{
    if (!rdd_has_single_elements(rdd, "keyBy")) return NULL;
    struct rdd_spec spec = {.op = &op_key_by,
                            .parents = {rdd},
                            .function = function,
                            .args = args,
                            .schema = {GLINT_ANY, rdd->schema.value}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out != NULL && !rdd_is_pair(out))
        return rdd_fail(out, GLINT_E_PLAN_TYPE, "%s emits no keys", function->name);
    return out;
}

const struct op op_key_by = {.name = "keyBy",
                             .kind = OP_NARROW,
                             .function_kinds = 1u << GLINT_KIND_MAP,
                             .state_size = sizeof(struct function_op_state),
                             .open = function_op_open,
                             .push = key_by_push,
                             .close = function_op_close};
