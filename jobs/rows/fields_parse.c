/* The task's part of reading a table, and parsing of single rows: those that the scan marks, and
 * batches that it cannot process. */
#include "engine/base/text.h"
#include "engine/batch.h"
#include "engine/limits.h"
#include "jobs/rows/columns.h"
#include "jobs/rows/fields.h"
#include "jobs/rows/fields_kernel.h"
#include "jobs/rows/fields_quotes.h"
#include "jobs/rows/id_values.h"

#include <assert.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
static inline bool find_column_by_mask(const uint8_t *row, uint32_t size, uint32_t mask,
                                       uint8_t delimiter, uint32_t column, struct span *out)
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

const char *fields_int_problem(struct glint_slice text)
{
    uint64_t at = text.size > 1 && (text.data[0] == '-' || text.data[0] == '+');
    if (text.size == 0) return "the key is empty";
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') at++;
    return at == text.size ? "the key is out of range" : "the key is not an integer";
}

static const char *int_parse(struct glint_slice text, int64_t *out)
{
    if (text.size <= 9 && fields_int(text.data, (uint32_t)text.size, out)) return NULL;
    if (glint_parse_i64(text, out)) return NULL;
    return fields_int_problem(text);
}

static inline const char *parse_key_field(const struct fields *f, struct glint_slice text,
                                          int64_t *out)
{
    if (f->key != FIELDS_RATING) return int_parse(text, out);
    if (text.size == 3 && fields_rating(fields_load(text.data), out)) return NULL;
    return rating_parse(text, out);
}

/* Finds both columns of a row. Returns false if one is missing. */
static inline bool find_key_and_id_columns(const struct fields *f, const uint8_t *row,
                                           uint32_t size, struct span *key, struct span *id)
{
    uint32_t mask = delimiter_mask(row, f->delimiter);
    if (size < WINDOW) mask &= (1u << size) - 1;
    return find_column_by_mask(row, size, mask, f->delimiter, f->key_column, key) &&
           find_column_by_mask(row, size, mask, f->delimiter, f->id_column, id);
}

/* Returns 0: the row belongs to no key, or has no id. */
static int leave_out_null_row(const struct fields *f, struct glint_task *task)
{
    glint_counter_add(task, f->null_rows, 1);
    return 0;
}

/* glint_bad_value, with a hint for keys that are no ratings. Returns 0 or a code. */
static int report_bad_key(const struct fields *f, struct glint_task *task, struct glint_slice row,
                          const char *reason, const char *column, struct glint_slice value)
{
    const char *hint = f->key == FIELDS_RATING && value.size > 0
                           ? "use --bad-rows skip to count and skip such rows; keys that are no "
                             "ratings from 0 to 10 need --key text or --key int"
                           : NULL;
    return glint_bad_value(task, row, hint, reason, column, value);
}

/* Reports the value of the key, or, if its data is NULL, the column that the row does not have. */
static int set_missing_column_error(const struct fields *f, struct glint_task *task,
                                    struct glint_slice row, struct glint_slice value,
                                    const char *reason)
{
    struct span found;
    const bool key = value.data != NULL || !find_column_slow(row.data, (uint32_t)row.size,
                                                             f->delimiter, f->key_column, &found);
    const char *label = key ? f->key_label : f->id_label;
    char number[COLUMN_LABEL_BYTES];
    if (label == NULL)
        columns_label((struct glint_slice){NULL, 0}, f->delimiter,
                      key ? f->key_column : f->id_column, number);
    return report_bad_key(f, task, row, reason, label != NULL ? label : number, value);
}

int fields_bad_key(const struct fields *f, struct glint_task *task, struct glint_slice row,
                   struct glint_slice value, const char *reason)
{
    assert(value.data != NULL);
    return set_missing_column_error(f, task, row, value, reason);
}

static int parse_row(const struct fields *f, struct glint_task *task, struct glint_slice row,
                     union glint_value *key, struct glint_slice *id)
{
    struct span k, i;
    if (row.size > UINT32_MAX) return glint_bad_row(task, row, "the row is longer than 4 GiB");
    if (f->whole) {
        key->i64 = 0;
        *id = row;
        return !f->keep_nulls && nulls_is(f->null, row) ? leave_out_null_row(f, task) : 1;
    }
    if (row.size == 0 && f->skip_empty) return 0;
    if (!find_key_and_id_columns(f, row.data, (uint32_t)row.size, &k, &i))
        return set_missing_column_error(f, task, row, (struct glint_slice){NULL, 0},
                                        "a column is missing");
    struct glint_slice text = {row.data + k.start, k.end - k.start};
    *id = (struct glint_slice){row.data + i.start, i.end - i.start};
    if (!f->keep_nulls &&
        ((f->key != FIELDS_NONE && nulls_is(f->null, text)) || (f->ids && nulls_is(f->null, *id))))
        return leave_out_null_row(f, task);
    if (f->key == FIELDS_TEXT) {
        key->bytes = text;
        return 1;
    }
    key->i64 = 0;
    if (f->key == FIELDS_NONE) return 1;
    const char *reason = parse_key_field(f, text, &key->i64);
    return reason == NULL ? 1 : set_missing_column_error(f, task, row, text, reason);
}

static int reserve_texts(struct fields_texts *t, struct glint_task *task, uint64_t size)
{
    if (size + READ_SLACK <= t->capacity) return 0;
    t->bytes = glint_scratch(task, 2 * (size + READ_SLACK));
    t->capacity = t->bytes != NULL ? 2 * (size + READ_SLACK) : 0;
    if (t->bytes == NULL) return GLINT_E_NO_MEMORY;
    memset(t->bytes, 0, t->capacity); /* the slack is read */
    return 0;
}

/* Replaces a field with escapes by its text. Returns 0 or a code. */
static int unescape_slice(struct fields_texts *t, struct glint_task *task,
                          struct glint_slice *field)
{
    if (!glint_field_has_escape(*field)) return 0;
    if (reserve_texts(t, task, field->size) != 0) return GLINT_E_NO_MEMORY;
    *field = (struct glint_slice){t->bytes, glint_unescape_field(*field, t->bytes)};
    return 0;
}

int fields_parse_row(struct fields *f, struct glint_task *task, struct glint_slice row,
                     union glint_value *key, struct glint_slice *id)
{
    int r = f->quotes ? fields_reject_quoted_row(task, row, f->delimiter) : 0;
    if (r == 0) r = parse_row(f, task, row, key, id);
    if (r <= 0 || !f->escapes || f->as_in_rows) return r;
    int e = unescape_slice(&f->id_texts, task, id);
    if (e == 0 && f->key == FIELDS_TEXT) e = unescape_slice(&f->key_texts, task, &key->bytes);
    return e == 0 ? r : e;
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

static void move_parsed_rows(struct fields *f, uint32_t to, uint32_t from, uint32_t rows)
{
    assert(to <= from && from + rows <= FIELDS_ROWS_MAX);
    memmove(f->number + to, f->number + from, rows * sizeof *f->number);
    memmove(f->text_start + to, f->text_start + from, rows * sizeof *f->text_start);
    memmove(f->text_end + to, f->text_end + from, rows * sizeof *f->text_end);
    memmove(f->id_start + to, f->id_start + from, rows * sizeof *f->id_start);
    memmove(f->id_end + to, f->id_end + from, rows * sizeof *f->id_end);
}

/* Parses the rows that the scan marked; rows after a skipped row are moved up. */
static int parse_marked_rows(struct fields *f, struct glint_task *task,
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
            if (kept < done) move_parsed_rows(f, kept, done, row - done);
            kept += row - done;
            done = row + 1;
        }
    }
    if (kept < done) move_parsed_rows(f, kept, done, rows - done);
    f->rows = kept + (rows - done);
    return 0;
}

static bool row_has_null(const struct fields *f, uint32_t row)
{
    const uint8_t *base = f->base;
    const struct glint_slice id = {base + f->id_start[row], f->id_end[row] - f->id_start[row]};
    const struct glint_slice key = {base + f->text_start[row],
                                    f->text_end[row] - f->text_start[row]};
    return (f->ids && nulls_is(f->null, id)) || (f->key == FIELDS_TEXT && nulls_is(f->null, key));
}

/* Leaves out rows that a scan has found: their sizes tell that there may be nulls. */
static void leave_out_nulls(struct fields *f, struct glint_task *task)
{
    const uint32_t size = (uint32_t)f->null.size;
    if (!(f->ids && fields_any_size(f->id_start, f->id_end, f->rows, size)) &&
        !(f->key == FIELDS_TEXT && fields_any_size(f->text_start, f->text_end, f->rows, size)))
        return;
    const uint32_t rows = f->rows;
    uint32_t kept = 0;
    for (uint32_t row = 0; row < rows; row++) {
        if (row_has_null(f, row)) continue;
        if (kept < row) move_parsed_rows(f, kept, row, 1);
        kept++;
    }
    f->rows = kept;
    glint_counter_add(task, f->null_rows, rows - kept);
}

/* Marks the empty rows: a scan has found the first column of each. */
static void mark_empty_rows(const struct glint_column *lines, uint32_t rows, uint64_t *odd)
{
    assert(lines->start != NULL && rows <= FIELDS_ROWS_MAX);
    uint32_t row = rows & ~3u; /* the arrays may have no entries after the rows */
    bool found = fields_any_size(lines->start, lines->end, row, 0);
    for (; row < rows; row++) found |= lines->start[row] == lines->end[row];
    for (row = 0; found && row < rows; row++)
        odd[row / 64] |= (uint64_t)(lines->start[row] == lines->end[row]) << row % 64;
}

/* Returns true if a scan is worthwhile, provided that the rows are lines. */
static bool is_scan_worthwhile(const struct fields *f, const struct glint_column *lines,
                               uint32_t rows)
{
    return f->kernel != NULL && rows > 0 && lines->start != NULL &&
           lines->end[rows - 1] - lines->start[0] <= (uint64_t)rows * f->kernel->row_bytes_max;
}

/* ---- Pairs of key and id */

/* Reads the key of a pair into *out, unless it is a text or none. Returns 1, 0 if it is bad and
 * left out, or a code. */
static int read_key_of_column_pair(const struct fields *f, struct glint_task *task,
                                   const struct glint_cell *key_cell, struct glint_slice id,
                                   int64_t *out)
{
    char text[TEXT_NUMBER_MAX];
    struct glint_slice shown = {(const uint8_t *)text, 0};
    const char *reason = NULL;
    *out = 0;
    if (f->key == FIELDS_NONE || f->key == FIELDS_TEXT) return 1;
    if (key_cell->type == GLINT_TEXT) {
        shown = key_cell->value.bytes;
        reason = parse_key_field(f, shown, out);
    } else if (key_cell->type == GLINT_F64) {
        const double number = key_cell->value.f64;
        if (f->key == FIELDS_INT)
            reason = "the key is not an integer";
        else if (!(number >= 0 && number <= 10))
            reason = "the rating is out of range";
        else
            *out = (int64_t)(number + 0.5);
        if (reason != NULL) shown.size = text_format_f64(text, number);
    } else {
        *out = key_cell->value.i64;
        if (f->key == FIELDS_RATING && (*out < 0 || *out > 10)) {
            reason = "the rating is out of range";
            shown.size = text_format_i64(text, *out);
        }
    }
    return reason == NULL ? 1 : report_bad_key(f, task, id, reason, f->key_label, shown);
}

/* Ratings of a whole batch. Returns whether all are in range. */
static bool convert_ratings_of_batch(const double *numbers, uint32_t rows, int64_t *out)
{
    bool good = true;
    for (uint32_t i = 0; i < rows; i++) good &= numbers[i] >= 0 && numbers[i] <= 10;
    for (uint32_t i = 0; good && i < rows; i++) out[i] = (int64_t)(numbers[i] + 0.5);
    return good;
}

/* A text of a batch of one row may have no offsets. */
static void set_offsets(const struct glint_column *c, uint32_t row, uint32_t at, uint32_t *start,
                        uint32_t *end)
{
    start[at] = c->start != NULL ? c->start[row] : 0;
    end[at] = c->start != NULL ? c->end[row] : (uint32_t)c->size;
}

static int convert_pairs_one_by_one(struct fields *f, struct glint_task *task,
                                    const struct glint_batch *pairs)
{
    uint32_t n = 0;
    for (uint32_t row = 0; row < pairs->rows; row++) {
        const struct glint_cell cell = {pairs->key.type, glint_column_value(&pairs->key, row)};
        int64_t key;
        const struct glint_slice value = glint_column_slice(&pairs->value, row);
        if (value.size > UINT32_MAX ||
            (f->key == FIELDS_TEXT && cell.value.bytes.size > UINT32_MAX))
            return glint_bad_row(task, value, "a value is longer than 4 GiB");
        const int r = read_key_of_column_pair(f, task, &cell, value, &key);
        if (r < 0) return r;
        if (r == 0) continue;
        set_offsets(&pairs->value, row, n, f->id_start, f->id_end);
        if (f->key == FIELDS_TEXT)
            set_offsets(&pairs->key, row, n, f->text_start, f->text_end);
        else
            f->number[n] = key;
        n++;
    }
    f->rows = n;
    return 0;
}

static int convert_pairs_of_batch(struct fields *f, struct glint_task *task,
                                  const struct glint_batch *pairs)
{
    assert(f->pairs && pairs->value.type == GLINT_TEXT);
    f->base = pairs->value.base;
    f->size = pairs->value.size;
    f->key_base = pairs->key.base;
    f->key_size = pairs->key.size;
    const bool ratings = f->key == FIELDS_RATING && pairs->key.type == GLINT_F64 &&
                         convert_ratings_of_batch(pairs->key.f64, pairs->rows, f->number);
    const bool ints = f->key == FIELDS_INT && pairs->key.type == GLINT_I64;
    if ((!ratings && !ints && f->key != FIELDS_NONE) || pairs->value.start == NULL)
        return convert_pairs_one_by_one(f, task, pairs);
    f->rows = pairs->rows;
    if (ints) memcpy(f->number, pairs->key.i64, pairs->rows * sizeof *f->number);
    memcpy(f->id_start, pairs->value.start, pairs->rows * sizeof *f->id_start);
    memcpy(f->id_end, pairs->value.end, pairs->rows * sizeof *f->id_end);
    return 0;
}

static int parse_batch(struct fields *f, struct glint_task *task, const struct glint_batch *lines)
{
    uint64_t odd[FIELDS_ODD_WORDS] = {0};
    assert(lines->rows <= FIELDS_ROWS_MAX);
    if (f->pairs) return convert_pairs_of_batch(f, task, lines);
    int r = f->quotes ? fields_reject_quoted(task, lines, f->delimiter) : 0;
    if (r != 0) return r;
    f->base = f->key_base = lines->value.base;
    f->size = f->key_size = lines->value.size;
    if (!is_scan_worthwhile(f, &lines->value, lines->rows) ||
        !fields_scan(f, &lines->value, lines->rows, odd))
        return parse_rows(f, task, lines);
    if (f->skip_empty && f->key_column == 0 && f->id_column == 0)
        mark_empty_rows(&lines->value, lines->rows, odd);
    r = parse_marked_rows(f, task, lines, odd);
    if (r == 0 && !f->keep_nulls) leave_out_nulls(f, task);
    return r;
}

/* ---- Escapes */

/* Replaces fields by their texts in `t`. Returns 0 or a code. */
static int unescape_fields(struct fields_texts *t, struct glint_task *task, const uint8_t *base,
                           uint32_t rows, uint32_t *start, uint32_t *end)
{
    uint64_t size = 0, used = 0;
    for (uint32_t row = 0; row < rows; row++) size += end[row] - start[row];
    if (reserve_texts(t, task, size) != 0) return GLINT_E_NO_MEMORY;
    for (uint32_t row = 0; row < rows; row++) {
        const struct glint_slice field = {base + start[row], end[row] - start[row]};
        start[row] = (uint32_t)used;
        used += glint_unescape_field(field, t->bytes + used);
        end[row] = (uint32_t)used;
    }
    assert(used <= size);
    return 0;
}

static bool any_field_has_escape(const uint8_t *base, uint32_t rows, const uint32_t *start,
                                 const uint32_t *end)
{
    uint32_t row = 0;
    while (row < rows &&
           !glint_field_has_escape((struct glint_slice){base + start[row], end[row] - start[row]}))
        row++;
    return row < rows;
}

/* Replaces the keys and ids that have escapes, and all others of them, by their texts. A batch of
 * one row may have more than 4 GiB; its fields do not. */
int fields_unescape(struct fields *f, struct glint_task *task, const struct glint_batch *lines)
{
    int r = 0;
    if (!f->escapes || glint_rows_are_plain(lines)) return 0;
    if (f->ids && any_field_has_escape(f->base, f->rows, f->id_start, f->id_end)) {
        r = unescape_fields(&f->id_texts, task, f->base, f->rows, f->id_start, f->id_end);
        f->base = f->id_texts.bytes;
        f->size = f->id_texts.capacity - READ_SLACK;
    }
    if (r == 0 && f->key == FIELDS_TEXT &&
        any_field_has_escape(f->key_base, f->rows, f->text_start, f->text_end)) {
        r = unescape_fields(&f->key_texts, task, f->key_base, f->rows, f->text_start, f->text_end);
        f->key_base = f->key_texts.bytes;
        f->key_size = f->key_texts.capacity - READ_SLACK;
    }
    return r;
}

/* ---- Ids with a type */

static int set_bad_id_error(const struct fields *f, struct glint_task *task, struct glint_slice id,
                            const char *reason)
{
    char number[COLUMN_LABEL_BYTES];
    columns_label((struct glint_slice){NULL, 0}, f->delimiter, f->id_column, number);
    return glint_bad_value(task, id, NULL, reason, f->id_label != NULL ? f->id_label : number, id);
}

/* A batch's values: at most ID_VALUE_MAX bytes each, or half of its text. */
static int reserve_id_value_bytes(struct fields *f, struct glint_task *task)
{
    uint64_t text = 0;
    for (uint32_t row = 0; row < f->rows; row++) text += f->id_end[row] - f->id_start[row];
    const uint64_t size = text + (uint64_t)f->rows * ID_VALUE_MAX + READ_SLACK;
    if (size <= f->values_size) return 0;
    f->values = glint_scratch(task, 2 * size);
    f->values_size = f->values != NULL ? 2 * size : 0;
    if (f->values == NULL) return GLINT_E_NO_MEMORY;
    memset(f->values, 0, f->values_size);
    return 0;
}

/* Replaces the texts of the ids by the bytes of their values. */
static int parse_id_values(struct fields *f, struct glint_task *task)
{
    const uint32_t rows = f->rows;
    uint32_t kept = 0;
    uint64_t used = 0;
    int r = reserve_id_value_bytes(f, task);
    for (uint32_t row = 0; r == 0 && row < rows; row++) {
        const struct glint_slice id = {f->base + f->id_start[row],
                                       f->id_end[row] - f->id_start[row]};
        uint64_t size = 0;
        const char *wrong = id_value_parse(f->id_type, f->id_width, id, f->values + used, &size);
        assert(used + size <= f->values_size && f->values_size <= UINT32_MAX);
        if (wrong != NULL) {
            r = set_bad_id_error(f, task, id, wrong);
            r = r < 0 ? r : 0;
            continue;
        }
        if (kept < row) move_parsed_rows(f, kept, row, 1);
        f->id_start[kept] = (uint32_t)used;
        f->id_end[kept++] = (uint32_t)(used += size);
    }
    f->rows = kept;
    f->base = f->values;
    f->size = used;
    return r;
}

int fields_parse(struct fields *f, struct glint_task *task, const struct glint_batch *lines)
{
    int r = parse_batch(f, task, lines);
    if (r == 0 && !f->as_in_rows) r = fields_unescape(f, task, lines);
    return r == 0 && f->id_type != 0 && f->ids && f->rows > 0 ? parse_id_values(f, task) : r;
}
