/* The formats of other systems, and the index rules of their classes: hashes of the classes
 * themselves, indexes against slow transcriptions, whole files whose SHA-256 the classes confirmed,
 * and each error of each header. tests/parity/formats compares with the classes. */
#include "jobs/bloom/formats.h"
#include "jobs/bloom/murmur.h"
#include "oracle.h"
#include "tests/support/format_files.h"

#include <criterion/criterion.h>
#include <murmurhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* org.apache.spark.util.sketch.Murmur3_x86_32.hashUnsafeBytes of Spark 3.5.9, line by line. */
static int32_t oracle_spark(const uint8_t *id, uint32_t size, int32_t seed)
{
    const int8_t *bytes = (const int8_t *)id;
    const uint32_t whole = size - size % 4;
    uint32_t h = (uint32_t)seed;
    for (uint32_t i = 0; i < size; i += i < whole ? 4 : 1) {
        uint32_t word = (uint32_t)(int32_t)bytes[i];
        if (i < whole)
            word = (uint32_t)id[i] | (uint32_t)id[i + 1] << 8 | (uint32_t)id[i + 2] << 16 |
                   (uint32_t)id[i + 3] << 24;
        word *= 0xcc9e2d51;
        word = word << 15 | word >> 17;
        word *= 0x1b873593;
        h ^= word;
        h = h << 13 | h >> 19;
        h = h * 5 + 0xe6546b64;
    }
    h ^= size;
    h ^= h >> 16;
    h *= 0x85ebca6b;
    h ^= h >> 13;
    h *= 0xc2b2ae35;
    h ^= h >> 16;
    return (int32_t)h;
}

/* Spark 3.5.9: Murmur3_x86_32.hashUnsafeBytes with seed 0, and with that hash as the seed. */
Test(formats, hash_of_spark_equals_its_class)
{
    static const struct {
        const char *id;
        int32_t h1, h2;
    } cases[] = {{"tt0000001", 1624892585, -692078955},
                 {"tt10000000", -1575044448, -245852630},
                 {"tt0000001\xc3\xa9", 34912525, -49321045}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *id = (const uint8_t *)cases[i].id;
        const uint32_t size = (uint32_t)strlen(cases[i].id);
        cr_assert_eq((int32_t)murmur3_spark(id, size, 0), cases[i].h1);
        cr_assert_eq((int32_t)murmur3_spark(id, size, (uint32_t)cases[i].h1), cases[i].h2);
        cr_assert_eq(oracle_spark(id, size, 0), cases[i].h1);
    }
}

/* rbloom 1.5 (src/lib.rs) writes its multiplier in decimal. */
static unsigned __int128 multiplier_of_rbloom(void)
{
    unsigned __int128 value = 0;
    for (const char *digit = "47026247687942121848144207491837418733"; *digit != '\0'; digit++)
        value = value * 10 + (unsigned)(*digit - '0');
    return value;
}

/* Index i = 0.., as the classes compute it: with a division of signed numbers where Java has one.
 */
static uint64_t oracle_format_index(const struct bloom_params *params, const uint8_t *id,
                                    uint32_t size, uint32_t i)
{
    const int64_t m = (int64_t)params->m;
    const int32_t h1 = oracle_spark(id, size, 0), h2 = oracle_spark(id, size, h1);
    uint64_t halves[2];
    lmmh_x64_128(id, size, 0, halves);
    if (params->scheme == BLOOM_SPARK_BLOOM) {
        const int32_t c = (int32_t)((uint32_t)h1 + (i + 1) * (uint32_t)h2);
        return (uint64_t)((c < 0 ? ~c : c) % m);
    }
    if (params->scheme == BLOOM_SPARK_BLOOM_V2) {
        const int64_t c = (int64_t)h1 * INT32_MAX + (int64_t)(i + 1) * h2;
        return (uint64_t)((c < 0 ? ~c : c) % m);
    }
    if (params->scheme == BLOOM_GUAVA)
        return (uint64_t)((int64_t)((halves[0] + i * halves[1]) & INT64_MAX) % m);
    unsigned __int128 s = (unsigned __int128)halves[1] << 64 | halves[0];
    for (uint32_t n = 0; n <= i; n++) s = s * multiplier_of_rbloom() + 1;
    return (uint64_t)(s >> 32) % params->m;
}

Test(formats, indexes_equal_oracle)
{
    static const uint64_t words[] = {1, 3, 150, 1 << 14, INT32_MAX / 64};
    static const uint64_t more[] = {1ull << 27,
                                    (1ull << 29) - 1}; /* where the format has 64 bits */
    struct sample sample;
    sample_init(&sample, 2100, 0, 70, 1, 5);
    for (int scheme = BLOOM_SPARK_BLOOM; scheme <= BLOOM_RBLOOM; scheme++) {
        for (uint32_t r = 0; r < sample.rows.rows; r++) {
            const uint8_t *id = sample.data + sample.start[r];
            const uint32_t size = sample.end[r] - sample.start[r];
            const bool large = scheme != BLOOM_SPARK_BLOOM && r % 7 > 4;
            struct bloom_params params = {.scheme = (enum bloom_scheme)scheme,
                                          .n = 1,
                                          .m = (large ? more[r % 7 - 5] : words[r % 5]) * 64,
                                          .k = 64};
            uint64_t indexes[BLOOM_K_MAX];
            cr_assert_eq(bloom_params_check(&params), BLOOM_OK);
            bloom_compute_indexes(&params, id, size, indexes);
            for (uint32_t i = 0; i < params.k; i++)
                cr_assert_eq(indexes[i], oracle_format_index(&params, id, size, i),
                             "scheme %d, row %u, hash %u", scheme, r, i);
        }
    }
    sample_fini(&sample);
}

/* The ids tt0000001 to tt0001000. */
static struct bloom_filter thousand(enum bloom_format format)
{
    const struct bloom_params params = format_params(format, 1000, 0.01);
    struct bloom_filter filter;
    cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
    for (int i = 1; i <= 1000; i++) {
        char id[16];
        snprintf(id, sizeof id, "tt%07d", i);
        bloom_add(&filter, id, strlen(id));
    }
    return filter;
}

/* XXH64 of the files. Those of spark, hadoop and guava have the SHA-256 of files that the classes
 * of Spark 3.5.9, Hadoop 3.1.3 and Guava 31.1 wrote: 41c5fdf0..., 60363716..., d90cf2a8...; that of
 * spark-v2, bd5c2202..., a transcription of Spark's. From go-bloom on they are those of files that
 * the classes made of the same ids and rate: bits-and-blooms 3.7.1, bloom-filters 3.0.4, fastbloom
 * 0.17.0, DataSketches 6.2.0, ORC 1.9.5, Cassandra 5.0.9, and, without its header, which counts the
 * ids, RedisBloom 2.8.2. */
Test(formats, files_equal_those_of_the_classes)
{
    static const struct {
        enum bloom_format format;
        uint64_t size, hash;
    } cases[] = {{BLOOM_FORMAT_SPARK, 1212, 0x9a3b30e50c8b284d},
                 {BLOOM_FORMAT_SPARK_V2, 1216, 0xc4f335bd122f68cb},
                 {BLOOM_FORMAT_HADOOP, 1212, 0xc2501485464350af},
                 {BLOOM_FORMAT_GUAVA, 1206, 0xd0003dec3ca7098e},
                 {BLOOM_FORMAT_PARQUET, 1360, 0xdc7ebcc510b859d3},
                 {BLOOM_FORMAT_RBLOOM, 1207, 0x4e87e46a51e35f9d},
                 {BLOOM_FORMAT_GO_BLOOM, 1224, 0x4bec6f5cd1211740},
                 {BLOOM_FORMAT_GO_BLOOM_JSON, 1635, 0x52333d647720dc72},
                 {BLOOM_FORMAT_DATASKETCHES, 1232, 0x556a6211d6ef6286},
                 {BLOOM_FORMAT_NPM_BLOOM, 1706, 0x4f91448927e045af},
                 {BLOOM_FORMAT_REDISBLOOM, 1457, 0x77f8e7edd1714562},
                 {BLOOM_FORMAT_FASTBLOOM, 1284, 0xced133cd2a2bf1b1},
                 {BLOOM_FORMAT_ORC, 1208, 0xf922124670dcb868},
                 {BLOOM_FORMAT_CASSANDRA, 1264, 0x1ee44d2c336b32f5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bloom_filter filter = thousand(cases[i].format), back;
        const struct bloom_params none = {.n = 0};
        uint64_t size, at;
        uint8_t *file = format_file(cases[i].format, &filter, 72, &size);
        const uint64_t from = cases[i].format == BLOOM_FORMAT_REDISBLOOM ? 73 : 0;
        cr_assert_eq(size, cases[i].size);
        cr_assert_eq(XXH64(file + from, size - from, 0), cases[i].hash, "%s",
                     bloom_format_name(cases[i].format));
        cr_assert_null(bloom_format_decode(cases[i].format, file, size, &none, &back, &at));
        cr_assert(bloom_params_equal(&back.params, &filter.params));
        cr_assert_arr_eq(back.bits, filter.bits, bloom_bytes(filter.params.m));
        free(file);
        bloom_fini(&filter);
    }
}

Test(formats, names_round_trip)
{
    for (int i = 0; i < BLOOM_FORMATS; i++) {
        const char *name = bloom_format_name((enum bloom_format)i);
        enum bloom_format format = BLOOM_FORMATS;
        cr_assert(bloom_format_parse(name, strlen(name), &format));
        cr_assert_eq((int)format, i);
        cr_assert_not_null(strstr(BLOOM_FORMAT_CHOICES, name));
        cr_assert_not(bloom_format_parse(name, strlen(name) - 1, &format));
        cr_assert_gt(strlen(bloom_format_program(format)), 0);
    }
}

Test(formats, only_filters_with_its_hash_fit)
{
    for (int i = BLOOM_FORMAT_SPARK; i < BLOOM_FORMATS; i++) {
        const enum bloom_format format = (enum bloom_format)i;
        for (int scheme = 0; scheme < BLOOM_SCHEMES; scheme++) {
            for (int layout = 0; layout < BLOOM_LAYOUTS; layout++) {
                const struct bloom_params params = {.scheme = (enum bloom_scheme)scheme,
                                                    .layout = (enum bloom_layout)layout};
                cr_assert_eq(bloom_format_fits(format, &params),
                             params.scheme == bloom_format_scheme(format) &&
                                 params.layout == bloom_format_layout(format));
                cr_assert(bloom_format_fits(BLOOM_FORMAT_BITS, &params));
            }
        }
    }
}

#define EIGHT "\1\2\3\4\5\6\7\10"
#define KINDS "\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"
#define BLOCK EIGHT EIGHT EIGHT EIGHT

static const struct format_case invalid[] = {
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\3\0\0\0\1" EIGHT), 20, NULL},
    {BLOOM_FORMAT_SPARK, BYTES(""), 0, "the header is truncated"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\1"), 0,
     "it has version 2: use --format spark-v2"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\3\0\0\0\3\0\0\0\1" EIGHT), 0, "its version is unknown"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\0\0\0\0\1" EIGHT), 4,
     "the number of hashes is not positive"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\377\0\0\0\1" EIGHT), 20, NULL},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\1\0\0\0\0\1" EIGHT), 4,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\3\0\0\0"), 11, "the header is truncated"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\3\0\0\0\0"), 8,
     "the number of bits is not positive"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\3\377\377\377\377"), 8,
     "the number of bits is not positive"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\3\2\0\0\0"), 8,
     "it has more bits than the scheme can index"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\3\1\377\377\377"), 12, "the bits are truncated"},
    {BLOOM_FORMAT_SPARK, BYTES("\0\0\0\1\0\0\0\3\0\0\0\1" EIGHT "\0"), 20, "bytes follow the bits"},
    {BLOOM_FORMAT_SPARK_V2, BYTES("\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\1" EIGHT), 24, NULL},
    {BLOOM_FORMAT_SPARK_V2, BYTES("\0\0\0\1\0\0\0\3\0\0\0\1" EIGHT), 0,
     "it has version 1: use --format spark"},
    {BLOOM_FORMAT_SPARK_V2, BYTES("\0\0\0\4\0\0\0\3\0\0\0\0\0\0\0\1"), 0, "its version is unknown"},
    {BLOOM_FORMAT_SPARK_V2, BYTES("\0\0\0\2\0\0\0\3\0\0\0\7\0\0\0\1" EIGHT), 24, NULL},
    {BLOOM_FORMAT_SPARK_V2, BYTES("\0\0\0\2\0\0\0\3\0\0\0"), 11, "the header is truncated"},
    {BLOOM_FORMAT_SPARK_V2, BYTES("\0\0\0\2\0\0\0\3\0\0\0\0\177\377\377\377"), 12,
     "it has more bits than the scheme can index"},
    {BLOOM_FORMAT_SPARK_V2, BYTES("\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\2" EIGHT), 24,
     "the bits are truncated"},
    {BLOOM_FORMAT_HADOOP, BYTES("\377\377\377\377\0\0\0\3\1\0\0\0\24\10\1\1"), 16, NULL},
    {BLOOM_FORMAT_HADOOP, BYTES("\377\377\377\377\0\0\0\3\1\0\0\0"), 12, "the header is truncated"},
    {BLOOM_FORMAT_HADOOP, BYTES("\377\377\377\377\0\0\0\3"), 8, "the header is truncated"},
    {BLOOM_FORMAT_HADOOP, BYTES("\377\377\377\377\0\0\0\3\1\0\0\0\24\10\1\21"), 15,
     "a bit after the last one is set"},
    {BLOOM_FORMAT_GUAVA, BYTES("\1\3\0\0\0\1" EIGHT), 14, NULL},
    {BLOOM_FORMAT_GUAVA, BYTES("\0\3\0\0\0\1" EIGHT), 0,
     "its strategy is MURMUR128_MITZ_32; only MURMUR128_MITZ_64 is supported"},
    {BLOOM_FORMAT_GUAVA, BYTES("\2\3\0\0\0\1" EIGHT), 0, "its strategy is unknown"},
    {BLOOM_FORMAT_GUAVA, BYTES("\1"), 1, "the header is truncated"},
    {BLOOM_FORMAT_GUAVA, BYTES("\1\0\0\0\0\1" EIGHT), 1, "the number of hashes is not positive"},
    {BLOOM_FORMAT_GUAVA, BYTES("\1\377\0\0\0\1" EIGHT), 14, NULL},
    {BLOOM_FORMAT_GUAVA, BYTES("\1\3\200\0\0\0"), 2, "the number of bits is not positive"},
    {BLOOM_FORMAT_GUAVA, BYTES("\1\3\177\377\377\377"), 2,
     "it has more bits than the scheme can index"},
    {BLOOM_FORMAT_GUAVA, BYTES("\1\3\0\0\0\1" EIGHT "x"), 14, "bytes follow the bits"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\x40" KINDS BLOCK), 47, NULL},
    {BLOOM_FORMAT_PARQUET, BYTES(""), 0, "the header is truncated"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x25\x40" KINDS BLOCK), 0,
     "the header does not begin with the number of bytes"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15"), 1, "the header is truncated"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\xc0\0" KINDS BLOCK), 2, "the number is invalid"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\xc0\x80\x80\x80\x80\1" KINDS), 6, "the number is invalid"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\x40\x1c\x1c\0\0\x2c\x1c\0\0\x1c\x1c\0\0\0" BLOCK), 6,
     "only the algorithm BLOCK, the hash XXHASH, and no compression are supported"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\x40\x1c\x1c\0\0"), 6, "the header is truncated"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\0" KINDS), 1, "the number of bytes is not positive"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\x3f" KINDS), 1, "the number of bytes is not positive"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\x42" KINDS BLOCK "x"), 1,
     "the number of bytes is not a multiple of 32"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\x80\x80\x80\x80\1" KINDS), 19, "the bits are truncated"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\xc0\x80\x80\x80\1" KINDS), 1,
     "there are more than 128 MiB, the limit of Parquet"},
    {BLOOM_FORMAT_PARQUET, BYTES("\x15\x40" KINDS BLOCK "x"), 47, "bytes follow the bits"},
    {BLOOM_FORMAT_RBLOOM, BYTES("\7\0\0\0\0\0\0\0x"), 9, NULL},
    {BLOOM_FORMAT_RBLOOM, BYTES("\7\0\0\0\0\0\0"), 7, "the header is truncated"},
    {BLOOM_FORMAT_RBLOOM, BYTES("\7\0\0\0\0\0\0\0"), 8, "it has no bits"},
    {BLOOM_FORMAT_RBLOOM, BYTES("\0\0\0\0\0\0\0\0x"), 0,
     "it has no hashes, so the class finds every id in it"},
    {BLOOM_FORMAT_RBLOOM, BYTES("\7\0\0\0\0\0\0\200x"), 0,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_BITS, BYTES("x"), 1, NULL},
    {BLOOM_FORMAT_BITS, BYTES(""), 0, "it has no bits"},
};

Test(formats, invalid_files_are_rejected)
{
    check_format_cases(invalid, sizeof invalid / sizeof *invalid, true);
}

/* Raw bits have any m that fits the file's size. */
Test(formats, bits_have_the_given_parameters)
{
    uint8_t data[] = {0xff, 0x0f};
    struct bloom_filter view;
    uint64_t at;
    struct bloom_params params = {.scheme = BLOOM_SPARK, .n = 5, .m = 12, .k = 3};
    cr_assert_null(bloom_format_decode(BLOOM_FORMAT_BITS, data, 2, &params, &view, &at));
    cr_assert(bloom_params_equal(&view.params, &params));
    cr_assert_eq(view.params.n, 5);
    cr_assert_eq(bloom_bits_set(&view), 12);
    params.m = 11;
    cr_assert_str_eq(bloom_format_decode(BLOOM_FORMAT_BITS, data, 2, &params, &view, &at),
                     "a bit after the last one is set");
    params.m = 8;
    cr_assert_str_eq(bloom_format_decode(BLOOM_FORMAT_BITS, data, 2, &params, &view, &at),
                     "bytes follow the bits");
    params.m = 17;
    cr_assert_str_eq(bloom_format_decode(BLOOM_FORMAT_BITS, data, 2, &params, &view, &at),
                     "the bits are truncated");
}
