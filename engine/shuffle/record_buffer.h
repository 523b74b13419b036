/* Records in byte form that are not combined, in one block of memory, and their order.
 *
 * The map side collects records here before it writes them, the reduce side before it passes them
 * on. Task's thread. */
#ifndef GLINT_SHUFFLE_RECORD_BUFFER_H
#define GLINT_SHUFFLE_RECORD_BUFFER_H

#include "engine/base/mem.h"
#include "engine/records/run.h"
#include "engine/records/sort.h"

/* A record in `records`; its key and value follow. */
struct record_header {
    uint32_t key_size, value_size;
};

/* Zeros are empty, except that the caller sets `descending` and `key`. */
struct record_buffer {
    bool descending;
    enum glint_type key;
    struct buffer records; /* struct record_header, key, value; each aligned to 8 bytes */
    struct buffer entries; /* struct sort_entry, one per record; the reference is its offset / 8 */
    struct buffer scratch; /* for sorting */
};

/* One record, borrowed from the buffer until it changes. */
struct buffered_record {
    struct glint_slice key, value;
};

/* Returns the bytes that a record takes in `records`. */
static inline uint64_t record_buffer_record_bytes(uint64_t key_size, uint64_t value_size)
{
    return (sizeof(struct record_header) + key_size + value_size + 7) & ~(uint64_t)7;
}
/* Returns the bytes that `records` records take at most, whose keys, values and encoded sizes are
 * `raw` bytes, including those for sorting. */
uint64_t record_buffer_bytes_of(uint64_t records, uint64_t raw);
/* Reserves memory for that many records at once. Returns false when out of memory. */
bool record_buffer_reserve(struct record_buffer *b, uint64_t records, uint64_t raw);
/* Copies a record. Returns 0, NO_MEMORY or VALUE_LIMIT with the task's error set. */
int record_buffer_add(struct record_buffer *b, struct glint_task *task, uint32_t partition,
                      struct glint_slice key, struct glint_slice value);
/* Sorts the entries by partition, and with `by_key` by key within a partition. Equal ones keep
 * their order. Returns false when out of memory. */
bool record_buffer_sort(struct record_buffer *b, bool by_key);
/* Ensures that `scratch` has room for `bytes`. Returns false when out of memory. */
bool record_buffer_reserve_scratch(struct record_buffer *b, uint64_t bytes);
void record_buffer_clear(struct record_buffer *b);
/* Frees everything. Zeros are fine. */
void record_buffer_fini(struct record_buffer *b);

static inline uint64_t record_buffer_count(const struct record_buffer *b)
{
    return b->entries.size / sizeof(struct sort_entry);
}
static inline const struct sort_entry *record_buffer_entries(const struct record_buffer *b)
{
    return (const struct sort_entry *)(const void *)b->entries.data;
}
/* The bytes in use plus those that sorting will need. */
static inline uint64_t record_buffer_memory_bytes(const struct record_buffer *b)
{
    return b->records.size + 2 * b->entries.size;
}

static inline struct buffered_record record_buffer_get(const struct record_buffer *b,
                                                       uint64_t reference)
{
    struct record_header head;
    const uint8_t *at = b->records.data + reference * 8;
    assert(reference * 8 < b->records.size);
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    return (struct buffered_record){{at, head.key_size}, {at + head.key_size, head.value_size}};
}

#define RECORD_PREFETCH_ENTRIES 16

/* In sorted order the records are random accesses, mostly cache misses. */
static inline void record_buffer_prefetch(const struct record_buffer *b,
                                          const struct sort_entry *at, const struct sort_entry *end)
{
    if (end - at <= RECORD_PREFETCH_ENTRIES) return;
    const uint8_t *record =
        b->records.data + sort_entry_reference(at + RECORD_PREFETCH_ENTRIES) * 8;
    __builtin_prefetch(record);
    __builtin_prefetch(record + 64);
}

#endif
