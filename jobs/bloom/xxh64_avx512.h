/* XXH64 of eight ids of 8 to 15 bytes at once, with AVX-512. */
#ifndef GLINT_JOBS_BLOOM_XXH64_AVX512_H
#define GLINT_JOBS_BLOOM_XXH64_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define AVX512   "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi2"
#define XXH64_FN static inline __attribute__((always_inline, target(AVX512)))

enum { XXH64_LANES = 8, XXH64_VECTOR_ID_MIN = 8, XXH64_VECTOR_ID_MAX = 15 };

/* The constants of XXH64 (Collet, xxHash specification). */
#define XXH64_1 0x9E3779B185EBCA87u
#define XXH64_2 0xC2B2AE3D27D4EB4Fu
#define XXH64_3 0x165667B19E3779F9u
#define XXH64_4 0x85EBCA77C2B2AE63u
#define XXH64_5 0x27D4EB2F165667C5u

XXH64_FN __m512i broadcast_u64_avx512(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}
XXH64_FN __m512i multiply_u64_avx512(__m512i x, uint64_t by)
{
    return _mm512_mullo_epi64(x, broadcast_u64_avx512(by));
}

/* The 16 bytes of rows r, r + 2, r + 4 and r + 6. */
XXH64_FN __m512i load_every_second_row(const uint8_t *base, const uint32_t *start)
{
    const uint8_t *a = base + start[0], *b = base + start[2];
    const uint8_t *c = base + start[4], *d = base + start[6];
    __m512i x = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)a));
    x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)b), 1);
    x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)c), 2);
    return _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)d), 3);
}

/* XXH64 with seed 0 of eight ids: a round for 8 bytes, one for 4 bytes if there are as many, and
 * one for each remaining byte. */
XXH64_FN __m512i xxh64_avx512(const uint8_t *base, const uint32_t *start, __m512i size)
{
    __m512i even = load_every_second_row(base, start), odd = load_every_second_row(base, start + 1);
    __m512i word = _mm512_unpacklo_epi64(even, odd), rest = _mm512_unpackhi_epi64(even, odd);
    __m512i h = _mm512_add_epi64(size, broadcast_u64_avx512(XXH64_5));
    h = _mm512_xor_si512(
        h, multiply_u64_avx512(_mm512_rol_epi64(multiply_u64_avx512(word, XXH64_2), 31), XXH64_1));
    h = _mm512_add_epi64(multiply_u64_avx512(_mm512_rol_epi64(h, 27), XXH64_1),
                         broadcast_u64_avx512(XXH64_4));
    __mmask8 four = _mm512_test_epi64_mask(size, broadcast_u64_avx512(4));
    if (four != 0) {
        __m512i half = _mm512_and_si512(rest, broadcast_u64_avx512(UINT32_MAX));
        __m512i g = _mm512_xor_si512(h, multiply_u64_avx512(half, XXH64_1));
        g = _mm512_add_epi64(multiply_u64_avx512(_mm512_rol_epi64(g, 23), XXH64_2),
                             broadcast_u64_avx512(XXH64_3));
        h = _mm512_mask_mov_epi64(h, four, g);
        rest = _mm512_mask_srli_epi64(rest, four, rest, 32);
    }
    __m512i bytes = _mm512_and_si512(size, broadcast_u64_avx512(3));
    for (uint64_t i = 0; i < 3; i++, rest = _mm512_srli_epi64(rest, 8)) {
        __mmask8 more = _mm512_cmpgt_epu64_mask(bytes, broadcast_u64_avx512(i));
        if (more == 0) break;
        __m512i g =
            multiply_u64_avx512(_mm512_and_si512(rest, broadcast_u64_avx512(0xFF)), XXH64_5);
        g = multiply_u64_avx512(_mm512_rol_epi64(_mm512_xor_si512(h, g), 11), XXH64_1);
        h = _mm512_mask_mov_epi64(h, more, g);
    }
    h = multiply_u64_avx512(_mm512_xor_si512(h, _mm512_srli_epi64(h, 33)), XXH64_2);
    h = multiply_u64_avx512(_mm512_xor_si512(h, _mm512_srli_epi64(h, 29)), XXH64_3);
    return _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
}

/* The sizes of eight ids. Returns false if one is too short or too long. */
XXH64_FN bool xxh64_sizes_avx512(const uint32_t *start, const uint32_t *end, __m256i *out_size)
{
    const __m256i begin = _mm256_loadu_si256((const __m256i *)(const void *)start);
    *out_size = _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)(const void *)end), begin);
    const __m256i above = _mm256_sub_epi32(*out_size, _mm256_set1_epi32(XXH64_VECTOR_ID_MIN));
    const __m256i most = _mm256_set1_epi32(XXH64_VECTOR_ID_MAX - XXH64_VECTOR_ID_MIN);
    return _mm256_cmpgt_epu32_mask(above, most) == 0;
}

#endif
