/* zip: the i-th element of one RDD with the i-th element of the other, as (left, right). Partitions
 * are zipped one by one: their numbers, and the number of elements in each, must be equal.
 *
 * The right partition is read into a spool, which uses bounded memory, and the left one is streamed
 * past it. */
#include "engine/batch.h"
#include "ops/right_spool.h"

#include <assert.h>

struct zip_pairs_state {
    struct right_partition right; /* must be first: right_spool_push casts to it */
    bool rewound;
};

static int zip_pairs_open(void *state, const struct op_open *o)
{
    return right_spool_open(&((struct zip_pairs_state *)state)->right, o, "zip");
}

/* Returns 1 with the next right value, 0 after the last one, or a code. */
static int next_right_value(struct zip_pairs_state *s, union glint_value *out)
{
    if (!s->rewound) {
        s->rewound = true;
        int r = spool_rewind(&s->right.values);
        if (r < 0) return r;
    }
    return spool_next_value(&s->right.values, s->right.type, out);
}

static enum flow set_counts_differ_error(struct zip_pairs_state *s, const char *which)
{
    error_set(&s->right.task->error, GLINT_E_PLAN_ARGUMENT,
              "zip needs equally many elements in each partition, as after map; else number the "
              "elements (zipWithIndex) and join",
              "zip: partition %u has more elements in the %s RDD", s->right.task->partition, which);
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
        const int r = next_right_value(s, &pair.value);
        if (r < 0) return FLOW_FAIL;
        if (r == 0) return set_counts_differ_error(s, "left");
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
    const int r = next_right_value(s, &value);
    if (r > 0) return set_counts_differ_error(s, "right");
    return r == 0 ? FLOW_MORE : FLOW_FAIL;
}

const struct op op_zip = {.name = "zip",
                          .kind = OP_ZIP,
                          .state_size = sizeof(struct zip_pairs_state),
                          .open = zip_pairs_open,
                          .push = zip_pairs_push,
                          .push_right = right_spool_push,
                          .finish = zip_pairs_finish,
                          .close = right_spool_close};

struct glint_rdd *glint_zip(struct glint_rdd *left, struct glint_rdd *right)
{
    return right_spool_rdd(&op_zip, left, right);
}
