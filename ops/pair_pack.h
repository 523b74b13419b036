/* pair_pack: a record (key, value) as one element, the msgpack array [key, value], for operators of
 * single elements that accept pairs, too. glint_pair decodes it. */
#ifndef GLINT_OPS_PAIR_PACK_H
#define GLINT_OPS_PAIR_PACK_H

#include "ops/ops.h"

/* Returns an RDD of single elements: `rdd` itself, or its records packed; NULL with the error set.
 */
struct glint_rdd *pair_pack_rdd(struct glint_rdd *rdd);

#endif
