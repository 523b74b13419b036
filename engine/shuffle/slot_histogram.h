/* A fast path for counting: a batch in which all values are the same number and few slots occur.
 * slot_histogram_fn counts the rows of each slot; then the function merges once per slot, not once
 * per row. */
#ifndef GLINT_SHUFFLE_SLOT_HISTOGRAM_H
#define GLINT_SHUFFLE_SLOT_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define SLOT_HISTOGRAM_SLOTS_MAX 16u

/* Returns false if the values are not all equal. Else sets out_count[s], s < slots, to the number
 * of rows whose slot is s. `slots` is at most SLOT_HISTOGRAM_SLOTS_MAX, `rows` 1 to BATCH_ROWS_MAX.
 * Pure; any thread. */
typedef bool (*slot_histogram_fn)(const uint32_t *slot, const int64_t *value, uint32_t rows,
                                  uint32_t slots, uint32_t *out_count);

enum slot_histogram_level {
    SLOT_HISTOGRAM_PORTABLE,
    SLOT_HISTOGRAM_AVX2,
    SLOT_HISTOGRAM_AVX512,
    SLOT_HISTOGRAM_LEVELS
};

/* Returns the fastest variant that this CPU supports. */
slot_histogram_fn slot_histogram_for_cpu(void);
/* Returns the given variant, or NULL if this CPU does not support it. For tests. */
slot_histogram_fn slot_histogram_for_level(enum slot_histogram_level level);

#endif
