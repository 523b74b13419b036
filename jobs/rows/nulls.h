/* Nulls in rows of tables. Those of CSV and JSON lines are NULLS_MARK, which no other field is; in
 * plain lines the text of --null is null. Only this header knows: typed rows replace it. */
#ifndef GLINT_JOBS_ROWS_NULLS_H
#define GLINT_JOBS_ROWS_NULLS_H

#include "engine/glint.h"

#include <string.h>

#define NULLS_MARK 0x1d /* as glint_with_nulls makes it */

/* Options of jobs that read rows; and of those that read columns of them. */
#define NULL_OPTION                                                                                \
    {                                                                                              \
        "null", "TEXT", "\\N",                                                                     \
            "a field that is null, with --csv if it has no quotes; also written"                   \
    }
#define MISSING_OPTION                                                                             \
    {                                                                                              \
        "missing", "null|fail", NULL,                                                              \
            "with --json-lines: a value that a line does not have (default: null); else a column " \
            "by name that a file does not have (default: fail)"                                    \
    }

/* ---- Driver. The options. */

struct nulls {
    const char *text;
    bool missing; /* what a line of JSON, or a file, does not have: null, too */
    bool marked;  /* nulls of rows are NULLS_MARK */
    bool header;  /* of text: files may have other columns */
};

/* Reads --null. `csv` and `delimiter` as struct fields. Returns 0 or the context's code. */
int nulls_read_option(struct glint *g, const struct glint_job_args *args, uint8_t csv,
                      uint8_t delimiter, struct nulls *out);
/* Reads --missing, of jobs with columns, `csv` as before, `header`: the first line of each file is
 * one. It fails the context if it has no effect. */
void nulls_read_missing_option(struct glint *g, const struct glint_job_args *args, uint8_t csv,
                               bool header, struct nulls *n);
/* Applies them to a source, after its form. Returns `lines`. */
struct glint_rdd *nulls_source(struct glint_rdd *lines, const struct nulls *n);
/* What a null is in rows. */
struct glint_slice nulls_in_rows(const struct nulls *n);
/* Arguments for nulls_open. */
void nulls_args(struct glint_args *args, const struct nulls *n);

/* ---- Task */

/* Sets *out to what a null is in rows; the task owns it. Returns 0 or a code. */
int nulls_open(struct glint_task *task, struct glint_slice *out);
static inline bool nulls_is(struct glint_slice null, struct glint_slice field)
{
    return field.size == null.size &&
           (field.size == 0 || memcmp(field.data, null.data, field.size) == 0);
}

#endif
