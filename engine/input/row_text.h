/* Texts in rows of operators: fields are separated by CSV_SEPARATOR, null is the byte ROW_NULL,
 * and a row with a line of JSON begins with JSON_ROW. These bytes follow one another, and in a
 * text each is an escape, ROW_NULL and the byte plus 0x20 (glint_unescape_field): so escaped texts
 * have the order of texts, and no other text has the bytes of an escape, a null or a separator. A
 * text without these bytes is as it is. Pure; any thread. */
#ifndef GLINT_INPUT_ROW_TEXT_H
#define GLINT_INPUT_ROW_TEXT_H

#include "engine/base/mem.h"
#include "engine/glint_function.h"

/* The unit separator of ASCII. */
#define CSV_SEPARATOR 0x1f
/* Before the line of JSON of a row (json_line.h). */
#define JSON_ROW 0x1e
#define ROW_NULL GLINT_ROW_NULL

/* Whether a byte of a text is an escape in rows. */
static inline bool row_text_is_special(uint8_t byte)
{
    return (uint8_t)(byte - ROW_NULL) <= CSV_SEPARATOR - ROW_NULL;
}
/* Whether a text is as it is in a row. */
bool row_text_is_plain(struct glint_slice text);
/* Escapes the text of `size` bytes, which has room for twice as many. Returns its new size. */
uint64_t row_text_escape(uint8_t *text, uint64_t size);
/* The same of the text from `from` to the end of a buffer. Returns false when out of memory. */
bool row_text_escape_appended(struct buffer *out, uint64_t from);

#endif
