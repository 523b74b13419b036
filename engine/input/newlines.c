/* The portable variant, eight bytes at a time, and the choice of the variant. */
#include "engine/input/newlines.h"

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <string.h>

/* The bytes scanned between two checks whether the index is full. */
#define NEWLINES_CHUNK 64u

static_assert(NEWLINES_CHUNK <= NEWLINES_SLACK && NEWLINES_CHUNK <= READ_SLACK,
              "the slack after the index and after the text has room for one chunk");

/* The bits of the bytes before `to` in a chunk at `at`. */
static inline uint64_t newlines_valid_mask(uint32_t at, uint32_t to)
{
    return to - at >= NEWLINES_CHUNK ? UINT64_MAX : (UINT64_C(1) << (to - at)) - 1;
}

/* ---- Finds newlines 64 bytes at a time. A chunk's bit mask is converted into offsets without a
 * branch per line: a loop over its bits would mispredict about once per chunk. Whole groups of
 * offsets are stored, enough for a chunk of typical lines; the next chunk overwrites the excess. */

#if defined(__x86_64__)

#include <immintrin.h>

#define INDEX_FULL (BATCH_ROWS_MAX - NEWLINES_CHUNK)
#define SHORT_LINE 16   /* bytes of a line on average, of which a chunk often has more than four */
#define AHEAD      2048 /* prefetch distance in bytes; the block just read is in L2 */

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

AVX2 static inline uint64_t equal_byte_mask_avx2(__m256i low, __m256i high, char byte)
{
    const __m256i wanted = _mm256_set1_epi8(byte);
    const uint32_t a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    const uint32_t b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
    return a | (uint64_t)b << 32;
}

/* Stores four offsets without a branch, two more where lines are short, and the rare rest in a
 * loop. tzcnt of 0 is 64: an invalid offset, which the next chunk overwrites. */
AVX2 static inline void store_line_ends_avx2(uint32_t *end, uint64_t bits, uint32_t at,
                                             bool short_lines)
{
    for (int i = 0; i < 4; i++, bits = _blsr_u64(bits)) *end++ = at + (uint32_t)_tzcnt_u64(bits);
    if (short_lines)
        for (int i = 0; i < 2; i++, bits = _blsr_u64(bits))
            *end++ = at + (uint32_t)_tzcnt_u64(bits);
    for (; bits != 0; bits = _blsr_u64(bits)) *end++ = at + (uint32_t)_tzcnt_u64(bits);
}

/* Lines start after the ends of those before. Both arrays have room for a chunk more. */
AVX2 static void compute_line_starts_avx2(const uint32_t *end, uint32_t count, uint32_t *start)
{
    const __m256i one = _mm256_set1_epi32(1);
    for (uint32_t i = 0; i < count; i += 8) {
        const __m256i ends = _mm256_loadu_si256((const __m256i *)(const void *)(end + i));
        _mm256_storeu_si256((__m256i *)(void *)(start + i), _mm256_add_epi32(ends, one));
    }
}

AVX2 static struct newlines index_newlines_avx2(const uint8_t *base, uint32_t from, uint32_t to,
                                                uint32_t *out_start, uint32_t *out_end)
{
    assert(from <= to);
    uint32_t count = 0, at = from;
    __m256i any_cr = _mm256_setzero_si256();
    uint64_t last_cr = 0;
    while (at < to && count <= INDEX_FULL) {
        const uint8_t *p = base + at;
        __builtin_prefetch(p + AHEAD);
        const __m256i low = _mm256_loadu_si256((const __m256i *)p);
        const __m256i high = _mm256_loadu_si256((const __m256i *)(p + 32));
        const uint64_t inside = newlines_valid_mask(at, to);
        const uint64_t lf = equal_byte_mask_avx2(low, high, '\n') & inside;
        if (inside == UINT64_MAX) {
            const __m256i cr = _mm256_set1_epi8('\r');
            any_cr = _mm256_or_si256(
                any_cr, _mm256_or_si256(_mm256_cmpeq_epi8(low, cr), _mm256_cmpeq_epi8(high, cr)));
        } else {
            last_cr = equal_byte_mask_avx2(low, high, '\r') & inside;
        }
        store_line_ends_avx2(out_end + count, lf, at, count > (at - from) / SHORT_LINE);
        count += (uint32_t)_mm_popcnt_u64(lf);
        at += NEWLINES_CHUNK;
    }
    compute_line_starts_avx2(out_end, count, out_start + 1);
    const bool cr = last_cr != 0 || !_mm256_testz_si256(any_cr, any_cr);
    return (struct newlines){.count = count, .scanned = at < to ? at : to, .any_cr = cr};
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")))

/* Compresses the numbers 0..63 by the mask and stores them as offsets, 8 at a time; a chunk of
 * typical lines has at most 8. */
AVX512 static inline void store_line_ends_avx512(uint32_t *start, uint32_t *end, uint64_t bits,
                                                 uint32_t at, uint32_t count)
{
    const __m512i numbers = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, //
                                             0x2f2e2d2c2b2a2928, 0x2726252423222120, //
                                             0x1f1e1d1c1b1a1918, 0x1716151413121110, //
                                             0x0f0e0d0c0b0a0908, 0x0706050403020100);
    const __m256i base = _mm256_set1_epi32((int)at), one = _mm256_set1_epi32(1);
    /* Compress into a zeroed register: on some CPUs the zeroing form of the instruction waits for
     * the previous write to its destination. */
    __m512i zero = _mm512_setzero_si512();
    __asm__("" : "+v"(zero)); /* keeps the compiler from using the zeroing form */
    __m512i bytes = _mm512_mask_compress_epi8(zero, bits, numbers);
    for (uint32_t done = 0;; done += 8) {
        const __m256i words = _mm256_cvtepu8_epi32(_mm512_castsi512_si128(bytes));
        const __m256i positions = _mm256_add_epi32(words, base);
        _mm256_storeu_si256((__m256i *)(end + done), positions);
        _mm256_storeu_si256((__m256i *)(start + done), _mm256_add_epi32(positions, one));
        if (done + 8 >= count) break;
        bytes = _mm512_alignr_epi64(bytes, bytes, 1);
    }
}

AVX512 static struct newlines index_newlines_avx512(const uint8_t *base, uint32_t from, uint32_t to,
                                                    uint32_t *out_start, uint32_t *out_end)
{
    assert(from <= to);
    uint32_t count = 0, at = from;
    uint64_t any_cr = 0;
    const __m512i lf_byte = _mm512_set1_epi8('\n'), cr_byte = _mm512_set1_epi8('\r');
    while (at < to && count <= INDEX_FULL) {
        const uint8_t *p = base + at;
        __builtin_prefetch(p + AHEAD);
        const __m512i chunk = _mm512_loadu_si512(p);
        const uint64_t inside = newlines_valid_mask(at, to);
        const uint64_t lf = _mm512_cmpeq_epi8_mask(chunk, lf_byte) & inside;
        any_cr |= _mm512_cmpeq_epi8_mask(chunk, cr_byte) & inside;
        const uint32_t found = (uint32_t)_mm_popcnt_u64(lf);
        store_line_ends_avx512(out_start + 1 + count, out_end + count, lf, at, found);
        count += found;
        at += NEWLINES_CHUNK;
    }
    return (struct newlines){.count = count, .scanned = at < to ? at : to, .any_cr = any_cr != 0};
}

#endif

/* ---- newlines */

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (uint64_t)(b))

static inline uint64_t load_word(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

/* Returns 0x80 in each byte that equals `byte`, 0 in the others; there are no false matches. */
static inline uint64_t match_bytes(uint64_t word, uint8_t byte)
{
    const uint64_t low = EACH_BYTE(0x7f);
    const uint64_t x = word ^ EACH_BYTE(byte);
    return ~(((x & low) + low) | x | low);
}

/* Packs such a result into one bit per byte: the factor moves bit 8 i + 7 to bit 56 + i. */
static inline uint64_t pack_match_bits(uint64_t equal)
{
    return (equal >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* Returns the LFs of the 64 bytes at p as bits. Sets bits in *any_cr for CRs. `inside` masks the
 * valid bytes. */
static inline uint64_t newline_bits_of_chunk(const uint8_t *p, uint64_t inside, uint64_t *any_cr)
{
    uint64_t lf = 0, cr = 0;
    for (unsigned i = 0; i < NEWLINES_CHUNK; i += 8) {
        const uint64_t word = load_word(p + i);
        lf |= pack_match_bits(match_bytes(word, '\n')) << i;
        cr |= pack_match_bits(match_bytes(word, '\r')) << i;
    }
    *any_cr |= cr & inside;
    return lf & inside;
}

static struct newlines index_newlines_scalar(const uint8_t *base, uint32_t from, uint32_t to,
                                             uint32_t *out_start, uint32_t *out_end)
{
    assert(from <= to);
    uint32_t count = 0, at = from;
    uint64_t any_cr = 0;
    while (at < to && count <= BATCH_ROWS_MAX - NEWLINES_CHUNK) {
        uint64_t lf = newline_bits_of_chunk(base + at, newlines_valid_mask(at, to), &any_cr);
        for (; lf != 0; lf &= lf - 1) {
            const uint32_t position = at + (uint32_t)__builtin_ctzll(lf);
            out_end[count++] = position;
            out_start[count] = position + 1;
        }
        at += NEWLINES_CHUNK;
    }
    return (struct newlines){.count = count, .scanned = at < to ? at : to, .any_cr = any_cr != 0};
}

newlines_index newlines_index_for_level(enum newlines_level level)
{
    switch (level) {
    case NEWLINES_SCALAR: return index_newlines_scalar;
#if defined(__x86_64__)
    case NEWLINES_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                       __builtin_cpu_supports("popcnt")
                   ? index_newlines_avx2
                   : NULL;
    case NEWLINES_AVX512:
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt")
                   ? index_newlines_avx512
                   : NULL;
#endif
    default: assert(level <= NEWLINES_LEVELS); return NULL;
    }
}

newlines_index newlines_index_for_cpu(void)
{
    for (int level = NEWLINES_LEVELS - 1; level > NEWLINES_SCALAR; level--) {
        newlines_index index = newlines_index_for_level((enum newlines_level)level);
        if (index != NULL) return index;
    }
    return index_newlines_scalar;
}
