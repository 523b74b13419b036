/* Spark: BitArray, BloomFilterImpl, BloomFilterImplV2 of org.apache.spark.util.sketch.
 *
 *     version 1   1.4 k.4 words.4          big-endian, like the words that follow
 *     version 2   2.4 k.4 seed.4 words.4
 *
 * Version 1 hashes with seed 0, also if the filter was created with another one. */
#include "jobs/bloom/format.h"
#include "jobs/bloom/murmur.h"

#include <math.h>

enum { SPARK_V1 = 1, SPARK_V2 = 2 };

/* Of c and ~c, the one that is not negative; version 2 does the same in 64 bits. */
static void spark_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                          uint64_t *out)
{
    const uint32_t m = (uint32_t)params->m;
    const uint32_t h1 = murmur3_spark(id, size, 0), h2 = murmur3_spark(id, size, h1);
    assert(params->m <= INT32_MAX);
    for (uint32_t i = 0, c = h1 + h2; i < params->k; i++, c += h2) out[i] = (c >> 31 ? ~c : c) % m;
}

static void spark_v2_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                             uint64_t *out)
{
    const uint32_t h1 = murmur3_spark(id, size, (uint32_t)params->hash_seed[0]);
    const uint32_t h2 = murmur3_spark(id, size, h1);
    const uint64_t step = (uint64_t)(int64_t)(int32_t)h2;
    uint64_t c = (uint64_t)((int64_t)(int32_t)h1 * INT32_MAX) + step;
    for (uint32_t i = 0; i < params->k; i++, c += step) out[i] = (c >> 63 ? ~c : c) % params->m;
}

/* BloomFilter.create: m is rounded down before k follows from it, and up to words afterwards. */
static void spark_size(double n, double p, double *out_m, double *out_k)
{
    *out_m = trunc(-n * log(p) / (log(2) * log(2)));
    const double k = floor(*out_m / n * log(2) + 0.5);
    *out_k = k < 1 ? 1 : k;
}

static uint32_t spark_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_big_endian(out, SPARK_V1, 4);
    size += format_put_big_endian(out + size, params->k, 4);
    return size + format_put_big_endian(out + size, params->m / 64, 4);
}

static const char *spark_decode_head(struct head *head, struct bloom_params *params)
{
    int64_t version;
    if (!format_get_java_int(head, &version)) return format_truncated;
    if (version == SPARK_V2) return "it has version 2: use --format spark-v2";
    if (version != SPARK_V1) return "its version is unknown";
    const char *wrong = format_get_java_k(head, params);
    return wrong != NULL ? wrong : format_get_java_words(head, params);
}

static uint32_t spark_v2_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_big_endian(out, SPARK_V2, 4);
    size += format_put_big_endian(out + size, params->k, 4);
    size += format_put_big_endian(out + size, params->hash_seed[0], 4);
    return size + format_put_big_endian(out + size, params->m / 64, 4);
}

static const char *spark_v2_decode_head(struct head *head, struct bloom_params *params)
{
    int64_t version;
    if (!format_get_java_int(head, &version)) return format_truncated;
    if (version == SPARK_V1) return "it has version 1: use --format spark";
    if (version != SPARK_V2) return "its version is unknown";
    const char *wrong = format_get_java_k(head, params);
    if (wrong != NULL) return wrong;
    if (!format_get_big_endian(head, 4, &params->hash_seed[0])) return format_truncated;
    return format_get_java_words(head, params);
}

const struct format format_spark = {.name = "spark",
                                    .program = "Spark's BloomFilter, version 1",
                                    .scheme = BLOOM_SPARK_BLOOM,
                                    .body = FORMAT_WORDS,
                                    .m_max = INT32_MAX,
                                    .size_rule = spark_size,
                                    .indexes = spark_indexes,
                                    .encode = spark_encode_head,
                                    .decode = spark_decode_head};
const struct format format_spark_v2 = {.name = "spark-v2",
                                       .program = "Spark's BloomFilter, version 2",
                                       .scheme = BLOOM_SPARK_BLOOM_V2,
                                       .body = FORMAT_WORDS,
                                       .m_max = BLOOM_M_MAX,
                                       .size_rule = spark_size,
                                       .indexes = spark_v2_indexes,
                                       .encode = spark_v2_encode_head,
                                       .decode = spark_v2_decode_head};
