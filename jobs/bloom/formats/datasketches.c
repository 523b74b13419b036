/* Apache DataSketches: org.apache.datasketches.filters.bloomfilter.BloomFilter, little-endian.
 *
 *      0  04 01 15 flags    longs of the preamble, version, family; flag 4: empty
 *      4  k.2  0.2
 *      8  seed.8
 *     16  words.4  0.4
 *     24  set.8             bits that are set, or -1: unknown
 *     32  words
 *
 * An empty filter has 3 longs, flag 4, and ends at 24. update("") is ignored, as of null. */
#include "jobs/bloom/format.h"

#include <math.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PREAMBLE = 4, VERSION = 1, FAMILY = 21, EMPTY = 4, EMPTY_SIZE = 24 };
static_assert(PREAMBLE * 8 < BLOOM_FORMAT_HEAD_MAX, "the preamble is a header");

static void datasketches_indexes(const struct bloom_params *params, const uint8_t *id,
                                 uint64_t size, uint64_t *out)
{
    const uint64_t h0 = XXH64(id, size, params->hash_seed[0]), h1 = XXH64(id, size, h0);
    for (uint64_t i = 0; i < params->k; i++) out[i] = ((h0 + (i + 1) * h1) >> 1) % params->m;
}

/* BloomFilterBuilder.createByAccuracy; k follows from m before that is rounded up to words. */
static void datasketches_size(double n, double p, double *out_m, double *out_k)
{
    *out_m = format_bits_for_rate(n, p);
    *out_k = ceil(*out_m / n * log(2));
}

static uint32_t datasketches_encode_head(const struct bloom_params *params, uint8_t *out)
{
    const uint8_t kind[] = {PREAMBLE, VERSION, FAMILY, 0};
    uint32_t size = sizeof kind;
    memcpy(out, kind, sizeof kind);
    size += format_put_little_endian(out + size, params->k, 4);
    size += format_put_little_endian(out + size, params->hash_seed[0], 8);
    size += format_put_little_endian(out + size, params->m / 64, 8);
    return size + format_put_little_endian(out + size, UINT64_MAX, 8);
}

static const char *decode_sketch_preamble(struct head *head)
{
    uint64_t longs, version, family, flags;
    if (!format_get_big_endian(head, 1, &longs)) return format_truncated;
    if (longs != PREAMBLE && longs != PREAMBLE - 1) return "it does not begin with a preamble";
    if (!format_get_big_endian(head, 1, &version)) return format_truncated;
    if (version != VERSION) return "its version is unknown";
    if (!format_get_big_endian(head, 1, &family)) return format_truncated;
    if (family != FAMILY) return "it is another sketch, not a Bloom filter";
    if (!format_get_big_endian(head, 1, &flags)) return format_truncated;
    if (flags == EMPTY && longs == PREAMBLE - 1) return "the filter is empty: it has no bits";
    return flags == 0 && longs == PREAMBLE ? NULL : "its flags are unknown";
}

static const char *datasketches_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t k, zero, words, set;
    const char *wrong = decode_sketch_preamble(head);
    if (wrong != NULL) return wrong;
    if (!format_get_little_endian(head, 2, &k)) return format_truncated;
    wrong = format_check_k(k, params);
    if (wrong != NULL) return wrong;
    if (!format_get_little_endian(head, 2, &zero)) return format_truncated;
    if (zero != 0) return "an unused byte is not 0";
    if (!format_get_little_endian(head, 8, &params->hash_seed[0])) return format_truncated;
    if (!format_get_little_endian(head, 4, &words)) return format_truncated;
    params->m = words * 64;
    if (words == 0 || words > INT32_MAX) return format_no_bits;
    if (!format_get_little_endian(head, 4, &zero)) return format_truncated;
    if (zero != 0) return "an unused byte is not 0";
    if (!format_get_little_endian(head, 8, &set)) return format_truncated;
    return set == UINT64_MAX || set <= params->m ? NULL : "more bits are set than it has";
}

const struct format format_datasketches = {.name = "datasketches",
                                           .program = "DataSketches' BloomFilter",
                                           .scheme = BLOOM_DATASKETCHES,
                                           .body = FORMAT_BYTES,
                                           .m_max = BLOOM_M_MAX,
                                           .id_min = 1,
                                           .size_rule = datasketches_size,
                                           .indexes = datasketches_indexes,
                                           .encode = datasketches_encode_head,
                                           .decode = datasketches_decode_head};
