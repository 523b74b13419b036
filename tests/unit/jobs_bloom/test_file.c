/* Serialized filters: round trips, and any other byte string is rejected. */
#include "oracle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct file {
    uint8_t *data;
    uint64_t size, header;
};

static struct file file_of(const struct bloom_params *params)
{
    struct bloom_filter filter;
    cr_assert_eq(bloom_init(&filter, params), BLOOM_OK);
    bloom_add(&filter, "tt0000001", 9);
    bloom_add(&filter, "", 0);
    uint8_t header[BLOOM_HEADER_MAX];
    struct file file = {.header = bloom_encode_header(&filter, header)};
    cr_assert_leq(file.header, BLOOM_HEADER_MAX);
    file.size = file.header + bloom_bytes(params->m);
    file.data = malloc(file.size + 1);
    cr_assert_not_null(file.data);
    memcpy(file.data, header, file.header);
    memcpy(file.data + file.header, filter.bits, bloom_bytes(params->m));
    bloom_fini(&filter);
    return file;
}

/* In memory of exactly that size, so that sanitizers detect reads past the end. */
static enum bloom_result decode(const uint8_t *data, uint64_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    cr_assert_not_null(copy);
    memcpy(copy, data, size);
    struct bloom_filter view;
    enum bloom_result result = bloom_decode(copy, size, &view);
    cr_assert_eq(result == BLOOM_OK, view.bits != NULL);
    free(copy);
    return result;
}

/* Recomputes the checksum after a field was changed. */
static void seal(struct file *file)
{
    uint64_t at = file->header - 14;
    uint64_t sum = XXH3_64bits_withSeed(file->data + file->header, file->size - file->header,
                                        XXH3_64bits(file->data, at));
    for (int i = 0; i < 8; i++) file->data[at + 1 + i] = (uint8_t)(sum >> (56 - 8 * i));
}

Test(file, filter_round_trips)
{
    for (int scheme = 0; scheme < BLOOM_XXH64; scheme++) {
        struct bloom_params params = {
            .scheme = (enum bloom_scheme)scheme, .n = 77, .m = 1003, .k = 4};
        struct file file = file_of(&params);
        struct bloom_filter view;
        cr_assert_eq(bloom_decode(file.data, file.size, &view), BLOOM_OK);
        cr_assert_eq(view.params.scheme, params.scheme);
        cr_assert_eq(view.params.n, 77);
        cr_assert_eq(view.params.m, 1003);
        cr_assert_eq(view.params.k, 4);
        cr_assert_eq(view.bits, file.data + file.header);
        cr_assert(bloom_contains(&view, "tt0000001", 9) && bloom_contains(&view, "", 0));
        bloom_fini(&view);
        free(file.data);
    }
}

/* The layout documented in docs/filter-format.md. */
Test(file, bytes_equal_the_documented_format)
{
    struct bloom_params params = {.scheme = BLOOM_SPARK, .n = 1, .m = 10, .k = 7};
    struct file file = file_of(&params);
    cr_assert_eq(file.header, 57);
    cr_assert_arr_eq(file.data, "\x98\xabglint.bloom\x01\xa5spark\xcf\0\0\0\0\0\0\0\x01", 29);
    cr_assert_arr_eq(file.data + 29, "\xcf\0\0\0\0\0\0\0\x0a\xce\0\0\0\x07\xcf", 15);
    cr_assert_arr_eq(file.data + 52, "\xc6\0\0\0\x02", 5);
    free(file.data);
}

Test(file, every_truncation_is_rejected)
{
    struct bloom_params params = {.scheme = BLOOM_MD5_RANDOM, .n = 9, .m = 101, .k = 4};
    struct file file = file_of(&params);
    for (uint64_t size = 0; size < file.size; size++)
        cr_assert_eq(decode(file.data, size), BLOOM_ERR_TRUNCATED, "%lu bytes", size);
    file.data[file.size] = 0;
    cr_assert_eq(decode(file.data, file.size + 1), BLOOM_ERR_TRAILING);
    free(file.data);
}

Test(file, every_flipped_bit_is_rejected)
{
    for (int scheme = 0; scheme < BLOOM_XXH64; scheme++) {
        struct bloom_params params = {
            .scheme = (enum bloom_scheme)scheme, .n = 9, .m = 101, .k = 4};
        struct file file = file_of(&params);
        cr_assert_eq(decode(file.data, file.size), BLOOM_OK);
        for (uint64_t bit = 0; bit < file.size * 8; bit++) {
            file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            cr_assert_neq(decode(file.data, file.size), BLOOM_OK, "bit %lu", bit);
            file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(file.data);
    }
}

Test(file, each_wrong_field_has_its_error)
{
    struct bloom_params params = {.scheme = BLOOM_SPARK, .n = 9, .m = 101, .k = 4};
    struct file good = file_of(&params);
    /* Positions under the name "spark": 13 version, 14 name, 20 n, 29 m, 38 k, 43 sum, 52 bits. */
    static const struct {
        uint32_t at;
        uint8_t value;
        enum bloom_result result;
    } corrupt[] = {
        {0, 0x97, BLOOM_ERR_FORMAT},  {13, 2, BLOOM_ERR_VERSION},   {15, 'S', BLOOM_ERR_SCHEME},
        {14, 0xc5, BLOOM_ERR_FORMAT}, {28, 0, BLOOM_ERR_N},         {37, 0, BLOOM_ERR_M},
        {30, 0xff, BLOOM_ERR_M},      {33, 1, BLOOM_ERR_M},         {42, 0, BLOOM_ERR_K},
        {39, 0x80, BLOOM_ERR_K},      {37, 105, BLOOM_ERR_LENGTH},  {56, 14, BLOOM_ERR_LENGTH},
        {53, 0xff, BLOOM_ERR_LENGTH}, {69, 0x80, BLOOM_ERR_UNUSED}, {20, 0xce, BLOOM_ERR_FORMAT},
        {38, 0xcf, BLOOM_ERR_FORMAT}};
    cr_assert_eq(good.header, 57);
    for (size_t i = 0; i < sizeof corrupt / sizeof *corrupt; i++) {
        uint8_t saved[128];
        memcpy(saved, good.data, good.size);
        good.data[corrupt[i].at] = corrupt[i].value;
        seal(&good);
        cr_assert_eq(decode(good.data, good.size), corrupt[i].result, "corrupt value %zu", i);
        memcpy(good.data, saved, good.size);
    }
    good.data[28] = 10;
    cr_assert_eq(decode(good.data, good.size), BLOOM_ERR_CHECKSUM);
    free(good.data);
}
