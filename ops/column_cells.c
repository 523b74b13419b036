/* columnCells: columns of files of columns as pairs for jobs that compute with numbers: the texts
 * of some columns as key, with CSV_SEPARATOR between them, and cells (base/cell.h) of others. A row
 * with a number that is no cell is a row of text, as column_rows_read makes it. */
#include "engine/base/cell.h"
#include "engine/input/column_reader.h"
#include "engine/input/csv.h"
#include "engine/records/pack.h"
#include "ops/column_source.h"
#include "ops/ops.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    /* Decimals whose text has up to 18 digits, even if it begins with a zero. */
    CELL_SCALE_MAX = 17,
    /* Different decimals of so many digits are different numbers. */
    F64_DIGITS = 15,
};
#define CELL_UNITS_MAX INT64_C(1000000000000000000)

enum number_kind {
    NUMBER_TEXT, /* of a type without cells */
    NUMBER_NULL, /* the file does not have it */
    NUMBER_I64,
    NUMBER_U64,
    NUMBER_FLOAT,
    NUMBER_DECIMAL,
};

struct cells_column {
    uint32_t column; /* of the layout */
    enum number_kind kind;
    bool direct; /* no row is null, and `values` are i64 or u64 */
    const uint8_t *values;
    const struct arrow_field *field;
    const struct ArrowArray *array;
    const struct partition_column *constant;
};

struct column_cells_state {
    struct glint_task *task;
    struct column_reader reader;
    uint32_t key_count, number_count;
    struct cells_column *columns; /* of the key, then of numbers */
    bool *wants_dictionary;
    struct column_texts texts; /* of the key, if it is one column */
    struct buffer keys, cells;
    uint32_t key_start[BATCH_ROWS_MAX], key_end[BATCH_ROWS_MAX];
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    struct column_origin origin;
};

/* ---- Driver */

/* Whether numbers of the type are mostly cells. */
static bool is_type_mostly_cells(const char *type)
{
    return type != NULL && (type[0] == 'd' || (type[1] == '\0' && strchr("cCsSiIlLefg", type[0])));
}

static bool can_read_cells_of_files(const struct input_list *list,
                                    const struct glint_column_cells *cells)
{
    const struct column_schema *schema = list->schema;
    for (uint32_t i = 0; i < cells->key_count + cells->number_count; i++) {
        const bool key = i < cells->key_count;
        const uint32_t n = key ? cells->keys[i] : cells->numbers[i - cells->key_count];
        if (n >= schema->count || schema->columns[n].lacking != UINT64_MAX) return false;
        if (!key && !is_type_mostly_cells(schema->columns[n].type)) return false;
    }
    return true;
}

static int plan_column_cells(struct glint *g, struct input_list *list, const void *arg,
                             struct packer *p, struct glint_schema *schema)
{
    const struct glint_column_cells *cells = arg;
    const uint32_t count = cells->key_count + cells->number_count;
    if (input_list_read_schema(g->config.env, list, &g->error) != 0) return g->error.code;
    uint32_t *numbers = arena_alloc(&list->arena, (count + 1ull) * sizeof *numbers);
    if (numbers == NULL) return error_no_memory(&g->error);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i < cells->key_count ? cells->keys[i] : cells->numbers[i - cells->key_count];
    list->accepts_columns = true;
    if (input_list_set_needed_columns(list, numbers, count, &g->error) != 0) return g->error.code;
    *schema = (struct glint_schema){GLINT_TEXT, GLINT_BYTES};
    pack_array(p, 2ull + count);
    pack_u64(p, cells->key_count);
    pack_u64(p, cells->number_count);
    for (uint32_t i = 0; i < count; i++) pack_u64(p, numbers[i]);
    return 0;
}

struct glint_rdd *glint_column_cells(struct glint_rdd *lines, const char *paths,
                                     const struct glint_column_cells *cells)
{
    struct input_list *list = text_source_list(lines);
    if (list == NULL || !list->has_columns || context_failed(lines->g)) return NULL;
    if (input_list_read_schema(lines->g->config.env, list, &lines->g->error) != 0) return NULL;
    if (!can_read_cells_of_files(list, cells)) return NULL;
    const struct file_source source = {.op = &op_column_cells,
                                       .schema = {GLINT_TEXT, GLINT_BYTES},
                                       .describe = plan_column_cells,
                                       .describe_arg = cells,
                                       .make_splits = text_source_make_splits};
    return file_source_create(lines->g, paths, &source);
}

/* ---- Task */

static int column_cells_open(void *state, const struct op_open *o)
{
    struct column_cells_state *s = state;
    struct unpacker u = unpack_begin(o->params);
    s->task = o->task;
    const uint64_t count = u.count - 2;
    s->key_count = (uint32_t)unpack_u64(&u, UINT32_MAX);
    s->number_count = (uint32_t)unpack_u64(&u, UINT32_MAX);
    if (u.failed || u.count < 2 || (uint64_t)s->key_count + s->number_count != count)
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode cells of columns");
    s->columns = arena_alloc(&s->task->arena, (count + 1) * sizeof *s->columns);
    if (s->columns == NULL) return error_no_memory(&s->task->error);
    for (uint64_t i = 0; i < count; i++)
        s->columns[i] = (struct cells_column){.column = (uint32_t)unpack_u64(&u, UINT32_MAX)};
    if (!unpack_is_complete(&u))
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode cells of columns");
    s->texts.key = true;
    column_origin_init(&s->origin);
    return 0;
}

/* Numbers of the files' columns become those of the layout. */
static int find_cells_columns(struct column_cells_state *s, const struct row_layout *layout)
{
    s->wants_dictionary =
        arena_alloc(&s->task->arena, (layout->count + 1ull) * sizeof *s->wants_dictionary);
    if (s->wants_dictionary == NULL) return error_no_memory(&s->task->error);
    memset(s->wants_dictionary, 0, (layout->count + 1ull) * sizeof *s->wants_dictionary);
    for (uint32_t c = 0; c < s->key_count + s->number_count; c++) {
        uint32_t i = 0;
        while (i < layout->count && layout->columns[i].field != s->columns[c].column) i++;
        if (i == layout->count)
            return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "a split lacks a column");
        s->columns[c].column = i;
    }
    if (s->key_count == 1) s->wants_dictionary[s->columns[0].column] = true;
    for (uint32_t c = s->key_count; c < s->key_count + s->number_count; c++)
        s->wants_dictionary[s->columns[c].column] = false;
    s->reader.wants_dictionary = s->wants_dictionary;
    return 0;
}

static enum number_kind kind_of_column(const struct cells_column *c)
{
    if (c->constant != NULL && !c->constant->null) return NUMBER_TEXT;
    if (c->array == NULL || c->constant != NULL) return NUMBER_NULL;
    if (arrow_fits_i64(c->field)) return NUMBER_I64;
    if (c->field->dictionary != NULL) return NUMBER_TEXT;
    switch (c->field->type) {
    case ARROW_U64: return NUMBER_U64;
    case ARROW_F16:
    case ARROW_F32:
    case ARROW_F64: return NUMBER_FLOAT;
    case ARROW_DECIMAL:
        return c->field->scale >= 0 && c->field->scale <= CELL_SCALE_MAX && c->field->width <= 16
                   ? NUMBER_DECIMAL
                   : NUMBER_TEXT;
    default: return NUMBER_TEXT;
    }
}

static void begin_cells_array(struct column_cells_state *s)
{
    for (uint32_t i = 0; i < s->key_count + s->number_count; i++) {
        struct cells_column *c = &s->columns[i];
        c->array = column_reader_column(&s->reader, c->column, &c->field);
        c->constant = column_reader_partition_column(&s->reader, c->column);
        c->kind = kind_of_column(c);
        const bool wide =
            c->kind == NUMBER_U64 || (c->kind == NUMBER_I64 && c->field->type == ARROW_I64);
        c->direct = wide && c->field->dictionary == NULL && c->array->null_count == 0;
        if (c->direct) c->values = (const uint8_t *)c->array->buffers[1] + c->array->offset * 8;
    }
    if (s->key_count == 1) column_texts_begin(&s->texts, &s->reader, s->columns[0].column);
}

/* ---- Numbers. Each writes a cell at *at, or returns false: the number is no cell. */

static bool encode_decimal_cell(uint8_t **at, __int128 units, int32_t scale)
{
    assert(scale >= 0 && scale <= CELL_SCALE_MAX);
    if (units >= CELL_UNITS_MAX || units <= -CELL_UNITS_MAX) return false;
    *at = cell_put_decimal(*at, (int64_t)units, scale);
    return true;
}

static bool encode_u64_cell(uint8_t **at, uint64_t value)
{
    *at = value <= INT64_MAX ? cell_put_decimal(*at, (int64_t)value, 0)
                             : cell_put_wide(*at, value, 0, 0);
    return true;
}

/* A decimal of few digits that is the number is its shortest text: other such decimals are nearest
 * to other numbers. Like the text it has a digit after the point. The limit leaves room for the
 * rounding of the quotient. */
static bool encode_f64_as_decimal_cell(uint8_t **at, double value)
{
    static const double powers[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const double size = fabs(value);
    if (size == 0) {
        *at = cell_put_decimal(*at, 0, 1);
        return true;
    }
    if (!isfinite(value)) *at = cell_put_f64(*at, value);
    if (!isfinite(value)) return true;
    if (size < 1e-4 || size >= powers[F64_DIGITS]) return false;
    for (int i = 1; i <= F64_DIGITS; i++) {
        const double scaled = rint(size * powers[i]);
        if (scaled >= powers[F64_DIGITS]) return false;
        if (scaled / powers[i] != size) continue;
        *at = cell_put_decimal(*at, value < 0 ? -(int64_t)scaled : (int64_t)scaled, i);
        return true;
    }
    return false;
}

static bool encode_arrow_decimal_cell(uint8_t **at, const struct cells_column *c, int64_t row)
{
    const uint32_t width = c->field->width;
    const uint8_t *bytes = (const uint8_t *)c->array->buffers[1] + (c->array->offset + row) * width;
    if (width == sizeof(int32_t)) {
        int32_t units;
        memcpy(&units, bytes, sizeof units);
        return encode_decimal_cell(at, units, c->field->scale);
    }
    if (width == sizeof(int64_t)) {
        int64_t units;
        memcpy(&units, bytes, sizeof units);
        return encode_decimal_cell(at, units, c->field->scale);
    }
    __int128 units;
    assert(width == sizeof units);
    memcpy(&units, bytes, sizeof units);
    return encode_decimal_cell(at, units, c->field->scale);
}

static bool encode_number_cell(uint8_t **at, const struct cells_column *c, int64_t row)
{
    assert(row >= 0 && (c->array == NULL || row < c->array->length));
    if (c->direct) {
        uint64_t value;
        memcpy(&value, c->values + row * 8, sizeof value);
        if (c->kind == NUMBER_U64) return encode_u64_cell(at, value);
        *at = cell_put_decimal(*at, (int64_t)value, 0);
        return true;
    }
    if (c->kind == NUMBER_NULL ||
        (c->kind != NUMBER_TEXT && arrow_is_null(c->field, c->array, row))) {
        *at = cell_put_null(*at);
        return true;
    }
    switch (c->kind) {
    case NUMBER_I64:
        *at = cell_put_decimal(*at, arrow_i64(c->field, c->array, row), 0);
        return true;
    case NUMBER_U64:
        return encode_u64_cell(at,
                               ((const uint64_t *)c->array->buffers[1])[c->array->offset + row]);
    case NUMBER_FLOAT: {
        const double value = arrow_f64(c->field, c->array, row);
        if (c->field->type == ARROW_F64) return encode_f64_as_decimal_cell(at, value);
        *at = cell_put_f64(*at, value + 0.0); /* its text may be that of another number */
        return true;
    }
    case NUMBER_DECIMAL: return encode_arrow_decimal_cell(at, c, row);
    default: return false;
    }
}

/* ---- Rows */

/* The text of a key, or of a number, as a field of a row. */
static bool append_value_text(const struct cells_column *c, int64_t row, struct buffer *out)
{
    static const uint8_t null = ROW_NULL;
    const uint64_t before = out->size;
    if (c->constant != NULL && !c->constant->null)
        return buffer_append(out, c->constant->value.data, c->constant->value.size) &&
               row_text_escape_appended(out, before);
    if (c->array == NULL || c->constant != NULL || arrow_is_null(c->field, c->array, row))
        return buffer_append(out, &null, 1);
    if (!arrow_append_text(c->field, c->array, row, out)) return false;
    if (arrow_is_bytes(c->field)) return row_text_escape_appended(out, before);
    out->size = before + arrow_cut_zero_sign(c->field, out->data + before, out->size - before);
    return true;
}

static const struct cells_column *find_cells_column(const struct column_cells_state *s,
                                                    uint32_t column)
{
    const struct cells_column *c = s->columns;
    while (c->column != column) c++;
    assert(c < s->columns + s->key_count + s->number_count);
    return c;
}

/* Appends the row as text, as column_rows_read does. Returns false when out of memory. */
static bool append_row_as_text(struct column_cells_state *s, int64_t row)
{
    static const uint8_t head = GLINT_CELLS_TEXT, separator = CSV_SEPARATOR;
    const struct row_layout *layout = column_reader_piece(&s->reader)->layout;
    uint32_t next = 0;
    bool ok = buffer_append(&s->cells, &head, 1);
    for (uint32_t field = 0; ok && field < layout->fields; field++) {
        if (field > 0) ok = buffer_append(&s->cells, &separator, 1);
        if (next == layout->count || layout->columns[next].field != field) continue;
        ok = ok && append_value_text(find_cells_column(s, next++), row, &s->cells);
    }
    return ok;
}

/* Appends the numbers of a row to the batch. Returns false when out of memory. */
static bool append_cells(struct column_cells_state *s, int64_t row)
{
    const uint64_t before = s->cells.size;
    if (!buffer_reserve(&s->cells, 1 + s->number_count * (uint64_t)CELL_NUMBER_BYTES_MAX))
        return false;
    uint8_t *at = s->cells.data + before;
    *at++ = GLINT_CELLS_NUMBERS;
    for (uint32_t i = 0; i < s->number_count; i++)
        if (!encode_number_cell(&at, &s->columns[s->key_count + i], row))
            return append_row_as_text(s, row);
    s->cells.size = (uint64_t)(at - s->cells.data);
    return true;
}

/* Sets the key of as many rows as it can, if it is one column whose texts can be taken as they are.
 * Returns how many, 0 or a code. */
static int64_t borrow_texts_as_keys(struct column_cells_state *s, int64_t from, uint32_t count,
                                    struct glint_column *out)
{
    if (s->key_count == 0) {
        static const uint8_t empty[1 + READ_SLACK];
        memset(s->key_start, 0, sizeof s->key_start);
        memset(s->key_end, 0, sizeof s->key_end);
        out->base = empty;
        out->size = 1;
        out->start = s->key_start;
        out->end = s->key_end;
        return count;
    }
    if (s->key_count > 1) return 0;
    if (column_texts_may_be_null(&s->texts))
        for (uint32_t i = 0; i < count; i++)
            if (column_texts_is_null(&s->texts, from + i)) return 0;
    const int64_t n = column_texts_set(s->task, &s->texts, NULL, from, count, out);
    return n > 0 && !row_text_is_plain((struct glint_slice){out->base, out->size}) ? 0 : n;
}

/* Appends a key to `keys`. Returns false when out of memory. */
static bool append_row_key(struct column_cells_state *s, int64_t row)
{
    static const uint8_t separator = CSV_SEPARATOR;
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->key_count; i++)
        ok = (i == 0 || buffer_append(&s->keys, &separator, 1)) &&
             append_value_text(&s->columns[i], row, &s->keys);
    return ok;
}

/* Builds keys of any columns, and the cells of their rows. Returns the row after the last one that
 * was looked at, or a code. */
static int64_t build_keys_and_cells(struct column_cells_state *s, int64_t from, uint32_t count,
                                    struct glint_batch *batch)
{
    int64_t row = from;
    s->keys.size = 0;
    for (; row < from + count; row++) {
        const uint64_t key = s->keys.size, cells = s->cells.size;
        const uint32_t n = batch->rows;
        if (!append_row_key(s, row) || !buffer_reserve(&s->cells, 1) || !append_cells(s, row))
            return error_no_memory(&s->task->error);
        if (n > 0 && (s->keys.size > BATCH_BYTES_MAX || s->cells.size > BATCH_BYTES_MAX)) {
            s->keys.size = key;
            s->cells.size = cells;
            break;
        }
        s->key_start[n] = (uint32_t)key;
        s->key_end[n] = (uint32_t)s->keys.size;
        s->start[n] = (uint32_t)cells;
        s->end[n] = (uint32_t)s->cells.size;
        s->origin.numbers[n] = (uint32_t)row;
        batch->rows++;
    }
    if (!buffer_reserve(&s->keys, 1)) return error_no_memory(&s->task->error);
    batch->key.base = s->keys.data;
    batch->key.size = s->keys.size;
    batch->key.start = s->key_start;
    batch->key.end = s->key_end;
    if (batch->rows == 1 && s->keys.size > BATCH_BYTES_MAX)
        batch->key.start = batch->key.end = NULL;
    return row;
}

/* The same of `count` rows whose keys are set. */
static int64_t build_cells_of_keyed_rows(struct column_cells_state *s, int64_t from, uint32_t count,
                                         struct glint_batch *batch)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t before = s->cells.size;
        if (!append_cells(s, from + i)) return error_no_memory(&s->task->error);
        if (i > 0 && s->cells.size > BATCH_BYTES_MAX) {
            s->cells.size = before;
            break;
        }
        s->start[i] = (uint32_t)before;
        s->end[i] = (uint32_t)s->cells.size;
        s->origin.numbers[i] = (uint32_t)(from + i);
        batch->rows++;
    }
    return from + batch->rows;
}

/* Emits rows of the array from `from` on. Returns the next row, or a code. */
static int64_t emit_cells(struct column_cells_state *s, int64_t from, struct glint_emitter *out)
{
    struct glint_batch batch = {.key = {.type = GLINT_TEXT}, .value = {.type = GLINT_BYTES}};
    const int64_t left = s->reader.array.length - from;
    const uint32_t count = left < (int64_t)BATCH_ROWS_MAX ? (uint32_t)left : BATCH_ROWS_MAX;
    s->cells.size = 0;
    const int64_t n = borrow_texts_as_keys(s, from, count, &batch.key);
    if (n < 0) return n;
    const int64_t next = n > 0 ? build_cells_of_keyed_rows(s, from, (uint32_t)n, &batch)
                               : build_keys_and_cells(s, from, count, &batch);
    if (next < 0 || batch.rows == 0) return next;
    const bool alone = s->cells.size > BATCH_BYTES_MAX;
    assert(!alone || batch.rows == 1);
    batch.value.base = s->cells.data;
    batch.value.size = s->cells.size;
    batch.value.start = alone ? NULL : s->start;
    batch.value.end = alone ? NULL : s->end;
    column_origin_set(&s->origin, column_reader_piece(&s->reader), s->reader.first_row,
                      &batch.value, batch.rows);
    batch.origin = &s->origin.origin;
    s->task->origin = batch.origin;
    glint_emit_batch(out, &batch);
    s->task->origin = NULL;
    return next;
}

static enum flow column_cells_run(void *state, struct glint_slice split, struct glint_emitter *out)
{
    struct column_cells_state *s = state;
    struct split pieces;
    if (column_split_open(&s->reader, s->task, split, &pieces) != 0) return FLOW_FAIL;
    int64_t r = find_cells_columns(s, pieces.pieces[0].layout);
    while (r >= 0 && out->flow == FLOW_MORE && (r = column_reader_next(&s->reader)) > 0) {
        begin_cells_array(s);
        for (int64_t row = 0; r >= 0 && row < s->reader.array.length && out->flow == FLOW_MORE;)
            r = row = emit_cells(s, row, out);
    }
    return r < 0 ? FLOW_FAIL : out->flow;
}

static void column_cells_close(void *state)
{
    struct column_cells_state *s = state;
    column_reader_close(&s->reader);
    buffer_fini(&s->texts.bytes);
    buffer_fini(&s->keys);
    buffer_fini(&s->cells);
}

const struct op op_column_cells = {.name = "columnCells",
                                   .kind = OP_SOURCE,
                                   .state_size = sizeof(struct column_cells_state),
                                   .open = column_cells_open,
                                   .run = column_cells_run,
                                   .close = column_cells_close};
