/* Hadoop: org.apache.hadoop.util.bloom.BloomFilter. -1.4 k.4 hash.1 m.4, big-endian, then bytes.
 * The class takes m and k, so it has no rule for them; its Key throws for an empty id. */
#include "jobs/bloom/format.h"
#include "jobs/bloom/murmur.h"

enum { HADOOP_VERSION = -1, HADOOP_JENKINS = 0, HADOOP_MURMUR = 1 };

/* Each hash is the seed of the next one; the first seed is 0. */
static void hadoop_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                           uint64_t *out)
{
    struct murmur_id prepared;
    uint32_t h = 0;
    assert(params->m <= INT32_MAX);
    murmur2_prepare(&prepared, id, size);
    for (uint32_t i = 0; i < params->k; i++) {
        h = murmur2_hash(&prepared, h);
        out[i] = (h >> 31 ? -h : h) % (uint32_t)params->m;
    }
}

static uint32_t hadoop_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_big_endian(out, (uint64_t)HADOOP_VERSION, 4);
    size += format_put_big_endian(out + size, params->k, 4);
    size += format_put_big_endian(out + size, HADOOP_MURMUR, 1);
    return size + format_put_big_endian(out + size, params->m, 4);
}

static const char *hadoop_decode_head(struct head *head, struct bloom_params *params)
{
    int64_t version, m;
    uint64_t hash;
    if (!format_get_java_int(head, &version)) return format_truncated;
    if (version > 0)
        return "it has the old version, whose hash is Jenkins; only Murmur is supported";
    if (version != HADOOP_VERSION) return "its version is unknown";
    const char *wrong = format_get_java_k(head, params);
    if (wrong != NULL) return wrong;
    if (!format_get_big_endian(head, 1, &hash)) return format_truncated;
    if (hash == HADOOP_JENKINS) return "its hash is Jenkins; only Murmur is supported";
    if (hash != HADOOP_MURMUR) return "its hash is unknown; only Murmur is supported";
    if (!format_get_java_int(head, &m)) return format_truncated;
    params->m = m > 0 ? (uint64_t)m : 0;
    return m > 0 ? NULL : format_no_bits;
}

const struct format format_hadoop = {.name = "hadoop",
                                     .program = "Hadoop's BloomFilter",
                                     .scheme = BLOOM_HADOOP_BLOOM,
                                     .body = FORMAT_BYTES,
                                     .m_max = INT32_MAX,
                                     .id_min = 1,
                                     .indexes = hadoop_indexes,
                                     .encode = hadoop_encode_head,
                                     .decode = hadoop_decode_head};
