/* Where map outputs are: kept over actions, lost with their executors. */
#include "engine/driver/outputs.h"

#include <criterion/criterion.h>

static struct outputs *list;

static void drop(void)
{
    outputs_destroy(list);
    list = NULL;
}

static void set(struct outputs *o, uint32_t map, uint32_t executor, const char *sizes)
{
    struct output_place place = {executor, 0};
    outputs_set(o, map, place, (struct glint_slice){(const uint8_t *)sizes, strlen(sizes)});
}

Test(outputs, a_shuffle_has_one_table, .fini = drop)
{
    struct outputs *a = outputs_of(&list, 7, 3, 2), *b = outputs_of(&list, 8, 1, 1);
    cr_assert(a != NULL && b != NULL && a != b);
    cr_expect_eq(outputs_of(&list, 7, 3, 2), a);
    cr_expect_not(outputs_complete(a));
}

Test(outputs, an_executor_takes_its_outputs_along, .fini = drop)
{
    struct outputs *o = outputs_of(&list, 7, 3, 2);
    set(o, 0, 0, "ab");
    set(o, 1, 1, "ab");
    set(o, 2, 0, "ab");
    cr_expect(outputs_complete(o));
    outputs_lost_executor(list, 0);
    cr_expect(!o->there[0] && o->there[1] && !o->there[2]);
    cr_expect(o->lost_count == 2 && o->lost[0] && !o->lost[1] && o->lost[2]);
    outputs_lost_executor(list, 0); /* they are lost once */
    outputs_found(o, 0);
    outputs_found(o, 0);
    cr_expect(o->lost_count == 1 && !o->lost[0]);
    set(o, 2, 1, "ab");
    cr_expect(o->lost_count == 0 && !o->lost[2] && o->there[2]);
}

Test(outputs, a_late_word_about_an_output_made_again_is_ignored, .fini = drop)
{
    struct outputs *o = outputs_of(&list, 7, 1, 1);
    outputs_set(o, 0, (struct output_place){2, 5}, (struct glint_slice){NULL, 0});
    outputs_lost(o, 0, (struct output_place){2, 4});
    outputs_lost(o, 0, (struct output_place){1, 5});
    cr_expect(o->there[0]);
    outputs_lost(o, 0, (struct output_place){2, 5});
    cr_expect_not(o->there[0]);
}

Test(outputs, most_of_a_partition_is_where_its_task_likes_to_be, .fini = drop)
{
    uint64_t scratch[3] = {0};
    struct outputs *o = outputs_of(&list, 7, 3, 2);
    set(o, 0, 2, (const char[]){100, 50, 0});
    set(o, 1, 1, (const char[]){50, 50, 0});
    set(o, 2, 1, (const char[]){50, 50, 0});
    cr_expect_eq(outputs_preferred(o, 0, 3, scratch), 2);
    cr_expect_eq(outputs_preferred(o, 1, 3, scratch), 1);
    set(o, 1, 1, (const char[]){50, 14, 0});
    set(o, 2, 1, (const char[]){50, 12, 0});
    set(o, 0, 2, (const char[]){100, 20, 0});
    cr_expect_eq(outputs_preferred(o, 1, 3, scratch), UINT32_MAX); /* 13 : 12 is no clear case */
    for (int e = 0; e < 3; e++) cr_expect_eq(scratch[e], 0);
    cr_expect_eq(outputs_preferred(o, 0, 1, scratch), UINT32_MAX); /* nowhere else to be */
}

Test(outputs, sizes_of_a_wrong_length_are_none, .fini = drop)
{
    uint64_t scratch[2] = {0};
    struct outputs *o = outputs_of(&list, 7, 1, 2);
    set(o, 0, 1, "abc");
    cr_expect_eq(outputs_preferred(o, 0, 2, scratch), UINT32_MAX);
}

Test(outputs, sizes_in_one_byte_are_an_eighth_off_at_most)
{
    for (uint64_t bytes = 1; bytes < (uint64_t)1 << 32; bytes += bytes / 3 + 1) {
        uint64_t back = size_of_code(size_code(bytes));
        cr_assert(back <= bytes && bytes - back <= bytes / 8, "%lu became %lu", bytes, back);
    }
    cr_expect_eq(size_code(0), 0);
}
