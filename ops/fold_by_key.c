/* foldByKey: merges the values of each key, starting from `zero` once per map partition. */
#include "ops/ops.h"

struct glint_rdd *glint_fold_by_key(struct glint_rdd *rdd, union glint_value zero,
                                    const struct glint_function *function, struct glint_args *args)
{
    if (!rdd_has_keys(rdd, "foldByKey")) return NULL;
    struct rdd_spec spec = {.op = &op_fold_by_key,
                            .parents = {rdd},
                            .function = function,
                            .args = args,
                            .schema = rdd->schema,
                            .key_partitioned = true,
                            .dependency = {.combine = COMBINE_FOLD}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out == NULL) return NULL;
    out->dependency.zero = rdd_encode_value(out, rdd->schema.value, &zero);
    return context_failed(rdd->g) ? NULL : out;
}

const struct op op_fold_by_key = {
    .name = "foldByKey", .kind = OP_WIDE, .function_kinds = 1u << GLINT_KIND_REDUCE};
