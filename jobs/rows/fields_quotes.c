/* Quoted fields: with commas or semicolons as delimiters they are CSV, where a quoted field may
 * contain delimiters and line ends. Splitting such a row at each delimiter would silently give
 * wrong fields, so without --csv a field that begins with a quote fails the job. Quotes elsewhere
 * in a field are data, as are all quotes if the delimiter is a tab or another character. */
#include "jobs/rows/fields_quotes.h"

#include <string.h>

#define QUOTE '"'

/* Returns true if a field of the row begins with a quote. */
static bool row_has_quoted(struct glint_slice row, uint8_t delimiter)
{
    const uint8_t *at = row.data, *end = row.data + row.size;
    while (at < end && (at = memchr(at, QUOTE, (size_t)(end - at))) != NULL) {
        if (at == row.data || at[-1] == delimiter) return true;
        at++;
    }
    return false;
}

static int set_quoted_row_error(struct glint_task *task, struct glint_slice row)
{
    return glint_fail_row(task, GLINT_E_INPUT_FORMAT, row,
                          "add --csv; in tab-separated text, quotes are part of the field",
                          "quoted field");
}

int fields_reject_quoted_row(struct glint_task *task, struct glint_slice row, uint8_t delimiter)
{
    return row_has_quoted(row, delimiter) ? set_quoted_row_error(task, row) : 0;
}

int fields_reject_quoted(struct glint_task *task, const struct glint_batch *lines,
                         uint8_t delimiter)
{
    const struct glint_column *c = &lines->value;
    if (c->size == 0 || memchr(c->base, QUOTE, c->size) == NULL) return 0;
    int r = 0;
    for (uint32_t row = 0; r == 0 && row < lines->rows; row++)
        r = fields_reject_quoted_row(task, glint_column_slice(c, row), delimiter);
    return r;
}
