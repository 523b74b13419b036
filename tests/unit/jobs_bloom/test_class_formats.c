/* The classes of other systems: files of them, by their hashes, for ids of all lengths and for
 * seeds; m and k that they compute; finding the format of a file; and the errors of the newer
 * headers. tests/parity/formats runs the classes themselves. Versions: Spark 4.1.3, Guava 33.4.8
 * and 33.8.0, rbloom 1.5.4, bits-and-blooms 3.7.1, DataSketches 6.2.0, bloom-filters 3.0.4,
 * RedisBloom 2.8.2, fastbloom 0.17.0, ORC 1.9.5, Cassandra 5.0.9. */
#include "jobs/bloom/formats.h"
#include "jobs/bloom/internal.h"
#include "tests/support/format_files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* 300 ids of 1 to 61 bytes, of 1 to 4 bytes a character. */
static struct bloom_filter filter_of_ids(const struct bloom_params *params)
{
    struct bloom_filter filter;
    cr_assert_eq(bloom_init(&filter, params), BLOOM_OK);
    for (int i = 0; i < 300; i++) {
        char id[128] = "";
        size_t size = 0;
        for (int c = 0; c < i % 7; c++, size += 6) memcpy(id + size, "é😀", 6);
        for (int c = 0; c < i % 23; c++) id[size++] = 'x';
        snprintf(id + size, 16, "%d", i);
        bloom_add(&filter, id, strlen(id));
        cr_assert(bloom_contains(&filter, id, strlen(id)));
    }
    return filter;
}

static void check_file(enum bloom_format format, const struct bloom_params *params, uint64_t size,
                       uint64_t hash)
{
    struct bloom_filter filter = filter_of_ids(params), back;
    const struct bloom_params none = {.n = 0};
    enum bloom_format fits[BLOOM_FORMATS];
    const uint64_t from = format == BLOOM_FORMAT_REDISBLOOM ? 73 : 0; /* it counts the ids */
    uint64_t have, at;
    uint8_t *file = format_file(format, &filter, 1 << 20, &have);
    cr_assert_eq(have, size, "%s", bloom_format_name(format));
    cr_assert_eq(XXH64(file + from, size - from, 0), hash, "%s", bloom_format_name(format));
    cr_assert_eq(bloom_format_detect(file, size, fits), 1);
    cr_assert_eq(fits[0], format, "%s", bloom_format_name(fits[0]));
    cr_assert_null(bloom_format_decode(format, file, size, &none, &back, &at));
    cr_assert(bloom_params_equal(&back.params, params));
    cr_assert_arr_eq(back.bits, filter.bits, bloom_bytes(params->m));
    free(file);
    bloom_fini(&filter);
}

Test(class_formats, files_equal_those_of_the_classes)
{
    static const struct {
        enum bloom_format format;
        uint64_t size, hash;
    } cases[] = {{BLOOM_FORMAT_RBLOOM, 548, 0x6c8968890605d2e2},
                 {BLOOM_FORMAT_GO_BLOOM, 568, 0x4f0101c1bce68b32},
                 {BLOOM_FORMAT_GO_BLOOM_JSON, 760, 0x20eb22b72d4033be},
                 {BLOOM_FORMAT_DATASKETCHES, 576, 0x3370b77ceb82325d},
                 {BLOOM_FORMAT_NPM_BLOOM, 827, 0x7fbe7b7dcdc10a0d},
                 {BLOOM_FORMAT_REDISBLOOM, 673, 0x175b08dd5f85501a},
                 {BLOOM_FORMAT_FASTBLOOM, 628, 0x292413448747f40b},
                 {BLOOM_FORMAT_ORC, 552, 0xb0da0c7b1300747f},
                 {BLOOM_FORMAT_CASSANDRA, 576, 0xcb7bc8e5bf2bdaf9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bloom_params params = format_params(cases[i].format, 300, 0.001);
        check_file(cases[i].format, &params, cases[i].size, cases[i].hash);
    }
}

/* Of the same ids. Spark takes a signed seed of 32 bits, npm a double. */
Test(class_formats, seeds_equal_those_of_the_classes)
{
    static const struct {
        enum bloom_format format;
        uint64_t seed, size, hash;
    } cases[] = {{BLOOM_FORMAT_SPARK_V2, 42, 560, 0xdc9f86b8db63487},
                 {BLOOM_FORMAT_SPARK_V2, (uint32_t)-5, 560, 0x6b4348787b9c4f31},
                 {BLOOM_FORMAT_DATASKETCHES, (uint64_t)-123456789012345, 576, 0x97ac9866c00b51a},
                 {BLOOM_FORMAT_NPM_BLOOM, 9007199254740000, 832, 0xcf714acf4047fe9c}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bloom_params params = format_params(cases[i].format, 300, 0.001);
        params.hash_seed[0] = cases[i].seed;
        check_file(cases[i].format, &params, cases[i].size, cases[i].hash);
    }
}

/* glint's own file keeps the seed, and only where the hash has one. */
Test(class_formats, own_file_keeps_the_hash_seed)
{
    for (int scheme = 0; scheme < BLOOM_SCHEMES; scheme++) {
        struct bloom_params params = {
            .scheme = (enum bloom_scheme)scheme, .n = 3, .m = 640, .k = 4, .hash_seed = {1, 2}};
        const uint32_t bits = bloom_hash_seed_bits(params.scheme);
        struct bloom_filter filter, view;
        uint8_t file[BLOOM_HEADER_MAX + 80];
        if (scheme == BLOOM_XXH64) continue;
        cr_assert_eq(bloom_params_check(&params), bits == 128 ? BLOOM_OK : BLOOM_ERR_SEEDED);
        params.hash_seed[1] = 0;
        cr_assert_eq(bloom_params_check(&params), bits > 0 ? BLOOM_OK : BLOOM_ERR_SEEDED);
        if (bits == 0) continue;
        cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
        bloom_add(&filter, "an id", 5);
        const uint32_t head = bloom_encode_header(&filter, file);
        memcpy(file + head, filter.bits, 80);
        cr_assert_eq(bloom_decode(file, head + 80, &view), BLOOM_OK);
        cr_assert(bloom_params_equal(&view.params, &params) && bloom_contains(&view, "an id", 5));
        params.hash_seed[0] = 5;
        cr_assert(!bloom_params_equal(&view.params, &params));
        for (uint32_t bit = 0; bit < 8 * head; bit++) {
            file[bit / 8] ^= (uint8_t)(1u << bit % 8);
            cr_assert_neq(bloom_decode(file, head + 80, &view), BLOOM_OK, "bit %u", bit);
            file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        bloom_fini(&filter);
    }
}

/* m and k for n of 1, 1000 and 10 M, and p of 0.1, 0.01 and 0.0001, as the classes printed them. */
Test(class_formats, sizes_equal_those_of_the_classes)
{
    static const uint64_t ns[] = {1, 1000, 10000000};
    static const double ps[] = {0.1, 0.01, 0.0001};
    static const struct {
        enum bloom_format format;
        uint64_t m[3][3];
        uint32_t k[3][3];
    } cases[] = {
        {BLOOM_FORMAT_SPARK,
         {{64, 64, 64}, {4800, 9600, 19200}, {47925312, 95850624, 191701184}},
         {{3, 6, 13}, {3, 7, 13}, {3, 7, 13}}},
        {BLOOM_FORMAT_GUAVA,
         {{64, 64, 64}, {4800, 9600, 19200}, {47925312, 95850624, 191701184}},
         {{3, 7, 13}, {3, 7, 13}, {3, 7, 13}}},
        {BLOOM_FORMAT_RBLOOM,
         {{8, 16, 24}, {4792, 9592, 19176}, {47925296, 95850584, 191701168}},
         {{3, 6, 13}, {3, 6, 13}, {3, 6, 13}}},
        {BLOOM_FORMAT_GO_BLOOM,
         {{5, 10, 20}, {4793, 9586, 19171}, {47925292, 95850584, 191701168}},
         {{4, 7, 14}, {4, 7, 14}, {4, 7, 14}}},
        {BLOOM_FORMAT_NPM_BLOOM,
         {{5, 10, 20}, {4793, 9586, 19171}, {47925292, 95850584, 191701168}},
         {{4, 7, 14}, {4, 7, 14}, {4, 7, 14}}},
        {BLOOM_FORMAT_DATASKETCHES,
         {{64, 64, 64}, {4800, 9600, 19200}, {47925312, 95850624, 191701184}},
         {{4, 7, 14}, {4, 7, 14}, {4, 7, 14}}},
        {BLOOM_FORMAT_REDISBLOOM,
         {{64, 64, 64}, {6272, 11072, 20672}, {62352256, 110277568, 206128128}},
         {{5, 8, 15}, {5, 8, 15}, {5, 8, 15}}},
        {BLOOM_FORMAT_FASTBLOOM,
         {{64, 64, 64}, {4800, 9600, 19200}, {47925312, 95850624, 191701184}},
         {{44, 44, 44}, {3, 7, 13}, {3, 7, 13}}},
        {BLOOM_FORMAT_ORC,
         {{64, 64, 64}, {4800, 9600, 19200}, {47925312, 95850624, 191701184}},
         {{44, 44, 44}, {3, 7, 13}, {3, 7, 13}}},
        {BLOOM_FORMAT_CASSANDRA,
         {{64, 64, 64}, {5056, 10048, 20032}, {50000064, 100000064, 200000064}},
         {{3, 5, 10}, {3, 5, 10}, {3, 5, 10}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int n = 0; n < 3; n++) {
            for (int p = 0; p < 3; p++) {
                const struct bloom_params params = format_params(cases[i].format, ns[n], ps[p]);
                cr_assert_eq(params.m, cases[i].m[n][p], "%s %d %d: %lu",
                             bloom_format_name(cases[i].format), n, p, params.m);
                cr_assert_eq(params.k, cases[i].k[n][p], "%s %d %d: %u",
                             bloom_format_name(cases[i].format), n, p, params.k);
            }
        }
    }
}

/* At the edges of their rules, as the classes printed them. */
Test(class_formats, sizes_at_the_edges_equal_those_of_the_classes)
{
    static const struct {
        enum bloom_format format;
        uint64_t n;
        double p;
        uint64_t m;
        uint32_t k;
    } cases[] = {
        {BLOOM_FORMAT_CASSANDRA, 1, 0.99, 64, 2},
        {BLOOM_FORMAT_CASSANDRA, 1000, 0.5, 1024, 2},
        {BLOOM_FORMAT_CASSANDRA, 1000, 0.393, 1024, 2},
        {BLOOM_FORMAT_CASSANDRA, 1000, 0.392, 3072, 1},
        {BLOOM_FORMAT_CASSANDRA, 123457, 0.6, 123520, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bloom_params params = format_params(cases[i].format, cases[i].n, cases[i].p);
        cr_assert_eq(params.m, cases[i].m, "case %zu: m %lu", i, params.m);
        cr_assert_eq(params.k, cases[i].k, "case %zu: k %u", i, params.k);
    }
}

/* Where a class has no filter for n and p, or one that contains everything. */
Test(class_formats, sizes_without_a_filter_are_errors)
{
    static const struct {
        enum bloom_format format;
        double p;
        enum bloom_result result;
    } cases[] = {
        {BLOOM_FORMAT_GUAVA, 0.9, BLOOM_ERR_M},      {BLOOM_FORMAT_SPARK, 0.9, BLOOM_ERR_M},
        {BLOOM_FORMAT_RBLOOM, 0.9, BLOOM_ERR_M},     {BLOOM_FORMAT_RBLOOM, 0.6, BLOOM_ERR_K},
        {BLOOM_FORMAT_CASSANDRA, 6e-5, BLOOM_ERR_K}, {BLOOM_FORMAT_CASSANDRA, 7e-5, BLOOM_OK},
        {BLOOM_FORMAT_GUAVA, 1e-70, BLOOM_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bloom_params params;
        cr_assert_eq(bloom_params_for(bloom_format_scheme(cases[i].format), 1, cases[i].p, &params),
                     cases[i].result, "case %zu", i);
    }
}

#define ZEROS(size_) "\0\0\0\0\0\0\0\0" size_
#define LONG(low_)   low_ "\0\0\0\0\0\0\0"
#define BITS         "abcdefgh"
#define SKETCH       "\4\1\25\0\7\0\0\0\1\2\3\4\5\6\7\10"
#define REDIS_CHAIN  LONG("\3") "\1\0\0\0\5\0\0\0\2\0\0\0"
#define REDIS_FLOATS "\0\0\0\0\0\0\340\77\0\0\0\0\0\0\340\77"
#define SIP_OF_0                                                                                   \
    ZEROS("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")                                                      \
    "uespemos"                                                                                     \
    "arenegyl"                                                                                     \
    "modnarod"                                                                                     \
    "setybdet" ZEROS(ZEROS(""))
#define NPM_HEAD "{\"type\":\"BloomFilter\",\"_size\":16,\"_nbHashes\":3,\"_filter\":{\"size\":16,"

static const char other_sign[] = "another name or sign is expected";
static const char truncated[] = "the header is truncated";
static const char other_count[] = "the bits are not as many as the header says";

static const struct format_case invalid[] = {
    {BLOOM_FORMAT_GO_BLOOM,
     BYTES("\0\0\0\0\0\0\0\11\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\11\0\0\0\0\0\0\1\1"), 32, NULL},
    {BLOOM_FORMAT_GO_BLOOM,
     BYTES("\0\0\0\0\0\0\0\11\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\11\0\0\0\0\0\0\2\1"), 31,
     "a bit after the last one is set"},
    {BLOOM_FORMAT_GO_BLOOM, BYTES("\0\0\0\0\0\0\0\11\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\12"), 16,
     other_count},
    {BLOOM_FORMAT_GO_BLOOM, BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0"), 0,
     "the number of bits is not positive"},
    {BLOOM_FORMAT_GO_BLOOM, BYTES("\0\0\0\0\0\0\0\11\0\0\0\0\0\0\3\350\0\0\0\0\0\0\0\11"), 8,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_GO_BLOOM, BYTES("\0\0\0\0\0\0\0\11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\11"), 8,
     "the number of hashes is not positive"},
    {BLOOM_FORMAT_GO_BLOOM, BYTES("\11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3\11\0\0\0\0\0\0\0"), 16,
     "it has more bits than the scheme can index"},
    {BLOOM_FORMAT_GO_BLOOM, BYTES("\0\0\0\0\0\0\0\11\0\0\0"), 11, truncated},
    {BLOOM_FORMAT_GO_BLOOM,
     BYTES("\377\377\377\377\377\377\377\377\0\0\0\0\0\0\0\3\377\377\377\377\377\377\377\377"), 16,
     "it has more bits than the scheme can index"},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":9,\"k\":3,\"b\":\"AAAAAAAAAAkAAAAAAAABAQ==\"}"), 42,
     NULL},
    {BLOOM_FORMAT_GO_BLOOM_JSON,
     BYTES(" { \"m\": 9, \"k\": 3, \"b\": \"AAAAAAAAAAkAAAAAAAABAQ==\" }\n"), 51, NULL},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":9,\"k\":3,\"b\":\"AAAAAAAAAAoAAAAAAAABAQ==\"}"), 18,
     other_count},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":9,\"k\":3,\"b\":\"AAAAAAAAAAk+AAAAAAABAQ==\"}"), 29,
     "invalid base64"},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":9,\"k\":3,\"b\":\"AAAAAAAAAAkAAAAAAAABAR==\"}"), 41,
     "invalid base64"},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":9,\"k\":3,\"b\":\"AAAAAAAAAAkAAAAAAAABAQ==AA\"}"),
     42, other_count},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":9,\"k\":3,\"b\":\"AAAA"), 22,
     "the bits are truncated"},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":9,\"k\":1000,\"b\":\""), 11,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":-9,\"k\":3,\"b\":\""), 5,
     "a whole number is expected"},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":99999999999999999999,\"k\":3"), 5,
     "the number is too large"},
    {BLOOM_FORMAT_GO_BLOOM_JSON, BYTES("{\"m\":9.5,\"k\":3,\"b\":\""), 6, other_sign},
    {BLOOM_FORMAT_DATASKETCHES, BYTES(SKETCH LONG("\1") LONG("\1") BITS), 40, NULL},
    {BLOOM_FORMAT_DATASKETCHES, BYTES(SKETCH LONG("\1") LONG("\101") BITS), 24,
     "more bits are set than it has"},
    {BLOOM_FORMAT_DATASKETCHES, BYTES(SKETCH LONG("\2") LONG("\1") BITS), 40,
     "the bits are truncated"},
    {BLOOM_FORMAT_DATASKETCHES, BYTES(SKETCH LONG("\1") LONG("\1") BITS BITS), 40,
     "bytes follow the bits"},
    {BLOOM_FORMAT_DATASKETCHES, BYTES(SKETCH "\0\0\0\200\0\0\0\0"), 16,
     "the number of bits is not positive"},
    {BLOOM_FORMAT_DATASKETCHES, BYTES("\3\1\25\4\7\0\0\0\1\2\3\4\5\6\7\10\1\0\0\0\0\0\0\0"), 3,
     "the filter is empty: it has no bits"},
    {BLOOM_FORMAT_DATASKETCHES, BYTES("\4\2\25\0\7\0\0\0"), 1, "its version is unknown"},
    {BLOOM_FORMAT_DATASKETCHES, BYTES("\4\1\20\0\7\0\0\0"), 2,
     "it is another sketch, not a Bloom filter"},
    {BLOOM_FORMAT_DATASKETCHES, BYTES("\4\1\25\0\0\7\0\0"), 4,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_NPM_BLOOM, BYTES(NPM_HEAD "\"content\":\"iBg=\"},\"_seed\":7}"), 100, NULL},
    {BLOOM_FORMAT_NPM_BLOOM, BYTES(NPM_HEAD "\"content\":\"iBg=\"},\"_seed\":-7}"), 94,
     "a whole number is expected"},
    {BLOOM_FORMAT_NPM_BLOOM, BYTES(NPM_HEAD "\"content\":\"iBg=\"},\"_seed\":9007199254740992}"),
     94, "the number is too large"},
    {BLOOM_FORMAT_NPM_BLOOM, BYTES(NPM_HEAD "\"content\":\"iBg\"},\"_seed\":7}"), 83, other_count},
    {BLOOM_FORMAT_NPM_BLOOM, BYTES(NPM_HEAD "\"content\":[0,1]}}"), 78, other_sign},
    {BLOOM_FORMAT_NPM_BLOOM,
     BYTES("{\"type\":\"BloomFilter\",\"_size\":16,\"_nbHashes\":3,\"_filter\":[0,1]}"), 57,
     other_sign},
    {BLOOM_FORMAT_NPM_BLOOM, BYTES("{\"type\":\"CountingBloomFilter\","), 8, other_sign},
    {BLOOM_FORMAT_REDISBLOOM,
     BYTES(REDIS_CHAIN LONG("\10") LONG("\100") LONG("\3") REDIS_FLOATS
           "\2\0\0\0" LONG("\5") "\0" BITS),
     81, NULL},
    {BLOOM_FORMAT_REDISBLOOM,
     BYTES(REDIS_CHAIN LONG("\10") LONG("\100") LONG("\3") REDIS_FLOATS
           "\2\0\0\0" LONG("\5") "\6" BITS),
     72, "its size is rounded to a power of two, which is not supported"},
    {BLOOM_FORMAT_REDISBLOOM, BYTES(REDIS_CHAIN LONG("\10") LONG("\77")), 28,
     "the number of bits is not that of its bytes, in whole words"},
    {BLOOM_FORMAT_REDISBLOOM, BYTES(REDIS_CHAIN "\0\0\0\0\0\0\0\40" LONG("\0")), 28,
     "the number of bits is not that of its bytes, in whole words"},
    {BLOOM_FORMAT_REDISBLOOM, BYTES(LONG("\3") "\2\0\0\0\5\0\0\0\2\0\0\0"), 8,
     "it grew to several filters; only one is supported: reserve enough"},
    {BLOOM_FORMAT_REDISBLOOM, BYTES(LONG("\3") "\1\0\0\0\1\0\0\0\2\0\0\0"), 12,
     "its hash has 32 bits; only that of 64 bits is supported"},
    {BLOOM_FORMAT_FASTBLOOM, BYTES(LONG("\1") BITS "\6\0\0\0" SIP_OF_0), 92, NULL},
    {BLOOM_FORMAT_FASTBLOOM, BYTES(LONG("\1") BITS "\6\1\0\0" SIP_OF_0), 16,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_FASTBLOOM, BYTES(LONG("\1") "ABCDEFGHI\6\0\0" SIP_OF_0), 16,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_FASTBLOOM,
     BYTES(LONG("\1") BITS "\6\0\0\0\1\0\0\0\0\0\0\0" ZEROS(
         "\0\0\0\0\0\0\0\0") "uespemosarenegylmodnarodsetybdet" ZEROS(ZEROS(""))),
     44, "its hasher is not a SipHasher13 at its start"},
    {BLOOM_FORMAT_FASTBLOOM, BYTES(LONG("\1") BITS "\6\0\0\0"), 20, "the bits are truncated"},
    {BLOOM_FORMAT_FASTBLOOM, BYTES("\1\0\0\0\0\0\0\200" BITS), 0,
     "it has more bits than the scheme can index"},
    {BLOOM_FORMAT_ORC, BYTES("\12\14\10\3\32\10" BITS), 14, NULL},
    {BLOOM_FORMAT_ORC, BYTES("\12\14\10\3\32\10" BITS "\12\14\10\3\32\10" BITS), 14,
     "it has several filters, of as many row groups; only one is supported"},
    {BLOOM_FORMAT_ORC, BYTES("\12\14\10\3\22\10" BITS), 4,
     "its bits are those of the stream BLOOM_FILTER; only BLOOM_FILTER_UTF8 is supported"},
    {BLOOM_FORMAT_ORC, BYTES("\12\13\10\3\32\7abcdefg"), 5,
     "the number of bytes is not a multiple of 8, or too large"},
    {BLOOM_FORMAT_ORC, BYTES("\12\14\10\0\32\10" BITS), 3, "the number of hashes is not positive"},
    {BLOOM_FORMAT_ORC, BYTES("\12\16\10\350\7\32\10" BITS), 4,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_ORC, BYTES("\12\24\10\3\32\10" BITS), 5, other_count},
    {BLOOM_FORMAT_ORC, BYTES("\12\377\377\377\377\377\377\377\377\377\1"), 10,
     "the number is invalid"},
    {BLOOM_FORMAT_CASSANDRA, BYTES("\0\0\0\5\0\0\0\1" BITS), 16, NULL},
    {BLOOM_FORMAT_CASSANDRA, BYTES("\5\0\0\0\1\0\0\0" BITS), 0,
     "there are more than 255 hashes, the limit"},
    {BLOOM_FORMAT_CASSANDRA, BYTES("\0\0\0\5\377\377\377\377" BITS), 4,
     "the number of bits is not positive"},
};

Test(class_formats, invalid_files_are_rejected)
{
    check_format_cases(invalid, sizeof invalid / sizeof *invalid, false);
}

/* What the first bytes say, and what they cannot. */
Test(class_formats, format_is_found_by_the_first_bytes)
{
    static const uint8_t spark[] = "\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0\0";
    static const uint8_t both[] = "\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\1abcdefg";
    enum bloom_format fits[BLOOM_FORMATS];
    cr_assert_eq(bloom_format_detect((const uint8_t *)"", 0, fits), 0);
    cr_assert_eq(bloom_format_detect(spark, sizeof spark, fits), 0);
    cr_assert_eq(bloom_format_detect(both, sizeof both, fits), 1);
    cr_assert_eq(fits[0], BLOOM_FORMAT_SPARK_V2);
    /* Spark's k is one more than its words: also a size and a k of Cassandra. */
    uint8_t two[32] = {0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2};
    cr_assert_eq(bloom_format_detect(two, sizeof two, fits), 2);
    cr_assert_eq(fits[0], BLOOM_FORMAT_SPARK_V2);
    cr_assert_eq(fits[1], BLOOM_FORMAT_CASSANDRA);
    /* rbloom's k of 6 and 124 bytes: also as large as six words of fastbloom, but its trailer is
     * none. */
    const uint8_t six[132] = {6, 0, 0, 0, 0, 0, 0, 0, 4};
    cr_assert_eq(bloom_format_detect(six, sizeof six, fits), 1);
    cr_assert_eq(fits[0], BLOOM_FORMAT_RBLOOM);
}
