/* The inner loop under every job over tables: the fields of a whole batch, 64 bytes at a time,
 * without a branch per row. Its kernel is chosen once per task, by what the processor can do. Pure;
 * any thread.
 *
 * A batch fits if its rows are consecutive lines: each is followed by one LF, then by the next row,
 * and none has an LF inside. Rows of a text file are, and say so; rows that a filter left, or with
 * CR LF, are not. */
#ifndef GLINT_JOBS_ROWS_FIELDS_SCAN_H
#define GLINT_JOBS_ROWS_FIELDS_SCAN_H

#include "jobs/rows/fields.h"

enum {
    FIELDS_SCAN_COLUMNS_MAX = 16, /* of id and key; beyond, rows are searched one by one */
    FIELDS_ODD_WORDS = (FIELDS_ROWS_MAX + FIELDS_SLACK) / 64 + 1,
};

/* True: the arrays that the key and `ids` ask for hold the rows [0, rows), but bit i of
 * odd[FIELDS_ODD_WORDS], zeros before, says that row i is to be read by itself: it lacks a column,
 * or its key is of an unusual spelling. Bits from `rows` on mean nothing. False: the batch does not
 * fit, the arrays are rubbish. `lines` has `start`; rows is 1 to FIELDS_ROWS_MAX; f->kernel is set.
 */
bool fields_scan(struct fields *f, const struct glint_column *lines, uint32_t rows, uint64_t *odd);

enum fields_level { FIELDS_SCALAR, FIELDS_AVX2, FIELDS_AVX512, FIELDS_LEVELS };

/* The best one for this processor and this choice of columns; NULL: none does it. */
const struct fields_kernel *fields_kernel_best(const struct fields *f);
/* A given one, for tests and benchmarks; NULL where the processor cannot run it, or as above. */
const struct fields_kernel *fields_kernel_at(const struct fields *f, enum fields_level level);

#endif
