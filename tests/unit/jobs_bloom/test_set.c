/* Sets of filters: creation, copies, union, and serialization. */
#include "jobs/bloom/internal.h"
#include "oracle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void small_set(struct bloom_set *set, uint64_t m_last)
{
    struct bloom_params params[3] = {{BLOOM_SPARK, 1, 100, 3, BLOOM_CLASSIC, NULL, {0}, 0},
                                     {BLOOM_SPARK, 2, 77, 3, BLOOM_CLASSIC, NULL, {0}, 0},
                                     {BLOOM_SPARK, 3, m_last, 3, BLOOM_CLASSIC, NULL, {0}, 0}};
    cr_assert_eq(bloom_set_init(set, params, 3), BLOOM_OK);
    for (uint32_t f = 0; f < 3; f++) {
        struct bloom_filter filter = bloom_set_filter(set, f);
        cr_assert_eq((uintptr_t)filter.bits % BLOOM_ALIGNMENT, 0);
        cr_assert_eq(filter.params.n, f + 1);
        bloom_add(&filter, "tt0000001", 9 - f);
    }
}

Test(set, invalid_sets_are_rejected)
{
    struct bloom_params params[2] = {{BLOOM_SPARK, 1, 100, 3, BLOOM_CLASSIC, NULL, {0}, 0},
                                     {BLOOM_SPARK, 1, 100, 4, BLOOM_CLASSIC, NULL, {0}, 0}};
    struct bloom_set set;
    cr_assert_eq(bloom_set_init(&set, params, 0), BLOOM_ERR_COUNT);
    cr_assert_eq(bloom_set_init(&set, params, BLOOM_SET_MAX + 1), BLOOM_ERR_COUNT);
    cr_assert_eq(bloom_set_init(&set, params, 2), BLOOM_OK); /* other values of k may differ */
    bloom_set_fini(&set);
    params[1] = (struct bloom_params){BLOOM_PLAIN, 1, 100, 3, BLOOM_CLASSIC, NULL, {0}, 0};
    cr_assert_eq(bloom_set_init(&set, params, 2), BLOOM_ERR_MISMATCH);
    params[1].m = 0;
    cr_assert_eq(bloom_set_init(&set, params, 2), BLOOM_ERR_M);
    bloom_set_fini(&set);
    bloom_set_fini(NULL);
}

Test(set, copy_and_union_have_the_right_bits)
{
    struct bloom_set set, copy, other;
    small_set(&set, 5000);
    struct bloom_filter filters[3];
    for (uint32_t f = 0; f < 3; f++) filters[f] = bloom_set_filter(&set, f);
    cr_assert_eq(bloom_set_copy(&copy, filters, 3), BLOOM_OK);
    cr_assert_eq(copy.bytes, set.bytes);
    cr_assert_arr_eq(copy.bits, set.bits, set.bytes);
    bloom_add(&filters[2], "another", 7);
    cr_assert_eq(bloom_set_union(&copy, &set), BLOOM_OK);
    cr_assert_arr_eq(copy.bits, set.bits, set.bytes);
    small_set(&other, 5001);
    cr_assert_eq(bloom_set_union(&copy, &other), BLOOM_ERR_MISMATCH);
    bloom_set_fini(&other);
    cr_assert_eq(bloom_set_copy(&other, filters, 0), BLOOM_ERR_COUNT);
    bloom_set_fini(&set);
    bloom_set_fini(&copy);
}

/* Copies the blob to an odd address, in memory of exactly its size, as it may be inside a
 * message. */
static enum bloom_result attach(struct bloom_set *set, const uint8_t *blob, uint64_t size,
                                uint8_t **out_memory)
{
    *out_memory = malloc(size + 1);
    cr_assert_not_null(*out_memory);
    memcpy(*out_memory + 1, blob, size);
    return bloom_set_attach(set, *out_memory + 1, size);
}

Test(set, blob_round_trips)
{
    struct bloom_set set, seen;
    small_set(&set, 5000);
    uint64_t size;
    uint8_t *blob = blob_of(&set, &size), *memory;
    cr_assert_eq(attach(&seen, blob, size, &memory), BLOOM_OK);
    cr_assert(seen.borrowed && seen.count == 3 && seen.k == 3 && seen.bytes == set.bytes);
    cr_assert_arr_eq(seen.bits, set.bits, set.bytes);
    uint8_t ids[9 + BLOOM_ID_SLACK] = "tt0000001";
    struct bloom_rows rows = {ids, (uint32_t[]){0, 0, 0, 0}, (uint32_t[]){9, 8, 7, 6},
                              (uint16_t[]){0, 1, 2, 2}, 4};
    for (int level = 0; level < BLOOM_LEVELS; level++) {
        if (!bloom_level_available((enum bloom_level)level)) continue;
        bloom_force_level(&seen, (enum bloom_level)level);
        uint8_t hits[4];
        bloom_set_contains_rows(&seen, &rows, hits);
        cr_assert_arr_eq(hits, ((uint8_t[]){1, 1, 1, 0}), 4);
    }
    bloom_set_fini(&seen);
    bloom_set_fini(&set);
    free(memory);
    free(blob);
}

Test(set, damaged_blob_is_rejected)
{
    struct bloom_set set, seen;
    small_set(&set, 500);
    uint64_t size;
    uint8_t *blob = blob_of(&set, &size), *memory;
    for (uint64_t shorter = 0; shorter < size; shorter++) {
        cr_assert_eq(attach(&seen, blob, shorter, &memory), BLOOM_ERR_TRUNCATED);
        cr_assert_null(seen.table);
        free(memory);
    }
    blob[size] = 0;
    cr_assert_eq(attach(&seen, blob, size + 1, &memory), BLOOM_ERR_TRAILING);
    free(memory);
    free(blob);
    bloom_set_fini(&set);
}

Test(set, each_wrong_field_has_its_error)
{
    struct bloom_set set, seen;
    small_set(&set, 500);
    uint64_t size;
    uint8_t *blob = blob_of(&set, &size), *memory;
    /* 3 filters: their n, m and k at 24..95. */
    static const struct {
        uint32_t at;
        uint8_t value;
        enum bloom_result result;
    } corrupt[] = {{0, 'G', BLOOM_ERR_FORMAT},  {8, BLOOM_SCHEMES, BLOOM_ERR_SCHEME},
                   {12, 4, BLOOM_ERR_SEEDED},   {12, 12, BLOOM_ERR_SEEDED},
                   {13, 2, BLOOM_ERR_SEEDED},   {40, 0, BLOOM_ERR_K},
                   {41, 1, BLOOM_ERR_K},        {44, 1, BLOOM_ERR_K},
                   {16, 0, BLOOM_ERR_COUNT},    {17, 0x20, BLOOM_ERR_COUNT},
                   {18, 1, BLOOM_ERR_COUNT},    {17, 0x01, BLOOM_ERR_TRUNCATED},
                   {20, 1, BLOOM_ERR_PAIR},     {20, BLOOM_LAYOUTS, BLOOM_ERR_LAYOUT},
                   {24, 0, BLOOM_ERR_N},        {35, 0x80, BLOOM_ERR_M},
                   {34, 1, BLOOM_ERR_TRUNCATED}};
    cr_assert_eq(size, 320);
    for (size_t i = 0; i < sizeof corrupt / sizeof *corrupt; i++) {
        uint8_t saved = blob[corrupt[i].at];
        cr_assert_neq(saved, corrupt[i].value);
        blob[corrupt[i].at] = corrupt[i].value;
        cr_assert_eq(attach(&seen, blob, size, &memory), corrupt[i].result, "corrupt value %zu", i);
        blob[corrupt[i].at] = saved;
        free(memory);
    }
    free(blob);
    bloom_set_fini(&set);
}

/* Large areas are mapped, small ones are allocated: around one huge page of 2 MiB. */
Test(set, areas_of_about_one_huge_page)
{
    for (uint64_t bytes = (2 << 20) - 1; bytes <= (2 << 20) + 1; bytes++) {
        uint8_t *area = bloom_area_create(bytes);
        cr_assert(area != NULL && area[0] == 0 && area[bytes - 1] == 0);
        area[bytes - 1] = 1;
        bloom_area_destroy(area, bytes);
    }
}
