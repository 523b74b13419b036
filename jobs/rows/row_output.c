/* See row_output.h. */
#include "jobs/rows/row_output.h"

#include "engine/base/name_table.h"
#include "jobs/rows/numbers.h"
#include "jobs/rows/partition_output.h"

#include <string.h>

int row_output_no_names(struct glint *g, const char *input)
{
    return glint_abort(g, GLINT_E_BAD_VALUE, "leave out --output-format",
                       "%s has no line of names, so its columns have none", input);
}

int row_output_match_header(struct glint_rdd *source)
{
    struct glint *g = glint_context(source);
    const struct glint_slice names = glint_first_line(source);
    struct glint_slice rest = names, name;
    uint32_t count = 0;
    if (glint_error(g)->code != GLINT_OK || glint_input_files(source) < 2 || names.data == NULL)
        return glint_error(g)->code;
    while (glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name)) count++;
    struct glint_column_use *uses = glint_alloc(g, (count + 1) * sizeof *uses);
    if (uses == NULL) return glint_error(g)->code;
    for (uint32_t i = 0; i < count; i++) uses[i] = (struct glint_column_use){i, true};
    glint_with_columns(source, names, ROW_OUTPUT_SEPARATOR, uses, count);
    glint_free(uses);
    return glint_error(g)->code;
}

/* Copies the names into `text`, each with a NUL. `types` NULL: all are text. */
static int name_columns(struct glint *g, const struct row_output_columns *output,
                        struct glint_column_type *columns, char *text)
{
    struct glint_slice rest = output->names, name;
    struct name_table names = {.names = NULL};
    const char *const *types = output->types;
    int r = 0;
    for (uint32_t i = 0; r == 0 && glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name); i++) {
        columns[i] =
            (struct glint_column_type){.name = text, .type = types != NULL ? types[i] : NULL};
        if (name.size > 0) memcpy(text, name.data, name.size);
        text[name.size] = '\0';
        if (!name_table_add(&names, text))
            r = glint_abort(g, GLINT_E_NO_MEMORY, NULL, "out of memory");
        else if (name_table_find(&names, text) != i)
            r = glint_abort(g, GLINT_E_BAD_VALUE, output->rename,
                            "two columns of the output are named \"%s\"", text);
        text += name.size + 1;
    }
    name_table_fini(&names);
    return r;
}

/* Where rows are saved: one path, or with `by_number` those of the numbers that are their keys. */
struct output_paths {
    const char *const *paths;
    uint32_t count;
    bool by_number;
};

/* Options of files of columns are an error for text. */
static int check_text_options(struct glint *g, const struct glint_job_args *args)
{
    static const char *const options[] = {"row-group-rows", "bloom-filter", "partition-by"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (glint_job_given(args, options[i]))
            return glint_abort(g, GLINT_E_USAGE, "add --output-format parquet",
                               "--%s has no meaning for a text output", options[i]);
    return 0;
}

static int save_as_text(struct glint_rdd *rows, const struct glint_job_args *args,
                        struct output_paths p)
{
    if (rows != NULL && check_text_options(glint_context(rows), args) != 0)
        return glint_error(glint_context(rows))->code;
    return p.by_number ? glint_save_as_text_files(rows, p.paths, p.count)
                       : glint_save_as_text_file(rows, p.paths[0]);
}

static int save_form(struct glint_rdd *rows, struct output_paths p,
                     const struct glint_column_form *form)
{
    return p.by_number ? glint_save_as_column_files(rows, p.paths, p.count, form)
                       : glint_save_as_column_file(rows, p.paths[0], form);
}

/* Reads --bloom-filter into `columns`, which has room for those of the form. */
static int read_bloom_columns(struct glint *g, const struct glint_job_args *args,
                              struct glint_column_form *form, uint32_t *columns)
{
    const char *list = glint_job_option(args, "bloom-filter");
    struct glint_slice rest = {(const uint8_t *)list, list != NULL ? strlen(list) : 0}, name;
    while (list != NULL && glint_next_name(&rest, ',', &name)) {
        uint32_t at = 0;
        while (at < form->count && (strlen(form->columns[at].name) != name.size ||
                                    memcmp(form->columns[at].name, name.data, name.size) != 0))
            at++;
        for (uint32_t i = 0; i < form->bloom_count; i++)
            if (columns[i] == at) at = form->count; /* it is there twice */
        if (at == form->count)
            return glint_abort(g, GLINT_E_BAD_VALUE, "list columns of OUTPUT once, by their names",
                               "--bloom-filter: \"%.*s\" is no column of OUTPUT, or is there twice",
                               (int)name.size, (const char *)name.data);
        columns[form->bloom_count++] = at;
    }
    form->bloom_columns = columns;
    return glint_error(g)->code;
}

static int save_as_columns(struct glint_rdd *rows, const struct glint_job_args *args,
                           struct output_paths p, struct glint_column_form *form)
{
    struct glint *g = glint_context(rows);
    const bool text = form->format == GLINT_TSV || form->format == GLINT_JSON_LINES;
    if (text && check_text_options(g, args) != 0) return glint_error(g)->code;
    if (form->format == GLINT_ARROW && glint_job_given(args, "bloom-filter"))
        return glint_abort(g, GLINT_E_USAGE, "add --output-format parquet",
                           "Arrow files have no Bloom filters");
    const char *partition = glint_job_option(args, "partition-by");
    if (partition != NULL && p.by_number)
        return glint_abort(g, GLINT_E_USAGE, "save the outputs one by one",
                           "--partition-by needs a job with one output");
    const char *null = glint_job_option(args, "null");
    form->empty_is_null = glint_job_option(args, "csv") != NULL && null != NULL && *null == '\0';
    form->row_group_rows = (uint32_t)glint_job_i64(g, args, "row-group-rows", 1, UINT32_MAX);
    uint32_t *columns = glint_alloc(g, (form->count + 1) * sizeof *columns);
    if (columns != NULL && read_bloom_columns(g, args, form, columns) == 0 && partition != NULL)
        partition_output_save(rows, partition, p.paths[0], form);
    else if (columns != NULL && glint_error(g)->code == GLINT_OK)
        save_form(rows, p, form);
    glint_free(columns);
    return glint_error(g)->code;
}

static int save_named_columns(struct glint_rdd *rows, const struct row_output_columns *output,
                              const struct glint_job_args *args, struct output_paths paths,
                              enum glint_column_format format)
{
    struct glint *g = glint_context(rows);
    const struct glint_slice names = output->names;
    struct glint_column_form form = {.format = format};
    struct glint_slice rest = names, name;
    if (names.data == NULL) return row_output_no_names(g, "INPUT");
    while (glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name)) form.count++;
    struct glint_column_type *columns = glint_alloc(g, (form.count + 1) * sizeof *columns);
    char *text = glint_alloc(g, names.size + form.count + 1);
    int r = columns != NULL && text != NULL ? name_columns(g, output, columns, text)
                                            : glint_error(g)->code;
    form.columns = columns;
    for (int i = 0; i < 2; i++) form.row_types[i] = output->row_types[i];
    if (r == 0) r = save_as_columns(rows, args, paths, &form);
    glint_free(columns);
    glint_free(text);
    return r;
}

int row_output_save_text(struct glint_rdd *rows, const struct glint_job_args *args,
                         const char *path)
{
    return save_as_text(rows, args, (struct output_paths){.paths = &path, .count = 1});
}

/* Returns 1 and the form of the output if it needs columns, 0 if it is that of the context's text,
 * or a code. `named`: the columns have names. */
static int choose_format(struct glint *g, struct glint_rdd *source,
                         const struct glint_job_args *args, bool named,
                         enum glint_column_format *out)
{
    static const struct {
        const char *name;
        enum glint_column_format format;
    } formats[] = {{"parquet", GLINT_PARQUET},
                   {"arrow", GLINT_ARROW},
                   {"tsv", GLINT_TSV},
                   {"jsonl", GLINT_JSON_LINES},
                   {"csv", GLINT_NO_COLUMNS}};
    const char *format = glint_job_option(args, "output-format");
    const enum glint_column_format input = glint_accept_columns(source);
    const bool csv = glint_job_option(args, "csv") != NULL;
    const bool json = glint_job_option(args, "json-lines") != NULL;
    uint32_t i = 0;
    *out = input;
    if (format == NULL) return input != GLINT_NO_COLUMNS;
    while (strcmp(format, formats[i].name) != 0) i++; /* the option's table lists these */
    *out = formats[i].format;
    if (*out == GLINT_JSON_LINES && json && !named) return 0; /* the lines are such objects */
    const bool text = *out == GLINT_NO_COLUMNS || *out == GLINT_TSV;
    if (text && input == GLINT_NO_COLUMNS && !csv && !(named && json))
        return glint_abort(g, GLINT_E_USAGE, "leave it out, or add --csv",
                           "--output-format %s needs rows of CSV or of files of columns", format);
    if (text || input != GLINT_NO_COLUMNS || named) return *out != GLINT_NO_COLUMNS;
    return glint_abort(g, GLINT_E_USAGE,
                       csv    ? "add --header"
                       : json ? "use jsonl, or choose columns with select"
                              : "add --csv --header, and --delimiter if it is not a comma",
                       "--output-format %s needs the names of columns", format);
}

int column_type_scale(const char *type, bool *out_wide)
{
    *out_wide = true;
    if (type == NULL || type[0] == '\0') return -1;
    if (type[0] == 'd') {
        const char *comma = strchr(type, ',');
        int scale = 0;
        for (const char *at = comma; at != NULL && at[1] >= '0' && at[1] <= '9' && scale < 100;
             at++)
            scale = scale * 10 + (at[1] - '0');
        return scale <= NUMBER_DIGITS_MAX ? scale : -1;
    }
    *out_wide = type[0] == 'L';
    return type[1] == '\0' && strchr("cCsSiIlL", type[0]) != NULL ? 0 : -1;
}

bool row_output_is_text(struct glint_rdd *source, const struct glint_job_args *args)
{
    const char *format = glint_job_option(args, "output-format");
    if (format == NULL) return glint_accept_columns(source) == GLINT_NO_COLUMNS;
    return strcmp(format, "csv") == 0 || strcmp(format, "tsv") == 0;
}

bool row_output_keeps_types(const struct glint_job_args *args)
{
    const char *format = glint_job_option(args, "output-format");
    const bool columns =
        format == NULL || strcmp(format, "parquet") == 0 || strcmp(format, "arrow") == 0;
    return columns && glint_job_option(args, "partition-by") == NULL;
}

void row_output_type_rows(struct glint_rdd *source, const struct glint_job_args *args)
{
    if (row_output_keeps_types(args)) glint_type_rows(source);
}

int row_output_save_columns(struct glint_rdd *rows, struct glint_rdd *source,
                            const struct glint_job_args *args, const char *path,
                            const struct row_output_columns *columns)
{
    enum glint_column_format format;
    if (rows == NULL || source == NULL) return row_output_save_text(rows, args, path);
    const bool rows_have_fields =
        glint_job_option(args, "csv") != NULL || glint_job_option(args, "json-lines") != NULL;
    const int r = choose_format(glint_context(rows), source, args,
                                columns->named && rows_have_fields, &format);
    if (r <= 0) return r == 0 ? row_output_save_text(rows, args, path) : r;
    return save_named_columns(rows, columns, args,
                              (struct output_paths){.paths = &path, .count = 1}, format);
}

static int save_rows(struct glint_rdd *rows, struct glint_rdd *source,
                     const struct glint_job_args *args, struct output_paths paths)
{
    struct glint_column_form form = {.count = 0};
    if (rows == NULL || source == NULL) return save_as_text(rows, args, paths);
    struct glint *g = glint_context(rows);
    const bool named =
        glint_job_option(args, "csv") != NULL && glint_job_option(args, "header") != NULL;
    const int r = choose_format(g, source, args, named, &form.format);
    if (r <= 0) return r == 0 ? save_as_text(rows, args, paths) : r;
    form.columns = glint_column_types(source, &form.count);
    form.row_types[0] = glint_row_types(source);
    if (glint_error(g)->code != GLINT_OK) return glint_error(g)->code;
    if (form.count > 0) return save_as_columns(rows, args, paths, &form);
    const struct row_output_columns columns = {
        .names = glint_first_line(source), /* of CSV: its columns are text */
        .named = true,
        .rename = "give one of them another name first: glint submit select --columns "
                  "'$1 AS NAME, ...'"};
    return row_output_match_header(source) == GLINT_OK
               ? save_named_columns(rows, &columns, args, paths, form.format)
               : glint_error(g)->code;
}

int row_output_save(struct glint_rdd *rows, struct glint_rdd *source,
                    const struct glint_job_args *args, const char *path)
{
    return save_rows(rows, source, args, (struct output_paths){.paths = &path, .count = 1});
}

int row_output_save_several(struct glint_rdd *rows, struct glint_rdd *source,
                            const struct glint_job_args *args, const char *const *paths,
                            uint32_t count)
{
    return save_rows(rows, source, args,
                     (struct output_paths){.paths = paths, .count = count, .by_number = true});
}
