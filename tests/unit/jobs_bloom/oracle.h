/* The oracle of the Bloom filter library: the same functions, implemented as simply as possible.
 * Hashes come from libmurmurhash or are transcribed from Java, the modulo is a 64-bit division.
 * Also random ids as samples. */
#ifndef TESTS_JOBS_BLOOM_ORACLE_H
#define TESTS_JOBS_BLOOM_ORACLE_H

#include "jobs/bloom/bloom.h"

uint32_t oracle_murmur2(const uint8_t *id, uint32_t size, uint32_t seed);
/* For the schemes spark, hadoop and plain. */
uint64_t oracle_index(const struct bloom_params *params, const void *id, uint32_t size,
                      uint32_t hash);

/* A batch that owns its memory. Each id is followed by BLOOM_ID_SLACK nonzero bytes. */
struct sample {
    uint8_t *data;
    uint32_t *start, *end;
    uint16_t *filter;
    struct bloom_rows rows;
};

/* Random ids of size_min to size_max bytes, stored without gaps, each for a random filter. */
void sample_init(struct sample *sample, uint32_t rows, uint32_t size_min, uint32_t size_max,
                 uint32_t filters, uint64_t seed);
void sample_fini(struct sample *sample);

/* xorshift64*, state must not be 0. */
uint64_t sample_random(uint64_t *state);

/* The blob of a set, with a byte more. The caller frees it. */
uint8_t *blob_of(const struct bloom_set *set, uint64_t *out_size);

#endif
