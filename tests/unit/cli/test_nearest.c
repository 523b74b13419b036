/* The guess behind "did you mean". */
#include "engine/cli/nearest.h"

#include <criterion/criterion.h>

static const char *guess(const char *wanted, const char *const *names)
{
    struct nearest n;
    nearest_init(&n, wanted);
    for (; *names != NULL; names++) nearest_offer(&n, *names);
    return n.name;
}

Test(nearest, distances)
{
    cr_expect_eq(nearest_distance("", ""), 0);
    cr_expect_eq(nearest_distance("", "abc"), 3);
    cr_expect_eq(nearest_distance("master", "master"), 0);
    cr_expect_eq(nearest_distance("maser", "master"), 1);
    cr_expect_eq(nearest_distance("mastre", "master"), 1, "a swap is one step");
    cr_expect_eq(nearest_distance("kitten", "sitting"), 3);
    cr_expect_eq(nearest_distance("ca", "abc"), 3, "no step changes what was swapped");
    cr_expect_eq(nearest_distance("abc", "xyz"), 3);
}

Test(nearest, is_symmetric)
{
    static const char *const words[] = {"", "a", "ab", "ba", "split", "spilt", "partition", "seed"};
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++)
            cr_expect_eq(nearest_distance(words[i], words[j]),
                         nearest_distance(words[j], words[i]));
}

Test(nearest, long_names_are_near_to_nothing)
{
    char name[NEAREST_BYTES_MAX + 2];
    for (size_t i = 0; i <= NEAREST_BYTES_MAX; i++) name[i] = 'x';
    name[NEAREST_BYTES_MAX + 1] = '\0';
    cr_expect_eq(nearest_distance(name, "x"), UINT32_MAX);
    cr_expect_eq(nearest_distance("x", name), UINT32_MAX);
    name[NEAREST_BYTES_MAX] = '\0';
    cr_expect_eq(nearest_distance(name, name), 0);
    cr_expect_eq(nearest_distance(name, "x"), NEAREST_BYTES_MAX - 1);
}

Test(nearest, guesses)
{
    static const char *const names[] = {"memory",     "master",    "max-line",
                                        "partitions", "overwrite", NULL};
    cr_expect_str_eq(guess("memroy", names), "memory");
    cr_expect_str_eq(guess("part", names), "partitions", "a beginning is understood");
    cr_expect_str_eq(guess("mastr", names), "master");
    cr_expect_str_eq(guess("over-write", names), "overwrite");
    cr_expect_null(guess("confg", names));
    cr_expect_null(guess("x", names));
    cr_expect_null(guess("", names));
}
