/* Rows of files of columns, for operators that take rows of tables: as text, or typed for jobs that
 * keep them (input/typed_row.h). */
#include "engine/input/arrow_builder.h"
#include "engine/input/column_reader.h"
#include "engine/input/csv.h"
#include "engine/input/typed_row.h"
#include "engine/records/bytes.h"
#include "engine/records/task.h"
#include "ops/column_source.h"

#include <assert.h>
#include <math.h>
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
    VALUE_NUMBER,   /* arrow_format_number */
    VALUE_BYTES,    /* with offsets of 32 bits */
    VALUE_ANY       /* by arrow_append_text: dictionaries, runs, views, nested values */
};

struct value_source {
    enum value_kind kind;
    uint32_t column, field; /* of the layout, and of the row */
    const struct arrow_field *type;
    const struct ArrowArray *array;
    const uint8_t *validity; /* of NUMBER and BYTES; NULL: none is null */
    struct glint_slice constant;
    bool check;            /* whether a text may need escapes in rows of text */
    bool key;              /* of floats: zeros have no sign */
    const uint8_t *copied; /* the values, if those of typed rows are the same */
};

struct row_writer {
    struct glint_task *task;
    struct column_reader reader;
    enum flow (*push)(void *arg, const struct glint_batch *rows);
    void *arg;
    struct buffer bytes;
    struct value_source *sources; /* by column of the layout; of typed rows, by field */
    uint32_t source_capacity;
    const struct typed_form *typed; /* NULL: rows are text */
    struct buffer text;             /* of a value that is not copied */
    bool nulls;                     /* null is not an empty field */
    bool escapes;                   /* rows of the batch have, or fields of typed rows need them */
    bool array_escapes;             /* texts that are written a block at a time may need them */
    const char *problem;            /* of a value that is none of its column */
    uint32_t rows;
    uint64_t first_row; /* of the batch, in the file */
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    uint32_t number[BATCH_ROWS_MAX]; /* of the row, from first_row on: rows may be skipped */
    uint8_t keep[BATCH_ROWS_MAX];    /* of the rows that are next in the array */
    struct column_origin origin;
};

/* Reports a value that is none of its column. Returns 0 if the row is left out, or a code. */
static int report_bad_value(struct row_writer *w, uint32_t column, int64_t row)
{
    const struct split_piece *piece = column_reader_piece(&w->reader);
    const struct glint_slice text = {(const uint8_t *)"", 0};
    const struct glint_column place = {.base = text.data, .size = 1};
    column_origin_set(&w->origin, piece, w->reader.first_row + (uint64_t)row, &place, 1);
    w->task->origin = &w->origin.origin;
    const int r =
        glint_bad_value(w->task, text, NULL, w->problem, piece->layout->columns[column].name, text);
    w->task->origin = NULL;
    return r;
}

static enum flow flush_written_rows(struct row_writer *w)
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
    w->origin.origin.plain = !w->escapes;
    batch.origin = &w->origin.origin;
    w->task->origin = batch.origin;
    const enum flow flow = w->push(w->arg, &batch);
    w->task->origin = NULL;
    w->rows = 0;
    w->bytes.size = 0;
    w->escapes = false;
    return flow;
}

/* Whether any of the texts of an array may need escapes. */
static bool may_need_escapes(const struct value_source *v)
{
    assert(v->kind == VALUE_BYTES);
    const int32_t *offsets = (const int32_t *)v->array->buffers[1] + v->array->offset;
    const uint64_t size = (uint64_t)(offsets[v->array->length] - offsets[0]);
    if (size == 0) return false;
    const uint8_t *data = (const uint8_t *)v->array->buffers[2] + offsets[0];
    return !row_text_is_plain((struct glint_slice){data, size});
}

static void find_value_source(struct row_writer *w, uint32_t column, struct value_source *v)
{
    const struct partition_column *constant = column_reader_partition_column(&w->reader, column);
    *v = (struct value_source){.kind = VALUE_EMPTY, .column = column};
    v->field = column_reader_piece(&w->reader)->layout->columns[column].field;
    v->array = column_reader_column(&w->reader, column, &v->type);
    if (constant != NULL && !constant->null) {
        v->kind = VALUE_CONSTANT;
        v->constant = constant->value;
        v->check = true;
        return;
    }
    if (v->array == NULL || v->type->type == ARROW_NULL) return;
    v->key =
        column_reader_piece(&w->reader)->layout->columns[column].key && arrow_is_float(v->type);
    const bool plain = v->type->dictionary == NULL && v->type->common == ARROW_COMMON_NONE;
    v->kind = plain && v->type->type <= ARROW_DURATION ? VALUE_NUMBER : VALUE_ANY;
    if (plain && (v->type->type == ARROW_UTF8 || v->type->type == ARROW_BINARY) &&
        v->array->length > 0)
        v->kind = VALUE_BYTES;
    v->check = v->kind == VALUE_BYTES ? may_need_escapes(v) : arrow_is_bytes(v->type);
    if (v->kind != VALUE_ANY) v->validity = v->array->buffers[0];
}

/* Values of the same type are copied; others are read from their text. */
static void set_copied_values(const struct typed_column *c, struct value_source *v)
{
    if (c->size == 0 || v->kind != VALUE_NUMBER || strcmp(v->type->format, c->field->format) != 0)
        return;
    assert(v->type->type == c->field->type);
    v->copied = v->array->buffers[1];
    if (v->type->type != ARROW_BOOL) v->copied += (uint64_t)v->array->offset * c->size;
}

/* Resolves the columns of the array that has been read. Returns false when out of memory. */
static bool find_sources_of_columns(struct row_writer *w, const struct row_layout *layout)
{
    const uint32_t count = w->typed != NULL ? w->typed->count : layout->count;
    if (count > w->source_capacity) {
        w->sources = task_alloc(w->task, count * sizeof *w->sources);
        if (w->sources == NULL) return false;
        w->source_capacity = count;
    }
    w->nulls = column_reader_piece(&w->reader)->nulls.data != NULL;
    w->array_escapes = false;
    for (uint32_t i = 0; w->typed != NULL && i < count; i++)
        w->sources[i] = (struct value_source){.kind = VALUE_EMPTY, .column = UINT32_MAX};
    for (uint32_t i = 0; i < layout->count; i++) {
        struct value_source *v = &w->sources[w->typed != NULL ? layout->columns[i].field : i];
        assert(v < w->sources + count);
        find_value_source(w, i, v);
        w->array_escapes |= v->check;
        if (w->typed != NULL) set_copied_values(&w->typed->columns[v->field], v);
    }
    return true;
}

static bool is_source_null(const struct value_source *v, int64_t row)
{
    const int64_t at = v->array->offset + row;
    if (v->kind == VALUE_ANY) return arrow_is_null(v->type, v->array, row);
    return v->validity != NULL && (v->validity[at / 8] >> at % 8 & 1) == 0;
}

/* Appends a value that is not null. Returns false when out of memory. */
static bool append_source_value(struct buffer *out, const struct value_source *v, int64_t row)
{
    struct glint_slice text = v->constant;
    if (v->kind == VALUE_ANY) return arrow_append_text(v->type, v->array, row, out);
    if (v->kind == VALUE_NUMBER) {
        if (!buffer_reserve(out, ARROW_NUMBER_TEXT_MAX)) return false;
        out->size += arrow_format_number(v->type, v->array, row, (char *)out->data + out->size);
        return true;
    }
    if (v->kind == VALUE_BYTES) {
        const int32_t *offsets = (const int32_t *)v->array->buffers[1] + v->array->offset + row;
        text.size = (uint64_t)(offsets[1] - offsets[0]);
        if (text.size > 0) text.data = (const uint8_t *)v->array->buffers[2] + offsets[0];
    }
    return buffer_append(out, text.data, text.size);
}

/* Appends the text of a column to a row of text, or typed. Returns 0 or a code. */
static int append_text(struct row_writer *w, const struct value_source *v, int64_t row)
{
    const uint64_t from = w->bytes.size;
    if (!append_source_value(&w->bytes, v, row)) return error_no_memory(&w->task->error);
    if (v->key)
        w->bytes.size =
            from + arrow_cut_zero_sign(v->type, w->bytes.data + from, w->bytes.size - from);
    if (!v->check || w->bytes.size == from) return 0;
    const struct glint_slice text = {w->bytes.data + from, w->bytes.size - from};
    if (row_text_is_plain(text)) return 0;
    w->escapes = true;
    if (w->typed != NULL || row_text_escape_appended(&w->bytes, from)) return 0;
    return error_no_memory(&w->task->error);
}

/* Appends one value. Returns 0 or a code. */
static int append_row_value(struct row_writer *w, const struct value_source *v, int64_t row)
{
    assert(row < w->reader.array.length);
    if (v->kind != VALUE_EMPTY && (v->kind == VALUE_CONSTANT || !is_source_null(v, row)))
        return append_text(w, v, row);
    if (w->nulls) w->bytes.data[w->bytes.size++] = ROW_NULL;
    return 0;
}

/* ---- Typed rows */

/* A NaN is written as its text is read: one bit pattern. */
static void copy_value(const struct value_source *v, uint32_t size, int64_t row, uint8_t *out)
{
    const uint8_t *from = v->copied + (uint64_t)row * size;
    const int64_t at = v->array->offset + row;
    switch (v->type->type) {
    case ARROW_BOOL: *out = v->copied[at / 8] >> at % 8 & 1; return;
    case ARROW_F32: {
        float value;
        memcpy(&value, from, sizeof value);
        if (isnan(value)) value = (float)NAN;
        if (v->key && value == 0) value = 0;
        memcpy(out, &value, sizeof value);
        return;
    }
    case ARROW_F64: {
        double value;
        memcpy(&value, from, sizeof value);
        if (isnan(value)) value = (double)NAN;
        if (v->key && value == 0) value = 0;
        memcpy(out, &value, sizeof value);
        return;
    }
    default: break;
    }
    switch (size) { /* known sizes are faster */
    case 1: *out = *from; return;
    case 2: memcpy(out, from, 2); return;
    case 4: memcpy(out, from, 4); return;
    case 8: memcpy(out, from, 8); return;
    case 16: memcpy(out, from, 16); return;
    default: memcpy(out, from, size); return;
    }
}

/* Writes a value of another type. Returns 0, 1 with w->problem set, or a code. */
static int parse_typed_value(struct row_writer *w, const struct value_source *v,
                             const struct typed_column *c, int64_t row, uint64_t at)
{
    w->text.size = 0;
    if (!append_source_value(&w->text, v, row)) return error_no_memory(&w->task->error);
    if (v->key) w->text.size = arrow_cut_zero_sign(v->type, w->text.data, w->text.size);
    const struct glint_slice text = {w->text.data, w->text.size};
    w->problem = arrow_value_parse(c->field, text, w->bytes.data + at);
    return w->problem != NULL;
}

/* Appends a row. Returns 1, 0 if it is bad and left out, or a code. */
static int append_typed_row(struct row_writer *w, int64_t row)
{
    const struct typed_form *const f = w->typed;
    const uint64_t from = w->bytes.size, texts = from + f->texts_at;
    int r = 0;
    if (!buffer_reserve(&w->bytes, f->texts_at)) return error_no_memory(&w->task->error);
    memset(w->bytes.data + from, 0, f->texts_at);
    w->bytes.size = texts;
    uint32_t i = 0;
    for (; r == 0 && i < f->count; i++) {
        const struct value_source *const v = &w->sources[i];
        const struct typed_column *const c = &f->columns[i];
        if (v->kind == VALUE_EMPTY || (v->kind != VALUE_CONSTANT && is_source_null(v, row)))
            typed_row_set_null(w->bytes.data + from, i);
        else if (v->copied != NULL)
            copy_value(v, c->size, row, w->bytes.data + from + c->at);
        else
            r = c->size > 0 ? parse_typed_value(w, v, c, row, from + c->at)
                            : append_text(w, v, row);
        if (c->size > 0) continue;
        if (w->bytes.size - texts > UINT32_MAX)
            return error_set(&w->task->error, GLINT_E_VALUE_LIMIT, NULL,
                             "%s: a row has more than 4 GiB",
                             column_reader_piece(&w->reader)->path);
        const uint32_t end = (uint32_t)(w->bytes.size - texts);
        memcpy(w->bytes.data + from + c->at, &end, sizeof end);
    }
    if (r > 0) {
        r = report_bad_value(w, w->sources[i - 1].column, row);
        w->bytes.size = from;
        return r;
    }
    return r < 0 ? r : 1;
}

/* ---- Typed rows, a block of the array at a time: a loop for each column */

/* Whether all values are copied, or are texts with offsets. */
static bool can_write_blocks(const struct row_writer *w)
{
    for (uint32_t i = 0; i < w->typed->count; i++) {
        const struct value_source *const v = &w->sources[i];
        const bool text = v->kind == VALUE_BYTES && w->typed->columns[i].size == 0;
        if (v->kind != VALUE_EMPTY && v->copied == NULL && !text) return false;
    }
    return true;
}

/* The text of a row, empty if it is null. */
static struct glint_slice text_of_source(const struct value_source *v, int64_t row)
{
    const int32_t *const offsets = (const int32_t *)v->array->buffers[1] + v->array->offset + row;
    if (v->validity != NULL && is_source_null(v, row)) return (struct glint_slice){NULL, 0};
    return (struct glint_slice){(const uint8_t *)v->array->buffers[2] + offsets[0],
                                (uint64_t)(offsets[1] - offsets[0])};
}

/* The rows that were chosen of a block; rows[i] is in the array, and begins at base + start[i]. */
struct row_block {
    uint32_t count;
    const uint32_t *rows, *start;
    uint8_t *base;
};

static void write_block_nulls(const struct row_block *b, const struct value_source *v,
                              uint32_t column, const struct typed_column *c)
{
    for (uint32_t i = 0; i < b->count; i++) {
        if (v->kind != VALUE_EMPTY && !is_source_null(v, b->rows[i])) continue;
        typed_row_set_null(b->base + b->start[i], column);
        if (c->size > 0) memset(b->base + b->start[i] + c->at, 0, c->size);
    }
}

/* Also of rows that are null. */
static void write_block_values(const struct row_block *b, const struct value_source *v,
                               const struct typed_column *c)
{
    const enum arrow_type type = v->type->type;
    uint8_t *const out = b->base + c->at;
    assert(v->copied != NULL);
    if (type != ARROW_BOOL && type != ARROW_F32 && type != ARROW_F64 && c->size == 8) {
        for (uint32_t i = 0; i < b->count; i++)
            memcpy(out + b->start[i], v->copied + (uint64_t)b->rows[i] * 8, 8);
        return;
    }
    for (uint32_t i = 0; i < b->count; i++) copy_value(v, c->size, b->rows[i], out + b->start[i]);
}

/* `written`: bytes of the texts of each row. */
static void write_block_texts(const struct row_block *b, const struct value_source *v,
                              const struct typed_form *f, const struct typed_column *c,
                              uint32_t *written)
{
    for (uint32_t i = 0; i < b->count; i++) {
        uint8_t *const row = b->base + b->start[i];
        if (v->kind != VALUE_EMPTY) {
            const struct glint_slice text = text_of_source(v, b->rows[i]);
            bytes_copy(row + f->texts_at + written[i], text.data, text.size);
            written[i] += (uint32_t)text.size;
        }
        memcpy(row + c->at, &written[i], sizeof written[i]);
    }
}

/* Sets where rows of the block begin and end, behind those of the batch. Returns the end. */
static uint64_t measure_block(struct row_writer *w, const uint32_t *rows, uint32_t count)
{
    uint64_t end = w->bytes.size;
    uint64_t size[BATCH_ROWS_MAX];
    for (uint32_t i = 0; i < count; i++) size[i] = w->typed->texts_at;
    for (uint32_t column = 0; column < w->typed->count; column++) {
        const struct value_source *const v = &w->sources[column];
        if (v->kind != VALUE_BYTES) continue;
        for (uint32_t i = 0; i < count; i++) size[i] += text_of_source(v, rows[i]).size;
    }
    for (uint32_t i = 0; i < count && end <= BATCH_BYTES_MAX; i++) {
        w->start[w->rows + i] = (uint32_t)end;
        end += size[i];
        w->end[w->rows + i] = (uint32_t)end;
    }
    return end;
}

/* Appends the rows of a block that are kept, from `from` on, all or none. Returns 1, 0 if they do
 * not fit a batch, or a code. */
static int append_block(struct row_writer *w, const uint32_t *rows, uint32_t count)
{
    const struct typed_form *const f = w->typed;
    uint32_t written[BATCH_ROWS_MAX];
    assert(w->rows + count <= BATCH_ROWS_MAX);
    const uint64_t size = measure_block(w, rows, count) - w->bytes.size;
    if (w->bytes.size + size > BATCH_BYTES_MAX) return 0;
    if (!buffer_reserve(&w->bytes, size)) return error_no_memory(&w->task->error);
    memset(w->bytes.data + w->bytes.size, 0, size);
    memset(written, 0, count * sizeof *written);
    const struct row_block block = {count, rows, w->start + w->rows, w->bytes.data};
    for (uint32_t i = 0; i < f->count; i++) {
        const struct value_source *const v = &w->sources[i];
        const struct typed_column *const c = &f->columns[i];
        if (v->copied != NULL) write_block_values(&block, v, c);
        if (v->kind == VALUE_EMPTY || v->validity != NULL) write_block_nulls(&block, v, i, c);
        if (c->size == 0) write_block_texts(&block, v, f, c, written);
    }
    w->escapes |= w->array_escapes;
    const uint64_t first = w->reader.first_row;
    if (w->rows == 0) w->first_row = first + rows[0];
    for (uint32_t i = 0; i < count; i++)
        w->number[w->rows + i] = (uint32_t)(first + rows[i] - w->first_row);
    w->bytes.size += size;
    w->rows += count;
    return 1;
}

/* Writes the next rows of the array, at most as many as a batch has. Returns how many, 0 if they do
 * not fit a batch or *flow is no longer MORE, or a code. */
static int64_t write_next_typed_block(struct row_writer *w, int64_t row, bool skip, enum flow *flow)
{
    uint32_t rows[BATCH_ROWS_MAX], count = 0;
    const int64_t rest = w->reader.array.length - row;
    const uint32_t block = rest < BATCH_ROWS_MAX ? (uint32_t)rest : BATCH_ROWS_MAX;
    for (uint32_t i = 0; i < block; i++)
        if (!skip || w->keep[i] != 0) rows[count++] = (uint32_t)row + i;
    if (count == 0) return block;
    if (w->rows + count > BATCH_ROWS_MAX) *flow = flush_written_rows(w);
    int r = *flow == FLOW_MORE ? append_block(w, rows, count) : 0;
    if (r == 0 && w->rows > 0) {
        *flow = flush_written_rows(w);
        r = *flow == FLOW_MORE ? append_block(w, rows, count) : 0;
    }
    return r > 0 ? (int64_t)block : r;
}

/* ---- Rows of text */

/* Appends a row. Returns 1 or a code. */
static int append_row(struct row_writer *w, const struct row_layout *layout, int64_t row)
{
    uint32_t next = 0;
    for (uint32_t field = 0; field < layout->fields; field++) {
        if (!buffer_reserve(&w->bytes, 2)) return error_no_memory(&w->task->error);
        if (field > 0) w->bytes.data[w->bytes.size++] = CSV_SEPARATOR;
        if (next == layout->count || w->sources[next].field != field) continue;
        const int r = append_row_value(w, &w->sources[next++], row);
        if (r < 0) return r;
    }
    return 1;
}

static const struct value_source *source_of_column(const struct row_writer *w,
                                                   const struct row_layout *layout, uint32_t i)
{
    return &w->sources[w->typed != NULL ? layout->columns[i].field : i];
}

/* The column that tells which rows are needed (glint_skip_rows); NULL: all rows are made, also to
 * find those that are bad, with a value that is none of its column. */
static const struct value_source *find_source_of_row_skip(const struct row_writer *w,
                                                          const struct row_layout *layout)
{
    const struct value_source *found = NULL;
    bool parsed = false;
    for (uint32_t i = 0; w->task->row_skip.keep != NULL && i < layout->count; i++) {
        const struct value_source *v = source_of_column(w, layout, i);
        if (v->kind == VALUE_BYTES && v->field == w->task->row_skip.column) found = v;
        parsed |= w->typed != NULL && w->typed->columns[v->field].size > 0 && v->copied == NULL &&
                  v->kind != VALUE_EMPTY;
    }
    return parsed ? NULL : found;
}

/* Sets `keep` of the next rows of the array, from `row` on. Rows without a value are kept. Returns
 * 0 or a code. */
static int mark_rows_to_keep(struct row_writer *w, const struct value_source *v, int64_t row)
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

/* Appends a row to the batch; one that does not fit is the first of the next batch. */
static enum flow write_row(struct row_writer *w, const struct row_layout *layout, int64_t row)
{
    const uint64_t from = w->bytes.size;
    const int r = w->typed != NULL ? append_typed_row(w, row) : append_row(w, layout, row);
    if (r < 0) return FLOW_FAIL;
    const uint64_t size = w->bytes.size - from;
    if (r == 0 || w->rows == BATCH_ROWS_MAX || (w->rows > 0 && w->bytes.size > BATCH_BYTES_MAX)) {
        w->bytes.size = from;
        const enum flow flow = flush_written_rows(w);
        if (r == 0 || flow != FLOW_MORE) return flow;
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
    return FLOW_MORE;
}

static enum flow write_rows(struct row_writer *w)
{
    assert(w->rows == 0 && w->bytes.size == 0);
    const struct row_layout *layout = column_reader_piece(&w->reader)->layout;
    enum flow flow = FLOW_MORE;
    if (!find_sources_of_columns(w, layout)) return FLOW_FAIL;
    const struct value_source *skip = find_source_of_row_skip(w, layout);
    const bool blocks = w->typed != NULL && can_write_blocks(w);
    for (int64_t row = 0; flow == FLOW_MORE && row < w->reader.array.length;) {
        const bool first = row % BATCH_ROWS_MAX == 0;
        if (skip != NULL && first && mark_rows_to_keep(w, skip, row) != 0) return FLOW_FAIL;
        if (blocks && first) {
            const int64_t written = write_next_typed_block(w, row, skip != NULL, &flow);
            if (written < 0) return FLOW_FAIL;
            row += written;
            if (written > 0 || flow != FLOW_MORE) continue;
        }
        if (skip == NULL || w->keep[row % BATCH_ROWS_MAX] != 0) flow = write_row(w, layout, row);
        row++;
    }
    return flow == FLOW_MORE ? flush_written_rows(w) : flow;
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
    const struct row_layout *const layout = split->pieces[0].layout;
    if (layout->types.size > 0) {
        w->typed = typed_form_read(task, layout->types);
        if (w->typed != NULL && w->typed->count != layout->fields)
            error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a split has types of other rows");
        if (task->error.code != GLINT_OK) return FLOW_FAIL;
    }
    column_reader_open(&w->reader, task, split);
    while (flow == FLOW_MORE && (r = column_reader_next(&w->reader)) > 0) flow = write_rows(w);
    column_reader_close(&w->reader);
    buffer_fini(&w->bytes);
    buffer_fini(&w->text);
    return r < 0 ? FLOW_FAIL : flow;
}
