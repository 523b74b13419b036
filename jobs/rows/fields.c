/* The driver's and the task's part of reading a table, and parsing of single rows: those that the
 * scan marks, and batches that it cannot process. */
#include "jobs/rows/fields.h"

#include "engine/batch.h"
#include "jobs/rows/columns.h"
#include "jobs/rows/fields_kernel.h"
#include "jobs/rows/fields_quotes.h"

#include <assert.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define PLAIN_SEPARATOR 0x1f /* of the rows that glint_with_csv gives */

#define WINDOW 32u /* bytes of a row that are searched at once; every batch has this much slack */

/* Bit i: row[i] is the delimiter. */
static inline uint32_t delimiter_mask(const uint8_t *row, uint8_t delimiter)
{
#if defined(__x86_64__)
    const __m128i d = _mm_set1_epi8((char)delimiter);
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)row);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(row + 16));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a, d)) |
           (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(b, d)) << 16;
#else
    uint32_t mask = 0;
    for (uint32_t i = 0; i < WINDOW; i++) mask |= (uint32_t)(row[i] == delimiter) << i;
    return mask;
#endif
}

struct span {
    uint32_t start, end; /* within the row */
};

/* Finds column `column` of any row. Returns false if the row has fewer columns. */
static bool find_column_slow(const uint8_t *row, uint32_t size, uint8_t delimiter, uint32_t column,
                             struct span *out)
{
    uint32_t start = 0;
    for (;; column--) {
        const uint8_t *end = memchr(row + start, delimiter, size - start);
        uint32_t stop = end != NULL ? (uint32_t)(end - row) : size;
        if (column == 0) {
            *out = (struct span){start, stop};
            return true;
        }
        if (end == NULL) return false;
        start = stop + 1;
    }
}

/* The same from the mask of the first WINDOW bytes, if the column ends in them. */
static inline bool find_column(const uint8_t *row, uint32_t size, uint32_t mask, uint8_t delimiter,
                               uint32_t column, struct span *out)
{
    uint32_t start = 0, rest = mask;
    for (uint32_t i = 0; i < column; i++) {
        if (rest == 0) return size > WINDOW && find_column_slow(row, size, delimiter, column, out);
        start = (uint32_t)__builtin_ctz(rest) + 1;
        rest &= rest - 1;
    }
    if (rest == 0 && size > WINDOW) return find_column_slow(row, size, delimiter, column, out);
    *out = (struct span){start, rest != 0 ? (uint32_t)__builtin_ctz(rest) : size};
    return true;
}

/* Parses a rating in any notation. Returns NULL with *out set, or the error text. */
static const char *rating_parse(struct glint_slice text, int64_t *out)
{
    static const double powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    uint32_t mantissa = 0, decimals = 0, digits = 0;
    bool point = false, plain = text.size > 0 && text.size <= 8;
    for (uint64_t i = 0; plain && i < text.size; i++) {
        uint32_t digit = (uint32_t)text.data[i] - '0';
        if (digit <= 9) {
            mantissa = mantissa * 10 + digit;
            decimals += point;
            digits++;
        } else {
            plain = text.data[i] == '.' && !point;
            point = true;
        }
    }
    double value;
    if (plain && digits > 0 && decimals <= 6)
        value = mantissa /
                powers[decimals]; /* both are exact, so the result is rounded once, like strtod's */
    else if (!glint_parse_f64(text, &value))
        return text.size == 0 ? "the rating is empty" : "the rating is not a number";
    if (!(value >= 0 && value <= 10)) return "the rating is out of range";
    *out = (int64_t)(value + 0.5);
    return NULL;
}

static const char *key_parse(const struct fields *f, struct glint_slice text, int64_t *out)
{
    if (f->key == FIELDS_RATING)
        return text.size == 3 && fields_rating(fields_load(text.data), out)
                   ? NULL
                   : rating_parse(text, out);
    if (text.size <= 9 && fields_int(text.data, (uint32_t)text.size, out)) return NULL;
    if (glint_parse_i64(text, out)) return NULL;
    return text.size == 0 ? "the key is empty" : "the key is not an integer";
}

/* Finds both columns of a row. Returns false if one is missing. */
static inline bool find_columns(const struct fields *f, const uint8_t *row, uint32_t size,
                                struct span *key, struct span *id)
{
    uint32_t mask = delimiter_mask(row, f->delimiter);
    if (size < WINDOW) mask &= (1u << size) - 1;
    return find_column(row, size, mask, f->delimiter, f->key_column, key) &&
           find_column(row, size, mask, f->delimiter, f->id_column, id);
}

static int parse_row(const struct fields *f, struct glint_task *task, struct glint_slice row,
                     union glint_value *key, struct glint_slice *id)
{
    struct span k, i;
    if (row.size > UINT32_MAX) return glint_bad_row(task, row, "the row is longer than 4 GiB");
    if (f->whole) {
        key->i64 = 0;
        *id = row;
        return 1;
    }
    if (!find_columns(f, row.data, (uint32_t)row.size, &k, &i))
        return glint_bad_row(task, row, "a column is missing");
    struct glint_slice text = {row.data + k.start, k.end - k.start};
    *id = (struct glint_slice){row.data + i.start, i.end - i.start};
    if (f->key == FIELDS_TEXT) {
        key->bytes = text;
        return 1;
    }
    key->i64 = 0;
    if (f->key == FIELDS_NONE) return 1;
    const char *reason = key_parse(f, text, &key->i64);
    return reason == NULL ? 1 : glint_bad_row(task, row, reason);
}

int fields_parse_row(const struct fields *f, struct glint_task *task, struct glint_slice row,
                     union glint_value *key, struct glint_slice *id)
{
    int r = f->quotes ? fields_reject_quoted_row(task, row, f->delimiter) : 0;
    return r == 0 ? parse_row(f, task, row, key, id) : r;
}

/* The same into the arrays. Returns 1 if stored as row `at`, 0 if skipped, or a code. */
static inline int parse_row_at(struct fields *f, struct glint_task *task, struct glint_slice row,
                               uint32_t at)
{
    union glint_value key;
    struct glint_slice id;
    int r = parse_row(f, task, row, &key, &id);
    if (r <= 0) return r;
    if (f->key == FIELDS_TEXT) {
        f->text_start[at] = (uint32_t)(key.bytes.data - f->base);
        f->text_end[at] = f->text_start[at] + (uint32_t)key.bytes.size;
    } else {
        f->number[at] = key.i64;
    }
    f->id_start[at] = (uint32_t)(id.data - f->base);
    f->id_end[at] = f->id_start[at] + (uint32_t)id.size;
    return 1;
}

/* Parses row by row. The offsets of a very long single line may not fit 32 bits; its columns must.
 */
static int parse_rows(struct fields *f, struct glint_task *task, const struct glint_batch *lines)
{
    f->rows = 0;
    uint32_t n = 0;
    for (uint32_t row = 0; row < lines->rows; row++) {
        int r = parse_row_at(f, task, glint_column_slice(&lines->value, row), n);
        if (r < 0) return r;
        n += (uint32_t)r;
    }
    f->rows = n;
    return 0;
}

static void move_rows(struct fields *f, uint32_t to, uint32_t from, uint32_t rows)
{
    assert(to <= from && from + rows <= FIELDS_ROWS_MAX);
    memmove(f->number + to, f->number + from, rows * sizeof *f->number);
    memmove(f->text_start + to, f->text_start + from, rows * sizeof *f->text_start);
    memmove(f->text_end + to, f->text_end + from, rows * sizeof *f->text_end);
    memmove(f->id_start + to, f->id_start + from, rows * sizeof *f->id_start);
    memmove(f->id_end + to, f->id_end + from, rows * sizeof *f->id_end);
}

/* Parses the rows that the scan marked; rows after a skipped row are moved up. */
static int parse_odd_rows(struct fields *f, struct glint_task *task,
                          const struct glint_batch *lines, const uint64_t *odd)
{
    const uint32_t rows = lines->rows;
    uint32_t kept = 0, done = 0; /* rows [0, done) of the batch are stored as rows [0, kept) */
    f->rows = 0;
    for (uint32_t word = 0; word * 64 < rows; word++) {
        for (uint64_t bits = odd[word]; bits != 0; bits &= bits - 1) {
            const uint32_t row = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (row >= rows) break;
            int r = parse_row_at(f, task, glint_column_slice(&lines->value, row), row);
            if (r < 0) return r;
            if (r > 0) continue;
            if (kept < done) move_rows(f, kept, done, row - done);
            kept += row - done;
            done = row + 1;
        }
    }
    if (kept < done) move_rows(f, kept, done, rows - done);
    f->rows = kept + (rows - done);
    return 0;
}

/* Returns true if a scan is worthwhile, provided that the rows are lines. */
static bool scan_pays(const struct fields *f, const struct glint_column *lines, uint32_t rows)
{
    return f->kernel != NULL && rows > 0 && lines->start != NULL &&
           lines->end[rows - 1] - lines->start[0] <= (uint64_t)rows * f->kernel->row_bytes_max;
}

int fields_parse(struct fields *f, struct glint_task *task, const struct glint_batch *lines)
{
    uint64_t odd[FIELDS_ODD_WORDS] = {0};
    assert(lines->rows <= FIELDS_ROWS_MAX);
    int r = f->quotes ? fields_reject_quoted(task, lines, f->delimiter) : 0;
    if (r != 0) return r;
    f->base = lines->value.base;
    f->size = lines->value.size;
    if (scan_pays(f, &lines->value, lines->rows) && fields_scan(f, &lines->value, lines->rows, odd))
        return parse_odd_rows(f, task, lines, odd);
    return parse_rows(f, task, lines);
}

struct glint_column fields_key_column(const struct fields *f)
{
    if (f->key != FIELDS_TEXT) return (struct glint_column){.type = GLINT_I64, .i64 = f->number};
    return (struct glint_column){.type = GLINT_TEXT,
                                 .base = f->base,
                                 .size = f->size,
                                 .start = f->text_start,
                                 .end = f->text_end};
}

enum glint_type fields_key_type(const struct fields *f)
{
    return f->key == FIELDS_TEXT ? GLINT_TEXT : GLINT_I64;
}

/* --csv and --json-lines exclude each other, and lines of JSON have no delimiter. */
static int check_format(struct glint *g, const struct glint_job_args *args, const char *option)
{
    if (glint_job_option(args, "json-lines") == NULL) return glint_error(g)->code;
    if (glint_job_option(args, "csv") != NULL)
        return glint_abort(g, GLINT_E_USAGE, "use only one of them",
                           "--csv and --json-lines cannot both be set");
    if (glint_job_option(args, option) != NULL)
        return glint_abort(g, GLINT_E_USAGE, NULL, "--%s has no meaning with --json-lines", option);
    return glint_error(g)->code;
}

int fields_delimiter(struct glint *g, const struct glint_job_args *args, const char *option,
                     uint8_t *out, uint8_t *out_csv)
{
    const bool csv = glint_job_option(args, "csv") != NULL;
    const bool json = glint_job_option(args, "json-lines") != NULL;
    const char *given = glint_job_option(args, option);
    const char *text = given != NULL ? given : csv ? "," : "\\t";
    const bool tab = strcmp(text, "\\t") == 0;
    const uint8_t delimiter = tab ? '\t' : (uint8_t)text[0];
    *out = csv || json ? PLAIN_SEPARATOR : delimiter;
    *out_csv = json ? FIELDS_JSON : csv ? delimiter : 0;
    if (check_format(g, args, option) != 0) return glint_error(g)->code;
    if (tab || (strlen(text) == 1 && strchr(csv ? "\n\"" : "\n", text[0]) == NULL))
        return glint_error(g)->code;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use one byte, or \\t for a tab",
                       "--%s \"%s\" is not one byte", option, text);
}

struct glint_rdd *fields_source(struct glint_rdd *lines, uint8_t csv, bool header)
{
    if (csv == FIELDS_JSON && header && lines != NULL)
        glint_abort(glint_context(lines), GLINT_E_USAGE, NULL,
                    "--header has no meaning with --json-lines: each line has the names");
    if (csv == FIELDS_JSON) return glint_with_json_lines(lines, NULL, 0);
    if (csv != 0) lines = glint_with_csv(lines, (char)csv);
    return header ? glint_with_header(lines) : lines;
}

static struct glint_rdd *source_of(struct glint_rdd *lines, const struct fields *f)
{
    lines = fields_source(lines, f->csv, f->header);
    columns_match(lines, f->names, f->delimiter, f->uses, f->use_count);
    return f->csv == FIELDS_JSON ? glint_with_json_lines(lines, f->json_paths, f->json_count)
                                 : lines;
}

int fields_check_path(struct glint *g, const char *option, struct glint_slice path)
{
    int64_t number;
    if (!glint_parse_i64(path, &number)) return glint_error(g)->code;
    return glint_abort(
        g, GLINT_E_BAD_VALUE,
        "with --json-lines use a path, such as user.id, or /1 for a name that is a number",
        "--%s: %lld is no path in JSON", option, (long long)number);
}

/* The paths of the id and of the key are columns 1 and 2, or one column if they are equal. */
static uint32_t json_column(struct glint *g, const char *option, const char *text, struct fields *f)
{
    const struct glint_slice path = {(const uint8_t *)text, strlen(text)};
    fields_check_path(g, option, path);
    for (uint32_t i = 0; i < f->json_count; i++)
        if (f->json_paths[i].size == path.size &&
            memcmp(f->json_paths[i].data, text, path.size) == 0)
            return i + 1;
    assert(f->json_count < 2);
    f->json_paths[f->json_count++] = path;
    return f->json_count;
}

uint32_t fields_column(struct glint *g, const struct glint_job_args *args, const char *option,
                       const char *paths, struct fields *f)
{
    const char *text = glint_job_option(args, option);
    if (f->csv == FIELDS_JSON) return json_column(g, option, text, f);
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
    f->names = table.names;
    if (table.use_count > 0 && f->use_count < sizeof f->uses / sizeof f->uses[0])
        f->uses[f->use_count++] = table.uses[0];
    return number;
}

static int format_options(struct glint *g, const struct glint_job_args *args, struct fields *out)
{
    memset(out, 0, sizeof *out);
    out->header = glint_job_option(args, "header") != NULL;
    return fields_delimiter(g, args, "delimiter", &out->delimiter, &out->csv);
}

int fields_id_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                      struct fields *out)
{
    if (format_options(g, args, out) != 0) return glint_error(g)->code;
    out->id_column = fields_column(g, args, "id-column", paths, out);
    out->key_column = out->id_column;
    out->key = FIELDS_NONE;
    return glint_error(g)->code;
}

/* The type of the key, and its column unless it has none. */
static int key_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                       struct fields *out)
{
    const char *key = glint_job_option(args, "key");
    if (strcmp(key, "none") == 0) return glint_error(g)->code;
    out->key_column = fields_column(g, args, "key-column", paths, out);
    if (strcmp(key, "rating") == 0)
        out->key = FIELDS_RATING;
    else if (strcmp(key, "int") == 0)
        out->key = FIELDS_INT;
    else if (strcmp(key, "text") == 0)
        out->key = FIELDS_TEXT;
    else
        glint_abort(g, GLINT_E_BAD_VALUE, "use rating, text, int or none", "unknown --key \"%s\"",
                    key);
    return glint_error(g)->code;
}

int fields_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                   struct fields *out)
{
    int r = fields_id_options(g, args, paths, out);
    return r == 0 ? key_options(g, args, paths, out) : r;
}

int fields_key_options(struct glint *g, const struct glint_job_args *args, const char *paths,
                       struct fields *out)
{
    if (strcmp(glint_job_option(args, "id-column"), FIELDS_ID_DEFAULT) != 0)
        return fields_options(g, args, paths, out);
    int r = format_options(g, args, out);
    out->key = FIELDS_NONE; /* columns 0 are in every row */
    if (r == 0) r = key_options(g, args, paths, out);
    if (out->csv == FIELDS_JSON) out->id_column = out->key_column;
    return r;
}

struct glint_rdd *fields_rows(struct glint *g, const struct glint_job_args *args, const char *paths)
{
    struct fields f;
    return format_options(g, args, &f) == 0 ? fields_text_file(g, paths, &f) : NULL;
}

struct glint_rdd *fields_text_file(struct glint *g, const char *paths, const struct fields *f)
{
    return source_of(glint_text_file(g, paths), f);
}

struct glint_rdd *fields_n_line_text_file(struct glint *g, const char *paths, uint64_t lines,
                                          const struct fields *f)
{
    return source_of(glint_n_line_text_file(g, paths, lines), f);
}

void fields_check_delimiter(const struct glint_rdd *lines, const char *paths,
                            const struct fields *f, const char *option)
{
    static const struct {
        char byte;
        const char *name, *value;
    } usual[] = {
        {'\t', "tab", "\\t"}, {',', "comma", ","}, {';', "semicolon", ";"}, {'|', "|", "|"}};
    if (lines == NULL || f->csv == FIELDS_JSON || f->key != FIELDS_TEXT || f->key_column > 0 ||
        f->id_column > 0)
        return;
    const struct glint_slice line = glint_first_line(lines);
    if (line.size == 0 || memchr(line.data, f->delimiter, line.size) != NULL) return;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (memchr(line.data, usual[i].byte, line.size) == NULL) continue;
        glint_note(glint_context(lines),
                   "%s: the first line has one column, so each key is a whole line; it contains a "
                   "%s: try --%s '%s'",
                   paths, usual[i].name, option, usual[i].value);
        return;
    }
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
    return (struct fields){.whole = true, .key = FIELDS_NONE};
}

void fields_args(struct glint_args *args, const struct fields *f)
{
    glint_args_i64(args, "id_column", f->id_column);
    glint_args_i64(args, "key_column", f->key_column);
    glint_args_i64(args, "delimiter", f->delimiter);
    glint_args_i64(args, "whole", f->whole);
    glint_args_i64(args, "key", f->key);
}

int fields_open(struct glint_task *task, struct fields *f, bool ids)
{
    int64_t id_column, key_column, delimiter, whole, key;
    int r = glint_arg_i64(task, "id_column", &id_column);
    if (r == 0) r = glint_arg_i64(task, "key_column", &key_column);
    if (r == 0) r = glint_arg_i64(task, "delimiter", &delimiter);
    if (r == 0) r = glint_arg_i64(task, "whole", &whole);
    if (r == 0) r = glint_arg_i64(task, "key", &key);
    if (r != 0) return r;
    if (id_column < 0 || id_column >= FIELDS_COLUMN_MAX || key_column < 0 ||
        key_column >= FIELDS_COLUMN_MAX || delimiter < 0 || delimiter > 255 || key < 0 ||
        key > FIELDS_NONE)
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL,
                          "the table's columns are out of range");
    f->id_column = (uint32_t)id_column;
    f->key_column = (uint32_t)key_column;
    f->delimiter = (uint8_t)delimiter;
    f->whole = whole != 0;
    f->key = (enum fields_key)key;
    f->ids = ids;
    f->quotes = fields_may_quote(f->delimiter);
    memset(f->number, 0, sizeof f->number); /* the key of every row if no key is read */
    assert(f->delimiter == delimiter && f->key == (enum fields_key)key);
    f->kernel = f->whole ? NULL : fields_kernel_best(f);
    return 0;
}
