/* See columns_block.h. The type decides which buffers an array has, so a block is read in two
 * steps: what it says of its arrays, then whether that fits their types. */
#include "engine/input/columns_block.h"

#include "engine/base/endian.h"
#include "engine/limits.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define MAGIC          0x314b4c42u /* "BLK1" */
#define HEAD_BYTES     24u
#define NODE_BYTES     40u
#define ALIGN          64u
#define NO_BUFFER      UINT64_MAX
#define BUFFERS_MAX    3
#define FLAGS          7u /* of ArrowSchema: ordered dictionary, nullable, sorted keys of a map */
#define HAS_DICTIONARY 0x10000u

static const char no_memory[] = "out of memory";

static uint64_t align_to(uint64_t size, uint64_t align)
{
    return (size + align - 1) / align * align;
}

/* ---- Writing */

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

static void *scratch(struct block_writer *w, uint64_t size)
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

static bool may_have_nulls(const struct ArrowArray *a)
{
    return a->null_count != 0 && a->n_buffers > 0 && a->buffers[0] != NULL;
}

/* The number of buffers follows from the type. */
static void put_node(struct block_writer *w, const struct ArrowSchema *s,
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
    const bool nulls = may_have_nulls(a) || a->n_buffers == 0;
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
static void put_buffer(struct block_writer *w, const void *data, uint64_t size)
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

static void put_validity(struct block_writer *w, const struct ArrowArray *a,
                         const struct row_range *r)
{
    const uint8_t *bits = may_have_nulls(a) ? a->buffers[0] : NULL;
    put_buffer(w, bits != NULL ? bits + r->skip / 8 : NULL,
               (uint64_t)(r->first + r->count + 7) / 8);
}

/* Offsets that begin at 0. Sets which values they refer to. */
static void put_offsets(struct block_writer *w, const struct arrow_field *f,
                        const struct ArrowArray *a, const struct row_range *r, int64_t *out_from,
                        int64_t *out_end)
{
    const bool large = arrow_has_large_offsets(f->type);
    const uint64_t size = (uint64_t)(r->first + r->count + 1) * (large ? 8 : 4);
    uint8_t *offsets = scratch(w, size);
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
    put_buffer(w, offsets, size);
}

/* Views as offsets and values. */
static void put_views(struct block_writer *w, const struct arrow_field *f,
                      const struct ArrowArray *a, const struct row_range *r)
{
    int32_t *offsets = scratch(w, (uint64_t)(r->first + r->count + 1) * sizeof *offsets);
    const int64_t begin = r->skip + r->first - a->offset;
    uint64_t size = 0;
    assert(begin >= 0 && begin + r->count <= a->length);
    if (offsets == NULL) return;
    for (int64_t i = 0; i < r->count; i++)
        if (!arrow_is_null(f, a, begin + i)) size += arrow_bytes(f, a, begin + i).size;
    uint8_t *values = size <= INT32_MAX ? scratch(w, size) : NULL;
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
    put_buffer(w, offsets, (uint64_t)(r->first + r->count + 1) * sizeof *offsets);
    put_buffer(w, values, size);
}

/* The rows of a part that belong to those of the whole. */
struct part_rows {
    int64_t first, count;
};

static void put_array(struct block_writer *w, const struct ArrowSchema *s,
                      const struct arrow_field *f, const struct ArrowArray *a, int64_t first,
                      int64_t count);

/* Writes the buffers of an array but the first; returns the rows of its parts. */
static struct part_rows put_values(struct block_writer *w, const struct arrow_field *f,
                                   const struct ArrowArray *a, const struct row_range *r)
{
    struct part_rows rows = {r->skip, r->first + r->count};
    int64_t from, end;
    const uint64_t bits = arrow_value_bits(f);
    if (f->type == ARROW_UTF8_VIEW || f->type == ARROW_BINARY_VIEW) {
        put_views(w, f, a, r);
    } else if (arrow_has_offsets(f->type)) {
        put_offsets(w, f, a, r, &from, &end);
        rows = (struct part_rows){from, end - from};
        if (arrow_buffer_count(f->type) != BUFFERS_MAX) return rows;
        const uint8_t *values = a->buffers[2];
        static const uint8_t none[1];
        put_buffer(w, values != NULL ? values + from : none, (uint64_t)(end - from));
    } else if (f->type == ARROW_FIXED_LIST) {
        rows.first *= f->width;
        rows.count *= f->width;
    } else if (arrow_buffer_count(f->type) == 2) {
        const uint8_t *values = a->buffers[1];
        put_buffer(w, values != NULL ? values + (uint64_t)r->skip * bits / 8 : NULL,
                   ((uint64_t)(r->first + r->count) * bits + 7) / 8);
    }
    return rows;
}

/* Writes `count` rows from `first` on, counted from the beginning of the buffers. */
static void put_array(struct block_writer *w, const struct ArrowSchema *s,
                      const struct arrow_field *f, const struct ArrowArray *a, int64_t first,
                      int64_t count)
{
    assert(first >= a->offset && first + count <= a->offset + a->length);
    const bool runs = f->type == ARROW_RUN_END;
    struct row_range r = {runs ? 0 : first / 8 * 8, runs ? first : first % 8, count};
    /* Programs take a struct as a table only without an offset. */
    if (f->type == ARROW_STRUCT && !may_have_nulls(a)) r = (struct row_range){first, 0, count};
    if (w->problem == NULL) put_node(w, s, f, a, &r);
    if (w->problem == NULL && a->n_buffers > 0) put_validity(w, a, &r);
    struct part_rows rows = {0, 0};
    if (w->problem == NULL) rows = put_values(w, f, a, &r);
    for (uint32_t i = 0; w->problem == NULL && i < f->child_count; i++) {
        const struct ArrowArray *part = a->children[i];
        if (runs)
            put_array(w, s->children[i], &f->children[i], part, part->offset, part->length);
        else
            put_array(w, s->children[i], &f->children[i], part, part->offset + rows.first,
                      rows.count);
    }
    if (w->problem == NULL && f->dictionary != NULL)
        put_array(w, s->dictionary, f->dictionary, a->dictionary, a->dictionary->offset,
                  a->dictionary->length);
}

/* Copies all into one piece of memory. */
static const char *join_parts(struct block_writer *w, struct buffer *out)
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
    put_array(&w, schema, field, array, array->offset + first, count);
    if (w.problem == NULL) w.problem = join_parts(&w, out);
    buffer_fini(&w.nodes);
    mem_free(w.parts);
    arena_fini(&w.arena);
    return w.problem;
}

/* ---- Reading */

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
static const char *read_buffers(struct block_reader *r, struct ArrowArray *a)
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
static const char *read_text(struct block_reader *r, uint64_t size, struct ArrowSchema *s)
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

static const char *read_node(struct block_reader *r, unsigned depth, struct ArrowSchema *s,
                             struct ArrowArray *a);

/* Reads the parts of an array, and its dictionary. */
static const char *read_parts(struct block_reader *r, unsigned depth, bool dictionary,
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
        problem = read_node(r, depth + 1, &schemas[i], &arrays[i]);
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

static const char *read_node(struct block_reader *r, unsigned depth, struct ArrowSchema *s,
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
    const char *problem = read_text(r, get_le32(node), s);
    if (problem == NULL) problem = read_buffers(r, a);
    return problem != NULL ? problem : read_parts(r, depth, (kinds & HAS_DICTIONARY) != 0, s, a);
}

/* ---- Checks that need the type */

static const char small[] = "a buffer is too small for its array";

/* Whether a buffer has so many values of so many bits; of no rows it may be missing. */
static bool has_values(const struct block_buffers *b, int i, uint64_t rows, uint64_t bits)
{
    assert(i < BUFFERS_MAX && rows <= INT64_MAX / 64);
    const unsigned __int128 need = ((unsigned __int128)rows * bits + 7) / 8;
    return b->data[i] == NULL || need <= b->sizes[i];
}

/* The sizes of buffers that arrow_array_check reads. */
static const char *check_sizes(const struct arrow_field *f, const struct ArrowArray *a)
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
    if (a->n_buffers > 0 && !has_values(b, 0, rows, 1)) return small;
    if (offsets && !has_values(b, 1, rows + 1, arrow_has_large_offsets(f->type) ? 64 : 32))
        return small;
    if (!offsets && a->n_buffers == 2 && !has_values(b, 1, rows, bits)) return small;
    const char *problem = NULL;
    for (uint32_t i = 0; problem == NULL && i < f->child_count; i++)
        problem = check_sizes(&f->children[i], a->children[i]);
    return problem == NULL && f->dictionary != NULL ? check_sizes(f->dictionary, a->dictionary)
                                                    : problem;
}

/* The sizes of values, which offsets tell. */
static const char *check_ends(const struct arrow_field *f, struct ArrowArray *a)
{
    const struct block_buffers *b = a->private_data;
    assert(a->n_children == f->child_count);
    if (a->n_buffers == BUFFERS_MAX && a->buffers[1] != NULL &&
        (uint64_t)arrow_offset(f->type, a->buffers[1], a->offset + a->length) > b->sizes[2])
        return small;
    a->private_data = NULL;
    const char *problem = NULL;
    for (uint32_t i = 0; problem == NULL && i < f->child_count; i++)
        problem = check_ends(&f->children[i], a->children[i]);
    return problem == NULL && f->dictionary != NULL ? check_ends(f->dictionary, a->dictionary)
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
    const char *problem = read_node(&r, 0, schema, array);
    if (problem == NULL) problem = arrow_field_read(schema, arena, field);
    if (problem == NULL && field->type != ARROW_STRUCT)
        problem = "a block of columns has no struct";
    if (problem == NULL) problem = check_sizes(field, array);
    if (problem == NULL) problem = arrow_array_check(field, array);
    return problem == NULL ? check_ends(field, array) : problem;
}
