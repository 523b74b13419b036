/* MurmurHash3_x86_32 and Hadoop's MurmurHash of one id under many seeds. Mixing the id's words does
 * not depend on the seed, so it is done once; a seed then costs one short round per word. The same
 * arithmetic, sixteen ids at a time, is in lanes.h. All hashes here are in the public domain
 * (Appleby); Hadoop's differs from MurmurHash2 in the tail, Spark's from MurmurHash3. The tests
 * compare them with libmurmurhash, which has MurmurHash3_x64_128 for the schemes guava and rbloom.
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
