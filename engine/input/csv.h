/* Rows of CSV (RFC 4180): fields may be quoted, and then contain delimiters, line ends and doubled
 * quotes. A quote within a field that does not begin with one is data. Records end at line ends
 * outside of quotes, so that files can be cut there. Operators get plain rows, whose fields are
 * separated by CSV_SEPARATOR; outputs are written as CSV again. Pure; any thread. */
#ifndef GLINT_INPUT_CSV_H
#define GLINT_INPUT_CSV_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/input/row_text.h"

#include <string.h>

/* What is null, as a slice: data NULL: nothing is. Else '1' if members of JSON and columns that are
 * missing are null, or '0', then the text that is null in CSV, without quotes, and that nulls are
 * written as; that of CSV is not empty, since a null takes its place in a row. */
enum { NULL_TEXT_MAX = 64 };
static inline bool nulls_are_valid(struct glint_slice nulls)
{
    return nulls.size >= 1 && nulls.size <= 1 + NULL_TEXT_MAX &&
           (nulls.data[0] == '0' || nulls.data[0] == '1');
}
static inline bool nulls_have_missing(struct glint_slice nulls)
{
    return nulls.data != NULL && nulls.data[0] == '1';
}
/* Whether an unquoted field of CSV is null. */
static inline bool nulls_equal(struct glint_slice nulls, const uint8_t *field, uint64_t size)
{
    return size + 1 == nulls.size && (size == 0 || memcmp(field, nulls.data + 1, size) == 0);
}

/* In place of the delimiter, for records that stay as they are: a comma, a semicolon, a tab or |.
 */
#define CSV_ANY '\n'

/* The state between two bytes. */
struct csv_scan {
    uint8_t delimiter;
    uint8_t before; /* the last byte; a quote: a closing one */
    bool open;      /* inside quotes */
};

/* At the beginning of a record. */
static inline struct csv_scan csv_scan_begin(uint8_t delimiter)
{
    return (struct csv_scan){.delimiter = delimiter, .before = '\n'};
}
/* Returns the LF that ends the record in [at, end), or NULL. The state is that at `at`, then after
 * the LF, or at `end`. */
const uint8_t *csv_find_row_end(const uint8_t *at, const uint8_t *end, struct csv_scan *s);
/* Moves the state from `at` to `end`. */
void csv_scan_bytes(const uint8_t *at, const uint8_t *end, struct csv_scan *s);
/* Converts a record, without its line end, to a plain row; `out`, which is not the row, has
 * 2 * size bytes. `nulls` as above. Returns NULL with *out_size set, or the reason why it is no
 * record (static). */
const char *csv_to_row(const uint8_t *row, uint64_t size, uint8_t delimiter,
                       struct glint_slice nulls, uint8_t *out, uint64_t *out_size);
/* The same of a record without bytes that need an escape: the row has at most the size of the
 * record, which `out` may be. Returns csv_needs_escape if there are some. */
const char *csv_to_row_as_is(const uint8_t *row, uint64_t size, uint8_t delimiter,
                             struct glint_slice nulls, uint8_t *out, uint64_t *out_size);
extern const char csv_needs_escape[];
/* csv_to_row without nulls. */
static inline const char *csv_to_plain(const uint8_t *row, uint64_t size, uint8_t delimiter,
                                       uint8_t *out, uint64_t *out_size)
{
    return csv_to_row(row, size, delimiter, (struct glint_slice){NULL, 0}, out, out_size);
}
/* Why a record with CSV_ANY is none: NULL, or the reason (static). */
const char *csv_record_problem(const uint8_t *row, uint64_t size);
/* Whether a record has a CR outside of quotes that is not its last byte: lines end in CR alone. */
bool csv_has_cr(const uint8_t *row, uint64_t size, uint8_t delimiter);
/* Writes a text, with quotes if it needs them, to `out`, which has 2 * size + 2 bytes. Returns the
 * number of bytes. */
uint64_t csv_write_field(struct glint_slice field, uint8_t delimiter, uint8_t *out);
/* Appends a text, which is not null, as a field. Returns false when out of memory. */
bool csv_append_text(struct buffer *out, struct glint_slice text, uint8_t delimiter,
                     struct glint_slice nulls);
/* Appends a plain row as a record, without a line end. Returns false when out of memory. */
bool csv_append_row(struct buffer *out, struct glint_slice row, uint8_t delimiter,
                    struct glint_slice nulls);

#endif
