/* --partition-by: rows of columns in directories like dt=2026-01-01/, which their values name, as
 * Spark and DuckDB write them. */
#ifndef GLINT_JOBS_ROWS_PARTITION_OUTPUT_H
#define GLINT_JOBS_ROWS_PARTITION_OUTPUT_H

#include "jobs/rows/fields.h"

extern const struct glint_function partition_row;

/* Saves rows of `form` by the columns that `list` names, which leave the rows. Returns the
 * context's code. */
int partition_output_save(struct glint_rdd *rows, const char *list, const char *path,
                          const struct glint_column_form *form);

#endif
