/* Adding rows to the combine buffer, combined or as records; see shuffle_internal.h.
 * combine_buffer.c sorts and writes it. */
#include "engine/batch.h"
#include "engine/limits.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"
#include "engine/shuffle/shuffle_internal.h"

#include <assert.h>
#include <stddef.h>

/* ---- The buffer of records. An entry refers to its record by the offset, since `records` moves
 * when it grows. */

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
    if (!run_record_fits(key, value)) return run_set_record_too_large_error(task, key, value);
    const struct record_header head = {(uint32_t)key.size, (uint32_t)value.size};
    const uint64_t size = record_buffer_record_bytes(key.size, value.size);
    if (!buffer_reserve(&b->records, size) ||
        !buffer_reserve(&b->entries, sizeof(struct sort_entry)))
        return error_no_memory(&task->error);
    if (b->entries.size == 0) {
        b->key_size = key.size;
        b->key_sizes_differ = 0;
    }
    b->key_sizes_differ |= key.size ^ b->key_size;
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

/* Ensures that `scratch` has room for `bytes`. Returns false when out of memory. */
static bool record_buffer_reserve_scratch(struct record_buffer *b, uint64_t bytes)
{
    b->scratch.size = 0;
    return buffer_reserve(&b->scratch, bytes + 1); /* not 0: NULL would be an error */
}

static struct glint_slice key_of_sorted_record(const void *arg, uint64_t reference)
{
    return record_buffer_get(arg, reference).key;
}

static void prefetch_key(const void *arg, uint64_t reference)
{
    const struct record_buffer *b = arg;
    __builtin_prefetch(b->records.data + reference * 8);
}

/* Then sorting reads no keys. */
static bool prefixes_are_keys(const struct record_buffer *b)
{
    return b->key_sizes_differ == 0 && b->key_size <= sizeof(uint64_t);
}

bool record_buffer_sort(struct record_buffer *b, bool by_key)
{
    struct sort_entry *e = (struct sort_entry *)(void *)b->entries.data;
    const uint64_t count = record_buffer_count(b);
    if (!record_buffer_reserve_scratch(b, b->entries.size)) return false;
    if (!by_key)
        for (uint64_t i = 0; i < count; i++) e[i].prefix = 0;
    const struct sort_keys keys = {key_of_sorted_record, prefetch_key, b};
    sort_entries(e, (struct sort_entry *)(void *)b->scratch.data, count, b->descending,
                 by_key && !prefixes_are_keys(b) ? &keys : NULL);
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

/* ---- One source for the portable and the AVX2 level: plain loops, which the compiler vectorizes
 * for the level's register width. AVX-512 is written with intrinsics. */

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline __attribute__((always_inline)) bool
count_rows_of_each_slot(const uint32_t *slot, const int64_t *value, uint32_t rows, uint32_t slots,
                        uint32_t *out_count)
{
    assert(rows > 0 && slots <= SLOT_HISTOGRAM_SLOTS_MAX);
    uint64_t differ = 0;
    for (uint32_t i = 0; i < rows; i++) differ |= (uint64_t)(value[i] ^ value[0]);
    if (differ != 0) return false;
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < rows; i++) count += slot[i] == s;
        out_count[s] = count;
    }
    return true;
}

static bool slot_histogram_portable(const uint32_t *slot, const int64_t *value, uint32_t rows,
                                    uint32_t slots, uint32_t *out_count)
{
    return count_rows_of_each_slot(slot, value, rows, slots, out_count);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static bool slot_histogram_avx2(const uint32_t *slot,
                                                                const int64_t *value, uint32_t rows,
                                                                uint32_t slots, uint32_t *out_count)
{
    return count_rows_of_each_slot(slot, value, rows, slots, out_count);
}

/* With intrinsics: one compiler uses only half of the register width by default, and the other one
 * has no option to change that. Slots are narrowed to bytes, so that one instruction compares 64 of
 * them. */
#define AVX512 __attribute__((target("avx512f,avx512bw,popcnt")))

/* Narrows the slots to bytes with saturation, so that a slot above 255 never equals a counted one,
 * and pads to a multiple of 64. Returns the number of 64-byte chunks. */
AVX512 static uint32_t narrow_slots_to_bytes(const uint32_t *slot, uint32_t rows, uint8_t *out)
{
    uint32_t i = 0;
    for (; i + 16 <= rows; i += 16)
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         _mm512_cvtusepi32_epi8(_mm512_loadu_si512(slot + i)));
    for (; i < rows; i++) out[i] = slot[i] < UINT8_MAX ? (uint8_t)slot[i] : UINT8_MAX;
    for (; i % 64 != 0; i++) out[i] = UINT8_MAX;
    return i / 64;
}

AVX512 static uint32_t count_slot_avx512(const uint8_t *packed, uint32_t chunks, uint32_t s)
{
    const __m512i wanted = _mm512_set1_epi8((char)s);
    uint64_t count = 0;
    for (uint32_t i = 0; i < chunks; i++)
        count += (uint64_t)_mm_popcnt_u64(
            _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(packed + i * 64), wanted));
    return (uint32_t)count;
}

AVX512 static bool slots_all_equal_avx512(const int64_t *value, uint32_t rows)
{
    const __m512i first = _mm512_set1_epi64(value[0]);
    __mmask8 differ = 0;
    uint32_t i = 0;
    for (; i + 8 <= rows; i += 8)
        differ |= _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(value + i), first);
    for (; i < rows; i++) differ |= value[i] != value[0];
    return differ == 0;
}

static bool slot_histogram_avx512(const uint32_t *slot, const int64_t *value, uint32_t rows,
                                  uint32_t slots, uint32_t *out_count)
{
    uint8_t packed[BATCH_ROWS_MAX];
    static_assert(BATCH_ROWS_MAX % 64 == 0, "rows are counted in whole chunks");
    assert(rows > 0 && rows <= BATCH_ROWS_MAX && slots <= SLOT_HISTOGRAM_SLOTS_MAX);
    if (!slots_all_equal_avx512(value, rows)) return false;
    const uint32_t chunks = narrow_slots_to_bytes(slot, rows, packed);
    for (uint32_t s = 0; s < slots; s++) out_count[s] = count_slot_avx512(packed, chunks, s);
    return true;
}

slot_histogram_fn slot_histogram_for_level(enum slot_histogram_level level)
{
    assert(level < SLOT_HISTOGRAM_LEVELS);
    if (level == SLOT_HISTOGRAM_AVX512)
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("popcnt")
                   ? slot_histogram_avx512
                   : NULL;
    if (level == SLOT_HISTOGRAM_AVX2)
        return __builtin_cpu_supports("avx2") ? slot_histogram_avx2 : NULL;
    return slot_histogram_portable;
}

#else

slot_histogram_fn slot_histogram_for_level(enum slot_histogram_level level)
{
    assert(level < SLOT_HISTOGRAM_LEVELS);
    return level == SLOT_HISTOGRAM_PORTABLE ? slot_histogram_portable : NULL;
}

#endif

slot_histogram_fn slot_histogram_for_cpu(void)
{
    for (int level = SLOT_HISTOGRAM_LEVELS - 1; level > SLOT_HISTOGRAM_PORTABLE; level--) {
        slot_histogram_fn count = slot_histogram_for_level((enum slot_histogram_level)level);
        if (count != NULL) return count;
    }
    return slot_histogram_portable;
}

/* ---- combine buffer */

static void combine_buffer_reset(struct combine_buffer *g);

/* Rows that an accumulator is prefetched before it is merged, and its bytes. */
#define ACCUMULATORS_AHEAD 32u
#define BYTES_AHEAD        16u

static_assert(COMBINE_BUFFER_NO_VALUE > VALUE_BYTES_MAX,
              "COMBINE_BUFFER_NO_VALUE is not the size of a value");

/* Copies one record (byte form) with its partition. Returns 0, NO_MEMORY or VALUE_LIMIT. */
static int append_shuffle_record(struct combine_buffer *g, struct glint_slice key,
                                 struct glint_slice value)
{
    const uint32_t partition = shuffle_partition_of(g->spec, key, g->task->partition, g->index);
    return record_buffer_add(&g->records, g->task, partition, key, value);
}

static bool has_number_accumulators(const struct shuffle_spec *spec)
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
        .records = {.descending = spec->dependency.descending}};
    hash_table_init(&g->table, &g->pool, task->table_seed);
    int r = aggregator_init(&g->aggregator, task, spec, state);
    g->pool.aligned = g->aggregator.acc_struct != 0;
    g->pool.numbers = !codec_type_is_bytes(g->aggregator.spec->acc);
    return r < 0 ? r : combiner_init(&g->complete, task, spec, state);
}

void combine_buffer_expect_keys(struct combine_buffer *g, uint64_t keys)
{
    /* The buckets of keys that do not come take at most an eighth of half of the memory. */
    const uint64_t most = g->task->options->memory_bytes / 2 / 8 / sizeof(struct sort_entry);
    g->table.expected = keys < most ? keys : most;
}

/* Grows the array of values to at least the table's slots. */
static bool reserve_slot_values(struct combine_buffer *g)
{
    const uint64_t slots = hash_table_slots_to_reserve(&g->table, g->table.slots);
    if (g->spec->acc == GLINT_NONE) return true;
    /* Numbers are plain int64_t, so that fn->merge_i64 can use the array directly. */
    return has_number_accumulators(g->spec)
               ? array_reserve(&g->numbers, &g->values_capacity, slots, sizeof *g->numbers)
               : array_reserve(&g->accs, &g->values_capacity, slots, sizeof *g->accs);
}

/* The fast path for a batch with one constant value and few slots, none of them new. Returns 1, 0
 * if it does not apply, or the function's error. */
static int combine_constant_batch(struct combine_buffer *g, const int64_t *values,
                                  const uint32_t *slots, uint32_t rows)
{
    const struct glint_function *fn = g->spec->fn;
    uint32_t count[SLOT_HISTOGRAM_SLOTS_MAX];
    if (fn->repeat_i64 == NULL || g->spec->acc != GLINT_I64 ||
        g->table.slots > SLOT_HISTOGRAM_SLOTS_MAX ||
        !g->slot_histogram(slots, values, rows, g->table.slots, count))
        return 0;
    int r = 0;
    for (uint32_t s = 0; s < g->table.slots && r == 0; s++)
        if (count[s] > 0)
            r = aggregator_merge_repeated(&g->aggregator, &g->numbers[s], values[0], count[s]);
    return r == 0 ? 1 : r;
}

/* Merges columns of numbers with one call for all rows; f64 are their bits. A new slot's
 * accumulator must not be merged with an undefined value, so the first row of each new slot sets it
 * and is left out of the call. New slots are numbered in order of appearance: slots[i] == known is
 * the first row of the next new slot. Returns 0 or the function's error. */
static int combine_i64_columns(struct combine_buffer *g, const int64_t *values, uint32_t *slots,
                               uint32_t rows, uint32_t known)
{
    const struct aggregator *f = &g->aggregator;
    if (known == g->table.slots) {
        int r = combine_constant_batch(g, values, slots, rows);
        if (r == 0) r = aggregator_merge_columns(f, g->numbers, slots, values, rows);
        return r < 0 ? r : 0;
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
    return count > 0 ? aggregator_merge_columns(f, g->numbers, slots, rest, count) : 0;
}

/* `fresh`: the slot is new, `value` starts its accumulator. */
static int combine_number_key(struct combine_buffer *g, uint32_t slot, bool fresh,
                              const union glint_value *value)
{
    struct glint_acc acc = {.value.i64 = fresh ? 0 : g->numbers[slot]};
    int r = fresh ? aggregator_init_value(&g->aggregator, &acc, value, true)
                  : aggregator_merge_value(&g->aggregator, &acc, value, true);
    g->numbers[slot] = acc.value.i64;
    return r;
}

static int combine_bytes_key(struct combine_buffer *g, uint32_t slot, bool fresh,
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
    r = append_shuffle_record(g, hash_table_key(&g->table, slot), acc->value.bytes);
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

/* Both ends: they begin at any address. */
static void prefetch_accumulator_bytes(const struct combine_buffer *g, uint32_t slot)
{
    const struct glint_slice bytes = g->accs[slot].value.bytes;
    if (bytes.size == 0 || bytes.size == COMBINE_BUFFER_NO_VALUE) return;
    __builtin_prefetch(bytes.data, 1);
    __builtin_prefetch(bytes.data + bytes.size - 1, 1);
}

static int combine_rows(struct combine_buffer *g, const struct glint_batch *batch,
                        const uint32_t *slots, uint32_t known)
{
    bool numbers = has_number_accumulators(g->spec);
    int r = 0;
    for (uint32_t i = 0; i < batch->rows && r == 0; i++) {
        bool fresh = slots[i] == known;
        known += fresh;
        if (i + ACCUMULATORS_AHEAD < batch->rows)
            prefetch_accumulator(g, slots[i + ACCUMULATORS_AHEAD]);
        if (!numbers && i + BYTES_AHEAD < batch->rows)
            prefetch_accumulator_bytes(g, slots[i + BYTES_AHEAD]);
        union glint_value value = glint_column_value(&batch->value, i);
        r = numbers ? combine_number_key(g, slots[i], fresh, &value)
                    : combine_bytes_key(g, slots[i], fresh, &value);
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
    if (!reserve_slot_values(g)) {
        g->table.slots = known; /* the new slots have no accumulators to free */
        return error_no_memory(&g->task->error);
    }
    if (g->accs != NULL)
        for (uint32_t s = known; s < g->table.slots; s++) g->accs[s] = acc_init(&g->pool);
    if (!found) return error_no_memory(&g->task->error);
    if (g->spec->acc == GLINT_NONE) return 0;
    if (aggregator_merges_columns(g->spec))
        return combine_i64_columns(g, aggregator_column_bits(&batch->value), slots, batch->rows,
                                   known);
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
        int r = append_shuffle_record(g, key, value);
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
    uint64_t each = g->spec->acc == GLINT_NONE         ? 0
                    : has_number_accumulators(g->spec) ? sizeof *g->numbers
                                                       : sizeof *g->accs;
    uint64_t bytes = acc_pool_bytes(&g->pool) + record_buffer_memory_bytes(&g->records);
    if (slots == 0) return bytes;
    return bytes + hash_table_memory_bytes(&g->table, extra) +
           slots * (each + sizeof(struct sort_entry));
}

/* Without those that a slot has in the table and in `numbers`. */
static uint64_t combine_buffer_content_bytes(const struct combine_buffer *g)
{
    return acc_pool_bytes(&g->pool) + g->records.records.size;
}

uint64_t combine_buffer_run_bytes(const struct combine_buffer *g)
{
    const uint64_t slot_bytes = HASH_TABLE_SHORT_KEY + sizeof *g->numbers + 4;
    const uint64_t bytes = combine_buffer_content_bytes(g) + g->table.slots * slot_bytes;
    return bytes + (bytes / RUN_BLOCK_BYTES + g->spec->partitions) * RUN_BLOCK_HEADER_BYTES;
}

bool combine_buffer_has_large_records(const struct combine_buffer *g)
{
    const uint64_t records = g->table.slots + record_buffer_count(&g->records);
    return combine_buffer_content_bytes(g) / MERGE_RECORD_BYTES >= records;
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

/* ---- Sorting and writing the combine buffer: slots and records are sorted separately, then merged
 * into one run. */

#define PREFETCH_SLOTS 8 /* distance, in entries */

static struct glint_slice combined_slot_key(const void *arg, uint64_t slot)
{
    const struct combine_buffer *g = arg;
    assert(slot < g->table.slots);
    return hash_table_key(&g->table, slot);
}

static void prefetch_slot_key(const void *arg, uint64_t slot)
{
    const struct combine_buffer *g = arg;
    hash_table_prefetch_key(&g->table, slot);
}

/* Returns the sorted entries of all slots, or NULL when out of memory. They overwrite the hash
 * buckets if these are large enough: a spill happens because memory is used up, so it should
 * allocate little. */
static struct sort_entry *sort_combined_slots(struct combine_buffer *g, bool by_key)
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
        struct glint_slice key = combined_slot_key(g, s);
        uint32_t partition = shuffle_partition_of(g->spec, key, g->task->partition, 0);
        entries[s].prefix = by_key ? sort_key_prefix(key, 0, g->spec->dependency.descending) : 0;
        entries[s].packed_reference = sort_pack_reference(partition, s);
    }
    const struct sort_keys keys = {combined_slot_key, prefetch_slot_key, g};
    sort_entries(entries, scratch, count, g->spec->dependency.descending,
                 by_key && !sort_prefix_is_key(g->spec->key) ? &keys : NULL);
    return entries;
}

/* The value of a slot in byte form; `number` is its memory if it is a number. Returns false if all
 * chunks of the key were emitted as records. */
static bool combined_slot_value(const struct combine_buffer *g, uint64_t slot, uint8_t *number,
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

static int write_combined_slot(struct combine_buffer *g, const struct sort_entry *e, bool complete,
                               struct run_writer *out)
{
    uint64_t slot = sort_entry_reference(e);
    uint8_t number[CODEC_NUMBER_BYTES];
    struct glint_slice value;
    if (!combined_slot_value(g, slot, number, &value)) return 0;
    if (complete && g->spec->dependency.combine == COMBINE_FOLD) {
        int r = combiner_add_value(&g->complete, value, false);
        if (r == 0) r = combiner_finish_value(&g->complete, true, &value);
        if (r < 0) return r;
    }
    return run_writer_add(out, sort_entry_partition(e), combined_slot_key(g, slot), value);
}

/* In sorted order the slots are random accesses, mostly cache misses. Prefetches the key's
 * descriptor two distances ahead, so that its bytes can be prefetched one distance ahead. */
static void prefetch_combined_slots(const struct combine_buffer *g, const struct sort_entry *at,
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
    struct buffered_record out = {.key = combined_slot_key(g, s)};
    prefetch_combined_slots(g, slot, end);
    const bool has_value = combined_slot_value(g, s, number, &out.value);
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
    *out = (struct combine_buffer_order){.by_key = by_key, .slot = sort_combined_slots(g, by_key)};
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

static struct shuffle_position combined_slot_position(const struct combine_buffer *g,
                                                      const struct sort_entry *e)
{
    return (struct shuffle_position){sort_entry_partition(e),
                                     combined_slot_key(g, sort_entry_reference(e))};
}

static struct shuffle_position appended_record_position(const struct combine_buffer *g,
                                                        const struct sort_entry *e)
{
    return (struct shuffle_position){sort_entry_partition(e),
                                     record_buffer_get(&g->records, sort_entry_reference(e)).key};
}

/* Of equal ones the record goes first: it is an earlier chunk of the slot's value. */
static bool slot_comes_before_record(const struct combine_buffer *g, const struct sort_entry *slot,
                                     const struct sort_entry *record)
{
    return shuffle_compare_positions(g->spec, combined_slot_position(g, slot),
                                     appended_record_position(g, record)) < 0;
}

struct shuffle_position combine_buffer_first_position(const struct combine_buffer *g,
                                                      const struct combine_buffer_order *o)
{
    assert(o->slot < o->slots_end || o->record < o->records_end);
    if (o->record == o->records_end) return combined_slot_position(g, o->slot);
    if (o->slot == o->slots_end) return appended_record_position(g, o->record);
    return slot_comes_before_record(g, o->slot, o->record) ? combined_slot_position(g, o->slot)
                                                           : appended_record_position(g, o->record);
}

struct shuffle_position combine_buffer_last_position(const struct combine_buffer *g,
                                                     const struct combine_buffer_order *o)
{
    assert(o->slot < o->slots_end || o->record < o->records_end);
    if (o->record == o->records_end) return combined_slot_position(g, o->slots_end - 1);
    if (o->slot == o->slots_end) return appended_record_position(g, o->records_end - 1);
    return slot_comes_before_record(g, o->slots_end - 1, o->records_end - 1)
               ? appended_record_position(g, o->records_end - 1)
               : combined_slot_position(g, o->slots_end - 1);
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
             (order->by_key ? slot_comes_before_record(g, slot, record)
                            : sort_entry_partition(slot) < sort_entry_partition(record)));
        if (from_slots) {
            prefetch_combined_slots(g, slot, order->slots_end);
            r = write_combined_slot(g, slot++, complete, out);
        } else {
            record_buffer_prefetch(&g->records, record, order->records_end);
            r = write_combined_record(g, record++, out);
        }
    }
    combine_buffer_reset(g);
    return r;
}

/* Removes all keys and values from the table; keeps the memory for the next ones. */
static void reset_combine_table(struct combine_buffer *g)
{
    if (g->accs != NULL)
        for (uint32_t s = 0; s < g->table.slots; s++) acc_free_large(&g->accs[s]);
    hash_table_reset(&g->table);
    acc_pool_reset(&g->pool, UINT64_MAX);
}

/* Removes all keys and records; keeps the memory for the next ones. */
static void combine_buffer_reset(struct combine_buffer *g)
{
    reset_combine_table(g);
    record_buffer_clear(&g->records);
}

int combine_buffer_drain_table(struct combine_buffer *g, combine_buffer_add_fn *add, void *arg)
{
    int r = 0;
    for (uint32_t s = 0; s < g->table.slots && r == 0; s++) {
        const struct glint_slice key = combined_slot_key(g, s);
        uint8_t number[CODEC_NUMBER_BYTES];
        struct glint_slice value;
        if (!combined_slot_value(g, s, number, &value)) continue;
        r = add(arg, shuffle_partition_of(g->spec, key, g->task->partition, 0), key, value);
    }
    reset_combine_table(g);
    return r;
}
