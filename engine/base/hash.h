/* Hashes of keys and blocks (XXH3, inlined). */
#ifndef GLINT_BASE_HASH_H
#define GLINT_BASE_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <assert.h>
#include <stdint.h>

/* Which partition a key goes to: the same everywhere and for ever, it decides the order of outputs.
 */
static inline uint64_t hash_partition(const void *key, uint64_t size)
{
    return XXH3_64bits(key, size);
}

/* For tables inside a process; the seed is random, so no input can be made to collide. */
static inline uint64_t hash_seeded(const void *key, uint64_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(key, size, seed);
}

static inline uint64_t hash_checksum(const void *data, uint64_t size)
{
    return XXH3_64bits(data, size);
}

/* A number in [0, n) from a hash, without division: the high half of the product. */
static inline uint32_t hash_to_range(uint64_t hash, uint32_t n)
{
    assert(n > 0);
    return (uint32_t)(((unsigned __int128)hash * n) >> 64);
}

/* splitmix64's finaliser: a counter turned into a random number. */
static inline uint64_t hash_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
