/* Writes what a task made as lines: its map output for the tasks of the next stage, or its result
 * and the files that it saved. */
#include "engine/stage/stage_worker.h"

#include "engine/base/endian.h"
#include "engine/base/text.h"
#include "engine/data/run.h"
#include "engine/executor/store.h"

#include <stdio.h>
#include <string.h>

#define FLUSH_BYTES (256 * KIB)

static int flush(struct stage_worker *w, struct glint_error *error)
{
    const int r = env_write_all(w->env, w->out, w->lines.data, w->lines.size);
    w->lines.size = 0;
    if (r == 0) return 0;
    /* Not STDOUT_IO: that the engine has stopped reading is an error of its task. */
    return error_set(error, GLINT_E_OUTPUT_IO, NULL, "cannot write to standard output: %s",
                     strerror(-r));
}

static bool append_emitted(struct stage_worker *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool append_emitted(struct stage_worker *w, const char *format, ...)
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

static bool append_size(struct buffer *out, uint64_t size)
{
    uint8_t bytes[4];
    put_be32(bytes, (uint32_t)size);
    return buffer_append(out, bytes, sizeof bytes);
}

static bool append_sized(struct buffer *out, struct glint_slice bytes)
{
    return append_size(out, bytes.size) && buffer_append(out, bytes.data, bytes.size);
}

/* Writes a line: its key is that of `l` with `rest`, its fields are `text`, or else the records. */
static int emit_line(struct record_lines *l, const char *rest, const struct glint_slice *text,
                     struct glint_error *error)
{
    struct stage_worker *w = l->w;
    struct buffer *out = &w->lines;
    const struct glint_slice records = {w->records.data, w->records.size};
    bool memory = !w->raw || append_size(out, strlen(l->prefix) + strlen(rest));
    const uint64_t start = out->size;
    memory = memory && append_emitted(w, "%s%s", l->prefix, rest);
    if (w->raw)
        memory = memory && append_sized(out, text != NULL ? *text : records);
    else
        memory = memory && buffer_append(out, "\t", 1) &&
                 (text != NULL ? buffer_append(out, text->data, text->size)
                               : stage_text_append(out, records));
    if (!memory) return error_no_memory(error);
    l->checksum = stage_line_checksum(l->checksum,
                                      (struct glint_slice){out->data + start, out->size - start});
    if (!w->raw && !buffer_append(out, "\n", 1)) return error_no_memory(error);
    w->records.size = 0;
    return out->size >= FLUSH_BYTES ? flush(w, error) : 0;
}

static int emit_records(struct record_lines *l, struct glint_error *error)
{
    char rest[40];
    text_format(rest, sizeof rest, ".%07u.%010llu", l->partition, (unsigned long long)l->number++);
    return emit_line(l, rest, NULL, error);
}

static int append_record(struct record_lines *l, struct glint_slice key, struct glint_slice value,
                         struct glint_error *error)
{
    struct buffer *records = &l->w->records;
    if (records->size > 0 && records->size + key.size + value.size > STAGE_PIECE_BYTES &&
        emit_records(l, error) != 0)
        return error->code;
    bool memory = append_sized(records, key);
    while (memory && value.size > STAGE_PIECE_BYTES) {
        memory = append_sized(records, (struct glint_slice){value.data, STAGE_PIECE_BYTES}) &&
                 append_size(records, STAGE_CONTINUES);
        if (memory && emit_records(l, error) != 0) return error->code;
        value.data += STAGE_PIECE_BYTES;
        value.size -= STAGE_PIECE_BYTES;
    }
    if (!memory || !append_sized(records, value)) return error_no_memory(error);
    l->records++;
    return records->size >= STAGE_PIECE_BYTES ? emit_records(l, error) : 0;
}

static int append_partition(struct record_lines *l, const struct run *run, uint32_t partition,
                            struct glint_error *error)
{
    struct stage_worker *w = l->w;
    struct run_reader reader = {.records_left = 0};
    struct glint_slice value;
    int r = run_reader_open(&reader, &w->io, run_slice(run, partition));
    l->partition = partition;
    l->number = 0;
    while (r == 0 && (r = run_reader_next(&reader)) > 0) {
        r = run_reader_value(&reader, &w->scratch, &value);
        if (r == 0) r = append_record(l, reader.key, value, error);
    }
    if (r == 0 && w->records.size > 0) r = emit_records(l, error);
    run_reader_close(&reader);
    if (error->code == GLINT_OK && w->io.error.code != GLINT_OK) *error = w->io.error;
    return r;
}

/* The lines of `map` for one task of the reader, and the line that ends them. */
static int emit_for_task(struct stage_worker *w, const struct run *run, uint32_t map, uint32_t task,
                         const struct stage_inputs *inputs, const struct glint_slice *counters,
                         struct glint_error *error)
{
    struct record_lines l = {.w = w};
    char end[128];
    int r = 0;
    text_format(l.prefix, sizeof l.prefix, "%07u.%03u.%07u", task, w->reader_parent, map);
    w->records.size = 0;
    for (uint32_t i = 0; i < inputs->count && r == 0; i++)
        if (inputs->items[i].shuffle == w->stage->shuffle)
            r = append_partition(&l, run, inputs->items[i].partition, error);
    if (r != 0) return r;
    const struct glint_slice none = {NULL, 0}, fields = counters != NULL ? *counters : none;
    text_format(end, sizeof end, "%016llx\t%u\t%llu\t%016llx", (unsigned long long)w->file->id,
                (uint32_t)(w->reader - w->file->stages), (unsigned long long)l.records,
                (unsigned long long)stage_line_checksum(l.checksum, fields));
    w->records.size = 0;
    if (!buffer_append(&w->records, end, strlen(end)) ||
        !buffer_append(&w->records, fields.data, fields.size))
        return error_no_memory(error);
    return emit_line(&l, ".end", &(struct glint_slice){w->records.data, w->records.size}, error);
}

/* The counters go to the first task that gets lines, which passes them on. */
static int emit_map_output(struct stage_worker *w, const struct run *run, uint32_t map,
                           struct glint_slice counters, struct glint_error *error)
{
    struct stage_inputs inputs = {NULL, 0, 0};
    const struct glint_slice *with = &counters;
    int r = 0;
    for (uint32_t task = 0; task < w->reader->task_count && r == 0; task++) {
        r = stage_inputs_find(&w->reader_plan, w->reader->tasks[task].partition, &inputs, error);
        if (r != 0 || !stage_inputs_get_lines(&inputs, w->reader_parent, w->stage->shuffle))
            continue;
        r = emit_for_task(w, run, map, task, &inputs, with, error);
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

static int emit_piece(struct stage_worker *w, struct pieces *p, uint32_t file, uint64_t number,
                      struct glint_slice bytes, struct glint_error *error)
{
    const uint64_t start = w->lines.size;
    bool memory =
        append_emitted(w, "%07u.%02u.%010llu\t", p->task, file, (unsigned long long)number) &&
        stage_text_append(&w->lines, bytes);
    p->count++;
    p->checksum = stage_line_checksum(
        p->checksum, (struct glint_slice){w->lines.data + start, w->lines.size - start});
    memory = memory && buffer_append(&w->lines, "\n", 1);
    if (!memory) return error_no_memory(error);
    return w->lines.size >= FLUSH_BYTES ? flush(w, error) : 0;
}

/* Writes the file `name` of an output as pieces, and removes it. */
static int emit_file(struct stage_worker *w, struct pieces *p, uint32_t output,
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
            r = emit_piece(w, p, output + 1, number++,
                           (struct glint_slice){w->scratch.data, (uint64_t)n}, error);
    }
    w->env->close(w->env, file);
    w->env->remove(w->env, ENV_CWD, path, false);
    return r;
}

static int emit_result(struct stage_worker *w, uint32_t task, struct glint_slice result,
                       struct glint_slice counters, struct glint_error *error)
{
    struct pieces p = {.task = task};
    int r = 0;
    for (uint64_t at = 0; at < result.size && r == 0; at += STAGE_PIECE_BYTES) {
        const uint64_t left = result.size - at;
        const struct glint_slice piece = {result.data + at,
                                          left < STAGE_PIECE_BYTES ? left : STAGE_PIECE_BYTES};
        r = emit_piece(w, &p, 0, p.count, piece, error);
    }
    for (uint32_t i = 0; i < w->plan.output_count && r == 0; i++)
        r = emit_file(w, &p, i, result, error);
    if (r != 0) return r;
    const bool memory =
        append_emitted(w, "%07u.end\t%016llx\t%llu\t%016llx", task, (unsigned long long)w->file->id,
                       (unsigned long long)p.count,
                       (unsigned long long)stage_line_checksum(p.checksum, counters)) &&
        buffer_append(&w->lines, counters.data, counters.size) && buffer_append(&w->lines, "\n", 1);
    return memory ? 0 : error_no_memory(error);
}

int stage_worker_emit(struct stage_worker *w, uint32_t task, const struct message *done,
                      struct glint_slice forwarded, struct glint_error *error)
{
    struct buffer counters = {NULL, 0, 0};
    int r = 0;
    const bool memory = buffer_append(&counters, "\t", 1) &&
                        stage_text_append(&counters, (struct glint_slice){done->counters.data,
                                                                          done->counters.size}) &&
                        buffer_append(&counters, forwarded.data, forwarded.size);
    const struct glint_slice fields = {counters.data, counters.size};
    if (!memory)
        r = error_no_memory(error);
    else if (w->reader == NULL)
        r = emit_result(w, task, (struct glint_slice){done->body.data, done->body.size}, fields,
                        error);
    else {
        struct store *store = executor_store(w->executor);
        const struct run *run = store_acquire_map_output(store, w->stage->shuffle, task, 0);
        r = run != NULL ? emit_map_output(w, run, task, fields, error)
                        : error_set(error, GLINT_E_PROTOCOL, NULL, "a map task has no output");
        if (run != NULL) store_release_map_output(store, run);
        store_remove_attempt_output(store, w->number, task, 0);
    }
    buffer_fini(&counters);
    return r == 0 ? flush(w, error) : r;
}
