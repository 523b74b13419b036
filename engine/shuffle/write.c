/* The map half: decides what stays in memory, what goes to disk, and in which order it comes back.
 *
 *     rows --> gather (table, records) --full--> .
 *     large values ----------------------------> a run, while ascending --> merged at the end
 *
 * Whatever comes later lies further back in its run, or in a later one, so merging runs in order
 * keeps the order of values. Input that comes in the order of the output is never merged. */
#include "engine/shuffle/write.h"

#include "engine/shuffle/gather.h"
#include "engine/shuffle/spills.h"

#include <assert.h>

struct shuffle_writer {
    struct glint_task *task;
    const struct shuffle_spec *spec;
    void *state;
    uint64_t budget;
    struct gather gather;
    struct spills spills;
    struct run_writer run; /* which goes on while records come in order; task == NULL: none */
    bool run_raw;          /* its values are not accumulators yet */
    uint32_t last_partition;
    struct buffer last_key;
};

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
    if (gather_init(&w->gather, task, w->spec, state) < 0) {
        shuffle_writer_close(w);
        return NULL;
    }
    return w;
}

static bool combines(const struct shuffle_writer *w)
{
    return w->spec->map_side && w->spec->wide.combine != COMBINE_NONE;
}

static bool something_is_out(const struct shuffle_writer *w)
{
    return w->spills.count > 0 || w->run.task != NULL;
}

/* True: rows are combined in the table. A sequential merge goes on with records once a part of the
 * values is out, since those have to be merged first. */
static bool uses_table(const struct shuffle_writer *w)
{
    return combines(w) && !(fold_is_sequential(w->spec) && something_is_out(w));
}

static int end_run(struct shuffle_writer *w)
{
    if (w->run.task == NULL) return 0;
    int r = spills_add(&w->spills, &w->run, w->run_raw);
    w->run = (struct run_writer){.task = NULL};
    return r;
}

/* True: a record there can follow the last one of the run at hand. Equal keys are to be combined,
 * which one run cannot hold. */
static bool follows(const struct shuffle_writer *w, struct shuffle_place place, bool raw)
{
    if (w->run.task == NULL) return false;
    if (combines(w) && raw != w->run_raw && !fold_one_form(w->spec)) return false;
    struct shuffle_place last = {w->last_partition, {w->last_key.data, w->last_key.size}};
    int c = shuffle_compare(w->spec, last, place);
    return combines(w) ? c < 0 : c <= 0;
}

/* Makes the run at hand one that records from `first` to `last` can be added to. */
static int begin_run(struct shuffle_writer *w, struct shuffle_place first,
                     struct shuffle_place last, bool raw, uint64_t memory_max)
{
    int r = 0;
    if (!follows(w, first, raw)) {
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

/* What is in memory goes out. Where merging is sequential it is a run of its own: its values are
 * not combined yet. */
static int spill(struct shuffle_writer *w, uint64_t memory_max)
{
    if (gather_empty(&w->gather)) return 0;
    const bool raw = !uses_table(w), alone = combines(w) && fold_is_sequential(w->spec);
    struct gather_order order;
    int r = gather_sort(&w->gather, &order);
    if (r == 0 && alone) r = end_run(w);
    if (r == 0)
        r = begin_run(w, gather_first(&w->gather, &order), gather_last(&w->gather, &order), raw,
                      memory_max);
    if (r == 0) r = gather_write(&w->gather, &order, false, &w->run);
    if (r == 0 && alone) r = end_run(w);
    gather_order_fini(&order);
    return r;
}

/* One record that is too large to be kept in memory. */
static int push_large(struct shuffle_writer *w, const struct glint_batch *batch)
{
    uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
    struct glint_record record = glint_batch_record(batch, 0);
    struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
    struct glint_slice value = codec_encode(batch->value.type, &record.value, value_number);
    uint32_t partition = shuffle_partition(w->spec, key, w->task->partition, w->gather.index++);
    struct shuffle_place place = {partition, key};
    int r = spill(w, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0) r = begin_run(w, place, place, true, MAP_OUTPUT_MEMORY_BYTES);
    return r == 0 ? run_writer_add(&w->run, partition, key, value) : r;
}

static bool is_large(const struct glint_batch *batch)
{
    const struct glint_column *k = &batch->key, *v = &batch->value;
    if (batch->rows != 1) return false;
    bool bytes_key = k->type == GLINT_BYTES || k->type == GLINT_TEXT || k->type == GLINT_MSGPACK;
    bool bytes_value = v->type == GLINT_BYTES || v->type == GLINT_TEXT || v->type == GLINT_MSGPACK;
    uint64_t size = bytes_key ? glint_column_slice(k, 0).size : 0;
    if (bytes_value) size += glint_column_slice(v, 0).size;
    return size > BATCH_BYTES_MAX;
}

int shuffle_writer_push(struct shuffle_writer *w, const struct glint_batch *batch)
{
    assert(batch->key.type == w->spec->key && batch->value.type == w->spec->value);
    if (task_cancelled(w->task))
        return error_set(&w->task->error, GLINT_E_INTERRUPTED, NULL, "the job was cancelled");
    if (batch->rows == 0) return 0;
    if (is_large(batch)) return push_large(w, batch);
    int r = 0;
    if (uses_table(w) && gather_bytes(&w->gather, batch->rows) > w->budget) r = spill(w, 0);
    if (r < 0) return r;
    r = uses_table(w) ? gather_combine(&w->gather, batch) : gather_append(&w->gather, batch);
    if (r == 0 && gather_bytes(&w->gather, 0) > w->budget) r = spill(w, 0);
    return r;
}

/* All of it is in memory. */
static int write_all(struct shuffle_writer *w, struct run *out)
{
    struct run_writer writer = {.task = NULL};
    struct gather_order order;
    int r = gather_sort(&w->gather, &order);
    if (r == 0) r = run_writer_init(&writer, w->task, w->spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0) r = gather_write(&w->gather, &order, combines(w), &writer);
    if (r == 0) r = run_writer_finish(&writer, out);
    if (r < 0) run_writer_abort(&writer);
    gather_order_fini(&order);
    return r;
}

/* What there is goes to disk; one sorted run is the output as it is, if its values are complete. */
static int write_spilled(struct shuffle_writer *w, struct run *out)
{
    int r = spill(w, 0);
    if (r == 0) r = end_run(w);
    if (r < 0) return r;
    gather_fini(&w->gather);
    const struct spill *first = &w->spills.items[0];
    bool complete = !combines(w) || (w->spec->wide.combine != COMBINE_FOLD &&
                                     (!first->raw || fold_one_form(w->spec)));
    if (w->spills.count > 1 || !complete)
        return spills_merge(&w->spills, w->task, w->spec, w->state, out);
    *out = first->run;
    w->spills.count = 0;
    return 0;
}

int shuffle_writer_finish(struct shuffle_writer *w, struct run *out)
{
    *out = (struct run){.path = NULL};
    int r = something_is_out(w) ? write_spilled(w, out) : write_all(w, out);
    if (r < 0) return r;
    w->task->counters.values[COUNT_MAP_OUTPUT_RECORDS] += (int64_t)out->records;
    w->task->counters.values[COUNT_MAP_OUTPUT_BYTES] += (int64_t)out->source.bytes;
    return 0;
}

void shuffle_writer_close(struct shuffle_writer *w)
{
    if (w == NULL) return;
    run_writer_abort(&w->run);
    gather_fini(&w->gather);
    spills_fini(&w->spills);
    buffer_fini(&w->last_key);
    mem_free(w);
}
