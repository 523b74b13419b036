/* See shuffle_internal.h. An entry refers to its record by the offset, since `records` moves when
 * it grows. */
#include "engine/records/bytes.h"
#include "engine/shuffle/shuffle_internal.h"

/* Padding and the header, less the two bytes or more that the sizes take when encoded. */
#define RECORD_EXTRA_BYTES (sizeof(struct record_header) + 7 - 2)

uint64_t record_buffer_bytes_of(uint64_t records, uint64_t raw)
{
    return raw + records * (RECORD_EXTRA_BYTES + 2 * sizeof(struct sort_entry));
}

bool record_buffer_reserve(struct record_buffer *b, uint64_t records, uint64_t raw)
{
    return buffer_reserve(&b->records, raw + records * RECORD_EXTRA_BYTES) &&
           buffer_reserve(&b->entries, records * sizeof(struct sort_entry));
}

int record_buffer_add(struct record_buffer *b, struct glint_task *task, uint32_t partition,
                      struct glint_slice key, struct glint_slice value)
{
    if (!run_record_fits(key, value)) return run_set_record_too_large(task, key, value);
    const struct record_header head = {(uint32_t)key.size, (uint32_t)value.size};
    const uint64_t size = record_buffer_record_bytes(key.size, value.size);
    if (!buffer_reserve(&b->records, size) ||
        !buffer_reserve(&b->entries, sizeof(struct sort_entry)))
        return error_no_memory(&task->error);
    uint8_t *out = b->records.data + b->records.size;
    memcpy(out, &head, sizeof head);
    bytes_copy(out + sizeof head, key.data, key.size);
    bytes_copy(out + sizeof head + key.size, value.data, value.size);
    struct sort_entry *e = (struct sort_entry *)(void *)(b->entries.data + b->entries.size);
    *e = (struct sort_entry){sort_key_prefix(key, 0, b->descending),
                             sort_pack_reference(partition, b->records.size / 8)};
    b->records.size += size;
    b->entries.size += sizeof *e;
    return 0;
}

bool record_buffer_reserve_scratch(struct record_buffer *b, uint64_t bytes)
{
    b->scratch.size = 0;
    return buffer_reserve(&b->scratch, bytes + 1); /* not 0: NULL would be an error */
}

static struct glint_slice record_key(const void *arg, uint64_t reference)
{
    return record_buffer_get(arg, reference).key;
}

static void prefetch_key(const void *arg, uint64_t reference)
{
    const struct record_buffer *b = arg;
    __builtin_prefetch(b->records.data + reference * 8);
}

bool record_buffer_sort(struct record_buffer *b, bool by_key)
{
    struct sort_entry *e = (struct sort_entry *)(void *)b->entries.data;
    const uint64_t count = record_buffer_count(b);
    if (!record_buffer_reserve_scratch(b, b->entries.size)) return false;
    if (!by_key)
        for (uint64_t i = 0; i < count; i++) e[i].prefix = 0;
    const struct sort_keys keys = {record_key, prefetch_key, b};
    sort_entries(e, (struct sort_entry *)(void *)b->scratch.data, count, b->descending,
                 by_key && !sort_prefix_is_key(b->key) ? &keys : NULL);
    return true;
}

void record_buffer_clear(struct record_buffer *b)
{
    b->records.size = b->entries.size = 0;
}

void record_buffer_fini(struct record_buffer *b)
{
    buffer_fini(&b->records);
    buffer_fini(&b->entries);
    buffer_fini(&b->scratch);
}
