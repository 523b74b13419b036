/* The keys of a batch of rows, as bytes:
 *
 *     text    without escapes; a single one that has none where it is; of several, 00 is 00 ff, and
 *             00 00 ends each but the last one, whatever the delimiter of the side is
 *     values  of each integer 8 bytes whose bytewise order is that of the numbers; the bytes of
 *             number_key; 01 and a double; 01, seconds and nanoseconds. A value ends where its
 *             bytes say so
 *     null    if any field is null: 00 01 on the left side, 00 02 on the right. Where such keys
 *             are, in outer joins, other keys that begin with 00 have one more 00 before it
 *
 * Rows whose key is null are left out unless unmatched rows of the side are in the output. */
#include "engine/input/typed_row.h"
#include "jobs/join/join.h"
#include "jobs/rows/fields_kernel.h"
#include "jobs/rows/numbers.h"
#include "jobs/rows/timestamps.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    INT_BYTES = 8,
    SHORT_DIGITS = 9,
    VALUE_BYTES_MAX = NUMBER_KEY_MAX, /* also what ends a text */
    VALUE_MARK = 1,
    NULL_KEY_BYTES = 2
};
static_assert(VALUE_BYTES_MAX >= 1 + sizeof(int64_t) + sizeof(int32_t), "a time fits");

/* Room for `size` more bytes after the keys, and slack for filters. Returns 0 or a code. */
static int reserve_built_key(struct join_rows *r, struct glint_task *task, uint64_t size)
{
    const uint64_t need = r->built_size + size + BLOOM_ID_SLACK;
    if (need <= r->built_capacity) return 0;
    uint8_t *bytes = glint_scratch(task, 2 * need);
    if (bytes == NULL) return GLINT_E_NO_MEMORY;
    if (r->built_size > 0) memcpy(bytes, r->built, r->built_size);
    r->built = bytes;
    r->built_capacity = 2 * need;
    return 0;
}

/* Returns NULL, or why the field is no number. */
static const char *put_integer_key(struct glint_slice text, uint8_t *out)
{
    int64_t number;
    if (!(text.size <= SHORT_DIGITS && fields_int(text.data, (uint32_t)text.size, &number)) &&
        !glint_parse_i64(text, &number))
        return fields_int_problem(text);
    const uint64_t bits = htobe64((uint64_t)number ^ (uint64_t)1 << 63);
    memcpy(out, &bits, sizeof bits);
    return NULL;
}

/* Returns NULL, or why the field is no number. */
static const char *put_f64_key(enum join_key_kind kind, struct glint_slice text, uint8_t **out)
{
    struct number number;
    if (!number_parse(text, &number)) return number_problem(text);
    const uint32_t bits = kind == JOIN_KEY_F16 ? 16 : kind == JOIN_KEY_F32 ? 32 : 64;
    double value = number_round_to_float(number_f64(&number), bits);
    value = isnan(value) ? (double)NAN : value + 0.0; /* -0.0 becomes 0.0 */
    *(*out)++ = VALUE_MARK;
    memcpy(*out, &value, sizeof value);
    *out += sizeof value;
    return NULL;
}

static const char *put_join_time_key(struct glint_slice text, uint8_t **out)
{
    struct timestamp time;
    if (!timestamp_parse(text, &time))
        return "a key column of times has no ISO 8601 time";
    *(*out)++ = VALUE_MARK;
    memcpy(*out, &time.seconds, sizeof time.seconds);
    memcpy(*out + sizeof time.seconds, &time.nanos, sizeof time.nanos);
    *out += sizeof time.seconds + sizeof time.nanos;
    return NULL;
}

/* Writes what a field is compared as, of at most VALUE_BYTES_MAX bytes more than the field. Returns
 * NULL, or why the field is none. */
static const char *put_value_key(enum join_key_kind kind, struct glint_slice text, uint8_t **out)
{
    const char *problem = NULL;
    uint32_t size = 0;
    switch (kind) {
    case JOIN_KEY_INT:
        problem = put_integer_key(text, *out);
        *out += INT_BYTES;
        return problem;
    case JOIN_KEY_NUMBER:
        size = number_key(text, *out);
        *out += size;
        return size > 0 ? NULL : number_problem(text);
    case JOIN_KEY_TIME: return put_join_time_key(text, out);
    default: return put_f64_key(kind, text, out);
    }
}

/* Reports field `i` of the key, as glint_bad_value. */
static int set_bad_key_error(const struct join_rows *r, struct glint_task *task,
                             struct glint_slice line, uint32_t i, struct glint_slice field,
                             const char *problem)
{
    return r->by_columns ? columns_bad_value(&r->reader, task, line, i, field, problem)
                         : fields_bad_key(&r->fields, task, line, field, problem);
}

/* Writes one of several texts of a key, at most twice its size and two bytes. */
static uint8_t *put_one_of_several_texts(struct glint_slice text, bool escapes, bool last,
                                         uint8_t *at)
{
    for (uint64_t i = 0; i < text.size; i++) {
        const bool escape = escapes && text.data[i] == GLINT_ROW_NULL && i + 1 < text.size;
        *at++ = escape ? (uint8_t)(text.data[++i] - 0x20) : text.data[i];
        if (text.data[i] == 0) *at++ = 0xff;
    }
    if (last) return at;
    at[0] = at[1] = 0;
    return at + 2;
}

/* Writes a key of fields that are not null. Returns 1 with *out_size set, 0 if the row was bad and
 * skipped, or a code. */
static int put_key_fields(const struct join_rows *r, struct glint_task *task,
                          struct glint_slice line, const struct glint_slice *fields, uint8_t *out,
                          uint64_t *out_size)
{
    uint8_t *at = out;
    for (uint32_t i = 0; i < r->key_columns; i++) {
        const enum join_key_kind kind = (enum join_key_kind)r->kinds[i];
        if (kind != JOIN_KEY_TEXT) {
            const char *problem = put_value_key(kind, fields[i], &at);
            if (problem != NULL) return set_bad_key_error(r, task, line, i, fields[i], problem);
            continue;
        }
        if (r->key_columns > 1) {
            at = put_one_of_several_texts(fields[i], r->escapes, i + 1 == r->key_columns, at);
            continue;
        }
        if (r->escapes) {
            at += glint_unescape_field(fields[i], at);
            continue;
        }
        if (fields[i].size > 0) memcpy(at, fields[i].data, fields[i].size);
        at += fields[i].size;
    }
    if (r->has_null_keys && at > out && *out == 0) {
        memmove(out + 1, out, (size_t)(at - out));
        at++;
    }
    *out_size = (uint64_t)(at - out);
    return 1;
}

/* Appends the key of a row as key `at`. Returns 1, 0 if the row is left out, or a code. */
static int put_join_key(struct join_rows *r, struct glint_task *task, struct glint_slice line,
                        const struct glint_slice *fields, uint32_t at)
{
    uint64_t size = NULL_KEY_BYTES;
    bool null = false;
    for (uint32_t i = 0; i < r->key_columns; i++) {
        null |= nulls_is(r->null, fields[i]);
        size += 2 * fields[i].size + VALUE_BYTES_MAX;
    }
    if (null && !r->keep_nulls) return 0;
    int e = reserve_built_key(r, task, size);
    if (e != 0) return e;
    uint8_t *const out = r->built + r->built_size;
    if (null) {
        assert(r->has_null_keys);
        size = NULL_KEY_BYTES;
        out[0] = 0;
        out[1] = (uint8_t)(1 + r->side);
    } else {
        e = put_key_fields(r, task, line, fields, out, &size);
        if (e <= 0) return e;
    }
    if (r->built_size + size > UINT32_MAX)
        return glint_bad_row(task, line, "the key is longer than 4 GiB");
    r->built_start[at] = (uint32_t)r->built_size;
    r->built_size += size;
    r->built_end[at] = (uint32_t)r->built_size;
    return 1;
}

static int build_keys_of_rows(struct join_rows *r, struct glint_task *task)
{
    const struct glint_column *lines = &r->lines->value;
    struct glint_slice fields[COLUMNS_MAX];
    const uint32_t rows = r->rows;
    uint32_t kept = 0;
    r->rows = 0;
    r->built_size = 0;
    for (uint32_t row = 0; row < rows; row++) {
        int e = 1;
        struct glint_slice line = lines->start != NULL
                                      ? join_rows_line(r, row)
                                      : (struct glint_slice){lines->base, lines->size};
        if (r->by_columns)
            e = columns_find(&r->reader, task, line, fields);
        else
            fields[0] = join_rows_key(r, row);
        if (e > 0) e = put_join_key(r, task, line, fields, kept);
        if (e < 0) return e;
        if (e == 0) continue;
        r->line_start[kept] = r->line_start[row];
        r->line_end[kept++] = r->line_end[row];
    }
    r->rows = kept;
    r->key_base = r->built;
    r->key_size = r->built_size;
    r->key_start = r->built_start;
    r->key_end = r->built_end;
    return 0;
}

/* Whether any key is null, which is no key of the other side, or could be taken for one, or has an
 * escape. */
static bool has_special_key(const struct join_rows *r)
{
    for (uint32_t row = 0; r->escapes && row < r->rows; row++)
        if (glint_field_has_escape(join_rows_key(r, row))) return true;
    for (uint32_t row = 0; r->has_null_keys && row < r->rows; row++)
        if (join_key_is_special(r, join_rows_key(r, row))) return true;
    if (!fields_any_size(r->key_start, r->key_end, r->rows, (uint32_t)r->null.size)) return false;
    for (uint32_t row = 0; row < r->rows; row++)
        if (nulls_is(r->null, join_rows_key(r, row))) return true;
    return false;
}

/* Finds the keys of one text column in typed rows. Returns false if they have to be made: the
 * column has other values, or nulls. */
static bool find_typed_keys(struct join_rows *r)
{
    const uint32_t column = r->reader.columns.number[0];
    const struct typed_form *const f = r->reader.typed;
    const uint8_t *const base = r->lines->value.base;
    assert(r->by_columns);
    if (r->key_columns > 1 || r->values || f == NULL || column >= f->count) return false;
    if (f->columns[column].size > 0) return false;
    for (uint32_t row = 0; row < r->rows; row++) {
        const uint8_t *const line = base + r->line_start[row];
        if (typed_row_is_null(line, column)) return false;
        const struct glint_slice key = typed_row_value(f, line, column);
        if (join_key_is_special(r, key)) return false;
        r->built_start[row] = (uint32_t)(key.data - base);
        r->built_end[row] = r->built_start[row] + (uint32_t)key.size;
    }
    r->key_base = base;
    r->key_size = r->lines->value.size;
    r->key_start = r->built_start;
    r->key_end = r->built_end;
    return true;
}

int join_keys_make(struct join_rows *r, struct glint_task *task)
{
    const bool escapes = r->by_columns ? r->reader.escapes : r->fields.escapes;
    r->escapes = escapes && !glint_rows_are_plain(r->lines);
    if (r->by_columns) return find_typed_keys(r) ? 0 : build_keys_of_rows(r, task);
    return r->values || has_special_key(r) ? build_keys_of_rows(r, task) : 0;
}
