/* A block of a broadcast, packed and taken side by side. */
#include "engine/net/value.h"

#include "engine/base/hash.h"
#include "engine/base/little.h"

#include <assert.h>
#include <lz4.h>

static_assert(VALUE_BLOCK_BYTES_MAX <= LZ4_MAX_INPUT_SIZE, "a block can be packed at once");
static_assert(VALUE_BLOCK_BYTES_MAX <= DATA_FRAME_BYTES_MAX, "a block is one frame");

/* What a block is of: 12 bytes, hashed. */
static uint64_t seed_of(uint64_t id, uint32_t block)
{
    uint8_t place[12];
    little_put64(place, id);
    little_put32(place + 8, block);
    return hash_checksum(place, sizeof place);
}

uint64_t value_sum(uint64_t id, uint32_t block, struct glint_slice value)
{
    assert(block < value_blocks(value.size));
    struct glint_slice bytes = value_block(value, block);
    return XXH3_64bits_withSeed(bytes.data, bytes.size, seed_of(id, block));
}

int value_pack(uint32_t block, struct glint_slice value, struct buffer *out,
               struct glint_error *error)
{
    assert(block < value_blocks(value.size) && out->data == NULL);
    struct glint_slice bytes = value_block(value, block);
    /* It must pay: by an eighth at least, else the other side would work for nothing. */
    uint64_t room = bytes.size - bytes.size / 8;
    if (!buffer_reserve(out, room)) return error_no_memory(error);
    int n = LZ4_compress_default((const char *)bytes.data, (char *)out->data, (int)bytes.size,
                                 (int)room);
    if (n > 0 && (uint64_t)n < bytes.size)
        out->size = (uint64_t)n;
    else
        buffer_fini(out);
    return 0;
}

int value_take(uint64_t id, uint32_t block, uint64_t sum, struct glint_slice packed, uint8_t *value,
               uint64_t size, struct glint_error *error)
{
    assert(block < value_blocks(size));
    uint32_t raw = value_block_size(size, block);
    uint8_t *place = value + block * value_block_bytes(size);
    const char *what = "it cannot be decompressed";
    if (packed.size > 0 &&
        (packed.size >= raw || LZ4_decompress_safe((const char *)packed.data, (char *)place,
                                                   (int)packed.size, (int)raw) != (int)raw))
        goto corrupt;
    what = "it does not match its checksum";
    if (value_sum(id, block, (struct glint_slice){value, size}) == sum) return 0;
corrupt:
    return error_set(error, GLINT_E_RUN_CORRUPT, "the network or a machine's memory may be broken",
                     "block %u of the broadcast value %llu is damaged: %s", block,
                     (unsigned long long)id, what);
}
