/* zip: the i-th element of one RDD with the i-th element of the other, as (left, right). Partitions
 * are zipped one by one: their numbers, and the number of elements in each, must be equal.
 *
 * The right partition is read into a spool, which uses bounded memory, and the left one is streamed
 * past it. */
#include "engine/batch.h"
#include "engine/data/codec.h"
#include "ops/ops.h"
#include "ops/spool.h"

#include <assert.h>

struct zip_pairs_state {
    struct glint_task *task;
    enum glint_type right_type;
    bool rewound;
    struct spool right;
};

static int zip_pairs_open(void *state, const struct op_open *o)
{
    struct zip_pairs_state *s = state;
    s->task = o->task;
    s->right_type = o->right.value;
    spool_init(&s->right, o->task);
    if (o->in.key == GLINT_NONE && o->right.key == GLINT_NONE && o->out.key == o->in.value &&
        o->out.value == o->right.value)
        return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "zip of other types than promised");
}

static enum flow zip_pairs_push_right(void *state, const struct glint_batch *batch,
                                      struct glint_emitter *out)
{
    (void)out;
    return spool_add_values(&((struct zip_pairs_state *)state)->right, batch) == 0 ? FLOW_MORE
                                                                                   : FLOW_FAIL;
}

/* Returns 1 with the next right value, 0 after the last one, or a code. */
static int next_right(struct zip_pairs_state *s, union glint_value *out)
{
    if (!s->rewound) {
        s->rewound = true;
        int r = spool_rewind(&s->right);
        if (r < 0) return r;
    }
    return spool_next_value(&s->right, s->right_type, out);
}

static enum flow set_counts_differ(struct zip_pairs_state *s, const char *which)
{
    error_set(&s->task->error, GLINT_E_PLAN_ARGUMENT,
              "zip needs equally many elements in each partition, as after map; else number the "
              "elements (zipWithIndex) and join",
              "zip: partition %u has more elements in the %s RDD", s->task->partition, which);
    return FLOW_FAIL;
}

static enum flow zip_pairs_push(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    struct zip_pairs_state *s = state;
    assert(batch->key.type == GLINT_NONE);
    out->in = batch; /* left values are passed on by reference */
    for (uint32_t row = 0; row < batch->rows && out->flow == FLOW_MORE; row++) {
        struct glint_record pair = {.key = glint_column_value(&batch->value, row)};
        const int r = next_right(s, &pair.value);
        if (r < 0) return FLOW_FAIL;
        if (r == 0) return set_counts_differ(s, "left");
        glint_emit(out, &pair);
    }
    emitter_flush(out);
    out->in = NULL;
    return out->flow;
}

static enum flow zip_pairs_finish(void *state, struct glint_emitter *out)
{
    struct zip_pairs_state *s = state;
    union glint_value value;
    if (out->flow != FLOW_MORE) return out->flow; /* nothing more was wanted */
    const int r = next_right(s, &value);
    if (r > 0) return set_counts_differ(s, "right");
    return r == 0 ? FLOW_MORE : FLOW_FAIL;
}

static void zip_pairs_close(void *state)
{
    spool_fini(&((struct zip_pairs_state *)state)->right);
}

const struct op op_zip = {.name = "zip",
                          .kind = OP_ZIP,
                          .state_size = sizeof(struct zip_pairs_state),
                          .open = zip_pairs_open,
                          .push = zip_pairs_push,
                          .push_right = zip_pairs_push_right,
                          .finish = zip_pairs_finish,
                          .close = zip_pairs_close};

struct glint_rdd *glint_zip(struct glint_rdd *left, struct glint_rdd *right)
{
    if (left == NULL || right == NULL) return rdd_fail_null("zip");
    if (rdd_is_pair(left) || rdd_is_pair(right))
        return rdd_fail(left, GLINT_E_PLAN_TYPE, "zip needs single elements, not pairs");
    const struct rdd_spec spec = {.op = &op_zip,
                                  .parents = {left, right},
                                  .schema = {left->schema.value, right->schema.value}};
    return rdd_create(left->g, &spec);
}
