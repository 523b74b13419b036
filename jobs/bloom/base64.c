/* Vectors of 24 bytes and 32 digits, by W. Muła and D. Lemire, Faster Base64 Encoding and Decoding
 * using AVX2 Instructions (2018); the rest, and other machines, group by group. */
#include "jobs/bloom/base64.h"

#include "jobs/bloom/internal.h"

#if BLOOM_LANES
#include <immintrin.h>
#endif

static const char base64_digits[2][65] = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};

#if BLOOM_LANES

enum { LANES = 32, LANES_BYTES = LANES / BASE64_GROUP_TEXT * BASE64_GROUP };
#define AVX2 static inline __attribute__((target("avx2")))

/* A digit is its number and that of its range: 0 to 25, 26 to 51, 10 numbers, and two more. */
AVX2 __m256i digits_of_numbers_avx2(bool url, __m256i number)
{
    const __m256i add = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        65, 71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, url ? -17 : -19, url ? 32 : -16, 0, 0));
    const __m256i range = _mm256_sub_epi8(_mm256_subs_epu8(number, _mm256_set1_epi8(51)),
                                          _mm256_cmpgt_epi8(number, _mm256_set1_epi8(25)));
    return _mm256_add_epi8(number, _mm256_shuffle_epi8(add, range));
}

/* Returns how many bytes it has encoded. */
__attribute__((target("avx2"))) static uint64_t encode_avx2(bool url, const uint8_t *in,
                                                            uint64_t size, uint8_t *out)
{
    const __m256i spread = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10));
    uint64_t at = 0;
    for (; size - at >= LANES_BYTES + 4; at += LANES_BYTES, out += LANES) {
        __m256i bytes = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(in + at))),
            _mm_loadu_si128((const __m128i *)(const void *)(in + at + LANES_BYTES / 2)), 1);
        bytes = _mm256_shuffle_epi8(bytes, spread);
        const __m256i even = _mm256_mulhi_epu16(
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x0fc0fc00)), _mm256_set1_epi32(0x04000040));
        const __m256i odd = _mm256_mullo_epi16(
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x003f03f0)), _mm256_set1_epi32(0x01000010));
        _mm256_storeu_si256((__m256i *)(void *)out,
                            digits_of_numbers_avx2(url, _mm256_or_si256(even, odd)));
    }
    return at;
}

AVX2 __m256i in_range_avx2(__m256i text, char first, char last, char add)
{
    const __m256i inside =
        _mm256_and_si256(_mm256_cmpgt_epi8(text, _mm256_set1_epi8((char)(first - 1))),
                         _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(last + 1)), text));
    return _mm256_and_si256(inside, _mm256_set1_epi8(add));
}

/* Returns how many digits it has decoded: all before the last vector, or before one with a wrong
 * digit. What it writes ends before the digits that it has not read. */
__attribute__((target("avx2"))) static uint64_t decode_avx2(bool url, uint8_t *text, uint64_t size)
{
    const char c62 = base64_digits[url][62], c63 = base64_digits[url][63];
    const __m256i pack = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
    const __m256i join = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    uint8_t *out = text;
    uint64_t at = 0;
    for (; size - at > LANES; at += LANES, out += LANES_BYTES) {
        const __m256i digits = _mm256_loadu_si256((const __m256i *)(const void *)(text + at));
        __m256i add = in_range_avx2(digits, 'A', 'Z', -65);
        add = _mm256_or_si256(add, in_range_avx2(digits, 'a', 'z', -71));
        add = _mm256_or_si256(add, in_range_avx2(digits, '0', '9', 4));
        add = _mm256_or_si256(add, in_range_avx2(digits, c62, c62, (char)(62 - c62)));
        add = _mm256_or_si256(add, in_range_avx2(digits, c63, c63, (char)(63 - c63)));
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(add, _mm256_setzero_si256())) != 0) break;
        const __m256i pairs =
            _mm256_maddubs_epi16(_mm256_add_epi8(digits, add), _mm256_set1_epi32(0x01400140));
        const __m256i groups = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
        _mm256_storeu_si256((__m256i *)(void *)out,
                            _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(groups, pack), join));
    }
    return at;
}

#endif

/* Encodes `size` bytes, at most 3, as a group; fewer are padded. */
static void encode_group(const char *digits, const uint8_t *in, uint64_t size, uint8_t *out)
{
    assert(size > 0 && size <= BASE64_GROUP);
    const uint32_t b = size > 1 ? in[1] : 0, c = size > 2 ? in[2] : 0;
    const uint32_t all = (uint32_t)in[0] << 16 | b << 8 | c;
    for (uint32_t i = 0; i < BASE64_GROUP_TEXT; i++)
        out[i] = i <= size ? (uint8_t)digits[all >> (18 - 6 * i) & 63] : '=';
}

uint64_t base64_encode(bool url, const uint8_t *in, uint64_t size, uint8_t *out)
{
    uint64_t at = 0;
#if BLOOM_LANES
    if (__builtin_cpu_supports("avx2")) at = encode_avx2(url, in, size, out);
#endif
    uint64_t used = at / BASE64_GROUP * BASE64_GROUP_TEXT;
    for (; at < size; at += BASE64_GROUP, used += BASE64_GROUP_TEXT)
        encode_group(base64_digits[url], in + at,
                     size - at < BASE64_GROUP ? size - at : BASE64_GROUP, out + used);
    return used;
}

uint64_t base64_decode(bool url, uint8_t *text, uint64_t size)
{
    uint8_t value[256];
    const uint64_t end = bloom_round_up(size, BASE64_GROUP) / BASE64_GROUP * BASE64_GROUP_TEXT;
    const uint64_t pad = (BASE64_GROUP - size % BASE64_GROUP) % BASE64_GROUP;
    uint64_t at = 0;
    memset(value, 0xff, sizeof value);
    for (uint8_t i = 0; i < 64; i++) value[(uint8_t)base64_digits[url][i]] = i;
#if BLOOM_LANES
    if (__builtin_cpu_supports("avx2")) at = decode_avx2(url, text, end);
#endif
    uint8_t *out = text + at / BASE64_GROUP_TEXT * BASE64_GROUP;
    for (; at < end; at += BASE64_GROUP_TEXT) {
        const uint64_t padded = at + BASE64_GROUP_TEXT == end ? pad : 0;
        uint32_t all = 0;
        for (uint64_t i = 0; i < BASE64_GROUP_TEXT; i++) {
            const bool is_pad = i >= BASE64_GROUP_TEXT - padded;
            const uint8_t digit = value[text[at + i]];
            if (is_pad ? text[at + i] != '=' : digit == 0xff) return at + i;
            all = all << 6 | (is_pad ? 0u : digit);
        }
        if (padded > 0 && (all & ((1u << 8 * padded) - 1)) != 0) return at + BASE64_GROUP_TEXT - 1;
        for (uint64_t i = 0; i < BASE64_GROUP - padded; i++)
            *out++ = (uint8_t)(all >> (16 - 8 * i));
    }
    return UINT64_MAX;
}
