/* Reads the columns of a split of files of columns as arrays, row group after row group. Task's
 * thread. */
#ifndef GLINT_INPUT_COLUMN_READER_H
#define GLINT_INPUT_COLUMN_READER_H

#include "engine/input/column_file.h"
#include "engine/input/partition_path.h"
#include "engine/records/task.h"

struct column_statistics;

struct column_reader {
    struct glint_task *task;
    const struct split *split;
    uint32_t piece; /* index of the next piece */
    struct column_file file;
    struct ArrowArrayStream stream;       /* of a row group */
    struct ArrowArray array;              /* a struct of the columns that are read */
    uint64_t group, group_end;            /* the next row group of the file, and the piece's end */
    uint64_t group_rows;                  /* of the row group that `may_need` is asked about */
    struct column_statistics *statistics; /* by column of the layout; NULL: not needed */
    uint64_t first_row;                   /* of the array, in the file, from 0 */
    uint64_t next_row;                    /* after the array */
    bool open;
    const bool *wants_dictionary; /* the caller sets it: columns of the layout that are best read as
                                   * dictionaries, if they are stored so; NULL: none */
    uint32_t array_rows;          /* of an array at most; the caller may set it */
    uint32_t column_count;        /* that are read */
    uint32_t *numbers;            /* of them in the file */
    const struct partition_column **constants; /* by column of the layout; NULL: of the file */
    uint8_t *dictionary;
    struct arrow_field
        *fields;        /* by the stream, whose types may differ from the file's: dictionaries */
    uint32_t *children; /* by column of the layout: of the array; UINT32_MAX: the file has none */
    struct arena arena; /* of the file */
};

/* Borrows `split` until close. */
void column_reader_open(struct column_reader *r, struct glint_task *task,
                        const struct split *split);
/* Reads the next array, which has rows. Returns 1, 0 at the end of the split, or a code with the
 * task's error set. Adds to COUNT_ROWS_READ and COUNT_BYTES_READ. */
int column_reader_next(struct column_reader *r);
/* The array of a column of the layout, and its type; NULL: the file does not have the column. Until
 * the next array is read. */
const struct ArrowArray *column_reader_column(const struct column_reader *r, uint32_t column,
                                              const struct arrow_field **out_field);
/* The value of a column that the file's directories give it (partition_path.h), or NULL. */
const struct partition_column *column_reader_partition_column(const struct column_reader *r,
                                                              uint32_t column);
/* The file that is read. */
const struct split_piece *column_reader_piece(const struct column_reader *r);
void column_reader_close(struct column_reader *r);

#endif
