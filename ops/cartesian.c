/* cartesian: each element of one RDD with each element of the other, as (left, right). A task has
 * one partition of each: it reads the right one into a spool, which uses bounded memory, and reads
 * that again for each left element. So pairs are in Spark's order:
 *
 *     (l1, r1) (l1, r2) ... (l2, r1) (l2, r2) ... */
#include "engine/batch.h"
#include "engine/data/codec.h"
#include "ops/ops.h"
#include "ops/spool.h"

#include <assert.h>

struct cartesian_state {
    struct glint_task *task;
    enum glint_type right_type;
    struct spool right;
};

static int cartesian_open(void *state, const struct op_open *o)
{
    struct cartesian_state *s = state;
    s->task = o->task;
    s->right_type = o->right.value;
    spool_init(&s->right, o->task);
    if (o->in.key == GLINT_NONE && o->right.key == GLINT_NONE && o->out.key == o->in.value &&
        o->out.value == o->right.value)
        return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL,
                     "cartesian of other types than promised");
}

static enum flow cartesian_push_right(void *state, const struct glint_batch *batch,
                                      struct glint_emitter *out)
{
    (void)out;
    return spool_add_values(&((struct cartesian_state *)state)->right, batch) == 0 ? FLOW_MORE
                                                                                   : FLOW_FAIL;
}

static enum flow pair_with_all(struct cartesian_state *s, struct glint_record *pair,
                               struct glint_emitter *out)
{
    int r = spool_rewind(&s->right);
    if (task_is_cancelled(s->task))
        r = error_set(&s->task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    while (r >= 0 && out->flow == FLOW_MORE &&
           (r = spool_next_value(&s->right, s->right_type, &pair->value)) > 0)
        glint_emit(out, pair);
    return r < 0 ? FLOW_FAIL : out->flow;
}

static enum flow cartesian_push(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    struct cartesian_state *s = state;
    enum flow flow = FLOW_MORE;
    assert(batch->key.type == GLINT_NONE);
    if (s->right.count == 0) return FLOW_MORE;
    out->in = batch; /* left values are passed on by reference */
    for (uint32_t row = 0; row < batch->rows && flow == FLOW_MORE; row++) {
        struct glint_record pair = {.key = glint_column_value(&batch->value, row)};
        flow = pair_with_all(s, &pair, out);
    }
    if (flow == FLOW_MORE) flow = emitter_flush(out);
    out->in = NULL;
    return flow;
}

static void cartesian_close(void *state)
{
    spool_fini(&((struct cartesian_state *)state)->right);
}

const struct op op_cartesian = {.name = "cartesian",
                                .kind = OP_CARTESIAN,
                                .state_size = sizeof(struct cartesian_state),
                                .open = cartesian_open,
                                .push = cartesian_push,
                                .push_right = cartesian_push_right,
                                .close = cartesian_close};

struct glint_rdd *glint_cartesian(struct glint_rdd *left, struct glint_rdd *right)
{
    if (left == NULL || right == NULL) return rdd_fail_null("cartesian");
    if (rdd_is_pair(left) || rdd_is_pair(right))
        return rdd_fail(left, GLINT_E_PLAN_TYPE, "cartesian needs single elements, not pairs");
    const struct rdd_spec spec = {.op = &op_cartesian,
                                  .parents = {left, right},
                                  .schema = {left->schema.value, right->schema.value}};
    return rdd_create(left->g, &spec);
}
