/* Keys to dense slot numbers: what combining before a shuffle is built on.
 *
 * A slot is a number 0, 1, 2, ... in order of first appearance; what belongs to a key lies in plain
 * arrays of the caller, by slot. Keys are kept in byte form (engine/data/codec.h). Small i64 keys,
 * 0 to 4,095, are looked up in an array; all others by open addressing over (32 bits of hash,
 * slot), at most half full, a batch at a time so that cache misses overlap. Half full, because the
 * buckets' memory is then just enough for an array to sort the slots in, when the table is written
 * out. */
#ifndef GLINT_DATA_TABLE_H
#define GLINT_DATA_TABLE_H

#include "engine/base/mem.h"
#include "engine/data/acc.h"
#include "engine/data/small_keys.h"
#include "engine/glint.h"
#include "engine/limits.h"

#define TABLE_DIRECT_KEYS 4096

struct table_key {
    const uint8_t *data; /* byte form, READ_SLACK beyond it */
    uint64_t size;
};

struct table_bucket {
    uint32_t hash, slot; /* slot + 1; 0: empty */
};

struct table {
    struct table_key *keys; /* [slots] */
    uint32_t slots;
    /* The rest is the table's own. */
    uint32_t keys_capacity;
    struct table_bucket *buckets;
    uint64_t bucket_count; /* a power of two, or 0 */
    unsigned shift;        /* 32 - log2(bucket_count) */
    uint32_t *direct;      /* [TABLE_DIRECT_KEYS], slot + 1 */
    small_keys_find small; /* NULL: not here, or a key was too large for it */
    struct pool *pool;     /* keys' bytes */
    uint64_t seed;
};

/* Keys are copied into `pool`, which the caller resets together with the table. */
void table_init(struct table *t, struct pool *pool, uint64_t seed);
/* out_slots[i] is the slot of keys[i]. Slots from the table's old count on are new, and the first
 * row of each new slot comes before the others of that slot. False without memory; the table is
 * then of no use but for table_fini. */
bool table_find(struct table *t, const struct glint_column *keys, uint32_t rows,
                uint32_t *out_slots);
/* Bytes in use, the pool not counted, once `extra` more keys have come. */
uint64_t table_bytes(const struct table *t, uint32_t extra);
/* The buckets' memory, to sort in: at least 16 bytes for each slot. Lookups are over until
 * table_reset. May be NULL when no key was hashed: see out_bytes. */
void *table_take_buckets(struct table *t, uint64_t *out_bytes);
/* Forgets all keys, keeps the memory. The pool is reset by the caller. */
void table_reset(struct table *t);
void table_fini(struct table *t);

#endif
