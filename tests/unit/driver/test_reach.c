/* Who is at fault where executors do not reach each other. */
#include "engine/driver/reach.h"

#include "engine/base/mem.h"

#include <criterion/criterion.h>

enum { EXECUTORS = 8 };

static struct reach r;

static void begin(void)
{
    r = (struct reach){.count = 0};
}

static void end(void)
{
    reach_fini(&r);
}

TestSuite(reach, .init = begin, .fini = end);

/* In attempts that had begun before anything was known. */
static enum reach_news at_first(uint32_t reader, uint32_t holder)
{
    return reach_failed(&r, EXECUTORS, reader, holder, 0, 100);
}

static void expect_at_fault(const char *which)
{
    char found[EXECUTORS + 1] = "";
    for (uint32_t e = 0, n = 0; e < EXECUTORS; e++)
        if (reach_at_fault(&r, e)) found[n++] = (char)('0' + e);
    cr_expect_str_eq(found, which);
}

Test(reach, nobody_is_at_fault_of_one_pair_that_failed_once)
{
    cr_expect_eq(at_first(1, 2), REACH_FIRST);
    cr_expect_eq(at_first(1, 2), REACH_FIRST);
    cr_expect_eq(at_first(2, 1), REACH_FIRST);
    expect_at_fault("");
}

Test(reach, the_holder_is_when_it_failed_again)
{
    at_first(1, 2);
    cr_expect_eq(reach_failed(&r, EXECUTORS, 1, 2, 100, 200), REACH_FIRST); /* begun just then */
    expect_at_fault("");
    cr_expect_eq(reach_failed(&r, EXECUTORS, 1, 2, 101, 300), REACH_AGAIN);
    expect_at_fault("2");
}

/* What runs at the one that is left out fails, too, before it ends. */
Test(reach, the_one_that_is_blamed_stays)
{
    at_first(1, 2);
    reach_failed(&r, EXECUTORS, 1, 2, 101, 200);
    cr_expect_eq(reach_failed(&r, EXECUTORS, 2, 1, 102, 201), REACH_AGAIN);
    expect_at_fault("2");
}

Test(reach, a_reader_that_fails_with_two_others_is)
{
    at_first(1, 2);
    at_first(1, 3);
    expect_at_fault("1");
}

Test(reach, a_holder_that_two_others_do_not_reach_is)
{
    at_first(2, 1);
    at_first(3, 1);
    expect_at_fault("1");
}

Test(reach, as_reader_and_as_holder_counts_the_same)
{
    at_first(1, 2);
    at_first(3, 1);
    expect_at_fault("1");
}

Test(reach, its_pairs_blame_nobody_else)
{
    at_first(1, 2);
    reach_failed(&r, EXECUTORS, 1, 2, 150, 200); /* 2, as far as is known */
    expect_at_fault("2");
    at_first(1, 3);
    expect_at_fault("1");
}

Test(reach, two_halves_of_a_network)
{
    for (uint32_t a = 0; a < 3; a++)
        for (uint32_t b = 3; b < 8; b++) at_first(a, b);
    expect_at_fault("012"); /* the fewer */
}

Test(reach, where_nobody_reaches_anybody_two_are_left)
{
    for (uint32_t a = 0; a < 4; a++)
        for (uint32_t b = 0; b < a; b++) at_first(a, b);
    expect_at_fault("01");
    reach_failed(&r, EXECUTORS, 2, 3, 150, 200);
    expect_at_fault("013");
}

Test(reach, of_one_that_is_gone_nothing_is_known)
{
    at_first(2, 1);
    at_first(3, 1);
    at_first(4, 5);
    reach_failed(&r, EXECUTORS, 4, 5, 150, 200);
    expect_at_fault("15");
    reach_forget(&r, 1);
    expect_at_fault("5");
    reach_forget(&r, 4);
    expect_at_fault("");
}

Test(reach, what_is_long_ago_is_forgotten)
{
    reach_failed(&r, EXECUTORS, 1, 2, 0, 100);
    reach_failed(&r, EXECUTORS, 1, 3, 0, 200);
    reach_forget_before(&r, 100);
    expect_at_fault("1");
    reach_forget_before(&r, 101);
    expect_at_fault("");
    cr_expect_eq(reach_failed(&r, EXECUTORS, 1, 3, 250, 300), REACH_AGAIN);
    expect_at_fault("3");
}

Test(reach, executors_that_come_later_count)
{
    reach_failed(&r, 2, 0, 1, 0, 100);
    reach_failed(&r, 300, 299, 1, 0, 100);
    cr_expect(reach_at_fault(&r, 1));
    cr_expect_not(reach_at_fault(&r, 299));
    cr_expect_not(reach_at_fault(&r, 100000));
}

Test(reach, there_is_room_for_so_many_pairs)
{
    for (uint32_t i = 0; i < REACH_PAIRS_MAX; i++)
        cr_assert_eq(reach_failed(&r, 1000, 2 * i, 2 * i + 1, 0, 100), REACH_FIRST);
    cr_expect_eq(reach_failed(&r, 1000, 998, 999, 0, 100), REACH_NO_ROOM);
    cr_expect_eq(reach_failed(&r, 1000, 1, 0, 200, 300), REACH_AGAIN);
    cr_expect(reach_at_fault(&r, 0));
}

Test(reach, without_memory)
{
    mem_fail_at(1, false);
    cr_expect_eq(at_first(1, 2), REACH_NO_ROOM);
    expect_at_fault("");
    cr_expect_eq(at_first(1, 2), REACH_FIRST);
}
