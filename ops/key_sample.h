/* Samples of keys, from which a sort takes the bounds of its partitions. */
#ifndef GLINT_OPS_KEY_SAMPLE_H
#define GLINT_OPS_KEY_SAMPLE_H

#include "engine/plan/context.h"
#include "ops/record_pool.h"

/* Longer keys are cut: a bound need not be a key. */
#define SAMPLE_KEY_BYTES 1024u
#define SAMPLE_KEYS_MAX  8192u /* of one partition */

static_assert(SAMPLE_KEYS_MAX * SAMPLE_KEY_BYTES <= SLOT_MEMORY_BYTES_MIN / 2,
              "a task's sample fits into the smallest slot");

struct key_sample {
    struct record_pool keys; /* in byte form; the value is empty */
    double *weights;         /* how many records a key stands for */
    uint64_t weights_capacity;
};

/* Runs an internal action over `rdd`: up to `each` keys of each partition, every record with the
 * same chance, chosen by (partition, index) alone. 0 or a code with the context's error set. */
int key_sample_collect(struct glint_rdd *rdd, uint32_t each, struct key_sample *out);
/* At most `partitions` - 1 keys, ascending and all different, that cut the sample into parts of
 * equal weight: the memory is the context's. */
int key_sample_choose_bounds(struct glint *g, const struct key_sample *s, uint32_t partitions,
                             const struct glint_slice **out_bounds, uint32_t *out_count);
void key_sample_fini(struct key_sample *s);

#endif
