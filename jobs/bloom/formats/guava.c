/* Guava: com.google.common.hash.BloomFilter. strategy.1 k.1 words.4, big-endian, like the words
 * that follow. */
#include "jobs/bloom/format.h"

#include <math.h>
#include <murmurhash.h>

enum { GUAVA_MITZ_32 = 0, GUAVA_MITZ_64 = 1 };

static void guava_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                          uint64_t *out)
{
    uint64_t hash[2];
    assert(size <= UINT32_MAX);
    lmmh_x64_128(id, (unsigned)size, 0, hash);
    for (uint32_t i = 0; i < params->k; i++, hash[0] += hash[1])
        out[i] = (hash[0] & INT64_MAX) % params->m;
}

/* BloomFilter.create of Guava 33.8: m is rounded down, then up to words; k follows from p alone. */
static void guava_size(double n, double p, double *out_m, double *out_k)
{
    *out_m = trunc(-n * log(p) / (log(2) * log(2)));
    const double k = floor(-log(p) / log(2) + 0.5);
    *out_k = k < 1 ? 1 : k;
}

static uint32_t guava_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_big_endian(out, GUAVA_MITZ_64, 1);
    size += format_put_big_endian(out + size, params->k, 1);
    return size + format_put_big_endian(out + size, params->m / 64, 4);
}

static const char *guava_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t strategy, k;
    if (!format_get_big_endian(head, 1, &strategy)) return format_truncated;
    if (strategy == GUAVA_MITZ_32)
        return "its strategy is MURMUR128_MITZ_32; only MURMUR128_MITZ_64 is supported";
    if (strategy != GUAVA_MITZ_64) return "its strategy is unknown";
    if (!format_get_big_endian(head, 1, &k)) return format_truncated;
    const char *wrong = format_check_k(k, params);
    return wrong != NULL ? wrong : format_get_java_words(head, params);
}

const struct format format_guava = {.name = "guava",
                                    .program = "Guava's BloomFilter",
                                    .scheme = BLOOM_GUAVA,
                                    .body = FORMAT_WORDS,
                                    .m_max = BLOOM_M_MAX,
                                    .size_rule = guava_size,
                                    .indexes = guava_indexes,
                                    .encode = guava_encode_head,
                                    .decode = guava_decode_head};
