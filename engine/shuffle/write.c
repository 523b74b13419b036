/* The map half: decides what stays in memory, what goes to disk, and in which order it comes back.
 *
 *     rows --> gather (table, records) --full--> spill --.
 *     large values --> a run of their own, while ascending --> spill --> merged at the end
 *
 * Whatever comes later lies in a later run, so merging runs in order keeps the order of values. */
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
    struct run_writer straight; /* large values; task == NULL: none at hand */
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
    return w->spills.count > 0 || w->straight.task != NULL;
}

/* True: rows are combined in the table. A sequential merge goes on with records once a part of the
 * values is out, since those have to be merged first. */
static bool uses_table(const struct shuffle_writer *w)
{
    return combines(w) && !(fold_is_sequential(w->spec) && something_is_out(w));
}

static int end_straight(struct shuffle_writer *w)
{
    if (w->straight.task == NULL) return 0;
    int r = spills_add(&w->spills, &w->straight, true);
    w->straight = (struct run_writer){.task = NULL};
    return r;
}

static int spill(struct shuffle_writer *w)
{
    if (gather_empty(&w->gather)) return 0;
    bool raw = !uses_table(w);
    int r = end_straight(w);
    if (r < 0) return r;
    struct run_writer out;
    r = run_writer_init(&out, w->task, w->spec->partitions, 0);
    if (r < 0) return r;
    r = gather_write(&w->gather, false, &out);
    if (r == 0) return spills_add(&w->spills, &out, raw);
    run_writer_abort(&out);
    return r;
}

/* True: the record can follow the last one in the run of large values. Equal keys are to be
 * combined, which one run cannot hold. */
static bool follows(const struct shuffle_writer *w, uint32_t partition, struct glint_slice key)
{
    if (w->straight.task == NULL) return false;
    if (partition != w->last_partition) return partition > w->last_partition;
    struct glint_slice last = {w->last_key.data, w->last_key.size};
    int c = codec_compare(last, key);
    if (w->spec->wide.descending) c = -c;
    return combines(w) ? c < 0 : c <= 0;
}

/* One record that is too large to be kept in memory. */
static int push_large(struct shuffle_writer *w, const struct glint_batch *batch)
{
    uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
    struct glint_record record = glint_batch_record(batch, 0);
    struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
    struct glint_slice value = codec_encode(batch->value.type, &record.value, value_number);
    uint32_t partition = shuffle_partition(w->spec, key, w->task->partition, w->gather.index++);
    int r = spill(w);
    if (r == 0 && !follows(w, partition, key)) {
        r = end_straight(w);
        if (r == 0)
            r = run_writer_init(&w->straight, w->task, w->spec->partitions,
                                MAP_OUTPUT_MEMORY_BYTES);
    }
    if (r < 0) return r;
    w->last_partition = partition;
    w->last_key.size = 0;
    if (!buffer_append(&w->last_key, key.data, key.size)) return error_no_memory(&w->task->error);
    return run_writer_add(&w->straight, partition, key, value);
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
    if (uses_table(w) && gather_bytes(&w->gather, batch->rows) > w->budget) r = spill(w);
    if (r < 0) return r;
    r = uses_table(w) ? gather_combine(&w->gather, batch) : gather_append(&w->gather, batch);
    if (r == 0 && gather_bytes(&w->gather, 0) > w->budget) r = spill(w);
    return r;
}

/* All of it is in memory. */
static int write_all(struct shuffle_writer *w, struct run *out)
{
    struct run_writer writer;
    int r = run_writer_init(&writer, w->task, w->spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r < 0) return r;
    r = gather_write(&w->gather, combines(w), &writer);
    if (r == 0) r = run_writer_finish(&writer, out);
    if (r < 0) run_writer_abort(&writer);
    return r;
}

/* What there is goes to disk; one sorted run is the output as it is, if its values are complete. */
static int write_spilled(struct shuffle_writer *w, struct run *out)
{
    int r = spill(w);
    if (r == 0) r = end_straight(w);
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
    run_writer_abort(&w->straight);
    gather_fini(&w->gather);
    spills_fini(&w->spills);
    buffer_fini(&w->last_key);
    mem_free(w);
}
