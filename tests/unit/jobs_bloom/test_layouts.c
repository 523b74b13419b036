/* Block layouts: names and parameters, which bits are set (the rules of Parquet and RocksDB,
 * implemented independently), sizes that reach their rate, and files that name their layout. */
#include "oracle.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

Test(layouts, names_round_trip)
{
    enum bloom_layout layout;
    for (int i = 0; i < BLOOM_LAYOUTS; i++) {
        const char *name = bloom_layout_name((enum bloom_layout)i);
        cr_assert_eq(bloom_layout_parse(name, strlen(name), &layout), BLOOM_OK);
        cr_assert_eq((int)layout, i);
        cr_assert_eq(bloom_layout_parse(name, strlen(name) - 1, &layout), BLOOM_ERR_LAYOUT);
    }
    cr_assert_eq(bloom_layout_parse("", 0, &layout), BLOOM_ERR_LAYOUT);
}

Test(layouts, only_matching_schemes_are_accepted)
{
    for (int scheme = 0; scheme < BLOOM_SCHEMES; scheme++) {
        for (int layout = 0; layout < BLOOM_LAYOUTS; layout++) {
            bool hash64 = scheme == BLOOM_XXH64 || scheme == BLOOM_WIDE;
            const bool indexes = layout == BLOOM_CLASSIC || layout == BLOOM_COUNTING;
            bool fits = indexes ? scheme != BLOOM_XXH64 : hash64;
            enum bloom_result expected = fits ? BLOOM_OK : BLOOM_ERR_PAIR;
            struct bloom_params params = {(enum bloom_scheme)scheme, 1,    512, indexes ? 4 : 8,
                                          (enum bloom_layout)layout, NULL, {0}, 0};
            if (bloom_is_fuse(params.layout)) params.k = BLOOM_K_FUSE;
            if (params.layout == BLOOM_EXACT) params.k = BLOOM_K_EXACT;
            struct bloom_sizing sizing;
            cr_assert_eq(bloom_params_check(&params), expected);
            cr_assert_eq(bloom_sizing_for_rate(params.scheme, params.layout, 0.1, &sizing),
                         expected);
            cr_assert_eq(bloom_sizing_for_bits(params.scheme, params.layout, 8, &sizing),
                         bloom_is_static(params.layout) && fits ? BLOOM_ERR_STATIC : expected);
        }
    }
}

Test(layouts, out_of_bounds_parameters_are_rejected)
{
    static const struct {
        struct bloom_params params;
        enum bloom_result result;
    } cases[] = {
        {{BLOOM_XXH64, 1, 256, 8, BLOOM_SPLIT_BLOCK, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_XXH64, 1, 257, 8, BLOOM_SPLIT_BLOCK, NULL, {0}, 0}, BLOOM_ERR_BLOCKS},
        {{BLOOM_XXH64, 1, 0, 8, BLOOM_SPLIT_BLOCK, NULL, {0}, 0}, BLOOM_ERR_M},
        {{BLOOM_XXH64, 1, 256, 7, BLOOM_SPLIT_BLOCK, NULL, {0}, 0}, BLOOM_ERR_K_LAYOUT},
        {{BLOOM_XXH64, 1, 256, 9, BLOOM_SPLIT_BLOCK, NULL, {0}, 0}, BLOOM_ERR_K_LAYOUT},
        {{BLOOM_XXH64, 1, 256, 6, BLOOM_BLOCK512, NULL, {0}, 0}, BLOOM_ERR_BLOCKS},
        {{BLOOM_XXH64, 1, 512, 24, BLOOM_BLOCK512, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_XXH64, 1, 512, 25, BLOOM_BLOCK512, NULL, {0}, 0}, BLOOM_ERR_K_LAYOUT},
        {{BLOOM_XXH64, 1, 512, 0, BLOOM_BLOCK512, NULL, {0}, 0}, BLOOM_ERR_K_LAYOUT},
        {{BLOOM_XXH64, 0, 512, 6, BLOOM_BLOCK512, NULL, {0}, 0}, BLOOM_ERR_N},
        {{BLOOM_XXH64, 1, 1ull << 36, 6, BLOOM_BLOCK512, NULL, {0}, 0}, BLOOM_ERR_M},
        {{BLOOM_XXH64, 1, 512, 3, BLOOM_FUSE8, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_XXH64, 1, 512, 4, BLOOM_FUSE8, NULL, {0}, 0}, BLOOM_ERR_K_LAYOUT},
        {{BLOOM_XXH64, 1, 512, 2, BLOOM_FUSE16, NULL, {0}, 0}, BLOOM_ERR_K_LAYOUT},
        {{BLOOM_XXH64, 1, 513, 3, BLOOM_FUSE16, NULL, {0}, 0}, BLOOM_ERR_BLOCKS},
        {{BLOOM_XXH64, 1, 1ull << 36, 3, BLOOM_FUSE16, NULL, {0}, 0}, BLOOM_ERR_M},
        {{BLOOM_SPARK, 1, 512, 3, BLOOM_FUSE8, NULL, {0}, 0}, BLOOM_ERR_PAIR},
        {{BLOOM_XXH64, 1, 512, 6, BLOOM_LAYOUTS, NULL, {0}, 0}, BLOOM_ERR_LAYOUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(bloom_params_check(&cases[i].params), cases[i].result, "case %zu", i);
    struct bloom_sizing sizing;
    struct bloom_params params;
    cr_assert_eq(bloom_sizing_for_rate(BLOOM_XXH64, BLOOM_BLOCK512, 1e-12, &sizing),
                 BLOOM_ERR_P_LAYOUT);
    cr_assert_eq(bloom_sizing_for_rate(BLOOM_XXH64, BLOOM_SPLIT_BLOCK, 1e-13, &sizing),
                 BLOOM_ERR_P_LAYOUT);
    cr_assert_eq(bloom_sizing_for_rate(BLOOM_XXH64, BLOOM_SPLIT_BLOCK, 1, &sizing), BLOOM_ERR_P);
    cr_assert_eq(bloom_sizing_for_bits(BLOOM_XXH64, BLOOM_BLOCK512, 0.9, &sizing), BLOOM_ERR_BITS);
    cr_assert_eq(bloom_sizing_for_bits(BLOOM_WIDE, BLOOM_CLASSIC, NAN, &sizing), BLOOM_ERR_BITS);
    cr_assert_eq(bloom_sizing_for_bits(BLOOM_XXH64, BLOOM_BLOCK512, 10, &sizing), BLOOM_OK);
    cr_assert_eq(bloom_sizing_params(&sizing, 0, &params), BLOOM_ERR_N);
    cr_assert_eq(bloom_sizing_params(&sizing, UINT64_MAX, &params), BLOOM_ERR_M);
}

/* ---- bit positions ---- */

static const uint32_t salts[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                  0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

/* The specification of Parquet: BloomFilter.md of parquet-format, in its own steps. */
static uint64_t parquet_bit(uint64_t hash, uint64_t blocks, uint32_t i)
{
    uint64_t block = ((hash >> 32) * blocks) >> 32;
    uint32_t y = (uint32_t)hash * salts[i];
    return block * 256 + 32 * i + (y >> 27);
}

/* FastLocalBloom of RocksDB: repeatedly takes the top nine bits of the hash and multiplies it. */
static uint64_t local_bit(uint64_t hash, uint64_t blocks, uint32_t i)
{
    uint64_t block = ((hash >> 32) * blocks) >> 32;
    uint32_t h = (uint32_t)hash;
    for (uint32_t step = 0; step < i; step++) h *= 0x9e3779b9u;
    return block * 512 + (h >> 23);
}

Test(layouts, hash_is_xxh64)
{
    cr_assert_eq(XXH64("tt0000001", 9, 0), 0x9d7070de4e17504fu);
    struct bloom_params params = {BLOOM_XXH64, 1, 256 * 1000, 8, BLOOM_SPLIT_BLOCK, NULL, {0}, 0};
    uint64_t indexes[BLOOM_K_MAX];
    bloom_compute_indexes(&params, "tt0000001", 9, indexes);
    for (uint32_t i = 0; i < 8; i++)
        cr_assert_eq(indexes[i], parquet_bit(0x9d7070de4e17504fu, 1000, i));
}

Test(layouts, bits_equal_parquet_and_rocksdb)
{
    struct sample sample;
    sample_init(&sample, 2000, 0, 80, 1, 21);
    static const uint64_t blocks[] = {1, 2, 3, 1000, 100000, 1u << 26, (1ull << 26) - 1};
    for (uint32_t r = 0; r < sample.rows.rows; r++) {
        uint64_t b = blocks[r % 7], indexes[BLOOM_K_MAX];
        const uint8_t *id = sample.data + sample.start[r];
        uint32_t size = sample.end[r] - sample.start[r];
        for (int scheme = BLOOM_WIDE; scheme <= BLOOM_XXH64; scheme++) {
            uint64_t hash =
                scheme == BLOOM_XXH64 ? XXH64(id, size, 0) : XXH3_128bits(id, size).low64;
            struct bloom_params split = {(enum bloom_scheme)scheme, 1,    b * 256, 8,
                                         BLOOM_SPLIT_BLOCK,         NULL, {0},     0};
            bloom_compute_indexes(&split, id, size, indexes);
            for (uint32_t i = 0; i < 8; i++) cr_assert_eq(indexes[i], parquet_bit(hash, b, i));
            struct bloom_params line = {
                (enum bloom_scheme)scheme, 1, b * 512, 24, BLOOM_BLOCK512, NULL, {0}, 0};
            bloom_compute_indexes(&line, id, size, indexes);
            for (uint32_t i = 0; i < 24; i++) cr_assert_eq(indexes[i], local_bit(hash, b, i));
        }
    }
    sample_fini(&sample);
}

/* add and contains work on words, bloom_compute_indexes on bit numbers. */
Test(layouts, add_sets_exactly_the_indexes)
{
    struct sample sample;
    sample_init(&sample, 300, 0, 40, 1, 22);
    for (int layout = BLOOM_BLOCK512; layout <= BLOOM_SPLIT_BLOCK; layout++) {
        struct bloom_params params = {BLOOM_XXH64, 1,   512 * 7, 8, (enum bloom_layout)layout,
                                      NULL,        {0}, 0};
        struct bloom_filter filter;
        cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
        uint8_t naive[512 * 7] = {0};
        for (uint32_t r = 0; r < sample.rows.rows; r++) {
            const uint8_t *id = sample.data + sample.start[r];
            uint32_t size = sample.end[r] - sample.start[r];
            uint64_t indexes[BLOOM_K_MAX];
            bloom_compute_indexes(&params, id, size, indexes);
            bool all = true;
            for (uint32_t i = 0; i < 8; i++) all = all && naive[indexes[i]];
            cr_assert_eq(bloom_contains(&filter, id, size), all);
            for (uint32_t i = 0; i < 8; i++) naive[indexes[i]] = 1;
            bloom_add(&filter, id, size);
            cr_assert(bloom_contains(&filter, id, size));
        }
        for (uint32_t b = 0; b < sizeof naive; b++)
            cr_assert_eq(filter.bits[b / 8] >> b % 8 & 1, naive[b]);
        bloom_fini(&filter);
    }
    sample_fini(&sample);
}

/* ---- sizes ---- */

/* E[(s / 512)^k] of a block in which `ids` ids have set s bits, from the distribution of s. */
static double rate_of_block512(double *occupied, uint32_t k)
{
    double rate = 0;
    for (uint32_t s = 0; s <= 512; s++) rate += occupied[s] * pow(s / 512.0, k);
    return rate;
}

static void throw_once(double *occupied)
{
    for (uint32_t s = 512; s > 0; s--)
        occupied[s] = occupied[s] * s / 512 + occupied[s - 1] * (513 - s) / 512;
    occupied[0] = 0;
}

/* The mean over a Poisson-distributed load, term by term. */
static double mixed_rate(enum bloom_layout layout, double load, uint32_t k)
{
    double occupied[513] = {1}, sum = 0, chance = exp(-load);
    for (uint32_t ids = 0; ids < 1000; ids++) {
        sum += chance * (layout == BLOOM_SPLIT_BLOCK ? pow(1 - pow(31.0 / 32, ids), 8)
                                                     : rate_of_block512(occupied, k));
        for (uint32_t i = 0; i < k; i++) throw_once(occupied);
        chance *= load / (ids + 1);
    }
    return sum;
}

Test(layouts, expected_rate_is_the_poisson_mixture)
{
    static const uint32_t hashes[] = {1, 2, 6, 12, 24};
    for (double load = 5; load < 200; load *= 2.3) {
        struct bloom_params params = {BLOOM_XXH64,
                                      (uint64_t)(load * 100000),
                                      256 * 100000,
                                      8,
                                      BLOOM_SPLIT_BLOCK,
                                      NULL,
                                      {0},
                                      0};
        double expected = mixed_rate(BLOOM_SPLIT_BLOCK, (double)params.n / 100000, 8);
        cr_assert_float_eq(bloom_expected_rate(&params), expected, 1e-11 * expected);
        for (size_t i = 0; i < 5; i++) {
            struct bloom_params line = {BLOOM_XXH64,    params.n, 512 * 100000, hashes[i],
                                        BLOOM_BLOCK512, NULL,     {0},          0};
            expected = mixed_rate(BLOOM_BLOCK512, (double)params.n / 100000, hashes[i]);
            cr_assert_float_eq(bloom_expected_rate(&line), expected, 1e-11 * expected,
                               "load %g k %u", load, hashes[i]);
        }
    }
}

Test(layouts, sizes_meet_the_requested_rate)
{
    static const double rates[] = {0.5, 0.2, 0.1, 0.05, 0.01, 0.001, 1e-4, 1e-5, 1e-6};
    for (int layout = BLOOM_BLOCK512; layout <= BLOOM_SPLIT_BLOCK; layout++) {
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
            struct bloom_sizing sizing;
            struct bloom_params params;
            cr_assert_eq(
                bloom_sizing_for_rate(BLOOM_XXH64, (enum bloom_layout)layout, rates[i], &sizing),
                BLOOM_OK);
            for (uint64_t n = 1; n < 10000000; n = n * 5 + 1) {
                cr_assert_eq(bloom_sizing_params(&sizing, n, &params), BLOOM_OK);
                cr_assert_leq(bloom_expected_rate(&params), rates[i]);
                uint32_t block = bloom_block_bits(params.layout);
                if (params.m == block) continue;
                params.m -= block;
                cr_assert_gt(bloom_expected_rate(&params), rates[i], "a block less would do");
            }
        }
    }
}

/* Parquet's formula and the classic one underestimate these sizes, at 1 % and 0.1 %. */
Test(layouts, bits_per_id_are_exact)
{
    static const struct {
        enum bloom_layout layout;
        double p, bits;
        uint32_t k;
    } cases[] = {{BLOOM_SPLIT_BLOCK, 0.01, 10.529, 8},
                 {BLOOM_SPLIT_BLOCK, 0.001, 16.890, 8},
                 {BLOOM_BLOCK512, 0.01, 9.918, 6},
                 {BLOOM_BLOCK512, 0.001, 15.546, 9}};
    for (size_t i = 0; i < 4; i++) {
        struct bloom_sizing sizing;
        cr_assert_eq(bloom_sizing_for_rate(BLOOM_XXH64, cases[i].layout, cases[i].p, &sizing),
                     BLOOM_OK);
        cr_assert_float_eq(sizing.bits, cases[i].bits, 0.001);
        cr_assert_eq(sizing.k, cases[i].k);
    }
}

/* Computed from the closed form with 60 digits. */
Test(layouts, small_rates_have_exact_sizes)
{
    static const struct {
        enum bloom_layout layout;
        double p;
        uint64_t m;
        uint32_t k;
    } cases[] = {{BLOOM_BLOCK512, 1e-4, 22030336, 12},   {BLOOM_BLOCK512, 1e-6, 38824960, 16},
                 {BLOOM_BLOCK512, 1e-8, 63467008, 20},   {BLOOM_BLOCK512, 1e-9, 80177152, 22},
                 {BLOOM_BLOCK512, 1e-10, 100935680, 24}, {BLOOM_SPLIT_BLOCK, 1e-4, 26341632, 8},
                 {BLOOM_SPLIT_BLOCK, 1e-8, 177443584, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bloom_sizing sizing;
        struct bloom_params params;
        cr_assert_eq(bloom_sizing_for_rate(BLOOM_XXH64, cases[i].layout, cases[i].p, &sizing),
                     BLOOM_OK);
        cr_assert_eq(bloom_sizing_params(&sizing, 1000000, &params), BLOOM_OK);
        cr_assert_eq(params.m, cases[i].m, "p %g: %" PRIu64, cases[i].p, params.m);
        cr_assert_eq(params.k, cases[i].k);
    }
}

Test(layouts, sizes_follow_bits_per_id)
{
    static const struct {
        enum bloom_layout layout;
        double bits;
        uint64_t m;
        uint32_t k;
    } cases[] = {{BLOOM_CLASSIC, 10, 10000, 7},
                 {BLOOM_CLASSIC, 8, 8000, 6},
                 {BLOOM_CLASSIC, 2.57, 2570, 2},
                 {BLOOM_CLASSIC, 1, 1000, 1},
                 {BLOOM_CLASSIC, 1000, 1000000, BLOOM_K_MAX},
                 {BLOOM_BLOCK512, 10, 10240, 6},
                 {BLOOM_BLOCK512, 1, 1024, 1},
                 {BLOOM_SPLIT_BLOCK, 10, 10240, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bloom_sizing sizing;
        struct bloom_params params;
        cr_assert_eq(bloom_sizing_for_bits(BLOOM_WIDE, cases[i].layout, cases[i].bits, &sizing),
                     BLOOM_OK);
        cr_assert_eq(bloom_sizing_params(&sizing, 1000, &params), BLOOM_OK);
        cr_assert_eq(params.m, cases[i].m, "case %zu: m %lu", i, params.m);
        cr_assert_eq(params.k, cases[i].k, "case %zu: k %u", i, params.k);
    }
}

Test(layouts, id_count_is_estimated_from_bits)
{
    for (int layout = 0; layout <= BLOOM_SPLIT_BLOCK; layout++) {
        struct bloom_params params = {BLOOM_WIDE, 20000, 512 * 400, 8, (enum bloom_layout)layout,
                                      NULL,       {0},   0};
        struct bloom_filter filter;
        struct sample sample;
        sample_init(&sample, 20000, 12, 12, 1, 30);
        cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
        for (uint32_t r = 0; r < sample.rows.rows; r++)
            bloom_add(&filter, sample.data + sample.start[r], 12);
        double ids = bloom_ids_estimate(&params, bloom_bits_set(&filter));
        cr_assert_float_eq(ids, 20000, 200, "%g ids", ids);
        cr_assert_eq(bloom_ids_estimate(&params, 0), 0);
        cr_assert(isinf(bloom_ids_estimate(&params, params.m)));
        bloom_fini(&filter);
        sample_fini(&sample);
    }
}

/* ---- files ---- */

static uint8_t *encoded(enum bloom_layout layout, uint64_t *out_size)
{
    struct bloom_params params = {BLOOM_XXH64, 3, 512, 8, layout, NULL, {0}, 0};
    struct bloom_filter filter;
    cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
    bloom_add(&filter, "tt0000001", 9);
    uint8_t header[BLOOM_HEADER_MAX], *data = malloc(BLOOM_HEADER_MAX + 64);
    cr_assert_not_null(data);
    uint32_t size = bloom_encode_header(&filter, header);
    cr_assert_eq(size, bloom_header_size(&params));
    memcpy(data, header, size);
    memcpy(data + size, filter.bits, 64);
    *out_size = size + 64;
    bloom_fini(&filter);
    return data;
}

Test(layouts, file_round_trips_and_damage_is_rejected)
{
    for (int layout = BLOOM_BLOCK512; layout <= BLOOM_SPLIT_BLOCK; layout++) {
        uint64_t size, used;
        uint8_t *data = encoded((enum bloom_layout)layout, &size);
        struct bloom_filter view;
        cr_assert_arr_eq(data, "\x99\xabglint.bloom\x02\xa5xxh64", 20);
        cr_assert_eq(bloom_decode(data, size, &view), BLOOM_OK);
        cr_assert_eq((int)view.params.layout, layout);
        cr_assert_eq(view.params.m, 512);
        cr_assert(bloom_contains(&view, "tt0000001", 9));
        cr_assert_not(bloom_contains(&view, "tt0000002", 9));
        for (uint64_t shorter = 0; shorter < size; shorter++)
            cr_assert_eq(bloom_decode(data, shorter, &view), BLOOM_ERR_TRUNCATED);
        for (uint64_t bit = 0; bit < size * 8; bit++) {
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            cr_assert_neq(bloom_decode(data, size, &view), BLOOM_OK, "bit %lu", bit);
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        cr_assert_eq(bloom_decode_first(data, size, &view, &used), BLOOM_OK);
        cr_assert_eq(used, size);
        free(data);
    }
}

/* A classic filter has exactly one encoding, version 1, or version 3 with seeds; the error names
 * versions that are newer. */
Test(layouts, file_of_wrong_layout_or_version_is_rejected)
{
    uint64_t size;
    uint8_t *data = encoded(BLOOM_SPLIT_BLOCK, &size);
    struct bloom_filter view;
    memcpy(data + 14 + 6,
           "\xa7"
           "classic",
           8);
    cr_assert_eq(bloom_decode(data, size, &view), BLOOM_ERR_LAYOUT);
    memcpy(data + 14 + 6,
           "\xa7"
           "striped",
           8);
    cr_assert_eq(bloom_decode(data, size, &view), BLOOM_ERR_LAYOUT);
    data[0] = 0x98;
    cr_assert_eq(bloom_decode(data, size, &view), BLOOM_ERR_VERSION);
    data[13] = 1;
    cr_assert_eq(bloom_decode(data, size, &view), BLOOM_ERR_FORMAT);
    data[0] = 0x9a;
    data[13] = 3;
    cr_assert_eq(bloom_decode(data, size, &view), BLOOM_ERR_LAYOUT);
    data[0] = 0x9b;
    data[13] = 4;
    cr_assert_eq(bloom_decode(data, size, &view), BLOOM_ERR_LAYOUT);
    data[0] = 0x9c;
    data[13] = 5;
    cr_assert_eq(bloom_decode(data, size, &view), BLOOM_ERR_VERSION);
    free(data);
}
