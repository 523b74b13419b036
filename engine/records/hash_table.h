/* A hash table from keys to dense slot numbers, for combining on the map side.
 *
 * A slot is a number 0, 1, 2, ... in order of first appearance; the caller stores the values in
 * plain arrays indexed by slot. Keys are stored in byte form (engine/records/codec.h). i64 keys
 * from 0 to 4,095 are looked up in an array. All others are found by open addressing in buckets of
 * (32 bits of hash, slot), a batch at a time so that cache misses overlap. The buckets are at most
 * half full: a slot then has two buckets of 8 bytes, exactly the memory of one sort entry, so a
 * spill can sort the slots in place. Task's thread. */
#ifndef GLINT_RECORDS_HASH_TABLE_H
#define GLINT_RECORDS_HASH_TABLE_H

#include "engine/base/mem.h"
#include "engine/batch.h"
#include "engine/glint.h"
#include "engine/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Memory for keys and growing accumulators (struct glint_acc) until the next spill.
 *
 * A pool allocates bytes from an arena without gaps; the latest allocation can grow in place. An
 * accumulator over ACC_LARGE_BYTES has its own heap block, so that growing or freeing it returns
 * memory to the system. The pool counts all its bytes, for the budget of the shuffle writer. */

#define ACC_LARGE_BYTES (64 * KIB)

/* Zeros are an empty pool. One thread. */
struct acc_pool {
    struct arena arena;
    uint8_t *at, *limit;  /* free bytes of the current chunk */
    uint64_t chunk_bytes; /* allocated from the arena */
    uint64_t large_bytes; /* in heap blocks */
    bool aligned;         /* to 8 bytes: GLINT_STRUCT */
    bool numbers;         /* accumulators are i64 or f64 (some have no pool): no bytes */
};
/* Returns `size` bytes, unaligned unless p->aligned, with READ_SLACK readable bytes after them, or
 * NULL when out of memory. Valid until acc_pool_reset. */
uint8_t *acc_pool_alloc(struct acc_pool *p, uint64_t size);
/* The bytes allocated, of arena and heap. */
static inline uint64_t acc_pool_bytes(const struct acc_pool *p)
{
    return p->chunk_bytes + p->large_bytes;
}
/* Frees all allocations at once; keeps up to `keep` bytes for the next ones. Large accumulators
 * must have been freed (acc_free_large). */
void acc_pool_reset(struct acc_pool *p, uint64_t keep);
void acc_pool_fini(struct acc_pool *p);

/* Returns an empty accumulator that will allocate from `pool`. */
static inline struct glint_acc acc_init(struct acc_pool *pool)
{
    return (struct glint_acc){.value.bytes = {NULL, 0}, .capacity = 0, .memory = pool};
}
/* Moves the contents of `bytes`, a buffer with a capacity over ACC_LARGE_BYTES, to the accumulator
 * without a copy. The buffer becomes empty and gets the accumulator's old large block, if it had
 * one. */
void acc_swap_buffer(struct glint_acc *acc, struct buffer *bytes);
/* Frees the heap block of a large accumulator. The value is empty afterwards, also of a small
 * one. */
void acc_free_large(struct glint_acc *acc);

/* Looks up the slots of keys below 32 for a whole batch: an array of 32 slots fits two vector
 * registers, so a lookup is a permutation of registers, not a load. */

#define DIRECT_LOOKUP_KEYS 32u

/* direct[key] is the key's slot + 1, or 0 if it has none. Returns true and fills out_slots if all
 * keys are below DIRECT_LOOKUP_KEYS and have a slot. On false the contents of out_slots are
 * undefined. Pure; any thread. */
typedef bool (*direct_lookup_fn)(const int64_t *keys, uint32_t rows, const uint32_t *direct,
                                 uint32_t *out_slots);

/* Returns the variant for this CPU, or NULL if it has no fast one: then load direct[key]. */
direct_lookup_fn direct_lookup_for_cpu(void);

#define HASH_TABLE_DIRECT_KEYS 4096

#define HASH_TABLE_SHORT_KEY 12 /* bytes up to which a key is in the array of keys itself */

/* Byte form. Of a short key the bytes follow `size`; READ_SLACK is readable beyond either. */
struct hash_table_key {
    uint32_t size, start;
    const uint8_t *data;
};

struct hash_table_bucket {
    uint32_t hash, slot; /* slot + 1; 0: empty */
};

/* A table of fewer slots fits into the cache. */
#define HASH_TABLE_SMALL_SLOTS ((uint64_t)1 << 13)

struct hash_table {
    uint32_t slots; /* keys so far */
    /* The caller's guess of how many there will be: a table that is no longer small grows to that
     * many at once, instead of copying and clearing its memory each time it doubles. */
    uint64_t expected;
    /* Private. */
    struct hash_table_key *keys; /* [slots] */
    uint64_t keys_capacity;
    struct hash_table_bucket *buckets;
    uint64_t bucket_count;          /* a power of two, or 0 */
    bool stale;                     /* the buckets must be cleared before they are used */
    unsigned shift;                 /* 32 - log2(bucket_count) */
    uint32_t *direct;               /* [HASH_TABLE_DIRECT_KEYS], slot + 1 */
    direct_lookup_fn direct_lookup; /* NULL: not on this CPU, or a key was too large for it */
    struct acc_pool *pool;          /* for the keys' bytes */
    uint64_t seed, multiplier;      /* random: input cannot be made to collide */
};

/* The slot's key, borrowed until the next insertion. */
static inline struct glint_slice hash_table_key(const struct hash_table *t, uint64_t slot)
{
    const struct hash_table_key *k = &t->keys[slot];
    const uint8_t *bytes = (const uint8_t *)k + sizeof k->size;
    return (struct glint_slice){k->size <= HASH_TABLE_SHORT_KEY ? bytes : k->data, k->size};
}
/* Returns for how many slots to reserve memory if `slots` are needed. */
static inline uint64_t hash_table_slots_to_reserve(const struct hash_table *t, uint64_t slots)
{
    return slots > HASH_TABLE_SMALL_SLOTS && slots < t->expected ? t->expected : slots;
}
/* Prefetches what hash_table_key reads, then the bytes of the key. */
static inline void hash_table_prefetch_key(const struct hash_table *t, uint64_t slot)
{
    __builtin_prefetch(&t->keys[slot]);
}
static inline void hash_table_prefetch_bytes(const struct hash_table *t, uint64_t slot)
{
    if (t->keys[slot].size > HASH_TABLE_SHORT_KEY) __builtin_prefetch(t->keys[slot].data);
}

/* Long keys will be copied into `pool`, borrowed, which the caller resets with the table. */
void hash_table_init(struct hash_table *t, struct acc_pool *pool, uint64_t seed);
/* Sets out_slots[i] to the slot of row i. Slots from the previous t->slots on are new; they are
 * numbered in order of their first rows. Returns false when out of memory; then only
 * hash_table_reset and hash_table_fini may follow. */
bool hash_table_find_or_insert(struct hash_table *t, const struct glint_column *keys, uint32_t rows,
                               uint32_t *out_slots);
/* Returns the bytes in use, without the pool, if `extra` more keys were added. */
uint64_t hash_table_memory_bytes(const struct hash_table *t, uint32_t extra);
/* Returns the buckets' memory for the caller to overwrite, and its size: 16 bytes or more per
 * hashed key, but none for keys in the array; NULL and 0 if no key was hashed. No lookups until
 * hash_table_reset. */
void *hash_table_reuse_buckets(struct hash_table *t, uint64_t *out_bytes);
/* Removes all keys and keeps the memory. The caller resets the pool. */
void hash_table_reset(struct hash_table *t);
void hash_table_fini(struct hash_table *t);

#endif
