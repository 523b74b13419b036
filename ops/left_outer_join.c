/* leftOuterJoin: join, and the unmatched left values. */
#include "ops/join_pairs.h"

struct glint_rdd *glint_left_outer_join(struct glint_rdd *left, struct glint_rdd *right)
{
    return join_rdd(&op_left_outer_join, left, right, true, false);
}

const struct op op_left_outer_join = {.name = "leftOuterJoin", .kind = OP_WIDE};
