/* Ids with a type: files of numbers that the classes wrote, names, and the rules of schemes.
 * tests/parity/formats runs the classes: Spark 3.5.8 and 4.1.3, Guava 33.4.8, parquet-java 1.13.1,
 * DataSketches 6.2.0, ORC 1.9.5. */
#include "jobs/bloom/formats.h"
#include "jobs/bloom/id_type.h"
#include "tests/support/format_files.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void add_value(struct bloom_filter *filter, uint64_t value)
{
    uint8_t bytes[8];
    const uint32_t width = bloom_id_width(filter->params.scheme, filter->params.id_type);
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> 8 * i);
    cr_assert(width == 4 || width == 8);
    bloom_add(filter, bytes, width);
    cr_assert(bloom_contains(filter, bytes, width));
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define SMALL                                                                                      \
    {                                                                                              \
        0, (uint64_t)-1, INT32_MAX                                                                 \
    }
#define LARGE                                                                                      \
    {                                                                                              \
        0, (uint64_t)-1, 1234567890123                                                             \
    }
#define REALS                                                                                      \
    {                                                                                              \
        bits_of(0.0), bits_of(-0.0), bits_of(1.5)                                                  \
    }
#define DATES                                                                                      \
    {                                                                                              \
        0, (uint64_t)-1, 20786                                                                     \
    } /* 1970-01-01, 1969-12-31, 2026-11-29 */

/* The bits behind the header, of filters for 3 ids at a rate of 0.01. */
Test(id_types, bits_equal_those_of_the_classes)
{
    const struct {
        enum bloom_format format;
        enum bloom_id_kind kind;
        uint64_t values[3];
        const char *bits;
    } vectors[] = {
        {BLOOM_FORMAT_SPARK, BLOOM_ID_I32, SMALL, "\x80\x12\x59\x40\x41\x4c\xc4\x50"},
        {BLOOM_FORMAT_SPARK, BLOOM_ID_I64, LARGE, "\xc0\x12\x19\x02\x41\x0c\x84\x12"},
        {BLOOM_FORMAT_GUAVA, BLOOM_ID_I32, SMALL, "\x10\x02\x20\x04\x62\x00\x82\x23"},
        {BLOOM_FORMAT_GUAVA, BLOOM_ID_I64, LARGE, "\x02\xa8\x80\x24\x61\x5a\x28\x03"},
        {BLOOM_FORMAT_DATASKETCHES, BLOOM_ID_I32, SMALL, "\x86\x26\x0a\x10\x22\x42\xa8\x23"},
        {BLOOM_FORMAT_DATASKETCHES, BLOOM_ID_I64, LARGE, "\x86\x22\x03\x81\xa2\x42\x28\x27"},
        {BLOOM_FORMAT_DATASKETCHES, BLOOM_ID_F64, REALS, "\x84\x2a\x32\x28\x62\xc2\x30\x02"},
        {BLOOM_FORMAT_ORC, BLOOM_ID_I32, SMALL, "\x91\x99\x91\x08\x89\x90\x99\x19"},
        {BLOOM_FORMAT_ORC, BLOOM_ID_I64, LARGE, "\x79\x91\x90\x08\x89\x90\x90\xf9"},
        {BLOOM_FORMAT_ORC, BLOOM_ID_F64, REALS, "\xc5\x8f\x0a\x14\x7c\xf8\x20\x40"},
        {BLOOM_FORMAT_ORC, BLOOM_ID_DATE, DATES, "\x99\x99\x99\x19\x99\x91\x18\x89"},
        {BLOOM_FORMAT_SPARK_V2, BLOOM_ID_I64, LARGE, "\x44\x11\x00\x15\x10\x00\x11\x04"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct bloom_sizing sizing;
        struct bloom_params params;
        struct bloom_filter filter;
        cr_assert_eq(bloom_sizing_for_rate(bloom_format_scheme(vectors[i].format), BLOOM_CLASSIC,
                                           0.01, &sizing),
                     BLOOM_OK);
        sizing.id_type = bloom_id_type(vectors[i].kind, 0, 0);
        cr_assert_eq(bloom_sizing_params(&sizing, 3, &params), BLOOM_OK);
        cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
        for (int v = 0; v < 3; v++) add_value(&filter, vectors[i].values[v]);
        uint64_t size;
        uint8_t *file = format_file(vectors[i].format, &filter, 8, &size);
        cr_expect_arr_eq(file + size - 8, vectors[i].bits, 8, "%zu", i);
        free(file);
        bloom_fini(&filter);
    }
}

/* Parquet's filters of one block, as parquet-java has them. */
Test(id_types, parquet_hashes_the_plain_encoding)
{
    const struct {
        enum bloom_id_kind kind;
        uint64_t values[3];
        const char *words;
    } vectors[] = {
        {BLOOM_ID_I32, SMALL,
         "\x00\x81\x00\x20\x00\x00\x40\x28\x48\x40\x00\x00\x02\x10\x40\x00"
         "\x48\x20\x00\x00\x14\x00\x20\x00\x04\x08\x00\x02\x04\x00\x40\x20"},
        {BLOOM_ID_I64, LARGE,
         "\x01\x02\x00\x02\x00\x08\x00\x24\x20\x20\x00\x80\x00\x00\x00\x13"
         "\x10\x80\x00\x00\x04\x40\x00\x10\x00\x40\x10\x20\x02\x40\x00\x40"},
        {BLOOM_ID_F64, REALS,
         "\x01\x02\x00\x04\x00\x00\x05\x04\x00\x30\x40\x00\x01\x00\x02\x02"
         "\x11\x00\x08\x00\x82\x00\x00\x10\x00\x40\x40\x00\x08\x40\x00\x08"},
        {BLOOM_ID_DATE, DATES,
         "\x02\x01\x00\x20\x01\x00\x00\x28\x48\x00\x04\x00\x02\x10\x00\x00"
         "\x08\x20\x08\x00\x14\x04\x00\x00\x00\x0c\x00\x02\x04\x00\x40\x02"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct bloom_params params = {.scheme = BLOOM_XXH64,
                                            .layout = BLOOM_SPLIT_BLOCK,
                                            .n = 3,
                                            .m = 256,
                                            .k = BLOOM_K_SPLIT,
                                            .id_type = bloom_id_type(vectors[i].kind, 0, 0)};
        struct bloom_filter filter;
        cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
        for (int v = 0; v < 3; v++) add_value(&filter, vectors[i].values[v]);
        cr_expect_arr_eq(filter.bits, vectors[i].words, 32, "%zu", i);
        bloom_fini(&filter);
    }
}

Test(id_types, names_round_trip)
{
    char name[BLOOM_ID_NAME_MAX];
    uint32_t type;
    for (uint32_t kind = 0; kind < BLOOM_ID_DECIMAL; kind++) {
        bloom_id_type_name(kind, name);
        cr_assert(bloom_id_type_parse(name, strlen(name), &type));
        cr_assert_eq(type, kind);
    }
    cr_assert(bloom_id_type_parse("decimal(18,2)", 13, &type));
    cr_assert_eq(type, bloom_id_type(BLOOM_ID_DECIMAL, 18, 2));
    cr_assert_eq(bloom_id_width(BLOOM_XXH64, type), 8);
    cr_assert(bloom_id_type_parse("decimal(9,9)", 12, &type));
    cr_assert_eq(bloom_id_width(BLOOM_XXH64, type), 4);
    static const char *const wrong[] = {"",
                                        "i16",
                                        "i64 ",
                                        "I64",
                                        "decimal",
                                        "i6",
                                        "decimal(0,0)",
                                        "decimal(19,2)",
                                        "\0",
                                        "text,",
                                        "decimal(5, 2)",
                                        "decimal(5,6)",
                                        "decimal(05,2)"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not(bloom_id_type_parse(wrong[i], strlen(wrong[i]), &type), "%s", wrong[i]);
    cr_assert_not(bloom_id_type_is_valid(BLOOM_ID_KINDS));
    cr_assert_not(bloom_id_type_is_valid(BLOOM_ID_I64 | 1 << 8));
    cr_assert_not(bloom_id_type_is_valid(BLOOM_ID_I64 | 1 << 16));
    cr_assert_not(bloom_id_type_is_valid(bloom_id_type(BLOOM_ID_DECIMAL, 2, 3)));
}

Test(id_types, rules_are_named)
{
    char schemes[160];
    cr_assert_str_eq(bloom_id_schemes(BLOOM_ID_I64, schemes, sizeof schemes),
                     "wide, xxh64, spark-bloom, spark-bloom-v2, guava, datasketches, orc");
    cr_assert_str_eq(bloom_id_schemes(BLOOM_ID_DATE, schemes, sizeof schemes), "wide, xxh64, orc");
    cr_assert_str_eq(bloom_id_schemes(BLOOM_ID_UUID, schemes, sizeof schemes), "wide, xxh64");
    for (int i = 0; i < BLOOM_SCHEMES; i++)
        cr_assert(bloom_id_has_rule((enum bloom_scheme)i, BLOOM_ID_BYTES));
    const struct bloom_params params = {
        .scheme = BLOOM_SPARK, .n = 1, .m = 64, .k = 3, .id_type = BLOOM_ID_I64};
    cr_assert_eq(bloom_params_check(&params), BLOOM_ERR_ID_TYPE);
}

/* The fourth version of the file: docs/filter-format.md. */
Test(id_types, own_file_keeps_the_type)
{
    struct bloom_params params = {
        .scheme = BLOOM_SPARK_BLOOM_V2, .n = 3, .m = 64, .k = 6, .id_type = BLOOM_ID_I64};
    for (int seed = 0; seed < 2; seed++) {
        struct bloom_filter filter, back;
        uint8_t file[BLOOM_HEADER_MAX + 8];
        params.hash_seed[0] = (uint64_t)seed * 7;
        cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
        add_value(&filter, 5);
        const uint32_t size = bloom_encode_header(&filter, file);
        cr_assert_eq(size, bloom_header_size(&params));
        cr_assert_eq(file[0], 0x9b);
        cr_assert_eq(file[13], 4);
        memcpy(file + size, filter.bits, 8);
        cr_assert_eq(bloom_decode(file, size + 8, &back), BLOOM_OK);
        cr_assert(bloom_params_equal(&back.params, &params));
        back.params.id_type = 0;
        cr_assert_not(bloom_params_equal(&back.params, &params));
        cr_assert_eq(bloom_union(&filter, &back), BLOOM_ERR_MISMATCH);
        /* The name before the checksum and the length of the bits: of another type, and of none. */
        uint8_t *name = file + size - 14 - 4;
        cr_assert_arr_eq(name, "\xa3i64", 4);
        memcpy(name + 1, "i32", 3);
        cr_assert_eq(bloom_decode(file, size + 8, &back), BLOOM_ERR_CHECKSUM);
        memcpy(name + 1, "i16", 3);
        cr_assert_eq(bloom_decode(file, size + 8, &back), BLOOM_ERR_ID_TYPE);
        bloom_fini(&filter);
    }
}

/* Bits of a number's filter must never be those of a text that looks like one. */
Test(id_types, a_number_is_not_its_text)
{
    const struct bloom_params params = {.scheme = BLOOM_XXH64,
                                        .layout = BLOOM_SPLIT_BLOCK,
                                        .n = 10,
                                        .m = 512,
                                        .k = BLOOM_K_SPLIT,
                                        .id_type = BLOOM_ID_I64};
    struct bloom_filter filter;
    cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
    add_value(&filter, 1234567);
    cr_assert_not(bloom_contains(&filter, "1234567", 7));
    bloom_fini(&filter);
}
