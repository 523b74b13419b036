/* See record_pool.h. */
#include "ops/record_pool.h"

#include "engine/limits.h"
#include "engine/records/codec.h"

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

/* ---- The heap, whose root is the last of the records */

static int compare_to_heap_item(const struct record_heap *h, struct glint_slice key,
                                struct glint_slice value, uint64_t i)
{
    int c = codec_compare(key, record_pool_key(&h->records, i));
    if (c == 0) c = codec_compare(value, record_pool_value(&h->records, i));
    return h->descending ? -c : c;
}

static bool heap_item_comes_after(const struct record_heap *h, uint64_t i, uint64_t j)
{
    return compare_to_heap_item(h, record_pool_key(&h->records, i),
                                record_pool_value(&h->records, i), j) > 0;
}

static void record_heap_sift_up(struct record_heap *h, uint64_t i)
{
    for (uint64_t up; i > 0 && heap_item_comes_after(h, i, up = (i - 1) / 2); i = up)
        record_pool_swap(&h->records, i, up);
}

static void record_heap_sift_down(struct record_heap *h, uint64_t i, uint64_t count)
{
    for (uint64_t down; (down = 2 * i + 1) < count; i = down) {
        if (down + 1 < count && heap_item_comes_after(h, down + 1, down)) down++;
        if (!heap_item_comes_after(h, down, i)) return;
        record_pool_swap(&h->records, i, down);
    }
}

bool record_heap_add(struct record_heap *h, const struct glint_record *r)
{
    uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
    struct glint_slice key = codec_encode(h->schema.key, &r->key, key_number);
    struct glint_slice value = codec_encode(h->schema.value, &r->value, value_number);
    assert(h->limit > 0 && h->records.count <= h->limit);
    if (h->records.count < h->limit) {
        if (!record_pool_set(&h->records, h->records.count, key, value)) return false;
        record_heap_sift_up(h, h->records.count - 1);
        return true;
    }
    /* Not before the worst record that is kept. */
    if (compare_to_heap_item(h, key, value, 0) >= 0) return true;
    if (!record_pool_set(&h->records, 0, key, value)) return false;
    record_heap_sift_down(h, 0, h->records.count);
    return true;
}

void record_heap_sort(struct record_heap *h)
{
    assert(h->records.count <= h->limit);
    for (uint64_t left = h->records.count; left > 1;) {
        record_pool_swap(&h->records, 0, --left);
        record_heap_sift_down(h, 0, left);
    }
}
