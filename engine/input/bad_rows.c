/* The calls of glint.h about rows that are bad: they are counted, or end the job with the row as it
 * is in the file. */
#include "engine/input/bad_rows.h"

#include "engine/base/text.h"
#include "engine/input/csv.h"
#include "engine/input/format.h"
#include "engine/input/json_line.h"
#include "engine/input/line_reader.h"
#include "engine/input/typed_row.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BAD_ROWS_PREFIX     "bad rows: "
#define ROW_BYTES_SHOWN_MAX 200
#define ROW_TEXT_BYTES      256u

/* Returns the offset, from o->offset, in the input of what is at base + `at`; of the row there if
 * it was converted. */
static uint64_t offset_in_input(const struct glint_origin *o, uint64_t at)
{
    if (o->rows == 0) return at;
    uint32_t low = 0, high = o->rows; /* the last row that does not begin after `at` */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (o->row_start[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return o->row_offset[low];
}

void task_describe_row_location(struct glint_task *task, const uint8_t *row, char *out,
                                size_t capacity)
{
    const struct glint_origin *o = task->origin;
    if (o == NULL || o->path == NULL) {
        text_format(out, capacity, "partition %" PRIu32, task->partition);
        return;
    }
    const uintptr_t at = (uintptr_t)row, base = (uintptr_t)o->base;
    if (row == NULL || at < base || at - base > o->size) {
        text_format(out, capacity, "%s", o->path);
        return;
    }
    const uint64_t in_input = offset_in_input(o, at - base);
    const uint64_t offset = o->offset + in_input;
    if (o->piece != NULL && o->piece->format != 0) {
        text_format(out, capacity, "%s, row %" PRIu64, o->path, offset + 1);
        return;
    }
    const int64_t number = line_number_at(task->env, o, in_input);
    if (number > 0)
        text_format(out, capacity, "%s:%" PRId64, o->path, number);
    else
        text_format(out, capacity, "%s, byte %" PRIu64, o->path, offset);
}

bool task_row_is_first(const struct glint_task *task, const uint8_t *row)
{
    const struct glint_origin *o = task->origin;
    const uintptr_t at = (uintptr_t)row, base = o != NULL ? (uintptr_t)o->base : 0;
    if (o == NULL || o->piece == NULL || o->piece->header || o->frames_start > 0) return false;
    if (o->piece->format != 0) return false;
    if (at < base || at - base >= o->size) return false;
    const uint64_t in_input = offset_in_input(o, at - base), offset = o->offset + in_input;
    /* After a byte order mark; or it is the second row, after a short one. */
    return offset == 0 ||
           (offset == BYTE_ORDER_MARK_BYTES && line_number_at(task->env, o, in_input) == 1);
}

/* Prints a row for an error message: control bytes and quotes are escaped, a long row is cut. What
 * separates the fields of a converted row, of which there is no line, is a comma; its escapes, and
 * those of a field, are the bytes that they are. */
static void format_row_for_error(struct glint_slice row, bool converted, char *out, size_t capacity)
{
    const size_t longest = sizeof "\\xff" - 1, dots = sizeof "..." - 1;
    assert(capacity > longest + dots);
    size_t n = 0;
    uint64_t i = 0;
    for (; i < row.size && i < ROW_BYTES_SHOWN_MAX && n + longest + dots < capacity; i++) {
        uint8_t c = row.data[i];
        const bool separator = converted && c == CSV_SEPARATOR;
        if (converted && c == ROW_NULL && i + 1 < row.size && row.data[i + 1] > CSV_SEPARATOR)
            c = (uint8_t)(row.data[++i] - 0x20);
        if (c == '\t')
            n += (size_t)snprintf(out + n, capacity - n, "\\t");
        else if (separator)
            out[n++] = ',';
        else if (c == '"' || c == '\\')
            n += (size_t)snprintf(out + n, capacity - n, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            n += (size_t)snprintf(out + n, capacity - n, "\\x%02x", c);
        else
            out[n++] = (char)c;
    }
    snprintf(out + n, capacity - n, "%s", i < row.size ? "..." : "");
}

/* Returns the bad rows of this attempt, for all reasons. The driver checks the sum of the job. */
static int64_t sum_bad_rows_of_attempt(const struct task_counters *c)
{
    int64_t sum = 0;
    for (uint32_t i = COUNT_BUILT_IN; i < c->used; i++)
        if (strncmp(c->names[i], BAD_ROWS_PREFIX, sizeof BAD_ROWS_PREFIX - 1) == 0)
            sum += c->values[i];
    return sum;
}

static int count_rows_as_skipped(struct glint_task *task, const char *reason, int64_t rows)
{
    char name[NAME_BYTES_MAX];
    text_format(name, sizeof name, BAD_ROWS_PREFIX "%s", reason);
    int counter = glint_counter(task, name);
    if (counter < 0) return counter;
    glint_counter_add(task, counter, rows);
    return 0;
}

/* Whether CSV_SEPARATOR is between the fields of rows, of which there is no line. */
static bool are_rows_separated_fields(const struct glint_task *task)
{
    const struct glint_origin *o = task->origin;
    return o == NULL || (o->piece != NULL && o->piece->format != 0);
}

/* Whether fields of rows may have escapes. */
static bool have_fields_escapes(const struct glint_task *task)
{
    const struct glint_origin *o = task->origin;
    return are_rows_separated_fields(task) || o->piece == NULL || o->piece->csv != 0 ||
           o->piece->json.data != NULL;
}

/* A typed row as rows of text are. */
static struct glint_slice typed_row_in_text(struct glint_task *task, struct glint_slice types,
                                            struct glint_slice row)
{
    const struct typed_form *f = typed_form_read(task, types);
    struct glint_slice text = {(const uint8_t *)"", 0};
    struct buffer b = {NULL, 0, 0};
    if (row.size > 0 && f != NULL && typed_row_append_row(f, row.data, &b)) {
        const uint8_t *copy = arena_copy(&task->arena, b.data, b.size);
        if (copy != NULL) text = (struct glint_slice){copy, b.size};
    }
    buffer_fini(&b);
    return text;
}

/* The row as it is in the input: one that was converted is still in the reader's buffer. */
static struct glint_slice row_as_in_input(struct glint_task *task, struct glint_slice row)
{
    const struct glint_origin *o = task->origin;
    const uintptr_t at = (uintptr_t)row.data, base = o != NULL ? (uintptr_t)o->base : 0;
    if (o != NULL && o->piece != NULL && o->piece->layout != NULL &&
        o->piece->layout->types.size > 0)
        return typed_row_in_text(task, o->piece->layout->types, row);
    if (o == NULL || o->input == NULL || at < base || at - base >= o->size)
        return json_row_line(row);
    const uint64_t offset = offset_in_input(o, at - base);
    if (offset >= o->input_size) return json_row_line(row);
    const uint8_t *from = o->input + offset, *end = o->input + o->input_size;
    const bool csv = o->piece != NULL && o->piece->csv != 0;
    struct csv_scan quotes = csv_scan_begin(csv ? o->piece->csv : 0);
    const uint8_t *lf =
        csv ? csv_find_row_end(from, end, &quotes) : memchr(from, '\n', (size_t)(end - from));
    if (lf == NULL) lf = end;
    if (lf > from && lf[-1] == '\r') lf--;
    return (struct glint_slice){from, (uint64_t)(lf - from)};
}

/* `shown` is printed instead of the row; NULL: the row is printed. */
static int fail_with_row(struct glint_task *task, enum glint_code code, struct glint_slice row,
                         const char *hint, const char *reason, const char *shown)
{
    /* Only the first error is kept: do not read the file for another one. */
    if (task->error.code != GLINT_OK) return task->error.code;
    char location[512], whole[ROW_TEXT_BYTES];
    task_describe_row_location(task, row.data, location, sizeof location);
    format_row_for_error(row_as_in_input(task, row), are_rows_separated_fields(task), whole,
                         sizeof whole);
    return glint_fail(task, code, hint, "%s: %s: \"%s\"", location, reason,
                      shown != NULL ? shown : whole);
}

int glint_fail_row(struct glint_task *task, enum glint_code code, struct glint_slice row,
                   const char *hint, const char *reason)
{
    assert(code < 0);
    return fail_with_row(task, code, row, hint, reason, NULL);
}

/* Counts bad rows and returns 0 if they are skipped; else a code, *code and *hint of the error. A
 * hint of the caller stays. */
static int skip_bad_rows_or_set_code(struct glint_task *task, int64_t rows, const char *reason,
                                     enum glint_code *code, const char **hint)
{
    const struct task_options *options = task->options;
    if (*hint == NULL)
        *hint = *code == GLINT_E_COUNT_NOT_FOUND /* to skip them would lose the key */
                    ? "count the same input, with --exact that of --universe, with the same "
                      "options, in the same form of rows; "
                      "--like and "
                      "--add-to have the keys of their filters"
                    : "use --bad-rows skip to count and skip such rows";
    if (!options->skip_bad_rows) return *code;
    if (task->uncount_bad_rows) return 0;
    int r = count_rows_as_skipped(task, reason, rows);
    if (r < 0) return r;
    if (options->bad_rows_max < 0 ||
        sum_bad_rows_of_attempt(&task->counters) <= options->bad_rows_max)
        return 0;
    *hint = "raise --max-bad-rows, or check the input";
    return *code = GLINT_E_TOO_MANY_BAD_ROWS;
}

static int skip_bad_rows_or_fail_task(struct glint_task *task, enum glint_code code,
                                      struct glint_slice row, int64_t rows, const char *reason,
                                      const char *shown, const char *hint)
{
    assert(code < 0);
    const int r = skip_bad_rows_or_set_code(task, rows, reason, &code, &hint);
    return r == 0 ? 0 : fail_with_row(task, code, row, hint, reason, shown);
}

static bool begins_like_number(struct glint_slice value)
{
    uint64_t at = 0;
    while (at < value.size && memchr("+-.", value.data[at], 3) != NULL) at++;
    return at < value.size && value.data[at] >= '0' && value.data[at] <= '9';
}

/* For what is often written for a missing value. NULL: it is something else. */
static const char *hint_of_null(struct glint_slice value)
{
#define NULL_WORD(word)                                                                            \
    {word, "if " word " is null, add --null " word "; --bad-rows skip leaves out whole rows"}
    static const struct {
        const char *word, *hint;
    } words[] = {
        {"", "if an empty field is null, add --null ''; --bad-rows skip leaves out whole rows"},
        NULL_WORD("NA"),   NULL_WORD("N/A"),  NULL_WORD("n/a"), NULL_WORD("NULL"),
        NULL_WORD("null"), NULL_WORD("None"), NULL_WORD("-"),   NULL_WORD("."),
        NULL_WORD("--"),   NULL_WORD("?"),
    };
#undef NULL_WORD
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (value.size == strlen(words[i].word) &&
            memcmp(value.data, words[i].word, value.size) == 0)
            return words[i].hint;
    return NULL;
}

/* To skip rows is wrong if the first one is a header, if none has the columns, or if the value is
 * null. NULL: it may be right. */
static const char *hint_of_value(bool first, struct glint_slice value)
{
    if (value.data == NULL)
        return first ? "line 1: check --delimiter and --csv; or is it a header? add --header"
                     : "check --delimiter and --csv; if few rows are short, --bad-rows skip counts "
                       "and skips them";
    const char *hint = hint_of_null(value);
    if (hint != NULL) return hint;
    return first && !begins_like_number(value) ? "line 1: is it a header? add --header" : NULL;
}

int glint_bad_value(struct glint_task *task, struct glint_slice row, const char *hint,
                    const char *reason, const char *column, struct glint_slice value)
{
    enum glint_code code = GLINT_E_BAD_ROW;
    const char *better = NULL;
    char shown[ROW_TEXT_BYTES], whole[ROW_TEXT_BYTES], location[512];
    const int r = skip_bad_rows_or_set_code(task, 1, reason, &code, &hint);
    if (r == 0 || task->error.code != GLINT_OK) return r == 0 ? 0 : task->error.code;
    const struct glint_slice input = row_as_in_input(task, row);
    const struct glint_origin *o = task->origin;
    const bool delimited = o == NULL || o->piece == NULL ||
                           (o->piece->json.data == NULL && o->piece->format == 0);
    if (code == GLINT_E_BAD_ROW && delimited)
        better = hint_of_value(task_row_is_first(task, row.data), value);
    if (better != NULL) hint = better;
    task_describe_row_location(task, row.data, location, sizeof location);
    format_row_for_error(value, have_fields_escapes(task), shown, sizeof shown);
    format_row_for_error(input, are_rows_separated_fields(task), whole, sizeof whole);
    if (value.data == NULL)
        return glint_fail(task, code, hint, "%s: %s: %s; the row: \"%s\"", location, reason, column,
                          whole);
    if (value.size == input.size)
        return glint_fail(task, code, hint, "%s: %s: %s: \"%s\"", location, reason, column, shown);
    return glint_fail(task, code, hint, "%s: %s: %s: \"%s\"; the row: \"%s\"", location, reason,
                      column, shown, whole);
}

int glint_bad_row_with_code(struct glint_task *task, enum glint_code code, struct glint_slice row,
                            const char *reason, const char *shown)
{
    return skip_bad_rows_or_fail_task(task, code, row, 1, reason, shown, NULL);
}

int task_bad_row(struct glint_task *task, struct glint_slice row, const char *reason,
                 const char *hint)
{
    return skip_bad_rows_or_fail_task(task, GLINT_E_BAD_ROW, row, 1, reason, NULL, hint);
}

int task_bad_record(struct glint_task *task, struct glint_slice record, const char *reason)
{
    int64_t lines = 1;
    for (uint64_t i = 0; i + 1 < record.size; i++) lines += record.data[i] == '\n';
    return skip_bad_rows_or_fail_task(task, GLINT_E_BAD_ROW, record, lines, reason, NULL, NULL);
}

int glint_bad_row(struct glint_task *task, struct glint_slice row, const char *reason)
{
    return glint_bad_row_with_code(task, GLINT_E_BAD_ROW, row, reason, NULL);
}
