/* union: the partitions of one RDD, then those of another; or if both are partitioned alike, each
 * partition of one with the same one of the other. No executor code: a task walks through it to the
 * partitions that it reads. */
#include "engine/records/codec.h"
#include "ops/ops.h"

static struct glint_rdd *create_union(struct glint_rdd *a, struct glint_rdd *b, bool by_partition)
{
    if (a == NULL || b == NULL) return rdd_fail_null("union");
    if (a->schema.key != b->schema.key || a->schema.value != b->schema.value)
        return rdd_fail(a, GLINT_E_PLAN_TYPE, "union of (%s, %s) and (%s, %s)",
                        codec_type_name(a->schema.key), codec_type_name(a->schema.value),
                        codec_type_name(b->schema.key), codec_type_name(b->schema.value));
    /* Groups of a key in both would not be adjacent in one partition, so a grouped union keeps the
     * partitions of both. */
    const bool grouped = a->grouped && b->grouped;
    if (grouped && by_partition)
        return rdd_fail(a, GLINT_E_PLAN_ARGUMENT, "union: both RDDs have groups of values by key");
    struct rdd_spec spec = {.op = &op_union,
                            .parents = {a, b},
                            .schema = a->schema,
                            .grouped = grouped,
                            .key_partitioned = !by_partition && !grouped &&
                                               a->key_partitioned && b->key_partitioned};
    struct glint_rdd *both = rdd_create(a->g, &spec);
    if (both != NULL) both->narrow = by_partition;
    return both;
}

struct glint_rdd *glint_union(struct glint_rdd *a, struct glint_rdd *b)
{
    return create_union(a, b, false);
}

struct glint_rdd *glint_union_partitions(struct glint_rdd *a, struct glint_rdd *b)
{
    return create_union(a, b, true);
}

const struct op op_union = {.name = "union", .kind = OP_UNION};
