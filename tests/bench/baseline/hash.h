/* The k indexes of 16 ids at a time, bit for bit those of mmh3.hash(id, seed) % m in Python:
 * MurmurHash3_x86_32, read as signed, floor modulo. Lanes are rows, one seed after the other, so
 * the mixing of the id's bytes, which no seed touches, is done once per row. Written with the
 * compiler's vectors: it becomes AVX-512, AVX2 or NEON as the machine has them. */
#ifndef BASELINE_HASH_H
#define BASELINE_HASH_H

#include "rows.h"

#include <string.h>
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

/* Ids of other sizes are hashed one by one. */
enum { LANES = 16, ID_BYTES_MIN = 8, ID_BYTES_MAX = 11 };

typedef uint32_t u32x16 __attribute__((vector_size(64)));
typedef int32_t i32x16 __attribute__((vector_size(64)));

#define HASH_C1 UINT32_C(0xcc9e2d51)
#define HASH_C2 UINT32_C(0x1b873593)

static inline uint32_t rotl32(uint32_t x, int r)
{
    return x << r | x >> (32 - r);
}

/* The reference implementation: any length, any seed. */
static inline uint32_t murmur3(const uint8_t *bytes, uint32_t length, uint32_t seed)
{
    uint32_t h = seed, word, at = 0;
    for (; at + 4 <= length; at += 4) {
        memcpy(&word, bytes + at, 4);
        h ^= rotl32(word * HASH_C1, 15) * HASH_C2;
        h = rotl32(h, 13) * 5 + 0xe6546b64;
    }
    word = 0;
    for (uint32_t i = at; i < length; i++) word |= (uint32_t)bytes[i] << 8 * (i - at);
    h ^= rotl32(word * HASH_C1, 15) * HASH_C2;
    h ^= length;
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return h ^ h >> 16;
}

/* Floor modulo of the hash as a signed number. */
static inline uint32_t index_of(uint32_t hash, uint32_t m)
{
    uint32_t sign = -(hash >> 31);
    return ((hash ^ sign) % m ^ sign) + (sign & m);
}

/* What the lanes know per key. The modulo by m needs no division: with l = ceil(log2 m) and
 * magic = ceil(2^(31 + l) / m), n div m is mulhi(n, magic) >> (l - 1) for all n < 2^31 and
 * 2 <= m < 2^31 (Granlund and Montgomery, PLDI 1994). */
struct divisors {
    u32x16 m, magic, shift, base; /* base: the first bit of the key's filter in the area */
};

/* 16 ids whose bytes are mixed, for any seed. */
struct lanes {
    u32x16 first, second, tail, length;
    u32x16 m, magic, shift, base;
};

#if defined(__AVX2__)
union halves {
    u32x16 all;
    __m256i half[2];
};
#endif

static inline u32x16 mulhi(u32x16 a, u32x16 b)
{
#if defined(__AVX512F__)
    __m512i even = _mm512_mul_epu32((__m512i)a, (__m512i)b);
    __m512i odd =
        _mm512_mul_epu32(_mm512_srli_epi64((__m512i)a, 32), _mm512_srli_epi64((__m512i)b, 32));
    return (u32x16)_mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
#elif defined(__AVX2__)
    union halves x = {a}, y = {b};
    for (int i = 0; i < 2; i++) {
        __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(x.half[i], y.half[i]), 32);
        __m256i odd =
            _mm256_mul_epu32(_mm256_srli_epi64(x.half[i], 32), _mm256_srli_epi64(y.half[i], 32));
        x.half[i] = _mm256_blend_epi32(even, odd, 0xaa);
    }
    return x.all;
#else
    u32x16 high;
    for (int i = 0; i < LANES; i++) high[i] = (uint32_t)((uint64_t)a[i] * b[i] >> 32);
    return high;
#endif
}

static inline u32x16 rotl(u32x16 x, int r)
{
    return x << r | x >> (32 - r);
}

static inline u32x16 mix_word(u32x16 word)
{
    return rotl(word * HASH_C1, 15) * HASH_C2;
}

static inline u32x16 widen(const uint8_t bytes[LANES])
{
#if defined(__AVX512F__)
    return (u32x16)_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)bytes));
#else
    u32x16 words;
    for (int i = 0; i < LANES; i++) words[i] = bytes[i];
    return words;
#endif
}

/* words[w] = bytes 4w..4w+3 of each of 16 ids: 16 loads of 16 bytes, then a transposition. */
static inline void load_words(const uint8_t *bytes, const uint32_t *start, u32x16 words[3])
{
#if defined(__AVX512F__)
    __m512i quad[4]; /* 128-bit lane l of quad[j] holds id 4l + j */
    for (int j = 0; j < 4; j++) {
        __m512i q = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(bytes + start[j])));
        q = _mm512_inserti32x4(q, _mm_loadu_si128((const void *)(bytes + start[4 + j])), 1);
        q = _mm512_inserti32x4(q, _mm_loadu_si128((const void *)(bytes + start[8 + j])), 2);
        quad[j] = _mm512_inserti32x4(q, _mm_loadu_si128((const void *)(bytes + start[12 + j])), 3);
    }
    __m512i low01 = _mm512_unpacklo_epi32(quad[0], quad[1]);
    __m512i low23 = _mm512_unpacklo_epi32(quad[2], quad[3]);
    __m512i high01 = _mm512_unpackhi_epi32(quad[0], quad[1]);
    __m512i high23 = _mm512_unpackhi_epi32(quad[2], quad[3]);
    words[0] = (u32x16)_mm512_unpacklo_epi64(low01, low23);
    words[1] = (u32x16)_mm512_unpackhi_epi64(low01, low23);
    words[2] = (u32x16)_mm512_unpacklo_epi64(high01, high23);
#else
    uint32_t *out = (uint32_t *)words;
    for (int i = 0; i < LANES; i++)
        for (int w = 0; w < 3; w++) memcpy(out + w * LANES + i, bytes + start[i] + 4 * w, 4);
#endif
}

/* table[index] in every lane, index < 16. */
static inline u32x16 look_up(u32x16 table, u32x16 index)
{
#if defined(__AVX512F__)
    return (u32x16)_mm512_permutexvar_epi32((__m512i)index, (__m512i)table);
#elif defined(__AVX2__)
    union halves from = {table}, at = {index};
    for (int i = 0; i < 2; i++) {
        __m256 low = (__m256)_mm256_permutevar8x32_epi32(from.half[0], at.half[i]);
        __m256 high = (__m256)_mm256_permutevar8x32_epi32(from.half[1], at.half[i]);
        __m256 upper = (__m256)_mm256_slli_epi32(at.half[i], 28); /* the sign: index >= 8 */
        at.half[i] = (__m256i)_mm256_blendv_ps(low, high, upper);
    }
    return at.all;
#else
    u32x16 found;
    for (int i = 0; i < LANES; i++) found[i] = table[index[i]];
    return found;
#endif
}

/* Mixes the ids of 16 rows from `row` on; the lanes of ids outside ID_BYTES_MIN..MAX are
 * arbitrary. */
static inline void lanes_load_ids(struct lanes *lanes, const struct rows *rows, uint32_t row)
{
    u32x16 words[3], start, tab;
    memcpy(&start, rows->start + row, sizeof start);
    memcpy(&tab, rows->tab + row, sizeof tab);
    load_words(rows->bytes, rows->start + row, words);
    lanes->length = tab - start;
    u32x16 tail_mask = ~(UINT32_MAX << (lanes->length * 8 & 31)); /* of length mod 4 bytes */
    lanes->first = mix_word(words[0]);
    lanes->second = mix_word(words[1]);
    lanes->tail = mix_word(words[2] & tail_mask) ^ lanes->length; /* an empty tail mixes to 0 */
}

static inline void lanes_load_keys(struct lanes *lanes, u32x16 key, const struct divisors *divisors)
{
    lanes->m = look_up(divisors->m, key);
    lanes->magic = look_up(divisors->magic, key);
    lanes->shift = look_up(divisors->shift, key);
    lanes->base = look_up(divisors->base, key);
}

/* Returns a bit mask of the lanes whose ids need murmur3(). */
static inline uint32_t lanes_odd(const struct lanes *lanes)
{
    u32x16 odd = (u32x16)(lanes->length - ID_BYTES_MIN > ID_BYTES_MAX - ID_BYTES_MIN);
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)odd, (__m512i)odd);
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++) bits |= (odd[i] & 1) << i;
    return bits;
#endif
}

/* The bit numbers, in the area of all filters, of the 16 rows for one seed. */
static inline u32x16 lanes_index(const struct lanes *lanes, uint32_t seed)
{
    u32x16 h = lanes->first ^ seed;
    h = rotl(h, 13) * 5 + 0xe6546b64;
    h ^= lanes->second;
    h = rotl(h, 13) * 5 + 0xe6546b64;
    h ^= lanes->tail;
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    h ^= h >> 16;
    u32x16 sign = (u32x16)((i32x16)h >> 31);
    u32x16 n = h ^ sign;
    u32x16 quotient = mulhi(n, lanes->magic) >> lanes->shift;
    u32x16 rest = n - quotient * lanes->m;
    return (rest ^ sign) + (sign & lanes->m) + lanes->base;
}

#endif
