/* See row_groups.h. A file that says something wrong about itself is no reason to fail: statistics
 * that cannot be read say nothing. */
#include "engine/input/row_groups.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

enum { STATISTICS_MIN, STATISTICS_MAX, STATISTICS_NULLS, STATISTICS_FIELDS };

/* Of all row groups of the file. */
struct column_statistics {
    bool tried;
    struct arrow_field field; /* a struct of min, max and null_count, */
    struct ArrowArray array;  /* with a row for each row group; released: unknown */
    struct buffer text[2];    /* of min and max of a row group */
};

int row_groups_open(struct row_groups *g, struct glint_task *task, struct column_file *file,
                    const struct row_layout *layout, const uint32_t *numbers,
                    const struct partition_column *const *constants, struct arena *arena)
{
    const uint64_t bytes = ((uint64_t)layout->count + 1) * sizeof *g->statistics;
    *g = (struct row_groups){.task = task,
                             .file = file,
                             .layout = layout,
                             .numbers = numbers,
                             .constants = constants,
                             .arena = arena};
    if (task->may_need == NULL) return 0;
    g->statistics = arena_alloc(arena, bytes);
    if (g->statistics == NULL) return error_no_memory(&task->error);
    memset(g->statistics, 0, bytes);
    return 0;
}

/* ---- Bounds */

static enum glint_bounds_type bounds_type(const struct arrow_field *f)
{
    if (f->dictionary != NULL) return bounds_type(f->dictionary);
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
static bool are_statistics_valid(const struct row_groups *g, const struct column_statistics *s)
{
    const struct arrow_field *f = &s->field;
    if (s->array.release == NULL || f->type != ARROW_STRUCT ||
        f->child_count != STATISTICS_FIELDS || f->children[STATISTICS_NULLS].type != ARROW_U64 ||
        f->children[STATISTICS_NULLS].dictionary != NULL || s->array.offset != 0 ||
        s->array.length != g->file->library->piece_count(g->file->file))
        return false;
    return arrow_array_check(f, &s->array) == NULL;
}

static void read_statistics(struct row_groups *g, uint32_t number, struct column_statistics *s)
{
    struct ArrowArrayStream stream = {.release = NULL};
    struct ArrowSchema schema = {.release = NULL};
    struct format_error e = {.piece = -1};
    const struct format_library *library = g->file->library;
    s->tried = true;
    if (library->statistics(g->file->file, number, &stream, &e) != 0) return;
    bool ok = stream.get_schema(&stream, &schema) == 0;
    ok = ok && arrow_field_read(&schema, g->arena, &s->field) == NULL;
    if (schema.release != NULL) schema.release(&schema);
    ok = ok && stream.get_next(&stream, &s->array) == 0;
    if (!ok) s->array.release = NULL;
    stream.release(&stream);
    if (are_statistics_valid(g, s)) return;
    if (s->array.release != NULL) s->array.release(&s->array);
    s->array.release = NULL;
}

/* The text of min or max; false if it is not known. */
static bool bound_text(struct row_groups *g, struct column_statistics *s, uint32_t which,
                       struct glint_slice *out)
{
    const struct arrow_field *f = &s->field.children[which];
    const struct ArrowArray *a = s->array.children[which];
    struct buffer *text = &s->text[which];
    assert((int64_t)g->group < a->length);
    text->size = 0;
    if (arrow_is_null(f, a, (int64_t)g->group) || !buffer_reserve(text, 1) ||
        !arrow_append_text(f, a, (int64_t)g->group, text))
        return false;
    *out = (struct glint_slice){text->data, text->size};
    return true;
}

/* The column of the layout, or UINT32_MAX. */
static uint32_t find_field(const struct row_layout *layout, uint32_t field)
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

static void column_bounds(void *arg, uint32_t field, struct glint_bounds *out)
{
    struct row_groups *g = arg;
    const uint32_t column = find_field(g->layout, field);
    *out = (struct glint_bounds){.type = GLINT_BOUNDS_OTHER, .nulls = true, .values = true};
    if (column == UINT32_MAX) return;
    const struct partition_column *constant = g->constants[column];
    if (constant != NULL) {
        *out = (struct glint_bounds){.type = GLINT_BOUNDS_TEXT,
                                     .known = !constant->null,
                                     .min = constant->value,
                                     .max = constant->value,
                                     .nulls = constant->null,
                                     .values = !constant->null};
        return;
    }
    if (g->file == NULL) return;
    const uint32_t number = g->numbers[column];
    out->values = number != UINT32_MAX; /* a column that the file does not have is null */
    if (number == UINT32_MAX) return;
    out->type = bounds_type(&g->file->schema.children[number]);
    struct column_statistics *s = &g->statistics[column];
    if (!s->tried) read_statistics(g, number, s);
    if (s->array.release == NULL) return;
    const struct arrow_field *nulls = &s->field.children[STATISTICS_NULLS];
    const struct ArrowArray *counts = s->array.children[STATISTICS_NULLS];
    if (!arrow_is_null(nulls, counts, (int64_t)g->group)) {
        const uint64_t count =
            ((const uint64_t *)counts->buffers[1])[counts->offset + (int64_t)g->group];
        out->nulls = count > 0;
        out->values = count < g->rows;
    }
    out->known = out->type != GLINT_BOUNDS_OTHER && out->type != GLINT_BOUNDS_FLOAT &&
                 bound_text(g, s, STATISTICS_MIN, &out->min) &&
                 bound_text(g, s, STATISTICS_MAX, &out->max);
}

/* ---- Bloom filters */

/* The value in the form of format_library's may_contain; false if filters are not asked for it. */
static bool filter_value(const struct arrow_field *f, struct glint_slice *value, int64_t *number)
{
    if (f->dictionary != NULL) return filter_value(f->dictionary, value, number);
    if (f->type >= ARROW_UTF8 && f->type <= ARROW_BINARY_VIEW) return true;
    if (!arrow_is_i64(f) || !glint_parse_i64(*value, number)) return false;
    *value = (struct glint_slice){(const uint8_t *)number, sizeof *number};
    return true;
}

static int column_may_have(void *arg, uint32_t field, struct glint_slice value)
{
    struct row_groups *g = arg;
    const uint32_t column = find_field(g->layout, field);
    const bool unknown = column == UINT32_MAX || g->constants[column] != NULL || g->file == NULL;
    const uint32_t number = unknown ? UINT32_MAX : g->numbers[column];
    struct format_error e = {.piece = -1};
    int64_t integer;
    bool found = true;
    if (number == UINT32_MAX || !filter_value(&g->file->schema.children[number], &value, &integer))
        return 1;
    if (g->file->library->may_contain(g->file->file, (uint32_t)g->group, number, value.data,
                                      value.size, &found, &e) == 0)
        return found;
    return e.kind == FORMAT_ERROR_CALLBACK ? column_file_set_error(g->file, &e) : 1;
}

/* ---- Groups */

/* Asks about the group, for `count` groups. */
static int ask(struct row_groups *g, uint64_t count)
{
    const struct glint_row_group view = {column_bounds, column_may_have, g};
    const int r = g->task->may_need(g->task->filter, &view);
    assert(r <= 1);
    if (r != 0) return r;
    const int counter = glint_counter(g->task, ROW_GROUPS_SKIPPED);
    if (counter < 0) return counter;
    glint_counter_add(g->task, counter, (int64_t)count);
    return 0;
}

int row_groups_need_file(struct row_groups *g, uint64_t count)
{
    assert(g->file == NULL);
    return g->task->may_need != NULL ? ask(g, count) : 1;
}

int row_groups_need(struct row_groups *g, uint64_t group)
{
    struct format_piece piece;
    struct format_error e = {.piece = -1};
    if (g->task->may_need == NULL) return 1;
    if (g->file->library->piece(g->file->file, (uint32_t)group, &piece, &e) != 0)
        return column_file_set_error(g->file, &e);
    g->group = group;
    g->rows = piece.rows;
    return ask(g, 1);
}

void row_groups_close(struct row_groups *g)
{
    for (uint32_t i = 0; g->statistics != NULL && i < g->layout->count; i++) {
        struct column_statistics *s = &g->statistics[i];
        if (s->array.release != NULL) s->array.release(&s->array);
        for (uint32_t which = 0; which < 2; which++) buffer_fini(&s->text[which]);
    }
    g->statistics = NULL;
}
