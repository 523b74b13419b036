/* The calls of glint.h that functions make on their task: errors, bad rows, counters, memory. */
#include "engine/data/task.h"

#include "engine/base/text.h"
#include "engine/batch.h"
#include "engine/data/csv.h"
#include "engine/data/format.h"
#include "engine/data/json_line.h"
#include "engine/data/line_reader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

const char *const task_counter_names[COUNT_BUILT_IN] = {
    [COUNT_ROWS_READ] = "rows read",
    [COUNT_BYTES_READ] = "bytes read",
    [COUNT_ROWS_WRITTEN] = "rows written",
    [COUNT_BYTES_WRITTEN] = "bytes written",
    [COUNT_MAP_OUTPUT_RECORDS] = "map output records",
    [COUNT_MAP_OUTPUT_BYTES] = "map output bytes",
    [COUNT_SPILLS] = "spills",
    [COUNT_SPILL_BYTES] = "spill bytes",
    [COUNT_FETCH_WAIT_US] = "fetch wait us",
    [COUNT_CACHE_HITS] = "cache hits",
    [COUNT_CACHE_MISSES] = "cache misses",
    [COUNT_CACHE_EVICTIONS] = "cache evictions",
};

#define BAD_ROWS_PREFIX     "bad rows: "
#define ROW_BYTES_SHOWN_MAX 200
#define ROW_TEXT_BYTES      256u

#define TASK_BUFFER_BYTES_MIN 256u

bool task_is_cancelled(const struct glint_task *task)
{
    /* Relaxed: seeing the flag late only ends the task later. */
    const atomic_bool *flag = task->cancel_flag;
    return flag != NULL && atomic_load_explicit(flag, memory_order_relaxed);
}

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
    if (at < base || at - base >= o->size) return false;
    const uint64_t in_input = offset_in_input(o, at - base), offset = o->offset + in_input;
    /* After a byte order mark; or it is the second row, after a short one. */
    return offset == 0 || (offset == BYTE_ORDER_MARK_BYTES &&
                           line_number_at(task->env, o, in_input) == 1);
}

void *task_alloc(struct glint_task *task, uint64_t size)
{
    void *memory = arena_alloc(&task->arena, size);
    if (memory == NULL) error_no_memory(&task->error);
    return memory;
}

void *glint_scratch(struct glint_task *task, uint64_t size)
{
    void *memory = arena_alloc_aligned(&task->arena, size);
    if (memory == NULL) error_no_memory(&task->error);
    return memory;
}

int glint_append(struct glint_task *task, struct glint_buffer *buffer, const void *data,
                 uint64_t size)
{
    if (size > buffer->capacity - buffer->size) {
        if (size > VALUE_BYTES_MAX - buffer->size)
            return error_set(&task->error, GLINT_E_VALUE_LIMIT, NULL,
                             "a buffer of more than %llu bytes",
                             (unsigned long long)VALUE_BYTES_MAX);
        /* Twice the size each time: what the task keeps until its end is at most as much again. */
        uint64_t capacity = buffer->capacity > 0 ? 2 * buffer->capacity : TASK_BUFFER_BYTES_MIN;
        while (capacity < buffer->size + size) capacity *= 2;
        uint8_t *grown = glint_scratch(task, capacity);
        if (grown == NULL) return task->error.code;
        if (buffer->size > 0) memcpy(grown, buffer->data, buffer->size);
        buffer->data = grown;
        buffer->capacity = capacity;
    }
    if (size > 0) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return 0;
}

uint32_t glint_partition(const struct glint_task *task)
{
    return task->partition;
}

int glint_fail(struct glint_task *task, enum glint_code code, const char *hint, const char *cause,
               ...)
{
    assert(code < 0);
    va_list args;
    va_start(args, cause);
    error_set_va(&task->error, code, hint, cause, args);
    va_end(args);
    return code;
}

int glint_counter(struct glint_task *task, const char *name)
{
    struct task_counters *c = &task->counters;
    assert(name != NULL && name[0] != '\0');
    if (c->used < COUNT_BUILT_IN) c->used = COUNT_BUILT_IN;
    for (uint32_t i = COUNT_BUILT_IN; i < c->used; i++)
        if (strcmp(c->names[i], name) == 0) return (int)i;
    if (c->used == COUNTERS_MAX)
        return glint_fail(task, GLINT_E_PLAN_LIMIT, NULL, "more than %u counters in one task",
                          COUNTERS_MAX - COUNT_BUILT_IN);
    size_t size = strnlen(name, NAME_BYTES_MAX);
    char *copy = task_alloc(task, size + 1);
    if (copy == NULL) return GLINT_E_NO_MEMORY;
    memcpy(copy, name, size);
    copy[size] = '\0';
    c->names[c->used] = copy;
    c->values[c->used] = 0;
    return (int)c->used++;
}

/* A negative `counter` means that glint_counter failed: the task's error is set already. */
void glint_counter_add(struct glint_task *task, int counter, int64_t by)
{
    if (counter < 0) return;
    assert((uint32_t)counter < COUNTERS_MAX);
    /* Unsigned, so that an overflow wraps instead of being undefined. */
    int64_t *value = &task->counters.values[counter];
    *value = (int64_t)((uint64_t)*value + (uint64_t)by);
}

/* Prints a row for an error message: control bytes and quotes are escaped, a long row is cut. What
 * separates the fields of a converted row, of which there is no line, is a comma. */
static void format_row(struct glint_slice row, bool converted, char *out, size_t capacity)
{
    const size_t longest = sizeof "\\xff" - 1, dots = sizeof "..." - 1;
    assert(capacity > longest + dots);
    size_t n = 0;
    uint64_t i = 0;
    for (; i < row.size && i < ROW_BYTES_SHOWN_MAX && n + longest + dots < capacity; i++) {
        const uint8_t c = row.data[i];
        if (c == '\t')
            n += (size_t)snprintf(out + n, capacity - n, "\\t");
        else if (converted && c == CSV_SEPARATOR)
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
static int64_t count_bad_rows(const struct task_counters *c)
{
    int64_t sum = 0;
    for (uint32_t i = COUNT_BUILT_IN; i < c->used; i++)
        if (strncmp(c->names[i], BAD_ROWS_PREFIX, sizeof BAD_ROWS_PREFIX - 1) == 0)
            sum += c->values[i];
    return sum;
}

static int skip_bad_rows(struct glint_task *task, const char *reason, int64_t rows)
{
    char name[NAME_BYTES_MAX];
    text_format(name, sizeof name, BAD_ROWS_PREFIX "%s", reason);
    int counter = glint_counter(task, name);
    if (counter < 0) return counter;
    glint_counter_add(task, counter, rows);
    return 0;
}

/* The row as it is in the input: one that was converted is still in the reader's buffer. */
static struct glint_slice row_in_input(const struct glint_task *task, struct glint_slice row)
{
    const struct glint_origin *o = task->origin;
    const uintptr_t at = (uintptr_t)row.data, base = o != NULL ? (uintptr_t)o->base : 0;
    if (o == NULL || o->input == NULL || at < base || at - base >= o->size)
        return json_row_line(row);
    const uint64_t offset = offset_in_input(o, at - base);
    if (offset >= o->input_size) return json_row_line(row);
    const uint8_t *from = o->input + offset, *end = o->input + o->input_size;
    const bool csv = o->piece != NULL && o->piece->csv != 0;
    struct csv_scan quotes = csv_scan_begin(csv ? o->piece->csv : 0);
    const uint8_t *lf = csv ? csv_find_row_end(from, end, &quotes)
                            : memchr(from, '\n', (size_t)(end - from));
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
    format_row(row_in_input(task, row), task->origin == NULL, whole, sizeof whole);
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
static int add_to_bad_rows(struct glint_task *task, int64_t rows, const char *reason,
                           enum glint_code *code, const char **hint)
{
    const struct task_options *options = task->options;
    if (*hint == NULL)
        *hint = *code == GLINT_E_COUNT_NOT_FOUND /* to skip them would lose the key */
                    ? "count the same input with the same options, in the same form of rows"
                    : "use --bad-rows skip to count and skip such rows";
    if (!options->skip_bad_rows) return *code;
    int r = skip_bad_rows(task, reason, rows);
    if (r < 0) return r;
    if (options->bad_rows_max < 0 || count_bad_rows(&task->counters) <= options->bad_rows_max)
        return 0;
    *hint = "raise --max-bad-rows, or check the input";
    return *code = GLINT_E_TOO_MANY_BAD_ROWS;
}

static int add_bad_rows(struct glint_task *task, enum glint_code code, struct glint_slice row,
                        int64_t rows, const char *reason, const char *shown, const char *hint)
{
    assert(code < 0);
    const int r = add_to_bad_rows(task, rows, reason, &code, &hint);
    return r == 0 ? 0 : fail_with_row(task, code, row, hint, reason, shown);
}

static bool is_first_of_table(const struct glint_task *task, const uint8_t *row)
{
    return task_row_is_first(task, row) && task->origin->piece->json.data == NULL;
}

/* To skip the first row of a table is wrong if it is a header, or if no row has the columns. */
static const char *hint_of_first_row(bool missing)
{
    return missing ? "line 1: check --delimiter and --csv; or is it a header? add --header"
                   : "line 1: is it a header? add --header";
}

int glint_bad_value(struct glint_task *task, struct glint_slice row, const char *reason,
                    const char *column, struct glint_slice value)
{
    enum glint_code code = GLINT_E_BAD_ROW;
    const char *hint = NULL;
    char shown[ROW_TEXT_BYTES], whole[ROW_TEXT_BYTES], location[512];
    const int r = add_to_bad_rows(task, 1, reason, &code, &hint);
    if (r == 0 || task->error.code != GLINT_OK) return r == 0 ? 0 : task->error.code;
    const struct glint_slice input = row_in_input(task, row);
    if (code == GLINT_E_BAD_ROW && is_first_of_table(task, row.data))
        hint = hint_of_first_row(value.data == NULL);
    task_describe_row_location(task, row.data, location, sizeof location);
    format_row(value, false, shown, sizeof shown);
    format_row(input, task->origin == NULL, whole, sizeof whole);
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
    return add_bad_rows(task, code, row, 1, reason, shown, NULL);
}

int task_bad_row(struct glint_task *task, struct glint_slice row, const char *reason,
                 const char *hint)
{
    return add_bad_rows(task, GLINT_E_BAD_ROW, row, 1, reason, NULL, hint);
}

int task_bad_record(struct glint_task *task, struct glint_slice record, const char *reason)
{
    int64_t lines = 1;
    for (uint64_t i = 0; i + 1 < record.size; i++) lines += record.data[i] == '\n';
    return add_bad_rows(task, GLINT_E_BAD_ROW, record, lines, reason, NULL, NULL);
}

int glint_bad_row(struct glint_task *task, struct glint_slice row, const char *reason)
{
    return glint_bad_row_with_code(task, GLINT_E_BAD_ROW, row, reason, NULL);
}
