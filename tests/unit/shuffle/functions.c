/* Functions for the tests of the shuffle. */
#include "engine/base/text.h"
#include "tests/unit/shuffle/harness.h"

static int add_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task;
    (void)state;
    acc->value.i64 = (int64_t)((uint64_t)acc->value.i64 + (uint64_t)value->i64);
    return 0;
}

static int add_i64_columns(struct glint_task *task, int64_t *acc, const uint32_t *slot,
                           const int64_t *value, uint32_t rows)
{
    (void)task;
    for (uint32_t i = 0; i < rows; i++)
        acc[slot[i]] = (int64_t)((uint64_t)acc[slot[i]] + (uint64_t)value[i]);
    return 0;
}

static int add_f64(struct glint_task *task, void *state, struct glint_acc *acc,
                   const union glint_value *value)
{
    (void)task;
    (void)state;
    acc->value.f64 += value->f64;
    return 0;
}

static int add_f64_columns(struct glint_task *task, double *acc, const uint32_t *slot,
                           const double *value, uint32_t rows)
{
    (void)task;
    for (uint32_t i = 0; i < rows; i++) acc[slot[i]] += value[i];
    return 0;
}

static int concat(struct glint_task *task, void *state, struct glint_acc *acc,
                  const union glint_value *value)
{
    (void)state;
    return glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
}

static int list_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                      const union glint_value *value)
{
    (void)state;
    char text[TEXT_NUMBER_MAX];
    size_t n = text_format_i64(text, value->i64);
    text[n] = ',';
    return glint_acc_append(task, acc, text, n + 1);
}

static int text_list_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                           const union glint_value *value)
{
    (void)state;
    int r = glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
    return r == 0 ? glint_acc_append(task, acc, ",", 1) : r;
}

const struct glint_function fn_sum_i64 = {
    .name = "t.sum", .kind = GLINT_KIND_REDUCE, .merge = add_i64, .merge_i64 = add_i64_columns};
const struct glint_function fn_sum_i64_rows = {
    .name = "t.sum_rows", .kind = GLINT_KIND_REDUCE, .merge = add_i64};
const struct glint_function fn_sum_f64 = {
    .name = "t.sum_f64", .kind = GLINT_KIND_REDUCE, .merge = add_f64, .merge_f64 = add_f64_columns};
const struct glint_function fn_sum_f64_rows = {
    .name = "t.sum_f64_rows", .kind = GLINT_KIND_REDUCE, .merge = add_f64};
const struct glint_function fn_concat = {
    .name = "t.concat", .kind = GLINT_KIND_REDUCE, .merge = concat};
const struct glint_function fn_concat_chunks = {
    .name = "t.chunks", .kind = GLINT_KIND_REDUCE, .merge = concat, .chunk_bytes_max = 500};
const struct glint_function fn_list = {.name = "t.list",
                                       .kind = GLINT_KIND_AGGREGATE,
                                       .create = list_merge,
                                       .merge = list_merge,
                                       .combine = concat};
const struct glint_function fn_text_list = {.name = "t.text_list",
                                            .kind = GLINT_KIND_AGGREGATE,
                                            .create = text_list_merge,
                                            .merge = text_list_merge,
                                            .combine = concat};
