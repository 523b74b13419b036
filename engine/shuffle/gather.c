/* See shuffle_internal.h. A record that is large for the budget is not copied into the buffer: it
 * becomes a run of its own. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/shuffle/shuffle_internal.h"

#include <assert.h>
#include <math.h>

/* ---- Batches. A record that does not fit into the column's buffer is never copied, since
 * it may have gigabytes: it becomes the only row of a batch that points to its bytes. */

static bool cell_fits_column_type(const struct batch_builder_column *c, struct glint_slice cell)
{
    if (codec_type_is_bytes(c->type)) return true;
    return cell.size == (c->type == GLINT_NONE ? 0 : CODEC_NUMBER_BYTES);
}

static bool cell_fits_column_buffer(const struct batch_builder_column *c, struct glint_slice cell)
{
    return !codec_type_is_bytes(c->type) || c->used + cell.size <= EMIT_BUFFER_BYTES;
}

static bool append_builder_cell(struct batch_builder_column *c, uint32_t row,
                                struct glint_slice cell)
{
    if (codec_type_is_bytes(c->type)) {
        uint64_t at = c->bytes.size;
        if (c->borrowed == NULL) {
            if (!buffer_append(&c->bytes, cell.data, cell.size)) return false;
        } else {
            at = (uint64_t)(cell.data - c->borrowed->data);
            assert(at + cell.size <= c->borrowed->size);
        }
        c->start[row] = (uint32_t)at;
        c->end[row] = (uint32_t)(at + cell.size);
        c->used += cell.size;
        return true;
    }
    union glint_value v = {.i64 = 0};
    bool decoded = codec_decode(c->type, cell, &v);
    assert(decoded);
    if (c->type == GLINT_I64) c->numbers.i64[row] = v.i64;
    if (c->type == GLINT_F64) c->numbers.f64[row] = v.f64;
    return true;
}

void batch_builder_borrow(struct batch_builder *r, const struct buffer *memory, bool keys_only)
{
    assert(r->count == 0);
    if (memory->size > UINT32_MAX) return;
    r->key.borrowed = memory;
    if (!keys_only) r->value.borrowed = memory;
}

enum batch_builder_result batch_builder_add(struct batch_builder *r, struct glint_slice key,
                                            struct glint_slice value)
{
    assert(r->count <= BATCH_ROWS_MAX);
    if (!cell_fits_column_type(&r->key, key) || !cell_fits_column_type(&r->value, value))
        return BATCH_BUILDER_WRONG_SIZE;
    if (r->full || r->count == BATCH_ROWS_MAX) return BATCH_BUILDER_FULL;
    if (!cell_fits_column_buffer(&r->key, key) || !cell_fits_column_buffer(&r->value, value)) {
        if (r->count > 0) return BATCH_BUILDER_FULL;
        /* Reference the record; a number column still needs its array element. */
        r->full = true;
        r->single_key = key;
        r->single_value = value;
        if (!codec_type_is_bytes(r->key.type)) append_builder_cell(&r->key, 0, key);
        if (!codec_type_is_bytes(r->value.type)) append_builder_cell(&r->value, 0, value);
    } else if (!append_builder_cell(&r->key, r->count, key) ||
               !append_builder_cell(&r->value, r->count, value)) {
        return BATCH_BUILDER_NO_MEMORY;
    }
    r->count++;
    return BATCH_BUILDER_ADDED;
}

static struct glint_column make_builder_column(const struct batch_builder_column *c, bool single,
                                               struct glint_slice cell)
{
    struct glint_column out = {.type = c->type};
    if (c->type == GLINT_I64) out.i64 = c->numbers.i64;
    if (c->type == GLINT_F64) out.f64 = c->numbers.f64;
    if (!codec_type_is_bytes(c->type)) return out;
    if (single) {
        out.base = cell.data;
        out.size = cell.size;
    } else {
        const struct buffer *bytes = c->borrowed != NULL ? c->borrowed : &c->bytes;
        out.base = bytes->data;
        out.size = bytes->size;
        out.start = c->start;
        out.end = c->end;
    }
    return out;
}

void batch_builder_get_batch(const struct batch_builder *r, struct glint_batch *out)
{
    assert(r->count > 0 && (!r->full || r->count == 1));
    *out = (struct glint_batch){.rows = r->count,
                                .key = make_builder_column(&r->key, r->full, r->single_key),
                                .value = make_builder_column(&r->value, r->full, r->single_value)};
}

void batch_builder_clear(struct batch_builder *r)
{
    r->count = 0;
    r->full = false;
    r->key.bytes.size = r->value.bytes.size = r->key.used = r->value.used = 0;
}

void batch_builder_fini(struct batch_builder *r)
{
    buffer_fini(&r->key.bytes);
    buffer_fini(&r->value.bytes);
}

/* ---- The combine buffer of the map side does the work; records are passed to it in
 * batches. */

/* Returns 0, or a negative code with the task's error set. Call gather_table_fini in both cases.
 * `spec` and `state` are borrowed. */
static int gather_table_open(struct gather_table *t, struct glint_task *task,
                             const struct shuffle_spec *spec, void *state)
{
    t->spec = *spec;
    t->spec.partitions = 1; /* all records are of one, and no partitioner is open */
    t->spec.dependency.partitioner = PARTITION_HASH;
    t->rows = mem_zalloc(sizeof *t->rows);
    if (t->rows == NULL) return error_no_memory(&task->error);
    t->rows->key.type = spec->key;
    t->rows->value.type = spec->acc;
    return combine_buffer_init(&t->buffer, task, &t->spec, state);
}

static int gather_table_finish_input(struct gather_table *t)
{
    struct glint_batch batch;
    if (t->rows->count == 0) return 0;
    batch_builder_get_batch(t->rows, &batch);
    const int r = combine_buffer_combine_batch(&t->buffer, &batch);
    batch_builder_clear(t->rows);
    return r;
}

/* Adds a record, copied; `finish_input` adds those that are not in the table yet. Return 0 or a
 * negative code with the task's error set. */
static int gather_table_add(struct gather_table *t, struct glint_slice key,
                            struct glint_slice value)
{
    struct glint_task *task = t->buffer.task;
    enum batch_builder_result added = batch_builder_add(t->rows, key, value);
    if (added == BATCH_BUILDER_FULL) {
        if (task_check_cancelled(task) != 0) return GLINT_E_INTERRUPTED;
        const int r = gather_table_finish_input(t);
        if (r < 0) return r;
        added = batch_builder_add(t->rows, key, value);
    }
    if (added == BATCH_BUILDER_NO_MEMORY) return error_no_memory(&task->error);
    if (added != BATCH_BUILDER_ADDED)
        return error_set(&task->error, GLINT_E_SHUFFLE_CORRUPT, NULL,
                         "a record in a shuffle does not match its types");
    /* A large record refers to memory of the caller. */
    return t->rows->full ? gather_table_finish_input(t) : 0;
}

/* Frees everything. Zeros are fine. */
static void gather_table_fini(struct gather_table *t)
{
    combine_buffer_order_fini(&t->order);
    combine_buffer_fini(&t->buffer);
    if (t->rows != NULL) batch_builder_fini(t->rows);
    mem_free(t->rows);
    *t = (struct gather_table){.rows = NULL};
}

/* ---- The key is looked for among the records gathered so far, with the majority
 * vote of Boyer and Moore; whether it is found has no effect on the order of records, only on what
 * the task costs. */

#define LOOK_RECORDS 1024u /* as many are looked at, and there must be as many */

static struct glint_slice frequent_entry_key(const struct record_buffer *b,
                                             const struct sort_entry *e)
{
    return record_buffer_get(b, sort_entry_reference(e)).key;
}

/* Returns whether more than half of the buffer's last records have one key, and sets *out to it. */
static bool find_majority_key(const struct record_buffer *b, struct glint_slice *out)
{
    const struct sort_entry *end = record_buffer_entries(b) + record_buffer_count(b);
    const struct sort_entry *begin = end - LOOK_RECORDS;
    uint32_t votes = 0, count = 0;
    struct glint_slice candidate = {NULL, 0};
    for (const struct sort_entry *e = begin; e < end; e++) {
        const struct glint_slice key = frequent_entry_key(b, e);
        if (votes == 0) candidate = key;
        votes = votes == 0 || slices_equal(key, candidate) ? votes + 1 : votes - 1;
    }
    for (const struct sort_entry *e = begin; e < end; e++)
        count += slices_equal(frequent_entry_key(b, e), candidate);
    *out = candidate;
    return count > LOOK_RECORDS / 2;
}

/* Call it before each input, as long as no key is found: `gathered` records of the inputs before
 * were added to `buffer`. Looks at its last records from time to time. If most of them have one
 * key, sets `found`; then the records of that key in `inputs`, those that are left, must not be
 * added to the buffer, but passed to frequent_key_set_aside. Returns 0 or NO_MEMORY with the task's
 * error set, as do the others with their codes; call frequent_key_fini in any case. */
static int frequent_key_detect(struct frequent_key *f, struct glint_task *task,
                               const struct record_buffer *buffer, uint64_t gathered,
                               const struct run_slice *inputs, uint32_t count)
{
    struct glint_slice key;
    assert(!f->found);
    if (gathered < f->next_check || record_buffer_count(buffer) < LOOK_RECORDS) return 0;
    f->next_check = 2 * gathered; /* the cost of all checks is small */
    if (!find_majority_key(buffer, &key)) return 0;
    f->inputs = mem_alloc(count * sizeof *inputs);
    f->is_kept = mem_alloc(count * sizeof *f->is_kept);
    if (f->inputs == NULL || f->is_kept == NULL || !buffer_append(&f->bytes, key.data, key.size))
        return error_no_memory(&task->error);
    for (uint32_t i = 0; i < count; i++) {
        f->inputs[i] = inputs[i];
        f->is_kept[i] = frequent_key_keeps(&inputs[i]);
    }
    f->key = buffer_slice(&f->bytes);
    f->count = count;
    f->task = task;
    f->found = true;
    return 0;
}

/* Leaves out the current record of `reader`, which reads inputs[input]. */
static int frequent_key_set_aside(struct frequent_key *f, struct run_reader *reader, uint32_t input)
{
    struct glint_slice value;
    assert(f->found && input < f->count);
    if (!f->is_kept[input]) return 0;
    int r = f->writer.task != NULL ? 0 : run_writer_init(&f->writer, f->task, f->count, 0);
    if (r == 0) r = run_reader_value(reader, &f->scratch, &value);
    return r < 0 ? r : run_writer_add(&f->writer, input, f->key, value);
}

/* Call it once, after the last input. */
static int frequent_key_finish(struct frequent_key *f)
{
    if (f->writer.task == NULL) return 0;
    int r = run_writer_finish(&f->writer, &f->kept);
    if (r < 0) return r;
    f->kept.sorted = true;
    count_spill(f->task, &f->kept);
    return 0;
}

/* Opens the records of input `at`: those kept, none if there are none, or the input itself. */
static int open_frequent_key_input(struct frequent_key *f)
{
    struct run_slice input = f->inputs[f->at];
    if (f->is_kept[f->at] && f->kept.partitions > 0)
        input = run_slice(&f->kept, f->at);
    else if (f->is_kept[f->at])
        input.part = (struct run_part){.records = 0};
    f->reading = true;
    return run_reader_open(&f->reader, f->task, input);
}

int frequent_key_next(struct frequent_key *f, struct glint_slice *out)
{
    while (f->at < f->count) {
        int more = f->reading ? 1 : open_frequent_key_input(f);
        if (more < 0) return more;
        while ((more = run_reader_next(&f->reader)) > 0) {
            if (!frequent_key_equals(f, f->reader.key)) continue;
            const int r = run_reader_value(&f->reader, &f->scratch, out);
            return r < 0 ? r : 1;
        }
        if (more < 0) return more;
        f->reading = false;
        f->at++;
    }
    return 0;
}

/* Frees everything and removes the run. Zeros are fine. */
static void frequent_key_fini(struct frequent_key *f)
{
    run_reader_close(&f->reader);
    run_writer_abort(&f->writer);
    run_destroy(&f->kept);
    buffer_fini(&f->bytes);
    buffer_fini(&f->scratch);
    mem_free(f->inputs);
    mem_free(f->is_kept);
    *f = (struct frequent_key){.found = false};
}

/* ---- With sixteen bits per key about one key in fifty passes by chance. */

#define KEYS_PER_WORD 4

/* Adds the keys of all records. Returns false when out of memory. */
static bool match_filter_build(struct match_filter *f, const struct record_buffer *records)
{
    const struct sort_entry *at = record_buffer_entries(records);
    const uint64_t keys = record_buffer_count(records), words = keys / KEYS_PER_WORD + 1;
    assert(f->words == NULL);
    if (words > UINT32_MAX) return true; /* all keys may match */
    f->words = mem_zalloc(words * sizeof *f->words);
    if (f->words == NULL) return false;
    f->count = (uint32_t)words;
    for (const struct sort_entry *end = at + keys; at < end; at++) {
        const struct buffered_record record = record_buffer_get(records, sort_entry_reference(at));
        uint64_t bits, *word = match_filter_find(f, record.key, &bits);
        *word |= bits;
    }
    return true;
}

/* Frees the words: from now on all keys may match. Zeros are fine. */
static void match_filter_fini(struct match_filter *f)
{
    mem_free(f->words);
    f->words = NULL;
}

void match_filter_drop_if_useless(struct match_filter *f)
{
    if (f->passed > f->asked / 8 * 7) match_filter_fini(f);
}

/* ---- gather */

#define LARGE_SHARE      4   /* a record of more than 1/4 of the budget */
#define COMBINED_RECORDS 2.5 /* per key: fewer are sorted faster than combined in the table */

static uint64_t gather_budget(const struct glint_task *task)
{
    return task->options->memory_bytes / 2;
}

/* If the sums of a damaged index overflow, too little is reserved at once, and nothing else
 * happens. */
static uint64_t sum_input_bytes(const struct run_slice *inputs, uint32_t count,
                                uint64_t *out_records, uint64_t *out_raw)
{
    *out_records = *out_raw = 0;
    for (uint32_t i = 0; i < count; i++) {
        *out_records += inputs[i].part.records;
        *out_raw += inputs[i].part.raw;
    }
    return record_buffer_bytes_of(*out_records, *out_raw);
}

bool gather_is_cheaper_than_merge(const struct glint_task *task, const struct run_slice *inputs,
                                  uint32_t count)
{
    uint64_t records, raw;
    return sum_input_bytes(inputs, count, &records, &raw) <= gather_budget(task) &&
           raw / MERGE_RECORD_BYTES < records;
}

static int add_spilled_run(struct gather *g, struct run_writer *w)
{
    return merge_inputs_add_run(&g->spilled, w, !g->spec->map_side);
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
static int spill_gather_buffer(struct gather *g)
{
    struct run_writer w;
    if (record_buffer_count(&g->buffer) == 0) return 0;
    int r = run_writer_init(&w, g->task, 1, 0);
    if (r < 0) return r;
    r = write_records(g, &w);
    record_buffer_clear(&g->buffer);
    if (r == 0) return add_spilled_run(g, &w);
    run_writer_abort(&w);
    return r;
}

static int write_large_record(struct gather *g, struct glint_slice key, struct glint_slice value)
{
    struct run_writer w;
    int r = spill_gather_buffer(g);
    if (r == 0) r = run_writer_init(&w, g->task, 1, 0);
    if (r < 0) return r;
    r = run_writer_add(&w, 0, key, value);
    if (r == 0) return add_spilled_run(g, &w);
    run_writer_abort(&w);
    return r;
}

/* The first record that needs a match: all that it could match are gathered. Adding a key costs
 * about as much as looking one up, and leaving out a record saves several times that. */
static bool begin_matching(struct gather *g)
{
    const uint64_t gathered = record_buffer_count(&g->buffer);
    g->matching = true;
    if (g->spilled.count > 0 || gathered / 4 > g->records - gathered) return true;
    return match_filter_build(&g->filter, &g->buffer);
}

/* Whether the record is not needed. */
static bool record_cannot_match(struct gather *g, struct glint_slice key, struct glint_slice value)
{
    return g->filter.words != NULL && g->spec->needs_match(value) &&
           !match_filter_may_match(&g->filter, key);
}

static int gather_record(struct gather *g, struct glint_slice key, struct glint_slice value)
{
    const uint64_t bytes = record_buffer_bytes_of(1, key.size + value.size);
    const bool large = bytes > g->budget / LARGE_SHARE;
    int r = 0;
    if (g->spec->needs_match != NULL && !g->matching && g->spec->needs_match(value) &&
        !begin_matching(g))
        return error_no_memory(&g->task->error);
    if (record_cannot_match(g, key, value)) return 0;
    if (!large && record_buffer_memory_bytes(&g->buffer) + bytes > g->budget)
        r = spill_gather_buffer(g);
    if (r < 0) return r;
    return large ? write_large_record(g, key, value)
                 : record_buffer_add(&g->buffer, g->task, 0, key, value);
}

static int gather_current_record(struct gather *g)
{
    struct glint_slice value;
    int r = run_reader_value(&g->reader, &g->scratch, &value);
    return r < 0 ? r : gather_record(g, g->reader.key, value);
}

/* `skipped`: the input's index among those of the frequent key. */
static int gather_records_of_input(struct gather *g, struct run_slice input, uint32_t skipped)
{
    int more = 0, r = run_reader_open(&g->reader, g->task, input);
    while (r == 0 && (more = run_reader_next(&g->reader)) > 0)
        r = frequent_key_equals(&g->frequent, g->reader.key)
                ? frequent_key_set_aside(&g->frequent, &g->reader, skipped)
                : gather_current_record(g);
    return r < 0 ? r : more;
}

/* Whether keys repeat often enough. The number of different keys grows as a power of the number of
 * records (Heaps' law), with the exponent that the first two inputs show. Where it stops growing,
 * because all keys have come, this gives too many keys; the opposite assumption, that all inputs
 * have as many keys in common as the first two, gives far too few where some keys are frequent. */
static bool is_combining_worthwhile(const struct gather *g, const struct run_slice *inputs,
                                    uint32_t count)
{
    if (count < 2) return true;
    const double first = (double)inputs[0].part.records, second = (double)inputs[1].part.records;
    if (first < 1 || second < 1) return false;
    const double exponent =
        log((double)gather_table_keys(&g->table) / first) / log((first + second) / first);
    const double keys = first * pow((double)g->records / first, exponent);
    return (double)g->records >= COMBINED_RECORDS * keys;
}

static int append_table_record(void *gather, uint32_t partition, struct glint_slice key,
                               struct glint_slice value)
{
    struct gather *g = gather;
    return record_buffer_add(&g->buffer, g->task, partition, key, value);
}

static int combine_input_in_table(struct gather *g, struct run_slice input)
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
static int combine_inputs_in_table(struct gather *g, void *state, const struct run_slice *inputs,
                                   uint32_t count, uint32_t *out_read)
{
    int r = gather_table_open(&g->table, g->task, g->spec, state);
    uint64_t most = 0;
    uint32_t i = 0;
    for (; i < count; i++)
        if (inputs[i].part.records > most) most = inputs[i].part.records;
    /* An input that a map task has combined has each key once. */
    if (r == 0) combine_buffer_expect_keys(&g->table.buffer, most);
    i = 0;
    for (; i < count && r == 0 && (i != 2 || is_combining_worthwhile(g, inputs, i)); i++)
        r = combine_input_in_table(g, inputs[i]);
    *out_read = i;
    g->combined = r == 0 && i == count;
    return r == 0 && g->combined ? combine_buffer_sort(&g->table.buffer, true, &g->table.order) : r;
}

/* Whether leaving out the records of a frequent key may save something: without combining on the
 * map side there can be one, and if all inputs fit into memory, nothing is written to disk. */
static bool is_frequent_key_worthwhile(const struct shuffle_spec *spec,
                                       const struct run_slice *inputs, uint32_t count, bool fits)
{
    bool kept = false;
    for (uint32_t i = 0; i < count; i++) kept = kept || frequent_key_keeps(&inputs[i]);
    return spec->dependency.combine == COMBINE_NONE && !(fits && kept);
}

/* Reads all inputs, in order; `look`: for a frequent key. */
static int gather_all_inputs(struct gather *g, const struct run_slice *inputs, uint32_t count,
                             bool look)
{
    uint64_t gathered = 0;
    uint32_t first = 0; /* of the inputs of the frequent key */
    int r = 0;
    for (uint32_t i = 0; i < count && r == 0; i++) {
        if (look && !g->frequent.found) {
            r = frequent_key_detect(&g->frequent, g->task, &g->buffer, gathered, inputs + i,
                                    count - i);
            first = i;
        }
        if (r == 0) r = gather_records_of_input(g, inputs[i], i - first);
        gathered += inputs[i].part.records;
    }
    return r < 0 ? r : frequent_key_finish(&g->frequent);
}

/* Reserves memory for all records, or for as many as the budget holds: a buffer that grows clears
 * and copies its pages again each time. Pages that stay unused cost nothing. */
static bool reserve_gather_buffer(struct gather *g, uint64_t bytes, uint64_t records, uint64_t raw)
{
    const double share = bytes > g->budget ? (double)g->budget / (double)bytes : 1;
    return record_buffer_reserve(&g->buffer, (uint64_t)((double)records * share),
                                 (uint64_t)((double)raw * share));
}

/* Collects the inputs, and before them the records that the table has. */
static int collect_table_and_inputs(struct gather *g, const struct run_slice *inputs,
                                    uint32_t count, bool look)
{
    int r = combine_buffer_drain_table(&g->table.buffer, append_table_record, g);
    gather_table_fini(&g->table);
    if (r == 0) r = gather_all_inputs(g, inputs, count, look);
    run_reader_close(&g->reader);
    buffer_fini(&g->scratch);
    return r;
}

void gather_begin(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec)
{
    *g = (struct gather){
        .task = task, .spec = spec, .records = UINT64_MAX, .budget = gather_budget(task)};
    g->buffer.descending = spec->dependency.descending;
}

int gather_batch(struct gather *g, const struct glint_batch *batch)
{
    int r = task_check_cancelled(g->task) != 0 ? GLINT_E_INTERRUPTED : 0;
    for (uint32_t i = 0; i < batch->rows && r == 0; i++) {
        uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
        const struct glint_record record = glint_batch_record(batch, i);
        const struct glint_slice key = codec_encode(batch->key.type, &record.key, key_number);
        r = gather_record(g, key, codec_encode(batch->value.type, &record.value, value_number));
    }
    return r;
}

int gather_finish(struct gather *g)
{
    match_filter_fini(&g->filter);
    if (g->spilled.count == 0)
        return record_buffer_sort(&g->buffer, true) ? 0 : error_no_memory(&g->task->error);
    const int r = spill_gather_buffer(g);
    record_buffer_fini(&g->buffer); /* its memory is needed for merging */
    return r;
}

int gather_inputs(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state, bool may_combine, const struct run_slice *inputs, uint32_t count)
{
    uint64_t records, raw;
    gather_begin(g, task, spec);
    const uint64_t bytes = sum_input_bytes(inputs, count, &records, &raw);
    const bool fits = bytes <= g->budget;
    g->records = records;
    uint32_t read = 0;
    int r = may_combine && fits && count > 1
                ? combine_inputs_in_table(g, state, inputs, count, &read)
                : 0;
    if (r < 0 || g->combined) return r;
    if (!reserve_gather_buffer(g, bytes, records, raw)) return error_no_memory(&task->error);
    r = collect_table_and_inputs(g, inputs + read, count - read,
                                 is_frequent_key_worthwhile(spec, inputs, count, fits));
    return r < 0 ? r : gather_finish(g);
}

void gather_fini(struct gather *g)
{
    merge_inputs_fini(&g->spilled);
    gather_table_fini(&g->table);
    frequent_key_fini(&g->frequent);
    match_filter_fini(&g->filter);
    run_reader_close(&g->reader);
    buffer_fini(&g->scratch);
    record_buffer_fini(&g->buffer);
    *g = (struct gather){.task = NULL};
}
