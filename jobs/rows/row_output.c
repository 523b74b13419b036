/* See row_output.h. */
#include "jobs/rows/row_output.h"

#include "engine/base/name_table.h"
#include "jobs/rows/numbers.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* ---- --partition-by: rows of columns in directories like dt=2026-01-01/, which their values name,
 * as Spark and DuckDB write them. Rows are shuffled and sorted by directory, so that a task writes
 * one file after another. */

/* What DuckDB leaves as it is, the unreserved characters of RFC 3986; Spark escapes fewer. */
#define PLAIN_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"

static const char null_directory[] = "__HIVE_DEFAULT_PARTITION__";

/* ---- partition.row: a row -> (directory, row without the columns) */

struct partition_state {
    struct glint_slice columns; /* of the directory: numbers of 4 bytes, in its order */
    struct glint_slice names;   /* theirs, escaped, each with = and a NUL */
    bool empty_is_null;         /* an empty field is null, too */
    int64_t floats;             /* bit i: column i is one */
    struct glint_slice fields[GLINT_PARTITION_COLUMNS_MAX];
    struct glint_buffer directory, row, text;
};

static int partition_row_init(struct glint_task *task, void *state)
{
    struct partition_state *s = state;
    int64_t empty_is_null;
    int e = glint_arg_slice(task, "columns", &s->columns);
    if (e == 0) e = glint_arg_slice(task, "names", &s->names);
    if (e == 0) e = glint_arg_i64(task, "empty_is_null", &empty_is_null);
    if (e == 0) e = glint_arg_i64(task, "floats", &s->floats);
    if (e != 0) return e;
    const uint64_t count = s->columns.size / sizeof(uint32_t);
    uint64_t names = 0;
    for (uint64_t i = 0; i < s->names.size; i++) names += s->names.data[i] == '\0';
    if (count == 0 || count > GLINT_PARTITION_COLUMNS_MAX || names != count ||
        s->names.data[s->names.size - 1] != '\0')
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL,
                          "columns of directories are not valid");
    s->empty_is_null = empty_is_null != 0;
    return 0;
}

static uint32_t partition_column_at(const struct partition_state *s, uint64_t i)
{
    uint32_t number;
    assert((i + 1) * sizeof number <= s->columns.size);
    memcpy(&number, s->columns.data + i * sizeof number, sizeof number);
    return number;
}

/* Appends a value, with %XX for all bytes but PLAIN_BYTES. A text that looks like null has an
 * escape. */
static int append_escaped_partition_value(struct glint_task *task, struct glint_buffer *out,
                                          struct glint_slice value)
{
    static const char digits[] = "0123456789ABCDEF";
    const bool looks_null = value.size == sizeof null_directory - 1 &&
                            memcmp(value.data, null_directory, value.size) == 0;
    int e = 0;
    for (uint64_t i = 0; e >= 0 && i < value.size; i++) {
        const uint8_t byte = value.data[i];
        const char escape[] = {'%', digits[byte >> 4], digits[byte & 15]};
        const bool plain = byte != '\0' && strchr(PLAIN_BYTES, byte) != NULL;
        e = plain && !(looks_null && i == 0) ? glint_append(task, out, &byte, 1)
                                             : glint_append(task, out, escape, sizeof escape);
    }
    return e < 0 ? e : 0;
}

/* The same of a field, which may have escapes. */
static int append_escaped_partition_field(struct partition_state *s, struct glint_task *task,
                                          struct glint_slice field)
{
    if (!glint_field_has_escape(field))
        return append_escaped_partition_value(task, &s->directory, field);
    s->text.size = 0;
    const int e = glint_append(task, &s->text, field.data, field.size);
    if (e < 0) return e;
    field = (struct glint_slice){s->text.data, glint_unescape_field(field, s->text.data)};
    return append_escaped_partition_value(task, &s->directory, field);
}

/* Zeros have no sign: one directory, as they are one key elsewhere. */
static struct glint_slice without_sign_of_zero(struct glint_slice value)
{
    if (value.size < 2 || value.data[0] != '-') return value;
    for (uint64_t i = 1; i < value.size; i++)
        if (value.data[i] != '0' && value.data[i] != '.') return value;
    return (struct glint_slice){value.data + 1, value.size - 1};
}

static int append_directory(struct partition_state *s, struct glint_task *task,
                            struct glint_slice row)
{
    const char *name = (const char *)s->names.data;
    s->directory.size = 0;
    for (uint64_t i = 0; i < s->columns.size / sizeof(uint32_t); i++) {
        const struct glint_slice value =
            (s->floats >> i & 1) != 0 ? without_sign_of_zero(s->fields[i]) : s->fields[i];
        const bool null =
            (value.size == 1 && *value.data == NULLS_MARK) || (value.size == 0 && s->empty_is_null);
        const uint64_t from = s->directory.size + (i > 0);
        int e = i > 0 ? glint_append(task, &s->directory, "/", 1) : 0;
        if (e >= 0) e = glint_append(task, &s->directory, name, strlen(name));
        if (e >= 0 && null)
            e = glint_append(task, &s->directory, null_directory, sizeof null_directory - 1);
        else if (e >= 0)
            e = append_escaped_partition_field(s, task, value);
        if (e < 0) return e;
        if (s->directory.size - from > NAME_MAX)
            return glint_fail_row(
                task, GLINT_E_BAD_ROW, row, "choose a column with shorter values",
                "--partition-by: the name of a directory is longer than 255 bytes");
        name += strlen(name) + 1;
    }
    return 0;
}

static int emit_partitioned_row(struct glint_task *task, void *state, const struct glint_record *in,
                                struct glint_emitter *out)
{
    struct partition_state *s = state;
    const struct glint_slice row = in->value.bytes;
    struct glint_slice rest = row, field;
    const uint64_t columns = s->columns.size / sizeof(uint32_t);
    uint64_t found = 0, kept = 0;
    int e = 0;
    s->row.size = 0;
    for (uint32_t number = 0; e >= 0 && glint_next_field(&rest, ROW_OUTPUT_SEPARATOR, &field);
         number++) {
        uint64_t i = 0;
        while (i < columns && partition_column_at(s, i) != number) i++;
        if (i < columns) {
            s->fields[i] = field;
            found++;
            continue;
        }
        const uint8_t separator = ROW_OUTPUT_SEPARATOR;
        if (kept++ > 0) e = glint_append(task, &s->row, &separator, 1);
        if (e >= 0 && field.size > 0) e = glint_append(task, &s->row, field.data, field.size);
    }
    if (e >= 0 && found < columns)
        e = glint_fail_row(task, GLINT_E_BAD_ROW, row, NULL,
                           "it has fewer fields than the output has columns");
    if (e >= 0) e = append_directory(s, task, row);
    if (e < 0) return e;
    const struct glint_record record = {.key.bytes = {s->directory.data, s->directory.size},
                                        .value.bytes = {s->row.data, s->row.size}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function partition_row = {.name = "partition.row",
                                             .kind = GLINT_KIND_MAP,
                                             .in = GLINT_ELEMENTS(GLINT_TEXT),
                                             .out = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                             .state_size = sizeof(struct partition_state),
                                             .open = partition_row_init,
                                             .each = emit_partitioned_row};

/* ---- Driver */

struct partition_plan {
    struct glint *g;
    const struct glint_column_form *form;
    uint32_t numbers[GLINT_PARTITION_COLUMNS_MAX], count;
    struct glint_column_type *kept; /* the columns that stay */
    uint32_t kept_count;
};

static bool is_partition_column(const struct partition_plan *p, uint32_t number)
{
    uint32_t i = 0;
    while (i < p->count && p->numbers[i] != number) i++;
    return i < p->count;
}

static int add_partition_column(struct partition_plan *p, struct glint_slice name)
{
    const struct glint_column_form *form = p->form;
    uint32_t at = 0;
    while (at < form->count && (strlen(form->columns[at].name) != name.size ||
                                memcmp(form->columns[at].name, name.data, name.size) != 0))
        at++;
    if (at == form->count || is_partition_column(p, at))
        return glint_abort(p->g, GLINT_E_BAD_VALUE, "list columns of OUTPUT once, by their names",
                           "--partition-by: \"%.*s\" is no column of OUTPUT, or is there twice",
                           (int)name.size, (const char *)name.data);
    if (p->count == GLINT_PARTITION_COLUMNS_MAX || p->count + 1 == form->count)
        return glint_abort(p->g, GLINT_E_BAD_VALUE, "choose fewer columns",
                           p->count + 1 == form->count
                               ? "--partition-by: no column is left for rows"
                               : "--partition-by: more than %d columns",
                           GLINT_PARTITION_COLUMNS_MAX);
    /* A directory whose name begins so is hidden: readers leave it out. */
    if (name.size == 0 || name.data[0] == '_' || name.data[0] == '.')
        return glint_abort(p->g, GLINT_E_BAD_VALUE,
                           "rename the column: --columns 'NAME AS OTHER' of select",
                           "--partition-by: \"%.*s\" is no name of a directory that is read",
                           (int)name.size, (const char *)name.data);
    const char *type = form->columns[at].type;
    if (type != NULL && (type[0] == '+' || type[0] == 'z' || type[0] == 'Z' || type[0] == 'w'))
        return glint_abort(p->g, GLINT_E_BAD_VALUE, "choose a column of numbers, texts or dates",
                           "--partition-by: \"%.*s\" has bytes or nested values", (int)name.size,
                           (const char *)name.data);
    p->numbers[p->count++] = at;
    return 0;
}

/* Appends the name of a column as that of a directory. Returns where it ends. */
static char *append_escaped_column_name(char *out, const char *name)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *name != '\0'; name++) {
        const uint8_t byte = (uint8_t)*name;
        if (strchr(PLAIN_BYTES, byte) != NULL) {
            *out++ = (char)byte;
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    *out++ = '=';
    *out++ = '\0';
    return out;
}

static struct glint_args *make_arguments(const struct partition_plan *p)
{
    uint64_t size = 0, floats = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const char *type = p->form->columns[p->numbers[i]].type;
        const bool is_float = type != NULL && type[0] != '\0' && strchr("efg", type[0]) != NULL;
        floats |= (uint64_t)is_float << i;
    }
    for (uint32_t i = 0; i < p->count; i++)
        size += 3 * strlen(p->form->columns[p->numbers[i]].name) + 2;
    char *const names = glint_alloc(p->g, size + 1), *end = names;
    struct glint_args *args = names != NULL ? glint_args(p->g) : NULL;
    for (uint32_t i = 0; args != NULL && i < p->count; i++)
        end = append_escaped_column_name(end, p->form->columns[p->numbers[i]].name);
    if (args != NULL) {
        glint_args_add_bytes(args, "columns", p->numbers, p->count * sizeof p->numbers[0]);
        glint_args_add_bytes(args, "names", names, (uint64_t)(end - names));
        glint_args_add_i64(args, "empty_is_null", p->form->empty_is_null);
        glint_args_add_i64(args, "floats", (int64_t)floats);
    }
    glint_free(names);
    return args;
}

static int save_partitions(struct partition_plan *p, struct glint_rdd *rows, const char *path)
{
    struct glint_column_form form = *p->form;
    struct glint_args *args = make_arguments(p);
    if (args == NULL) return glint_error(p->g)->code;
    for (uint32_t i = 0; i < form.count; i++)
        if (!is_partition_column(p, i)) p->kept[p->kept_count++] = form.columns[i];
    form.columns = p->kept;
    form.count = p->kept_count;
    struct glint_rdd *pairs = glint_map(rows, &partition_row, args);
    pairs = glint_repartition_and_sort_within_partitions(pairs, 0, true);
    return glint_save_as_partitioned_column_files(pairs, path, &form);
}

/* Saves rows of `form` by the columns that `list` names, which leave the rows. Returns the
 * context's code. */
static int partition_output_save(struct glint_rdd *rows, const char *list, const char *path,
                                 const struct glint_column_form *form)
{
    struct partition_plan p = {.g = glint_context(rows), .form = form};
    struct glint_slice rest = {(const uint8_t *)list, strlen(list)}, name;
    while (glint_next_name(&rest, ',', &name))
        if (add_partition_column(&p, name) != 0) return glint_error(p.g)->code;
    if (form->bloom_count > 0)
        return glint_abort(p.g, GLINT_E_USAGE, "leave one of them out",
                           "--bloom-filter and --partition-by cannot be used together");
    p.kept = glint_alloc(p.g, form->count * sizeof *p.kept);
    const int r = p.kept != NULL ? save_partitions(&p, rows, path) : glint_error(p.g)->code;
    glint_free(p.kept);
    return r;
}

int row_output_fail_without_names(struct glint *g, const char *input)
{
    return glint_abort(g, GLINT_E_BAD_VALUE, "leave out --output-format",
                       "%s has no line of names, so its columns have none", input);
}

/* Copies the names into `text`, each with a NUL. `types` NULL: all are text. */
static int set_names_of_columns(struct glint *g, const struct row_output_columns *output,
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
static int check_no_column_file_options(struct glint *g, const struct glint_job_args *args)
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
    if (rows != NULL && check_no_column_file_options(glint_context(rows), args) != 0)
        return glint_error(glint_context(rows))->code;
    return p.by_number ? glint_save_as_text_files(rows, p.paths, p.count)
                       : glint_save_as_text_file(rows, p.paths[0]);
}

static int save_rows_in_column_form(struct glint_rdd *rows, struct output_paths p,
                                    const struct glint_column_form *form)
{
    return p.by_number ? glint_save_as_column_files(rows, p.paths, p.count, form)
                       : glint_save_as_column_file(rows, p.paths[0], form);
}

/* Reads --bloom-filter into `columns`, which has room for those of the form. */
static int read_bloom_filter_option(struct glint *g, const struct glint_job_args *args,
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

/* Of `output`, or NULL if the rows have the columns of the input: sets types of `columns`. */
static int find_types_of_columns(struct glint *g, const struct row_output_columns *output,
                                 const char *path, struct glint_column_type *columns)
{
    if (output == NULL || output->find_types == NULL) return 0;
    const int r = glint_reserve_output(g, path);
    return r == 0 ? output->find_types(output->find_types_arg, columns) : r;
}

/* `output` and `named` are NULL if the rows have the columns of the input. */
static int save_as_columns(struct glint_rdd *rows, const struct glint_job_args *args,
                           struct output_paths p, struct glint_column_form *form,
                           const struct row_output_columns *output, struct glint_column_type *named)
{
    struct glint *g = glint_context(rows);
    const bool text = form->format == GLINT_TSV || form->format == GLINT_JSON_LINES;
    if (text && check_no_column_file_options(g, args) != 0) return glint_error(g)->code;
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
    if (columns == NULL || read_bloom_filter_option(g, args, form, columns) != 0 ||
        find_types_of_columns(g, output, p.paths[0], named) != 0)
        assert(glint_error(g)->code != GLINT_OK);
    else if (partition != NULL)
        partition_output_save(rows, partition, p.paths[0], form);
    else
        save_rows_in_column_form(rows, p, form);
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
    if (names.data == NULL) return row_output_fail_without_names(g, "INPUT");
    while (glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name)) form.count++;
    struct glint_column_type *columns = glint_alloc(g, (form.count + 1) * sizeof *columns);
    char *text = glint_alloc(g, names.size + form.count + 1);
    int r = columns != NULL && text != NULL ? set_names_of_columns(g, output, columns, text)
                                            : glint_error(g)->code;
    form.columns = columns;
    for (int i = 0; i < 2; i++) form.row_types[i] = output->row_types[i];
    if (r == 0) r = save_as_columns(rows, args, paths, &form, output, columns);
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
                       "--output-format %s needs %s", format,
                       csv || json ? "the names of columns" : "rows of CSV with a header");
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
    if (strncmp(type, "tD", 2) == 0) { /* a duration is an integer */
        *out_wide = false;
        return 0;
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

static int save_rows_to_paths(struct glint_rdd *rows, struct glint_rdd *source,
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
    if (form.count > 0) return save_as_columns(rows, args, paths, &form, NULL, NULL);
    const struct row_output_columns columns = {
        .names = glint_first_line(source), /* of CSV: its columns are text */
        .named = true,
        .rename = "give one of them another name first: glint submit select --columns "
                  "'$1 AS NAME, ...'"};
    return glint_error(g)->code == GLINT_OK
               ? save_named_columns(rows, &columns, args, paths, form.format)
               : glint_error(g)->code;
}

int row_output_save(struct glint_rdd *rows, struct glint_rdd *source,
                    const struct glint_job_args *args, const char *path)
{
    return save_rows_to_paths(rows, source, args,
                              (struct output_paths){.paths = &path, .count = 1});
}

int row_output_save_several(struct glint_rdd *rows, struct glint_rdd *source,
                            const struct glint_job_args *args, const char *const *paths,
                            uint32_t count)
{
    return save_rows_to_paths(
        rows, source, args,
        (struct output_paths){.paths = paths, .count = count, .by_number = true});
}
