/* Filters with their own seeds, and sets whose filters have different numbers of hashes. */
#include "oracle.h"

#include "jobs/bloom/glint/bloom.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS = 400 };

static uint8_t own[BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES];

static void put_seed(uint32_t i, uint32_t seed)
{
    for (int b = 0; b < 4; b++) own[4 * i + (uint32_t)b] = (uint8_t)(seed >> 8 * b);
}

static uint32_t get_seed(uint32_t i)
{
    return own[4 * i] | (uint32_t)own[4 * i + 1] << 8 | (uint32_t)own[4 * i + 2] << 16 |
           (uint32_t)own[4 * i + 3] << 24;
}

static void draw_seeds(uint64_t below)
{
    uint64_t state = below;
    for (uint32_t i = 0; i < BLOOM_SEEDS_MAX; i++)
        put_seed(i, (uint32_t)(sample_random(&state) % below));
}

static struct bloom_params params_of(enum bloom_scheme scheme, uint64_t m, uint32_t k)
{
    return (struct bloom_params){.scheme = scheme, .n = 5, .m = m, .k = k, .seeds = own};
}

/* An ASCII id, whose bytes are its UTF-16 units. */
static uint32_t name_of(uint32_t i, char out[16])
{
    return (uint32_t)snprintf(out, 16, "name%u", i * 7919);
}

static uint64_t expected_index(const struct bloom_params *p, const char *id, uint32_t size,
                               uint32_t hash)
{
    uint64_t h = 0, seed = get_seed(hash);
    for (uint32_t i = 0; i < size; i++)
        h = p->scheme == BLOOM_POLY_ABS ? (uint32_t)(h * seed + (uint8_t)id[i])
                                        : (h * seed + (uint8_t)id[i]) % p->m;
    return p->scheme == BLOOM_POLY_ABS ? (uint64_t)llabs((int64_t)(int32_t)h) % p->m : h;
}

Test(seeds, indexes_follow_from_seeds)
{
    static const uint64_t sizes[] = {1, 500, 20560, 100000, INT32_MAX};
    char id[16];
    for (int scheme = BLOOM_POLY_ABS; scheme <= BLOOM_POLY_MOD; scheme++) {
        draw_seeds(scheme == BLOOM_POLY_ABS ? UINT32_MAX : INT32_MAX);
        for (uint32_t i = 0; i < IDS; i++) {
            struct bloom_params p =
                params_of((enum bloom_scheme)scheme, sizes[i % 5], BLOOM_SEEDS_MAX);
            uint64_t indexes[BLOOM_K_MAX];
            uint32_t size = name_of(i, id);
            cr_assert_eq(bloom_params_check(&p), BLOOM_OK);
            bloom_compute_indexes(&p, id, size, indexes);
            for (uint32_t h = 0; h < p.k; h++)
                cr_assert_eq(indexes[h], expected_index(&p, id, size, h));
        }
    }
}

/* The published seeds, given explicitly, result in the published filter. */
Test(seeds, published_seeds_give_published_indexes)
{
    static const uint32_t published[] = {31, 131, 1313, 13131, 65599};
    for (uint32_t i = 0; i < 5; i++) put_seed(i, published[i]);
    struct bloom_params p = params_of(BLOOM_POLY_MOD, 20560, 5), without = p;
    without.seeds = NULL;
    for (uint32_t i = 0; i < IDS; i++) {
        char id[16];
        uint64_t a[BLOOM_K_MAX], b[BLOOM_K_MAX];
        uint32_t size = name_of(i, id);
        bloom_compute_indexes(&p, id, size, a);
        bloom_compute_indexes(&without, id, size, b);
        cr_assert_arr_eq(a, b, 5 * sizeof *a);
    }
    cr_assert(!bloom_params_equal(&p, &without));
}

Test(seeds, invalid_seeds_are_rejected)
{
    draw_seeds(100);
    struct bloom_params p = params_of(BLOOM_SPARK, 100, 3);
    cr_assert_eq(bloom_params_check(&p), BLOOM_ERR_SEEDED);
    p = params_of(BLOOM_POLY_MOD, 1ull << 31, 3);
    cr_assert_eq(bloom_params_check(&p), BLOOM_ERR_M);
    p = params_of(BLOOM_POLY_MOD, 100, BLOOM_K_MAX + 1);
    cr_assert_eq(bloom_params_check(&p), BLOOM_ERR_K);
    put_seed(2, 1u << 31);
    p = params_of(BLOOM_POLY_MOD, 100, 3);
    cr_assert_eq(bloom_params_check(&p), BLOOM_ERR_SEEDED);
    p.k = 2;
    cr_assert_eq(bloom_params_check(&p), BLOOM_OK);
    p = params_of(BLOOM_POLY_ABS, 100, 3);
    cr_assert_eq(bloom_params_check(&p), BLOOM_OK);
    p = (struct bloom_params){BLOOM_XXH64, 1, 512, 6, BLOOM_BLOCK512, own, {0}, 0};
    cr_assert_eq(bloom_params_check(&p), BLOOM_ERR_SEEDED);
}

Test(seeds, sizing_accepts_own_seeds)
{
    struct bloom_sizing sizing;
    struct bloom_params p;
    draw_seeds(100);
    cr_assert_eq(bloom_sizing_for_bits(BLOOM_POLY_ABS, BLOOM_CLASSIC, 20, &sizing), BLOOM_OK);
    cr_assert_eq(sizing.k, 8); /* the number of published seeds */
    cr_assert_eq(bloom_sizing_seed(&sizing, own), BLOOM_OK);
    cr_assert_eq(sizing.k, 14);
    cr_assert_eq(bloom_sizing_params(&sizing, 10, &p), BLOOM_OK);
    cr_assert(p.m == 200 && p.k == 14 && memcmp(p.seeds, own, sizeof own) == 0);
    cr_assert_eq(bloom_sizing_for_rate(BLOOM_POLY_ABS, BLOOM_CLASSIC, 1e-6, &sizing), BLOOM_OK);
    cr_assert_eq(bloom_sizing_params(&sizing, 10, &p), BLOOM_ERR_SEEDS);
    cr_assert_eq(bloom_sizing_seed(&sizing, own), BLOOM_OK);
    cr_assert_eq(bloom_sizing_params(&sizing, 10, &p), BLOOM_OK);
    cr_assert_eq(bloom_sizing_for_rate(BLOOM_SPARK, BLOOM_CLASSIC, 0.01, &sizing), BLOOM_OK);
    cr_assert_eq(bloom_sizing_seed(&sizing, own), BLOOM_ERR_SEEDED);
}

/* ---- the file */

static uint8_t *file_of(const struct bloom_params *p, uint64_t *out_size)
{
    struct bloom_filter filter;
    uint8_t header[BLOOM_HEADER_MAX];
    cr_assert_eq(bloom_init(&filter, p), BLOOM_OK);
    bloom_add(&filter, "a name", 6);
    uint32_t size = bloom_encode_header(&filter, header);
    cr_assert_eq(size, bloom_header_size(p));
    *out_size = size + bloom_bytes(p->m);
    uint8_t *data = malloc(*out_size);
    cr_assert_not_null(data);
    memcpy(data, header, size);
    memcpy(data + size, filter.bits, bloom_bytes(p->m));
    bloom_fini(&filter);
    return data;
}

Test(seeds, file_contains_seeds)
{
    static const uint32_t hashes[] = {1, 8, BLOOM_SEEDS_MAX};
    for (int i = 0; i < 3; i++) {
        draw_seeds(100 + (uint64_t)i);
        struct bloom_params p = params_of(BLOOM_POLY_ABS, 3200, hashes[i]);
        struct bloom_filter view;
        uint64_t size;
        uint8_t *data = file_of(&p, &size);
        cr_assert_eq(bloom_decode(data, size, &view), BLOOM_OK);
        cr_assert(bloom_params_equal(&view.params, &p) && view.params.n == 5);
        cr_assert_arr_eq(view.params.seeds, own, hashes[i] * BLOOM_SEED_BYTES);
        cr_assert(bloom_contains(&view, "a name", 6));
        put_seed(0, get_seed(0) + 1);
        cr_assert(!bloom_params_equal(&view.params, &p));
        free(data);
    }
}

Test(seeds, damaged_file_is_rejected)
{
    draw_seeds(100);
    struct bloom_params p = params_of(BLOOM_POLY_MOD, 101, 4);
    struct bloom_filter view;
    uint64_t size;
    uint8_t *data = file_of(&p, &size);
    for (uint64_t shorter = 0; shorter < size; shorter++) {
        uint8_t *copy = malloc(shorter > 0 ? shorter : 1);
        cr_assert_not_null(copy);
        memcpy(copy, data, shorter);
        cr_assert_eq(bloom_decode(copy, shorter, &view), BLOOM_ERR_TRUNCATED);
        free(copy);
    }
    for (uint64_t bit = 0; bit < size * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_neq(bloom_decode(data, size, &view), BLOOM_OK, "bit %lu", bit);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(data);
}

/* A decoded copy stays valid when its source is freed. */
Test(seeds, copy_owns_its_seeds)
{
    draw_seeds(100);
    struct bloom_params p = params_of(BLOOM_POLY_ABS, 3200, 8);
    glint_bloom *view = NULL, *copy = NULL;
    uint64_t size;
    uint8_t *data = file_of(&p, &size);
    cr_assert_eq(glint_bloom_view(data, size, &view), GLINT_BLOOM_OK);
    cr_assert_eq(glint_bloom_decode(data, size, &copy), GLINT_BLOOM_OK);
    cr_assert_eq(glint_bloom_unite(copy, view), GLINT_BLOOM_OK);
    glint_bloom_destroy(view);
    memset(data, 0, size);
    free(data);
    cr_assert(glint_bloom_contains(copy, "a name", 6));
    cr_assert_eq(glint_bloom_add(copy, "another", 7), GLINT_BLOOM_OK);
    cr_assert(glint_bloom_contains(copy, "another", 7) && !glint_bloom_contains(copy, "third", 5));
    glint_bloom_destroy(copy);
}

/* ---- sets */

/* Adding and testing in batches equals doing so one id at a time. */
static void check_set(const struct bloom_params *params, uint32_t count)
{
    struct bloom_set set, expected, seen;
    struct sample in, out;
    struct bloom_adder *adder = malloc(sizeof *adder);
    sample_init(&in, 900, 0, 40, count, 5);
    sample_init(&out, 900, 0, 40, count, 6);
    cr_assert_not_null(adder);
    cr_assert_eq(bloom_set_init(&set, params, count), BLOOM_OK);
    cr_assert_eq(bloom_set_init(&expected, params, count), BLOOM_OK);
    bloom_adder_init(adder, &set);
    bloom_adder_add_rows(adder, &in.rows);
    bloom_adder_flush(adder);
    for (uint32_t r = 0; r < in.rows.rows; r++) {
        struct bloom_filter f = bloom_set_filter(&expected, in.filter[r]);
        cr_assert(bloom_params_equal(&f.params, &params[in.filter[r]]));
        bloom_add(&f, in.data + in.start[r], in.end[r] - in.start[r]);
    }
    cr_assert_arr_eq(set.bits, expected.bits, set.bytes);

    uint64_t size;
    uint8_t *blob = blob_of(&set, &size), *hit = malloc(900), *all = malloc(900ull * count);
    uint64_t *indexes = calloc(900ull * BLOOM_K_MAX, sizeof *indexes);
    cr_assert(hit != NULL && all != NULL && indexes != NULL);
    cr_assert_eq(bloom_set_attach(&seen, blob, size), BLOOM_OK);
    bloom_set_contains_rows(&seen, &out.rows, hit);
    bloom_set_contains_all(&seen, &out.rows, all, 900);
    bloom_hash_rows_to_indexes_wide(&seen, &out.rows, indexes);
    for (uint32_t r = 0; r < out.rows.rows; r++) {
        const uint8_t *id = out.data + out.start[r];
        const uint32_t length = out.end[r] - out.start[r];
        uint64_t one[BLOOM_K_MAX];
        for (uint32_t f = 0; f < count; f++) {
            struct bloom_filter filter = bloom_set_filter(&expected, f);
            cr_assert_eq(all[f * 900 + r], bloom_contains(&filter, id, length));
        }
        const struct bloom_params *p = &params[out.filter[r]];
        cr_assert_eq(hit[r], all[out.filter[r] * 900 + r]);
        bloom_compute_indexes(p, id, length, one);
        for (uint32_t i = 0; i < seen.k; i++)
            cr_assert_eq(indexes[r * seen.k + i], one[i < p->k ? i : 0]);
    }
    free(blob);
    free(hit);
    free(all);
    free(indexes);
    free(adder);
    bloom_set_fini(&seen);
    bloom_set_fini(&set);
    bloom_set_fini(&expected);
    sample_fini(&in);
    sample_fini(&out);
}

Test(seeds, filters_of_a_set_share_seeds)
{
    draw_seeds(100);
    struct bloom_params params[3] = {params_of(BLOOM_POLY_ABS, 3200, 8),
                                     params_of(BLOOM_POLY_ABS, 777, 8),
                                     params_of(BLOOM_POLY_ABS, 50000, 8)};
    check_set(params, 3);
    params[1].k = 7;
    cr_assert_eq(bloom_set_check(params, 3), BLOOM_ERR_MISMATCH);
    params[1].k = 8;
    params[2].seeds = NULL;
    cr_assert_eq(bloom_set_check(params, 3), BLOOM_ERR_MISMATCH);
}

Test(seeds, filters_of_a_set_may_differ_in_hashes)
{
    static const enum bloom_scheme schemes[] = {BLOOM_SPARK, BLOOM_HADOOP,     BLOOM_PLAIN,
                                                BLOOM_WIDE,  BLOOM_MD5_RANDOM, BLOOM_HADOOP_BLOOM,
                                                BLOOM_GUAVA};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct bloom_params params[4];
        for (uint32_t f = 0; f < 4; f++)
            params[f] = (struct bloom_params){
                .scheme = schemes[i], .n = 9, .m = 3008 + 960 * f, .k = 1 + f * 5 % 7};
        check_set(params, 4);
        params[1].scheme = BLOOM_POLY_ABS;
        cr_assert_eq(bloom_set_check(params, 4), BLOOM_ERR_MISMATCH);
    }
    struct bloom_params blocks[2] = {{BLOOM_XXH64, 1, 512, 6, BLOOM_BLOCK512, NULL, {0}, 0},
                                     {BLOOM_XXH64, 1, 512, 7, BLOOM_BLOCK512, NULL, {0}, 0}};
    cr_assert_eq(bloom_set_check(blocks, 2), BLOOM_ERR_MISMATCH);
}
