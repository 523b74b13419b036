/* See gather.h. A record that is large for the budget is not copied into the buffer: it becomes a
 * run of its own. */
#include "engine/shuffle/gather.h"

#include "engine/shuffle/merge_pass.h"

#include <assert.h>
#include <math.h>

#define LARGE_SHARE      4   /* a record of more than 1/4 of the budget */
#define COMBINED_RECORDS 2.5 /* per key: fewer are sorted faster than combined in the table */

static uint64_t gather_budget(const struct glint_task *task)
{
    return task->options->memory_bytes / 2;
}

/* If the sums of a damaged index overflow, too little is reserved at once, and nothing else
 * happens. */
static uint64_t inputs_bytes(const struct run_slice *inputs, uint32_t count, uint64_t *out_records,
                             uint64_t *out_raw)
{
    *out_records = *out_raw = 0;
    for (uint32_t i = 0; i < count; i++) {
        *out_records += inputs[i].part.records;
        *out_raw += inputs[i].part.raw;
    }
    return record_buffer_bytes_of(*out_records, *out_raw);
}

bool gather_is_cheaper(const struct glint_task *task, const struct run_slice *inputs,
                       uint32_t count)
{
    uint64_t records, raw;
    return inputs_bytes(inputs, count, &records, &raw) <= gather_budget(task) &&
           raw / MERGE_RECORD_BYTES < records;
}

/* Finishes `w` and appends its run, on disk. On an error `w` is aborted. */
static int add_run(struct gather *g, struct run_writer *w)
{
    struct run *run = NULL;
    int r = 0;
    if (!array_reserve(&g->runs, &g->run_capacity, g->run_count + UINT64_C(1), sizeof *g->runs) ||
        (run = mem_zalloc(sizeof *run)) == NULL)
        r = error_no_memory(&g->task->error);
    if (r == 0) r = run_writer_finish(w, run);
    if (r < 0) {
        run_writer_abort(w);
        mem_free(run);
        return r;
    }
    g->runs[g->run_count++] = run;
    merge_pass_count_spill(g->task, run);
    return 0;
}

static int write_records(struct gather *g, struct run_writer *w)
{
    if (!record_buffer_sort(&g->buffer, true)) return error_no_memory(&g->task->error);
    const struct sort_entry *at = record_buffer_entries(&g->buffer);
    const struct sort_entry *end = at + record_buffer_count(&g->buffer);
    int r = 0;
    for (; at < end && r == 0; at++) {
        record_buffer_prefetch(&g->buffer, at, end);
        const struct buffered_record record =
            record_buffer_get(&g->buffer, sort_entry_reference(at));
        r = run_writer_add(w, 0, record.key, record.value);
    }
    return r;
}

/* Writes the buffer to disk as a sorted run, and empties it. */
static int spill_buffer(struct gather *g)
{
    struct run_writer w;
    if (record_buffer_count(&g->buffer) == 0) return 0;
    int r = run_writer_init(&w, g->task, 1, 0);
    if (r < 0) return r;
    r = write_records(g, &w);
    record_buffer_clear(&g->buffer);
    if (r == 0) return add_run(g, &w);
    run_writer_abort(&w);
    return r;
}

static int write_large_record(struct gather *g, struct glint_slice key, struct glint_slice value)
{
    struct run_writer w;
    int r = spill_buffer(g);
    if (r == 0) r = run_writer_init(&w, g->task, 1, 0);
    if (r < 0) return r;
    r = run_writer_add(&w, 0, key, value);
    if (r == 0) return add_run(g, &w);
    run_writer_abort(&w);
    return r;
}

/* The first record that needs a match: all that it could match are gathered. Adding a key costs
 * about as much as looking one up, and leaving out a record saves several times that. */
static bool begin_matching(struct gather *g)
{
    const uint64_t gathered = record_buffer_count(&g->buffer);
    g->matching = true;
    if (g->run_count > 0 || gathered / 4 > g->records - gathered) return true;
    return match_filter_build(&g->filter, &g->buffer);
}

/* Whether the current record, of this value, is not needed. */
static bool lacks_match(struct gather *g, struct glint_slice value)
{
    return g->filter.words != NULL && g->spec->needs_match(value) &&
           !match_filter_may_match(&g->filter, g->reader.key);
}

static int gather_record(struct gather *g)
{
    struct glint_slice value;
    const uint64_t size = g->reader.key.size + g->reader.value_size;
    const uint64_t bytes = record_buffer_bytes_of(1, size);
    const bool large = bytes > g->budget / LARGE_SHARE;
    int r = run_reader_value(&g->reader, &g->scratch, &value);
    if (r < 0) return r;
    if (g->spec->needs_match != NULL && !g->matching && g->spec->needs_match(value) &&
        !begin_matching(g))
        return error_no_memory(&g->task->error);
    if (lacks_match(g, value)) return 0;
    if (!large && record_buffer_memory_bytes(&g->buffer) + bytes > g->budget) r = spill_buffer(g);
    if (r < 0) return r;
    return large ? write_large_record(g, g->reader.key, value)
                 : record_buffer_add(&g->buffer, g->task, 0, g->reader.key, value);
}

/* `skipped`: the input's index among those of the frequent key. */
static int gather_input(struct gather *g, struct run_slice input, uint32_t skipped)
{
    int more = 0, r = run_reader_open(&g->reader, g->task, input);
    while (r == 0 && (more = run_reader_next(&g->reader)) > 0)
        r = frequent_key_equals(&g->frequent, g->reader.key)
                ? frequent_key_skip(&g->frequent, &g->reader, skipped)
                : gather_record(g);
    return r < 0 ? r : more;
}

/* Whether keys repeat often enough. The number of different keys grows as a power of the number of
 * records (Heaps' law), with the exponent that the first two inputs show. Where it stops growing,
 * because all keys have come, this gives too many keys; the opposite assumption, that all inputs
 * have as many keys in common as the first two, gives far too few where some keys are frequent. */
static bool table_pays(const struct gather *g, const struct run_slice *inputs, uint32_t count)
{
    if (count < 2) return true;
    const double first = (double)inputs[0].part.records, second = (double)inputs[1].part.records;
    if (first < 1 || second < 1) return false;
    const double exponent =
        log((double)gather_table_keys(&g->table) / first) / log((first + second) / first);
    const double keys = first * pow((double)g->records / first, exponent);
    return (double)g->records >= COMBINED_RECORDS * keys;
}

static int add_from_table(void *gather, uint32_t partition, struct glint_slice key,
                          struct glint_slice value)
{
    struct gather *g = gather;
    return record_buffer_add(&g->buffer, g->task, partition, key, value);
}

static int read_to_table(struct gather *g, struct run_slice input)
{
    struct glint_slice value;
    int more = 0, r = run_reader_open(&g->reader, g->task, input);
    while (r == 0 && (more = run_reader_next(&g->reader)) > 0) {
        r = run_reader_value(&g->reader, &g->scratch, &value);
        if (r == 0) r = gather_table_add(&g->table, g->reader.key, value);
    }
    if (r == 0) r = more;
    return r < 0 ? r : gather_table_finish_input(&g->table);
}

/* Combines the inputs in the table; sets *out_read to how many. If that does not pay it stops after
 * a few. */
static int combine_inputs(struct gather *g, void *state, const struct run_slice *inputs,
                          uint32_t count, uint32_t *out_read)
{
    int r = gather_table_open(&g->table, g->task, g->spec, state);
    uint32_t i = 0;
    for (; i < count && r == 0 && (i != 2 || table_pays(g, inputs, i)); i++)
        r = read_to_table(g, inputs[i]);
    *out_read = i;
    g->combined = r == 0 && i == count;
    return r == 0 && g->combined ? gather_table_sort(&g->table) : r;
}

/* Whether leaving out the records of a frequent key may save something: without combining on the
 * map side there can be one, and if all inputs fit into memory, nothing is written to disk. */
static bool may_be_frequent(const struct shuffle_spec *spec, const struct run_slice *inputs,
                            uint32_t count, bool fits)
{
    bool kept = false;
    for (uint32_t i = 0; i < count; i++) kept = kept || frequent_key_keeps(&inputs[i]);
    return spec->dependency.combine == COMBINE_NONE && !(fits && kept);
}

/* Reads all inputs, in order; `look`: for a frequent key. */
static int gather_all(struct gather *g, const struct run_slice *inputs, uint32_t count,
                      bool look)
{
    uint64_t gathered = 0;
    uint32_t first = 0; /* of the inputs of the frequent key */
    int r = 0;
    for (uint32_t i = 0; i < count && r == 0; i++) {
        if (look && !g->frequent.found) {
            r = frequent_key_look(&g->frequent, g->task, &g->buffer, gathered, inputs + i,
                                  count - i);
            first = i;
        }
        if (r == 0) r = gather_input(g, inputs[i], i - first);
        gathered += inputs[i].part.records;
    }
    return r < 0 ? r : frequent_key_finish(&g->frequent);
}

/* Reserves memory for all records, or for as many as the budget holds: a buffer that grows clears
 * and copies its pages again each time. Pages that stay unused cost nothing. */
static bool reserve_buffer(struct gather *g, uint64_t bytes, uint64_t records, uint64_t raw)
{
    const double share = bytes > g->budget ? (double)g->budget / (double)bytes : 1;
    return record_buffer_reserve(&g->buffer, (uint64_t)((double)records * share),
                                 (uint64_t)((double)raw * share));
}

/* Collects the inputs, and before them the records that the table has. */
static int collect_inputs(struct gather *g, const struct run_slice *inputs, uint32_t count,
                          bool look)
{
    int r = combine_buffer_move(&g->table.buffer, add_from_table, g);
    gather_table_fini(&g->table);
    if (r == 0) r = gather_all(g, inputs, count, look);
    run_reader_close(&g->reader);
    buffer_fini(&g->scratch);
    match_filter_fini(&g->filter);
    return r;
}

int gather_inputs(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state, bool may_combine, const struct run_slice *inputs, uint32_t count)
{
    uint64_t records, raw;
    *g = (struct gather){.task = task, .spec = spec, .budget = gather_budget(task)};
    g->buffer.descending = spec->dependency.descending;
    g->buffer.key = spec->key;
    const uint64_t bytes = inputs_bytes(inputs, count, &records, &raw);
    const bool fits = bytes <= g->budget;
    g->records = records;
    uint32_t read = 0;
    int r = may_combine && fits && count > 1 ? combine_inputs(g, state, inputs, count, &read) : 0;
    if (r < 0 || g->combined) return r;
    if (!reserve_buffer(g, bytes, records, raw)) return error_no_memory(&task->error);
    r = collect_inputs(g, inputs + read, count - read, may_be_frequent(spec, inputs, count, fits));
    if (r < 0) return r;
    if (g->run_count == 0)
        return record_buffer_sort(&g->buffer, true) ? 0 : error_no_memory(&task->error);
    r = spill_buffer(g);
    record_buffer_fini(&g->buffer); /* its memory is needed for merging */
    return r;
}

void gather_fini(struct gather *g)
{
    for (uint32_t i = 0; i < g->run_count; i++) {
        run_destroy(g->runs[i]);
        mem_free(g->runs[i]);
    }
    mem_free(g->runs);
    gather_table_fini(&g->table);
    frequent_key_fini(&g->frequent);
    match_filter_fini(&g->filter);
    run_reader_close(&g->reader);
    buffer_fini(&g->scratch);
    record_buffer_fini(&g->buffer);
    *g = (struct gather){.runs = NULL};
}
