/* Schemes by name, the sizes of a filter and their bounds, and every result as a sentence. */
#include "jobs/bloom/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t k_max;
} schemes[BLOOM_SCHEMES] = {
    [BLOOM_SPARK] = {"spark", BLOOM_K_MAX},
    [BLOOM_HADOOP] = {"hadoop", BLOOM_K_MAX},
    [BLOOM_PLAIN] = {"plain", BLOOM_K_MAX},
    [BLOOM_POLY_ABS] = {"poly-abs", BLOOM_POLY_ABS_SEEDS},
    [BLOOM_POLY_MOD] = {"poly-mod", BLOOM_POLY_MOD_SEEDS},
    [BLOOM_MD5_RANDOM] = {"md5-random", BLOOM_K_MAX},
    [BLOOM_WIDE] = {"wide", BLOOM_K_MAX},
};

const char *bloom_strerror(enum bloom_result result)
{
    switch (result) {
    case BLOOM_OK: return "no error";
    case BLOOM_ERR_N: return "a filter needs at least one id";
    case BLOOM_ERR_P: return "the false positive probability must be inside (0, 1)";
    case BLOOM_ERR_M: return "the number of bits is 0 or more than the scheme can index";
    case BLOOM_ERR_K: return "the number of hashes is 0 or over 64";
    case BLOOM_ERR_SEEDS: return "the scheme has fewer seeds than hashes are wanted";
    case BLOOM_ERR_SCHEME: return "there is no hash scheme of that name";
    case BLOOM_ERR_MEMORY: return "there is no memory for the filter";
    case BLOOM_ERR_MISMATCH: return "the filters differ in scheme, bits or hashes";
    case BLOOM_ERR_TRUNCATED: return "the bytes end before the filter does";
    case BLOOM_ERR_TRAILING: return "bytes follow the end of the filter";
    case BLOOM_ERR_FORMAT: return "the bytes are not a filter";
    case BLOOM_ERR_VERSION: return "the filter is of another version of the format";
    case BLOOM_ERR_LENGTH: return "the length of the bits is not that of the header";
    case BLOOM_ERR_UNUSED: return "a bit behind the last one of the filter is set";
    case BLOOM_ERR_CHECKSUM: return "the checksum is wrong: the bytes are not those written";
    case BLOOM_ERR_COUNT: return "a set holds 1 to 4096 filters";
    case BLOOM_ERR_DIGEST: return "the crypto library refuses to compute MD5";
    }
    return "unknown result";
}

const char *bloom_scheme_name(enum bloom_scheme scheme)
{
    assert((unsigned)scheme < BLOOM_SCHEMES);
    return schemes[scheme].name;
}

enum bloom_result bloom_scheme_parse(const char *name, uint64_t size, enum bloom_scheme *out_scheme)
{
    for (unsigned i = 0; i < BLOOM_SCHEMES; i++) {
        if (strlen(schemes[i].name) == size && memcmp(schemes[i].name, name, size) == 0) {
            *out_scheme = (enum bloom_scheme)i;
            return BLOOM_OK;
        }
    }
    return BLOOM_ERR_SCHEME;
}

/* Operation by operation what Python evaluates, so that no m differs by one. The formula is that of
 * Bloom (1970): the m that is smallest for n and p, and the k that goes with it. */
enum bloom_result bloom_params_for(enum bloom_scheme scheme, uint64_t n, double p,
                                   struct bloom_params *out_params)
{
    if (n == 0) return BLOOM_ERR_N;
    if (!(p > 0 && p < 1)) return BLOOM_ERR_P;
    const double ln2 = log(2);
    double m = ceil(-(double)n * log(p) / (ln2 * ln2));
    double k = ceil(-log(p) / ln2);
    assert(m >= 1 && k >= 1);
    if (m > (double)BLOOM_M_MAX) return BLOOM_ERR_M;
    if (k > BLOOM_K_MAX) return BLOOM_ERR_K;
    *out_params =
        (struct bloom_params){.scheme = scheme, .n = n, .m = (uint64_t)m, .k = (uint32_t)k};
    return bloom_params_check(out_params);
}

static uint64_t m_max(const struct bloom_params *params)
{
    if (params->scheme == BLOOM_WIDE) return BLOOM_M_MAX;
    if (params->scheme != BLOOM_POLY_MOD) return INT32_MAX;
    uint32_t largest = bloom_poly_mod_seeds[params->k - 1];
    return ((uint64_t)INT32_MAX - UINT16_MAX) / largest;
}

enum bloom_result bloom_params_check(const struct bloom_params *params)
{
    if ((unsigned)params->scheme >= BLOOM_SCHEMES) return BLOOM_ERR_SCHEME;
    if (params->n == 0) return BLOOM_ERR_N;
    if (params->k == 0 || params->k > BLOOM_K_MAX) return BLOOM_ERR_K;
    if (params->k > schemes[params->scheme].k_max) return BLOOM_ERR_SEEDS;
    if (params->m == 0 || params->m > m_max(params)) return BLOOM_ERR_M;
    if (params->scheme == BLOOM_MD5_RANDOM && !bloom_md5_works()) return BLOOM_ERR_DIGEST;
    return BLOOM_OK;
}

uint64_t bloom_bytes(uint64_t m)
{
    return m / 8 + (m % 8 != 0);
}

double bloom_expected_rate(const struct bloom_params *params)
{
    assert(params->m > 0);
    double fill = 1 - exp(-(double)params->k * (double)params->n / (double)params->m);
    return pow(fill, params->k);
}

double bloom_rate_from_fill(const struct bloom_params *params, uint64_t bits_set)
{
    assert(params->m > 0 && bits_set <= params->m);
    return pow((double)bits_set / (double)params->m, params->k);
}
