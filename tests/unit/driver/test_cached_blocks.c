/* Where the blocks of persisted RDDs are: sums follow every report, and the loss of an executor. */
#include "engine/driver/driver_internal.h"

#include <criterion/criterion.h>

static struct cached_rdds cached;

static void setup(void)
{
    cr_assert(cached_rdds_add(&cached, 7, 3));
    cr_assert(cached_rdds_add(&cached, 9, 2));
    cr_assert(cached_rdds_add(&cached, 7, 3), "it has a table");
}

static void teardown(void)
{
    cached_rdds_fini(&cached);
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(cached_blocks, .init = setup, .fini = teardown);

static void report(uint32_t executor, uint32_t rdd, uint32_t partition, uint64_t memory,
                   uint64_t disk)
{
    const struct cached_block_state state = {.rdd = rdd,
                                             .partition = partition,
                                             .memory_bytes = memory,
                                             .disk_bytes = disk};
    cached_rdds_update(&cached, executor, &state);
}

static void expect_sums(uint32_t rdds, uint32_t blocks, uint64_t memory, uint64_t disk)
{
    const struct cached_sums sums = cached.sums;
    cr_expect_eq(cached.count, rdds);
    cr_expect_eq(sums.blocks, blocks);
    cr_expect_eq(sums.memory_bytes, memory);
    cr_expect_eq(sums.disk_bytes, disk);
}

Test(cached_blocks, tables_are_in_the_order_of_their_numbers)
{
    cr_assert(cached_rdds_add(&cached, 8, 1));
    cr_expect_eq(cached.count, 3);
    for (uint32_t i = 0; i < 3; i++) cr_expect_eq(cached.list[i]->rdd, 7 + i);
    expect_sums(3, 0, 0, 0);
}

Test(cached_blocks, sums_follow_the_reports)
{
    report(0, 7, 0, 100, 0);
    report(0, 7, 2, 50, 5);
    report(1, 9, 1, 0, 30);
    expect_sums(2, 3, 150, 35);
    cr_expect_eq(cached.list[0]->sums.blocks, 2);
    cr_expect_eq(cached.list[0]->sums.memory_bytes, 150);
    report(0, 7, 0, 0, 90); /* moved to disk */
    expect_sums(2, 3, 50, 125);
    report(1, 7, 0, 80, 0); /* another executor has it, too: the last one counts */
    expect_sums(2, 3, 130, 35);
    report(0, 7, 0, 0, 0); /* gone from the first one */
    expect_sums(2, 3, 130, 35);
    report(1, 7, 0, 0, 0);
    expect_sums(2, 2, 50, 35);
}

Test(cached_blocks, unknown_blocks_are_ignored)
{
    report(0, 8, 0, 100, 0);
    report(0, 7, 3, 100, 0);
    report(0, 7, UINT32_MAX, 100, 0);
    expect_sums(2, 0, 0, 0);
}

Test(cached_blocks, lost_executor_loses_its_blocks)
{
    report(0, 7, 0, 100, 0);
    report(1, 7, 1, 10, 1);
    report(0, 9, 0, 7, 7);
    cached_rdds_remove_executor(&cached, 0);
    expect_sums(2, 1, 10, 1);
    cached_rdds_remove_executor(&cached, 0);
    expect_sums(2, 1, 10, 1);
}

Test(cached_blocks, unpersisted_rdd_has_no_table)
{
    report(0, 7, 0, 100, 0);
    report(0, 9, 0, 7, 7);
    cr_expect(cached_rdds_remove(&cached, 7));
    cr_expect_not(cached_rdds_remove(&cached, 7));
    expect_sums(1, 1, 7, 7);
}
