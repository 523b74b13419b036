/* sort: the lines in the order of columns.
 *
 *     line -> (key, line) -> sortByKey -> line        by columns
 *     line -> (line, none) -> sortByKey -> line       whole lines as text
 *
 * Equal keys keep the order of the input. With --unique only the first line of each key passes. */
#include "engine/batch.h"
#include "jobs/rows/row_output.h"
#include "jobs/tables/sort_key.h"

#include <assert.h>
#include <string.h>

/* ---- sort.key, sort.line */

enum { KEY_BYTES = SORT_KEY_ALONE_MAX * FIELDS_ROWS_MAX }; /* at first */

struct key_state {
    struct sort_keys keys;
    uint8_t *bytes; /* keys of a batch */
    uint64_t size, capacity;
    uint32_t key_start[FIELDS_ROWS_MAX], key_end[FIELDS_ROWS_MAX];
    uint32_t start[FIELDS_ROWS_MAX], end[FIELDS_ROWS_MAX]; /* of the rows that have keys */
};

static int sort_key_init(struct glint_task *task, void *state)
{
    struct key_state *s = state;
    s->capacity = KEY_BYTES;
    s->bytes = glint_scratch(task, s->capacity);
    return s->bytes != NULL ? sort_keys_open(task, &s->keys) : GLINT_E_NO_MEMORY;
}

/* Appends a key to those of the batch. Returns 0 or a code. */
static int append_sort_key(struct key_state *s, struct glint_task *task, struct glint_slice key)
{
    if (key.size > s->capacity - s->size) {
        const uint64_t capacity = 2 * (s->size + key.size);
        uint8_t *bytes = glint_scratch(task, capacity);
        if (bytes == NULL) return GLINT_E_NO_MEMORY;
        if (s->size > 0) memcpy(bytes, s->bytes, s->size);
        s->bytes = bytes;
        s->capacity = capacity;
    }
    if (key.size > 0) memcpy(s->bytes + s->size, key.data, key.size);
    s->size += key.size;
    assert(s->size <= UINT32_MAX); /* about twice as many as the rows of a batch have */
    return 0;
}

/* A row that is a batch of its own may be of any size. */
static int emit_sort_key(struct key_state *s, struct glint_task *task, struct glint_slice row,
                         struct glint_emitter *out)
{
    struct glint_record record = {.value.bytes = row};
    int e = sort_keys_make(&s->keys, task, row, &record.key.bytes, NULL);
    if (e > 0) glint_emit(out, &record);
    return e < 0 ? e : 0;
}

/* The keys of a column of typed values, which all rows have. */
static int emit_typed_sort_keys(struct key_state *s, const struct glint_batch *in,
                                struct glint_emitter *out)
{
    sort_keys_put_all(&s->keys, &in->value, in->rows, s->bytes, s->key_start, s->key_end);
    const struct glint_batch batch = {.rows = in->rows,
                                      .key = {.type = GLINT_BYTES,
                                              .base = s->bytes,
                                              .size = s->key_end[in->rows - 1],
                                              .start = s->key_start,
                                              .end = s->key_end},
                                      .value = in->value,
                                      .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

/* The rows stay where they are. */
static int emit_sort_keys(struct glint_task *task, void *state, const struct glint_batch *in,
                          struct glint_emitter *out)
{
    struct key_state *s = state;
    const struct glint_column *rows = &in->value;
    uint32_t count = 0;
    assert(in->rows <= FIELDS_ROWS_MAX);
    if (rows->start == NULL) return emit_sort_key(s, task, glint_column_slice(rows, 0), out);
    if (s->keys.alone && in->rows > 0) return emit_typed_sort_keys(s, in, out);
    s->size = 0;
    for (uint32_t row = 0; row < in->rows; row++) {
        struct glint_slice key;
        int e = sort_keys_make(&s->keys, task, glint_column_slice(rows, row), &key, NULL);
        if (e == 0) continue;
        s->key_start[count] = (uint32_t)s->size;
        if (e > 0) e = append_sort_key(s, task, key);
        if (e < 0) return e;
        s->key_end[count] = (uint32_t)s->size;
        s->start[count] = rows->start[row];
        s->end[count++] = rows->end[row];
    }
    struct glint_batch batch = {.rows = count, .key = {.type = GLINT_BYTES}, .value = *rows};
    batch.key.base = s->bytes;
    batch.key.size = s->size;
    batch.key.start = s->key_start;
    batch.key.end = s->key_end;
    batch.value.start = s->start;
    batch.value.end = s->end;
    batch.origin = in->origin;
    if (count > 0) glint_emit_batch(out, &batch);
    return 0;
}

static int emit_lines_as_keys(struct glint_task *task, void *state, const struct glint_batch *in,
                              struct glint_emitter *out)
{
    (void)task, (void)state;
    struct glint_batch batch = {
        .rows = in->rows, .key = in->value, .value = {.type = GLINT_NONE}, .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

static const struct glint_function key = {.name = "sort.key",
                                          .kind = GLINT_KIND_MAP,
                                          .in = GLINT_ELEMENTS(GLINT_TEXT),
                                          .out = GLINT_PAIRS(GLINT_BYTES, GLINT_TEXT),
                                          .state_size = sizeof(struct key_state),
                                          .open = sort_key_init,
                                          .batch = emit_sort_keys};
static const struct glint_function line = {.name = "sort.line",
                                           .kind = GLINT_KIND_MAP,
                                           .in = GLINT_ELEMENTS(GLINT_TEXT),
                                           .out = GLINT_PAIRS(GLINT_TEXT, GLINT_NONE),
                                           .batch = emit_lines_as_keys};

/* ---- sort.first: equal keys are adjacent, in one partition */

struct first_state {
    uint8_t *key; /* of the previous record */
    uint64_t size, capacity;
    bool started;
};

static int first_of_key_keep(struct glint_task *task, void *state, const struct glint_record *in)
{
    struct first_state *s = state;
    const struct glint_slice next = in->key.bytes;
    if (s->started && next.size == s->size &&
        (next.size == 0 || memcmp(next.data, s->key, next.size) == 0))
        return 0;
    if (next.size > s->capacity) {
        s->capacity = 2 * next.size;
        s->key = glint_scratch(task, s->capacity);
        if (s->key == NULL) return GLINT_E_NO_MEMORY;
    }
    if (next.size > 0) memcpy(s->key, next.data, next.size);
    s->size = next.size;
    s->started = true;
    return 1;
}

static const struct glint_function first = {.name = "sort.first",
                                            .kind = GLINT_KIND_FILTER,
                                            .in = {GLINT_ANY, GLINT_ANY},
                                            .out = {GLINT_SAME, GLINT_SAME},
                                            .state_size = sizeof(struct first_state),
                                            .keep = first_of_key_keep};

/* ---- The plan */

/* --numeric and --reverse are for columns without letters of their own; columns that have numbers
 * by their type are numeric. */
static void apply_default_sort_letters(const struct table *t, struct columns *c,
                                       const struct glint_job_args *args)
{
    uint8_t letters = 0;
    if (glint_job_option(args, "numeric") != NULL) letters |= SORT_NUMERIC;
    if (glint_job_option(args, "reverse") != NULL) letters |= SORT_REVERSE;
    if (c->count == 0) columns_add_whole_line(c);
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->letters[i] == 0) c->letters[i] = letters;
        const enum column_values values = columns_value_kind(t, c->number[i]);
        if ((c->letters[i] & SORT_TEXT) != 0)
            c->letters[i] &= (uint8_t)~SORT_TEXT;
        else if (values == VALUES_NUMBERS || values == VALUES_TIMES)
            c->letters[i] |= values == VALUES_NUMBERS ? SORT_NUMERIC : SORT_TIME;
    }
}

/* Of files of columns, the sample of the keys is read without the other columns. */
static struct glint_rdd *sort_rows(struct glint_rdd *keyed, const struct table *table,
                                   const struct columns *columns)
{
    struct glint_rdd *sorted = glint_sort_by_key(keyed, true);
    struct table sampled = *table;
    if (table->csv != FIELDS_COLUMNS) return sorted;
    table_read_only_columns(&sampled, columns);
    struct glint_args *args = glint_args(table->g);
    columns_args(args, &sampled, columns);
    return glint_with_sample(sorted, glint_map(table_read_again(&sampled), &key, args));
}

static int sort_run(struct glint *g, const struct glint_job_args *args)
{
    struct table table;
    struct columns columns = {.count = 0};
    const bool typed = glint_job_option(args, "by") != NULL; /* else whole lines */
    if (table_open_typed(g, args, args->positional[0], typed, &table) != 0)
        return glint_error(g)->code;
    table_saves_rows(&table);
    if (columns_read_option(&table, args, "by", SORT_LETTERS, &columns) != 0)
        return glint_error(g)->code;
    apply_default_sort_letters(&table, &columns, args);
    const bool lines = columns.count == 1 && columns.number[0] == COLUMNS_LINE &&
                       (columns.letters[0] & SORT_NUMERIC) == 0;
    const bool unique = glint_job_option(args, "unique") != NULL;
    if (lines && unique) glint_key_columns(table.lines, NULL, 0);
    struct glint_args *key_args = glint_args(g);
    columns_args(key_args, &table, &columns);
    struct glint_rdd *keyed = lines ? glint_map(table_rows(&table), &line, NULL)
                                    : glint_map(table_rows(&table), &key, key_args);
    struct glint_rdd *sorted =
        lines ? glint_sort_by_key(keyed, (columns.letters[0] & SORT_REVERSE) == 0)
              : sort_rows(keyed, &table, &columns);
    if (unique) sorted = glint_filter(sorted, &first, NULL);
    return row_output_save(lines ? glint_keys(sorted) : glint_values(sorted), table.lines, args,
                           args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"by", "COLS", NULL,
     "columns, the first one first, such as 2:nr,1 or, with --header, age:nr,name; letters after a "
     "colon: n numeric, as numbers of Parquet are, t text, r reverse (whole lines)"},
    {"numeric", NULL, NULL, "compare columns without letters as numbers"},
    {"reverse", NULL, NULL, "reverse the order of columns without letters"},
    {"unique", NULL, NULL, "save only the first line of those with equal columns"},
    TABLE_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job sort_job = {
    .name = "sort",
    .summary = "sort lines, by columns or whole",
    .help = "The parts of OUTPUT, one after the other, are sorted: text bytewise, numbers by "
            "value, null before all else and an empty field before all numbers. Lines with equal "
            "columns keep their order. Another text in a numeric column is a bad row.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&key, &line, &first},
    .run = sort_run};
