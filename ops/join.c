/* join: pairs each left value of a key with each right value. */
#include "ops/join_pairs.h"
#include "ops/sides.h"

struct glint_rdd *glint_join(struct glint_rdd *left, struct glint_rdd *right)
{
    return join_rdd(&op_join, left, right, false, false);
}

const struct op op_join = {.name = "join", .kind = OP_WIDE, .needs_match = sides_is_left};
