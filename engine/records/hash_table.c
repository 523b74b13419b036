/* See hash_table.h. A group of keys is hashed, then looked up; if the table does not fit into the
 * cache, what a lookup reads is prefetched, so that the cache misses of different keys overlap. */
#include "engine/records/hash_table.h"

#include "engine/base/hash.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"

#include <assert.h>
#include <stddef.h>

/* ---- Only for AVX-512: AVX2 cannot permute 32 words, and one load per key is nearly as fast
 * there. */

#if defined(__x86_64__)

#include <immintrin.h>

/* Looks up 16 keys with one permutation. Sets bits in *missed if a key is too large or has no
 * slot. */
__attribute__((target("avx512f"))) static inline __m512i
look_up_16_keys(const int64_t *keys, __m512i low, __m512i high, __mmask16 *missed)
{
    const __m512i limit = _mm512_set1_epi64(DIRECT_LOOKUP_KEYS - 1);
    const __m512i a = _mm512_loadu_si512(keys), b = _mm512_loadu_si512(keys + 8);
    *missed |= _mm512_cmpgt_epu64_mask(_mm512_or_si512(a, b), limit);
    const __m512i index = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(a)),
                                             _mm512_cvtepi64_epi32(b), 1);
    const __m512i slots = _mm512_permutex2var_epi32(low, index, high);
    *missed |= _mm512_testn_epi32_mask(slots, slots);
    return _mm512_sub_epi32(slots, _mm512_set1_epi32(1));
}

__attribute__((target("avx512f"))) static bool
look_up_avx512(const int64_t *keys, uint32_t rows, const uint32_t *direct, uint32_t *out_slots)
{
    const __m512i low = _mm512_loadu_si512(direct), high = _mm512_loadu_si512(direct + 16);
    __mmask16 missed = 0;
    uint32_t i = 0;
    for (; i + 16 <= rows; i += 16)
        _mm512_storeu_si512(out_slots + i, look_up_16_keys(keys + i, low, high, &missed));
    bool all = missed == 0;
    for (; i < rows; i++) {
        const uint64_t key = (uint64_t)keys[i];
        const uint32_t slot = direct[key & (DIRECT_LOOKUP_KEYS - 1)];
        all = all && key < DIRECT_LOOKUP_KEYS && slot != 0;
        out_slots[i] = slot - 1;
    }
    return all;
}

#endif

direct_lookup_fn direct_lookup_for_cpu(void)
{
#if defined(__x86_64__)
    static_assert(DIRECT_LOOKUP_KEYS == 32, "two registers of sixteen");
    if (__builtin_cpu_supports("avx512f")) return look_up_avx512;
#endif
    return NULL;
}

/* ---- hash table */

#define GROUP_ROWS       256u
#define BUCKETS_MIN      256u
#define PREFETCH_BUCKETS ((uint64_t)1 << 14) /* smaller tables fit into the cache */

struct key_group {
    const uint8_t *data[GROUP_ROWS];
    uint64_t size[GROUP_ROWS];
    struct hash_table_key short_key[GROUP_ROWS]; /* as it is stored; undefined for long ones */
    uint32_t hash[GROUP_ROWS];
    uint64_t numbers[GROUP_ROWS + 1]; /* byte forms, and slack to read */
};

void hash_table_init(struct hash_table *t, struct acc_pool *pool, uint64_t seed)
{
    *t = (struct hash_table){.pool = pool, .seed = seed, .direct_lookup = direct_lookup_for_cpu()};
}

static_assert(sizeof(struct hash_table_key) == sizeof(uint32_t) + HASH_TABLE_SHORT_KEY,
              "a short key fills the struct");

/* Returns a short key as it is stored: zeros follow its bytes, so that all of it can be hashed and
 * compared at once. Reads HASH_TABLE_SHORT_KEY bytes, unless it is empty. */
static inline struct hash_table_key make_short_key(const uint8_t *data, uint64_t size)
{
    static const uint8_t masks[2 * HASH_TABLE_SHORT_KEY] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                            0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const uint8_t *mask = masks + HASH_TABLE_SHORT_KEY - size;
    if (size == 0) data = masks; /* it may be NULL */
    uint64_t head, head_mask;
    uint32_t tail, tail_mask, size32 = (uint32_t)size;
    assert(size <= HASH_TABLE_SHORT_KEY);
    memcpy(&head, data, sizeof head);
    memcpy(&head_mask, mask, sizeof head);
    memcpy(&tail, data + sizeof head, sizeof tail);
    memcpy(&tail_mask, mask + sizeof head, sizeof tail);
    head &= head_mask;
    tail &= tail_mask;
    struct hash_table_key key;
    uint8_t *out = (uint8_t *)&key;
    memcpy(out, &size32, sizeof size32);
    memcpy(out + sizeof size32, &head, sizeof head);
    memcpy(out + sizeof size32 + sizeof head, &tail, sizeof tail);
    return key;
}

static bool reserve_key(struct hash_table *t)
{
    return array_reserve(&t->keys, &t->keys_capacity, t->slots + UINT64_C(1), sizeof *t->keys);
}

/* Adds a key that is not short. Returns its slot, or UINT32_MAX when out of memory. */
static uint32_t insert_long_key(struct hash_table *t, const uint8_t *data, uint64_t size)
{
    assert(size > HASH_TABLE_SHORT_KEY && size <= UINT32_MAX);
    uint8_t *copy = reserve_key(t) ? acc_pool_alloc(t->pool, size) : NULL;
    if (copy == NULL) return UINT32_MAX;
    bytes_copy(copy, data, size);
    t->keys[t->slots] = (struct hash_table_key){.size = (uint32_t)size, .data = copy};
    return t->slots++;
}

static uint32_t insert_short_key(struct hash_table *t, const struct hash_table_key *key)
{
    if (!reserve_key(t)) return UINT32_MAX;
    t->keys[t->slots] = *key;
    return t->slots++;
}

static inline uint64_t home_bucket(const struct hash_table *t, uint32_t hash)
{
    return hash >> t->shift;
}

/* Returns the bucket count for `slots` slots: never less than now, at most half full. */
static uint64_t bucket_count_for(const struct hash_table *t, uint64_t slots)
{
    uint64_t count = t->bucket_count < BUCKETS_MIN ? BUCKETS_MIN : t->bucket_count;
    while (count < 2 * slots) count *= 2;
    return count;
}

/* Grows the buckets if needed, so that they are at most half full after `extra` more keys. */
static bool reserve_table_buckets(struct hash_table *t, uint32_t extra)
{
    uint64_t count = bucket_count_for(t, (uint64_t)t->slots + extra);
    if (count == t->bucket_count) return true;
    if (count > (uint64_t)1 << 32) return false; /* the stored hash has 32 bits */
    struct hash_table_bucket *old = t->buckets, *fresh = mem_zalloc(count * sizeof *fresh);
    if (fresh == NULL) return false;
    uint64_t old_count = t->bucket_count;
    t->buckets = fresh;
    t->bucket_count = count;
    t->shift = 32u - (unsigned)__builtin_ctzll(count);
    for (uint64_t i = 0; i < old_count; i++) {
        if (old[i].slot == 0) continue;
        uint64_t at = home_bucket(t, old[i].hash);
        while (fresh[at].slot != 0) at = (at + 1) & (count - 1);
        fresh[at] = old[i];
    }
    mem_free(old);
    return true;
}

/* Of one of the group's keys. */
static inline bool same_key(const struct hash_table *t, uint32_t slot, const struct key_group *g,
                            uint32_t row)
{
    const struct hash_table_key *key = &t->keys[slot];
    if (g->size[row] <= HASH_TABLE_SHORT_KEY)
        return memcmp(key, &g->short_key[row], sizeof *key) == 0;
    return key->size == g->size[row] && bytes_equal(key->data, g->data[row], g->size[row]);
}

static uint32_t insert_key(struct hash_table *t, const struct key_group *g, uint32_t row)
{
    return g->size[row] <= HASH_TABLE_SHORT_KEY ? insert_short_key(t, &g->short_key[row])
                                                : insert_long_key(t, g->data[row], g->size[row]);
}

/* Linear probing. The caller has reserved buckets, so an empty one exists and the loop ends. */
static uint32_t find_or_insert_key(struct hash_table *t, const struct key_group *g, uint32_t row)
{
    const uint32_t hash = g->hash[row];
    const uint64_t mask = t->bucket_count - 1;
    for (uint64_t at = home_bucket(t, hash);; at = (at + 1) & mask) {
        struct hash_table_bucket *b = &t->buckets[at];
        if (b->slot == 0) {
            uint32_t slot = insert_key(t, g, row);
            if (slot != UINT32_MAX) *b = (struct hash_table_bucket){hash, slot + 1};
            return slot;
        }
        if (b->hash == hash && same_key(t, b->slot - 1, g, row)) return b->slot - 1;
    }
}

/* Seeded per process, so that an input cannot force collisions. */
static void hash_key_group(const struct hash_table *t, struct key_group *g, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        if (g->size[i] <= HASH_TABLE_SHORT_KEY)
            g->short_key[i] = make_short_key(g->data[i], g->size[i]);
    for (uint32_t i = 0; i < rows; i++) {
        const bool is_short = g->size[i] <= HASH_TABLE_SHORT_KEY;
        const uint64_t hash = is_short
                                  ? hash_seeded(&g->short_key[i], sizeof g->short_key[i], t->seed)
                                  : hash_seeded(g->data[i], g->size[i], t->seed);
        g->hash[i] = (uint32_t)(hash >> 32);
    }
}

/* Returns the bucket's slot + 1 that find_or_insert_key will find, guessed by the hash, or 0. */
static uint32_t guess_slot_by_hash(const struct hash_table *t, uint32_t hash)
{
    const uint64_t mask = t->bucket_count - 1;
    uint64_t at = home_bucket(t, hash);
    while (t->buckets[at].slot != 0 && t->buckets[at].hash != hash) at = (at + 1) & mask;
    return t->buckets[at].slot;
}

/* A row's bucket, its key, and the bytes of a long key are prefetched so many rows before it is
 * looked up, so that there are always as many cache misses at once as the processor can have. */
enum { BUCKET_AHEAD = 32, KEY_AHEAD = 16, BYTES_AHEAD = 8 };

static bool find_or_insert_with_prefetch(struct hash_table *t, const struct key_group *g,
                                         uint32_t rows, uint32_t *out_slots)
{
    uint32_t guess[GROUP_ROWS];
    for (uint32_t i = 0; i < rows + BUCKET_AHEAD; i++) {
        if (i < rows) __builtin_prefetch(&t->buckets[home_bucket(t, g->hash[i])]);
        const uint32_t key = i - (BUCKET_AHEAD - KEY_AHEAD);
        if (key < rows) {
            guess[key] = guess_slot_by_hash(t, g->hash[key]);
            if (guess[key] != 0) hash_table_prefetch_key(t, guess[key] - 1);
        }
        const uint32_t bytes = i - (BUCKET_AHEAD - BYTES_AHEAD);
        if (bytes < rows && g->size[bytes] > HASH_TABLE_SHORT_KEY && guess[bytes] != 0)
            hash_table_prefetch_bytes(t, guess[bytes] - 1);
        const uint32_t row = i - BUCKET_AHEAD;
        if (row >= rows) continue;
        /* The guess is wrong only if two keys have one hash. */
        out_slots[row] = guess[row] != 0 && same_key(t, guess[row] - 1, g, row)
                             ? guess[row] - 1
                             : find_or_insert_key(t, g, row);
        if (out_slots[row] == UINT32_MAX) return false;
    }
    return true;
}

static bool find_or_insert_key_group(struct hash_table *t, struct key_group *g, uint32_t rows,
                                     uint32_t *out_slots)
{
    assert(rows <= GROUP_ROWS);
    if (!reserve_table_buckets(t, rows)) return false;
    hash_key_group(t, g, rows);
    if (t->bucket_count > PREFETCH_BUCKETS)
        return find_or_insert_with_prefetch(t, g, rows, out_slots);
    for (uint32_t i = 0; i < rows; i++) {
        out_slots[i] = find_or_insert_key(t, g, i);
        if (out_slots[i] == UINT32_MAX) return false;
    }
    return true;
}

/* Returns the slot of a small number, or UINT32_MAX when out of memory. */
static uint32_t find_or_insert_small_key(struct hash_table *t, int64_t key)
{
    assert(key >= 0 && key < HASH_TABLE_DIRECT_KEYS);
    if (t->direct[key] == 0) {
        const uint64_t bits[2] = {codec_encode_i64(key)};
        const struct hash_table_key number = make_short_key((const uint8_t *)bits, sizeof bits[0]);
        uint32_t slot = insert_short_key(t, &number);
        if (slot == UINT32_MAX) return slot;
        t->direct[key] = slot + 1;
    }
    return t->direct[key] - 1;
}

/* Returns true if all keys are small and have a slot. One pass without branches: a large key shows
 * in the OR of all keys, a missing slot (0 - 1) in the OR of all slots. */
static bool find_all_small_keys(const struct hash_table *t, const int64_t *keys, uint32_t rows,
                                uint32_t *out_slots)
{
    static_assert((HASH_TABLE_DIRECT_KEYS & (HASH_TABLE_DIRECT_KEYS - 1)) == 0,
                  "one OR of all keys finds a key over the limit");
    assert(t->slots <= INT32_MAX);
    uint64_t any_key = 0;
    uint32_t any_slot = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t key = (uint64_t)keys[i];
        uint32_t slot = t->direct[key & (HASH_TABLE_DIRECT_KEYS - 1)] - 1;
        any_key |= key;
        any_slot |= slot;
        out_slots[i] = slot;
    }
    return any_key < HASH_TABLE_DIRECT_KEYS && any_slot <= INT32_MAX;
}

/* Looks up large numbers by hash, in groups, and small ones in the array. Keeps the order of rows,
 * so that new slots are numbered in order of appearance. */
static bool find_or_insert_mixed_sizes(struct hash_table *t, const int64_t *keys, uint32_t rows,
                                       uint32_t *out_slots)
{
    struct key_group g;
    for (uint32_t i = 0; i < rows;) {
        if ((uint64_t)keys[i] < HASH_TABLE_DIRECT_KEYS) {
            out_slots[i] = find_or_insert_small_key(t, keys[i]);
            if (out_slots[i++] == UINT32_MAX) return false;
            continue;
        }
        uint32_t n = 0;
        for (; n < GROUP_ROWS && i + n < rows && (uint64_t)keys[i + n] >= HASH_TABLE_DIRECT_KEYS;
             n++) {
            g.numbers[n] = codec_encode_i64(keys[i + n]);
            g.data[n] = (const uint8_t *)&g.numbers[n];
            g.size[n] = sizeof g.numbers[n];
        }
        if (!find_or_insert_key_group(t, &g, n, out_slots + i)) return false;
        i += n;
    }
    return true;
}

bool hash_table_find_or_insert(struct hash_table *t, const struct glint_column *keys, uint32_t rows,
                               uint32_t *out_slots)
{
    if (keys->type == GLINT_I64) {
        if (t->direct == NULL) t->direct = mem_zalloc(HASH_TABLE_DIRECT_KEYS * sizeof *t->direct);
        if (t->direct == NULL) return false;
        if (t->direct_lookup != NULL && t->direct_lookup(keys->i64, rows, t->direct, out_slots))
            return true;
        if (find_all_small_keys(t, keys->i64, rows, out_slots)) {
            t->direct_lookup = NULL; /* it failed on known keys: some are too large for it */
            return true;
        }
        return find_or_insert_mixed_sizes(t, keys->i64, rows, out_slots);
    }
    struct key_group g;
    for (uint32_t first = 0; first < rows; first += GROUP_ROWS) {
        uint32_t n = rows - first < GROUP_ROWS ? rows - first : GROUP_ROWS;
        for (uint32_t i = 0; i < n; i++) {
            union glint_value v = glint_column_value(keys, first + i);
            struct glint_slice key = codec_encode(keys->type, &v, (uint8_t *)&g.numbers[i]);
            g.data[i] = key.data;
            g.size[i] = key.size;
        }
        if (!find_or_insert_key_group(t, &g, n, out_slots + first)) return false;
    }
    return true;
}

uint64_t hash_table_memory_bytes(const struct hash_table *t, uint32_t extra)
{
    uint64_t slots = (uint64_t)t->slots + extra;
    return bucket_count_for(t, slots) * sizeof *t->buckets + slots * sizeof *t->keys;
}

void *hash_table_reuse_buckets(struct hash_table *t, uint64_t *out_bytes)
{
    *out_bytes = t->bucket_count * sizeof *t->buckets;
    return t->buckets;
}

void hash_table_reset(struct hash_table *t)
{
    if (t->buckets != NULL) memset(t->buckets, 0, t->bucket_count * sizeof *t->buckets);
    if (t->direct != NULL) memset(t->direct, 0, HASH_TABLE_DIRECT_KEYS * sizeof *t->direct);
    t->slots = 0;
}

void hash_table_fini(struct hash_table *t)
{
    mem_free(t->keys);
    mem_free(t->buckets);
    mem_free(t->direct);
    *t = (struct hash_table){.keys = NULL};
}
