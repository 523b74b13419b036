/* map: each record is replaced by one record. */
#include "engine/batch.h"
#include "ops/ops.h"

static enum flow map_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    return function_call_batch(&((struct function_op_state *)state)->call, batch, out);
}

struct glint_rdd *glint_map(struct glint_rdd *rdd, const struct glint_function *function,
                            struct glint_args *args)
{
    if (rdd == NULL) return rdd_fail_null("map");
    struct rdd_spec spec = {.op = &op_map, .parents = {rdd}, .function = function, .args = args};
    return rdd_create(rdd->g, &spec);
}

const struct op op_map = {.name = "map",
                          .kind = OP_NARROW,
                          .function_kinds = 1u << GLINT_KIND_MAP,
                          .state_size = sizeof(struct function_op_state),
                          .open = function_op_open,
                          .push = map_push,
                          .close = function_op_close};
