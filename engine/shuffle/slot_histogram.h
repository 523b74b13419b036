/* A short cut for counting: a batch that merges one and the same number into few slots. How often
 * each slot stands there is found for all rows at once; the function then merges once per slot. */
#ifndef GLINT_SHUFFLE_SLOT_HISTOGRAM_H
#define GLINT_SHUFFLE_SLOT_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define SLOT_HISTOGRAM_SLOTS_MAX 16u

/* False: the values are not all equal. Else out_count[s] is how often s < slots stands in
 * slot[0, rows); slots is at most SLOT_HISTOGRAM_SLOTS_MAX, rows 1 to
 * BATCH_ROWS_MAX. Pure; any thread. */
typedef bool (*slot_histogram_fn)(const uint32_t *slot, const int64_t *value, uint32_t rows,
                                  uint32_t slots, uint32_t *out_count);

enum slot_histogram_level {
    SLOT_HISTOGRAM_PORTABLE,
    SLOT_HISTOGRAM_AVX2,
    SLOT_HISTOGRAM_AVX512,
    SLOT_HISTOGRAM_LEVELS
};

/* The best one for this processor; a given one, for tests: NULL where the processor cannot run it.
 */
slot_histogram_fn slot_histogram_for_cpu(void);
slot_histogram_fn slot_histogram_for_level(enum slot_histogram_level level);

#endif
