/* One source for the portable and the AVX2 level: plain loops, which the compiler vectorizes for
 * the level's register width. AVX-512 is written with intrinsics. */
#include "engine/shuffle/slot_histogram.h"

#include "engine/limits.h"

#include <assert.h>
#include <stddef.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline __attribute__((always_inline)) bool count_slots(const uint32_t *slot,
                                                              const int64_t *value, uint32_t rows,
                                                              uint32_t slots, uint32_t *out_count)
{
    assert(rows > 0 && slots <= SLOT_HISTOGRAM_SLOTS_MAX);
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

/* With intrinsics: one compiler uses only half of the register width by default, and the other one
 * has no option to change that. Slots are narrowed to bytes, so that one instruction compares 64 of
 * them. */
#define AVX512 __attribute__((target("avx512f,avx512bw,popcnt")))

/* Narrows the slots to bytes with saturation, so that a slot above 255 never equals a counted one,
 * and pads to a multiple of 64. Returns the number of 64-byte chunks. */
AVX512 static uint32_t pack_slots(const uint32_t *slot, uint32_t rows, uint8_t *out)
{
    uint32_t i = 0;
    for (; i + 16 <= rows; i += 16)
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         _mm512_cvtusepi32_epi8(_mm512_loadu_si512(slot + i)));
    for (; i < rows; i++) out[i] = slot[i] < UINT8_MAX ? (uint8_t)slot[i] : UINT8_MAX;
    for (; i % 64 != 0; i++) out[i] = UINT8_MAX;
    return i / 64;
}

AVX512 static uint32_t count_one_avx512(const uint8_t *packed, uint32_t chunks, uint32_t s)
{
    const __m512i wanted = _mm512_set1_epi8((char)s);
    uint64_t count = 0;
    for (uint32_t i = 0; i < chunks; i++)
        count += (uint64_t)_mm_popcnt_u64(
            _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(packed + i * 64), wanted));
    return (uint32_t)count;
}

AVX512 static bool all_equal_avx512(const int64_t *value, uint32_t rows)
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
    uint8_t packed[BATCH_ROWS_MAX];
    static_assert(BATCH_ROWS_MAX % 64 == 0, "rows are counted in whole chunks");
    assert(rows > 0 && rows <= BATCH_ROWS_MAX && slots <= SLOT_HISTOGRAM_SLOTS_MAX);
    if (!all_equal_avx512(value, rows)) return false;
    const uint32_t chunks = pack_slots(slot, rows, packed);
    for (uint32_t s = 0; s < slots; s++) out_count[s] = count_one_avx512(packed, chunks, s);
    return true;
}

slot_histogram_fn slot_histogram_for_level(enum slot_histogram_level level)
{
    assert(level < SLOT_HISTOGRAM_LEVELS);
    if (level == SLOT_HISTOGRAM_AVX512)
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("popcnt") ? count_avx512
                                                                                      : NULL;
    if (level == SLOT_HISTOGRAM_AVX2) return __builtin_cpu_supports("avx2") ? count_avx2 : NULL;
    return count_portable;
}

#else

slot_histogram_fn slot_histogram_for_level(enum slot_histogram_level level)
{
    assert(level < SLOT_HISTOGRAM_LEVELS);
    return level == SLOT_HISTOGRAM_PORTABLE ? count_portable : NULL;
}

#endif

slot_histogram_fn slot_histogram_for_cpu(void)
{
    for (int level = SLOT_HISTOGRAM_LEVELS - 1; level > SLOT_HISTOGRAM_PORTABLE; level--) {
        slot_histogram_fn count = slot_histogram_for_level((enum slot_histogram_level)level);
        if (count != NULL) return count;
    }
    return count_portable;
}
