/* The SIMD indexes of x86-64; NULL where the processor cannot run them, or is of another kind. */
#ifndef GLINT_DATA_NEWLINES_X86_H
#define GLINT_DATA_NEWLINES_X86_H

#include "engine/data/newlines.h"

/* Bytes between two looks at how full the index is. */
#define NEWLINES_CHUNK 64u

static_assert(NEWLINES_CHUNK <= NEWLINES_SLACK && NEWLINES_CHUNK <= READ_SLACK,
              "a chunk's newlines fit behind a full index, its bytes behind the text");

/* The bits of a chunk at `at` that lie before `to`. */
static inline uint64_t newlines_valid_mask(uint32_t at, uint32_t to)
{
    return to - at >= NEWLINES_CHUNK ? UINT64_MAX : (UINT64_C(1) << (to - at)) - 1;
}

newlines_index newlines_index_avx2(void);
newlines_index newlines_index_avx512(void);

#endif
