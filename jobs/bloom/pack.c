/* A whole set as one blob, the format of a broadcast: little-endian, read in place.
 *
 *     0   "glntset3"
 *     8   u32 scheme, u32 bytes of seeds, u32 count, u32 layout and 2^8 * type of ids
 *     24  count x { u64 n, u64 m, u64 k }, seeds
 *         zeros up to a multiple of 64
 *         the area of the set: each filter's bits, zeros up to a multiple of 64 */
#include "jobs/bloom/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    AT_SCHEME = 8,
    AT_SEEDS = 12,
    AT_COUNT = 16,
    AT_LAYOUT = 20,
    AT_PARAMS = 24,
    PARAMS_BYTES = 24
};

static const uint8_t magic[8] = "glntset3";

static uint64_t blob_header_bytes(uint32_t count, uint32_t seeds)
{
    return bloom_round_up(AT_PARAMS + (uint64_t)count * PARAMS_BYTES + seeds, BLOOM_ALIGNMENT);
}

static uint32_t blob_seeds_bytes(const struct bloom_params *params)
{
    return bloom_seeds_size(params);
}

static void put_u32_native(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}
static void put_u64_native(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* The whole header except the params of the filters after the first one. */
static void put_blob_header(uint8_t *out, const struct bloom_params *first, uint32_t count)
{
    const uint32_t seeds = blob_seeds_bytes(first);
    memcpy(out, magic, sizeof magic);
    put_u32_native(out + AT_SCHEME, first->scheme);
    put_u32_native(out + AT_SEEDS, seeds);
    put_u32_native(out + AT_COUNT, count);
    put_u32_native(out + AT_LAYOUT, (uint32_t)first->layout | first->id_type << 8);
    const void *from = first->seeds != NULL ? first->seeds : (const void *)first->hash_seed;
    if (seeds > 0) memcpy(out + AT_PARAMS + (uint64_t)count * PARAMS_BYTES, from, seeds);
}

static void put_blob_params(uint8_t *out, uint32_t f, const struct bloom_params *params)
{
    uint8_t *at = out + AT_PARAMS + (uint64_t)f * PARAMS_BYTES;
    put_u64_native(at, params->n);
    put_u64_native(at + 8, params->m);
    put_u64_native(at + 16, params->k);
}

uint64_t bloom_blob_size(const struct bloom_params *params, uint32_t count)
{
    uint64_t size = blob_header_bytes(count, blob_seeds_bytes(params));
    for (uint32_t f = 0; f < count; f++) size += bloom_area_bytes(params[f].m);
    return size;
}

enum bloom_result bloom_blob_begin(uint8_t *out, const struct bloom_params *params, uint32_t count)
{
    enum bloom_result result = bloom_set_check(params, count);
    if (result != BLOOM_OK) return result;
    memset(out, 0, bloom_blob_size(params, count));
    put_blob_header(out, &params[0], count);
    for (uint32_t f = 0; f < count; f++) put_blob_params(out, f, &params[f]);
    return BLOOM_OK;
}

/* Offset of filter f; f = count: end of the blob. */
static uint64_t blob_filter_offset(const uint8_t *blob, uint32_t f)
{
    uint64_t at =
        blob_header_bytes(get_u32_native(blob + AT_COUNT), get_u32_native(blob + AT_SEEDS));
    for (uint32_t i = 0; i < f; i++)
        at += bloom_area_bytes(get_u64_native(blob + AT_PARAMS + i * PARAMS_BYTES + 8));
    return at;
}

uint8_t *bloom_blob_bits(uint8_t *blob, uint32_t f)
{
    assert(f < get_u32_native(blob + AT_COUNT));
    return blob + blob_filter_offset(blob, f);
}

static enum bloom_result read_blob_params(const uint8_t *data, uint32_t count,
                                          struct bloom_params *params)
{
    uint32_t scheme = get_u32_native(data + AT_SCHEME);
    const uint32_t kind = get_u32_native(data + AT_LAYOUT), layout = kind & 0xff;
    const uint32_t seeds = get_u32_native(data + AT_SEEDS);
    if (scheme >= BLOOM_SCHEMES) return BLOOM_ERR_SCHEME;
    if (layout >= BLOOM_LAYOUTS) return BLOOM_ERR_LAYOUT;
    const bool hash_seed = bloom_hash_seed_bits((enum bloom_scheme)scheme) > 0;
    const uint8_t *own = seeds > 0 ? data + AT_PARAMS + (uint64_t)count * PARAMS_BYTES : NULL;
    for (uint32_t f = 0; f < count; f++) {
        const uint8_t *at = data + AT_PARAMS + f * PARAMS_BYTES;
        if (get_u64_native(at + 16) > BLOOM_K_MAX) return BLOOM_ERR_K;
        params[f] = (struct bloom_params){.scheme = (enum bloom_scheme)scheme,
                                          .n = get_u64_native(at),
                                          .m = get_u64_native(at + 8),
                                          .k = get_u32_native(at + 16),
                                          .layout = (enum bloom_layout)layout,
                                          .seeds = hash_seed ? NULL : own,
                                          .id_type = kind >> 8};
        if (hash_seed && seeds == sizeof params[f].hash_seed)
            memcpy(params[f].hash_seed, own, seeds);
        if (seeds != bloom_seeds_size(&params[f])) return BLOOM_ERR_SEEDED;
    }
    return BLOOM_OK;
}

enum bloom_result bloom_set_attach(struct bloom_set *set, const uint8_t *data, uint64_t size)
{
    *set = (struct bloom_set){0};
    if (size < AT_PARAMS) return BLOOM_ERR_TRUNCATED;
    if (memcmp(data, magic, sizeof magic) != 0) return BLOOM_ERR_FORMAT;
    uint32_t count = get_u32_native(data + AT_COUNT);
    if (count == 0 || count > BLOOM_SET_MAX) return BLOOM_ERR_COUNT;
    const uint32_t seeds = get_u32_native(data + AT_SEEDS);
    if (seeds > BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES) return BLOOM_ERR_SEEDED;
    const uint64_t head = blob_header_bytes(count, seeds);
    if (size < head) return BLOOM_ERR_TRUNCATED;
    struct bloom_params *params = malloc(count * sizeof *params);
    if (params == NULL) return BLOOM_ERR_MEMORY;
    enum bloom_result result = read_blob_params(data, count, params);
    if (result == BLOOM_OK)
        result = bloom_set_borrow(set, params, count, (uint8_t *)(uintptr_t)data + head);
    set->read_only = true;
    free(params);
    const uint64_t expected = result == BLOOM_OK ? head + set->bytes : size;
    if (size < expected) result = BLOOM_ERR_TRUNCATED;
    if (size > expected) result = BLOOM_ERR_TRAILING;
    if (result != BLOOM_OK) bloom_set_fini(set);
    return result;
}
