/* Sources that read files of columns (input/column_reader.h). Task's thread. */
#ifndef GLINT_OPS_COLUMN_SOURCE_H
#define GLINT_OPS_COLUMN_SOURCE_H

#include "engine/batch.h"
#include "engine/input/input.h"
#include "engine/plan/op.h"

/* Passes the rows of a split as text, as rows of CSV are: the layout's fields with CSV_SEPARATOR
 * between them, those that are null as `nulls` of the pieces says. */
enum flow column_rows_read(struct glint_task *task, const struct split *split,
                           enum flow (*push)(void *arg, const struct glint_batch *rows), void *arg);

/* The origin of rows of an array: messages name the row of the file. `base` and `size` are the
 * memory of the rows' column, row i begins at start[i]; numbers[i] is i. */
struct column_origin {
    struct glint_origin origin;
    uint32_t numbers[BATCH_ROWS_MAX];
};
void column_origin_init(struct column_origin *o);
void column_origin_set(struct column_origin *o, const struct split_piece *piece, uint64_t first_row,
                       const struct glint_column *column, uint32_t rows);

#endif
