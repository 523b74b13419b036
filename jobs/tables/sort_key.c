/* Sort keys: see sort_key.h. */
#include "jobs/tables/sort_key.h"

#include "engine/input/typed_row.h"
#include "jobs/rows/numbers.h"

#include <assert.h>
#include <endian.h>
#include <math.h>
#include <string.h>

static_assert(SORT_KEY_ALONE_MAX == TYPED_VALUE_BYTES_MAX + 1, "a null has a byte more");
static_assert(SORT_NUMERIC == 1 && SORT_REVERSE == 2, "bits follow SORT_LETTERS");

/* ---- Typed values */

/* Whether keys of a column are made of typed values. */
static bool has_typed_key(const struct sort_keys *k, uint32_t i)
{
    const struct columns_reader *r = &k->reader;
    const uint8_t letters = r->columns.letters[i];
    const uint32_t number = r->columns.number[i];
    return r->typed != NULL && number < r->typed->count && !columns_has_part(r, i) &&
           (letters & (SORT_NUMERIC | SORT_TIME)) != 0 && r->typed->columns[number].size > 0 &&
           r->typed->columns[number].field->type != ARROW_BOOL;
}

static uint8_t *put_u64_key(uint8_t *at, uint64_t bits)
{
    bits = htobe64(bits);
    memcpy(at, &bits, sizeof bits);
    return at + sizeof bits;
}

static uint8_t *put_float_key(uint8_t *at, double value)
{
    uint64_t bits;
    if (value == 0) value = 0; /* -0.0 */
    if (isnan(value)) value = (double)NAN;
    memcpy(&bits, &value, sizeof bits);
    return put_u64_key(at, bits >> 63 != 0 ? ~bits : bits | (uint64_t)1 << 63);
}

static int64_t load_signed(const uint8_t *value, uint32_t size)
{
    uint64_t bits = 0;
    assert(size > 0 && size <= sizeof bits);
    memcpy(&bits, value, size); /* little-endian, as Arrow's buffers */
    return (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size);
}

uint8_t *sort_key_put_value(uint8_t *at, const struct typed_column *c, const uint8_t *value)
{
    switch (c->field->type) {
    case ARROW_F32: {
        float f32;
        memcpy(&f32, value, sizeof f32);
        return put_float_key(at, (double)f32);
    }
    case ARROW_F64: {
        double f64;
        memcpy(&f64, value, sizeof f64);
        return put_float_key(at, f64);
    }
    case ARROW_U64: return put_u64_key(at, (uint64_t)load_signed(value, c->size));
    case ARROW_U8:
    case ARROW_U16:
    case ARROW_U32: {
        uint64_t bits = 0;
        memcpy(&bits, value, c->size);
        return put_u64_key(at, bits | (uint64_t)1 << 63);
    }
    default: break;
    }
    if (c->size <= sizeof(int64_t))
        return put_u64_key(at, (uint64_t)load_signed(value, c->size) ^ (uint64_t)1 << 63);
    for (uint32_t i = 0; i < c->size; i++) at[i] = value[c->size - 1 - i]; /* a wide decimal */
    *at ^= 0x80;
    return at + c->size;
}

/* Writes the key of the only column. Returns its end. */
static uint8_t *put_key_of_only_column(uint8_t *at, const struct sort_keys *k, const uint8_t *row)
{
    const uint32_t column = k->reader.columns.number[0];
    const bool reverse = (k->reader.columns.letters[0] & SORT_REVERSE) != 0;
    const struct typed_column *const c = &k->reader.typed->columns[column];
    if (typed_row_is_null(row, column)) {
        const uint32_t size = !reverse ? 0 : (c->size > 8 ? c->size : 8) + 1;
        memset(at, 0xff, size);
        return at + size;
    }
    uint8_t *const end = sort_key_put_value(at, c, row + c->at);
    for (; reverse && at < end; at++) *at = (uint8_t)~*at;
    return end;
}

void sort_keys_put_all(const struct sort_keys *k, const struct glint_column *rows, uint32_t count,
                       uint8_t *out, uint32_t *start, uint32_t *end)
{
    uint8_t *at = out;
    assert(k->alone && rows->start != NULL);
    for (uint32_t i = 0; i < count; i++) {
        start[i] = (uint32_t)(at - out);
        at = put_key_of_only_column(at, k, rows->base + rows->start[i]);
        end[i] = (uint32_t)(at - out);
    }
}

/* The key of one of several columns. */
static uint8_t *put_typed_key(uint8_t *at, const struct sort_keys *k, uint32_t i,
                              const uint8_t *row)
{
    const uint32_t column = k->reader.columns.number[i];
    const struct typed_column *const c = &k->reader.typed->columns[column];
    *at++ = !typed_row_is_null(row, column);
    return at[-1] != 0 ? sort_key_put_value(at, c, row + c->at) : at;
}

/* ---- Keys of fields */

int sort_keys_open(struct glint_task *task, struct sort_keys *k)
{
    int e = columns_open(task, &k->reader);
    const struct columns *c = &k->reader.columns;
    k->plain = c->count == 1 && c->letters[0] == 0;
    k->alone = e == 0 && c->count == 1 && has_typed_key(k, 0);
    for (uint32_t i = 0; e == 0 && i < c->count; i++) k->typed[i] = has_typed_key(k, i);
    return e;
}

/* The size of a key is known only at its end: this is the largest possible one. */
static int reserve_sort_key(struct sort_keys *k, struct glint_task *task,
                            const struct glint_slice *fields)
{
    uint64_t need = 0;
    for (uint32_t i = 0; i < k->reader.columns.count; i++)
        need += 2 * fields[i].size + 2 + 2 + NUMBER_KEY_MAX + TYPED_VALUE_BYTES_MAX;
    if (need <= k->capacity) return 0;
    k->bytes = glint_scratch(task, 2 * need);
    k->capacity = k->bytes != NULL ? 2 * need : 0;
    return k->bytes != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static uint8_t *put_text_key(uint8_t *at, struct glint_slice text)
{
    while (text.size > 0) {
        const uint8_t *zero = memchr(text.data, 0, text.size);
        const uint64_t size = zero != NULL ? (uint64_t)(zero - text.data) : text.size;
        memcpy(at, text.data, size);
        at += size;
        text.data += size;
        text.size -= size;
        if (zero == NULL) break;
        *at++ = 0;
        *at++ = 0xff;
        text.data++;
        text.size--;
    }
    *at++ = 0;
    *at++ = 1;
    return at;
}

/* Years from 0 to 9999 have no sign, and order as texts; the others are before and after them. */
static uint8_t *put_sort_time_key(uint8_t *at, struct glint_slice text)
{
    text = columns_time_text(text);
    const bool minus = text.size > 0 && text.data[0] == '-';
    uint64_t digits = 0;
    if (!minus && (text.size == 0 || text.data[0] != '+')) return put_text_key(at, text);
    while (digits + 1 < text.size && text.data[digits + 1] != '-') digits++;
    const uint8_t longer = (uint8_t)(digits < UINT8_MAX ? digits : UINT8_MAX);
    *at++ = minus ? 0x01 : 0xfe;
    *at++ = minus ? (uint8_t)~longer : longer;
    for (uint64_t i = 1; i <= digits; i++)
        *at++ = minus ? (uint8_t)('9' - (text.data[i] - '0')) : text.data[i];
    return put_text_key(at, (struct glint_slice){text.data + digits + 1, text.size - digits - 1});
}

static uint8_t *put_null_sort_key(uint8_t *at)
{
    *at++ = 0;
    *at++ = 0;
    return at;
}

/* Returns NULL if the field is not a number. */
static uint8_t *put_number_key(uint8_t *at, struct glint_slice text)
{
    if (text.size > 0) {
        const uint32_t size = number_key(text, at);
        return size > 0 ? at + size : NULL;
    }
    *at++ = 0;
    *at++ = 1;
    return at;
}

/* The plain key of a field that would equal null's, or precede it. Returns 1 or a code. */
static int prepend_zero_to_key(struct sort_keys *k, struct glint_task *task,
                               const struct glint_slice *fields, struct glint_slice *out)
{
    int e = reserve_sort_key(k, task, fields);
    if (e != 0) return e;
    k->bytes[0] = 0;
    if (fields[0].size > 0) memcpy(k->bytes + 1, fields[0].data, fields[0].size);
    *out = (struct glint_slice){k->bytes, fields[0].size + 1};
    return 1;
}

int sort_keys_make(struct sort_keys *k, struct glint_task *task, struct glint_slice row,
                   struct glint_slice *out, bool *out_empty)
{
    struct glint_slice fields[COLUMNS_MAX];
    const struct columns *c = &k->reader.columns;
    if (k->alone) {
        if (out_empty != NULL)
            *out_empty = typed_row_is_null(row.data, k->reader.columns.number[0]);
        *out = (struct glint_slice){
            k->value, (uint64_t)(put_key_of_only_column(k->value, k, row.data) - k->value)};
        return 1;
    }
    int e = columns_find(&k->reader, task, row, fields);
    if (e <= 0) return e;
    if (out_empty != NULL) *out_empty = false;
    if (k->plain) {
        *out = fields[0];
        if (nulls_is(k->reader.null, fields[0])) {
            if (out_empty != NULL) *out_empty = true;
            out->size = 0;
            return 1;
        }
        if (fields[0].size > 0 && fields[0].data[0] != 0) return 1;
        return prepend_zero_to_key(k, task, fields, out);
    }
    e = reserve_sort_key(k, task, fields);
    if (e != 0) return e;
    uint8_t *at = k->bytes;
    for (uint32_t i = 0; i < c->count; i++) {
        uint8_t *const start = at;
        const bool numeric = (c->letters[i] & SORT_NUMERIC) != 0;
        const bool null = nulls_is(k->reader.null, fields[i]);
        at = k->typed[i]                        ? put_typed_key(at, k, i, row.data)
             : null                             ? put_null_sort_key(at)
             : numeric                          ? put_number_key(at, fields[i])
             : (c->letters[i] & SORT_TIME) != 0 ? put_sort_time_key(at, fields[i])
                                                : put_text_key(at, fields[i]);
        if (at == NULL)
            return columns_bad_value(&k->reader, task, row, i, fields[i],
                                     number_problem(fields[i]));
        if (out_empty != NULL && i >= k->groups && (null || (numeric && fields[i].size == 0)))
            *out_empty = true;
        if ((c->letters[i] & SORT_REVERSE) == 0) continue;
        for (uint8_t *byte = start; byte < at; byte++) *byte = (uint8_t) ~*byte;
    }
    assert(at <= k->bytes + k->capacity);
    *out = (struct glint_slice){k->bytes, (uint64_t)(at - k->bytes)};
    return 1;
}

struct glint_slice sort_key_head(struct glint_slice key, uint32_t columns)
{
    uint64_t at = 0;
    for (; columns > 0; columns--, at += 2)
        while (at + 2 < key.size && (key.data[at] != 0 || key.data[at + 1] == 0xff))
            at += key.data[at] == 0 ? 2 : 1;
    return (struct glint_slice){key.data, at < key.size ? at : key.size};
}
