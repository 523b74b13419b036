/* baseline_test INPUT FILTERS COUNTS OUTPUT: looks up each row in the filter of its own rating.
 *
 * Half of the bits are set, so an early exit per row would be mispredicted half of the time.
 * Instead all rows of a block are candidates, and one hash at a time the candidates whose bit is
 * not set are removed: 16 rows are hashed, their bits gathered, and the remaining candidates packed
 * to the front. Each hash has half as many as the previous one. Filters that do not fit into a
 * cache are prefetched a few vectors ahead. */
#include "die.h"
#include "files.h"
#include "filters.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    AHEAD = 8,                    /* vectors between prefetch and gather; a power of two */
    NEAR_BYTES = 4 * 1024 * 1024, /* filters up to this size need no prefetch */
    CANDIDATES_MAX = BLOCK_ROWS_MAX + AHEAD * LANES,
};

/* The remaining candidates, in columns; 16 at a time are the fields of struct lanes. */
struct candidates {
    uint32_t count;
    _Alignas(64) uint32_t first[CANDIDATES_MAX];
    _Alignas(64) uint32_t second[CANDIDATES_MAX];
    _Alignas(64) uint32_t tail[CANDIDATES_MAX];
    _Alignas(64) uint32_t key[CANDIDATES_MAX];
};

struct totals {
    uint64_t rows[KEYS_MAX], hits[KEYS_MAX];
};

static bool contains(const struct filters *filters, const uint8_t *id, uint32_t length, uint8_t key)
{
    for (uint32_t seed = 0; seed < filters->k; seed++) {
        uint64_t bit = filters->base[key];
        bit += index_of(murmur3(id, length, seed), (uint32_t)filters->m[key]);
        if ((filters->words[bit >> 6] >> (bit & 63) & 1) == 0) return false;
    }
    return true;
}

/* Looks up one row: for ids and filters that the lanes do not support. */
static void test_row(const struct filters *filters, const struct rows *rows, uint32_t row,
                     struct totals *totals)
{
    uint32_t length = rows->tab[row] - rows->start[row];
    uint8_t key = rows->key[row];
    totals->hits[key] += contains(filters, rows->bytes + rows->start[row], length, key);
}

/* Writes the lanes of `x` selected by `keep` to `out`, packed; may overwrite up to 16 lanes. */
INLINE void pack(uint32_t *out, u32x16 x, uint32_t keep)
{
#if defined(__AVX512F__)
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32((__mmask16)keep, (__m512i)x));
#else
    for (int i = 0; i < LANES; i++) {
        *out = x[i];
        out += keep >> i & 1;
    }
#endif
}

INLINE u32x16 load(const uint32_t *from)
{
    u32x16 x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* Returns which of the 16 bits are set. */
INLINE uint32_t gather_bits(const uint64_t *words, u32x16 bits)
{
#if defined(__AVX512F__)
    __m512i found = _mm512_i32gather_epi32((__m512i)(bits >> 5), words, 4);
    __m512i wanted = _mm512_sllv_epi32(_mm512_set1_epi32(1), (__m512i)(bits & 31));
    return _mm512_test_epi32_mask(found, wanted);
#else
    uint32_t set = 0;
    for (int i = 0; i < LANES; i++)
        set |= (uint32_t)(words[bits[i] >> 6] >> (bits[i] & 63) & 1) << i;
    return set;
#endif
}

/* Makes all rows of a block candidates; rows that the lanes do not support are tested at once
 * instead. */
static void candidates_load(struct candidates *candidates, const struct filters *filters,
                            const struct rows *rows, struct totals *totals)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < rows->count; row += LANES) {
        struct lanes lanes;
        u32x16 key = widen(rows->key + row);
        lanes_load_ids(&lanes, rows, row);
        uint32_t left = rows->count - row;
        uint32_t keep = left >= LANES ? 0xffff : (1u << left) - 1;
        uint32_t odd = lanes_odd(&lanes) & keep;
        keep &= ~odd;
        for (; odd != 0; odd &= odd - 1)
            test_row(filters, rows, row + (uint32_t)__builtin_ctz(odd), totals);
        pack(candidates->first + count, lanes.first, keep);
        pack(candidates->second + count, lanes.second, keep);
        pack(candidates->tail + count, lanes.tail, keep);
        pack(candidates->key + count, key, keep);
        count += (uint32_t)__builtin_popcount(keep);
    }
    assert(count <= rows->count);
    candidates->count = count;
}

/* Returns the bit numbers of the 16 candidates from `at` on for `seed`. After the last candidate
 * they are arbitrary. */
INLINE u32x16 candidate_bits(const struct candidates *candidates, const struct filters *filters,
                             uint32_t at, uint32_t seed)
{
    struct lanes lanes = {.first = load(candidates->first + at),
                          .second = load(candidates->second + at),
                          .tail = load(candidates->tail + at)};
    lanes_load_keys(&lanes, load(candidates->key + at), &filters->divisors);
    return lanes_index(&lanes, seed);
}

/* Keeps those of the 16 candidates from `at` on whose bits are set. Returns the new count. */
INLINE uint32_t keep_set(struct candidates *candidates, const uint64_t *words, u32x16 bits,
                         uint32_t at, uint32_t kept)
{
    uint32_t left = candidates->count - at;
    uint32_t keep = gather_bits(words, bits) & (left >= LANES ? 0xffff : (1u << left) - 1);
    pack(candidates->first + kept, load(candidates->first + at), keep);
    pack(candidates->second + kept, load(candidates->second + at), keep);
    pack(candidates->tail + kept, load(candidates->tail + at), keep);
    pack(candidates->key + kept, load(candidates->key + at), keep);
    return kept + (uint32_t)__builtin_popcount(keep);
}

static void sieve_near(struct candidates *candidates, const struct filters *filters, uint32_t seed)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < candidates->count; at += LANES) {
        u32x16 bits = candidate_bits(candidates, filters, at, seed);
        kept = keep_set(candidates, filters->words, bits, at, kept);
    }
    assert(kept <= candidates->count);
    candidates->count = kept;
}

static void sieve_far(struct candidates *candidates, const struct filters *filters, uint32_t seed)
{
    u32x16 ring[AHEAD] = {0};
    uint32_t kept = 0;
    for (uint32_t at = 0; at < candidates->count + AHEAD * LANES; at += LANES) {
        uint32_t slot = at / LANES % AHEAD;
        if (at >= AHEAD * LANES)
            kept = keep_set(candidates, filters->words, ring[slot], at - AHEAD * LANES, kept);
        assert(kept <= at); /* packing never overwrites candidates that are not read yet */
        if (at >= candidates->count) continue;
        ring[slot] = candidate_bits(candidates, filters, at, seed);
        for (int i = 0; i < LANES; i++) __builtin_prefetch(filters->words + (ring[slot][i] >> 6));
    }
    candidates->count = kept;
}

static void test_block(struct candidates *candidates, const struct filters *filters,
                       const struct rows *rows, struct totals *totals)
{
    uint64_t counts[KEYS_MAX] = {0};
    rows_count(rows, counts);
    for (int key = 0; key < KEYS_MAX; key++) {
        if (counts[key] > 0 && filters->m[key] == 0) die("no filter for rating %d", key);
        totals->rows[key] += counts[key];
    }
    if (!filters->lanes_fit) {
        for (uint32_t row = 0; row < rows->count; row++) test_row(filters, rows, row, totals);
        return;
    }
    candidates_load(candidates, filters, rows, totals);
    for (uint32_t seed = 0; seed < filters->k && candidates->count > 0; seed++) {
        if (filters->area_bytes <= NEAR_BYTES)
            sieve_near(candidates, filters, seed);
        else
            sieve_far(candidates, filters, seed);
    }
    for (uint32_t i = 0; i < candidates->count; i++) totals->hits[candidates->key[i]]++;
}

/* A rate (0..1) formatted as Python does: the fewest digits that read back as the same double. */
static void print_rate(FILE *part, double rate)
{
    char text[40];
    int digits = 1;
    assert(rate >= 0 && rate <= 1);
    do snprintf(text, sizeof text, "%.*e", digits - 1, rate);
    while (strtod(text, NULL) != rate && digits++ < 17);
    if (rate == 0 || rate == 1)
        snprintf(text, sizeof text, "%.1f", rate);
    else if (rate >= 1e-4) {
        long exponent = strtol(strchr(text, 'e') + 1, NULL, 10); /* -4..-1 */
        snprintf(text, sizeof text, "%.*f", digits - 1 - (int)exponent, rate);
    }
    fputs(text, part);
}

int main(int argc, char **argv)
{
    if (argc != 5) die("usage: baseline_test INPUT FILTERS COUNTS OUTPUT");
    static struct candidates candidates;
    static struct totals totals;
    struct filters filters;
    struct reader reader;
    filters_read(&filters, argv[2], argv[3]);
    rows_open(&reader, argv[1], true);
    for (const struct rows *rows; (rows = rows_next(&reader)) != NULL;)
        test_block(&candidates, &filters, rows, &totals);
    rows_close(&reader);

    FILE *part = output_create(argv[4]);
    for (int key = 0; key < KEYS_MAX; key++) {
        if (totals.rows[key] == 0) continue;
        fprintf(part, "(%d, (%" PRIu64 ", %" PRIu64 ", ", key, totals.hits[key], totals.rows[key]);
        print_rate(part, (double)totals.hits[key] / (double)totals.rows[key]);
        fputs("))\n", part);
    }
    output_finish(part, argv[4]);
    filters_destroy(&filters);
    return 0;
}
