/* Computes the k indexes of an id under every scheme, one id at a time: the reference for tests of
 * the batch kernels. */
#include "jobs/bloom/counting.h"

#include "jobs/bloom/murmur.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* mmh3.hash(id, i) % m: the hash is signed, and Python's modulo is never negative. */
static void compute_spark_indexes(const uint8_t *id, uint64_t size, uint32_t m, uint32_t k,
                                  uint32_t *out)
{
    struct murmur_id prepared;
    murmur3_prepare(&prepared, id, size);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t h = murmur3_hash(&prepared, i);
        out[i] = h >> 31 ? m - 1 - ~h % m : h % m;
    }
}

static void compute_plain_indexes(const uint8_t *id, uint64_t size, uint32_t m, uint32_t k,
                                  uint32_t *out)
{
    struct murmur_id prepared;
    murmur3_prepare(&prepared, id, size);
    for (uint32_t i = 0; i < k; i++) out[i] = murmur3_hash(&prepared, i) % m;
}

/* Math.abs(h % m): Java's remainder has the sign of h, so this is |h| mod m, also for -2^31. */
static void compute_hadoop_indexes(const uint8_t *id, uint64_t size, uint32_t m, uint32_t k,
                                   uint32_t *out)
{
    struct murmur_id prepared;
    murmur2_prepare(&prepared, id, size);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t h = murmur2_hash(&prepared, i);
        out[i] = (h >> 31 ? -h : h) % m;
    }
}

void bloom_compute_narrow_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                                  uint32_t *out_indexes)
{
    assert(params->m > 0 && params->m <= INT32_MAX && params->k <= BLOOM_K_MAX);
    uint32_t m = (uint32_t)params->m, k = params->k;
    switch (params->scheme) {
    case BLOOM_SPARK: compute_spark_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_HADOOP: compute_hadoop_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_PLAIN: compute_plain_indexes(id, size, m, k, out_indexes); return;
    case BLOOM_POLY_ABS: bloom_poly_abs(id, size, m, k, params->seeds, out_indexes); return;
    case BLOOM_POLY_MOD: bloom_poly_mod(id, size, m, k, params->seeds, out_indexes); return;
    case BLOOM_MD5_RANDOM: bloom_md5_random(id, size, m, k, out_indexes); return;
    default: break;
    }
    uint64_t wide[BLOOM_K_MAX];
    bloom_format_indexes(params, id, size, wide);
    for (uint32_t i = 0; i < k; i++) out_indexes[i] = (uint32_t)wide[i];
}

void bloom_compute_wide_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                                uint64_t *out_indexes)
{
    assert(params->m > 0 && params->k <= BLOOM_K_MAX);
    if (params->scheme != BLOOM_WIDE) {
        bloom_format_indexes(params, id, size, out_indexes);
        return;
    }
    XXH128_hash_t hash = XXH3_128bits(id, size);
    uint64_t at = hash.low64, step = hash.high64 | 1;
    for (uint32_t i = 0; i < params->k; i++, at += step) out_indexes[i] = at % params->m;
}

void bloom_compute_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                           uint64_t out_indexes[BLOOM_K_MAX])
{
    assert(!bloom_is_static(params->layout));
    if (params->layout == BLOOM_COUNTING) {
        const struct bloom_params classic = counting_classic_params(params);
        bloom_compute_indexes(&classic, id, size, out_indexes);
        return;
    }
    if (bloom_has_blocks(params->layout)) {
        bloom_indexes_in_block(params, id, size, out_indexes);
        return;
    }
    if (params->scheme == BLOOM_WIDE || bloom_indexes_are_wide(params)) {
        bloom_compute_wide_indexes(params, id, size, out_indexes);
        return;
    }
    uint32_t narrow[BLOOM_K_MAX];
    bloom_compute_narrow_indexes(params, id, size, narrow);
    for (uint32_t i = 0; i < params->k; i++) out_indexes[i] = narrow[i];
}
