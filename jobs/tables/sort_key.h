/* Sort keys: the columns of a row as bytes whose bytewise order is that of the rows.
 *
 *     text     the bytes; 00 is written as 00 FF, and 00 01 follows the last one
 *     number   00 01 for an empty field, or number_key
 *     null     00 00
 *     reverse  the same with all bits inverted
 *
 * A key that is only one text column in ascending order is the field itself; but null is empty, and
 * 00 precedes a field that is empty or begins with 00. */
#ifndef GLINT_JOBS_TABLES_SORT_KEY_H
#define GLINT_JOBS_TABLES_SORT_KEY_H

#include "jobs/rows/columns.h"

/* The letters of a column, for columns_option, and their bits. Keys have no SORT_TEXT: it is the
 * driver's, and means that numbers and times of files of columns are texts. SORT_TIME has no
 * letter.
 */
#define SORT_LETTERS "nrt"
enum { SORT_NUMERIC = 1, SORT_REVERSE = 2, SORT_TEXT = 4, SORT_TIME = 8 };

struct sort_keys {
    struct columns_reader reader;
    bool plain;      /* one text column in ascending order */
    uint32_t groups; /* columns, the first ones, that may be null: set after sort_keys_open */
    uint8_t *bytes;
    uint64_t capacity;
};

/* By the arguments of columns_args. Returns 0 or a code. */
int sort_keys_open(struct glint_task *task, struct sort_keys *k);
/* The key of a row, valid until the next call; a plain one may point into the row. *out_empty, if
 * not NULL: a column after the groups is null, or a numeric one is empty. Returns 1, 0 if the row
 * was bad and skipped, or a code. */
int sort_keys_make(struct sort_keys *k, struct glint_task *task, struct glint_slice row,
                   struct glint_slice *out, bool *out_empty);
/* The first `columns` columns, of text in ascending order, of a key that is not plain. */
struct glint_slice sort_key_head(struct glint_slice key, uint32_t columns);

#endif
