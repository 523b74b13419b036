/* A bounded number of records in byte form, which are replaced again and again: what a task keeps
 * that wants only the smallest ones, or a sample.
 *
 * All bytes lie in one block. A record is replaced in place where the new one fits; else it goes to
 * the end, and what is left behind is squeezed out once it outweighs the rest. */
#ifndef GLINT_OPS_RECORD_POOL_H
#define GLINT_OPS_RECORD_POOL_H

#include "engine/base/mem.h"
#include "engine/glint.h"

#include <assert.h>

struct record_pool_item {
    uint64_t at, room, key_size, value_size;
};

/* Zeros are empty. */
struct record_pool {
    struct record_pool_item *items; /* may be put in another order */
    uint64_t count, capacity;
    struct buffer bytes; /* READ_SLACK beyond its end */
    uint64_t used;       /* by the items */
};

/* Makes item `i` this record; i == count adds one. The slices must not lie in `k`. False without
 * memory; nothing changed then. */
bool record_pool_set(struct record_pool *k, uint64_t i, struct glint_slice key,
                     struct glint_slice value);
static inline struct glint_slice record_pool_key(const struct record_pool *k, uint64_t i)
{
    assert(i < k->count);
    return (struct glint_slice){k->bytes.data + k->items[i].at, k->items[i].key_size};
}
static inline struct glint_slice record_pool_value(const struct record_pool *k, uint64_t i)
{
    const struct record_pool_item *item = &k->items[i];
    assert(i < k->count && item->key_size + item->value_size <= item->room);
    return (struct glint_slice){k->bytes.data + item->at + item->key_size, item->value_size};
}
static inline void record_pool_swap(struct record_pool *k, uint64_t i, uint64_t j)
{
    struct record_pool_item item = k->items[i];
    k->items[i] = k->items[j];
    k->items[j] = item;
}
void record_pool_fini(struct record_pool *k);

#endif
