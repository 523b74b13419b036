/* The reading half of joins: groups in, [left, right] out. The four joins differ in what becomes of
 * a value that meets none. */
#ifndef GLINT_OPS_JOIN_PAIRS_H
#define GLINT_OPS_JOIN_PAIRS_H

#include "ops/ops.h"

/* The plan of a join whose shuffle is `wide`. */
struct glint_rdd *join_rdd(const struct op *shuffle_op, struct glint_rdd *left,
                           struct glint_rdd *right, bool keep_left, bool keep_right);

#endif
