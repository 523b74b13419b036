/* The driver's part of reading a table. */
#include "jobs/rows/fields.h"

#include "jobs/rows/columns.h"
#include "jobs/rows/fields_kernel.h"
#include "jobs/rows/where.h"

#include <assert.h>

#define PLAIN_SEPARATOR 0x1f /* of the rows that glint_with_csv gives */

struct glint_column fields_key_column(const struct fields *f)
{
    if (f->key != FIELDS_TEXT) return (struct glint_column){.type = GLINT_I64, .i64 = f->number};
    return (struct glint_column){.type = GLINT_TEXT,
                                 .base = f->key_base,
                                 .size = f->key_size,
                                 .start = f->text_start,
                                 .end = f->text_end};
}

enum glint_type fields_key_type(const struct fields *f)
{
    return f->key == FIELDS_TEXT ? GLINT_TEXT : GLINT_I64;
}

/* --csv and --json-lines exclude each other, and lines of JSON have no delimiter. */
static int check_row_format(struct glint *g, const struct glint_job_args *args, const char *option)
{
    if (glint_job_option(args, "json-lines") == NULL) return glint_error(g)->code;
    if (glint_job_option(args, "csv") != NULL)
        return glint_abort(g, GLINT_E_USAGE, "use only one of them",
                           "--csv and --json-lines cannot both be set");
    if (glint_job_option(args, option) != NULL)
        return glint_abort(g, GLINT_E_USAGE, NULL, "--%s has no meaning with --json-lines", option);
    return glint_error(g)->code;
}

/* Files of columns say themselves what their rows are. */
static int check_columns_options(struct glint *g, const struct glint_job_args *args,
                                 const char *option, const char *paths)
{
    const char *const needless[] = {"csv", "json-lines", "header", option};
    for (size_t i = 0; i < sizeof needless / sizeof needless[0]; i++)
        if (glint_job_option(args, needless[i]) != NULL)
            return glint_abort(g, GLINT_E_USAGE, "leave it out",
                               "--%s has no meaning with files of columns: %s", needless[i], paths);
    return glint_error(g)->code;
}

int fields_delimiter(struct glint *g, const struct glint_job_args *args, const char *option,
                     const char *paths, uint8_t *out, uint8_t *out_csv)
{
    if (paths != NULL && glint_probe_columns(g, paths) != GLINT_NO_COLUMNS) {
        *out = PLAIN_SEPARATOR;
        *out_csv = FIELDS_COLUMNS;
        return check_columns_options(g, args, option, paths);
    }
    const bool csv = glint_job_option(args, "csv") != NULL;
    const bool json = glint_job_option(args, "json-lines") != NULL;
    const char *given = glint_job_option(args, option);
    const char *text = given != NULL ? given : csv ? "," : "\\t";
    const bool tab = strcmp(text, "\\t") == 0;
    const uint8_t delimiter = tab ? '\t' : (uint8_t)text[0];
    *out = csv || json ? PLAIN_SEPARATOR : delimiter;
    *out_csv = json ? FIELDS_JSON : csv ? delimiter : 0;
    if (check_row_format(g, args, option) != 0) return glint_error(g)->code;
    if (tab || (strlen(text) == 1 && strchr(csv ? "\n\r\"\x1f" : "\n", text[0]) == NULL))
        return glint_error(g)->code;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use one byte, or \\t for a tab",
                       "--%s \"%s\" is not one byte%s", option, text,
                       strlen(text) == 1 ? " that can be between fields" : "");
}

struct glint_rdd *fields_source(struct glint_rdd *lines, uint8_t csv, bool header)
{
    if (csv == FIELDS_JSON && header && lines != NULL)
        glint_abort(glint_context(lines), GLINT_E_USAGE, NULL,
                    "--header has no meaning with --json-lines: each line has the names");
    if (csv == FIELDS_JSON) return glint_with_json_lines(lines, NULL, 0);
    if (csv == FIELDS_COLUMNS) {
        glint_accept_columns(lines);
        return lines;
    }
    if (csv != 0) lines = glint_with_csv(lines, (char)csv);
    return header ? glint_with_header(lines) : lines;
}

/* The rows for which --where is true, of a source that has the columns of `f`. */
static struct glint_rdd *filter_rows_by_where(struct glint_rdd *lines, const char *paths,
                                              const struct fields *f)
{
    if (f->where == NULL || lines == NULL) return lines;
    struct table t = {.g = glint_context(lines),
                      .paths = paths,
                      .lines = lines,
                      .delimiter = f->delimiter,
                      .csv = f->csv,
                      .nulls = f->nulls,
                      .header = f->header,
                      .json_count = f->json_count,
                      .names = f->names,
                      .use_count = f->use_count};
    memcpy(t.json_paths, f->json_paths, sizeof f->json_paths);
    memcpy(t.uses, f->uses, sizeof f->uses);
    struct glint_args *where = where_compile(&t, "where", f->where);
    return where != NULL ? where_rows(lines, where) : NULL;
}

/* All rows; the RDD is the source, as row_output_save and glint_key_columns want it. */
static struct glint_rdd *read_rows_of_source(struct glint_rdd *lines, const struct fields *f)
{
    lines = fields_source(lines, f->csv, f->header);
    columns_match(lines, f->names, f->delimiter, f->uses, f->use_count);
    if (f->whole) columns_match_rows(lines, f->csv, f->header);
    if (f->csv == FIELDS_COLUMNS && f->key == FIELDS_TEXT)
        glint_key_columns(lines, &f->key_column, 1);
    if (f->csv == FIELDS_JSON) lines = glint_with_json_lines(lines, f->json_paths, f->json_count);
    return nulls_source(lines, &f->nulls);
}

static struct glint_rdd *read_rows_that_match_where(struct glint_rdd *lines, const char *paths,
                                                    const struct fields *f)
{
    return filter_rows_by_where(read_rows_of_source(lines, f), paths, f);
}

struct glint_slice fields_unquote_name(struct glint *g, struct glint_slice name)
{
    uint64_t size = 0;
    if (name.size == 0 || memchr(name.data, '"', name.size) == NULL) return name;
    uint8_t *const out = glint_context_alloc(g, name.size);
    for (uint64_t i = 0; out != NULL && i < name.size; i++) {
        out[size++] = name.data[i];
        if (name.data[i] == '"' && i + 1 < name.size && name.data[i + 1] == '"') i++;
    }
    assert(size <= name.size);
    return out != NULL ? (struct glint_slice){out, size} : name;
}

bool fields_cut_name_marks(struct glint *g, struct glint_slice *item)
{
    static const char mark[] = "name=";
    const uint64_t size = sizeof mark - 1;
    if (item->size >= size && memcmp(item->data, mark, size) == 0) {
        *item = (struct glint_slice){item->data + size, item->size - size};
        return true;
    }
    if (item->size < 2 || item->data[0] != '"' || item->data[item->size - 1] != '"') return false;
    *item = fields_unquote_name(g, (struct glint_slice){item->data + 1, item->size - 2});
    return true;
}

int fields_read_path(struct glint *g, const char *option, struct glint_slice *path)
{
    int64_t number;
    if (fields_cut_name_marks(g, path) || !glint_parse_i64(*path, &number))
        return glint_error(g)->code;
    return glint_abort(
        g, GLINT_E_BAD_VALUE,
        "with --json-lines use a path, such as user.id, or /1 for a name that is a number",
        "--%s: %lld is no path in JSON", option, (long long)number);
}

/* The paths of the id and of the key are columns 1 and 2, or one column if they are equal. */
static uint32_t read_json_column(struct glint *g, const char *option, const char *text,
                                 struct fields *f)
{
    struct glint_slice path = {(const uint8_t *)text, strlen(text)};
    fields_read_path(g, option, &path);
    for (uint32_t i = 0; i < f->json_count; i++)
        if (f->json_paths[i].size == path.size &&
            memcmp(f->json_paths[i].data, path.data, path.size) == 0)
            return i + 1;
    assert(f->json_count < 2);
    f->json_paths[f->json_count++] = path;
    return f->json_count;
}

/* Reads an option that is a column, by f->header and f->delimiter. An invalid one sets the
 * context's error. */
static uint32_t fields_read_column_option(struct glint *g, const struct glint_job_args *args,
                                          const char *option, const char *paths, struct fields *f)
{
    const char *text = glint_job_option(args, option);
    if (f->csv == FIELDS_JSON) return read_json_column(g, option, text, f);
    int64_t given;
    const struct glint_slice number_text = {(const uint8_t *)text, strlen(text)};
    /* A name of a column of an input that cannot be read is no wrong number. */
    if (!f->header && !glint_parse_i64(number_text, &given)) glint_text_file(g, paths);
    if (glint_error(g)->code != GLINT_OK) return 0;
    if (!f->header) return (uint32_t)glint_job_i64(g, args, option, 1, FIELDS_COLUMN_MAX) - 1;
    struct table table = {.g = g,
                          .paths = paths,
                          .lines = fields_source(glint_text_file(g, paths), f->csv, true),
                          .delimiter = f->delimiter,
                          .csv = f->csv,
                          .header = true,
                          .names = f->names};
    uint32_t number = 0;
    uint8_t letters;
    columns_resolve(&table, option, "", (struct glint_slice){(const uint8_t *)text, strlen(text)},
                    &number, &letters);
    if (columns_reject_parts(g, option, &number, 1) != 0) return 0;
    if (table.use_count > 0 && f->use_count < sizeof f->uses / sizeof f->uses[0])
        f->uses[f->use_count++] = table.uses[0];
    memcpy(table.uses, f->uses, f->use_count * sizeof f->uses[0]);
    table.use_count = f->use_count;
    f->names = columns_names(&table);
    return number;
}

static int read_format_options(struct glint *g, const struct glint_job_args *args,
                               const char *paths, struct fields *out)
{
    memset(out, 0, sizeof *out);
    int r = fields_delimiter(g, args, "delimiter", paths, &out->delimiter, &out->csv);
    out->header = out->csv == FIELDS_COLUMNS || glint_job_option(args, "header") != NULL;
    out->where = glint_job_option(args, "where");
    return r == 0 ? nulls_read_option(g, args, out->csv, out->delimiter, &out->nulls) : r;
}

/* Completes the options with what depends on the columns. Returns the context's code. */
static int complete_column_options(struct glint *g, const char *paths, struct fields *f)
{
    const uint32_t last = f->id_column > f->key_column ? f->id_column : f->key_column;
    if (glint_error(g)->code != GLINT_OK) return glint_error(g)->code;
    assert(!f->whole && last < FIELDS_COLUMN_MAX);
    struct table t = {
        .g = g,
        .paths = paths,
        .lines = last == 0 ? fields_source(glint_text_file(g, paths), f->csv, f->header) : NULL,
        .delimiter = f->delimiter,
        .csv = f->csv,
        .use_count = f->use_count};
    memcpy(t.uses, f->uses, sizeof f->uses);
    f->skip_empty = table_skip_empty(&t, last, f->key != FIELDS_NONE || !f->no_ids);
    return glint_error(g)->code;
}

static int read_id_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                           struct fields *out)
{
    if (read_format_options(g, args, paths, out) != 0) return glint_error(g)->code;
    out->pairs = out->csv == FIELDS_COLUMNS && out->where == NULL;
    nulls_read_missing_option(g, args, out->csv, out->header, &out->nulls);
    out->id_column = fields_read_column_option(g, args, "id-column", paths, out);
    out->key_column = out->id_column;
    out->key = FIELDS_NONE;
    return glint_error(g)->code;
}

int fields_read_id_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                           struct fields *out)
{
    int r = read_id_options(g, args, paths, out);
    return r == 0 ? complete_column_options(g, paths, out) : r;
}

/* The type of the key, and its column unless it has none. */
static int read_key_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                            struct fields *out)
{
    const char *key = glint_job_option(args, "key");
    if (strcmp(key, "none") == 0) return complete_column_options(g, paths, out);
    out->key_column = fields_read_column_option(g, args, "key-column", paths, out);
    if (strcmp(key, "rating") == 0)
        out->key = FIELDS_RATING;
    else if (strcmp(key, "int") == 0)
        out->key = FIELDS_INT;
    else
        out->key = FIELDS_TEXT;
    return complete_column_options(g, paths, out);
}

int fields_read_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                        struct fields *out)
{
    int r = read_id_options(g, args, paths, out);
    return r == 0 ? read_key_options(g, args, paths, out) : r;
}

int fields_read_key_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                            struct fields *out)
{
    if (glint_job_given(args, "id-column")) return fields_read_options(g, args, paths, out);
    int r = read_format_options(g, args, paths, out);
    out->key = FIELDS_NONE; /* columns 0 are in every row */
    out->pairs = out->csv == FIELDS_COLUMNS && out->where == NULL;
    out->no_ids = true;
    nulls_read_missing_option(g, args, out->csv, out->header, &out->nulls);
    if (r == 0) r = read_key_options(g, args, paths, out);
    if (out->csv == FIELDS_JSON) out->id_column = out->key_column;
    return r;
}

struct glint_rdd *fields_rows(struct glint *g, const struct glint_job_args *args, const char *paths,
                              struct glint_rdd **out_source)
{
    struct fields f;
    *out_source = NULL;
    const bool unused =
        glint_job_option(args, "delimiter") != NULL && glint_job_option(args, "csv") == NULL &&
        glint_job_option(args, "json-lines") == NULL && glint_job_option(args, "where") == NULL;
    if (unused)
        glint_abort(g, GLINT_E_USAGE, "add --csv", "--delimiter has no effect without --csv");
    if (read_format_options(g, args, paths, &f) != 0) return NULL;
    nulls_read_missing_option(g, args, f.csv, f.header, &f.nulls); /* columns of --where */
    f.whole = true;
    *out_source = read_rows_of_source(glint_text_file(g, paths), &f);
    return filter_rows_by_where(*out_source, paths, &f);
}

/* The number of a column that was chosen by name may be another one in another list of files. */
static uint32_t find_column_in_other_files(struct glint *g, const char *paths,
                                           const struct fields *f, uint32_t number)
{
    struct glint_rdd *lines = fields_source(glint_text_file(g, paths), f->csv, false);
    struct glint_slice names = glint_first_line(lines), wanted = f->names, name = {NULL, 0}, found;
    if (f->names.data == NULL) return number;
    for (uint32_t i = 0; i <= number; i++)
        if (!glint_next_name(&wanted, PLAIN_SEPARATOR, &name)) return number;
    for (uint32_t i = 0; glint_next_name(&names, PLAIN_SEPARATOR, &found); i++)
        if (found.size == name.size && memcmp(found.data, name.data, name.size) == 0) return i;
    glint_abort(g, GLINT_E_BAD_VALUE, "choose a column that all files have",
                "%s: no column is named \"%.*s\"", paths, (int)name.size, (const char *)name.data);
    return number;
}

static struct glint_rdd *column_pairs(struct glint *g, const char *paths, const struct fields *f)
{
    struct glint_column_pair pair = {.key = GLINT_NO_COLUMN,
                                     .value = GLINT_NO_COLUMN,
                                     .key_type = f->key == FIELDS_TEXT ? GLINT_TEXT : GLINT_ANY,
                                     .value_type = GLINT_TEXT,
                                     .null_rows = FIELDS_NULL_ROWS};
    if (f->key != FIELDS_NONE) pair.key = find_column_in_other_files(g, paths, f, f->key_column);
    if (!f->no_ids) pair.value = find_column_in_other_files(g, paths, f, f->id_column);
    return glint_column_pairs(g, paths, &pair);
}

struct glint_rdd *fields_text_file(struct glint *g, const char *paths, const struct fields *f)
{
    if (f->pairs) return column_pairs(g, paths, f);
    return read_rows_that_match_where(glint_text_file(g, paths), paths, f);
}

struct glint_rdd *fields_n_line_text_file(struct glint *g, const char *paths, uint64_t lines,
                                          const struct fields *f)
{
    return read_rows_that_match_where(glint_n_line_text_file(g, paths, lines), paths, f);
}

struct glint_slice fields_json_line(struct glint_slice row)
{
    if (row.size == 0 || row.data[0] != FIELDS_JSON) return row;
    const uint8_t *end = memchr(row.data, PLAIN_SEPARATOR, row.size);
    return (struct glint_slice){row.data + 1,
                                (end != NULL ? (uint64_t)(end - row.data) : row.size) - 1};
}

struct fields fields_of_lines(void)
{
    return (struct fields){.whole = true, .keep_nulls = true, .key = FIELDS_NONE};
}
