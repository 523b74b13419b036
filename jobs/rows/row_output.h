/* Outputs of jobs that save rows of their input: as text, or as files of columns. */
#ifndef GLINT_JOBS_ROWS_ROW_OUTPUT_H
#define GLINT_JOBS_ROWS_ROW_OUTPUT_H

#include "jobs/rows/fields.h"

/* Between the names of columns, as in glint_first_line of CSV and of files of columns. */
#define ROW_OUTPUT_SEPARATOR 0x1f

extern const struct glint_function partition_row; /* of --partition-by */

/* Options of every job that saves rows of tables. */
#define OUTPUT_FORMAT_OPTIONS                                                                      \
    {"output-format", "parquet|arrow|csv|tsv|jsonl", NULL,                                         \
     "form of OUTPUT (default: that of INPUT); all but csv and tsv need names of columns"},        \
        {"row-group-rows", "N", "1048576", "parquet and arrow: rows of a row group, at most"},     \
        {"partition-by", "COLS", NULL,                                                             \
         "parquet and arrow: columns of OUTPUT that name directories, as in dt=2026-01-01/"},      \
    {                                                                                              \
        "bloom-filter", "COLS", NULL,                                                              \
            "parquet: columns of OUTPUT that get a Bloom filter in each row group"                 \
    }

/* Whether the output is lines of fields, which may begin with a header. */
bool row_output_is_text(struct glint_rdd *source, const struct glint_job_args *args);
/* Whether columns of files of columns stay what they are: the rows of a job that only keeps them,
 * or reads columns of them by columns.h, may be typed. */
bool row_output_keeps_types(const struct glint_job_args *args);
/* Makes the rows of a source typed if so. */
void row_output_type_rows(struct glint_rdd *source, const struct glint_job_args *args);
/* Saves `rows` in the context's text form, which the options must not contradict. Returns the
 * context's code. */
int row_output_save_text(struct glint_rdd *rows, const struct glint_job_args *args,
                         const char *path);
/* Saves `rows`, (none, text), which have the columns of `source`, a source of lines by the options
 * of a table. Returns the context's code. */
int row_output_save(struct glint_rdd *rows, struct glint_rdd *source,
                    const struct glint_job_args *args, const char *path);
/* The same for `count` outputs, by number of output (glint_save_as_text_files). */
int row_output_save_several(struct glint_rdd *rows, struct glint_rdd *source,
                            const struct glint_job_args *args, const char *const *paths,
                            uint32_t count);
/* Fails the context: the columns of an empty input have no names. Returns its code. */
int row_output_fail_without_names(struct glint *g, const char *input);
enum { DECIMAL_TYPE_BYTES = 16 }; /* of the type of a decimal of 38 digits, d:38,SCALE */
/* How many digits after the point exact numbers of a type have, at most 38; -1: it has others.
 * *out_wide is whether they may not fit 64 bit integers. */
int column_type_scale(const char *type, bool *out_wide);
/* Other columns than those of the input. */
struct row_output_columns {
    struct glint_slice names; /* with ROW_OUTPUT_SEPARATOR, or the delimiter of text outputs */
    const char *const *types; /* one each, as struct glint_column_type has it */
    bool named;               /* they are names, not fields of a first row without a header */
    const char *rename;       /* the hint if two names are equal */
    struct glint_slice row_types[2]; /* as struct glint_column_form has them */
    /* NULL, or sets types that an action tells, after all options were checked. Returns 0 or the
     * context's code. */
    int (*find_types)(void *arg, struct glint_column_type *columns);
    void *find_types_arg;
};
int row_output_save_columns(struct glint_rdd *rows, struct glint_rdd *source,
                            const struct glint_job_args *args, const char *path,
                            const struct row_output_columns *columns);

#endif
