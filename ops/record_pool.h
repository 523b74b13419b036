/* A bounded number of encoded records that are often replaced: for a task that keeps only the
 * smallest records, or a sample.
 *
 * All bytes are in one block. A record is replaced in place if the new one fits; otherwise it is
 * appended, and the block is compacted once the unused bytes exceed the used ones. */
#ifndef GLINT_OPS_RECORD_POOL_H
#define GLINT_OPS_RECORD_POOL_H

#include "engine/base/mem.h"
#include "engine/glint.h"

#include <assert.h>

/* Offset in `bytes`, reserved size, and the used sizes of key and value, which are adjacent. */
struct record_pool_item {
    uint64_t at, room, key_size, value_size;
};

/* Zeros are empty. Free with record_pool_fini. */
struct record_pool {
    struct record_pool_item *items; /* may be reordered */
    uint64_t count, capacity;
    struct buffer bytes; /* readable READ_SLACK bytes past its end */
    uint64_t used;       /* bytes that the items use */
};

/* Sets item `i` to this record; i == count appends. The slices must not point into `k`. Returns
 * false when out of memory, with the records unchanged. */
bool record_pool_set(struct record_pool *k, uint64_t i, struct glint_slice key,
                     struct glint_slice value);
/* Return slices that are valid until the next record_pool_set. */
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

/* The first `limit` records by key, then value. Zeros but for the first members are empty; free
 * `records`. */
struct record_heap {
    struct glint_schema schema;
    uint64_t limit; /* at least 1 */
    bool descending;
    struct record_pool records;
};
/* Returns false when out of memory. */
bool record_heap_add(struct record_heap *h, const struct glint_record *r);
/* Turns the heap into the requested order. */
void record_heap_sort(struct record_heap *h);

#endif
