/* Compares whole shuffles with an oracle: all combine modes, types and orders, budgets so small
 * that everything spills, and so many map tasks that inputs are merged in several passes. */
#include "engine/shuffle/aggregator.h"
#include "tests/unit/shuffle/harness.h"

#include <criterion/criterion.h>

static const uint64_t budgets[] = {8 * KIB, 200 * KIB, 256 * MIB};

/* Returns how many records the map tasks write: when combining, one per key and task. */
static uint64_t map_records(const struct shuffle_spec *spec, uint32_t maps,
                            const struct records *in)
{
    if (!spec->map_side || spec->dependency.combine == COMBINE_NONE) return in->count;
    struct shuffle_spec first = *spec;
    first.dependency.combine = COMBINE_FIRST;
    uint64_t sum = 0;
    for (uint32_t m = 0; m < maps; m++) {
        struct records one = {.items = NULL}, keys = {.items = NULL};
        for (uint64_t i = 0; i < in->count; i++) {
            struct glint_slice key = in->items[i].key;
            if (in->items[i].map == m) records_add(&one, key, (struct glint_slice){key.data, 0}, 0);
        }
        expect_shuffle(&(struct plan){&first, 1, 0, false, false}, &one, &keys);
        sum += keys.count;
        records_fini(&one);
        records_fini(&keys);
    }
    return sum;
}

/* Checks that a task that pushes the records to the reader gets the same as by map outputs. */
static void check_local(const struct plan *plan, uint64_t budget, const struct records *in,
                        const struct records *expected, const char *what)
{
    struct plan local = *plan;
    struct test_task t;
    struct records got = {.items = NULL};
    if (plan->maps != 1 || plan->spec->partitions != 1 ||
        plan->spec->dependency.combine != COMBINE_NONE)
        return;
    local.local = true;
    test_task_init(&t, budget);
    cr_assert_eq(run_shuffle(&t, &local, in, &got), 0, "%s: %s", what, t.task.error.cause);
    compare_records(&got, expected, false, what);
    cr_assert_eq(t.task.counters.values[COUNT_SPILLS] > 0, budget < MIB, "%s: spills", what);
    records_fini(&got);
    cr_assert(test_task_fini(&t), "%s: a file is left", what);
}

/* Checks that every budget, batch size and number of map tasks gives the same result. */
static void check_spec(const struct shuffle_spec *spec, const struct workload *workload,
                       uint32_t maps, uint64_t count, const char *what)
{
    static const uint32_t batch_rows[] = {100, 7, 1024};
    struct records in = {.items = NULL}, expected = {.items = NULL};
    make_records(&in, workload, maps, count);
    struct plan plan = {spec, maps, 0, false, false};
    expect_shuffle(&plan, &in, &expected);
    uint64_t records = map_records(spec, maps, &in);
    for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
        struct test_task t;
        test_task_init(&t, budgets[b]);
        int64_t live = mem_live_blocks();
        struct records got = {.items = NULL};
        plan.batch_rows = batch_rows[b];
        cr_assert_eq(run_shuffle(&t, &plan, &in, &got), 0, "%s: %s", what, t.task.error.cause);
        bool chunked = spec->fn != NULL && spec->fn->chunk_bytes_max > 0;
        compare_records(&got, &expected, chunked, what);
        if (!chunked)
            cr_assert_eq((uint64_t)t.task.counters.values[COUNT_MAP_OUTPUT_RECORDS], records,
                         "%s: records of the map tasks", what);
        if (budgets[b] > MIB && maps <= MERGE_FAN_IN_MAX && workload->large_bytes <= MIB)
            cr_assert_eq(t.task.counters.values[COUNT_SPILLS], 0);
        records_fini(&got);
        cr_assert_eq(mem_live_blocks(), live, "%s", what);
        cr_assert(test_task_fini(&t), "%s: a file is left", what);
        check_local(&plan, budgets[b], &in, &expected, what);
    }
    records_fini(&in);
    records_fini(&expected);
}

static void check_all(struct shuffle_spec spec, const struct workload *workload, const char *what)
{
    static const uint32_t partitions[] = {1, 10};
    spec.key = workload->key;
    spec.value = workload->value;
    if (spec.acc == GLINT_ANY) spec.acc = workload->value;
    for (int descending = 0; descending < 2; descending++) {
        for (size_t p = 0; p < 2; p++) {
            spec.dependency.descending = descending != 0;
            spec.partitions = partitions[p];
            check_spec(&spec, workload, 1, 3000, what);
            check_spec(&spec, workload, 5, 2000, what);
        }
    }
    check_spec(&spec, workload, MERGE_FAN_IN_MAX + 2, 1500, what);
    check_spec(&spec, workload, 3, 3, what);
    spec.map_side = false;
    check_spec(&spec, workload, 5, 2000, what);
    check_spec(&spec, workload, 150, 1500, what);
}

Test(shuffle, integer_sums_equal_oracle)
{
    struct shuffle_spec spec = {
        .dependency.combine = COMBINE_REDUCE, .map_side = true, .fn = &fn_sum_i64};
    check_all(spec, &(struct workload){GLINT_I64, GLINT_I64, 10, 0, 0, 0, 0}, "few keys");
    check_all(spec, &(struct workload){GLINT_I64, GLINT_I64, 10000, 0, 0, 0, 0}, "many keys");
    check_all(spec, &(struct workload){GLINT_F64, GLINT_I64, 50, 0, 0, 0, 0}, "f64 keys");
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_I64, 5000, 0, 0, 0, 0}, "text keys");
    spec.fn = &fn_sum_i64_rows;
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_I64, 500, 0, 0, 0, 0}, "row by row");
}

Test(shuffle, only_integers_that_are_reduced_or_folded_have_columns)
{
    for (int combine = COMBINE_NONE; combine <= COMBINE_CREATE; combine++)
        for (int type = 0; type < 4; type++) {
            struct shuffle_spec spec = {.value = type & 1 ? GLINT_TEXT : GLINT_I64,
                                        .acc = type & 2 ? GLINT_F64 : GLINT_I64,
                                        .fn = &fn_sum_i64,
                                        .dependency = {.combine = (enum combine)combine}};
            bool reduces = combine == COMBINE_REDUCE || combine == COMBINE_FOLD;
            cr_expect_eq(aggregator_merges_columns(&spec), reduces && type == 0, "%d, %d", combine,
                         type);
            spec.fn = &fn_sum_i64_rows;
            cr_expect_not(aggregator_merges_columns(&spec));
        }
}

/* If nearly all keys are new, the map side soon stops combining. */
Test(shuffle, rows_with_new_keys_are_not_combined)
{
    const struct workload workload = {GLINT_I64, GLINT_I64, 1000000000, 0, 0, 0, 0};
    struct shuffle_spec spec = {.dependency.combine = COMBINE_REDUCE,
                                .map_side = true,
                                .fn = &fn_sum_i64,
                                .key = GLINT_I64,
                                .value = GLINT_I64,
                                .acc = GLINT_I64,
                                .partitions = 3};
    const struct plan plan = {&spec, 2, 1024, false, false};
    struct records in = {.items = NULL}, expected = {.items = NULL};
    make_records(&in, &workload, 2, 80000);
    const uint64_t count = in.count;
    for (uint64_t i = count - 500; i < count; i++) /* some are not new, after the decision */
        records_add(&in, in.items[i].key, in.items[i].value, in.items[i].map);
    expect_shuffle(&plan, &in, &expected);
    for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
        struct test_task t;
        struct records got = {.items = NULL};
        test_task_init(&t, budgets[b]);
        cr_assert_eq(run_shuffle(&t, &plan, &in, &got), 0, "%s", t.task.error.cause);
        compare_records(&got, &expected, false, "new keys");
        const uint64_t records = (uint64_t)t.task.counters.values[COUNT_MAP_OUTPUT_RECORDS];
        if (budgets[b] > MIB) cr_assert_eq(records, in.count);
        records_fini(&got);
        cr_assert(test_task_fini(&t));
    }
    records_fini(&in);
    records_fini(&expected);
}

/* Rows that are not combined are in blocks of their partition, until those take a quarter of the
 * memory; then they are records that can be spilled, in the same order. */
Test(shuffle, uncombined_rows_fit_any_memory)
{
    static const struct {
        uint64_t memory;
        bool spills;
    } cases[] = {{MIB, true}, {2 * MIB, true}, {5 * MIB, true}, {256 * MIB, false}};
    const struct workload workload = {GLINT_TEXT, GLINT_TEXT, 5000, 40, 0, 0, 0};
    struct shuffle_spec spec = {.key = GLINT_TEXT,
                                .value = GLINT_TEXT,
                                .acc = GLINT_TEXT,
                                .partitions = 3};
    const struct plan plan = {&spec, 2, 1000, false, false};
    struct records in = {.items = NULL}, expected = {.items = NULL};
    make_records(&in, &workload, 2, 150000);
    expect_shuffle(&plan, &in, &expected);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct test_task t;
        struct records got = {.items = NULL};
        test_task_init(&t, cases[c].memory);
        cr_assert_eq(run_shuffle(&t, &plan, &in, &got), 0, "%s", t.task.error.cause);
        compare_records(&got, &expected, false, "uncombined");
        cr_expect_eq(t.task.counters.values[COUNT_SPILLS] > 0, cases[c].spills, "%llu bytes",
                     (unsigned long long)cases[c].memory);
        records_fini(&got);
        cr_assert(test_task_fini(&t));
    }
    records_fini(&in);
    records_fini(&expected);
}

/* A table that does not fit into the cache is written through blocks of the partitions, if one for
 * each fits into memory. That does not show in the result. */
static void check_large_table(struct shuffle_spec spec, uint32_t partitions)
{
    const struct workload workload = {GLINT_TEXT, spec.value, 30000, 30, 0, 0, 0};
    const struct plan plan = {&spec, 2, 1000, false, false};
    const bool chunked = spec.fn == &fn_concat_chunks;
    struct records in = {.items = NULL}, expected = {.items = NULL}, got = {.items = NULL};
    struct test_task t;
    spec.key = GLINT_TEXT;
    spec.acc = spec.value;
    spec.map_side = true;
    spec.partitions = partitions;
    make_records(&in, &workload, 2, 100000);
    expect_shuffle(&plan, &in, &expected);
    test_task_init(&t, 256 * MIB);
    cr_assert_eq(run_shuffle(&t, &plan, &in, &got), 0, "%s", t.task.error.cause);
    compare_records(&got, &expected, chunked, "large table");
    cr_expect_eq(t.task.counters.values[COUNT_SPILLS], 0);
    if (!chunked)
        cr_expect_eq((uint64_t)t.task.counters.values[COUNT_MAP_OUTPUT_RECORDS],
                     map_records(&spec, 2, &in));
    records_fini(&in);
    records_fini(&expected);
    records_fini(&got);
    cr_assert(test_task_fini(&t));
}

Test(shuffle, large_tables_equal_oracle)
{
    const struct glint_slice zero = {(const uint8_t *)"zero ", 5};
    const struct shuffle_spec specs[] = {
        {.dependency.combine = COMBINE_REDUCE, .fn = &fn_sum_i64, .value = GLINT_I64},
        {.dependency.combine = COMBINE_REDUCE, .fn = &fn_sum_f64, .value = GLINT_F64},
        {.dependency.combine = COMBINE_REDUCE, .fn = &fn_sum_f64_rows, .value = GLINT_F64},
        {.dependency.combine = COMBINE_REDUCE, .fn = &fn_concat, .value = GLINT_TEXT},
        {.dependency.combine = COMBINE_REDUCE, .fn = &fn_concat_chunks, .value = GLINT_TEXT},
        {.dependency = {.combine = COMBINE_FOLD, .zero = zero},
         .fn = &fn_concat,
         .value = GLINT_TEXT},
        {.dependency.combine = COMBINE_FIRST, .value = GLINT_NONE}};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        check_large_table(specs[i], 3);
        check_large_table(specs[i], 4000);
    }
}

/* The order of additions changes the last bits of a sum. */
Test(shuffle, double_sums_are_added_in_fixed_order)
{
    struct shuffle_spec spec = {
        .dependency.combine = COMBINE_REDUCE, .map_side = true, .fn = &fn_sum_f64};
    check_all(spec, &(struct workload){GLINT_I64, GLINT_F64, 10, 0, 0, 0, 0}, "few keys");
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_F64, 3000, 0, 0, 0, 0}, "text keys");
    spec.fn = &fn_sum_f64_rows;
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_F64, 3000, 0, 0, 0, 0}, "row by row");
}

Test(shuffle, concatenations_keep_order)
{
    struct shuffle_spec spec = {
        .dependency.combine = COMBINE_REDUCE, .map_side = true, .fn = &fn_concat};
    check_all(spec, &(struct workload){GLINT_I64, GLINT_TEXT, 10, 30, 0, 0, 0}, "few keys");
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_TEXT, 900, 30, 50, 100000, 0},
              "larger values");
    check_all(spec, &(struct workload){GLINT_NONE, GLINT_TEXT, 1, 30, 0, 0, 0}, "no key");
    spec.fn = &fn_concat_chunks;
    check_all(spec, &(struct workload){GLINT_I64, GLINT_TEXT, 10, 30, 0, 0, 0}, "chunks");
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_TEXT, 400, 300, 0, 0, 0},
              "chunks of text keys");
}

Test(shuffle, fold_aggregate_and_combine_equal_oracle)
{
    struct glint_slice zero = {(const uint8_t *)"zero ", 5}, none = {(const uint8_t *)"", 0};
    struct workload list = {GLINT_TEXT, GLINT_I64, 700, 0, 0, 0, 0};
    struct shuffle_spec spec = {.dependency.combine = COMBINE_FOLD,
                                .map_side = true,
                                .fn = &fn_concat,
                                .dependency.zero = zero};
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_TEXT, 700, 30, 0, 0, 0}, "fold");
    spec = (struct shuffle_spec){.dependency.combine = COMBINE_AGGREGATE,
                                 .map_side = true,
                                 .fn = &fn_list,
                                 .dependency.zero = none,
                                 .acc = GLINT_TEXT};
    check_all(spec, &list, "aggregate");
    spec.sequential = true;
    spec.dependency.zero = zero;
    check_all(spec, &list, "aggregate, one value after the other");
    spec.key = GLINT_TEXT;
    spec.value = GLINT_I64;
    spec.partitions = 2;
    check_spec(&spec, &list, 1, 20000, "aggregate, with more spills than one merge takes");
    spec.dependency.combine = COMBINE_CREATE;
    check_all(spec, &list, "combine, one value after the other");
    spec.sequential = false;
    check_all(spec, &list, "combine");
    spec.partitions = 2;
    check_spec(&spec, &list, 1, 20000, "combine, with more spills than one merge takes");
}

/* A large value is written raw. It must not continue the open run, even if its key is next in
 * order, since that run has accumulators. */
Test(shuffle, large_values_do_not_mix_with_accumulators)
{
    struct shuffle_spec spec = {.dependency.combine = COMBINE_AGGREGATE,
                                .dependency.zero = {(const uint8_t *)"", 0},
                                .map_side = true,
                                .fn = &fn_text_list,
                                .key = GLINT_I64,
                                .value = GLINT_TEXT,
                                .acc = GLINT_TEXT,
                                .partitions = 1};
    const struct workload list = {GLINT_I64, GLINT_TEXT, 0, 30, 100, 3 << 20, 0};
    check_spec(&spec, &list, 1, 2000, "aggregate");
    spec.dependency.combine = COMBINE_CREATE;
    check_spec(&spec, &list, 1, 2000, "combine");
}

Test(shuffle, pass_through_and_distinct_equal_oracle)
{
    struct shuffle_spec spec = {.dependency.combine = COMBINE_NONE};
    check_all(spec, &(struct workload){GLINT_I64, GLINT_TEXT, 10, 50, 0, 0, 0}, "pass, few keys");
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_F64, 10000, 0, 0, 0, 0}, "many keys");
    check_all(spec, &(struct workload){GLINT_F64, GLINT_NONE, 40, 0, 0, 0, 0}, "pass, no values");
    spec.dependency.partitioner = PARTITION_SPREAD;
    check_all(spec, &(struct workload){GLINT_NONE, GLINT_TEXT, 1, 50, 0, 0, 0}, "repartition");
    spec = (struct shuffle_spec){.dependency.combine = COMBINE_FIRST, .map_side = true};
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_NONE, 2000, 0, 0, 0, 0}, "distinct");
    check_all(spec, &(struct workload){GLINT_TEXT, GLINT_TEXT, 2000, 9, 0, 0, 0}, "first");
}

Test(shuffle, range_partitions_follow_bounds)
{
    uint64_t numbers[3];
    struct glint_slice bounds[3];
    static const int64_t values[3] = {-2, 100, 101};
    for (int i = 0; i < 3; i++) {
        numbers[i] = codec_encode_i64(values[i]);
        bounds[i] = (struct glint_slice){(const uint8_t *)&numbers[i], 8};
    }
    struct shuffle_spec spec = {.dependency.combine = COMBINE_NONE,
                                .dependency.partitioner = PARTITION_RANGE,
                                .dependency.bounds = bounds,
                                .dependency.bound_count = 3,
                                .key = GLINT_I64,
                                .value = GLINT_TEXT,
                                .acc = GLINT_TEXT,
                                .partitions = 4};
    struct test_task t;
    test_task_init(&t, MIB);
    cr_assert_eq(shuffle_spec_prepare(&spec, &t.task), 0);
    static const struct {
        int64_t key;
        uint32_t partition;
    } cases[] = {{INT64_MIN, 0}, {-3, 0}, {-2, 0}, {-1, 1}, {100, 1}, {101, 2}, {102, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bits = codec_encode_i64(cases[i].key);
        struct glint_slice key = {(const uint8_t *)&bits, 8};
        spec.dependency.descending = false;
        cr_assert_eq(shuffle_partition_of(&spec, key, 0, 0), cases[i].partition);
        spec.dependency.descending = true;
        cr_assert_eq(shuffle_partition_of(&spec, key, 0, 0), 3 - cases[i].partition);
    }
    struct workload workload = {GLINT_I64, GLINT_TEXT, 200, 40, 0, 0, 0};
    check_spec(&spec, &workload, 5, 3000, "descending");
    spec.dependency.descending = false;
    check_spec(&spec, &workload, 5, 3000, "ascending");
    cr_assert(test_task_fini(&t));
}

/* Bounds with equal first bytes, equal to each other, and shorter than eight bytes. */
Test(shuffle, text_bounds_are_compared_as_a_whole)
{
    static const struct glint_slice texts[] = {
        {(const uint8_t *)"", 0},
        {(const uint8_t *)"\0", 1},
        {(const uint8_t *)"a", 1},
        {(const uint8_t *)"a\0", 2},
        {(const uint8_t *)"a\0\0\0\0\0\0\0", 8},
        {(const uint8_t *)"a\0\0\0\0\0\0\0\0", 9},
        {(const uint8_t *)"abcdefg", 7},
        {(const uint8_t *)"abcdefgh", 8},
        {(const uint8_t *)"abcdefgh1", 9},
        {(const uint8_t *)"abcdefgh12", 10},
        {(const uint8_t *)"abcdefgh2", 9},
        {(const uint8_t *)"abcdefgi", 8},
        {(const uint8_t *)"\377", 1},
        {(const uint8_t *)"\377\377\377\377\377\377\377\377", 8}};
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    for (uint32_t chosen = 0; chosen < 1u << TEXTS; chosen += 3) {
        struct glint_slice bounds[TEXTS + 1];
        struct shuffle_spec spec = {.dependency.partitioner = PARTITION_RANGE,
                                    .dependency.bounds = bounds,
                                    .partitions = TEXTS + 2};
        for (uint32_t i = 0; i < TEXTS; i++)
            if (chosen >> i & 1) bounds[spec.dependency.bound_count++] = texts[i];
        if (chosen > 0) { /* the last one twice */
            bounds[spec.dependency.bound_count] = bounds[spec.dependency.bound_count - 1];
            spec.dependency.bound_count++;
        }
        struct test_task t;
        test_task_init(&t, MIB);
        cr_assert_eq(shuffle_spec_prepare(&spec, &t.task), 0);
        for (uint32_t k = 0; k < TEXTS; k++) {
            uint32_t below = 0;
            for (uint32_t i = 0; i < spec.dependency.bound_count; i++)
                below += codec_compare(bounds[i], texts[k]) < 0;
            cr_assert_eq(shuffle_partition_of(&spec, texts[k], 0, 0), below, "%x, %u", chosen, k);
        }
        test_task_fini(&t);
    }
}

/* The partition of a key decides the order of the output, so these numbers must never change. */
Test(shuffle, partition_of_a_key_never_changes)
{
    struct shuffle_spec spec = {.partitions = 1000};
    struct glint_slice key = {(const uint8_t *)"tt0000001", 9};
    cr_expect_eq(shuffle_partition_of(&spec, key, 0, 0), 137);
    cr_expect_eq(shuffle_partition_of(&spec, (struct glint_slice){key.data, 0}, 0, 0), 175);
    spec.dependency.partitioner = PARTITION_SPREAD;
    cr_expect_eq(shuffle_partition_of(&spec, key, 0, 0), 652);
    cr_expect_eq(shuffle_partition_of(&spec, key, 3, 5), 806);
}

/* Values that are too large for memory, in order and out of order, mixed with others. */
Test(shuffle, large_values_equal_oracle)
{
    struct workload workload = {GLINT_I64, GLINT_TEXT, 5, 100, 30, 3 * MIB, 0};
    struct shuffle_spec spec = {.dependency.combine = COMBINE_REDUCE,
                                .map_side = true,
                                .fn = &fn_concat,
                                .key = GLINT_I64,
                                .value = GLINT_TEXT,
                                .acc = GLINT_TEXT,
                                .partitions = 3};
    check_spec(&spec, &workload, 2, 200, "reduce");
    check_spec(&spec, &(struct workload){GLINT_I64, GLINT_TEXT, 1, 0, 1, 3 * MIB, 0}, 1, 5, "one");
    spec.fn = &fn_concat_chunks;
    check_spec(&spec, &workload, 2, 200, "chunks");
    spec.dependency.combine = COMBINE_FOLD;
    spec.fn = &fn_concat;
    spec.dependency.zero = (struct glint_slice){(const uint8_t *)"zero ", 5};
    check_spec(&spec, &workload, 2, 200, "fold");
    spec.sequential = true;
    check_spec(&spec, &workload, 2, 200, "sequential");
    spec.dependency.combine = COMBINE_NONE;
    check_spec(&spec, &workload, 2, 200, "pass");
}

/* Small and large values in the order of the output are written once, as one run. */
Test(shuffle, sorted_output_is_written_as_one_run)
{
    struct workload workload = {GLINT_I64, GLINT_TEXT, 300, 2000, 10, 2 * MIB, 0};
    struct shuffle_spec spec = {.dependency.combine = COMBINE_FIRST,
                                .map_side = true,
                                .key = GLINT_I64,
                                .value = GLINT_TEXT,
                                .acc = GLINT_TEXT,
                                .partitions = 7};
    struct plan plan = {&spec, 1, 3, false, false};
    struct records any = {.items = NULL}, in = {.items = NULL}, got = {.items = NULL};
    make_records(&any, &workload, 1, 120);
    expect_shuffle(&plan, &any, &in);
    cr_assert_gt(in.count, 50);
    spec.dependency.combine = COMBINE_REDUCE;
    spec.fn = &fn_concat;
    struct test_task t;
    test_task_init(&t, 8 * KIB);
    cr_assert_eq(run_shuffle(&t, &plan, &in, &got), 0, "%s", t.task.error.cause);
    compare_records(&got, &in, false, "in order");
    cr_expect_eq(t.task.counters.values[COUNT_SPILLS], 1);
    records_fini(&got);
    /* In reverse order each value is a separate run. */
    for (uint64_t i = 0; i < in.count / 2; i++) {
        struct cell_pair x = in.items[i];
        in.items[i] = in.items[in.count - 1 - i];
        in.items[in.count - 1 - i] = x;
    }
    cr_assert_eq(run_shuffle(&t, &plan, &in, &got), 0, "%s", t.task.error.cause);
    cr_expect_gt(t.task.counters.values[COUNT_SPILLS], 10);
    records_fini(&any);
    records_fini(&in);
    records_fini(&got);
    cr_assert(test_task_fini(&t), "a file is left");
}
