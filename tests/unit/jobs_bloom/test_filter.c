/* One filter: its bits compared with the oracle's, union, fill and rates. */
#include "oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct bloom_filter filter_of(enum bloom_scheme scheme, uint64_t m, uint32_t k)
{
    struct bloom_filter filter;
    struct bloom_params params = {.scheme = scheme, .n = 100, .m = m, .k = k};
    cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
    return filter;
}

static void add_sample(struct bloom_filter *filter, const struct sample *sample)
{
    for (uint32_t r = 0; r < sample->rows.rows; r++)
        bloom_add(filter, sample->data + sample->start[r], sample->end[r] - sample->start[r]);
}

Test(filter, memory_is_zeroed_aligned_and_padded)
{
    static const uint64_t sizes[] = {1, 7, 8, 511, 512, 100000, 16u << 20, (16u << 20) + 9};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bloom_filter filter = filter_of(BLOOM_SPARK, sizes[i], 3);
        uint64_t readable = (bloom_bytes(sizes[i]) + 63) / 64 * 64 + 64;
        cr_assert_eq((uintptr_t)filter.bits % BLOOM_ALIGNMENT, 0);
        for (uint64_t b = 0; b < readable; b++) cr_assert_eq(filter.bits[b], 0);
        bloom_fini(&filter);
        cr_assert_null(filter.bits);
        bloom_fini(&filter);
    }
    bloom_fini(NULL);
}

Test(filter, bits_equal_oracle)
{
    struct sample sample;
    sample_init(&sample, 400, 0, 70, 1, 3);
    for (int scheme = BLOOM_SPARK; scheme <= BLOOM_PLAIN; scheme++) {
        for (uint64_t m = 1; m < 100000; m = m * 7 / 2 + 1) {
            struct bloom_filter filter = filter_of((enum bloom_scheme)scheme, m, 4);
            uint8_t *naive = calloc(m, 1);
            cr_assert_not_null(naive);
            add_sample(&filter, &sample);
            for (uint32_t r = 0; r < 400; r++)
                for (uint32_t i = 0; i < 4; i++)
                    naive[oracle_index(&filter.params, sample.data + sample.start[r],
                                       sample.end[r] - sample.start[r], i)] = 1;
            uint64_t set = 0;
            for (uint64_t b = 0; b < m; b++) {
                cr_assert_eq(filter.bits[b / 8] >> b % 8 & 1, naive[b]);
                set += naive[b];
            }
            cr_assert_eq(bloom_bits_set(&filter), set);
            free(naive);
            bloom_fini(&filter);
        }
    }
    sample_fini(&sample);
}

Test(filter, contains_added_ids_and_few_others)
{
    struct sample in, out;
    sample_init(&in, 2000, 6, 30, 1, 4);
    sample_init(&out, 20000, 6, 30, 1, 5);
    for (int scheme = 0; scheme < BLOOM_XXH64; scheme++) {
        /* The published seeds of poly-mod are weak and m is bounded, so this only checks for false
         * negatives. */
        uint64_t m = scheme == BLOOM_POLY_MOD ? 19171 : 19172;
        struct bloom_filter filter = filter_of((enum bloom_scheme)scheme, m, 5);
        add_sample(&filter, &in);
        uint32_t admitted = 0;
        for (uint32_t r = 0; r < in.rows.rows; r++)
            cr_assert(bloom_contains(&filter, in.data + in.start[r], in.end[r] - in.start[r]));
        for (uint32_t r = 0; r < out.rows.rows; r++)
            admitted += bloom_contains(&filter, out.data + out.start[r], out.end[r] - out.start[r]);
        double rate = bloom_rate_from_fill(&filter.params, bloom_bits_set(&filter));
        if (scheme != BLOOM_POLY_MOD && scheme != BLOOM_POLY_ABS)
            cr_assert_lt(fabs(admitted / 20000.0 - rate), 0.005, "%s: %u admitted",
                         bloom_scheme_name((enum bloom_scheme)scheme), admitted);
        bloom_fini(&filter);
    }
    sample_fini(&in);
    sample_fini(&out);
}

Test(filter, union_equals_adding_both)
{
    struct sample one, two;
    sample_init(&one, 300, 0, 20, 1, 6);
    sample_init(&two, 300, 0, 20, 1, 7);
    struct bloom_filter a = filter_of(BLOOM_WIDE, 4001, 6), b = filter_of(BLOOM_WIDE, 4001, 6);
    struct bloom_filter both = filter_of(BLOOM_WIDE, 4001, 6);
    add_sample(&a, &one);
    add_sample(&b, &two);
    add_sample(&both, &one);
    add_sample(&both, &two);
    cr_assert_eq(bloom_union(&a, &b), BLOOM_OK);
    cr_assert_arr_eq(a.bits, both.bits, bloom_bytes(4001));
    struct bloom_filter other = filter_of(BLOOM_WIDE, 4002, 6);
    cr_assert_eq(bloom_union(&a, &other), BLOOM_ERR_MISMATCH);
    bloom_fini(&other);
    other = filter_of(BLOOM_WIDE, 4001, 5);
    cr_assert_eq(bloom_union(&a, &other), BLOOM_ERR_MISMATCH);
    bloom_fini(&other);
    other = filter_of(BLOOM_SPARK, 4001, 6);
    cr_assert_eq(bloom_union(&a, &other), BLOOM_ERR_MISMATCH);
    bloom_fini(&other);
    bloom_fini(&a);
    bloom_fini(&b);
    bloom_fini(&both);
    sample_fini(&one);
    sample_fini(&two);
}

Test(filter, rates_follow_the_formula)
{
    struct bloom_params params = {.scheme = BLOOM_SPARK, .n = 1000, .m = 9586, .k = 7};
    cr_assert_float_eq(bloom_expected_rate(&params), 0.010034532, 1e-8);
    cr_assert_float_eq(bloom_rate_from_fill(&params, 4793), 1.0 / 128, 1e-12);
    cr_assert_eq(bloom_rate_from_fill(&params, 0), 0);
    cr_assert_eq(bloom_rate_from_fill(&params, 9586), 1);
}
