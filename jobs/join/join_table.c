/* See join_table.h. Open addressing, at most half full. The hash has no random seed: all tables of
 * a job must use the same hash, and the size limit of a broadcast side bounds the cost of
 * collisions. */
#include "jobs/join/join_table.h"

#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct head {
    uint64_t rows, slots, bytes;
    uint64_t unused[5];
};
static_assert(sizeof(struct head) == 64, "the data after the header is aligned");

static uint64_t slot_count_for(uint64_t rows)
{
    uint64_t slots = 2;
    while (slots < 2 * rows) slots *= 2;
    return slots;
}

static uint64_t join_table_block_bytes(uint64_t rows, uint64_t bytes)
{
    return sizeof(struct head) + rows * sizeof(struct join_table_row) +
           slot_count_for(rows) * sizeof(uint64_t) + bytes;
}

uint32_t join_table_hash(struct glint_slice key)
{
    return (uint32_t)XXH3_64bits(key.data, key.size);
}

/* ---- Driver */

/* Moves `old` bytes of `data` to a block of `size` bytes and updates *data. Returns false with the
 * error set. */
static bool grow_block(struct glint *g, void **data, uint64_t old, uint64_t size)
{
    void *block = glint_alloc(g, size);
    assert(size > old);
    if (block == NULL) return false;
    if (old > 0) memcpy(block, *data, old);
    glint_free(*data);
    *data = block;
    return true;
}

/* Reserves one more row with `bytes` bytes. */
static bool reserve_row(struct join_table_rows *t, uint64_t bytes)
{
    if (t->count == t->row_capacity) {
        void *rows = t->rows;
        const uint64_t capacity = 2 * t->row_capacity + 1024;
        if (!grow_block(t->g, &rows, t->count * sizeof *t->rows, capacity * sizeof *t->rows))
            return false;
        t->rows = rows;
        t->row_capacity = capacity;
    }
    if (t->size + bytes > t->capacity) {
        void *data = t->bytes;
        const uint64_t capacity = 2 * (t->size + bytes) + 4096;
        if (!grow_block(t->g, &data, t->size, capacity)) return false;
        t->bytes = data;
        t->capacity = capacity;
    }
    return true;
}

int join_table_add(struct join_table_rows *t, struct glint_slice key, struct glint_slice line)
{
    assert(key.size <= UINT32_MAX && line.size <= UINT32_MAX);
    if (join_table_block_bytes(t->count + 1, t->size + key.size + line.size) > t->limit ||
        t->count >= UINT32_MAX / 4)
        return JOIN_TABLE_FULL;
    if (!reserve_row(t, key.size + line.size)) return glint_error(t->g)->code;
    t->rows[t->count++] = (struct join_table_row){.at = t->size,
                                                  .key_size = (uint32_t)key.size,
                                                  .line_size = (uint32_t)line.size,
                                                  .hash = join_table_hash(key)};
    if (key.size > 0) memcpy(t->bytes + t->size, key.data, key.size);
    if (line.size > 0) memcpy(t->bytes + t->size + key.size, line.data, line.size);
    t->size += key.size + line.size;
    return 0;
}

static uint64_t pack_hash_and_row(uint32_t hash, uint32_t row)
{
    return (uint64_t)hash << 32 | (row + 1);
}

static uint32_t unpack_row_of_slot(uint64_t slot)
{
    assert((uint32_t)slot > 0);
    return (uint32_t)slot - 1;
}

static bool slot_has_key(const struct join_table *t, uint64_t slot, struct glint_slice key,
                         uint32_t hash)
{
    if (slot >> 32 != hash) return false;
    const struct join_table_row *r = &t->rows[unpack_row_of_slot(slot)];
    return r->key_size == key.size && memcmp(t->bytes + r->at, key.data, key.size) == 0;
}

/* Links the last row first, so that a chain begins with the first row. */
static void link_rows_by_hash(const struct join_table *t, struct join_table_row *rows,
                              uint64_t *slots)
{
    for (uint32_t i = t->count; i-- > 0;) {
        const struct glint_slice key = {t->bytes + rows[i].at, rows[i].key_size};
        uint32_t slot = rows[i].hash & t->mask;
        while (slots[slot] != 0 && !slot_has_key(t, slots[slot], key, rows[i].hash))
            slot = (slot + 1) & t->mask;
        rows[i].next = (uint32_t)slots[slot];
        slots[slot] = pack_hash_and_row(rows[i].hash, i);
    }
}

struct glint_broadcast *join_table_broadcast(struct join_table_rows *t)
{
    const struct head head = {
        .rows = t->count, .slots = slot_count_for(t->count), .bytes = t->size};
    const uint64_t size = join_table_block_bytes(head.rows, head.bytes);
    uint8_t *block = glint_alloc(t->g, size);
    if (block == NULL) return NULL;
    struct join_table_row *rows = (void *)(block + sizeof head);
    uint64_t *slots = (void *)(rows + head.rows);
    uint8_t *bytes = (uint8_t *)(slots + head.slots);
    memcpy(block, &head, sizeof head);
    if (t->count > 0) memcpy(rows, t->rows, t->count * sizeof *rows);
    memset(slots, 0, head.slots * sizeof *slots);
    if (t->size > 0) memcpy(bytes, t->bytes, t->size);
    const struct join_table table = {rows, slots, bytes, (uint32_t)head.rows,
                                     (uint32_t)(head.slots - 1)};
    assert(bytes + head.bytes == block + size);
    link_rows_by_hash(&table, rows, slots);
    return glint_broadcast(t->g, block, size);
}

void join_table_fini(struct join_table_rows *t)
{
    glint_free(t->rows);
    glint_free(t->bytes);
}

/* ---- Task */

int join_table_open(struct glint_task *task, struct glint_slice block, struct join_table *out)
{
    struct head head;
    assert((uintptr_t)block.data % sizeof(uint64_t) == 0);
    if (block.size < sizeof head)
        return glint_fail(task, GLINT_E_PROTOCOL, NULL, "a broadcast join table is truncated");
    memcpy(&head, block.data, sizeof head);
    if (head.rows > UINT32_MAX / 4 || head.slots != slot_count_for(head.rows) ||
        head.bytes > block.size || join_table_block_bytes(head.rows, head.bytes) != block.size)
        return glint_fail(task, GLINT_E_PROTOCOL, NULL, "a broadcast join table is damaged");
    out->rows = (const void *)(block.data + sizeof head);
    out->slots = (const void *)(out->rows + head.rows);
    out->bytes = (const uint8_t *)(out->slots + head.slots);
    out->count = (uint32_t)head.rows;
    out->mask = (uint32_t)(head.slots - 1);
    return 0;
}

uint32_t join_table_find(const struct join_table *t, struct glint_slice key, uint32_t hash)
{
    for (uint32_t slot = hash & t->mask; t->slots[slot] != 0; slot = (slot + 1) & t->mask)
        if (slot_has_key(t, t->slots[slot], key, hash)) return (uint32_t)t->slots[slot];
    return 0;
}
