/* One text for all levels: plain loops, which the compiler turns into vectors of the level's width.
 */
#include "engine/shuffle/repeats.h"

#include <assert.h>
#include <stddef.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline __attribute__((always_inline)) bool count_slots(const uint32_t *slot,
                                                              const int64_t *value, uint32_t rows,
                                                              uint32_t slots, uint32_t *out_count)
{
    assert(rows > 0 && slots <= REPEATS_SLOTS_MAX);
    uint64_t differ = 0;
    for (uint32_t i = 0; i < rows; i++) differ |= (uint64_t)(value[i] ^ value[0]);
    if (differ != 0) return false;
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < rows; i++) count += slot[i] == s;
        out_count[s] = count;
    }
    return true;
}

static bool count_portable(const uint32_t *slot, const int64_t *value, uint32_t rows,
                           uint32_t slots, uint32_t *out_count)
{
    return count_slots(slot, value, rows, slots, out_count);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static bool count_avx2(const uint32_t *slot, const int64_t *value,
                                                       uint32_t rows, uint32_t slots,
                                                       uint32_t *out_count)
{
    return count_slots(slot, value, rows, slots, out_count);
}

/* By hand: one compiler stays at half the width, the other does not know how to be told. */
__attribute__((target("avx512f"))) static uint32_t count_one_avx512(const uint32_t *slot,
                                                                    uint32_t rows, uint32_t s)
{
    const __m512i wanted = _mm512_set1_epi32((int)s), one = _mm512_set1_epi32(1);
    __m512i a = _mm512_setzero_si512(), b = a;
    uint32_t i = 0;
    for (; i + 32 <= rows; i += 32) {
        __mmask16 x = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(slot + i), wanted);
        __mmask16 y = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(slot + i + 16), wanted);
        a = _mm512_mask_add_epi32(a, x, a, one);
        b = _mm512_mask_add_epi32(b, y, b, one);
    }
    uint32_t count = (uint32_t)_mm512_reduce_add_epi32(_mm512_add_epi32(a, b));
    for (; i < rows; i++) count += slot[i] == s;
    return count;
}

__attribute__((target("avx512f"))) static bool all_equal_avx512(const int64_t *value, uint32_t rows)
{
    const __m512i first = _mm512_set1_epi64(value[0]);
    __mmask8 differ = 0;
    uint32_t i = 0;
    for (; i + 8 <= rows; i += 8)
        differ |= _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(value + i), first);
    for (; i < rows; i++) differ |= value[i] != value[0];
    return differ == 0;
}

static bool count_avx512(const uint32_t *slot, const int64_t *value, uint32_t rows, uint32_t slots,
                         uint32_t *out_count)
{
    assert(rows > 0 && slots <= REPEATS_SLOTS_MAX);
    if (!all_equal_avx512(value, rows)) return false;
    for (uint32_t s = 0; s < slots; s++) out_count[s] = count_one_avx512(slot, rows, s);
    return true;
}

repeats_count repeats_at(enum repeats_level level)
{
    assert(level < REPEATS_LEVELS);
    if (level == REPEATS_AVX512) return __builtin_cpu_supports("avx512f") ? count_avx512 : NULL;
    if (level == REPEATS_AVX2) return __builtin_cpu_supports("avx2") ? count_avx2 : NULL;
    return count_portable;
}

#else

repeats_count repeats_at(enum repeats_level level)
{
    assert(level < REPEATS_LEVELS);
    return level == REPEATS_PORTABLE ? count_portable : NULL;
}

#endif

repeats_count repeats_best(void)
{
    for (int level = REPEATS_LEVELS - 1; level > REPEATS_PORTABLE; level--) {
        repeats_count count = repeats_at((enum repeats_level)level);
        if (count != NULL) return count;
    }
    return count_portable;
}
