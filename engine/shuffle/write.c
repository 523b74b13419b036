/* The map side: decides what stays in memory, what is spilled, and how the spills are merged.
 *
 *     rows --> combine buffer (table, records) --full--> .
 *     large values ------------------------------------> a run, while ascending --> final merge
 *
 * Rows that are not combined go to blocks of their partition instead (partition_blocks.h), until
 * those take half of the budget: then they move to the combine buffer, which can spill them. At the
 * end, a large table that was never spilled moves to blocks.
 *
 * Values of a key keep their order: a later one is further back in the same run or in a later run,
 * and runs are merged in order. A run continues over several spills as long as the positions
 * ascend, so input that is already in the order of the output is written once and never merged. */
#include "engine/shuffle/write.h"

#include "engine/batch.h"
#include "engine/data/codec.h"
#include "engine/shuffle/combine_buffer.h"
#include "engine/shuffle/partition_blocks.h"
#include "engine/shuffle/spills.h"

#include <assert.h>

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
    struct spills spills;
    struct run_writer run;   /* the open run; task == NULL: none */
    bool run_raw;            /* its values are raw, not accumulators */
    uint32_t last_partition; /* position of the open run's last record */
    struct buffer last_key;
};

static uint64_t blocks_budget(const struct shuffle_writer *w)
{
    return w->budget / 2;
}

/* Starts to use blocks, if one for each partition fits. */
static int open_blocks(struct shuffle_writer *w)
{
    if (w->spec->partitions * RUN_BLOCK_BYTES > blocks_budget(w) / 2) return 0;
    return partition_blocks_init(&w->blocks, w->spec->partitions)
               ? 0
               : error_no_memory(&w->task->error);
}

struct shuffle_writer *shuffle_writer_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state)
{
    assert(spec->partitions > 0 && spec->partitions <= PARTITIONS_MAX);
    struct shuffle_writer *w = mem_zalloc(sizeof *w);
    if (w == NULL) {
        error_no_memory(&task->error);
        return NULL;
    }
    w->task = task;
    w->spec = spec;
    w->state = state;
    w->budget = task->options->memory_bytes / 2;
    w->combines = spec->map_side && spec->dependency.combine != COMBINE_NONE;
    if (combine_buffer_init(&w->combine_buffer, task, w->spec, state) < 0 ||
        (!w->combines && open_blocks(w) < 0)) {
        shuffle_writer_close(w);
        return NULL;
    }
    return w;
}

static bool has_spilled(const struct shuffle_writer *w)
{
    return w->spills.count > 0 || w->run.task != NULL;
}

/* Whether rows are combined in the table. In a sequential shuffle only until the first spill: a
 * later value must be merged into the accumulator that is on disk, so it stays a record until the
 * final merge. Combining the later values first would change the rounding of sums. */
static bool uses_table(const struct shuffle_writer *w)
{
    return w->combines && !(aggregator_is_sequential(w->spec) && has_spilled(w));
}

/* Ends the open run, if any: it becomes a spill. */
static int end_run(struct shuffle_writer *w)
{
    if (w->run.task == NULL) return 0;
    int r = spills_add(&w->spills, &w->run, w->run_raw);
    w->run = (struct run_writer){.task = NULL};
    return r;
}

/* Whether the open run can continue with a record at `position`. If values are combined, the key
 * must differ from the last one: a run that is the only spill becomes the output without a merge
 * (write_spilled), so it must contain each key once. */
static bool continues_run(const struct shuffle_writer *w, struct shuffle_position position,
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
static int begin_run(struct shuffle_writer *w, struct shuffle_position first,
                     struct shuffle_position last, bool raw, uint64_t memory_max)
{
    int r = 0;
    if (!continues_run(w, first, raw)) {
        r = end_run(w);
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
    const bool raw = !uses_table(w), alone = w->combines && aggregator_is_sequential(w->spec);
    struct combine_buffer_order order;
    int r = combine_buffer_sort(&w->combine_buffer, true, &order);
    if (r == 0 && alone) r = end_run(w);
    if (r == 0)
        r = begin_run(w, combine_buffer_first_position(&w->combine_buffer, &order),
                      combine_buffer_last_position(&w->combine_buffer, &order), raw, memory_max);
    if (r == 0) r = combine_buffer_write(&w->combine_buffer, &order, false, &w->run);
    if (r == 0 && alone) r = end_run(w);
    combine_buffer_order_fini(&order);
    return r;
}

/* Moves a record from the blocks to the combine buffer. */
static int add_from_blocks(void *arg, uint32_t partition, struct glint_slice key,
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
static int move_blocks(struct shuffle_writer *w)
{
    if (!partition_blocks_are_used(&w->blocks)) return 0;
    const int r = partition_blocks_each(&w->blocks, add_from_blocks, w);
    partition_blocks_fini(&w->blocks);
    return r;
}

/* Writes one record that is too large to copy into memory directly to the open run. The combine
 * buffer is spilled first, since its rows precede the record. */
static int push_large(struct shuffle_writer *w, const struct glint_batch *batch)
{
    uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
    struct glint_record record = glint_batch_record(batch, 0);
    struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
    struct glint_slice value = codec_encode(batch->value.type, &record.value, value_number);
    uint32_t partition =
        shuffle_partition_of(w->spec, key, w->task->partition, w->combine_buffer.index++);
    struct shuffle_position position = {partition, key};
    int r = move_blocks(w);
    /* This run may be the whole output, so it may stay in memory as other outputs do. */
    if (r == 0) r = spill_combine_buffer(w, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0) r = begin_run(w, position, position, true, MAP_OUTPUT_MEMORY_BYTES);
    return r == 0 ? run_writer_add(&w->run, partition, key, value) : r;
}

static bool is_large_output(const struct glint_batch *batch)
{
    const struct glint_column *k = &batch->key, *v = &batch->value;
    if (batch->rows != 1) return false;
    bool bytes_key = k->type == GLINT_BYTES || k->type == GLINT_TEXT || k->type == GLINT_MSGPACK;
    bool bytes_value = v->type == GLINT_BYTES || v->type == GLINT_TEXT || v->type == GLINT_MSGPACK;
    uint64_t size = bytes_key ? glint_column_slice(k, 0).size : 0;
    if (bytes_value) size += glint_column_slice(v, 0).size;
    return size > BATCH_BYTES_MAX;
}

static int add_to_blocks(void *arg, uint32_t partition, struct glint_slice key,
                         struct glint_slice value)
{
    struct shuffle_writer *w = arg;
    return partition_blocks_add(&w->blocks, w->task, partition, key, value);
}

/* Stops combining if most rows so far had new keys. Only where the reduce side then has the same
 * result: values and accumulators have one form, the order of merging does not matter, and there
 * are no zeros or chunks. */
static int end_trial(struct shuffle_writer *w, uint32_t rows)
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
    const int r = open_blocks(w);
    if (r < 0) return r;
    return partition_blocks_are_used(&w->blocks)
               ? combine_buffer_move(&w->combine_buffer, add_to_blocks, w)
               : combine_buffer_move(&w->combine_buffer, combine_buffer_add_record,
                                     &w->combine_buffer);
}

static int append_to_blocks(struct shuffle_writer *w, const struct glint_batch *batch)
{
    int r = 0;
    for (uint32_t i = 0; i < batch->rows && r == 0; i++) {
        uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
        const struct glint_record record = glint_batch_record(batch, i);
        const struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
        r = add_to_blocks(
            w, shuffle_partition_of(w->spec, key, w->task->partition, w->combine_buffer.index++),
            key, codec_encode(batch->value.type, &record.value, value_number));
    }
    if (r == 0 && partition_blocks_bytes(&w->blocks) > blocks_budget(w)) r = move_blocks(w);
    return r == 0 ? w->task->error.code : r; /* of a partitioner that failed */
}

int shuffle_writer_push(struct shuffle_writer *w, const struct glint_batch *batch)
{
    assert(batch->key.type == w->spec->key && batch->value.type == w->spec->value);
    if (task_is_cancelled(w->task))
        return error_set(&w->task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    if (batch->rows == 0) return 0;
    if (is_large_output(batch)) return push_large(w, batch);
    if (partition_blocks_are_used(&w->blocks)) return append_to_blocks(w, batch);
    int r = 0;
    /* Before the batch: spill if a new key in every row would exceed the budget. */
    if (uses_table(w) && combine_buffer_memory_bytes(&w->combine_buffer, batch->rows) > w->budget)
        r = spill_combine_buffer(w, 0); /* 0: to disk, the spill must free memory */
    if (r < 0) return r;
    /* uses_table may have changed: in a sequential shuffle the spill switches to records. */
    const bool combine = uses_table(w);
    r = combine ? combine_buffer_combine_batch(&w->combine_buffer, batch)
                : combine_buffer_append_batch(&w->combine_buffer, batch);
    if (r == 0 && combine) r = end_trial(w, batch->rows);
    /* After the batch: its bytes, or accumulators that grew, may exceed the budget. */
    if (r == 0 && combine_buffer_memory_bytes(&w->combine_buffer, 0) > w->budget)
        r = spill_combine_buffer(w, 0);
    return r == 0 ? w->task->error.code : r; /* of a partitioner that failed */
}

/* Writes the output if nothing was spilled. Large records, such as filters, are sorted, so that the
 * reduce side merges them one by one. Others are in order of the partition only: the reduce side
 * sorts faster than it merges. */
static int write_from_memory(struct shuffle_writer *w, struct run *out)
{
    struct run_writer writer = {.task = NULL};
    struct combine_buffer_order order;
    const bool by_key = combine_buffer_has_large_records(&w->combine_buffer);
    int r = combine_buffer_sort(&w->combine_buffer, by_key, &order);
    if (r == 0) r = run_writer_init(&writer, w->task, w->spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0) run_writer_expect(&writer, combine_buffer_run_bytes(&w->combine_buffer));
    if (r == 0) r = combine_buffer_write(&w->combine_buffer, &order, w->combines, &writer);
    if (r == 0) r = run_writer_finish(&writer, out);
    if (r == 0) out->sorted = by_key;
    if (r < 0) run_writer_abort(&writer);
    combine_buffer_order_fini(&order);
    return r;
}

static int write_blocks(struct shuffle_writer *w, struct run *out)
{
    struct run_writer writer = {.task = NULL};
    int r = run_writer_init(&writer, w->task, w->spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0) run_writer_expect(&writer, partition_blocks_run_bytes(&w->blocks));
    if (r == 0) r = partition_blocks_write(&w->blocks, &writer);
    if (r == 0) r = run_writer_finish(&writer, out);
    if (r < 0) run_writer_abort(&writer);
    return r;
}

/* Whether the table's accumulators should be copied to blocks: in order of slots the memory is read
 * once and in order, whereas sorted by partition each slot is a cache miss. Not for chunks, which
 * precede the accumulator of their key, nor for zeros, which combine_buffer_write merges. */
static bool should_move_to_blocks(const struct shuffle_writer *w)
{
    const struct combine_buffer *g = &w->combine_buffer;
    return w->combines && w->spec->dependency.combine != COMBINE_FOLD &&
           g->table.slots >= MOVE_SLOTS_MIN && record_buffer_count(&g->records) == 0 &&
           !combine_buffer_has_large_records(g) &&
           combine_buffer_memory_bytes(g, 0) + combine_buffer_run_bytes(g) <= w->budget;
}

static int move_to_blocks(struct shuffle_writer *w)
{
    int r = open_blocks(w);
    if (r < 0 || !partition_blocks_are_used(&w->blocks)) return r;
    r = combine_buffer_move(&w->combine_buffer, add_to_blocks, w);
    combine_buffer_fini(&w->combine_buffer); /* its memory is needed for the run */
    return r == 0 ? w->task->error.code : r; /* of a partitioner that failed */
}

/* Writes the output after spills: spills the rest and merges all. A single spill with complete
 * values is used as the output without reading it back. */
static int write_spilled(struct shuffle_writer *w, struct run *out)
{
    int r = spill_combine_buffer(w, 0);
    if (r == 0) r = end_run(w);
    if (r < 0) return r;
    combine_buffer_fini(&w->combine_buffer); /* its memory is needed for merging */
    /* Incomplete: raw values that are not accumulators yet, or a zero that was not merged. */
    const struct spilled_run *first = &w->spills.items[0];
    bool complete = !w->combines || (w->spec->dependency.combine != COMBINE_FOLD &&
                                     (!first->raw || aggregator_values_are_accumulators(w->spec)));
    if (w->spills.count > 1 || !complete) {
        r = spills_merge(&w->spills, w->task, w->spec, w->state, w->combines, out);
    } else {
        *out = first->run;
        w->spills.count = 0;
    }
    out->sorted = r == 0;
    return r;
}

int shuffle_writer_finish(struct shuffle_writer *w, struct run *out)
{
    *out = (struct run){.path = NULL};
    int r = 0;
    if (partition_blocks_raw(&w->blocks) / MERGE_RECORD_BYTES >= w->blocks.records)
        r = move_blocks(w); /* large records, or none */
    if (r == 0 && !has_spilled(w) && should_move_to_blocks(w)) r = move_to_blocks(w);
    if (r < 0) return r;
    if (partition_blocks_are_used(&w->blocks))
        r = write_blocks(w, out);
    else
        r = has_spilled(w) ? write_spilled(w, out) : write_from_memory(w, out);
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
    spills_fini(&w->spills);
    buffer_fini(&w->last_key);
    mem_free(w);
}
