/* Columns by number or name: see columns.h. */
#include "jobs/rows/columns.h"

#include "engine/base/text.h"
#include "engine/input/json_line.h"
#include "engine/input/typed_row.h"
#include "engine/limits.h"
#include "jobs/rows/fields_quotes.h"
#include "jobs/rows/row_output.h"
#include "jobs/rows/where.h"

#include <assert.h>
#include <string.h>

/* ---- Names in the header */

static bool slices_equal(struct glint_slice a, struct glint_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* How many columns of the header have this name; *out is the number of the first one. */
static uint32_t count_columns_of_name(struct glint_slice header, uint8_t delimiter,
                                      struct glint_slice name, uint32_t *out)
{
    struct glint_slice found;
    uint32_t count = 0;
    for (uint32_t i = 0; glint_next_name(&header, (char)delimiter, &found); i++) {
        if (!slices_equal(found, name)) continue;
        if (count++ == 0) *out = i;
    }
    return count;
}

uint32_t columns_count(const struct table *t)
{
    struct glint_slice line = t->names.data != NULL ? t->names : glint_first_line(t->lines), name;
    uint32_t count = 0;
    while (glint_next_name(&line, (char)t->delimiter, &name)) count++;
    return count > 0 ? count : 1;
}

/* The names that columns can have: read once. */
static struct glint_slice column_names_of_table(struct table *t)
{
    if (t->header && t->names.data == NULL) t->names = glint_first_line(t->lines);
    return t->names;
}

#define LETTERS_HINT_BYTES 96

/* What may follow the colon of an item. */
static const char *letters_hint(const char *letters, char *out)
{
    static const char *const meanings[] = {"n (numeric)", "r (reverse)", "t (as text)"};
    size_t size = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (strchr(letters, meanings[i][0]) == NULL) continue;
        const char *before = size == 0 ? "after a colon there may be " : ", ";
        text_format(out + size, LETTERS_HINT_BYTES - size, "%s%s", before, meanings[i]);
        size = strlen(out);
    }
    assert(size > 0);
    text_format(out + size, LETTERS_HINT_BYTES - size, ", as in 2:%c", letters[0]);
    return out;
}

/* Cuts ":letters" off the end of an item. Returns the set of letters; 0: there are none. */
static uint8_t cut_option_letters(struct glint_slice *item, const char *letters)
{
    uint64_t at = item->size;
    uint8_t set = 0;
    for (; at > 0 && item->data[at - 1] != ':'; at--) {
        const uint8_t byte = item->data[at - 1];
        const char *letter = byte != '\0' ? strchr(letters, byte) : NULL;
        if (letter == NULL) return 0;
        set |= (uint8_t)(1u << (letter - letters));
    }
    if (at == 0 || set == 0) return 0;
    item->size = at - 1;
    return set;
}

static int set_unknown_column_error(struct table *t, const char *option, const char *letters,
                                    struct glint_slice name, uint32_t found)
{
    char names[HEADER_NAMES_BYTES], after_colon[LETTERS_HINT_BYTES];
    const bool colon = letters[0] != '\0' && memchr(name.data, ':', name.size) != NULL;
    struct glint_slice rest = name;
    const bool expression = strcmp(option, "where") == 0 || strcmp(option, "columns") == 0;
    const char *hint =
        colon ? letters_hint(letters, after_colon)
        : expression && t->header
            ? "$2 is the second column; a name with a space or a sign is in double quotes"
        : cut_option_letters(&rest, "nrt") != 0
            ? "leave out the colon and the letters: only --by of sort and top, and --min and --max "
              "of agg, have some"
        : t->csv == FIELDS_COLUMNS ? "use one of these names, or the number of the column"
        : t->header                ? "see --delimiter, or use the number of the column"
                    : "use a number, from 1, or --header and a name of the first line";
    if (!t->header)
        return glint_abort(t->g, GLINT_E_BAD_VALUE, hint,
                           "--%s: \"%.*s\" is not the number of a column", option, (int)name.size,
                           (const char *)name.data);
    if (found > 1)
        return glint_abort(t->g, GLINT_E_BAD_VALUE, "use the number of the column",
                           "--%s: %s: %u columns are named \"%.*s\"", option, t->paths, found,
                           (int)name.size, (const char *)name.data);
    header_names_format(column_names_of_table(t), t->delimiter, names, sizeof names);
    return glint_abort(t->g, GLINT_E_BAD_VALUE, hint,
                       "--%s: %s: no column is named \"%.*s\"; the columns are: %s", option,
                       t->paths, (int)name.size, (const char *)name.data, names);
}

/* ---- Options */

int table_open_typed(struct glint *g, const struct glint_job_args *args, const char *paths,
                     bool typed, struct table *out)
{
    *out = (struct table){.g = g, .paths = paths};
    if (fields_delimiter(g, args, "delimiter", paths, &out->delimiter, &out->csv) != 0 ||
        nulls_read_option(g, args, out->csv, out->delimiter, &out->nulls) != 0)
        return glint_error(g)->code;
    out->header = out->csv == FIELDS_COLUMNS || glint_job_option(args, "header") != NULL;
    nulls_read_missing_option(g, args, out->csv, out->header, &out->nulls);
    out->lines = table_source(out);
    if (typed) row_output_type_rows(out->lines, args);
    out->typed = glint_row_types(out->lines).size > 0;
    return where_option(out, args, "where");
}

int table_open(struct glint *g, const struct glint_job_args *args, const char *paths,
               struct table *out)
{
    return table_open_typed(g, args, paths, false, out);
}

void columns_match(struct glint_rdd *lines, struct glint_slice names, uint8_t delimiter,
                   const struct glint_column_use *uses, uint32_t count)
{
    bool by_name = false;
    for (uint32_t i = 0; i < count; i++) by_name |= uses[i].by_name;
    if (by_name) glint_with_columns(lines, names, (char)delimiter, uses, count);
}

/* Whether a source has rows of CSV with headers that can differ. */
static bool has_several_headers(const struct glint_rdd *lines, uint8_t csv, bool header)
{
    if (!header || csv == 0 || csv == FIELDS_JSON || csv == FIELDS_COLUMNS) return false;
    return lines != NULL && glint_input_files(lines) > 1;
}

void columns_match_rows(struct glint_rdd *lines, uint8_t csv, bool header)
{
    if (!has_several_headers(lines, csv, header)) return;
    glint_with_columns(lines, (struct glint_slice){NULL, 0}, '\0', NULL, 0); /* CSV has its own */
}

static void match_table(const struct table *t, struct glint_rdd *lines)
{
    struct glint_column_use by_name[COLUMNS_MAX];
    if (!t->saves_rows || !has_several_headers(lines, t->csv, t->header)) {
        columns_match(lines, t->names, t->delimiter, t->uses, t->use_count);
        return;
    }
    for (uint32_t i = 0; i < t->use_count; i++)
        by_name[i] = (struct glint_column_use){t->uses[i].number, true};
    if (t->names.data != NULL) glint_with_columns(lines, t->names, '\0', by_name, t->use_count);
}

/* Adds the names that only other files than the first one have. */
static void read_names_of_all_files(struct table *t)
{
    if (t->all_names || glint_error(t->g)->code != GLINT_OK) return;
    glint_with_columns(t->lines, (struct glint_slice){NULL, 0}, (char)t->delimiter, NULL, 0);
    t->names = glint_first_line(t->lines);
    t->all_names = true;
}

void table_saves_rows(struct table *t)
{
    t->saves_rows = true;
    if (!has_several_headers(t->lines, t->csv, t->header)) return;
    read_names_of_all_files(t);
    match_table(t, t->lines);
}

/* The column itself, or that of a part. */
static uint32_t column_of_part(const struct table *t, uint32_t number)
{
    assert(!columns_is_part(number) || number - COLUMNS_PART < t->part_count);
    return columns_is_part(number) ? t->parts[number - COLUMNS_PART].column : number;
}

void table_read_only_columns(struct table *t, const struct columns *c)
{
    assert(t->where_count <= COLUMNS_MAX && c->count <= COLUMNS_MAX);
    t->some = true;
    t->needed_count = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        t->some = t->some && c->number[i] != COLUMNS_LINE;
        t->needed[t->needed_count++] = column_of_part(t, c->number[i]);
    }
    for (uint32_t i = 0; i < t->where_count; i++)
        t->needed[t->needed_count++] = column_of_part(t, t->where_columns[i]);
}

void table_key_columns(struct table *t, const struct columns *c, uint32_t from, uint32_t to)
{
    assert(from <= to && to <= c->count);
    for (uint32_t i = from; i < to && t->key_count < COLUMNS_MAX; i++)
        if (!columns_is_part(c->number[i])) t->keys[t->key_count++] = c->number[i];
    if (t->key_count > 0) glint_key_columns(t->lines, t->keys, t->key_count);
}

static struct glint_rdd *needed_rows(const struct table *t, struct glint_rdd *lines)
{
    if (t->some) glint_read_columns(lines, t->needed, t->needed_count);
    return where_rows(lines, t->where);
}

struct glint_rdd *table_rows(const struct table *t)
{
    return needed_rows(t, t->lines);
}

struct glint_rdd *table_read_again(const struct table *t)
{
    return needed_rows(t, table_source(t));
}

struct glint_rdd *table_source(const struct table *t)
{
    struct glint_rdd *lines = fields_source(glint_text_file(t->g, t->paths), t->csv, t->header);
    match_table(t, lines);
    if (t->json_count > 0) lines = glint_with_json_lines(lines, t->json_paths, t->json_count);
    if (t->typed) glint_type_rows(lines);
    if (t->key_count > 0) glint_key_columns(lines, t->keys, t->key_count);
    return nulls_source(lines, &t->nulls);
}

/* Adds a path in JSON to those of the source. */
static int resolve_path(struct table *t, const char *option, const char *letters,
                        struct glint_slice path, uint32_t *out_number, uint8_t *out_letters)
{
    *out_letters = cut_option_letters(&path, letters);
    if (fields_read_path(t->g, option, &path) != 0) return glint_error(t->g)->code;
    uint32_t at = 0;
    while (at < t->json_count && !slices_equal(t->json_paths[at], path)) at++;
    if (at == COLUMNS_MAX)
        return glint_abort(t->g, GLINT_E_BAD_VALUE, NULL, "--%s: more than %d columns", option,
                           COLUMNS_MAX);
    *out_number = at + 1;
    if (at < t->json_count) return 0;
    t->json_paths[t->json_count++] = path;
    glint_with_json_lines(t->lines, t->json_paths, t->json_count);
    return glint_error(t->g)->code;
}

/* Records that the job reads the column. */
static int add_column_use(struct table *t, const char *option, uint32_t number, bool by_name)
{
    for (uint32_t i = 0; i < t->use_count; i++)
        if (t->uses[i].number == number && t->uses[i].by_name == by_name) return 0;
    if (t->use_count == COLUMNS_MAX)
        return glint_abort(t->g, GLINT_E_BAD_VALUE, NULL, "--%s: more than %d columns", option,
                           COLUMNS_MAX);
    t->uses[t->use_count++] = (struct glint_column_use){number, by_name};
    match_table(t, t->lines);
    return glint_error(t->g)->code;
}

static int use_column_number(struct table *t, const char *option, struct glint_slice item,
                             int64_t number, uint32_t *out)
{
    uint32_t named = 0;
    if (number < 1 || number > FIELDS_COLUMN_MAX)
        return glint_abort(t->g, GLINT_E_BAD_VALUE,
                           "columns count from 1; a name that is a number is name=N",
                           "--%s: column %lld is not between 1 and %d", option, (long long)number,
                           FIELDS_COLUMN_MAX);
    *out = (uint32_t)number - 1;
    if (t->csv == FIELDS_COLUMNS && *out >= columns_count(t))
        return glint_abort(t->g, GLINT_E_BAD_VALUE, "choose one of them, by number or name",
                           "--%s: %s: there is no column %lld, there are %u", option, t->paths,
                           (long long)number, columns_count(t));
    const bool has_name =
        count_columns_of_name(column_names_of_table(t), t->delimiter, item, &named) > 0;
    if (has_name && *out >= columns_count(t)) {
        char hint[64];
        text_format(hint, sizeof hint, "use name=%lld", (long long)number);
        return glint_abort(t->g, GLINT_E_BAD_VALUE, hint,
                           "--%s: %s: there are %u columns; the one that is named %lld is no. %u",
                           option, t->paths, columns_count(t), (long long)number, named + 1);
    }
    if (has_name && named != *out)
        glint_warn(t->g, "--%s: column %lld is chosen; the column that is named %lld is name=%lld",
                   option, (long long)number, (long long)number, (long long)number);
    return add_column_use(t, option, *out, false);
}

/* Adds a part of a column to those of the table. */
static int add_part(struct table *t, const char *option, const struct table_part *part,
                    uint32_t *out)
{
    uint32_t at = 0;
    while (at < t->part_count && (t->parts[at].column != part->column ||
                                  strcmp(t->parts[at].part.pointer, part->part.pointer) != 0))
        at++;
    if (at == COLUMNS_MAX)
        return glint_abort(t->g, GLINT_E_BAD_VALUE, NULL, "--%s: more than %d parts of columns",
                           option, COLUMNS_MAX);
    if (at == t->part_count) t->parts[t->part_count++] = *part;
    *out = COLUMNS_PART + at;
    return add_column_use(t, option, part->column, true);
}

/* Finds a.b.c as the part b.c of the column a, or c of a.b; a[0].b as [0].b of a. Returns 1, 0 or
 * the context's code. */
static int find_part_by_dotted_name(struct table *t, const char *option, struct glint_slice name,
                                    uint32_t *out)
{
    for (uint64_t i = 1; t->csv == FIELDS_COLUMNS && i + 1 < name.size; i++) {
        const struct glint_slice whole = {name.data, i};
        const uint64_t dot = name.data[i] == '.';
        const struct glint_slice path = {name.data + i + dot, name.size - i - dot};
        struct table_part part = {.name = name};
        if ((name.data[i] != '.' && name.data[i] != '[') ||
            count_columns_of_name(column_names_of_table(t), t->delimiter, whole, &part.column) != 1)
            continue;
        part.part = glint_find_column_part(t->lines, part.column, path);
        if (glint_error(t->g)->code != GLINT_OK) return glint_error(t->g)->code;
        if (part.part.pointer == NULL) continue;
        return add_part(t, option, &part, out) == 0 ? 1 : glint_error(t->g)->code;
    }
    return 0;
}

static enum column_values value_kind_of_type(const char *type)
{
    if (type == NULL) return VALUES_TEXTS;
    if (type[0] != '\0' && type[1] == '\0' && strchr("cCsSiIlLefg", type[0]) != NULL)
        return VALUES_NUMBERS;
    if (strcmp(type, "b") == 0) return VALUES_BOOLEANS;
    if (type[0] == '+' && strcmp(type, "+r") != 0) return VALUES_NESTED;
    if (strncmp(type, "d:", 2) == 0) return VALUES_NUMBERS;
    if (strncmp(type, "tD", 2) == 0) return VALUES_NUMBERS; /* durations */
    if (strncmp(type, "tt", 2) == 0) return VALUES_TIMES_OF_DAY;
    return strncmp(type, "td", 2) == 0 || strncmp(type, "ts", 2) == 0 ? VALUES_TIMES : VALUES_TEXTS;
}

uint32_t columns_float_bits(const struct table *t, uint32_t number)
{
    uint32_t count = 0;
    if (t->csv != FIELDS_COLUMNS) return 0;
    const struct glint_column_type *types = glint_column_types(t->lines, &count);
    const char *const type = columns_is_part(number) ? t->parts[number - COLUMNS_PART].part.type
                             : number < count        ? types[number].type
                                                     : NULL;
    if (type == NULL || type[0] == '\0' || type[1] != '\0') return 0;
    return type[0] == 'e' ? 16 : type[0] == 'f' ? 32 : type[0] == 'g' ? 64 : 0;
}

enum column_values columns_value_kind(const struct table *t, uint32_t number)
{
    uint32_t count = 0;
    if (t->csv != FIELDS_COLUMNS) return VALUES_UNKNOWN;
    if (columns_is_part(number))
        return value_kind_of_type(t->parts[number - COLUMNS_PART].part.type);
    const struct glint_column_type *types = glint_column_types(t->lines, &count);
    if (number >= count) return VALUES_UNKNOWN;
    if (types[number].numbers) return VALUES_NUMBERS;
    if (types[number].times_of_day) return VALUES_TIMES_OF_DAY;
    return types[number].times ? VALUES_TIMES : value_kind_of_type(types[number].type);
}

int columns_reject_parts(struct glint *g, const char *option, const uint32_t *numbers,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (columns_is_part(numbers[i]))
            return glint_abort(g, GLINT_E_BAD_VALUE,
                               "make it a column first: glint submit select --columns "
                               "'*, a.b AS NAME'",
                               "--%s: a part of a column cannot be chosen here", option);
    return glint_error(g)->code;
}

static int use_column_name(struct table *t, const char *option, const char *letters,
                           struct glint_slice name, uint32_t *out)
{
    const uint32_t found = count_columns_of_name(column_names_of_table(t), t->delimiter, name, out);
    const int part = found == 0 ? find_part_by_dotted_name(t, option, name, out) : 0;
    if (part != 0) return part > 0 ? 0 : part;
    if (found != 1) return set_unknown_column_error(t, option, letters, name, found);
    return add_column_use(t, option, *out, true);
}

/* Whether the first file has a column that the item means. */
static bool first_file_has_column(struct table *t, const char *letters, struct glint_slice item)
{
    const struct glint_slice names = column_names_of_table(t);
    uint32_t at;
    int64_t number;
    if (glint_parse_i64(item, &number) ||
        count_columns_of_name(names, t->delimiter, item, &at) > 0)
        return true;
    cut_option_letters(&item, letters);
    if (!fields_cut_name_marks(t->g, &item) && glint_parse_i64(item, &number)) return true;
    return count_columns_of_name(names, t->delimiter, item, &at) > 0;
}

/* What is a name as a whole wins over marks and letters, a number over a name. */
int columns_resolve(struct table *t, const char *option, const char *letters,
                    struct glint_slice item, uint32_t *out_number, uint8_t *out_letters)
{
    int64_t number = 0;
    if (t->csv == FIELDS_JSON)
        return resolve_path(t, option, letters, item, out_number, out_letters);
    *out_letters = 0;
    if (t->header && t->csv != FIELDS_COLUMNS && !t->all_names &&
        glint_input_files(t->lines) > 1 && !first_file_has_column(t, letters, item))
        read_names_of_all_files(t);
    if (count_columns_of_name(column_names_of_table(t), t->delimiter, item, out_number) == 1 &&
        !glint_parse_i64(item, &number))
        return use_column_name(t, option, letters, item, out_number);
    *out_letters = cut_option_letters(&item, letters);
    if (fields_cut_name_marks(t->g, &item))
        return use_column_name(t, option, letters, item, out_number);
    if (glint_parse_i64(item, &number))
        return use_column_number(t, option, item, number, out_number);
    return use_column_name(t, option, letters, item, out_number);
}

/* Cuts the next item of a list off *rest: a quoted name may contain commas, and doubled quotes. */
static bool next_column_item(struct glint_slice *rest, struct glint_slice *out)
{
    const uint8_t *const from = rest->data;
    bool quoted = false;
    if (rest->size == 0 || from[0] != '"') return glint_next_field(rest, ',', out);
    uint64_t size = 0;
    for (; size < rest->size && (quoted || from[size] != ','); size++)
        if (from[size] == '"') quoted = !quoted;
    if (quoted) return glint_next_field(rest, ',', out); /* it has no closing quote */
    *out = (struct glint_slice){from, size};
    const bool last = size == rest->size;
    *rest = last ? (struct glint_slice){NULL, 0}
                 : (struct glint_slice){from + size + 1, rest->size - size - 1};
    return true;
}

int columns_read_option(struct table *t, const struct glint_job_args *args, const char *option,
                        const char *letters, struct columns *out)
{
    const char *text = glint_job_option(args, option);
    if (text == NULL || glint_error(t->g)->code != GLINT_OK) return glint_error(t->g)->code;
    struct glint_slice rest = {(const uint8_t *)text, strlen(text)}, item;
    while (next_column_item(&rest, &item)) {
        if (item.size == 0)
            return glint_abort(t->g, GLINT_E_BAD_VALUE,
                               "use numbers or names of columns, separated by commas",
                               "--%s \"%s\": a column is empty", option, text);
        if (out->count == COLUMNS_MAX)
            return glint_abort(t->g, GLINT_E_BAD_VALUE, NULL, "--%s: more than %d columns", option,
                               COLUMNS_MAX);
        if (columns_resolve(t, option, letters, item, &out->number[out->count],
                            &out->letters[out->count]) != 0)
            return glint_error(t->g)->code;
        out->count++;
    }
    return 0;
}

void columns_add_whole_line(struct columns *c)
{
    assert(c->count < COLUMNS_MAX);
    c->number[c->count++] = COLUMNS_LINE;
}

void columns_label(struct glint_slice names, uint8_t delimiter, uint32_t number, char *out)
{
    struct glint_slice rest = names, name = {NULL, 0};
    char shown[COLUMN_LABEL_BYTES / 2] = "";
    uint32_t at = 0;
    while (at <= number && glint_next_name(&rest, (char)delimiter, &name)) at++;
    if (at <= number || name.size == 0) {
        text_format(out, COLUMN_LABEL_BYTES, "column %u", number + 1);
        return;
    }
    header_name_append(shown, 0, sizeof shown, name);
    text_format(out, COLUMN_LABEL_BYTES, "column %u (%s)", number + 1, shown);
}

struct glint_slice columns_names(const struct table *t)
{
    bool shared = glint_input_files(t->lines) == 1 ||
                  (t->saves_rows && has_several_headers(t->lines, t->csv, t->header));
    for (uint32_t i = 0; i < t->use_count; i++) shared |= t->uses[i].by_name;
    return shared ? t->names : (struct glint_slice){NULL, 0};
}

static struct glint_slice json_path_shown(struct glint_slice path)
{
    const bool value = path.size > 0 && path.data[0] == FIELDS_JSON_VALUE;
    return (struct glint_slice){path.data + value, path.size - value};
}

void columns_label_of(const struct table *t, uint32_t number, char *out)
{
    if (number == COLUMNS_LINE)
        text_format(out, COLUMN_LABEL_BYTES, "the row");
    else if (t->csv == FIELDS_JSON && number > 0 && number <= t->json_count)
        header_name_append(out, 0, COLUMN_LABEL_BYTES, json_path_shown(t->json_paths[number - 1]));
    else if (columns_is_part(number))
        header_name_append(out, 0, COLUMN_LABEL_BYTES, t->parts[number - COLUMNS_PART].name);
    else
        columns_label(columns_names(t), t->delimiter, number, out);
}

/* Rows that are read as whole lines only keep those that are empty. */
static bool are_empty_rows_skipped(const struct table *t, const struct columns *c)
{
    uint32_t last = 0, lines = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->number[i] == COLUMNS_LINE)
            lines++;
        else if (c->number[i] > last)
            last = c->number[i];
    }
    return (c->count == 0 || lines < c->count) && table_skip_empty(t, last, c->count > 0);
}

/* Of each part the column, 4 bytes, and the pointer with a NUL. */
static void parts_args(struct glint_args *args, const struct table *t)
{
    struct buffer b = {NULL, 0, 0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < t->part_count; i++) {
        const struct table_part *p = &t->parts[i];
        ok = buffer_append(&b, &p->column, sizeof p->column) &&
             buffer_append(&b, p->part.pointer, strlen(p->part.pointer) + 1);
    }
    if (!ok) glint_abort(t->g, GLINT_E_NO_MEMORY, NULL, "out of memory");
    glint_args_add_bytes(args, "parts", b.data, b.size);
    buffer_fini(&b);
}

void columns_args(struct glint_args *args, const struct table *t, const struct columns *c)
{
    glint_args_add_i64(args, "delimiter", t->delimiter);
    glint_args_add_i64(args, "escapes", t->csv != 0);
    glint_args_add_i64(args, "skip_empty", are_empty_rows_skipped(t, c));
    glint_args_add_bytes(args, "columns", c->number, c->count * sizeof c->number[0]);
    glint_args_add_bytes(args, "letters", c->letters, c->count);
    nulls_args(args, &t->nulls);
    char labels[COLUMNS_MAX][COLUMN_LABEL_BYTES] = {{0}};
    for (uint32_t i = 0; i < c->count; i++) columns_label_of(t, c->number[i], labels[i]);
    glint_args_add_bytes(args, "labels", labels, c->count * sizeof labels[0]);
    parts_args(args, t);
    const struct glint_slice types =
        t->typed ? glint_row_types(t->lines) : (struct glint_slice){NULL, 0};
    glint_args_add_bytes(args, "types", types.data, types.size);
}
