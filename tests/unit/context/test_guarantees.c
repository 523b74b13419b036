/* What Spark guarantees for shuffles and plans, tested in one process (the table of all guarantees
 * is in tests/unit/driver/test_guarantees.c). */
#include "engine/driver/driver.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>

static struct context_config config;
static struct glint *g;
static int64_t live;

static void setup_output(void)
{
    struct glint_error error;
    live = mem_live_blocks();
    config = local_config(2, true);
    g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
}

static void teardown_output(void)
{
    cr_expect_eq(glint_finish(g), GLINT_OK, "%s", glint_error(g)->cause);
    glint_destroy(g);
    cr_expect_eq(mem_live_blocks(), live);
}

TestSuite(local_guarantees, .init = setup_output, .fini = teardown_output);

static struct glint_rdd *pairs(uint64_t count, uint32_t keys, uint32_t partitions)
{
    struct glint_record *records = calloc(count, sizeof *records);
    cr_assert_not_null(records);
    for (uint64_t i = 0; i < count; i++) {
        records[i].key.i64 = (int64_t)(i % keys);
        records[i].value.i64 = (int64_t)i;
    }
    struct glint_schema schema = {GLINT_I64, GLINT_I64};
    struct glint_rdd *rdd = glint_parallelize(g, schema, records, count, partitions);
    free(records);
    return rdd;
}

static int64_t counter_value(const char *name)
{
    return glint_counter_value(g, name);
}

Test(local_guarantees, few_keys_work_with_many_reducers)
{
    struct glint_rdd *spread = glint_partition_by(pairs(4, 4, 4), 201);
    struct glint_rows rows = {0};
    int64_t n = 0;
    cr_expect_eq(glint_partitions(spread), 201);
    cr_assert_eq(glint_collect(spread, &rows), 0, "%s", glint_error(g)->cause);
    cr_expect_eq(rows.count, 4);
    glint_rows_free(&rows);
    cr_expect_eq(counter_value("map output records"), 4);
    cr_assert_eq(glint_count(glint_reduce_by_key(spread, &GLINT_SUM_I64, NULL), &n), 0);
    cr_expect_eq(n, 4);
}

Test(local_guarantees, records_read_equal_records_written)
{
    struct glint_rdd *spread = glint_partition_by(pairs(10000, 777, 4), 5);
    int64_t n = 0;
    cr_assert_eq(glint_count(spread, &n), 0);
    cr_expect_eq(n, 10000);
    cr_expect_eq(counter_value("map output records"), 10000);
}

/* A chain of diamonds: each level is read twice by the next, so there are a billion paths to the
 * top. */
Test(local_guarantees, thirty_level_diamond_plan_is_fast)
{
    struct glint_rdd *level = pairs(10, 10, 2);
    int64_t n = -1;
    for (int i = 0; i < 30; i++) {
        struct glint_rdd *left = glint_reduce_by_key(level, &GLINT_SUM_I64, NULL);
        struct glint_rdd *right = glint_partition_by(level, 2);
        struct glint_rdd *both = glint_union(left, right);
        level = glint_coalesce(glint_reduce_by_key(both, &GLINT_SUM_I64, NULL), 2);
    }
    cr_assert_eq(glint_count(level, &n), 0, "%s", glint_error(g)->cause);
    cr_expect_eq(n, 10);
}
