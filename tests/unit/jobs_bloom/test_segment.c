/* Serialized segments: the layout documented in docs/filter-format.md, cutting and joining a
 * filter, and rejection of any other byte string. */
#include "jobs/bloom/bloom.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define BUILD 0x0123456789abcdefu

struct value {
    uint8_t *data;
    uint64_t size, header;
};

static struct value value_of(const struct bloom_segment *segment)
{
    uint8_t header[BLOOM_SEGMENT_HEADER_MAX];
    struct value v = {.header = bloom_segment_encode_header(segment, header)};
    const uint64_t bytes = bloom_bytes(bloom_segment_bits(segment));
    cr_assert_leq(v.header, BLOOM_SEGMENT_HEADER_MAX);
    v.size = v.header + bytes;
    v.data = malloc(v.size + 1);
    cr_assert_not_null(v.data);
    memcpy(v.data, header, v.header);
    memcpy(v.data + v.header, segment->bits, bytes);
    return v;
}

/* In memory of exactly that size, so that sanitizers detect reads past the end. */
static enum bloom_result decode(const uint8_t *data, uint64_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    cr_assert_not_null(copy);
    memcpy(copy, data, size);
    struct bloom_segment view;
    enum bloom_result result = bloom_segment_decode(copy, size, &view);
    cr_assert_eq(result == BLOOM_OK, view.bits != NULL);
    free(copy);
    return result;
}

/* Recomputes the checksum after a field was changed. */
static void seal(struct value *v)
{
    const uint64_t at = v->header - 14;
    const uint64_t sum =
        XXH3_64bits_withSeed(v->data + v->header, v->size - v->header, XXH3_64bits(v->data, at));
    for (int i = 0; i < 8; i++) v->data[at + 1 + i] = (uint8_t)(sum >> (56 - 8 * i));
}

static void put_number(struct value *v, uint64_t at, uint64_t number)
{
    for (int i = 0; i < 8; i++) v->data[at + 1 + i] = (uint8_t)(number >> (56 - 8 * i));
    seal(v);
}

static void fill(struct bloom_filter *filter, const struct bloom_params *params)
{
    cr_assert_eq(bloom_init(filter, params), BLOOM_OK);
    for (uint64_t id = 0; id < params->n; id++) bloom_add(filter, &id, sizeof id);
}

static struct bloom_segment cut(const struct bloom_filter *filter, uint64_t size, uint64_t index)
{
    return (struct bloom_segment){.params = filter->params,
                                  .build = BUILD,
                                  .size = size,
                                  .index = index,
                                  .bits = filter->bits + index * size / 8};
}

static const struct bloom_params pictured = {.scheme = BLOOM_WIDE, .n = 157, .m = 1505, .k = 7};

static struct value picture(void)
{
    struct bloom_filter filter;
    fill(&filter, &pictured);
    struct bloom_segment segment = cut(&filter, 1024, 1);
    struct value v = value_of(&segment);
    bloom_fini(&filter);
    return v;
}

Test(segment, bytes_equal_the_documented_format)
{
    static const char before[] = "\x9c\xad"
                                 "glint.segment"
                                 "\x01\xa4"
                                 "wide"
                                 "\xa7"
                                 "classic"
                                 "\xcf\0\0\0\0\0\0\0\x9d"
                                 "\xcf\0\0\0\0\0\0\x05\xe1"
                                 "\xce\0\0\0\x07"
                                 "\xcf\x01\x23\x45\x67\x89\xab\xcd\xef"
                                 "\xcf\0\0\0\0\0\0\x04\0"
                                 "\xcf\0\0\0\0\0\0\0\x01\xcf";
    struct value v = picture();
    cr_assert_eq(v.header, 93);
    cr_assert_eq(v.size, 93 + 61);
    cr_assert_eq(sizeof before - 1, 80);
    cr_assert_arr_eq(v.data, before, 80);
    cr_assert_arr_eq(v.data + 88, "\xc6\0\0\0\x3d", 5);
    free(v.data);
}

Test(segment, joined_segments_equal_the_filter)
{
    static const struct bloom_params params[] = {
        {.scheme = BLOOM_SPARK, .n = 300, .m = 3001, .k = 5},
        {.scheme = BLOOM_WIDE, .n = 300, .m = 4096, .k = 7},
        {.scheme = BLOOM_XXH64, .n = 300, .m = 3072, .k = 6, .layout = BLOOM_BLOCK512},
        {.scheme = BLOOM_WIDE, .n = 300, .m = 3328, .k = 8, .layout = BLOOM_SPLIT_BLOCK}};
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        struct bloom_filter filter;
        uint8_t joined[512];
        fill(&filter, &params[i]);
        for (uint64_t size = 512; size <= 8192; size *= 2) {
            struct bloom_segment views[8];
            const uint64_t count = bloom_segments(params[i].m, size);
            uint64_t used = 0;
            for (uint64_t index = 0; index < count; index++) {
                struct bloom_segment segment = cut(&filter, size, index);
                struct value v = value_of(&segment);
                cr_assert_eq(bloom_segment_decode(v.data, v.size, &views[index]), BLOOM_OK);
                const uint64_t bytes = bloom_bytes(bloom_segment_bits(&views[index]));
                memcpy(joined + used, views[index].bits, bytes);
                used += bytes;
                cr_assert_eq(bloom_segment_decode_header(v.data, v.header, &views[index]),
                             BLOOM_OK);
                cr_assert_null(views[index].bits);
                cr_assert_eq(views[index].build, BUILD);
                cr_assert_eq(
                    bloom_segment_follows(index > 0 ? &views[index - 1] : NULL, &views[index]),
                    BLOOM_OK);
                free(v.data);
            }
            cr_assert_eq(used, bloom_bytes(params[i].m));
            cr_assert_arr_eq(joined, filter.bits, used);
            cr_assert_eq(bloom_segment_follows(&views[count - 1], NULL), BLOOM_OK);
        }
        bloom_fini(&filter);
    }
}

Test(segment, damaged_segment_is_rejected)
{
    struct value v = picture();
    struct bloom_segment view;
    struct bloom_filter filter;
    cr_assert_eq(decode(v.data, v.size), BLOOM_OK);
    for (uint64_t bit = 0; bit < v.size * 8; bit++) {
        v.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_neq(decode(v.data, v.size), BLOOM_OK, "bit %lu", bit);
        v.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (uint64_t size = 0; size < v.size; size++)
        cr_assert_eq(decode(v.data, size), size < 15 ? BLOOM_ERR_FORMAT : BLOOM_ERR_TRUNCATED);
    v.data[v.size] = 0;
    cr_assert_eq(decode(v.data, v.size + 1), BLOOM_ERR_TRAILING);
    cr_assert_eq(bloom_segment_decode_header(v.data, v.size, &view), BLOOM_ERR_TRAILING);
    cr_assert_eq(bloom_segment_decode_header(v.data, v.header - 1, &view), BLOOM_ERR_TRUNCATED);
    cr_assert_eq(bloom_decode(v.data, v.size, &filter), BLOOM_ERR_SEGMENT);
    free(v.data);
}

Test(segment, out_of_bounds_fields_are_rejected)
{
    enum { N = 29, M = 38, SIZE = 61, INDEX = 70 };
    static const struct {
        uint64_t at, number;
        enum bloom_result result;
    } cases[] = {{N, 0, BLOOM_ERR_N},
                 {M, 0, BLOOM_ERR_M},
                 {M, BLOOM_M_MAX + 1, BLOOM_ERR_M},
                 {M, 1504, BLOOM_ERR_LENGTH},
                 {M, 1024, BLOOM_ERR_PART},
                 {SIZE, 0, BLOOM_ERR_PART},
                 {SIZE, 256, BLOOM_ERR_PART},
                 {SIZE, 1025, BLOOM_ERR_PART},
                 {SIZE, 1536, BLOOM_ERR_PART},
                 {SIZE, (uint64_t)1 << 32, BLOOM_ERR_PART},
                 {SIZE, (uint64_t)1 << 63, BLOOM_ERR_PART},
                 {INDEX, 2, BLOOM_ERR_PART},
                 {INDEX, UINT64_MAX, BLOOM_ERR_PART},
                 {INDEX, 0, BLOOM_ERR_LENGTH}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct value v = picture();
        put_number(&v, cases[i].at, cases[i].number);
        cr_assert_eq(decode(v.data, v.size), cases[i].result, "case %zu", i);
        free(v.data);
    }
    struct value v = picture();
    v.data[15] = 2;
    seal(&v);
    cr_assert_eq(decode(v.data, v.size), BLOOM_ERR_VERSION);
    v.data[15] = 1;
    v.data[v.size - 1] |= 2; /* bit 1505 */
    seal(&v);
    cr_assert_eq(decode(v.data, v.size), BLOOM_ERR_UNUSED);
    free(v.data);
}

Test(segment, gaps_and_mixed_segments_are_detected)
{
    struct bloom_filter filter;
    fill(&filter, &pictured);
    const struct bloom_segment first = cut(&filter, 512, 0), second = cut(&filter, 512, 1),
                               third = cut(&filter, 512, 2);
    cr_assert_eq(bloom_segment_follows(NULL, &first), BLOOM_OK);
    cr_assert_eq(bloom_segment_follows(&first, &second), BLOOM_OK);
    cr_assert_eq(bloom_segment_follows(&third, NULL), BLOOM_OK);
    cr_assert_eq(bloom_segment_follows(NULL, &second), BLOOM_ERR_MISSING);
    cr_assert_eq(bloom_segment_follows(&first, &third), BLOOM_ERR_MISSING);
    cr_assert_eq(bloom_segment_follows(&second, NULL), BLOOM_ERR_MISSING);
    cr_assert_eq(bloom_segment_follows(&second, &second), BLOOM_ERR_TWICE);
    struct bloom_segment others[] = {second, second, second, second, second, second, second};
    others[0].build++;
    others[1].params.n++;
    others[2].params.m++;
    others[3].size = 1024;
    others[4].params.k++;
    others[5].params.n++, others[5].params.m++;
    others[6].params.layout = BLOOM_BLOCK512;
    for (int i = 0; i < 7; i++)
        cr_assert_eq(bloom_segment_follows(&first, &others[i]), BLOOM_ERR_MIXED);
    bloom_fini(&filter);
}
