/* Sources that read files of columns (input/column_reader.h). Task's thread. */
#ifndef GLINT_OPS_COLUMN_SOURCE_H
#define GLINT_OPS_COLUMN_SOURCE_H

#include "engine/batch.h"
#include "engine/input/column_reader.h"
#include "engine/input/input.h"
#include "engine/plan/op.h"

/* Passes the rows of a split as text, as rows of CSV are: the layout's fields with CSV_SEPARATOR
 * between them, those that are null as `nulls` of the pieces says. */
enum flow column_rows_read(struct glint_task *task, const struct split *split,
                           enum flow (*push)(void *arg, const struct glint_batch *rows), void *arg);

/* Decodes a split into `out` and opens it, until column_reader_close. Returns 0 or a code. */
int column_split_open(struct column_reader *r, struct glint_task *task, struct glint_slice split,
                      struct split *out);

/* The origin of rows of an array: messages name the row of the file. `base` and `size` are the
 * memory of the rows' column, row i begins at start[i]; numbers[i] is i. */
struct column_origin {
    struct glint_origin origin;
    uint32_t numbers[BATCH_ROWS_MAX];
};
void column_origin_init(struct column_origin *o);
void column_origin_set(struct column_origin *o, const struct split_piece *piece, uint64_t first_row,
                       const struct glint_column *column, uint32_t rows);

/* The texts of a column, for batches. Zeros before column_texts_begin; free `bytes` at the end. */
struct column_texts {
    const struct arrow_field *field; /* of the current array */
    const struct ArrowArray *array;  /* NULL: the file has none, */
    const struct partition_column
        *constant;                       /* but perhaps its directories a value that is not null */
    struct buffer bytes;                 /* texts that are not borrowed */
    const struct ArrowArray *dictionary; /* whose texts are in `bytes` */
    bool key;                            /* of floats: zeros have no sign */
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
};
/* Takes the current array of a column of the layout. */
void column_texts_begin(struct column_texts *c, const struct column_reader *reader,
                        uint32_t column);
bool column_texts_is_null(const struct column_texts *c, int64_t row);
/* Whether a row of the array may be null. */
bool column_texts_may_be_null(const struct column_texts *c);
/* Sets out's data to the texts of rows[0, count), or, if it is NULL, of [from, from + count), of
 * which none is null: as many as fit a batch. They are borrowed from the array, or in `c` until the
 * next call. Returns how many, at least 1, or a code. */
int64_t column_texts_set(struct glint_task *task, struct column_texts *c, const uint32_t *rows,
                         int64_t from, uint32_t count, struct glint_column *out);

#endif
