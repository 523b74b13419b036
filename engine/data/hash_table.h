/* Keys to dense slot numbers: what combining before a shuffle is built on.
 *
 * A slot is a number 0, 1, 2, ... in order of first appearance; what belongs to a key lies in plain
 * arrays of the caller, by slot. Keys are kept in byte form (engine/data/codec.h). Small i64 keys,
 * 0 to 4,095, are looked up in an array; all others by open addressing over (32 bits of hash,
 * slot), at most half full, a batch at a time so that cache misses overlap. Half full, because the
 * buckets' memory is then just enough for an array to sort the slots in, when the table is written
 * out. */
#ifndef GLINT_DATA_HASH_TABLE_H
#define GLINT_DATA_HASH_TABLE_H

#include "engine/base/mem.h"
#include "engine/data/accumulator.h"
#include "engine/data/direct_lookup.h"
#include "engine/glint.h"
#include "engine/limits.h"

#define HASH_TABLE_DIRECT_KEYS 4096

struct hash_table_key {
    const uint8_t *data; /* byte form, READ_SLACK beyond it */
    uint64_t size;
};

struct hash_table_bucket {
    uint32_t hash, slot; /* slot + 1; 0: empty */
};

struct hash_table {
    struct hash_table_key *keys; /* [slots] */
    uint32_t slots;
    /* The rest is the table's own. */
    uint32_t keys_capacity;
    struct hash_table_bucket *buckets;
    uint64_t bucket_count;          /* a power of two, or 0 */
    unsigned shift;                 /* 32 - log2(bucket_count) */
    uint32_t *direct;               /* [HASH_TABLE_DIRECT_KEYS], slot + 1 */
    direct_lookup_fn direct_lookup; /* NULL: not here, or a key was too large for it */
    struct acc_pool *pool;          /* keys' bytes */
    uint64_t seed;
};

/* Keys are copied into `pool`, which the caller resets together with the table. */
void hash_table_init(struct hash_table *t, struct acc_pool *pool, uint64_t seed);
/* out_slots[i] is the slot of keys[i]. Slots from the table's old count on are new, and the first
 * row of each new slot comes before the others of that slot. False without memory; the table is
 * then of no use but for hash_table_fini. */
bool hash_table_find_or_insert(struct hash_table *t, const struct glint_column *keys, uint32_t rows,
                               uint32_t *out_slots);
/* Bytes in use, the pool not counted, once `extra` more keys have come. */
uint64_t hash_table_memory_bytes(const struct hash_table *t, uint32_t extra);
/* The buckets' memory, to sort in: at least 16 bytes for each slot. Lookups are over until
 * hash_table_reset. May be NULL when no key was hashed: see out_bytes. */
void *hash_table_reuse_buckets(struct hash_table *t, uint64_t *out_bytes);
/* Forgets all keys, keeps the memory. The pool is reset by the caller. */
void hash_table_reset(struct hash_table *t);
void hash_table_fini(struct hash_table *t);

#endif
