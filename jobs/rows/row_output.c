/* See row_output.h. */
#include "jobs/rows/row_output.h"

#include <string.h>

#define CSV_NAME_SEPARATOR 0x1f /* of glint_first_line of CSV */

/* The columns of CSV are text, by the names of the header. */
static int header_columns(struct glint_rdd *source, struct glint_slice names,
                          struct glint_column_form *form)
{
    struct glint *g = glint_context(source);
    struct glint_slice rest = names, name;
    uint32_t count = 0;
    while (glint_next_name(&rest, CSV_NAME_SEPARATOR, &name)) count++;
    struct glint_column_type *columns = glint_alloc(g, (count + 1) * sizeof *columns);
    char *text = glint_alloc(g, names.size + count + 1);
    if (columns == NULL || text == NULL) {
        glint_free(columns);
        glint_free(text);
        return glint_error(g)->code;
    }
    char *at = text;
    rest = names;
    for (uint32_t i = 0; glint_next_name(&rest, CSV_NAME_SEPARATOR, &name); i++) {
        columns[i] = (struct glint_column_type){.name = at};
        if (name.size > 0) memcpy(at, name.data, name.size);
        at[name.size] = '\0';
        at += name.size + 1;
    }
    form->columns = columns;
    form->count = count;
    return 0;
}

static int save_header_columns(struct glint_rdd *rows, struct glint_rdd *source, const char *path,
                               struct glint_column_form *form)
{
    const struct glint_slice names = glint_first_line(source);
    if (glint_error(glint_context(rows))->code != GLINT_OK || names.size == 0)
        return glint_error(glint_context(rows))->code;
    int r = header_columns(source, names, form);
    if (r != 0) return r;
    r = glint_save_as_column_file(rows, path, form);
    glint_free((void *)form->columns[0].name);
    glint_free((void *)form->columns);
    return r;
}

int row_output_save(struct glint_rdd *rows, struct glint_rdd *source,
                    const struct glint_job_args *args, const char *path)
{
    if (rows == NULL || source == NULL) return glint_save_as_text_file(rows, path);
    struct glint *g = glint_context(rows);
    const char *format = glint_job_option(args, "output-format");
    const enum glint_column_format input = glint_accept_columns(source);
    if (format == NULL ? input == GLINT_NO_COLUMNS : strcmp(format, "csv") == 0) {
        if (format != NULL && input == GLINT_NO_COLUMNS && glint_job_option(args, "csv") == NULL)
            return glint_abort(g, GLINT_E_USAGE, "leave it out, or add --csv",
                               "--output-format csv needs rows of CSV or of files of columns");
        return glint_save_as_text_file(rows, path);
    }
    struct glint_column_form form = {.format = input};
    if (format != NULL) form.format = strcmp(format, "parquet") == 0 ? GLINT_PARQUET : GLINT_ARROW;
    if (input != GLINT_NO_COLUMNS) {
        form.columns = glint_column_types(source, &form.count);
        return form.count > 0 ? glint_save_as_column_file(rows, path, &form) : glint_error(g)->code;
    }
    if (glint_job_option(args, "csv") == NULL || glint_job_option(args, "header") == NULL)
        return glint_abort(g, GLINT_E_USAGE, "add --csv --header",
                           "--output-format %s needs the names of columns", format);
    return save_header_columns(rows, source, path, &form);
}
