/* takeOrdered, top, min and max: the first records in order, by (key, value).
 *
 * A task keeps a heap of as many records as are asked for, the last in order at its root; a record
 * that does not go before the root is done with after one comparison. The driver puts what the
 * tasks kept through the same heap. */
#include "engine/data/codec.h"
#include "engine/data/pack.h"
#include "ops/keep.h"
#include "ops/ops.h"

#include <assert.h>

/* A heap of the first `want` records. */
struct ordered {
    struct glint_shape shape;
    uint64_t want; /* at least 1 */
    bool descending;
    struct keep keep;
};

static int compare(const struct ordered *h, struct glint_slice key, struct glint_slice value,
                   uint64_t i)
{
    int c = codec_compare(key, keep_key(&h->keep, i));
    if (c == 0) c = codec_compare(value, keep_value(&h->keep, i));
    return h->descending ? -c : c;
}

static bool goes_after(const struct ordered *h, uint64_t i, uint64_t j)
{
    return compare(h, keep_key(&h->keep, i), keep_value(&h->keep, i), j) > 0;
}

static void sift_up(struct ordered *h, uint64_t i)
{
    for (uint64_t up; i > 0 && goes_after(h, i, up = (i - 1) / 2); i = up)
        keep_swap(&h->keep, i, up);
}

static void sift_down(struct ordered *h, uint64_t i, uint64_t count)
{
    for (uint64_t down; (down = 2 * i + 1) < count; i = down) {
        if (down + 1 < count && goes_after(h, down + 1, down)) down++;
        if (!goes_after(h, down, i)) return;
        keep_swap(&h->keep, i, down);
    }
}

/* False without memory. */
static bool ordered_add(struct ordered *h, const struct glint_record *r)
{
    uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
    struct glint_slice key = codec_encode(h->shape.key, &r->key, key_number);
    struct glint_slice value = codec_encode(h->shape.value, &r->value, value_number);
    assert(h->want > 0 && h->keep.count <= h->want);
    if (h->keep.count < h->want) {
        if (!keep_set(&h->keep, h->keep.count, key, value)) return false;
        sift_up(h, h->keep.count - 1);
        return true;
    }
    if (compare(h, key, value, 0) >= 0) return true;
    if (!keep_set(&h->keep, 0, key, value)) return false;
    sift_down(h, 0, h->keep.count);
    return true;
}

/* From a heap to the order that was asked for. */
static void ordered_sort(struct ordered *h)
{
    assert(h->keep.count <= h->want);
    for (uint64_t left = h->keep.count; left > 1;) {
        keep_swap(&h->keep, 0, --left);
        sift_down(h, 0, left);
    }
}

static bool ordered_append(const struct ordered *h, struct buffer *out)
{
    for (uint64_t i = 0; i < h->keep.count; i++)
        if (!rows_append_bytes(out, h->shape, keep_key(&h->keep, i), keep_value(&h->keep, i)))
            return false;
    return true;
}

/* ---- The task's half */

struct ordered_state {
    struct glint_task *task;
    struct ordered heap;
};

static int ordered_open(void *state, const struct op_open *o)
{
    struct ordered_state *s = state;
    struct unpacker u;
    s->task = o->task;
    s->heap.shape = o->in;
    unpacker_init(&u, o->params);
    s->heap.want = unpack_u64(&u, UINT64_MAX);
    s->heap.descending = unpack_u64(&u, 1) != 0;
    bool sound = unpack_done(&u) && s->heap.want > 0;
    unpacker_fini(&u);
    if (sound) return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "an order's parameters do not parse");
}

static enum flow ordered_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    (void)out;
    struct ordered_state *s = state;
    assert(s->heap.want > 0);
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        if (ordered_add(&s->heap, &r)) continue;
        error_no_memory(&s->task->error);
        return FLOW_FAIL;
    }
    if (s->heap.keep.used <= s->task->options->result_bytes_max) return FLOW_MORE;
    rows_too_large(s->task);
    return FLOW_FAIL;
}

static int ordered_result(void *state, struct buffer *out)
{
    struct ordered_state *s = state;
    return ordered_append(&s->heap, out) ? 0 : error_no_memory(&s->task->error);
}

static void ordered_close(void *state)
{
    keep_fini(&((struct ordered_state *)state)->heap.keep);
}

#define ORDERED_OP(op_name)                                                                        \
    {                                                                                              \
        .name = op_name, .kind = OP_ACTION, .state_size = sizeof(struct ordered_state),            \
        .open = ordered_open, .push = ordered_push, .close = ordered_close,                        \
        .result = ordered_result                                                                   \
    }

const struct op op_take_ordered = ORDERED_OP("takeOrdered");
const struct op op_top = ORDERED_OP("top");
const struct op op_min = ORDERED_OP("min");
const struct op op_max = ORDERED_OP("max");

/* ---- The driver's half */

struct ordering {
    struct glint *g;
    const struct op *op;
    struct ordered heap;
};

static int ordered_take(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct ordering *o = arg;
    struct glint_record r;
    uint64_t at = 0;
    while (rows_next(result, &at, o->heap.shape, &r))
        if (!ordered_add(&o->heap, &r)) return error_no_memory(&o->g->error);
    if (o->heap.keep.used > o->g->config.result_bytes_max) return rows_over_limit(o->g);
    return at == result.size ? 0 : result_damaged(o->g, o->op);
}

static int ordered_rows(struct ordering *o, struct glint_rows *out)
{
    struct buffer rows = {NULL, 0, 0};
    ordered_sort(&o->heap);
    int r = ordered_append(&o->heap, &rows) ? 0 : error_no_memory(&o->g->error);
    if (r == 0) r = rows_take(o->g, out, (struct glint_slice){rows.data, rows.size});
    buffer_fini(&rows);
    return r;
}

static int ordered_run(struct glint_rdd *rdd, const struct op *op, uint64_t count, bool descending,
                       struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_missing(op->name);
    out->shape = rdd->shape;
    if (count == 0) return rdd->g->error.code;
    struct ordering o = {
        rdd->g, op, {.shape = rdd->shape, .want = count, .descending = descending}};
    struct packer p;
    packer_init(&p);
    pack_array(&p, 2);
    pack_u64(&p, count);
    pack_u64(&p, descending);
    struct action a = {.op = op,
                       .rdd = rdd,
                       .params = {p.out.data, p.out.size},
                       .on_result = ordered_take,
                       .arg = &o};
    int r = p.failed ? error_no_memory(&rdd->g->error) : action_run(&a);
    packer_fini(&p);
    if (r == 0) r = ordered_rows(&o, out);
    keep_fini(&o.heap.keep);
    if (r != 0) glint_rows_free(out);
    return r;
}

int glint_take_ordered(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out)
{
    return ordered_run(rdd, &op_take_ordered, count, false, out);
}

int glint_top(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out)
{
    return ordered_run(rdd, &op_top, count, true, out);
}

int glint_min(struct glint_rdd *rdd, struct glint_rows *out)
{
    int r = ordered_run(rdd, &op_min, 1, false, out);
    return r == 0 && out->count == 0 ? rows_none(rdd->g, out, "min") : r;
}

int glint_max(struct glint_rdd *rdd, struct glint_rows *out)
{
    int r = ordered_run(rdd, &op_max, 1, true, out);
    return r == 0 && out->count == 0 ? rows_none(rdd->g, out, "max") : r;
}
