/* fullOuterJoin: join, and the unmatched values of both sides. */
#include "ops/join_pairs.h"

struct glint_rdd *glint_full_outer_join(struct glint_rdd *left, struct glint_rdd *right)
{
    return join_rdd(&op_full_outer_join, left, right, true, true);
}

const struct op op_full_outer_join = {.name = "fullOuterJoin", .kind = OP_WIDE};
