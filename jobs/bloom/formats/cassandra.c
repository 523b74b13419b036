/* Apache Cassandra: the file Filter.db of an SSTable, as BloomFilterSerializer writes it. k.4
 * words.4, big-endian, then bytes. The ids are partition keys, of at most 65,535 bytes. */
#include "jobs/bloom/format.h"
#include "jobs/bloom/murmur128.h"

enum { BUCKETS_MIN = 2, BUCKETS_MAX = 20, EXCESS = 20 };

/* BloomCalculations.probs, of version 5.0: the rate with so many bits per id and k hashes, k from 1
 * on; and the best k. */
static const double rates[BUCKETS_MAX + 1][15] = {
    [2] = {1.0, 0.393, 0.400},
    [3] = {1.0, 0.283, 0.237, 0.253},
    [4] = {1.0, 0.221, 0.155, 0.147, 0.160},
    [5] = {1.0, 0.181, 0.109, 0.092, 0.092, 0.101},
    [6] = {1.0, 0.154, 0.0804, 0.0609, 0.0561, 0.0578, 0.0638},
    [7] = {1.0, 0.133, 0.0618, 0.0423, 0.0359, 0.0347, 0.0364},
    [8] = {1.0, 0.118, 0.0489, 0.0306, 0.024, 0.0217, 0.0216, 0.0229},
    [9] = {1.0, 0.105, 0.0397, 0.0228, 0.0166, 0.0141, 0.0133, 0.0135, 0.0145},
    [10] = {1.0, 0.0952, 0.0329, 0.0174, 0.0118, 0.00943, 0.00844, 0.00819, 0.00846},
    [11] = {1.0, 0.0869, 0.0276, 0.0136, 0.00864, 0.0065, 0.00552, 0.00513, 0.00509},
    [12] = {1.0, 0.08, 0.0236, 0.0108, 0.00646, 0.00459, 0.00371, 0.00329, 0.00314},
    [13] = {1.0, 0.074, 0.0203, 0.00875, 0.00492, 0.00332, 0.00255, 0.00217, 0.00199, 0.00194},
    [14] = {1.0, 0.0689, 0.0177, 0.00718, 0.00381, 0.00244, 0.00179, 0.00146, 0.00129, 0.00121,
            0.0012},
    [15] = {1.0, 0.0645, 0.0156, 0.00596, 0.003, 0.00183, 0.00128, 0.001, 0.000852, 0.000775,
            0.000744},
    [16] = {1.0, 0.0606, 0.0138, 0.005, 0.00239, 0.00139, 0.000935, 0.000702, 0.000574, 0.000505,
            0.00047, 0.000459},
    [17] = {1.0, 0.0571, 0.0123, 0.00423, 0.00193, 0.00107, 0.000692, 0.000499, 0.000394, 0.000335,
            0.000302, 0.000287, 0.000284},
    [18] = {1.0, 0.054, 0.0111, 0.00362, 0.00158, 0.000839, 0.000519, 0.00036, 0.000275, 0.000226,
            0.000198, 0.000183, 0.000176},
    [19] = {1.0, 0.0513, 0.00998, 0.00312, 0.0013, 0.000663, 0.000394, 0.000264, 0.000194, 0.000155,
            0.000132, 0.000118, 0.000111, 0.000109},
    [20] = {1.0, 0.0488, 0.00906, 0.0027, 0.00108, 0.00053, 0.000303, 0.000196, 0.00014, 0.000108,
            8.89e-05, 7.77e-05, 7.12e-05, 6.79e-05, 6.71e-05},
};
static const uint8_t best_k[BUCKETS_MAX + 1] = {1, 1, 1, 2,  3,  3,  4,  5,  6,  6, 7,
                                                8, 8, 9, 10, 10, 11, 12, 12, 13, 14};

/* Signed as in Java: the remainder has the sign of the number. */
static void cassandra_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                              uint64_t *out)
{
    uint64_t h[2] = {0, 0};
    const uint64_t whole = murmur128_blocks(h, id, size);
    murmur128_end(h, id + whole, size, true);
    for (uint32_t i = 0; i < params->k; i++, h[1] += h[0])
        out[i] = (h[1] >> 63 ? -h[1] : h[1]) % params->m;
}

/* BloomCalculations.computeBloomSpec, FilterFactory.createFilter. No size is for p below the last
 * rate: then k is too large for every filter. From the first rate on k is 2 and the bits per id are
 * best_k[2] (5.0.9): the two are taken for each other. */
static void cassandra_size(double n, double p, double *out_m, double *out_k)
{
    uint32_t buckets = BUCKETS_MIN, k = best_k[BUCKETS_MIN];
    if (p >= rates[BUCKETS_MIN][1]) {
        *out_m = n * best_k[BUCKETS_MIN] + EXCESS;
        *out_k = BUCKETS_MIN;
        return;
    }
    if (p < rates[BUCKETS_MAX][best_k[BUCKETS_MAX]]) {
        *out_k = BLOOM_K_MAX + 1;
        return;
    }
    while (rates[buckets][k] > p) k = best_k[++buckets];
    while (k > 1 && rates[buckets][k - 1] <= p) k--;
    assert(buckets <= BUCKETS_MAX);
    *out_m = n * buckets + EXCESS;
    *out_k = k;
}

static uint32_t cassandra_encode_head(const struct bloom_params *params, uint8_t *out)
{
    uint32_t size = format_put_big_endian(out, params->k, 4);
    return size + format_put_big_endian(out + size, params->m / 64, 4);
}

static const char *cassandra_decode_head(struct head *head, struct bloom_params *params)
{
    const char *wrong = format_get_java_k(head, params);
    return wrong != NULL ? wrong : format_get_java_words(head, params);
}

const struct format format_cassandra = {.name = "cassandra",
                                        .program = "Cassandra's Filter.db",
                                        .scheme = BLOOM_CASSANDRA,
                                        .body = FORMAT_BYTES,
                                        .m_max = BLOOM_M_MAX,
                                        .id_max = UINT16_MAX,
                                        .size_rule = cassandra_size,
                                        .indexes = cassandra_indexes,
                                        .encode = cassandra_encode_head,
                                        .decode = cassandra_decode_head};
