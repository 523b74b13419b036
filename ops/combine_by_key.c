/* combineByKey: like aggregateByKey, but an accumulator is created from a key's first value. */
#include "ops/ops.h"

struct glint_rdd *glint_combine_by_key(struct glint_rdd *rdd, const struct glint_function *function,
                                       struct glint_args *args)
{
    if (!rdd_has_keys(rdd, "combineByKey")) return NULL;
    struct rdd_spec spec = {.op = &op_combine_by_key,
                            .parents = {rdd},
                            .function = function,
                            .args = args,
                            .schema = {rdd->schema.key, GLINT_ANY},
                            .key_partitioned = true,
                            .dependency = {.combine = COMBINE_CREATE}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    /* op_check_function does not require `create`, because aggregateByKey starts from `zero`. */
    if (out != NULL && out->fn->create == NULL)
        return rdd_fail(out, GLINT_E_PLAN_FUNCTION, "%s has no callback create", function->name);
    return out;
}

const struct op op_combine_by_key = {
    .name = "combineByKey", .kind = OP_WIDE, .function_kinds = 1u << GLINT_KIND_AGGREGATE};
