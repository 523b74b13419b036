/* ORC: the stream BLOOM_FILTER_UTF8 of one row group, decompressed: a BloomFilterIndex of
 * orc_proto.proto with one BloomFilter, of strings.
 *
 *     0a length   08 k   1a length   the bytes
 *
 * Lengths are varints. A stream of several row groups has as many filters; only one is supported.
 */
#include "jobs/bloom/format.h"
#include "jobs/bloom/id_type.h"
#include "jobs/bloom/murmur128.h"

#include <math.h>

enum { FILTER_FIELD = 0x0a, K_FIELD = 0x08, BITS_FIELD = 0x1a, SEED = 104729 };

/* Hive's Murmur3.hash64: as one half of MurmurHash3_x64_128, on words. */
static uint64_t orc_hash(const uint8_t *id, uint64_t size)
{
    uint64_t h = SEED, at = 0, k;
    for (; size - at >= 8; at += 8) {
        memcpy(&k, id + at, sizeof k);
        h ^= murmur128_rotl(k * MURMUR128_C1, 31) * MURMUR128_C2;
        h = murmur128_rotl(h, 27) * 5 + 0x52dce729;
    }
    k = 0;
    if (size > at) memcpy(&k, id + at, size - at);
    h ^= murmur128_rotl(k * MURMUR128_C1, 31) * MURMUR128_C2;
    return murmur128_mix(h ^ size);
}

/* BloomFilter.getLongHash: Thomas Wang's integer hash. */
static uint64_t orc_hash_of_long(const uint8_t *id)
{
    uint64_t key;
    memcpy(&key, id, sizeof key);
    key = ~key + (key << 21);
    key ^= (uint64_t)((int64_t)key >> 24);
    key = key + (key << 3) + (key << 8);
    key ^= (uint64_t)((int64_t)key >> 14);
    key = key + (key << 2) + (key << 4);
    key ^= (uint64_t)((int64_t)key >> 28);
    return key + (key << 31);
}

/* Of c and ~c, the one that is not negative, in 32 bits. */
static void orc_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                        uint64_t *out)
{
    const bool number = bloom_id_kind(params->id_type) > BLOOM_ID_BYTES && size == sizeof(uint64_t);
    const uint64_t hash = number ? orc_hash_of_long(id) : orc_hash(id, size);
    const uint32_t step = (uint32_t)(hash >> 32), m = (uint32_t)params->m;
    assert(params->m <= INT32_MAX);
    for (uint32_t i = 0, c = (uint32_t)hash + step; i < params->k; i++, c += step)
        out[i] = (c >> 31 ? ~c : c) % m;
}

/* BloomFilter(n, p): m is rounded up to the next multiple of 64, also if it is one; k follows from
 * that. */
static void orc_size(double n, double p, double *out_m, double *out_k)
{
    const double bits = trunc(-n * log(p) / (log(2) * log(2)));
    *out_m = bits + (64 - fmod(bits, 64));
    const double k = floor(*out_m / n * log(2) + 0.5);
    *out_k = k < 1 ? 1 : k;
}

static uint32_t orc_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint8_t inner[32] = {K_FIELD};
    uint32_t size = 1, head;
    size += format_put_varint(inner + size, params->k);
    inner[size++] = BITS_FIELD;
    size += format_put_varint(inner + size, params->m / 8);
    assert(size <= sizeof inner);
    out[0] = FILTER_FIELD;
    head = 1 + format_put_varint(out + 1, size + params->m / 8);
    memcpy(out + head, inner, size);
    return head + size;
}

static const char *decode_protobuf_field(struct head *head, uint64_t field, uint64_t *out)
{
    uint64_t byte;
    if (!format_get_big_endian(head, 1, &byte)) return format_truncated;
    if (byte == 0x11 || byte == 0x12)
        return "its bits are those of the stream BLOOM_FILTER; only BLOOM_FILTER_UTF8 is supported";
    return byte == field ? format_get_varint(head, out) : "another field is expected";
}

static const char *orc_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t length = 0, k = 0, bytes = 0;
    const char *wrong = decode_protobuf_field(head, FILTER_FIELD, &length);
    if (wrong != NULL) return wrong;
    const uint64_t end = head->end + length;
    if (length > INT32_MAX) return "the number is invalid";
    if (end < head->size) {
        head->at = end;
        return "it has several filters, of as many row groups; only one is supported";
    }
    wrong = decode_protobuf_field(head, K_FIELD, &k);
    if (wrong == NULL) wrong = format_check_k(k, params);
    if (wrong == NULL) wrong = decode_protobuf_field(head, BITS_FIELD, &bytes);
    if (wrong != NULL) return wrong;
    if (bytes == 0 || bytes > INT32_MAX / 8 || bytes % 8 != 0)
        return "the number of bytes is not a multiple of 8, or too large";
    params->m = bytes * 8;
    return head->end + bytes == end ? NULL : "the bits are not as many as the header says";
}

const struct format format_orc = {.name = "orc",
                                  .program = "ORC's BLOOM_FILTER_UTF8",
                                  .scheme = BLOOM_ORC,
                                  .body = FORMAT_BYTES,
                                  .m_max = INT32_MAX,
                                  .size_rule = orc_size,
                                  .indexes = orc_indexes,
                                  .encode = orc_encode_head,
                                  .decode = orc_decode_head};
