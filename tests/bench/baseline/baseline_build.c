/* baseline_build P INPUT COUNTS OUTPUT [ilv|naive]: one Bloom filter per rating.
 *
 * naive: each row's k hashes by the definition, a division each, and the bits set at once.
 * ilv (default): 16 rows hashed in lanes; their bits are prefetched one turn later and set two
 * turns later, row by row and in turns, so that cache misses overlap with hashing and come evenly.
 * Bursts of a whole batch's prefetches or sets are slower. */
#include "die.h"
#include "files.h"
#include "filters.h"

#include <assert.h>
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

enum { RING = 3, K_MAX = 64 };

/* The bit numbers of up to 16 rows: bit[hash][row]. */
struct batch {
    _Alignas(64) uint32_t bit[K_MAX][LANES];
    uint32_t rows;
};

struct ring {
    struct batch batch[RING];
    uint64_t turn;
};

INLINE void set_bit(uint64_t *words, uint64_t bit)
{
    words[bit >> 6] |= UINT64_C(1) << (bit & 63);
}

/* A row whose key has no filter would set bits of another key's filter. */
static void check_keys(const struct filters *filters, const struct rows *rows)
{
    uint64_t counts[KEYS_MAX] = {0};
    rows_count(rows, counts);
    for (int key = 0; key < KEYS_MAX; key++)
        if (counts[key] > 0 && filters->n[key] == 0) die("rating %d has no count", key);
}

static void build_naive(struct filters *filters, const struct rows *rows)
{
    for (uint32_t row = 0; row < rows->count; row++) {
        const uint8_t *id = rows->bytes + rows->start[row];
        uint32_t length = rows->tab[row] - rows->start[row], key = rows->key[row];
        for (uint32_t seed = 0; seed < filters->k; seed++) {
            uint32_t index = index_of(murmur3(id, length, seed), (uint32_t)filters->m[key]);
            set_bit(filters->words, filters->base[key] + index);
        }
    }
}

/* Rows whose id does not fit the lanes, one by one. */
static void hash_odd_rows(struct batch *batch, const struct filters *filters,
                          const struct rows *rows, uint32_t first)
{
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t row = first + i, length = rows->tab[row] - rows->start[row], key = rows->key[row];
        if (length >= ID_BYTES_MIN && length <= ID_BYTES_MAX) continue;
        for (uint32_t seed = 0; seed < filters->k; seed++) {
            uint32_t hash = murmur3(rows->bytes + rows->start[row], length, seed);
            batch->bit[seed][i] =
                (uint32_t)filters->base[key] + index_of(hash, (uint32_t)filters->m[key]);
        }
    }
}

INLINE void hash_batch(struct batch *batch, const struct filters *filters, const struct rows *rows,
                       uint32_t first, uint32_t k)
{
    struct lanes lanes;
    lanes_load_ids(&lanes, rows, first);
    lanes_load_keys(&lanes, widen(rows->key + first), &filters->divisors);
    for (uint32_t seed = 0; seed < k; seed++) {
        u32x16 bits = lanes_index(&lanes, seed);
        memcpy(batch->bit[seed], &bits, sizeof bits);
    }
    assert(first < rows->count && k <= K_MAX);
    batch->rows = rows->count - first < LANES ? rows->count - first : LANES;
    if (lanes_odd(&lanes) != 0) hash_odd_rows(batch, filters, rows, first);
}

/* Prefetches the bits of `ahead` and sets those of `due`. */
INLINE void turn(uint64_t *words, const struct batch *ahead, const struct batch *due, uint32_t k)
{
    for (uint32_t row = 0; row < due->rows; row++) {
        for (uint32_t hash = 0; hash < k; hash++) {
            __builtin_prefetch(words + (ahead->bit[hash][row] >> 6), 1);
            set_bit(words, due->bit[hash][row]);
        }
    }
}

INLINE void build_lanes_k(struct filters *filters, struct ring *ring, const struct rows *rows,
                          uint32_t k)
{
    for (uint32_t row = 0; row < rows->count; row += LANES, ring->turn++) {
        struct batch *now = &ring->batch[ring->turn % RING];
        hash_batch(now, filters, rows, row, k);
        turn(filters->words, &ring->batch[(ring->turn + 2) % RING],
             &ring->batch[(ring->turn + 1) % RING], k);
    }
}

/* Common numbers of hashes as constants, so that the compiler unrolls the loops over them. */
static void build_lanes(struct filters *filters, struct ring *ring, const struct rows *rows)
{
    switch (filters->k) {
    case 4: build_lanes_k(filters, ring, rows, 4); break;
    case 5: build_lanes_k(filters, ring, rows, 5); break;
    case 7: build_lanes_k(filters, ring, rows, 7); break;
    case 10: build_lanes_k(filters, ring, rows, 10); break;
    default: build_lanes_k(filters, ring, rows, filters->k); break;
    }
}

/* Sets the bits of the last two batches, which have only been hashed. */
static void ring_flush(struct filters *filters, struct ring *ring)
{
    static const struct batch nothing;
    for (int i = 0; i < RING; i++) {
        turn(filters->words, &nothing, &ring->batch[i], filters->k);
        ring->batch[i].rows = 0;
    }
}

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 6) die("usage: baseline_build P INPUT COUNTS OUTPUT [ilv|naive]");
    struct filters filters;
    filters_create(&filters, argv[3], strtod(argv[1], NULL));
    if (filters.k > K_MAX) die("P is too small");
    bool naive = argc == 6 && strcmp(argv[5], "naive") == 0;
    if (argc == 6 && !naive && strcmp(argv[5], "ilv") != 0) die("no such form: %s", argv[5]);

    static struct ring ring;
    struct reader reader;
    rows_open(&reader, argv[2], true);
    for (const struct rows *rows; (rows = rows_next(&reader)) != NULL;) {
        check_keys(&filters, rows);
        if (naive || !filters.lanes_fit)
            build_naive(&filters, rows);
        else
            build_lanes(&filters, &ring, rows);
    }
    ring_flush(&filters, &ring);
    rows_close(&reader);
    filters_write(&filters, argv[4]);
    filters_destroy(&filters);
    return 0;
}
