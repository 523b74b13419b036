/* Only for AVX-512: AVX2 cannot permute 32 words, and one load per key is nearly as fast there. */
#include "engine/records/direct_lookup.h"

#include <assert.h>
#include <stddef.h>

#if defined(__x86_64__)

#include <immintrin.h>

/* Looks up 16 keys with one permutation. Sets bits in *missed if a key is too large or has no
 * slot. */
__attribute__((target("avx512f"))) static inline __m512i
look_up_16_keys(const int64_t *keys, __m512i low, __m512i high, __mmask16 *missed)
{
    const __m512i limit = _mm512_set1_epi64(DIRECT_LOOKUP_KEYS - 1);
    const __m512i a = _mm512_loadu_si512(keys), b = _mm512_loadu_si512(keys + 8);
    *missed |= _mm512_cmpgt_epu64_mask(_mm512_or_si512(a, b), limit);
    const __m512i index = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(a)),
                                             _mm512_cvtepi64_epi32(b), 1);
    const __m512i slots = _mm512_permutex2var_epi32(low, index, high);
    *missed |= _mm512_testn_epi32_mask(slots, slots);
    return _mm512_sub_epi32(slots, _mm512_set1_epi32(1));
}

__attribute__((target("avx512f"))) static bool
look_up_avx512(const int64_t *keys, uint32_t rows, const uint32_t *direct, uint32_t *out_slots)
{
    const __m512i low = _mm512_loadu_si512(direct), high = _mm512_loadu_si512(direct + 16);
    __mmask16 missed = 0;
    uint32_t i = 0;
    for (; i + 16 <= rows; i += 16)
        _mm512_storeu_si512(out_slots + i, look_up_16_keys(keys + i, low, high, &missed));
    bool all = missed == 0;
    for (; i < rows; i++) {
        const uint64_t key = (uint64_t)keys[i];
        const uint32_t slot = direct[key & (DIRECT_LOOKUP_KEYS - 1)];
        all = all && key < DIRECT_LOOKUP_KEYS && slot != 0;
        out_slots[i] = slot - 1;
    }
    return all;
}

direct_lookup_fn direct_lookup_for_cpu(void)
{
    static_assert(DIRECT_LOOKUP_KEYS == 32, "two registers of sixteen");
    return __builtin_cpu_supports("avx512f") ? look_up_avx512 : NULL;
}

#else

direct_lookup_fn direct_lookup_for_cpu(void)
{
    return NULL;
}

#endif
