/* reduce, fold and aggregate, compared with plain loops that merge each partition first. */
#include "tests/unit/ops/actions.h"

#include <stdio.h>

TestSuite(reduce, .init = scratch_open, .fini = scratch_close);

static int run_reduce(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    return glint_reduce(input_rdd(g, in), fn(in->function), NULL, out);
}

static int run_fold(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    return glint_fold(input_rdd(g, in), in->zero, fn(in->function), NULL, out);
}

static int run_aggregate(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    return glint_aggregate(input_rdd(g, in), in->zero, fn(in->function), NULL, out);
}

/* The first row of partition p in parallelize. */
static uint64_t first_row_of(const struct input *in, uint32_t p)
{
    return in->table->count * p / in->maps;
}

static void expect_value(rows_action run, struct input *in, enum glint_type type,
                         union glint_value value)
{
    struct table expected = {.schema = {GLINT_NONE, type}};
    table_add(&expected, none(), value);
    action_expect(run, in, NULL, &expected);
    table_free(&expected);
}

static const uint32_t maps_tried[] = {1, 2, 7, 40};

Test(reduce, sums_equal_loop)
{
    struct table t = make_numbers(5000, 1);
    int64_t sum = 0;
    for (uint64_t i = 0; i < t.count; i++) sum += t.rows[i].value.i64;
    static const char *const functions[] = {"red.sum", "red.columns", "glint.sum_i64"};
    for (int f = 0; f < 3; f++) {
        for (int m = 0; m < 4; m++) {
            struct input in = {.table = &t, .maps = maps_tried[m], .function = functions[f]};
            expect_value(run_reduce, &in, GLINT_I64, number(sum));
            in.zero = number(1000);
            expect_value(run_fold, &in, GLINT_I64, number(sum + 1000 * ((int64_t)in.maps + 1)));
        }
    }
    table_free(&t);
}

/* Sums of doubles depend on the order of additions, which only the plan decides. */
Test(reduce, doubles_are_added_in_fixed_order)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_F64}};
    for (int i = 1; i <= 3000; i++) table_add(&t, none(), real(1.0 / i));
    static const char *const functions[] = {"red.sum_f64", "glint.sum_f64"};
    for (int m = 0; m < 8; m++) {
        struct input in = {.table = &t, .maps = maps_tried[m / 2], .function = functions[m % 2]};
        double sum = 0;
        for (uint32_t p = 0; p < in.maps; p++) {
            double part = t.rows[first_row_of(&in, p)].value.f64;
            for (uint64_t i = first_row_of(&in, p) + 1; i < first_row_of(&in, p + 1); i++)
                part += t.rows[i].value.f64;
            sum = p == 0 ? part : sum + part;
        }
        expect_value(run_reduce, &in, GLINT_F64, real(sum));
    }
    table_free(&t);
}

Test(reduce, texts_are_concatenated_in_order)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    struct buffer all = {NULL, 0, 0}, folded = {NULL, 0, 0};
    char word[32];
    for (int i = 0; i < 3000; i++) {
        const int size = snprintf(word, sizeof word, "%d.", i);
        table_add(&t, text("k"), bytes(word, (uint64_t)size));
        cr_assert(buffer_append(&all, word, (uint64_t)size));
    }
    for (int m = 0; m < 4; m++) {
        struct input in = {
            .table = &t, .maps = maps_tried[m], .function = "red.concat", .zero = text("<0>")};
        expect_value(run_reduce, &in, GLINT_TEXT, bytes(all.data, all.size));
        folded.size = 0;
        cr_assert(buffer_append(&folded, "<0>", 3));
        for (uint32_t p = 0; p < in.maps; p++) {
            cr_assert(buffer_append(&folded, "<0>", 3));
            for (uint64_t i = first_row_of(&in, p); i < first_row_of(&in, p + 1); i++) {
                const struct glint_slice s = t.rows[i].value.bytes;
                cr_assert(buffer_append(&folded, s.data, s.size));
            }
        }
        expect_value(run_fold, &in, GLINT_TEXT, bytes(folded.data, folded.size));
    }
    buffer_fini(&all);
    buffer_fini(&folded);
    table_free(&t);
}

/* The function's accumulator type is the type of the result. */
Test(reduce, aggregate_type_may_differ)
{
    struct table t = make_numbers(500, 3), texts = {.schema = {GLINT_I64, GLINT_TEXT}};
    struct buffer list = {NULL, 0, 0};
    for (int m = 0; m < 4; m++) {
        struct input in = {
            .table = &t, .maps = maps_tried[m], .function = "red.list", .zero = text("z")};
        list.size = 0;
        cr_assert(buffer_append(&list, "z", 1));
        for (uint32_t p = 0; p < in.maps; p++) {
            cr_assert(buffer_append(&list, "|z", 2));
            for (uint64_t i = first_row_of(&in, p); i < first_row_of(&in, p + 1); i++) {
                char digits[32];
                const int size =
                    snprintf(digits, sizeof digits, ",%lld", (long long)t.rows[i].value.i64);
                cr_assert(buffer_append(&list, digits, (uint64_t)size));
            }
        }
        expect_value(run_aggregate, &in, GLINT_TEXT, bytes(list.data, list.size));
    }
    for (int i = 0; i < 100; i++) table_add(&texts, number(i), text("four"));
    struct input in = {.table = &texts, .maps = 5, .function = "red.byte_count", .zero = number(1)};
    expect_value(run_aggregate, &in, GLINT_I64, number(400 + 6));
    buffer_fini(&list);
    table_free(&t);
    table_free(&texts);
}

Test(reduce, empty_input_fails_reduce_and_folds_to_zero)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}};
    for (int m = 0; m < 3; m++) {
        struct input in = {
            .table = &t, .maps = maps_tried[m], .function = "red.sum", .zero = number(5)};
        action_expect_error(run_reduce, &in, NULL, GLINT_E_EMPTY_COLLECTION, "reduce");
        expect_value(run_fold, &in, GLINT_I64, number(5 * ((int64_t)in.maps + 1)));
        in.function = "red.list";
        in.zero = text("");
        char bars[8] = "|||||||";
        expect_value(run_aggregate, &in, GLINT_TEXT, bytes(bars, in.maps));
    }
    /* Some partitions are empty; reduce skips them. */
    table_add(&t, none(), number(7));
    struct input in = {.table = &t, .maps = 9, .function = "red.columns"};
    expect_value(run_reduce, &in, GLINT_I64, number(7));
    table_free(&t);
}

static int run_plus(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    struct glint_args *args = glint_args(g);
    int64_t *shared = glint_alloc(g, sizeof *shared);
    *shared = 100;
    glint_args_add_broadcast(args, "shared", glint_broadcast(g, shared, sizeof *shared));
    glint_args_add_i64(args, "plus", 1000);
    return glint_reduce(input_rdd(g, in), fn("red.plus"), args, out);
}

/* Tasks and the driver see the same arguments and broadcasts: each of the 9 merges adds 1,100. */
Test(reduce, driver_side_merge_sees_arguments)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}};
    for (int i = 0; i < 10; i++) table_add(&t, none(), number(1));
    for (int m = 0; m < 3; m++) {
        struct input in = {.table = &t, .maps = maps_tried[m]};
        expect_value(run_plus, &in, GLINT_I64, number(10 + 9 * 1100));
    }
    table_free(&t);
}

/* A value that is larger than any batch. */
Test(reduce, large_value_is_aggregated)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_TEXT}};
    const uint64_t size = 3 * MIB;
    char *large = mem_alloc(size);
    cr_assert_not_null(large);
    memset(large, 'x', size);
    table_add(&t, none(), text("a"));
    table_add(&t, none(), bytes(large, size));
    table_add(&t, none(), text("b"));
    struct input in = {.table = &t, .maps = 1, .function = "red.byte_count", .zero = number(0)};
    expect_value(run_aggregate, &in, GLINT_I64, number((int64_t)size + 2));
    mem_free(large);
    table_free(&t);
}

Test(reduce, misuse_is_rejected)
{
    struct table numbers = make_numbers(10, 5);
    struct input in = {.table = &numbers, .maps = 2, .zero = number(0), .function = "red.unknown"};
    action_expect_error(run_reduce, &in, NULL, GLINT_E_PLAN_FUNCTION, "red.unknown");
    in.function = NULL;
    action_expect_error(run_reduce, &in, NULL, GLINT_E_PLAN_FUNCTION, "NULL");
    in.function = "red.list";
    action_expect_error(run_reduce, &in, NULL, GLINT_E_PLAN_FUNCTION, "whose kind is aggregate");
    action_expect_error(run_fold, &in, NULL, GLINT_E_PLAN_FUNCTION, "whose kind is aggregate");
    in.function = "red.sum";
    action_expect_error(run_aggregate, &in, NULL, GLINT_E_PLAN_FUNCTION, "whose kind is reduce");
    in.function = "red.concat";
    action_expect_error(run_reduce, &in, NULL, GLINT_E_PLAN_TYPE, "red.concat takes");
    in.function = "red.empty";
    action_expect_error(run_reduce, &in, NULL, GLINT_E_PLAN_FUNCTION, "has no callback merge");
    in.function = "red.no_combine";
    action_expect_error(run_aggregate, &in, NULL, GLINT_E_PLAN_FUNCTION, "has no callback combine");
    in.function = "red.pieces";
    action_expect_error(run_reduce, &in, NULL, GLINT_E_PLAN_TYPE, "has chunk_bytes_max");
    table_free(&numbers);
}

/* The function fails in a task, or (if each partition has one record) in the driver. */
Test(reduce, failing_function_fails_the_job)
{
    struct table t = make_numbers(6, 5);
    struct input in = {.table = &t, .zero = number(0)};
    for (in.maps = 1; in.maps <= 6; in.maps += 5) {
        in.function = "red.fail";
        action_expect_error(run_reduce, &in, NULL, GLINT_E_FUNCTION_FAILED, "as requested");
        action_expect_error(run_fold, &in, NULL, GLINT_E_FUNCTION_FAILED, "as requested");
        in.function = "red.mute";
        action_expect_error(run_reduce, &in, NULL, GLINT_E_FUNCTION_FAILED,
                            "red.mute returned -1 without setting an error");
        in.function = "red.plus"; /* its open fails: the argument is missing */
        action_expect_error(run_reduce, &in, NULL, GLINT_E_PLAN_ARGUMENT, "shared");
    }
    table_free(&t);
}
