/* Computes the size of a filter from a rate or a number of bits per id, and the rate of a filter.
 *
 * The blocks of a filter do not get equal numbers of ids: with n ids in b blocks a block's load is
 * Poisson distributed with mean l = n / b, and the filter's rate is the mean of the blocks' rates
 * (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007, section 3). The
 * classic formula, at equal bits per id, gives a rate that is too low. Here the mean is summed load
 * by load:
 *
 *     rate(l) = sum over i of e^-l l^i / i! * full(i)
 *
 * where full(i) is the probability that all bits of an id are set in a block of i others.
 * split-block: one bit in each of 8 words, full(i) = (1 - (31/32)^i)^8. block512: the k bits of an
 * id are d different ones with probability distinct(d), since two hashes may select the same bit;
 * and d given bits are all set after h hashes with probability set(h, d), where the next hash gives
 * set(h + 1, d) = set(h, d) (512 - d) / 512 + set(h, d - 1) d / 512.
 *
 * There is no subtraction, so no precision is lost, however small the rate; and sizes depend only
 * on additions, multiplications and divisions of doubles, so every processor computes the same. A
 * closed form exists, by inclusion and exclusion, but its terms cancel. */
#include "jobs/bloom/counting.h"
#include "jobs/bloom/exact.h"
#include "jobs/bloom/fuse.h"

#include <math.h>
#include <string.h>

struct mixture {
    uint32_t k;                           /* of block512; 0: split-block */
    double distinct[BLOOM_K_MAX_512 + 1]; /* [d] */
};

/* A block while ids are added to it. */
struct filling {
    uint32_t ids;
    double set[BLOOM_K_MAX_512 + 1]; /* block512: [d] */
    double clear;                    /* split-block: probability that a given bit is clear */
};

/* After this many ids or hashes a bit of a block is clear with less than e^-48: the rate is 1 in a
 * double. */
enum { LOAD_MAX = 1 << 16, HASHES_MAX = 48 * 512 };

static struct mixture mixture_of_block_layout(enum bloom_layout layout, uint32_t k)
{
    struct mixture mix = {.distinct = {1}};
    assert(k >= 1 && k <= BLOOM_K_MAX_512 && bloom_has_blocks(layout));
    if (layout == BLOOM_SPLIT_BLOCK) return mix;
    mix.k = k;
    for (uint32_t hash = 0; hash < k; hash++) {
        for (uint32_t d = hash + 1; d > 0; d--)
            mix.distinct[d] = mix.distinct[d] * d / 512 + mix.distinct[d - 1] * (513 - d) / 512;
        mix.distinct[0] = 0;
    }
    return mix;
}

/* Adds an id to the block; returns the probability that all bits of another id are set. */
static double add_id_to_block(const struct mixture *mix, struct filling *f)
{
    f->ids++;
    if (mix->k == 0) {
        f->clear *= 31.0 / 32;
        const double square = (1 - f->clear) * (1 - f->clear), fourth = square * square;
        return fourth * fourth;
    }
    if ((uint64_t)f->ids * mix->k > HASHES_MAX) return 1;
    for (uint32_t hash = 0; hash < mix->k; hash++)
        for (uint32_t d = mix->k; d > 0; d--)
            f->set[d] = f->set[d] * ((512.0 - d) / 512) + f->set[d - 1] * (d / 512.0);
    double full = 0;
    for (uint32_t d = 1; d <= mix->k; d++) full += mix->distinct[d] * f->set[d];
    return full;
}

/* The probabilities of the loads are those of the Poisson distribution times a factor, which also
 * multiplies their sum: e^-load may be too small for a double. Loads after the last one in the sum
 * are too rare to change it. */
static double false_positive_rate_of_load(const struct mixture *mix, double load)
{
    struct filling block = {.set = {1}, .clear = 1};
    double chance = 1, chances = 1, sum = 0;
    assert(load >= 0);
    if (load > LOAD_MAX) return 1;
    for (uint32_t ids = 1; ids <= load || chance > sum * 0x1p-60; ids++) {
        chance *= load / ids;
        chances += chance;
        sum += chance * add_id_to_block(mix, &block);
        if (chances < 0x1p500) continue;
        chance *= 0x1p-500;
        chances *= 0x1p-500;
        sum *= 0x1p-500;
    }
    const double rate = sum / chances;
    return rate < 1 ? rate : 1;
}

/* The largest load from `least` on with a rate of at most p; the rate grows with the load. 0: none.
 */
static double largest_load_for_rate(const struct mixture *mix, double p, double least)
{
    if (false_positive_rate_of_load(mix, least) > p) return 0;
    double low = least, high = 2 * least;
    for (; high < LOAD_MAX && false_positive_rate_of_load(mix, high) <= p; high *= 2) low = high;
    for (int i = 0; i < 100 && high - low > low * 1e-13; i++) {
        double middle = low + (high - low) / 2;
        *(false_positive_rate_of_load(mix, middle) <= p ? &low : &high) = middle;
    }
    return low;
}

#define RATE_MIN 1e-10

static enum bloom_result blocks_for_rate(struct bloom_sizing *sizing)
{
    uint32_t block = bloom_block_bits(sizing->layout);
    bool split = sizing->layout == BLOOM_SPLIT_BLOCK;
    double best = 0;
    if (sizing->p < RATE_MIN) return BLOOM_ERR_P_LAYOUT;
    for (uint32_t k = split ? BLOOM_K_SPLIT : 1; k <= (split ? BLOOM_K_SPLIT : BLOOM_K_MAX_512);
         k++) {
        struct mixture mix = mixture_of_block_layout(sizing->layout, k);
        double load = largest_load_for_rate(&mix, sizing->p, best > 0 ? best : 1);
        if (load <= best) continue;
        best = load;
        sizing->k = k;
    }
    if (best == 0) return BLOOM_ERR_P_LAYOUT;
    sizing->bits = block / best;
    sizing->p = 0;
    return BLOOM_OK;
}

static void best_hash_count_of_block512(struct bloom_sizing *sizing)
{
    double best = 2;
    for (uint32_t k = 1; k <= BLOOM_K_MAX_512; k++) {
        struct mixture mix = mixture_of_block_layout(BLOOM_BLOCK512, k);
        double rate = false_positive_rate_of_load(&mix, 512 / sizing->bits);
        if (rate >= best) continue;
        best = rate;
        sizing->k = k;
    }
    assert(best <= 1);
}

/* That of a fingerprint to be equal by chance; of exact filters in their universe. */
static double rate_of_static_layout(enum bloom_layout layout)
{
    if (layout == BLOOM_EXACT) return 0;
    return layout == BLOOM_FUSE8 ? 0x1p-8 : 0x1p-16;
}

static enum bloom_result size_static_layout_for_rate(struct bloom_sizing *sizing)
{
    const bool exact = sizing->layout == BLOOM_EXACT;
    if (sizing->p < rate_of_static_layout(sizing->layout)) return BLOOM_ERR_P_LAYOUT;
    sizing->k = exact ? BLOOM_K_EXACT : BLOOM_K_FUSE;
    sizing->bits = exact ? 1 : 9.0 * fuse_width(sizing->layout);
    sizing->p = 0;
    return BLOOM_OK;
}

enum bloom_result bloom_sizing_for_rate(enum bloom_scheme scheme, enum bloom_layout layout,
                                        double p, struct bloom_sizing *out_sizing)
{
    if (!(p > 0 && p < 1)) return BLOOM_ERR_P;
    enum bloom_result result = bloom_check_scheme_and_layout(scheme, layout);
    if (result != BLOOM_OK) return result;
    *out_sizing = (struct bloom_sizing){
        .scheme = scheme, .layout = layout, .p = p, .hash_seed = {bloom_class_seed(scheme)}};
    if (bloom_has_blocks(layout)) return blocks_for_rate(out_sizing);
    if (bloom_is_static(layout)) return size_static_layout_for_rate(out_sizing);
    double k = ceil(-log(p) / log(2));
    assert(k >= 1);
    if (k > BLOOM_K_MAX) return BLOOM_ERR_K;
    out_sizing->k = (uint32_t)k;
    return BLOOM_OK;
}

static uint32_t best_hash_count(double bits, double most)
{
    const double k = round(bits * log(2));
    return (uint32_t)(k < 1 ? 1 : k > most ? most : k);
}

enum bloom_result bloom_sizing_for_bits(enum bloom_scheme scheme, enum bloom_layout layout,
                                        double bits, struct bloom_sizing *out_sizing)
{
    if (!(bits >= 1)) return BLOOM_ERR_BITS;
    if (bits > (double)BLOOM_M_MAX) return BLOOM_ERR_M;
    enum bloom_result result = bloom_check_scheme_and_layout(scheme, layout);
    if (result == BLOOM_OK && bloom_is_static(layout)) result = BLOOM_ERR_STATIC;
    if (result != BLOOM_OK) return result;
    *out_sizing = (struct bloom_sizing){
        .scheme = scheme, .layout = layout, .bits = bits, .hash_seed = {bloom_class_seed(scheme)}};
    if (layout == BLOOM_SPLIT_BLOCK) out_sizing->k = BLOOM_K_SPLIT;
    if (layout == BLOOM_BLOCK512) best_hash_count_of_block512(out_sizing);
    if (bloom_has_blocks(layout)) return BLOOM_OK;
    out_sizing->k = best_hash_count(bits, bloom_scheme_k_max(scheme));
    return BLOOM_OK;
}

enum bloom_result bloom_sizing_seed(struct bloom_sizing *sizing, const uint8_t *seeds)
{
    if (!bloom_scheme_is_seeded(sizing->scheme)) return BLOOM_ERR_SEEDED;
    sizing->seeded = true;
    memcpy(sizing->seeds, seeds, sizeof sizing->seeds);
    if (sizing->bits > 0) sizing->k = best_hash_count(sizing->bits, BLOOM_SEEDS_MAX);
    return BLOOM_OK;
}

/* Evaluates the same operations as Python, in the same order, so that no m differs by one. The
 * formula is that of Bloom (1970): the smallest m for n and p, and the k for it. */
static double bits_for_ids_and_rate(double n, double p)
{
    const double ln2 = log(2);
    return ceil(-n * log(p) / (ln2 * ln2));
}

enum bloom_result bloom_sizing_params(const struct bloom_sizing *sizing, uint64_t n,
                                      struct bloom_params *out_params)
{
    if (n == 0) return BLOOM_ERR_N;
    const uint32_t unit = bloom_unit_bits(sizing->scheme, sizing->layout);
    const uint32_t each = sizing->layout == BLOOM_COUNTING ? COUNTING_BITS : 1;
    double m = (double)n * sizing->bits, k = sizing->k;
    if (sizing->p > 0) m = bits_for_ids_and_rate((double)n, sizing->p);
    if (sizing->p > 0) bloom_class_size(sizing->scheme, (double)n, sizing->p, &m, &k);
    if (sizing->layout == BLOOM_EXACT) m = (double)exact_planned_bytes(n) * 8;
    if (bloom_is_fuse(sizing->layout)) m = (double)fuse_planned_bytes(sizing->layout, n) * 8;
    m = ceil(m * each / unit) * unit;
    if (m > (double)BLOOM_M_MAX) return BLOOM_ERR_M;
    if (!(k <= BLOOM_K_MAX)) return BLOOM_ERR_K;
    *out_params = (struct bloom_params){.scheme = sizing->scheme,
                                        .n = n,
                                        .m = (uint64_t)m,
                                        .k = (uint32_t)k,
                                        .layout = sizing->layout,
                                        .seeds = sizing->seeded ? sizing->seeds : NULL,
                                        .hash_seed = {sizing->hash_seed[0], sizing->hash_seed[1]},
                                        .id_type = sizing->id_type};
    return bloom_params_check(out_params);
}

enum bloom_result bloom_params_for(enum bloom_scheme scheme, uint64_t n, double p,
                                   struct bloom_params *out_params)
{
    struct bloom_sizing sizing;
    if (n == 0) return BLOOM_ERR_N;
    enum bloom_result result = bloom_sizing_for_rate(scheme, BLOOM_CLASSIC, p, &sizing);
    return result == BLOOM_OK ? bloom_sizing_params(&sizing, n, out_params) : result;
}

/* ---- rates ---- */

double bloom_expected_rate(const struct bloom_params *params)
{
    assert(params->m > 0 && params->k > 0);
    if (params->layout == BLOOM_COUNTING) {
        const struct bloom_params classic = counting_classic_params(params);
        return bloom_expected_rate(&classic);
    }
    if (bloom_is_static(params->layout)) return rate_of_static_layout(params->layout);
    if (bloom_has_blocks(params->layout)) {
        struct mixture mix = mixture_of_block_layout(params->layout, params->k);
        uint64_t blocks = params->m / bloom_block_bits(params->layout);
        return false_positive_rate_of_load(&mix, (double)params->n / (double)blocks);
    }
    double fill = 1 - exp(-(double)params->k * (double)params->n / (double)params->m);
    return pow(fill, params->k);
}

/* How many hash values the index is a remainder of: of |h| each is there twice, so half of them. */
static double hash_value_count(enum bloom_scheme scheme)
{
    switch (scheme) {
    case BLOOM_SPARK:
    case BLOOM_PLAIN: return 0x1p32;
    case BLOOM_HADOOP:
    case BLOOM_HADOOP_BLOOM:
    case BLOOM_ORC:
    case BLOOM_SPARK_BLOOM: return 0x1p31;
    default: return 0;
    }
}

/* MurmurHash3 of two ids under seeds 0 to k - 1: where one pair of their hashes is equal, others
 * often are, since a seed is mixed in as a word of the id is. Measured with ids of ten digits,
 * which are worst if they are consecutive numbers, and k from 4 to 20; a tenth of it with 16 random
 * hex digits, and nothing for MurmurHash2. */
static double collision_rate(const struct bloom_params *params)
{
    const bool seeds = params->scheme == BLOOM_SPARK || params->scheme == BLOOM_PLAIN;
    const double share = params->k <= 7 ? 0.13 : 0.13 * exp2(-(params->k - 7.0) / 2);
    return seeds ? share * (double)params->n / 0x1p32 : 0;
}

/* With `range` hash values a bit is the remainder of q or of q + 1 of them, and is then set, and
 * probed, that many times as often. */
void bloom_predict_rate(const struct bloom_params *params, double *out_least, double *out_most)
{
    const double range = hash_value_count(params->scheme), m = (double)params->m;
    *out_least = *out_most = bloom_expected_rate(params);
    if (range == 0 || bloom_has_blocks(params->layout)) return;
    if (params->layout == BLOOM_COUNTING) {
        const struct bloom_params classic = counting_classic_params(params);
        bloom_predict_rate(&classic, out_least, out_most);
        return;
    }
    const double q = floor(range / m), more = range - q * m; /* bits of q + 1 values */
    const double load = params->k * (double)params->n / range;
    const double set =
        (more * (q + 1) * (1 - exp(-load * (q + 1))) + (m - more) * q * (1 - exp(-load * q))) /
        range;
    *out_least = pow(set, params->k);
    *out_most = *out_least + collision_rate(params);
}

double bloom_rate_from_fill(const struct bloom_params *params, uint64_t bits_set)
{
    const uint64_t positions = bloom_positions(params);
    assert(bloom_has_indexes(params->layout) && positions > 0 && bits_set <= positions);
    return pow((double)bits_set / (double)positions, params->k);
}

static double rate_from_bits_of_split_block(const uint8_t *block)
{
    double rate = 1;
    for (uint32_t word = 0; word < BLOOM_K_SPLIT; word++)
        rate *= (double)bloom_count_bits(block + 4 * word, 4) / 32;
    return rate;
}

double bloom_rate_from_bits(const struct bloom_filter *filter)
{
    const struct bloom_params *params = &filter->params;
    if (bloom_is_static(params->layout)) return rate_of_static_layout(params->layout);
    if (!bloom_has_blocks(params->layout))
        return bloom_rate_from_fill(params, bloom_bits_set(filter));
    uint64_t bytes = bloom_bytes(params->m), step = bloom_block_bits(params->layout) / 8;
    double sum = 0;
    for (uint64_t at = 0; at < bytes; at += step) {
        const uint8_t *block = filter->bits + at;
        sum += params->layout == BLOOM_SPLIT_BLOCK
                   ? rate_from_bits_of_split_block(block)
                   : pow((double)bloom_count_bits(block, step) / 512, params->k);
    }
    return sum / (double)(bytes / step);
}

/* The expected fill is 1 - e^(-n c / m) with c bits per id, in each layout: with Poisson loads a
 * bit stays clear with probability e^(-l (1 - q_1)). */
double bloom_ids_estimate(const struct bloom_params *params, uint64_t bits_set)
{
    assert(params->m > 0 && params->k > 0 && bits_set <= params->m);
    if (bloom_is_static(params->layout)) return (double)params->n;
    const double positions = (double)bloom_positions(params);
    double per_id = params->k;
    if (params->layout == BLOOM_BLOCK512) per_id = 512 * (1 - pow(1 - 1.0 / 512, params->k));
    return -positions / per_id * log1p(-(double)bits_set / positions);
}
