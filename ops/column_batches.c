/* columnBatches: columns of files of columns as blocks (input/columns_block.h). An array of a task
 * is a block. Its columns are written as they are if they have the type that the column has in all
 * files; else they are built from the text of their values, as are those that a file does not have
 * or that its directories give it. */
#include "engine/base/text.h"
#include "engine/input/arrow_builder.h"
#include "engine/input/arrow_type.h"
#include "engine/input/column_reader.h"
#include "engine/input/columns_block.h"
#include "engine/input/csv.h"
#include "engine/records/pack.h"
#include "ops/column_source.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

#define BLOCK_BYTES    (1u << 20)
#define BLOCK_ROWS_MIN 1024u
#define BLOCK_ROWS_MAX (1u << 16)

struct batch_column {
    uint32_t column; /* of the layout */
    struct arrow_builder builder;
    bool built; /* in the block that is written */
};

struct column_batches_state {
    struct glint_task *task;
    struct column_reader reader;
    uint32_t rows, count;
    uint32_t *numbers; /* of the files' columns */
    struct ArrowSchema schema;
    struct arrow_field field;
    struct batch_column *columns;
    struct ArrowArray **children;
    struct buffer text, block;
};

/* ---- Driver */

struct wanted_columns {
    const char *const *names;
    uint32_t count, rows;
};

/* Rows of a block, by what the columns have in memory. */
static uint64_t choose_rows_per_block(const struct input_list *list, uint32_t count)
{
    const struct column_schema *s = list->schema;
    uint64_t rows = 1, bytes = 0;
    for (uint32_t i = 0; i < s->starts[list->count]; i++) {
        rows += s->pieces[i].rows;
        bytes += s->pieces[i].memory;
    }
    assert(count <= s->count && s->count > 0);
    const uint64_t row_bytes = bytes / rows * count / s->count + 1;
    const uint64_t fit = BLOCK_BYTES / row_bytes;
    return fit < BLOCK_ROWS_MIN ? BLOCK_ROWS_MIN : fit > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX : fit;
}

static int find_wanted_column(struct glint *g, const struct input_list *list, const char *name,
                              uint32_t *out)
{
    const struct column_schema *schema = list->schema;
    char names[HEADER_NAMES_BYTES];
    for (*out = 0; *out < schema->count; ++*out)
        if (strcmp(schema->columns[*out].name, name) == 0) break;
    if (*out < schema->count && schema->columns[*out].lacking == UINT64_MAX) return 0;
    const uint64_t file = *out < schema->count ? schema->columns[*out].lacking : 0;
    header_names_format(schema->header, CSV_SEPARATOR, names, sizeof names);
    return error_set(&g->error, GLINT_E_BAD_VALUE, "leave the file out, or choose other columns",
                     "%s: no column is named \"%s\"; the columns of all files are: %s",
                     list->files[file].path, name, names);
}

static int plan_column_batches(struct glint *g, struct input_list *list, const void *arg,
                               struct packer *p, struct glint_schema *schema)
{
    const struct wanted_columns *wanted = arg;
    if (!list->has_columns)
        return error_set(
            &g->error, GLINT_E_INPUT_FORMAT, "choose Parquet or Arrow files; textFile reads text",
            "%s: it is no file of columns", list->count > 0 ? list->files[0].path : "the input");
    if (input_list_read_schema(g->config.env, list, &g->error) != 0) return g->error.code;
    const uint32_t count = wanted->names != NULL ? wanted->count : list->schema->count;
    uint32_t *numbers = arena_alloc(&list->arena, (count + 1ull) * sizeof *numbers);
    if (numbers == NULL) return error_no_memory(&g->error);
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = i;
        if (wanted->names != NULL &&
            find_wanted_column(g, list, wanted->names[i], &numbers[i]) != 0)
            return g->error.code;
    }
    list->accepts_columns = true;
    if (input_list_set_needed_columns(list, numbers, count, &g->error) != 0) return g->error.code;
    *schema = (struct glint_schema){GLINT_NONE, GLINT_BYTES};
    pack_array(p, 1 + 3ull * count);
    pack_u64(p, wanted->rows > 0 ? wanted->rows : choose_rows_per_block(list, count));
    for (uint32_t i = 0; i < count; i++) {
        const char *texts[] = {list->schema->columns[numbers[i]].name,
                               list->schema->columns[numbers[i]].type};
        pack_u64(p, numbers[i]);
        for (int k = 0; k < 2; k++)
            pack_bytes(p, (struct glint_slice){(const uint8_t *)texts[k], strlen(texts[k])});
    }
    if (p->out.size <= ARGS_BYTES_MAX) return 0;
    return error_set(&g->error, GLINT_E_PLAN_LIMIT, "choose fewer columns",
                     "the names of the columns exceed 1 MiB");
}

struct glint_rdd *glint_column_batches(struct glint *g, const char *paths, const char *const *names,
                                       uint32_t count, uint32_t rows)
{
    const struct wanted_columns wanted = {names, count, rows};
    const struct file_source source = {.op = &op_column_batches,
                                       .schema = {GLINT_NONE, GLINT_BYTES},
                                       .describe = plan_column_batches,
                                       .describe_arg = &wanted,
                                       .make_splits = text_source_make_splits};
    return file_source_create(g, paths, &source);
}

/* ---- Task */

static char *unpack_column_text(struct glint_task *task, struct unpacker *u)
{
    const struct glint_slice text = unpack_bytes(u);
    char *out = arena_alloc(&task->arena, text.size + 1);
    if (out == NULL) return NULL;
    if (text.size > 0) memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return out;
}

/* Reads the numbers, names and types of the columns. */
static int unpack_batch_columns(struct column_batches_state *s, struct unpacker *u)
{
    struct arena *arena = &s->task->arena;
    struct ArrowSchema *schemas = arena_alloc(arena, (s->count + 1ull) * sizeof *schemas);
    s->schema.children = arena_alloc(arena, (s->count + 1ull) * sizeof *s->schema.children);
    s->children = arena_alloc(arena, (s->count + 1ull) * sizeof *s->children);
    s->numbers = arena_alloc(arena, (s->count + 1ull) * sizeof *s->numbers);
    s->columns = arena_alloc(arena, (s->count + 1ull) * sizeof *s->columns);
    const char *problem = NULL;
    if (schemas == NULL || s->schema.children == NULL || s->children == NULL ||
        s->numbers == NULL || s->columns == NULL)
        return error_no_memory(&s->task->error);
    memset(s->columns, 0, s->count * sizeof *s->columns);
    for (uint32_t i = 0; problem == NULL && i < s->count; i++) {
        s->numbers[i] = (uint32_t)unpack_u64(u, UINT32_MAX);
        const char *name = unpack_column_text(s->task, u), *type = unpack_column_text(s->task, u);
        if (name == NULL || type == NULL) return error_no_memory(&s->task->error);
        problem = arrow_type_read(name, type, NULL, arena, &schemas[i]);
        s->schema.children[i] = &schemas[i];
    }
    s->schema.format = "+s";
    s->schema.name = "";
    s->schema.n_children = s->count;
    if (problem == NULL && !u->failed) problem = arrow_field_read(&s->schema, arena, &s->field);
    if (problem == NULL && unpack_is_complete(u)) return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode batches of columns");
}

static int column_batches_open(void *state, const struct op_open *o)
{
    struct column_batches_state *s = state;
    struct unpacker u = unpack_begin(o->params);
    s->task = o->task;
    s->count = (uint32_t)((u.count - 1) / 3);
    if (u.failed || u.count % 3 != 1)
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL,
                         "cannot decode batches of columns");
    s->rows = (uint32_t)unpack_u64(&u, UINT32_MAX);
    return unpack_batch_columns(s, &u);
}

/* Whether arrays of the field can be written as arrays of another one. */
static bool is_same_type(const struct arrow_field *a, const struct arrow_field *b)
{
    if (a->dictionary != NULL || b->dictionary != NULL || strcmp(a->format, b->format) != 0 ||
        a->child_count != b->child_count)
        return false;
    for (uint32_t i = 0; i < a->child_count; i++)
        if (strcmp(a->children[i].name, b->children[i].name) != 0 ||
            !is_same_type(&a->children[i], &b->children[i]))
            return false;
    return true;
}

/* Builds the column of the block from the text of its values, or nulls. Returns 0 or a code. */
static int build_column(struct column_batches_state *s, struct batch_column *c, uint32_t i)
{
    const struct arrow_field *from;
    const struct ArrowArray *array = column_reader_column(&s->reader, c->column, &from);
    const struct partition_column *constant = column_reader_partition_column(&s->reader, c->column);
    struct arrow_builder *b = &c->builder;
    bool no_memory = !arrow_builder_init(b, &s->field.children[i]);
    c->built = true;
    for (int64_t row = 0; !no_memory && row < s->reader.array.length; row++) {
        struct glint_slice text = {NULL, 0};
        s->text.size = 0;
        if (constant != NULL && !constant->null) {
            text = constant->value;
        } else if (array != NULL && !arrow_is_null(from, array, row)) {
            no_memory =
                !buffer_reserve(&s->text, 1) || !arrow_append_text(from, array, row, &s->text);
            text = (struct glint_slice){s->text.data, s->text.size};
        }
        const char *problem = no_memory ? NULL : arrow_builder_append(b, text, &no_memory);
        if (problem != NULL && !no_memory)
            return error_set(&s->task->error, GLINT_E_INPUT_DAMAGED, "leave the file out",
                             "%s: column \"%s\": %s", column_reader_piece(&s->reader)->path,
                             s->field.children[i].name, problem);
    }
    if (!no_memory) return 0;
    return error_no_memory(&s->task->error);
}

/* Gets the columns of an array, in the order of the block. Returns the built ones in *built, which
 * is released. */
static int gather_columns(struct column_batches_state *s, struct ArrowArray *built)
{
    uint32_t count = 0;
    int r = 0;
    struct arrow_builder *builders =
        arena_alloc(&s->reader.arena, (s->count + 1ull) * sizeof *builders);
    if (builders == NULL) return error_no_memory(&s->task->error);
    for (uint32_t i = 0; r == 0 && i < s->count; i++) {
        struct batch_column *c = &s->columns[i];
        const struct arrow_field *field;
        const struct ArrowArray *array = column_reader_column(&s->reader, c->column, &field);
        if (array != NULL && column_reader_partition_column(&s->reader, c->column) == NULL &&
            is_same_type(field, &s->field.children[i])) {
            s->children[i] = (struct ArrowArray *)array;
            continue;
        }
        if (!arrow_can_build(&s->field.children[i]))
            return error_set(&s->task->error, GLINT_E_INPUT_FORMAT, "leave the column out",
                             "%s: column \"%s\" cannot be converted",
                             column_reader_piece(&s->reader)->path, s->field.children[i].name);
        r = build_column(s, c, i);
        builders[count++] = c->builder;
        c->builder = (struct arrow_builder){.field = NULL};
    }
    if (r == 0 && count > 0 &&
        !arrow_builders_finish(builders, count, s->reader.array.length, built))
        r = error_no_memory(&s->task->error);
    for (uint32_t i = 0; i < count; i++) arrow_builder_fini(&builders[i]);
    for (uint32_t i = 0, n = 0; r == 0 && i < s->count; i++) {
        if (s->columns[i].built) s->children[i] = built->children[n++];
        s->columns[i].built = false;
    }
    return r;
}

/* Emits rows of s->children as a block. `r`: 0, or the code of the task's error. Releases `built`.
 */
static enum flow emit_columns_as_block(struct column_batches_state *s, int r,
                                       struct ArrowArray *built, int64_t rows,
                                       struct glint_emitter *out)
{
    const void *no_buffer[1] = {NULL};
    const struct ArrowArray all = {.length = rows,
                                   .n_buffers = 1,
                                   .buffers = no_buffer,
                                   .n_children = s->count,
                                   .children = s->children};
    assert(rows >= 0);
    s->block.size = 0;
    const char *problem =
        r == 0 ? columns_block_write(&s->schema, &s->field, &all, 0, all.length, &s->block) : NULL;
    if (built->release != NULL) built->release(built);
    if (problem != NULL)
        error_set(&s->task->error, GLINT_E_MEMORY_LIMIT, "choose fewer columns", "%s: %s",
                  rows > 0 ? column_reader_piece(&s->reader)->path : "files without rows", problem);
    if (r != 0 || problem != NULL) return FLOW_FAIL;
    const struct glint_batch batch = {
        .rows = 1,
        .key = {.type = GLINT_NONE},
        .value = {.type = GLINT_BYTES, .base = s->block.data, .size = s->block.size}};
    glint_emit_batch(out, &batch);
    return out->flow;
}

/* Emits the array of the reader as a block. */
static enum flow emit_block(struct column_batches_state *s, struct glint_emitter *out)
{
    struct ArrowArray built = {.release = NULL};
    const int r = gather_columns(s, &built);
    return emit_columns_as_block(s, r, &built, s->reader.array.length, out);
}

/* Emits a block without rows, which has the names and types of the columns; none if it has a type
 * that cannot be built. */
static enum flow emit_empty_block(struct column_batches_state *s, struct glint_emitter *out)
{
    struct ArrowArray built = {.release = NULL};
    struct arrow_builder *builders =
        arena_alloc(&s->task->arena, (s->count + 1ull) * sizeof *builders);
    bool ok = builders != NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (!arrow_can_build(&s->field.children[i])) return FLOW_MORE;
    while (ok && count < s->count) {
        ok = arrow_builder_init(&builders[count], &s->field.children[count]);
        count++;
    }
    ok = ok && arrow_builders_finish(builders, count, 0, &built);
    for (uint32_t i = 0; i < count; i++) arrow_builder_fini(&builders[i]);
    for (uint32_t i = 0; ok && i < count; i++) s->children[i] = built.children[i];
    return emit_columns_as_block(s, ok ? 0 : error_no_memory(&s->task->error), &built, 0, out);
}

/* Numbers of the files' columns become those of the layout. */
static int find_layout_columns_of_block(struct column_batches_state *s,
                                        const struct row_layout *layout)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = 0;
        while (at < layout->count && layout->columns[at].field != s->numbers[i]) at++;
        if (at == layout->count)
            return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "a split lacks a column");
        s->columns[i].column = at;
    }
    return 0;
}

static enum flow column_batches_run(void *state, struct glint_slice split,
                                    struct glint_emitter *out)
{
    struct column_batches_state *s = state;
    struct split pieces;
    enum flow flow = FLOW_MORE;
    if (column_split_open(&s->reader, s->task, split, &pieces) != 0) return FLOW_FAIL;
    s->reader.array_rows = s->rows;
    int r = find_layout_columns_of_block(s, pieces.pieces[0].layout);
    if (r < 0) return FLOW_FAIL;
    bool any = false;
    while (flow == FLOW_MORE && (r = column_reader_next(&s->reader)) > 0) {
        flow = emit_block(s, out);
        any = true;
    }
    if (r == 0 && !any) flow = emit_empty_block(s, out);
    return r < 0 ? FLOW_FAIL : flow;
}

static void column_batches_close(void *state)
{
    struct column_batches_state *s = state;
    column_reader_close(&s->reader);
    buffer_fini(&s->text);
    buffer_fini(&s->block);
}

const struct op op_column_batches = {.name = "columnBatches",
                                     .kind = OP_SOURCE,
                                     .state_size = sizeof(struct column_batches_state),
                                     .open = column_batches_open,
                                     .run = column_batches_run,
                                     .close = column_batches_close};
