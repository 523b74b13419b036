/* See hash_table.h. A group of keys is hashed, then looked up; if the table does not fit into the
 * cache, what a lookup reads is prefetched, so that the cache misses of different keys overlap. */
#include "engine/records/hash_table.h"

#include "engine/base/hash.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"

#include <assert.h>
#include <endian.h>
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

__attribute__((target("avx512f"))) static bool look_up_direct_avx512(const int64_t *keys,
                                                                     uint32_t rows,
                                                                     const uint32_t *direct,
                                                                     uint32_t *out_slots)
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
    if (__builtin_cpu_supports("avx512f")) return look_up_direct_avx512;
#endif
    return NULL;
}

/* ---- hash table */

#define GROUP_ROWS  256u
#define BUCKETS_MIN 256u

/* Keys to look up, in the form that they are stored in; the bytes of a long one are borrowed. */
struct key_group {
    struct hash_table_key key[GROUP_ROWS];
    uint32_t hash[GROUP_ROWS];
};

void hash_table_init(struct hash_table *t, struct acc_pool *pool, uint64_t seed)
{
    *t = (struct hash_table){.pool = pool,
                             .seed = seed,
                             .multiplier = hash_mix(seed) | 1,
                             .direct_lookup = direct_lookup_for_cpu()};
}

static_assert(sizeof(struct hash_table_key) == sizeof(uint32_t) + HASH_TABLE_SHORT_KEY,
              "a short key fills the struct");

/* Returns the key as it is stored if it is short: zeros follow its bytes, so that all of it can be
 * hashed and compared at once. Reads HASH_TABLE_SHORT_KEY bytes, unless it is empty. */
static inline struct hash_table_key make_table_key(const uint8_t *data, uint64_t size)
{
    static const uint8_t masks[2 * HASH_TABLE_SHORT_KEY] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                            0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    if (size > HASH_TABLE_SHORT_KEY) {
        assert(size <= UINT32_MAX);
        return (struct hash_table_key){.size = (uint32_t)size, .data = data};
    }
    const uint8_t *mask = masks + HASH_TABLE_SHORT_KEY - size;
    if (size == 0) data = masks; /* it may be NULL */
    uint64_t head, head_mask;
    uint32_t tail, tail_mask;
    memcpy(&head, data, sizeof head);
    memcpy(&head_mask, mask, sizeof head);
    memcpy(&tail, data + sizeof head, sizeof tail);
    memcpy(&tail_mask, mask + sizeof head, sizeof tail);
    head = le64toh(head & head_mask);
    /* Two words: what is stored in other pieces would have to be in memory before it is hashed. */
    const uint64_t words[2] = {htole64(head << 32),
                               htole64(head >> 32 | (uint64_t)le32toh(tail & tail_mask) << 32)};
    struct hash_table_key key;
    memcpy(&key, words, sizeof key);
    key.size = (uint32_t)size;
    return key;
}

static bool reserve_table_key(struct hash_table *t)
{
    return array_reserve(&t->keys, &t->keys_capacity,
                         hash_table_slots_to_reserve(t, t->slots + UINT64_C(1)), sizeof *t->keys);
}

/* Adds a key. Returns its slot, or UINT32_MAX when out of memory. */
static uint32_t insert_table_key(struct hash_table *t, const struct hash_table_key *key)
{
    if (!reserve_table_key(t)) return UINT32_MAX;
    struct hash_table_key *stored = &t->keys[t->slots];
    *stored = *key;
    if (key->size > HASH_TABLE_SHORT_KEY) {
        uint8_t *copy = acc_pool_alloc(t->pool, key->size);
        if (copy == NULL) return UINT32_MAX;
        bytes_copy(copy, key->data, key->size);
        stored->data = copy;
    }
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
    while (count < 2 * hash_table_slots_to_reserve(t, slots)) count *= 2;
    return count;
}

/* Grows the buckets if needed, so that they are at most half full after `extra` more keys. */
static bool reserve_table_buckets(struct hash_table *t, uint32_t extra)
{
    uint64_t count = bucket_count_for(t, (uint64_t)t->slots + extra);
    if (t->stale) memset(t->buckets, 0, t->bucket_count * sizeof *t->buckets);
    t->stale = false;
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

static inline bool slot_has_key_of_group(const struct hash_table *t, uint32_t slot,
                                         const struct hash_table_key *key)
{
    const struct hash_table_key *stored = &t->keys[slot];
    if (key->size <= HASH_TABLE_SHORT_KEY) return memcmp(stored, key, sizeof *key) == 0;
    return stored->size == key->size && bytes_equal(stored->data, key->data, key->size);
}

/* Returns UINT32_MAX when out of memory. reserve_table_buckets has ensured half of the buckets are
 * empty, so an empty one exists and the loop ends. */
static uint32_t find_or_insert_key(struct hash_table *t, const struct hash_table_key *key,
                                   uint32_t hash)
{
    const uint64_t mask = t->bucket_count - 1;
    for (uint64_t at = home_bucket(t, hash);; at = (at + 1) & mask) {
        struct hash_table_bucket *b = &t->buckets[at];
        if (b->slot == 0) {
            uint32_t slot = insert_table_key(t, key);
            if (slot != UINT32_MAX) *b = (struct hash_table_bucket){hash, slot + 1};
            return slot;
        }
        if (b->hash == hash && slot_has_key_of_group(t, b->slot - 1, key)) return b->slot - 1;
    }
}

/* Both factors depend on the table's seed, so that an input cannot force collisions. */
static inline uint32_t hash_short_key(const struct hash_table *t, const struct hash_table_key *key)
{
    uint64_t head, tail; /* the bytes 4 to 11; the size and the bytes 0 to 3 */
    memcpy(&tail, key, sizeof tail);
    memcpy(&head, (const uint8_t *)key + sizeof tail, sizeof head);
    const unsigned __int128 product =
        (unsigned __int128)(head ^ t->seed) * ((tail + t->seed) * t->multiplier | 1);
    return (uint32_t)((uint64_t)(product >> 64 ^ product) >> 32);
}

static inline uint32_t hash_table_key_hash(const struct hash_table *t,
                                           const struct hash_table_key *key)
{
    if (key->size <= HASH_TABLE_SHORT_KEY) return hash_short_key(t, key);
    return (uint32_t)(hash_seeded(key->data, key->size, t->seed) >> 32);
}

/* Sets a key of the group, and prefetches the bucket where its search begins. */
static inline void set_key_of_lookup_group(const struct hash_table *t, struct key_group *g,
                                           uint32_t i, const uint8_t *data, uint64_t size)
{
    g->key[i] = make_table_key(data, size);
    g->hash[i] = hash_table_key_hash(t, &g->key[i]);
    __builtin_prefetch(&t->buckets[home_bucket(t, g->hash[i])]);
}

/* Returns the bucket's slot + 1 that find_or_insert_key will find, guessed by the hash, or 0. */
static inline uint32_t guess_slot_by_hash(const struct hash_table *t, uint32_t hash)
{
    const uint64_t mask = t->bucket_count - 1;
    uint64_t at = home_bucket(t, hash);
    while (t->buckets[at].slot != 0 && t->buckets[at].hash != hash) at = (at + 1) & mask;
    return t->buckets[at].slot;
}

/* Three passes, each of which prefetches what the next one reads. */
static bool find_or_insert_with_prefetch(struct hash_table *t, const struct key_group *g,
                                         uint32_t rows, uint32_t *out_slots)
{
    uint32_t guess[GROUP_ROWS];
    for (uint32_t i = 0; i < rows; i++) {
        guess[i] = guess_slot_by_hash(t, g->hash[i]);
        if (guess[i] != 0) hash_table_prefetch_key(t, guess[i] - 1);
    }
    for (uint32_t i = 0; i < rows; i++)
        if (g->key[i].size > HASH_TABLE_SHORT_KEY && guess[i] != 0)
            hash_table_prefetch_bytes(t, guess[i] - 1);
    for (uint32_t i = 0; i < rows; i++) {
        /* The guess is wrong only if two keys have one hash. */
        out_slots[i] = guess[i] != 0 && slot_has_key_of_group(t, guess[i] - 1, &g->key[i])
                           ? guess[i] - 1
                           : find_or_insert_key(t, &g->key[i], g->hash[i]);
        if (out_slots[i] == UINT32_MAX) return false;
    }
    return true;
}

/* The buckets must be reserved for all keys of the group. */
static bool find_or_insert_key_group(struct hash_table *t, const struct key_group *g, uint32_t rows,
                                     uint32_t *out_slots)
{
    assert(rows <= GROUP_ROWS);
    if (t->bucket_count > 2 * HASH_TABLE_SMALL_SLOTS)
        return find_or_insert_with_prefetch(t, g, rows, out_slots);
    for (uint32_t i = 0; i < rows; i++) {
        out_slots[i] = find_or_insert_key(t, &g->key[i], g->hash[i]);
        if (out_slots[i] == UINT32_MAX) return false;
    }
    return true;
}

/* Returns the slot of a small number, or UINT32_MAX when out of memory. */
static uint32_t find_or_insert_small_key(struct hash_table *t, int64_t key)
{
    assert(key >= 0 && key < HASH_TABLE_DIRECT_KEYS);
    if (t->direct[key] == 0) {
        const uint64_t bits[2] = {codec_encode_i64(key)}; /* and slack to read */
        const struct hash_table_key number = make_table_key((const uint8_t *)bits, sizeof bits[0]);
        uint32_t slot = insert_table_key(t, &number);
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
        const uint32_t most = rows - i < GROUP_ROWS ? rows - i : GROUP_ROWS;
        uint32_t n = 0;
        if (!reserve_table_buckets(t, most)) return false;
        for (; n < most && (uint64_t)keys[i + n] >= HASH_TABLE_DIRECT_KEYS; n++) {
            const uint64_t bits[2] = {codec_encode_i64(keys[i + n])};
            set_key_of_lookup_group(t, &g, n, (const uint8_t *)bits, sizeof bits[0]);
        }
        if (!find_or_insert_key_group(t, &g, n, out_slots + i)) return false;
        i += n;
    }
    return true;
}

/* Sets the group's keys from row `first` of a column. */
static void load_lookup_group(const struct hash_table *t, struct key_group *g,
                              const struct glint_column *keys, uint32_t first, uint32_t rows)
{
    if (codec_type_is_bytes(keys->type) && keys->start != NULL) {
        for (uint32_t i = 0; i < rows; i++) {
            const uint32_t start = keys->start[first + i];
            set_key_of_lookup_group(t, g, i, keys->base + start, keys->end[first + i] - start);
        }
        return;
    }
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t number[2] = {0}; /* and slack to read */
        union glint_value v = glint_column_value(keys, first + i);
        struct glint_slice key = codec_encode(keys->type, &v, (uint8_t *)number);
        set_key_of_lookup_group(t, g, i, key.data, key.size);
    }
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
        if (!reserve_table_buckets(t, n)) return false;
        load_lookup_group(t, &g, keys, first, n);
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
    t->stale = t->buckets != NULL;
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
