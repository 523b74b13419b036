/* Built-in functions, used by operators and available to jobs: glint.sum_i64 and others. Integer
 * sums wrap around, as in Spark; unsigned arithmetic avoids undefined behaviour. */
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

/* Bitwise or, to merge marks. */
static int or_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                  const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 |= value->i64;
    return 0;
}

static void or_i64_rows(int64_t *acc, const uint32_t *slot, const int64_t *value, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) acc[slot[i]] |= value[i];
}

static int64_t or_i64_repeat(int64_t acc, int64_t value, uint64_t times)
{
    return times > 0 ? acc | value : acc;
}

/* A sum that becomes -1, and stays so, once a value is negative. subtract relies on it. */
static int64_t count_both(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : (int64_t)((uint64_t)a + (uint64_t)b);
}

static int count_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 = count_both(acc->value.i64, value->i64);
    return 0;
}

static void count_rows(int64_t *acc, const uint32_t *slot, const int64_t *value, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) acc[slot[i]] = count_both(acc[slot[i]], value[i]);
}

static int64_t count_repeat(int64_t acc, int64_t value, uint64_t times)
{
    if (times == 0) return acc;
    /* A negative value decides, even if `value * times` would wrap around. */
    return value < 0 ? -1 : count_both(acc, (int64_t)((uint64_t)value * times));
}

const struct glint_function GLINT_SUM_I64 = {.name = "glint.sum_i64",
                                             .kind = GLINT_KIND_REDUCE,
                                             .in = {GLINT_ANY, GLINT_I64},
                                             .out = {GLINT_SAME, GLINT_SAME},
                                             .merge = sum_i64,
                                             .merge_i64 = sum_i64_rows,
                                             .repeat_i64 = sum_i64_repeat};

const struct glint_function GLINT_SUM_F64 = {.name = "glint.sum_f64",
                                             .kind = GLINT_KIND_REDUCE,
                                             .in = {GLINT_ANY, GLINT_F64},
                                             .out = {GLINT_SAME, GLINT_SAME},
                                             .merge = sum_f64};

const struct glint_function GLINT_OR_I64 = {.name = "glint.or_i64",
                                            .kind = GLINT_KIND_REDUCE,
                                            .in = {GLINT_ANY, GLINT_I64},
                                            .out = {GLINT_SAME, GLINT_SAME},
                                            .merge = or_i64,
                                            .merge_i64 = or_i64_rows,
                                            .repeat_i64 = or_i64_repeat};

const struct glint_function count_unless_negative = {.name = "glint.count_unless_negative",
                                                     .kind = GLINT_KIND_REDUCE,
                                                     .in = {GLINT_ANY, GLINT_I64},
                                                     .out = {GLINT_SAME, GLINT_SAME},
                                                     .merge = count_merge,
                                                     .merge_i64 = count_rows,
                                                     .repeat_i64 = count_repeat};

static const struct glint_function *const functions[] = {
    &GLINT_SUM_I64, &GLINT_SUM_F64, &GLINT_OR_I64, &count_unless_negative, NULL};

const struct glint_module ops_module = {"glint", functions};
const struct glint_module *const builtin_modules[] = {&ops_module, NULL};
