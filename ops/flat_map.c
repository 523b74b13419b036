/* flatMap: each record is replaced by any number of records. */
#include "engine/batch.h"
#include "ops/ops.h"

static enum flow flat_map_push(void *state, const struct glint_batch *batch,
                               struct glint_emitter *out)
{
    return function_call_batch(&((struct function_op_state *)state)->call, batch, out);
}

extern const struct op op_flat_map;

struct glint_rdd *glint_flat_map(struct glint_rdd *rdd, const struct glint_function *function,
                                 struct glint_args *args)
{
    if (rdd == NULL) return rdd_fail_null("flatMap");
    struct rdd_spec spec = {
        .op = &op_flat_map, .parents = {rdd}, .function = function, .args = args};
    return rdd_create(rdd->g, &spec);
}

const struct op op_flat_map = {.name = "flatMap",
                               .kind = OP_NARROW,
                               .function_kinds = 1u << GLINT_KIND_MAP | 1u << GLINT_KIND_FLAT_MAP,
                               .state_size = sizeof(struct function_op_state),
                               .open = function_op_open,
                               .push = flat_map_push,
                               .close = function_op_close};
