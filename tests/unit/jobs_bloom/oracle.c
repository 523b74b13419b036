/* The simple implementations: see oracle.h. */
#include "oracle.h"

#include <criterion/criterion.h>
#include <murmurhash.h>
#include <stdlib.h>

/* org.apache.hadoop.util.hash.MurmurHash, line by line; Java's int wraps, its bytes are signed. */
uint32_t oracle_murmur2(const uint8_t *id, uint32_t size, uint32_t seed)
{
    const int8_t *data = (const int8_t *)id;
    uint32_t m = 0x5bd1e995, h = seed ^ size, whole = size / 4 * 4, left = size - whole;
    for (uint32_t i = 0; i < whole; i += 4) {
        uint32_t k = (uint32_t)(int32_t)data[i + 3];
        k = k << 8 | ((uint32_t)data[i + 2] & 0xff);
        k = k << 8 | ((uint32_t)data[i + 1] & 0xff);
        k = k << 8 | ((uint32_t)data[i] & 0xff);
        k *= m;
        k ^= k >> 24;
        k *= m;
        h *= m;
        h ^= k;
    }
    if (left != 0) {
        if (left >= 3) h ^= (uint32_t)(int32_t)data[size - 3] << 16;
        if (left >= 2) h ^= (uint32_t)(int32_t)data[size - 2] << 8;
        if (left >= 1) h ^= (uint32_t)(int32_t)data[size - 1];
        h *= m;
    }
    h ^= h >> 13;
    h *= m;
    h ^= h >> 15;
    return h;
}

uint64_t oracle_index(const struct bloom_params *params, const void *id, uint32_t size,
                      uint32_t hash)
{
    int64_t m = (int64_t)params->m;
    if (params->scheme == BLOOM_HADOOP)
        return (uint64_t)llabs((int64_t)(int32_t)oracle_murmur2(id, size, hash) % m);
    uint32_t h;
    lmmh_x86_32(id, size, hash, &h);
    if (params->scheme == BLOOM_PLAIN) return h % (uint64_t)m;
    cr_assert_eq(params->scheme, BLOOM_SPARK);
    return (uint64_t)(((int64_t)(int32_t)h % m + m) % m);
}

uint64_t sample_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * 0x2545F4914F6CDD1Du) >> 16;
}

void sample_init(struct sample *sample, uint32_t rows, uint32_t size_min, uint32_t size_max,
                 uint32_t filters, uint64_t seed)
{
    uint64_t bytes = (uint64_t)rows * size_max + BLOOM_ID_SLACK + 1, state = seed * 2 + 1;
    sample->data = malloc(bytes);
    sample->start = malloc((rows + 1) * sizeof *sample->start);
    sample->end = malloc((rows + 1) * sizeof *sample->end);
    sample->filter = malloc((rows + 1) * sizeof *sample->filter);
    cr_assert(sample->data && sample->start && sample->end && sample->filter);
    for (uint64_t i = 0; i < bytes; i++) sample->data[i] = (uint8_t)sample_random(&state);
    uint32_t at = 1;
    for (uint32_t i = 0; i < rows; i++) {
        sample->start[i] = at;
        at += size_min + (uint32_t)(sample_random(&state) % (size_max - size_min + 1));
        sample->end[i] = at;
        sample->filter[i] = (uint16_t)(sample_random(&state) % filters);
    }
    sample->rows = (struct bloom_rows){.base = sample->data,
                                       .start = sample->start,
                                       .end = sample->end,
                                       .filter = sample->filter,
                                       .rows = rows};
}

void sample_fini(struct sample *sample)
{
    free(sample->data);
    free(sample->start);
    free(sample->end);
    free(sample->filter);
}

uint8_t *blob_of(const struct bloom_set *set, uint64_t *out_size)
{
    struct bloom_params *params = malloc(set->count * sizeof *params);
    cr_assert_not_null(params);
    for (uint32_t f = 0; f < set->count; f++) params[f] = bloom_set_filter(set, f).params;
    *out_size = bloom_blob_size(params, set->count);
    uint8_t *blob = malloc(*out_size + 1);
    cr_assert_not_null(blob);
    cr_assert_eq(bloom_blob_begin(blob, params, set->count), BLOOM_OK);
    for (uint32_t f = 0; f < set->count; f++)
        memcpy(bloom_blob_bits(blob, f), bloom_set_filter(set, f).bits, bloom_bytes(params[f].m));
    free(params);
    return blob;
}
