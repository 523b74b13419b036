/* npm's bloom-filters, version 3: JSON.stringify(BloomFilter.saveAsJSON()).
 *
 *     {"type":"BloomFilter","_size":M,"_nbHashes":K,"_filter":{"size":B,"content":"..."},"_seed":S}
 *
 * B is m rounded up to bytes, which follow in base64. A string is hashed as UTF-8, by XXH64 of
 * which the lower 32 bits count. Numbers all hash alike, so only strings are ids. */
#include "jobs/bloom/format.h"

#include <math.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* V8 has strings of at most 2^29 - 24 characters, and the class makes one of the bits. */
enum { NPM_TEXT_MAX = (1 << 29) - 24 - BLOOM_FORMAT_HEAD_MAX };
#define NPM_SEED     0x1234567890u /* getDefaultSeed */
#define NPM_SEED_END (1ull << 53)
static_assert(NPM_TEXT_MAX / 4 * 3 * 8ull < UINT32_MAX, "two hashes of 32 bits reach every bit");

/* The generator of doubleHashing. The library takes the seed modulo 2^32. */
static void npm_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                        uint64_t *out)
{
    const uint64_t seed = params->hash_seed[0];
    const uint64_t a = (uint32_t)XXH64(id, size, (uint32_t)(seed + 1));
    const uint64_t b = (uint32_t)XXH64(id, size, (uint32_t)(seed + 2));
    for (uint64_t i = 0; i < params->k; i++) out[i] = (a + i * b + (i * i * i - i) / 6) % params->m;
}

/* optimalFilterSize, optimalHashes. */
static void npm_size(double n, double p, double *out_m, double *out_k)
{
    *out_m = format_bits_for_rate(n, p);
    *out_k = ceil(*out_m / n * log(2));
}

static uint32_t npm_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_text(out, "{\"type\":\"BloomFilter\",\"_size\":");
    size += format_put_decimal(out + size, params->m);
    size += format_put_text(out + size, ",\"_nbHashes\":");
    size += format_put_decimal(out + size, params->k);
    size += format_put_text(out + size, ",\"_filter\":{\"size\":");
    size += format_put_decimal(out + size, bloom_round_up(params->m, 8));
    return size + format_put_text(out + size, ",\"content\":\"");
}

static uint32_t npm_encode_trailer(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_text(out, "\"},\"_seed\":");
    size += format_put_decimal(out + size, params->hash_seed[0]);
    return size + format_put_text(out + size, "}");
}

static const char *npm_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t k = 0, bits = 0;
    const char *wrong = format_get_text(head, "{");
    if (wrong == NULL) wrong = format_get_member(head, "\"type\"");
    if (wrong == NULL) wrong = format_get_text(head, "\"BloomFilter\"");
    if (wrong == NULL) wrong = format_get_text(head, ",");
    if (wrong == NULL) wrong = format_get_member(head, "\"_size\"");
    if (wrong == NULL) wrong = format_get_decimal(head, &params->m);
    if (wrong == NULL && params->m == 0) wrong = format_no_bits;
    if (wrong == NULL) wrong = format_get_text(head, ",");
    if (wrong == NULL) wrong = format_get_member(head, "\"_nbHashes\"");
    if (wrong == NULL) wrong = format_get_decimal(head, &k);
    if (wrong == NULL) wrong = format_check_k(k, params);
    if (wrong == NULL) wrong = format_get_text(head, ",");
    if (wrong == NULL) wrong = format_get_member(head, "\"_filter\"");
    if (wrong == NULL) wrong = format_get_text(head, "{");
    if (wrong == NULL) wrong = format_get_member(head, "\"size\"");
    if (wrong == NULL) wrong = format_get_decimal(head, &bits);
    if (wrong == NULL && (params->m > BLOOM_M_MAX || bits != bloom_round_up(params->m, 8)))
        wrong = "the bits are not as many as the header says";
    if (wrong == NULL) wrong = format_get_text(head, ",");
    if (wrong == NULL) wrong = format_get_member(head, "\"content\"");
    return wrong != NULL ? wrong : format_get_text(head, "\"");
}

static const char *npm_decode_trailer(struct head *head, struct bloom_params *params)
{
    head->at = head->end;
    if (head->end == head->size) return format_truncated;
    if (head->data[head->end++] != '"') return "the bits are not as many as the header says";
    const char *wrong = format_get_text(head, "}");
    if (wrong == NULL) wrong = format_get_text(head, ",");
    if (wrong == NULL) wrong = format_get_member(head, "\"_seed\"");
    if (wrong == NULL) wrong = format_get_decimal(head, &params->hash_seed[0]);
    if (wrong == NULL && params->hash_seed[0] >= NPM_SEED_END) wrong = "the number is too large";
    return wrong != NULL ? wrong : format_get_text(head, "}");
}

const struct format format_npm_bloom = {.name = "npm-bloom",
                                        .program = "npm's bloom-filters BloomFilter",
                                        .scheme = BLOOM_NPM_BLOOM,
                                        .body = FORMAT_BASE64,
                                        .m_max = NPM_TEXT_MAX / 4 * 3 * 8ull,
                                        .size_rule = npm_size,
                                        .default_seed = NPM_SEED,
                                        .indexes = npm_indexes,
                                        .encode = npm_encode_head,
                                        .encode_trailer = npm_encode_trailer,
                                        .decode = npm_decode_head,
                                        .decode_trailer = npm_decode_trailer};
