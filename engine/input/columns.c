/* Columns that are shared: what a program gives, a block, and what is exported again
 * (engine/glint_columns.h). An exported array is a tree of structs of its own that point to the
 * same buffers; each of its nodes has a share of the columns, since a consumer may move a part out.
 */
#include "engine/glint_columns.h"

#include "engine/base/endian.h"
#include "engine/input/columns_block.h"
#include "engine/limits.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define ALIGN 64u

/* ---- Blocks (columns_block.h). The type decides which buffers an array has, so a block is read in
 * two steps: what it says of its arrays, then whether that fits their types. */

#define MAGIC          0x314b4c42u /* "BLK1" */
#define HEAD_BYTES     24u
#define NODE_BYTES     40u
#define NO_BUFFER      UINT64_MAX
#define BUFFERS_MAX    3
#define FLAGS          7u /* of ArrowSchema: ordered dictionary, nullable, sorted keys of a map */
#define HAS_DICTIONARY 0x10000u

static const char no_memory[] = "out of memory";

static uint64_t align_to(uint64_t size, uint64_t align)
{
    return (size + align - 1) / align * align;
}

/* Writing */

struct block_part {
    const void *data;
    uint64_t size, at;
};

struct block_writer {
    struct buffer nodes;
    struct block_part *parts;
    uint64_t part_count, part_capacity;
    uint64_t end; /* of the buffers */
    struct arena arena;
    const char *problem;
};

static bool append_u64(struct buffer *b, uint64_t value)
{
    uint8_t bytes[sizeof value];
    put_le64(bytes, value);
    return buffer_append(b, bytes, sizeof bytes);
}

static void *alloc_scratch(struct block_writer *w, uint64_t size)
{
    void *memory = arena_alloc_aligned(&w->arena, size + 1);
    if (memory == NULL) w->problem = no_memory;
    return memory;
}

/* The rows of an array that are written: the buffers begin at row `skip` of the array's own, a
 * multiple of 8, so that bits need no shift; `first` counts from there. */
struct row_range {
    int64_t skip, first, count;
};

static bool may_arrow_array_have_nulls(const struct ArrowArray *a)
{
    return a->null_count != 0 && a->n_buffers > 0 && a->buffers[0] != NULL;
}

/* The number of buffers follows from the type. */
static void append_array_node(struct block_writer *w, const struct ArrowSchema *s,
                              const struct arrow_field *f, const struct ArrowArray *a,
                              const struct row_range *r)
{
    static const char zeros[8];
    const bool views = f->type == ARROW_UTF8_VIEW || f->type == ARROW_BINARY_VIEW;
    const char *name = s->name != NULL ? s->name : "";
    const char *format = !views ? s->format : f->type == ARROW_UTF8_VIEW ? "u" : "z";
    const uint64_t format_size = strlen(format) + 1, size = format_size + strlen(name) + 1;
    if (size > UINT32_MAX / 2) w->problem = "the name of a column is too long";
    if (w->problem != NULL) return;
    const bool nulls = may_arrow_array_have_nulls(a) || a->n_buffers == 0;
    uint8_t node[NODE_BYTES];
    put_le32(node, (uint32_t)align_to(size, 8));
    put_le32(node + 4, (uint32_t)s->n_children);
    put_le32(node + 8, (uint32_t)s->flags & FLAGS);
    put_le32(node + 12,
             (uint32_t)arrow_buffer_count(f->type) | (s->dictionary != NULL ? HAS_DICTIONARY : 0));
    put_le64(node + 16, (uint64_t)r->count);
    put_le64(node + 24, (uint64_t)(!nulls ? 0 : r->count == a->length ? a->null_count : -1));
    put_le64(node + 32, (uint64_t)r->first);
    if (!buffer_append(&w->nodes, node, sizeof node) ||
        !buffer_append(&w->nodes, format, format_size) ||
        !buffer_append(&w->nodes, name, size - format_size) ||
        !buffer_append(&w->nodes, zeros, align_to(size, 8) - size))
        w->problem = no_memory;
}

/* `data` NULL: there is no such buffer. */
static void append_array_buffer(struct block_writer *w, const void *data, uint64_t size)
{
    const uint64_t at = data != NULL ? w->end : NO_BUFFER;
    if (!append_u64(&w->nodes, at) || !append_u64(&w->nodes, data != NULL ? size : 0)) {
        w->problem = no_memory;
        return;
    }
    if (data == NULL || size == 0) return;
    if (!array_reserve(&w->parts, &w->part_capacity, w->part_count + 1, sizeof *w->parts)) {
        w->problem = no_memory;
        return;
    }
    w->parts[w->part_count++] = (struct block_part){data, size, at};
    w->end = align_to(w->end + size, ALIGN);
}

static void append_validity_buffer(struct block_writer *w, const struct ArrowArray *a,
                                   const struct row_range *r)
{
    const uint8_t *bits = may_arrow_array_have_nulls(a) ? a->buffers[0] : NULL;
    append_array_buffer(w, bits != NULL ? bits + r->skip / 8 : NULL,
                        (uint64_t)(r->first + r->count + 7) / 8);
}

/* Offsets that begin at 0. Sets which values they refer to. */
static void append_offsets_buffer(struct block_writer *w, const struct arrow_field *f,
                                  const struct ArrowArray *a, const struct row_range *r,
                                  int64_t *out_from, int64_t *out_end)
{
    const bool large = arrow_has_large_offsets(f->type);
    const uint64_t size = (uint64_t)(r->first + r->count + 1) * (large ? 8 : 4);
    uint8_t *offsets = alloc_scratch(w, size);
    const void *from = a->buffers[1];
    const int64_t begin = r->skip + r->first;
    *out_from = *out_end = 0;
    if (offsets == NULL) return;
    memset(offsets, 0, size);
    if (from != NULL) {
        *out_from = arrow_offset(f->type, from, begin);
        *out_end = arrow_offset(f->type, from, begin + r->count);
    }
    for (int64_t i = 0; from != NULL && i <= r->count; i++) {
        const int64_t offset = arrow_offset(f->type, from, begin + i) - *out_from;
        if (large)
            ((int64_t *)(void *)offsets)[r->first + i] = offset;
        else
            ((int32_t *)(void *)offsets)[r->first + i] = (int32_t)offset;
    }
    append_array_buffer(w, offsets, size);
}

/* Views as offsets and values. */
static void append_views_as_offsets(struct block_writer *w, const struct arrow_field *f,
                                    const struct ArrowArray *a, const struct row_range *r)
{
    int32_t *offsets = alloc_scratch(w, (uint64_t)(r->first + r->count + 1) * sizeof *offsets);
    const int64_t begin = r->skip + r->first - a->offset;
    uint64_t size = 0;
    assert(begin >= 0 && begin + r->count <= a->length);
    if (offsets == NULL) return;
    for (int64_t i = 0; i < r->count; i++)
        if (!arrow_is_null(f, a, begin + i)) size += arrow_bytes(f, a, begin + i).size;
    uint8_t *values = size <= INT32_MAX ? alloc_scratch(w, size) : NULL;
    if (size > INT32_MAX) w->problem = "texts of a column have over 2 GiB";
    if (values == NULL) return;
    memset(offsets, 0, (uint64_t)(r->first + 1) * sizeof *offsets);
    size = 0;
    for (int64_t i = 0; i < r->count; i++) {
        const struct glint_slice none = {NULL, 0};
        const struct glint_slice bytes =
            arrow_is_null(f, a, begin + i) ? none : arrow_bytes(f, a, begin + i);
        if (bytes.size > 0) memcpy(values + size, bytes.data, bytes.size);
        size += bytes.size;
        offsets[r->first + i + 1] = (int32_t)size;
    }
    append_array_buffer(w, offsets, (uint64_t)(r->first + r->count + 1) * sizeof *offsets);
    append_array_buffer(w, values, size);
}

/* The rows of a part that belong to those of the whole. */
struct part_rows {
    int64_t first, count;
};

static void append_array_to_block(struct block_writer *w, const struct ArrowSchema *s,
                                  const struct arrow_field *f, const struct ArrowArray *a,
                                  int64_t first, int64_t count);

/* Writes the buffers of an array but the first; returns the rows of its parts. */
static struct part_rows append_value_buffers(struct block_writer *w, const struct arrow_field *f,
                                             const struct ArrowArray *a, const struct row_range *r)
{
    struct part_rows rows = {r->skip, r->first + r->count};
    int64_t from, end;
    const uint64_t bits = arrow_value_bits(f);
    if (f->type == ARROW_UTF8_VIEW || f->type == ARROW_BINARY_VIEW) {
        append_views_as_offsets(w, f, a, r);
    } else if (arrow_has_offsets(f->type)) {
        append_offsets_buffer(w, f, a, r, &from, &end);
        rows = (struct part_rows){from, end - from};
        if (arrow_buffer_count(f->type) != BUFFERS_MAX) return rows;
        const uint8_t *values = a->buffers[2];
        static const uint8_t none[1];
        append_array_buffer(w, values != NULL ? values + from : none, (uint64_t)(end - from));
    } else if (f->type == ARROW_FIXED_LIST) {
        rows.first *= f->width;
        rows.count *= f->width;
    } else if (arrow_buffer_count(f->type) == 2) {
        const uint8_t *values = a->buffers[1];
        append_array_buffer(w, values != NULL ? values + (uint64_t)r->skip * bits / 8 : NULL,
                            ((uint64_t)(r->first + r->count) * bits + 7) / 8);
    }
    return rows;
}

/* Writes `count` rows from `first` on, counted from the beginning of the buffers. */
static void append_array_to_block(struct block_writer *w, const struct ArrowSchema *s,
                                  const struct arrow_field *f, const struct ArrowArray *a,
                                  int64_t first, int64_t count)
{
    assert(first >= a->offset && first + count <= a->offset + a->length);
    const bool runs = f->type == ARROW_RUN_END;
    struct row_range r = {runs ? 0 : first / 8 * 8, runs ? first : first % 8, count};
    /* Programs take a struct as a table only without an offset. */
    if (f->type == ARROW_STRUCT && !may_arrow_array_have_nulls(a))
        r = (struct row_range){first, 0, count};
    if (w->problem == NULL) append_array_node(w, s, f, a, &r);
    if (w->problem == NULL && a->n_buffers > 0) append_validity_buffer(w, a, &r);
    struct part_rows rows = {0, 0};
    if (w->problem == NULL) rows = append_value_buffers(w, f, a, &r);
    for (uint32_t i = 0; w->problem == NULL && i < f->child_count; i++) {
        const struct ArrowArray *part = a->children[i];
        if (runs)
            append_array_to_block(w, s->children[i], &f->children[i], part, part->offset,
                                  part->length);
        else
            append_array_to_block(w, s->children[i], &f->children[i], part,
                                  part->offset + rows.first, rows.count);
    }
    if (w->problem == NULL && f->dictionary != NULL)
        append_array_to_block(w, s->dictionary, f->dictionary, a->dictionary, a->dictionary->offset,
                              a->dictionary->length);
}

/* Copies all into one piece of memory. */
static const char *write_block_from_parts(struct block_writer *w, struct buffer *out)
{
    const uint64_t begin = align_to(HEAD_BYTES + w->nodes.size, ALIGN), size = begin + w->end;
    assert(out->size % ALIGN == 0);
    if (size > VALUE_BYTES_MAX) return "a block of columns has over 4 GiB";
    if (!buffer_reserve(out, size + READ_SLACK)) return no_memory;
    uint8_t *block = out->data + out->size;
    put_le32(block, MAGIC);
    put_le32(block + 4, 0);
    put_le64(block + 8, size);
    put_le64(block + 16, begin);
    memcpy(block + HEAD_BYTES, w->nodes.data, w->nodes.size);
    memset(block + HEAD_BYTES + w->nodes.size, 0, begin - HEAD_BYTES - w->nodes.size);
    uint64_t end = begin;
    for (uint64_t i = 0; i < w->part_count; i++) {
        const struct block_part *p = &w->parts[i];
        memset(block + end, 0, begin + p->at - end);
        memcpy(block + begin + p->at, p->data, p->size);
        end = begin + p->at + p->size;
    }
    memset(block + end, 0, size - end);
    out->size += size;
    return NULL;
}

const char *columns_block_write(const struct ArrowSchema *schema, const struct arrow_field *field,
                                const struct ArrowArray *array, int64_t first, int64_t count,
                                struct buffer *out)
{
    assert(field->type == ARROW_STRUCT && first >= 0 && count <= array->length - first);
    struct block_writer w = {.problem = NULL};
    append_array_to_block(&w, schema, field, array, array->offset + first, count);
    if (w.problem == NULL) w.problem = write_block_from_parts(&w, out);
    buffer_fini(&w.nodes);
    mem_free(w.parts);
    arena_fini(&w.arena);
    return w.problem;
}

/* Reading */

struct block_reader {
    const uint8_t *block;
    uint64_t size, begin; /* of the block; of the buffers */
    uint64_t at;          /* the next node */
    struct arena *arena;
};

static const char cut[] = "a block of columns is cut off";

/* The buffers of an array, and their sizes until it was checked. */
struct block_buffers {
    const void *data[BUFFERS_MAX];
    uint64_t sizes[BUFFERS_MAX];
};

/* Reads where the buffers are. */
static const char *read_block_buffers(struct block_reader *r, struct ArrowArray *a)
{
    struct block_buffers *b = arena_alloc(r->arena, sizeof *b);
    if (b == NULL) return no_memory;
    *b = (struct block_buffers){.sizes = {0}};
    assert(a->n_buffers <= BUFFERS_MAX && r->at <= r->begin);
    if (r->begin - r->at < (uint64_t)a->n_buffers * 16) return cut;
    for (int64_t i = 0; i < a->n_buffers; i++, r->at += 16) {
        const uint64_t at = get_le64(r->block + r->at), size = get_le64(r->block + r->at + 8);
        if (at == NO_BUFFER && size == 0) continue;
        if (at % ALIGN != 0 || at > r->size - r->begin || size > r->size - r->begin - at)
            return "a buffer is outside of its block";
        b->data[i] = r->block + r->begin + at;
        b->sizes[i] = size;
    }
    if (a->null_count == 0) b->data[0] = NULL; /* as arrays are written: no bits, no nulls */
    a->buffers = b->data;
    a->private_data = b;
    return NULL;
}

/* Reads the format and the name. */
static const char *read_format_and_name(struct block_reader *r, uint64_t size,
                                        struct ArrowSchema *s)
{
    if (size % 8 != 0 || size > r->begin - r->at) return cut;
    const char *text = (const char *)r->block + r->at, *end = text + size;
    const char *name = size > 0 ? memchr(text, 0, size) : NULL;
    if (name == NULL || memchr(name + 1, 0, (size_t)(end - name - 1)) == NULL) return cut;
    s->format = text;
    s->name = name + 1;
    r->at += size;
    return NULL;
}

static const char *read_block_node(struct block_reader *r, unsigned depth, struct ArrowSchema *s,
                                   struct ArrowArray *a);

/* Reads the parts of an array, and its dictionary. */
static const char *read_block_parts(struct block_reader *r, unsigned depth, bool dictionary,
                                    struct ArrowSchema *s, struct ArrowArray *a)
{
    const uint64_t count = (uint64_t)s->n_children + dictionary;
    if (count > (r->begin - r->at) / NODE_BYTES) return cut;
    struct ArrowSchema *schemas = arena_alloc(r->arena, count * sizeof *schemas + 1);
    struct ArrowArray *arrays = arena_alloc(r->arena, count * sizeof *arrays + 1);
    s->children = arena_alloc(r->arena, count * sizeof *s->children + 1);
    a->children = arena_alloc(r->arena, count * sizeof *a->children + 1);
    if (schemas == NULL || arrays == NULL || s->children == NULL || a->children == NULL)
        return no_memory;
    const char *problem = NULL;
    for (uint64_t i = 0; problem == NULL && i < count; i++) {
        problem = read_block_node(r, depth + 1, &schemas[i], &arrays[i]);
        if (i < (uint64_t)s->n_children) {
            s->children[i] = &schemas[i];
            a->children[i] = &arrays[i];
        } else {
            s->dictionary = &schemas[i];
            a->dictionary = &arrays[i];
        }
    }
    return problem;
}

static const char *read_block_node(struct block_reader *r, unsigned depth, struct ArrowSchema *s,
                                   struct ArrowArray *a)
{
    if (depth > ARROW_DEPTH_MAX) return "types are nested too deeply";
    if (r->begin - r->at < NODE_BYTES) return cut;
    const uint8_t *node = r->block + r->at;
    const uint32_t parts = get_le32(node + 4), kinds = get_le32(node + 12);
    *s = (struct ArrowSchema){.flags = get_le32(node + 8), .n_children = parts};
    *a = (struct ArrowArray){.length = (int64_t)get_le64(node + 16),
                             .null_count = (int64_t)get_le64(node + 24),
                             .offset = (int64_t)get_le64(node + 32),
                             .n_buffers = kinds & ~HAS_DICTIONARY,
                             .n_children = parts};
    if (s->flags > FLAGS || a->n_buffers > BUFFERS_MAX || parts > ARROW_FIELDS_MAX ||
        a->null_count < -1 || a->null_count > a->length)
        return "a block of columns has an impossible number";
    r->at += NODE_BYTES;
    const char *problem = read_format_and_name(r, get_le32(node), s);
    if (problem == NULL) problem = read_block_buffers(r, a);
    return problem != NULL ? problem
                           : read_block_parts(r, depth, (kinds & HAS_DICTIONARY) != 0, s, a);
}

/* Checks that need the type */

static const char small[] = "a buffer is too small for its array";

/* Whether a buffer has so many values of so many bits; of no rows it may be missing. */
static bool buffer_has_enough_values(const struct block_buffers *b, int i, uint64_t rows,
                                     uint64_t bits)
{
    assert(i < BUFFERS_MAX && rows <= INT64_MAX / 64);
    const unsigned __int128 need = ((unsigned __int128)rows * bits + 7) / 8;
    return b->data[i] == NULL || need <= b->sizes[i];
}

/* The sizes of buffers that arrow_array_check reads. */
static const char *check_arrow_buffer_sizes(const struct arrow_field *f, const struct ArrowArray *a)
{
    if (a->length < 0 || a->offset < 0 || a->length > INT64_MAX / 64 - a->offset)
        return "an array has an impossible length";
    if (a->n_buffers != arrow_buffer_count(f->type) || a->n_children != f->child_count ||
        (f->dictionary != NULL) != (a->dictionary != NULL) || f->type == ARROW_UTF8_VIEW ||
        f->type == ARROW_BINARY_VIEW)
        return "an array has another shape than its type";
    const struct block_buffers *b = a->private_data;
    const uint64_t rows = (uint64_t)(a->offset + a->length);
    const uint64_t bits = arrow_value_bits(f);
    const bool offsets = arrow_has_offsets(f->type);
    if (a->n_buffers > 0 && !buffer_has_enough_values(b, 0, rows, 1)) return small;
    if (offsets &&
        !buffer_has_enough_values(b, 1, rows + 1, arrow_has_large_offsets(f->type) ? 64 : 32))
        return small;
    if (!offsets && a->n_buffers == 2 && !buffer_has_enough_values(b, 1, rows, bits)) return small;
    const char *problem = NULL;
    for (uint32_t i = 0; problem == NULL && i < f->child_count; i++)
        problem = check_arrow_buffer_sizes(&f->children[i], a->children[i]);
    return problem == NULL && f->dictionary != NULL
               ? check_arrow_buffer_sizes(f->dictionary, a->dictionary)
               : problem;
}

/* The sizes of values, which offsets tell. */
static const char *check_last_arrow_offsets(const struct arrow_field *f, struct ArrowArray *a)
{
    const struct block_buffers *b = a->private_data;
    assert(a->n_children == f->child_count);
    if (a->n_buffers == BUFFERS_MAX && a->buffers[1] != NULL &&
        (uint64_t)arrow_offset(f->type, a->buffers[1], a->offset + a->length) > b->sizes[2])
        return small;
    a->private_data = NULL;
    const char *problem = NULL;
    for (uint32_t i = 0; problem == NULL && i < f->child_count; i++)
        problem = check_last_arrow_offsets(&f->children[i], a->children[i]);
    return problem == NULL && f->dictionary != NULL
               ? check_last_arrow_offsets(f->dictionary, a->dictionary)
               : problem;
}

const char *columns_block_read(const uint8_t *block, uint64_t size, struct arena *arena,
                               struct ArrowSchema *schema, struct arrow_field *field,
                               struct ArrowArray *array)
{
    assert((uintptr_t)block % 8 == 0);
    if (size < HEAD_BYTES || get_le32(block) != MAGIC || get_le32(block + 4) != 0)
        return "it is no block of columns";
    struct block_reader r = {.block = block,
                             .size = size,
                             .begin = get_le64(block + 16),
                             .at = HEAD_BYTES,
                             .arena = arena};
    if (get_le64(block + 8) != size || r.begin > size || r.begin < HEAD_BYTES ||
        r.begin % ALIGN != 0)
        return cut;
    const char *problem = read_block_node(&r, 0, schema, array);
    if (problem == NULL) problem = arrow_field_read(schema, arena, field);
    if (problem == NULL && field->type != ARROW_STRUCT)
        problem = "a block of columns has no struct";
    if (problem == NULL) problem = check_arrow_buffer_sizes(field, array);
    if (problem == NULL) problem = arrow_array_check(field, array);
    return problem == NULL ? check_last_arrow_offsets(field, array) : problem;
}

/* ---- Columns */

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

static void *set_columns_memory_error(struct glint_error *error)
{
    error_set(error, GLINT_E_NO_MEMORY, NULL, "no memory is left for columns");
    return NULL;
}

static int set_columns_invalid_error(struct glint_error *error, const char *problem)
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
    return problem == NULL ? 0 : set_columns_invalid_error(error, problem);
}

/* ---- Columns of other programs */

/* Copies a schema, whose shape was checked, into the arena. */
static bool copy_arrow_schema(struct arena *arena, const struct ArrowSchema *from,
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
        ok = copy_arrow_schema(arena, from->children[i], &parts[i]);
    }
    if (!ok || from->dictionary == NULL) return ok;
    out->dictionary = &parts[from->n_children];
    return copy_arrow_schema(arena, from->dictionary, out->dictionary);
}

/* Programs take a struct as a table only without an offset: its columns get it. */
static bool move_offset_to_columns(struct glint_columns *c)
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
static const char *wrap_array_as_only_column(struct glint_columns *c)
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

static const char *check_adopted_array(struct glint_columns *c)
{
    const char *problem = NULL;
    c->array = c->taken;
    c->array.release = NULL;
    if (c->field.type != ARROW_STRUCT || c->field.dictionary != NULL)
        problem = wrap_array_as_only_column(c);
    if (problem == NULL) problem = arrow_array_check(&c->field, &c->array);
    const bool nulls = problem == NULL && c->array.null_count != 0 && c->array.buffers[0] != NULL;
    for (int64_t row = 0; nulls && problem == NULL && row < c->array.length; row++)
        if (arrow_is_null(&c->field, &c->array, row)) problem = "a row is null";
    return problem == NULL && !move_offset_to_columns(c) ? "out of memory" : problem;
}

/* Takes the array, which has no `release` if it is borrowed. */
static struct glint_columns *create_columns_from_array(const struct ArrowSchema *schema,
                                                       struct ArrowArray taken,
                                                       struct glint_error *error)
{
    struct glint_columns *c = mem_zalloc(sizeof *c);
    if (c == NULL) {
        if (taken.release != NULL) taken.release(&taken);
        return set_columns_memory_error(error);
    }
    atomic_init(&c->shares, 1);
    c->taken = taken;
    const char *problem = arrow_field_read(schema, &c->arena, &c->field);
    if (problem == NULL && !copy_arrow_schema(&c->arena, schema, &c->schema))
        problem = "out of memory";
    if (problem == NULL) problem = check_adopted_array(c);
    if (problem == NULL) return c;
    set_columns_invalid_error(error, problem);
    glint_columns_release(c);
    return NULL;
}

struct glint_columns *glint_columns_adopt(const struct ArrowSchema *schema,
                                          struct ArrowArray *array, struct glint_error *error)
{
    const struct ArrowArray taken = *array;
    array->release = NULL;
    if (taken.release != NULL) return create_columns_from_array(schema, taken, error);
    set_columns_invalid_error(error, "the array was released before");
    return NULL;
}

struct glint_columns *glint_columns_borrow(const struct ArrowSchema *schema,
                                           const struct ArrowArray *array,
                                           struct glint_error *error)
{
    struct ArrowArray borrowed = *array;
    borrowed.release = NULL;
    return create_columns_from_array(schema, borrowed, error);
}

/* ---- What they are */

uint64_t glint_columns_rows(const struct glint_columns *c)
{
    assert(c->field.format != NULL && c->array.length >= 0);
    return (uint64_t)c->array.length;
}

static uint64_t arrow_array_bytes(const struct arrow_field *f, const struct ArrowArray *a)
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
    for (uint32_t i = 0; i < f->child_count; i++)
        size += arrow_array_bytes(&f->children[i], a->children[i]);
    return f->dictionary != NULL ? size + arrow_array_bytes(f->dictionary, a->dictionary) : size;
}

uint64_t glint_columns_size(const struct glint_columns *c)
{
    return c->memory != NULL ? c->size : arrow_array_bytes(&c->field, &c->array);
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
    return problem == NULL ? 0 : set_columns_invalid_error(error, problem);
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

static void release_exported_schema(struct ArrowSchema *s)
{
    struct exported *e = s->private_data;
    for (int64_t i = 0; i < s->n_children + (s->dictionary != NULL); i++)
        if (e->schemas[i]->release != NULL) e->schemas[i]->release(e->schemas[i]);
    s->release = NULL;
    glint_columns_release(e->columns);
    mem_free(e);
}

static bool export_arrow_schema(struct glint_columns *c, const struct ArrowSchema *from,
                                struct ArrowSchema *out)
{
    const int64_t count = from->n_children + (from->dictionary != NULL);
    struct exported *e = create_exported(c, (uint64_t)count, sizeof *out);
    if (e == NULL) return false;
    *out = *from;
    out->children = e->schemas;
    out->dictionary = from->dictionary != NULL ? e->schemas[from->n_children] : NULL;
    out->release = release_exported_schema;
    out->private_data = e;
    bool ok = true;
    for (int64_t i = 0; ok && i < count; i++)
        ok = export_arrow_schema(c, i < from->n_children ? from->children[i] : from->dictionary,
                                 e->schemas[i]);
    return ok;
}

static void release_exported_array(struct ArrowArray *a)
{
    struct exported *e = a->private_data;
    for (int64_t i = 0; i < a->n_children + (a->dictionary != NULL); i++)
        if (e->arrays[i]->release != NULL) e->arrays[i]->release(e->arrays[i]);
    a->release = NULL;
    glint_columns_release(e->columns);
    mem_free(e);
}

static bool export_arrow_array(struct glint_columns *c, const struct ArrowArray *from,
                               struct ArrowArray *out)
{
    const int64_t count = from->n_children + (from->dictionary != NULL);
    struct exported *e = create_exported(c, (uint64_t)count, sizeof *out);
    if (e == NULL) return false;
    *out = *from;
    out->children = e->arrays;
    out->dictionary = from->dictionary != NULL ? e->arrays[from->n_children] : NULL;
    out->release = release_exported_array;
    out->private_data = e;
    bool ok = true;
    for (int64_t i = 0; ok && i < count; i++)
        ok = export_arrow_array(c, i < from->n_children ? from->children[i] : from->dictionary,
                                e->arrays[i]);
    return ok;
}

int glint_columns_export(struct glint_columns *c, struct ArrowSchema *out_schema,
                         struct ArrowArray *out_array)
{
    assert(c->field.format != NULL);
    if (out_schema != NULL) *out_schema = (struct ArrowSchema){.release = NULL};
    if (out_array != NULL) *out_array = (struct ArrowArray){.release = NULL};
    bool ok = out_schema == NULL || export_arrow_schema(c, &c->schema, out_schema);
    ok = ok && (out_array == NULL || export_arrow_array(c, &c->array, out_array));
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

static int columns_stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct columns_stream *s = stream->private_data;
    return glint_columns_export(s->columns[0], out, NULL) == 0 ? 0 : ENOMEM;
}

static int columns_stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct columns_stream *s = stream->private_data;
    *out = (struct ArrowArray){.release = NULL};
    if (s->next == s->count) return 0;
    return glint_columns_export(s->columns[s->next++], NULL, out) == 0 ? 0 : ENOMEM;
}

static const char *columns_stream_get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "no memory is left for columns";
}

static void release_columns_stream(struct ArrowArrayStream *stream)
{
    struct columns_stream *s = stream->private_data;
    for (uint64_t i = 0; i < s->count; i++) glint_columns_release(s->columns[i]);
    mem_free(s);
    stream->release = NULL;
}

/* Whether two schemas have the same types and names. */
static bool is_same_arrow_schema(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    if (strcmp(a->format, b->format) != 0 || strcmp(a->name, b->name) != 0 ||
        a->n_children != b->n_children || (a->dictionary != NULL) != (b->dictionary != NULL))
        return false;
    for (int64_t i = 0; i < a->n_children; i++)
        if (!is_same_arrow_schema(a->children[i], b->children[i])) return false;
    return a->dictionary == NULL || is_same_arrow_schema(a->dictionary, b->dictionary);
}

int glint_columns_stream(struct glint_columns *const *columns, uint64_t count,
                         struct ArrowArrayStream *out, struct glint_error *error)
{
    assert(count > 0);
    for (uint64_t i = 1; i < count; i++)
        if (!is_same_arrow_schema(&columns[0]->schema, &columns[i]->schema))
            return set_columns_invalid_error(error,
                                             "batches have columns of different names or types");
    struct columns_stream *s = mem_alloc(sizeof *s + count * sizeof(void *));
    if (s == NULL) {
        set_columns_memory_error(error);
        return GLINT_E_NO_MEMORY;
    }
    *s = (struct columns_stream){.count = count};
    for (uint64_t i = 0; i < count; i++) {
        s->columns[i] = columns[i];
        atomic_fetch_add(&columns[i]->shares, 1);
    }
    *out = (struct ArrowArrayStream){.get_schema = columns_stream_get_schema,
                                     .get_next = columns_stream_get_next,
                                     .get_last_error = columns_stream_get_last_error,
                                     .release = release_columns_stream,
                                     .private_data = s};
    return 0;
}
