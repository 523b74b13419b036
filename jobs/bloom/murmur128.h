/* MurmurHash3_x64_128 with seed 0, in parts: the blocks of an id, then its end, for classes that
 * hash an id twice with different ends, or read its last bytes as signed numbers. */
#ifndef GLINT_JOBS_BLOOM_MURMUR128_H
#define GLINT_JOBS_BLOOM_MURMUR128_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MURMUR128_BLOCK = 16 };
#define MURMUR128_C1 0x87c37b91114253d5u
#define MURMUR128_C2 0x4cf5ad432745937fu

static inline uint64_t murmur128_rotl(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t murmur128_mix(uint64_t k)
{
    k = (k ^ k >> 33) * 0xff51afd7ed558ccdu;
    k = (k ^ k >> 33) * 0xc4ceb9fe1a85ec53u;
    return k ^ k >> 33;
}

static inline void murmur128_block(uint64_t h[2], const uint8_t *data)
{
    uint64_t k[2];
    memcpy(k, data, sizeof k);
    h[0] ^= murmur128_rotl(k[0] * MURMUR128_C1, 31) * MURMUR128_C2;
    h[0] = (murmur128_rotl(h[0], 27) + h[1]) * 5 + 0x52dce729;
    h[1] ^= murmur128_rotl(k[1] * MURMUR128_C2, 33) * MURMUR128_C1;
    h[1] = (murmur128_rotl(h[1], 31) + h[0]) * 5 + 0x38495ab5;
}

/* Adds the whole blocks of the id; returns their size. */
static inline uint64_t murmur128_blocks(uint64_t h[2], const uint8_t *data, uint64_t size)
{
    const uint64_t whole = size / MURMUR128_BLOCK * MURMUR128_BLOCK;
    for (uint64_t at = 0; at < whole; at += MURMUR128_BLOCK) murmur128_block(h, data + at);
    return whole;
}

/* Adds the last size % 16 bytes of an id of `size` bytes; `sign`: a byte over 127 flips all bits
 * above its own in its half, as where Java adds it without a mask. */
static inline void murmur128_end(uint64_t h[2], const uint8_t *tail, uint64_t size, bool sign)
{
    uint64_t k[2] = {0, 0};
    const uint32_t left = size % MURMUR128_BLOCK;
    assert(h != NULL && (left == 0 || tail != NULL));
    for (uint32_t i = 0; i < left; i++) {
        const uint64_t byte = sign ? (uint64_t)(int64_t)(int8_t)tail[i] : tail[i];
        k[i / 8] ^= byte << 8 * (i % 8);
    }
    h[1] ^= murmur128_rotl(k[1] * MURMUR128_C2, 33) * MURMUR128_C1;
    h[0] ^= murmur128_rotl(k[0] * MURMUR128_C1, 31) * MURMUR128_C2;
    h[0] ^= size;
    h[1] ^= size;
    h[0] += h[1];
    h[1] += h[0];
    h[0] = murmur128_mix(h[0]);
    h[1] = murmur128_mix(h[1]);
    h[0] += h[1];
    h[1] += h[0];
}

#endif
