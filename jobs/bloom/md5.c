/* MD5 (RFC 1321), for the scheme md5-random. Implemented here because the library would otherwise
 * need a crypto library that allocates for each id and may not support MD5. Not used for security:
 * the digest distributes bits over a filter, like the published programs. */
#include "jobs/bloom/internal.h"

#include <string.h>

enum { CHUNK = 64, AT_LENGTH = 56 };

/* T[i] = floor(2^32 |sin(i + 1)|) of the RFC. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static const uint8_t turns[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t rotate_left(uint32_t x, uint32_t by)
{
    return x << by | x >> (32 - by);
}

/* The function of round i / 16 and the message word of step i. */
static uint32_t md5_round_function(uint32_t i, const uint32_t s[4], uint32_t *out_word)
{
    switch (i / 16) {
    case 0: *out_word = i; return (s[1] & s[2]) | (~s[1] & s[3]);
    case 1: *out_word = 5 * i + 1; return (s[1] & s[3]) | (s[2] & ~s[3]);
    case 2: *out_word = 3 * i + 5; return s[1] ^ s[2] ^ s[3];
    default: *out_word = 7 * i; return s[2] ^ (s[1] | ~s[3]);
    }
}

static void md5_add_chunk(uint32_t state[4], const uint8_t chunk[CHUNK])
{
    uint32_t words[16], s[4];
    memcpy(words, chunk, sizeof words);
    memcpy(s, state, sizeof s);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t word, f = md5_round_function(i, s, &word);
        uint32_t sum = s[0] + f + sines[i] + words[word % 16];
        s[0] = s[3];
        s[3] = s[2];
        s[2] = s[1];
        s[1] += rotate_left(sum, turns[i / 16][i % 4]);
    }
    for (uint32_t i = 0; i < 4; i++) state[i] += s[i];
}

void bloom_md5(const void *data, uint64_t size, uint8_t out[BLOOM_MD5_BYTES])
{
    static_assert(BLOOM_MD5_BYTES == 4 * sizeof(uint32_t), "the digest is the state");
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const uint8_t *at = data;
    uint64_t left = size, bits = size * 8;
    for (; left >= CHUNK; left -= CHUNK, at += CHUNK) md5_add_chunk(state, at);
    uint8_t last[2 * CHUNK] = {0};
    if (left > 0) memcpy(last, at, left);
    last[left] = 0x80;
    uint64_t chunks = left < AT_LENGTH ? 1 : 2;
    assert(left < CHUNK && left + 1 + sizeof bits <= chunks * CHUNK);
    memcpy(last + chunks * CHUNK - sizeof bits, &bits, sizeof bits);
    for (uint64_t i = 0; i < chunks; i++) md5_add_chunk(state, last + i * CHUNK);
    memcpy(out, state, BLOOM_MD5_BYTES);
}
