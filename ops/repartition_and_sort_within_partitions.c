/* repartitionAndSortWithinPartitions: partitions by hash of the key, sorted by key. The shuffle's
 * runs are sorted anyway, so it costs the same as partitionBy; only here the order is
 * guaranteed. */
#include "ops/ops.h"

struct glint_rdd *glint_repartition_and_sort_within_partitions(struct glint_rdd *rdd,
                                                               uint32_t partitions, bool ascending)
{
    const struct op *op = &op_repartition_and_sort_within_partitions;
    if (!rdd_has_keys(rdd, "repartitionAndSortWithinPartitions")) return NULL;
    struct rdd_spec spec = {.op = op,
                            .parents = {rdd},
                            .schema = rdd->schema,
                            .key_partitioned = true,
                            .partitioner_fixed = true,
                            .dependency = {.descending = !ascending}};
    return glint_with_partitions(rdd_create(rdd->g, &spec), partitions);
}

const struct op op_repartition_and_sort_within_partitions = {
    .name = "repartitionAndSortWithinPartitions", .kind = OP_WIDE};
