/* Compares every variant that the CPU supports with one counter per slot. */
#include "engine/base/hash.h"
#include "engine/limits.h"
#include "engine/shuffle/shuffle_internal.h"

#include <criterion/criterion.h>
#include <string.h>

static void check_counts(slot_histogram_fn count, uint32_t rows, uint32_t slots, uint64_t seed)
{
    uint32_t slot[BATCH_ROWS_MAX], want[SLOT_HISTOGRAM_SLOTS_MAX] = {0},
                                   have[SLOT_HISTOGRAM_SLOTS_MAX] = {0};
    int64_t value[BATCH_ROWS_MAX];
    for (uint32_t i = 0; i < rows; i++) {
        slot[i] = (uint32_t)(hash_mix(seed + i) % slots);
        value[i] = -7;
        want[slot[i]]++;
    }
    cr_assert(count(slot, value, rows, slots, have));
    cr_assert_arr_eq(have, want, slots * sizeof *want);
    if (rows < 2) return;
    for (uint32_t odd = 0; odd < rows; odd += 1 + rows / 7) {
        value[odd] = INT64_MIN;
        cr_assert_not(count(slot, value, rows, slots, have), "row %u differs", odd);
        value[odd] = -7;
    }
}

Test(slot_histogram, every_level_counts_the_same)
{
    static const uint32_t sizes[] = {1,  2,  3,  7,  8,  9,    15,
                                     16, 17, 63, 64, 65, 1000, BATCH_ROWS_MAX};
    for (int level = 0; level < SLOT_HISTOGRAM_LEVELS; level++) {
        slot_histogram_fn count = slot_histogram_for_level((enum slot_histogram_level)level);
        if (count == NULL) continue;
        for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (uint32_t slots = 1; slots <= SLOT_HISTOGRAM_SLOTS_MAX; slots++)
                check_counts(count, sizes[i], slots, i * 1000 + slots);
    }
}

Test(slot_histogram, best_level_is_available)
{
    cr_assert_not_null(slot_histogram_for_cpu());
    cr_assert_not_null(slot_histogram_for_level(SLOT_HISTOGRAM_PORTABLE));
}
