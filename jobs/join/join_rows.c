/* The rows of one side, a batch at a time: with their keys into the shuffle, filtered or not. */
#include "engine/batch.h"
#include "engine/input/typed_row.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/join/join.h"
#include "jobs/rows/row_output.h"

#include <assert.h>
#include <string.h>

/* In place of a typed row: nulls. Returns 0 or a code. */
static int make_missing_row(struct glint_task *task, const char *types_arg, struct glint_slice *out)
{
    struct glint_slice types;
    const int e = glint_arg_slice(task, types_arg, &types);
    const struct typed_form *form = e == 0 ? typed_form_read(task, types) : NULL;
    if (form == NULL) return e != 0 ? e : GLINT_E_PROTOCOL;
    uint8_t *const row = glint_scratch(task, form->texts_at);
    if (row == NULL) return GLINT_E_NO_MEMORY;
    memset(row, 0, form->texts_at);
    for (uint32_t i = 0; i < form->count; i++) typed_row_set_null(row, i);
    *out = (struct glint_slice){row, form->texts_at};
    return 0;
}

/* One key column is found by a scan; several, and those of typed rows, are searched row by row. */
static int open_key_columns(struct glint_task *task, struct join_rows *r)
{
    struct fields *f = &r->fields;
    int e = r->by_columns ? columns_open(task, &r->reader) : fields_open(task, f, true);
    if (e == 0 && r->typed) e = make_missing_row(task, "left_missing", &r->missing[JOIN_SIDE_LEFT]);
    if (e == 0 && r->typed)
        e = make_missing_row(task, "right_missing", &r->missing[JOIN_SIDE_RIGHT]);
    if (e != 0) return e;
    r->null = r->by_columns ? r->reader.null : f->null;
    f->as_in_rows = true; /* they tell where rows are */
    if (r->by_columns
            ? r->key_columns == r->reader.columns.count && (r->reader.typed != NULL) == r->typed
            : f->key == FIELDS_TEXT && f->key_column == f->id_column)
        return 0;
    return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "a join's columns are out of range");
}

int join_rows_open(struct glint_task *task, struct join_rows *r)
{
    int64_t type, side, delimiter, json, columns, typed, fields;
    struct glint_slice kinds;
    int e = glint_arg_i64(task, "key_columns", &columns);
    if (e == 0) e = glint_arg_slice(task, "kinds", &kinds);
    if (e == 0) e = glint_arg_i64(task, "type", &type);
    if (e == 0) e = glint_arg_i64(task, "side", &side);
    if (e == 0) e = glint_arg_i64(task, "out_delimiter", &delimiter);
    if (e == 0) e = glint_arg_i64(task, "json", &json);
    if (e == 0) e = glint_arg_i64(task, "typed", &typed);
    if (e == 0) e = glint_arg_i64(task, "fields", &fields);
    if (e == 0) e = glint_arg_slice(task, "left_missing", &r->missing[JOIN_SIDE_LEFT]);
    if (e == 0) e = glint_arg_slice(task, "right_missing", &r->missing[JOIN_SIDE_RIGHT]);
    if (e != 0) return e;
    if (type < 0 || type >= JOIN_TYPES || side < 0 || side >= JOIN_SIDES || delimiter < 0 ||
        delimiter > UINT8_MAX || columns < 1 || columns > COLUMNS_MAX ||
        kinds.size != (uint64_t)columns)
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "a join's arguments are out of range");
    r->key_columns = (uint32_t)columns;
    r->values = false;
    for (uint32_t i = 0; i < r->key_columns; i++) {
        r->kinds[i] = kinds.data[i];
        if (r->kinds[i] >= JOIN_KEY_KINDS)
            return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "a join's keys have no such kind");
        r->values |= r->kinds[i] != JOIN_KEY_TEXT;
    }
    r->type = (enum join_type)type;
    r->side = (enum join_side)side;
    r->delimiter = (uint8_t)delimiter;
    r->json = json != 0;
    r->typed = typed != 0;
    r->fields_wanted = (uint64_t)fields;
    r->by_columns = r->typed || r->key_columns > 1;
    r->keep_nulls = join_keeps_unmatched(r->type, r->side);
    r->has_null_keys = join_keeps_unmatched(r->type, JOIN_SIDE_LEFT) ||
                       join_keeps_unmatched(r->type, JOIN_SIDE_RIGHT);
    return open_key_columns(task, r);
}

/* Bad rows were skipped: a row belongs to the next line that contains its key. */
static void find_lines_of_rows(struct join_rows *r, const struct glint_column *lines)
{
    const struct fields *f = &r->fields;
    uint32_t line = 0;
    for (uint32_t row = 0; row < r->rows; row++, line++) {
        while (lines->end[line] < f->id_end[row]) line++;
        assert(lines->start[line] <= f->id_start[row]);
        r->line_start[row] = lines->start[line];
        r->line_end[row] = lines->end[line];
    }
}

/* The key as text in the lines. Returns 0 or a code. */
static int parse_join_key(struct join_rows *r, struct glint_task *task)
{
    struct fields *f = &r->fields;
    int e = fields_parse(f, task, r->lines);
    if (e != 0) return e;
    r->rows = f->rows;
    r->key_base = f->key_base;
    r->key_size = f->key_size;
    r->key_start = f->text_start;
    r->key_end = f->text_end;
    return 0;
}

typedef uint8_t byte_block __attribute__((vector_size(16)));

static uint64_t count_fields(struct glint_slice row, uint8_t separator)
{
    uint64_t count = 1, at = 0;
    while (row.size - at >= sizeof(byte_block)) {
        byte_block found = {0};
        for (int i = 0; i < UINT8_MAX && row.size - at >= sizeof found; i++) {
            byte_block block;
            memcpy(&block, row.data + at, sizeof block);
            found -= (byte_block)(block == separator);
            at += sizeof block;
        }
        for (size_t i = 0; i < sizeof found; i++) count += found[i];
    }
    for (; at < row.size; at++) count += row.data[at] == separator;
    return count;
}

/* Rows of CSV of LEFT: behind others, fields of RIGHT would be in other columns. Keys of several
 * columns are found later. */
static int leave_out_short_and_long_rows(struct join_rows *r, struct glint_task *task)
{
    uint32_t kept = 0;
    for (uint32_t row = 0; row < r->rows; row++) {
        const struct glint_slice line = join_rows_line(r, row);
        const uint64_t fields = count_fields(line, ROW_OUTPUT_SEPARATOR);
        if (fields != r->fields_wanted) {
            const int e = glint_bad_row(task, line,
                                        fields < r->fields_wanted
                                            ? "it has fewer fields than the first line of LEFT"
                                            : "it has more fields than the first line of LEFT");
            if (e < 0) return e;
            continue;
        }
        r->line_start[kept] = r->line_start[row];
        r->line_end[kept] = r->line_end[row];
        if (!r->by_columns) r->key_start[kept] = r->key_start[row];
        if (!r->by_columns) r->key_end[kept] = r->key_end[row];
        kept++;
    }
    r->rows = kept;
    return 0;
}

int join_rows_parse(struct join_rows *r, struct glint_task *task, const struct glint_batch *lines)
{
    const struct glint_column *c = &lines->value;
    r->lines = lines;
    r->rows = lines->rows;
    int e = r->by_columns ? 0 : parse_join_key(r, task);
    if (e != 0) return e;
    assert(r->rows <= lines->rows && lines->rows <= FIELDS_ROWS_MAX);
    if (c->start == NULL) {
        assert(r->rows <= 1 && (r->rows == 0 || c->size <= UINT32_MAX));
        r->line_start[0] = 0;
        r->line_end[0] = (uint32_t)c->size;
    } else if (r->rows == lines->rows) {
        memcpy(r->line_start, c->start, r->rows * sizeof *c->start);
        memcpy(r->line_end, c->end, r->rows * sizeof *c->end);
    } else {
        find_lines_of_rows(r, c);
    }
    if (r->fields_wanted > 0) e = leave_out_short_and_long_rows(r, task);
    return e == 0 ? join_keys_make(r, task) : e;
}

void join_rows_select(struct join_rows *r, const uint8_t *keep, uint8_t value)
{
    uint32_t kept = 0;
    for (uint32_t row = 0; row < r->rows; row++) {
        r->key_start[kept] = r->key_start[row];
        r->key_end[kept] = r->key_end[row];
        r->line_start[kept] = r->line_start[row];
        r->line_end[kept] = r->line_end[row];
        kept += keep[row] == value;
    }
    r->rows = kept;
}

struct glint_column join_rows_lines(const struct join_rows *r)
{
    const struct glint_column *c = &r->lines->value;
    if (c->start == NULL) return *c;
    return (struct glint_column){.type = GLINT_TEXT,
                                 .base = c->base,
                                 .size = c->size,
                                 .start = r->line_start,
                                 .end = r->line_end};
}

struct glint_column join_rows_keys(const struct join_rows *r)
{
    return (struct glint_column){.type = GLINT_TEXT,
                                 .base = r->key_base,
                                 .size = r->key_size,
                                 .start = r->key_start,
                                 .end = r->key_end};
}

/* ---- Lines of the output */

static int reserve_joined_line(struct join_rows *r, struct glint_task *task, uint64_t size)
{
    if (size <= r->out_capacity) return 0;
    r->out = glint_scratch(task, 2 * size);
    r->out_capacity = r->out != NULL ? 2 * size : 0;
    return r->out != NULL ? 0 : GLINT_E_NO_MEMORY;
}

/* A row of JSON lines: the mark and an array of two objects. */
static int emit_json_pair(struct join_rows *r, struct glint_task *task, struct glint_slice left,
                          struct glint_slice right, struct glint_emitter *out)
{
    left = fields_json_line(left);
    right = fields_json_line(right);
    const uint64_t size = left.size + right.size + 4;
    int e = reserve_joined_line(r, task, size);
    if (e != 0) return e;
    uint8_t *at = r->out;
    *at++ = FIELDS_JSON;
    *at++ = '[';
    memcpy(at, left.data, left.size);
    at += left.size;
    *at++ = ',';
    memcpy(at, right.data, right.size);
    at[right.size] = ']';
    struct glint_record record = {.value.bytes = {r->out, size}};
    glint_emit(out, &record);
    return 0;
}

int join_rows_emit(struct join_rows *r, struct glint_task *task, struct glint_slice own,
                   struct glint_slice other, struct glint_emitter *out)
{
    static const struct glint_slice json_null = {(const uint8_t *)"null", 4};
    const enum join_side opposite = r->side == JOIN_SIDE_LEFT ? JOIN_SIDE_RIGHT : JOIN_SIDE_LEFT;
    if (other.data == NULL) other = r->json ? json_null : r->missing[opposite];
    const struct glint_slice left = r->side == JOIN_SIDE_LEFT ? own : other;
    const struct glint_slice right = r->side == JOIN_SIDE_LEFT ? other : own;
    if (r->json) return emit_json_pair(r, task, left, right, out);
    const uint64_t gap = !r->typed, size = left.size + gap + right.size;
    int e = reserve_joined_line(r, task, size);
    if (e != 0) return e;
    memcpy(r->out, left.data, left.size);
    if (gap > 0) r->out[left.size] = r->delimiter;
    memcpy(r->out + left.size + gap, right.data, right.size);
    struct glint_record record = {.value.bytes = {r->out, size}};
    glint_emit(out, &record);
    return 0;
}

int join_rows_emit_unmatched(struct join_rows *r, struct glint_task *task,
                             struct glint_emitter *out)
{
    const uint32_t rows = r->rows;
    if (!join_has_pairs(r->type)) {
        struct glint_batch batch = {
            .rows = rows, .key = {.type = GLINT_NONE}, .value = join_rows_lines(r)};
        glint_emit_batch(out, &batch);
        return 0;
    }
    int e = 0;
    for (uint32_t row = 0; e == 0 && row < rows; row++)
        e = join_rows_emit(r, task, join_rows_line(r, row), (struct glint_slice){NULL, 0}, out);
    return e;
}

/* ---- Keys as input of a filter */

/* Borrows from the rows; `filter` is zeros: all refer to the only filter. */
static struct bloom_rows key_ids_of_rows(const struct join_rows *r, const uint16_t *filter)
{
    return (struct bloom_rows){r->key_base, r->key_start, r->key_end, filter, r->rows};
}

/* ---- join.ids: the elements of the filter */

static int join_ids_init(struct glint_task *task, void *state)
{
    struct join_rows *r = state;
    int e = join_rows_open(task, r);
    r->keep_nulls = false; /* they match nothing */
    return e;
}

static int emit_key_ids(struct glint_task *task, void *state, const struct glint_batch *in,
                        struct glint_emitter *out)
{
    struct join_rows *r = state;
    int e = join_rows_parse(r, task, in);
    if (e != 0) return e;
    struct glint_batch batch = {
        .rows = r->rows, .key = {.type = GLINT_NONE}, .value = join_rows_keys(r)};
    glint_emit_batch(out, &batch);
    return 0;
}

const struct glint_function join_ids = {.name = "join.ids",
                                        .kind = GLINT_KIND_FLAT_MAP,
                                        .in = {GLINT_ANY, GLINT_TEXT},
                                        .out = {GLINT_NONE, GLINT_TEXT},
                                        .state_size = sizeof(struct join_rows),
                                        .open = join_ids_init,
                                        .batch = emit_key_ids};

/* ---- Rows that can be filtered */

struct join_side_state {
    struct join_rows rows;
    uint16_t ids_filter[FIELDS_ROWS_MAX]; /* zeros */
    struct bloom_set filter;
    int64_t filtered;
    int probed, filtered_out; /* counters */
    uint8_t hit[FIELDS_ROWS_MAX];
};

void join_keep_special_keys(const struct join_rows *r, const struct glint_column *values,
                            uint32_t rows, uint8_t *keep)
{
    for (uint32_t row = 0; r->has_null_keys && row < rows; row++) {
        const uint32_t start = values->start[row];
        const struct glint_slice key = {values->base + start, values->end[row] - start};
        if (join_key_is_special(r, key)) keep[row] = 1;
    }
}

/* Of files of columns, rows that the filter rejects are not made. Counts those: the others are
 * probed again. */
static int keep_filtered_rows(struct glint_task *task, void *state,
                              const struct glint_column *values, uint32_t rows, uint8_t *keep)
{
    struct join_side_state *s = state;
    uint32_t count = rows, rejected = 0;
    assert(s->filtered && rows <= FIELDS_ROWS_MAX);
    /* The filter may read so many bytes after a key. */
    while (count > 0 && values->end[count - 1] + (uint64_t)BLOOM_ID_SLACK > values->size)
        keep[--count] = 1;
    const struct bloom_rows ids = {values->base, values->start, values->end, s->ids_filter, count};
    if (count > 0) bloom_set_contains_rows(&s->filter, &ids, keep);
    join_keep_special_keys(&s->rows, values, count, keep);
    for (uint32_t row = 0; row < count; row++) rejected += keep[row] == 0;
    glint_counter_add(task, s->probed, rejected);
    glint_counter_add(task, s->filtered_out, rejected);
    return 0;
}

static int join_side_open(struct glint_task *task, void *state)
{
    struct join_side_state *s = state;
    int e = join_rows_open(task, &s->rows);
    if (e == 0) e = glint_arg_i64(task, "filtered", &s->filtered);
    if (e == 0 && s->filtered) e = bloom_open_filters(task, &s->filter);
    if (e != 0 || !s->filtered) return e;
    s->probed = glint_counter(task, JOIN_ROWS_PROBED);
    s->filtered_out = glint_counter(task, JOIN_ROWS_FILTERED);
    if (s->rows.key_columns == 1 && !s->rows.values && !s->rows.keep_nulls)
        glint_skip_rows(task, join_key_column(&s->rows), keep_filtered_rows);
    return s->probed >= 0 && s->filtered_out >= 0 ? 0 : GLINT_E_NO_MEMORY;
}

static void join_side_close(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct join_side_state *)state)->filter);
}

static void probe_join_filter(struct join_side_state *s)
{
    const struct bloom_rows ids = key_ids_of_rows(&s->rows, s->ids_filter);
    assert(s->filtered && s->filter.count == 1);
    bloom_set_contains_rows(&s->filter, &ids, s->hit);
}

/* Parses the lines and keeps the rows that may match a row of the other side. */
static int parse_and_filter_rows(struct join_side_state *s, struct glint_task *task,
                                 const struct glint_batch *in)
{
    int e = join_rows_parse(&s->rows, task, in);
    if (e != 0 || !s->filtered) return e;
    const uint32_t rows = s->rows.rows;
    probe_join_filter(s);
    join_rows_select(&s->rows, s->hit, 1);
    glint_counter_add(task, s->probed, rows);
    glint_counter_add(task, s->filtered_out, rows - s->rows.rows);
    return 0;
}

/* ---- join.rows, join.keys */

static int emit_rows_or_keys(struct join_side_state *s, struct glint_task *task,
                             const struct glint_batch *in, bool lines, struct glint_emitter *out)
{
    int e = parse_and_filter_rows(s, task, in);
    if (e != 0) return e;
    struct glint_batch batch = {
        .rows = s->rows.rows, .key = join_rows_keys(&s->rows), .origin = in->origin};
    batch.value = lines ? join_rows_lines(&s->rows) : (struct glint_column){.type = GLINT_NONE};
    glint_emit_batch(out, &batch);
    return 0;
}

static int emit_join_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                          struct glint_emitter *out)
{
    return emit_rows_or_keys(state, task, in, true, out);
}

static int emit_join_keys(struct glint_task *task, void *state, const struct glint_batch *in,
                          struct glint_emitter *out)
{
    return emit_rows_or_keys(state, task, in, false, out);
}

/* The complement: rows that the filter rejects need no shuffle. join.rows counts them. */
static int emit_rejected_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                              struct glint_emitter *out)
{
    struct join_side_state *s = state;
    int e = join_rows_parse(&s->rows, task, in);
    if (e != 0) return e;
    probe_join_filter(s);
    join_rows_select(&s->rows, s->hit, 0);
    return join_rows_emit_unmatched(&s->rows, task, out);
}

#define SIDE_FUNCTION(name_, key_, value_, batch_)                                                 \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_FLAT_MAP, .in = {GLINT_ANY, GLINT_TEXT},                 \
        .out = {key_, value_}, .state_size = sizeof(struct join_side_state),                       \
        .open = join_side_open, .batch = batch_, .close = join_side_close                          \
    }

const struct glint_function join_side_rows =
    SIDE_FUNCTION("join.rows", GLINT_TEXT, GLINT_TEXT, emit_join_rows);
const struct glint_function join_side_keys =
    SIDE_FUNCTION("join.keys", GLINT_TEXT, GLINT_NONE, emit_join_keys);
const struct glint_function join_rejected =
    SIDE_FUNCTION("join.rejected", GLINT_NONE, GLINT_TEXT, emit_rejected_rows);
