/* Python's rbloom: Bloom.save. k.8, little-endian, then all bytes of the file. */
#include "jobs/bloom/format.h"

#include <math.h>
#include <murmurhash.h>

/* The linear congruential generator of src/lib.rs, seeded with the hash. */
static void rbloom_indexes(const struct bloom_params *params, const uint8_t *id, uint64_t size,
                           uint64_t *out)
{
    const unsigned __int128 factor =
        (unsigned __int128)0x2360ed051fc65da4u << 64 | 0x4385df649fcb5cedu;
    uint64_t hash[2];
    assert(size <= UINT32_MAX);
    lmmh_x64_128(id, (unsigned)size, 0, hash);
    unsigned __int128 s = (unsigned __int128)hash[1] << 64 | hash[0];
    for (uint32_t i = 0; i < params->k; i++) {
        s = s * factor + 1;
        out[i] = (uint64_t)(s >> 32) % params->m;
    }
}

/* k is rounded down, m too, and then up to bytes. */
static void rbloom_size(double n, double p, double *out_m, double *out_k)
{
    const double bits = -n * log(p) / (log(2) * log(2));
    *out_m = trunc(bits);
    *out_k = trunc(bits / n * log(2));
}

static uint32_t rbloom_encode_head(const struct bloom_params *params, uint8_t *out)
{
    return format_put_little_endian(out, params->k, 8);
}

static const char *rbloom_decode_head(struct head *head, struct bloom_params *params)
{
    uint64_t k;
    if (!format_get_little_endian(head, 8, &k)) return format_truncated;
    if (k == 0) return "it has no hashes, so the class finds every id in it";
    const char *wrong = format_check_k(k, params);
    if (wrong != NULL) return wrong;
    head->at = head->size;
    params->m = (head->size - head->end) * 8;
    return params->m > 0 ? NULL : "it has no bits";
}

const struct format format_rbloom = {.name = "rbloom",
                                     .program = "rbloom's Bloom",
                                     .scheme = BLOOM_RBLOOM,
                                     .body = FORMAT_BYTES,
                                     .m_max = BLOOM_M_MAX,
                                     .size_rule = rbloom_size,
                                     .indexes = rbloom_indexes,
                                     .encode = rbloom_encode_head,
                                     .decode = rbloom_decode_head};
