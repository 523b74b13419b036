/* Sorting and writing the combine buffer: slots and records are sorted separately, then merged into
 * one run. */
#include "engine/shuffle/combine_buffer.h"

#include <assert.h>

#define PREFETCH_SLOTS 8 /* distance, in entries */

static struct glint_slice slot_key(const void *arg, uint64_t slot)
{
    const struct combine_buffer *g = arg;
    assert(slot < g->table.slots);
    return hash_table_key(&g->table, slot);
}

static void prefetch_key(const void *arg, uint64_t slot)
{
    const struct combine_buffer *g = arg;
    hash_table_prefetch_key(&g->table, slot);
}

/* Returns the sorted entries of all slots, or NULL when out of memory. They overwrite the hash
 * buckets if these are large enough: a spill happens because memory is used up, so it should
 * allocate little. */
static struct sort_entry *sort_slots(struct combine_buffer *g, bool by_key)
{
    uint64_t room, count = g->table.slots, bytes = count * sizeof(struct sort_entry);
    struct sort_entry *entries = hash_table_reuse_buckets(&g->table, &room);
    bool fits = entries != NULL && room >= bytes;
    if (!record_buffer_reserve_scratch(&g->records, fits ? bytes : 2 * bytes)) return NULL;
    struct sort_entry *scratch = (struct sort_entry *)(void *)g->records.scratch.data;
    if (!fits) {
        entries = scratch;
        scratch += count;
    }
    for (uint64_t s = 0; s < count; s++) {
        struct glint_slice key = slot_key(g, s);
        uint32_t partition = shuffle_partition_of(g->spec, key, g->task->partition, 0);
        entries[s].prefix = by_key ? sort_key_prefix(key, 0, g->spec->dependency.descending) : 0;
        entries[s].packed_reference = sort_pack_reference(partition, s);
    }
    const struct sort_keys keys = {slot_key, prefetch_key, g};
    sort_entries(entries, scratch, count, g->spec->dependency.descending,
                 by_key && !sort_prefix_is_key(g->spec->key) ? &keys : NULL);
    return entries;
}

/* The value of a slot in byte form; `number` is its memory if it is a number. Returns false if all
 * chunks of the key were emitted as records. */
static bool slot_value(const struct combine_buffer *g, uint64_t slot, uint8_t *number,
                       struct glint_slice *out)
{
    union glint_value v = {.bytes = {NULL, 0}};
    if (g->numbers != NULL)
        v.i64 = g->numbers[slot];
    else if (g->accs != NULL)
        v = g->accs[slot].value;
    if (g->accs != NULL && v.bytes.size == COMBINE_BUFFER_NO_VALUE) return false;
    *out = codec_encode(g->spec->acc, &v, number);
    return true;
}

static int write_slot(struct combine_buffer *g, const struct sort_entry *e, bool complete,
                      struct run_writer *out)
{
    uint64_t slot = sort_entry_reference(e);
    uint8_t number[CODEC_NUMBER_BYTES];
    struct glint_slice value;
    if (!slot_value(g, slot, number, &value)) return 0;
    if (complete && g->spec->dependency.combine == COMBINE_FOLD) {
        int r = combiner_add_value(&g->complete, value, false);
        if (r == 0) r = combiner_finish_value(&g->complete, true, &value);
        if (r < 0) return r;
    }
    return run_writer_add(out, sort_entry_partition(e), slot_key(g, slot), value);
}

/* In sorted order the slots are random accesses, mostly cache misses. Prefetches the key's
 * descriptor two distances ahead, so that its bytes can be prefetched one distance ahead. */
static void prefetch_slots(const struct combine_buffer *g, const struct sort_entry *at,
                           const struct sort_entry *end)
{
    if (end - at > 2 * PREFETCH_SLOTS)
        hash_table_prefetch_key(&g->table, sort_entry_reference(at + 2 * PREFETCH_SLOTS));
    if (end - at <= PREFETCH_SLOTS) return;
    uint64_t slot = sort_entry_reference(at + PREFETCH_SLOTS);
    hash_table_prefetch_bytes(&g->table, slot);
    if (g->numbers != NULL) __builtin_prefetch(&g->numbers[slot]);
    if (g->accs != NULL) __builtin_prefetch(&g->accs[slot]);
}

struct buffered_record combine_buffer_get(const struct combine_buffer *g,
                                          const struct sort_entry *slot,
                                          const struct sort_entry *end, uint8_t *number)
{
    const uint64_t s = sort_entry_reference(slot);
    struct buffered_record out = {.key = slot_key(g, s)};
    prefetch_slots(g, slot, end);
    const bool has_value = slot_value(g, s, number, &out.value);
    assert(has_value);
    (void)has_value;
    return out;
}

static int write_combined_record(struct combine_buffer *g, const struct sort_entry *e,
                                 struct run_writer *out)
{
    const struct buffered_record r = record_buffer_get(&g->records, sort_entry_reference(e));
    return run_writer_add(out, sort_entry_partition(e), r.key, r.value);
}

int combine_buffer_sort(struct combine_buffer *g, bool by_key, struct combine_buffer_order *out)
{
    *out = (struct combine_buffer_order){.by_key = by_key, .slot = sort_slots(g, by_key)};
    if (out->slot == NULL) return error_no_memory(&g->task->error);
    out->slots_end = out->slot + g->table.slots;
    /* If the slots' entries are in the scratch buffer, `out` takes it over: record_buffer_sort
     * needs one too. */
    if ((const uint8_t *)out->slot == g->records.scratch.data) {
        out->memory = g->records.scratch;
        g->records.scratch = (struct buffer){NULL, 0, 0};
    }
    if (!record_buffer_sort(&g->records, by_key)) return error_no_memory(&g->task->error);
    out->record = record_buffer_entries(&g->records);
    uint64_t records = record_buffer_count(&g->records);
    out->records_end = records > 0 ? out->record + records : out->record;
    return g->task->error.code; /* of a partitioner that failed */
}

void combine_buffer_order_fini(struct combine_buffer_order *order)
{
    buffer_fini(&order->memory);
}

static struct shuffle_position slot_position(const struct combine_buffer *g,
                                             const struct sort_entry *e)
{
    return (struct shuffle_position){sort_entry_partition(e), slot_key(g, sort_entry_reference(e))};
}

static struct shuffle_position record_position(const struct combine_buffer *g,
                                               const struct sort_entry *e)
{
    return (struct shuffle_position){sort_entry_partition(e),
                                     record_buffer_get(&g->records, sort_entry_reference(e)).key};
}

/* Of equal ones the record goes first: it is an earlier chunk of the slot's value. */
static bool slot_comes_first(const struct combine_buffer *g, const struct sort_entry *slot,
                             const struct sort_entry *record)
{
    return shuffle_compare_positions(g->spec, slot_position(g, slot), record_position(g, record)) <
           0;
}

struct shuffle_position combine_buffer_first_position(const struct combine_buffer *g,
                                                      const struct combine_buffer_order *o)
{
    assert(o->slot < o->slots_end || o->record < o->records_end);
    if (o->record == o->records_end) return slot_position(g, o->slot);
    if (o->slot == o->slots_end) return record_position(g, o->record);
    return slot_comes_first(g, o->slot, o->record) ? slot_position(g, o->slot)
                                                   : record_position(g, o->record);
}

struct shuffle_position combine_buffer_last_position(const struct combine_buffer *g,
                                                     const struct combine_buffer_order *o)
{
    assert(o->slot < o->slots_end || o->record < o->records_end);
    if (o->record == o->records_end) return slot_position(g, o->slots_end - 1);
    if (o->slot == o->slots_end) return record_position(g, o->records_end - 1);
    return slot_comes_first(g, o->slots_end - 1, o->records_end - 1)
               ? record_position(g, o->records_end - 1)
               : slot_position(g, o->slots_end - 1);
}

int combine_buffer_write(struct combine_buffer *g, const struct combine_buffer_order *order,
                         bool complete, struct run_writer *out)
{
    const struct sort_entry *slot = order->slot, *record = order->record;
    int r = 0;
    while (r == 0 && (slot < order->slots_end || record < order->records_end)) {
        bool from_slots =
            record == order->records_end ||
            (slot < order->slots_end &&
             (order->by_key ? slot_comes_first(g, slot, record)
                            : sort_entry_partition(slot) < sort_entry_partition(record)));
        if (from_slots) {
            prefetch_slots(g, slot, order->slots_end);
            r = write_slot(g, slot++, complete, out);
        } else {
            record_buffer_prefetch(&g->records, record, order->records_end);
            r = write_combined_record(g, record++, out);
        }
    }
    combine_buffer_reset(g);
    return r;
}

/* Removes all keys and values from the table; keeps the memory for the next ones. */
static void reset_table(struct combine_buffer *g)
{
    if (g->accs != NULL)
        for (uint32_t s = 0; s < g->table.slots; s++) acc_free_large(&g->accs[s]);
    hash_table_reset(&g->table);
    acc_pool_reset(&g->pool, UINT64_MAX);
}

void combine_buffer_reset(struct combine_buffer *g)
{
    reset_table(g);
    record_buffer_clear(&g->records);
}

int combine_buffer_move(struct combine_buffer *g, combine_buffer_add_fn *add, void *arg)
{
    int r = 0;
    for (uint32_t s = 0; s < g->table.slots && r == 0; s++) {
        const struct glint_slice key = slot_key(g, s);
        uint8_t number[CODEC_NUMBER_BYTES];
        struct glint_slice value;
        if (!slot_value(g, s, number, &value)) continue;
        r = add(arg, shuffle_partition_of(g->spec, key, g->task->partition, 0), key, value);
    }
    reset_table(g);
    return r;
}
