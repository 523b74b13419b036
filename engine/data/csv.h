/* Rows of CSV (RFC 4180): fields may be quoted, and then contain delimiters, line ends and doubled
 * quotes. Records end at line ends before which the number of quotes is even, so that files can be
 * cut there. Operators get plain rows, whose fields are separated by CSV_SEPARATOR; outputs are
 * written as CSV again. Pure; any thread. */
#ifndef GLINT_DATA_CSV_H
#define GLINT_DATA_CSV_H

#include "engine/base/mem.h"
#include "engine/glint.h"

/* The unit separator of ASCII. A field that contains it is an error. */
#define CSV_SEPARATOR 0x1f

/* In place of the delimiter: rows are whole records, unchanged. Where records end does not depend
 * on the delimiter. */
#define CSV_RECORDS '\n'

/* Returns the LF that ends the record in [at, end), or NULL. *open: whether `at` is inside quotes;
 * updated to the state at the LF, false, or at `end`. */
const uint8_t *csv_find_row_end(const uint8_t *at, const uint8_t *end, bool *open);
/* Whether [at, at + size) has an odd number of quotes. */
bool csv_has_odd_quotes(const uint8_t *at, uint64_t size);
/* Converts a record, without its line end, to a plain row of at most the same size; `out` may be
 * `row`. Returns NULL with *out_size set, or the reason why it is no record (static). */
const char *csv_to_plain(const uint8_t *row, uint64_t size, uint8_t delimiter, uint8_t *out,
                         uint64_t *out_size);
/* Writes a field, with quotes if it needs them, to `out`, which has 2 * size + 2 bytes. Returns the
 * number of bytes. */
uint64_t csv_write_field(struct glint_slice field, uint8_t delimiter, uint8_t *out);
/* Appends a plain row as a record, without a line end. Returns false when out of memory. */
bool csv_append_row(struct buffer *out, struct glint_slice row, uint8_t delimiter);

#endif
