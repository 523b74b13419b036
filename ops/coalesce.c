/* coalesce: neighbouring partitions joined, without a shuffle. It has no code on the executor: a
 * task walks through it to the partitions that it reads. */
#include "ops/ops.h"

extern const struct op op_coalesce;

struct glint_rdd *glint_coalesce(struct glint_rdd *rdd, uint32_t partitions)
{
    if (rdd == NULL) return rdd_fail_null("coalesce");
    if (partitions == 0) return rdd_fail(rdd, GLINT_E_PLAN_LIMIT, "coalesce into no partition");
    /* Two groups of one key that are joined would be one: only where a key has but one partition
     * do groups stay. Which one that is can no longer be told from the key. */
    struct rdd_spec spec = {.op = &op_coalesce,
                            .parents = {rdd},
                            .schema = rdd->schema,
                            .grouped = rdd->grouped && rdd->key_partitioned};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out != NULL) out->partitions_requested = partitions;
    return out;
}

const struct op op_coalesce = {.name = "coalesce", .kind = OP_COALESCE};
