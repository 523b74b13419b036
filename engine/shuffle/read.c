/* The reduce side: sorts or merges the inputs, combines groups of equal keys if the shuffle
 * combines, and builds batches. */
#include "engine/shuffle/read.h"

#include "engine/batch.h"
#include "engine/records/bytes.h"
#include "engine/shuffle/batch_builder.h"
#include "engine/shuffle/gather.h"

#include <assert.h>

/* ---- Writes the output of a merge to a run, one key at a time. The key is copied once per group,
 * since merge_next invalidates it; only the combiner keeps a value in memory. */

int merge_pass_init(struct merge_pass *c, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state)
{
    *c = (struct merge_pass){.key = {NULL, 0, 0}};
    return combiner_init(&c->combiner, task, spec, state);
}

static int copy_records(struct merge_pass *c, struct run_writer *out, uint32_t partition)
{
    int more;
    while ((more = merge_next(&c->merge)) > 0) {
        struct glint_slice value;
        int r = merge_value(&c->merge, &value);
        if (r == 0) r = run_writer_add(out, partition, c->merge.key, value);
        if (r < 0) return r;
    }
    return more;
}

/* Writes the key's value, or a chunk of it. */
static int emit_combined(struct merge_pass *c, bool complete, struct run_writer *out,
                         uint32_t partition)
{
    struct glint_slice key = {c->key.data, c->key.size}, value;
    int r = combiner_finish_value(&c->combiner, complete, &value);
    return r < 0 ? r : run_writer_add(out, partition, key, value);
}

static bool is_current_key(const struct merge_pass *c)
{
    struct glint_slice key = c->merge.key;
    return key.size == c->key.size && bytes_equal(key.data, c->key.data, key.size);
}

static int combine_records(struct merge_pass *c, bool complete, const bool *raw,
                           struct run_writer *out, uint32_t partition)
{
    int more, r;
    while ((more = merge_next(&c->merge)) > 0) {
        /* After a full chunk the combiner is not started: the same key then begins a new group. */
        if (c->combiner.started && !is_current_key(c)) {
            r = emit_combined(c, complete, out, partition);
            if (r < 0) return r;
        }
        if (!c->combiner.started) {
            c->key.size = 0;
            if (!buffer_append(&c->key, c->merge.key.data, c->merge.key.size))
                return error_no_memory(&out->task->error);
        }
        r = combiner_add_from_merge(&c->combiner, &c->merge, raw[c->merge.input]);
        if (r == 0 && combiner_chunk_is_full(&c->combiner))
            r = emit_combined(c, complete, out, partition);
        if (r < 0) return r;
    }
    /* At the end the last group is still in the combiner. */
    return more == 0 && c->combiner.started ? emit_combined(c, complete, out, partition) : more;
}

int merge_pass_run(struct merge_pass *c, enum merge_pass_mode mode, const struct run_slice *inputs,
                   const bool *raw, uint32_t count, struct run_writer *out, uint32_t partition)
{
    assert(count <= MERGE_FAN_IN_MAX && !c->combiner.started);
    const struct aggregator *f = &c->combiner.aggregator;
    int r = merge_open(&c->merge, f->task, inputs, count, f->spec->dependency.descending);
    if (r < 0) return r;
    if (mode == MERGE_PASS_COPY) return copy_records(c, out, partition);
    return combine_records(c, mode == MERGE_PASS_COMBINE_FINAL, raw, out, partition);
}

void merge_pass_fini(struct merge_pass *c)
{
    merge_close(&c->merge);
    combiner_fini(&c->combiner);
    buffer_fini(&c->key);
}

void merge_pass_count_spill(struct glint_task *task, const struct run *run)
{
    task->counters.values[COUNT_SPILLS]++;
    task->counters.values[COUNT_SPILL_BYTES] += (int64_t)run->source.bytes;
}

/* ---- read */

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
    struct run_slice *inputs;
    uint32_t count, capacity;
    struct run **merged; /* [capacity]; the temporary run of each input, owned; NULL: a source's */
    bool record_pending; /* the current record was not consumed yet */
    bool ended;          /* there are no more records */
    bool pending;        /* `key` and `value` are the next row: the last batch was full */
    struct glint_slice key, value;
    struct buffer key_bytes; /* of the current group */
    struct batch_builder builder;
};

static bool combines_values(const struct shuffle_spec *spec)
{
    return spec->dependency.combine != COMBINE_NONE;
}

static void destroy_merged(struct run *run)
{
    if (run != NULL) run_destroy(run);
    mem_free(run);
}

/* Merges `count` adjacent inputs into a new run, in memory or on disk, owned by the caller.
 *
 * Equal keys are combined only where that cannot change the result. Without map_side the values are
 * raw: combining would turn them into accumulators, but the final merge takes all inputs for raw,
 * so it must not happen unless both have one form. A zero of COMBINE_FOLD is merged in
 * next_combined. In a sequential shuffle only the first range may combine, since the values of
 * later ranges must be merged one by one into the result of the earlier ones. */
static int merge_input_range(struct shuffle_reader *r, struct merge_pass *c,
                             const struct run_slice *inputs, uint32_t count, bool is_first,
                             struct run **out)
{
    const struct shuffle_spec *spec = r->spec;
    bool combine = combines_values(spec) &&
                   (spec->map_side || aggregator_values_are_accumulators(spec)) &&
                   (is_first || !aggregator_is_sequential(spec));
    bool raw[MERGE_FAN_IN_MAX];
    assert(count > 0 && count <= MERGE_FAN_IN_MAX);
    for (uint32_t i = 0; i < count; i++) raw[i] = !spec->map_side;
    struct run_writer w;
    struct run *run = mem_zalloc(sizeof *run);
    if (run == NULL) return error_no_memory(&r->task->error);
    int e = run_writer_init(&w, r->task, 1, MAP_OUTPUT_MEMORY_BYTES);
    if (e == 0)
        e = merge_pass_run(c, combine ? MERGE_PASS_COMBINE : MERGE_PASS_COPY, inputs, raw, count,
                           &w, 0);
    if (e == 0) e = run_writer_finish(&w, run);
    if (e < 0) {
        run_writer_abort(&w);
        mem_free(run);
        return e;
    }
    merge_pass_count_spill(r->task, run);
    *out = run;
    return 0;
}

/* Replaces each range of MERGE_FAN_IN_MAX inputs with one merged input, in place and in order.
 * Frees the temporary runs that it has read as it goes, to limit the disk space. */
static int merge_inputs(struct shuffle_reader *r, struct merge_pass *c)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < r->count; i += MERGE_FAN_IN_MAX, to++) {
        uint32_t n = r->count - i < MERGE_FAN_IN_MAX ? r->count - i : MERGE_FAN_IN_MAX;
        struct run *run = NULL;
        if (n > 1) {
            int e = merge_input_range(r, c, r->inputs + i, n, i == 0, &run);
            if (e < 0) return e;
            for (uint32_t k = i; k < i + n; k++) {
                destroy_merged(r->merged[k]);
                r->merged[k] = NULL;
            }
            r->inputs[to] = run_slice(run, 0);
        } else {
            /* One input is left over: move it, do not copy its records. */
            run = r->merged[i];
            r->merged[i] = NULL;
            r->inputs[to] = r->inputs[i];
        }
        assert(r->merged[to] == NULL);
        r->merged[to] = run;
    }
    r->count = to;
    return 0;
}

static int merge_down_to_fan_in(struct shuffle_reader *r)
{
    if (r->count <= MERGE_FAN_IN_MAX) return 0;
    struct merge_pass c;
    int e = merge_pass_init(&c, r->task, r->spec, r->state);
    while (e == 0 && r->count > MERGE_FAN_IN_MAX) e = merge_inputs(r, &c);
    merge_pass_fini(&c);
    return e;
}

/* Makes the runs that were spilled while gathering the inputs of the merge. */
static void take_spilled_runs(struct shuffle_reader *r, struct run_slice *inputs)
{
    struct gather *g = &r->gather;
    for (uint32_t i = 0; i < g->run_count; i++) inputs[i] = run_slice(g->runs[i], 0);
    mem_free(r->inputs);
    mem_free(r->merged);
    r->inputs = inputs;
    r->merged = g->runs;
    r->count = r->capacity = g->run_count;
    g->runs = NULL;
    g->run_count = 0;
}

static int gather_records(struct shuffle_reader *r)
{
    struct gather *g = &r->gather;
    /* Values must have the form of accumulators, and no zero may be missing. */
    r->passes_single = combines_values(r->spec) && aggregator_values_are_accumulators(r->spec) &&
                       r->combiner.aggregator.acc_struct == 0 &&
                       (r->spec->dependency.combine != COMBINE_FOLD || r->spec->map_side);
    const bool may_combine = r->passes_single && r->combiner.aggregator.chunk_bytes_max == 0;
    int e = gather_inputs(g, r->task, r->spec, r->state, may_combine, r->inputs, r->count);
    if (e < 0) return e;
    if (g->run_count > 0) {
        struct run_slice *inputs = mem_alloc(g->run_count * sizeof *inputs);
        if (inputs == NULL) return error_no_memory(&r->task->error);
        take_spilled_runs(r, inputs);
        return 0;
    }
    r->gathered = true;
    if (g->combined) {
        r->at = g->table.order.slot;
        r->at_end = g->table.order.slots_end;
        return 0;
    }
    r->at = record_buffer_entries(&g->buffer);
    r->at_end = r->at + record_buffer_count(&g->buffer);
    if (!g->frequent.found)
        batch_builder_borrow(&r->builder, &g->buffer.records, combines_values(r->spec));
    return 0;
}

/* A merge of sorted inputs reads each record once, in any amount of memory, but costs several
 * comparisons per record; a sort in memory costs less. */
static bool must_gather(const struct shuffle_reader *r)
{
    bool sorted = true;
    for (uint32_t i = 0; i < r->count; i++) sorted = sorted && r->inputs[i].sorted;
    return !sorted || (r->count > 1 && gather_is_cheaper(r->task, r->inputs, r->count));
}

static int open_run_inputs(struct shuffle_reader *r, const struct run_slice *inputs, uint32_t count)
{
    r->inputs = mem_alloc(count * sizeof *r->inputs);
    r->merged = mem_zalloc(count * sizeof *r->merged);
    r->capacity = count;
    if (r->inputs == NULL || r->merged == NULL) return error_no_memory(&r->task->error);
    /* Skip empty inputs: they would count for the fan-in. */
    for (uint32_t i = 0; i < count; i++)
        if (inputs[i].part.records > 0) r->inputs[r->count++] = inputs[i];
    int e = must_gather(r) ? gather_records(r) : 0;
    if (e == 0 && !r->gathered) e = merge_down_to_fan_in(r);
    if (e < 0 || r->gathered) return e;
    return merge_open(&r->merge, r->task, r->inputs, r->count, r->spec->dependency.descending);
}

struct shuffle_reader *shuffle_reader_open(struct glint_task *task, const struct shuffle_spec *spec,
                                           void *state, const struct run_slice *inputs,
                                           uint32_t count)
{
    struct shuffle_reader *r = mem_zalloc(sizeof *r);
    if (r == NULL) {
        error_no_memory(&task->error);
        return NULL;
    }
    r->task = task;
    r->spec = spec;
    r->state = state;
    r->builder.key.type = spec->key;
    r->builder.value.type = spec->acc;
    if (combiner_init(&r->combiner, task, spec, state) < 0 ||
        open_run_inputs(r, inputs, count) < 0) {
        shuffle_reader_close(r);
        return NULL;
    }
    return r;
}

/* The record at r->at. */
static struct buffered_record gathered_record(struct shuffle_reader *r)
{
    if (r->gather.combined)
        return combine_buffer_get(&r->gather.table.buffer, r->at, r->at_end, r->number);
    record_buffer_prefetch(&r->gather.buffer, r->at, r->at_end);
    return record_buffer_get(&r->gather.buffer, sort_entry_reference(r->at));
}

/* Moves to the next record and sets record_key. Returns 1, 0 at the end, or a negative code. */
static int next_record(struct shuffle_reader *r)
{
    int more;
    if (r->gathered) {
        more = r->at < r->at_end;
        if (more == 0) return r->ended = true, 0;
        const struct buffered_record record = gathered_record(r);
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
static bool frequent_is_next(const struct shuffle_reader *r, bool ended)
{
    const struct frequent_key *f = &r->gather.frequent;
    if (!f->found || r->frequent_ended) return false;
    const struct shuffle_position at = {0, r->record_key}, frequent = {0, f->key};
    return ended || shuffle_compare_positions(r->spec, at, frequent) > 0;
}

/* The next record if nothing is combined: 1, 0 at the end, or a negative code. */
static int next_passed(struct shuffle_reader *r)
{
    int more = 1;
    if (!r->reading_frequent) {
        if (r->ended) return 0;
        more = next_record(r);
        if (more < 0) return more;
        r->reading_frequent = frequent_is_next(r, more == 0);
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

static bool is_group_key(const struct shuffle_reader *r)
{
    struct glint_slice key = r->record_key;
    return key.size == r->key.size && bytes_equal(key.data, r->key.data, key.size);
}

/* Combines the values of the current key until the next key or until a chunk is full. A record is
 * pending. Returns 1 or a negative code. */
static int combine_group(struct shuffle_reader *r)
{
    bool raw = !r->spec->map_side;
    do {
        int e = r->gathered ? combiner_add_value(&r->combiner, r->record_value, raw)
                            : combiner_add_from_merge(&r->combiner, &r->merge, raw);
        if (e < 0) return e;
        r->record_pending = false;
        if (combiner_chunk_is_full(&r->combiner)) return 1;
        int more = next_record(r);
        if (more < 0) return more;
        r->record_pending = more > 0;
    } while (r->record_pending && is_group_key(r));
    return 1;
}

/* If the current record is the only one of its key, and its value is the result as it is, consumes
 * it: most keys of an aggregation that hardly combines. Returns 1, or 0: use combine_group. */
static int single_value(struct shuffle_reader *r)
{
    if (!r->passes_single || !r->gathered) return 0;
    if (r->at < r->at_end && !r->gather.combined) {
        const struct glint_slice next =
            record_buffer_get(&r->gather.buffer, sort_entry_reference(r->at)).key;
        if (next.size == r->key.size && bytes_equal(next.data, r->key.data, next.size)) return 0;
    }
    r->value = r->record_value;
    r->record_pending = false;
    return 1;
}

/* The next combined record: 1, 0 at the end, or a negative code. */
static int next_combined(struct shuffle_reader *r)
{
    if (r->ended) return 0;
    if (!r->record_pending) {
        int more = next_record(r);
        if (more <= 0) return more;
        r->record_pending = true;
    }
    r->key = r->record_key;
    if (!r->gathered) {
        /* Copy the key: merge_next, which looks for more values of it, invalidates the merge's. */
        r->key_bytes.size = 0;
        if (!buffer_append(&r->key_bytes, r->key.data, r->key.size))
            return error_no_memory(&r->task->error);
        r->key = (struct glint_slice){r->key_bytes.data, r->key_bytes.size};
    }
    const int single = single_value(r);
    if (single != 0) return single;
    int e = combine_group(r);
    if (e < 0) return e;
    /* Without map_side no map task has merged the zero, so it is merged here, once per key. */
    e = combiner_finish_value(&r->combiner, !r->spec->map_side, &r->value);
    return e < 0 ? e : 1;
}

static int set_batch_error(struct shuffle_reader *r, enum batch_builder_result why)
{
    if (why == BATCH_BUILDER_NO_MEMORY) return error_no_memory(&r->task->error);
    return error_set(&r->task->error, GLINT_E_SHUFFLE_CORRUPT, NULL,
                     "a record in a shuffle does not match its types");
}

int shuffle_reader_next(struct shuffle_reader *r, struct glint_batch *out)
{
    /* Once per batch, so that a cancelled task ends soon at little cost. */
    if (task_is_cancelled(r->task))
        return error_set(&r->task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    batch_builder_clear(&r->builder);
    for (;;) {
        if (!r->pending) {
            int more = combines_values(r->spec) ? next_combined(r) : next_passed(r);
            if (more < 0) return more;
            if (more == 0) break;
            r->pending = true;
        }
        enum batch_builder_result added = batch_builder_add(&r->builder, r->key, r->value);
        if (added == BATCH_BUILDER_FULL) break;
        if (added != BATCH_BUILDER_ADDED) return set_batch_error(r, added);
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
    for (uint32_t i = 0; r->merged != NULL && i < r->capacity; i++) destroy_merged(r->merged[i]);
    mem_free(r->merged);
    mem_free(r->inputs);
    buffer_fini(&r->key_bytes);
    batch_builder_fini(&r->builder);
    mem_free(r);
}
