/* aggregateByKey: merges the values of each key into an accumulator that starts from `zero` and may
 * have another type; accumulators of different map partitions are combined. */
#include "ops/ops.h"

struct glint_rdd *glint_aggregate_by_key(struct glint_rdd *rdd, union glint_value zero,
                                         const struct glint_function *function,
                                         struct glint_args *args)
{
    if (!rdd_has_keys(rdd, "aggregateByKey")) return NULL;
    struct rdd_spec spec = {.op = &op_aggregate_by_key,
                            .parents = {rdd},
                            .function = function,
                            .args = args,
                            .schema = {rdd->schema.key, GLINT_ANY},
                            .key_partitioned = true,
                            .dependency = {.combine = COMBINE_AGGREGATE}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out == NULL) return NULL;
    out->dependency.zero = rdd_encode_value(out, out->schema.value, &zero);
    return context_failed(rdd->g) ? NULL : out;
}

const struct op op_aggregate_by_key = {
    .name = "aggregateByKey", .kind = OP_WIDE, .function_kinds = 1u << GLINT_KIND_AGGREGATE};
