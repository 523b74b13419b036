/* The inner loop of every job that reads tables: finds the fields of a whole batch, 64 bytes at a
 * time, without a branch per row. The kernel is chosen once per task, by processor. Pure functions;
 * any thread.
 *
 * A batch can be scanned if its rows are consecutive lines: each is followed by one LF, then by the
 * next row, and none contains an LF. That is known for rows of a text file; rows after a filter, or
 * with CR LF, are no such lines. */
#ifndef GLINT_JOBS_ROWS_FIELDS_SCAN_H
#define GLINT_JOBS_ROWS_FIELDS_SCAN_H

#include "engine/batch.h"
#include "jobs/rows/fields.h"

enum {
    FIELDS_SCAN_COLUMNS_MAX =
        16, /* of id and key; rows with later columns are searched one by one */
    FIELDS_ODD_WORDS = (FIELDS_ROWS_MAX + FIELDS_SLACK) / 64 + 1,
};

/* Scans `lines`, which has `start`; rows is 1 to FIELDS_ROWS_MAX; f->kernel is set. Returns true if
 * the arrays for the key and `ids` have the rows [0, rows), except rows i whose bit i of
 * odd[FIELDS_ODD_WORDS] (zero before) is set: they must be parsed one by one, because a column is
 * missing or the key has an unusual notation. Bits from `rows` on are undefined. Returns false,
 * with undefined arrays, if the batch cannot be scanned. */
bool fields_scan(struct fields *f, const struct glint_column *lines, uint32_t rows, uint64_t *odd);

enum fields_level { FIELDS_SCALAR, FIELDS_AVX2, FIELDS_AVX512, FIELDS_VBMI2, FIELDS_LEVELS };

/* The best kernel for this processor and these columns; NULL if there is none. */
const struct fields_kernel *fields_kernel_best(const struct fields *f);
/* A given kernel, for tests and benchmarks; NULL if the processor does not support it, or as above.
 */
const struct fields_kernel *fields_kernel_at(const struct fields *f, enum fields_level level);

#endif
