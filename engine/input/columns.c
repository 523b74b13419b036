/* Columns that are shared: what a program gives, a block, and what is exported again
 * (engine/glint_columns.h). An exported array is a tree of structs of its own that point to the
 * same buffers; each of its nodes has a share of the columns, since a consumer may move a part out.
 */
#include "engine/glint_columns.h"

#include "engine/input/columns_block.h"
#include "engine/limits.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define ALIGN 64u

struct glint_columns {
    atomic_uint shares;
    void *memory;   /* of the block; NULL: the columns are of another program */
    uint8_t *block; /* in it */
    uint64_t size;
    struct arena arena; /* of the schema and the field, and of arrays of a block */
    struct ArrowSchema schema;
    struct ArrowArray array, taken; /* a struct; what is released, of another program */
    struct arrow_field field;
    struct buffer encoded;
};

static void *columns_out_of_memory(struct glint_error *error)
{
    error_set(error, GLINT_E_NO_MEMORY, NULL, "no memory is left for columns");
    return NULL;
}

static int columns_invalid(struct glint_error *error, const char *problem)
{
    return error_set(error, GLINT_E_BAD_VALUE,
                     "convert the columns with the program that made them", "columns of Arrow: %s",
                     problem);
}

struct glint_columns *glint_columns_create(uint64_t size, uint8_t **out_block)
{
    struct glint_columns *c = mem_zalloc(sizeof *c);
    if (c == NULL || size > VALUE_BYTES_MAX) return mem_free(c), NULL;
    atomic_init(&c->shares, 1);
    c->size = size;
    c->memory = mem_alloc(size + ALIGN);
    if (c->memory == NULL) {
        mem_free(c);
        return NULL;
    }
    c->block = (uint8_t *)c->memory + (ALIGN - (uintptr_t)c->memory % ALIGN) % ALIGN;
    *out_block = c->block;
    return c;
}

void glint_columns_release(struct glint_columns *c)
{
    if (c == NULL || atomic_fetch_sub(&c->shares, 1) > 1) return;
    if (c->taken.release != NULL) c->taken.release(&c->taken);
    buffer_fini(&c->encoded);
    arena_fini(&c->arena);
    mem_free(c->memory);
    mem_free(c);
}

int glint_columns_decode(struct glint_columns *c, struct glint_error *error)
{
    assert(c->memory != NULL && c->field.format == NULL);
    const char *problem =
        columns_block_read(c->block, c->size, &c->arena, &c->schema, &c->field, &c->array);
    return problem == NULL ? 0 : columns_invalid(error, problem);
}

/* ---- Columns of other programs */

/* Copies a schema, whose shape was checked, into the arena. */
static bool copy_schema(struct arena *arena, const struct ArrowSchema *from,
                        struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){.format = arena_strdup(arena, from->format),
                                .name = arena_strdup(arena, from->name != NULL ? from->name : ""),
                                .flags = from->flags & 7,
                                .n_children = from->n_children};
    const uint64_t count = (uint64_t)from->n_children + 1;
    struct ArrowSchema *parts = arena_alloc(arena, count * sizeof *parts);
    out->children = arena_alloc(arena, count * sizeof *out->children);
    bool ok = out->format != NULL && out->name != NULL && parts != NULL && out->children != NULL;
    for (int64_t i = 0; ok && i < from->n_children; i++) {
        out->children[i] = &parts[i];
        ok = copy_schema(arena, from->children[i], &parts[i]);
    }
    if (!ok || from->dictionary == NULL) return ok;
    out->dictionary = &parts[from->n_children];
    return copy_schema(arena, from->dictionary, out->dictionary);
}

/* Programs take a struct as a table only without an offset: its columns get it. */
static bool move_offset(struct glint_columns *c)
{
    const uint64_t count = (uint64_t)c->array.n_children;
    struct ArrowArray *columns = arena_alloc(&c->arena, count * sizeof *columns + 1);
    struct ArrowArray **pointers = arena_alloc(&c->arena, count * sizeof *pointers + 1);
    static const void *const no_buffer[1];
    if (columns == NULL || pointers == NULL) return false;
    for (uint64_t i = 0; i < count; i++) {
        columns[i] = *c->array.children[i];
        columns[i].offset += c->array.offset;
        if (columns[i].length != c->array.length && columns[i].null_count > 0)
            columns[i].null_count = -1;
        columns[i].length = c->array.length;
        pointers[i] = &columns[i];
    }
    c->array.children = pointers;
    c->array.offset = c->array.null_count = 0;
    c->array.buffers = (const void **)(void *)no_buffer;
    return true;
}

/* Makes an array that is no struct its only column. */
static const char *wrap_column(struct glint_columns *c)
{
    struct ArrowSchema *const column = arena_alloc(&c->arena, sizeof *column),
                              **columns = arena_alloc(&c->arena, sizeof *columns);
    struct ArrowArray **arrays = arena_alloc(&c->arena, sizeof *arrays);
    static const void *const no_buffer[1];
    if (column == NULL || columns == NULL || arrays == NULL) return "out of memory";
    *column = c->schema;
    if (column->name[0] == '\0') column->name = "value";
    columns[0] = column;
    arrays[0] = &c->taken;
    c->schema =
        (struct ArrowSchema){.format = "+s", .name = "", .n_children = 1, .children = columns};
    c->array = (struct ArrowArray){.length = c->taken.length,
                                   .n_buffers = 1,
                                   .buffers = (const void **)(void *)no_buffer,
                                   .n_children = 1,
                                   .children = arrays};
    return arrow_field_read(&c->schema, &c->arena, &c->field);
}

static const char *check_adopted(struct glint_columns *c)
{
    const char *problem = NULL;
    c->array = c->taken;
    c->array.release = NULL;
    if (c->field.type != ARROW_STRUCT || c->field.dictionary != NULL) problem = wrap_column(c);
    if (problem == NULL) problem = arrow_array_check(&c->field, &c->array);
    const bool nulls = problem == NULL && c->array.null_count != 0 && c->array.buffers[0] != NULL;
    for (int64_t row = 0; nulls && problem == NULL && row < c->array.length; row++)
        if (arrow_is_null(&c->field, &c->array, row)) problem = "a row is null";
    return problem == NULL && !move_offset(c) ? "out of memory" : problem;
}

/* Takes the array, which has no `release` if it is borrowed. */
static struct glint_columns *make_columns(const struct ArrowSchema *schema, struct ArrowArray taken,
                                          struct glint_error *error)
{
    struct glint_columns *c = mem_zalloc(sizeof *c);
    if (c == NULL) {
        if (taken.release != NULL) taken.release(&taken);
        return columns_out_of_memory(error);
    }
    atomic_init(&c->shares, 1);
    c->taken = taken;
    const char *problem = arrow_field_read(schema, &c->arena, &c->field);
    if (problem == NULL && !copy_schema(&c->arena, schema, &c->schema)) problem = "out of memory";
    if (problem == NULL) problem = check_adopted(c);
    if (problem == NULL) return c;
    columns_invalid(error, problem);
    glint_columns_release(c);
    return NULL;
}

struct glint_columns *glint_columns_adopt(const struct ArrowSchema *schema,
                                          struct ArrowArray *array, struct glint_error *error)
{
    const struct ArrowArray taken = *array;
    array->release = NULL;
    if (taken.release != NULL) return make_columns(schema, taken, error);
    columns_invalid(error, "the array was released before");
    return NULL;
}

struct glint_columns *glint_columns_borrow(const struct ArrowSchema *schema,
                                           const struct ArrowArray *array,
                                           struct glint_error *error)
{
    struct ArrowArray borrowed = *array;
    borrowed.release = NULL;
    return make_columns(schema, borrowed, error);
}

/* ---- What they are */

uint64_t glint_columns_rows(const struct glint_columns *c)
{
    assert(c->field.format != NULL && c->array.length >= 0);
    return (uint64_t)c->array.length;
}

static uint64_t size_of(const struct arrow_field *f, const struct ArrowArray *a)
{
    const uint64_t rows = (uint64_t)a->length;
    const uint64_t bits = arrow_value_bits(f);
    uint64_t size = rows * bits / 8;
    if (a->n_buffers > 0 && a->buffers[0] != NULL) size += rows / 8;
    if (arrow_has_offsets(f->type) && a->buffers[1] != NULL) {
        size += rows * (arrow_has_large_offsets(f->type) ? 8 : 4);
        if (arrow_buffer_count(f->type) == 3)
            size += (uint64_t)(arrow_offset(f->type, a->buffers[1], a->offset + a->length) -
                               arrow_offset(f->type, a->buffers[1], a->offset));
    }
    if (f->type == ARROW_UTF8_VIEW || f->type == ARROW_BINARY_VIEW) {
        const int64_t *sizes = a->buffers[a->n_buffers - 1];
        size += rows * 16;
        for (int64_t i = 0; i < a->n_buffers - 3; i++) size += (uint64_t)sizes[i];
    }
    for (uint32_t i = 0; i < f->child_count; i++) size += size_of(&f->children[i], a->children[i]);
    return f->dictionary != NULL ? size + size_of(f->dictionary, a->dictionary) : size;
}

uint64_t glint_columns_size(const struct glint_columns *c)
{
    return c->memory != NULL ? c->size : size_of(&c->field, &c->array);
}

int glint_columns_encode(struct glint_columns *c, uint64_t first, uint64_t count,
                         const uint8_t **out_block, uint64_t *out_size, struct glint_error *error)
{
    assert(first <= glint_columns_rows(c) && count <= glint_columns_rows(c) - first);
    c->encoded.size = 0;
    const char *problem = columns_block_write(&c->schema, &c->field, &c->array, (int64_t)first,
                                              (int64_t)count, &c->encoded);
    *out_block = c->encoded.data;
    *out_size = c->encoded.size;
    return problem == NULL ? 0 : columns_invalid(error, problem);
}

/* ---- Exports */

/* An exported schema or array owns its parts, which may have been moved out, and a share. */
struct exported {
    struct glint_columns *columns;
    union {
        struct ArrowSchema **schemas;
        struct ArrowArray **arrays;
    };
};

/* Memory for a node with `count` parts of `size` bytes each, to which it points. */
static struct exported *create_exported(struct glint_columns *c, uint64_t count, uint64_t size)
{
    struct exported *e = mem_zalloc(sizeof *e + count * (size + sizeof(void *)));
    if (e == NULL) return NULL;
    void **parts = (void **)(void *)(e + 1);
    uint8_t *first = (uint8_t *)(parts + count);
    for (uint64_t i = 0; i < count; i++) parts[i] = first + i * size;
    e->schemas = (struct ArrowSchema **)(void *)parts;
    e->columns = c;
    atomic_fetch_add(&c->shares, 1);
    return e;
}

static void release_schema(struct ArrowSchema *s)
{
    struct exported *e = s->private_data;
    for (int64_t i = 0; i < s->n_children + (s->dictionary != NULL); i++)
        if (e->schemas[i]->release != NULL) e->schemas[i]->release(e->schemas[i]);
    s->release = NULL;
    glint_columns_release(e->columns);
    mem_free(e);
}

static bool export_schema(struct glint_columns *c, const struct ArrowSchema *from,
                          struct ArrowSchema *out)
{
    const int64_t count = from->n_children + (from->dictionary != NULL);
    struct exported *e = create_exported(c, (uint64_t)count, sizeof *out);
    if (e == NULL) return false;
    *out = *from;
    out->children = e->schemas;
    out->dictionary = from->dictionary != NULL ? e->schemas[from->n_children] : NULL;
    out->release = release_schema;
    out->private_data = e;
    bool ok = true;
    for (int64_t i = 0; ok && i < count; i++)
        ok = export_schema(c, i < from->n_children ? from->children[i] : from->dictionary,
                           e->schemas[i]);
    return ok;
}

static void release_array(struct ArrowArray *a)
{
    struct exported *e = a->private_data;
    for (int64_t i = 0; i < a->n_children + (a->dictionary != NULL); i++)
        if (e->arrays[i]->release != NULL) e->arrays[i]->release(e->arrays[i]);
    a->release = NULL;
    glint_columns_release(e->columns);
    mem_free(e);
}

static bool export_array(struct glint_columns *c, const struct ArrowArray *from,
                         struct ArrowArray *out)
{
    const int64_t count = from->n_children + (from->dictionary != NULL);
    struct exported *e = create_exported(c, (uint64_t)count, sizeof *out);
    if (e == NULL) return false;
    *out = *from;
    out->children = e->arrays;
    out->dictionary = from->dictionary != NULL ? e->arrays[from->n_children] : NULL;
    out->release = release_array;
    out->private_data = e;
    bool ok = true;
    for (int64_t i = 0; ok && i < count; i++)
        ok = export_array(c, i < from->n_children ? from->children[i] : from->dictionary,
                          e->arrays[i]);
    return ok;
}

int glint_columns_export(struct glint_columns *c, struct ArrowSchema *out_schema,
                         struct ArrowArray *out_array)
{
    assert(c->field.format != NULL);
    if (out_schema != NULL) *out_schema = (struct ArrowSchema){.release = NULL};
    if (out_array != NULL) *out_array = (struct ArrowArray){.release = NULL};
    bool ok = out_schema == NULL || export_schema(c, &c->schema, out_schema);
    ok = ok && (out_array == NULL || export_array(c, &c->array, out_array));
    if (ok) return 0;
    if (out_schema != NULL && out_schema->release != NULL) out_schema->release(out_schema);
    if (out_array != NULL && out_array->release != NULL) out_array->release(out_array);
    return GLINT_E_NO_MEMORY;
}

/* ---- Streams */

struct columns_stream {
    uint64_t count, next;
    struct glint_columns *columns[];
};

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct columns_stream *s = stream->private_data;
    return glint_columns_export(s->columns[0], out, NULL) == 0 ? 0 : ENOMEM;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct columns_stream *s = stream->private_data;
    *out = (struct ArrowArray){.release = NULL};
    if (s->next == s->count) return 0;
    return glint_columns_export(s->columns[s->next++], NULL, out) == 0 ? 0 : ENOMEM;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "no memory is left for columns";
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct columns_stream *s = stream->private_data;
    for (uint64_t i = 0; i < s->count; i++) glint_columns_release(s->columns[i]);
    mem_free(s);
    stream->release = NULL;
}

/* Whether two schemas have the same types and names. */
static bool is_same_schema(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    if (strcmp(a->format, b->format) != 0 || strcmp(a->name, b->name) != 0 ||
        a->n_children != b->n_children || (a->dictionary != NULL) != (b->dictionary != NULL))
        return false;
    for (int64_t i = 0; i < a->n_children; i++)
        if (!is_same_schema(a->children[i], b->children[i])) return false;
    return a->dictionary == NULL || is_same_schema(a->dictionary, b->dictionary);
}

int glint_columns_stream(struct glint_columns *const *columns, uint64_t count,
                         struct ArrowArrayStream *out, struct glint_error *error)
{
    assert(count > 0);
    for (uint64_t i = 1; i < count; i++)
        if (!is_same_schema(&columns[0]->schema, &columns[i]->schema))
            return columns_invalid(error, "batches have columns of different names or types");
    struct columns_stream *s = mem_alloc(sizeof *s + count * sizeof(void *));
    if (s == NULL) {
        columns_out_of_memory(error);
        return GLINT_E_NO_MEMORY;
    }
    *s = (struct columns_stream){.count = count};
    for (uint64_t i = 0; i < count; i++) {
        s->columns[i] = columns[i];
        atomic_fetch_add(&columns[i]->shares, 1);
    }
    *out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                     .get_next = stream_next,
                                     .get_last_error = stream_error,
                                     .release = release_stream,
                                     .private_data = s};
    return 0;
}
