/* Blocks of values: round trips, and every way in which one can be the wrong one. */
#include "engine/net/value.h"

#include "engine/base/hash.h"

#include "tests/unit/net/bytes.h"

TestSuite(value, .init = begin, .fini = end);

#define ID 0x0123456789abcdef

static struct buffer pack(uint32_t block, struct glint_slice value)
{
    struct buffer packed = {NULL, 0, 0};
    cr_assert_eq(value_pack(block, value, &packed, &error), 0);
    return packed;
}

static int take(uint64_t id, uint32_t block, uint64_t sum, struct glint_slice packed,
                uint8_t *value, uint64_t size)
{
    memset(&error, 0, sizeof error);
    int r = value_take(id, block, sum, packed, value, size, &error);
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

/* As it travels: packed, or straight to its place. */
static void travel(struct glint_slice value, uint32_t block, uint8_t *back)
{
    struct buffer packed = pack(block, value);
    struct glint_slice raw = value_block(value, block);
    cr_expect(packed.size < raw.size || raw.size == 0);
    if (packed.size == 0) memcpy(back + (raw.data - value.data), raw.data, raw.size);
    cr_expect_eq(take(ID, block, value_sum(ID, block, value), whole(&packed), back, value.size), 0,
                 "%s", error.cause);
    buffer_fini(&packed);
}

Test(value, values_of_every_size_come_back)
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
        for (uint32_t b = blocks; b-- > 0;) travel(value, b, back);
        cr_expect_eq(memcmp(back, value.data, sizes[i]), 0);
        mem_free(back);
        mem_free((void *)(uintptr_t)value.data);
    }
    cr_expect_eq(value_blocks(0), 0);
}

Test(value, a_block_is_packed_when_it_pays)
{
    struct glint_slice value = make(2 * VALUE_BLOCK_BYTES_MIN);
    struct buffer text = pack(0, value), noise = pack(1, value);
    cr_expect(text.size > 0 && text.size < VALUE_BLOCK_BYTES_MIN / 10);
    cr_expect_eq(noise.size, 0);
    cr_expect_null(noise.data);
    buffer_fini(&text);
    mem_free((void *)(uintptr_t)value.data);
}

Test(value, without_memory_nothing_is_packed)
{
    struct buffer packed = {NULL, 0, 0};
    mem_fail_at(1, true);
    int r = value_pack(0, (struct glint_slice){(const uint8_t *)"some value", 10}, &packed, &error);
    mem_fail_at(0, false);
    cr_expect_eq(r, GLINT_E_NO_MEMORY);
    cr_expect_eq(packed.size, 0);
}

Test(value, another_block_or_value_is_noticed)
{
    uint64_t size = 2 * VALUE_BLOCK_BYTES_MIN;
    uint8_t *bytes = mem_zalloc(size), *back = mem_zalloc(size);
    struct glint_slice value = {bytes, size};
    struct buffer packed = pack(0, value);
    cr_expect_eq(take(ID, 0, value_sum(ID, 0, value), whole(&packed), back, size), 0);
    static const struct {
        uint64_t id;
        uint32_t block;
    } others[] = {{ID, 1}, {ID + 1, 0}, {0, 0}, {ID ^ (UINT64_C(1) << 63), 0}, {1, 1}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint64_t sum = value_sum(others[i].id, others[i].block, value);
        cr_expect_eq(take(ID, 0, sum, whole(&packed), back, size), GLINT_E_RUN_CORRUPT);
        cr_expect_not_null(strstr(error.cause, "checksum"), "%s", error.cause);
        cr_expect_eq(take(ID, 0, sum, (struct glint_slice){NULL, 0}, back, size),
                     GLINT_E_RUN_CORRUPT);
    }
    /* Of a value of another size. */
    uint64_t sum = value_sum(ID, 0, value);
    cr_expect_eq(take(ID, 0, sum, whole(&packed), back, VALUE_BLOCK_BYTES_MIN - 1),
                 GLINT_E_RUN_CORRUPT);
    buffer_fini(&packed);
    mem_free(bytes);
    mem_free(back);
}

struct damaged {
    struct glint_slice good;
    uint64_t sum;
    uint8_t value[600], whole[600];
};

/* What unpacks to the same bytes is no damage. */
static void look_at_damage(struct glint_slice bad, bool cut, void *arg)
{
    struct damaged *d = arg;
    (void)cut;
    if (bad.size == 0) return; /* so that it would be in place */
    int r = take(ID, 0, d->sum, bad, d->value, sizeof d->value);
    bool same = memcmp(d->value, d->whole, sizeof d->value) == 0;
    cr_assert(r == 0 ? same : r == GLINT_E_RUN_CORRUPT);
}

Test(value, damage_is_found)
{
    struct damaged d;
    for (unsigned i = 0; i < sizeof d.whole; i++) d.whole[i] = (uint8_t)(i / 20);
    struct glint_slice value = {d.whole, sizeof d.whole};
    struct buffer packed = pack(0, value);
    d.good = whole(&packed);
    d.sum = value_sum(ID, 0, value);
    damage(d.good, look_at_damage, &d);
    for (unsigned i = 0; i < 8 * sizeof d.value; i++) { /* in place, a bit is not what it was */
        memcpy(d.value, d.whole, sizeof d.value);
        d.value[i / 8] ^= (uint8_t)(1u << i % 8);
        cr_assert_eq(take(ID, 0, d.sum, (struct glint_slice){NULL, 0}, d.value, sizeof d.value),
                     GLINT_E_RUN_CORRUPT);
    }
    buffer_fini(&packed);
}

Test(value, what_cannot_be_unpacked_is_found)
{
    uint8_t bad[64], value[64] = {0};
    memset(bad, 0xff, sizeof bad);
    uint64_t sum = value_sum(1, 0, (struct glint_slice){value, sizeof value});
    for (uint64_t size = 1; size <= sizeof bad; size++) {
        cr_expect_eq(take(1, 0, sum, (struct glint_slice){bad, size}, value, sizeof value),
                     GLINT_E_RUN_CORRUPT);
        cr_expect_not_null(strstr(error.cause, "decompressed"), "%s", error.cause);
    }
}
