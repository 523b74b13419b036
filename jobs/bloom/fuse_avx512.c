/* Look-ups in fuse filters with AVX-512, eight ids at once. An id has three cache misses, in
 * filters and shards of its own, so lanes have addresses; a cell is read as the last bytes of 4,
 * which are inside the shard because its head is longer. */
#include "jobs/bloom/fuse.h"

#if BLOOM_LANES

#include "jobs/bloom/block.h"
#include "jobs/bloom/xxh64_avx512.h"

#define FUSE_FN static inline __attribute__((always_inline, target(AVX512)))

enum { LANES = XXH64_LANES, ARITY = 3, DELAY = 2 /* groups between hashing and testing */ };
static_assert(DELAY < (int)BLOOM_RING, "a group is tested before its place is used again");

/* Hashed ids: the addresses of their cells, less 4 - width, and their fingerprints. */
struct probes {
    uint64_t cell[ARITY][BLOOM_GROUP];
    uint32_t print[BLOOM_GROUP];
};

/* Words of 4 and 8 bytes at addresses. */
FUSE_FN __m512i gather_u32(__m512i at)
{
    return _mm512_cvtepu32_epi64(_mm512_i64gather_epi32(at, NULL, 1));
}
FUSE_FN __m512i gather_u64(__m512i at)
{
    return _mm512_i64gather_epi64(at, NULL, 1);
}

FUSE_FN __m512i mix_eight(__m512i h)
{
    h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 33)),
                           broadcast_u64_avx512(0xff51afd7ed558ccdu));
    h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 33)),
                           broadcast_u64_avx512(0xc4ceb9fe1a85ec53u));
    return _mm512_xor_si512(h, _mm512_srli_epi64(h, 33));
}

/* floor(h starts / 2^64), starts < 2^32 */
FUSE_FN __m512i first_cell_positions(__m512i h, __m512i starts)
{
    const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(h, starts), 32);
    const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(h, 32), starts);
    return _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
}

/* As positions in fuse.c, for eight ids in eight shards. */
FUSE_FN void probe_eight(const uint64_t *hash, const uint64_t *shard, uint32_t width,
                         struct probes *out, uint32_t first)
{
    const __m512i at = _mm512_loadu_si512(shard);
    const __m512i h = mix_eight(_mm512_add_epi64(_mm512_loadu_si512(hash), gather_u64(at)));
    const __m512i segment = gather_u32(_mm512_add_epi64(at, broadcast_u64_avx512(8)));
    const __m512i mask = gather_u32(_mm512_add_epi64(at, broadcast_u64_avx512(12)));
    const __m512i starts = gather_u32(_mm512_add_epi64(at, broadcast_u64_avx512(16)));
    const __m512i cells = _mm512_add_epi64(at, broadcast_u64_avx512(FUSE_HEAD + width - 4));
    __m512i p[ARITY] = {first_cell_positions(h, starts)};
    p[1] = _mm512_add_epi64(p[0], segment);
    p[2] = _mm512_add_epi64(p[1], segment);
    p[1] = _mm512_xor_si512(p[1], _mm512_and_si512(_mm512_srli_epi64(h, 18), mask));
    p[2] = _mm512_xor_si512(p[2], _mm512_and_si512(h, mask));
    for (uint32_t j = 0; j < ARITY; j++) {
        if (width == 2) p[j] = _mm512_slli_epi64(p[j], 1);
        _mm512_storeu_si512(out->cell[j] + first, _mm512_add_epi64(cells, p[j]));
    }
    const __m512i print = _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
    _mm256_storeu_si256((__m256i *)(void *)(out->print + first), _mm512_cvtepi64_epi32(print));
}

FUSE_FN uint8_t test_eight(const struct probes *p, uint32_t first, uint32_t width)
{
    __m256i value = _mm256_setzero_si256();
    for (uint32_t j = 0; j < ARITY; j++)
        value = _mm256_xor_si256(
            value, _mm512_i64gather_epi32(_mm512_loadu_si512(p->cell[j] + first), NULL, 1));
    const int shift = 32 - 8 * (int)width;
    const __m256i print = _mm256_loadu_si256((const __m256i *)(const void *)(p->print + first));
    value = _mm256_xor_si256(value, _mm256_slli_epi32(print, shift));
    return _mm256_testn_epi32_mask(value, _mm256_set1_epi32((int)(UINT32_MAX << shift)));
}

/* The hashes of rows first .. first + count - 1. */
FUSE_FN void hash_some_rows_avx512(enum bloom_scheme scheme, const struct bloom_rows *rows,
                                   uint32_t first, uint32_t count, uint64_t *out)
{
    __m256i size;
    const uint32_t *start = rows->start + first, *end = rows->end + first;
    if (scheme == BLOOM_XXH64 && count == LANES && xxh64_sizes_avx512(start, end, &size)) {
        _mm512_storeu_si512(out, xxh64_avx512(rows->base, start, _mm512_cvtepu32_epi64(size)));
        return;
    }
    for (uint32_t r = 0; r < count; r++)
        out[r] = block_hash(scheme, rows->base + start[r], end[r] - start[r]);
}

__attribute__((target(AVX512))) void
fuse_hash_rows_avx512(enum bloom_scheme scheme, const struct bloom_rows *rows, uint64_t *out)
{
    for (uint32_t r = 0; r < rows->rows; r += LANES)
        hash_some_rows_avx512(scheme, rows, r, rows->rows - r < LANES ? rows->rows - r : LANES,
                              out + r);
}

FUSE_FN void hash_group_to_probes(const struct bloom_set *set, const struct bloom_rows *rows,
                                  uint32_t first, uint32_t count, uint32_t width,
                                  struct probes *out)
{
    uint64_t hash[BLOOM_GROUP], shard[BLOOM_GROUP];
    for (uint32_t r = 0; r < count; r += LANES)
        hash_some_rows_avx512(set->scheme, rows, first + r, count - r < LANES ? count - r : LANES,
                              hash + r);
    for (uint32_t r = 0; r < count; r++) {
        const uint8_t *bits = set->bits + set->table->slot[rows->filter[first + r]].offset;
        shard[r] = (uintptr_t)fuse_shard_at(bits, hash[r]);
    }
    for (uint32_t r = count; r < BLOOM_GROUP; r++) {
        hash[r] = hash[0];
        shard[r] = shard[0];
    }
    for (uint32_t r = 0; r < BLOOM_GROUP; r += LANES)
        probe_eight(hash + r, shard + r, width, out, r);
    if (set->table->small) return;
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t j = 0; j < ARITY; j++)
            __builtin_prefetch((const void *)(uintptr_t)(out->cell[j][r] + 4 - width));
}

FUSE_FN void contains_rows_of_width_avx512(const struct bloom_set *set,
                                           const struct bloom_rows *rows, uint8_t *out_hit,
                                           uint32_t width)
{
    struct probes ring[BLOOM_RING];
    const uint32_t groups = (rows->rows + BLOOM_GROUP - 1) / BLOOM_GROUP;
    const uint32_t delay = set->table->small ? 0 : DELAY;
    for (uint32_t t = 0; t < groups + delay; t++) {
        const uint32_t left = t < groups ? rows->rows - t * BLOOM_GROUP : 0;
        if (left > 0)
            hash_group_to_probes(set, rows, t * BLOOM_GROUP,
                                 left < BLOOM_GROUP ? left : BLOOM_GROUP, width,
                                 &ring[t % BLOOM_RING]);
        if (t < delay) continue;
        const struct probes *old = &ring[(t - delay) % BLOOM_RING];
        const uint32_t first = (t - delay) * BLOOM_GROUP;
        const uint32_t low = test_eight(old, 0, width), high = test_eight(old, LANES, width);
        const uint32_t hits = low | high << LANES;
        for (uint32_t r = 0; r < BLOOM_GROUP && first + r < rows->rows; r++)
            out_hit[first + r] = hits >> r & 1;
    }
}

static __attribute__((target(AVX512))) void fuse_contains_rows_avx512(const struct bloom_set *set,
                                                                      const struct bloom_rows *rows,
                                                                      uint8_t *out_hit)
{
    assert(bloom_is_fuse(set->layout));
    if (set->layout == BLOOM_FUSE8)
        contains_rows_of_width_avx512(set, rows, out_hit, 1);
    else
        contains_rows_of_width_avx512(set, rows, out_hit, 2);
}

const struct bloom_kernel bloom_kernel_fuse_avx512 = {.contains = fuse_contains_rows_avx512};

#endif
