/* Starts the executor, and runs tasks one after the other. */
#include "engine/foreign/stage_worker.h"

#include "engine/base/endian.h"
#include "engine/base/text.h"
#include "engine/executor/store.h"
#include "engine/input/input_source.h"
#include "engine/input/split.h"
#include "engine/net/crypto_library.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "engine/records/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Writes what a task made as lines: its map output for the tasks of the next stage, or its
 * result and the files that it saved. */

#define FLUSH_BYTES (256 * KIB)

static int flush_results(struct stage_worker *w, struct glint_error *error)
{
    const int r = env_write_all(w->env, w->out, w->lines.data, w->lines.size);
    w->lines.size = 0;
    if (r == 0) return 0;
    /* Not STDOUT_IO: that the engine has stopped reading is an error of its task. */
    return error_set(error, GLINT_E_OUTPUT_IO, NULL, "cannot write to standard output: %s",
                     strerror(-r));
}

static bool append_formatted_output(struct stage_worker *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool append_formatted_output(struct stage_worker *w, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return buffer_append(&w->lines, text, (uint64_t)n);
}

/* ---- A map output */

/* The lines for one task of the reader. w->records has the records of the next line. */
struct record_lines {
    struct stage_worker *w;
    char prefix[64]; /* of the key, up to the partition */
    uint64_t records, checksum;
    uint32_t partition;
    uint64_t number; /* of the next line of the partition */
};

static bool append_big_endian_size(struct buffer *out, uint64_t size)
{
    uint8_t bytes[4];
    put_be32(bytes, (uint32_t)size);
    return buffer_append(out, bytes, sizeof bytes);
}

static bool append_sized_bytes(struct buffer *out, struct glint_slice bytes)
{
    return append_big_endian_size(out, bytes.size) && buffer_append(out, bytes.data, bytes.size);
}

/* Writes a line: its key is that of `l` with `rest`, its fields are `text`, or else the records. */
static int write_record_line(struct record_lines *l, const char *rest,
                             const struct glint_slice *text, struct glint_error *error)
{
    struct stage_worker *w = l->w;
    struct buffer *out = &w->lines;
    const struct glint_slice records = buffer_slice(&w->records);
    bool memory = !w->raw || append_big_endian_size(out, strlen(l->prefix) + strlen(rest));
    const uint64_t start = out->size;
    memory = memory && append_formatted_output(w, "%s%s", l->prefix, rest);
    if (w->raw)
        memory = memory && append_sized_bytes(out, text != NULL ? *text : records);
    else
        memory = memory && buffer_append(out, "\t", 1) &&
                 (text != NULL ? buffer_append(out, text->data, text->size)
                               : stage_text_append(out, records));
    if (!memory) return error_no_memory(error);
    l->checksum = stage_line_checksum(l->checksum,
                                      (struct glint_slice){out->data + start, out->size - start});
    if (!w->raw && !buffer_append(out, "\n", 1)) return error_no_memory(error);
    w->records.size = 0;
    return out->size >= FLUSH_BYTES ? flush_results(w, error) : 0;
}

static int write_collected_records(struct record_lines *l, struct glint_error *error)
{
    char rest[40];
    text_format(rest, sizeof rest, ".%07u.%010llu", l->partition, (unsigned long long)l->number++);
    return write_record_line(l, rest, NULL, error);
}

static int collect_record_for_line(struct record_lines *l, struct glint_slice key,
                                   struct glint_slice value, struct glint_error *error)
{
    struct buffer *records = &l->w->records;
    if (records->size > 0 && records->size + key.size + value.size > STAGE_PIECE_BYTES &&
        write_collected_records(l, error) != 0)
        return error->code;
    bool memory = append_sized_bytes(records, key);
    while (memory && value.size > STAGE_PIECE_BYTES) {
        memory = append_sized_bytes(records, (struct glint_slice){value.data, STAGE_PIECE_BYTES}) &&
                 append_big_endian_size(records, STAGE_CONTINUES);
        if (memory && write_collected_records(l, error) != 0) return error->code;
        value.data += STAGE_PIECE_BYTES;
        value.size -= STAGE_PIECE_BYTES;
    }
    if (!memory || !append_sized_bytes(records, value)) return error_no_memory(error);
    l->records++;
    return records->size >= STAGE_PIECE_BYTES ? write_collected_records(l, error) : 0;
}

static int append_partition_records(struct record_lines *l, const struct run *run,
                                    uint32_t partition, struct glint_error *error)
{
    struct stage_worker *w = l->w;
    struct run_reader reader = {.records_left = 0};
    struct glint_slice value;
    int r = run_reader_open(&reader, &w->io, run_slice(run, partition));
    l->partition = partition;
    l->number = 0;
    while (r == 0 && (r = run_reader_next(&reader)) > 0) {
        r = run_reader_value(&reader, &w->scratch, &value);
        if (r == 0) r = collect_record_for_line(l, reader.key, value, error);
    }
    if (r == 0 && w->records.size > 0) r = write_collected_records(l, error);
    run_reader_close(&reader);
    if (error->code == GLINT_OK && w->io.error.code != GLINT_OK) *error = w->io.error;
    return r;
}

/* The lines of `map` for one task of the reader, and the line that ends them. */
static int write_map_output_of_reduce_task(struct stage_worker *w, const struct run *run,
                                           uint32_t map, uint32_t task,
                                           const struct stage_inputs *inputs,
                                           const struct glint_slice *counters,
                                           struct glint_error *error)
{
    struct record_lines l = {.w = w};
    char end[128];
    int r = 0;
    text_format(l.prefix, sizeof l.prefix, "%07u.%03u.%07u", task, w->reader_parent, map);
    w->records.size = 0;
    for (uint32_t i = 0; i < inputs->count && r == 0; i++)
        if (inputs->items[i].shuffle == w->stage->shuffle)
            r = append_partition_records(&l, run, inputs->items[i].partition, error);
    if (r != 0) return r;
    const struct glint_slice none = {NULL, 0}, fields = counters != NULL ? *counters : none;
    text_format(end, sizeof end, "%016llx\t%u\t%llu\t%016llx", (unsigned long long)w->file->id,
                (uint32_t)(w->reader - w->file->stages), (unsigned long long)l.records,
                (unsigned long long)stage_line_checksum(l.checksum, fields));
    w->records.size = 0;
    if (!buffer_append(&w->records, end, strlen(end)) ||
        !buffer_append(&w->records, fields.data, fields.size))
        return error_no_memory(error);
    const struct glint_slice fields_of_end = buffer_slice(&w->records);
    return write_record_line(&l, ".end", &fields_of_end, error);
}

/* The counters go to the first task that gets lines, which passes them on. */
static int write_map_output_lines(struct stage_worker *w, const struct run *run, uint32_t map,
                                  struct glint_slice counters, struct glint_error *error)
{
    struct stage_inputs inputs = {NULL, 0, 0};
    const struct glint_slice *with = &counters;
    int r = 0;
    for (uint32_t task = 0; task < w->reader->task_count && r == 0; task++) {
        r = stage_inputs_find(&w->reader_plan, w->reader->tasks[task].partition, &inputs, error);
        if (r != 0 || !stage_inputs_get_lines(&inputs, w->reader_parent, w->stage->shuffle))
            continue;
        r = write_map_output_of_reduce_task(w, run, map, task, &inputs, with, error);
        with = NULL;
    }
    mem_free(inputs.items);
    return r;
}

/* ---- A result */

/* The lines of a task so far. */
struct pieces {
    uint32_t task;
    uint64_t count, checksum;
};

static int write_output_piece(struct stage_worker *w, struct pieces *p, uint32_t file,
                              uint64_t number, struct glint_slice bytes, struct glint_error *error)
{
    const uint64_t start = w->lines.size;
    bool memory = append_formatted_output(w, "%07u.%02u.%010llu\t", p->task, file,
                                          (unsigned long long)number) &&
                  stage_text_append(&w->lines, bytes);
    p->count++;
    p->checksum = stage_line_checksum(
        p->checksum, (struct glint_slice){w->lines.data + start, w->lines.size - start});
    memory = memory && buffer_append(&w->lines, "\n", 1);
    if (!memory) return error_no_memory(error);
    return w->lines.size >= FLUSH_BYTES ? flush_results(w, error) : 0;
}

/* Writes the file `name` of an output as pieces, and removes it. */
static int write_output_file_as_pieces(struct stage_worker *w, struct pieces *p, uint32_t output,
                                       struct glint_slice name, struct glint_error *error)
{
    char path[PATH_MAX];
    uint64_t number = 0;
    if (!text_format(path, sizeof path, "%s/%.*s", w->plan.outputs[output], (int)name.size,
                     (const char *)name.data))
        return error_set(error, GLINT_E_WORK_DIR, "use a shorter directory", "%s is too long",
                         path);
    const int file = w->env->open(w->env, ENV_CWD, path, ENV_READ);
    if (file < 0) return error_set_system(error, GLINT_E_WORK_DIR, file, "open", path);
    w->scratch.size = 0;
    int r = buffer_reserve(&w->scratch, STAGE_PIECE_BYTES) ? 0 : error_no_memory(error);
    int64_t n = r == 0 ? (int64_t)STAGE_PIECE_BYTES : 0;
    while (r == 0 && n == (int64_t)STAGE_PIECE_BYTES) {
        n = env_read_full(w->env, file, w->scratch.data, STAGE_PIECE_BYTES,
                          number * STAGE_PIECE_BYTES);
        if (n < 0) r = error_set_system(error, GLINT_E_WORK_DIR, (int)n, "read", path);
        if (n > 0)
            r = write_output_piece(w, p, output + 1, number++,
                                   (struct glint_slice){w->scratch.data, (uint64_t)n}, error);
    }
    w->env->close(w->env, file);
    w->env->remove(w->env, ENV_CWD, path, false);
    return r;
}

static int write_task_result_lines(struct stage_worker *w, uint32_t task, struct glint_slice result,
                                   struct glint_slice counters, struct glint_error *error)
{
    struct pieces p = {.task = task};
    int r = 0;
    for (uint64_t at = 0; at < result.size && r == 0; at += STAGE_PIECE_BYTES) {
        const uint64_t left = result.size - at;
        const struct glint_slice piece = {result.data + at,
                                          left < STAGE_PIECE_BYTES ? left : STAGE_PIECE_BYTES};
        r = write_output_piece(w, &p, 0, p.count, piece, error);
    }
    for (uint32_t i = 0; i < w->plan.output_count && r == 0; i++)
        r = write_output_file_as_pieces(w, &p, i, result, error);
    if (r != 0) return r;
    const bool memory =
        append_formatted_output(w, "%07u.end\t%016llx\t%llu\t%016llx", task,
                                (unsigned long long)w->file->id, (unsigned long long)p.count,
                                (unsigned long long)stage_line_checksum(p.checksum, counters)) &&
        buffer_append(&w->lines, counters.data, counters.size) && buffer_append(&w->lines, "\n", 1);
    return memory ? 0 : error_no_memory(error);
}

/* Writes what the task made as lines. `forwarded`: counters of map tasks, fields with a TAB before
 * each. */
static int write_task_output_lines(struct stage_worker *w, uint32_t task,
                                   const struct message *done, struct glint_slice forwarded,
                                   struct glint_error *error)
{
    struct buffer counters = {NULL, 0, 0};
    int r = 0;
    const bool memory = buffer_append(&counters, "\t", 1) &&
                        stage_text_append(&counters, buffer_slice(&done->counters)) &&
                        buffer_append(&counters, forwarded.data, forwarded.size);
    const struct glint_slice fields = buffer_slice(&counters);
    if (!memory)
        r = error_no_memory(error);
    else if (w->reader == NULL)
        r = write_task_result_lines(w, task, buffer_slice(&done->body), fields, error);
    else {
        struct store *store = executor_store(w->executor);
        const struct run *run = store_acquire_map_output(store, w->stage->shuffle, task, 0);
        r = run != NULL ? write_map_output_lines(w, run, task, fields, error)
                        : error_set(error, GLINT_E_PROTOCOL, NULL, "a map task has no output");
        if (run != NULL) store_release(store, run);
        store_remove_attempt_output(store, w->number, task, 0);
    }
    buffer_fini(&counters);
    return r == 0 ? flush_results(w, error) : r;
}

/* ---- The executor */

/* A slot's thread. Takes ownership of `m`. */
static void on_worker_outcome(void *arg, struct message *m)
{
    struct stage_worker *w = arg;
    pthread_mutex_lock(&w->lock);
    w->outcome = m;
    pthread_cond_signal(&w->arrived);
    pthread_mutex_unlock(&w->lock);
}

/* A message that the executor gets, with a copy of `body`. */
static int pass_message_to_executor(struct stage_worker *w, struct message *m,
                                    struct glint_slice body, struct glint_error *error)
{
    if (m != NULL && !buffer_append(&m->body, body.data, body.size)) {
        message_destroy(m);
        m = NULL;
    }
    if (m == NULL) return error_no_memory(error);
    return executor_handle_message(w->executor, m, error);
}

/* Returns the stage that reads what `stage` writes, and the index of `stage` among its parents;
 * NULL: it is the last one. */
static const struct packed_stage *stage_find_child(const struct stage_file *file,
                                                   const struct packed_stage *stage,
                                                   uint32_t *out_parent)
{
    const uint32_t number = (uint32_t)(stage - file->stages);
    for (uint32_t i = 0; i < file->stage_count; i++)
        for (uint32_t p = 0; p < file->stages[i].parent_count; p++)
            if (file->stages[i].parents[p] == number) {
                *out_parent = p;
                return &file->stages[i];
            }
    return NULL;
}

/* The plan for this process: its tasks save to directories of their own. */
static int make_worker_plan(struct stage_worker *w, const struct context_config *registry,
                            struct glint_error *error)
{
    char dir[PATH_MAX];
    int r = stage_plan_decode(&w->plan, w->stage->plan, registry, error);
    if (r == 0 && w->plan.output_count > 0)
        return error_set(error, GLINT_E_STAGE_FILE, NULL, "the plan of a stage has outputs");
    for (uint32_t i = 0; i < w->stage->outputs && r == 0; i++) {
        if (!text_format(dir, sizeof dir, "%s/output-%u", w->work_dir.path, i))
            return error_set(error, GLINT_E_WORK_DIR, "use a shorter directory",
                             "the path %s is too long", w->work_dir.path);
        r = w->env->make_dir(w->env, ENV_CWD, dir, true);
        if (r != 0) return error_set_system(error, GLINT_E_WORK_DIR, r, "create", dir);
        r = stage_plan_add_output(&w->plan, dir, error);
    }
    if (r == 0) r = stage_plan_encode(&w->plan, &w->plan_bytes, error);
    w->reader = stage_find_child(w->file, w->stage, &w->reader_parent);
    if (r == 0 && w->reader != NULL)
        r = stage_plan_decode(&w->reader_plan, w->reader->plan, registry, error);
    return r;
}

static int send_stage_to_executor(struct stage_worker *w, struct glint_error *error)
{
    int r = 0;
    for (uint32_t i = 0; i < w->file->broadcast_count && r == 0; i++) {
        struct message *m = message_create(MSG_BROADCAST);
        if (m != NULL) m->id = w->file->broadcasts[i].id;
        r = pass_message_to_executor(w, m, w->file->broadcasts[i].bytes, error);
    }
    struct message *m = r == 0 ? message_create(MSG_STAGE) : NULL;
    if (r != 0) return r;
    if (m != NULL) m->stage = w->number;
    return pass_message_to_executor(w, m, buffer_slice(&w->plan_bytes), error);
}

static int start_stage_executor(struct stage_worker *w, const struct context_config *registry,
                                struct glint_error *error)
{
    const struct executor_config config = {.slots = 1,
                                           .options = w->options,
                                           .registry = registry,
                                           .env = w->env,
                                           .deliver = on_worker_outcome,
                                           .deliver_arg = w};
    w->run_memory = w->options.memory_bytes / RUN_MEMORY_SHARE;
    w->io = (struct glint_task){.env = w->env,
                                .options = &w->options,
                                .attempt_id = UINT64_MAX, /* no task of the executor has it */
                                .run_memory = &w->run_memory};
    w->io.counters.used = COUNT_BUILT_IN;
    w->executor = executor_create(&config, error);
    return w->executor != NULL ? send_stage_to_executor(w, error) : error->code;
}

int stage_worker_open(struct stage_worker *w, struct env *env, const struct stage_file *file,
                      uint32_t number, const struct context_config *registry, const char *work_dir,
                      struct glint_error *error)
{
    *w = (struct stage_worker){
        .env = env, .file = file, .stage = &file->stages[number], .number = number, .out = 1};
    w->work_dir.lock = LOCKED_DIR_NONE;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->arrived, NULL);
    w->started = true;
    w->done = mem_zalloc(w->stage->task_count + 1u);
    if (w->done == NULL) return error_no_memory(error);
    int r = crypto_library_load(error); /* of stage_text.c */
    if (r == 0) r = work_dir_open(&w->work_dir, env, work_dir, error);
    if (r == 0) r = make_worker_plan(w, registry, error);
    w->options = file->options;
    w->options.work_dir = w->work_dir.path;
    return r == 0 ? start_stage_executor(w, registry, error) : r;
}

void stage_worker_close(struct stage_worker *w)
{
    if (!w->started) return;
    executor_destroy(w->executor);
    message_destroy(w->outcome);
    stage_plan_fini(&w->plan);
    stage_plan_fini(&w->reader_plan);
    buffer_fini(&w->plan_bytes);
    buffer_fini(&w->lines);
    buffer_fini(&w->records);
    buffer_fini(&w->scratch);
    mem_free(w->done);
    arena_fini(&w->io.arena);
    counters_fini(&w->counters);
    pthread_cond_destroy(&w->arrived);
    pthread_mutex_destroy(&w->lock);
    work_dir_close(&w->work_dir);
    w->started = false;
}

/* Runs one task, whose inputs the executor has. Returns its DONE message, for message_destroy, or
 * NULL with *error set. */
static struct message *run_task(struct stage_worker *w, uint32_t task, struct glint_error *error)
{
    struct message *m = message_create(MSG_TASK);
    if (m != NULL) {
        m->stage = w->number;
        m->task = task;
        m->partition = w->stage->tasks[task].partition;
    }
    const struct glint_slice splits = w->stage->tasks[task].splits;
    if (pass_message_to_executor(w, m, w->fed.data != NULL ? w->fed : splits, error) != 0)
        return NULL;
    pthread_mutex_lock(&w->lock);
    while (w->outcome == NULL) pthread_cond_wait(&w->arrived, &w->lock);
    struct message *outcome = w->outcome;
    w->outcome = NULL;
    pthread_mutex_unlock(&w->lock);
    const struct glint_slice counters = buffer_slice(&outcome->counters);
    if (outcome->type == MSG_DONE && counters_add_task(&w->counters, counters, error) == 0)
        return outcome;
    if (outcome->type != MSG_DONE) *error = *outcome->error;
    message_destroy(outcome);
    return NULL;
}

/* A line is the number of a task, and for people what it reads: TASK TAB TEXT. */
static int parse_task_number_of_line(struct stage_worker *w, const struct line_input *in,
                                     struct glint_slice line, uint32_t *out,
                                     struct glint_error *error)
{
    const uint8_t *tab = memchr(line.data, '\t', line.size);
    struct glint_slice key = line;
    uint64_t stage = 0, task = 0;
    if (tab != NULL) key.size = (uint64_t)(tab - line.data);
    if (!stage_key_number(&key, UINT32_MAX, &stage) || !stage_key_number(&key, UINT32_MAX, &task) ||
        key.size > 0 || stage != w->number || task >= w->stage->task_count)
        return line_input_fail(in, "pass lines of glint stage splits", error,
                               "not a split of stage %u: %.*s", w->number,
                               (int)(line.size < 60 ? line.size : 60), (const char *)line.data);
    *out = (uint32_t)task;
    return 0;
}

int stage_worker_peek_stage(struct line_input *in, uint32_t *out, struct glint_error *error)
{
    struct glint_slice line;
    uint64_t stage;
    const int r = line_input_next(in, &line, error);
    if (r > 0 && stage_key_number(&line, UINT32_MAX, &stage)) *out = (uint32_t)stage;
    line_input_rewind(in);
    return r < 0 ? r : 0;
}

/* Runs one task, and writes what it made. */
static int run_task_and_write_output(struct stage_worker *w, uint32_t task,
                                     struct glint_error *error)
{
    struct message *done = run_task(w, task, error);
    if (done == NULL) return error->code;
    const int r = write_task_output_lines(w, task, done, (struct glint_slice){NULL, 0}, error);
    message_destroy(done);
    return r;
}

/* ---- Tasks whose rows the engine feeds (glint stage map --stdin-lines): those of the input "-".
 * The lines go to a file of the work directory, because their number is not known before the end,
 * and the message about a bad row counts lines. */

/* Whether these are the bytes of such a split; others may be of no file: generated rows. */
static bool is_stdin_split(const struct stage_worker *w, struct glint_slice bytes)
{
    struct arena memory = {.first = NULL};
    struct glint_error ignored = {.code = GLINT_OK};
    struct split split;
    const bool found = w->file->stdin_tasks > 0 &&
                       split_decode(bytes, &memory, &split, &ignored) == 0 && split.count == 1 &&
                       strcmp(split.pieces[0].path, SPLIT_STDIN) == 0;
    arena_fini(&memory);
    return found;
}

/* Copies standard input to a file of the work directory; *out is all of it. */
static int spool_stdin(struct stage_worker *w, struct input_spool *spool, struct split_piece *out,
                       struct glint_error *error)
{
    const struct spooled_input *copy;
    struct env_stat stat;
    if (input_spool_copy(spool, w->env, INPUT_STDIN, 0, &copy, error) != 0) return error->code;
    const int r = w->env->stat(w->env, copy->stored, &stat);
    if (r != 0) return error_set_system(error, GLINT_E_WORK_DIR, r, "examine", copy->stored);
    *out = (struct split_piece){.path = "standard input",
                                .stored = copy->stored,
                                .length = SPLIT_TO_END,
                                .file_size = stat.size,
                                .mtime_ns = stat.mtime_ns};
    return 0;
}

/* Encodes the task's splits again, with `lines` instead of standard input. */
static int encode_splits_with_lines(struct stage_worker *w, uint32_t task,
                                    const struct split_piece *lines, struct buffer *out,
                                    struct glint_error *error)
{
    struct unpacker u = unpack_begin(w->stage->tasks[task].splits);
    const struct split fed = {lines, 1};
    struct packer p = {.failed = false};
    pack_array(&p, u.count);
    for (uint64_t i = 0; i < u.count && error->code == GLINT_OK; i++) {
        struct glint_slice bytes = unpack_bytes(&u);
        struct buffer other = {NULL, 0, 0};
        if (!u.failed && is_stdin_split(w, bytes)) {
            if (!split_encode(&fed, &other)) error_no_memory(error);
            bytes = buffer_slice(&other);
        }
        pack_bytes(&p, bytes);
        buffer_fini(&other);
    }
    if (error->code == GLINT_OK) return packer_finish(&p, out, error);
    packer_fini(&p);
    return error->code;
}

/* Whether the rows of a task come from standard input. */
static bool stage_task_reads_stdin(const struct stage_worker *w, uint32_t task)
{
    struct unpacker u = unpack_begin(w->stage->tasks[task].splits);
    bool found = false;
    for (uint64_t i = 0; i < u.count && !found; i++) found = is_stdin_split(w, unpack_bytes(&u));
    return found;
}

int stage_worker_map_lines(struct stage_worker *w, uint32_t task, struct glint_error *error)
{
    struct input_spool spool = {.parent = w->work_dir.path};
    struct split_piece lines;
    struct buffer splits = {NULL, 0, 0};
    if (task >= w->stage->task_count || !stage_task_reads_stdin(w, task))
        return error_set(error, GLINT_E_STAGE_LINES,
                         "pack the job with the input - and --stdin-lines N, for tasks 0 to N-1",
                         "task %u of stage %u does not read lines of standard input", task,
                         w->number);
    int r = spool_stdin(w, &spool, &lines, error);
    if (r == 0) r = encode_splits_with_lines(w, task, &lines, &splits, error);
    w->fed = buffer_slice(&splits);
    if (r == 0) r = run_task_and_write_output(w, task, error);
    w->fed = (struct glint_slice){NULL, 0};
    buffer_fini(&splits);
    input_spool_fini(&spool, w->env);
    return r;
}

int stage_worker_map(struct stage_worker *w, struct line_input *in, struct glint_error *error)
{
    struct glint_slice line;
    int r;
    while ((r = line_input_next(in, &line, error)) > 0) {
        uint32_t task = 0;
        if (parse_task_number_of_line(w, in, line, &task, error) != 0) return error->code;
        if (w->done[task])
            return line_input_fail(in, "pass each line of glint stage splits once", error,
                                   "the split %u.%u is there twice", w->number, task);
        w->done[task] = true;
        if (stage_task_reads_stdin(w, task))
            return line_input_fail(in, "run it with --stdin-lines N, its lines as input", error,
                                   "task %u reads lines of standard input", task);
        if ((r = run_task_and_write_output(w, task, error)) != 0) return r;
    }
    return r;
}

/* ---- Reads the lines of map outputs for tasks of this stage, and runs each task when its lines
 * are complete. The lines of each map task become a run, as if it had been fetched. */

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

static int set_invalid_record_line_error(const struct reduce *r, struct glint_error *error,
                                         const char *what)
{
    return line_input_fail(r->in, SORT_HINT, error, "%s", what);
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
        if (!glint_next_field(&fields, '\t', &field[i]))
            return set_invalid_record_line_error(r, error, "the line is cut");
    const struct glint_slice counters = stage_text_rest_with_tab(fields);
    if (!stage_text_hex(field[0], &id) || !glint_parse_i64(field[1], &stage) ||
        !glint_parse_i64(field[2], &records) || !stage_text_hex(field[3], &checksum))
        return set_invalid_record_line_error(r, error, "the line is damaged");
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
        return set_invalid_record_line_error(r, error, "the lines of the map task have changed");
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

static int add_reduce_record(struct reduce *r, uint32_t partition, struct glint_error *error)
{
    const struct glint_slice key = buffer_slice(&r->record_key);
    const struct glint_slice value = buffer_slice(&r->value);
    if (!run_record_fits(key, value))
        return set_invalid_record_line_error(r, error, "the record is too large");
    r->records++;
    if (run_writer_add(&r->writer, partition, key, value) == 0) return 0;
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
                return set_invalid_record_line_error(r, error, "the line is cut");
            if (!buffer_append(&r->record_key, key.data, key.size)) return error_no_memory(error);
        }
        if (!next_record_field(&fields, &value))
            return set_invalid_record_line_error(r, error, "the line is cut");
        if (!buffer_append(&r->value, value.data, value.size)) return error_no_memory(error);
        r->continues = fields.size == 4 && get_be32(fields.data) == STAGE_CONTINUES;
        if (r->continues) return 0;
        if (!codec_decode(types.key, buffer_slice(&r->record_key),
                          &(union glint_value){.i64 = 0}) ||
            !codec_decode(types.value, buffer_slice(&r->value), &(union glint_value){.i64 = 0}))
            return set_invalid_record_line_error(r, error, "a value is not of its type");
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
    return add_line_records_of_partition(r, partition, buffer_slice(&r->records_of_line), error);
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
static bool has_all_parents_of_task(const struct reduce *r)
{
    return r->parent == r->w->stage->parent_count;
}

static bool task_gets_parent_lines(const struct reduce *r)
{
    return stage_inputs_get_lines(&r->inputs, r->parent, current_parent_stage(r)->shuffle);
}

static void skip_complete_parents(struct reduce *r)
{
    while (!has_all_parents_of_task(r) &&
           (r->map == current_parent_stage(r)->task_count || !task_gets_parent_lines(r))) {
        r->parent++;
        r->map = 0;
    }
}

static int begin_reduce_task(struct reduce *r, uint32_t task, struct glint_error *error)
{
    if (task >= r->w->stage->task_count || r->w->done[task])
        return set_invalid_record_line_error(
            r, error, "lines of a task that was there before, or does not exist");
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
    if (!has_all_parents_of_task(r))
        return line_input_fail(r->in, SORT_HINT, error,
                               "the lines of map task %u of stage %u for task %u are missing",
                               r->map, r->w->stage->parents[r->parent], r->key.task);
    for (uint32_t i = 0; i < r->w->stage->parent_count && code == 0; i++)
        code = send_map_output_locations(r, i, error);
    if (code != 0) return code;
    r->open = false;
    struct message *done = run_task(r->w, r->key.task, error);
    if (done == NULL) return error->code;
    code = write_task_output_lines(r->w, r->key.task, done, buffer_slice(&r->forwarded), error);
    message_destroy(done);
    return code;
}

static int add_map_output_line(struct reduce *r, struct glint_slice line, struct glint_error *error)
{
    struct record_key key;
    const struct glint_slice whole = line;
    struct glint_slice first;
    if (!line_input_take_key(r->in, &line, &first) || !parse_record_key(first, &key))
        return set_invalid_record_line_error(r, error, "not a line of glint stage map");
    if (!r->open || key.task != r->key.task) {
        if (end_reduce_task(r, error) != 0 || begin_reduce_task(r, key.task, error) != 0)
            return error->code;
    }
    r->key.task = key.task;
    if (has_all_parents_of_task(r) || key.parent != r->parent || key.map != r->map)
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
        return set_invalid_record_line_error(r, error, "lines are missing, or not sorted");
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
