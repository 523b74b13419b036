/* Parquet: BloomFilterHeader of parquet.thrift, in Thrift's compact protocol, then the bytes. The
 * index rule is that of the layout split-block (blocks.c). */
#include "jobs/bloom/format.h"

#include <string.h>

/* After the number of bytes: SPLIT_BLOCK, XXHASH, UNCOMPRESSED, each a union with an empty struct;
 * and the end of the header. */
static const uint8_t parquet_kinds[] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};
enum { PARQUET_BYTES_FIELD = 0x15, PARQUET_BYTES_MAX = 128 << 20 };

static uint32_t parquet_encode_head(const struct bloom_params *params, uint8_t *out)
{
    out[0] = PARQUET_BYTES_FIELD;
    const uint32_t size = 1 + format_put_varint(out + 1, params->m / 8 * 2); /* zigzag */
    assert(params->m / 8 <= PARQUET_BYTES_MAX);
    memcpy(out + size, parquet_kinds, sizeof parquet_kinds);
    return size + (uint32_t)sizeof parquet_kinds;
}

static const char *parquet_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t byte, zigzag;
    if (!format_get_big_endian(head, 1, &byte)) return format_truncated;
    if (byte != PARQUET_BYTES_FIELD) return "the header does not begin with the number of bytes";
    const uint64_t at = head->end;
    const char *wrong = format_get_varint(head, &zigzag);
    if (wrong != NULL) return wrong;
    if (zigzag > UINT32_MAX) return "the number is invalid";
    for (uint32_t i = 0; i < sizeof parquet_kinds; i++) {
        if (!format_get_big_endian(head, 1, &byte)) return format_truncated;
        if (byte != parquet_kinds[i])
            return "only the algorithm BLOCK, the hash XXHASH, and no compression are supported";
    }
    head->at = at;
    params->k = BLOOM_K_SPLIT;
    params->m = zigzag / 2 * 8;
    if (zigzag == 0 || zigzag % 2 != 0) return "the number of bytes is not positive";
    if (zigzag / 2 > PARQUET_BYTES_MAX) return "there are more than 128 MiB, the limit of Parquet";
    return params->m % 256 == 0 ? NULL : "the number of bytes is not a multiple of 32";
}

uint64_t bloom_parquet_size(const uint8_t *data, uint64_t size)
{
    struct head head = {.data = data, .have = size, .size = size};
    struct bloom_params params = {.n = 0};
    return parquet_decode_head(&head, &params) == NULL ? head.end + params.m / 8 : 0;
}

const struct format format_parquet = {.name = "parquet",
                                      .program = "a Parquet Bloom filter",
                                      .scheme = BLOOM_XXH64,
                                      .layout = BLOOM_SPLIT_BLOCK,
                                      .body = FORMAT_BYTES,
                                      .m_max = (uint64_t)PARQUET_BYTES_MAX * 8,
                                      .encode = parquet_encode_head,
                                      .decode = parquet_decode_head};
