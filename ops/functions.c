/* Built-in functions, used by operators and available to jobs: glint.sum_i64 and others. */
#include "engine/base/endian.h"
#include "engine/plan/context_config.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

static int set_sum_too_large_error(struct glint_task *task)
{
    return glint_fail(task, GLINT_E_VALUE_LIMIT,
                      "sum them as doubles (sum_f64); the sum of a whole RDD, glint_wide_sum or "
                      "Python's sum(), is exact",
                      "sum_i64: a sum is not between -2^63 and 2^63 - 1");
}

static int sum_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)state;
    if (!__builtin_add_overflow(acc->value.i64, value->i64, &acc->value.i64)) return 0;
    return set_sum_too_large_error(task);
}

static int sum_i64_rows(struct glint_task *task, int64_t *acc, const uint32_t *slot,
                        const int64_t *value, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        if (__builtin_add_overflow(acc[slot[i]], value[i], &acc[slot[i]]))
            return set_sum_too_large_error(task);
    return 0;
}

static int sum_i64_repeat(struct glint_task *task, int64_t *acc, int64_t value, uint64_t times)
{
    int64_t more;
    if (__builtin_mul_overflow(value, times, &more) || __builtin_add_overflow(*acc, more, acc))
        return set_sum_too_large_error(task);
    return 0;
}

static int sum_f64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.f64 += value->f64;
    return 0;
}

static int sum_f64_rows(struct glint_task *task, double *acc, const uint32_t *slot,
                        const double *value, uint32_t rows)
{
    (void)task;
    for (uint32_t i = 0; i < rows; i++) acc[slot[i]] += value[i];
    return 0;
}

/* Bitwise or, to merge marks. */
static int bitwise_or_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                          const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 |= value->i64;
    return 0;
}

static int bitwise_or_i64_rows(struct glint_task *task, int64_t *acc, const uint32_t *slot,
                               const int64_t *value, uint32_t rows)
{
    (void)task;
    for (uint32_t i = 0; i < rows; i++) acc[slot[i]] |= value[i];
    return 0;
}

static int bitwise_or_i64_repeat(struct glint_task *task, int64_t *acc, int64_t value,
                                 uint64_t times)
{
    (void)task;
    if (times > 0) *acc |= value;
    return 0;
}

static int min_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task, (void)state;
    if (value->i64 < acc->value.i64) acc->value.i64 = value->i64;
    return 0;
}

static int max_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task, (void)state;
    if (value->i64 > acc->value.i64) acc->value.i64 = value->i64;
    return 0;
}

static int min_i64_rows(struct glint_task *task, int64_t *acc, const uint32_t *slot,
                        const int64_t *value, uint32_t rows)
{
    (void)task;
    for (uint32_t i = 0; i < rows; i++)
        if (value[i] < acc[slot[i]]) acc[slot[i]] = value[i];
    return 0;
}

static int max_i64_rows(struct glint_task *task, int64_t *acc, const uint32_t *slot,
                        const int64_t *value, uint32_t rows)
{
    (void)task;
    for (uint32_t i = 0; i < rows; i++)
        if (value[i] > acc[slot[i]]) acc[slot[i]] = value[i];
    return 0;
}

/* In the order of sortByKey: NaN is the largest. */
static int min_f64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task, (void)state;
    if (value->f64 < acc->value.f64 || isnan(acc->value.f64)) acc->value.f64 = value->f64;
    return 0;
}

static int max_f64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task, (void)state;
    if (value->f64 > acc->value.f64 || isnan(value->f64)) acc->value.f64 = value->f64;
    return 0;
}

static int compare_text_bytes(struct glint_slice a, struct glint_slice b)
{
    uint64_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int min_text(struct glint_task *task, void *state, struct glint_acc *acc,
                    const union glint_value *value)
{
    (void)state;
    if (compare_text_bytes(value->bytes, acc->value.bytes) >= 0) return 0;
    return glint_acc_set(task, acc, value->bytes.data, value->bytes.size);
}

static int max_text(struct glint_task *task, void *state, struct glint_acc *acc,
                    const union glint_value *value)
{
    (void)state;
    if (compare_text_bytes(value->bytes, acc->value.bytes) <= 0) return 0;
    return glint_acc_set(task, acc, value->bytes.data, value->bytes.size);
}

static int concat_text(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    (void)state;
    return glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
}

static int keep_first_value(struct glint_task *task, void *state, struct glint_acc *acc,
                            const union glint_value *value)
{
    (void)task, (void)state, (void)acc, (void)value;
    return 0;
}

static int keep_last_number(struct glint_task *task, void *state, struct glint_acc *acc,
                            const union glint_value *value)
{
    (void)task, (void)state;
    acc->value = *value;
    return 0;
}

static int keep_last_text(struct glint_task *task, void *state, struct glint_acc *acc,
                          const union glint_value *value)
{
    (void)state;
    return glint_acc_set(task, acc, value->bytes.data, value->bytes.size);
}

/* The bytes are not aligned: a value is of any number of doubles, not a GLINT_STRUCT. */
static int sum_f64_arrays(struct glint_task *task, void *state, struct glint_acc *acc,
                          const union glint_value *value)
{
    uint8_t *sums = glint_acc_bytes(acc);
    (void)state;
    if (value->bytes.size != acc->value.bytes.size || value->bytes.size % sizeof(double) != 0)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, "give all values as many numbers",
                          "vectors of %llu and %llu bytes cannot be added",
                          (unsigned long long)acc->value.bytes.size,
                          (unsigned long long)value->bytes.size);
    for (uint64_t at = 0; at < value->bytes.size; at += sizeof(double)) {
        double sum, x;
        memcpy(&sum, sums + at, sizeof sum);
        memcpy(&x, value->bytes.data + at, sizeof x);
        sum += x;
        memcpy(sums + at, &sum, sizeof sum);
    }
    return 0;
}

static int create_count_of_one(struct glint_task *task, void *state, struct glint_acc *acc,
                               const union glint_value *value)
{
    (void)task, (void)state, (void)value;
    acc->value.i64 = 1;
    return 0;
}

static int add_one_to_count(struct glint_task *task, void *state, struct glint_acc *acc,
                            const union glint_value *value)
{
    (void)task, (void)state, (void)value;
    acc->value.i64++;
    return 0;
}

/* A sum that becomes -1, and stays so, once a value is negative. subtract relies on it. */
static int64_t add_counts_or_negative(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : (int64_t)((uint64_t)a + (uint64_t)b);
}

static int merge_counts(struct glint_task *task, void *state, struct glint_acc *acc,
                        const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 = add_counts_or_negative(acc->value.i64, value->i64);
    return 0;
}

static int add_counts_of_rows(struct glint_task *task, int64_t *acc, const uint32_t *slot,
                              const int64_t *value, uint32_t rows)
{
    (void)task;
    for (uint32_t i = 0; i < rows; i++)
        acc[slot[i]] = add_counts_or_negative(acc[slot[i]], value[i]);
    return 0;
}

static int add_repeated_count(struct glint_task *task, int64_t *acc, int64_t value, uint64_t times)
{
    (void)task;
    /* A negative value decides, even if `value * times` would wrap around. */
    if (times > 0)
        *acc = value < 0 ? -1 : add_counts_or_negative(*acc, (int64_t)((uint64_t)value * times));
    return 0;
}

/* For programs that choose partitions themselves, as Python's workers. */
static int64_t partition_in_key(struct glint_task *task, void *state, const union glint_value *key,
                                uint32_t partitions)
{
    (void)state;
    if (key->bytes.size >= sizeof(uint32_t) && get_be32(key->bytes.data) < partitions)
        return get_be32(key->bytes.data);
    return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL,
                      "partition_in_key: a key of %llu bytes does not begin with one of %u "
                      "partitions",
                      (unsigned long long)key->bytes.size, partitions);
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
                                             .merge = sum_f64,
                                             .merge_f64 = sum_f64_rows};

const struct glint_function GLINT_OR_I64 = {.name = "glint.or_i64",
                                            .kind = GLINT_KIND_REDUCE,
                                            .in = {GLINT_ANY, GLINT_I64},
                                            .out = {GLINT_SAME, GLINT_SAME},
                                            .merge = bitwise_or_i64,
                                            .merge_i64 = bitwise_or_i64_rows,
                                            .repeat_i64 = bitwise_or_i64_repeat};

const struct glint_function count_unless_negative = {.name = "glint.count_unless_negative",
                                                     .kind = GLINT_KIND_REDUCE,
                                                     .in = {GLINT_ANY, GLINT_I64},
                                                     .out = {GLINT_SAME, GLINT_SAME},
                                                     .merge = merge_counts,
                                                     .merge_i64 = add_counts_of_rows,
                                                     .repeat_i64 = add_repeated_count};

const struct glint_function GLINT_MIN_I64 =
    GLINT_REDUCE("glint.min_i64", GLINT_I64, min_i64, .merge_i64 = min_i64_rows);
const struct glint_function GLINT_MAX_I64 =
    GLINT_REDUCE("glint.max_i64", GLINT_I64, max_i64, .merge_i64 = max_i64_rows);
const struct glint_function GLINT_MIN_F64 = GLINT_REDUCE("glint.min_f64", GLINT_F64, min_f64);
const struct glint_function GLINT_MAX_F64 = GLINT_REDUCE("glint.max_f64", GLINT_F64, max_f64);
const struct glint_function GLINT_MIN_TEXT = GLINT_REDUCE("glint.min_text", GLINT_TEXT, min_text);
const struct glint_function GLINT_MAX_TEXT = GLINT_REDUCE("glint.max_text", GLINT_TEXT, max_text);
const struct glint_function GLINT_CONCAT_TEXT =
    GLINT_REDUCE("glint.concat_text", GLINT_TEXT, concat_text);
const struct glint_function GLINT_FIRST = GLINT_REDUCE("glint.first", GLINT_ANY, keep_first_value);
const struct glint_function GLINT_LAST_I64 =
    GLINT_REDUCE("glint.last_i64", GLINT_I64, keep_last_number);
const struct glint_function GLINT_LAST_F64 =
    GLINT_REDUCE("glint.last_f64", GLINT_F64, keep_last_number);
const struct glint_function GLINT_LAST_TEXT =
    GLINT_REDUCE("glint.last_text", GLINT_TEXT, keep_last_text);
const struct glint_function GLINT_SUM_F64S =
    GLINT_REDUCE("glint.sum_f64s", GLINT_BYTES, sum_f64_arrays, .sequential = true);
const struct glint_function GLINT_COUNT = GLINT_AGGREGATE(
    "glint.count", GLINT_ANY, GLINT_I64, create_count_of_one, add_one_to_count, sum_i64);

const struct glint_function GLINT_PARTITION_IN_KEY =
    GLINT_PARTITION("glint.partition_in_key", GLINT_BYTES, partition_in_key);

static const struct glint_function *const functions[] = {&GLINT_SUM_I64,
                                                         &GLINT_SUM_F64,
                                                         &GLINT_OR_I64,
                                                         &GLINT_MIN_I64,
                                                         &GLINT_MAX_I64,
                                                         &GLINT_MIN_F64,
                                                         &GLINT_MAX_F64,
                                                         &GLINT_MIN_TEXT,
                                                         &GLINT_MAX_TEXT,
                                                         &GLINT_CONCAT_TEXT,
                                                         &GLINT_FIRST,
                                                         &GLINT_LAST_I64,
                                                         &GLINT_LAST_F64,
                                                         &GLINT_LAST_TEXT,
                                                         &GLINT_SUM_F64S,
                                                         &GLINT_COUNT,
                                                         &GLINT_SPLIT_WORDS,
                                                         &GLINT_PAIR_WITH_ONE,
                                                         &GLINT_KEY_VALUE,
                                                         &GLINT_PARSE_I64,
                                                         &GLINT_PARSE_F64,
                                                         &count_unless_negative,
                                                         &mean_i64,
                                                         &mean_f64,
                                                         &mean_divide,
                                                         &GLINT_PARTITION_IN_KEY,
                                                         NULL};

const struct glint_module ops_module = {"glint", functions};
const struct glint_module *const builtin_modules[] = {&ops_module, NULL};
