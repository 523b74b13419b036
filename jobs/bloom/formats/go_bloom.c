/* Go's github.com/bits-and-blooms/bloom, version 3: BloomFilter.
 *
 *     go-bloom        m.8 k.8 m.8, big-endian, like the words that follow (WriteTo, MarshalBinary,
 *                     gob)
 *     go-bloom-json   {"m":M,"k":K,"b":"..."}, the last 8 bytes of that header and the words in
 *                     base64, with the digits of URLs (MarshalJSON) */
#include "jobs/bloom/format.h"
#include "jobs/bloom/murmur128.h"

#include <math.h>

/* The four halves of two MurmurHash3_x64_128: of the id, and of the id and a byte of 1. Index i is
 * h[i mod 2] + i * h[2 or 3]. */
static void go_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                       uint64_t *out)
{
    uint64_t h[4] = {0, 0, 0, 0};
    uint8_t tail[MURMUR128_BLOCK];
    const uint64_t whole = murmur128_blocks(h, id, size), left = size - whole;
    if (left > 0) memcpy(tail, id + whole, left);
    tail[left] = 1;
    memcpy(h + 2, h, 2 * sizeof *h);
    murmur128_end(h, tail, size, false);
    if (left + 1 == MURMUR128_BLOCK) murmur128_block(h + 2, tail);
    murmur128_end(h + 2, tail, size + 1, false);
    for (uint64_t i = 0; i < params->k; i++)
        out[i] = (h[i % 2] + i * h[2 + (i + i % 2) % 4 / 2]) % params->m;
}

/* EstimateParameters, and New: m and k are at least 1. */
static void go_size(double n, double p, double *out_m, double *out_k)
{
    *out_m = format_bits_for_rate(n, p);
    *out_k = ceil(log(2) * *out_m / n);
}

static uint32_t go_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_big_endian(out, params->m, 8);
    size += format_put_big_endian(out + size, params->k, 8);
    return size + format_put_big_endian(out + size, params->m, 8);
}

static const char *go_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t k, bits;
    if (!format_get_big_endian(head, 8, &params->m)) return format_truncated;
    if (params->m == 0) return format_no_bits;
    if (!format_get_big_endian(head, 8, &k)) return format_truncated;
    const char *wrong = format_check_k(k, params);
    if (wrong != NULL) return wrong;
    if (!format_get_big_endian(head, 8, &bits)) return format_truncated;
    return bits == params->m ? NULL : "the bits are not as many as the header says";
}

static uint32_t go_json_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_text(out, "{\"m\":");
    size += format_put_decimal(out + size, params->m);
    size += format_put_text(out + size, ",\"k\":");
    size += format_put_decimal(out + size, params->k);
    return size + format_put_text(out + size, ",\"b\":\"");
}

static uint32_t go_json_encode_trailer(const struct bloom_params *params, uint8_t *out)
{
    (void)params;
    return format_put_text(out, "\"}");
}

static const char *go_json_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t k;
    const char *wrong = format_get_text(head, "{");
    if (wrong == NULL) wrong = format_get_member(head, "\"m\"");
    if (wrong == NULL) wrong = format_get_decimal(head, &params->m);
    if (wrong == NULL && params->m == 0) wrong = format_no_bits;
    if (wrong == NULL) wrong = format_get_text(head, ",");
    if (wrong == NULL) wrong = format_get_member(head, "\"k\"");
    if (wrong == NULL) wrong = format_get_decimal(head, &k);
    if (wrong == NULL) wrong = format_check_k(k, params);
    if (wrong == NULL) wrong = format_get_text(head, ",");
    if (wrong == NULL) wrong = format_get_member(head, "\"b\"");
    return wrong != NULL ? wrong : format_get_text(head, "\"");
}

static const char *go_json_decode_trailer(struct head *head, struct bloom_params *params)
{
    (void)params;
    head->at = head->end;
    if (head->end == head->size) return format_truncated;
    if (head->data[head->end++] != '"') return "the bits are not as many as the header says";
    return format_get_text(head, "}");
}

const struct format format_go_bloom = {.name = "go-bloom",
                                       .program = "Go's bits-and-blooms BloomFilter",
                                       .scheme = BLOOM_GO_BLOOM,
                                       .body = FORMAT_WORDS,
                                       .m_max = BLOOM_M_MAX,
                                       .size_rule = go_size,
                                       .indexes = go_indexes,
                                       .encode = go_encode_head,
                                       .decode = go_decode_head};
const struct format format_go_bloom_json = {.name = "go-bloom-json",
                                            .program = "Go's bits-and-blooms BloomFilter as JSON",
                                            .scheme = BLOOM_GO_BLOOM,
                                            .body = FORMAT_BASE64_OF_WORDS,
                                            .m_max = BLOOM_M_MAX,
                                            .size_rule = go_size,
                                            .indexes = go_indexes,
                                            .encode = go_json_encode_head,
                                            .encode_trailer = go_json_encode_trailer,
                                            .decode = go_json_decode_head,
                                            .decode_trailer = go_json_decode_trailer};
