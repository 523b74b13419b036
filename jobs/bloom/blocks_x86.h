/* Shared by both vector versions of blocks.h: a split block is one vector of 256 bits, and the
 * powers that map a hash to its bits in a block of 512. */
#ifndef GLINT_JOBS_BLOOM_BLOCKS_X86_H
#define GLINT_JOBS_BLOOM_BLOCKS_X86_H

#include "jobs/bloom/block.h"

#include <immintrin.h>

#define BLOCKS_AVX2 static inline __attribute__((always_inline, target("avx2")))

/* BLOCK_GOLDEN^i mod 2^32, padded to a whole vector of 16. */
static const uint32_t block_powers[32] = {
    0x00000001, 0x9e3779b9, 0xe35e67b1, 0x734297e9, 0x35fbe861, 0xdeb7c719, 0x0448b211, 0x3459b749,
    0xab25f4c1, 0x52941879, 0x9c95e071, 0xf5ab9aa9, 0x2d6ba521, 0x8bededd9, 0x9bfb72d1, 0x3ae1c209,
    0x7fca7981, 0xc576c739, 0xd23ee931, 0x0335ad69, 0xc04ff1e1, 0x98702499, 0x7535c391, 0x9f70dcc9,
    0x0e198e41, 0xf2ab85f9, 0xe6c581f1, 0xc7ecd029, 0x6f54cea1, 0x4c8a6b59, 0xbae3a451, 0xf2930789};
static_assert(BLOOM_K_MAX_512 <= sizeof block_powers / sizeof *block_powers, "a power per hash");

/* The bits of a hash in the eight words. */
BLOCKS_AVX2 __m256i split_block_mask_avx2(uint32_t x)
{
    __m256i salts = _mm256_loadu_si256((const __m256i *)(const void *)block_salts);
    __m256i at = _mm256_srli_epi32(_mm256_mullo_epi32(_mm256_set1_epi32((int)x), salts), 27);
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), at);
}
BLOCKS_AVX2 void split_block_put_avx2(uint8_t *block, uint32_t x)
{
    __m256i *at = (__m256i *)(void *)block;
    _mm256_storeu_si256(at, _mm256_or_si256(_mm256_loadu_si256(at), split_block_mask_avx2(x)));
}
BLOCKS_AVX2 bool split_block_test_avx2(const uint8_t *block, uint32_t x)
{
    __m256i found = _mm256_loadu_si256((const __m256i *)(const void *)block);
    return _mm256_testc_si256(found, split_block_mask_avx2(x));
}

#endif
