/* Functions that operators and jobs use without writing them: glint.sum and its like. */
#include "ops/ops.h"

static int sum_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 = (int64_t)((uint64_t)acc->value.i64 + (uint64_t)value->i64);
    return 0;
}

static void sum_i64_rows(int64_t *acc, const uint32_t *slot, const int64_t *value, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        acc[slot[i]] = (int64_t)((uint64_t)acc[slot[i]] + (uint64_t)value[i]);
}

static int64_t sum_i64_repeat(int64_t acc, int64_t value, uint64_t times)
{
    return (int64_t)((uint64_t)acc + (uint64_t)value * times);
}

static int sum_f64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.f64 += value->f64;
    return 0;
}

static const struct glint_function fn_sum_i64 = {.name = "glint.sum_i64",
                                                 .form = GLINT_REDUCE,
                                                 .in = {GLINT_ANY, GLINT_I64},
                                                 .out = {GLINT_SAME, GLINT_SAME},
                                                 .merge = sum_i64,
                                                 .merge_i64 = sum_i64_rows,
                                                 .repeat_i64 = sum_i64_repeat};

static const struct glint_function fn_sum_f64 = {.name = "glint.sum_f64",
                                                 .form = GLINT_REDUCE,
                                                 .in = {GLINT_ANY, GLINT_F64},
                                                 .out = {GLINT_SAME, GLINT_SAME},
                                                 .merge = sum_f64};

static const struct glint_function *const functions[] = {&fn_sum_i64, &fn_sum_f64, NULL};

const struct glint_module ops_module = {"glint", functions};
