/* The schemes of older programs, which hash Java strings. An id is UTF-8; `charAt` returns UTF-16
 * code units, so a character outside the basic plane counts as two. Bytes that are not UTF-8 become
 * U+FFFD as in OpenJDK: one per maximal subpart of a character, and one per encoded surrogate. */
#include "jobs/bloom/internal.h"

#include <string.h>

enum { REPLACEMENT = 0xFFFD };

static const uint32_t poly_abs_seeds[BLOOM_POLY_ABS_SEEDS] = {3, 31, 37, 41, 59, 67, 83, 97};
const uint32_t bloom_poly_mod_seeds[BLOOM_POLY_MOD_SEEDS] = {31, 131, 1313, 13131, 65599};

/* A first byte's row of table 3-7 of the Unicode standard; length 0: not the start of a character.
 */
struct lead {
    uint32_t length, bits;
    uint8_t second_min, second_max;
};

static struct lead utf8_lead_of(uint8_t byte)
{
    if (byte < 0x80) return (struct lead){1, byte, 0, 0};
    if (byte < 0xC2 || byte > 0xF4) return (struct lead){0};
    if (byte < 0xE0) return (struct lead){2, byte & 0x1F, 0x80, 0xBF};
    if (byte < 0xF0) return (struct lead){3, byte & 0x0F, byte == 0xE0 ? 0xA0 : 0x80, 0xBF};
    return (struct lead){4, byte & 0x07, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF};
}

/* Decodes the character at *at, and advances *at. */
static uint32_t utf8_next(const uint8_t **at, const uint8_t *end)
{
    assert(*at < end);
    struct lead lead = utf8_lead_of(*(*at)++);
    if (lead.length == 0) return REPLACEMENT;
    uint32_t character = lead.bits;
    for (uint32_t i = 1; i < lead.length; i++) {
        uint8_t min = i == 1 ? lead.second_min : 0x80, max = i == 1 ? lead.second_max : 0xBF;
        if (*at == end || **at < min || **at > max) return REPLACEMENT;
        character = character << 6 | (*(*at)++ & 0x3F);
    }
    return character >= 0xD800 && character <= 0xDFFF ? REPLACEMENT : character;
}

/* Encodes a character as UTF-16 code units; returns how many. */
static uint32_t utf16_units(uint32_t character, uint32_t units[2])
{
    units[0] = character;
    if (character < 0x10000) return 1;
    assert(character <= 0x10FFFF);
    units[0] = 0xD800 + ((character - 0x10000) >> 10);
    units[1] = 0xDC00 + (character & 0x3FF);
    return 2;
}

/* c| like Java's Math.abs, but |-2^31| is 2^31: Java's result is negative and its BitSet then
 * throws.
 */
static uint32_t absolute_value(uint32_t c)
{
    return c >> 31 ? -c : c;
}

/* Loads the filter's seeds, or the scheme's. */
static void load_seeds(const uint8_t *seeds, const uint32_t *published, uint32_t k, uint32_t *out)
{
    for (uint32_t i = 0; i < k; i++)
        out[i] = seeds != NULL ? bloom_seed_at(seeds, i) : published[i];
}

void bloom_poly_abs(const void *id, uint64_t size, uint64_t m, uint32_t k, const uint8_t *seeds,
                    uint32_t *out_indexes)
{
    assert(k <= (seeds != NULL ? BLOOM_SEEDS_MAX : BLOOM_POLY_ABS_SEEDS) && m <= INT32_MAX);
    const uint8_t *at = id, *end = at + size;
    uint32_t c[BLOOM_SEEDS_MAX] = {0}, seed[BLOOM_SEEDS_MAX], units[2];
    load_seeds(seeds, poly_abs_seeds, k, seed);
    while (at < end) {
        uint32_t count = utf16_units(utf8_next(&at, end), units);
        for (uint32_t u = 0; u < count; u++)
            for (uint32_t i = 0; i < k; i++) c[i] = c[i] * seed[i] + units[u];
    }
    for (uint32_t i = 0; i < k; i++) out_indexes[i] = absolute_value(c[i]) % (uint32_t)m;
}

/* In 64 bits. For the published seeds bloom_params_check limits m so that nothing exceeds 2^31 - 1,
 * where the published arithmetic in 32 bits gives the same. */
void bloom_poly_mod(const void *id, uint64_t size, uint64_t m, uint32_t k, const uint8_t *seeds,
                    uint32_t *out_indexes)
{
    assert(k <= (seeds != NULL ? BLOOM_SEEDS_MAX : BLOOM_POLY_MOD_SEEDS) && m <= INT32_MAX);
    const uint8_t *at = id, *end = at + size;
    uint32_t h[BLOOM_SEEDS_MAX] = {0}, seed[BLOOM_SEEDS_MAX], units[2];
    load_seeds(seeds, bloom_poly_mod_seeds, k, seed);
    while (at < end) {
        uint32_t count = utf16_units(utf8_next(&at, end), units);
        for (uint32_t u = 0; u < count; u++)
            for (uint32_t i = 0; i < k; i++)
                h[i] = (uint32_t)(((uint64_t)seed[i] * h[i] + units[u]) % m);
    }
    for (uint32_t i = 0; i < k; i++) out_indexes[i] = h[i];
}

/* ---- md5-random ---- */

/* java.util.Random, whose algorithm is specified by its documentation: 48 bits of state, next()
 * gives 31. */
static uint32_t java_random_next(uint64_t *state)
{
    *state = (*state * 0x5DEECE66Du + 0xB) & ((1ull << 48) - 1);
    return (uint32_t)(*state >> 17);
}

static uint32_t java_random_below(uint64_t *state, uint32_t m)
{
    if ((m & (m - 1)) == 0) return (uint32_t)(((uint64_t)m * java_random_next(state)) >> 31);
    for (;;) {
        uint32_t bits = java_random_next(state);
        uint32_t value = bits % m;
        if (bits - value + (m - 1) <= INT32_MAX)
            return value; /* bits is in a complete range of m */
    }
}

void bloom_md5_random(const void *id, uint64_t size, uint64_t m, uint32_t k, uint32_t *out_indexes)
{
    assert(m > 0 && m <= INT32_MAX);
    uint8_t digest[BLOOM_MD5_BYTES];
    bloom_md5(id, size, digest);
    uint64_t seed = 0;
    memcpy(&seed, digest, 6);
    uint64_t state = seed ^ 0x5DEECE66Du; /* below 2^48 already */
    for (uint32_t i = 0; i < k; i++) out_indexes[i] = java_random_below(&state, (uint32_t)m);
}
