/* groupWith: cogroup of any number of RDDs. */
#include "engine/records/codec.h"
#include "ops/ops.h"
#include "ops/sides.h"

struct glint_rdd *glint_group_with(struct glint_rdd *const *rdds, uint32_t count)
{
    const char *name = op_group_with.name;
    struct glint_rdd *sides[SIDES_MAX];
    for (uint32_t i = 0; i < count; i++)
        if (rdds[i] == NULL) return rdd_fail_null(name);
    if (count == 0) return rdd_fail_null(name);
    if (count > SIDES_MAX)
        return rdd_fail(rdds[0], GLINT_E_PLAN_LIMIT, "%s of %u RDDs; the limit is %u", name, count,
                        SIDES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (!rdd_is_pair(rdds[i]))
            return rdd_fail(rdds[i], GLINT_E_PLAN_TYPE, "%s needs keys", name);
        if (rdds[i]->schema.key != rdds[0]->schema.key)
            return rdd_fail(rdds[i], GLINT_E_PLAN_TYPE, "%s of keys of type %s and keys of type %s",
                            name, codec_type_name(rdds[0]->schema.key),
                            codec_type_name(rdds[i]->schema.key));
        sides[i] = side_tagged_rdd(rdds[i], i, false);
    }
    struct glint_rdd *all = sides_union(sides, count);
    if (all == NULL) return NULL;
    const struct rdd_spec spec = {.op = &op_group_with,
                                  .parents = {all},
                                  .schema = all->schema,
                                  .grouped = true,
                                  .key_partitioned = true};
    return rdd_create(all->g, &spec);
}

const struct op op_group_with = {.name = "groupWith", .kind = OP_WIDE};
