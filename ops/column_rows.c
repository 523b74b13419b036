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

/* Where the values of a column come from, in the array that is read. */
enum value_kind {
    VALUE_EMPTY,    /* always null, or the file has no such column */
    VALUE_CONSTANT, /* of the file's directories */
    VALUE_NUMBER,   /* arrow_put_number */
    VALUE_BYTES,    /* with offsets of 32 bits */
    VALUE_ANY       /* by arrow_append_text: dictionaries, runs, views, nested values */
};

struct value_source {
    enum value_kind kind;
    uint32_t field; /* of the row */
    const struct arrow_field *type;
    const struct ArrowArray *array;
    const uint8_t *validity; /* of NUMBER and BYTES; NULL: none is null */
    struct glint_slice constant;
    bool check; /* whether a text may have bytes that rows cannot hold */
    bool key;   /* of floats: zeros have no sign */
};

struct row_writer {
    struct glint_task *task;
    struct column_reader reader;
    enum flow (*push)(void *arg, const struct glint_batch *rows);
    void *arg;
    struct buffer bytes;
    struct value_source *sources; /* by column of the layout */
    uint32_t source_capacity;
    bool nulls; /* null is not an empty field */
    uint32_t rows;
    uint64_t first_row; /* of the batch, in the file */
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    uint32_t number[BATCH_ROWS_MAX]; /* of the row, from first_row on: rows may be skipped */
    uint8_t keep[BATCH_ROWS_MAX];    /* of the rows that are next in the array */
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
    w->origin.origin.row_offset = w->number;
    batch.origin = &w->origin.origin;
    w->task->origin = batch.origin;
    const enum flow flow = w->push(w->arg, &batch);
    w->task->origin = NULL;
    w->rows = 0;
    w->bytes.size = 0;
    return flow;
}

/* Whether any of the texts of an array has a separator or null's byte. */
static bool may_have_special_bytes(const struct value_source *v)
{
    assert(v->kind == VALUE_BYTES);
    const int32_t *offsets = (const int32_t *)v->array->buffers[1] + v->array->offset;
    const uint64_t size = (uint64_t)(offsets[v->array->length] - offsets[0]);
    if (size == 0) return false;
    const uint8_t *data = (const uint8_t *)v->array->buffers[2] + offsets[0];
    return memchr(data, CSV_SEPARATOR, size) != NULL || memchr(data, ROW_NULL, size) != NULL;
}

static void find_value_source(struct row_writer *w, uint32_t column, struct value_source *v)
{
    const struct partition_column *constant = column_reader_constant(&w->reader, column);
    *v = (struct value_source){.kind = VALUE_EMPTY};
    v->field = column_reader_piece(&w->reader)->layout->columns[column].field;
    v->array = column_reader_column(&w->reader, column, &v->type);
    if (constant != NULL && !constant->null) {
        v->kind = VALUE_CONSTANT;
        v->constant = constant->value;
        v->check = true;
        return;
    }
    if (v->array == NULL || v->type->type == ARROW_NULL) return;
    v->key = column_reader_piece(&w->reader)->layout->columns[column].key && arrow_is_f64(v->type);
    const bool plain = v->type->dictionary == NULL;
    v->kind = plain && v->type->type <= ARROW_DURATION ? VALUE_NUMBER : VALUE_ANY;
    if (plain && (v->type->type == ARROW_UTF8 || v->type->type == ARROW_BINARY) &&
        v->array->length > 0)
        v->kind = VALUE_BYTES;
    v->check = v->kind == VALUE_BYTES ? may_have_special_bytes(v) : arrow_is_bytes(v->type);
    if (v->kind != VALUE_ANY) v->validity = v->array->buffers[0];
}

/* Resolves the columns of the array that has been read. Returns false when out of memory. */
static bool resolve_sources(struct row_writer *w, const struct row_layout *layout)
{
    if (layout->count > w->source_capacity) {
        w->sources = task_alloc(w->task, layout->count * sizeof *w->sources);
        if (w->sources == NULL) return false;
        w->source_capacity = layout->count;
    }
    w->nulls = column_reader_piece(&w->reader)->nulls.data != NULL;
    for (uint32_t i = 0; i < layout->count; i++) find_value_source(w, i, &w->sources[i]);
    return true;
}

static bool is_source_null(const struct value_source *v, int64_t row)
{
    const int64_t at = v->array->offset + row;
    if (v->kind == VALUE_ANY) return arrow_is_null(v->type, v->array, row);
    return v->validity != NULL && (v->validity[at / 8] >> at % 8 & 1) == 0;
}

/* Appends a value that is not null. Returns false when out of memory. */
static bool append_source(struct buffer *out, const struct value_source *v, int64_t row)
{
    struct glint_slice text = v->constant;
    if (v->kind == VALUE_ANY) return arrow_append_text(v->type, v->array, row, out);
    if (v->kind == VALUE_NUMBER) {
        if (!buffer_reserve(out, ARROW_NUMBER_TEXT_MAX)) return false;
        out->size += arrow_put_number(v->type, v->array, row, (char *)out->data + out->size);
        return true;
    }
    if (v->kind == VALUE_BYTES) {
        const int32_t *offsets = (const int32_t *)v->array->buffers[1] + v->array->offset + row;
        text.size = (uint64_t)(offsets[1] - offsets[0]);
        if (text.size > 0) text.data = (const uint8_t *)v->array->buffers[2] + offsets[0];
    }
    return buffer_append(out, text.data, text.size);
}

/* Appends one value. Returns 0, 1 if rows of text cannot hold it, or a code. */
static int append_value(struct row_writer *w, const struct value_source *v, int64_t row)
{
    assert(row < w->reader.array.length);
    const uint64_t from = w->bytes.size;
    if (v->kind == VALUE_EMPTY || (v->kind != VALUE_CONSTANT && is_source_null(v, row))) {
        if (w->nulls) w->bytes.data[w->bytes.size++] = ROW_NULL;
        return 0;
    }
    if (!append_source(&w->bytes, v, row)) return error_no_memory(&w->task->error);
    if (v->key)
        w->bytes.size = from + arrow_cut_zero_sign(v->type, w->bytes.data + from,
                                                   w->bytes.size - from);
    const uint64_t size = w->bytes.size - from;
    if (!v->check || size == 0) return 0;
    const uint8_t *text = w->bytes.data + from;
    return memchr(text, CSV_SEPARATOR, size) != NULL || (size == 1 && *text == ROW_NULL);
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
        if (!buffer_reserve(&w->bytes, 2)) return error_no_memory(&w->task->error);
        if (field > 0) w->bytes.data[w->bytes.size++] = CSV_SEPARATOR;
        if (next == layout->count || w->sources[next].field != field) continue;
        int r = append_value(w, &w->sources[next++], row);
        if (r > 0) {
            r = report_bad_value(w, next - 1, w->reader.first_row + (uint64_t)row);
            w->bytes.size = from;
            return r;
        }
        if (r < 0) return r;
    }
    return 1;
}

/* The column that tells which rows are needed (glint_skip_rows); NULL: all rows are made, also to
 * find those that are bad. */
static const struct value_source *find_skip_source(const struct row_writer *w,
                                                   const struct row_layout *layout)
{
    const struct value_source *found = NULL;
    bool check = false;
    for (uint32_t i = 0; w->task->row_skip.keep != NULL && i < layout->count; i++) {
        const struct value_source *v = &w->sources[i];
        if (v->kind == VALUE_BYTES && v->field == w->task->row_skip.column) found = v;
        check |= v->check;
    }
    return check ? NULL : found;
}

/* Sets `keep` of the next rows of the array, from `row` on. Rows without a value are kept. Returns
 * 0 or a code. */
static int choose_rows(struct row_writer *w, const struct value_source *v, int64_t row)
{
    const int64_t rest = w->reader.array.length - row;
    const uint32_t rows = rest < BATCH_ROWS_MAX ? (uint32_t)rest : BATCH_ROWS_MAX;
    const uint32_t *offsets = (const uint32_t *)v->array->buffers[1] + v->array->offset + row;
    const uint32_t *all = (const uint32_t *)v->array->buffers[1];
    static const uint8_t none[1];
    const struct row_skip *skip = &w->task->row_skip;
    const struct glint_column values = {.type = GLINT_TEXT,
                                        .base = offsets[rows] > 0 ? v->array->buffers[2] : none,
                                        .size = all[v->array->offset + v->array->length],
                                        .start = offsets,
                                        .end = offsets + 1};
    assert(v->kind == VALUE_BYTES && rows > 0);
    const int e = skip->keep(w->task, skip->state, &values, rows, w->keep);
    for (uint32_t i = 0; i < rows; i++)
        if (offsets[i + 1] == offsets[i] || is_source_null(v, row + i)) w->keep[i] = 1;
    return e;
}

static enum flow write_rows(struct row_writer *w)
{
    assert(w->rows == 0 && w->bytes.size == 0);
    const struct row_layout *layout = column_reader_piece(&w->reader)->layout;
    enum flow flow = FLOW_MORE;
    if (!resolve_sources(w, layout)) return FLOW_FAIL;
    const struct value_source *skip = find_skip_source(w, layout);
    for (int64_t row = 0; flow == FLOW_MORE && row < w->reader.array.length; row++) {
        if (skip != NULL && row % BATCH_ROWS_MAX == 0 && choose_rows(w, skip, row) != 0)
            return FLOW_FAIL;
        if (skip != NULL && w->keep[row % BATCH_ROWS_MAX] == 0) continue;
        const uint64_t from = w->bytes.size;
        const int r = append_row(w, layout, row);
        if (r < 0) return FLOW_FAIL;
        const uint64_t size = w->bytes.size - from;
        if (r == 0 || w->rows == BATCH_ROWS_MAX ||
            (w->rows > 0 && w->bytes.size > BATCH_BYTES_MAX)) {
            w->bytes.size = from;
            flow = flush_rows(w);
            if (r == 0 || flow != FLOW_MORE) continue;
            if (!buffer_reserve(&w->bytes, size)) {
                error_no_memory(&w->task->error);
                return FLOW_FAIL;
            }
            memmove(w->bytes.data, w->bytes.data + from, size);
            w->bytes.size = size;
        }
        const uint64_t number = w->reader.first_row + (uint64_t)row;
        if (w->rows == 0) w->first_row = number;
        w->number[w->rows] = (uint32_t)(number - w->first_row);
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
