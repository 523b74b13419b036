/* Columns as arrays of Arrow's C data interface (input/format_library.h): what a schema says,
 * checks of an array before its use, and the text of its values. Arrays come from outside: nothing
 * is read before arrow_array_check has found it within its buffers, as far as the interface tells
 * their sizes. Pure; any thread. */
#ifndef GLINT_INPUT_ARROW_H
#define GLINT_INPUT_ARROW_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/input/format_library.h"

enum arrow_type {
    ARROW_NULL,
    ARROW_BOOL,
    ARROW_I8,
    ARROW_U8,
    ARROW_I16,
    ARROW_U16,
    ARROW_I32,
    ARROW_U32,
    ARROW_I64,
    ARROW_U64,
    ARROW_F16,
    ARROW_F32,
    ARROW_F64,
    ARROW_DECIMAL, /* of `width` bytes: 4, 8, 16 or 32 */
    ARROW_DATE32,  /* days */
    ARROW_DATE64,  /* milliseconds */
    ARROW_TIME32,
    ARROW_TIME64,
    ARROW_TIMESTAMP,
    ARROW_DURATION,
    ARROW_UTF8, /* offsets of 32 bits */
    ARROW_BINARY,
    ARROW_LARGE_UTF8, /* of 64 bits */
    ARROW_LARGE_BINARY,
    ARROW_UTF8_VIEW,
    ARROW_BINARY_VIEW,
    ARROW_FIXED_BINARY, /* of `width` bytes */
    ARROW_LIST,
    ARROW_LARGE_LIST,
    ARROW_FIXED_LIST, /* of `width` values */
    ARROW_STRUCT,
    ARROW_MAP,
    ARROW_RUN_END, /* run-end encoded: children run_ends and values */
};

/* Fractions of a second: 10^-digits. */
enum arrow_unit { ARROW_SECONDS = 0, ARROW_MILLIS = 3, ARROW_MICROS = 6, ARROW_NANOS = 9 };

/* What the text of a column's values becomes where files give it different types of numbers, or of
 * times: that of one type which has all of them. */
enum arrow_common {
    ARROW_COMMON_NONE,      /* it stays as it is */
    ARROW_COMMON_F64,       /* of integers and decimals: that of the double which is the number */
    ARROW_COMMON_DOUBLE,    /* the same, also of smaller floats: 0.1f is 0.10000000149011612 */
    ARROW_COMMON_TIMESTAMP, /* of dates: midnight */
    ARROW_COMMON_INSTANT,   /* of dates and timestamps: in UTC, with Z */
    ARROW_COMMON_DECIMAL,   /* + the digits after the point */
    ARROW_COMMON_MAX = ARROW_COMMON_DECIMAL + 76
};

/* A column or a part of one. */
struct arrow_field {
    const char *name,
        *format; /* as the schema has them; a dictionary's format is that of its values */
    enum arrow_type type;
    uint32_t width;
    int32_t scale;
    enum arrow_unit unit;
    bool zoned; /* TIMESTAMP: of a time zone; values are in UTC */
    uint32_t child_count;
    const struct arrow_field *children;
    const struct arrow_field *dictionary; /* the values; `type` is that of the indexes; or NULL */
    const char *problem; /* of a column (arrow_table_read): why it cannot be read; NULL: it can */
    uint8_t common;      /* enum arrow_common: of a column; its reader sets it */
};

enum { ARROW_DEPTH_MAX = 64, ARROW_FIELDS_MAX = 1 << 20 };

/* Reads a schema into `arena`. Returns NULL, or why it cannot be read (static, or in `arena`), also
 * when out of memory. */
const char *arrow_field_read(const struct ArrowSchema *schema, struct arena *arena,
                             struct arrow_field *out);
/* Whether values are bytes behind offsets. */
static inline bool arrow_has_byte_offsets(enum arrow_type type)
{
    return type >= ARROW_UTF8 && type <= ARROW_LARGE_BINARY;
}
static inline bool arrow_has_utf8(enum arrow_type type)
{
    return type == ARROW_UTF8 || type == ARROW_LARGE_UTF8;
}
/* Whether arrays have offsets, of 64 bits if `large`, and the i-th one. */
bool arrow_has_offsets(enum arrow_type type);
static inline bool arrow_has_large_offsets(enum arrow_type type)
{
    return type == ARROW_LARGE_UTF8 || type == ARROW_LARGE_BINARY || type == ARROW_LARGE_LIST;
}
int64_t arrow_offset(enum arrow_type type, const void *offsets, int64_t i);
/* The number of buffers that every array of the type has; one of views may have more. */
int64_t arrow_buffer_count(enum arrow_type type);
/* Bits of a value in the second buffer; 0: it has no values of one size. */
uint64_t arrow_value_bits(const struct arrow_field *field);
/* The field of the values, where `field` has indexes of a dictionary, or runs; else itself. */
const struct arrow_field *arrow_value_field(const struct arrow_field *field);

/* The same of a struct whose fields are columns. One that cannot be read gets a `problem`. */
const char *arrow_table_read(const struct ArrowSchema *schema, struct arena *arena,
                             struct arrow_field *out);
/* Checks the shape of an array of this field, its buffers, offsets and indexes. Returns NULL, or
 * what is wrong (static). */
const char *arrow_array_check(const struct arrow_field *field, const struct ArrowArray *array);

/* Of an array that was checked; `row` < array->length. */
bool arrow_is_null(const struct arrow_field *field, const struct ArrowArray *array, int64_t row);
/* The bytes of a value that is not null, of a text or binary type: those of the dictionary, if
 * there is one. Borrowed from the array. */
struct glint_slice arrow_bytes(const struct arrow_field *field, const struct ArrowArray *array,
                               int64_t row);
/* Whether arrow_bytes may be called. */
bool arrow_is_bytes(const struct arrow_field *field);
/* Whether all values are integers that fit an i64, and such a value. */
bool arrow_fits_i64(const struct arrow_field *field);
int64_t arrow_i64(const struct arrow_field *field, const struct ArrowArray *array, int64_t row);
/* Whether the values are floating-point numbers, and such a value. */
bool arrow_is_float(const struct arrow_field *field);
double arrow_f64(const struct arrow_field *field, const struct ArrowArray *array, int64_t row);

int64_t arrow_units_per_second(enum arrow_unit unit);

#define ARROW_NUMBER_TEXT_MAX 192u

/* Writes the text that arrow_append_text appends, of a value of a type from BOOL to DURATION,
 * without a dictionary and `common`. `text` has ARROW_NUMBER_TEXT_MAX bytes. Returns the size. */
size_t arrow_format_number(const struct arrow_field *field, const struct ArrowArray *array,
                           int64_t row, char *text);
/* Appends the text of a value that is not null: integers and decimals in decimal, a float as the
 * shortest text that parses to it, true and false, dates and times by ISO 8601 (a timestamp of a
 * time zone in UTC, with Z), a duration as its number of units, text and bytes as they are, lists,
 * structs and maps as JSON, with bytes that are not UTF-8 as json_bytes writes them; then as
 * `common` says. Returns false when out of memory. */
bool arrow_append_text(const struct arrow_field *field, const struct ArrowArray *array, int64_t row,
                       struct buffer *out);
/* Cuts the sign off the text of a float's zero, of `size` bytes. Returns the size. */
uint64_t arrow_cut_zero_sign(const struct arrow_field *field, uint8_t *text, uint64_t size);

#endif
