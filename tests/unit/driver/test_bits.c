/* The set of small numbers, against an array of booleans. */
#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/driver/bits.h"

#include <criterion/criterion.h>

static uint32_t naive_next(const bool *in, uint32_t capacity, uint32_t from)
{
    for (uint32_t i = from; i < capacity; i++)
        if (in[i]) return i;
    return BITS_NONE;
}

Test(bits, same_as_booleans)
{
    static const uint32_t capacities[] = {1, 63, 64, 65, 4095, 4096, 4097, 10000, 300000};
    for (uint32_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        uint32_t capacity = capacities[c];
        bool *in = mem_zalloc(capacity);
        struct bits b = {0};
        cr_assert(bits_empty(&b) && bits_next(&b, 0) == BITS_NONE);
        cr_assert(bits_reserve(&b, (capacity + 1) / 2));
        uint64_t random = capacity;
        for (uint32_t round = 0; round < 4000; round++) {
            if (round == 1000) cr_assert(bits_reserve(&b, capacity)); /* members stay */
            random = hash_mix(random);
            uint32_t room = round < 1000 ? (capacity + 1) / 2 : capacity;
            uint32_t number = (uint32_t)(random >> 32) % room, from = (uint32_t)random % room;
            in[number] = round % 1000 < 500 && (random & 3) != 0;
            bits_put(&b, number, in[number]);
            cr_assert_eq(bits_next(&b, from), naive_next(in, capacity, from));
        }
        for (uint32_t i = 0; i < capacity; i++) bits_remove(&b, i);
        cr_expect(bits_empty(&b));
        for (uint32_t i = 0; i < capacity; i++) bits_add(&b, i);
        for (uint32_t i = 0; i < capacity; i++) cr_assert_eq(bits_next(&b, i), i);
        cr_expect_eq(bits_next(&b, capacity), BITS_NONE);
        cr_expect_eq(bits_next(&b, UINT32_MAX), BITS_NONE);
        bits_fini(&b);
        mem_free(in);
    }
}

Test(bits, without_memory_nothing_changes)
{
    struct bits b = {0};
    cr_assert(bits_reserve(&b, 10));
    bits_add(&b, 7);
    mem_fail_at(1, false);
    cr_expect_not(bits_reserve(&b, 100));
    mem_fail_at(0, false);
    cr_expect_eq(bits_next(&b, 0), 7);
    cr_expect(bits_reserve(&b, 100));
    cr_expect_eq(bits_next(&b, 0), 7);
    bits_fini(&b);
}
