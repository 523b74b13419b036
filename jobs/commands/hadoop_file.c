/* Every field is checked separately, so that the error names the offset of the invalid byte. */
#include "jobs/commands/hadoop_file.h"

#include <assert.h>
#include <stddef.h>

enum {
    VERSION_AT = 0,
    K_AT = 4,
    HASH_AT = 8,
    M_AT = 9,
    VERSION = -1,
    HASH_JENKINS = 0,
    HASH_MURMUR = 1
};

static void put_int(uint8_t *out, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) out[i] = (uint8_t)(value >> 8 * (3 - i));
}

static int32_t get_int(const uint8_t *data)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++) value = value << 8 | data[i];
    return (int32_t)value;
}

void hadoop_file_encode_head(const struct bloom_params *params, uint8_t out[HADOOP_HEAD_BYTES])
{
    assert(params->scheme == BLOOM_HADOOP_BLOOM && params->layout == BLOOM_CLASSIC);
    assert(params->m > 0 && params->m <= INT32_MAX);
    put_int(out + VERSION_AT, (uint32_t)VERSION);
    put_int(out + K_AT, params->k);
    out[HASH_AT] = HASH_MURMUR;
    put_int(out + M_AT, (uint32_t)params->m);
}

static const char *check_fields(const uint8_t *data, uint64_t *out_at)
{
    const int32_t k = get_int(data + K_AT), m = get_int(data + M_AT);
    *out_at = K_AT;
    if (k < 1) return "the number of hashes is not positive";
    if (k > BLOOM_K_MAX) return "there are more than 64 hashes, the limit";
    *out_at = HASH_AT;
    if (data[HASH_AT] == HASH_JENKINS) return "its hash is Jenkins; only Murmur is supported";
    if (data[HASH_AT] != HASH_MURMUR) return "its hash is unknown; only Murmur is supported";
    *out_at = M_AT;
    return m < 1 ? "the number of bits is not positive" : NULL;
}

const char *hadoop_file_decode_head(const uint8_t *data, uint64_t size,
                                    struct bloom_params *out_params, uint64_t *out_at)
{
    *out_params = (struct bloom_params){.scheme = BLOOM_HADOOP_BLOOM, .layout = BLOOM_CLASSIC};
    *out_at = VERSION_AT;
    if (size >= K_AT && get_int(data + VERSION_AT) > 0)
        return "it has the old version, whose hash is Jenkins; only Murmur is supported";
    if (size >= K_AT && get_int(data + VERSION_AT) != VERSION) return "its version is unknown";
    *out_at = size;
    if (size < HADOOP_HEAD_BYTES) return "the header of 13 bytes is truncated";
    const char *wrong = check_fields(data, out_at);
    if (wrong != NULL) return wrong;
    out_params->k = (uint32_t)get_int(data + K_AT);
    out_params->m = (uint64_t)get_int(data + M_AT);
    const uint64_t whole = HADOOP_HEAD_BYTES + bloom_bytes(out_params->m);
    *out_at = size < whole ? size : whole;
    if (size < whole) return "the bits are truncated";
    return size > whole ? "bytes follow the bits" : NULL;
}

const char *hadoop_file_decode(const uint8_t *data, uint64_t size, struct bloom_filter *out_view,
                               uint64_t *out_at)
{
    struct bloom_params params;
    *out_view = (struct bloom_filter){.bits = NULL};
    const char *wrong = hadoop_file_decode_head(data, size, &params, out_at);
    if (wrong != NULL) return wrong;
    const uint8_t *bits = data + HADOOP_HEAD_BYTES;
    assert(bloom_bytes(params.m) == size - HADOOP_HEAD_BYTES);
    *out_at = size - 1;
    if (params.m % 8 != 0 && bits[params.m / 8] >> params.m % 8 != 0)
        return "a bit after the last one is set";
    *out_view = (struct bloom_filter){.params = params, .bits = (uint8_t *)(uintptr_t)bits};
    return NULL;
}
