/* takeOrdered, top, min and max: return the first records ordered by (key, value).
 *
 * A task keeps a heap of the `count` best records with the worst at its root, so a record that does
 * not sort before the root is dropped after one comparison. The driver merges the tasks' results
 * with the same heap. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/ops.h"
#include "ops/record_pool.h"

#include <assert.h>

/* A heap of the first `limit` records. */
struct ordered_heap {
    struct glint_schema schema;
    uint64_t limit; /* at least 1 */
    bool descending;
    struct record_pool records;
};

static int compare_to_heap_item(const struct ordered_heap *h, struct glint_slice key,
                                struct glint_slice value, uint64_t i)
{
    int c = codec_compare(key, record_pool_key(&h->records, i));
    if (c == 0) c = codec_compare(value, record_pool_value(&h->records, i));
    return h->descending ? -c : c;
}

static bool heap_item_comes_after(const struct ordered_heap *h, uint64_t i, uint64_t j)
{
    return compare_to_heap_item(h, record_pool_key(&h->records, i),
                                record_pool_value(&h->records, i), j) > 0;
}

static void ordered_heap_sift_up(struct ordered_heap *h, uint64_t i)
{
    for (uint64_t up; i > 0 && heap_item_comes_after(h, i, up = (i - 1) / 2); i = up)
        record_pool_swap(&h->records, i, up);
}

static void ordered_heap_sift_down(struct ordered_heap *h, uint64_t i, uint64_t count)
{
    for (uint64_t down; (down = 2 * i + 1) < count; i = down) {
        if (down + 1 < count && heap_item_comes_after(h, down + 1, down)) down++;
        if (!heap_item_comes_after(h, down, i)) return;
        record_pool_swap(&h->records, i, down);
    }
}

/* Returns false when out of memory. */
static bool ordered_heap_add(struct ordered_heap *h, const struct glint_record *r)
{
    uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
    struct glint_slice key = codec_encode(h->schema.key, &r->key, key_number);
    struct glint_slice value = codec_encode(h->schema.value, &r->value, value_number);
    assert(h->limit > 0 && h->records.count <= h->limit);
    if (h->records.count < h->limit) {
        if (!record_pool_set(&h->records, h->records.count, key, value)) return false;
        ordered_heap_sift_up(h, h->records.count - 1);
        return true;
    }
    /* Not before the worst record that is kept. */
    if (compare_to_heap_item(h, key, value, 0) >= 0) return true;
    if (!record_pool_set(&h->records, 0, key, value)) return false;
    ordered_heap_sift_down(h, 0, h->records.count);
    return true;
}

/* Heap sort: turns the heap into the requested order. */
static void ordered_heap_sort(struct ordered_heap *h)
{
    assert(h->records.count <= h->limit);
    for (uint64_t left = h->records.count; left > 1;) {
        record_pool_swap(&h->records, 0, --left);
        ordered_heap_sift_down(h, 0, left);
    }
}

static bool ordered_heap_append_rows(const struct ordered_heap *h, struct buffer *out)
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
    struct ordered_heap heap;
};

static int take_ordered_open(void *state, const struct op_open *o)
{
    struct ordered_state *s = state;
    s->task = o->task;
    s->heap.schema = o->in;
    struct unpacker u = unpack_begin(o->params);
    s->heap.limit = unpack_u64(&u, UINT64_MAX);
    s->heap.descending = unpack_u64(&u, 1) != 0;
    return op_end_params(o, unpack_is_complete(&u) && s->heap.limit > 0,
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
        if (ordered_heap_add(&s->heap, &r)) continue;
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
    return ordered_heap_append_rows(&s->heap, out) ? 0 : error_no_memory(&s->task->error);
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
    struct ordered_heap heap;
};

static int take_ordered_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct ordering *o = arg;
    struct glint_record r;
    uint64_t at = 0;
    while (result_rows_next(result, &at, o->heap.schema, &r))
        if (!ordered_heap_add(&o->heap, &r)) return error_no_memory(&o->g->error);
    if (o->heap.records.used > o->g->config.result_bytes_max)
        return result_rows_set_action_limit(o->g);
    return at == result.size ? 0 : set_malformed_result_error(o->g, o->op);
}

static int take_ordered_rows(struct ordering *o, struct glint_rows *out)
{
    struct buffer rows = {NULL, 0, 0};
    ordered_heap_sort(&o->heap);
    int r = ordered_heap_append_rows(&o->heap, &rows) ? 0 : error_no_memory(&o->g->error);
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
    struct action a = {.op = op,
                       .rdd = rdd,
                       .params = {p.out.data, p.out.size},
                       .on_result = take_ordered_on_result,
                       .arg = &o};
    int r = p.failed ? error_no_memory(&rdd->g->error) : run_action_of_rdd(&a);
    packer_fini(&p);
    if (r == 0) r = take_ordered_rows(&o, out);
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
