/* Samples of keys, from which a sort computes its range bounds. */
#ifndef GLINT_OPS_KEY_SAMPLE_H
#define GLINT_OPS_KEY_SAMPLE_H

#include "engine/plan/context.h"
#include "ops/record_pool.h"

/* Longer keys are truncated: a bound need not be an existing key. */
#define SAMPLE_KEY_BYTES 1024u
#define SAMPLE_KEYS_MAX  8192u /* per partition */

static_assert(SAMPLE_KEYS_MAX * SAMPLE_KEY_BYTES <= SLOT_MEMORY_BYTES_MIN / 2,
              "a task's sample fits into the smallest slot");

/* The sample of all partitions, in the driver. Zero it before use; free with key_sample_fini. */
struct key_sample {
    struct record_pool keys; /* encoded keys; values are empty */
    double *weights;         /* number of records that each key represents */
    uint64_t weights_capacity;
};

/* Runs an internal action over `rdd` that samples up to `each` keys per partition. Every record has
 * the same probability; the choice depends only on (partition, index). Returns 0 or a code with the
 * context's error set. */
int key_sample_collect(struct glint_rdd *rdd, uint32_t each, struct key_sample *out);
/* Computes at most `partitions` - 1 bounds, ascending and distinct, that cut the sample into parts
 * of equal weight. They are freed with `rdd`. Returns 0 or a code with the context's error set. */
int key_sample_choose_bounds(struct glint_rdd *rdd, const struct key_sample *s, uint32_t partitions,
                             const struct glint_slice **out_bounds, uint32_t *out_count);
/* Frees the sample. */
void key_sample_fini(struct key_sample *s);

#endif
