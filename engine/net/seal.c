/* A block of a broadcast, sealed and opened side by side. */
#include "engine/net/seal.h"

#include "engine/base/hash.h"
#include "engine/base/little.h"

#include <assert.h>
#include <lz4.h>
#include <string.h>

#define AT_RAW       8
#define AT_STORED    12
#define HEADER_BYTES 16u
static_assert(AT_STORED + sizeof(uint32_t) == HEADER_BYTES, "see the picture");
static_assert(VALUE_BLOCK_BYTES_MAX <= LZ4_MAX_INPUT_SIZE, "a block can be compressed at once");
static_assert(HEADER_BYTES + VALUE_BLOCK_BYTES_MAX <= DATA_FRAME_BYTES_MAX,
              "a sealed block travels");

/* What a block is of: 12 bytes, hashed. */
static uint64_t seed_of(uint64_t id, uint32_t block)
{
    uint8_t place[12];
    little_put64(place, id);
    little_put32(place + 8, block);
    return hash_checksum(place, sizeof place);
}

static uint64_t checksum(uint64_t id, uint32_t block, const uint8_t *sealed, uint32_t stored)
{
    return XXH3_64bits_withSeed(sealed + AT_RAW, HEADER_BYTES - AT_RAW + (size_t)stored,
                                seed_of(id, block));
}

int value_seal(uint64_t id, uint32_t block, struct glint_slice value, struct buffer *out,
               struct glint_error *error)
{
    assert(block < value_blocks(value.size));
    uint32_t raw = value_block_size(value.size, block);
    const uint8_t *from = value.data + block * value_block_bytes(value.size);
    if (!buffer_reserve(out, HEADER_BYTES + (uint64_t)raw)) return error_no_memory(error);
    uint8_t *sealed = out->data + out->size;
    char *payload = (char *)sealed + HEADER_BYTES;
    /* It must pay: by an eighth at least, else the other side would work for nothing. */
    int n = LZ4_compress_default((const char *)from, payload, (int)raw, (int)(raw - raw / 8));
    uint32_t stored = n > 0 && (uint32_t)n < raw ? (uint32_t)n : raw;
    if (stored == raw) memcpy(payload, from, raw);
    little_put32(sealed + AT_RAW, raw);
    little_put32(sealed + AT_STORED, stored);
    little_put64(sealed, checksum(id, block, sealed, stored));
    out->size += HEADER_BYTES + (uint64_t)stored;
    return 0;
}

int value_unseal(uint64_t id, uint32_t block, struct glint_slice sealed, uint8_t *value,
                 uint64_t size, struct glint_error *error)
{
    const char *what = "its sizes are wrong";
    const uint8_t *at = sealed.data;
    if (block >= value_blocks(size) || sealed.size < HEADER_BYTES) goto corrupt;
    uint32_t raw = little_get32(at + AT_RAW), stored = little_get32(at + AT_STORED);
    if (raw != value_block_size(size, block) || stored > raw ||
        stored != sealed.size - HEADER_BYTES)
        goto corrupt;
    what = "it does not match its checksum";
    if (little_get64(at) != checksum(id, block, at, stored)) goto corrupt;
    uint8_t *to = value + block * value_block_bytes(size);
    what = "it cannot be decompressed";
    if (stored == raw)
        memcpy(to, at + HEADER_BYTES, raw);
    else if (LZ4_decompress_safe((const char *)at + HEADER_BYTES, (char *)to, (int)stored,
                                 (int)raw) != (int)raw)
        goto corrupt;
    return 0;
corrupt:
    return error_set(error, GLINT_E_RUN_CORRUPT, "the network or a machine's memory may be broken",
                     "block %u of the broadcast value %llu is damaged: %s", block,
                     (unsigned long long)id, what);
}
