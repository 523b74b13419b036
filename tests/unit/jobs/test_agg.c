/* Accumulators of agg that come from another process: any bytes are numbers or an error. */
#include "jobs/tables/agg.h"

#include "engine/driver/driver.h"
#include "engine/records/task.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ACC_BYTES_MAX = 512 };

static const struct agg_plan sums = {
    .numbers = 1,
    .counted = 1,
    .output_count = 4,
    .outputs = {{AGG_SUM, 0}, {AGG_MIN, 0}, {AGG_MEAN, 0}, {AGG_COUNT, 0}}};

/* Of a column of numbers and one of texts. */
static const struct agg_plan statistics = {
    .numbers = 1,
    .variances = 1,
    .texts = 1,
    .quantile_count = 1,
    .text_count = 2,
    .output_count = 5,
    .quantiles = {{0, {.low = 5, .decimals = 1}}},
    .text = {{AGG_FIRST, 0}, {AGG_MAX_TEXT, 0}},
    .outputs = {
        {AGG_SUM, 0}, {AGG_STDDEV, 0}, {AGG_QUANTILE, 0}, {AGG_MAX_TEXT, 1}, {AGG_FIRST, 0}}};

/* Rows of other sizes are errors, too. */
static void check_rows(const struct agg_plan *plan, const uint8_t *row, uint64_t size)
{
    for (uint64_t cut = 0; cut < size; cut++) {
        struct glint_task task = {.attempt_id = 1};
        struct agg_merge_state state = {.plan = *plan};
        uint8_t memory[ACC_BYTES_MAX], copy[ACC_BYTES_MAX];
        struct glint_acc acc = {.value.bytes.data = memory, .capacity = ACC_BYTES_MAX};
        memcpy(copy, row, size);
        const union glint_value value = {.bytes = {copy, cut}};
        cr_expect_eq(agg_merge.create(&task, &state, &acc, &value), GLINT_E_SHUFFLE_CORRUPT);
        arena_fini(&task.arena);
    }
}

/* The accumulator of one row, in `memory`. */
static struct glint_acc acc_of(const struct agg_plan *plan, const char *number,
                               uint8_t memory[ACC_BYTES_MAX])
{
    struct glint_task task = {.attempt_id = 1};
    struct agg_merge_state state = {.plan = *plan};
    struct number parsed;
    struct glint_acc acc = {.value.bytes.data = memory, .capacity = ACC_BYTES_MAX};
    const struct glint_slice text = {(const uint8_t *)number, strlen(number)};
    uint8_t bytes[ACC_BYTES_MAX];
    cr_assert(number_parse(text, &parsed));
    bytes[0] = (uint8_t)AGG_ROW;
    uint64_t size = (uint64_t)(number_put(bytes + 1, &parsed) - bytes);
    if (plan->texts > 0) {
        memcpy(bytes + size, &text.size, sizeof text.size);
        memcpy(bytes + size + sizeof text.size, text.data, text.size);
        size += sizeof text.size + text.size;
    }
    const union glint_value value = {.bytes = {bytes, size}};
    cr_assert_eq(agg_merge.create(&task, &state, &acc, &value), 0);
    check_rows(plan, bytes, size);
    arena_fini(&task.arena);
    return acc;
}

static int combine(const struct agg_plan *plan, struct glint_acc *acc, struct glint_slice other)
{
    struct glint_task task = {.attempt_id = 1};
    struct agg_merge_state state = {.plan = *plan};
    const union glint_value value = {.bytes = other};
    const int r = agg_merge.combine(&task, &state, acc, &value);
    cr_assert_eq(r, task.error.code);
    cr_assert(r == 0 || r == GLINT_E_SHUFFLE_CORRUPT, "%s", task.error.cause);
    arena_fini(&task.arena);
    return r;
}

enum { LINE_BYTES_MAX = 512 };

/* The code of a job that writes the accumulator's line, which is copied to `out`. */
static int write_line_to(const struct agg_plan *plan, struct glint_slice acc,
                         char out[LINE_BYTES_MAX])
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
    glint_args_add_bytes(args, "plan", plan, sizeof *plan);
    glint_args_add_i64(args, "delimiter", '\t');
    nulls_args(args, &none);
    struct glint_rdd *groups =
        glint_parallelize(g, (struct glint_schema){GLINT_TEXT, GLINT_BYTES}, &record, 1, 1);
    const int r = glint_collect(glint_map(groups, &agg_line, args), &rows);
    if (r == 0) {
        const struct glint_slice line = glint_rows_at(&rows, 0).value.bytes;
        cr_assert_lt(line.size, LINE_BYTES_MAX);
        memcpy(out, line.data, line.size);
        out[line.size] = '\0';
        glint_rows_free(&rows);
    }
    cr_assert(r == 0 || r == GLINT_E_SHUFFLE_CORRUPT || r == GLINT_E_VALUE_LIMIT, "%s",
              glint_error(g)->cause);
    glint_finish(g);
    glint_destroy(g);
    return r;
}

static int write_line(const struct agg_plan *plan, struct glint_slice acc)
{
    char line[LINE_BYTES_MAX];
    return write_line_to(plan, acc, line);
}

static const struct agg_plan *const plans[] = {&sums, &statistics};
enum { PLANS = 2 };

Test(agg, accumulators_of_another_size_are_errors)
{
    for (int i = 0; i < PLANS; i++) {
        const struct agg_plan *const p = plans[i];
        uint8_t first[ACC_BYTES_MAX], second[ACC_BYTES_MAX];
        struct glint_acc acc = acc_of(p, "1.5", first);
        const struct glint_slice other = acc_of(p, "2", second).value.bytes;
        cr_expect_eq(combine(p, &acc, other), 0);
        for (uint64_t size = 0; size <= other.size + 1; size++) {
            if (size == other.size) continue;
            const struct glint_slice part = {second, size};
            cr_expect_eq(combine(p, &acc, part), GLINT_E_SHUFFLE_CORRUPT);
            struct glint_acc cut = {.value.bytes = part, .capacity = ACC_BYTES_MAX};
            cr_expect_eq(combine(p, &cut, acc.value.bytes), GLINT_E_SHUFFLE_CORRUPT);
        }
        cr_expect_eq(write_line(p, other), 0);
        cr_expect_eq(write_line(p, (struct glint_slice){second, other.size - 1}),
                     GLINT_E_SHUFFLE_CORRUPT);
        cr_expect_eq(write_line(p, (struct glint_slice){second, 0}), GLINT_E_SHUFFLE_CORRUPT);
    }
}

Test(agg, damaged_accumulators_are_numbers_or_errors)
{
    static const uint8_t values[] = {0, 1, 39, 127, 128, 254, 255};
    uint8_t first[ACC_BYTES_MAX], second[ACC_BYTES_MAX];
    for (int k = 0; k < PLANS; k++) {
        const struct agg_plan *const p = plans[k];
        const uint64_t size = acc_of(p, "1", first).value.bytes.size;
        int rejected = 0;
        for (uint64_t at = 0; at < size; at++)
            for (size_t i = 0; i < sizeof values; i++) {
                struct glint_acc acc = acc_of(p, "-12345678901234567890.25", first);
                const struct glint_slice other = acc_of(p, "7", second).value.bytes;
                second[at] = values[i];
                const int r = combine(p, &acc, other);
                rejected += r != 0;
                if (i % 3 == at % 3)
                    cr_expect_eq(write_line(p, other) == GLINT_E_SHUFFLE_CORRUPT, r != 0);
                if (r == 0) write_line(p, acc.value.bytes);
            }
        /* the decimals of the sum, the least and the greatest number; of sums, squares, texts */
        cr_expect_geq(rejected, (k == 0 ? 3 : 7) * 4, "%d", rejected);
    }
}

static void add_text(const struct agg_plan *plan, struct glint_acc *acc, const char *number)
{
    uint8_t memory[ACC_BYTES_MAX];
    struct glint_acc more = acc_of(plan, number, memory);
    if (acc->value.bytes.size > 0) {
        cr_assert_eq(combine(plan, acc, more.value.bytes), 0);
        return;
    }
    memcpy(glint_acc_bytes(acc), memory, more.value.bytes.size);
    acc->value.bytes.size = more.value.bytes.size;
}

/* Sums of numbers of which some do not fit a narrow column, wherever they are and are combined. */
Test(agg, wide_numbers_change_no_result)
{
    static const struct {
        const char *numbers[6], *line;
    } cases[] = {
        {{"1", "-3", "5.00", "5", "0.25", "7"}, "15.25\t-3\t2.5416666666666665\t6"},
        {{"9223372036854775807", "1", "9223372036854775807", "-3.25", "5.00", "0.1"},
         "18446744073709551616.85\t-3.25\t3.0744573456182584e+18\t6"},
        {{"-9223372036854775808", "-9223372036854775808", "0.000000000000000001", "5", "-5", "0"},
         "-18446744073709551615.999999999999999999\t-9223372036854775808\t"
         "-3.0744573456182584e+18\t6"},
        {{"12345678901234567890.5", "1", "2", "3", "-12345678901234567890.5", "4"},
         "10.0\t-12345678901234567890.5\t1.6666666666666667\t6"},
        {{"1e2", "1", "2", "3", "4", "5"}, "115.0\t1\t19.166666666666668\t6"},
        {{"0.0000000000000000001", "5", "5.0", "6", "7", "8"},
         "31.0000000000000000001\t0.0000000000000000001\t5.166666666666667\t6"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int cut = 0; cut < 6; cut++)
            for (int first = 0; first < 6; first++) {
                uint8_t left[ACC_BYTES_MAX], right[ACC_BYTES_MAX];
                char line[LINE_BYTES_MAX];
                struct glint_acc acc = {.value.bytes.data = left, .capacity = ACC_BYTES_MAX};
                struct glint_acc other = {.value.bytes.data = right, .capacity = ACC_BYTES_MAX};
                for (int i = 0; i < 6; i++)
                    add_text(&sums, i < cut ? &other : &acc, cases[c].numbers[(first + i) % 6]);
                if (cut > 0) cr_assert_eq(combine(&sums, &acc, other.value.bytes), 0);
                cr_assert_eq(write_line_to(&sums, acc.value.bytes, line), 0);
                cr_expect_str_eq(line + 1, cases[c].line, "%s", line) /* after k */;
            }
}

/* Keys of quantiles, by the whole plan: agg.quantileValue alone reads what a shuffle gives. */
Test(agg, damaged_keys_of_quantiles_are_errors)
{
    struct number seven;
    uint8_t key[64] = {1, 0, 0, 0, 'g', 0}, bytes[NUMBER_KEY_MAX + 1];
    const struct glint_slice text = {(const uint8_t *)"7", 1};
    const uint32_t size = number_key(text, bytes);
    cr_assert(number_parse(text, &seven));
    memcpy(key + 6, bytes, size);
    memcpy(key + 6 + size, &seven, sizeof seven);
    const uint64_t whole = 6 + size + sizeof seven;
    uint8_t *const state = calloc(1, agg_quantile_value.state_size);
    cr_assert_not_null(state);
    memcpy(state, &statistics, sizeof statistics);
    for (uint64_t cut = 0; cut < whole; cut++) {
        struct glint_task task = {.attempt_id = 1};
        const struct glint_record record = {.key.bytes = {key, cut}, .value.i64 = 1};
        if (cut == 7 || cut >= 6 + sizeof seven) continue; /* the count; other bytes of a number */
        cr_expect_eq(agg_quantile_value.each(&task, state, &record, NULL), GLINT_E_SHUFFLE_CORRUPT,
                     "%d", (int)cut);
    }
    for (int64_t count = -1; count <= 0; count++) {
        struct glint_task task = {.attempt_id = 1};
        const struct glint_record record = {.key.bytes = {key, whole}, .value.i64 = count};
        cr_expect_eq(agg_quantile_value.each(&task, state, &record, NULL), GLINT_E_SHUFFLE_CORRUPT);
    }
    key[whole - 1] = 39; /* decimals */
    struct glint_task task = {.attempt_id = 1};
    const struct glint_record record = {.key.bytes = {key, whole}, .value.i64 = 1};
    cr_expect_eq(agg_quantile_value.each(&task, state, &record, NULL), GLINT_E_SHUFFLE_CORRUPT);
    free(state);
}
