/* Codes of bit indexes: they round-trip, and Hadoop's are those of WritableUtils. */
#include "jobs/filters/index_codes.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* Around every power of two. */
static uint32_t numbers(uint64_t out[64 * 3])
{
    uint32_t count = 0;
    for (int bit = 0; bit < 63; bit++)
        for (int by = -1; by <= 1; by++) out[count++] = ((uint64_t)1 << bit) + (uint64_t)by;
    return count;
}

Test(index_codes, codes_round_trip)
{
    uint64_t all[64 * 3], read;
    const uint32_t count = numbers(all);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t code[INDEX_CODE_MAX + INDEX_CODE_SLACK] = {0};
        uint32_t size = put_varint(code, all[i]), narrow;
        cr_assert(size == varint_bytes(all[i]) && size <= INDEX_CODE_MAX);
        cr_assert_eq(get_varint(code, code + size, &read), size);
        cr_assert_eq(read, all[i]);
        cr_assert_eq(get_varint(code, code + size - 1, &read), 0);
        if (all[i] <= UINT32_MAX) {
            cr_assert_eq(put_varint_narrow(code, (uint32_t)all[i]), size);
            cr_assert_eq(get_varint_narrow(code, &narrow), size);
            cr_assert_eq(narrow, all[i]);
        }
        size = put_vint(code, all[i]);
        cr_assert(size == vint_bytes(all[i]) && size <= INDEX_CODE_MAX);
        cr_assert_eq(get_vint(code, code + size, &read), size);
        cr_assert_eq(read, all[i]);
        cr_assert_eq(get_vint(code, code + size - 1, &read), 0);
    }
}

/* What WritableUtils.writeVLong of Hadoop 3.3.4 writes. */
Test(index_codes, vint_equals_hadoop)
{
    static const struct {
        uint64_t number;
        uint32_t size;
        uint8_t bytes[9];
    } known[] = {{0, 1, {0}},
                 {127, 1, {0x7f}},
                 {128, 2, {0x8f, 0x80}},
                 {255, 2, {0x8f, 0xff}},
                 {256, 3, {0x8e, 1, 0}},
                 {65535, 3, {0x8e, 0xff, 0xff}},
                 {65536, 4, {0x8d, 1, 0, 0}},
                 {INT32_MAX, 5, {0x8c, 0x7f, 0xff, 0xff, 0xff}},
                 {INT64_MAX, 9, {0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}};
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t code[INDEX_CODE_MAX];
        cr_assert_eq(put_vint(code, known[i].number), known[i].size);
        cr_assert_arr_eq(code, known[i].bytes, known[i].size);
    }
}

Test(index_codes, invalid_codes_are_rejected)
{
    uint64_t read;
    uint32_t narrow;
    const uint8_t negative[] = {0xff}, minus[] = {0x87, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const uint8_t endless[16] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    cr_assert_eq(get_vint(negative, negative + 1, &read), 0);
    cr_assert_eq(get_vint(minus, minus + sizeof minus, &read), 0);
    cr_assert_eq(get_vint(minus, minus, &read), 0);
    cr_assert_eq(get_varint(endless, endless + sizeof endless, &read), 0);
    const uint8_t six[16] = {0x80, 0x80, 0x80, 0x80, 0x80, 1};
    cr_assert_eq(get_varint_narrow(six, &narrow), 0);
}
