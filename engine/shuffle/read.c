/* The reduce side: sorts or merges the inputs, combines groups of equal keys if the shuffle
 * combines, and builds batches. */
#include "engine/batch.h"
#include "engine/records/bytes.h"
#include "engine/shuffle/merge_inputs.h"
#include "engine/shuffle/shuffle.h"
#include "engine/shuffle/shuffle_internal.h"

#include <assert.h>

struct shuffle_reader {
    struct glint_task *task;
    const struct shuffle_spec *spec;
    void *state;
    /* The records in order come from memory, or from a merge. */
    bool gathered;
    bool passes_single; /* the only value of a key is its result as it is */
    struct gather gather;
    const struct sort_entry *at, *at_end; /* of the gathered records */
    struct merge merge;
    struct glint_slice record_key, record_value; /* of the current record; value: gathered only */
    uint8_t number[CODEC_NUMBER_BYTES];          /* a record_value of gather.table */
    /* The records of gather.frequent are read now; then comes the record before which they are. */
    bool reading_frequent, frequent_ended;
    struct combiner combiner;
    struct merge_inputs inputs; /* of the merge */
    bool record_pending;        /* the current record was not consumed yet */
    bool ended;                 /* there are no more records */
    bool pending;               /* `key` and `value` are the next row: the last batch was full */
    struct glint_slice key, value;
    struct buffer key_bytes; /* of the current group */
    struct batch_builder builder;
};

static bool spec_combines_values(const struct shuffle_spec *spec)
{
    return spec->dependency.combine != COMBINE_NONE;
}

/* Opens the merge of r->inputs.
 *
 * Equal keys are combined only where that cannot change the result. Without map_side the values are
 * raw: combining would turn them into accumulators, but the final merge takes all inputs for raw,
 * so it must not happen unless both have one form. A zero of COMBINE_FOLD is merged in
 * next_combined_record. */
static int open_input_merge(struct shuffle_reader *r)
{
    const struct shuffle_spec *spec = r->spec;
    struct run_slice slices[MERGE_FAN_IN_MAX];
    if (r->inputs.count > MERGE_FAN_IN_MAX) {
        struct merge_pass c;
        int e = merge_pass_init(&c, r->task, spec, r->state,
                                spec_combines_values(spec) &&
                                    (spec->map_side || aggregator_values_are_accumulators(spec)));
        if (e == 0) e = merge_pass_limit_inputs(&c, &r->inputs, 1, MAP_OUTPUT_MEMORY_BYTES);
        merge_pass_fini(&c);
        if (e < 0) return e;
    }
    const uint32_t count = merge_inputs_slices(r->inputs.items, r->inputs.count, 0, slices, NULL);
    return merge_open(&r->merge, r->task, slices, count, spec->dependency.descending);
}

/* Reads what was gathered: from memory, or by merging the runs that were spilled. */
static void read_gathered_records(struct shuffle_reader *r)
{
    struct gather *g = &r->gather;
    r->gathered = g->spilled.count == 0;
    if (!r->gathered) {
        r->inputs = g->spilled;
        g->spilled = (struct merge_inputs){.items = NULL};
        return;
    }
    if (g->combined) {
        r->at = g->table.order.slot;
        r->at_end = g->table.order.slots_end;
        return;
    }
    r->at = record_buffer_entries(&g->buffer);
    r->at_end = r->at + record_buffer_count(&g->buffer);
    if (!g->frequent.found)
        batch_builder_borrow(&r->builder, &g->buffer.records, spec_combines_values(r->spec));
}

static int read_inputs_into_memory(struct shuffle_reader *r, const struct run_slice *inputs,
                                   uint32_t count)
{
    struct gather *g = &r->gather;
    /* Values must have the form of accumulators, and no zero may be missing. */
    r->passes_single = spec_combines_values(r->spec) &&
                       aggregator_values_are_accumulators(r->spec) &&
                       r->combiner.aggregator.acc_struct == 0 &&
                       (r->spec->dependency.combine != COMBINE_FOLD || r->spec->map_side);
    const bool may_combine = r->passes_single && r->combiner.aggregator.chunk_bytes_max == 0;
    int e = gather_inputs(g, r->task, r->spec, r->state, may_combine, inputs, count);
    if (e == 0) read_gathered_records(r);
    return e;
}

/* A merge of sorted inputs reads each record once, in any amount of memory, but costs several
 * comparisons per record; a sort in memory costs less. */
static bool is_sort_in_memory_better(const struct glint_task *task, const struct run_slice *inputs,
                                     uint32_t count)
{
    bool sorted = true;
    for (uint32_t i = 0; i < count; i++) sorted = sorted && inputs[i].sorted;
    return !sorted || (count > 1 && gather_is_cheaper_than_merge(task, inputs, count));
}

/* Gathers the inputs, or makes them those of the merge. */
static int read_or_merge_inputs(struct shuffle_reader *r, const struct run_slice *inputs,
                                uint32_t count)
{
    if (is_sort_in_memory_better(r->task, inputs, count))
        return read_inputs_into_memory(r, inputs, count);
    for (uint32_t i = 0; i < count; i++)
        if (!merge_inputs_add_slice(&r->inputs, inputs[i], !r->spec->map_side))
            return error_no_memory(&r->task->error);
    return 0;
}

static int open_run_inputs(struct shuffle_reader *r, const struct run_slice *inputs, uint32_t count)
{
    struct run_slice *used = mem_alloc(count * sizeof *used);
    uint32_t n = 0;
    if (used == NULL) return error_no_memory(&r->task->error);
    /* Skip empty inputs: they would count for the fan-in. */
    for (uint32_t i = 0; i < count; i++)
        if (inputs[i].part.records > 0) used[n++] = inputs[i];
    int e = read_or_merge_inputs(r, used, n);
    mem_free(used);
    return e < 0 || r->gathered ? e : open_input_merge(r);
}

static struct shuffle_reader *create_reader(struct glint_task *task,
                                            const struct shuffle_spec *spec, void *state)
{
    struct shuffle_reader *r = mem_zalloc_or_fail(sizeof *r, &task->error);
    if (r == NULL) return NULL;
    r->task = task;
    r->spec = spec;
    r->state = state;
    r->builder.key.type = spec->key;
    r->builder.value.type = spec->acc;
    if (combiner_init(&r->combiner, task, spec, state) == 0) return r;
    shuffle_reader_close(r);
    return NULL;
}

struct shuffle_reader *shuffle_reader_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state, const struct run_slice *inputs,
                                           uint32_t count)
{
    struct shuffle_reader *r = create_reader(task, spec, state);
    if (r == NULL || open_run_inputs(r, inputs, count) == 0) return r;
    shuffle_reader_close(r);
    return NULL;
}

struct shuffle_reader *shuffle_reader_open_local(struct glint_task *task,
                                                 const struct shuffle_spec *spec)
{
    assert(!spec_combines_values(spec));
    struct shuffle_reader *r = create_reader(task, spec, NULL);
    if (r != NULL) gather_begin(&r->gather, task, spec);
    return r;
}

int shuffle_reader_push(struct shuffle_reader *r, const struct glint_batch *batch)
{
    assert(batch->key.type == r->spec->key && batch->value.type == r->spec->value);
    return gather_batch(&r->gather, batch);
}

int shuffle_reader_end_input(struct shuffle_reader *r)
{
    int e = gather_finish(&r->gather);
    if (e < 0) return e;
    read_gathered_records(r);
    return r->gathered ? 0 : open_input_merge(r);
}

/* The record at r->at. */
static struct buffered_record current_gathered_record(struct shuffle_reader *r)
{
    if (r->gather.combined)
        return combine_buffer_get(&r->gather.table.buffer, r->at, r->at_end, r->number);
    record_buffer_prefetch(&r->gather.buffer, r->at, r->at_end);
    return record_buffer_get(&r->gather.buffer, sort_entry_reference(r->at));
}

/* Moves to the next record and sets record_key. Returns 1, 0 at the end, or a negative code. */
static int next_input_record(struct shuffle_reader *r)
{
    int more;
    if (r->gathered) {
        more = r->at < r->at_end;
        if (more == 0) return r->ended = true, 0;
        const struct buffered_record record = current_gathered_record(r);
        r->at++;
        r->record_key = record.key;
        r->record_value = record.value;
        return 1;
    }
    more = merge_next(&r->merge);
    if (more < 0) return more;
    r->ended = more == 0;
    r->record_key = r->merge.key;
    return more;
}

/* Whether the missing records of the frequent key come before the current record, or before the
 * end. */
static bool is_frequent_key_next(const struct shuffle_reader *r, bool ended)
{
    const struct frequent_key *f = &r->gather.frequent;
    if (!f->found || r->frequent_ended) return false;
    const struct shuffle_position at = {0, r->record_key}, frequent = {0, f->key};
    return ended || shuffle_compare_positions(r->spec, at, frequent) > 0;
}

/* The next record if nothing is combined: 1, 0 at the end, or a negative code. */
static int next_uncombined_record(struct shuffle_reader *r)
{
    int more = 1;
    if (!r->reading_frequent) {
        if (r->ended) return 0;
        more = next_input_record(r);
        if (more < 0) return more;
        r->reading_frequent = is_frequent_key_next(r, more == 0);
    }
    if (r->reading_frequent) {
        more = frequent_key_next(&r->gather.frequent, &r->value);
        r->key = r->gather.frequent.key;
        if (more != 0) return more;
        r->reading_frequent = false;
        r->frequent_ended = true;
        more = !r->ended;
    }
    if (more == 0) return 0;
    r->key = r->record_key;
    r->value = r->record_value;
    int e = r->gathered ? 0 : merge_value(&r->merge, &r->value);
    return e < 0 ? e : 1;
}

/* Combines the values of the current key until the next key or until a chunk is full. A record is
 * pending. Returns 1 or a negative code. */
static int combine_records_of_key(struct shuffle_reader *r)
{
    bool raw = !r->spec->map_side;
    do {
        int e = r->gathered ? combiner_add_value(&r->combiner, r->record_value, raw)
                            : combiner_add_from_merge(&r->combiner, &r->merge, raw);
        if (e < 0) return e;
        r->record_pending = false;
        if (combiner_chunk_is_full(&r->combiner)) return 1;
        int more = next_input_record(r);
        if (more < 0) return more;
        r->record_pending = more > 0;
    } while (r->record_pending && slices_equal(r->record_key, r->key));
    return 1;
}

/* If the current record is the only one of its key, and its value is the result as it is, consumes
 * it: most keys of an aggregation that hardly combines. Returns 1, or 0: use
 * combine_records_of_key. */
static int take_single_value(struct shuffle_reader *r)
{
    if (!r->passes_single || !r->gathered) return 0;
    if (r->at < r->at_end && !r->gather.combined) {
        const struct glint_slice next =
            record_buffer_get(&r->gather.buffer, sort_entry_reference(r->at)).key;
        if (slices_equal(next, r->key)) return 0;
    }
    r->value = r->record_value;
    r->record_pending = false;
    return 1;
}

/* The next combined record: 1, 0 at the end, or a negative code. */
static int next_combined_record(struct shuffle_reader *r)
{
    if (r->ended) return 0;
    if (!r->record_pending) {
        int more = next_input_record(r);
        if (more <= 0) return more;
        r->record_pending = true;
    }
    r->key = r->record_key;
    if (!r->gathered) {
        /* Copy the key: merge_next, which looks for more values of it, invalidates the merge's. */
        r->key_bytes.size = 0;
        if (!buffer_append(&r->key_bytes, r->key.data, r->key.size))
            return error_no_memory(&r->task->error);
        r->key = buffer_slice(&r->key_bytes);
    }
    const int single = take_single_value(r);
    if (single != 0) return single;
    int e = combine_records_of_key(r);
    if (e < 0) return e;
    /* Without map_side no map task has merged the zero, so it is merged here, once per key. */
    e = combiner_finish_value(&r->combiner, !r->spec->map_side, &r->value);
    return e < 0 ? e : 1;
}

static int set_batch_builder_error(struct shuffle_reader *r, enum batch_builder_result why)
{
    if (why == BATCH_BUILDER_NO_MEMORY) return error_no_memory(&r->task->error);
    return error_set(&r->task->error, GLINT_E_SHUFFLE_CORRUPT, NULL,
                     "a record in a shuffle does not match its types");
}

int shuffle_reader_next(struct shuffle_reader *r, struct glint_batch *out)
{
    /* Once per batch, so that a cancelled task ends soon at little cost. */
    if (task_check_cancelled(r->task) != 0) return GLINT_E_INTERRUPTED;
    batch_builder_clear(&r->builder);
    for (;;) {
        if (!r->pending) {
            int more =
                spec_combines_values(r->spec) ? next_combined_record(r) : next_uncombined_record(r);
            if (more < 0) return more;
            if (more == 0) break;
            r->pending = true;
        }
        enum batch_builder_result added = batch_builder_add(&r->builder, r->key, r->value);
        if (added == BATCH_BUILDER_FULL) break;
        if (added != BATCH_BUILDER_ADDED) return set_batch_builder_error(r, added);
        r->pending = false;
        if (r->builder.full)
            break; /* borrowed bytes: the merge must not advance while the batch is used */
    }
    if (r->builder.count == 0) return 0;
    batch_builder_get_batch(&r->builder, out);
    return 1;
}

void shuffle_reader_close(struct shuffle_reader *r)
{
    if (r == NULL) return;
    merge_close(&r->merge);
    gather_fini(&r->gather);
    combiner_fini(&r->combiner);
    merge_inputs_fini(&r->inputs);
    buffer_fini(&r->key_bytes);
    batch_builder_fini(&r->builder);
    mem_free(r);
}
