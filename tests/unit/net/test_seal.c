/* Sealed blocks: round trips, and every way in which one can be the wrong one. */
#include "engine/net/seal.h"

#include "engine/base/hash.h"

#include "tests/unit/net/bytes.h"

TestSuite(seal, .init = begin, .fini = end);

#define ID 0x0123456789abcdef

static struct buffer seal(uint64_t id, uint32_t block, struct glint_slice value)
{
    struct buffer sealed = {NULL, 0, 0};
    cr_assert_eq(value_seal(id, block, value, &sealed, &error), 0);
    return sealed;
}

static int unseal(uint64_t id, uint32_t block, struct glint_slice sealed, uint8_t *value,
                  uint64_t size)
{
    memset(&error, 0, sizeof error);
    int r = value_unseal(id, block, sealed, value, size, &error);
    cr_assert_eq(r, error.code);
    return r;
}

/* Half of the bytes can be compressed, half cannot. */
static struct glint_slice make(uint64_t size)
{
    uint8_t *bytes = mem_alloc(size);
    cr_assert_not_null(bytes);
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = i / VALUE_BLOCK_BYTES_MIN % 2 == 0 ? (uint8_t)(i / 100) : (uint8_t)hash_mix(i);
    return (struct glint_slice){bytes, size};
}

Test(seal, values_of_every_size_come_back)
{
    static const uint64_t sizes[] = {1,
                                     2,
                                     7,
                                     8,
                                     9,
                                     1000,
                                     VALUE_BLOCK_BYTES_MIN - 1,
                                     VALUE_BLOCK_BYTES_MIN,
                                     VALUE_BLOCK_BYTES_MIN + 1,
                                     2 * VALUE_BLOCK_BYTES_MIN,
                                     2 * VALUE_BLOCK_BYTES_MIN + 12345};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct glint_slice value = make(sizes[i]);
        uint8_t *back = mem_zalloc(sizes[i]);
        uint32_t blocks = value_blocks(sizes[i]);
        cr_assert_eq(blocks, (sizes[i] + VALUE_BLOCK_BYTES_MIN - 1) / VALUE_BLOCK_BYTES_MIN);
        for (uint32_t b = blocks; b-- > 0;) {
            struct buffer sealed = seal(ID, b, value);
            cr_expect_leq(sealed.size, 16 + VALUE_BLOCK_BYTES_MIN);
            cr_expect_eq(unseal(ID, b, whole(&sealed), back, sizes[i]), 0, "%s", error.cause);
            buffer_fini(&sealed);
        }
        cr_expect_eq(memcmp(back, value.data, sizes[i]), 0);
        mem_free(back);
        mem_free((void *)(uintptr_t)value.data);
    }
    cr_expect_eq(value_blocks(0), 0);
}

Test(seal, is_compressed_when_it_pays)
{
    struct glint_slice value = make(2 * VALUE_BLOCK_BYTES_MIN);
    struct buffer text = seal(ID, 0, value), noise = seal(ID, 1, value);
    cr_expect_lt(text.size, VALUE_BLOCK_BYTES_MIN / 10);
    cr_expect_eq(noise.size, 16 + VALUE_BLOCK_BYTES_MIN);
    buffer_fini(&text);
    buffer_fini(&noise);
    mem_free((void *)(uintptr_t)value.data);
}

Test(seal, is_appended)
{
    struct glint_slice value = {(const uint8_t *)"some value", 10};
    struct buffer out = {NULL, 0, 0};
    uint8_t back[10];
    cr_assert(buffer_append(&out, "before", 6));
    cr_assert_eq(value_seal(1, 0, value, &out, &error), 0);
    cr_expect_eq(memcmp(out.data, "before", 6), 0);
    cr_expect_eq(unseal(1, 0, (struct glint_slice){out.data + 6, out.size - 6}, back, 10), 0);
    cr_expect_arr_eq(back, "some value", 10);
    mem_fail_at(1, true);
    uint64_t size = out.size;
    out.capacity = size; /* so that it must grow */
    cr_expect_eq(value_seal(1, 0, value, &out, &error), GLINT_E_NO_MEMORY);
    mem_fail_at(0, false);
    cr_expect_eq(out.size, size);
    buffer_fini(&out);
}

Test(seal, another_block_or_value_is_noticed)
{
    uint64_t size = 2 * VALUE_BLOCK_BYTES_MIN;
    uint8_t *bytes = mem_zalloc(size), *back = mem_alloc(size);
    struct glint_slice value = {bytes, size};
    struct buffer sealed = seal(ID, 0, value);
    cr_expect_eq(unseal(ID, 0, whole(&sealed), back, size), 0);
    static const struct {
        uint64_t id;
        uint32_t block;
    } others[] = {{ID, 1}, {ID + 1, 0}, {0, 0}, {ID ^ (UINT64_C(1) << 63), 0}, {1, 1}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cr_expect_eq(unseal(others[i].id, others[i].block, whole(&sealed), back, size),
                     GLINT_E_RUN_CORRUPT);
        cr_expect_not_null(strstr(error.cause, "checksum"), "%s", error.cause);
    }
    /* Beyond the value, and one of another size. */
    cr_expect_eq(unseal(ID, 2, whole(&sealed), back, size), GLINT_E_RUN_CORRUPT);
    cr_expect_eq(unseal(ID, UINT32_MAX, whole(&sealed), back, size), GLINT_E_RUN_CORRUPT);
    cr_expect_eq(unseal(ID, 0, whole(&sealed), back, VALUE_BLOCK_BYTES_MIN - 1),
                 GLINT_E_RUN_CORRUPT);
    cr_expect_eq(unseal(ID, 0, whole(&sealed), back, 0), GLINT_E_RUN_CORRUPT);
    buffer_fini(&sealed);
    mem_free(bytes);
    mem_free(back);
}

struct damaged {
    struct glint_slice good;
    uint8_t value[600];
};

static void look_at_damage(struct glint_slice bad, bool cut, void *arg)
{
    struct damaged *d = arg;
    bool sound = !cut && memcmp(bad.data, d->good.data, bad.size) == 0;
    cr_assert_eq(unseal(ID, 0, bad, d->value, sizeof d->value), sound ? 0 : GLINT_E_RUN_CORRUPT);
}

/* Compressed and not: no change of one byte, and no truncation, comes through. */
Test(seal, damage_is_found)
{
    uint8_t bytes[600];
    for (int noise = 0; noise < 2; noise++) {
        for (unsigned i = 0; i < sizeof bytes; i++)
            bytes[i] = noise ? (uint8_t)hash_mix(i) : (uint8_t)(i / 20);
        struct buffer sealed = seal(ID, 0, (struct glint_slice){bytes, sizeof bytes});
        cr_expect_eq(sealed.size < sizeof bytes, noise == 0);
        struct damaged d = {.good = whole(&sealed)};
        damage(d.good, look_at_damage, &d);
        cr_assert(buffer_append(&sealed, "", 1));
        cr_expect_eq(unseal(ID, 0, whole(&sealed), d.value, sizeof bytes), GLINT_E_RUN_CORRUPT);
        buffer_fini(&sealed);
    }
}

/* The checksum fits, and the payload is no lz4 all the same: a sender of another mind. */
Test(seal, what_cannot_be_decompressed_is_found)
{
    uint8_t sealed[16 + 5] = {0}, value[64], place[12] = {1};
    sealed[8] = sizeof value;
    sealed[12] = 5;
    memset(sealed + 16, 0xff, 5);
    uint64_t checksum = XXH3_64bits_withSeed(sealed + 8, 13, XXH3_64bits(place, sizeof place));
    memcpy(sealed, &checksum, sizeof checksum);
    cr_expect_eq(unseal(1, 0, (struct glint_slice){sealed, sizeof sealed}, value, sizeof value),
                 GLINT_E_RUN_CORRUPT);
    cr_expect_not_null(strstr(error.cause, "decompressed"), "%s", error.cause);
}
