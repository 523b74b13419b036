/* Adding rows to the combine buffer, combined or as records; see combine_buffer.h.
 * combine_buffer_write.c sorts and writes it. */
#include "engine/shuffle/combine_buffer.h"

#include "engine/batch.h"
#include "engine/data/bytes.h"
#include "engine/data/codec.h"

#include <assert.h>

#define ACCUMULATORS_AHEAD 16u /* rows */

static_assert(COMBINE_BUFFER_NO_VALUE > VALUE_BYTES_MAX,
              "COMBINE_BUFFER_NO_VALUE is not the size of a value");

/* Copies one record (byte form) with its partition. Returns 0, NO_MEMORY or VALUE_LIMIT. */
static int add_to_buffer(struct combine_buffer *g, struct glint_slice key, struct glint_slice value)
{
    const uint32_t partition = shuffle_partition_of(g->spec, key, g->task->partition, g->index);
    return record_buffer_add(&g->records, g->task, partition, key, value);
}

static bool has_numbers(const struct shuffle_spec *spec)
{
    return spec->acc == GLINT_I64 || spec->acc == GLINT_F64;
}

int combine_buffer_init(struct combine_buffer *g, struct glint_task *task,
                        const struct shuffle_spec *spec, void *state)
{
    *g = (struct combine_buffer){
        .task = task,
        .spec = spec,
        .slot_histogram = slot_histogram_for_cpu(),
        .records = {.descending = spec->dependency.descending, .key = spec->key}};
    hash_table_init(&g->table, &g->pool, task->table_seed);
    int r = aggregator_init(&g->aggregator, task, spec, state);
    g->pool.aligned = g->aggregator.acc_struct != 0;
    g->pool.numbers = !codec_type_is_bytes(g->aggregator.spec->acc);
    return r < 0 ? r : combiner_init(&g->complete, task, spec, state);
}

/* Grows the array of values to at least the table's slots. */
static bool reserve_values(struct combine_buffer *g)
{
    uint32_t slots = g->table.slots;
    if (g->spec->acc == GLINT_NONE) return true;
    /* Numbers are plain int64_t, so that fn->merge_i64 can use the array directly. */
    return has_numbers(g->spec)
               ? array_reserve(&g->numbers, &g->values_capacity, slots, sizeof *g->numbers)
               : array_reserve(&g->accs, &g->values_capacity, slots, sizeof *g->accs);
}

/* The fast path for a batch with one constant value and few slots, none of them new. Returns false
 * if it does not apply; then nothing has changed. */
static bool combine_constant_batch(struct combine_buffer *g, const int64_t *values,
                                   const uint32_t *slots, uint32_t rows)
{
    const struct glint_function *fn = g->spec->fn;
    uint32_t count[SLOT_HISTOGRAM_SLOTS_MAX];
    if (fn->repeat_i64 == NULL || g->table.slots > SLOT_HISTOGRAM_SLOTS_MAX ||
        !g->slot_histogram(slots, values, rows, g->table.slots, count))
        return false;
    for (uint32_t s = 0; s < g->table.slots; s++)
        if (count[s] > 0) g->numbers[s] = fn->repeat_i64(g->numbers[s], values[0], count[s]);
    return true;
}

/* Merges i64 columns with one call for all rows. A new slot's accumulator must not be merged with
 * an undefined value, so the first row of each new slot sets it and is left out of the call. New
 * slots are numbered in order of appearance: slots[i] == known is the first row of the next new
 * slot. */
static void combine_columns(struct combine_buffer *g, const int64_t *values, uint32_t *slots,
                            uint32_t rows, uint32_t known)
{
    const struct glint_function *fn = g->spec->fn;
    if (known == g->table.slots) {
        if (combine_constant_batch(g, values, slots, rows)) return;
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

/* `fresh`: the slot is new, `value` starts its accumulator. */
static int combine_number(struct combine_buffer *g, uint32_t slot, bool fresh,
                          const union glint_value *value)
{
    struct glint_acc acc = {.value.i64 = fresh ? 0 : g->numbers[slot]};
    int r = fresh ? aggregator_init_value(&g->aggregator, &acc, value, true)
                  : aggregator_merge_value(&g->aggregator, &acc, value, true);
    g->numbers[slot] = acc.value.i64;
    return r;
}

static int combine_bytes(struct combine_buffer *g, uint32_t slot, bool fresh,
                         const union glint_value *value)
{
    struct glint_acc *acc = &g->accs[slot];
    bool start = fresh || acc->value.bytes.size == COMBINE_BUFFER_NO_VALUE;
    int r = start ? aggregator_init_value(&g->aggregator, acc, value, true)
                  : aggregator_merge_value(&g->aggregator, acc, value, true);
    if (r < 0 || g->aggregator.chunk_bytes_max == 0 ||
        acc->value.bytes.size < g->aggregator.chunk_bytes_max)
        return r;
    /* The chunk is full: emit it as a record, and let the next value start a new accumulator. */
    r = add_to_buffer(g, hash_table_key(&g->table, slot), acc->value.bytes);
    acc->value.bytes.size = COMBINE_BUFFER_NO_VALUE;
    return r;
}

/* The accumulators of a large table are cache misses. */
static void prefetch_accumulator(const struct combine_buffer *g, uint32_t slot)
{
    if (g->numbers != NULL)
        __builtin_prefetch(&g->numbers[slot], 1);
    else
        __builtin_prefetch(&g->accs[slot], 1);
}

static int combine_rows(struct combine_buffer *g, const struct glint_batch *batch,
                        const uint32_t *slots, uint32_t known)
{
    bool numbers = has_numbers(g->spec);
    int r = 0;
    for (uint32_t i = 0; i < batch->rows && r == 0; i++) {
        bool fresh = slots[i] == known;
        known += fresh;
        if (i + ACCUMULATORS_AHEAD < batch->rows)
            prefetch_accumulator(g, slots[i + ACCUMULATORS_AHEAD]);
        union glint_value value = glint_column_value(&batch->value, i);
        r = numbers ? combine_number(g, slots[i], fresh, &value)
                    : combine_bytes(g, slots[i], fresh, &value);
    }
    assert(r < 0 || known == g->table.slots);
    return r;
}

int combine_buffer_combine_batch(struct combine_buffer *g, const struct glint_batch *batch)
{
    assert(batch->rows <= BATCH_ROWS_MAX && g->spec->dependency.combine != COMBINE_NONE);
    uint32_t slots[BATCH_ROWS_MAX], known = g->table.slots;
    g->index += batch->rows;
    bool found = hash_table_find_or_insert(&g->table, &batch->key, batch->rows, slots);
    /* Even if the table ran out of memory, every slot that it has added needs an initialized
     * accumulator: combine_buffer_reset frees the accumulators of all slots. */
    if (!reserve_values(g)) {
        g->table.slots = known; /* the new slots have no accumulators to free */
        return error_no_memory(&g->task->error);
    }
    if (g->accs != NULL)
        for (uint32_t s = known; s < g->table.slots; s++) g->accs[s] = acc_init(&g->pool);
    if (!found) return error_no_memory(&g->task->error);
    if (g->spec->acc == GLINT_NONE) return 0;
    if (aggregator_merges_columns(g->spec)) {
        combine_columns(g, batch->value.i64, slots, batch->rows, known);
        return 0;
    }
    return combine_rows(g, batch, slots, known);
}

int combine_buffer_append_batch(struct combine_buffer *g, const struct glint_batch *batch)
{
    assert(batch->rows <= BATCH_ROWS_MAX);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
        struct glint_record record = glint_batch_record(batch, i);
        struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
        struct glint_slice value = codec_encode(batch->value.type, &record.value, value_number);
        int r = add_to_buffer(g, key, value);
        if (r < 0) return r;
        g->index++;
    }
    return 0;
}

int combine_buffer_add_record(void *buffer, uint32_t partition, struct glint_slice key,
                              struct glint_slice value)
{
    struct combine_buffer *g = buffer;
    return record_buffer_add(&g->records, g->task, partition, key, value);
}

uint64_t combine_buffer_memory_bytes(const struct combine_buffer *g, uint32_t extra)
{
    uint64_t slots = (uint64_t)g->table.slots + extra;
    uint64_t each = g->spec->acc == GLINT_NONE ? 0
                    : has_numbers(g->spec)     ? sizeof *g->numbers
                                               : sizeof *g->accs;
    uint64_t bytes = acc_pool_bytes(&g->pool) + record_buffer_memory_bytes(&g->records);
    if (slots == 0) return bytes;
    return bytes + hash_table_memory_bytes(&g->table, extra) +
           slots * (each + sizeof(struct sort_entry));
}

/* Without those that a slot has in the table and in `numbers`. */
static uint64_t content_bytes(const struct combine_buffer *g)
{
    return acc_pool_bytes(&g->pool) + g->records.records.size;
}

uint64_t combine_buffer_run_bytes(const struct combine_buffer *g)
{
    const uint64_t slot_bytes = HASH_TABLE_SHORT_KEY + sizeof *g->numbers + 4;
    const uint64_t bytes = content_bytes(g) + g->table.slots * slot_bytes;
    return bytes + (bytes / RUN_BLOCK_BYTES + g->spec->partitions) * RUN_BLOCK_HEADER_BYTES;
}

bool combine_buffer_has_large_records(const struct combine_buffer *g)
{
    const uint64_t records = g->table.slots + record_buffer_count(&g->records);
    return content_bytes(g) / MERGE_RECORD_BYTES >= records;
}

void combine_buffer_fini(struct combine_buffer *g)
{
    if (g->task == NULL) return;
    combine_buffer_reset(g);
    acc_pool_fini(&g->pool);
    hash_table_fini(&g->table);
    mem_free(g->numbers);
    mem_free(g->accs);
    record_buffer_fini(&g->records);
    combiner_fini(&g->complete);
    *g = (struct combine_buffer){.task = NULL};
}
