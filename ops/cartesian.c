/* cartesian: each element of one RDD with each element of the other, as (left, right). A task has
 * one partition of each: it reads the right one into a spool, which uses bounded memory, and reads
 * that again for each left element. So pairs are in Spark's order:
 *
 *     (l1, r1) (l1, r2) ... (l2, r1) (l2, r2) ... */
#include "engine/batch.h"
#include "ops/right_spool.h"

#include <assert.h>

static int cartesian_open(void *state, const struct op_open *o)
{
    return right_spool_open(state, o, "cartesian");
}

static enum flow emit_pairs_with_right_values(struct right_partition *s, struct glint_record *pair,
                                              struct glint_emitter *out)
{
    int r = task_check_cancelled(s->task);
    if (r == 0) r = spool_rewind(&s->values);
    while (r >= 0 && out->flow == FLOW_MORE &&
           (r = spool_next_value(&s->values, s->type, &pair->value)) > 0)
        glint_emit(out, pair);
    return r < 0 ? FLOW_FAIL : out->flow;
}

static enum flow cartesian_push(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    struct right_partition *s = state;
    enum flow flow = FLOW_MORE;
    assert(batch->key.type == GLINT_NONE);
    if (s->values.count == 0) return FLOW_MORE;
    out->in = batch; /* left values are passed on by reference */
    for (uint32_t row = 0; row < batch->rows && flow == FLOW_MORE; row++) {
        struct glint_record pair = {.key = glint_column_value(&batch->value, row)};
        flow = emit_pairs_with_right_values(s, &pair, out);
    }
    if (flow == FLOW_MORE) flow = emitter_flush(out);
    out->in = NULL;
    return flow;
}

const struct op op_cartesian = {.name = "cartesian",
                                .kind = OP_CARTESIAN,
                                .state_size = sizeof(struct right_partition),
                                .open = cartesian_open,
                                .push = cartesian_push,
                                .push_right = right_spool_push,
                                .close = right_spool_close};

struct glint_rdd *glint_cartesian(struct glint_rdd *left, struct glint_rdd *right)
{
    return right_spool_rdd(&op_cartesian, left, right);
}
