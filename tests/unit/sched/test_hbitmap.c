/* hbitmap, compared with an array of booleans. */
#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/sched/sched_internal.h"

#include <criterion/criterion.h>

static uint32_t naive_next(const bool *in, uint32_t capacity, uint32_t from)
{
    for (uint32_t i = from; i < capacity; i++)
        if (in[i]) return i;
    return HBITMAP_NONE;
}

Test(hbitmap, matches_an_array_of_booleans)
{
    static const uint32_t capacities[] = {1, 63, 64, 65, 4095, 4096, 4097, 10000, 300000};
    for (uint32_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        uint32_t capacity = capacities[c];
        bool *in = mem_zalloc(capacity);
        struct hbitmap b = {0};
        cr_assert(hbitmap_is_empty(&b) && hbitmap_next(&b, 0) == HBITMAP_NONE);
        cr_assert(hbitmap_reserve(&b, (capacity + 1) / 2));
        uint64_t random = capacity;
        for (uint32_t round = 0; round < 4000; round++) {
            if (round == 1000) cr_assert(hbitmap_reserve(&b, capacity)); /* members stay */
            random = hash_mix(random);
            uint32_t room = round < 1000 ? (capacity + 1) / 2 : capacity;
            uint32_t number = (uint32_t)(random >> 32) % room, from = (uint32_t)random % room;
            in[number] = round % 1000 < 500 && (random & 3) != 0;
            hbitmap_assign(&b, number, in[number]);
            cr_assert_eq(hbitmap_next(&b, from), naive_next(in, capacity, from));
        }
        for (uint32_t i = 0; i < capacity; i++) hbitmap_clear(&b, i);
        cr_expect(hbitmap_is_empty(&b));
        for (uint32_t i = 0; i < capacity; i++) hbitmap_set(&b, i);
        for (uint32_t i = 0; i < capacity; i++) cr_assert_eq(hbitmap_next(&b, i), i);
        cr_expect_eq(hbitmap_next(&b, capacity), HBITMAP_NONE);
        cr_expect_eq(hbitmap_next(&b, UINT32_MAX), HBITMAP_NONE);
        hbitmap_fini(&b);
        mem_free(in);
    }
}

Test(hbitmap, failed_reserve_changes_nothing)
{
    struct hbitmap b = {0};
    cr_assert(hbitmap_reserve(&b, 10));
    hbitmap_set(&b, 7);
    mem_fail_at(1, false);
    cr_expect_not(hbitmap_reserve(&b, 100));
    mem_fail_at(0, false);
    cr_expect_eq(hbitmap_next(&b, 0), 7);
    cr_expect(hbitmap_reserve(&b, 100));
    cr_expect_eq(hbitmap_next(&b, 0), 7);
    hbitmap_fini(&b);
}
