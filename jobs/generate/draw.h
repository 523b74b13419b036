/* Randomness of generated data: splitmix64 used as a counter, so that any row can be generated on
 * any machine. Only integers: a floating-point logarithm may differ in the last bit between
 * machines, but the bytes must be the same. */
#ifndef GLINT_JOBS_GENERATE_DRAW_H
#define GLINT_JOBS_GENERATE_DRAW_H

#include <stdint.h>

/* Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static inline uint64_t draw_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Mixes the seed too: otherwise the streams of nearby seeds would be shifts of each other. */
static inline uint64_t draw_stream(uint64_t seed)
{
    return draw_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t draw_u64(uint64_t stream, uint64_t counter)
{
    return draw_mix(stream + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Returns 0 .. below - 1, uniform as far as 64 bits allow. */
static inline uint64_t draw_below(uint64_t stream, uint64_t counter, uint64_t below)
{
    return (uint64_t)((unsigned __int128)draw_u64(stream, counter) * below >> 64);
}

#endif
