/* Names of schemes and layouts, limits of a filter, and texts of all results. */
#include "jobs/bloom/counting.h"
#include "jobs/bloom/id_type.h"
#include "jobs/bloom/internal.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t k_max;
    uint32_t word_bits; /* m is a multiple of it */
    bool wide;          /* indexes have 64 bits */
    uint32_t seed_bits; /* of the seed of its hash; 0: none */
} schemes[BLOOM_SCHEMES] = {
    [BLOOM_SPARK] = {"spark", BLOOM_K_MAX, 1, false, 0},
    [BLOOM_HADOOP] = {"hadoop", BLOOM_K_MAX, 1, false, 0},
    [BLOOM_PLAIN] = {"plain", BLOOM_K_MAX, 1, false, 0},
    [BLOOM_POLY_ABS] = {"poly-abs", BLOOM_POLY_ABS_SEEDS, 1, false, 0},
    [BLOOM_POLY_MOD] = {"poly-mod", BLOOM_POLY_MOD_SEEDS, 1, false, 0},
    [BLOOM_MD5_RANDOM] = {"md5-random", BLOOM_K_MAX, 1, false, 0},
    [BLOOM_WIDE] = {"wide", BLOOM_K_MAX, 1, true, 0},
    [BLOOM_XXH64] = {"xxh64", 0, 1, true, 0},
    [BLOOM_HADOOP_BLOOM] = {"hadoop-bloom", BLOOM_K_MAX, 1, false, 0},
    [BLOOM_SPARK_BLOOM] = {"spark-bloom", BLOOM_K_MAX, 64, false, 0},
    [BLOOM_SPARK_BLOOM_V2] = {"spark-bloom-v2", BLOOM_K_MAX, 64, true, 32},
    [BLOOM_GUAVA] = {"guava", BLOOM_K_MAX, 64, true, 0},
    [BLOOM_RBLOOM] = {"rbloom", BLOOM_K_MAX, 8, true, 0},
    [BLOOM_GO_BLOOM] = {"go-bloom", BLOOM_K_MAX, 1, true, 0},
    [BLOOM_DATASKETCHES] = {"datasketches", BLOOM_K_MAX, 64, true, 64},
    [BLOOM_NPM_BLOOM] = {"npm-bloom", BLOOM_K_MAX, 1, true, 53},
    [BLOOM_REDISBLOOM] = {"redisbloom", BLOOM_K_MAX, 64, true, 0},
    [BLOOM_FASTBLOOM] = {"fastbloom", BLOOM_K_MAX, 64, true, 128},
    [BLOOM_ORC] = {"orc", BLOOM_K_MAX, 64, false, 0},
    [BLOOM_CASSANDRA] = {"cassandra", BLOOM_K_MAX, 64, true, 0},
};

static const struct {
    const char *name;
    enum bloom_scheme scheme;
    uint32_t block_bits;
} layouts[BLOOM_LAYOUTS] = {
    [BLOOM_CLASSIC] = {"classic", BLOOM_SPARK, 1},
    [BLOOM_BLOCK512] = {"block512", BLOOM_XXH64, 512},
    [BLOOM_SPLIT_BLOCK] = {"split-block", BLOOM_XXH64, 256},
    [BLOOM_FUSE8] = {"fuse8", BLOOM_XXH64, 8},
    [BLOOM_FUSE16] = {"fuse16", BLOOM_XXH64, 8},
    [BLOOM_EXACT] = {"exact", BLOOM_XXH64, 8},
    [BLOOM_COUNTING] = {"counting", BLOOM_SPARK, COUNTING_BITS},
};

const char *bloom_strerror(enum bloom_result result)
{
    switch (result) {
    case BLOOM_OK: return "no error";
    case BLOOM_ERR_N: return "a filter needs at least one id";
    case BLOOM_ERR_P: return "the false positive probability must be inside (0, 1)";
    case BLOOM_ERR_M: return "the number of bits is 0 or more than the scheme can index";
    case BLOOM_ERR_K: return "the number of hashes is 0 or over 255";
    case BLOOM_ERR_SEEDS: return "the scheme has fewer seeds than the number of hashes";
    case BLOOM_ERR_SCHEME: return "unknown hash scheme";
    case BLOOM_ERR_MEMORY: return "out of memory for the filter";
    case BLOOM_ERR_MISMATCH: return "the filters differ in scheme, bits or hashes";
    case BLOOM_ERR_TRUNCATED: return "the filter is truncated";
    case BLOOM_ERR_TRAILING: return "bytes follow the end of the filter";
    case BLOOM_ERR_FORMAT: return "the bytes are not a filter";
    case BLOOM_ERR_VERSION: return "the filter has another version of the format";
    case BLOOM_ERR_LENGTH: return "the length of the bits does not match the header";
    case BLOOM_ERR_UNUSED: return "a bit after the last one of the filter is set";
    case BLOOM_ERR_CHECKSUM: return "the checksum does not match: the filter is damaged";
    case BLOOM_ERR_COUNT: return "a set holds 1 to 4096 filters";
    case BLOOM_ERR_LAYOUT: return "unknown layout";
    case BLOOM_ERR_PAIR:
        return "the layout does not support the scheme: classic and counting support all but "
               "xxh64, the others xxh64 and wide";
    case BLOOM_ERR_BLOCKS:
        return "the number of bits is not a whole number of blocks, or of the scheme's words";
    case BLOOM_ERR_K_LAYOUT:
        return "invalid number of hashes for the layout: block512 has 1 to 24, split-block 8, "
               "fuse8 and fuse16 3, exact 2";
    case BLOOM_ERR_P_LAYOUT: return "the layout cannot reach such a small probability";
    case BLOOM_ERR_SEGMENT:
        return "it is one segment of a filter built with --strategy segments, which only "
               "bloom-test and glint filter can read; for other jobs build with --strategy indexes "
               "or partials";
    case BLOOM_ERR_MIXED: return "the segments are from several builds";
    case BLOOM_ERR_TWICE: return "duplicate segment";
    case BLOOM_ERR_MISSING: return "a segment is missing";
    case BLOOM_ERR_PART: return "the segment's size or index is out of bounds";
    case BLOOM_ERR_SEEDED:
        return "invalid seeds: poly-abs and poly-mod have up to 64 (those of poly-mod are below "
               "2^31), spark-bloom-v2, datasketches, npm-bloom and fastbloom one";
    case BLOOM_ERR_ID_TYPE: return "unknown type of ids, or one for which the scheme has no rule";
    case BLOOM_ERR_STATIC:
        return "a filter of the layout fuse8, fuse16 or exact is built from all its ids at once, "
               "and cannot be changed or united";
    case BLOOM_ERR_SHARDS: return "the shards do not fit the size of the filter, or its ids";
    case BLOOM_ERR_ABSENT: return "the id is not in the filter";
    case BLOOM_ERR_REMOVE: return "only filters of the layout counting can remove ids";
    case BLOOM_ERR_BITS: return "a filter needs at least 1 bit per id";
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

const char *bloom_layout_name(enum bloom_layout layout)
{
    assert((unsigned)layout < BLOOM_LAYOUTS);
    return layouts[layout].name;
}

enum bloom_result bloom_layout_parse(const char *name, uint64_t size, enum bloom_layout *out_layout)
{
    for (unsigned i = 0; i < BLOOM_LAYOUTS; i++) {
        if (strlen(layouts[i].name) == size && memcmp(layouts[i].name, name, size) == 0) {
            *out_layout = (enum bloom_layout)i;
            return BLOOM_OK;
        }
    }
    return BLOOM_ERR_LAYOUT;
}

uint32_t bloom_block_bits(enum bloom_layout layout)
{
    assert((unsigned)layout < BLOOM_LAYOUTS);
    return layouts[layout].block_bits;
}

enum bloom_scheme bloom_layout_scheme(enum bloom_layout layout)
{
    assert((unsigned)layout < BLOOM_LAYOUTS);
    return layouts[layout].scheme;
}

uint32_t bloom_scheme_k_max(enum bloom_scheme scheme)
{
    assert((unsigned)scheme < BLOOM_SCHEMES);
    return schemes[scheme].k_max;
}

uint32_t bloom_unit_bits(enum bloom_scheme scheme, enum bloom_layout layout)
{
    assert((unsigned)scheme < BLOOM_SCHEMES);
    if (layout == BLOOM_COUNTING) return schemes[scheme].word_bits * COUNTING_BITS;
    return layout != BLOOM_CLASSIC ? bloom_block_bits(layout) : schemes[scheme].word_bits;
}

bool bloom_indexes_are_wide(const struct bloom_params *params)
{
    return schemes[params->scheme].wide || !bloom_has_indexes(params->layout);
}

uint64_t bloom_m_max(const struct bloom_params *params)
{
    if (schemes[params->scheme].wide) return BLOOM_M_MAX;
    if (params->scheme != BLOOM_POLY_MOD || params->seeds != NULL) return INT32_MAX;
    uint32_t largest = bloom_poly_mod_seeds[params->k - 1];
    return ((uint64_t)INT32_MAX - UINT16_MAX) / largest;
}

enum bloom_result bloom_check_scheme_and_layout(enum bloom_scheme scheme, enum bloom_layout layout)
{
    if ((unsigned)scheme >= BLOOM_SCHEMES) return BLOOM_ERR_SCHEME;
    if ((unsigned)layout >= BLOOM_LAYOUTS) return BLOOM_ERR_LAYOUT;
    bool fits = !bloom_has_indexes(layout) ? scheme == BLOOM_XXH64 || scheme == BLOOM_WIDE
                                           : scheme != BLOOM_XXH64;
    return fits ? BLOOM_OK : BLOOM_ERR_PAIR;
}

bool bloom_scheme_is_seeded(enum bloom_scheme scheme)
{
    return scheme == BLOOM_POLY_ABS || scheme == BLOOM_POLY_MOD;
}

uint32_t bloom_hash_seed_bits(enum bloom_scheme scheme)
{
    assert((unsigned)scheme < BLOOM_SCHEMES);
    return schemes[scheme].seed_bits;
}

static bool is_hash_seed_valid(enum bloom_scheme scheme, const uint64_t seed[2])
{
    const uint32_t bits = schemes[scheme].seed_bits;
    return (bits > 64 || seed[1] == 0) && (bits >= 64 || seed[0] >> bits == 0);
}

static bool are_custom_seeds_valid(const struct bloom_params *params)
{
    if (!bloom_scheme_is_seeded(params->scheme) || params->k > BLOOM_SEEDS_MAX) return false;
    for (uint32_t i = 0; params->scheme == BLOOM_POLY_MOD && i < params->k; i++)
        if (bloom_seed_at(params->seeds, i) > INT32_MAX) return false;
    return true;
}

static enum bloom_result check_classic_params(const struct bloom_params *params)
{
    if (params->k == 0 || params->k > BLOOM_K_MAX) return BLOOM_ERR_K;
    if (params->seeds != NULL && !are_custom_seeds_valid(params)) return BLOOM_ERR_SEEDED;
    if (params->seeds == NULL && params->k > schemes[params->scheme].k_max) return BLOOM_ERR_SEEDS;
    if (params->m > bloom_m_max(params)) return BLOOM_ERR_M;
    return params->m % schemes[params->scheme].word_bits != 0 ? BLOOM_ERR_BLOCKS : BLOOM_OK;
}

/* Of all layouts but classic. */
static enum bloom_result check_block_params(const struct bloom_params *params)
{
    if (params->seeds != NULL) return BLOOM_ERR_SEEDED;
    const bool blocks = params->layout == BLOOM_BLOCK512;
    const uint32_t only = params->layout == BLOOM_EXACT   ? BLOOM_K_EXACT
                          : bloom_is_fuse(params->layout) ? BLOOM_K_FUSE
                                                          : BLOOM_K_SPLIT;
    if (params->k < (blocks ? 1 : only) || params->k > (blocks ? BLOOM_K_MAX_512 : only))
        return BLOOM_ERR_K_LAYOUT;
    if (params->m > BLOOM_M_MAX) return BLOOM_ERR_M;
    return params->m % layouts[params->layout].block_bits != 0 ? BLOOM_ERR_BLOCKS : BLOOM_OK;
}

static enum bloom_result check_counting_params(const struct bloom_params *params)
{
    const struct bloom_params classic = counting_classic_params(params);
    if (params->m % COUNTING_BITS != 0) return BLOOM_ERR_BLOCKS;
    return params->m > BLOOM_M_MAX ? BLOOM_ERR_M : check_classic_params(&classic);
}

enum bloom_result bloom_params_check(const struct bloom_params *params)
{
    enum bloom_result result = bloom_check_scheme_and_layout(params->scheme, params->layout);
    if (result != BLOOM_OK) return result;
    if (params->n == 0) return BLOOM_ERR_N;
    if (params->m == 0) return BLOOM_ERR_M;
    if (!is_hash_seed_valid(params->scheme, params->hash_seed)) return BLOOM_ERR_SEEDED;
    if (!bloom_id_type_is_valid(params->id_type) ||
        !bloom_id_has_rule(params->scheme, params->id_type))
        return BLOOM_ERR_ID_TYPE;
    if (params->layout == BLOOM_COUNTING) return check_counting_params(params);
    return params->layout != BLOOM_CLASSIC ? check_block_params(params)
                                           : check_classic_params(params);
}

bool bloom_same_seeds(const uint8_t *a, const uint8_t *b, uint32_t k)
{
    if (a == NULL || b == NULL) return a == b;
    return memcmp(a, b, k * BLOOM_SEED_BYTES) == 0;
}

bool bloom_params_equal(const struct bloom_params *a, const struct bloom_params *b)
{
    return a->scheme == b->scheme && a->layout == b->layout && a->m == b->m && a->k == b->k &&
           a->hash_seed[0] == b->hash_seed[0] && a->hash_seed[1] == b->hash_seed[1] &&
           a->id_type == b->id_type && bloom_same_seeds(a->seeds, b->seeds, a->k);
}

uint64_t bloom_bytes(uint64_t m)
{
    return m / 8 + (m % 8 != 0);
}
