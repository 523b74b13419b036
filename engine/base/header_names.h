/* The names of a table's columns in messages. Pure; any thread. */
#ifndef GLINT_BASE_HEADER_NAMES_H
#define GLINT_BASE_HEADER_NAMES_H

#include "engine/glint.h"

#define HEADER_NAMES_BYTES 400u

/* Writes the names, separated by commas, as many as fit, and then how many there are besides:
 * "id, price and 19998 more". Unprintable bytes become '?'. `capacity` is at least 64. */
void header_names_format(struct glint_slice header, uint8_t separator, char *out, size_t capacity);
/* Appends the printable name to the `size` bytes in `out`, as much as fits; returns the new size.
 */
size_t header_name_append(char *out, size_t size, size_t capacity, struct glint_slice name);

#endif
