/* The hot loops of lanes.h with AVX2: eight rows per vector. */
#include "jobs/bloom/kernel.h"

#if BLOOM_LANES

#include "jobs/bloom/murmur.h"

#include <immintrin.h>
#include <string.h>

#define AVX2         __attribute__((target("avx2,bmi2,popcnt")))
#define LANES_FN     static inline __attribute__((always_inline)) AVX2
#define LANES_KERNEL static AVX2
#define LANES        8

typedef __m256i lanes;
typedef __m256i lanes_mask; /* all ones or zero in each lane */

LANES_FN lanes vec_set(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

LANES_FN lanes vec_load(const uint32_t *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

LANES_FN void vec_store(uint32_t *at, lanes x)
{
    _mm256_storeu_si256((__m256i *)(void *)at, x);
}
LANES_FN lanes vec_add(lanes a, lanes b)
{
    return _mm256_add_epi32(a, b);
}
LANES_FN lanes vec_sub(lanes a, lanes b)
{
    return _mm256_sub_epi32(a, b);
}
LANES_FN lanes vec_mul(lanes a, lanes b)
{
    return _mm256_mullo_epi32(a, b);
}
LANES_FN lanes vec_xor(lanes a, lanes b)
{
    return _mm256_xor_si256(a, b);
}
LANES_FN lanes vec_and(lanes a, lanes b)
{
    return _mm256_and_si256(a, b);
}
LANES_FN lanes vec_abs(lanes x)
{
    return _mm256_abs_epi32(x);
}
LANES_FN lanes vec_signs(lanes x)
{
    return _mm256_srai_epi32(x, 31);
}
LANES_FN lanes vec_sll(lanes x, int by)
{
    return _mm256_slli_epi32(x, by);
}
LANES_FN lanes vec_srl(lanes x, int by)
{
    return _mm256_srli_epi32(x, by);
}
LANES_FN lanes vec_sllv(lanes x, lanes by)
{
    return _mm256_sllv_epi32(x, by);
}
LANES_FN lanes vec_srlv(lanes x, lanes by)
{
    return _mm256_srlv_epi32(x, by);
}
LANES_FN lanes vec_rotl(lanes x, int by)
{
    return _mm256_or_si256(vec_sll(x, by), vec_srl(x, 32 - by));
}
LANES_FN lanes_mask vec_equal(lanes a, lanes b)
{
    return _mm256_cmpeq_epi32(a, b);
}
LANES_FN lanes_mask vec_mask_and(lanes_mask a, lanes_mask b)
{
    return _mm256_and_si256(a, b);
}

/* Unsigned: the larger one is b, and they differ. */
LANES_FN lanes_mask vec_less(lanes a, lanes b)
{
    return _mm256_andnot_si256(vec_equal(a, b), vec_equal(_mm256_max_epu32(a, b), b));
}

LANES_FN lanes_mask vec_test(lanes a, lanes b)
{
    lanes none = vec_equal(_mm256_and_si256(a, b), _mm256_setzero_si256());
    return _mm256_xor_si256(none, vec_set(UINT32_MAX));
}

LANES_FN uint32_t vec_bits(lanes_mask mask)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(mask));
}

LANES_FN bool vec_all(lanes_mask mask)
{
    return vec_bits(mask) == 0xFF;
}
LANES_FN bool vec_none(lanes_mask mask)
{
    return _mm256_testz_si256(mask, mask);
}
LANES_FN uint32_t vec_count(lanes_mask mask)
{
    return (uint32_t)__builtin_popcount(vec_bits(mask));
}
LANES_FN lanes vec_numbers(void)
{
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
}
LANES_FN lanes_mask vec_first(uint32_t count)
{
    return vec_less(vec_numbers(), vec_set(count));
}

LANES_FN lanes vec_select(lanes_mask mask, lanes yes, lanes no)
{
    return _mm256_blendv_epi8(no, yes, mask);
}

LANES_FN lanes vec_load_u16(const uint16_t *at)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)at));
}

LANES_FN lanes vec_byteswap(lanes x)
{
    __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(order));
}

/* The high halves of 32 x 32 bit products: even and odd lanes are multiplied separately. */
LANES_FN lanes vec_mulhi(lanes a, lanes b)
{
    lanes even = _mm256_mul_epu32(a, b);
    lanes odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

/* A permutation uses the low three bits of a lane, so 16 entries need two of them and a blend. */
LANES_FN lanes vec_column(const uint32_t *column, lanes at, bool few)
{
    if (!few) return _mm256_i32gather_epi32((const int *)(const void *)column, at, 4);
    lanes low = _mm256_permutevar8x32_epi32(vec_load(column), at);
    lanes high = _mm256_permutevar8x32_epi32(vec_load(column + 8), at);
    return vec_select(vec_less(at, vec_set(8)), low, high);
}

LANES_FN lanes vec_gather(const uint8_t *base, lanes word, lanes_mask mask)
{
    return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)(const void *)base,
                                       word, mask, 4);
}

/* AVX2 has no compress instruction: the numbers of the mask's lanes, one per byte, form a
 * permutation. */
LANES_FN void vec_pack(uint32_t *at, lanes x, lanes_mask mask)
{
    uint64_t chosen = _pdep_u64(vec_bits(mask), 0x0101010101010101u) * 0xFF;
    uint64_t numbers = _pext_u64(0x0706050403020100u, chosen);
    lanes order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)numbers));
    vec_store(at, _mm256_permutevar8x32_epi32(x, order));
}

/* The 16 bytes of rows i and i + 4. */
LANES_FN lanes load_every_fourth_row(const uint8_t *base, const uint32_t *start, uint32_t i)
{
    const uint8_t *a = base + start[i], *b = base + start[i + 4];
    lanes x = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)a));
    return _mm256_inserti128_si256(x, _mm_loadu_si128((const __m128i *)(const void *)b), 1);
}

/* Loads and a 4 x 4 transposition in each half; gathers are several times slower. */
LANES_FN void vec_words(const uint8_t *base, const uint32_t *start, uint32_t offset, lanes out[4])
{
    lanes a = load_every_fourth_row(base + offset, start, 0),
          b = load_every_fourth_row(base + offset, start, 1);
    lanes c = load_every_fourth_row(base + offset, start, 2),
          d = load_every_fourth_row(base + offset, start, 3);
    lanes ab_low = _mm256_unpacklo_epi32(a, b), ab_high = _mm256_unpackhi_epi32(a, b);
    lanes cd_low = _mm256_unpacklo_epi32(c, d), cd_high = _mm256_unpackhi_epi32(c, d);
    out[0] = _mm256_unpacklo_epi64(ab_low, cd_low);
    out[1] = _mm256_unpackhi_epi64(ab_low, cd_low);
    out[2] = _mm256_unpacklo_epi64(ab_high, cd_high);
    out[3] = _mm256_unpackhi_epi64(ab_high, cd_high);
}

#include "jobs/bloom/lanes.h"
#include "jobs/bloom/lanes_all.h"

const struct bloom_kernel bloom_kernel_avx2 = {.add = lanes_add,
                                               .contains = lanes_contains_rows,
                                               .contains_all = lanes_contains_all,
                                               .indexes = lanes_indexes};

#endif
