/* repartition: records spread evenly, by where they stood. In a partition records stand by key,
 * those of one key in the order they had. */
#include "ops/ops.h"

extern const struct op op_repartition;

struct glint_rdd *glint_repartition(struct glint_rdd *rdd, uint32_t partitions)
{
    if (rdd == NULL) return rdd_fail_null("repartition");
    struct rdd_spec spec = {.op = &op_repartition,
                            .parents = {rdd},
                            .schema = rdd->schema,
                            .dependency = {.partitioner = PARTITION_SPREAD}};
    return glint_with_partitions(rdd_create(rdd->g, &spec), partitions);
}

const struct op op_repartition = {.name = "repartition", .kind = OP_WIDE};
