/* Arrays of Arrow's C data interface with arbitrary lengths, offsets, indexes and values, in
 * buffers of exactly the sizes that the interface promises: an array that passes the check is read
 * within its buffers, and a value that can be built again has the same text. */
#include "engine/input/arrow_builder.h"
#include "engine/input/arrow_type.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_MAX = 512, ROWS_MAX = 12, DEPTH_MAX = 3, BLOCKS_MAX = 512 };

/* The input, and what is freed at the end. */
static const uint8_t *input;
static size_t left, blocks_used;
static void *blocks[BLOCKS_MAX];

static uint8_t take(void)
{
    if (left == 0) return 0;
    left--;
    return *input++;
}

static void *block(size_t size)
{
    if (blocks_used == BLOCKS_MAX) return NULL;
    void *b = calloc(1, size > 0 ? size : 1);
    if (b == NULL) abort();
    blocks[blocks_used++] = b;
    return b;
}

static uint8_t *random_block(size_t size)
{
    uint8_t *b = block(size);
    for (size_t i = 0; b != NULL && i < size; i++) b[i] = take();
    return b;
}

static const char *const formats[] = {
    "n",          "b",       "c",          "C",   "s",   "S",    "i",       "I",   "l",
    "L",          "e",       "f",          "g",   "u",   "z",    "U",       "vu",  "vz",
    "w:3",        "tdD",     "tdm",        "tts", "ttn", "tsu:", "tsn:UTC", "tDm", "d:9,2,32",
    "d:18,-3,64", "d:38,10", "d:76,5,256", "+l",  "+L",  "+w:2", "+s",      "+m",  "+r"};
enum { FORMATS = sizeof formats / sizeof formats[0], NESTED = 6 };

/* Bytes of a value of a fixed size; 0: another layout. */
static size_t width_of(const struct arrow_field *f)
{
    switch (f->type) {
    case ARROW_I8:
    case ARROW_U8: return 1;
    case ARROW_I16:
    case ARROW_U16:
    case ARROW_F16: return 2;
    case ARROW_I32:
    case ARROW_U32:
    case ARROW_F32:
    case ARROW_DATE32:
    case ARROW_TIME32: return 4;
    case ARROW_DECIMAL:
    case ARROW_FIXED_BINARY: return f->width;
    default: return f->type >= ARROW_I64 && f->type < ARROW_UTF8 ? 8 : 0;
    }
}

static struct ArrowSchema *make_schema(unsigned depth)
{
    struct ArrowSchema *s = block(sizeof *s);
    if (s == NULL) return NULL;
    const unsigned choice = take() % (depth < DEPTH_MAX ? FORMATS : FORMATS - NESTED);
    s->format = formats[choice];
    s->name = "c";
    if (s->format[0] != '+') {
        if (strchr("cCsSiIlL", s->format[0]) != NULL && s->format[1] == '\0' && take() % 4 == 0)
            s->dictionary = make_schema(DEPTH_MAX);
        return s;
    }
    s->n_children = s->format[1] == 's' ? take() % 3 : s->format[1] == 'r' ? 2 : 1;
    s->children = block(3 * sizeof *s->children);
    for (int64_t i = 0; s->children != NULL && i < s->n_children; i++)
        s->children[i] = make_schema(depth + 1);
    return s;
}

/* Offsets up to BYTES_MAX, mostly rising; the values have as many bytes as the last one says. */
static void put_offsets(void *offsets, bool large, int64_t count, int64_t *out_end)
{
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t step = take();
        at = step > 250 ? (int64_t)step - 255 : at + step % 8;
        if (at > BYTES_MAX) at = BYTES_MAX;
        if (large)
            ((int64_t *)offsets)[i] = at;
        else
            ((int32_t *)offsets)[i] = (int32_t)at;
    }
    *out_end = at > 0 ? at : 0;
}

static struct ArrowArray *make_array(const struct arrow_field *f, int64_t least)
{
    struct ArrowArray *a = block(sizeof *a);
    const void **buffers = block(4 * sizeof *buffers);
    if (a == NULL || buffers == NULL) return NULL;
    a->offset = take() % 4;
    a->length = least > 0 ? least - take() % 2 : take() % ROWS_MAX;
    const int64_t rows = a->offset + a->length;
    a->buffers = buffers;
    a->n_children = f->child_count;
    int64_t child_rows = rows;
    if (f->type != ARROW_NULL && f->type != ARROW_RUN_END) {
        a->n_buffers = 1;
        if (take() % 2 == 0) buffers[0] = random_block((size_t)(rows + 7) / 8);
        a->null_count = -1;
    }
    if (width_of(f) > 0 || f->type == ARROW_BOOL) {
        a->n_buffers = 2;
        buffers[1] = random_block(f->type == ARROW_BOOL ? (size_t)(rows + 7) / 8
                                                        : (size_t)rows * width_of(f));
    } else if (f->type == ARROW_UTF8_VIEW || f->type == ARROW_BINARY_VIEW) {
        int64_t *sizes = block(sizeof *sizes);
        a->n_buffers = 4;
        buffers[1] = random_block((size_t)rows * 16);
        buffers[2] = random_block(32);
        if (sizes != NULL) *sizes = 32;
        buffers[3] = sizes;
    } else if (f->type >= ARROW_UTF8 && f->type != ARROW_FIXED_LIST && f->type != ARROW_STRUCT &&
               f->type != ARROW_RUN_END) {
        const bool large = f->type == ARROW_LARGE_UTF8 || f->type == ARROW_LARGE_BINARY ||
                           f->type == ARROW_LARGE_LIST;
        void *offsets = block((size_t)(rows + 1) * (large ? 8 : 4));
        int64_t end = 0;
        if (offsets == NULL) return NULL;
        put_offsets(offsets, large, rows + 1, &end);
        a->n_buffers = f->child_count > 0 ? 2 : 3;
        buffers[1] = offsets;
        if (f->child_count == 0) buffers[2] = random_block(BYTES_MAX);
        child_rows = end % ROWS_MAX;
    } else if (f->type == ARROW_FIXED_LIST) {
        child_rows = rows * f->width;
    }
    if (f->child_count > 0) a->children = block(f->child_count * sizeof *a->children);
    for (uint32_t i = 0; a->children != NULL && i < f->child_count; i++)
        if ((a->children[i] = make_array(&f->children[i], child_rows)) == NULL) return NULL;
    if (f->dictionary != NULL && (a->dictionary = make_array(f->dictionary, 0)) == NULL)
        return NULL;
    return f->child_count > 0 && a->children == NULL ? NULL : a;
}

/* A value that is built of its text has that text. */
static void build_again(const struct arrow_field *f, struct glint_slice text)
{
    struct arrow_builder b;
    struct ArrowArray built = {.release = NULL};
    struct buffer again = {NULL, 0, 0};
    bool no_memory;
    if (!arrow_builder_init(&b, f)) abort();
    const char *problem = arrow_builder_append(&b, text, &no_memory);
    /* Years of more than nine digits, decimals of more digits than their type, times outside a day,
     * also in nested values; null keys of maps, and texts that are not UTF-8. */
    const bool may_fail =
        (f->type >= ARROW_F16 && f->type <= ARROW_TIMESTAMP) || arrow_has_utf8(f->type) ||
        f->child_count > 0;
    if (problem != NULL && !may_fail) abort();
    if (problem == NULL) {
        if (!arrow_builders_finish(&b, 1, 1, &built)) abort();
        if (arrow_array_check(f, built.children[0]) != NULL) abort();
        if (!arrow_append_text(f, built.children[0], 0, &again)) abort();
        if (again.size != text.size ||
            (text.size > 0 && memcmp(again.data, text.data, text.size) != 0))
            abort();
        built.release(&built);
    }
    arrow_builder_fini(&b);
    buffer_fini(&again);
}

/* The type of a column, as it is saved, is that of a column that can be built of its values. */
static const struct arrow_field *saved_type(const struct arrow_field *f, struct arena *arena)
{
    struct buffer type = {NULL, 0, 0};
    struct ArrowSchema schema;
    struct arrow_field *out = arena_alloc(arena, sizeof *out);
    if (out == NULL || !arrow_type_append(f, &type) || !buffer_append(&type, "", 1)) abort();
    const char *problem = arrow_type_read("c", (const char *)type.data, NULL, arena, &schema);
    if (problem == NULL) problem = arrow_field_read(&schema, arena, out);
    /* One that cannot be saved with its parts is only a format. */
    const bool parts = memchr(type.data, '(', type.size) != NULL;
    if (parts && (problem != NULL || !arrow_can_build(out))) abort();
    buffer_fini(&type);
    return problem == NULL && f->type >= ARROW_LIST ? out : f;
}

static void read_values(const struct arrow_field *f, const struct arrow_field *saved,
                        const struct ArrowArray *a)
{
    struct buffer text = {NULL, 0, 0};
    static const uint8_t empty;
    for (int64_t row = 0; row < a->length; row++) {
        if (arrow_is_null(f, a, row)) continue;
        text.size = 0;
        if (!arrow_append_text(f, a, row, &text)) abort();
        const struct glint_slice slice = {text.size > 0 ? text.data : &empty, text.size};
        if (arrow_can_build(saved)) build_again(saved, slice);
    }
    buffer_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {NULL, NULL, 0};
    struct arrow_field field;
    input = data;
    left = size;
    const struct ArrowSchema *schema = make_schema(0);
    if (schema != NULL && arrow_field_read(schema, &arena, &field) == NULL) {
        const struct ArrowArray *array = make_array(&field, 0);
        if (array != NULL && arrow_array_check(&field, array) == NULL)
            read_values(&field, saved_type(&field, &arena), array);
    }
    while (blocks_used > 0) free(blocks[--blocks_used]);
    arena_fini(&arena);
    return 0;
}
