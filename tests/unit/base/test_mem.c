/* Memory: alignment, slack, growth, reuse of arenas, and the fault injection itself. */
#include "engine/base/mem.h"
#include "engine/limits.h"

#include <criterion/criterion.h>
#include <string.h>

static bool is_aligned(const void *p, uintptr_t to)
{
    return (uintptr_t)p % to == 0;
}

Test(mem, blocks_are_aligned_and_have_zeroed_slack)
{
    int64_t live = mem_live_blocks();
    for (uint64_t size = 0; size < 300; size += 7) {
        uint8_t *block = mem_alloc(size);
        cr_assert(block != NULL && is_aligned(block, 64));
        memset(block, 0xff, size);
        for (uint64_t i = size; i < size + READ_SLACK; i++) cr_assert_eq(block[i], 0);
        uint8_t *grown = mem_grow(block, size, size * 3 + 1);
        cr_assert(grown != NULL && is_aligned(grown, 64));
        for (uint64_t i = 0; i < size; i++) cr_assert_eq(grown[i], 0xff);
        mem_free(grown);
    }
    char *text = mem_strdup("text");
    cr_expect_str_eq(text, "text");
    mem_free(text);
    mem_free(NULL);
    cr_expect_eq(mem_live_blocks(), live);
}

Test(mem, freed_large_blocks_are_kept_up_to_the_limit)
{
    mem_cache_raise_limit(64 << 20);
    uint8_t *first = mem_alloc(20 << 20);
    cr_assert_not_null(first);
    memset(first, 'x', 20 << 20);
    mem_free(first);
    uint8_t *small = mem_alloc(9 << 20);
    cr_assert_neq(small, first, "half of the block would be wasted");
    uint8_t *again = mem_alloc((20 << 20) - 300);
    cr_assert_eq(again, first);
    for (unsigned i = 0; i < 64; i++) cr_assert_eq(again[(20 << 20) - 300 + i], 0, "slack");
    mem_free(again);
    mem_free(small);
    uint8_t *larger = mem_alloc(100 << 20);
    mem_free(larger); /* over the limit */
    /* Those in use count, so one of two blocks of 40 MiB is kept, the last that was freed. */
    uint8_t *one = mem_alloc(40 << 20), *two = mem_alloc(40 << 20);
    memset(two, 'x', 40 << 20);
    mem_free(one);
    mem_free(two);
    uint8_t *kept = mem_alloc(40 << 20);
    cr_assert_eq(kept, two);
    cr_assert_eq(kept[20 << 20], 'x');
    mem_free(kept);
    cr_assert_eq(mem_live_blocks(), 0);
    mem_cache_raise_limit(-(64 << 20));
    mem_free(mem_alloc(20 << 20)); /* nothing is kept now: a leak for valgrind and the sanitizers */
}

/* What a new block contains is not defined; here it shows which pages it has. */
Test(mem, new_large_blocks_get_the_pages_of_smaller_kept_ones)
{
    mem_cache_raise_limit(128 << 20);
    uint8_t *first = mem_alloc(20 << 20), *second = mem_alloc(8 << 20);
    cr_assert(first != NULL && second != NULL);
    memset(first, 'x', 20 << 20);
    memset(second, 'y', 8 << 20);
    mem_free(second);
    mem_free(first);
    uint8_t *larger = mem_alloc(40 << 20);
    cr_assert(larger != NULL && is_aligned(larger, 64));
    cr_expect_eq(larger[0], 'x', "the largest one first");
    cr_expect_eq(larger[(20 << 20) - 1], 'x');
    cr_expect_not_null(memchr(larger + (20 << 20), 'y', 20 << 20), "then the other one");
    memset(larger, 'z', 40 << 20); /* all of it can be written */
    mem_free(larger);
    uint8_t *zeros = mem_zalloc(60 << 20);
    cr_assert_not_null(zeros);
    for (uint64_t i = 0; i < 60 << 20; i += 1000) cr_assert_eq(zeros[i], 0);
    mem_free(zeros);
    mem_cache_raise_limit(-(128 << 20));
    cr_assert_eq(mem_live_blocks(), 0);
}

/* Of large blocks the pages move, here from several mappings. */
Test(mem, large_blocks_keep_their_bytes_when_they_grow)
{
    enum { STEP = 5 << 20 };
    uint64_t size = STEP - 77;
    uint8_t *block = mem_alloc(size);
    cr_assert_not_null(block);
    memset(block, 0, size);
    for (unsigned round = 1; round < 6; round++) {
        block = mem_grow(block, size, size + STEP);
        cr_assert(block != NULL && is_aligned(block, 64));
        memset(block + size, (int)round, STEP);
        size += STEP;
        for (unsigned i = 0; i < READ_SLACK; i++) cr_assert_eq(block[size + i], 0);
    }
    for (uint64_t i = 0; i < size; i++)
        cr_assert_eq(block[i], i < STEP - 77 ? 0 : (i + 77) / STEP);
    block = mem_grow(block, size, 2 * STEP); /* smaller */
    cr_assert_not_null(block);
    for (uint64_t i = 0; i < 2 * STEP; i++)
        cr_assert_eq(block[i], i < STEP - 77 ? 0 : (i + 77) / STEP);
    mem_free(block);
    cr_assert_eq(mem_live_blocks(), 0);
}

Test(mem, sizes_of_whole_huge_pages)
{
    const uint64_t huge = 2 * MIB;
    cr_expect_eq(mem_round_up_to_huge_pages(0), 0);
    cr_expect_eq(mem_round_up_to_huge_pages(huge - 1), huge - 1);
    cr_expect_eq(mem_round_up_to_huge_pages(huge), 2 * huge); /* the least large block */
    cr_expect_eq(mem_round_up_to_huge_pages(2 * huge), 2 * huge);
    cr_expect_eq(mem_round_up_to_huge_pages(2 * huge + 1), 3 * huge);
    cr_expect_eq(mem_round_up_to_huge_pages(UINT64_MAX), UINT64_MAX); /* no block is so large */
    uint8_t *block = mem_grow(NULL, 0, mem_round_up_to_huge_pages(huge));
    cr_assert_not_null(block);
    cr_expect_eq((uintptr_t)block % huge, 0);
    mem_free(block);
}

Test(mem, huge_sizes_are_rejected)
{
    struct arena a = {NULL, NULL, 0};
    struct buffer b = {NULL, 0, 0};
    cr_expect_null(mem_alloc(UINT64_MAX));
    cr_expect_null(mem_alloc((uint64_t)1 << 62));
    cr_expect_null(arena_alloc(&a, UINT64_MAX - 8));
    cr_expect_null(arena_alloc_aligned(&a, UINT64_MAX - 8));
    cr_expect_null(arena_alloc_aligned(&a, UINT64_MAX - READ_SLACK - 1));
    cr_assert(buffer_append(&b, "x", 1));
    cr_expect_not(buffer_reserve(&b, UINT64_MAX));
    cr_expect_not(buffer_reserve(&b, UINT64_MAX - 1));
    cr_expect_eq(b.size, 1);
    buffer_fini(&b);
    arena_fini(&a);
}

Test(mem, nth_allocation_fails_when_set)
{
    mem_fail_at(2, false);
    void *first = mem_alloc(1), *second = mem_alloc(1), *third = mem_alloc(1);
    cr_expect(first != NULL && second == NULL && third != NULL);
    mem_fail_at(1, true);
    cr_expect_null(mem_alloc(1));
    cr_expect_null(mem_zalloc(1));
    cr_expect_null(mem_grow(first, 1, 2)); /* the old block stays valid */
    mem_fail_at(0, false);
    mem_free(first);
    mem_free(third);
}

Test(mem, arena_reset_frees_blocks_above_limit)
{
    int64_t live = mem_live_blocks();
    struct arena a = {NULL, NULL, 0};
    for (int round = 0; round < 5; round++) {
        uint8_t *blocks[200];
        for (uint32_t i = 0; i < 200; i++) {
            uint64_t size = (uint64_t)i * i * 13;
            blocks[i] = i % 2 ? arena_alloc(&a, size) : arena_alloc_aligned(&a, size);
            cr_assert(blocks[i] != NULL && is_aligned(blocks[i], i % 2 ? 16 : 64));
            memset(blocks[i], (int)i, size);
        }
        for (uint32_t i = 0; i < 200; i++)
            for (uint64_t j = 0; j < (uint64_t)i * i * 13; j += 997)
                cr_assert_eq(blocks[i][j], (uint8_t)i);
        arena_reset(&a, round % 2 ? 0 : 2 * MIB);
        cr_expect_eq(a.used, 0);
        cr_expect_eq(a.first == NULL, round % 2 == 1);
    }
    arena_fini(&a);
    arena_fini(&a);
    cr_expect_eq(mem_live_blocks(), live);
}

Test(mem, buffer_grows_and_is_unchanged_if_growing_fails)
{
    struct buffer b = {NULL, 0, 0};
    for (uint32_t i = 0; i < 100000; i++) cr_assert(buffer_append(&b, &i, sizeof i));
    for (uint32_t i = 0; i < 100000; i += 999) {
        uint32_t back;
        memcpy(&back, b.data + (uint64_t)i * sizeof back, sizeof back);
        cr_assert_eq(back, i);
    }
    struct buffer before = b;
    mem_fail_at(1, false);
    cr_expect_not(buffer_reserve(&b, b.capacity));
    mem_fail_at(0, false);
    cr_expect(b.data == before.data && b.size == before.size && b.capacity == before.capacity);
    cr_expect(buffer_append(&b, NULL, 0));
    buffer_fini(&b);
    cr_expect_null(b.data);
}

Test(mem, buffer_grows_only_when_full)
{
    struct buffer b = {NULL, 0, 0};
    cr_assert(buffer_reserve(&b, 1));
    const uint64_t capacity = b.capacity;
    while (b.size < capacity) cr_assert(buffer_append(&b, "x", 1));
    cr_expect_eq(b.capacity, capacity);
    cr_expect(buffer_append(&b, "x", 1));
    cr_expect_gt(b.capacity, capacity);
    buffer_fini(&b);
}

Test(mem, array_grows_and_is_unchanged_if_growing_fails)
{
    uint32_t *items = NULL;
    uint64_t capacity = 0, grown = 0;
    cr_expect(array_reserve(&items, &capacity, 0, sizeof *items) && items == NULL);
    for (uint32_t i = 0; i < 100000; i++) {
        const uint64_t before = capacity;
        cr_assert(array_reserve(&items, &capacity, i + 1, sizeof *items));
        cr_assert(capacity == before || (before <= i && capacity >= 2 * before));
        grown += capacity != before;
        items[i] = i;
    }
    cr_expect_leq(grown, 17, "%llu blocks", (unsigned long long)grown);
    for (uint32_t i = 0; i < 100000; i++) cr_assert_eq(items[i], i);
    const uint32_t *block = items;
    const uint64_t before = capacity;
    mem_fail_at(1, false);
    cr_expect_not(array_reserve(&items, &capacity, capacity + 1, sizeof *items));
    mem_fail_at(0, false);
    cr_expect_not(array_reserve(&items, &capacity, UINT64_MAX / 2, sizeof *items));
    cr_expect_not(array_reserve(&items, &capacity, UINT64_C(1) << 62, sizeof *items));
    cr_expect(items == block && capacity == before && items[99999] == 99999);
    cr_expect(array_reserve(&items, &capacity, 10 * before, sizeof *items));
    cr_expect_eq(capacity, 10 * before);
    mem_free(items);
}
