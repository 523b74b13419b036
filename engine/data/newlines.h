/* Where the newlines are: the inner loop under every text source. Chosen once per process, by what
 * the processor can do. Pure; any thread. */
#ifndef GLINT_DATA_NEWLINES_H
#define GLINT_DATA_NEWLINES_H

#include "engine/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* An index stores whole groups: this many words more than BATCH_ROWS_MAX must be there. */
#define NEWLINES_SLACK 64u

struct newlines {
    uint32_t count;   /* LFs found, at most BATCH_ROWS_MAX */
    uint32_t scanned; /* the scan stopped here: `to`, or earlier when the index was full */
    bool any_cr;      /* a CR stands in [from, scanned) */
};

/* For the i-th LF of base[from, to): out_end[i] = its offset, out_start[i + 1] = the one behind it.
 * Both arrays have BATCH_ROWS_MAX + NEWLINES_SLACK words; out_start[0] is not touched. READ_SLACK
 * bytes behind `to` must be readable. */
typedef struct newlines (*newlines_index)(const uint8_t *base, uint32_t from, uint32_t to,
                                          uint32_t *out_start, uint32_t *out_end);

enum newlines_level { NEWLINES_SCALAR, NEWLINES_AVX2, NEWLINES_AVX512, NEWLINES_LEVELS };

/* The best one for this processor. */
newlines_index newlines_index_for_cpu(void);
/* A given one, for tests and benchmarks; NULL where the processor cannot run it. */
newlines_index newlines_index_for_level(enum newlines_level level);

#endif
