/* See arrow.h. The formats of types are those of the specification of the C data interface. */
#include "engine/input/arrow.h"

#include "engine/base/json.h"
#include "engine/base/text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Schemas */

static bool parse_arrow_format_number(const char **at, int32_t min, int32_t max, int32_t *out)
{
    char *end;
    if ((**at < '0' || **at > '9') && **at != '-') return false;
    const long value = strtol(*at, &end, 10); /* LONG_MAX if it is too large */
    if (value < min || value > max) return false;
    *out = (int32_t)value;
    *at = end;
    return true;
}

static bool parse_arrow_time_unit(char letter, enum arrow_unit *out)
{
    static const char letters[] = "smun";
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    if (found != NULL) *out = (enum arrow_unit)(3 * (found - letters));
    return found != NULL;
}

/* The formats without parameters. */
static bool parse_plain_arrow_format(const char *format, struct arrow_field *out)
{
    static const struct {
        const char *format;
        enum arrow_type type;
    } types[] = {{"n", ARROW_NULL},         {"b", ARROW_BOOL},         {"c", ARROW_I8},
                 {"C", ARROW_U8},           {"s", ARROW_I16},          {"S", ARROW_U16},
                 {"i", ARROW_I32},          {"I", ARROW_U32},          {"l", ARROW_I64},
                 {"L", ARROW_U64},          {"e", ARROW_F16},          {"f", ARROW_F32},
                 {"g", ARROW_F64},          {"u", ARROW_UTF8},         {"z", ARROW_BINARY},
                 {"U", ARROW_LARGE_UTF8},   {"Z", ARROW_LARGE_BINARY}, {"vu", ARROW_UTF8_VIEW},
                 {"vz", ARROW_BINARY_VIEW}, {"tdD", ARROW_DATE32},     {"tdm", ARROW_DATE64},
                 {"+l", ARROW_LIST},        {"+L", ARROW_LARGE_LIST},  {"+s", ARROW_STRUCT},
                 {"+m", ARROW_MAP},         {"+r", ARROW_RUN_END}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].format, format) != 0) continue;
        out->type = types[i].type;
        return true;
    }
    return false;
}

/* ttm, tsu:zone, tDn */
static bool parse_arrow_time_format(const char *format, struct arrow_field *out)
{
    const char kind = format[1], unit = kind != '\0' ? format[2] : '\0';
    if (!parse_arrow_time_unit(unit, &out->unit)) return false;
    if (kind == 's' && format[3] == ':') {
        out->type = ARROW_TIMESTAMP;
        out->zoned = format[4] != '\0';
        return true;
    }
    if (format[3] != '\0') return false;
    out->type = kind == 'D'                 ? ARROW_DURATION
                : out->unit <= ARROW_MILLIS ? ARROW_TIME32
                                            : ARROW_TIME64;
    return kind == 'D' || kind == 't';
}

/* d:precision,scale or d:precision,scale,bits */
static bool parse_arrow_decimal_format(const char *format, struct arrow_field *out)
{
    const char *at = format + 2;
    int32_t precision, bits = 128;
    if (format[1] != ':' || !parse_arrow_format_number(&at, 1, 76, &precision) || *at++ != ',' ||
        !parse_arrow_format_number(&at, -76, 76, &out->scale))
        return false;
    if (*at == ',' && (at++, !parse_arrow_format_number(&at, 32, 256, &bits))) return false;
    out->type = ARROW_DECIMAL;
    out->width = (uint32_t)bits / 8;
    return *at == '\0' && (bits == 32 || bits == 64 || bits == 128 || bits == 256);
}

static bool parse_arrow_format(const char *format, struct arrow_field *out)
{
    int32_t width;
    if (parse_plain_arrow_format(format, out)) return true;
    if (format[0] == 't') return parse_arrow_time_format(format, out);
    if (format[0] == 'd') return parse_arrow_decimal_format(format, out);
    const bool list = strncmp(format, "+w:", 3) == 0;
    const char *at = format + 2 + list;
    if ((!list && strncmp(format, "w:", 2) != 0) ||
        !parse_arrow_format_number(&at, 0, INT32_MAX, &width))
        return false;
    out->type = list ? ARROW_FIXED_LIST : ARROW_FIXED_BINARY;
    out->width = (uint32_t)width;
    return *at == '\0';
}

/* The number of children that the type has; -1: any. */
static int64_t arrow_child_count(enum arrow_type type)
{
    switch (type) {
    case ARROW_STRUCT: return -1;
    case ARROW_RUN_END: return 2;
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_FIXED_LIST:
    case ARROW_MAP: return 1;
    default: return 0;
    }
}

static bool is_dictionary_index_type(enum arrow_type type)
{
    return type >= ARROW_I8 && type <= ARROW_U64;
}

#define OUT_OF_MEMORY "out of memory"

static const char *read_arrow_schema_field(const struct ArrowSchema *s, struct arena *arena,
                                           unsigned depth, struct arrow_field *out);

static const char *read_arrow_child_fields(const struct ArrowSchema *s, struct arena *arena,
                                           unsigned depth, struct arrow_field *out)
{
    const int64_t want = arrow_child_count(out->type);
    if (s->n_children < 0 || s->n_children > ARROW_FIELDS_MAX ||
        (want >= 0 && s->n_children != want))
        return "a type has another number of parts than it must have";
    struct arrow_field *children =
        arena_alloc(arena, ((uint64_t)s->n_children + 1) * sizeof *children);
    if (children == NULL) return OUT_OF_MEMORY;
    out->children = children;
    out->child_count = (uint32_t)s->n_children;
    for (uint32_t i = 0; i < out->child_count; i++) {
        const char *problem =
            s->children[i] == NULL
                ? "a part of a type is missing"
                : read_arrow_schema_field(s->children[i], arena, depth + 1, &children[i]);
        if (problem != NULL) return problem;
    }
    if (out->type == ARROW_MAP &&
        (children[0].type != ARROW_STRUCT || children[0].child_count != 2))
        return "a map is no list of pairs";
    if (out->type == ARROW_RUN_END &&
        ((children[0].type != ARROW_I16 && children[0].type != ARROW_I32 &&
          children[0].type != ARROW_I64) ||
         children[0].dictionary != NULL))
        return "the ends of runs are no integers";
    return NULL;
}

/* Returns NULL when out of memory. */
static const char *format_unreadable_arrow_type(const char *format, const char *name,
                                                struct arena *arena)
{
    const char *what = strncmp(format, "+u", 2) == 0   ? "values of several types, a union"
                       : strncmp(format, "ti", 2) == 0 ? "intervals"
                                                       : NULL;
    if (what != NULL) return arena_format(arena, "column \"%s\" has %s", name, what);
    return arena_format(arena, "column \"%s\" has the type %s of Arrow, which cannot be read", name,
                        format);
}

static const char *read_arrow_schema_field(const struct ArrowSchema *s, struct arena *arena,
                                           unsigned depth, struct arrow_field *out)
{
    if (s->format == NULL) return "a type has no format";
    *out = (struct arrow_field){
        .name = arena_strdup(arena, s->name != NULL ? s->name : ""),
        .format = arena_strdup(arena, s->dictionary != NULL && s->dictionary->format != NULL
                                          ? s->dictionary->format
                                          : s->format)};
    if (out->name == NULL || out->format == NULL) return OUT_OF_MEMORY;
    if (depth > ARROW_DEPTH_MAX) return "types are nested too deeply";
    if (!parse_arrow_format(s->format, out)) {
        const char *problem = format_unreadable_arrow_type(s->format, out->name, arena);
        return problem != NULL ? problem : OUT_OF_MEMORY;
    }
    const char *problem = read_arrow_child_fields(s, arena, depth, out);
    if (problem != NULL || s->dictionary == NULL) return problem;
    if (!is_dictionary_index_type(out->type)) return "the indexes of a dictionary are no integers";
    struct arrow_field *values = arena_alloc(arena, sizeof *values);
    if (values == NULL) return OUT_OF_MEMORY;
    out->dictionary = values;
    return read_arrow_schema_field(s->dictionary, arena, depth + 1, values);
}

const char *arrow_field_read(const struct ArrowSchema *schema, struct arena *arena,
                             struct arrow_field *out)
{
    return read_arrow_schema_field(schema, arena, 0, out);
}

static const char *read_arrow_column_field(const struct ArrowSchema *s, struct arena *arena,
                                           struct arrow_field *out)
{
    const char *problem =
        s == NULL ? "a part of a type is missing" : read_arrow_schema_field(s, arena, 1, out);
    if (problem == NULL || strcmp(problem, OUT_OF_MEMORY) == 0) return problem;
    const char *name = arena_strdup(arena, s != NULL && s->name != NULL ? s->name : "");
    *out =
        (struct arrow_field){.name = name, .format = "n", .type = ARROW_NULL, .problem = problem};
    return name != NULL ? NULL : OUT_OF_MEMORY;
}

const char *arrow_table_read(const struct ArrowSchema *schema, struct arena *arena,
                             struct arrow_field *out)
{
    const int64_t n = schema->n_children;
    if (schema->format == NULL || strcmp(schema->format, "+s") != 0 || schema->dictionary != NULL ||
        n < 0 || n > ARROW_FIELDS_MAX)
        return "it is no table";
    struct arrow_field *children = arena_alloc(arena, ((uint64_t)n + 1) * sizeof *children);
    if (children == NULL) return OUT_OF_MEMORY;
    *out = (struct arrow_field){.name = "",
                                .format = "+s",
                                .type = ARROW_STRUCT,
                                .children = children,
                                .child_count = (uint32_t)n};
    for (uint32_t i = 0; i < out->child_count; i++) {
        const char *problem = read_arrow_column_field(schema->children[i], arena, &children[i]);
        if (problem != NULL) return problem;
    }
    return NULL;
}

/* ---- Checks */

#define VIEW_BYTES  16
#define VIEW_INLINE 12

bool arrow_has_offsets(enum arrow_type type)
{
    return arrow_has_byte_offsets(type) || type == ARROW_LIST || type == ARROW_LARGE_LIST ||
           type == ARROW_MAP;
}

int64_t arrow_offset(enum arrow_type type, const void *offsets, int64_t i)
{
    assert(arrow_has_offsets(type));
    return arrow_has_large_offsets(type) ? ((const int64_t *)offsets)[i]
                                         : ((const int32_t *)offsets)[i];
}

static uint32_t load_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

int64_t arrow_buffer_count(enum arrow_type type)
{
    if (type == ARROW_NULL || type == ARROW_RUN_END) return 0;
    if (type == ARROW_STRUCT || type == ARROW_FIXED_LIST) return 1;
    if (type == ARROW_UTF8_VIEW || type == ARROW_BINARY_VIEW) return 3;
    return arrow_has_byte_offsets(type) ? 3 : 2;
}

uint64_t arrow_value_bits(const struct arrow_field *f)
{
    switch (f->type) {
    case ARROW_BOOL: return 1;
    case ARROW_I8:
    case ARROW_U8: return 8;
    case ARROW_I16:
    case ARROW_U16:
    case ARROW_F16: return 16;
    case ARROW_I32:
    case ARROW_U32:
    case ARROW_F32:
    case ARROW_DATE32:
    case ARROW_TIME32: return 32;
    case ARROW_I64:
    case ARROW_U64:
    case ARROW_F64:
    case ARROW_DATE64:
    case ARROW_TIME64:
    case ARROW_TIMESTAMP:
    case ARROW_DURATION: return 64;
    case ARROW_FIXED_BINARY:
    case ARROW_DECIMAL: return UINT64_C(8) * f->width;
    default: return 0;
    }
}

const struct arrow_field *arrow_value_field(const struct arrow_field *f)
{
    while (f->dictionary != NULL || f->type == ARROW_RUN_END)
        f = f->dictionary != NULL ? f->dictionary : &f->children[1];
    return f;
}

/* Checks that the offsets rise, from 0 on. `*out_end` is the last one. */
static const char *check_arrow_offsets(const struct arrow_field *f, const struct ArrowArray *a,
                                       int64_t *out_end)
{
    const void *offsets = a->buffers[1];
    *out_end = 0;
    if (offsets == NULL) return a->length == 0 ? NULL : "an array has no offsets";
    int64_t before = arrow_offset(f->type, offsets, a->offset);
    if (before < 0) return "an offset is below 0";
    bool falls = false;
    for (int64_t i = a->offset + 1; i <= a->offset + a->length; i++) {
        const int64_t offset = arrow_offset(f->type, offsets, i);
        falls |= offset < before;
        before = offset;
    }
    *out_end = before;
    return falls ? "offsets of an array fall" : NULL;
}

/* The last buffer has the sizes of those of long values. */
static const char *check_arrow_views(const struct ArrowArray *a)
{
    assert(a->n_buffers >= 3);
    const int64_t count = a->n_buffers - 3;
    const int64_t *sizes = a->buffers[a->n_buffers - 1];
    if (a->length > 0 && a->buffers[1] == NULL) return "an array has no views";
    if (count > 0 && sizes == NULL) return "an array of views has no sizes of its buffers";
    for (int64_t i = a->offset; i < a->offset + a->length; i++) {
        const uint8_t *view = (const uint8_t *)a->buffers[1] + i * VIEW_BYTES;
        const uint32_t size = load_u32(view);
        if (size > INT32_MAX) return "a view has a size below 0";
        if (size <= VIEW_INLINE) continue;
        const uint32_t buffer = load_u32(view + 8), offset = load_u32(view + 12);
        if (buffer >= count || sizes[buffer] < 0 || a->buffers[2 + buffer] == NULL ||
            (int64_t)offset + size > sizes[buffer])
            return "a view is outside of its buffer";
    }
    return NULL;
}

static int64_t load_arrow_integer(enum arrow_type type, const void *data, int64_t i)
{
    switch (type) {
    case ARROW_I8: return ((const int8_t *)data)[i];
    case ARROW_U8: return ((const uint8_t *)data)[i];
    case ARROW_I16: return ((const int16_t *)data)[i];
    case ARROW_U16: return ((const uint16_t *)data)[i];
    case ARROW_I32: return ((const int32_t *)data)[i];
    case ARROW_U32: return ((const uint32_t *)data)[i];
    default: return ((const int64_t *)data)[i]; /* U64, as an index: negative if it is too large */
    }
}

static bool is_arrow_row_not_null(const struct ArrowArray *a, int64_t row)
{
    assert(row >= 0 && row < a->length);
    const uint8_t *bits = a->n_buffers > 0 ? a->buffers[0] : NULL;
    const int64_t at = a->offset + row;
    return bits == NULL || (bits[at / 8] >> at % 8 & 1) != 0;
}

static const char *check_arrow_dictionary(const struct arrow_field *f, const struct ArrowArray *a)
{
    assert(f->dictionary != NULL && is_dictionary_index_type(f->type));
    if (a->dictionary == NULL) return "an array has no dictionary";
    const char *problem = arrow_array_check(f->dictionary, a->dictionary);
    if (problem != NULL) return problem;
    const int64_t size = a->dictionary->length;
    for (int64_t i = 0; i < a->length; i++) {
        const int64_t index = load_arrow_integer(f->type, a->buffers[1], a->offset + i);
        if ((index < 0 || index >= size) && is_arrow_row_not_null(a, i))
            return "an index is outside of its dictionary";
    }
    return NULL;
}

/* Ends of runs rise, and cover the rows. */
static const char *check_arrow_runs(const struct arrow_field *f, const struct ArrowArray *a)
{
    assert(f->type == ARROW_RUN_END && a->n_children == 2);
    const struct ArrowArray *ends = a->children[0], *values = a->children[1];
    if (ends->null_count != 0 && ends->n_buffers > 0 && ends->buffers[0] != NULL)
        return "an end of a run is null";
    if (ends->length > values->length) return "runs have fewer values than ends";
    int64_t before = 0;
    for (int64_t i = 0; i < ends->length; i++) {
        const int64_t end =
            load_arrow_integer(f->children[0].type, ends->buffers[1], ends->offset + i);
        if (end <= before) return "ends of runs do not rise";
        before = end;
    }
    return before >= a->offset + a->length ? NULL : "runs end before the array does";
}

/* How many values a child must have. */
static const char *check_arrow_child_lengths(const struct arrow_field *f,
                                             const struct ArrowArray *a, int64_t end)
{
    if (f->type == ARROW_RUN_END) return check_arrow_runs(f, a);
    int64_t least = end;
    if (f->type == ARROW_STRUCT) least = a->offset + a->length;
    if (f->type == ARROW_FIXED_LIST &&
        __builtin_mul_overflow(a->offset + a->length, (int64_t)f->width, &least))
        return "an array is too long";
    for (uint32_t i = 0; i < f->child_count; i++)
        if (a->children[i]->length < least) return "a part of an array is too short";
    return NULL;
}

static const char *check_arrow_children(const struct arrow_field *f, const struct ArrowArray *a)
{
    if (a->n_children != f->child_count)
        return "an array has another number of parts than its type";
    for (uint32_t i = 0; i < f->child_count; i++) {
        const char *problem = a->children[i] == NULL
                                  ? "a part of an array is missing"
                                  : arrow_array_check(&f->children[i], a->children[i]);
        if (problem != NULL) return problem;
    }
    return NULL;
}

const char *arrow_array_check(const struct arrow_field *f, const struct ArrowArray *a)
{
    const bool views = f->type == ARROW_UTF8_VIEW || f->type == ARROW_BINARY_VIEW;
    const int64_t spare = f->type == ARROW_NULL; /* Polars gives nulls a bitmap */
    int64_t end = 0;
    if (a->length < 0 || a->offset < 0 || a->length > INT64_MAX / 64 - a->offset)
        return "an array has an impossible length";
    if (a->n_buffers < arrow_buffer_count(f->type) ||
        (!views && a->n_buffers > arrow_buffer_count(f->type) + spare))
        return "an array has another number of buffers than its type";
    if (a->n_buffers > 0 && a->buffers == NULL) return "an array has no buffers";
    const char *problem = NULL;
    if (views)
        problem = check_arrow_views(a);
    else if (arrow_has_offsets(f->type))
        problem = check_arrow_offsets(f, a, &end);
    else if (a->length > 0 && arrow_buffer_count(f->type) == 2 && a->buffers[1] == NULL)
        problem = "an array has no values";
    if (problem == NULL && end > 0 && arrow_buffer_count(f->type) == 3 && !views &&
        a->buffers[2] == NULL)
        problem = "an array has no values";
    if (problem == NULL) problem = check_arrow_children(f, a);
    if (problem == NULL && f->child_count > 0) problem = check_arrow_child_lengths(f, a, end);
    if (problem == NULL && f->dictionary != NULL) problem = check_arrow_dictionary(f, a);
    return problem;
}

/* ---- Values */

/* The run that the row belongs to. */
static int64_t find_arrow_run_of_row(const struct arrow_field *f, const struct ArrowArray *a,
                                     int64_t row)
{
    assert(f->type == ARROW_RUN_END && row >= 0 && row < a->length);
    const struct ArrowArray *ends = a->children[0];
    int64_t low = 0, high = ends->length - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int64_t end =
            load_arrow_integer(f->children[0].type, ends->buffers[1], ends->offset + middle);
        if (end > a->offset + row)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool arrow_is_null(const struct arrow_field *f, const struct ArrowArray *a, int64_t row)
{
    assert(row >= 0 && row < a->length);
    if (f->type == ARROW_NULL) return true;
    if (f->type == ARROW_RUN_END)
        return arrow_is_null(&f->children[1], a->children[1], find_arrow_run_of_row(f, a, row));
    if (!is_arrow_row_not_null(a, row)) return true;
    if (f->dictionary == NULL) return false;
    return arrow_is_null(f->dictionary, a->dictionary,
                         load_arrow_integer(f->type, a->buffers[1], a->offset + row));
}

/* Follows indexes of dictionaries, and runs, to the value of a row. */
static void resolve_dictionaries_and_runs(const struct arrow_field **f, const struct ArrowArray **a,
                                          int64_t *row)
{
    assert(*row >= 0 && *row < (*a)->length);
    while ((*f)->dictionary != NULL || (*f)->type == ARROW_RUN_END) {
        const bool indexed = (*f)->dictionary != NULL;
        *row = indexed ? load_arrow_integer((*f)->type, (*a)->buffers[1], (*a)->offset + *row)
                       : find_arrow_run_of_row(*f, *a, *row);
        *a = indexed ? (*a)->dictionary : (*a)->children[1];
        *f = indexed ? (*f)->dictionary : &(*f)->children[1];
    }
}

bool arrow_is_bytes(const struct arrow_field *f)
{
    const enum arrow_type type = arrow_value_field(f)->type;
    return type >= ARROW_UTF8 && type <= ARROW_FIXED_BINARY;
}

struct glint_slice arrow_bytes(const struct arrow_field *f, const struct ArrowArray *a, int64_t row)
{
    assert(arrow_is_bytes(f));
    resolve_dictionaries_and_runs(&f, &a, &row);
    const int64_t at = a->offset + row;
    if (f->type == ARROW_FIXED_BINARY)
        return (struct glint_slice){(const uint8_t *)a->buffers[1] + at * f->width, f->width};
    if (f->type == ARROW_UTF8_VIEW || f->type == ARROW_BINARY_VIEW) {
        const uint8_t *view = (const uint8_t *)a->buffers[1] + at * VIEW_BYTES;
        const uint32_t size = load_u32(view);
        if (size <= VIEW_INLINE) return (struct glint_slice){view + 4, size};
        return (struct glint_slice){
            (const uint8_t *)a->buffers[2 + load_u32(view + 8)] + load_u32(view + 12), size};
    }
    const int64_t start = arrow_offset(f->type, a->buffers[1], at);
    const int64_t end = arrow_offset(f->type, a->buffers[1], at + 1);
    /* Without any bytes there may be no buffer. */
    const uint8_t *data = a->buffers[2] != NULL ? a->buffers[2] : (const uint8_t *)"";
    return (struct glint_slice){data + start, (uint64_t)(end - start)};
}

bool arrow_fits_i64(const struct arrow_field *f)
{
    const enum arrow_type type = arrow_value_field(f)->type;
    return type >= ARROW_I8 && type <= ARROW_I64;
}

int64_t arrow_i64(const struct arrow_field *f, const struct ArrowArray *a, int64_t row)
{
    assert(arrow_fits_i64(f));
    resolve_dictionaries_and_runs(&f, &a, &row);
    return load_arrow_integer(f->type, a->buffers[1], a->offset + row);
}

bool arrow_is_float(const struct arrow_field *f)
{
    const enum arrow_type type = arrow_value_field(f)->type;
    return type >= ARROW_F16 && type <= ARROW_F64;
}

uint64_t arrow_cut_zero_sign(const struct arrow_field *field, uint8_t *text, uint64_t size)
{
    static const char zero[] = "-0.0";
    if (size != sizeof zero - 1 || memcmp(text, zero, size) != 0 || !arrow_is_float(field))
        return size;
    memmove(text, text + 1, size - 1);
    return size - 1;
}

static double double_of_half(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    double value = exponent == 31  ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024, exponent - 25);
    return (half & 0x8000) != 0 ? -value : value;
}

double arrow_f64(const struct arrow_field *f, const struct ArrowArray *a, int64_t row)
{
    assert(arrow_is_float(f));
    resolve_dictionaries_and_runs(&f, &a, &row);
    const int64_t at = a->offset + row;
    if (f->type == ARROW_F64) return ((const double *)a->buffers[1])[at];
    if (f->type == ARROW_F32) return (double)((const float *)a->buffers[1])[at];
    return double_of_half(((const uint16_t *)a->buffers[1])[at]);
}

/* ---- Text */

/* Functions put_... write at most ARROW_NUMBER_TEXT_MAX bytes and return how many. */

/* Two's complement, little-endian, as decimal digits. */
#define DECIMAL_WORDS 8
static size_t format_arrow_decimal(char *text, const uint8_t *bytes, uint32_t width, int32_t scale)
{
    assert(width <= sizeof(uint32_t[DECIMAL_WORDS]) && scale <= 76);
    uint32_t words[DECIMAL_WORDS];
    char digits[2 * 80];
    size_t count = 0, size = 0;
    const uint32_t n = width / 4;
    memcpy(words, bytes, width);
    const bool negative = (words[n - 1] >> 31) != 0;
    uint64_t carry = negative;
    for (uint32_t i = 0; negative && i < n; i++) {
        carry += (uint32_t)~words[i];
        words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    bool left = true;
    while (left) { /* the lowest digit first */
        uint64_t rest = 0;
        left = false;
        for (uint32_t i = n; i-- > 0;) {
            rest = rest << 32 | words[i];
            words[i] = (uint32_t)(rest / 10);
            rest %= 10;
            left |= words[i] != 0;
        }
        digits[count++] = (char)('0' + rest);
    }
    while (scale > 0 && count <= (size_t)scale) digits[count++] = '0';
    if (negative) text[size++] = '-';
    while (count > 0) {
        text[size++] = digits[--count];
        if (scale > 0 && count == (size_t)scale) text[size++] = '.';
    }
    const bool zero = size == 1 && text[0] == '0';
    for (int32_t zeros = scale; zeros < 0 && !zero; zeros++) text[size++] = '0';
    assert(size <= ARROW_NUMBER_TEXT_MAX);
    return size;
}

/* Days since 1970 to a date of the proleptic Gregorian calendar; years beyond 9999 have a sign, as
 * ISO 8601 says. */
static size_t format_arrow_date(char *text, int64_t days)
{
    const int64_t shifted = days + 719468; /* from 0000-03-01 */
    const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int64_t day_of_era = shifted - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t part = (5 * day_of_year + 2) / 153;
    const int64_t month = part < 10 ? part + 3 : part - 9;
    const int64_t year = year_of_era + era * 400 + (month <= 2);
    const int64_t day = day_of_year - (153 * part + 2) / 5 + 1;
    const bool plain = year >= 0 && year <= 9999;
    const uint64_t size = (uint64_t)(year < 0 ? -year : year);
    size_t n = 0;
    if (!plain) text[n++] = year < 0 ? '-' : '+';
    if (size <= 9999) {
        text_put_digits(text + n, size, 4);
        n += 4;
    } else {
        n += text_format_u64(text + n, size);
    }
    text[n] = text[n + 3] = '-';
    text_put_digits(text + n + 1, (uint64_t)month, 2);
    text_put_digits(text + n + 4, (uint64_t)day, 2);
    return n + 6;
}

int64_t arrow_units_per_second(enum arrow_unit unit)
{
    int64_t units = 1;
    for (int i = 0; i < (int)unit; i++) units *= 10;
    return units;
}

/* Units since midnight; fractions of a second only if there are any. */
static size_t format_arrow_time(char *text, int64_t units, enum arrow_unit unit)
{
    assert(units >= 0);
    const int64_t per_second = arrow_units_per_second(unit), seconds = units / per_second;
    int64_t fraction = units % per_second;
    int digits = (int)unit;
    assert(seconds < 100 * 3600);
    text_put_digits(text, (uint64_t)seconds / 3600, 2);
    text_put_digits(text + 3, (uint64_t)seconds / 60 % 60, 2);
    text_put_digits(text + 6, (uint64_t)seconds % 60, 2);
    text[2] = text[5] = ':';
    if (fraction == 0) return 8;
    for (; digits > 3 && fraction % 1000 == 0; digits -= 3) fraction /= 1000;
    text[8] = '.';
    text_put_digits(text + 9, (uint64_t)fraction, (uint32_t)digits);
    return 9 + (size_t)digits;
}

static size_t format_arrow_timestamp(char *text, int64_t units, enum arrow_unit unit, bool zoned)
{
    const int64_t per_day = arrow_units_per_second(unit) * 86400;
    int64_t days = units / per_day, rest = units % per_day;
    if (rest < 0) {
        rest += per_day;
        days--;
    }
    size_t n = format_arrow_date(text, days);
    text[n++] = 'T';
    n += format_arrow_time(text + n, rest, unit);
    if (zoned) text[n++] = 'Z';
    return n;
}

static size_t format_arrow_duration_or_time(char *text, const struct arrow_field *f, int64_t value)
{
    const bool in_day = value >= 0 && value < arrow_units_per_second(f->unit) * 86400;
    if (f->type == ARROW_DURATION || !in_day) return text_format_i64(text, value);
    return format_arrow_time(text, value, f->unit);
}

static size_t format_arrow_bool(char *text, bool value)
{
    memcpy(text, value ? "true" : "false", 5);
    return value ? 4 : 5;
}

size_t arrow_format_number(const struct arrow_field *f, const struct ArrowArray *a, int64_t row,
                           char *text)
{
    static_assert(ARROW_NUMBER_TEXT_MAX >= TEXT_NUMBER_MAX, "a number with its NUL");
    const void *data = a->buffers[1];
    const int64_t at = a->offset + row;
    assert(f->type > ARROW_NULL && f->type <= ARROW_DURATION && f->dictionary == NULL);
    switch (f->type) {
    case ARROW_BOOL:
        return format_arrow_bool(text, (((const uint8_t *)data)[at / 8] >> at % 8 & 1) != 0);
    case ARROW_U64: return text_format_u64(text, ((const uint64_t *)data)[at]);
    case ARROW_F16: return text_format_f16(text, arrow_f64(f, a, row));
    case ARROW_F32: return text_format_f32(text, ((const float *)data)[at]);
    case ARROW_F64: return text_format_f64(text, ((const double *)data)[at]);
    case ARROW_DECIMAL:
        return format_arrow_decimal(text, (const uint8_t *)data + at * f->width, f->width,
                                    f->scale);
    case ARROW_DATE32: return format_arrow_date(text, ((const int32_t *)data)[at]);
    case ARROW_DATE64: {
        const int64_t ms = ((const int64_t *)data)[at], day = 86400000;
        return format_arrow_date(text, ms / day - (ms % day < 0));
    }
    case ARROW_TIMESTAMP:
        return format_arrow_timestamp(text, ((const int64_t *)data)[at], f->unit, f->zoned);
    case ARROW_TIME32: return format_arrow_duration_or_time(text, f, ((const int32_t *)data)[at]);
    case ARROW_TIME64:
    case ARROW_DURATION: return format_arrow_duration_or_time(text, f, ((const int64_t *)data)[at]);
    default: return text_format_i64(text, load_arrow_integer(f->type, data, at));
    }
}

static bool append_arrow_number(const struct arrow_field *f, const struct ArrowArray *a,
                                int64_t row, struct buffer *out)
{
    if (!buffer_reserve(out, ARROW_NUMBER_TEXT_MAX)) return false;
    out->size += arrow_format_number(f, a, row, (char *)out->data + out->size);
    return true;
}

static bool append_arrow_value_as_json(const struct arrow_field *f, const struct ArrowArray *a,
                                       int64_t row, struct buffer *out);

static bool append_arrow_list_as_json(const struct arrow_field *f, const struct ArrowArray *a,
                                      int64_t row, struct buffer *out)
{
    assert(f->child_count == 1);
    int64_t at = a->offset + row, from = at * f->width, to = from + f->width;
    if (f->type != ARROW_FIXED_LIST) {
        from = arrow_offset(f->type, a->buffers[1], at);
        to = arrow_offset(f->type, a->buffers[1], at + 1);
    }
    bool ok = buffer_append(out, "[", 1);
    for (int64_t i = from; ok && i < to; i++)
        ok = (i == from || buffer_append(out, ",", 1)) &&
             append_arrow_value_as_json(&f->children[0], a->children[0], i, out);
    return ok && buffer_append(out, "]", 1);
}

static bool append_arrow_string_as_json(struct buffer *out, const void *data, uint64_t size)
{
    struct json j = {.out = *out}; /* it appends */
    json_bytes(&j, NULL, data, size);
    *out = j.out;
    return !j.failed;
}

static bool append_arrow_struct_as_json(const struct arrow_field *f, const struct ArrowArray *a,
                                        int64_t row, struct buffer *out)
{
    assert(f->type == ARROW_STRUCT);
    bool ok = buffer_append(out, "{", 1);
    for (uint32_t i = 0; ok && i < f->child_count; i++) {
        const char *name = f->children[i].name;
        ok = (i == 0 || buffer_append(out, ",", 1)) &&
             append_arrow_string_as_json(out, name, strlen(name)) && buffer_append(out, ":", 1) &&
             append_arrow_value_as_json(&f->children[i], a->children[i], a->offset + row, out);
    }
    return ok && buffer_append(out, "}", 1);
}

/* A map is a list of structs {key, value}, as its keys may be of any type. */
static bool append_arrow_value_as_json(const struct arrow_field *f, const struct ArrowArray *a,
                                       int64_t row, struct buffer *out)
{
    if (arrow_is_null(f, a, row)) return buffer_append(out, "null", 4);
    resolve_dictionaries_and_runs(&f, &a, &row);
    if (f->type == ARROW_STRUCT) return append_arrow_struct_as_json(f, a, row, out);
    if (f->child_count > 0) return append_arrow_list_as_json(f, a, row, out);
    if (arrow_is_bytes(f)) {
        const struct glint_slice bytes = arrow_bytes(f, a, row);
        return append_arrow_string_as_json(out, bytes.data, bytes.size);
    }
    const bool finite = !arrow_is_float(f) || isfinite(arrow_f64(f, a, row));
    const bool bare = f->type <= ARROW_DECIMAL && finite;
    if (bare) return append_arrow_number(f, a, row, out);
    return buffer_append(out, "\"", 1) && append_arrow_number(f, a, row, out) &&
           buffer_append(out, "\"", 1);
}

/* ---- Columns that have different types in different files */

/* Appends zeros behind the point. */
static size_t append_decimal_zeros(char *text, size_t size, uint32_t scale)
{
    const char *point = memchr(text, '.', size);
    uint32_t digits = point != NULL ? (uint32_t)(text + size - point - 1) : 0;
    if (point == NULL && scale > 0) text[size++] = '.';
    for (; digits < scale; digits++) text[size++] = '0';
    return size;
}

/* Without zeros behind the point. */
static size_t size_without_decimal_zeros(const char *text, size_t size)
{
    if (memchr(text, '.', size) == NULL) return size;
    while (text[size - 1] == '0') size--;
    return text[size - 1] == '.' ? size - 1 : size;
}

/* Each decimal of so few digits has a double of its own, whose text has these digits. */
enum { F64_SURE_DIGITS = 15 };

/* An integer or decimal becomes the text of the double that is this number. One that no double is
 * keeps its digits, without zeros at the end: no double has this text. */
static size_t format_decimal_as_f64(char *text, size_t size)
{
    char exact[2 * ARROW_NUMBER_TEXT_MAX];
    double value;
    size = size_without_decimal_zeros(text, size);
    if (!text_parse_f64((const uint8_t *)text, size, &value)) return size;
    if (size > F64_SURE_DIGITS) {
        const char *point = memchr(text, '.', size), *first = text;
        while (first < text + size && strchr("-0.", *first) != NULL) first++;
        const bool inside = point != NULL && point > first;
        const bool sure = (size_t)(text + size - first) - inside <= F64_SURE_DIGITS;
        if (point != NULL && !sure) return size;
        if (!sure && (!text_format(exact, sizeof exact, "%.0f", value) || strlen(exact) != size ||
                      memcmp(exact, text, size) != 0))
            return size;
    }
    return text_format_f64(text, value);
}

/* Appends a value that is no text as its common type has it. */
static bool append_text_of_common_type(const struct arrow_field *f, const struct ArrowArray *a,
                                       int64_t row, uint8_t common, struct buffer *out)
{
    static const char midnight[] = "T00:00:00";
    const bool date = f->type == ARROW_DATE32 || f->type == ARROW_DATE64;
    if (!buffer_reserve(out, 2 * ARROW_NUMBER_TEXT_MAX)) return false;
    char *const text = (char *)out->data + out->size;
    size_t size = arrow_format_number(f, a, row, text);
    if (common >= ARROW_COMMON_DECIMAL) {
        size = append_decimal_zeros(text, size, (uint32_t)(common - ARROW_COMMON_DECIMAL));
    } else if (common == ARROW_COMMON_F64 || common == ARROW_COMMON_DOUBLE) {
        const double value = arrow_is_float(f) ? arrow_f64(f, a, row) : 0;
        const bool widened = common == ARROW_COMMON_DOUBLE;
        if (!arrow_is_float(f))
            size = format_decimal_as_f64(text, size);
        else if (widened || value == rint(value)) /* digits of a float may be of another one */
            size = text_format_f64(text, value);
    } else {
        if (date) memcpy(text + size, midnight, sizeof midnight - 1);
        if (date) size += sizeof midnight - 1;
        if (common == ARROW_COMMON_INSTANT && !f->zoned) text[size++] = 'Z';
    }
    out->size += size;
    return true;
}

bool arrow_append_text(const struct arrow_field *f, const struct ArrowArray *a, int64_t row,
                       struct buffer *out)
{
    const uint8_t common = f->common;
    assert(!arrow_is_null(f, a, row));
    resolve_dictionaries_and_runs(&f, &a, &row);
    if (f->child_count > 0 || f->type == ARROW_STRUCT)
        return append_arrow_value_as_json(f, a, row, out);
    if (!arrow_is_bytes(f))
        return common == ARROW_COMMON_NONE ? append_arrow_number(f, a, row, out)
                                           : append_text_of_common_type(f, a, row, common, out);
    const struct glint_slice bytes = arrow_bytes(f, a, row);
    return bytes.size == 0 || buffer_append(out, bytes.data, bytes.size);
}
