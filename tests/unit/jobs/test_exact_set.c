/* Compares the exact set with a plain list: members, non-members, and the reported memory. */
#include "jobs/papers/exact_set.h"

#include "engine/driver/driver.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { STRINGS = 5000, WIDTH = 12 };

static char text[STRINGS][WIDTH];
static struct glint *g;

static void start(void)
{
    for (int i = 0; i < STRINGS; i++) snprintf(text[i], WIDTH, "%d", i * 7);
    const struct context_config config = local_config(1, false);
    struct glint_error error;
    g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
}

static void stop(void)
{
    cr_expect_eq(glint_finish(g), 0);
    glint_destroy(g);
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(exact_set, .init = start, .fini = stop);

static bool add_string(struct exact_set *set, int i)
{
    return exact_set_add(set, (const uint8_t *)text[i], (uint32_t)strlen(text[i]));
}

static bool contains_string(const struct exact_set *set, int i)
{
    return exact_set_contains(set, (const uint8_t *)text[i], (uint32_t)strlen(text[i]));
}

Test(exact_set, contains_exactly_the_added_strings)
{
    struct exact_set *set = exact_set_new(g, STRINGS / 2);
    cr_assert_not_null(set);
    cr_expect(!contains_string(set, 0));
    for (int i = 0; i < STRINGS; i += 2) cr_assert(add_string(set, i));
    for (int i = 0; i < STRINGS; i++) cr_assert_eq(contains_string(set, i), i % 2 == 0);
    cr_expect_eq(exact_set_count(set), STRINGS / 2);
    cr_expect(!exact_set_contains(set, (const uint8_t *)text[2], 1)); /* "1" of "14" */
    exact_set_free(set);
}

Test(exact_set, duplicate_is_counted_once)
{
    struct exact_set *set = exact_set_new(g, 3);
    cr_assert_not_null(set);
    for (int i = 0; i < 30; i++) cr_assert(add_string(set, i % 3));
    cr_expect_eq(exact_set_count(set), 3);
    cr_expect(exact_set_bytes(set) > 3 * sizeof(void *));
    exact_set_free(set);
}

Test(exact_set, empty_string_and_zero_bytes_are_distinct)
{
    static const uint8_t zeros[4];
    struct exact_set *set = exact_set_new(g, 4);
    cr_assert_not_null(set);
    for (uint32_t size = 0; size < 4; size += 2) cr_assert(exact_set_add(set, zeros, size));
    for (uint32_t size = 0; size <= 4; size++)
        cr_expect_eq(exact_set_contains(set, zeros, size), size < 4 && size % 2 == 0);
    exact_set_free(set);
    exact_set_free(NULL);
}

Test(exact_set, memory_stays_within_the_estimate)
{
    for (uint64_t count = 1; count <= STRINGS; count += 1 + count / 3) {
        uint64_t strings = 0;
        struct exact_set *set = exact_set_new(g, count);
        cr_assert_not_null(set);
        for (uint64_t i = 0; i < count; i++) {
            cr_assert(add_string(set, (int)i));
            strings += strlen(text[i]);
        }
        cr_expect_leq(exact_set_bytes(set), exact_set_bytes_max(count) + strings);
        exact_set_free(set);
    }
}
