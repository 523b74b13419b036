/* The suggestion of "did you mean". */
#include "engine/cli/options.h"

#include <criterion/criterion.h>

static const char *expect_suggestion(const char *wanted, const char *const *names)
{
    struct suggest n;
    suggest_init(&n, wanted);
    for (; *names != NULL; names++) suggest_add_candidate(&n, *names);
    return n.name;
}

Test(suggest, edit_distances_match_known_values)
{
    cr_expect_eq(suggest_distance("", ""), 0);
    cr_expect_eq(suggest_distance("", "abc"), 3);
    cr_expect_eq(suggest_distance("master", "master"), 0);
    cr_expect_eq(suggest_distance("maser", "master"), 1);
    cr_expect_eq(suggest_distance("mastre", "master"), 1, "a swap is one step");
    cr_expect_eq(suggest_distance("kitten", "sitting"), 3);
    cr_expect_eq(suggest_distance("ca", "abc"), 3, "no step changes what was swapped");
    cr_expect_eq(suggest_distance("abc", "xyz"), 3);
}

Test(suggest, distance_is_symmetric)
{
    static const char *const words[] = {"", "a", "ab", "ba", "split", "spilt", "partition", "seed"};
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++)
            cr_expect_eq(suggest_distance(words[i], words[j]),
                         suggest_distance(words[j], words[i]));
}

Test(suggest, overlong_names_match_nothing)
{
    char name[SUGGEST_BYTES_MAX + 2];
    for (size_t i = 0; i <= SUGGEST_BYTES_MAX; i++) name[i] = 'x';
    name[SUGGEST_BYTES_MAX + 1] = '\0';
    cr_expect_eq(suggest_distance(name, "x"), UINT32_MAX);
    cr_expect_eq(suggest_distance("x", name), UINT32_MAX);
    name[SUGGEST_BYTES_MAX] = '\0';
    cr_expect_eq(suggest_distance(name, name), 0);
    cr_expect_eq(suggest_distance(name, "x"), SUGGEST_BYTES_MAX - 1);
}

Test(suggest, typos_and_prefixes_get_suggestions)
{
    static const char *const names[] = {"memory",     "master",    "max-line",
                                        "partitions", "overwrite", NULL};
    cr_expect_str_eq(expect_suggestion("memroy", names), "memory");
    cr_expect_str_eq(expect_suggestion("part", names), "partitions", "a beginning is understood");
    cr_expect_str_eq(expect_suggestion("mastr", names), "master");
    cr_expect_str_eq(expect_suggestion("over-write", names), "overwrite");
    cr_expect_null(expect_suggestion("confg", names));
    cr_expect_null(expect_suggestion("x", names));
    cr_expect_null(expect_suggestion("", names));
}
