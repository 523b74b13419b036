/* Finds newlines: the inner loop of every text source, in variants for different CPUs. Pure; any
 * thread. */
#ifndef GLINT_INPUT_NEWLINES_H
#define GLINT_INPUT_NEWLINES_H

#include "engine/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* An index function stores whole groups of offsets, so its arrays need this many words more than
 * BATCH_ROWS_MAX. */
#define NEWLINES_SLACK 64u

struct newlines {
    uint32_t count;   /* LFs found, at most BATCH_ROWS_MAX */
    uint32_t scanned; /* where the scan stopped: `to`, or less if the index was full */
    bool any_cr;      /* [from, scanned) contains a CR */
};

/* For the i-th LF of base[from, to) sets out_end[i] to its offset and out_start[i + 1] to the next
 * offset. Both arrays have BATCH_ROWS_MAX + NEWLINES_SLACK words; out_start[0] is not changed.
 * READ_SLACK bytes after `to` must be readable. */
typedef struct newlines (*newlines_index)(const uint8_t *base, uint32_t from, uint32_t to,
                                          uint32_t *out_start, uint32_t *out_end);

enum newlines_level { NEWLINES_SCALAR, NEWLINES_AVX2, NEWLINES_AVX512, NEWLINES_LEVELS };

/* Returns the fastest variant that this CPU supports. */
newlines_index newlines_index_for_cpu(void);
/* Returns the given variant, or NULL if this CPU does not support it. For tests and benchmarks. */
newlines_index newlines_index_for_level(enum newlines_level level);

#endif
