/* Sizes, bounds and index rules: published test vectors, the oracle, and strings that are not
 * UTF-8. */
#include "oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

Test(schemes, names_round_trip)
{
    for (int i = 0; i < BLOOM_SCHEMES; i++) {
        const char *name = bloom_scheme_name((enum bloom_scheme)i);
        enum bloom_scheme scheme;
        cr_assert_eq(bloom_scheme_parse(name, strlen(name), &scheme), BLOOM_OK);
        cr_assert_eq((int)scheme, i);
        cr_assert_eq(bloom_scheme_parse(name, strlen(name) - 1, &scheme), BLOOM_ERR_SCHEME);
    }
    enum bloom_scheme scheme;
    cr_assert_eq(bloom_scheme_parse("", 0, &scheme), BLOOM_ERR_SCHEME);
}

Test(schemes, every_result_has_its_own_message)
{
    for (int a = BLOOM_ERR_SEEDED; a <= BLOOM_OK; a++) {
        if (a == -17 || (a <= -24 && a >= -27)) continue; /* unused; only in the public library */
        cr_assert_str_neq(bloom_strerror(a), "unknown result");
        for (int b = BLOOM_ERR_SEEDED; b < a; b++)
            cr_assert_str_neq(bloom_strerror(a), bloom_strerror(b));
    }
}

/* Computed by Python 3: math.ceil(-n * math.log(p) / math.log(2) ** 2) and so on. */
Test(schemes, sizes_equal_python_formula)
{
    static const struct {
        uint64_t n, m;
        double p;
        uint32_t k;
    } cases[] = {{1, 10, 0.01, 7},         {1, 1, 0.9, 1},           {1000, 9586, 0.01, 7},
                 {40292, 386202, 0.01, 7}, {1000, 14378, 0.001, 10}, {1000, 6236, 0.05, 5},
                 {1000, 4793, 0.1, 4},     {7, 11, 0.5, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bloom_params params;
        cr_assert_eq(bloom_params_for(BLOOM_SPARK, cases[i].n, cases[i].p, &params), BLOOM_OK);
        cr_assert_eq(params.m, cases[i].m, "case %zu: m %lu", i, params.m);
        cr_assert_eq(params.k, cases[i].k, "case %zu: k %u", i, params.k);
        cr_assert_eq(params.n, cases[i].n);
    }
}

Test(schemes, out_of_bounds_parameters_are_rejected)
{
    struct bloom_params params;
    cr_assert_eq(bloom_params_for(BLOOM_SPARK, 0, 0.01, &params), BLOOM_ERR_N);
    static const double outside[] = {0, 1, -0.1, 1.1, 0.0 / 0.0, 1.0 / 0.0};
    for (int i = 0; i < 6; i++)
        cr_assert_eq(bloom_params_for(BLOOM_SPARK, 5, outside[i], &params), BLOOM_ERR_P);
    cr_assert_eq(bloom_params_for(BLOOM_SPARK, 5, 1e-80, &params), BLOOM_ERR_K);
    cr_assert_eq(bloom_params_for(BLOOM_SPARK, 300000000, 0.01, &params), BLOOM_ERR_M);
    cr_assert_eq(bloom_params_for(BLOOM_WIDE, 300000000, 0.01, &params), BLOOM_OK);
    cr_assert_eq(bloom_params_for(BLOOM_WIDE, UINT64_MAX, 0.01, &params), BLOOM_ERR_M);
    cr_assert_eq(bloom_params_for(BLOOM_POLY_ABS, 5, 0.001, &params), BLOOM_ERR_SEEDS);
    cr_assert_eq(bloom_params_for(BLOOM_POLY_MOD, 5, 0.01, &params), BLOOM_ERR_SEEDS);
    static const struct {
        struct bloom_params params;
        enum bloom_result result;
    } cases[] = {
        {{BLOOM_SPARK, 1, INT32_MAX, BLOOM_K_MAX, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_SPARK, 1, 1u << 31, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_M},
        {{BLOOM_SPARK, 1, 0, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_M},
        {{BLOOM_SPARK, 1, 8, 0, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_K},
        {{BLOOM_SPARK, 1, 8, BLOOM_K_MAX + 1, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_K},
        {{BLOOM_SCHEMES, 1, 8, 1, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_SCHEME},
        {{BLOOM_WIDE, 1, BLOOM_M_MAX, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_WIDE, 1, BLOOM_M_MAX + 1, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_M},
        {{BLOOM_POLY_MOD, 1, 32735, 5, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_POLY_MOD, 1, 32736, 5, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_M},
        {{BLOOM_POLY_MOD, 1, 32736, 4, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_MD5_RANDOM, 1, 100, 6, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_SPARK_BLOOM, 1, INT32_MAX - 63, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_SPARK_BLOOM, 1, 1ull << 31, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_M},
        {{BLOOM_SPARK_BLOOM, 1, 96, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_BLOCKS},
        {{BLOOM_SPARK_BLOOM_V2, 1, 1ull << 34, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_SPARK_BLOOM_V2, 1, 72, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_BLOCKS},
        {{BLOOM_GUAVA, 1, 72, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_BLOCKS},
        {{BLOOM_GUAVA, 1, 1ull << 34, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_RBLOOM, 1, 72, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_RBLOOM, 1, 73, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_ERR_BLOCKS},
        {{BLOOM_RBLOOM, 1, BLOOM_M_MAX, 7, BLOOM_CLASSIC, NULL, {0}, 0}, BLOOM_OK},
        {{BLOOM_GUAVA, 1, 64, 7, BLOOM_BLOCK512, NULL, {0}, 0}, BLOOM_ERR_PAIR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(bloom_params_check(&cases[i].params), cases[i].result, "case %zu", i);
}

static void check_vector(enum bloom_scheme scheme, const char *id, const int32_t *hashes,
                         uint32_t count)
{
    struct bloom_params params = {.scheme = scheme, .n = 1, .m = 1000003, .k = count};
    uint64_t indexes[BLOOM_K_MAX];
    bloom_compute_indexes(&params, id, strlen(id), indexes);
    for (uint32_t i = 0; i < count; i++) {
        int64_t m = (int64_t)params.m, h = hashes[i];
        int64_t expected = scheme == BLOOM_SPARK ? (h % m + m) % m : llabs(h % m);
        cr_assert_eq((int64_t)indexes[i], expected, "%s hash %u", id, i);
    }
}

/* mmh3 5.3.1 and the MurmurHash class of Hadoop 3.1.3. */
Test(schemes, hashes_equal_published_vectors)
{
    static const int32_t seven[] = {-574690686,  -1962555209, 352813419,  -1337611971,
                                    -1658909743, 1492307965,  -1489228378};
    static const int32_t eight[] = {1230528731,  -1364415270, 1339673989, -1782026861,
                                    -2129910034, -160710213,  -1120926239};
    check_vector(BLOOM_SPARK, "tt0000001", seven, 7);
    check_vector(BLOOM_SPARK, "tt10000000", eight, 7);
    check_vector(BLOOM_HADOOP, "tt0000001", (int32_t[]){-471537376, 795916303}, 2);
    check_vector(BLOOM_HADOOP, "tt10000000", (int32_t[]){1701550597, 1306869888}, 2);
    check_vector(BLOOM_HADOOP, "tt0000001\xc3\xa9", (int32_t[]){-2077922422, 200366884}, 2);
    check_vector(BLOOM_HADOOP, "abc", (int32_t[]){1775488903, -2144439693}, 2);
}

Test(schemes, indexes_equal_oracle)
{
    struct sample sample;
    sample_init(&sample, 3000, 0, 200, 1, 1);
    static const uint64_t sizes[] = {1, 2, 3, 64, 1000, 1u << 20, 9585058, INT32_MAX};
    for (int scheme = BLOOM_SPARK; scheme <= BLOOM_PLAIN; scheme++) {
        for (uint32_t r = 0; r < sample.rows.rows; r++) {
            struct bloom_params params = {
                .scheme = (enum bloom_scheme)scheme, .n = 1, .m = sizes[r % 8], .k = 5};
            uint32_t size = sample.end[r] - sample.start[r];
            uint64_t indexes[BLOOM_K_MAX];
            bloom_compute_indexes(&params, sample.data + sample.start[r], size, indexes);
            for (uint32_t i = 0; i < 5; i++)
                cr_assert_eq(indexes[i],
                             oracle_index(&params, sample.data + sample.start[r], size, i));
        }
    }
    sample_fini(&sample);
}

/* As org.apache.hadoop.util.bloom.HashFunction: each hash seeds the next. */
Test(schemes, hadoop_bloom_chains_hashes)
{
    struct sample sample;
    sample_init(&sample, 500, 0, 40, 1, 3);
    static const uint64_t sizes[] = {1, 3, 9586, INT32_MAX};
    for (uint32_t r = 0; r < sample.rows.rows; r++) {
        struct bloom_params params = {
            .scheme = BLOOM_HADOOP_BLOOM, .n = 1, .m = sizes[r % 4], .k = 9};
        const uint8_t *id = sample.data + sample.start[r];
        uint32_t size = sample.end[r] - sample.start[r], hash = 0;
        uint64_t indexes[BLOOM_K_MAX];
        bloom_compute_indexes(&params, id, size, indexes);
        for (uint32_t i = 0; i < params.k; i++) {
            hash = oracle_murmur2(id, size, hash);
            cr_assert_eq(indexes[i], (uint64_t)llabs((int64_t)(int32_t)hash % (int64_t)params.m));
        }
    }
    sample_fini(&sample);
}

/* (low + i * (high | 1) mod 2^64) mod m, of the hash's published form: 16 bytes, big-endian. */
static void check_wide(const void *id, uint32_t size, const uint8_t hash[16], uint64_t m)
{
    struct bloom_params params = {.scheme = BLOOM_WIDE, .n = 1, .m = m, .k = BLOOM_K_MAX};
    uint64_t high = 0, low = 0, indexes[BLOOM_K_MAX];
    for (int i = 0; i < 8; i++) {
        high = high << 8 | hash[i];
        low = low << 8 | hash[8 + i];
    }
    bloom_compute_indexes(&params, id, size, indexes);
    for (uint32_t i = 0; i < BLOOM_K_MAX; i++) cr_assert_eq(indexes[i], (low + i * (high | 1)) % m);
}

Test(schemes, wide_combines_two_hash_halves)
{
    static const uint8_t of_nothing[] = {0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8,
                                         0x60, 0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f};
    static const uint64_t sizes[] = {1, 2, 1000, INT32_MAX, 1ull << 33, BLOOM_M_MAX};
    struct sample sample;
    sample_init(&sample, 600, 0, 300, 1, 1);
    for (int m = 0; m < 6; m++) check_wide("", 0, of_nothing, sizes[m]);
    for (uint32_t r = 0; r < sample.rows.rows; r++) {
        const uint8_t *id = sample.data + sample.start[r];
        uint32_t size = sample.end[r] - sample.start[r];
        XXH128_canonical_t hash;
        XXH128_canonicalFromHash(&hash, XXH3_128bits(id, size));
        check_wide(id, size, hash.digest, sizes[r % 6]);
    }
    sample_fini(&sample);
}

/* With seed 3 and a huge m, the index is the polynomial of the string's UTF-16 units at 3. */
static void check_units(const char *id, uint64_t size, const uint16_t *units, uint32_t count)
{
    struct bloom_params params = {.scheme = BLOOM_POLY_ABS, .n = 1, .m = INT32_MAX, .k = 1};
    uint64_t expected = 0, indexes[BLOOM_K_MAX];
    for (uint32_t i = 0; i < count; i++) expected = expected * 3 + units[i];
    bloom_compute_indexes(&params, id, size, indexes);
    cr_assert_eq(indexes[0], expected, "\"%s\": %lu, not %lu", id, indexes[0], expected);
}

#define UNITS(...)                                                                                 \
    (const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t)

/* The expected values are those of `new String(bytes, UTF_8)` in OpenJDK 17. */
Test(schemes, strings_decode_to_utf16_like_java)
{
    enum { BAD = 0xFFFD };
    check_units("", 0, NULL, 0);
    check_units("a\0b", 3, UNITS('a', 0, 'b'));
    check_units("\xc3\xa9z", 3, UNITS(0xE9, 'z'));
    check_units("\xe2\x82\xac", 3, UNITS(0x20AC));
    check_units("\xef\xbf\xbf", 3, UNITS(0xFFFF));
    check_units("\xf0\x90\x80\x80", 4, UNITS(0xD800, 0xDC00));
    check_units("\xf0\x9f\x98\x80", 4, UNITS(0xD83D, 0xDE00));
    check_units("\xf4\x8f\xbf\xbf", 4, UNITS(0xDBFF, 0xDFFF));
    check_units("\x80", 1, UNITS(BAD));
    check_units("\xc0\xaf", 2, UNITS(BAD, BAD));
    check_units("\xc3z", 2, UNITS(BAD, 'z'));
    check_units("\xe2\x82", 2, UNITS(BAD));
    check_units("\xe2\x82z", 3, UNITS(BAD, 'z'));
    check_units("\xe0\x80\x80", 3, UNITS(BAD, BAD, BAD));
    check_units("\xed\xa0\x80", 3, UNITS(BAD));
    check_units("\xed\xa0", 2, UNITS(BAD));
    check_units("\xf0\x9f\x98", 3, UNITS(BAD));
    check_units("\xf0\x9f\x98z", 4, UNITS(BAD, 'z'));
    check_units("\xf0\x80\x80\x80", 4, UNITS(BAD, BAD, BAD, BAD));
    check_units("\xf4\x90\x80\x80", 4, UNITS(BAD, BAD, BAD, BAD));
    check_units("\xff", 1, UNITS(BAD));
}

/* A string whose sum is -2^31, for which Java's abs stays negative: our index is 2^31 mod m. */
Test(schemes, abs_of_int_min_is_positive)
{
    char id[64];
    uint32_t size = 0, rest = 1u << 31;
    while (rest > 126) {
        char unit = (char)('0' + (rest % 3 + 3 - '0' % 3) % 3);
        id[sizeof id - ++size] = unit;
        rest = (rest - (uint32_t)unit) / 3;
    }
    id[sizeof id - ++size] = (char)rest;
    struct bloom_params params = {.scheme = BLOOM_POLY_ABS, .n = 1, .m = 1000003, .k = 1};
    uint64_t indexes[BLOOM_K_MAX];
    bloom_compute_indexes(&params, id + sizeof id - size, size, indexes);
    cr_assert_eq(indexes[0], (1ull << 31) % 1000003);
}

/* java.util.Random of OpenJDK 17. With m = 2^30 + 1 nearly every second draw is rejected. */
Test(schemes, random_draws_equal_java)
{
    static const struct {
        uint64_t m, draws[8];
    } cases[] = {
        {1073741825,
         {233302905, 1063562830, 268460863, 798984480, 656906993, 271676238, 244534890, 200917100}},
        {1073741824,
         {116651452, 919604663, 708459934, 721722270, 984700109, 649632342, 1016335291, 618284841}},
        {INT32_MAX,
         {233302905, 1839209327, 1416919869, 1443444540, 1969400218, 1299264685, 2032670582,
          1236569683}},
        {1, {0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bloom_params params = {.scheme = BLOOM_MD5_RANDOM, .n = 1, .m = cases[i].m, .k = 8};
        uint64_t indexes[BLOOM_K_MAX];
        bloom_compute_indexes(&params, "tt0000001", 9, indexes);
        cr_assert_arr_eq(indexes, cases[i].draws, sizeof cases[i].draws, "m = %lu", params.m);
    }
}

Test(schemes, indexes_stay_below_m)
{
    struct sample sample;
    sample_init(&sample, 500, 0, 40, 1, 2);
    for (int scheme = 0; scheme < BLOOM_XXH64; scheme++) {
        for (uint64_t m = 1; m < 30000; m += m / 2 + 1) {
            struct bloom_params params = {
                .scheme = (enum bloom_scheme)scheme, .n = 1, .m = m, .k = 5};
            cr_assert_eq(bloom_params_check(&params), BLOOM_OK);
            for (uint32_t r = 0; r < sample.rows.rows; r++) {
                uint64_t indexes[BLOOM_K_MAX];
                bloom_compute_indexes(&params, sample.data + sample.start[r],
                                      sample.end[r] - sample.start[r], indexes);
                for (uint32_t i = 0; i < params.k; i++) cr_assert_lt(indexes[i], m);
            }
        }
    }
    sample_fini(&sample);
}

/* The bits that the published programs set on a real JVM, if the directory with them exists. */
static void check_family(const char *dir, const char *name, struct bloom_params params)
{
    char path[512], line[256];
    struct bloom_filter filter;
    cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
    snprintf(path, sizeof path, "%s/families/names.txt", dir);
    FILE *names = fopen(path, "r");
    cr_assert_not_null(names, "%s", path);
    while (fgets(line, sizeof line, names)) bloom_add(&filter, line, strcspn(line, "\n"));
    fclose(names);
    snprintf(path, sizeof path, "%s/families/%s-names.bits", dir, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    uint8_t expected[1024];
    size_t size = fread(expected, 1, sizeof expected, file);
    fclose(file);
    cr_assert_eq(size, bloom_bytes(params.m));
    cr_assert_arr_eq(filter.bits, expected, size, "%s", name);
    bloom_fini(&filter);
}

Test(schemes, families_equal_published_programs)
{
    const char *dir = getenv("GLINT_GOLDEN");
    if (dir == NULL || dir[0] == '\0') cr_skip_test("GLINT_GOLDEN is not set");
    check_family(dir, "poly-abs",
                 (struct bloom_params){BLOOM_POLY_ABS, 329, 3200, 8, BLOOM_CLASSIC, NULL, {0}, 0});
    check_family(dir, "poly-mod",
                 (struct bloom_params){BLOOM_POLY_MOD, 329, 3200, 5, BLOOM_CLASSIC, NULL, {0}, 0});
    check_family(
        dir, "md5-random",
        (struct bloom_params){BLOOM_MD5_RANDOM, 329, 3200, 6, BLOOM_CLASSIC, NULL, {0}, 0});
}
