/* See right_spool.h. */
#include "ops/right_spool.h"

#include "engine/batch.h"
#include "ops/pair_pack.h"

#include <assert.h>

int right_spool_open(struct right_partition *s, const struct op_open *o, const char *name)
{
    s->task = o->task;
    s->type = o->right.value;
    spool_init(&s->values, o->task);
    if (o->in.key == GLINT_NONE && o->right.key == GLINT_NONE && o->out.key == o->in.value &&
        o->out.value == o->right.value)
        return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "%s of other types than promised",
                     name);
}

enum flow right_spool_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    struct right_partition *s = state;
    (void)out;
    assert(batch->key.type == GLINT_NONE && batch->value.type == s->type);
    return spool_add_values(&s->values, batch) == 0 ? FLOW_MORE : FLOW_FAIL;
}

void right_spool_close(void *state)
{
    spool_fini(&((struct right_partition *)state)->values);
}

struct glint_rdd *right_spool_rdd(const struct op *op, struct glint_rdd *left,
                                  struct glint_rdd *right)
{
    if (left == NULL || right == NULL) return rdd_fail_null(op->name);
    left = pair_pack_rdd(left);
    right = pair_pack_rdd(right);
    if (left == NULL || right == NULL) return NULL;
    const struct rdd_spec spec = {
        .op = op, .parents = {left, right}, .schema = {left->schema.value, right->schema.value}};
    return rdd_create(left->g, &spec);
}
