/* See column_reader.h. An array is validated before anything reads it; the library's memory counts
 * against that of the slot. */
#include "engine/input/column_reader.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define ARRAY_ROWS       8192u
#define READ_AHEAD_BYTES (256 * KIB)

const struct split_piece *column_reader_piece(const struct column_reader *r)
{
    assert(r->piece > 0);
    return &r->split->pieces[r->piece - 1];
}

/* ---- Row groups that a task need not read, by the file's own statistics and Bloom filters. A file
 * that says something wrong about itself is no reason to fail: statistics that cannot be read say
 * nothing. */

/* Counter of row groups that were not read. */
#define ROW_GROUPS_SKIPPED "row groups skipped"

enum { STATISTICS_MIN, STATISTICS_MAX, STATISTICS_NULLS, STATISTICS_FIELDS };

/* Of all row groups of the file. */
struct column_statistics {
    bool tried;
    struct arrow_field field; /* a struct of min, max and null_count, */
    struct ArrowArray array;  /* with a row for each row group; released: unknown */
    struct buffer text[2];    /* of min and max of a row group */
};

static enum glint_bounds_type bounds_type_of_field(const struct arrow_field *f)
{
    if (f->dictionary != NULL) return bounds_type_of_field(f->dictionary);
    if (f->type == ARROW_DECIMAL || (f->type >= ARROW_I8 && f->type <= ARROW_U64))
        return GLINT_BOUNDS_NUMBER;
    if (f->type >= ARROW_F16 && f->type <= ARROW_F64) return GLINT_BOUNDS_FLOAT;
    if (f->type == ARROW_BOOL) return GLINT_BOUNDS_BOOLEAN;
    if (f->type == ARROW_DATE32 || f->type == ARROW_DATE64 || f->type == ARROW_TIMESTAMP)
        return GLINT_BOUNDS_TIME;
    return f->type >= ARROW_UTF8 && f->type <= ARROW_FIXED_BINARY ? GLINT_BOUNDS_TEXT
                                                                  : GLINT_BOUNDS_OTHER;
}

/* Whether the array has what struct format_library says. */
static bool are_row_group_statistics_valid(const struct column_reader *r,
                                           const struct column_statistics *s)
{
    const struct arrow_field *f = &s->field;
    if (s->array.release == NULL || f->type != ARROW_STRUCT ||
        f->child_count != STATISTICS_FIELDS || f->children[STATISTICS_NULLS].type != ARROW_U64 ||
        f->children[STATISTICS_NULLS].dictionary != NULL || s->array.offset != 0 ||
        s->array.length != r->file.library->piece_count(r->file.file))
        return false;
    return arrow_array_check(f, &s->array) == NULL;
}

static void read_row_group_statistics(struct column_reader *r, uint32_t number,
                                      struct column_statistics *s)
{
    struct ArrowArrayStream stream = {.release = NULL};
    struct ArrowSchema schema = {.release = NULL};
    struct format_error e = {.piece = -1};
    const struct format_library *library = r->file.library;
    s->tried = true;
    if (library->statistics(r->file.file, number, &stream, &e) != 0) return;
    bool ok = stream.get_schema(&stream, &schema) == 0;
    ok = ok && arrow_field_read(&schema, &r->arena, &s->field) == NULL;
    if (schema.release != NULL) schema.release(&schema);
    ok = ok && stream.get_next(&stream, &s->array) == 0;
    if (!ok) s->array.release = NULL;
    stream.release(&stream);
    if (are_row_group_statistics_valid(r, s)) return;
    if (s->array.release != NULL) s->array.release(&s->array);
    s->array.release = NULL;
}

/* The text of min or max; false if it is not known. */
static bool format_statistics_bound(struct column_reader *r, struct column_statistics *s,
                                    uint32_t which, struct glint_slice *out)
{
    struct arrow_field f = s->field.children[which];
    const struct ArrowArray *a = s->array.children[which];
    struct buffer *text = &s->text[which];
    assert((int64_t)r->group < a->length);
    text->size = 0;
    f.common = column_reader_piece(r)->layout->columns[s - r->statistics].common;
    if (arrow_is_null(&f, a, (int64_t)r->group) || !buffer_reserve(text, 1) ||
        !arrow_append_text(&f, a, (int64_t)r->group, text))
        return false;
    *out = (struct glint_slice){text->data, text->size};
    return true;
}

/* The column of the layout, or UINT32_MAX. */
static uint32_t find_layout_column_of_field(const struct row_layout *layout, uint32_t field)
{
    uint32_t low = 0, high = layout->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (layout->columns[middle].field < field)
            low = middle + 1;
        else
            high = middle;
    }
    return low < layout->count && layout->columns[low].field == field ? low : UINT32_MAX;
}

/* The number in the file of a column of the layout, or UINT32_MAX. */
static uint32_t file_column_of_layout_column(const struct column_reader *r, uint32_t column)
{
    const uint32_t child = r->children[column];
    return child != UINT32_MAX ? r->numbers[child] : UINT32_MAX;
}

static void get_column_bounds(void *arg, uint32_t field, struct glint_bounds *out)
{
    struct column_reader *r = arg;
    const uint32_t column = find_layout_column_of_field(column_reader_piece(r)->layout, field);
    *out = (struct glint_bounds){.type = GLINT_BOUNDS_OTHER, .nulls = true, .values = true};
    if (column == UINT32_MAX) return;
    const struct partition_column *constant = r->constants[column];
    if (constant != NULL) {
        *out = (struct glint_bounds){.type = GLINT_BOUNDS_TEXT,
                                     .known = !constant->null,
                                     .min = constant->value,
                                     .max = constant->value,
                                     .nulls = constant->null,
                                     .values = !constant->null};
        return;
    }
    if (!r->open) return;
    const uint32_t number = file_column_of_layout_column(r, column);
    out->values = number != UINT32_MAX; /* a column that the file does not have is null */
    if (number == UINT32_MAX) return;
    out->type = bounds_type_of_field(&r->file.schema.children[number]);
    struct column_statistics *s = &r->statistics[column];
    if (!s->tried) read_row_group_statistics(r, number, s);
    if (s->array.release == NULL) return;
    const struct arrow_field *nulls = &s->field.children[STATISTICS_NULLS];
    const struct ArrowArray *counts = s->array.children[STATISTICS_NULLS];
    if (!arrow_is_null(nulls, counts, (int64_t)r->group)) {
        const uint64_t count =
            ((const uint64_t *)counts->buffers[1])[counts->offset + (int64_t)r->group];
        out->nulls = count > 0;
        out->values = count < r->group_rows;
    }
    out->known = out->type != GLINT_BOUNDS_OTHER && out->type != GLINT_BOUNDS_FLOAT &&
                 format_statistics_bound(r, s, STATISTICS_MIN, &out->min) &&
                 format_statistics_bound(r, s, STATISTICS_MAX, &out->max);
}

/* The value in the form of format_library's may_contain; false if filters are not asked for it. */
static bool convert_value_for_statistics(const struct arrow_field *f, struct glint_slice *value,
                                         int64_t *number)
{
    if (f->dictionary != NULL) return convert_value_for_statistics(f->dictionary, value, number);
    if (f->type >= ARROW_UTF8 && f->type <= ARROW_BINARY_VIEW) return true;
    if (!arrow_fits_i64(f) || !glint_parse_i64(*value, number)) return false;
    *value = (struct glint_slice){(const uint8_t *)number, sizeof *number};
    return true;
}

static int column_may_contain_value(void *arg, uint32_t field, struct glint_slice value)
{
    struct column_reader *r = arg;
    const uint32_t column = find_layout_column_of_field(column_reader_piece(r)->layout, field);
    const bool unknown = column == UINT32_MAX || r->constants[column] != NULL || !r->open;
    const uint32_t number = unknown ? UINT32_MAX : file_column_of_layout_column(r, column);
    struct format_error e = {.piece = -1};
    int64_t integer;
    bool found = true;
    if (number == UINT32_MAX ||
        !convert_value_for_statistics(&r->file.schema.children[number], &value, &integer))
        return 1;
    if (r->file.library->may_contain(r->file.file, (uint32_t)r->group, number, value.data,
                                     value.size, &found, &e) == 0)
        return found;
    return e.kind == FORMAT_ERROR_CALLBACK ? column_file_set_error(&r->file, &e) : 1;
}

/* Whether the task needs rows of the row group `r->group`, or of all `count` ones of a file that is
 * not open. Returns 1, 0 or a code. */
static int are_row_groups_needed(struct column_reader *r, uint64_t count)
{
    const struct glint_row_group view = {get_column_bounds, column_may_contain_value, r};
    const int needed = r->task->may_need(r->task->filter, &view);
    assert(needed <= 1);
    if (needed != 0) return needed;
    const int counter = glint_counter(r->task, ROW_GROUPS_SKIPPED);
    if (counter < 0) return counter;
    glint_counter_add(r->task, counter, (int64_t)count);
    return 0;
}

static bool create_row_group_statistics(struct column_reader *r, uint64_t columns)
{
    const uint64_t bytes = (columns + 1) * sizeof *r->statistics;
    r->statistics = arena_alloc(&r->arena, bytes);
    if (r->statistics != NULL) memset(r->statistics, 0, bytes);
    return r->statistics != NULL;
}

static void free_row_group_statistics(struct column_reader *r)
{
    for (uint32_t i = 0; r->statistics != NULL && i < column_reader_piece(r)->layout->count; i++) {
        struct column_statistics *s = &r->statistics[i];
        if (s->array.release != NULL) s->array.release(&s->array);
        for (uint32_t which = 0; which < 2; which++) buffer_fini(&s->text[which]);
    }
    r->statistics = NULL;
}

/* ---- Files */

static void release_row_group_array(struct column_reader *r)
{
    if (r->array.release != NULL) r->array.release(&r->array);
    r->array.release = NULL;
}

static void close_row_group_stream(struct column_reader *r)
{
    release_row_group_array(r);
    if (r->stream.release != NULL) r->stream.release(&r->stream);
    r->stream.release = NULL;
}

static void close_column_file(struct column_reader *r)
{
    close_row_group_stream(r);
    free_row_group_statistics(r);
    if (r->open) column_file_close(&r->file);
    r->open = false;
    arena_reset(&r->arena, UINT64_MAX);
}

/* Finds which columns of the layout the directories of the file give it. */
static int find_columns_of_partition_path(struct column_reader *r, const struct split_piece *piece)
{
    const struct row_layout *layout = piece->layout;
    struct partition_column *columns =
        arena_alloc(&r->arena, PARTITION_COLUMNS_MAX * sizeof *columns);
    r->constants = arena_alloc(&r->arena, ((uint64_t)layout->count + 1) * sizeof *r->constants);
    if (columns == NULL || r->constants == NULL) return error_no_memory(&r->task->error);
    const int count = partition_columns_of(piece->path, &r->arena, columns);
    if (count < 0) return error_no_memory(&r->task->error);
    for (uint32_t i = 0; i < layout->count; i++)
        r->constants[i] = partition_column_find(columns, count, layout->columns[i].name);
    return count;
}

/* Finds the layout's columns in the file. */
static int find_layout_columns_in_file(struct column_reader *r)
{
    assert(r->open && r->piece > 0);
    const struct row_layout *layout = column_reader_piece(r)->layout;
    const uint64_t count = layout->count;
    r->numbers = arena_alloc(&r->arena, (count + 1) * sizeof *r->numbers);
    r->children = arena_alloc(&r->arena, (count + 1) * sizeof *r->children);
    r->fields = arena_alloc(&r->arena, (count + 1) * sizeof *r->fields);
    r->dictionary = arena_alloc(&r->arena, count + 1);
    if (r->numbers == NULL || r->children == NULL || r->fields == NULL || r->dictionary == NULL)
        return error_no_memory(&r->task->error);
    r->column_count = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const uint32_t number = r->constants[i] == NULL
                                    ? name_table_find(&r->file.names, layout->columns[i].name)
                                    : UINT32_MAX;
        r->children[i] = number != UINT32_MAX ? r->column_count : UINT32_MAX;
        if (number == UINT32_MAX) continue;
        r->dictionary[r->column_count] = r->wants_dictionary != NULL && r->wants_dictionary[i];
        r->numbers[r->column_count++] = number;
    }
    if (r->task->may_need == NULL || create_row_group_statistics(r, count)) return 0;
    return error_no_memory(&r->task->error);
}

/* Whether rows of the next file are needed, by what its directories say. Returns 1, 0 or a code. */
static int is_file_needed(struct column_reader *r, const struct split_piece *piece)
{
    const int count = find_columns_of_partition_path(r, piece);
    if (count <= 0) return count < 0 ? count : 1;
    return r->task->may_need != NULL ? are_row_groups_needed(r, piece->length) : 1;
}

static int open_file_of_piece(struct column_reader *r)
{
    assert(!r->open && r->piece < r->split->count);
    const struct split_piece *piece = &r->split->pieces[r->piece++];
    int e = is_file_needed(r, piece);
    if (e == 0) arena_reset(&r->arena, UINT64_MAX);
    if (e <= 0) return e;
    r->open = true;
    e = column_file_open(&r->file, r->task->env, r->task, piece, &r->arena, &r->task->error);
    if (e < 0) return e;
    r->group = piece->offset;
    r->group_end = piece->offset + piece->length;
    if (r->group_end > r->file.library->piece_count(r->file.file))
        return error_set(&r->task->error, GLINT_E_INPUT_CHANGED,
                         "run the job again when no process writes to its input",
                         "%s: it has fewer row groups than before", piece->path);
    r->next_row = piece->rows_before;
    return find_layout_columns_in_file(r);
}

static int set_damaged_column_error(struct column_reader *r, const char *column,
                                    const char *problem)
{
    const struct split_piece *piece = column_reader_piece(r);
    return error_set(&r->task->error, GLINT_E_INPUT_DAMAGED,
                     "write the file again, or leave it out", "%s: row group %" PRIu64 "%s%s: %s",
                     piece->path, r->group - 1, column != NULL ? ", column " : "",
                     column != NULL ? column : "", problem);
}

/* What the library says about a call of the stream that failed. */
static int set_stream_error(struct column_reader *r)
{
    struct format_error e = {.kind = FORMAT_ERROR_DAMAGED, .piece = -1};
    r->file.library->last_error(r->file.file, &e);
    return column_file_set_error(&r->file, &e);
}

/* The types that the arrays have. */
static int read_stream_schema(struct column_reader *r)
{
    struct ArrowSchema schema = {.release = NULL};
    struct arrow_field field;
    if (r->stream.get_schema(&r->stream, &schema) != 0) return set_stream_error(r);
    const char *problem = arrow_field_read(&schema, &r->arena, &field);
    if (schema.release != NULL) schema.release(&schema);
    if (problem == NULL && (field.type != ARROW_STRUCT || field.child_count != r->column_count))
        problem = "the library gives other columns than it was asked for";
    if (problem != NULL) return set_damaged_column_error(r, NULL, problem);
    memcpy(r->fields, field.children, r->column_count * sizeof *r->fields);
    const struct row_layout *layout = column_reader_piece(r)->layout;
    for (uint32_t i = 0; i < layout->count; i++)
        if (r->children[i] != UINT32_MAX)
            r->fields[r->children[i]].common = layout->columns[i].common;
    return 0;
}

/* Whether the task needs rows of the next row group. Returns 1, 0 or a code. */
static int is_row_group_needed(struct column_reader *r)
{
    struct format_piece piece;
    struct format_error e = {.piece = -1};
    if (r->task->may_need == NULL) return 1;
    if (r->file.library->piece(r->file.file, (uint32_t)r->group, &piece, &e) != 0)
        return column_file_set_error(&r->file, &e);
    r->group_rows = piece.rows;
    return are_row_groups_needed(r, 1);
}

static int open_row_group(struct column_reader *r)
{
    assert(r->group < r->group_end && r->stream.release == NULL);
    struct format_error e = {.piece = -1};
    const int needed = is_row_group_needed(r);
    if (needed == 0) {
        r->group++;
        r->next_row += r->group_rows;
    }
    if (needed <= 0) return needed;
    const struct format_read read = {.piece = (uint32_t)r->group,
                                     .column_count = r->column_count,
                                     .columns = r->numbers,
                                     .dictionary = r->dictionary,
                                     .batch_rows = r->array_rows,
                                     .read_ahead = READ_AHEAD_BYTES,
                                     .memory = r->task->options->memory_bytes};
    r->group++;
    if (r->file.library->read(r->file.file, &read, &r->stream, &e) != 0) {
        r->stream.release = NULL;
        return column_file_set_error(&r->file, &e);
    }
    return read_stream_schema(r);
}

static int check_format_library_memory(struct column_reader *r)
{
    const int64_t used = r->file.library->allocated();
    if (used <= 0 || (uint64_t)used <= r->task->options->memory_bytes) return 0;
    return error_set(&r->task->error, GLINT_E_MEMORY_LIMIT, "raise --memory",
                     "%s: row group %" PRIu64 " needs %" PRId64 " MiB in memory",
                     column_reader_piece(r)->path, r->group - 1, used >> 20);
}

static int check_row_group_array(struct column_reader *r)
{
    assert(r->array.release != NULL);
    if (r->array.length < 0 || r->array.n_children != r->column_count || r->array.offset != 0)
        return set_damaged_column_error(r, NULL, "an array has another shape than its type");
    for (uint32_t i = 0; i < r->column_count; i++) {
        const struct ArrowArray *child = r->array.children[i];
        const char *problem = child == NULL || child->length < r->array.length
                                  ? "an array is missing or too short"
                                  : arrow_array_check(&r->fields[i], child);
        if (problem != NULL) return set_damaged_column_error(r, r->fields[i].name, problem);
    }
    return check_format_library_memory(r);
}

/* Returns 1 with an array, 0 at the end of the row group, or a code. */
static int read_next_array(struct column_reader *r)
{
    if (r->stream.release == NULL) return 0;
    release_row_group_array(r);
    if (r->stream.get_next(&r->stream, &r->array) != 0) {
        r->array.release = NULL;
        return set_stream_error(r);
    }
    if (r->array.release == NULL) { /* the end */
        close_row_group_stream(r);
        return 0;
    }
    r->first_row = r->next_row;
    const int e = check_row_group_array(r);
    if (e < 0) return e;
    r->next_row += (uint64_t)r->array.length;
    return 1;
}

/* A file that changed while it was read may have given wrong bytes. */
static int close_file_of_piece(struct column_reader *r)
{
    assert(r->open && r->group == r->group_end);
    const int e = input_stream_check_unchanged(&r->file.stream);
    r->task->counters.values[COUNT_BYTES_READ] += (int64_t)r->file.bytes_read;
    close_column_file(r);
    return e;
}

int column_reader_next(struct column_reader *r)
{
    for (;;) {
        if (task_is_cancelled(r->task))
            return error_set(&r->task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
        int e = read_next_array(r);
        if (e < 0) return e;
        if (e > 0 && r->array.length > 0) {
            r->task->counters.values[COUNT_ROWS_READ] += r->array.length;
            return 1;
        }
        if (e > 0) continue;
        if (r->open && r->group < r->group_end)
            e = open_row_group(r);
        else if (r->open)
            e = close_file_of_piece(r);
        else if (r->piece < r->split->count)
            e = open_file_of_piece(r);
        else
            return 0;
        if (e < 0) return e;
    }
}

const struct ArrowArray *column_reader_column(const struct column_reader *r, uint32_t column,
                                              const struct arrow_field **out_field)
{
    assert(column < column_reader_piece(r)->layout->count);
    const uint32_t child = r->children[column];
    *out_field = child != UINT32_MAX ? &r->fields[child] : NULL;
    return child != UINT32_MAX ? r->array.children[child] : NULL;
}

const struct partition_column *column_reader_partition_column(const struct column_reader *r,
                                                              uint32_t column)
{
    assert(column < column_reader_piece(r)->layout->count);
    return r->constants[column];
}

void column_reader_open(struct column_reader *r, struct glint_task *task, const struct split *split)
{
    *r = (struct column_reader){.task = task, .split = split, .array_rows = ARRAY_ROWS};
}

void column_reader_close(struct column_reader *r)
{
    close_column_file(r);
    arena_fini(&r->arena);
}
