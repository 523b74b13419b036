/* sum: i64 values wrap around; f64 values are added in a fixed order, each partition from first to
 * last record, then the sums of the partitions, so that the result is always the same. */
#include "engine/batch.h"
#include "engine/data/codec.h"
#include "ops/ops.h"

#include <assert.h>

struct sum_state {
    struct glint_task *task;
    enum glint_type type;
    union glint_value sum;
};

static int sum_open(void *state, const struct op_open *o)
{
    struct sum_state *s = state;
    s->task = o->task;
    s->type = o->in.value;
    s->sum = (union glint_value){.i64 = 0}; /* also 0.0 */
    return 0;
}

static void sum_add(enum glint_type type, union glint_value *sum, const union glint_value *v)
{
    assert(type == GLINT_I64 || type == GLINT_F64);
    if (type == GLINT_I64)
        sum->i64 = (int64_t)((uint64_t)sum->i64 + (uint64_t)v->i64);
    else
        sum->f64 += v->f64;
}

static enum flow sum_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    struct sum_state *s = state;
    if (s->type == GLINT_I64) {
        uint64_t sum = 0;
        for (uint32_t row = 0; row < batch->rows; row++) sum += (uint64_t)batch->value.i64[row];
        sum_add(s->type, &s->sum, &(union glint_value){.i64 = (int64_t)sum});
    } else {
        double sum = s->sum.f64;
        for (uint32_t row = 0; row < batch->rows; row++) sum += batch->value.f64[row];
        s->sum.f64 = sum;
    }
    return FLOW_MORE;
}

static int sum_result(void *state, struct buffer *out)
{
    struct sum_state *s = state;
    uint8_t scratch[CODEC_NUMBER_BYTES];
    struct glint_slice bytes = codec_encode(s->type, &s->sum, scratch);
    if (buffer_append(out, bytes.data, bytes.size)) return 0;
    return error_no_memory(&s->task->error);
}

const struct op op_sum = {.name = "sum",
                          .kind = OP_ACTION,
                          .state_size = sizeof(struct sum_state),
                          .open = sum_open,
                          .push = sum_push,
                          .result = sum_result};

struct summing {
    struct glint_rdd *rdd;
    union glint_value sum;
};

static int sum_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct summing *s = arg;
    union glint_value v;
    enum glint_type type = s->rdd->schema.value;
    if (!codec_decode(type, result, &v)) return result_set_malformed(s->rdd->g, &op_sum);
    sum_add(type, &s->sum, &v);
    return 0;
}

int glint_sum(struct glint_rdd *rdd, union glint_value *out)
{
    *out = (union glint_value){.i64 = 0};
    if (rdd == NULL) return rdd_null_error("sum");
    enum glint_type type = rdd->schema.value;
    if (type != GLINT_I64 && type != GLINT_F64)
        rdd_fail(rdd, GLINT_E_PLAN_TYPE, "sum needs numbers, but the values are %s",
                 codec_type_name(type));
    struct summing s = {rdd, *out};
    struct action a = {.op = &op_sum, .rdd = rdd, .on_result = sum_on_result, .arg = &s};
    int r = action_run(&a);
    if (r == 0) *out = s.sum;
    return r;
}
