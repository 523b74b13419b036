/* Blocks of broadcast values: round trips, corrupted blocks and blocks of another position
 * or value. */
#include "engine/base/hash.h"
#include "engine/transfer/broadcast.h"

#include "tests/unit/net/bytes.h"

TestSuite(broadcast_block, .init = begin, .fini = end);

#define ID 0x0123456789abcdef

static struct buffer pack(uint32_t block, struct glint_slice value)
{
    struct buffer packed = {NULL, 0, 0};
    cr_assert_eq(broadcast_block_compress(block, value, &packed, &error), 0);
    return packed;
}

static int take(uint64_t id, uint32_t block, uint64_t checksum, struct glint_slice packed,
                uint8_t *value, uint64_t size)
{
    memset(&error, 0, sizeof error);
    int r = broadcast_block_decode(id, block, checksum, packed, value, size, &error);
    cr_assert_eq(r, error.code);
    return r;
}

/* Every other MiB is compressible, the rest is not. */
static struct glint_slice make(uint64_t size)
{
    uint8_t *bytes = mem_alloc(size);
    cr_assert_not_null(bytes);
    for (uint64_t i = 0; i < size; i++)
        bytes[i] =
            i / BROADCAST_BLOCK_BYTES_MIN % 2 == 0 ? (uint8_t)(i / 100) : (uint8_t)hash_mix(i);
    return (struct glint_slice){bytes, size};
}

/* Transfers a block as the network does: compressed, or copied to its position. */
static void transfer_block(struct glint_slice value, uint32_t block, uint8_t *back)
{
    struct buffer packed = pack(block, value);
    struct glint_slice raw = broadcast_block_slice(value, block);
    cr_expect(packed.size < raw.size || raw.size == 0);
    if (packed.size == 0) memcpy(back + (raw.data - value.data), raw.data, raw.size);
    cr_expect_eq(take(ID, block, broadcast_block_checksum(ID, block, value), whole(&packed), back,
                      value.size),
                 0, "%s", error.cause);
    buffer_fini(&packed);
}

Test(broadcast_block, every_size_round_trips)
{
    static const uint64_t sizes[] = {1,
                                     2,
                                     7,
                                     8,
                                     9,
                                     1000,
                                     BROADCAST_BLOCK_BYTES_MIN - 1,
                                     BROADCAST_BLOCK_BYTES_MIN,
                                     BROADCAST_BLOCK_BYTES_MIN + 1,
                                     2 * BROADCAST_BLOCK_BYTES_MIN,
                                     2 * BROADCAST_BLOCK_BYTES_MIN + 12345};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct glint_slice value = make(sizes[i]);
        uint8_t *back = mem_zalloc(sizes[i]);
        uint32_t blocks = broadcast_block_count(sizes[i]);
        cr_assert_eq(blocks,
                     (sizes[i] + BROADCAST_BLOCK_BYTES_MIN - 1) / BROADCAST_BLOCK_BYTES_MIN);
        for (uint32_t b = blocks; b-- > 0;) transfer_block(value, b, back);
        cr_expect_eq(memcmp(back, value.data, sizes[i]), 0);
        mem_free(back);
        mem_free((void *)(uintptr_t)value.data);
    }
    cr_expect_eq(broadcast_block_count(0), 0);
}

Test(broadcast_block, block_is_compressed_only_if_smaller)
{
    struct glint_slice value = make(2 * BROADCAST_BLOCK_BYTES_MIN);
    struct buffer text = pack(0, value), noise = pack(1, value);
    cr_expect(text.size > 0 && text.size < BROADCAST_BLOCK_BYTES_MIN / 10);
    cr_expect_eq(noise.size, 0);
    cr_expect_null(noise.data);
    buffer_fini(&text);
    mem_free((void *)(uintptr_t)value.data);
}

Test(broadcast_block, out_of_memory_compresses_nothing)
{
    struct buffer packed = {NULL, 0, 0};
    mem_fail_at(1, true);
    int r = broadcast_block_compress(0, (struct glint_slice){(const uint8_t *)"some value", 10},
                                     &packed, &error);
    mem_fail_at(0, false);
    cr_expect_eq(r, GLINT_E_NO_MEMORY);
    cr_expect_eq(packed.size, 0);
}

Test(broadcast_block, wrong_block_or_broadcast_is_detected)
{
    uint64_t size = 2 * BROADCAST_BLOCK_BYTES_MIN;
    uint8_t *bytes = mem_zalloc(size), *back = mem_zalloc(size);
    struct glint_slice value = {bytes, size};
    struct buffer packed = pack(0, value);
    cr_expect_eq(take(ID, 0, broadcast_block_checksum(ID, 0, value), whole(&packed), back, size),
                 0);
    static const struct {
        uint64_t id;
        uint32_t block;
    } others[] = {{ID, 1}, {ID + 1, 0}, {0, 0}, {ID ^ (UINT64_C(1) << 63), 0}, {1, 1}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint64_t checksum = broadcast_block_checksum(others[i].id, others[i].block, value);
        cr_expect_eq(take(ID, 0, checksum, whole(&packed), back, size), GLINT_E_SHUFFLE_CORRUPT);
        cr_expect_not_null(strstr(error.cause, "checksum"), "%s", error.cause);
        cr_expect_eq(take(ID, 0, checksum, (struct glint_slice){NULL, 0}, back, size),
                     GLINT_E_SHUFFLE_CORRUPT);
    }
    /* The checksum of a value of another size. */
    uint64_t checksum = broadcast_block_checksum(ID, 0, value);
    cr_expect_eq(take(ID, 0, checksum, whole(&packed), back, BROADCAST_BLOCK_BYTES_MIN - 1),
                 GLINT_E_SHUFFLE_CORRUPT);
    buffer_fini(&packed);
    mem_free(bytes);
    mem_free(back);
}

struct damaged {
    struct glint_slice good;
    uint64_t checksum;
    uint8_t value[600], whole[600];
};

/* A changed byte that decompresses to the same bytes is not corruption. */
static void check_corrupted(struct glint_slice bad, bool cut, void *arg)
{
    struct damaged *d = arg;
    (void)cut;
    if (bad.size == 0) return; /* would mean: already in place */
    int r = take(ID, 0, d->checksum, bad, d->value, sizeof d->value);
    bool same = memcmp(d->value, d->whole, sizeof d->value) == 0;
    cr_assert(r == 0 ? same : r == GLINT_E_SHUFFLE_CORRUPT);
}

Test(broadcast_block, damage_is_detected)
{
    struct damaged d;
    for (unsigned i = 0; i < sizeof d.whole; i++) d.whole[i] = (uint8_t)(i / 20);
    struct glint_slice value = {d.whole, sizeof d.whole};
    struct buffer packed = pack(0, value);
    d.good = whole(&packed);
    d.checksum = broadcast_block_checksum(ID, 0, value);
    damage(d.good, check_corrupted, &d);
    for (unsigned i = 0; i < 8 * sizeof d.value; i++) { /* uncompressed, one bit flipped */
        memcpy(d.value, d.whole, sizeof d.value);
        d.value[i / 8] ^= (uint8_t)(1u << i % 8);
        cr_assert_eq(
            take(ID, 0, d.checksum, (struct glint_slice){NULL, 0}, d.value, sizeof d.value),
            GLINT_E_SHUFFLE_CORRUPT);
    }
    buffer_fini(&packed);
}

Test(broadcast_block, undecompressible_block_is_detected)
{
    uint8_t bad[64], value[64] = {0};
    memset(bad, 0xff, sizeof bad);
    uint64_t checksum = broadcast_block_checksum(1, 0, (struct glint_slice){value, sizeof value});
    for (uint64_t size = 1; size <= sizeof bad; size++) {
        cr_expect_eq(take(1, 0, checksum, (struct glint_slice){bad, size}, value, sizeof value),
                     GLINT_E_SHUFFLE_CORRUPT);
        cr_expect_not_null(strstr(error.cause, "decompressed"), "%s", error.cause);
    }
}
