/* Rows of a batch are of one batch of lines, so that one origin describes them. */
#include "ops/line_rows.h"

#include "engine/input/bad_rows.h"
#include "engine/input/column_map.h"
#include "engine/input/csv.h"
#include "engine/input/json_line.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

/* ---- Batches */

/* Passes the rows, if there are any, and begins a new batch. Call it before `in` changes. */
static enum flow row_batch_flush(struct row_batch *b)
{
    const struct glint_batch *in = b->in;
    struct glint_origin origin = *in->origin;
    struct glint_batch out = {.rows = b->rows,
                              .key = {.type = GLINT_NONE},
                              .value = {.type = GLINT_TEXT, .base = b->bytes, .size = b->used}};
    assert(in->origin->base != NULL);
    if (b->rows == 0) return FLOW_MORE;
    origin.base = b->bytes;
    origin.size = b->used;
    origin.rows = b->rows;
    origin.row_start = b->start;
    origin.row_offset = b->offset;
    origin.plain = b->plain;
    if (origin.input == NULL) {
        origin.input = in->origin->base;
        origin.input_size = in->origin->size;
    }
    out.origin = &origin;
    if (b->used <= BATCH_BYTES_MAX) { /* or there is one row, larger than a batch */
        out.value.start = b->start;
        out.value.end = b->end;
    }
    assert(b->used <= BATCH_BYTES_MAX || b->rows == 1);
    const enum flow flow = b->push(b->arg, &out);
    b->task->origin = in->origin;
    b->rows = 0;
    b->used = 0;
    return flow;
}

/* Makes room for a row of up to `size` bytes after bytes + used; first passes the batch if it would
 * become too large. FLOW_FAIL with the task's error set. */
static enum flow row_batch_reserve(struct row_batch *b, uint64_t size)
{
    const enum flow flow = b->used + size > BATCH_BYTES_MAX || b->rows == BATCH_ROWS_MAX
                               ? row_batch_flush(b)
                               : FLOW_MORE;
    if (flow != FLOW_MORE || (b->bytes != NULL && b->used + size <= b->capacity)) return flow;
    const uint64_t need = b->used + size;
    const uint64_t capacity = need < BATCH_BYTES_MAX ? BATCH_BYTES_MAX : need;
    uint8_t *bytes = mem_alloc(capacity);
    if (bytes == NULL) {
        error_no_memory(&b->task->error);
        return FLOW_FAIL;
    }
    if (b->used > 0) memcpy(bytes, b->bytes, b->used);
    mem_free(b->bytes);
    b->bytes = bytes;
    b->capacity = capacity;
    return FLOW_MORE;
}

/* Adds the row of `size` bytes that was written to bytes + used. */
static void row_batch_add(struct row_batch *b, struct glint_slice line, uint64_t size)
{
    const uint64_t end = b->used + size;
    assert(end <= b->capacity && b->rows < BATCH_ROWS_MAX);
    b->start[b->rows] = (uint32_t)b->used;
    b->end[b->rows] = (uint32_t)end;
    b->offset[b->rows++] = (uint32_t)(line.data - b->in->origin->base);
    b->used = end;
}

/* ---- JSON. A row with values is the mark JSON_ROW, the line, and for each path CSV_SEPARATOR and
 * the value as text: of a string its content, of a number its digits as they are in the line, of
 * null ROW_NULL, or, without nulls, nothing. A line without a value at a path has a null there, or
 * is a bad row, as a line of a table without a column is. */

#define MISSING_VALUES "missing values"
#define SHOWN_BEFORE   60u /* bytes of a long line before a mistake in messages */

struct json_rows {
    struct glint_task *task;
    struct json_paths paths;
    const char *missing[JSON_PATHS_MAX], *container[JSON_PATHS_MAX], *unpaired[JSON_PATHS_MAX];
    struct json_value values[JSON_PATHS_MAX];
    struct row_batch out;
    struct glint_slice nulls; /* input/csv.h */
    int missing_values;       /* counter */
};

static int json_rows_open(struct json_rows *j, struct glint_slice pointers)
{
    if (nulls_have_missing(j->nulls)) j->missing_values = glint_counter(j->task, MISSING_VALUES);
    if (j->missing_values < 0) return j->missing_values;
    struct arena *arena = &j->task->arena;
    bool ok = json_paths_read(pointers, arena, &j->paths);
    for (uint32_t i = 0; ok && i < j->paths.count; i++) {
        const char *path = j->paths.items[i].pointer;
        j->missing[i] = arena_format(arena, "no value at %s", path);
        j->container[i] = arena_format(arena, "an object or array at %s", path);
        j->unpaired[i] = arena_format(arena, "half of a surrogate pair in the value at %s", path);
        ok = j->missing[i] != NULL && j->container[i] != NULL && j->unpaired[i] != NULL;
    }
    return ok ? 0 : error_no_memory(&j->task->error);
}

/* Returns the bytes that the row needs at most: a byte that gets an escape has one in the line. */
static uint64_t row_bytes_max(const struct json_rows *j, struct glint_slice line)
{
    uint64_t size = 1 + line.size;
    for (uint32_t i = 0; i < j->paths.count; i++) size += 4 + j->values[i].raw.size;
    return size;
}

/* The value as it is in the line. */
static struct glint_slice raw_value(const struct json_value *v)
{
    const bool text = v->kind == JSON_KIND_TEXT;
    assert(v->raw.data != NULL);
    return (struct glint_slice){v->raw.data - text, v->raw.size + 2 * text};
}

/* Appends the value to the row, and passes *at. Returns NULL, or why the row is bad. */
static const char *put_json_value(struct json_rows *j, uint32_t path, uint8_t **at)
{
    const struct json_value *v = &j->values[path];
    uint64_t size = v->raw.size;
    const bool missing = v->kind == JSON_KIND_MISSING;
    if (missing && !nulls_have_missing(j->nulls)) return j->missing[path];
    const bool raw = j->paths.items[path].raw;
    if (v->kind == JSON_KIND_CONTAINER && (!raw || size == 0)) return j->container[path];
    if (v->unpaired && !raw) return j->unpaired[path];
    *(*at)++ = CSV_SEPARATOR;
    if (missing || v->kind == JSON_KIND_NULL) {
        if (missing) glint_counter_add(j->task, j->missing_values, 1);
        if (j->nulls.data != NULL) *(*at)++ = ROW_NULL;
        return NULL;
    }
    if (raw) {
        const struct glint_slice text = raw_value(v);
        memcpy(*at, text.data, text.size);
        *at += text.size;
        return NULL;
    }
    if (size == 0) return NULL;
    if (v->escaped) {
        const uint64_t decoded = json_text_decode(v->raw, *at);
        size = row_text_escape(*at, decoded);
        if (size > decoded) j->out.plain = false;
    } else {
        memcpy(*at, v->raw.data, size);
    }
    *at += size;
    return NULL;
}

/* Appends the line with its values to the batch. Returns 0, also if it was bad and skipped, or a
 * code. */
static int add_json_row(struct json_rows *j, struct glint_slice line)
{
    uint8_t *const begin = j->out.bytes + j->out.used, *at = begin;
    const char *problem = NULL;
    *at++ = JSON_ROW;
    memcpy(at, line.data, line.size);
    at += line.size;
    for (uint32_t i = 0; problem == NULL && i < j->paths.count; i++)
        problem = put_json_value(j, i, &at);
    if (problem != NULL) return glint_bad_row(j->task, line, problem);
    row_batch_add(&j->out, line, (uint64_t)(at - begin));
    return 0;
}

/* Returns 1 if the line is a row, 0 if it is blank, or bad and skipped, or a code. */
static int check_json_line(struct json_rows *j, struct glint_slice line)
{
    uint64_t at;
    const char *problem = json_line_scan(&j->paths, line, j->values, &at);
    if (problem == NULL) return 1;
    if (json_line_is_blank(line)) return 0;
    const uint64_t shown = at > 2 * SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    const char *hint = json_line_hint(line, problem, task_row_is_first(j->task, line.data));
    return task_bad_row(j->task, (struct glint_slice){line.data + shown, line.size - shown},
                        problem, hint);
}

static enum flow emit_json_lines(struct json_rows *j)
{
    const struct glint_batch *in = j->out.in;
    enum flow flow = FLOW_MORE;
    j->out.plain = true;
    for (uint32_t i = 0; flow == FLOW_MORE && i < in->rows; i++) {
        const struct glint_slice line = glint_column_slice(&in->value, i);
        int r = check_json_line(j, line);
        if (r < 0) return FLOW_FAIL;
        if (r == 0) continue;
        flow = row_batch_reserve(&j->out, row_bytes_max(j, line));
        if (flow == FLOW_MORE && add_json_row(j, line) < 0) return FLOW_FAIL;
    }
    return flow == FLOW_MORE ? row_batch_flush(&j->out) : flow;
}

/* Without values the lines are passed as they are. */
static enum flow check_json_rows(struct json_rows *j)
{
    struct glint_batch out = *j->out.in;
    const struct glint_column *v = &j->out.in->value;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < out.rows; i++) {
        int r = check_json_line(j, glint_column_slice(v, i));
        if (r < 0) return FLOW_FAIL;
        if (v->start != NULL) {
            j->out.start[rows] = v->start[i];
            j->out.end[rows] = v->end[i];
        }
        rows += (uint32_t)r;
    }
    if (rows == 0) return FLOW_MORE;
    if (rows < out.rows) {
        out.rows = rows;
        out.value.start = j->out.start;
        out.value.end = j->out.end;
        out.value.lines = NULL;
    }
    return j->out.push(j->out.arg, &out);
}

enum flow json_rows_read(struct line_reader *lines, struct glint_task *task,
                         const struct split_piece *piece,
                         enum flow (*push)(void *arg, const struct glint_batch *rows), void *arg)
{
    struct json_rows *j = task_alloc(task, sizeof *j);
    struct glint_batch batch;
    enum flow flow = FLOW_MORE;
    if (j == NULL) return FLOW_FAIL;
    *j = (struct json_rows){.task = task,
                            .nulls = piece->nulls,
                            .out = {.task = task, .push = push, .arg = arg, .in = &batch}};
    int r = json_rows_open(j, piece->json);
    while (r == 0 && flow == FLOW_MORE && (r = line_reader_next(lines, &batch)) > 0) {
        r = 0;
        task->origin = batch.origin;
        flow = j->paths.count > 0 ? emit_json_lines(j) : check_json_rows(j);
    }
    task->origin = NULL;
    mem_free(j->out.bytes);
    return r < 0 ? FLOW_FAIL : flow;
}

/* ---- CSV. A row is at the offset of its record in the batch that was read, as long as no field
 * has an escape: that row and what follows in the batch is written as other rows that may be larger
 * than their lines. */

struct csv_rows {
    struct glint_task *task;
    const struct split_piece *piece;
    struct glint_origin origin;
    uint8_t *bytes;
    uint64_t capacity;
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    struct row_batch escaped;
};

static int reserve_csv_bytes(struct csv_rows *c, uint64_t size)
{
    if (c->bytes != NULL && size <= c->capacity)
        return 0; /* also for empty rows: they have slack */
    mem_free(c->bytes);
    c->capacity = 0;
    c->bytes = mem_alloc(size);
    if (c->bytes == NULL) return error_no_memory(&c->task->error);
    c->capacity = size;
    return 0;
}

/* Replaces the rows of a batch by those before the first one with an escape, at *out_row. Returns 0
 * or a code; a bad row may be skipped. */
static int convert_csv(struct csv_rows *c, struct glint_batch *batch, uint32_t *out_row)
{
    struct glint_column *v = &batch->value;
    int r = reserve_csv_bytes(c, v->size);
    uint32_t rows = 0, i = 0;
    uint64_t whole = 0; /* the size of the only row of a batch without offsets */
    c->task->origin = batch->origin;
    for (; r == 0 && i < batch->rows; i++) {
        const struct glint_slice row = glint_column_slice(v, i);
        const uint64_t at = (uint64_t)(row.data - v->base);
        const char *problem = csv_to_row_as_is(row.data, row.size, c->piece->csv, c->piece->nulls,
                                               c->bytes + at, &whole);
        if (problem == csv_needs_escape) break;
        if (problem != NULL) {
            r = task_bad_record(c->task, row, problem);
            continue;
        }
        if (v->start != NULL) {
            c->start[rows] = (uint32_t)at;
            c->end[rows] = (uint32_t)(at + whole);
        }
        rows++;
    }
    *out_row = i;
    c->origin = *batch->origin;
    c->origin.base = c->bytes + (batch->origin->base - v->base);
    c->origin.input = batch->origin->base;
    c->origin.input_size = batch->origin->size;
    c->origin.plain = true;
    if (v->start == NULL) v->size = whole;
    v->base = c->bytes;
    v->lines = NULL;
    if (v->start != NULL) {
        v->start = c->start;
        v->end = c->end;
    }
    batch->rows = rows;
    batch->origin = &c->origin;
    return r;
}

/* Passes the rows of a batch from `row` on. */
static enum flow push_escaped_rows(struct csv_rows *c, const struct glint_batch *lines,
                                   uint32_t row)
{
    enum flow flow = FLOW_MORE;
    c->escaped.in = lines;
    c->task->origin = lines->origin;
    for (; flow == FLOW_MORE && row < lines->rows; row++) {
        const struct glint_slice line = glint_column_slice(&lines->value, row);
        uint64_t size = 0;
        flow = row_batch_reserve(&c->escaped, 2 * line.size);
        if (flow != FLOW_MORE) return flow;
        const char *problem = csv_to_row(line.data, line.size, c->piece->csv, c->piece->nulls,
                                         c->escaped.bytes + c->escaped.used, &size);
        if (problem == NULL)
            row_batch_add(&c->escaped, line, size);
        else if (task_bad_record(c->task, line, problem) != 0)
            return FLOW_FAIL;
    }
    return flow == FLOW_MORE ? row_batch_flush(&c->escaped) : flow;
}

enum flow csv_rows_read(struct line_reader *lines, struct glint_task *task,
                        const struct split_piece *piece,
                        enum flow (*push)(void *arg, const struct glint_batch *rows), void *arg)
{
    struct csv_rows *c = task_alloc(task, sizeof *c);
    struct glint_batch batch;
    enum flow flow = FLOW_MORE;
    int r = c == NULL ? GLINT_E_NO_MEMORY : 0;
    if (c != NULL)
        *c = (struct csv_rows){
            .task = task, .piece = piece, .escaped = {.task = task, .push = push, .arg = arg}};
    while (r == 0 && flow == FLOW_MORE && (r = line_reader_next(lines, &batch)) > 0) {
        const struct glint_batch in = batch;
        uint32_t row;
        r = convert_csv(c, &batch, &row);
        if (r == 0 && batch.rows > 0) flow = push(arg, &batch);
        if (r == 0 && flow == FLOW_MORE && row < in.rows) flow = push_escaped_rows(c, &in, row);
    }
    task->origin = NULL;
    if (c != NULL) mem_free(c->bytes);
    if (c != NULL) mem_free(c->escaped.bytes);
    return r < 0 ? FLOW_FAIL : flow;
}

/* ---- Other headers: one copy of each row of such a file; rows of all other files pass as they
 * are. */

bool mapped_rows_needed(const struct split *split)
{
    for (uint32_t i = 0; i < split->count; i++)
        if (split->pieces[i].columns != NULL) return true;
    return false;
}

static bool reserve_field_starts(struct mapped_rows *c, uint64_t count)
{
    if (count <= c->starts_count) return true;
    mem_free(c->starts);
    c->starts = mem_alloc(count * sizeof *c->starts);
    c->starts_count = c->starts != NULL ? count : 0;
    return c->starts != NULL;
}

/* In rows of CSV that is a mark, if the source has nulls; in lines the text itself. */
static struct glint_slice null_of_piece(const struct split_piece *piece)
{
    static const uint8_t mark = ROW_NULL;
    if (piece->nulls.data == NULL) return (struct glint_slice){&mark, 0};
    if (piece->csv != 0) return (struct glint_slice){&mark, sizeof mark};
    return (struct glint_slice){piece->nulls.data + 1, piece->nulls.size - 1};
}

static enum flow map_row_columns(struct mapped_rows *c, const struct column_map *map,
                                 struct glint_slice row)
{
    struct row_batch *out = &c->out;
    /* A blank line is no row with too few fields: what it is, readers of columns decide. */
    const bool blank = row.size == 0 && map->fields > 1;
    const uint64_t size = blank ? 0 : column_map_measure(map, row, c->null, c->starts);
    if (size == UINT64_MAX)
        return glint_bad_row(out->task, row, "fewer fields than the header") < 0 ? FLOW_FAIL
                                                                                 : FLOW_MORE;
    const enum flow flow = row_batch_reserve(out, size);
    if (flow != FLOW_MORE) return flow;
    if (!blank) column_map_write(map, row, c->null, c->starts, out->bytes + out->used);
    row_batch_add(out, row, size);
    return FLOW_MORE;
}

enum flow mapped_rows_push(void *arg, const struct glint_batch *lines)
{
    struct mapped_rows *c = arg;
    assert(lines->origin != NULL && lines->origin->piece != NULL);
    const struct column_map *map = lines->origin->piece->columns;
    enum flow flow = FLOW_MORE;
    if (map == NULL) return c->out.push(c->out.arg, lines);
    if (!reserve_field_starts(c, (uint64_t)map->fields + 1)) {
        error_no_memory(&c->out.task->error);
        return FLOW_FAIL;
    }
    c->out.in = lines;
    c->out.plain = lines->origin->plain;
    c->null = null_of_piece(lines->origin->piece);
    c->out.task->origin = lines->origin;
    for (uint32_t i = 0; flow == FLOW_MORE && i < lines->rows; i++)
        flow = map_row_columns(c, map, glint_column_slice(&lines->value, i));
    return flow == FLOW_MORE ? row_batch_flush(&c->out) : flow;
}

void mapped_rows_close(struct mapped_rows *c)
{
    mem_free(c->out.bytes);
    mem_free(c->starts);
}
