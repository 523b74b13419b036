/* Outputs of jobs that save rows of their input: as text, or as files of columns. */
#ifndef GLINT_JOBS_ROWS_ROW_OUTPUT_H
#define GLINT_JOBS_ROWS_ROW_OUTPUT_H

#include "jobs/rows/fields.h"

#define OUTPUT_FORMAT_OPTION                                                                       \
    {                                                                                              \
        "output-format", "parquet|arrow|csv", NULL,                                                \
            "form of OUTPUT (default: that of INPUT); parquet and arrow need names of columns"     \
    }

/* Saves `rows`, (none, text), which have the columns of `source`, a source of lines by the options
 * of a table. Returns the context's code. */
int row_output_save(struct glint_rdd *rows, struct glint_rdd *source,
                    const struct glint_job_args *args, const char *path);
/* The same for rows with other columns: `names` as glint_first_line gives those of `source`, and a
 * type for each, as struct glint_column_type has it. */
int row_output_save_columns(struct glint_rdd *rows, struct glint_rdd *source,
                            const struct glint_job_args *args, const char *path,
                            struct glint_slice names, const char *const *types);

#endif
