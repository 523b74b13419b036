/* zipPartitions: a function gets the records of partition p of one RDD, then those of partition p
 * of the other. Each value is [side, value], as in cogroup. Both are streamed: the operator's left
 * parent, which is read last, is the second RDD. */
#include "engine/batch.h"
#include "ops/ops.h"
#include "ops/sides.h"

static enum flow zip_partitions_push(void *state, const struct glint_batch *batch,
                                     struct glint_emitter *out)
{
    (void)state;
    glint_emit_batch(out, batch);
    return out->flow;
}

const struct op op_zip_partitions = {.name = "zipPartitions",
                                     .kind = OP_ZIP,
                                     .push = zip_partitions_push,
                                     .push_right = zip_partitions_push};

struct glint_rdd *glint_zip_partitions(struct glint_rdd *a, struct glint_rdd *b,
                                       const struct glint_function *function,
                                       struct glint_args *args)
{
    if (a == NULL || b == NULL) return rdd_fail_null("zipPartitions");
    if (a->schema.key != b->schema.key)
        return rdd_fail(a, GLINT_E_PLAN_TYPE, "zipPartitions needs keys of one type, or no keys");
    a = side_tagged_rdd(a, SIDE_LEFT, false);
    b = side_tagged_rdd(b, SIDE_RIGHT, false);
    if (a == NULL || b == NULL) return NULL;
    const struct rdd_spec spec = {.op = &op_zip_partitions, .parents = {b, a}, .schema = a->schema};
    struct glint_rdd *both = rdd_create(a->g, &spec);
    return both != NULL ? glint_map_partitions(both, function, args) : NULL;
}
