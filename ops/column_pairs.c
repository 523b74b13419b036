/* columnPairs: two columns of files of columns as pairs. Numbers and bytes of arrays are borrowed
 * where their layout is that of a batch; else they are copied, a batch at a time. */
#include "engine/input/column_reader.h"
#include "engine/records/pack.h"
#include "ops/column_source.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

struct pair_column {
    uint32_t column; /* of the layout; GLINT_NO_COLUMN */
    enum glint_type type;
    struct column_texts texts; /* also the array of numbers */
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

static int plan_column_pairs(struct glint *g, struct input_list *list, const void *arg,
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
    text_source_warn_of_key_types(g, list, &pair->key, 1);
    list->accepts_columns = true;
    if (input_list_set_needed_columns(list, numbers, count, &g->error) != 0) return g->error.code;
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
                                       .describe = plan_column_pairs,
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
    s->key.texts.key = true;
    s->value.type = o->out.value;
    if (!unpack_is_complete(&u) || (s->key.column == GLINT_NO_COLUMN) != (o->out.key == GLINT_NONE))
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode pairs of columns");
    s->null_rows = glint_counter(s->task, name);
    column_origin_init(&s->origin);
    return s->null_rows < 0 ? s->null_rows : 0;
}

/* Numbers of the files' columns become those of the layout. */
static int find_layout_columns_of_pair(struct column_pairs_state *s,
                                       const struct row_layout *layout)
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

static bool is_pair_value_null(const struct pair_column *c, int64_t row)
{
    return c->column != GLINT_NO_COLUMN && column_texts_is_null(&c->texts, row);
}

static bool pair_value_may_be_null(const struct pair_column *c)
{
    return c->column != GLINT_NO_COLUMN && column_texts_may_be_null(&c->texts);
}

/* Chooses rows for a batch, from row `from` of the array on, without those that have a null.
 * Returns the row after the last one that was looked at; *out_count rows were chosen. */
static int64_t choose_pairs_without_nulls(struct column_pairs_state *s, int64_t from,
                                          uint32_t *out_count)
{
    const int64_t length = s->reader.array.length;
    const int64_t most = length - from < BATCH_ROWS_MAX ? length : from + BATCH_ROWS_MAX;
    *out_count = (uint32_t)(most - from);
    s->some = pair_value_may_be_null(&s->key) || pair_value_may_be_null(&s->value);
    if (!s->some) return most;
    uint32_t count = 0;
    for (int64_t row = from; row < most; row++) {
        s->rows[count] = (uint32_t)row;
        count += !is_pair_value_null(&s->key, row) && !is_pair_value_null(&s->value, row);
    }
    glint_counter_add(s->task, s->null_rows, (int64_t)(*out_count - count));
    *out_count = count;
    return most;
}

static int64_t array_row_of_batch_row(const struct column_pairs_state *s, int64_t from, uint32_t i)
{
    return s->some ? (int64_t)s->rows[i] : from + i;
}

static void set_number_column(struct column_pairs_state *s, struct pair_column *c, int64_t from,
                              uint32_t count, struct glint_column *out)
{
    assert(c->type == GLINT_I64 || c->type == GLINT_F64);
    const enum arrow_type plain = c->type == GLINT_I64 ? ARROW_I64 : ARROW_F64;
    const bool borrowed =
        !s->some && c->texts.field->type == plain && c->texts.field->dictionary == NULL;
    const int64_t *values = borrowed ? (const int64_t *)c->texts.array->buffers[1] : NULL;
    if (borrowed && (uintptr_t)values % sizeof *values == 0) {
        out->i64 = c->type == GLINT_I64 ? values + c->texts.array->offset + from : NULL;
        out->f64 = c->type == GLINT_F64
                       ? (const double *)c->texts.array->buffers[1] + c->texts.array->offset + from
                       : NULL;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const int64_t row = array_row_of_batch_row(s, from, i);
        if (c->type == GLINT_I64)
            c->i64[i] = arrow_i64(c->texts.field, c->texts.array, row);
        else
            c->f64[i] = arrow_f64(c->texts.field, c->texts.array, row);
    }
    if (c->type == GLINT_I64)
        out->i64 = c->i64;
    else
        out->f64 = c->f64;
}

/* Empty texts, each at an address of its own, by which messages find their row. */
static int64_t set_empty_text_column(struct column_pairs_state *s, struct pair_column *c,
                                     uint32_t count, struct glint_column *out)
{
    if (c->texts.bytes.data == NULL) {
        if (!buffer_reserve(&c->texts.bytes, BATCH_ROWS_MAX))
            return error_no_memory(&s->task->error);
        memset(c->texts.bytes.data, 0, BATCH_ROWS_MAX);
        for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) c->texts.start[i] = c->texts.end[i] = i;
    }
    out->base = c->texts.bytes.data;
    out->size = BATCH_ROWS_MAX;
    return count;
}

/* Sets a column of the batch. Returns the number of rows, from 1 up to `count`, or a code. */
static int64_t set_pair_column(struct column_pairs_state *s, struct pair_column *c, int64_t from,
                               uint32_t count, struct glint_column *out)
{
    *out = (struct glint_column){.type = c->type, .start = c->texts.start, .end = c->texts.end};
    if (c->type == GLINT_NONE) return count;
    if (c->column == GLINT_NO_COLUMN) return set_empty_text_column(s, c, count, out);
    if (c->type != GLINT_TEXT) {
        out->start = out->end = NULL;
        set_number_column(s, c, from, count, out);
        return count;
    }
    return column_texts_set(s->task, &c->texts, s->some ? s->rows : NULL, from, count, out);
}

/* Emits rows of the array from `from` on. Returns the next row, or a code. */
static int64_t emit_column_pairs(struct column_pairs_state *s, int64_t from,
                                 struct glint_emitter *out)
{
    struct glint_batch batch;
    uint32_t count;
    const int64_t next = choose_pairs_without_nulls(s, from, &count);
    uint32_t done = 0;
    while (done < count && out->flow == FLOW_MORE) {
        /* Chosen rows are moved up, so that they begin at index 0. */
        if (s->some && done > 0) memmove(s->rows, s->rows + done, (count - done) * sizeof *s->rows);
        count -= done;
        from += s->some ? 0 : done;
        int64_t n = set_pair_column(s, &s->value, from, count, &batch.value);
        if (n > 0) n = set_pair_column(s, &s->key, from, (uint32_t)n, &batch.key);
        if (n <= 0) return n;
        done = (uint32_t)n;
        batch.rows = done;
        for (uint32_t i = 0; i < done; i++)
            s->origin.numbers[i] = (uint32_t)array_row_of_batch_row(s, from, i);
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
static int set_arrays_of_pair(struct column_pairs_state *s)
{
    struct pair_column *columns[] = {&s->key, &s->value};
    for (uint32_t i = 0; i < 2; i++) {
        struct pair_column *c = columns[i];
        if (c->column == GLINT_NO_COLUMN) continue;
        column_texts_begin(&c->texts, &s->reader, c->column);
        if (c->texts.array == NULL || c->type == GLINT_TEXT ||
            (c->type == GLINT_I64 ? arrow_fits_i64(c->texts.field)
                                  : arrow_is_float(c->texts.field)))
            continue;
        return error_set(&s->task->error, GLINT_E_INPUT_CHANGED,
                         "run the job again when no process writes to its input",
                         "%s: column \"%s\" has another type than before",
                         column_reader_piece(&s->reader)->path, c->texts.field->name);
    }
    return 0;
}

static enum flow column_pairs_run(void *state, struct glint_slice split, struct glint_emitter *out)
{
    struct column_pairs_state *s = state;
    struct split pieces;
    if (column_split_open(&s->reader, s->task, split, &pieces) != 0) return FLOW_FAIL;
    int64_t r = find_layout_columns_of_pair(s, pieces.pieces[0].layout);
    while (r >= 0 && out->flow == FLOW_MORE && (r = column_reader_next(&s->reader)) > 0) {
        r = set_arrays_of_pair(s);
        for (int64_t row = 0; r >= 0 && row < s->reader.array.length && out->flow == FLOW_MORE;)
            r = row = emit_column_pairs(s, row, out);
    }
    return r < 0 ? FLOW_FAIL : out->flow;
}

static void column_pairs_close(void *state)
{
    struct column_pairs_state *s = state;
    column_reader_close(&s->reader);
    buffer_fini(&s->key.texts.bytes);
    buffer_fini(&s->value.texts.bytes);
}

const struct op op_column_pairs = {.name = "columnPairs",
                                   .kind = OP_SOURCE,
                                   .state_size = sizeof(struct column_pairs_state),
                                   .open = column_pairs_open,
                                   .run = column_pairs_run,
                                   .close = column_pairs_close};
