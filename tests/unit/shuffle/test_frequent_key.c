/* Shuffles in which most records have one key: the same records as ever, in any memory, and those
 * of the key are neither collected nor, unless they were fetched, written to disk. */
#include "tests/unit/shuffle/harness.h"

#include <criterion/criterion.h>

/* Returns the number of spills. */
static int64_t check_skewed(const struct shuffle_spec *spec, const struct workload *workload,
                            struct plan plan, uint64_t memory, const char *what)
{
    struct records in = {.items = NULL}, expected = {.items = NULL}, got = {.items = NULL};
    struct test_task t;
    plan.spec = spec;
    plan.batch_rows = 1000;
    make_records(&in, workload, plan.maps, 40000);
    expect_shuffle(&plan, &in, &expected);
    test_task_init(&t, memory);
    const int64_t live = mem_live_blocks();
    cr_assert_eq(run_shuffle(&t, &plan, &in, &got), 0, "%s: %s", what, t.task.error.cause);
    compare_records(&got, &expected, false, what);
    const int64_t spills = t.task.counters.values[COUNT_SPILLS];
    records_fini(&got);
    cr_assert_eq(mem_live_blocks(), live, "%s", what);
    records_fini(&in);
    records_fini(&expected);
    cr_assert(test_task_fini(&t), "%s: a file is left", what);
    return spills;
}

static struct shuffle_spec pass_spec(const struct workload *w, uint32_t partitions, bool descending)
{
    return (struct shuffle_spec){.key = w->key,
                                 .value = w->value,
                                 .acc = w->value,
                                 .partitions = partitions,
                                 .dependency = {.combine = COMBINE_NONE, .descending = descending}};
}

Test(frequent_key, order_is_that_of_the_inputs)
{
    static const struct workload workloads[] = {
        {GLINT_I64, GLINT_TEXT, 500, 50, 0, 0, 90},
        {GLINT_TEXT, GLINT_TEXT, 500, 50, 3000, 256 * KIB, 90}, /* values that span blocks */
        {GLINT_F64, GLINT_NONE, 3, 0, 0, 0, 60},
        {GLINT_NONE, GLINT_I64, 1, 0, 0, 0, 0}, /* all keys are equal */
    };
    static const uint64_t memory[] = {200 * KIB, 2 * MIB, 256 * MIB};
    for (size_t w = 0; w < sizeof workloads / sizeof workloads[0]; w++)
        for (int k = 0; k < 12; k++) {
            const struct shuffle_spec spec =
                pass_spec(&workloads[w], k % 2 == 0 ? 1 : 4, k / 2 % 2 != 0);
            const struct plan plan = {.maps = 16, .remote = k >= 6};
            check_skewed(&spec, &workloads[w], plan, memory[k % 3], "skewed");
        }
}

/* 40,000 records of 250 bytes on average, and 2 MiB: without the key there would be spills. */
Test(frequent_key, its_records_are_not_spilled)
{
    struct workload skewed = {GLINT_TEXT, GLINT_TEXT, 500, 500, 0, 0, 98}, even = skewed;
    const struct shuffle_spec spec = pass_spec(&skewed, 1, false);
    const struct plan plan = {.maps = 160}, remote = {.maps = 160, .remote = true};
    even.frequent_percent = 0;
    cr_assert_gt(check_skewed(&spec, &even, plan, 2 * MIB, "even"), 5);
    cr_assert_eq(check_skewed(&spec, &skewed, plan, 2 * MIB, "skewed"), 0);
    cr_assert_eq(check_skewed(&spec, &skewed, remote, 2 * MIB, "skewed and remote"), 1);
    cr_assert_eq(check_skewed(&spec, &skewed, remote, 256 * MIB, "in memory"), 0);
}
