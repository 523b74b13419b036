/* mapPartitions and mapPartitionsWithIndex: a function that is called for the records or batches of
 * a partition, and once more at its end. glint_partition returns the index. */
#include "engine/batch.h"
#include "ops/ops.h"

static enum flow map_partitions_push(void *state, const struct glint_batch *batch,
                                     struct glint_emitter *out)
{
    return function_call_batch(&((struct function_op_state *)state)->call, batch, out);
}

static enum flow map_partitions_finish(void *state, struct glint_emitter *out)
{
    struct function_call *c = &((struct function_op_state *)state)->call;
    if (c->fn->end == NULL) return out->flow;
    return function_call_result_to_flow(c, c->fn->end(c->task, c->state, out), out);
}

static struct glint_rdd *map_partitions_rdd(struct glint_rdd *rdd, const struct op *op,
                                            const struct glint_function *function,
                                            struct glint_args *args)
{
    if (rdd == NULL) return rdd_fail_null(op->name);
    struct rdd_spec spec = {.op = op, .parents = {rdd}, .function = function, .args = args};
    return rdd_create(rdd->g, &spec);
}

struct glint_rdd *glint_map_partitions(struct glint_rdd *rdd, const struct glint_function *function,
                                       struct glint_args *args)
{
    return map_partitions_rdd(rdd, &op_map_partitions, function, args);
}

struct glint_rdd *glint_map_partitions_with_index(struct glint_rdd *rdd,
                                                  const struct glint_function *function,
                                                  struct glint_args *args)
{
    return map_partitions_rdd(rdd, &op_map_partitions_with_index, function, args);
}

#define PARTITIONS_OP(op_name)                                                                     \
    {                                                                                              \
        .name = op_name, .kind = OP_NARROW,                                                        \
        .function_kinds = 1u << GLINT_KIND_MAP | 1u << GLINT_KIND_FLAT_MAP,                        \
        .state_size = sizeof(struct function_op_state), .open = function_op_open,                  \
        .push = map_partitions_push, .finish = map_partitions_finish, .close = function_op_close   \
    }

const struct op op_map_partitions = PARTITIONS_OP("mapPartitions");
const struct op op_map_partitions_with_index = PARTITIONS_OP("mapPartitionsWithIndex");
