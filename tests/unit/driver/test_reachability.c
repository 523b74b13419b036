/* Which executors are at fault when fetches between executors fail. */
#include "engine/driver/driver_internal.h"

#include "engine/base/mem.h"

#include <criterion/criterion.h>

enum { EXECUTORS = 8 };

static struct reachability r;

static void begin(void)
{
    r = (struct reachability){.count = 0};
}

static void end(void)
{
    reachability_fini(&r);
}

TestSuite(reachability, .init = begin, .fini = end);

/* In attempts that started before the first failure. */
static enum reachability_update at_first(uint32_t reader, uint32_t holder)
{
    return reachability_record_failure(&r, EXECUTORS, reader, holder, 0, 100);
}

static void expect_at_fault(const char *which)
{
    char found[EXECUTORS + 1] = "";
    for (uint32_t e = 0, n = 0; e < EXECUTORS; e++)
        if (reachability_is_at_fault(&r, e)) found[n++] = (char)('0' + e);
    cr_expect_str_eq(found, which);
}

Test(reachability, single_failed_pair_blames_no_executor)
{
    cr_expect_eq(at_first(1, 2), REACHABILITY_FIRST_FAILURE);
    cr_expect_eq(at_first(1, 2), REACHABILITY_FIRST_FAILURE);
    cr_expect_eq(at_first(2, 1), REACHABILITY_FIRST_FAILURE);
    expect_at_fault("");
}

Test(reachability, repeated_failure_blames_the_source)
{
    at_first(1, 2);
    cr_expect_eq(reachability_record_failure(&r, EXECUTORS, 1, 2, 100, 200),
                 REACHABILITY_FIRST_FAILURE); /* started at the time of the first failure */
    expect_at_fault("");
    cr_expect_eq(reachability_record_failure(&r, EXECUTORS, 1, 2, 101, 300),
                 REACHABILITY_REPEATED_FAILURE);
    expect_at_fault("2");
}

/* Attempts on the excluded executor also fail before they end. */
Test(reachability, blamed_executor_stays_blamed)
{
    at_first(1, 2);
    reachability_record_failure(&r, EXECUTORS, 1, 2, 101, 200);
    cr_expect_eq(reachability_record_failure(&r, EXECUTORS, 2, 1, 102, 201),
                 REACHABILITY_REPEATED_FAILURE);
    expect_at_fault("2");
}

Test(reachability, reader_failing_with_two_sources_is_blamed)
{
    at_first(1, 2);
    at_first(1, 3);
    expect_at_fault("1");
}

Test(reachability, source_unreachable_by_two_readers_is_blamed)
{
    at_first(2, 1);
    at_first(3, 1);
    expect_at_fault("1");
}

Test(reachability, reader_and_source_failures_count_alike)
{
    at_first(1, 2);
    at_first(3, 1);
    expect_at_fault("1");
}

Test(reachability, pairs_of_blamed_executor_blame_no_other)
{
    at_first(1, 2);
    reachability_record_failure(&r, EXECUTORS, 1, 2, 150, 200); /* 2, from what is known so far */
    expect_at_fault("2");
    at_first(1, 3);
    expect_at_fault("1");
}

Test(reachability, split_network_blames_the_smaller_half)
{
    for (uint32_t a = 0; a < 3; a++)
        for (uint32_t b = 3; b < 8; b++) at_first(a, b);
    expect_at_fault("012"); /* the smaller half */
}

Test(reachability, full_partition_leaves_two_executors)
{
    for (uint32_t a = 0; a < 4; a++)
        for (uint32_t b = 0; b < a; b++) at_first(a, b);
    expect_at_fault("01");
    reachability_record_failure(&r, EXECUTORS, 2, 3, 150, 200);
    expect_at_fault("013");
}

Test(reachability, lost_executor_is_forgotten)
{
    at_first(2, 1);
    at_first(3, 1);
    at_first(4, 5);
    reachability_record_failure(&r, EXECUTORS, 4, 5, 150, 200);
    expect_at_fault("15");
    reachability_remove_executor(&r, 1);
    expect_at_fault("5");
    reachability_remove_executor(&r, 4);
    expect_at_fault("");
}

Test(reachability, old_failures_are_forgotten)
{
    reachability_record_failure(&r, EXECUTORS, 1, 2, 0, 100);
    reachability_record_failure(&r, EXECUTORS, 1, 3, 0, 200);
    reachability_expire_before(&r, 100);
    expect_at_fault("1");
    reachability_expire_before(&r, 101);
    expect_at_fault("");
    cr_expect_eq(reachability_record_failure(&r, EXECUTORS, 1, 3, 250, 300),
                 REACHABILITY_REPEATED_FAILURE);
    expect_at_fault("3");
}

Test(reachability, later_executors_are_tracked)
{
    reachability_record_failure(&r, 2, 0, 1, 0, 100);
    reachability_record_failure(&r, 300, 299, 1, 0, 100);
    cr_expect(reachability_is_at_fault(&r, 1));
    cr_expect_not(reachability_is_at_fault(&r, 299));
    cr_expect_not(reachability_is_at_fault(&r, 100000));
}

Test(reachability, number_of_pairs_is_bounded)
{
    for (uint32_t i = 0; i < UNREACHABLE_PAIRS_MAX; i++)
        cr_assert_eq(reachability_record_failure(&r, 1000, 2 * i, 2 * i + 1, 0, 100),
                     REACHABILITY_FIRST_FAILURE);
    cr_expect_eq(reachability_record_failure(&r, 1000, 998, 999, 0, 100), REACHABILITY_FULL);
    cr_expect_eq(reachability_record_failure(&r, 1000, 1, 0, 200, 300),
                 REACHABILITY_REPEATED_FAILURE);
    cr_expect(reachability_is_at_fault(&r, 0));
}

Test(reachability, out_of_memory_records_nothing)
{
    mem_fail_at(1, false);
    cr_expect_eq(at_first(1, 2), REACHABILITY_FULL);
    expect_at_fault("");
    cr_expect_eq(at_first(1, 2), REACHABILITY_FIRST_FAILURE);
}
