/* Results larger than the driver accepts: the error names the limit, also if each partition alone
 * would fit. */
#include "harness.h"

#include <criterion/criterion.h>

enum { PART_BYTES = 60 << 20 };

TestSuite(result_limit, .init = scratch_open, .fini = scratch_close);

/* 60 MiB in each partition, and as many partitions as it takes to exceed the limit. */
static struct glint_rdd *large(struct glint *g, void *arg)
{
    uint8_t *memory = mem_zalloc(PART_BYTES);
    cr_assert_not_null(memory);
    struct glint_record record = {.value = bytes(memory, PART_BYTES)};
    struct glint_schema schema = {GLINT_NONE, GLINT_BYTES};
    struct glint_rdd *one = glint_parallelize(g, schema, &record, 1, 1), *all = one;
    mem_free(memory);
    for (uint64_t have = PART_BYTES; have <= *(uint64_t *)arg; have += PART_BYTES)
        all = glint_union(all, one);
    return all;
}

Test(result_limit, collect_over_limit_names_the_limit)
{
    const struct fixture w = {.name = "one slot", .slots = 1};
    uint64_t limit = RESULT_BYTES_MAX;
    struct glint *g = fixture_open(&w);
    struct glint_rows rows;
    cr_assert_eq(glint_collect(large(g, &limit), &rows), GLINT_E_RESULT_LIMIT);
    cr_assert_not_null(strstr(glint_error(g)->cause, "268435456"));
    cr_assert_eq(rows.count, 0);
    fixture_close(g, GLINT_E_RESULT_LIMIT);
}

Test(result_limit, count_is_not_limited)
{
    const struct fixture w = {.name = "one slot", .slots = 1};
    uint64_t limit = RESULT_BYTES_MAX;
    struct glint *g = fixture_open(&w);
    int64_t count = 0;
    cr_assert_eq(glint_count(large(g, &limit), &count), 0);
    cr_assert_eq(count, 5);
    fixture_close(g, GLINT_OK);
}
