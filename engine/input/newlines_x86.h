/* The SIMD variants for x86-64 and what all variants share. */
#ifndef GLINT_INPUT_NEWLINES_X86_H
#define GLINT_INPUT_NEWLINES_X86_H

#include "engine/input/newlines.h"

/* The bytes scanned between two checks whether the index is full. */
#define NEWLINES_CHUNK 64u

static_assert(NEWLINES_CHUNK <= NEWLINES_SLACK && NEWLINES_CHUNK <= READ_SLACK,
              "the slack after the index and after the text has room for one chunk");

/* The bits of the bytes before `to` in a chunk at `at`. */
static inline uint64_t newlines_valid_mask(uint32_t at, uint32_t to)
{
    return to - at >= NEWLINES_CHUNK ? UINT64_MAX : (UINT64_C(1) << (to - at)) - 1;
}

/* Both return NULL on a CPU or an architecture that does not support them. */
newlines_index newlines_index_avx2(void);
newlines_index newlines_index_avx512(void);

#endif
