/* columnPairs: two columns of files of columns as pairs. Numbers and bytes of arrays are borrowed
 * where their layout is that of a batch; else they are copied, a batch at a time. */
#include "engine/input/column_reader.h"
#include "engine/input/split.h"
#include "engine/records/pack.h"
#include "ops/column_source.h"
#include "ops/ops.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

extern const struct op op_column_pairs;

struct pair_column {
    uint32_t column; /* of the layout; GLINT_NO_COLUMN */
    enum glint_type type;
    const struct arrow_field *field; /* of the current array */
    const struct ArrowArray *array;  /* NULL: the file has none, */
    const struct partition_column
        *constant;                       /* but perhaps its directories a value that is not null */
    struct buffer bytes;                 /* texts that are not borrowed */
    const struct ArrowArray *dictionary; /* whose texts are in `bytes` */
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    union {
        int64_t i64[BATCH_ROWS_MAX];
        double f64[BATCH_ROWS_MAX];
    };
};

struct column_pairs_state {
    struct glint_task *task;
    struct column_reader reader;
    struct pair_column key, value;
    int null_rows; /* counter */
    bool wants_dictionary[2];
    struct column_origin origin;
    uint32_t rows[BATCH_ROWS_MAX]; /* of the array: those without nulls, if `some` */
    bool some;
};

/* ---- Driver */

static int describe_pairs(struct glint *g, struct input_list *list, const void *arg,
                          struct packer *p, struct glint_schema *schema)
{
    static const enum glint_type types[] = {
        [COLUMN_TEXT] = GLINT_TEXT, [COLUMN_I64] = GLINT_I64, [COLUMN_F64] = GLINT_F64};
    const struct glint_column_pair *pair = arg;
    uint32_t numbers[2], count = 0;
    if (!list->has_columns)
        return error_set(&g->error, GLINT_E_PLAN_ARGUMENT, NULL,
                         "columnPairs needs files of columns");
    if (input_list_read_schema(g->config.env, list, &g->error) != 0) return g->error.code;
    if (pair->key != GLINT_NO_COLUMN) numbers[count++] = pair->key;
    if (pair->value != GLINT_NO_COLUMN) numbers[count++] = pair->value;
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] >= list->schema->count)
            return error_set(&g->error, GLINT_E_BAD_VALUE, "choose one of them, by number or name",
                             "%s: there is no column %u, there are %u", list->files[0].path,
                             numbers[i] + 1, list->schema->count);
    list->accepts_columns = true;
    if (input_list_need_columns(list, numbers, count, &g->error) != 0) return g->error.code;
    *schema = (struct glint_schema){GLINT_NONE, GLINT_TEXT};
    if (pair->key != GLINT_NO_COLUMN)
        schema->key = pair->key_type == GLINT_TEXT ? GLINT_TEXT
                                                   : types[list->schema->columns[pair->key].class];
    if (pair->value != GLINT_NO_COLUMN && pair->value_type != GLINT_TEXT)
        schema->value = types[list->schema->columns[pair->value].class];
    pack_array(p, 3);
    pack_u64(p, pair->key);
    pack_u64(p, pair->value);
    pack_text(p, pair->null_rows);
    return 0;
}

struct glint_rdd *glint_column_pairs(struct glint *g, const char *paths,
                                     const struct glint_column_pair *pair)
{
    const struct file_source source = {.op = &op_column_pairs,
                                       .schema = {GLINT_NONE, GLINT_TEXT},
                                       .describe = describe_pairs,
                                       .describe_arg = pair,
                                       .make_splits = text_source_make_splits};
    return file_source_create(g, paths, &source);
}

/* ---- Task */

static int column_pairs_open(void *state, const struct op_open *o)
{
    struct column_pairs_state *s = state;
    char name[NAME_BYTES_MAX];
    struct unpacker u = unpack_begin(o->params);
    s->task = o->task;
    s->key.column = (uint32_t)unpack_u64(&u, UINT32_MAX); /* numbers of columns of the files: */
    s->value.column = (uint32_t)unpack_u64(&u, UINT32_MAX);
    unpack_text(&u, name, sizeof name);
    s->key.type = o->out.key;
    s->value.type = o->out.value;
    if (!unpack_is_complete(&u) || (s->key.column == GLINT_NO_COLUMN) != (o->out.key == GLINT_NONE))
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode pairs of columns");
    s->null_rows = glint_counter(s->task, name);
    column_origin_init(&s->origin);
    return s->null_rows < 0 ? s->null_rows : 0;
}

/* Numbers of the files' columns become those of the layout. */
static int find_in_layout(struct column_pairs_state *s, const struct row_layout *layout)
{
    struct pair_column *columns[] = {&s->key, &s->value};
    for (uint32_t c = 0; c < 2; c++) {
        const uint32_t number = columns[c]->column;
        uint32_t i = 0;
        if (number == GLINT_NO_COLUMN) continue;
        while (i < layout->count && layout->columns[i].field != number) i++;
        if (i == layout->count)
            return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "a split lacks a column");
        columns[c]->column = i;
        s->wants_dictionary[i] |= c == 0;
    }
    s->reader.wants_dictionary = s->wants_dictionary;
    return 0;
}

static bool is_null(const struct pair_column *c, int64_t row)
{
    return c->column != GLINT_NO_COLUMN &&
           (c->array == NULL ? c->constant == NULL : arrow_is_null(c->field, c->array, row));
}

static bool may_be_null(const struct pair_column *c)
{
    if (c->column == GLINT_NO_COLUMN) return false;
    if (c->array == NULL) return c->constant == NULL;
    if (c->field->dictionary != NULL) return true;
    if (c->field->type == ARROW_NULL || c->field->type == ARROW_RUN_END) return true;
    return c->array->null_count != 0 && c->array->n_buffers > 0 && c->array->buffers[0] != NULL;
}

/* Chooses rows for a batch, from row `from` of the array on, without those that have a null.
 * Returns the row after the last one that was looked at; *out_count rows were chosen. */
static int64_t choose_rows(struct column_pairs_state *s, int64_t from, uint32_t *out_count)
{
    const int64_t length = s->reader.array.length;
    const int64_t most = length - from < BATCH_ROWS_MAX ? length : from + BATCH_ROWS_MAX;
    *out_count = (uint32_t)(most - from);
    s->some = may_be_null(&s->key) || may_be_null(&s->value);
    if (!s->some) return most;
    uint32_t count = 0;
    for (int64_t row = from; row < most; row++) {
        s->rows[count] = (uint32_t)row;
        count += !is_null(&s->key, row) && !is_null(&s->value, row);
    }
    glint_counter_add(s->task, s->null_rows, (int64_t)(*out_count - count));
    *out_count = count;
    return most;
}

static int64_t row_at(const struct column_pairs_state *s, int64_t from, uint32_t i)
{
    return s->some ? (int64_t)s->rows[i] : from + i;
}

static void set_numbers(struct column_pairs_state *s, struct pair_column *c, int64_t from,
                        uint32_t count, struct glint_column *out)
{
    assert(c->type == GLINT_I64 || c->type == GLINT_F64);
    const enum arrow_type plain = c->type == GLINT_I64 ? ARROW_I64 : ARROW_F64;
    const bool borrowed = !s->some && c->field->type == plain && c->field->dictionary == NULL;
    const int64_t *values = borrowed ? (const int64_t *)c->array->buffers[1] : NULL;
    if (borrowed && (uintptr_t)values % sizeof *values == 0) {
        out->i64 = c->type == GLINT_I64 ? values + c->array->offset + from : NULL;
        out->f64 = c->type == GLINT_F64
                       ? (const double *)c->array->buffers[1] + c->array->offset + from
                       : NULL;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const int64_t row = row_at(s, from, i);
        if (c->type == GLINT_I64)
            c->i64[i] = arrow_i64(c->field, c->array, row);
        else
            c->f64[i] = arrow_f64(c->field, c->array, row);
    }
    if (c->type == GLINT_I64)
        out->i64 = c->i64;
    else
        out->f64 = c->f64;
}

/* Borrows texts of 32-bit offsets, as many as fit a batch; returns how many. Bytes past the end of
 * the array's buffer may not be readable, so the last texts are copied. */
static uint32_t borrow_texts(struct pair_column *c, int64_t from, uint32_t count,
                             struct glint_column *out)
{
    assert(from + count <= c->array->length);
    const int32_t *offsets = (const int32_t *)c->array->buffers[1] + c->array->offset;
    const int64_t all = offsets[c->array->length], first = offsets[from];
    uint32_t n = count;
    while (n > 0 && offsets[from + n] - first > (int64_t)BATCH_BYTES_MAX) n /= 2;
    while (n > 0 && all - offsets[from + n] < (int64_t)READ_SLACK) n--;
    if (n == 0) return 0;
    for (uint32_t i = 0; i < n; i++) {
        c->start[i] = (uint32_t)(offsets[from + i] - first);
        c->end[i] = (uint32_t)(offsets[from + i + 1] - first);
    }
    out->base = (const uint8_t *)c->array->buffers[2] + first;
    out->size = (uint64_t)(offsets[from + n] - first);
    return n;
}

/* Copies texts, as many as fit a batch. Returns how many, or a code. */
static int64_t copy_texts(struct column_pairs_state *s, struct pair_column *c, int64_t from,
                          uint32_t count, struct glint_column *out)
{
    uint32_t n = 0;
    c->bytes.size = 0;
    for (bool fits = true; fits && n < count; n += fits) {
        const uint64_t before = c->bytes.size;
        if (!arrow_append_text(c->field, c->array, row_at(s, from, n), &c->bytes))
            return error_no_memory(&s->task->error);
        fits = n == 0 || c->bytes.size <= BATCH_BYTES_MAX;
        if (!fits) {
            c->bytes.size = before;
            break;
        }
        c->start[n] = (uint32_t)before;
        c->end[n] = (uint32_t)c->bytes.size;
    }
    if (!buffer_reserve(&c->bytes, 1)) return error_no_memory(&s->task->error);
    out->base = c->bytes.data;
    out->size = c->bytes.size;
    if (n == 1 && out->size > BATCH_BYTES_MAX) out->start = out->end = NULL;
    return n;
}

/* Texts of a dictionary, which is copied once per array: rows refer to it. Returns 0 if that does
 * not fit a batch, else `count`, or a code. */
static int64_t refer_to_dictionary(struct column_pairs_state *s, struct pair_column *c,
                                   int64_t from, uint32_t count, struct glint_column *out)
{
    const struct ArrowArray *d = c->array->dictionary;
    assert(d != NULL && from + count <= c->array->length);
    const int32_t *offsets = (const int32_t *)d->buffers[1] + d->offset;
    const uint64_t size = (uint64_t)(offsets[d->length] - offsets[0]);
    if (size > BATCH_BYTES_MAX) return 0;
    if (from == 0 || c->dictionary != d) {
        c->bytes.size = 0;
        if (!buffer_reserve(&c->bytes, size + 1) ||
            !buffer_append(&c->bytes, (const uint8_t *)d->buffers[2] + offsets[0], size))
            return error_no_memory(&s->task->error);
        c->dictionary = d;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct glint_slice text = arrow_bytes(c->field, c->array, row_at(s, from, i));
        c->start[i] = (uint32_t)(text.data - ((const uint8_t *)d->buffers[2] + offsets[0]));
        c->end[i] = c->start[i] + (uint32_t)text.size;
    }
    out->base = c->bytes.data;
    out->size = c->bytes.size;
    return count;
}

/* Empty texts, each at an address of its own, by which messages find their row. */
static int64_t empty_texts(struct column_pairs_state *s, struct pair_column *c, uint32_t count,
                           struct glint_column *out)
{
    if (c->bytes.data == NULL) {
        if (!buffer_reserve(&c->bytes, BATCH_ROWS_MAX)) return error_no_memory(&s->task->error);
        memset(c->bytes.data, 0, BATCH_ROWS_MAX);
        for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) c->start[i] = c->end[i] = i;
    }
    out->base = c->bytes.data;
    out->size = BATCH_ROWS_MAX;
    return count;
}

/* The same text for all rows, as often as fits a batch, each at an address of its own, by which
 * messages find the row. Returns how many, or a code. */
static int64_t repeat_text(struct column_pairs_state *s, struct pair_column *c, uint32_t count,
                           struct glint_column *out)
{
    const struct glint_slice text = c->constant->value;
    assert(text.size < PATH_MAX);
    const uint32_t size = (uint32_t)text.size, stride = size > 0 ? size : 1;
    const uint32_t most = (uint32_t)(BATCH_BYTES_MAX / stride), n = count < most ? count : most;
    c->bytes.size = 0;
    if (!buffer_reserve(&c->bytes, (uint64_t)n * stride)) return error_no_memory(&s->task->error);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(c->bytes.data + (uint64_t)i * stride, size > 0 ? text.data : (const uint8_t *)"",
               stride);
        c->start[i] = i * stride;
        c->end[i] = c->start[i] + size;
    }
    out->base = c->bytes.data;
    out->size = (uint64_t)n * stride;
    return n;
}

/* Sets a column of the batch. Returns the number of rows, from 1 up to `count`, or a code. */
static int64_t set_column(struct column_pairs_state *s, struct pair_column *c, int64_t from,
                          uint32_t count, struct glint_column *out)
{
    *out = (struct glint_column){.type = c->type, .start = c->start, .end = c->end};
    if (c->type == GLINT_NONE) return count;
    if (c->column == GLINT_NO_COLUMN) return empty_texts(s, c, count, out);
    if (c->type != GLINT_TEXT) {
        out->start = out->end = NULL;
        set_numbers(s, c, from, count, out);
        return count;
    }
    if (c->constant != NULL) return repeat_text(s, c, count, out);
    const struct arrow_field *values = c->field->dictionary;
    if (values != NULL && values->dictionary == NULL && c->array->dictionary->buffers[2] != NULL &&
        (values->type == ARROW_UTF8 || values->type == ARROW_BINARY)) {
        const int64_t n = refer_to_dictionary(s, c, from, count, out);
        if (n != 0) return n;
    }
    const bool plain = c->field->type == ARROW_UTF8 || c->field->type == ARROW_BINARY;
    const uint32_t borrowed =
        plain && !s->some && c->field->dictionary == NULL ? borrow_texts(c, from, count, out) : 0;
    return borrowed > 0 ? borrowed : copy_texts(s, c, from, count, out);
}

/* Emits rows of the array from `from` on. Returns the next row, or a code. */
static int64_t emit_pairs(struct column_pairs_state *s, int64_t from, struct glint_emitter *out)
{
    struct glint_batch batch;
    uint32_t count;
    const int64_t next = choose_rows(s, from, &count);
    uint32_t done = 0;
    while (done < count && out->flow == FLOW_MORE) {
        /* Chosen rows are moved up, so that they begin at index 0. */
        if (s->some && done > 0) memmove(s->rows, s->rows + done, (count - done) * sizeof *s->rows);
        count -= done;
        from += s->some ? 0 : done;
        int64_t n = set_column(s, &s->value, from, count, &batch.value);
        if (n > 0) n = set_column(s, &s->key, from, (uint32_t)n, &batch.key);
        if (n <= 0) return n;
        done = (uint32_t)n;
        batch.rows = done;
        for (uint32_t i = 0; i < done; i++) s->origin.numbers[i] = (uint32_t)row_at(s, from, i);
        column_origin_set(&s->origin, column_reader_piece(&s->reader), s->reader.first_row,
                          &batch.value, done);
        batch.origin = &s->origin.origin;
        s->task->origin = batch.origin;
        glint_emit_batch(out, &batch);
        s->task->origin = NULL;
    }
    return next;
}

/* Sets the arrays of both columns. A file that was replaced may have other types. */
static int begin_array(struct column_pairs_state *s)
{
    struct pair_column *columns[] = {&s->key, &s->value};
    for (uint32_t i = 0; i < 2; i++) {
        struct pair_column *c = columns[i];
        if (c->column == GLINT_NO_COLUMN) continue;
        c->array = column_reader_column(&s->reader, c->column, &c->field);
        c->constant = column_reader_constant(&s->reader, c->column);
        if (c->constant != NULL && c->constant->null) c->constant = NULL;
        c->dictionary = NULL;
        if (c->array == NULL || c->type == GLINT_TEXT ||
            (c->type == GLINT_I64 ? arrow_is_i64(c->field) : arrow_is_f64(c->field)))
            continue;
        return error_set(&s->task->error, GLINT_E_INPUT_CHANGED,
                         "run the job again when no process writes to its input",
                         "%s: column \"%s\" has another type than before",
                         column_reader_piece(&s->reader)->path, c->field->name);
    }
    return 0;
}

static enum flow column_pairs_run(void *state, struct glint_slice split, struct glint_emitter *out)
{
    struct column_pairs_state *s = state;
    struct split pieces;
    if (split_decode(split, &s->task->arena, &pieces, &s->task->error) != 0) return FLOW_FAIL;
    if (pieces.pieces[0].layout == NULL) {
        error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "a split has no columns");
        return FLOW_FAIL;
    }
    column_reader_open(&s->reader, s->task, &pieces);
    int64_t r = find_in_layout(s, pieces.pieces[0].layout);
    while (r >= 0 && out->flow == FLOW_MORE && (r = column_reader_next(&s->reader)) > 0) {
        r = begin_array(s);
        for (int64_t row = 0; r >= 0 && row < s->reader.array.length && out->flow == FLOW_MORE;)
            r = row = emit_pairs(s, row, out);
    }
    return r < 0 ? FLOW_FAIL : out->flow;
}

static void column_pairs_close(void *state)
{
    struct column_pairs_state *s = state;
    column_reader_close(&s->reader);
    buffer_fini(&s->key.bytes);
    buffer_fini(&s->value.bytes);
}

const struct op op_column_pairs = {.name = "columnPairs",
                                   .kind = OP_SOURCE,
                                   .state_size = sizeof(struct column_pairs_state),
                                   .open = column_pairs_open,
                                   .run = column_pairs_run,
                                   .close = column_pairs_close};
