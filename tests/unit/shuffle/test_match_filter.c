/* Shuffles whose later records are needed only if an earlier one has their key, as joins are. */
#include "tests/unit/shuffle/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MAPS = 8, ROWS = 5000 /* of a map task */ };

static bool is_late(struct glint_slice value)
{
    return value.data[0] == 'L';
}

static void add(struct records *r, uint32_t key, char kind, uint32_t map)
{
    char k[16], v[48];
    const int key_size = snprintf(k, sizeof k, "key %u", key);
    const int value_size = snprintf(v, sizeof v, "%c the value of %u in %u", kind, key, map);
    records_add(r, (struct glint_slice){(uint8_t *)k, (uint64_t)key_size},
                (struct glint_slice){(uint8_t *)v, (uint64_t)value_size}, map);
}

/* Half of the map tasks have records that need no match; the keys of the others are among those,
 * `percent` of them. */
static void make_sides(struct records *in, uint32_t percent)
{
    for (uint32_t map = 0; map < MAPS; map++)
        for (uint32_t i = 0; i < ROWS; i++) {
            const uint32_t key = map % (MAPS / 2) * ROWS + i, other = i % 100 >= percent;
            add(in, map < MAPS / 2 ? key : key + other * MAPS * ROWS, map < MAPS / 2 ? 'E' : 'L',
                map);
        }
}

/* Checks that every needed record arrived, in order. Returns how many others did. */
static uint64_t count_unneeded(const struct records *expected, const struct records *got)
{
    uint64_t at = 0, unneeded = 0;
    for (uint64_t i = 0; i < expected->count; i++) {
        const struct cell_pair *e = &expected->items[i], *g = &got->items[at];
        const bool same = at < got->count && e->key.size == g->key.size &&
                          e->value.size == g->value.size && e->partition == g->partition &&
                          memcmp(e->key.data, g->key.data, e->key.size) == 0 &&
                          memcmp(e->value.data, g->value.data, e->value.size) == 0;
        char key[16] = "";
        memcpy(key, e->key.data, e->key.size);
        const bool needed = strtoul(key + 4, NULL, 10) < MAPS * ROWS;
        cr_assert(same || !needed, "%s is missing", key);
        unneeded += same && !needed;
        at += same;
    }
    cr_assert_eq(at, got->count);
    return unneeded;
}

/* Returns how many of the unneeded records arrived. */
static uint64_t run_sides(uint32_t percent, uint64_t memory, uint32_t partitions)
{
    struct records in = {.items = NULL}, expected = {.items = NULL}, got = {.items = NULL};
    const struct shuffle_spec spec = {.key = GLINT_TEXT,
                                      .value = GLINT_TEXT,
                                      .acc = GLINT_TEXT,
                                      .partitions = partitions,
                                      .needs_match = is_late,
                                      .dependency = {.combine = COMBINE_NONE}};
    const struct plan plan = {.spec = &spec, .maps = MAPS, .batch_rows = 1000};
    struct test_task t;
    make_sides(&in, percent);
    expect_shuffle(&plan, &in, &expected);
    test_task_init(&t, memory);
    const int64_t live = mem_live_blocks();
    cr_assert_eq(run_shuffle(&t, &plan, &in, &got), 0, "%s", t.task.error.cause);
    const uint64_t unneeded = count_unneeded(&expected, &got);
    records_fini(&got);
    cr_assert_eq(mem_live_blocks(), live);
    records_fini(&in);
    records_fini(&expected);
    cr_assert(test_task_fini(&t), "a file is left");
    return unneeded;
}

Test(match_filter, records_without_a_match_are_left_out)
{
    for (uint32_t partitions = 1; partitions <= 4; partitions += 3) {
        cr_expect_lt(run_sides(50, 64 * MIB, partitions), MAPS / 2 * ROWS / 2 / 20);
        cr_expect_lt(run_sides(0, 64 * MIB, partitions), MAPS / 2 * ROWS / 20);
    }
}

/* If most keys match, looking for the others is given up; if the early records are on disk already,
 * it does not start. */
Test(match_filter, it_is_used_only_where_it_pays)
{
    cr_expect_gt(run_sides(98, 64 * MIB, 1), MAPS / 2 * ROWS / 100);
    cr_expect_eq(run_sides(50, 256 * KIB, 1), MAPS / 2 * ROWS / 2);
}
