/* reduceByKey: merges the values of each key into one, on both sides of the shuffle. */
#include "ops/ops.h"

struct glint_rdd *glint_reduce_by_key(struct glint_rdd *rdd, const struct glint_function *function,
                                      struct glint_args *args)
{
    if (!rdd_has_keys(rdd, "reduceByKey")) return NULL;
    struct rdd_spec spec = {.op = &op_reduce_by_key,
                            .parents = {rdd},
                            .function = function,
                            .args = args,
                            .schema = rdd->schema,
                            .key_partitioned = true,
                            .dependency = {.combine = COMBINE_REDUCE}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    /* Values cut into pieces are several records per key, in order: a grouped RDD. */
    if (out != NULL) out->grouped = out->fn->chunk_bytes_max > 0;
    return out;
}

const struct op op_reduce_by_key = {
    .name = "reduceByKey", .kind = OP_WIDE, .function_kinds = 1u << GLINT_KIND_REDUCE};
