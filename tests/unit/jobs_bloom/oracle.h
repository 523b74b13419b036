/* What the library must compute, written again as plainly as can be: hashes by libmurmurhash and by
 * transcribing Java, modulo by 64-bit division. And ids to try it on. */
#ifndef TESTS_JOBS_BLOOM_ORACLE_H
#define TESTS_JOBS_BLOOM_ORACLE_H

#include "jobs/bloom/bloom.h"

uint32_t oracle_murmur2(const uint8_t *id, uint32_t size, uint32_t seed);
/* For spark, hadoop and plain. */
uint64_t oracle_index(const struct bloom_params *params, const void *id, uint32_t size,
                      uint32_t hash);

/* A batch over memory of its own; every id has BLOOM_ID_SLACK bytes behind it that are not zero. */
struct sample {
    uint8_t *data;
    uint32_t *start, *end;
    uint16_t *filter;
    struct bloom_rows rows;
};

/* Ids of size_min..size_max random bytes, one behind the other without gaps, in random filters. */
void sample_init(struct sample *sample, uint32_t rows, uint32_t size_min, uint32_t size_max,
                 uint32_t filters, uint64_t seed);
void sample_fini(struct sample *sample);

/* xorshift64*, state must not be 0. */
uint64_t sample_random(uint64_t *state);

#endif
