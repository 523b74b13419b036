/* Segment numbers: round trips, and what the build number depends on. */
#include "jobs/filters/segments.h"

#include <criterion/criterion.h>

enum { KEYS = 4 };

static union glint_value keys[KEYS] = {{.i64 = 3}, {.i64 = 5}, {.i64 = 7}, {.i64 = 11}};

static struct bloom_params params[KEYS];

static struct sizes make_sizes(void)
{
    static const uint64_t m[KEYS] = {1, 512, 513, 5000};
    for (int i = 0; i < KEYS; i++)
        params[i] = (struct bloom_params){.scheme = BLOOM_WIDE, .n = 10, .m = m[i], .k = 3};
    return (struct sizes){.count = KEYS, .keys = keys, .params = params};
}

Test(segments, segment_numbers_cover_all_keys)
{
    const struct sizes sizes = make_sizes();
    for (uint32_t log2 = BLOOM_SEGMENT_LOG2_MIN; log2 <= BLOOM_SEGMENT_LOG2_MAX; log2++) {
        uint32_t first[KEYS + 1];
        struct segments s = {.log2 = log2, .first = first};
        segments_assign_numbers(&sizes, &s);
        cr_assert_eq(s.count, segments_total(&sizes, log2));
        cr_assert_eq(s.count, log2 == 9 ? 1 + 1 + 2 + 10 : s.count);
        int64_t number = 0;
        for (uint32_t key = 0; key < KEYS; key++)
            for (uint64_t i = 0; i < bloom_segments(params[key].m, segments_bits_each(&s)); i++) {
                uint32_t found;
                uint64_t index;
                cr_assert(segments_find(&s, &sizes, number++, &found, &index));
                cr_assert_eq(found, key);
                cr_assert_eq(index, i);
            }
        uint32_t found;
        uint64_t index;
        cr_assert_eq(number, s.count);
        cr_assert_not(segments_find(&s, &sizes, number, &found, &index));
        cr_assert_not(segments_find(&s, &sizes, -1, &found, &index));
        cr_assert_not(segments_find(&s, &sizes, INT64_MAX, &found, &index));
    }
}

Test(segments, index_width_follows_segment_size)
{
    static const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04};
    static const struct {
        uint32_t log2, width, index;
    } cases[] = {{9, 2, 0x0201},    {16, 2, 0x0201},     {17, 3, 0x030201},
                 {24, 3, 0x030201}, {25, 4, 0x04030201}, {31, 4, 0x04030201}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct segments s = {.log2 = cases[i].log2};
        cr_assert_eq(segments_index_bytes(&s), cases[i].width);
        cr_assert_eq(segments_read_index(bytes, segments_index_mask(&s)), cases[i].index);
    }
}

Test(segments, build_id_depends_on_parameters)
{
    struct sizes sizes = make_sizes();
    const uint64_t build = segments_build_id(&sizes, 10, 1);
    cr_assert_eq(segments_build_id(&sizes, 10, 1), build);
    cr_assert_neq(segments_build_id(&sizes, 11, 1), build);
    cr_assert_neq(segments_build_id(&sizes, 10, 2), build);
    params[2].n++;
    cr_assert_neq(segments_build_id(&sizes, 10, 1), build);
    params[2].n--;
    params[0].layout = BLOOM_BLOCK512;
    cr_assert_neq(segments_build_id(&sizes, 10, 1), build);
    params[0].layout = BLOOM_CLASSIC;
    sizes.count--;
    cr_assert_neq(segments_build_id(&sizes, 10, 1), build);
    sizes.count++;
    cr_assert_eq(segments_build_id(&sizes, 10, 1), build);
}
