/* The hot loops of lanes.h with AVX-512: sixteen rows per vector. */
#include "jobs/bloom/kernel.h"

#if BLOOM_LANES

#include "jobs/bloom/murmur.h"

#include <immintrin.h>
#include <string.h>

#define AVX512       __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi2,popcnt")))
#define LANES_FN     static inline __attribute__((always_inline)) AVX512
#define LANES_KERNEL static AVX512
#define LANES        16

typedef __m512i lanes;
typedef __mmask16 lanes_mask;

LANES_FN lanes vec_set(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}
LANES_FN lanes vec_load(const uint32_t *at)
{
    return _mm512_loadu_si512(at);
}
LANES_FN void vec_store(uint32_t *at, lanes x)
{
    _mm512_storeu_si512(at, x);
}
LANES_FN lanes vec_add(lanes a, lanes b)
{
    return _mm512_add_epi32(a, b);
}
LANES_FN lanes vec_sub(lanes a, lanes b)
{
    return _mm512_sub_epi32(a, b);
}
LANES_FN lanes vec_mul(lanes a, lanes b)
{
    return _mm512_mullo_epi32(a, b);
}
LANES_FN lanes vec_xor(lanes a, lanes b)
{
    return _mm512_xor_si512(a, b);
}
LANES_FN lanes vec_and(lanes a, lanes b)
{
    return _mm512_and_si512(a, b);
}
LANES_FN lanes vec_abs(lanes x)
{
    return _mm512_abs_epi32(x);
}
LANES_FN lanes vec_signs(lanes x)
{
    return _mm512_srai_epi32(x, 31);
}
LANES_FN lanes vec_sll(lanes x, unsigned by)
{
    return _mm512_slli_epi32(x, by);
}
LANES_FN lanes vec_srl(lanes x, unsigned by)
{
    return _mm512_srli_epi32(x, by);
}
LANES_FN lanes vec_sllv(lanes x, lanes by)
{
    return _mm512_sllv_epi32(x, by);
}
LANES_FN lanes vec_srlv(lanes x, lanes by)
{
    return _mm512_srlv_epi32(x, by);
}
LANES_FN lanes vec_rotl(lanes x, int by)
{
    return _mm512_rolv_epi32(x, _mm512_set1_epi32(by));
}
LANES_FN lanes_mask vec_less(lanes a, lanes b)
{
    return _mm512_cmplt_epu32_mask(a, b);
}
LANES_FN lanes_mask vec_equal(lanes a, lanes b)
{
    return _mm512_cmpeq_epi32_mask(a, b);
}
LANES_FN lanes_mask vec_test(lanes a, lanes b)
{
    return _mm512_test_epi32_mask(a, b);
}
LANES_FN lanes_mask vec_mask_and(lanes_mask a, lanes_mask b)
{
    return a & b;
}
LANES_FN bool vec_all(lanes_mask mask)
{
    return mask == 0xFFFF;
}
LANES_FN bool vec_none(lanes_mask mask)
{
    return mask == 0;
}
LANES_FN uint32_t vec_bits(lanes_mask mask)
{
    return mask;
}
LANES_FN uint32_t vec_count(lanes_mask mask)
{
    return (uint32_t)__builtin_popcount(mask);
}

LANES_FN lanes_mask vec_first(uint32_t count)
{
    return (lanes_mask)(count >= LANES ? 0xFFFF : (1u << count) - 1);
}

LANES_FN lanes vec_select(lanes_mask mask, lanes yes, lanes no)
{
    return _mm512_mask_blend_epi32(mask, no, yes);
}

LANES_FN lanes vec_numbers(void)
{
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

LANES_FN lanes vec_load_u16(const uint16_t *at)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)at));
}

LANES_FN lanes vec_byteswap(lanes x)
{
    __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(order));
}

/* The high halves of 32 x 32 bit products: even and odd lanes are multiplied separately. */
LANES_FN lanes vec_mulhi(lanes a, lanes b)
{
    lanes even = _mm512_mul_epu32(a, b);
    lanes odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    return _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}

LANES_FN lanes vec_column(const uint32_t *column, lanes at, bool few)
{
    if (few) return _mm512_permutexvar_epi32(at, _mm512_load_si512(column));
    return _mm512_i32gather_epi32(at, column, 4);
}

LANES_FN lanes vec_gather(const uint8_t *base, lanes word, lanes_mask mask)
{
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, word, base, 4);
}

/* Uses a register that was just cleared: on some processors, compress with zeroing waits for the
 * last write to its destination register. */
LANES_FN void vec_pack(uint32_t *at, lanes x, lanes_mask mask)
{
    lanes zero = _mm512_setzero_si512();
    __asm__("" : "+v"(zero));
    _mm512_storeu_si512(at, _mm512_mask_compress_epi32(zero, mask, x));
}

/* The 16 bytes of rows i, i + 4, i + 8 and i + 12. */
LANES_FN lanes load_every_fourth_row(const uint8_t *base, const uint32_t *start, uint32_t i)
{
    const uint8_t *a = base + start[i], *b = base + start[i + 4];
    const uint8_t *c = base + start[i + 8], *d = base + start[i + 12];
    lanes x = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)a));
    x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)b), 1);
    x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)c), 2);
    return _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)d), 3);
}

/* Loads and a 4 x 4 transposition in each quarter; gathers are several times slower. */
LANES_FN void vec_words(const uint8_t *base, const uint32_t *start, uint32_t offset, lanes out[4])
{
    lanes a = load_every_fourth_row(base + offset, start, 0),
          b = load_every_fourth_row(base + offset, start, 1);
    lanes c = load_every_fourth_row(base + offset, start, 2),
          d = load_every_fourth_row(base + offset, start, 3);
    lanes ab_low = _mm512_unpacklo_epi32(a, b), ab_high = _mm512_unpackhi_epi32(a, b);
    lanes cd_low = _mm512_unpacklo_epi32(c, d), cd_high = _mm512_unpackhi_epi32(c, d);
    out[0] = _mm512_unpacklo_epi64(ab_low, cd_low);
    out[1] = _mm512_unpackhi_epi64(ab_low, cd_low);
    out[2] = _mm512_unpacklo_epi64(ab_high, cd_high);
    out[3] = _mm512_unpackhi_epi64(ab_high, cd_high);
}

#include "jobs/bloom/lanes.h"
#include "jobs/bloom/lanes_all.h"

const struct bloom_kernel bloom_kernel_avx512 = {.add = lanes_add,
                                                 .contains = lanes_contains_rows,
                                                 .contains_all = lanes_contains_all,
                                                 .indexes = lanes_indexes};

#endif
