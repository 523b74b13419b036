/* Expressions over the columns of a table, and the filter that --where is. */
#ifndef GLINT_JOBS_ROWS_WHERE_H
#define GLINT_JOBS_ROWS_WHERE_H

#include "jobs/rows/columns.h"
#include "jobs/rows/expression.h"

/* ---- Driver */

/* What finds the columns of an expression in a table: expression_source.arg. */
struct where_columns {
    struct table *table;
    const char *option;     /* for messages */
    struct columns columns; /* those that expressions use, once each */
};

/* Begins to read the text of an option. */
void where_parse_begin(struct expression_source *s, struct where_columns *columns, struct table *t,
                       const char *option, const char *text);
/* Ends reading. Returns 0, or the context's code with its error set. */
int where_parse_end(struct expression_source *s, const struct where_columns *columns);
/* Reads an option of a table into t->where. Returns 0 or the context's code. */
int where_option(struct table *t, const struct glint_job_args *args, const char *option);
/* Compiles a condition that is all of `text`. Returns arguments for where_rows; NULL with the
 * context's error set. */
struct glint_args *where_compile(struct table *t, const char *option, const char *text);
/* The rows for which the condition is true; all rows if `where` is NULL. */
struct glint_rdd *where_rows(struct glint_rdd *lines, struct glint_args *where);

extern const struct glint_function where_keep;

/* ---- Task */

/* Reports that an expression has no value, as columns_bad_value. */
int where_bad_row(const struct columns_reader *r, struct glint_task *task, struct glint_slice row,
                  const struct glint_slice *fields, const struct expression_problem *problem);

#endif
