/* The hot loops of blocks.h with AVX2: the eight words of a split block are one vector, and eight
 * bits of a block of 512 are tested at once. Ids are hashed one by one: AVX2 has no 64-bit
 * multiplication. */
#include "jobs/bloom/block.h"

#if BLOOM_LANES

#include "jobs/bloom/blocks_x86.h"

#define BLOCKS_FN     static inline __attribute__((always_inline, target("avx2")))
#define BLOCKS_KERNEL static __attribute__((target("avx2")))

BLOCKS_FN void blocks_hash(const struct bloom_set *set, const struct bloom_rows *rows,
                           uint32_t first, uint32_t count, uint8_t **out_block, uint32_t *out_x)
{
    blocks_hash_each(set, rows, first, count, out_block, out_x);
}
BLOCKS_FN void blocks_put(enum bloom_layout layout, uint8_t *block, uint32_t x, uint32_t k)
{
    if (layout == BLOOM_SPLIT_BLOCK)
        split_block_put_avx2(block, x);
    else
        block512_put(block, x, k);
}

/* Tests the first eight hashes, of which those below k count, then the next eight. */
BLOCKS_FN bool block512_test_avx2(const uint8_t *block, uint32_t x, uint32_t k)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
    __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (uint32_t first = 0; first < k; first += 8) {
        __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)(block_powers + first));
        __m256i at = _mm256_srli_epi32(_mm256_mullo_epi32(_mm256_set1_epi32((int)x), powers), 23);
        __m256i word = _mm256_srli_epi32(at, 5);
        __m256i is_high = _mm256_cmpgt_epi32(word, _mm256_set1_epi32(7));
        __m256i found = _mm256_blendv_epi8(_mm256_permutevar8x32_epi32(low, word),
                                           _mm256_permutevar8x32_epi32(high, word), is_high);
        __m256i bit =
            _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_and_si256(at, _mm256_set1_epi32(31)));
        __m256i wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(k - first)), number);
        if (!_mm256_testc_si256(found, _mm256_and_si256(bit, wanted))) return false;
    }
    return true;
}
BLOCKS_FN bool blocks_test(enum bloom_layout layout, const uint8_t *block, uint32_t x, uint32_t k)
{
    return layout == BLOOM_SPLIT_BLOCK ? split_block_test_avx2(block, x)
                                       : block512_test_avx2(block, x, k);
}

#include "jobs/bloom/blocks.h"

const struct bloom_kernel bloom_blocks_avx2 = {.add = blocks_add, .contains = blocks_contains_rows};

#endif
