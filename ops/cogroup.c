/* cogroup: makes the records of a key from both sides adjacent, the left side first. Nothing is
 * collected: the next operator receives [side, value] as a stream. */
#include "ops/sides.h"

struct glint_rdd *glint_cogroup(struct glint_rdd *left, struct glint_rdd *right)
{
    struct sides_spec sides = {.shuffle_op = &op_cogroup,
                               .left = left,
                               .right = right,
                               .first = SIDE_LEFT,
                               .grouped = true};
    return side_tagged_union_rdd(&sides);
}

const struct op op_cogroup = {.name = "cogroup", .kind = OP_WIDE};
