/* The hot loops of blocks.h with AVX-512: eight ids of 8 to 15 bytes are hashed at once, and all
 * bits of a block of 512 are tested by one permutation, or two from k = 17 on. */
#include "jobs/bloom/block.h"

#if BLOOM_LANES

#include "jobs/bloom/blocks_x86.h"
#include "jobs/bloom/xxh64_avx512.h"

#define BLOCKS_FN     static inline __attribute__((always_inline, target(AVX512)))
#define BLOCKS_KERNEL static __attribute__((target(AVX512)))

enum { LANES = XXH64_LANES };

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
    __m256i size;
    if (!xxh64_sizes_avx512(start, rows->end + first, &size)) return false;
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

const struct bloom_kernel bloom_blocks_avx512 = {.add = blocks_add,
                                                 .contains = blocks_contains_rows};

#endif
