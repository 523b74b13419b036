/* collect and collectEach: return all records to the driver, in order of the partitions. */
#include "engine/batch.h"
#include "ops/ops.h"

#include <assert.h>

struct collect_state {
    struct result_rows_state rows; /* must be first: result_rows_state_* cast to it */
    struct glint_task *task;
    struct glint_schema schema;
};

static int collect_open(void *state, const struct op_open *o)
{
    struct collect_state *s = state;
    s->task = o->task;
    s->schema = o->in;
    return 0;
}

static enum flow collect_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    (void)out;
    struct collect_state *s = state;
    assert(batch->key.type == s->schema.key && batch->value.type == s->schema.value);
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        if (!result_rows_append_limited(s->task, &s->rows.bytes, s->schema, &r)) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

const struct op op_collect = {.name = "collect",
                              .kind = OP_ACTION,
                              .state_size = sizeof(struct collect_state),
                              .open = collect_open,
                              .push = collect_push,
                              .close = result_rows_state_close,
                              .result = result_rows_state_result};

struct collecting {
    struct glint *g;
    struct glint_rows *rows;
};

static int collect_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct collecting *c = arg;
    return result_rows_add_partition(c->g, c->rows, result);
}

int glint_collect(struct glint_rdd *rdd, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error("collect");
    out->schema = rdd->schema;
    struct collecting c = {rdd->g, out};
    struct action a = {.op = &op_collect, .rdd = rdd, .on_result = collect_on_result, .arg = &c};
    int r = run_action_of_rdd(&a);
    if (r != 0) glint_rows_free(out);
    return r;
}

/* collectEach passes each partition's rows on when it is complete, and does not keep them. */
struct each_collecting {
    struct glint_rdd *rdd;
    int (*row)(void *arg, const struct glint_record *record);
    void *arg;
};

static int collect_each_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    const struct each_collecting *e = arg;
    struct glint_record r;
    uint64_t at = 0;
    while (result_rows_next(result, &at, e->rdd->schema, &r)) {
        int returned = e->row(e->arg, &r);
        if (returned != 0) return returned;
    }
    /* result_rows_next also returns false for malformed rows. */
    if (at == result.size) return 0;
    return error_set(&e->rdd->g->error, GLINT_E_PROTOCOL, NULL, "cannot decode a task's rows");
}

int glint_collect_each(struct glint_rdd *rdd,
                       int (*row)(void *arg, const struct glint_record *record), void *arg)
{
    if (rdd == NULL) return rdd_null_error("collect");
    struct each_collecting e = {rdd, row, arg};
    struct action a = {
        .op = &op_collect, .rdd = rdd, .on_result = collect_each_on_result, .arg = &e};
    return run_action_of_rdd(&a);
}
