/* What zip and cartesian share: a task keeps the right partition in a spool, which uses bounded
 * memory, and then streams the left one past it. */
#ifndef GLINT_OPS_RIGHT_SPOOL_H
#define GLINT_OPS_RIGHT_SPOOL_H

#include "ops/ops.h"
#include "ops/spool.h"

/* First member of the state of such an operator, with its `push_right` and `close`. */
struct right_partition {
    struct glint_task *task;
    enum glint_type type; /* of the right values */
    struct spool values;
};
/* Opens it for an operator of this name that emits (left, right). Returns 0, or PROTOCOL with the
 * task's error set if the types are others. */
int right_spool_open(struct right_partition *s, const struct op_open *o, const char *name);
enum flow right_spool_push(void *state, const struct glint_batch *batch, struct glint_emitter *out);
void right_spool_close(void *state);
/* Creates the operator's RDD: (left, right); a pair becomes an array [key, value]. Returns NULL
 * with the error set. */
struct glint_rdd *right_spool_rdd(const struct op *op, struct glint_rdd *left,
                                  struct glint_rdd *right);

#endif
