/* The SIMD kernels. Masks are converted to positions without a branch per bit: whole groups are
 * stored, as many as a chunk of typical rows needs, and excess entries are overwritten. AVX-512
 * parses the usual rating in byte lanes: first every lane as if a field started there, then the
 * lanes where one does. */
#include "engine/batch.h"
#include "jobs/rows/fields_kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define AHEAD  2048 /* bytes to prefetch ahead: the text was just written and is in L2 */

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

AVX2 INLINE uint64_t equal_vector_mask_avx2(__m256i low, __m256i high, __m256i wanted)
{
    const uint32_t a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    const uint32_t b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
    return a | (uint64_t)b << 32;
}

AVX2 static uint32_t find_delimiters_avx2(struct fields_block *b, uint8_t delimiter,
                                          bool line_start)
{
    const __m256i wanted = _mm256_set1_epi8((char)delimiter), lf = _mm256_set1_epi8('\n');
    uint32_t lines = 0;
    for (uint32_t i = 0; i < b->chunks; i++) {
        const uint8_t *p = b->text + i * FIELDS_CHUNK;
        __builtin_prefetch(p + AHEAD);
        const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p);
        const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
        const uint64_t newlines = equal_vector_mask_avx2(low, high, lf);
        line_start =
            fields_put_chunk(b, i, equal_vector_mask_avx2(low, high, wanted), newlines, line_start);
        lines += fields_bit_count(newlines);
    }
    return lines;
}

/* Four at once, and the rare rest in a loop. tzcnt of 0 is 64: an invalid position, which is
 * overwritten. */
AVX2 static uint32_t bit_positions_avx2(const uint64_t *bits, uint32_t chunks, uint32_t at,
                                        uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < chunks; i++, at += FIELDS_CHUNK) {
        uint64_t rest = bits[i];
        uint32_t *next = out + n;
        n += fields_bit_count(rest);
        for (uint32_t j = 0; j < 4; j++, rest = _blsr_u64(rest))
            *next++ = at + (uint32_t)_tzcnt_u64(rest);
        for (; rest != 0; rest = _blsr_u64(rest)) *next++ = at + (uint32_t)_tzcnt_u64(rest);
    }
    return n;
}

/* Stores the numbers of the lanes whose bits are set, like bit_positions_avx2; also reads
 * parsed[64]. */
AVX2 INLINE void store_numbers_of_bits(const uint8_t *parsed, uint64_t bits, int64_t *out)
{
    for (uint32_t j = 0; j < 4; j++, bits = _blsr_u64(bits)) *out++ = parsed[_tzcnt_u64(bits)];
    for (; bits != 0; bits = _blsr_u64(bits)) *out++ = parsed[_tzcnt_u64(bits)];
}

/* Parses 32 lanes as if a rating started in each. Returns bit i if it is "d.d" in lane i. */
AVX2 INLINE uint32_t parse_rating_lanes_avx2(const uint8_t *p, uint8_t *parsed)
{
    const __m256i zero = _mm256_set1_epi8('0'), dot = _mm256_set1_epi8('.');
    const __m256i nine = _mm256_set1_epi8(9), four = _mm256_set1_epi8(4);
    const __m256i one = _mm256_set1_epi8(1);
    const __m256i *text = (const void *)p, *next = (const void *)(p + 1);
    const __m256i *last = (const void *)(p + 2);
    const __m256i whole = _mm256_sub_epi8(_mm256_loadu_si256(text), zero);
    const __m256i tenth = _mm256_sub_epi8(_mm256_loadu_si256(last), zero);
    const __m256i larger = _mm256_max_epu8(whole, tenth);
    const __m256i digits = _mm256_cmpeq_epi8(_mm256_min_epu8(larger, nine), larger);
    const __m256i point = _mm256_cmpeq_epi8(_mm256_loadu_si256(next), dot);
    const __m256i up = _mm256_min_epu8(_mm256_subs_epu8(tenth, four), one);
    _mm256_storeu_si256((void *)parsed, _mm256_add_epi8(whole, up));
    return (uint32_t)_mm256_movemask_epi8(_mm256_and_si256(digits, point));
}

/* Parses all lanes as if a rating started there, and picks those where one does. */
AVX2 static uint32_t parse_ratings_avx2(const struct fields_block *b, const uint64_t *bits,
                                        uint32_t lead, int64_t *out, uint32_t first, uint64_t *odd)
{
    uint8_t parsed[FIELDS_CHUNK + 1];
    uint32_t n = first;
    parsed[FIELDS_CHUNK] = 0;
    for (uint32_t i = 0; i < b->chunks; i++) {
        const uint8_t *p = b->text + lead + i * FIELDS_CHUNK;
        const uint64_t usual = parse_rating_lanes_avx2(p, parsed) |
                               (uint64_t)parse_rating_lanes_avx2(p + 32, parsed + 32) << 32;
        const uint64_t wrong = bits[i] & ~(usual & fields_ended(b, i, lead + 3));
        store_numbers_of_bits(parsed, bits[i], out + n);
        if (__builtin_expect(wrong != 0, 0)) fields_mark(odd, wrong, bits[i], n);
        n += fields_bit_count(bits[i]);
    }
    return n - first;
}

const struct fields_kernel *fields_kernel_avx2(void)
{
    static const struct fields_kernel kernel = {.row_bytes_max = 36,
                                                .find = find_delimiters_avx2,
                                                .follow = fields_rows_adjacent,
                                                .ends = fields_row_ends,
                                                .places = bit_positions_avx2,
                                                .ratings = parse_ratings_avx2,
                                                .ints = fields_parse_ints};
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                   __builtin_cpu_supports("popcnt")
               ? &kernel
               : NULL;
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,bmi,bmi2,popcnt")))
#define VBMI2  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,popcnt")))

/* The lanes of a group that are used if `left` items are left. */
AVX512 INLINE uint32_t used_lanes_mask(uint32_t left, uint32_t group)
{
    return (1u << (left < group ? left : group)) - 1;
}

AVX512 static uint32_t find_delimiters_avx512(struct fields_block *b, uint8_t delimiter,
                                              bool line_start)
{
    const __m512i wanted = _mm512_set1_epi8((char)delimiter), lf = _mm512_set1_epi8('\n');
    uint32_t lines = 0;
    for (uint32_t i = 0; i < b->chunks; i++) {
        const uint8_t *p = b->text + i * FIELDS_CHUNK;
        __builtin_prefetch(p + AHEAD);
        const __m512i chunk = _mm512_loadu_si512(p);
        const uint64_t newlines = _mm512_cmpeq_epi8_mask(chunk, lf);
        const uint64_t delimiters = _mm512_cmpeq_epi8_mask(chunk, wanted);
        line_start = fields_put_chunk(b, i, delimiters, newlines, line_start);
        lines += fields_bit_count(newlines);
    }
    return lines;
}

/* Compares a group of rows at once in the bits of 512 bytes, from the end of the first row on; a
 * larger group is compared row by row. */
AVX512 static bool rows_adjacent_avx512(const struct fields_block *b,
                                        const struct glint_column *lines, uint32_t first,
                                        uint32_t rows)
{
    const __m512i at = _mm512_set1_epi32((int)b->at), one = _mm512_set1_epi32(1);
    const uint32_t *start = lines->start + first + 1, *end = lines->end + first;
    for (uint32_t i = 0; i < rows; i += 16) {
        const __mmask16 lanes = (__mmask16)used_lanes_mask(rows - i, 16);
        const uint32_t word = (end[i] - b->at) / 32;
        const __m512i ends = _mm512_maskz_loadu_epi32(lanes, end + i);
        const __m512i next = _mm512_maskz_loadu_epi32(lanes, start + i);
        const __m512i words = _mm512_srli_epi32(_mm512_sub_epi32(ends, at), 5);
        const __m512i behind = _mm512_sub_epi32(words, _mm512_set1_epi32((int)word));
        if (word >= 2 * b->chunks ||
            _mm512_mask_cmpge_epu32_mask(lanes, behind, _mm512_set1_epi32(16)) != 0) {
            if (!fields_rows_adjacent(b, lines, first + i, rows - i < 16 ? rows - i : 16))
                return false;
            continue;
        }
        const __m512i bits = _mm512_loadu_si512((const uint8_t *)b->newlines + word * 4);
        const __m512i own = _mm512_rorv_epi32(_mm512_permutexvar_epi32(behind, bits), ends);
        const __mmask16 lf = _mm512_mask_test_epi32_mask(lanes, own, one);
        if (_mm512_mask_cmpeq_epi32_mask(lf, _mm512_add_epi32(ends, one), next) != lanes)
            return false;
    }
    return true;
}

/* Eight words at once: the carries between words are a separate addition, with one bit per word. A
 * word passes on a carry if its sum overflows, or if it is all ones and receives one. */
AVX512 static uint64_t row_ends_avx512(struct fields_block *b, uint32_t c, bool *carry)
{
    const __m512i ones = _mm512_set1_epi64(-1);
    __m512i last = _mm512_setzero_si512();
    uint32_t up = *carry;
    for (uint32_t i = 0; i < b->chunks; i += 8) {
        const uint32_t words = b->chunks - i < 8 ? b->chunks - i : 8;
        const __m512i gaps = _mm512_loadu_si512(b->gaps + i);
        const __m512i delimiters = _mm512_loadu_si512(b->delimiters + i);
        const __m512i newlines = _mm512_loadu_si512(b->newlines + i);
        __m512i sum = _mm512_add_epi64(gaps, _mm512_loadu_si512(b->marks[0] + i));
        const uint32_t over = _mm512_cmplt_epu64_mask(sum, gaps);
        const uint32_t full = _mm512_cmpeq_epi64_mask(sum, ones);
        const uint32_t carries = ((over << 1 | up) + full) ^ full; /* bit i: carry into word i */
        sum = _mm512_mask_sub_epi64(sum, (__mmask8)carries, sum, ones);
        up = carries >> words & 1;
        const __m512i ends = _mm512_andnot_si512(gaps, sum);
        _mm512_storeu_si512(b->marks[c + 1] + i, ends);
        _mm512_storeu_si512(b->gaps + i, _mm512_or_si512(gaps, _mm512_and_si512(sum, delimiters)));
        last = _mm512_or_si512(last, _mm512_and_si512(ends, newlines));
    }
    *carry = up;
    return _mm512_test_epi64_mask(last, last);
}

/* Uses a register that was just cleared: on some processors, compress with zeroing waits for the
 * last write to its destination register. */
VBMI2 INLINE __m512i compress_bytes_vbmi2(uint64_t bits, __m512i bytes)
{
    __m512i zero = _mm512_setzero_si512();
    __asm__("" : "+v"(zero)); /* or the compiler combines both into one instruction */
    return _mm512_mask_compress_epi8(zero, bits, bytes);
}

/* The numbers 0..63, compressed by each chunk's bits, 16 at a time. */
VBMI2 static uint32_t bit_positions_vbmi2(const uint64_t *bits, uint32_t chunks, uint32_t at,
                                          uint32_t *out)
{
    const __m512i numbers = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, //
                                             0x2f2e2d2c2b2a2928, 0x2726252423222120, //
                                             0x1f1e1d1c1b1a1918, 0x1716151413121110, //
                                             0x0f0e0d0c0b0a0908, 0x0706050403020100);
    uint32_t n = 0;
    for (uint32_t i = 0; i < chunks; i++, at += FIELDS_CHUNK) {
        const __m512i base = _mm512_set1_epi32((int)at);
        const uint32_t count = fields_bit_count(bits[i]);
        __m512i bytes = compress_bytes_vbmi2(bits[i], numbers);
        for (uint32_t done = 0;; done += 16) {
            const __m512i words = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes));
            _mm512_storeu_si512(out + n + done, _mm512_add_epi32(words, base));
            if (done + 16 >= count) break;
            bytes = _mm512_alignr_epi64(bytes, bytes, 2);
        }
        n += count;
    }
    return n;
}

/* Marks the rows whose bits are in `slow`, or that have no delimiter or newline `behind` bytes
 * later. The first row of chunk i is row[i]. */
VBMI2 static void mark_slow_ratings(const struct fields_block *b, const uint64_t *bits,
                                    const uint64_t *slow, uint32_t behind, const uint32_t *row,
                                    uint64_t *odd)
{
    const __m512i shift = _mm512_set1_epi64(behind);
    for (uint32_t i = 0; i < b->chunks; i += 8) {
        const __m512i here = _mm512_or_si512(_mm512_loadu_si512(b->delimiters + i),
                                             _mm512_loadu_si512(b->newlines + i));
        const __m512i next = _mm512_or_si512(_mm512_loadu_si512(b->delimiters + i + 1),
                                             _mm512_loadu_si512(b->newlines + i + 1));
        const __m512i ended = _mm512_shrdv_epi64(here, next, shift);
        const __m512i open = _mm512_andnot_si512(ended, _mm512_loadu_si512(bits + i));
        const __m512i some = _mm512_or_si512(open, _mm512_loadu_si512(slow + i));
        uint32_t words = _mm512_test_epi64_mask(some, some) & used_lanes_mask(b->chunks - i, 8);
        if (__builtin_expect(words == 0, 1)) continue;
        uint64_t each[8];
        _mm512_storeu_si512(each, some);
        for (; words != 0; words = _blsr_u32(words)) {
            const uint32_t j = _tzcnt_u32(words);
            fields_mark(odd, each[j], bits[i + j], row[i + j]);
        }
    }
}

/* Parses all lanes as if a rating started there; then selects those where one does. Unaligned loads
 * of 64 bytes make this slower than parse_ratings_avx2 if the selection is not fast. */
VBMI2 static uint32_t parse_ratings_vbmi2(const struct fields_block *b, const uint64_t *bits,
                                          uint32_t lead, int64_t *out, uint32_t first,
                                          uint64_t *odd)
{
    const __m512i zero = _mm512_set1_epi8('0'), dot = _mm512_set1_epi8('.');
    const __m512i nine = _mm512_set1_epi8(9), four = _mm512_set1_epi8(4);
    const __m512i one = _mm512_set1_epi8(1);
    uint64_t slow[FIELDS_CHUNKS];
    uint32_t row[FIELDS_CHUNKS], n = first;
    for (uint32_t i = 0; i < b->chunks; i++) {
        const uint8_t *p = b->text + lead + i * FIELDS_CHUNK;
        const __m512i whole = _mm512_sub_epi8(_mm512_loadu_si512(p), zero);
        const __m512i point = _mm512_xor_si512(_mm512_loadu_si512(p + 1), dot);
        const __m512i tenth = _mm512_sub_epi8(_mm512_loadu_si512(p + 2), zero);
        const __m512i over = _mm512_subs_epu8(_mm512_max_epu8(whole, tenth), nine);
        const __m512i wrong = _mm512_or_si512(point, over);
        slow[i] = _mm512_mask_test_epi8_mask(bits[i], wrong, wrong);
        const __m512i up = _mm512_min_epu8(_mm512_subs_epu8(tenth, four), one);
        __m512i keys = compress_bytes_vbmi2(bits[i], _mm512_add_epi8(whole, up));
        const uint32_t count = fields_bit_count(bits[i]);
        for (uint32_t done = 0;; done += 8) {
            const __m512i wide = _mm512_cvtepu8_epi64(_mm512_castsi512_si128(keys));
            _mm512_storeu_si512(out + n + done, wide);
            if (done + 8 >= count) break;
            keys = _mm512_alignr_epi64(keys, keys, 1);
        }
        row[i] = n;
        n += count;
    }
    mark_slow_ratings(b, bits, slow, lead + 3, row, odd);
    return n - first;
}

/* As fields_int, eight rows at once. After a minus sign there are at most seven digits: the place
 * of an eighth becomes a zero byte. */
AVX512 static void parse_ints_avx512(const uint8_t *base, const uint32_t *start,
                                     const uint32_t *end, uint32_t rows, int64_t *out,
                                     uint64_t *odd)
{
    const __m512i zero = _mm512_setzero_si512(), tens = _mm512_set1_epi16(0x010a);
    const __m512i hundreds = _mm512_set1_epi32(0x00010064), myriads = _mm512_set1_epi64(10000);
    const __m512i digit_0 = _mm512_set1_epi8('0'), nine = _mm512_set1_epi8(9);
    const __m512i minus = _mm512_set1_epi64('-'), low = _mm512_set1_epi64(0xff);
    const __m512i word = _mm512_set1_epi64(64);
    for (uint32_t i = 0; i < rows; i += 8) {
        const __mmask8 lanes = (__mmask8)used_lanes_mask(rows - i, 8);
        const __m256i from = _mm256_loadu_si256((const __m256i *)(const void *)(start + i));
        const __m256i to = _mm256_loadu_si256((const __m256i *)(const void *)(end + i));
        const __m512i at = _mm512_cvtepu32_epi64(from);
        __m512i bytes = _mm512_mask_i64gather_epi64(zero, lanes, at, base, 1);
        __m512i bits = _mm512_cvtepu32_epi64(_mm256_slli_epi32(_mm256_sub_epi32(to, from), 3));
        const __mmask8 negative = _mm512_cmpeq_epi64_mask(_mm512_and_si512(bytes, low), minus);
        bytes = _mm512_mask_srli_epi64(bytes, negative, bytes, 8);
        bits = _mm512_mask_sub_epi64(bits, negative, bits, _mm512_set1_epi64(8));
        /* Shifts the last digit to the highest byte, and zeros in below. */
        const __m512i shift = _mm512_sub_epi64(word, bits);
        const __m512i digits = _mm512_sllv_epi64(_mm512_xor_si512(bytes, digit_0), shift);
        const __m512i over = _mm512_subs_epu8(digits, nine);
        const __mmask8 odds = _mm512_test_epi64_mask(over, over) |
                              _mm512_cmpgt_epu64_mask(bits, word) |
                              _mm512_testn_epi64_mask(bits, bits);
        const __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(digits, tens), hundreds);
        const __m512i value =
            _mm512_add_epi64(_mm512_mul_epu32(fours, myriads), _mm512_srli_epi64(fours, 32));
        _mm512_storeu_si512(out + i, _mm512_mask_sub_epi64(value, negative, zero, value));
        odd[i / 64] |= (uint64_t)(odds & lanes) << i % 64;
    }
}

/* Converts eight numbers to 16 bits; lanes from `left` on are 0. */
AVX512 INLINE __m128i narrow_to_16_bits(const int64_t *number, uint32_t left, __m512i *all)
{
    const __m512i eight = _mm512_maskz_loadu_epi64((__mmask8)used_lanes_mask(left, 8), number);
    *all = _mm512_or_si512(*all, eight);
    return _mm512_cvtepi64_epi16(eight);
}

/* The table is one vector; looks up 32 rows at once. */
AVX512 static bool look_up_keys_avx512(const int64_t *number, uint32_t rows, const uint16_t *table,
                                       uint16_t *out)
{
    const __m512i entries = _mm512_loadu_si512(table), none = _mm512_set1_epi16(-1);
    __m512i all = _mm512_setzero_si512();
    __mmask32 missing = 0;
    for (uint32_t i = 0; i < rows; i += FIELDS_TABLE) {
        uint32_t left[4];
        for (uint32_t j = 0; j < 4; j++) left[j] = rows - i > 8 * j ? rows - i - 8 * j : 0;
        const __mmask32 lanes = rows - i < 32 ? (1u << (rows - i)) - 1 : UINT32_MAX;
        __m512i keys = _mm512_castsi128_si512(narrow_to_16_bits(number + i, left[0], &all));
        keys = _mm512_inserti32x4(keys, narrow_to_16_bits(number + i + 8, left[1], &all), 1);
        keys = _mm512_inserti32x4(keys, narrow_to_16_bits(number + i + 16, left[2], &all), 2);
        keys = _mm512_inserti32x4(keys, narrow_to_16_bits(number + i + 24, left[3], &all), 3);
        const __m512i found = _mm512_permutexvar_epi16(keys, entries);
        missing |= _mm512_mask_cmpeq_epi16_mask(lanes, found, none);
        _mm512_mask_storeu_epi16(out + i, lanes, found);
    }
    return missing == 0 && _mm512_cmpge_epu64_mask(all, _mm512_set1_epi64(FIELDS_TABLE)) == 0;
}

AVX512 static void count_keys_avx512(const uint16_t *number, uint32_t rows, uint32_t values,
                                     uint32_t *out_count)
{
    for (uint32_t v = 0; v < values; v++) {
        const __m512i wanted = _mm512_set1_epi16((short)v);
        uint32_t count = 0;
        for (uint32_t i = 0; i < rows; i += 32) {
            const __mmask32 lanes = rows - i < 32 ? (1u << (rows - i)) - 1 : UINT32_MAX;
            const __m512i here = _mm512_maskz_loadu_epi16(lanes, number + i);
            count += fields_bit_count(_mm512_mask_cmpeq_epi16_mask(lanes, here, wanted));
        }
        out_count[v] = count;
    }
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}

const struct fields_kernel *fields_kernel_avx512(void)
{
    static const struct fields_kernel kernel = {.row_bytes_max = 72,
                                                .find = find_delimiters_avx512,
                                                .follow = rows_adjacent_avx512,
                                                .ends = row_ends_avx512,
                                                .places = bit_positions_avx2,
                                                .ratings = parse_ratings_avx2,
                                                .ints = parse_ints_avx512,
                                                .look_up = look_up_keys_avx512,
                                                .count = count_keys_avx512};
    return has_avx512() ? &kernel : NULL;
}

const struct fields_kernel *fields_kernel_vbmi2(void)
{
    static const struct fields_kernel kernel = {.row_bytes_max = 72,
                                                .find = find_delimiters_avx512,
                                                .follow = rows_adjacent_avx512,
                                                .ends = row_ends_avx512,
                                                .places = bit_positions_vbmi2,
                                                .ratings = parse_ratings_vbmi2,
                                                .ints = parse_ints_avx512,
                                                .look_up = look_up_keys_avx512,
                                                .count = count_keys_avx512};
    return has_avx512() && __builtin_cpu_supports("avx512vbmi2") ? &kernel : NULL;
}

#else

const struct fields_kernel *fields_kernel_avx2(void)
{
    return NULL;
}

const struct fields_kernel *fields_kernel_avx512(void)
{
    return NULL;
}

const struct fields_kernel *fields_kernel_vbmi2(void)
{
    return NULL;
}

#endif
