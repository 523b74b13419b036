/* coalesce: joins neighbouring partitions without a shuffle. No executor code: a task walks through
 * it to the partitions that it reads. */
#include "ops/ops.h"

struct glint_rdd *glint_coalesce(struct glint_rdd *rdd, uint32_t partitions)
{
    if (rdd == NULL) return rdd_fail_null("coalesce");
    if (partitions == 0) return rdd_fail(rdd, GLINT_E_PLAN_LIMIT, "coalesce into 0 partitions");
    /* If both joined partitions have a group for the same key, these become adjacent and would be
     * taken for one group. So the result is grouped only if each key is in a single partition. It
     * is no longer key_partitioned: the hash does not give the new partition. */
    struct rdd_spec spec = {.op = &op_coalesce,
                            .parents = {rdd},
                            .schema = rdd->schema,
                            .grouped = rdd->grouped && rdd->key_partitioned};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    /* The number is applied when partitions are counted; more than the parent has are not
     * possible. */
    if (out != NULL) out->partitions_requested = partitions;
    return out;
}

const struct op op_coalesce = {.name = "coalesce", .kind = OP_COALESCE};
