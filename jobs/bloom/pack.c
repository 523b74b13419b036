/* A whole set as one blob, as a broadcast carries it: little-endian, read in place.
 *
 *     0   "glntset1"
 *     8   u32 scheme, u32 k, u32 count, u32 layout
 *     24  u64 checksum: XXH3-64 of all behind it, seeded with XXH3-64 of bytes 0..23
 *     32  count x { u64 n, u64 m }
 *         zeros up to a multiple of 64
 *         the area of the set: each filter's bits, zeros up to a multiple of 64 */
#include "jobs/bloom/internal.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    AT_SCHEME = 8,
    AT_K = 12,
    AT_COUNT = 16,
    AT_LAYOUT = 20,
    AT_CHECKSUM = 24,
    AT_PARAMS = 32,
    PARAMS_BYTES = 16
};

static const uint8_t magic[8] = "glntset1";

static uint64_t head_bytes(uint32_t count)
{
    return bloom_round_up(AT_PARAMS + (uint64_t)count * PARAMS_BYTES, BLOOM_ALIGNMENT);
}

static uint64_t checksum_of(const uint8_t *blob, uint64_t size)
{
    return XXH3_64bits_withSeed(blob + AT_PARAMS, size - AT_PARAMS, XXH3_64bits(blob, AT_CHECKSUM));
}

static void put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}
static void put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

uint64_t bloom_set_pack_size(const struct bloom_set *set)
{
    return head_bytes(set->count) + set->bytes;
}

void bloom_set_pack(const struct bloom_set *set, uint8_t *out)
{
    uint64_t head = head_bytes(set->count);
    memset(out, 0, head);
    memcpy(out, magic, sizeof magic);
    put32(out + AT_SCHEME, set->scheme);
    put32(out + AT_K, set->k);
    put32(out + AT_COUNT, set->count);
    put32(out + AT_LAYOUT, set->layout);
    for (uint32_t f = 0; f < set->count; f++) {
        put64(out + AT_PARAMS + f * PARAMS_BYTES, set->table->slot[f].n);
        put64(out + AT_PARAMS + f * PARAMS_BYTES + 8, set->table->slot[f].m);
    }
    memcpy(out + head, set->bits, set->bytes);
    put64(out + AT_CHECKSUM, checksum_of(out, head + set->bytes));
}

uint64_t bloom_blob_size(const struct bloom_params *params, uint32_t count)
{
    uint64_t size = head_bytes(count);
    for (uint32_t f = 0; f < count; f++) size += bloom_area_bytes(params[f].m);
    return size;
}

enum bloom_result bloom_blob_begin(uint8_t *out, const struct bloom_params *params, uint32_t count)
{
    if (count == 0 || count > BLOOM_SET_MAX) return BLOOM_ERR_COUNT;
    for (uint32_t f = 0; f < count; f++) {
        enum bloom_result result = bloom_params_check(&params[f]);
        if (result != BLOOM_OK) return result;
        if (params[f].scheme != params[0].scheme || params[f].k != params[0].k ||
            params[f].layout != params[0].layout)
            return BLOOM_ERR_MISMATCH;
    }
    memset(out, 0, bloom_blob_size(params, count));
    memcpy(out, magic, sizeof magic);
    put32(out + AT_SCHEME, params[0].scheme);
    put32(out + AT_K, params[0].k);
    put32(out + AT_COUNT, count);
    put32(out + AT_LAYOUT, params[0].layout);
    for (uint32_t f = 0; f < count; f++) {
        put64(out + AT_PARAMS + f * PARAMS_BYTES, params[f].n);
        put64(out + AT_PARAMS + f * PARAMS_BYTES + 8, params[f].m);
    }
    return BLOOM_OK;
}

/* Where filter f begins; f = count: where the blob ends. */
static uint64_t blob_offset(const uint8_t *blob, uint32_t f)
{
    uint64_t at = head_bytes(get32(blob + AT_COUNT));
    for (uint32_t i = 0; i < f; i++)
        at += bloom_area_bytes(get64(blob + AT_PARAMS + i * PARAMS_BYTES + 8));
    return at;
}

uint8_t *bloom_blob_bits(uint8_t *blob, uint32_t f)
{
    assert(f < get32(blob + AT_COUNT));
    return blob + blob_offset(blob, f);
}

void bloom_blob_seal(uint8_t *blob)
{
    put64(blob + AT_CHECKSUM, checksum_of(blob, blob_offset(blob, get32(blob + AT_COUNT))));
}

static bool all_zero(const uint8_t *at, const uint8_t *end)
{
    while (at < end)
        if (*at++ != 0) return false;
    return true;
}

/* No bit at or behind m, up to the next filter. */
static bool padding_is_zero(const struct bloom_set *set)
{
    for (uint32_t f = 0; f < set->count; f++) {
        const struct bloom_slot *slot = &set->table->slot[f];
        const uint8_t *bits = set->bits + slot->offset;
        uint64_t end = f + 1 < set->count ? set->table->slot[f + 1].offset : set->bytes;
        if (slot->m % 8 != 0 && bits[slot->m / 8] >> slot->m % 8 != 0) return false;
        if (!all_zero(bits + bloom_bytes(slot->m), set->bits + end)) return false;
    }
    return true;
}

static enum bloom_result check_blob(const struct bloom_set *set, const uint8_t *data, uint64_t size)
{
    if (get64(data + AT_CHECKSUM) != checksum_of(data, size)) return BLOOM_ERR_CHECKSUM;
    const uint8_t *behind = data + AT_PARAMS + (uint64_t)set->count * PARAMS_BYTES;
    if (!all_zero(behind, set->bits) || !padding_is_zero(set)) return BLOOM_ERR_UNUSED;
    return BLOOM_OK;
}

static enum bloom_result read_params(const uint8_t *data, uint32_t count,
                                     struct bloom_params *params)
{
    uint32_t scheme = get32(data + AT_SCHEME);
    uint32_t layout = get32(data + AT_LAYOUT);
    if (scheme >= BLOOM_SCHEMES) return BLOOM_ERR_SCHEME;
    if (layout >= BLOOM_LAYOUTS) return BLOOM_ERR_LAYOUT;
    for (uint32_t f = 0; f < count; f++) {
        const uint8_t *at = data + AT_PARAMS + f * PARAMS_BYTES;
        params[f] = (struct bloom_params){.scheme = (enum bloom_scheme)scheme,
                                          .n = get64(at),
                                          .m = get64(at + 8),
                                          .k = get32(data + AT_K),
                                          .layout = (enum bloom_layout)layout};
    }
    return BLOOM_OK;
}

enum bloom_result bloom_set_attach(struct bloom_set *set, const uint8_t *data, uint64_t size)
{
    *set = (struct bloom_set){0};
    if (size < AT_PARAMS) return BLOOM_ERR_TRUNCATED;
    if (memcmp(data, magic, sizeof magic) != 0) return BLOOM_ERR_FORMAT;
    uint32_t count = get32(data + AT_COUNT);
    if (count == 0 || count > BLOOM_SET_MAX) return BLOOM_ERR_COUNT;
    if (size < head_bytes(count)) return BLOOM_ERR_TRUNCATED;
    struct bloom_params *params = malloc(count * sizeof *params);
    if (params == NULL) return BLOOM_ERR_MEMORY;
    enum bloom_result result = read_params(data, count, params);
    if (result == BLOOM_OK)
        result = bloom_set_over(set, params, count, (uint8_t *)(uintptr_t)data + head_bytes(count));
    set->read_only = true;
    free(params);
    uint64_t expected = result == BLOOM_OK ? bloom_set_pack_size(set) : size;
    if (size < expected) result = BLOOM_ERR_TRUNCATED;
    if (size > expected) result = BLOOM_ERR_TRAILING;
    if (result != BLOOM_OK) bloom_set_fini(set);
    return result;
}

enum bloom_result bloom_set_view(struct bloom_set *set, const uint8_t *data, uint64_t size)
{
    enum bloom_result result = bloom_set_attach(set, data, size);
    if (result == BLOOM_OK) result = check_blob(set, data, size);
    if (result != BLOOM_OK) bloom_set_fini(set);
    return result;
}
