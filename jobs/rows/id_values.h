/* Ids with a type: the bytes of the value of a text, as filters hash them. Pure; any
 * thread. */
#ifndef GLINT_JOBS_ROWS_ID_VALUES_H
#define GLINT_JOBS_ROWS_ID_VALUES_H

#include "engine/glint.h"
#include "jobs/bloom/id_type.h"

enum { ID_VALUE_MAX = 16 }; /* bytes, but of BLOOM_ID_BYTES half of the text */

/* Writes the value of the text to `out`, little-endian, `width` bytes (bloom_id_width), which has
 * ID_VALUE_MAX bytes, or as many as the text if that is longer; *out_size is their number. Returns
 * NULL, or why the text is no value. */
const char *id_value_parse(uint32_t type, uint32_t width, struct glint_slice text, uint8_t *out,
                           uint64_t *out_size);
/* Formats a value for messages, as a text that id_value_parse accepts. Of text and bytes the first
 * `size` bytes may be all that is there (`whole` false): no character is cut. `out` has
 * ID_VALUE_TEXT_MAX bytes, enough for `size` of up to ID_VALUE_SHOWN_MAX. */
enum { ID_VALUE_SHOWN_MAX = 64, ID_VALUE_TEXT_MAX = 2 * ID_VALUE_SHOWN_MAX + 1 };
void id_value_format(uint32_t type, const uint8_t *value, uint64_t size, bool whole,
                     char out[ID_VALUE_TEXT_MAX]);
/* Whether the scheme has no rule for the type; sets the text of an error about it, and a hint that
 * names the schemes that have one. */
bool id_type_problem(enum bloom_scheme scheme, uint32_t type, char *out, uint64_t capacity,
                     char *hint, uint64_t hint_capacity);
/* Sets the type of ids that the values of a column are, by its type in the format of Arrow's C data
 * interface (NULL: text). Returns false if it is none. */
bool id_type_of_arrow(const char *type, uint32_t *out);
/* Of a column of this type, whose values have more than one text: how ids of text differ, as in
 * "5.0 is another id than 5"; NULL of others. */
const char *id_text_difference(const char *type);

#endif
