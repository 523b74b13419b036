/* takeOrdered, top, min and max: return the first records ordered by (key, value).
 *
 * A task keeps a heap of the `count` best records with the worst at its root, so a record that does
 * not sort before the root is dropped after one comparison. The driver merges the tasks' results
 * with the same heap. */
#include "engine/batch.h"
#include "engine/records/pack.h"
#include "ops/ops.h"
#include "ops/record_pool.h"

#include <assert.h>

static bool append_heap_rows(const struct record_heap *h, struct buffer *out)
{
    for (uint64_t i = 0; i < h->records.count; i++)
        if (!result_rows_append_bytes(out, h->schema, record_pool_key(&h->records, i),
                                      record_pool_value(&h->records, i)))
            return false;
    return true;
}

/* ---- Executor side */

struct ordered_state {
    struct glint_task *task;
    struct record_heap heap;
};

static int take_ordered_open(void *state, const struct op_open *o)
{
    struct ordered_state *s = state;
    s->task = o->task;
    s->heap.schema = o->in;
    struct unpacker u = unpack_begin(o->params);
    s->heap.limit = unpack_u64(&u, UINT64_MAX);
    s->heap.descending = unpack_u64(&u, 1) != 0;
    return op_check_params(o, unpack_is_complete(&u) && s->heap.limit > 0,
                           "the parameters of takeOrdered");
}

static enum flow take_ordered_push(void *state, const struct glint_batch *batch,
                                   struct glint_emitter *out)
{
    (void)out;
    struct ordered_state *s = state;
    assert(s->heap.limit > 0);
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        if (record_heap_add(&s->heap, &r)) continue;
        error_no_memory(&s->task->error);
        return FLOW_FAIL;
    }
    /* `count` bounds the number of records, not their size. */
    if (s->heap.records.used <= s->task->options->result_bytes_max) return FLOW_MORE;
    result_rows_set_task_limit(s->task);
    return FLOW_FAIL;
}

static int take_ordered_result(void *state, struct buffer *out)
{
    struct ordered_state *s = state;
    return append_heap_rows(&s->heap, out) ? 0 : error_no_memory(&s->task->error);
}

static void take_ordered_close(void *state)
{
    record_pool_fini(&((struct ordered_state *)state)->heap.records);
}

#define ORDERED_OP(op_name)                                                                        \
    {                                                                                              \
        .name = op_name, .kind = OP_ACTION, .state_size = sizeof(struct ordered_state),            \
        .open = take_ordered_open, .push = take_ordered_push, .close = take_ordered_close,         \
        .result = take_ordered_result                                                              \
    }

const struct op op_take_ordered = ORDERED_OP("takeOrdered");
const struct op op_top = ORDERED_OP("top");
const struct op op_min = ORDERED_OP("min");
const struct op op_max = ORDERED_OP("max");

/* ---- Driver side */

struct ordering {
    struct glint *g;
    const struct op *op;
    struct record_heap heap;
};

static int take_ordered_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct ordering *o = arg;
    struct glint_record r;
    uint64_t at = 0;
    while (result_rows_next(result, &at, o->heap.schema, &r))
        if (!record_heap_add(&o->heap, &r)) return error_no_memory(&o->g->error);
    if (o->heap.records.used > o->g->config.result_bytes_max)
        return result_rows_set_action_limit(o->g);
    return at == result.size ? 0 : set_malformed_result_error(o->g, o->op);
}

static int write_sorted_heap_to_rows(struct ordering *o, struct glint_rows *out)
{
    struct buffer rows = {NULL, 0, 0};
    record_heap_sort(&o->heap);
    int r = append_heap_rows(&o->heap, &rows) ? 0 : error_no_memory(&o->g->error);
    if (r == 0)
        r = result_rows_add_partition(o->g, out, (struct glint_slice){rows.data, rows.size});
    buffer_fini(&rows);
    return r;
}

static int run_take_ordered(struct glint_rdd *rdd, const struct op *op, uint64_t count,
                            bool descending, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error(op->name);
    out->schema = rdd->schema;
    if (count == 0) return rdd->g->error.code;
    struct ordering o = {
        rdd->g, op, {.schema = rdd->schema, .limit = count, .descending = descending}};
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_u64(&p, count);
    pack_u64(&p, descending);
    struct action a = {.op = op, .rdd = rdd, .on_result = take_ordered_on_result, .arg = &o};
    int r = run_packed_action(&a, &p);
    if (r == 0) r = write_sorted_heap_to_rows(&o, out);
    record_pool_fini(&o.heap.records);
    if (r != 0) glint_rows_free(out);
    return r;
}

int glint_take_ordered(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out)
{
    return run_take_ordered(rdd, &op_take_ordered, count, false, out);
}

int glint_top(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out)
{
    return run_take_ordered(rdd, &op_top, count, true, out);
}

int glint_min(struct glint_rdd *rdd, struct glint_rows *out)
{
    int r = run_take_ordered(rdd, &op_min, 1, false, out);
    return r == 0 && out->count == 0 ? result_rows_fail_empty(rdd->g, out, "min") : r;
}

int glint_max(struct glint_rdd *rdd, struct glint_rows *out)
{
    int r = run_take_ordered(rdd, &op_max, 1, true, out);
    return r == 0 && out->count == 0 ? result_rows_fail_empty(rdd->g, out, "max") : r;
}
