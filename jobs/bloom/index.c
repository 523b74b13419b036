/* Computes the k indexes of an id under every scheme, one id at a time: the reference for tests of
 * the batch kernels. */
#include "jobs/bloom/internal.h"

#include "jobs/bloom/murmur.h"

#define XXH_INLINE_ALL
#include <murmurhash.h>
#include <xxhash.h>

/* mmh3.hash(id, i) % m: the hash is signed, and Python's modulo is never negative. */
static void spark_indexes(const uint8_t *id, uint64_t size, uint32_t m, uint32_t k, uint32_t *out)
{
    struct murmur_id prepared;
    murmur3_prepare(&prepared, id, size);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t h = murmur3_hash(&prepared, i);
        out[i] = h >> 31 ? m - 1 - ~h % m : h % m;
    }
}

static void plain_indexes(const uint8_t *id, uint64_t size, uint32_t m, uint32_t k, uint32_t *out)
{
    struct murmur_id prepared;
    murmur3_prepare(&prepared, id, size);
    for (uint32_t i = 0; i < k; i++) out[i] = murmur3_hash(&prepared, i) % m;
}

/* Math.abs(h % m): Java's remainder has the sign of h, so this is |h| mod m, also for -2^31. */
static void hadoop_indexes(const uint8_t *id, uint64_t size, uint32_t m, uint32_t k, uint32_t *out)
{
    struct murmur_id prepared;
    murmur2_prepare(&prepared, id, size);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t h = murmur2_hash(&prepared, i);
        out[i] = (h >> 31 ? -h : h) % m;
    }
}

/* Each hash is the seed of the next one; the first seed is 0. */
static void hadoop_bloom_indexes(const uint8_t *id, uint64_t size, uint32_t m, uint32_t k,
                                 uint32_t *out)
{
    struct murmur_id prepared;
    uint32_t h = 0;
    murmur2_prepare(&prepared, id, size);
    for (uint32_t i = 0; i < k; i++) {
        h = murmur2_hash(&prepared, h);
        out[i] = (h >> 31 ? -h : h) % m;
    }
}

/* Of c and ~c, the one that is not negative; version 2 does the same in 64 bits. */
static void spark_bloom_indexes(const uint8_t *id, uint64_t size, uint32_t m, uint32_t k,
                                uint32_t *out)
{
    const uint32_t h1 = murmur3_spark(id, size, 0), h2 = murmur3_spark(id, size, h1);
    for (uint32_t i = 0, c = h1 + h2; i < k; i++, c += h2) out[i] = (c >> 31 ? ~c : c) % m;
}

void bloom_indexes_narrow(const struct bloom_params *params, const void *id, uint64_t size,
                          uint32_t *out_indexes)
{
    assert(params->m > 0 && params->m <= INT32_MAX && params->k <= BLOOM_K_MAX);
    uint32_t m = (uint32_t)params->m, k = params->k;
    switch (params->scheme) {
    case BLOOM_SPARK: spark_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_HADOOP: hadoop_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_PLAIN: plain_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_POLY_ABS: bloom_poly_abs(id, size, m, k, params->seeds, out_indexes); return;
    case BLOOM_POLY_MOD: bloom_poly_mod(id, size, m, k, params->seeds, out_indexes); return;
    case BLOOM_HADOOP_BLOOM: hadoop_bloom_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_MD5_RANDOM: bloom_md5_random(id, size, m, k, out_indexes); return;
    case BLOOM_SPARK_BLOOM: spark_bloom_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_SPARK_BLOOM_V2:
    case BLOOM_GUAVA:
    case BLOOM_RBLOOM:
    case BLOOM_WIDE:
    case BLOOM_XXH64:
    case BLOOM_SCHEMES: break;
    }
    assert(0 && "a narrow scheme");
}

static void spark_bloom_v2_indexes(const uint8_t *id, uint64_t size, uint64_t m, uint32_t k,
                                   uint64_t *out)
{
    const uint32_t h1 = murmur3_spark(id, size, 0), h2 = murmur3_spark(id, size, h1);
    const uint64_t step = (uint64_t)(int64_t)(int32_t)h2;
    uint64_t c = (uint64_t)((int64_t)(int32_t)h1 * INT32_MAX) + step;
    for (uint32_t i = 0; i < k; i++, c += step) out[i] = (c >> 63 ? ~c : c) % m;
}

static void guava_indexes(const uint8_t *id, uint64_t size, uint64_t m, uint32_t k, uint64_t *out)
{
    uint64_t hash[2];
    lmmh_x64_128(id, (unsigned)size, 0, hash);
    for (uint32_t i = 0; i < k; i++, hash[0] += hash[1]) out[i] = (hash[0] & INT64_MAX) % m;
}

/* The linear congruential generator of rbloom (src/lib.rs), seeded with the hash. */
static void rbloom_indexes(const uint8_t *id, uint64_t size, uint64_t m, uint32_t k, uint64_t *out)
{
    const unsigned __int128 factor =
        (unsigned __int128)0x2360ed051fc65da4u << 64 | 0x4385df649fcb5cedu;
    uint64_t hash[2];
    lmmh_x64_128(id, (unsigned)size, 0, hash);
    unsigned __int128 s = (unsigned __int128)hash[1] << 64 | hash[0];
    for (uint32_t i = 0; i < k; i++) {
        s = s * factor + 1;
        out[i] = (uint64_t)(s >> 32) % m;
    }
}

/* Not inline: it would make the scheme wide slower. */
static __attribute__((noinline)) void format_indexes_wide(const struct bloom_params *params,
                                                          const void *id, uint64_t size,
                                                          uint64_t *out_indexes)
{
    const uint64_t m = params->m;
    const uint32_t k = params->k;
    switch (params->scheme) {
    case BLOOM_SPARK_BLOOM_V2: spark_bloom_v2_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_GUAVA: guava_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_RBLOOM: rbloom_indexes(id, size, m, k, out_indexes); return;
    default: break;
    }
    assert(0 && "a wide scheme");
}

void bloom_indexes_wide(const struct bloom_params *params, const void *id, uint64_t size,
                        uint64_t *out_indexes)
{
    assert(params->m > 0 && params->k <= BLOOM_K_MAX);
    if (params->scheme != BLOOM_WIDE) {
        format_indexes_wide(params, id, size, out_indexes);
        return;
    }
    XXH128_hash_t hash = XXH3_128bits(id, size);
    uint64_t at = hash.low64, step = hash.high64 | 1;
    for (uint32_t i = 0; i < params->k; i++, at += step) out_indexes[i] = at % params->m;
}

void bloom_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                   uint64_t out_indexes[BLOOM_K_MAX])
{
    if (bloom_has_blocks(params->layout)) {
        bloom_indexes_in_block(params, id, size, out_indexes);
        return;
    }
    if (params->scheme == BLOOM_WIDE || bloom_indexes_are_wide(params)) {
        bloom_indexes_wide(params, id, size, out_indexes);
        return;
    }
    uint32_t narrow[BLOOM_K_MAX];
    bloom_indexes_narrow(params, id, size, narrow);
    for (uint32_t i = 0; i < params->k; i++) out_indexes[i] = narrow[i];
}
