/* repartition: distributes records evenly, by their position. Within a partition, records are
 * ordered by key, and those of one key keep their order. */
#include "ops/ops.h"

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
