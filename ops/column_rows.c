/* Rows of files of columns as text, for operators that take rows of tables. */
#include "engine/input/bad_rows.h"
#include "engine/input/column_reader.h"
#include "engine/input/csv.h"
#include "engine/input/split.h"
#include "engine/records/task.h"
#include "ops/column_source.h"

#include <assert.h>
#include <string.h>

void column_origin_init(struct column_origin *o)
{
    for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) o->numbers[i] = i;
}

void column_origin_set(struct column_origin *o, const struct split_piece *piece, uint64_t first_row,
                       const struct glint_column *column, uint32_t rows)
{
    o->origin = (struct glint_origin){.path = piece->path,
                                      .base = column->base,
                                      .size = column->size,
                                      .offset = first_row,
                                      .rows = column->start != NULL ? rows : 0,
                                      .row_start = column->start,
                                      .row_offset = o->numbers,
                                      .piece = piece};
}

struct row_writer {
    struct glint_task *task;
    struct column_reader reader;
    enum flow (*push)(void *arg, const struct glint_batch *rows);
    void *arg;
    struct buffer bytes;
    uint32_t rows;
    uint64_t first_row; /* of the batch, in the file */
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    struct column_origin origin;
};

static enum flow flush_rows(struct row_writer *w)
{
    if (w->rows == 0) return FLOW_MORE;
    const bool alone = w->bytes.size > BATCH_BYTES_MAX;
    assert(!alone || w->rows == 1);
    struct glint_batch batch = {.rows = w->rows,
                                .key = {.type = GLINT_NONE},
                                .value = {.type = GLINT_TEXT,
                                          .base = w->bytes.data,
                                          .size = w->bytes.size,
                                          .start = alone ? NULL : w->start,
                                          .end = alone ? NULL : w->end}};
    column_origin_set(&w->origin, column_reader_piece(&w->reader), w->first_row, &batch.value,
                      w->rows);
    batch.origin = &w->origin.origin;
    w->task->origin = batch.origin;
    const enum flow flow = w->push(w->arg, &batch);
    w->task->origin = NULL;
    w->rows = 0;
    w->bytes.size = 0;
    return flow;
}

static bool append_byte(struct buffer *out, uint8_t byte)
{
    return buffer_append(out, &byte, 1);
}

/* Appends one value. Returns 0 or a code. */
static int append_value(struct row_writer *w, uint32_t column, int64_t row)
{
    assert(row < w->reader.array.length);
    const struct arrow_field *field;
    const struct ArrowArray *array = column_reader_column(&w->reader, column, &field);
    const bool nulls = column_reader_piece(&w->reader)->nulls.data != NULL;
    const struct partition_column *constant = column_reader_constant(&w->reader, column);
    const uint64_t from = w->bytes.size;
    if (constant != NULL && !constant->null) {
        if (!buffer_append(&w->bytes, constant->value.data, constant->value.size))
            return error_no_memory(&w->task->error);
    } else if (array == NULL || arrow_is_null(field, array, row)) {
        return !nulls || append_byte(&w->bytes, ROW_NULL) ? 0 : error_no_memory(&w->task->error);
    } else if (!arrow_append_text(field, array, row, &w->bytes)) {
        return error_no_memory(&w->task->error);
    }
    const uint64_t size = w->bytes.size - from;
    const uint8_t *text = w->bytes.data + from;
    if (size == 0 || (constant == NULL && !arrow_is_bytes(field))) return 0;
    const bool bad = memchr(text, CSV_SEPARATOR, size) != NULL || (size == 1 && *text == ROW_NULL);
    return bad ? 1 : 0;
}

/* Reports a value that rows of text cannot hold. Returns 0 if the row is left out, or a code. */
static int report_bad_value(struct row_writer *w, uint32_t column, uint64_t row)
{
    const struct split_piece *piece = column_reader_piece(&w->reader);
    struct glint_slice text = {w->bytes.data, 0};
    struct glint_column place = {.base = w->bytes.data, .size = 1};
    column_origin_set(&w->origin, piece, row, &place, 1);
    w->task->origin = &w->origin.origin;
    const int r = glint_bad_value(w->task, text, "the byte 0x1f, or 0x1d alone, in a value",
                                  piece->layout->columns[column].name, text);
    w->task->origin = NULL;
    return r;
}

/* Appends a row. Returns 1, 0 if it is bad and left out, or a code. */
static int append_row(struct row_writer *w, const struct row_layout *layout, int64_t row)
{
    const uint64_t from = w->bytes.size;
    uint32_t next = 0;
    for (uint32_t field = 0; field < layout->fields; field++) {
        if (field > 0 && !append_byte(&w->bytes, CSV_SEPARATOR))
            return error_no_memory(&w->task->error);
        if (next == layout->count || layout->columns[next].field != field) continue;
        int r = append_value(w, next++, row);
        if (r > 0) {
            r = report_bad_value(w, next - 1, w->reader.first_row + (uint64_t)row);
            w->bytes.size = from;
            return r;
        }
        if (r < 0) return r;
    }
    return 1;
}

static enum flow write_rows(struct row_writer *w)
{
    assert(w->rows == 0 && w->bytes.size == 0);
    const struct row_layout *layout = column_reader_piece(&w->reader)->layout;
    enum flow flow = FLOW_MORE;
    for (int64_t row = 0; flow == FLOW_MORE && row < w->reader.array.length; row++) {
        const uint64_t from = w->bytes.size;
        const int r = append_row(w, layout, row);
        if (r < 0) return FLOW_FAIL;
        const uint64_t size = w->bytes.size - from;
        if (r == 0 || w->rows == BATCH_ROWS_MAX ||
            (w->rows > 0 && w->bytes.size > BATCH_BYTES_MAX)) {
            w->bytes.size = from;
            flow = flush_rows(w); /* rows of a batch follow each other in the file */
            if (r == 0 || flow != FLOW_MORE) continue;
            if (!buffer_reserve(&w->bytes, size)) {
                error_no_memory(&w->task->error);
                return FLOW_FAIL;
            }
            memmove(w->bytes.data, w->bytes.data + from, size);
            w->bytes.size = size;
        }
        if (w->rows == 0) w->first_row = w->reader.first_row + (uint64_t)row;
        w->start[w->rows] = (uint32_t)(w->bytes.size - size);
        w->end[w->rows++] = (uint32_t)w->bytes.size;
    }
    return flow == FLOW_MORE ? flush_rows(w) : flow;
}

enum flow column_rows_read(struct glint_task *task, const struct split *split,
                           enum flow (*push)(void *arg, const struct glint_batch *rows), void *arg)
{
    struct row_writer *w = task_alloc(task, sizeof *w);
    enum flow flow = FLOW_MORE;
    int r = 1;
    if (w == NULL) return FLOW_FAIL;
    *w = (struct row_writer){.task = task, .push = push, .arg = arg};
    column_origin_init(&w->origin);
    column_reader_open(&w->reader, task, split);
    while (flow == FLOW_MORE && (r = column_reader_next(&w->reader)) > 0) flow = write_rows(w);
    column_reader_close(&w->reader);
    buffer_fini(&w->bytes);
    return r < 0 ? FLOW_FAIL : flow;
}
