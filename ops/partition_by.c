/* partitionBy: puts equal keys into the same partition, by hash. Within a partition, records are
 * ordered by key, and those of one key keep their order. */
#include "ops/ops.h"

struct glint_rdd *glint_partition_by(struct glint_rdd *rdd, uint32_t partitions)
{
    if (!rdd_has_keys(rdd, "partitionBy")) return NULL;
    struct rdd_spec spec = {.op = &op_partition_by,
                            .parents = {rdd},
                            .schema = rdd->schema,
                            .key_partitioned = true,
                            .partitioner_fixed = true};
    return glint_with_partitions(rdd_create(rdd->g, &spec), partitions);
}

const struct op op_partition_by = {.name = "partitionBy", .kind = OP_WIDE};
