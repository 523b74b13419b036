/* The map output tracker: outputs survive actions, and are lost with their executors. */
#include "engine/driver/driver_internal.h"

#include <criterion/criterion.h>

static struct map_outputs *list;

static void drop(void)
{
    map_outputs_destroy(list);
    list = NULL;
}

static void set(struct map_outputs *o, uint32_t map, uint32_t executor, const char *sizes)
{
    struct map_output_location place = {executor, 0};
    map_outputs_add(o, map, place, (struct glint_slice){(const uint8_t *)sizes, strlen(sizes)});
}

Test(map_outputs, shuffle_has_one_table, .fini = drop)
{
    struct map_outputs *a = map_outputs_get_or_create(&list, 7, 3, 2),
                       *b = map_outputs_get_or_create(&list, 8, 1, 1);
    cr_assert(a != NULL && b != NULL && a != b);
    cr_expect_eq(map_outputs_get_or_create(&list, 7, 3, 2), a);
    cr_expect_not(map_outputs_is_complete(a));
}

Test(map_outputs, lost_executor_loses_its_outputs, .fini = drop)
{
    struct map_outputs *o = map_outputs_get_or_create(&list, 7, 3, 2);
    set(o, 0, 0, "ab");
    set(o, 1, 1, "ab");
    set(o, 2, 0, "ab");
    cr_expect(map_outputs_is_complete(o));
    map_outputs_remove_executor(list, 0);
    cr_expect(!o->available[0] && o->available[1] && !o->available[2]);
    cr_expect(o->lost_count == 2 && o->lost[0] && !o->lost[1] && o->lost[2]);
    map_outputs_remove_executor(list, 0); /* outputs are lost only once */
    map_outputs_clear_lost(o, 0);
    map_outputs_clear_lost(o, 0);
    cr_expect(o->lost_count == 1 && !o->lost[0]);
    set(o, 2, 1, "ab");
    cr_expect(o->lost_count == 0 && !o->lost[2] && o->available[2]);
}

Test(map_outputs, stale_loss_of_recomputed_output_is_ignored, .fini = drop)
{
    struct map_outputs *o = map_outputs_get_or_create(&list, 7, 1, 1);
    map_outputs_add(o, 0, (struct map_output_location){2, 5}, (struct glint_slice){NULL, 0});
    map_outputs_remove(o, 0, (struct map_output_location){2, 4});
    map_outputs_remove(o, 0, (struct map_output_location){1, 5});
    cr_expect(o->available[0]);
    map_outputs_remove(o, 0, (struct map_output_location){2, 5});
    cr_expect_not(o->available[0]);
}

Test(map_outputs, executor_with_most_bytes_is_preferred, .fini = drop)
{
    uint64_t scratch[3] = {0};
    struct map_outputs *o = map_outputs_get_or_create(&list, 7, 3, 2);
    set(o, 0, 2, (const char[]){100, 50, 0});
    set(o, 1, 1, (const char[]){50, 50, 0});
    set(o, 2, 1, (const char[]){50, 50, 0});
    cr_expect_eq(map_outputs_preferred_executor(o, 0, 3, scratch), 2);
    cr_expect_eq(map_outputs_preferred_executor(o, 1, 3, scratch), 1);
    set(o, 1, 1, (const char[]){50, 14, 0});
    set(o, 2, 1, (const char[]){50, 12, 0});
    set(o, 0, 2, (const char[]){100, 20, 0});
    cr_expect_eq(map_outputs_preferred_executor(o, 1, 3, scratch),
                 UINT32_MAX); /* 13 : 12 is not clear enough */
    for (int e = 0; e < 3; e++) cr_expect_eq(scratch[e], 0);
    cr_expect_eq(map_outputs_preferred_executor(o, 0, 1, scratch),
                 UINT32_MAX); /* the only executor */
}

Test(map_outputs, sizes_of_wrong_length_are_ignored, .fini = drop)
{
    uint64_t scratch[2] = {0};
    struct map_outputs *o = map_outputs_get_or_create(&list, 7, 1, 2);
    set(o, 0, 1, "abc");
    cr_expect_eq(map_outputs_preferred_executor(o, 0, 2, scratch), UINT32_MAX);
}

Test(map_outputs, size_code_error_is_at_most_an_eighth)
{
    for (uint64_t bytes = 1; bytes < (uint64_t)1 << 32; bytes += bytes / 3 + 1) {
        uint64_t back = size_code_decode(size_code_encode(bytes));
        cr_assert(back <= bytes && bytes - back <= bytes / 8, "%lu became %lu", bytes, back);
    }
    cr_expect_eq(size_code_encode(0), 0);
}
