/* Counting filters: the counters are those of a model, an id that was removed as often as it was
 * added leaves nothing behind, and saturated counters stay. */
#include "jobs/bloom/counting.h"
#include "jobs/bloom/glint/bloom.h"
#include "oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const enum bloom_scheme schemes[] = {BLOOM_SPARK, BLOOM_HADOOP, BLOOM_WIDE, BLOOM_GUAVA,
                                            BLOOM_SPARK_BLOOM};
enum { SCHEMES = sizeof schemes / sizeof *schemes, ROWS = 2001 };

static struct bloom_params params_of(enum bloom_scheme scheme, uint64_t n)
{
    struct bloom_sizing sizing;
    struct bloom_params params;
    cr_assert_eq(bloom_sizing_for_rate(scheme, BLOOM_COUNTING, 0.01, &sizing), BLOOM_OK);
    cr_assert_eq(bloom_sizing_params(&sizing, n, &params), BLOOM_OK);
    return params;
}

Test(counting, has_the_size_and_rate_of_a_classic_filter_with_a_counter_for_each_bit)
{
    for (uint32_t s = 0; s < SCHEMES; s++) {
        struct bloom_sizing sizing;
        struct bloom_params classic, counting = params_of(schemes[s], 1000);
        cr_assert_eq(bloom_sizing_for_rate(schemes[s], BLOOM_CLASSIC, 0.01, &sizing), BLOOM_OK);
        cr_assert_eq(bloom_sizing_params(&sizing, 1000, &classic), BLOOM_OK);
        cr_assert_eq(counting.m, 4 * classic.m);
        cr_assert_eq(bloom_positions(&counting), classic.m);
        cr_assert_eq(counting.k, classic.k);
        cr_assert_eq(bloom_expected_rate(&counting), bloom_expected_rate(&classic));
        cr_assert_eq(bloom_ids_estimate(&counting, 100), bloom_ids_estimate(&classic, 100));
        double a, b, c, d;
        bloom_predict_rate(&counting, &a, &b);
        bloom_predict_rate(&classic, &c, &d);
        cr_assert(a == c && b == d);
    }
    struct bloom_params params = params_of(BLOOM_SPARK, 1000);
    params.m++;
    cr_assert_eq(bloom_params_check(&params), BLOOM_ERR_BLOCKS);
    params.m = 4ull << 31;
    cr_assert_eq(bloom_params_check(&params), BLOOM_ERR_M);
    params.m = 4;
    cr_assert_eq(bloom_params_check(&params), BLOOM_OK);
    params.scheme = BLOOM_XXH64;
    cr_assert_eq(bloom_params_check(&params), BLOOM_ERR_PAIR);
}

Test(counting, batches_lists_and_single_ids_count_as_the_model)
{
    for (uint32_t s = 0; s < SCHEMES; s++) {
        struct sample sample;
        sample_init(&sample, ROWS, 0, 20, 3, 7);
        struct bloom_params params[3];
        for (uint32_t f = 0; f < 3; f++) params[f] = params_of(schemes[s], 200 + f);
        struct bloom_set set, lists;
        struct bloom_adder *adder = malloc(sizeof *adder);
        struct bloom_filter one[3];
        uint8_t hit[ROWS], *model[3];
        cr_assert_eq(bloom_set_init(&set, params, 3), BLOOM_OK);
        cr_assert_eq(bloom_set_init(&lists, params, 3), BLOOM_OK);
        for (uint32_t f = 0; f < 3; f++) {
            cr_assert_eq(bloom_init(&one[f], &params[f]), BLOOM_OK);
            model[f] = calloc(bloom_positions(&params[f]), 1);
        }
        bloom_adder_init(adder, &set);
        bloom_adder_add_rows(adder, &sample.rows);
        bloom_adder_flush(adder);
        for (uint32_t i = 0; i < ROWS; i++) {
            const uint32_t f = sample.filter[i];
            const uint8_t *id = sample.data + sample.start[i];
            uint64_t indexes[BLOOM_K_MAX];
            bloom_compute_indexes(&params[f], id, sample.end[i] - sample.start[i], indexes);
            for (uint32_t j = 0; j < params[f].k; j++) {
                cr_assert_lt(indexes[j], bloom_positions(&params[f]));
                if (model[f][indexes[j]] < 15) model[f][indexes[j]]++;
            }
            cr_assert(bloom_set_bits_wide(&lists, f, indexes, params[f].k));
            bloom_add(&one[f], id, sample.end[i] - sample.start[i]);
        }
        bloom_set_contains_rows(&set, &sample.rows, hit);
        for (uint32_t i = 0; i < ROWS; i++) cr_assert_eq(hit[i], 1);
        for (uint32_t f = 0; f < 3; f++) {
            const struct bloom_filter a = bloom_set_filter(&set, f),
                                      b = bloom_set_filter(&lists, f);
            uint64_t used = 0;
            for (uint64_t i = 0; i < bloom_positions(&params[f]); i++) {
                cr_assert_eq(counting_get(a.bits, i), model[f][i]);
                used += model[f][i] > 0;
            }
            cr_assert_eq(memcmp(a.bits, b.bits, bloom_bytes(params[f].m)), 0);
            cr_assert_eq(memcmp(a.bits, one[f].bits, bloom_bytes(params[f].m)), 0);
            cr_assert_eq(bloom_bits_set(&a), used);
            uint64_t beyond = bloom_positions(&params[f]);
            cr_assert_not(bloom_set_bits_wide(&lists, f, &beyond, 1));
            bloom_fini(&one[f]);
            free(model[f]);
        }
        bloom_set_fini(&lists);
        bloom_set_fini(&set);
        free(adder);
        sample_fini(&sample);
    }
}

Test(counting, removing_all_leaves_nothing_and_removing_more_is_an_error)
{
    for (uint32_t s = 0; s < SCHEMES; s++) {
        struct bloom_params params = params_of(schemes[s], 5000);
        struct bloom_filter filter, before;
        cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
        cr_assert_eq(bloom_init(&before, &params), BLOOM_OK);
        for (uint32_t i = 0; i < 3000; i++) bloom_add(&filter, &i, sizeof i);
        memcpy(before.bits, filter.bits, bloom_bytes(params.m));
        for (uint32_t i = 5000; i < 7000; i++) bloom_add(&filter, &i, sizeof i);
        for (uint32_t i = 6999; i >= 5000; i--)
            cr_assert_eq(bloom_remove(&filter, &i, sizeof i), BLOOM_OK);
        cr_assert_eq(memcmp(before.bits, filter.bits, bloom_bytes(params.m)), 0);
        uint32_t absent = 0;
        for (uint32_t i = 10000; i < 11000; i++) {
            if (bloom_contains(&filter, &i, sizeof i)) continue;
            cr_assert_eq(bloom_remove(&filter, &i, sizeof i), BLOOM_ERR_ABSENT);
            absent++;
        }
        cr_assert_gt(absent, 900);
        cr_assert_eq(memcmp(before.bits, filter.bits, bloom_bytes(params.m)), 0);
        for (uint32_t i = 0; i < 3000; i++)
            cr_assert_eq(bloom_remove(&filter, &i, sizeof i), BLOOM_OK);
        cr_assert_eq(bloom_bits_set(&filter), 0);
        bloom_fini(&before);
        bloom_fini(&filter);
    }
}

/* Two equal indexes of an id need a counter of 2. */
Test(counting, an_id_with_equal_indexes_is_counted_twice)
{
    uint8_t bits[2] = {0x11, 0x01};
    const uint64_t twice[] = {1, 2, 1}, once[] = {1, 2};
    cr_assert_not(counting_remove(bits, twice, 3));
    cr_assert(bits[0] == 0x11 && bits[1] == 0x01);
    cr_assert(counting_remove(bits, once, 2));
    cr_assert(bits[0] == 0x01 && bits[1] == 0);
    counting_increment(bits, 1);
    counting_increment(bits, 1);
    counting_increment(bits, 2);
    cr_assert(counting_remove(bits, twice, 3));
    cr_assert(bits[0] == 0x01 && bits[1] == 0);
}

Test(counting, saturated_counters_stay)
{
    struct bloom_params params = params_of(BLOOM_SPARK, 10);
    struct bloom_filter filter;
    cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
    for (int i = 0; i < 40; i++) bloom_add(&filter, "x", 1);
    for (int i = 0; i < 60; i++) cr_assert_eq(bloom_remove(&filter, "x", 1), BLOOM_OK);
    cr_assert(bloom_contains(&filter, "x", 1));
    bloom_fini(&filter);
}

Test(counting, unions_add_and_intersections_take_the_smaller_counter)
{
    for (uint32_t a = 0; a < 256; a++)
        for (uint32_t b = 0; b < 256; b++) {
            uint8_t sum = (uint8_t)a, least = (uint8_t)a, other = (uint8_t)b;
            counting_unite(&sum, &other, 1);
            counting_intersect(&least, &other, 1);
            for (uint32_t i = 0; i < 2; i++) {
                const uint32_t x = a >> 4 * i & 15, y = b >> 4 * i & 15;
                cr_assert_eq(counting_get(&sum, i), x + y < 15 ? x + y : 15);
                cr_assert_eq(counting_get(&least, i), x < y ? x : y);
            }
            const uint64_t used = (uint64_t)((a & 15) > 0) + (a >> 4 > 0);
            cr_assert_eq(counting_count_nonzero((uint8_t[]){(uint8_t)a}, NULL, 1), used);
        }
}

Test(counting, files_and_classic_filters_have_the_same_ids)
{
    static const uint64_t seeds[] = {0, 7};
    for (uint32_t s = 0; s < 2; s++) {
        struct bloom_params params = params_of(BLOOM_SPARK_BLOOM_V2, 100);
        struct bloom_filter filter, view, classic, direct;
        uint8_t header[BLOOM_HEADER_MAX];
        params.hash_seed[0] = seeds[s];
        cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
        for (uint32_t i = 0; i < 100; i++) bloom_add(&filter, &i, sizeof i);
        const uint32_t head = bloom_encode_header(&filter, header);
        const uint64_t bytes = bloom_bytes(params.m);
        uint8_t *file = malloc(head + bytes);
        memcpy(file, header, head);
        memcpy(file + head, filter.bits, bytes);
        cr_assert_eq(bloom_decode(file, head + bytes, &view), BLOOM_OK);
        cr_assert(bloom_params_equal(&view.params, &params));
        cr_assert_eq(bloom_counting_to_classic(&view, &classic), BLOOM_OK);
        cr_assert_eq(bloom_init(&direct, &classic.params), BLOOM_OK);
        for (uint32_t i = 0; i < 100; i++) bloom_add(&direct, &i, sizeof i);
        cr_assert_eq(memcmp(direct.bits, classic.bits, bloom_bytes(classic.params.m)), 0);
        cr_assert_eq(bloom_remove(&direct, "", 0), BLOOM_ERR_REMOVE);
        bloom_fini(&direct);
        bloom_fini(&classic);
        free(file);
        bloom_fini(&filter);
    }
}

/* Of all pairs of counters, in each half of a byte, and with all places of the result. */
Test(counting, subtract_is_addition_undone_and_saturated_counters_stay)
{
    for (uint32_t from = 0; from <= COUNTING_MAX; from++) {
        for (uint32_t less = 0; less <= COUNTING_MAX; less++) {
            const uint32_t want = from == COUNTING_MAX ? COUNTING_MAX : from - less;
            const bool enough = from == COUNTING_MAX || less <= from;
            for (uint32_t shift = 0; shift < 8; shift += 4) {
                uint8_t a[3] = {0x33, (uint8_t)(0xff & ~(0xf << shift)), 0x44}, out[3];
                uint8_t b[4] = {0x11, (uint8_t)(less << shift), 0x40, 0};
                a[1] = (uint8_t)((a[1] & 0xf0 >> shift) | from << shift);
                cr_assert_eq(counting_subtract(a, b, out, 3), enough);
                cr_assert_eq(counting_subtract(a, b, b + 1, 3), enough);
                if (!enough) continue;
                cr_assert(out[0] == 0x22 && out[2] == 0x04);
                cr_assert_eq(out[1] >> shift & 0xf, want);
                cr_assert_eq(out[1] >> (4 - shift) & 0xf, COUNTING_MAX);
                cr_assert_arr_eq(b + 1, out, 3);
                b[0] = 0x11, b[1] = (uint8_t)(less << shift), b[2] = 0x40;
                cr_assert(counting_subtract(a, b, a, 3));
                cr_assert_arr_eq(a, out, 3);
            }
        }
    }
}

/* What programs outside of glint call. */
Test(counting, the_public_functions_remove_unite_and_intersect)
{
    struct glint_bloom_params params;
    glint_bloom *a, *b, *view, *classic;
    cr_assert_eq(
        glint_bloom_size_by_rate(GLINT_BLOOM_WIDE, GLINT_BLOOM_COUNTING, 100, 0.01, &params), 0);
    cr_assert_eq(glint_bloom_create(&params, &a), 0);
    cr_assert_eq(glint_bloom_copy(a, &b), 0);
    cr_assert_eq(glint_bloom_add(a, "x", 1), 0);
    cr_assert_eq(glint_bloom_add(a, "y", 1), 0);
    cr_assert_eq(glint_bloom_add(b, "x", 1), 0);
    cr_assert_eq(glint_bloom_unite(a, b), 0);
    cr_assert_eq(glint_bloom_remove(a, "x", 1), 0);
    cr_assert_eq(glint_bloom_intersect(a, b), 0);
    cr_assert(glint_bloom_contains(a, "x", 1) && !glint_bloom_contains(a, "y", 1));
    cr_assert_eq(glint_bloom_remove(a, "x", 1), 0);
    cr_assert_eq(glint_bloom_bits_set(a), 0);
    cr_assert_eq(glint_bloom_remove(a, "x", 1), GLINT_BLOOM_ERR_ABSENT);
    const size_t size = glint_bloom_encoded_size(b);
    uint8_t *bytes = malloc(size);
    cr_assert_eq(glint_bloom_encode(b, bytes, size), 0);
    cr_assert_eq(glint_bloom_view(bytes, size, &view), 0);
    cr_assert_eq(glint_bloom_remove(view, "x", 1), GLINT_BLOOM_ERR_READ_ONLY);
    params.id_type = 2;
    params.layout = GLINT_BLOOM_CLASSIC;
    params.bits /= 4;
    cr_assert_eq(glint_bloom_create(&params, &classic), 0);
    cr_assert_eq(glint_bloom_remove(classic, "1234", 4), GLINT_BLOOM_ERR_REMOVE);
    cr_assert_eq(glint_bloom_remove(classic, "x", 1), GLINT_BLOOM_ERR_ID_SIZE);
    glint_bloom_destroy(classic);
    glint_bloom_destroy(view);
    free(bytes);
    glint_bloom_destroy(b);
    glint_bloom_destroy(a);
}
