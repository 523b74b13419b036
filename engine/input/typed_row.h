/* Rows of files of columns between operators that keep them: values as a file has them, no text.
 *
 *     nulls    a bit for each column, set if it is null; whole bytes
 *     values   of the columns whose values have one size, in order; zeros if null
 *     ends     4 bytes for each other column: where its text ends, from the begin of the texts
 *     texts    of the other columns: text and bytes as they are, lists and the like as JSON
 *
 * in the byte order of the machine; nothing is aligned. A source writes such rows if the job asks
 * for them (glint_read_typed_rows), and a sink of columns reads them. Pure; any thread. */
#ifndef GLINT_INPUT_TYPED_ROW_H
#define GLINT_INPUT_TYPED_ROW_H

#include "engine/input/arrow.h"

#include <string.h>

enum { TYPED_VALUE_BYTES_MAX = 32 };

struct typed_column {
    const struct arrow_field *field;
    uint32_t size;   /* of its values; 0: they are texts */
    uint32_t at;     /* of the value, or of the end, in a row */
    uint32_t before; /* of the end of the text before; 0: it is the first one */
};
struct typed_form {
    uint32_t count, texts_at;
    uint32_t last; /* of the end of the last text; 0: there are none */
    struct typed_column columns[];
};

/* Appends the type of a column (arrow_type.h) to those of a form. Returns false when out of memory.
 */
bool typed_form_append(struct buffer *types, const char *type);
/* Reads types; the task owns the form. Returns NULL with the task's error set. */
const struct typed_form *typed_form_read(struct glint_task *task, struct glint_slice types);
/* The text of a value that is not null, as arrow_append_text writes it: in the row, or in `number`,
 * which has ARROW_NUMBER_TEXT_MAX bytes. */
struct glint_slice typed_row_text(const struct typed_form *f, const uint8_t *row, uint32_t column,
                                  char *number);
/* Appends the row as a row of text has it, for messages. Returns false when out of memory. */
bool typed_row_append_row(const struct typed_form *f, const uint8_t *row, struct buffer *out);

static inline bool typed_row_is_null(const uint8_t *row, uint32_t column)
{
    return (row[column / 8] >> column % 8 & 1) != 0;
}
static inline void typed_row_set_null(uint8_t *row, uint32_t column)
{
    row[column / 8] |= (uint8_t)(1 << column % 8);
}
static inline uint32_t typed_row_end(const uint8_t *row, uint32_t at)
{
    uint32_t end = 0;
    if (at > 0) memcpy(&end, row + at, sizeof end);
    return end;
}
static inline uint64_t typed_row_size(const struct typed_form *f, const uint8_t *row)
{
    return (uint64_t)f->texts_at + typed_row_end(row, f->last);
}
/* The bytes of a value. */
static inline struct glint_slice typed_row_value(const struct typed_form *f, const uint8_t *row,
                                                 uint32_t column)
{
    const struct typed_column *c = &f->columns[column];
    if (c->size > 0) return (struct glint_slice){row + c->at, c->size};
    const uint32_t begin = typed_row_end(row, c->before);
    return (struct glint_slice){row + f->texts_at + begin, typed_row_end(row, c->at) - begin};
}

#endif
