/* MurmurHash3_x86_32 and Hadoop's MurmurHash of one id under many seeds. Mixing the id's words does
 * not depend on the seed, so it is done once; a seed then costs one short round per word. The same
 * arithmetic, sixteen ids at a time, is in lanes.h. All hashes here are in the public domain
 * (Appleby); Hadoop's differs from MurmurHash2 in the tail, Spark's from MurmurHash3. The library
 * needs no other one, so MurmurHash3_x64_128 is here too; the tests compare it with libmurmurhash.
 */
#ifndef GLINT_JOBS_BLOOM_MURMUR_H
#define GLINT_JOBS_BLOOM_MURMUR_H

#include <stdint.h>
#include <string.h>

enum {
    MURMUR_MIXED_MAX = 16
}; /* words mixed once; those after them are mixed again for each seed */

#define MURMUR3_C1  0xcc9e2d51u
#define MURMUR3_C2  0x1b873593u
#define MURMUR3_ADD 0xe6546b64u
#define MURMUR3_F1  0x85ebca6bu
#define MURMUR3_F2  0xc2b2ae35u
#define MURMUR2_M   0x5bd1e995u

struct murmur_id {
    const uint8_t *data;
    uint64_t size;
    uint32_t tail; /* the last size % 4 bytes, mixed */
    uint32_t mixed[MURMUR_MIXED_MAX];
};

static inline uint32_t murmur_rotl(uint32_t x, int by)
{
    return (x << by) | (x >> (32 - by));
}

static inline uint32_t murmur_word(const uint8_t *data, uint64_t w)
{
    uint32_t word;
    memcpy(&word, data + 4 * w, sizeof word);
    return word;
}

/* ---- MurmurHash3_x86_32 ---- */

static inline uint32_t murmur3_mix(uint32_t word)
{
    return murmur_rotl(word * MURMUR3_C1, 15) * MURMUR3_C2;
}

static inline uint32_t murmur3_finish(uint32_t h)
{
    h = (h ^ h >> 16) * MURMUR3_F1;
    h = (h ^ h >> 13) * MURMUR3_F2;
    return h ^ h >> 16;
}

static inline void murmur3_prepare(struct murmur_id *id, const uint8_t *data, uint64_t size)
{
    id->data = data;
    id->size = size;
    uint64_t words = size / 4;
    for (uint64_t w = 0; w < words && w < MURMUR_MIXED_MAX; w++)
        id->mixed[w] = murmur3_mix(murmur_word(data, w));
    uint32_t tail = 0;
    for (uint64_t i = size; i > 4 * words; i--) tail = tail << 8 | data[i - 1];
    id->tail = murmur3_mix(tail); /* no tail mixes to 0, which changes nothing */
}

static inline uint32_t murmur3_hash(const struct murmur_id *id, uint32_t seed)
{
    uint32_t h = seed;
    uint64_t words = id->size / 4;
    for (uint64_t w = 0; w < words && w < MURMUR_MIXED_MAX; w++)
        h = murmur_rotl(h ^ id->mixed[w], 13) * 5 + MURMUR3_ADD;
    for (uint64_t w = MURMUR_MIXED_MAX; w < words; w++)
        h = murmur_rotl(h ^ murmur3_mix(murmur_word(id->data, w)), 13) * 5 + MURMUR3_ADD;
    return murmur3_finish(h ^ id->tail ^ (uint32_t)id->size);
}

/* Spark's form: each byte of the tail is sign-extended and mixed as a word of its own. */
static inline uint32_t murmur3_spark(const uint8_t *data, uint64_t size, uint32_t seed)
{
    uint32_t h = seed;
    const uint64_t words = size / 4;
    for (uint64_t w = 0; w < words; w++)
        h = murmur_rotl(h ^ murmur3_mix(murmur_word(data, w)), 13) * 5 + MURMUR3_ADD;
    for (uint64_t i = 4 * words; i < size; i++) {
        const uint32_t word = (uint32_t)(int32_t)(int8_t)data[i];
        h = murmur_rotl(h ^ murmur3_mix(word), 13) * 5 + MURMUR3_ADD;
    }
    return murmur3_finish(h ^ (uint32_t)size);
}

/* ---- MurmurHash3_x64_128, seed 0 ---- */

#define MURMUR128_C1 0x87c37b91114253d5u
#define MURMUR128_C2 0x4cf5ad432745937fu

static inline uint64_t murmur_rotl64(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static inline uint64_t murmur128_mix(uint64_t word, uint64_t first, int by, uint64_t second)
{
    return murmur_rotl64(word * first, by) * second;
}

static inline uint64_t murmur128_finish(uint64_t h)
{
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static inline void murmur3_128(const uint8_t *data, uint64_t size, uint64_t out[2])
{
    uint64_t h1 = 0, h2 = 0, word[2];
    uint64_t at = 0;
    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(word, data + at, sizeof word);
        h1 ^= murmur128_mix(word[0], MURMUR128_C1, 31, MURMUR128_C2);
        h1 = (murmur_rotl64(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= murmur128_mix(word[1], MURMUR128_C2, 33, MURMUR128_C1);
        h2 = (murmur_rotl64(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    word[0] = word[1] = 0; /* a tail shorter than its word mixes zeros, which changes nothing */
    if (at < size) memcpy(word, data + at, size - at);
    h1 ^= murmur128_mix(word[0], MURMUR128_C1, 31, MURMUR128_C2) ^ size;
    h2 ^= murmur128_mix(word[1], MURMUR128_C2, 33, MURMUR128_C1) ^ size;
    h1 += h2;
    h2 += h1;
    h1 = murmur128_finish(h1);
    h2 = murmur128_finish(h2);
    out[0] = h1 + h2;
    out[1] = h2 + out[0];
}

/* ---- Hadoop's MurmurHash ---- */

static inline uint32_t murmur2_mix(uint32_t word)
{
    word *= MURMUR2_M;
    return (word ^ word >> 24) * MURMUR2_M;
}

/* The tail as Java computes it: bytes are signed and the last one is the lowest. */
static inline uint32_t murmur2_tail(const uint8_t *data, uint64_t size)
{
    uint32_t tail = 0;
    for (uint64_t left = size % 4; left > 0; left--)
        tail ^= (uint32_t)(int32_t)(int8_t)data[size - left] << 8 * (left - 1);
    return tail;
}

static inline void murmur2_prepare(struct murmur_id *id, const uint8_t *data, uint64_t size)
{
    id->data = data;
    id->size = size;
    for (uint64_t w = 0; w < size / 4 && w < MURMUR_MIXED_MAX; w++)
        id->mixed[w] = murmur2_mix(murmur_word(data, w));
    id->tail = murmur2_tail(data, size);
}

static inline uint32_t murmur2_hash(const struct murmur_id *id, uint32_t seed)
{
    uint32_t h = seed ^ (uint32_t)id->size;
    uint64_t words = id->size / 4;
    for (uint64_t w = 0; w < words && w < MURMUR_MIXED_MAX; w++) h = h * MURMUR2_M ^ id->mixed[w];
    for (uint64_t w = MURMUR_MIXED_MAX; w < words; w++)
        h = h * MURMUR2_M ^ murmur2_mix(murmur_word(id->data, w));
    if (id->size % 4 != 0) h = (h ^ id->tail) * MURMUR2_M;
    h = (h ^ h >> 13) * MURMUR2_M;
    return h ^ h >> 15;
}

#endif
