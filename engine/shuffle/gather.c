/* Taking in rows: into the table, or as records. See gather.h; gather_write.c is the way out. */
#include "engine/shuffle/gather.h"

#include "engine/data/bytes.h"
#include "engine/data/codec.h"
#include "engine/shuffle/gather_record.h"

#include <assert.h>

static_assert(GATHER_NOTHING > VALUE_BYTES_MAX, "no value has the size that means none");

static bool has_numbers(const struct shuffle_spec *spec)
{
    return spec->acc == GLINT_I64 || spec->acc == GLINT_F64;
}

int gather_init(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec,
                void *state)
{
    *g = (struct gather){.task = task, .spec = spec, .repeats = repeats_best()};
    table_init(&g->table, &g->pool, task->table_seed);
    int r = fold_init(&g->fold, task, spec, state);
    return r < 0 ? r : combiner_init(&g->complete, task, spec, state);
}

/* Room for the values of all slots. */
static bool reserve_values(struct gather *g)
{
    uint32_t old = g->values_capacity, need = g->table.slots;
    if (need <= old || g->spec->acc == GLINT_NONE) return true;
    uint32_t capacity = old < 64 ? 64 : old;
    while (capacity < need) capacity = capacity > UINT32_MAX / 2 ? need : capacity * 2;
    uint64_t each = has_numbers(g->spec) ? sizeof *g->numbers : sizeof *g->accs;
    void *values = has_numbers(g->spec) ? (void *)g->numbers : (void *)g->accs;
    void *grown = mem_grow(values, old * each, capacity * each);
    if (grown == NULL) return false;
    if (has_numbers(g->spec))
        g->numbers = grown;
    else
        g->accs = grown;
    g->values_capacity = capacity;
    return true;
}

/* The short cut for one value and few slots, all known. False: not taken. */
static bool combine_repeats(struct gather *g, const int64_t *values, const uint32_t *slots,
                            uint32_t rows)
{
    const struct glint_function *fn = g->spec->fn;
    uint32_t count[REPEATS_SLOTS_MAX];
    if (fn->repeat_i64 == NULL || g->table.slots > REPEATS_SLOTS_MAX ||
        !g->repeats(slots, values, rows, g->table.slots, count))
        return false;
    for (uint32_t s = 0; s < g->table.slots; s++)
        if (count[s] > 0) g->numbers[s] = fn->repeat_i64(g->numbers[s], values[0], count[s]);
    return true;
}

/* Columns of i64: the first row of a new slot starts it, all other rows are merged in one call. */
static void combine_columns(struct gather *g, const int64_t *values, uint32_t *slots, uint32_t rows,
                            uint32_t known)
{
    const struct glint_function *fn = g->spec->fn;
    if (known == g->table.slots) {
        if (combine_repeats(g, values, slots, rows)) return;
        fn->merge_i64(g->numbers, slots, values, rows);
        return;
    }
    int64_t rest[BATCH_ROWS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        if (slots[i] == known) {
            g->numbers[known++] = values[i];
        } else {
            slots[count] = slots[i];
            rest[count++] = values[i];
        }
    }
    assert(known == g->table.slots && count <= rows);
    if (count > 0) fn->merge_i64(g->numbers, slots, rest, count);
}

static int combine_number(struct gather *g, uint32_t slot, bool fresh,
                          const union glint_value *value)
{
    struct glint_acc acc = {.value.i64 = fresh ? 0 : g->numbers[slot]};
    int r =
        fresh ? fold_start(&g->fold, &acc, value, true) : fold_merge(&g->fold, &acc, value, true);
    g->numbers[slot] = acc.value.i64;
    return r;
}

static int combine_bytes(struct gather *g, uint32_t slot, bool fresh,
                         const union glint_value *value)
{
    struct glint_acc *acc = &g->accs[slot];
    bool start = fresh || acc->value.bytes.size == GATHER_NOTHING;
    int r = start ? fold_start(&g->fold, acc, value, true) : fold_merge(&g->fold, acc, value, true);
    if (r < 0 || g->fold.piece_bytes == 0 || acc->value.bytes.size < g->fold.piece_bytes) return r;
    const struct table_key *key = &g->table.keys[slot];
    r = gather_add_record(g, (struct glint_slice){key->data, key->size}, acc->value.bytes);
    acc->value.bytes.size = GATHER_NOTHING;
    return r;
}

static int combine_rows(struct gather *g, const struct glint_batch *batch, const uint32_t *slots,
                        uint32_t known)
{
    bool numbers = has_numbers(g->spec);
    int r = 0;
    for (uint32_t i = 0; i < batch->rows && r == 0; i++) {
        bool fresh = slots[i] == known;
        known += fresh;
        union glint_value value = glint_column_value(&batch->value, i);
        r = numbers ? combine_number(g, slots[i], fresh, &value)
                    : combine_bytes(g, slots[i], fresh, &value);
    }
    assert(r < 0 || known == g->table.slots);
    return r;
}

int gather_combine(struct gather *g, const struct glint_batch *batch)
{
    assert(batch->rows <= BATCH_ROWS_MAX && g->spec->wide.combine != COMBINE_NONE);
    uint32_t slots[BATCH_ROWS_MAX], known = g->table.slots;
    g->index += batch->rows;
    bool found = table_find(&g->table, &batch->key, batch->rows, slots);
    /* Also after a failure every slot must have a value, for the end to free. */
    if (!reserve_values(g)) {
        g->table.slots = known;
        return error_no_memory(&g->task->error);
    }
    if (g->accs != NULL)
        for (uint32_t s = known; s < g->table.slots; s++) g->accs[s] = acc_make(&g->pool);
    if (!found) return error_no_memory(&g->task->error);
    if (g->spec->acc == GLINT_NONE) return 0;
    if (fold_has_columns(g->spec)) {
        combine_columns(g, batch->value.i64, slots, batch->rows, known);
        return 0;
    }
    return combine_rows(g, batch, slots, known);
}

int gather_add_record(struct gather *g, struct glint_slice key, struct glint_slice value)
{
    if (!run_fits(key, value)) return run_refuse(g->task, key, value);
    struct gather_record head = {(uint32_t)key.size, (uint32_t)value.size};
    uint64_t size = (sizeof head + key.size + value.size + 7) & ~(uint64_t)7;
    if (!buffer_reserve(&g->records, size) ||
        !buffer_reserve(&g->entries, sizeof(struct sort_entry)))
        return error_no_memory(&g->task->error);
    uint8_t *out = g->records.data + g->records.size;
    memcpy(out, &head, sizeof head);
    bytes_copy(out + sizeof head, key.data, key.size);
    bytes_copy(out + sizeof head + key.size, value.data, value.size);
    uint32_t partition = shuffle_partition(g->spec, key, g->task->partition, g->index);
    struct sort_entry *e = (struct sort_entry *)(g->entries.data + g->entries.size);
    *e = (struct sort_entry){sort_prefix(key, 0, g->spec->wide.descending),
                             sort_place(partition, g->records.size / 8)};
    g->records.size += size;
    g->entries.size += sizeof *e;
    return 0;
}

int gather_append(struct gather *g, const struct glint_batch *batch)
{
    assert(batch->rows <= BATCH_ROWS_MAX);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
        struct glint_record record = glint_batch_record(batch, i);
        struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
        struct glint_slice value = codec_encode(batch->value.type, &record.value, value_number);
        int r = gather_add_record(g, key, value);
        if (r < 0) return r;
        g->index++;
    }
    return 0;
}

uint64_t gather_bytes(const struct gather *g, uint32_t extra)
{
    uint64_t slots = (uint64_t)g->table.slots + extra;
    uint64_t each = g->spec->acc == GLINT_NONE ? 0
                    : has_numbers(g->spec)     ? sizeof *g->numbers
                                               : sizeof *g->accs;
    uint64_t bytes = pool_bytes(&g->pool) + g->records.size + 2 * g->entries.size;
    if (slots == 0) return bytes;
    return bytes + table_bytes(&g->table, extra) + slots * (each + sizeof(struct sort_entry));
}

void gather_fini(struct gather *g)
{
    if (g->task == NULL) return;
    gather_reset(g);
    pool_fini(&g->pool);
    table_fini(&g->table);
    mem_free(g->numbers);
    mem_free(g->accs);
    buffer_fini(&g->records);
    buffer_fini(&g->entries);
    buffer_fini(&g->scratch);
    combiner_fini(&g->complete);
    *g = (struct gather){.task = NULL};
}
