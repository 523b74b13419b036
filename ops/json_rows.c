/* A row with values is the mark JSON_ROW, the line, and for each path CSV_SEPARATOR and the value
 * as text: of a string its content, of a number its digits as they are in the line, of null
 * ROW_NULL, or, without nulls, nothing. A line without a value at a path has a null there, or is a
 * bad row, as a line of a table without a column is.
 *
 * Rows grow, so they are copied to a batch of their own; its origin tells which line each row was.
 */
#include "ops/json_rows.h"

#include "engine/batch.h"
#include "engine/input/bad_rows.h"
#include "engine/input/csv.h"
#include "engine/input/json_line.h"
#include "ops/row_batch.h"

#include <assert.h>
#include <string.h>

#define MISSING_VALUES "missing values"
#define SHOWN_BEFORE   60u /* bytes of a long line before a mistake in messages */

struct json_rows {
    struct glint_task *task;
    struct json_paths paths;
    const char *missing[JSON_PATHS_MAX], *container[JSON_PATHS_MAX], *control[JSON_PATHS_MAX],
        *unpaired[JSON_PATHS_MAX];
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
        j->control[i] = arena_format(arena, "the byte 0x1d, 0x1e or 0x1f in the value at %s", path);
        j->unpaired[i] = arena_format(arena, "half of a surrogate pair in the value at %s", path);
        ok = j->missing[i] != NULL && j->container[i] != NULL && j->control[i] != NULL &&
             j->unpaired[i] != NULL;
    }
    return ok ? 0 : error_no_memory(&j->task->error);
}

/* Returns the bytes that the row needs at most. */
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
static const char *put_json_value(const struct json_rows *j, uint32_t path, uint8_t **at)
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
        size = json_text_decode(v->raw, *at);
        if (size > 0 && (memchr(*at, CSV_SEPARATOR, size) || memchr(*at, JSON_ROW, size) ||
                         (j->nulls.data != NULL && size == 1 && **at == ROW_NULL)))
            return j->control[path];
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
