/* Hashes of keys and blocks (XXH3, inlined). */
#ifndef GLINT_BASE_HASH_H
#define GLINT_BASE_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <assert.h>
#include <stdint.h>

/* The partition hash of a key. Must never change, on any platform: it decides the order of
 * outputs. */
static inline uint64_t hash_partition(const void *key, uint64_t size)
{
    return XXH3_64bits(key, size);
}

/* For hash tables inside a process. The seed is random, so that an input cannot force
 * collisions. */
static inline uint64_t hash_seeded(const void *key, uint64_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(key, size, seed);
}

/* The checksum of stored and sent blocks. */
static inline uint64_t hash_checksum(const void *data, uint64_t size)
{
    return XXH3_64bits(data, size);
}

/* Maps a hash to [0, n) without division: the high half of the product (Lemire's method). */
static inline uint32_t hash_to_range(uint64_t hash, uint32_t n)
{
    assert(n > 0);
    return (uint32_t)(((unsigned __int128)hash * n) >> 64);
}

/* One step of splitmix64: turns a counter into a random number. */
static inline uint64_t hash_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
