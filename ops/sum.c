/* sum: i64 values are added in 128 bits, which no number of them overflows; f64 values are added in
 * a fixed order, each partition from first to last record, then the sums of the partitions, so that
 * the result is always the same. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/ops.h"

#include <string.h>

struct sum {
    __int128 i;
    double f;
};

struct sum_state {
    struct glint_task *task;
    enum glint_type type;
    struct sum sum;
};

static int sum_open(void *state, const struct op_open *o)
{
    struct sum_state *s = state;
    s->task = o->task;
    s->type = o->in.value;
    s->sum = (struct sum){0, 0.0};
    return 0;
}

static enum flow sum_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    struct sum_state *s = state;
    if (s->type == GLINT_I64) {
        /* Both halves are summed in 64 bits, of v + 2^63, which vector code can shift. */
        uint64_t low = 0, high = 0;
        for (uint32_t row = 0; row < batch->rows; row++) {
            const uint64_t v = (uint64_t)batch->value.i64[row] ^ (UINT64_C(1) << 63);
            low += (uint32_t)v;
            high += v >> 32;
        }
        s->sum.i += ((__int128)high << 32) + low - ((__int128)batch->rows << 63);
    } else {
        double sum = s->sum.f;
        for (uint32_t row = 0; row < batch->rows; row++) sum += batch->value.f64[row];
        s->sum.f = sum;
    }
    return FLOW_MORE;
}

static int sum_result(void *state, struct buffer *out)
{
    struct sum_state *s = state;
    const bool is_integer = s->type == GLINT_I64;
    if (is_integer ? buffer_append(out, &s->sum.i, sizeof s->sum.i)
                   : buffer_append(out, &s->sum.f, sizeof s->sum.f))
        return 0;
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
    struct sum sum;
};

static int sum_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct summing *s = arg;
    struct sum part = {0, 0.0};
    const bool is_integer = s->rdd->schema.value == GLINT_I64;
    if (result.size != (is_integer ? sizeof part.i : sizeof part.f))
        return set_malformed_result_error(s->rdd->g, &op_sum);
    memcpy(is_integer ? (void *)&part.i : (void *)&part.f, result.data, result.size);
    s->sum.i = (__int128)((unsigned __int128)s->sum.i + (unsigned __int128)part.i);
    s->sum.f += part.f;
    return 0;
}

static int run_sum_action(struct glint_rdd *rdd, struct sum *out)
{
    struct summing s = {.rdd = rdd};
    struct action a = {.op = &op_sum, .rdd = rdd, .on_result = sum_on_result, .arg = &s};
    int r = run_action_of_rdd(&a);
    if (r == 0) *out = s.sum;
    return r;
}

int glint_sum(struct glint_rdd *rdd, union glint_value *out)
{
    *out = (union glint_value){.i64 = 0};
    if (rdd == NULL) return rdd_null_error("sum");
    const enum glint_type type = rdd->schema.value;
    if (type != GLINT_I64 && type != GLINT_F64)
        rdd_fail(rdd, GLINT_E_PLAN_TYPE, "sum needs numbers, but the values are %s",
                 codec_type_name(type));
    struct sum sum = {0, 0.0};
    int r = run_sum_action(rdd, &sum);
    if (r == 0 && type == GLINT_I64 && sum.i != (int64_t)sum.i)
        return glint_abort(rdd->g, GLINT_E_VALUE_LIMIT, "glint_wide_sum has the exact sum",
                           "sum: it is not between -2^63 and 2^63 - 1");
    if (r == 0 && type == GLINT_I64) out->i64 = (int64_t)sum.i;
    if (r == 0 && type == GLINT_F64) out->f64 = sum.f;
    return r;
}

int glint_wide_sum(struct glint_rdd *rdd, struct glint_wide_sum *out)
{
    *out = (struct glint_wide_sum){0, 0};
    if (rdd == NULL) return rdd_null_error("sum");
    if (rdd->schema.value != GLINT_I64)
        rdd_fail(rdd, GLINT_E_PLAN_TYPE, "a wide sum needs values of i64, which are %s",
                 codec_type_name(rdd->schema.value));
    struct sum sum = {0, 0.0};
    int r = run_sum_action(rdd, &sum);
    if (r == 0) *out = (struct glint_wide_sum){(int64_t)(sum.i >> 64), (uint64_t)sum.i};
    return r;
}
