/* groupByKey and groupBy: make the records of a key adjacent. Nothing is collected: the next
 * operator receives the values of a key as a stream. */
#include "ops/ops.h"

struct glint_rdd *glint_group_by_key(struct glint_rdd *rdd)
{
    if (!rdd_has_keys(rdd, "groupByKey")) return NULL;
    struct rdd_spec spec = {.op = &op_group_by_key,
                            .parents = {rdd},
                            .schema = rdd->schema,
                            .grouped = true,
                            .key_partitioned = true};
    return rdd_create(rdd->g, &spec);
}

struct glint_rdd *glint_group_by(struct glint_rdd *rdd, const struct glint_function *function,
                                 struct glint_args *args)
{
    if (rdd == NULL) return rdd_fail_null("groupBy");
    return glint_group_by_key(glint_key_by(rdd, function, args));
}

const struct op op_group_by_key = {.name = "groupByKey", .kind = OP_WIDE};
