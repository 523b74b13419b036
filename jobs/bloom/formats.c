/* Every field of a header is checked separately, so that the error names the offset of the invalid
 * byte. Encoding and decoding of a format stand next to each other. */
#include "jobs/bloom/formats.h"

#include "jobs/bloom/internal.h"

#include <string.h>

struct head {
    const uint8_t *data; /* BLOOM_FORMAT_HEAD_MAX bytes, zeros after the end of the file */
    uint64_t size;       /* of the file */
    uint32_t end;        /* of the header */
    uint64_t at;         /* of the field that was read last, for errors */
};

struct format {
    const char *name, *program;
    enum bloom_scheme scheme;
    enum bloom_layout layout;
    bool words;
    uint64_t m_max;
    uint32_t (*encode)(const struct bloom_params *params, uint8_t *out);
    const char *(*decode)(struct head *head, struct bloom_params *params);
};

static const char *const truncated = "the header is truncated";
static const char *const no_bits = "the number of bits is not positive";

/* ---- Numbers */

static uint32_t put_big_endian_bytes(uint8_t *out, uint64_t value, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) out[i] = (uint8_t)(value >> 8 * (size - 1 - i));
    return size;
}

/* Reads the next `size` bytes; false: the file ends before. */
static bool get_big_endian_bytes(struct head *head, uint32_t size, uint64_t *out)
{
    *out = 0;
    head->at = head->end;
    if (head->size < head->end + size) {
        head->at = head->size;
        return false;
    }
    assert(head->end + size <= BLOOM_FORMAT_HEAD_MAX);
    for (uint32_t i = 0; i < size; i++) *out = *out << 8 | head->data[head->end++];
    return true;
}

static bool get_java_int(struct head *head, int64_t *out)
{
    uint64_t value;
    bool there = get_big_endian_bytes(head, 4, &value);
    *out = (int32_t)(uint32_t)value;
    return there;
}

static const char *check_hash_count(int64_t k, struct bloom_params *params)
{
    if (k < 1) return "the number of hashes is not positive";
    if (k > BLOOM_K_MAX) return "there are more than 64 hashes, the limit";
    params->k = (uint32_t)k;
    return NULL;
}

static const char *get_hash_count(struct head *head, struct bloom_params *params)
{
    int64_t k;
    return get_java_int(head, &k) ? check_hash_count(k, params) : truncated;
}

static const char *get_bits_as_words(struct head *head, struct bloom_params *params)
{
    int64_t words;
    if (!get_java_int(head, &words)) return truncated;
    params->m = words > 0 ? (uint64_t)words * 64 : 0;
    return words > 0 ? NULL : no_bits;
}

/* ---- Spark: BitArray, BloomFilterImpl, BloomFilterImplV2 of org.apache.spark.util.sketch */

enum { SPARK_V1 = 1, SPARK_V2 = 2 };

static uint32_t spark_encode(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = put_big_endian_bytes(out, SPARK_V1, 4);
    size += put_big_endian_bytes(out + size, params->k, 4);
    return size + put_big_endian_bytes(out + size, params->m / 64, 4);
}

static const char *spark_decode(struct head *head, struct bloom_params *params)
{
    int64_t version;
    if (!get_java_int(head, &version)) return truncated;
    if (version == SPARK_V2) return "it has version 2: use --format spark-v2";
    if (version != SPARK_V1) return "its version is unknown";
    const char *wrong = get_hash_count(head, params);
    return wrong != NULL ? wrong : get_bits_as_words(head, params);
}

static uint32_t spark_v2_encode(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = put_big_endian_bytes(out, SPARK_V2, 4);
    size += put_big_endian_bytes(out + size, params->k, 4);
    size += put_big_endian_bytes(out + size, 0, 4);
    return size + put_big_endian_bytes(out + size, params->m / 64, 4);
}

static const char *spark_v2_decode(struct head *head, struct bloom_params *params)
{
    int64_t version, seed;
    if (!get_java_int(head, &version)) return truncated;
    if (version == SPARK_V1) return "it has version 1: use --format spark";
    if (version != SPARK_V2) return "its version is unknown";
    const char *wrong = get_hash_count(head, params);
    if (wrong != NULL) return wrong;
    if (!get_java_int(head, &seed)) return truncated;
    return seed != 0 ? "its seed is not 0, the only one that is supported"
                     : get_bits_as_words(head, params);
}

/* ---- Hadoop: org.apache.hadoop.util.bloom.BloomFilter */

enum { HADOOP_VERSION = -1, HADOOP_JENKINS = 0, HADOOP_MURMUR = 1 };

static uint32_t hadoop_encode(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = put_big_endian_bytes(out, (uint64_t)HADOOP_VERSION, 4);
    size += put_big_endian_bytes(out + size, params->k, 4);
    size += put_big_endian_bytes(out + size, HADOOP_MURMUR, 1);
    return size + put_big_endian_bytes(out + size, params->m, 4);
}

static const char *hadoop_decode(struct head *head, struct bloom_params *params)
{
    int64_t version, m;
    uint64_t hash;
    if (!get_java_int(head, &version)) return truncated;
    if (version > 0)
        return "it has the old version, whose hash is Jenkins; only Murmur is supported";
    if (version != HADOOP_VERSION) return "its version is unknown";
    const char *wrong = get_hash_count(head, params);
    if (wrong != NULL) return wrong;
    if (!get_big_endian_bytes(head, 1, &hash)) return truncated;
    if (hash == HADOOP_JENKINS) return "its hash is Jenkins; only Murmur is supported";
    if (hash != HADOOP_MURMUR) return "its hash is unknown; only Murmur is supported";
    if (!get_java_int(head, &m)) return truncated;
    params->m = m > 0 ? (uint64_t)m : 0;
    return m > 0 ? NULL : no_bits;
}

/* ---- Guava: com.google.common.hash.BloomFilter */

enum { GUAVA_MITZ_32 = 0, GUAVA_MITZ_64 = 1 };

static uint32_t guava_encode(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = put_big_endian_bytes(out, GUAVA_MITZ_64, 1);
    size += put_big_endian_bytes(out + size, params->k, 1);
    return size + put_big_endian_bytes(out + size, params->m / 64, 4);
}

static const char *guava_decode(struct head *head, struct bloom_params *params)
{
    uint64_t strategy, k;
    if (!get_big_endian_bytes(head, 1, &strategy)) return truncated;
    if (strategy == GUAVA_MITZ_32)
        return "its strategy is MURMUR128_MITZ_32; only MURMUR128_MITZ_64 is supported";
    if (strategy != GUAVA_MITZ_64) return "its strategy is unknown";
    if (!get_big_endian_bytes(head, 1, &k)) return truncated;
    const char *wrong = check_hash_count((int64_t)k, params);
    return wrong != NULL ? wrong : get_bits_as_words(head, params);
}

/* ---- Parquet: BloomFilterHeader of parquet.thrift, in Thrift's compact protocol */

/* After the number of bytes: SPLIT_BLOCK, XXHASH, UNCOMPRESSED, each a union with an empty struct;
 * and the end of the header. */
static const uint8_t parquet_kinds[] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};
enum { PARQUET_BYTES_FIELD = 0x15, PARQUET_BYTES_MAX = 128 << 20 };

static uint32_t parquet_encode(const struct bloom_params *params, uint8_t *out)
{
    uint64_t zigzag = params->m / 8 * 2;
    uint32_t size = 0;
    out[size++] = PARQUET_BYTES_FIELD;
    for (; zigzag > 0x7f; zigzag >>= 7) out[size++] = (uint8_t)(zigzag | 0x80);
    out[size++] = (uint8_t)zigzag;
    memcpy(out + size, parquet_kinds, sizeof parquet_kinds);
    return size + (uint32_t)sizeof parquet_kinds;
}

static const char *parquet_decode(struct head *head, struct bloom_params *params)
{
    uint64_t byte = 0x80, zigzag = 0;
    if (!get_big_endian_bytes(head, 1, &byte)) return truncated;
    if (byte != PARQUET_BYTES_FIELD) return "the header does not begin with the number of bytes";
    const uint64_t at = head->end;
    for (uint32_t shift = 0; byte >= 0x80 || shift == 0; shift += 7) {
        if (!get_big_endian_bytes(head, 1, &byte)) return truncated;
        if (shift > 28 || (shift > 0 && byte == 0)) return "the number of bytes is invalid";
        zigzag |= (byte & 0x7f) << shift;
    }
    for (uint32_t i = 0; i < sizeof parquet_kinds; i++) {
        if (!get_big_endian_bytes(head, 1, &byte)) return truncated;
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

/* ---- rbloom: Bloom.save */

static uint32_t rbloom_encode(const struct bloom_params *params, uint8_t *out)
{
    for (uint32_t i = 0; i < 8; i++) out[i] = (uint8_t)((uint64_t)params->k >> 8 * i);
    return 8;
}

static const char *rbloom_decode(struct head *head, struct bloom_params *params)
{
    uint64_t k;
    if (!get_big_endian_bytes(head, 8, &k)) return truncated;
    k = __builtin_bswap64(k);
    const char *wrong = check_hash_count(k > BLOOM_K_MAX ? BLOOM_K_MAX + 1 : (int64_t)k, params);
    if (wrong != NULL) return wrong;
    head->at = head->size;
    params->m = (head->size - head->end) * 8;
    return params->m > 0 ? NULL : "it has no bits";
}

/* ---- Arrays of bits */

static uint32_t raw_bits_encode(const struct bloom_params *params, uint8_t *out)
{
    (void)params;
    (void)out;
    return 0;
}

static const char *raw_bits_decode(struct head *head, struct bloom_params *params)
{
    head->at = head->size;
    if (params->m == 0) params->m = head->size * 8;
    return params->m > 0 ? NULL : "it has no bits";
}

/* ---- All formats */

static const struct format formats[BLOOM_FORMATS] = {
    [BLOOM_FORMAT_BITS] = {"bits", "a raw array of bits", BLOOM_SCHEMES, BLOOM_CLASSIC, false,
                           BLOOM_M_MAX, raw_bits_encode, raw_bits_decode},
    [BLOOM_FORMAT_SPARK] = {"spark", "Spark's BloomFilter, version 1", BLOOM_SPARK_BLOOM,
                            BLOOM_CLASSIC, true, INT32_MAX, spark_encode, spark_decode},
    [BLOOM_FORMAT_SPARK_V2] = {"spark-v2", "Spark's BloomFilter, version 2", BLOOM_SPARK_BLOOM_V2,
                               BLOOM_CLASSIC, true, BLOOM_M_MAX, spark_v2_encode, spark_v2_decode},
    [BLOOM_FORMAT_HADOOP] = {"hadoop", "Hadoop's BloomFilter", BLOOM_HADOOP_BLOOM, BLOOM_CLASSIC,
                             false, INT32_MAX, hadoop_encode, hadoop_decode},
    [BLOOM_FORMAT_GUAVA] = {"guava", "Guava's BloomFilter", BLOOM_GUAVA, BLOOM_CLASSIC, true,
                            BLOOM_M_MAX, guava_encode, guava_decode},
    [BLOOM_FORMAT_PARQUET] = {"parquet", "a Parquet Bloom filter", BLOOM_XXH64, BLOOM_SPLIT_BLOCK,
                              false, (uint64_t)PARQUET_BYTES_MAX * 8, parquet_encode,
                              parquet_decode},
    [BLOOM_FORMAT_RBLOOM] = {"rbloom", "rbloom's Bloom", BLOOM_RBLOOM, BLOOM_CLASSIC, false,
                             BLOOM_M_MAX, rbloom_encode, rbloom_decode},
};

static const struct format *bloom_format_row(enum bloom_format format)
{
    assert((unsigned)format < BLOOM_FORMATS);
    return &formats[format];
}

const char *bloom_format_name(enum bloom_format format)
{
    return bloom_format_row(format)->name;
}

const char *bloom_format_program(enum bloom_format format)
{
    return bloom_format_row(format)->program;
}

bool bloom_format_parse(const char *name, uint64_t size, enum bloom_format *out_format)
{
    for (unsigned i = 0; i < BLOOM_FORMATS; i++) {
        if (strlen(formats[i].name) != size || memcmp(formats[i].name, name, size) != 0) continue;
        *out_format = (enum bloom_format)i;
        return true;
    }
    return false;
}

enum bloom_scheme bloom_format_scheme(enum bloom_format format)
{
    assert(format != BLOOM_FORMAT_BITS);
    return bloom_format_row(format)->scheme;
}

enum bloom_layout bloom_format_layout(enum bloom_format format)
{
    assert(format != BLOOM_FORMAT_BITS);
    return bloom_format_row(format)->layout;
}

bool bloom_format_fits(enum bloom_format format, const struct bloom_params *params)
{
    const struct format *f = bloom_format_row(format);
    return format == BLOOM_FORMAT_BITS ||
           (params->scheme == f->scheme && params->layout == f->layout);
}

uint64_t bloom_format_m_max(enum bloom_format format)
{
    return bloom_format_row(format)->m_max;
}

uint32_t bloom_format_encode_head(enum bloom_format format, const struct bloom_params *params,
                                  uint8_t out[BLOOM_FORMAT_HEAD_MAX])
{
    const struct format *f = bloom_format_row(format);
    assert(bloom_format_fits(format, params) && params->m > 0 && params->m <= f->m_max);
    assert(!f->words || params->m % 64 == 0);
    uint32_t size = f->encode(params, out);
    assert(size <= BLOOM_FORMAT_HEAD_MAX);
    return size;
}

void bloom_format_convert(enum bloom_format format, uint8_t *bits, uint64_t size)
{
    if (!bloom_format_row(format)->words) return;
    assert(size % BLOOM_FORMAT_WORD == 0);
    for (uint64_t at = 0; at < size; at += BLOOM_FORMAT_WORD) {
        uint64_t word;
        memcpy(&word, bits + at, sizeof word);
        word = __builtin_bswap64(word);
        memcpy(bits + at, &word, sizeof word);
    }
}

const char *bloom_format_decode_head(enum bloom_format format, const uint8_t *data, uint64_t size,
                                     struct bloom_params *params, uint32_t *out_head,
                                     uint64_t *out_at)
{
    const struct format *f = bloom_format_row(format);
    struct head head = {.data = data, .size = size};
    if (format != BLOOM_FORMAT_BITS)
        *params = (struct bloom_params){.scheme = f->scheme, .n = params->n, .layout = f->layout};
    const char *wrong = f->decode(&head, params);
    *out_at = head.at;
    if (wrong != NULL) return wrong;
    assert(params->m > 0 && head.end <= size);
    if (params->m > f->m_max) return "it has more bits than the scheme can index";
    const uint64_t whole = head.end + bloom_bytes(params->m);
    *out_head = head.end;
    *out_at = size < whole ? size : whole;
    if (size < whole) return "the bits are truncated";
    return size > whole ? "bytes follow the bits" : NULL;
}

const char *bloom_format_decode(enum bloom_format format, uint8_t *data, uint64_t size,
                                const struct bloom_params *params, struct bloom_filter *out_view,
                                uint64_t *out_at)
{
    uint32_t head = 0;
    *out_view = (struct bloom_filter){.params = *params};
    const char *wrong =
        bloom_format_decode_head(format, data, size, &out_view->params, &head, out_at);
    if (wrong != NULL) return wrong;
    const uint64_t m = out_view->params.m;
    uint8_t *bits = data + head;
    *out_at = size - 1;
    if (m % 8 != 0 && bits[m / 8] >> m % 8 != 0) return "a bit after the last one is set";
    bloom_format_convert(format, bits, size - head);
    out_view->bits = bits;
    return NULL;
}
