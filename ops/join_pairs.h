/* The reduce side of joins: turns groups into [left, right] pairs. The four joins differ only in
 * whether they keep the unmatched values of a side. */
#ifndef GLINT_OPS_JOIN_PAIRS_H
#define GLINT_OPS_JOIN_PAIRS_H

#include "ops/ops.h"

/* Makes the RDDs of a join; `shuffle_op` is its wide operator. keep_left and keep_right: also emit
 * unmatched values of that side, paired with nil. Returns NULL with the error set. */
struct glint_rdd *join_rdd(const struct op *shuffle_op, struct glint_rdd *left,
                           struct glint_rdd *right, bool keep_left, bool keep_right);

#endif
