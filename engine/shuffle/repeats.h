/* A short cut for counting: a batch that merges one and the same number into few slots. How often
 * each slot stands there is found for all rows at once; the function then merges once per slot. */
#ifndef GLINT_SHUFFLE_REPEATS_H
#define GLINT_SHUFFLE_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#define REPEATS_SLOTS_MAX 16u

/* False: the values are not all equal. Else out_count[s] is how often s < slots stands in
 * slot[0, rows); slots is at most REPEATS_SLOTS_MAX, rows 1 to
 * BATCH_ROWS_MAX. Pure; any thread. */
typedef bool (*repeats_count)(const uint32_t *slot, const int64_t *value, uint32_t rows,
                              uint32_t slots, uint32_t *out_count);

enum repeats_level { REPEATS_PORTABLE, REPEATS_AVX2, REPEATS_AVX512, REPEATS_LEVELS };

/* The best one for this processor; a given one, for tests: NULL where the processor cannot run it.
 */
repeats_count repeats_best(void);
repeats_count repeats_at(enum repeats_level level);

#endif
