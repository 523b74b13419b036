/* Accumulators of agg that come from another process: any bytes are numbers or an error. */
#include "jobs/tables/agg.h"

#include "engine/driver/driver.h"
#include "engine/records/task.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ACC_BYTES_MAX = 512 };

static const struct agg_plan plan = {
    .numbers = 1,
    .output_count = 4,
    .outputs = {{AGG_SUM, 0}, {AGG_MIN, 0}, {AGG_MEAN, 0}, {AGG_COUNT, 0}}};

/* The accumulator of one row, in `memory`. */
static struct glint_acc acc_of(const char *number, uint8_t memory[ACC_BYTES_MAX])
{
    struct glint_task task = {.attempt_id = 1};
    struct agg_plan state = plan;
    struct agg_input input = {.distinct = AGG_ROW};
    struct glint_acc acc = {.value.bytes.data = memory, .capacity = ACC_BYTES_MAX};
    const union glint_value value = {
        .bytes = {(const uint8_t *)&input, AGG_HEAD_BYTES + sizeof input.numbers[0]}};
    const struct glint_slice text = {(const uint8_t *)number, strlen(number)};
    cr_assert(number_parse(text, &input.numbers[0]));
    cr_assert_eq(agg_merge.create(&task, &state, &acc, &value), 0);
    return acc;
}

static int combine(struct glint_acc *acc, struct glint_slice other)
{
    struct glint_task task = {.attempt_id = 1};
    struct agg_plan state = plan;
    const union glint_value value = {.bytes = other};
    const int r = agg_merge.combine(&task, &state, acc, &value);
    cr_assert_eq(r, task.error.code);
    cr_assert(r == 0 || r == GLINT_E_SHUFFLE_CORRUPT, "%s", task.error.cause);
    return r;
}

/* The code of a job that writes the accumulator's line. */
static int write_line(struct glint_slice acc)
{
    static const struct glint_function *const functions[] = {&agg_line, NULL};
    static const struct glint_module module = {"agg", functions};
    static const struct glint_module *const modules[] = {&ops_module, &module, NULL};
    struct context_config config = local_config(1, false);
    config.modules = modules;
    struct glint_error error;
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    const struct glint_record record = {.key.bytes = {(const uint8_t *)"k", 1}, .value.bytes = acc};
    struct glint_args *args = glint_args(g);
    const struct nulls none = {.text = ""};
    struct glint_rows rows;
    glint_args_bytes(args, "plan", &plan, sizeof plan);
    glint_args_i64(args, "delimiter", '\t');
    nulls_args(args, &none);
    struct glint_rdd *groups =
        glint_parallelize(g, (struct glint_schema){GLINT_TEXT, GLINT_BYTES}, &record, 1, 1);
    const int r = glint_collect(glint_map(groups, &agg_line, args), &rows);
    if (r == 0) glint_rows_free(&rows);
    cr_assert(r == 0 || r == GLINT_E_SHUFFLE_CORRUPT || r == GLINT_E_VALUE_LIMIT, "%s",
              glint_error(g)->cause);
    glint_finish(g);
    glint_destroy(g);
    return r;
}

Test(agg, accumulators_of_another_size_are_errors)
{
    uint8_t first[ACC_BYTES_MAX], second[ACC_BYTES_MAX];
    struct glint_acc acc = acc_of("1.5", first);
    const struct glint_slice other = acc_of("2", second).value.bytes;
    cr_expect_eq(combine(&acc, other), 0);
    for (uint64_t size = 0; size <= other.size + 1; size++) {
        if (size == other.size) continue;
        cr_expect_eq(combine(&acc, (struct glint_slice){second, size}), GLINT_E_SHUFFLE_CORRUPT);
        struct glint_acc cut = {.value.bytes = {second, size}, .capacity = ACC_BYTES_MAX};
        cr_expect_eq(combine(&cut, acc.value.bytes), GLINT_E_SHUFFLE_CORRUPT);
    }
    cr_expect_eq(write_line(other), 0);
    cr_expect_eq(write_line((struct glint_slice){second, other.size - 1}), GLINT_E_SHUFFLE_CORRUPT);
    cr_expect_eq(write_line((struct glint_slice){second, 0}), GLINT_E_SHUFFLE_CORRUPT);
}

Test(agg, damaged_accumulators_are_numbers_or_errors)
{
    static const uint8_t values[] = {0, 1, 39, 127, 128, 254, 255};
    uint8_t first[ACC_BYTES_MAX], second[ACC_BYTES_MAX];
    int rejected = 0;
    const uint64_t size = acc_of("1", first).value.bytes.size;
    for (uint64_t at = 0; at < size; at++)
        for (size_t i = 0; i < sizeof values; i++) {
            struct glint_acc acc = acc_of("-12345678901234567890.25", first);
            const struct glint_slice other = acc_of("7", second).value.bytes;
            second[at] = values[i];
            const int r = combine(&acc, other);
            rejected += r != 0;
            if (i % 3 == at % 3) cr_expect_eq(write_line(other) == GLINT_E_SHUFFLE_CORRUPT, r != 0);
            if (r == 0) write_line(acc.value.bytes);
        }
    cr_expect_geq(rejected, 3 * 4); /* the decimals of the sum, the least and the greatest number */
}
