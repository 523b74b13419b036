/* Random numbers of rows, for samples. Each row has a 64-bit number that depends only on (seed,
 * partition, index in the partition), not on the row's content, the executor or the attempt: the
 * numbers of a partition are one sequence of splitmix64. */
#ifndef GLINT_OPS_RANDOM_ROWS_H
#define GLINT_OPS_RANDOM_ROWS_H

#include "engine/base/hash.h"
#include "engine/records/emitter.h"
#include "engine/records/pack.h"
#include "ops/selection.h"

#define RANDOM_ROW_STEP 0x9e3779b97f4a7c15u

/* Returns the state of the first row of a partition. The next row's is RANDOM_ROW_STEP more, and a
 * row's random number is hash_mix of its state. */
static inline uint64_t random_rows_begin(uint64_t seed, uint32_t partition)
{
    return hash_mix(hash_mix(seed) + partition);
}

/* Maps a random number to [0, n). */
static inline uint64_t random_below(uint64_t random, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)random * n) >> 64);
}

/* ---- How often a row is in a sample (ops/random_rows.c) */

#define SAMPLE_FRACTION_MAX 1000 /* of a sample with replacement */

/* Ascending bounds: a row is in the sample once for each bound that its number is not below. */
struct multiplicity {
    const uint8_t *bounds; /* 8 bytes each, little-endian; borrowed */
    uint32_t count;
};
/* True if the fraction can be one of such a sample: 0 to 1, or 0 to SAMPLE_FRACTION_MAX with
 * replacement. */
bool multiplicity_fraction_is_valid(double fraction, bool with_replacement);
/* Packs the bounds for a valid fraction as one field: with replacement, a row is in the sample as
 * often as the Poisson distribution says, as in Spark. */
void multiplicity_pack(struct packer *p, double fraction, bool with_replacement);
/* Returns false if the field is malformed. `out` points into it. */
bool multiplicity_unpack(struct unpacker *u, struct multiplicity *out);
/* How often the row with this random number is in the sample. */
uint32_t multiplicity_of_random(const struct multiplicity *m, uint64_t random);

/* ---- Rows of a batch, each any number of times (ops/random_rows.c) */

struct repeated_rows {
    uint32_t count;
    uint16_t rows[BATCH_ROWS_MAX];
    struct selection selection;
};
/* Adds row `row` of the batch `times` times; emits when BATCH_ROWS_MAX rows are complete. Returns
 * out->flow. */
enum flow repeated_rows_add(struct repeated_rows *r, const struct glint_batch *batch, uint32_t row,
                            uint32_t times, struct glint_emitter *out);
/* Emits the rows added since, by reference: call it before the batch is released. */
enum flow repeated_rows_flush(struct repeated_rows *r, const struct glint_batch *batch,
                              struct glint_emitter *out);

#endif
