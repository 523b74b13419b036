/* Columns that other programs made, by Arrow's C data and stream interfaces, and blocks: a struct
 * of columns with its type in one piece of memory, in which they travel between the engine and
 * workers of other languages. Included by programs that embed glint; not by jobs. Any thread. */
#ifndef GLINT_COLUMNS_H
#define GLINT_COLUMNS_H

#include "engine/glint.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;

/* Columns of equal length. Never changed once made, and counted: glint_columns_release ends the
 * caller's share, each exported array has one of its own. */
struct glint_columns;

/* Memory for a block of `size` bytes, aligned to 64, which the caller fills at *out_block and
 * passes to glint_columns_decode. Returns NULL when out of memory. */
struct glint_columns *glint_columns_create(uint64_t size, uint8_t **out_block);
/* Makes columns of the block. What is in it is checked: its shape, and all offsets, indexes and
 * sizes. Returns 0, or BAD_VALUE with *error set. */
int glint_columns_decode(struct glint_columns *columns, struct glint_error *error);
/* Takes an array of another program, which is moved out of *array also on failure, and copies
 * *schema. An array that is no struct becomes a column named "value". It is checked as a block is,
 * as far as the interface tells sizes. Returns NULL with *error set: BAD_VALUE, NO_MEMORY. */
struct glint_columns *glint_columns_adopt(const struct ArrowSchema *schema,
                                          struct ArrowArray *array, struct glint_error *error);
/* The same of an array that stays the caller's, who keeps it as long as the columns and what was
 * exported of them. */
struct glint_columns *glint_columns_borrow(const struct ArrowSchema *schema,
                                           const struct ArrowArray *array,
                                           struct glint_error *error);
void glint_columns_release(struct glint_columns *columns); /* NULL is fine */

uint64_t glint_columns_rows(const struct glint_columns *columns);
/* Bytes of all buffers, about. */
uint64_t glint_columns_size(const struct glint_columns *columns);
/* Exports the columns without a copy: a struct array and its type, which the caller releases. Each
 * may be NULL. Returns 0 or NO_MEMORY. */
int glint_columns_export(struct glint_columns *columns, struct ArrowSchema *out_schema,
                         struct ArrowArray *out_array);
/* The same as a stream of `count` > 0 arrays, all of the type of the first: BAD_VALUE else. */
int glint_columns_stream(struct glint_columns *const *columns, uint64_t count,
                         struct ArrowArrayStream *out, struct glint_error *error);
/* Makes a block of so many rows from row `first` on, with text and bytes without views. It belongs
 * to `columns` until the next call with them. Returns 0 or a code with *error set: BAD_VALUE,
 * NO_MEMORY. */
int glint_columns_encode(struct glint_columns *columns, uint64_t first, uint64_t count,
                         const uint8_t **out_block, uint64_t *out_size, struct glint_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
