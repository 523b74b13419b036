/* Counting filters (Fan, Cao, Almeida, Broder: Summary Cache, 2000): a classic filter with a
 * counter of 4 bits in place of each bit, so that an id can be removed again. m is 4 times the
 * number of counters; counter i is bits 4 i to 4 i + 3. Adding an id adds 1 to the counter at each
 * of its k indexes, twice where two are equal; removing it subtracts them. A counter at 15 is
 * saturated: it stays there, since it may stand for more. */
#ifndef GLINT_JOBS_BLOOM_COUNTING_H
#define GLINT_JOBS_BLOOM_COUNTING_H

#include "jobs/bloom/internal.h"

enum { COUNTING_BITS = 4, COUNTING_MAX = 15 };

/* The parameters of the classic filter with a bit for each counter. */
static inline struct bloom_params counting_classic_params(const struct bloom_params *params)
{
    struct bloom_params classic = *params;
    assert(params->layout == BLOOM_COUNTING);
    classic.layout = BLOOM_CLASSIC;
    classic.m /= COUNTING_BITS;
    return classic;
}

static inline uint32_t counting_get(const uint8_t *bits, uint64_t index)
{
    return bits[index / 2] >> index % 2 * COUNTING_BITS & COUNTING_MAX;
}

static inline void counting_increment(uint8_t *bits, uint64_t index)
{
    if (counting_get(bits, index) < COUNTING_MAX)
        bits[index / 2] = (uint8_t)(bits[index / 2] + (1u << index % 2 * COUNTING_BITS));
}

/* Adds the counters of `from`, saturating. */
void counting_unite(uint8_t *into, const uint8_t *from, uint64_t bytes);
/* Subtracts the counters of `less` from those of `from`; saturated ones stay. `out` may be `from`,
 * or `less` + 1. Returns false, with unusable counters in `out`, if a counter is less than what is
 * subtracted: counts of removed ids that saturate are right, too. */
bool counting_subtract(const uint8_t *from, const uint8_t *less, uint8_t *out, uint64_t bytes);
/* The smaller ones. */
void counting_intersect(uint8_t *into, const uint8_t *from, uint64_t bytes);
/* Counters that are not 0, of `a` or, if not NULL, of `b`. */
uint64_t counting_count_nonzero(const uint8_t *a, const uint8_t *b, uint64_t bytes);
/* Removes an id by its k indexes. Returns false, and changes nothing, if it is not in the filter.
 */
bool counting_remove(uint8_t *bits, const uint64_t *indexes, uint32_t k);

#endif
