/* Types of columns as texts: Arrow's format, and for a nested type also the names and types of its
 * parts, as in +s(a=i,b=+l(item=u)). In names and formats of parts the bytes ( ) , = and % are %XX.
 * Pure; any thread. */
#ifndef GLINT_INPUT_ARROW_TYPE_H
#define GLINT_INPUT_ARROW_TYPE_H

#include "engine/input/arrow.h"

/* Appends the type of a column as it can be saved: without dictionaries, runs and views; only the
 * format if it is nested and cannot be saved so (arrow_can_build). Returns false when out of
 * memory. */
bool arrow_type_append(const struct arrow_field *field, struct buffer *out);
/* Reads such a text as the schema of a column that may be null, in `arena`. `change`, which may be
 * NULL, may replace letters of each format. Returns NULL, or why it is none (static), also when out
 * of memory. */
const char *arrow_type_read(const char *name, const char *type, void (*change)(char *format),
                            struct arena *arena, struct ArrowSchema *out);
struct json_path;
/* Sets *out to the text of the type of a part, in `arena`: the path has names of members of structs
 * and indexes of lists. NULL: there is none. Returns false when out of memory. */
bool arrow_type_of_part(const char *type, const struct json_path *path, struct arena *arena,
                        const char **out);

#endif
