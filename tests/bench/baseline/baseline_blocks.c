/* baseline_blocks P INPUT COUNTS OUTPUT: one Bloom filter per rating in split blocks of 256 bits.
 *
 * A row costs one hash, one cache line and one OR of 32 bytes. Its line is prefetched when it is
 * hashed and set AHEAD rows later. The hash is XXH64 written out for ids of 8 to 11 bytes; with
 * AVX-512 eight of them at a time. */
#include "die.h"
#include "files.h"
#include "filters.h"

#include <assert.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define INLINE static inline __attribute__((always_inline))

enum { AHEAD = 64, GROUP = 8, WORDS = 8 }; /* AHEAD is a multiple of GROUP */

typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef uint64_t u64x8 __attribute__((vector_size(64)));

static const u32x8 salts = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                            0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

/* Rows whose bits are not set yet; entry i % AHEAD is row i. */
struct ring {
    uint8_t *block[AHEAD];
    uint32_t hash[AHEAD];
    uint64_t hashed, set;
};

/* What a row needs of its key. */
struct keys {
    uint64_t blocks[KEYS_MAX];
    uint64_t base[KEYS_MAX]; /* address of the first block */
};

INLINE void set_row(uint8_t *block, uint32_t hash)
{
    u32x8 bits = (u32x8){1, 1, 1, 1, 1, 1, 1, 1} << (hash * salts >> 27), words;
    memcpy(&words, block, sizeof words);
    words |= bits;
    memcpy(block, &words, sizeof words);
}

INLINE u64x8 rotate(u64x8 x, int by)
{
    return x << by | x >> (64 - by);
}

/* XXH64 of eight ids of 8 to 11 bytes: `word` the first eight bytes, `rest` the others. */
INLINE u64x8 hash_eight(u64x8 word, u64x8 rest, u64x8 size)
{
    const uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9;
    const uint64_t p4 = 0x85EBCA77C2B2AE63, p5 = 0x27D4EB2F165667C5;
    u64x8 h = size + p5;
    h ^= rotate(word * p2, 31) * p1;
    h = rotate(h, 27) * p1 + p4;
    for (uint64_t i = 8; i < 11; i++, rest >>= 8) {
        u64x8 next = rotate(h ^ (rest & 0xFF) * p5, 11) * p1, more = (u64x8)(size > i);
        h = (next & more) | (h & ~more);
    }
    h = (h ^ h >> 33) * p2;
    h = (h ^ h >> 29) * p3;
    return h ^ h >> 32;
}

/* The hashes of GROUP rows. */
INLINE void hash_group(const struct rows *rows, uint32_t first, uint64_t *out)
{
    u64x8 word, rest, size;
    bool odd = false;
    for (uint32_t i = 0; i < GROUP; i++) {
        const uint8_t *id = rows->bytes + rows->start[first + i];
        uint64_t length = rows->tab[first + i] - rows->start[first + i], half[2];
        memcpy(half, id, sizeof half);
        word[i] = half[0];
        rest[i] = half[1];
        size[i] = length;
        odd = odd || length - ID_BYTES_MIN > ID_BYTES_MAX - ID_BYTES_MIN;
    }
    u64x8 hash = hash_eight(word, rest, size);
    memcpy(out, &hash, sizeof hash);
    for (uint32_t i = 0; odd && i < GROUP; i++)
        out[i] = XXH64(rows->bytes + rows->start[first + i], size[i], 0);
}

static void build(const struct keys *keys, struct ring *ring, const struct rows *rows)
{
    for (uint32_t first = 0; first < rows->count; first += GROUP) {
        uint64_t hash[GROUP];
        uint32_t count = rows->count - first < GROUP ? rows->count - first : GROUP;
        hash_group(rows, first, hash);
        for (uint32_t i = 0; i < count; i++, ring->hashed++) {
            uint64_t at = ring->hashed % AHEAD, key = rows->key[first + i];
            uint64_t block = (hash[i] >> 32) * keys->blocks[key] >> 32;
            if (ring->hashed >= AHEAD) set_row(ring->block[at], ring->hash[at]);
            ring->block[at] = (uint8_t *)(keys->base[key] + block * sizeof(u32x8));
            ring->hash[at] = (uint32_t)hash[i];
            __builtin_prefetch(ring->block[at], 1);
        }
    }
}

static void flush(struct ring *ring)
{
    uint64_t rows = ring->hashed < AHEAD ? ring->hashed : AHEAD;
    for (uint64_t i = 0; i < rows; i++) set_row(ring->block[i], ring->hash[i]);
}

/* A row whose key has no filter would set bits of another key's filter. */
static void check_keys(const struct filters *filters, const struct rows *rows)
{
    uint64_t counts[KEYS_MAX] = {0};
    rows_count(rows, counts);
    for (int key = 0; key < KEYS_MAX; key++)
        if (counts[key] > 0 && filters->n[key] == 0) die("rating %d has no count", key);
}

int main(int argc, char **argv)
{
    if (argc != 5) die("usage: baseline_blocks P INPUT COUNTS OUTPUT");
    struct filters filters;
    filters_create_split(&filters, argv[3], strtod(argv[1], NULL));
    static struct keys keys;
    for (int key = 0; key < KEYS_MAX; key++) {
        keys.blocks[key] = filters.m[key] / 256;
        keys.base[key] = (uint64_t)(uintptr_t)filters.words + filters.base[key] / 8;
        assert(filters.m[key] % 256 == 0 && keys.base[key] % sizeof(u32x8) == 0);
    }
    static struct ring ring;
    struct reader reader;
    rows_open(&reader, argv[2], true);
    for (const struct rows *rows; (rows = rows_next(&reader)) != NULL;) {
        check_keys(&filters, rows);
        build(&keys, &ring, rows);
    }
    flush(&ring);
    rows_close(&reader);
    filters_write(&filters, argv[4]);
    filters_destroy(&filters);
    return 0;
}
