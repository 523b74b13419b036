/* The map side: decides what stays in memory, what is spilled, and how the spills are merged.
 *
 *     rows --> combine buffer (table, records) --full--> .
 *     large values ------------------------------------> a run, while ascending --> final merge
 *
 * Rows that are not combined go to blocks of their partition instead (write.c), until
 * those take half of the budget: then they move to the combine buffer, which can spill them. At the
 * end, a large table that was never spilled moves to blocks.
 *
 * Values of a key keep their order: a later one is further back in the same run or in a later run,
 * and runs are merged in order. A run continues over several spills as long as the positions
 * ascend, so input that is already in the order of the output is written once and never merged. */
#include "engine/batch.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"
#include "engine/records/run.h"
#include "engine/shuffle/merge_inputs.h"
#include "engine/shuffle/shuffle.h"
#include "engine/shuffle/shuffle_internal.h"

#include <assert.h>

struct partition_block;

/* The open block of a partition. Zeros: none yet. */
struct partition_tail {
    uint8_t *at, *end; /* the next record goes to [at, end) */
    uint64_t records;  /* of the partition */
    struct partition_block *first, *last;
};

/* Zeros are not initialized. */
struct partition_blocks {
    struct partition_tail *tails; /* [partitions] */
    uint32_t partitions;
    uint64_t records, raw;       /* raw: of the blocks that are not open */
    uint64_t slab_bytes;         /* of all slabs */
    uint8_t *free_at, *free_end; /* of the last slab */
    uint8_t **slabs;
    uint64_t slab_count, slab_capacity;
};

/* Returns false when out of memory. */
static inline bool partition_blocks_are_used(const struct partition_blocks *b)
{
    return b->tails != NULL;
}
/* Makes room for a record of so many bytes. Returns false when out of memory. */
bool partition_blocks_extend(struct partition_blocks *b, uint32_t partition, uint64_t bytes);

/* Appends a record, copied. Returns 0, NO_MEMORY or VALUE_LIMIT with the task's error set. */
static inline int partition_blocks_add(struct partition_blocks *b, struct glint_task *task,
                                       uint32_t partition, struct glint_slice key,
                                       struct glint_slice value)
{
    struct partition_tail *t = &b->tails[partition];
    const uint64_t bytes = RUN_RECORD_HEADER_MAX + key.size + value.size;
    if ((uint64_t)(t->end - t->at) < bytes) {
        if (!run_record_fits(key, value)) return run_set_record_too_large_error(task, key, value);
        if (!partition_blocks_extend(b, partition, bytes)) return error_no_memory(&task->error);
    }
    uint8_t *at = t->at;
    at += codec_put_varint(at, key.size);
    at += codec_put_varint(at, value.size);
    bytes_copy(at, key.data, key.size);
    at += key.size;
    bytes_copy(at, value.data, value.size);
    t->at = at + value.size;
    t->records++;
    b->records++;
    return 0;
}

/* The memory of the blocks. */
static inline uint64_t partition_blocks_bytes(const struct partition_blocks *b)
{
    return b->slab_bytes - (uint64_t)(b->free_end - b->free_at);
}
/* The bytes of a run of all records, not compressed, at most. */
static inline uint64_t partition_blocks_run_bytes(const struct partition_blocks *b)
{
    const uint64_t bytes = partition_blocks_bytes(b);
    return bytes + (bytes / KIB + b->partitions) * RUN_BLOCK_HEADER_BYTES;
}

/* ---- See write.c. */

#define BLOCK_BYTES_FIRST KIB
#define SLAB_BYTES_FIRST  (256 * KIB)
#define SLAB_BYTES_MAX    (16 * MIB)

/* A block, its records behind it. */
struct partition_block {
    struct partition_block *next;
    uint64_t size, capacity; /* of the records; size: set when the next block is opened */
};

static uint8_t *partition_block_data(struct partition_block *block)
{
    return (uint8_t *)(block + 1);
}

static bool partition_blocks_init(struct partition_blocks *b, uint32_t partitions)
{
    assert(partitions > 0 && partitions <= PARTITIONS_MAX);
    *b = (struct partition_blocks){.partitions = partitions};
    b->tails = mem_zalloc(partitions * sizeof *b->tails);
    return b->tails != NULL;
}

/* Slabs double, so that a small task takes little memory, and a large one few blocks of it. */
static bool add_block_slab(struct partition_blocks *b, uint64_t bytes)
{
    uint64_t size = b->slab_count > 0 ? SLAB_BYTES_MAX : SLAB_BYTES_FIRST;
    if (b->slab_count < 6) size = SLAB_BYTES_FIRST << b->slab_count;
    if (size < bytes) size = bytes;
    if (!array_reserve(&b->slabs, &b->slab_capacity, b->slab_count + 1, sizeof *b->slabs))
        return false;
    uint8_t *slab = mem_grow(NULL, 0, size);
    if (slab == NULL) return false;
    b->slabs[b->slab_count++] = slab;
    b->slab_bytes += size;
    b->free_at = slab;
    b->free_end = slab + size;
    return true;
}

static uint64_t used_bytes_of_open_block(const struct partition_tail *t)
{
    return t->last != NULL ? (uint64_t)(t->at - partition_block_data(t->last)) : 0;
}

bool partition_blocks_extend(struct partition_blocks *b, uint32_t partition, uint64_t bytes)
{
    struct partition_tail *t = &b->tails[partition];
    uint64_t capacity = t->last != NULL ? 2 * t->last->capacity : BLOCK_BYTES_FIRST;
    if (capacity > RUN_BLOCK_BYTES) capacity = RUN_BLOCK_BYTES;
    if (capacity < bytes) capacity = bytes;
    const uint64_t whole = (sizeof(struct partition_block) + capacity + 7) & ~(uint64_t)7;
    if ((uint64_t)(b->free_end - b->free_at) < whole && !add_block_slab(b, whole)) return false;
    struct partition_block *block = (struct partition_block *)(void *)b->free_at;
    *block = (struct partition_block){.capacity = capacity};
    b->free_at += whole;
    if (t->last != NULL) {
        t->last->size = used_bytes_of_open_block(t);
        t->last->next = block;
        b->raw += t->last->size;
    } else {
        t->first = block;
    }
    t->last = block;
    t->at = partition_block_data(block);
    t->end = t->at + capacity;
    return true;
}

/* The bytes of the records as in a run. */
static uint64_t partition_blocks_raw_bytes(const struct partition_blocks *b)
{
    uint64_t raw = b->raw;
    for (uint32_t p = 0; p < b->partitions; p++) raw += used_bytes_of_open_block(&b->tails[p]);
    return raw;
}

/* Writes all records to `out`, which is empty. Returns 0 or a negative code with the task's error
 * set. */
static int partition_blocks_write(const struct partition_blocks *b, struct run_writer *out)
{
    int r = 0;
    for (uint32_t p = 0; p < b->partitions && r == 0; p++) {
        const struct partition_tail *t = &b->tails[p];
        if (t->records > 0) r = run_writer_begin_records(out, p, t->records);
        for (struct partition_block *block = t->first; block != NULL && r == 0; block = block->next)
            r = run_writer_append_records(out, partition_block_data(block),
                                          block == t->last ? used_bytes_of_open_block(t)
                                                           : block->size);
    }
    return r;
}

/* Calls `add` for each record, those of a partition in the order in which they were appended, until
 * it returns a negative code. Returns that or 0. Key and value are valid until
 * partition_blocks_fini. */
static int partition_blocks_each(const struct partition_blocks *b,
                                 int (*add)(void *arg, uint32_t partition, struct glint_slice key,
                                            struct glint_slice value),
                                 void *arg)
{
    for (uint32_t p = 0; p < b->partitions; p++) {
        const struct partition_tail *t = &b->tails[p];
        for (struct partition_block *block = t->first; block != NULL; block = block->next) {
            const uint8_t *at = partition_block_data(block);
            const uint8_t *end =
                at + (block == t->last ? used_bytes_of_open_block(t) : block->size);
            while (at < end) {
                uint64_t key_size = 0, value_size = 0;
                at += codec_get_varint(at, end, &key_size);
                at += codec_get_varint(at, end, &value_size);
                assert(key_size + value_size <= (uint64_t)(end - at));
                const int r = add(arg, p, (struct glint_slice){at, key_size},
                                  (struct glint_slice){at + key_size, value_size});
                if (r < 0) return r;
                at += key_size + value_size;
            }
        }
    }
    return 0;
}

/* Frees everything. Zeros are fine. */
static void partition_blocks_fini(struct partition_blocks *b)
{
    for (uint64_t i = 0; i < b->slab_count; i++) mem_free(b->slabs[i]);
    mem_free(b->slabs);
    mem_free(b->tails);
    *b = (struct partition_blocks){.tails = NULL};
}

/* ---- The writer */

/* After so many rows of which fewer than 1/64 had an earlier key, rows are no longer combined: a
 * lookup costs more than a record. The number is small, so that no spill comes before: whether rows
 * are combined must not depend on memory. */
#define COMBINE_TRIAL_ROWS    32768u
#define COMBINE_TRIAL_SAVINGS 64u
#define MOVE_SLOTS_MIN        16384u /* a table with fewer keys fits into the cache */

/* Records move from the combine buffer to the open run; an ended run is a spill. */
struct shuffle_writer {
    struct glint_task *task;
    const struct shuffle_spec *spec;
    void *state;
    uint64_t budget;     /* bytes of the combine buffer */
    uint64_t trial_rows; /* combined so far, up to COMBINE_TRIAL_ROWS */
    bool combines;       /* rows are combined, in the table or when spills are merged */
    struct combine_buffer combine_buffer;
    struct partition_blocks blocks; /* in use: of all rows so far */
    struct merge_inputs spills;
    struct run_writer run;   /* the open run; task == NULL: none */
    bool run_raw;            /* its values are raw, not accumulators */
    uint32_t last_partition; /* position of the open run's last record */
    struct buffer last_key;
};

static uint64_t partition_blocks_budget(const struct shuffle_writer *w)
{
    return w->budget / 2;
}

/* Starts to use blocks, if one for each partition fits. */
static int open_partition_blocks(struct shuffle_writer *w)
{
    if (w->spec->partitions * RUN_BLOCK_BYTES > partition_blocks_budget(w) / 2) return 0;
    return partition_blocks_init(&w->blocks, w->spec->partitions)
               ? 0
               : error_no_memory(&w->task->error);
}

struct shuffle_writer *shuffle_writer_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state)
{
    assert(spec->partitions > 0 && spec->partitions <= PARTITIONS_MAX);
    struct shuffle_writer *w = mem_zalloc_or_fail(sizeof *w, &task->error);
    if (w == NULL) return NULL;
    w->task = task;
    w->spec = spec;
    w->state = state;
    w->budget = task->options->memory_bytes / 2;
    w->combines = spec->map_side && spec->dependency.combine != COMBINE_NONE;
    if (combine_buffer_init(&w->combine_buffer, task, w->spec, state) < 0 ||
        (!w->combines && open_partition_blocks(w) < 0)) {
        shuffle_writer_close(w);
        return NULL;
    }
    /* The tasks of a stage have about as many keys. */
    combine_buffer_expect_keys(&w->combine_buffer, task->combined_keys);
    return w;
}

static bool has_spilled(const struct shuffle_writer *w)
{
    return w->spills.count > 0 || w->run.task != NULL;
}

/* Whether rows are combined in the table. In a sequential shuffle only until the first spill: a
 * later value must be merged into the accumulator that is on disk, so it stays a record until the
 * final merge. Combining the later values first would change the rounding of sums. */
static bool combines_in_table(const struct shuffle_writer *w)
{
    return w->combines && !(aggregator_is_sequential(w->spec) && has_spilled(w));
}

/* Ends the open run, if any: it becomes a spill. */
static int end_spill_run(struct shuffle_writer *w)
{
    if (w->run.task == NULL) return 0;
    int r = merge_inputs_add_run(&w->spills, &w->run, w->run_raw);
    w->run = (struct run_writer){.task = NULL};
    return r;
}

/* Whether the open run can continue with a record at `position`. If values are combined, the key
 * must differ from the last one: a run that is the only spill becomes the output without a merge
 * (write_output_from_spills), so it must contain each key once. */
static bool can_continue_run(const struct shuffle_writer *w, struct shuffle_position position,
                             bool raw)
{
    if (w->run.task == NULL) return false;
    if (w->combines && raw != w->run_raw && !aggregator_values_are_accumulators(w->spec))
        return false;
    struct shuffle_position last = {w->last_partition, {w->last_key.data, w->last_key.size}};
    int c = shuffle_compare_positions(w->spec, last, position);
    return w->combines ? c < 0 : c <= 0;
}

/* Makes sure that the open run can take records from `first` to `last`: continues it or starts a
 * new one with `memory_max`. */
static int continue_or_begin_spill_run(struct shuffle_writer *w, struct shuffle_position first,
                                       struct shuffle_position last, bool raw, uint64_t memory_max)
{
    int r = 0;
    if (!can_continue_run(w, first, raw)) {
        r = end_spill_run(w);
        if (r == 0) r = run_writer_init(&w->run, w->task, w->spec->partitions, memory_max);
        if (r < 0) return r;
        w->run_raw = raw;
    }
    w->last_partition = last.partition;
    w->last_key.size = 0;
    if (!buffer_append(&w->last_key, last.key.data, last.key.size))
        return error_no_memory(&w->task->error);
    return 0;
}

/* Writes the combine buffer to the open run and empties it. In a sequential shuffle it becomes a
 * spill by itself: after the first spill the buffer contains uncombined values, several of one key,
 * and a second spill makes sure that the final merge combines them. */
static int spill_combine_buffer(struct shuffle_writer *w, uint64_t memory_max)
{
    if (combine_buffer_is_empty(&w->combine_buffer)) return 0;
    const bool raw = !combines_in_table(w),
               alone = w->combines && aggregator_is_sequential(w->spec);
    struct combine_buffer_order order;
    int r = combine_buffer_sort(&w->combine_buffer, true, &order);
    if (r == 0 && alone) r = end_spill_run(w);
    if (r == 0)
        r = continue_or_begin_spill_run(
            w, combine_buffer_first_position(&w->combine_buffer, &order),
            combine_buffer_last_position(&w->combine_buffer, &order), raw, memory_max);
    if (r == 0) r = combine_buffer_write(&w->combine_buffer, &order, false, &w->run);
    if (r == 0 && alone) r = end_spill_run(w);
    combine_buffer_order_fini(&order);
    return r;
}

/* Moves a record from the blocks to the combine buffer. */
static int combine_block_record(void *arg, uint32_t partition, struct glint_slice key,
                                struct glint_slice value)
{
    struct shuffle_writer *w = arg;
    const uint64_t memory = combine_buffer_memory_bytes(&w->combine_buffer, 0);
    int r = combine_buffer_add_record(&w->combine_buffer, partition, key, value);
    if (r == 0 && memory + partition_blocks_bytes(&w->blocks) > w->budget)
        r = spill_combine_buffer(w, 0);
    return r;
}

/* Ends the use of blocks. */
static int move_blocks_to_buffer(struct shuffle_writer *w)
{
    if (!partition_blocks_are_used(&w->blocks)) return 0;
    const int r = partition_blocks_each(&w->blocks, combine_block_record, w);
    partition_blocks_fini(&w->blocks);
    return r;
}

/* Writes one record that is too large to copy into memory directly to the open run. The combine
 * buffer is spilled first, since its rows precede the record. */
static int spill_large_record(struct shuffle_writer *w, const struct glint_batch *batch)
{
    uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
    struct glint_record record = glint_batch_record(batch, 0);
    struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
    struct glint_slice value = codec_encode(batch->value.type, &record.value, value_number);
    uint32_t partition =
        shuffle_partition_of(w->spec, key, w->task->partition, w->combine_buffer.index++);
    struct shuffle_position position = {partition, key};
    int r = move_blocks_to_buffer(w);
    /* This run may be the whole output, so it may stay in memory as other outputs do. */
    if (r == 0) r = spill_combine_buffer(w, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0)
        r = continue_or_begin_spill_run(w, position, position, true, MAP_OUTPUT_MEMORY_BYTES);
    return r == 0 ? run_writer_add(&w->run, partition, key, value) : r;
}

static bool is_large_record_batch(const struct glint_batch *batch)
{
    const struct glint_column *k = &batch->key, *v = &batch->value;
    if (batch->rows != 1) return false;
    bool bytes_key = k->type == GLINT_BYTES || k->type == GLINT_TEXT || k->type == GLINT_MSGPACK;
    bool bytes_value = v->type == GLINT_BYTES || v->type == GLINT_TEXT || v->type == GLINT_MSGPACK;
    uint64_t size = bytes_key ? glint_column_slice(k, 0).size : 0;
    if (bytes_value) size += glint_column_slice(v, 0).size;
    return size > BATCH_BYTES_MAX;
}

static int append_record_to_blocks(void *arg, uint32_t partition, struct glint_slice key,
                                   struct glint_slice value)
{
    struct shuffle_writer *w = arg;
    return partition_blocks_add(&w->blocks, w->task, partition, key, value);
}

/* Stops combining if most rows so far had new keys. Only where the reduce side then has the same
 * result: values and accumulators have one form, the order of merging does not matter, and there
 * are no zeros or chunks. */
static int stop_combining_if_useless(struct shuffle_writer *w, uint32_t rows)
{
    const struct shuffle_spec *spec = w->spec;
    const struct combine_buffer *g = &w->combine_buffer;
    if (w->trial_rows >= COMBINE_TRIAL_ROWS) return 0;
    w->trial_rows += rows;
    if (w->trial_rows < COMBINE_TRIAL_ROWS || has_spilled(w)) return 0;
    const bool same_form =
        spec->dependency.combine == COMBINE_FIRST ||
        (spec->dependency.combine == COMBINE_REDUCE && g->aggregator.chunk_bytes_max == 0);
    const uint64_t merged = w->trial_rows - g->table.slots;
    if (!same_form || aggregator_is_sequential(spec) ||
        merged > w->trial_rows / COMBINE_TRIAL_SAVINGS)
        return 0;
    w->combines = false;
    const int r = open_partition_blocks(w);
    if (r < 0) return r;
    return partition_blocks_are_used(&w->blocks)
               ? combine_buffer_drain_table(&w->combine_buffer, append_record_to_blocks, w)
               : combine_buffer_drain_table(&w->combine_buffer, combine_buffer_add_record,
                                            &w->combine_buffer);
}

static int append_to_blocks(struct shuffle_writer *w, const struct glint_batch *batch)
{
    int r = 0;
    for (uint32_t i = 0; i < batch->rows && r == 0; i++) {
        uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
        const struct glint_record record = glint_batch_record(batch, i);
        const struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
        r = append_record_to_blocks(
            w, shuffle_partition_of(w->spec, key, w->task->partition, w->combine_buffer.index++),
            key, codec_encode(batch->value.type, &record.value, value_number));
    }
    if (r == 0 && partition_blocks_bytes(&w->blocks) > partition_blocks_budget(w))
        r = move_blocks_to_buffer(w);
    return r == 0 ? w->task->error.code : r; /* of a partitioner that failed */
}

int shuffle_writer_push(struct shuffle_writer *w, const struct glint_batch *batch)
{
    assert(batch->key.type == w->spec->key && batch->value.type == w->spec->value);
    if (task_check_cancelled(w->task) != 0) return GLINT_E_INTERRUPTED;
    if (batch->rows == 0) return 0;
    if (is_large_record_batch(batch)) return spill_large_record(w, batch);
    if (partition_blocks_are_used(&w->blocks)) return append_to_blocks(w, batch);
    int r = 0;
    /* Before the batch: spill if a new key in every row would exceed the budget. */
    if (combines_in_table(w) &&
        combine_buffer_memory_bytes(&w->combine_buffer, batch->rows) > w->budget)
        r = spill_combine_buffer(w, 0); /* 0: to disk, the spill must free memory */
    if (r < 0) return r;
    /* combines_in_table may have changed: in a sequential shuffle the spill switches to records. */
    const bool combine = combines_in_table(w);
    r = combine ? combine_buffer_combine_batch(&w->combine_buffer, batch)
                : combine_buffer_append_batch(&w->combine_buffer, batch);
    if (r == 0 && combine) r = stop_combining_if_useless(w, batch->rows);
    /* After the batch: its bytes, or accumulators that grew, may exceed the budget. */
    if (r == 0 && combine_buffer_memory_bytes(&w->combine_buffer, 0) > w->budget)
        r = spill_combine_buffer(w, 0);
    return r == 0 ? w->task->error.code : r; /* of a partitioner that failed */
}

/* Writes the output if nothing was spilled. Large records, such as filters, are sorted, so that the
 * reduce side merges them one by one. Others are in order of the partition only: the reduce side
 * sorts faster than it merges. */
static int write_output_from_memory(struct shuffle_writer *w, struct run *out)
{
    struct run_writer writer = {.task = NULL};
    struct combine_buffer_order order;
    const bool by_key = combine_buffer_has_large_records(&w->combine_buffer);
    int r = combine_buffer_sort(&w->combine_buffer, by_key, &order);
    if (r == 0) r = run_writer_init(&writer, w->task, w->spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0) run_writer_reserve(&writer, combine_buffer_run_bytes(&w->combine_buffer));
    if (r == 0) r = combine_buffer_write(&w->combine_buffer, &order, w->combines, &writer);
    if (r == 0) r = run_writer_finish(&writer, out);
    if (r == 0) out->sorted = by_key;
    if (r < 0) run_writer_abort(&writer);
    combine_buffer_order_fini(&order);
    return r;
}

static int write_partition_blocks(struct shuffle_writer *w, struct run *out)
{
    struct run_writer writer = {.task = NULL};
    int r = run_writer_init(&writer, w->task, w->spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0) run_writer_reserve(&writer, partition_blocks_run_bytes(&w->blocks));
    if (r == 0) r = partition_blocks_write(&w->blocks, &writer);
    if (r == 0) r = run_writer_finish(&writer, out);
    if (r < 0) run_writer_abort(&writer);
    return r;
}

/* Whether the table's accumulators should be copied to blocks: in order of slots the memory is read
 * once and in order, whereas sorted by partition each slot is a cache miss. Not for chunks, which
 * precede the accumulator of their key, nor for zeros, which combine_buffer_write merges. */
static bool should_move_table_to_blocks(const struct shuffle_writer *w)
{
    const struct combine_buffer *g = &w->combine_buffer;
    return w->combines && w->spec->dependency.combine != COMBINE_FOLD &&
           g->table.slots >= MOVE_SLOTS_MIN && record_buffer_count(&g->records) == 0 &&
           !combine_buffer_has_large_records(g) &&
           combine_buffer_memory_bytes(g, 0) + combine_buffer_run_bytes(g) <= w->budget;
}

static int move_table_to_blocks(struct shuffle_writer *w)
{
    int r = open_partition_blocks(w);
    if (r < 0 || !partition_blocks_are_used(&w->blocks)) return r;
    r = combine_buffer_drain_table(&w->combine_buffer, append_record_to_blocks, w);
    combine_buffer_fini(&w->combine_buffer); /* its memory is needed for the run */
    return r == 0 ? w->task->error.code : r; /* of a partitioner that failed */
}

static int merge_spills(struct shuffle_writer *w, struct run *out)
{
    struct merge_pass c;
    struct run_writer writer = {.task = NULL};
    int r = merge_pass_init(&c, w->task, w->spec, w->state, w->combines);
    /* Intermediate runs are always files: the shared run memory is for the outputs. */
    if (r == 0) r = merge_pass_limit_inputs(&c, &w->spills, w->spec->partitions, 0);
    if (r == 0) r = run_writer_init(&writer, w->task, w->spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0) r = merge_pass_write(&c, &w->spills, &writer);
    if (r == 0) r = run_writer_finish(&writer, out);
    if (r < 0) run_writer_abort(&writer);
    merge_pass_fini(&c);
    merge_inputs_fini(&w->spills);
    return r;
}

/* Writes the output after spills: spills the rest and merges all. A single spill with complete
 * values is used as the output without reading it back. */
static int write_output_from_spills(struct shuffle_writer *w, struct run *out)
{
    int r = spill_combine_buffer(w, 0);
    if (r == 0) r = end_spill_run(w);
    if (r < 0) return r;
    combine_buffer_fini(&w->combine_buffer); /* its memory is needed for merging */
    /* Incomplete: raw values that are not accumulators yet, or a zero that was not merged. */
    const struct merge_input *first = &w->spills.items[0];
    bool complete = !w->combines || (w->spec->dependency.combine != COMBINE_FOLD &&
                                     (!first->raw || aggregator_values_are_accumulators(w->spec)));
    if (w->spills.count > 1 || !complete) {
        r = merge_spills(w, out);
    } else {
        *out = *first->run;
        mem_free(first->run);
        w->spills.count = 0;
    }
    out->sorted = r == 0;
    return r;
}

int shuffle_writer_finish(struct shuffle_writer *w, struct run *out)
{
    *out = (struct run){.path = NULL};
    int r = 0;
    w->task->combined_keys = w->combine_buffer.table.slots;
    if (partition_blocks_raw_bytes(&w->blocks) / MERGE_RECORD_BYTES >= w->blocks.records)
        r = move_blocks_to_buffer(w); /* large records, or none */
    if (r == 0 && !has_spilled(w) && should_move_table_to_blocks(w)) r = move_table_to_blocks(w);
    if (r < 0) return r;
    if (partition_blocks_are_used(&w->blocks))
        r = write_partition_blocks(w, out);
    else
        r = has_spilled(w) ? write_output_from_spills(w, out) : write_output_from_memory(w, out);
    if (r < 0) return r;
    w->task->counters.values[COUNT_MAP_OUTPUT_RECORDS] += (int64_t)out->records;
    /* Before compression, so that all cluster shapes count the same. */
    const uint32_t parts = out->numbers != NULL ? out->used : out->partitions;
    for (uint32_t p = 0; p < parts; p++)
        w->task->counters.values[COUNT_MAP_OUTPUT_BYTES] += (int64_t)out->parts[p].raw;
    return 0;
}

void shuffle_writer_close(struct shuffle_writer *w)
{
    if (w == NULL) return;
    run_writer_abort(&w->run);
    combine_buffer_fini(&w->combine_buffer);
    partition_blocks_fini(&w->blocks);
    merge_inputs_fini(&w->spills);
    buffer_fini(&w->last_key);
    mem_free(w);
}
