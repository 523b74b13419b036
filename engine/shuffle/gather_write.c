/* The way out of memory: slots and records are sorted, each by themselves, and written as one run.
 */
#include "engine/shuffle/gather_record.h"

#include <assert.h>

#define PREFETCH_SLOTS 8 /* ahead */

static struct glint_slice slot_key(const void *arg, uint64_t slot)
{
    const struct gather *g = arg;
    assert(slot < g->table.slots);
    return (struct glint_slice){g->table.keys[slot].data, g->table.keys[slot].size};
}

static struct glint_slice record_key(const void *arg, uint64_t reference)
{
    const struct gather *g = arg;
    struct gather_record head;
    const uint8_t *at = g->records.data + reference * 8;
    assert(reference * 8 < g->records.size);
    memcpy(&head, at, sizeof head);
    return (struct glint_slice){at + sizeof head, head.key_size};
}

static struct glint_slice record_value(const struct gather *g, uint64_t reference)
{
    struct gather_record head;
    const uint8_t *at = g->records.data + reference * 8;
    memcpy(&head, at, sizeof head);
    return (struct glint_slice){at + sizeof head + head.key_size, head.value_size};
}

static sort_key_fn *unless_whole(const struct gather *g, sort_key_fn *key_of)
{
    bool whole =
        g->spec->key == GLINT_I64 || g->spec->key == GLINT_F64 || g->spec->key == GLINT_NONE;
    return whole ? NULL : key_of;
}

static bool reserve_scratch(struct gather *g, uint64_t bytes)
{
    g->scratch.size = 0;
    return buffer_reserve(&g->scratch, bytes + 1);
}

/* Entries of all slots, sorted, in the buckets' memory if they fit there; NULL without memory. */
static struct sort_entry *sort_slots(struct gather *g)
{
    uint64_t room, count = g->table.slots, bytes = count * sizeof(struct sort_entry);
    struct sort_entry *entries = table_take_buckets(&g->table, &room);
    bool fits = entries != NULL && room >= bytes;
    if (!reserve_scratch(g, fits ? bytes : 2 * bytes)) return NULL;
    struct sort_entry *scratch = (struct sort_entry *)g->scratch.data;
    if (!fits) {
        entries = scratch;
        scratch += count;
    }
    for (uint64_t s = 0; s < count; s++) {
        struct glint_slice key = slot_key(g, s);
        uint32_t partition = shuffle_partition(g->spec, key, g->task->partition, 0);
        entries[s].prefix = sort_prefix(key, 0, g->spec->wide.descending);
        entries[s].place = sort_place(partition, s);
    }
    sort_entries(entries, scratch, count, g->spec->wide.descending, unless_whole(g, slot_key), g);
    return entries;
}

static bool sort_records(struct gather *g)
{
    uint64_t count = g->entries.size / sizeof(struct sort_entry);
    if (!reserve_scratch(g, g->entries.size)) return false;
    sort_entries((struct sort_entry *)g->entries.data, (struct sort_entry *)g->scratch.data, count,
                 g->spec->wide.descending, unless_whole(g, record_key), g);
    return true;
}

static int write_slot(struct gather *g, const struct sort_entry *e, bool complete,
                      struct run_writer *out)
{
    uint64_t slot = sort_reference(e);
    uint8_t number[CODEC_NUMBER_BYTES];
    union glint_value v = {.bytes = {NULL, 0}};
    if (g->numbers != NULL)
        v.i64 = g->numbers[slot];
    else if (g->accs != NULL)
        v = g->accs[slot].value;
    if (g->accs != NULL && v.bytes.size == GATHER_NOTHING) return 0;
    struct glint_slice value = codec_encode(g->spec->acc, &v, number);
    if (complete && g->spec->wide.combine == COMBINE_FOLD) {
        int r = combiner_add(&g->complete, value, false);
        if (r == 0) r = combiner_take(&g->complete, true, &value);
        if (r < 0) return r;
    }
    return run_writer_add(out, sort_partition(e), slot_key(g, slot), value);
}

/* Sorted slots lie anywhere in memory: what the next ones need is asked for in time. */
static void prefetch_slots(const struct gather *g, const struct sort_entry *at,
                           const struct sort_entry *end)
{
    if (end - at > 2 * PREFETCH_SLOTS)
        __builtin_prefetch(&g->table.keys[sort_reference(at + 2 * PREFETCH_SLOTS)]);
    if (end - at <= PREFETCH_SLOTS) return;
    uint64_t slot = sort_reference(at + PREFETCH_SLOTS);
    __builtin_prefetch(g->table.keys[slot].data);
    if (g->numbers != NULL) __builtin_prefetch(&g->numbers[slot]);
    if (g->accs != NULL) __builtin_prefetch(&g->accs[slot]);
}

static void prefetch_record(const struct gather *g, const struct sort_entry *at,
                            const struct sort_entry *end)
{
    if (end - at > PREFETCH_SLOTS)
        __builtin_prefetch(g->records.data + sort_reference(at + PREFETCH_SLOTS) * 8);
}

static int write_record(struct gather *g, const struct sort_entry *e, struct run_writer *out)
{
    uint64_t reference = sort_reference(e);
    return run_writer_add(out, sort_partition(e), record_key(g, reference),
                          record_value(g, reference));
}

int gather_sort(struct gather *g, struct gather_order *out)
{
    *out = (struct gather_order){.slot = sort_slots(g)};
    if (out->slot == NULL) return error_no_memory(&g->task->error);
    out->slots_end = out->slot + g->table.slots;
    /* Slots that did not fit into the buckets stand in the scratch memory, which records need too.
     */
    if ((const uint8_t *)out->slot == g->scratch.data) {
        out->memory = g->scratch;
        g->scratch = (struct buffer){NULL, 0, 0};
    }
    if (!sort_records(g)) return error_no_memory(&g->task->error);
    out->record = (const struct sort_entry *)g->entries.data;
    uint64_t records = g->entries.size / sizeof *out->record;
    out->records_end = records > 0 ? out->record + records : out->record;
    return 0;
}

void gather_order_fini(struct gather_order *order)
{
    buffer_fini(&order->memory);
}

static struct shuffle_place slot_place(const struct gather *g, const struct sort_entry *e)
{
    return (struct shuffle_place){sort_partition(e), slot_key(g, sort_reference(e))};
}

static struct shuffle_place record_place(const struct gather *g, const struct sort_entry *e)
{
    return (struct shuffle_place){sort_partition(e), record_key(g, sort_reference(e))};
}

/* True: the slot goes before the record. */
static bool slot_first(const struct gather *g, const struct sort_entry *slot,
                       const struct sort_entry *record)
{
    return shuffle_compare(g->spec, slot_place(g, slot), record_place(g, record)) < 0;
}

struct shuffle_place gather_first(const struct gather *g, const struct gather_order *o)
{
    assert(o->slot < o->slots_end || o->record < o->records_end);
    if (o->record == o->records_end) return slot_place(g, o->slot);
    if (o->slot == o->slots_end) return record_place(g, o->record);
    return slot_first(g, o->slot, o->record) ? slot_place(g, o->slot) : record_place(g, o->record);
}

struct shuffle_place gather_last(const struct gather *g, const struct gather_order *o)
{
    assert(o->slot < o->slots_end || o->record < o->records_end);
    if (o->record == o->records_end) return slot_place(g, o->slots_end - 1);
    if (o->slot == o->slots_end) return record_place(g, o->records_end - 1);
    return slot_first(g, o->slots_end - 1, o->records_end - 1) ? record_place(g, o->records_end - 1)
                                                               : slot_place(g, o->slots_end - 1);
}

int gather_write(struct gather *g, const struct gather_order *order, bool complete,
                 struct run_writer *out)
{
    const struct sort_entry *slot = order->slot, *record = order->record;
    int r = 0;
    while (r == 0 && (slot < order->slots_end || record < order->records_end)) {
        bool from_slots = record == order->records_end ||
                          (slot < order->slots_end && slot_first(g, slot, record));
        if (from_slots) {
            prefetch_slots(g, slot, order->slots_end);
            r = write_slot(g, slot++, complete, out);
        } else {
            prefetch_record(g, record, order->records_end);
            r = write_record(g, record++, out);
        }
    }
    gather_reset(g);
    return r;
}

void gather_reset(struct gather *g)
{
    if (g->accs != NULL)
        for (uint32_t s = 0; s < g->table.slots; s++) acc_drop(&g->accs[s]);
    table_reset(&g->table);
    pool_reset(&g->pool, UINT64_MAX);
    g->records.size = g->entries.size = 0;
}
