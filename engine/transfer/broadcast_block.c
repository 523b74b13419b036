/* Blocks of a broadcast: compression, decompression and checksums. */
#include "engine/transfer/broadcast_block.h"

#include "engine/base/endian.h"
#include "engine/base/hash.h"

#include <assert.h>
#include <lz4.h>

static_assert(BROADCAST_BLOCK_BYTES_MAX <= LZ4_MAX_INPUT_SIZE,
              "a block can be compressed in one call");
static_assert(BROADCAST_BLOCK_BYTES_MAX <= DATA_FRAME_BYTES_MAX, "a block fits one DATA frame");

/* Identifies a block by value id and block number. */
static uint64_t block_checksum_seed(uint64_t id, uint32_t block)
{
    uint8_t place[12];
    put_le64(place, id);
    put_le32(place + 8, block);
    return hash_checksum(place, sizeof place);
}

uint64_t broadcast_block_checksum(uint64_t id, uint32_t block, struct glint_slice value)
{
    assert(block < broadcast_block_count(value.size));
    struct glint_slice bytes = broadcast_block_slice(value, block);
    return XXH3_64bits_withSeed(bytes.data, bytes.size, block_checksum_seed(id, block));
}

int broadcast_block_compress(uint32_t block, struct glint_slice value, struct buffer *out,
                             struct glint_error *error)
{
    assert(block < broadcast_block_count(value.size) && out->data == NULL);
    struct glint_slice bytes = broadcast_block_slice(value, block);
    /* Require a saving of at least an eighth: for less, decompression costs the receiver more than
     * the network saves. */
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

int broadcast_block_decode(uint64_t id, uint32_t block, uint64_t checksum,
                           struct glint_slice packed, uint8_t *value, uint64_t size,
                           struct glint_error *error)
{
    assert(block < broadcast_block_count(size));
    uint32_t raw = broadcast_block_bytes_at(size, block);
    uint8_t *place = value + block * broadcast_block_bytes(size);
    const char *what = "it cannot be decompressed";
    /* A compressed block is always shorter than the block, so another size is corrupt. */
    if (packed.size > 0 &&
        (packed.size >= raw || LZ4_decompress_safe((const char *)packed.data, (char *)place,
                                                   (int)packed.size, (int)raw) != (int)raw))
        goto corrupt;
    what = "it does not match its checksum";
    if (broadcast_block_checksum(id, block, (struct glint_slice){value, size}) == checksum)
        return 0;
corrupt:
    return error_set(
        error, GLINT_E_SHUFFLE_CORRUPT, "the network or a machine's memory may be faulty",
        "block %u of broadcast %llu is damaged: %s", block, (unsigned long long)id, what);
}
