/* The Redis module RedisBloom, 2.x: the data of all chunks of BF.SCANDUMP, one after another, which
 * BF.LOADCHUNK takes in pieces of any size. Little-endian.
 *
 *      0  items.8 filters.4 options.4 growth.4
 *     20  bytes.8 bits.8 items.8 error.8 (f64) bits per id.8 (f64) k.4 capacity.8 log2.1
 *     73  the bytes
 *
 * A filter that grew has several, each with a header and bytes; only one is supported. */
#include "jobs/bloom/format.h"

#include <math.h>
#include <string.h>

enum { NOROUND = 1, FORCE64 = 4, GROWTH = 2, OPTIONS_MAX = 15 };
#define REDIS_SEED  0xc6a4a7935bd1e995u
#define REDIS_LN2   0.693147180559945
#define REDIS_LN2_2 0.480453013918201

static uint64_t murmur64a(const uint8_t *data, uint64_t size, uint64_t seed)
{
    const uint64_t m = 0xc6a4a7935bd1e995u;
    uint64_t h = seed ^ size * m;
    for (uint64_t left = size; left > 0;) {
        const uint64_t take = left < 8 ? left : 8;
        uint64_t k = 0;
        memcpy(&k, data + (size - left), take);
        left -= take;
        if (take == 8) {
            k *= m;
            k = (k ^ k >> 47) * m;
        }
        h = (h ^ k) * m;
    }
    h = (h ^ h >> 47) * m;
    return h ^ h >> 47;
}

static void redis_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                          uint64_t *out)
{
    uint64_t at = murmur64a(id, size, REDIS_SEED);
    const uint64_t step = murmur64a(id, size, at);
    for (uint32_t i = 0; i < params->k; i++, at += step) out[i] = at % params->m;
}

/* BF.RESERVE of a filter that may grow: the first layer has half the rate, so that all layers
 * together have p. With the digits of the module's constants. */
static void redis_size(double n, double p, double *out_m, double *out_k)
{
    const double per_id = -(log(p / 2) / REDIS_LN2_2);
    *out_m = trunc(n * per_id);
    *out_k = ceil(REDIS_LN2 * per_id);
}

/* p is not kept, so the rate is that of the size. */
static uint32_t redis_encode_head(const struct bloom_params *params, uint8_t *out)
{
    const double per_id = (double)params->m / (double)params->n, rate = exp(-per_id * REDIS_LN2_2);
    uint32_t size = format_put_little_endian(out, params->n, 8);
    size += format_put_little_endian(out + size, 1, 4);
    size += format_put_little_endian(out + size, NOROUND | FORCE64, 4);
    size += format_put_little_endian(out + size, GROWTH, 4);
    size += format_put_little_endian(out + size, params->m / 8, 8);
    size += format_put_little_endian(out + size, params->m, 8);
    size += format_put_little_endian(out + size, params->n, 8);
    size += format_put_f64(out + size, rate < 1e-300 ? 1e-300 : rate > 0.99 ? 0.99 : rate);
    size += format_put_f64(out + size, per_id);
    size += format_put_little_endian(out + size, params->k, 4);
    size += format_put_little_endian(out + size, params->n, 8);
    return size + format_put_little_endian(out + size, 0, 1);
}

static const char *decode_filter_chain_head(struct head *head)
{
    uint64_t items, filters, options, growth;
    if (!format_get_little_endian(head, 8, &items)) return format_truncated;
    if (!format_get_little_endian(head, 4, &filters)) return format_truncated;
    if (filters == 0) return "it has no filter";
    if (filters > 1) return "it grew to several filters; only one is supported: reserve enough";
    if (!format_get_little_endian(head, 4, &options)) return format_truncated;
    if (options > OPTIONS_MAX) return "its options are unknown";
    if ((options & FORCE64) == 0) return "its hash has 32 bits; only that of 64 bits is supported";
    return format_get_little_endian(head, 4, &growth) ? NULL : format_truncated;
}

static const char *redis_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t bytes, items, number, k;
    const char *wrong = decode_filter_chain_head(head);
    if (wrong != NULL) return wrong;
    if (!format_get_little_endian(head, 8, &bytes)) return format_truncated;
    if (bytes == 0) return format_no_bits;
    if (!format_get_little_endian(head, 8, &params->m)) return format_truncated;
    if (bytes > UINT64_MAX / 8 || params->m != bytes * 8 || bytes % 8 != 0)
        return "the number of bits is not that of its bytes, in whole words";
    if (!format_get_little_endian(head, 8, &items)) return format_truncated;
    if (!format_get_little_endian(head, 8, &number)) return format_truncated;
    if (!format_get_little_endian(head, 8, &number)) return format_truncated;
    if (!format_get_little_endian(head, 4, &k)) return format_truncated;
    wrong = format_check_k(k, params);
    if (wrong != NULL) return wrong;
    if (!format_get_little_endian(head, 8, &params->n)) return format_truncated;
    if (params->n == 0 || params->n > INT64_MAX) return "its capacity is not positive";
    if (!format_get_little_endian(head, 1, &number)) return format_truncated;
    return number == 0 ? NULL : "its size is rounded to a power of two, which is not supported";
}

const struct format format_redisbloom = {.name = "redisbloom",
                                         .program = "RedisBloom's BF.SCANDUMP",
                                         .scheme = BLOOM_REDISBLOOM,
                                         .body = FORMAT_BYTES,
                                         .m_max = BLOOM_M_MAX,
                                         .size_rule = redis_size,
                                         .indexes = redis_indexes,
                                         .encode = redis_encode_head,
                                         .decode = redis_decode_head};
