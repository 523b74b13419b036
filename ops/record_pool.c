/* See record_pool.h. */
#include "ops/record_pool.h"

#include "engine/limits.h"

#include <assert.h>
#include <string.h>

#define WASTE_BYTES_MIN (64 * KIB) /* less is not worth compacting */

/* Copies the bytes in use into a new buffer of twice the size, so that compaction is rare. */
static bool record_pool_compact(struct record_pool *k, uint64_t extra)
{
    struct buffer fresh = {NULL, 0, 0};
    if (!buffer_reserve(&fresh, 2 * k->used + extra)) return false;
    for (uint64_t i = 0; i < k->count; i++) {
        struct record_pool_item *item = &k->items[i];
        uint64_t size = item->key_size + item->value_size;
        if (size > 0) memcpy(fresh.data + fresh.size, k->bytes.data + item->at, size);
        item->at = fresh.size;
        item->room = size;
        fresh.size += size;
    }
    assert(fresh.size <= k->used);
    k->used = fresh.size;
    buffer_fini(&k->bytes);
    k->bytes = fresh;
    return true;
}

/* Allocates memory even if `size` is 0: empty records also point into it. */
static bool record_pool_reserve(struct record_pool *k, uint64_t size)
{
    if (k->bytes.data != NULL && size <= k->bytes.capacity - k->bytes.size) return true;
    uint64_t waste = k->bytes.size - k->used;
    if (waste > WASTE_BYTES_MIN && waste > k->used) return record_pool_compact(k, size);
    return buffer_reserve(&k->bytes, size + 1);
}

bool record_pool_set(struct record_pool *k, uint64_t i, struct glint_slice key,
                     struct glint_slice value)
{
    assert(i <= k->count);
    uint64_t size = key.size + value.size;
    if (!array_reserve(&k->items, &k->capacity, i + 1, sizeof *k->items)) return false;
    if (i == k->count || size > k->items[i].room) {
        if (!record_pool_reserve(k, size)) return false;
        if (i == k->count) k->items[k->count++] = (struct record_pool_item){.at = 0};
        k->used += size - k->items[i].room;
        k->items[i].at = k->bytes.size;
        k->items[i].room = size;
        k->bytes.size += size;
    }
    struct record_pool_item *item = &k->items[i];
    item->key_size = key.size;
    item->value_size = value.size;
    uint8_t *to = k->bytes.data + item->at;
    if (key.size > 0) memcpy(to, key.data, key.size);
    if (value.size > 0) memcpy(to + key.size, value.data, value.size);
    return true;
}

void record_pool_fini(struct record_pool *k)
{
    mem_free(k->items);
    buffer_fini(&k->bytes);
    *k = (struct record_pool){.count = 0};
}
