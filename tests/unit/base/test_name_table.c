/* base/name_table.h: numbers of names. */
#include "engine/base/name_table.h"

#include "engine/base/text.h"

#include <criterion/criterion.h>

enum { NAMES = 5000 };
static char texts[NAMES][16];

static void fill(struct name_table *t)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        text_format(texts[i], sizeof texts[i], "column%u", i);
        cr_assert(name_table_add(t, texts[i]));
    }
}

Test(name_table, each_name_has_the_number_of_its_place)
{
    struct name_table t = {.names = NULL};
    char other[16];
    cr_expect(name_table_find(&t, "column0") == UINT32_MAX);
    fill(&t);
    cr_assert(t.count == NAMES);
    for (uint32_t i = 0; i < NAMES; i++) {
        text_format(other, sizeof other, "column%u", i);
        cr_assert(name_table_find(&t, other) == i);
    }
    cr_expect(name_table_find(&t, "column") == UINT32_MAX);
    cr_expect(name_table_find(&t, "") == UINT32_MAX);
    name_table_fini(&t);
}

Test(name_table, of_equal_names_the_first_is_found)
{
    struct name_table t = {.names = NULL};
    cr_assert(name_table_add(&t, "a") && name_table_add(&t, "b") && name_table_add(&t, "a"));
    cr_expect(t.count == 3 && name_table_find(&t, "a") == 0 && name_table_find(&t, "b") == 1);
    fill(&t);
    cr_expect(name_table_find(&t, "a") == 0 && name_table_find(&t, "b") == 1);
    name_table_fini(&t);
}

Test(name_table, without_memory_the_names_before_are_still_found)
{
    for (int64_t at = 1; at <= 2; at++) {
        struct name_table t = {.names = NULL};
        mem_fail_at(at, true);
        cr_expect(!name_table_add(&t, "a"));
        mem_fail_at(0, false);
        cr_expect(name_table_find(&t, "a") == UINT32_MAX);
        cr_expect(name_table_add(&t, "a") && name_table_find(&t, "a") == 0);
        name_table_fini(&t);
    }
    cr_expect(mem_live_blocks() == 0);
}
