/* The vector lookup of small keys returns the same slots as one load per key. */
#include "engine/base/hash.h"
#include "engine/limits.h"
#include "engine/records/hash_table.h"

#include <criterion/criterion.h>

static void fill_keys(uint32_t direct[DIRECT_LOOKUP_KEYS], int64_t *keys, uint32_t rows,
                      uint64_t seed)
{
    for (uint32_t k = 0; k < DIRECT_LOOKUP_KEYS; k++)
        direct[k] = 1 + (k * 7 + 3) % DIRECT_LOOKUP_KEYS;
    for (uint32_t i = 0; i < rows; i++)
        keys[i] = (int64_t)(hash_mix(seed + i) % DIRECT_LOOKUP_KEYS);
}

Test(direct_lookup, every_row_finds_its_slot)
{
    direct_lookup_fn find = direct_lookup_for_cpu();
    if (find == NULL) cr_skip("this CPU has no wide shuffles");
    for (uint32_t rows = 1; rows <= BATCH_ROWS_MAX; rows += 1 + rows / 9) {
        uint32_t direct[DIRECT_LOOKUP_KEYS], slots[BATCH_ROWS_MAX];
        int64_t keys[BATCH_ROWS_MAX];
        fill_keys(direct, keys, rows, rows);
        cr_assert(find(keys, rows, direct, slots));
        for (uint32_t i = 0; i < rows; i++) cr_assert_eq(slots[i], direct[keys[i]] - 1);
    }
}

Test(direct_lookup, unknown_key_in_any_row_is_detected)
{
    static const int64_t odd[] = {DIRECT_LOOKUP_KEYS, -1, INT64_MIN, INT64_MAX, (int64_t)1 << 32};
    direct_lookup_fn find = direct_lookup_for_cpu();
    if (find == NULL) cr_skip("this CPU has no wide shuffles");
    uint32_t direct[DIRECT_LOOKUP_KEYS], slots[70];
    int64_t keys[70];
    fill_keys(direct, keys, 70, 1);
    for (uint32_t at = 0; at < 70; at++) {
        int64_t kept = keys[at];
        for (uint32_t o = 0; o < sizeof odd / sizeof odd[0]; o++) {
            keys[at] = odd[o];
            cr_assert_not(find(keys, 70, direct, slots), "row %u", at);
        }
        keys[at] = kept;
    }
    for (uint32_t at = 0; at < 70; at++) {
        uint32_t slot = direct[keys[at]];
        direct[keys[at]] = 0;
        cr_assert_not(find(keys, 70, direct, slots), "row %u has no slot", at);
        direct[keys[at]] = slot;
    }
}
