/* collect and its kin: all records come back to the driver, in order of the partitions. */
#include "ops/ops.h"

#include <assert.h>

struct collect_state {
    struct rows_state rows; /* first */
    struct glint_task *task;
    struct glint_shape shape;
};

static int collect_open(void *state, const struct op_open *o)
{
    struct collect_state *s = state;
    s->task = o->task;
    s->shape = o->in;
    return 0;
}

static enum flow collect_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    (void)out;
    struct collect_state *s = state;
    assert(batch->key.type == s->shape.key && batch->value.type == s->shape.value);
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        if (!rows_gather(s->task, &s->rows.bytes, s->shape, &r)) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

const struct op op_collect = {.name = "collect",
                              .kind = OP_ACTION,
                              .state_size = sizeof(struct collect_state),
                              .open = collect_open,
                              .push = collect_push,
                              .close = rows_state_close,
                              .result = rows_state_result};

struct collecting {
    struct glint *g;
    struct glint_rows *rows;
};

static int collect_take(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct collecting *c = arg;
    return rows_take(c->g, c->rows, result);
}

int glint_collect(struct glint_rdd *rdd, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_missing("collect");
    out->shape = rdd->shape;
    struct collecting c = {rdd->g, out};
    struct action a = {.op = &op_collect, .rdd = rdd, .on_result = collect_take, .arg = &c};
    int r = action_run(&a);
    if (r != 0) glint_rows_free(out);
    return r;
}

struct each {
    struct glint_rdd *rdd;
    int (*row)(void *arg, const struct glint_record *record);
    void *arg;
};

static int each_take(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    const struct each *e = arg;
    struct glint_record r;
    uint64_t at = 0;
    while (rows_next(result, &at, e->rdd->shape, &r)) {
        int answer = e->row(e->arg, &r);
        if (answer != 0) return answer;
    }
    if (at == result.size) return 0;
    return error_set(&e->rdd->g->error, GLINT_E_PROTOCOL, NULL, "a task's rows do not parse");
}

int glint_collect_each(struct glint_rdd *rdd,
                       int (*row)(void *arg, const struct glint_record *record), void *arg)
{
    if (rdd == NULL) return rdd_missing("collect");
    struct each e = {rdd, row, arg};
    struct action a = {.op = &op_collect, .rdd = rdd, .on_result = each_take, .arg = &e};
    return action_run(&a);
}
