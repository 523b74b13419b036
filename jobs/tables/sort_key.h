/* Sort keys: the columns of a row as bytes whose bytewise order is that of the rows.
 *
 *     text     the bytes; 00 is written as 00 FF, and 00 01 follows the last one
 *     number   00 01 for an empty field, or number_key
 *     time     text; before a year with a sign FE and its number of digits, or of a minus 01 and
 * that number with all bits inverted, and 9 - digit for each null     00 00 reverse  the same with
 * all bits inverted
 *
 * A key that is only one text column in ascending order is the field itself; but null is empty, and
 * 00 precedes a field that is empty or begins with 00.
 *
 * Numbers and times of typed rows (input/typed_row.h) have bytes of one size, without text:
 *
 *     value    01, then the number or time with its sign inverted, the highest byte first; of a
 *              float, bits in the order of the numbers: -0.0 is 0.0, NaN the greatest
 *     null     00
 *
 * A key that is only one such column is the value without 01, and null is empty, or with the order
 * reversed FF as often as the value has bytes, and once more. */
#ifndef GLINT_JOBS_TABLES_SORT_KEY_H
#define GLINT_JOBS_TABLES_SORT_KEY_H

#include "jobs/rows/columns.h"

/* The letters of a column, for columns_read_option, and their bits. Keys have no SORT_TEXT: it is
 * the driver's, and means that numbers and times of files of columns are texts. SORT_TIME has no
 * letter.
 */
#define SORT_LETTERS "nrt"
enum { SORT_NUMERIC = 1, SORT_REVERSE = 2, SORT_TEXT = 4, SORT_TIME = 8 };
enum { SORT_KEY_ALONE_MAX = 33 }; /* a typed value, or a null that follows all */

struct sort_keys {
    struct columns_reader reader;
    bool plain;              /* one text column in ascending order */
    bool alone;              /* one column, of typed values */
    bool typed[COLUMNS_MAX]; /* of such values */
    uint32_t groups; /* columns, the first ones, that may be null: set after sort_keys_open */
    uint8_t *bytes;
    uint64_t capacity;
    uint8_t value[64]; /* the key, with `alone`; with READ_SLACK behind it */
};

/* By the arguments of columns_args. Returns 0 or a code. */
int sort_keys_open(struct glint_task *task, struct sort_keys *k);
/* The key of a row, valid until the next call; a plain one may point into the row. *out_empty, if
 * not NULL: a column after the groups is null, or a numeric one is empty. Returns 1, 0 if the row
 * was bad and skipped, or a code. */
int sort_keys_make(struct sort_keys *k, struct glint_task *task, struct glint_slice row,
                   struct glint_slice *out, bool *out_empty);
/* The same for `count` rows of a batch, if k->alone: none is bad. Key i is [start[i], end[i]) of
 * `out`, which has room for SORT_KEY_ALONE_MAX bytes of each. */
void sort_keys_put_all(const struct sort_keys *k, const struct glint_column *rows, uint32_t count,
                       uint8_t *out, uint32_t *start, uint32_t *end);
/* Writes the key of a number or time of a typed row, which is not null. Returns its end. */
struct typed_column;
uint8_t *sort_key_put_value(uint8_t *at, const struct typed_column *c, const uint8_t *value);
/* The first `columns` columns, of text in ascending order, of a key that is not plain. */
struct glint_slice sort_key_head(struct glint_slice key, uint32_t columns);

#endif
