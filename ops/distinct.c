/* distinct: keeps one of each set of equal records. A shuffle compares only keys, so the whole
 * record is packed into the key before the shuffle, and unpacked after it. */
#include "ops/record_key.h"

struct glint_rdd *glint_distinct(struct glint_rdd *rdd)
{
    struct glint_rdd *packed = record_key_packed_rdd(rdd, op_distinct.name, 0);
    if (packed == NULL) return NULL;
    /* COMBINE_FIRST drops duplicates on the map side already, before they are shuffled. */
    struct rdd_spec spec = {.op = &op_distinct,
                            .parents = {packed},
                            .schema = packed->schema,
                            .dependency = {.combine = COMBINE_FIRST}};
    struct glint_rdd *set = rdd_create(packed->g, &spec);
    return record_key_unpacked_rdd(set, rdd->schema, set);
}

const struct op op_distinct = {.name = "distinct", .kind = OP_WIDE};
