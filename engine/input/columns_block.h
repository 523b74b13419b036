/* Blocks of columns: a struct array with its type in one piece of memory (engine/glint_columns.h).
 * All numbers are little-endian, and a block is read on the machine that wrote it or one like it:
 *
 *     u32 magic   u32 0   u64 size of the block   u64 where the buffers begin
 *     for each array, before its parts and then its dictionary:
 *         u32 bytes of its format and name   u32 parts   u32 flags of ArrowSchema
 *         u16 buffers   u16 1: it has a dictionary   i64 length   i64 nulls   i64 offset
 *         format and name, each with a NUL, padded to 8
 *         for each buffer: u64 place after the beginning, -1 without it   u64 size
 *     the buffers, at multiples of 64
 *
 * Pure; any thread. */
#ifndef GLINT_INPUT_COLUMNS_BLOCK_H
#define GLINT_INPUT_COLUMNS_BLOCK_H

#include "engine/input/arrow.h"

/* Appends rows [first, first + count) of a struct array that was checked to `out` as a block, with
 * READ_SLACK bytes of room behind it. Views become text and bytes. Returns NULL, or why they cannot
 * be written (static), also when out of memory. */
const char *columns_block_write(const struct ArrowSchema *schema, const struct arrow_field *field,
                                const struct ArrowArray *array, int64_t first, int64_t count,
                                struct buffer *out);
/* Reads a block; the arrays point into it and the schemas into `arena`, as does *field. Returns
 * NULL, or what is wrong with it. */
const char *columns_block_read(const uint8_t *block, uint64_t size, struct arena *arena,
                               struct ArrowSchema *schema, struct arrow_field *field,
                               struct ArrowArray *array);

#endif
