/* The hot loops of blocks.h with AVX-512: eight ids of 8 to 15 bytes are hashed at once, and all
 * bits of a block of 512 are tested by one permutation, or two from k = 17 on. */
#include "jobs/bloom/block.h"

#if BLOOM_LANES

#include "jobs/bloom/blocks_x86.h"

#define AVX512        "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi2"
#define BLOCKS_FN     static inline __attribute__((always_inline, target(AVX512)))
#define BLOCKS_KERNEL static __attribute__((target(AVX512)))

enum { LANES = 8, VECTOR_ID_MIN = 8, VECTOR_ID_MAX = 15 };

/* The constants of XXH64 (Collet, xxHash specification). */
#define XXH64_1 0x9E3779B185EBCA87u
#define XXH64_2 0xC2B2AE3D27D4EB4Fu
#define XXH64_3 0x165667B19E3779F9u
#define XXH64_4 0x85EBCA77C2B2AE63u
#define XXH64_5 0x27D4EB2F165667C5u

BLOCKS_FN __m512i broadcast_u64_avx512(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}
BLOCKS_FN __m512i multiply_u64_avx512(__m512i x, uint64_t by)
{
    return _mm512_mullo_epi64(x, broadcast_u64_avx512(by));
}

/* The 16 bytes of rows r, r + 2, r + 4 and r + 6. */
BLOCKS_FN __m512i load_every_second_row(const uint8_t *base, const uint32_t *start)
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
BLOCKS_FN __m512i xxh64_avx512(const uint8_t *base, const uint32_t *start, __m512i size)
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

/* column[filter] of eight rows; `few`: the column is one vector. */
BLOCKS_FN __m512i gather_filter_column(const uint32_t *column, __m256i filter, bool few)
{
    __m256i found = few ? _mm512_castsi512_si256(_mm512_permutexvar_epi32(
                              _mm512_castsi256_si512(filter), _mm512_load_si512(column)))
                        : _mm256_i32gather_epi32((const int *)(const void *)column, filter, 4);
    return _mm512_cvtepu32_epi64(found);
}

/* Returns false if an id is too short or too long. */
BLOCKS_FN bool hash_eight_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                               uint32_t first, uint8_t **out_block, uint32_t *out_x)
{
    const uint32_t *start = rows->start + first;
    __m256i begin = _mm256_loadu_si256((const __m256i *)(const void *)start);
    __m256i end = _mm256_loadu_si256((const __m256i *)(const void *)(rows->end + first));
    __m256i size = _mm256_sub_epi32(end, begin);
    __m256i above = _mm256_sub_epi32(size, _mm256_set1_epi32(VECTOR_ID_MIN));
    const __m256i most = _mm256_set1_epi32(VECTOR_ID_MAX - VECTOR_ID_MIN);
    if (_mm256_cmpgt_epu32_mask(above, most) != 0) return false;
    __m512i h = xxh64_avx512(rows->base, start, _mm512_cvtepu32_epi64(size));
    __m256i filter = _mm256_cvtepu16_epi32(
        _mm_loadu_si128((const __m128i *)(const void *)(rows->filter + first)));
    bool few = set->count <= 16;
    __m512i blocks = gather_filter_column(set->table->m, filter, few);
    __m512i block = _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(h, 32), blocks), 32);
    block = _mm512_sllv_epi64(block, broadcast_u64_avx512(block_bits_log2(set->layout)));
    __m512i unit = _mm512_slli_epi64(gather_filter_column(set->table->word, filter, few), 5);
    static_assert(BLOOM_BLOCK_UNIT == 1 << 5, "the column counts units");
    __m512i at =
        _mm512_add_epi64(_mm512_add_epi64(unit, block), broadcast_u64_avx512((uintptr_t)set->bits));
    _mm512_storeu_si512(out_block, at);
    _mm256_storeu_si256((__m256i *)(void *)out_x, _mm512_cvtepi64_epi32(h));
    return true;
}

BLOCKS_FN void blocks_hash(const struct bloom_set *set, const struct bloom_rows *rows,
                           uint32_t first, uint32_t count, uint8_t **out_block, uint32_t *out_x)
{
    static_assert(sizeof *out_block == 8, "addresses fill a lane");
    if (set->scheme != BLOOM_XXH64 || count < BLOOM_GROUP) {
        blocks_hash_each(set, rows, first, count, out_block, out_x);
        return;
    }
    for (uint32_t r = 0; r < BLOOM_GROUP; r += LANES)
        if (!hash_eight_rows(set, rows, first + r, out_block + r, out_x + r))
            blocks_hash_each(set, rows, first + r, LANES, out_block + r, out_x + r);
}

BLOCKS_FN void blocks_put(enum bloom_layout layout, uint8_t *block, uint32_t x, uint32_t k)
{
    if (layout == BLOOM_SPLIT_BLOCK)
        split_block_put_avx2(block, x);
    else
        block512_put(block, x, k);
}

BLOCKS_FN bool block512_test_avx512(const uint8_t *block, uint32_t x, uint32_t k)
{
    __m512i words = _mm512_loadu_si512(block);
    for (uint32_t first = 0; first < k; first += 16) {
        uint32_t left = k - first;
        __mmask16 wanted = (__mmask16)(left >= 16 ? 0xFFFF : (1u << left) - 1);
        __m512i powers = _mm512_loadu_si512(block_powers + first);
        __m512i at = _mm512_srli_epi32(_mm512_mullo_epi32(_mm512_set1_epi32((int)x), powers), 23);
        __m512i found = _mm512_permutexvar_epi32(_mm512_srli_epi32(at, 5), words);
        __m512i bit =
            _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(at, _mm512_set1_epi32(31)));
        if (_mm512_mask_test_epi32_mask(wanted, found, bit) != wanted) return false;
    }
    return true;
}
BLOCKS_FN bool blocks_test(enum bloom_layout layout, const uint8_t *block, uint32_t x, uint32_t k)
{
    if (layout == BLOOM_SPLIT_BLOCK) return split_block_test_avx2(block, x);
    return block512_test_avx512(block, x, k);
}

#include "jobs/bloom/blocks.h"

const struct bloom_kernel bloom_blocks_avx512 = {.add = blocks_add, .contains = blocks_contains};

#endif
