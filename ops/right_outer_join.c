/* rightOuterJoin: join, and the unmatched right values. */
#include "ops/join_pairs.h"
#include "ops/sides.h"

struct glint_rdd *glint_right_outer_join(struct glint_rdd *left, struct glint_rdd *right)
{
    return join_rdd(&op_right_outer_join, left, right, false, true);
}

const struct op op_right_outer_join = {
    .name = "rightOuterJoin", .kind = OP_WIDE, .needs_match = sides_is_left};
