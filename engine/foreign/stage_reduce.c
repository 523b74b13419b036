/* Reads the lines of map outputs for tasks of this stage, and runs each task when its lines are
 * complete. The lines of each map task become a run, as if it had been fetched. */
#include "engine/foreign/stage_worker.h"

#include "engine/base/endian.h"
#include "engine/executor/store.h"
#include "engine/records/codec.h"
#include "engine/records/run.h"

#include <string.h>

#define SORT_HINT "pass all lines of the map tasks on, sorted as by LC_ALL=C sort"

/* The key of a line. `end`: it ends the lines of its map task. */
struct record_key {
    uint32_t task, parent, map, partition;
    uint64_t number;
    bool end;
};

/* The task whose lines are being read. */
struct reduce {
    struct stage_worker *w;
    const struct line_input *in;
    bool open;             /* a task is being read */
    struct record_key key; /* the last one */
    uint32_t parent, map;  /* whose lines come now: all before them are complete */
    struct stage_inputs inputs;
    struct run_writer writer;
    bool writing;
    uint64_t records, checksum; /* of this map task */
    uint64_t lines;             /* of this partition */
    bool continues;             /* the last value goes on */
    struct buffer records_of_line, record_key, value, forwarded;
    uint32_t attempt; /* of the map outputs in the store: one more for each task */
};

static int set_reduce_line_error(const struct reduce *r, struct glint_error *error,
                                 const char *what)
{
    return line_input_fail(r->in, SORT_HINT, error, "%s", what);
}

static bool next_line_field(struct glint_slice *rest, struct glint_slice *out)
{
    return glint_next_field(rest, '\t', out);
}

static bool parse_record_key(struct glint_slice key, struct record_key *out)
{
    uint64_t task, parent, map, partition = 0;
    if (!stage_key_number(&key, UINT32_MAX, &task) ||
        !stage_key_number(&key, UINT32_MAX, &parent) || !stage_key_number(&key, UINT32_MAX, &map))
        return false;
    *out = (struct record_key){
        .task = (uint32_t)task, .parent = (uint32_t)parent, .map = (uint32_t)map};
    out->end = key.size == 3 && memcmp(key.data, "end", 3) == 0;
    if (out->end) return true;
    if (!stage_key_number(&key, UINT32_MAX, &partition) ||
        !stage_key_number(&key, UINT64_MAX / 16, &out->number) || key.size > 0)
        return false;
    out->partition = (uint32_t)partition;
    return true;
}

static const struct packed_stage *current_parent_stage(const struct reduce *r)
{
    return &r->w->file->stages[r->w->stage->parents[r->parent]];
}

/* The node of this stage that reads the parent's shuffle. */
static const struct stage_node *shuffle_node_of_parent(const struct reduce *r)
{
    const struct stage_plan *plan = &r->w->plan;
    for (uint32_t i = 0; i < plan->node_count; i++)
        if (stage_node_is_shuffle(&plan->nodes[i]) &&
            plan->nodes[i].rdd == current_parent_stage(r)->shuffle &&
            plan->nodes[i].parents[0] == STAGE_NO_PARENT)
            return &plan->nodes[i];
    return NULL;
}

/* ---- One map task */

static int begin_map_output(struct reduce *r, struct glint_error *error)
{
    const struct stage_node *node = shuffle_node_of_parent(r);
    if (node == NULL)
        return error_set(error, GLINT_E_STAGE_FILE, NULL, "a stage does not read its parent");
    r->records = r->checksum = 0;
    r->lines = 0;
    r->key.partition = 0;
    if (run_writer_init(&r->writer, &r->w->io, node->partitions, MAP_OUTPUT_MEMORY_BYTES) != 0)
        return *error = r->w->io.error, error->code;
    r->writing = true;
    return 0;
}

static int end_map_output(struct reduce *r, struct glint_slice fields, struct glint_error *error)
{
    struct glint_slice field[4];
    struct run run;
    uint64_t id, checksum;
    int64_t stage, records;
    for (int i = 0; i < 4; i++)
        if (!next_line_field(&fields, &field[i]))
            return set_reduce_line_error(r, error, "the line is cut");
    const struct glint_slice counters = stage_text_rest_with_tab(fields);
    if (!stage_text_hex(field[0], &id) || !glint_parse_i64(field[1], &stage) ||
        !glint_parse_i64(field[2], &records) || !stage_text_hex(field[3], &checksum))
        return set_reduce_line_error(r, error, "the line is damaged");
    if (id != r->w->file->id)
        return line_input_fail(r->in, "run all tasks with one stage file", error,
                               "the line is of another stage file");
    if (stage != r->w->number)
        return line_input_fail(r->in, "pass the lines to glint stage reduce --stage", error,
                               "the lines are for stage %lld", (long long)stage);
    if (r->continues || (uint64_t)records != r->records)
        return line_input_fail(r->in, SORT_HINT, error,
                               "map task %u wrote %lld records, and %llu arrived", r->map,
                               (long long)records, (unsigned long long)r->records);
    if (checksum != stage_line_checksum(r->checksum, counters))
        return set_reduce_line_error(r, error, "the lines of the map task have changed");
    if (!buffer_append(&r->forwarded, counters.data, counters.size)) return error_no_memory(error);
    if (run_writer_finish(&r->writer, &run) != 0) return *error = r->w->io.error, error->code;
    r->writing = false;
    struct store *store = executor_store(r->w->executor);
    if (store_add_map_output(store, current_parent_stage(r)->shuffle, r->map, r->attempt, &run) ==
        0)
        return 0;
    run_destroy(&run);
    return error_no_memory(error);
}

static struct glint_slice slice_of_buffer(const struct buffer *b)
{
    return (struct glint_slice){b->data, b->size};
}

static int add_reduce_record(struct reduce *r, uint32_t partition, struct glint_error *error)
{
    if (!run_record_fits(slice_of_buffer(&r->record_key), slice_of_buffer(&r->value)))
        return set_reduce_line_error(r, error, "the record is too large");
    r->records++;
    if (run_writer_add(&r->writer, partition, slice_of_buffer(&r->record_key),
                       slice_of_buffer(&r->value)) == 0)
        return 0;
    *error = r->w->io.error;
    return error->code;
}

/* Cuts a key or value off; *fields has no data after the last one. */
static bool next_record_field(struct glint_slice *fields, struct glint_slice *out)
{
    if (fields->size < 4 || get_be32(fields->data) > fields->size - 4) return false;
    *out = (struct glint_slice){fields->data + 4, get_be32(fields->data)};
    fields->size -= out->size + 4;
    fields->data = fields->size > 0 ? out->data + out->size : NULL;
    return true;
}

/* Keys and values in turn; a value may go on in the next line. */
static int add_line_records_of_partition(struct reduce *r, uint32_t partition,
                                         struct glint_slice fields, struct glint_error *error)
{
    const struct glint_schema types = shuffle_node_of_parent(r)->schema;
    struct glint_slice key, value;
    while (fields.data != NULL) {
        if (!r->continues) {
            r->record_key.size = r->value.size = 0;
            if (!next_record_field(&fields, &key))
                return set_reduce_line_error(r, error, "the line is cut");
            if (!buffer_append(&r->record_key, key.data, key.size)) return error_no_memory(error);
        }
        if (!next_record_field(&fields, &value))
            return set_reduce_line_error(r, error, "the line is cut");
        if (!buffer_append(&r->value, value.data, value.size)) return error_no_memory(error);
        r->continues = fields.size == 4 && get_be32(fields.data) == STAGE_CONTINUES;
        if (r->continues) return 0;
        if (!codec_decode(types.key, slice_of_buffer(&r->record_key),
                          &(union glint_value){.i64 = 0}) ||
            !codec_decode(types.value, slice_of_buffer(&r->value), &(union glint_value){.i64 = 0}))
            return set_reduce_line_error(r, error, "a value is not of its type");
        if (add_reduce_record(r, partition, error) != 0) return error->code;
    }
    return 0;
}

/* Adds the records of a line, or of a pair. */
static int add_line_records(struct reduce *r, uint32_t partition, struct glint_slice field,
                            struct glint_error *error)
{
    if (r->in->raw) return add_line_records_of_partition(r, partition, field, error);
    r->records_of_line.size = 0;
    if (stage_text_parse(field, &r->records_of_line, error) != 0) return error->code;
    return add_line_records_of_partition(r, partition, slice_of_buffer(&r->records_of_line), error);
}

static bool task_reads_partition(const struct reduce *r, uint32_t partition)
{
    for (uint32_t i = 0; i < r->inputs.count; i++)
        if (r->inputs.items[i].shuffle == current_parent_stage(r)->shuffle &&
            r->inputs.items[i].partition == partition)
            return true;
    return false;
}

/* ---- One task */

/* Each map task of a parent that the task reads has at least the line that ends it. */
static bool has_all_parents(const struct reduce *r)
{
    return r->parent == r->w->stage->parent_count;
}

static bool task_gets_parent_lines(const struct reduce *r)
{
    return stage_inputs_get_lines(&r->inputs, r->parent, current_parent_stage(r)->shuffle);
}

static void skip_complete_parents(struct reduce *r)
{
    while (!has_all_parents(r) &&
           (r->map == current_parent_stage(r)->task_count || !task_gets_parent_lines(r))) {
        r->parent++;
        r->map = 0;
    }
}

static int begin_reduce_task(struct reduce *r, uint32_t task, struct glint_error *error)
{
    if (task >= r->w->stage->task_count || r->w->done[task])
        return set_reduce_line_error(r, error,
                                     "lines of a task that was there before, or does not exist");
    r->w->done[task] = r->open = true;
    r->parent = r->map = 0;
    r->forwarded.size = 0;
    r->attempt++;
    const uint32_t partition = r->w->stage->tasks[task].partition;
    if (stage_inputs_find(&r->w->plan, partition, &r->inputs, error) != 0) return error->code;
    skip_complete_parents(r);
    return 0;
}

/* Tells the executor where the map outputs are: all are its own. */
static int send_map_output_locations(struct reduce *r, uint32_t parent, struct glint_error *error)
{
    const struct packed_stage *stage = &r->w->file->stages[r->w->stage->parents[parent]];
    struct map_output_location *all = mem_zalloc(sizeof *all * (stage->task_count + 1u));
    struct message *m = message_create(MSG_MAP_OUTPUTS);
    int code = all != NULL && m != NULL ? 0 : error_no_memory(error);
    for (uint32_t i = 0; code == 0 && i < stage->task_count; i++) all[i].attempt = r->attempt;
    if (code == 0) code = map_outputs_encode(all, stage->task_count, &m->body, error);
    mem_free(all);
    if (code != 0) {
        message_destroy(m);
        return code;
    }
    m->id = stage->shuffle;
    return executor_handle_message(r->w->executor, m, error);
}

static int end_reduce_task(struct reduce *r, struct glint_error *error)
{
    int code = 0;
    if (!r->open) return 0;
    if (!has_all_parents(r))
        return line_input_fail(r->in, SORT_HINT, error,
                               "the lines of map task %u of stage %u for task %u are missing",
                               r->map, r->w->stage->parents[r->parent], r->key.task);
    for (uint32_t i = 0; i < r->w->stage->parent_count && code == 0; i++)
        code = send_map_output_locations(r, i, error);
    if (code != 0) return code;
    r->open = false;
    struct message *done = stage_worker_run(r->w, r->key.task, error);
    if (done == NULL) return error->code;
    code = stage_worker_emit(r->w, r->key.task, done, slice_of_buffer(&r->forwarded), error);
    message_destroy(done);
    return code;
}

static int add_map_output_line(struct reduce *r, struct glint_slice line, struct glint_error *error)
{
    struct record_key key;
    const struct glint_slice whole = line;
    struct glint_slice first;
    if (!line_input_take_key(r->in, &line, &first) || !parse_record_key(first, &key))
        return set_reduce_line_error(r, error, "not a line of glint stage map");
    if (!r->open || key.task != r->key.task) {
        if (end_reduce_task(r, error) != 0 || begin_reduce_task(r, key.task, error) != 0)
            return error->code;
    }
    r->key.task = key.task;
    if (has_all_parents(r) || key.parent != r->parent || key.map != r->map)
        return line_input_fail(r->in, SORT_HINT, error,
                               "lines of map task %u for task %u are missing or not sorted", r->map,
                               key.task);
    if (!r->writing && begin_map_output(r, error) != 0) return error->code;
    if (key.end) {
        if (end_map_output(r, line, error) != 0) return error->code;
        r->map++;
        skip_complete_parents(r);
        return 0;
    }
    if (key.partition != r->key.partition) r->lines = 0;
    if (!task_reads_partition(r, key.partition) || key.partition < r->key.partition ||
        key.number != r->lines++)
        return set_reduce_line_error(r, error, "lines are missing, or not sorted");
    r->key.partition = key.partition;
    r->checksum = stage_line_checksum(r->checksum, whole);
    return add_line_records(r, key.partition, line, error);
}

int stage_worker_reduce(struct stage_worker *w, struct line_input *in, struct glint_error *error)
{
    struct reduce r = {.w = w, .in = in};
    struct glint_slice line;
    int code;
    while ((code = line_input_next(in, &line, error)) > 0)
        if (add_map_output_line(&r, line, error) != 0) break;
    if (code == 0 && error->code == GLINT_OK) end_reduce_task(&r, error);
    if (r.writing) run_writer_abort(&r.writer);
    mem_free(r.inputs.items);
    buffer_fini(&r.records_of_line);
    buffer_fini(&r.record_key);
    buffer_fini(&r.value);
    buffer_fini(&r.forwarded);
    return error->code;
}
