/* See arrow_builder.h. */
#include "engine/input/arrow_builder.h"

#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/input/json_line.h"
#include "engine/records/bytes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool can_build_nested(const struct arrow_field *f)
{
    bool can = f->type != ARROW_RUN_END && f->child_count > 0;
    for (uint32_t i = 0; can && i < f->child_count; i++)
        can = f->children[i].type == ARROW_NULL || arrow_can_build(&f->children[i]);
    return can;
}

bool arrow_can_build(const struct arrow_field *f)
{
    if (f->dictionary != NULL) return false;
    if (f->type >= ARROW_LIST) return can_build_nested(f);
    switch (f->type) {
    case ARROW_BOOL:
    case ARROW_DATE32:
    case ARROW_DATE64:
    case ARROW_TIME32:
    case ARROW_TIME64:
    case ARROW_TIMESTAMP:
    case ARROW_DURATION:
    case ARROW_UTF8:
    case ARROW_BINARY:
    case ARROW_LARGE_UTF8:
    case ARROW_LARGE_BINARY:
    case ARROW_FIXED_BINARY:
    case ARROW_F16:
    case ARROW_F32:
    case ARROW_F64: return true;
    case ARROW_DECIMAL: return f->scale >= 0;
    default: return f->type >= ARROW_I8 && f->type <= ARROW_U64;
    }
}

const char *arrow_format_string_to_build(const struct arrow_field *f)
{
    if (arrow_can_build(f)) return f->format;
    return f->type == ARROW_BINARY_VIEW && f->dictionary == NULL ? "z" : "u";
}

/* ---- Numbers */

/* Two's complement of 256 bits from up to 76 digits, which fit. Returns false if there are other
 * bytes, or more digits. */
static bool parse_256_bit_integer(const uint8_t *p, uint64_t size, bool negative, uint8_t *out)
{
    uint32_t words[8] = {0};
    assert(size <= 96);
    if (size == 0 || size > 76) return false;
    for (uint64_t i = 0; i < size; i++) {
        if (p[i] < '0' || p[i] > '9') return false;
        uint64_t carry = p[i] - '0';
        for (int w = 0; w < 8; w++) {
            carry += (uint64_t)words[w] * 10;
            words[w] = (uint32_t)carry;
            carry >>= 32;
        }
        assert(carry == 0);
    }
    uint64_t carry = 1;
    for (int w = 0; negative && w < 8; w++) {
        carry += (uint32_t)~words[w];
        words[w] = (uint32_t)carry;
        carry >>= 32;
    }
    memcpy(out, words, sizeof words);
    return true;
}

/* Reads up to 38 digits. Returns false if there are other bytes, or more digits. */
static bool parse_128_bit_integer(const uint8_t *p, uint64_t size, unsigned __int128 *out)
{
    uint64_t first = 0, i = 0;
    if (size == 0 || size > 38) return false;
    for (; i < size && i < 19; i++) { /* as many fit 64 bits */
        if (p[i] < '0' || p[i] > '9') return false;
        first = first * 10 + (p[i] - '0');
    }
    unsigned __int128 value = first;
    for (; i < size; i++) {
        if (p[i] < '0' || p[i] > '9') return false;
        value = value * 10 + (p[i] - '0');
    }
    *out = value;
    return true;
}

static bool cut_sign(struct glint_slice *text)
{
    const bool negative = text->size > 0 && text->data[0] == '-';
    if (negative) *text = (struct glint_slice){text->data + 1, text->size - 1};
    return negative;
}

/* Puts a value within the type's range, of `size` bytes. */
static const char *parse_arrow_integer(const struct arrow_field *f, struct glint_slice text,
                                       uint8_t *out, uint32_t size)
{
    static const char out_of_range[] = "it is out of the range of its column's type";
    const bool is_signed = f->type == ARROW_DURATION || (f->type - ARROW_I8) % 2 == 0;
    const bool negative = cut_sign(&text);
    unsigned __int128 wide;
    assert(size > 0 && size <= 8);
    if (!parse_128_bit_integer(text.data, text.size, &wide)) return "it is not an integer";
    const uint64_t magnitude = (uint64_t)wide;
    if (magnitude != wide || (negative && !is_signed && magnitude > 0)) return out_of_range;
    const uint64_t most =
        (UINT64_MAX >> (64 - 8 * size + is_signed)) + (negative && is_signed ? 1 : 0);
    if (magnitude > most) return out_of_range;
    const uint64_t value = negative ? 0 - magnitude : magnitude;
    memcpy(out, &value, size); /* little-endian, as Arrow's buffers */
    return NULL;
}

/* The nearest half, ties to even; values beyond the largest become infinite. */
static uint16_t half_of_double(double value)
{
    const uint16_t sign = signbit(value) != 0 ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(value)) return sign | 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    if (size < ldexp(1, -14)) return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(size, 24)));
    const int exponent = ilogb(size);
    /* A fraction that rounds up to 2048 becomes the next exponent. */
    const double fraction = nearbyint(ldexp(size, 10 - exponent)) - 1024;
    return (uint16_t)(sign | (uint16_t)((exponent + 15) * 1024 + (int)fraction));
}

static const char *parse_arrow_float(const struct arrow_field *f, struct glint_slice text,
                                     uint8_t *out)
{
    double value;
    if (!text_parse_f64(text.data, text.size, &value) &&
        !text_parse_f64_word(text.data, text.size, &value))
        return "it is not a number";
    /* The shortest text of a float or a half, read as a double, is nearest to it. */
    if (f->type == ARROW_F16) {
        const uint16_t half = half_of_double(value);
        memcpy(out, &half, sizeof half);
    } else if (f->type == ARROW_F32) {
        const float small = (float)value;
        memcpy(out, &small, sizeof small);
    } else {
        memcpy(out, &value, sizeof value);
    }
    return NULL;
}

static const char *parse_arrow_decimal(const struct arrow_field *f, struct glint_slice text,
                                       uint8_t *out)
{
    assert(f->width <= 32 && f->scale >= 0);
    static const char too_many[] = "it has more digits than its column's type";
    static const char other[] = "it is not a decimal number";
    uint8_t digits[96];
    const uint64_t most = f->width <= 16 ? 38 : 76;
    const bool negative = cut_sign(&text);
    const uint8_t *point = text.size > 0 ? memchr(text.data, '.', text.size) : NULL;
    uint64_t whole = point != NULL ? (uint64_t)(point - text.data) : text.size;
    const uint64_t fraction = point != NULL ? text.size - whole - 1 : 0;
    const uint64_t scale = (uint64_t)f->scale;
    unsigned __int128 value;
    if (whole == 0) return other;
    for (; whole > 1 && *text.data == '0'; whole--) text.data++; /* up to one digit */
    const uint64_t zero = scale > 0 && whole == 1 && *text.data == '0';
    if (fraction > scale || whole - zero + scale > most) return too_many;
    memcpy(digits, text.data, whole);
    if (fraction > 0) memcpy(digits + whole, point + 1, fraction);
    memset(digits + whole + fraction, '0', scale - fraction);
    if (f->width > 16)
        return parse_256_bit_integer(digits + zero, whole - zero + scale, negative, out) ? NULL
                                                                                         : other;
    if (!parse_128_bit_integer(digits + zero, whole - zero + scale, &value)) return other;
    const unsigned __int128 half = (unsigned __int128)1 << (8 * f->width - 1);
    if (value > half - !negative) return too_many;
    if (negative) value = -value;
    memcpy(out, &value, f->width);
    return NULL;
}

/* ---- Times */

/* Reads `count` digits at *at. */
static bool parse_digits_at(struct glint_slice text, uint64_t *at, uint32_t count, int64_t *out)
{
    *out = 0;
    if (text.size - *at < count) return false;
    for (uint32_t i = 0; i < count; i++, (*at)++) {
        if (text.data[*at] < '0' || text.data[*at] > '9') return false;
        *out = *out * 10 + (text.data[*at] - '0');
    }
    return true;
}

static bool skip_byte_if_next(struct glint_slice text, uint64_t *at, char byte)
{
    if (*at >= text.size || text.data[*at] != (uint8_t)byte) return false;
    (*at)++;
    return true;
}

/* YYYY-MM-DD, or with a sign and more digits of the year, to days since 1970. */
static bool parse_date_at(struct glint_slice text, uint64_t *at, int64_t *out_days)
{
    static const uint8_t lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool minus = skip_byte_if_next(text, at, '-'),
               sign = minus || skip_byte_if_next(text, at, '+');
    uint32_t year_digits = 4;
    int64_t year, month, day;
    while (sign && year_digits < 9 && *at + year_digits < text.size &&
           text.data[*at + year_digits] != '-')
        year_digits++;
    if (!parse_digits_at(text, at, year_digits, &year) || !skip_byte_if_next(text, at, '-') ||
        !parse_digits_at(text, at, 2, &month) || !skip_byte_if_next(text, at, '-') ||
        !parse_digits_at(text, at, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1])
        return false;
    if (minus) year = -year;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (month == 2 && day == 29 && !leap) return false;
    const int64_t from_march = year - (month <= 2);
    const int64_t era = (from_march >= 0 ? from_march : from_march - 399) / 400;
    const int64_t year_of_era = from_march - era * 400;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    *out_days = era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
                day_of_year - 719468;
    return true;
}

/* HH:MM:SS with a fraction of at most the unit's digits. */
static bool parse_time_at(struct glint_slice text, uint64_t *at, enum arrow_unit unit,
                          int64_t *out_units)
{
    int64_t hour, minute, second, units;
    if (!parse_digits_at(text, at, 2, &hour) || !skip_byte_if_next(text, at, ':') ||
        !parse_digits_at(text, at, 2, &minute) || !skip_byte_if_next(text, at, ':') ||
        !parse_digits_at(text, at, 2, &second) || hour > 23 || minute > 59 || second > 59)
        return false;
    units = hour * 3600 + minute * 60 + second;
    const bool fraction = skip_byte_if_next(text, at, '.');
    int digits = 0;
    for (; digits < (int)unit; digits++) {
        const bool more =
            fraction && *at < text.size && text.data[*at] >= '0' && text.data[*at] <= '9';
        units = units * 10 + (more ? text.data[(*at)++] - '0' : 0);
    }
    *out_units = units;
    return true;
}

/* Days, or milliseconds of whole days. */
static const char *parse_arrow_date(const struct arrow_field *f, struct glint_slice text,
                                    uint8_t *out, uint32_t size)
{
    int64_t days;
    uint64_t at = 0;
    const bool right = parse_date_at(text, &at, &days) && at == text.size;
    const bool small = f->type == ARROW_DATE32;
    if (!right || (small && days != (int32_t)days)) return "it is not a date, such as 2026-01-31";
    if (!small && __builtin_mul_overflow(days, (int64_t)86400000, &days))
        return "it is out of the range of its column's type";
    memcpy(out, &days, size); /* as parse_arrow_integer */
    return NULL;
}

static const char *parse_arrow_time(const struct arrow_field *f, struct glint_slice text,
                                    uint8_t *out, uint32_t size)
{
    int64_t units;
    uint64_t at = 0;
    /* One that no day has is a number, as arrow_format_number writes it. */
    const bool number = text_parse_i64(text.data, text.size, &units) &&
                        (units < 0 || units >= arrow_units_per_second(f->unit) * 86400) &&
                        (f->type == ARROW_TIME64 || (int32_t)units == units);
    if (!number && (!parse_time_at(text, &at, f->unit, &units) || at != text.size))
        return "it is not a time, such as 12:00:00";
    assert(f->type == ARROW_TIME64 || (int32_t)units == units);
    memcpy(out, &units, size); /* as parse_arrow_integer */
    return NULL;
}

static const char *parse_arrow_timestamp(const struct arrow_field *f, struct glint_slice text,
                                         uint8_t *out)
{
    int64_t days, units, per_day = 86400;
    uint64_t at = 0;
    for (int i = 0; i < (int)f->unit; i++) per_day *= 10;
    const bool right = parse_date_at(text, &at, &days) &&
                       (skip_byte_if_next(text, &at, 'T') || skip_byte_if_next(text, &at, ' ')) &&
                       parse_time_at(text, &at, f->unit, &units) &&
                       (!f->zoned || skip_byte_if_next(text, &at, 'Z')) && at == text.size;
    if (!right) return "it is not a time, such as 2026-01-31T12:00:00";
    const __int128 exact = (__int128)days * per_day + units;
    const int64_t value = (int64_t)exact;
    if (value != exact) return "it is out of the range of its column's type";
    memcpy(out, &value, sizeof value);
    return NULL;
}

/* ---- Columns */

static const char not_a_bool[] = "it is neither true nor false";

/* Writes `size` bytes. */
static const char *parse_fixed_size_value(const struct arrow_field *f, struct glint_slice text,
                                          uint8_t *out, uint32_t size)
{
    switch (f->type) {
    case ARROW_F16:
    case ARROW_F32:
    case ARROW_F64: return parse_arrow_float(f, text, out);
    case ARROW_DECIMAL: return parse_arrow_decimal(f, text, out);
    case ARROW_DATE32:
    case ARROW_DATE64: return parse_arrow_date(f, text, out, size);
    case ARROW_TIME32:
    case ARROW_TIME64: return parse_arrow_time(f, text, out, size);
    case ARROW_TIMESTAMP: return parse_arrow_timestamp(f, text, out);
    case ARROW_FIXED_BINARY:
        if (text.size != f->width) return "it has not as many bytes as its column's type";
        if (text.size > 0) memcpy(out, text.data, text.size);
        return NULL;
    default: return parse_arrow_integer(f, text, out, size);
    }
}

static bool parse_bool(struct glint_slice text, bool *out)
{
    *out = text.size == 4 && memcmp(text.data, "true", 4) == 0;
    return *out || (text.size == 5 && memcmp(text.data, "false", 5) == 0);
}

const char *arrow_value_parse(const struct arrow_field *f, struct glint_slice text, uint8_t *out)
{
    bool yes;
    assert(arrow_can_build(f) && arrow_value_bits(f) > 0);
    if (f->type != ARROW_BOOL)
        return parse_fixed_size_value(f, text, out, (uint32_t)(arrow_value_bits(f) / 8));
    if (!parse_bool(text, &yes)) return not_a_bool;
    *out = yes;
    return NULL;
}

/* Sets bit `row` of a bitmap that has all rows before. */
static bool append_bitmap_bit(struct buffer *bits, int64_t row, bool set)
{
    assert(bits->size == (uint64_t)(row + 7) / 8);
    const uint8_t zero = 0;
    if (row % 8 == 0 && !buffer_append(bits, &zero, 1)) return false;
    if (set) bits->data[row / 8] |= (uint8_t)(1 << row % 8);
    return true;
}

/* A bitmap is made with the first null: most columns have none. */
static bool append_arrow_validity(struct arrow_builder *b, bool valid)
{
    if (valid && b->nulls == 0) return true;
    const uint64_t size = ((uint64_t)b->rows + 7) / 8;
    if (b->nulls == 0 && size > 0) {
        assert(b->validity.size == 0);
        if (!buffer_reserve(&b->validity, size)) return false;
        memset(b->validity.data, 0xff, size);
        if (b->rows % 8 != 0) b->validity.data[size - 1] = (uint8_t)((1 << b->rows % 8) - 1);
        b->validity.size = size;
    }
    if (!append_bitmap_bit(&b->validity, b->rows, valid)) return false;
    b->nulls += !valid;
    return true;
}

static const char *append_arrow_bool(struct arrow_builder *b, struct glint_slice text,
                                     bool *no_memory)
{
    bool yes = false;
    if (text.data != NULL && !parse_bool(text, &yes)) return not_a_bool;
    *no_memory = !append_bitmap_bit(&b->values, b->rows, yes);
    return NULL;
}

/* Offsets have 64 bits for large types, else 32. There is room for one. */
static void write_reserved_offset(struct arrow_builder *b, uint64_t offset)
{
    const uint32_t small = (uint32_t)offset;
    const uint32_t size = arrow_has_large_offsets(b->field->type) ? sizeof offset : sizeof small;
    assert(b->offsets.capacity - b->offsets.size >= size);
    if (size == sizeof offset)
        memcpy(b->offsets.data + b->offsets.size, &offset, sizeof offset);
    else
        memcpy(b->offsets.data + b->offsets.size, &small, sizeof small);
    b->offsets.size += size;
}

/* Appends the end of a row's value, after that of no rows. */
static bool append_arrow_offset(struct arrow_builder *b, uint64_t offset)
{
    assert((b->rows == 0) == (b->offsets.size == 0));
    if (b->rows == 0 && !buffer_reserve(&b->offsets, b->expected_offsets)) return false;
    if (!buffer_reserve(&b->offsets, 2 * sizeof offset)) return false;
    if (b->rows == 0) write_reserved_offset(b, 0);
    write_reserved_offset(b, offset);
    return true;
}

static bool reserve_value_bytes(struct arrow_builder *b, uint64_t size)
{
    if (b->values.size == 0 && !buffer_reserve(&b->values, b->expected_values)) return false;
    return buffer_reserve(&b->values, size);
}

static const char too_many_values[] = "a column has too many values";

static const char not_utf8[] = "a text is not UTF-8, as a string has to be";

static const char *append_variable_size_value(struct arrow_builder *b, struct glint_slice text,
                                              bool *no_memory)
{
    if (b->values.size + text.size > INT32_MAX) return "a column has too many bytes";
    if (arrow_has_utf8(b->field->type) && !utf8_is_valid(text.data, text.size)) return not_utf8;
    *no_memory =
        !reserve_value_bytes(b, text.size) || !append_arrow_offset(b, b->values.size + text.size);
    if (*no_memory) return NULL;
    if (text.size > 0) memcpy(b->values.data + b->values.size, text.data, text.size);
    b->values.size += text.size;
    return NULL;
}

static const char *append_fixed_size_value(struct arrow_builder *b, struct glint_slice text,
                                           bool *no_memory)
{
    const uint32_t size = b->value_bytes;
    assert(b->values.size == (uint64_t)b->rows * size);
    *no_memory = !reserve_value_bytes(b, size);
    if (*no_memory) return NULL;
    uint8_t *out = b->values.data + b->values.size;
    const char *problem = NULL;
    if (text.data == NULL && size > 0)
        memset(out, 0, size);
    else if (text.data != NULL)
        problem = parse_fixed_size_value(b->field, text, out, size);
    if (problem == NULL) b->values.size += size;
    return problem;
}

static const char *append_arrow_scalar(struct arrow_builder *b, struct glint_slice text,
                                       bool *out_no_memory)
{
    const enum arrow_type type = b->field->type;
    *out_no_memory = false;
    const char *problem = type == ARROW_BOOL ? append_arrow_bool(b, text, out_no_memory)
                          : arrow_has_byte_offsets(type)
                              ? append_variable_size_value(b, text, out_no_memory)
                              : append_fixed_size_value(b, text, out_no_memory);
    if (problem != NULL) return problem;
    if (!*out_no_memory) *out_no_memory = !append_arrow_validity(b, text.data != NULL);
    if (*out_no_memory) return "out of memory";
    b->rows++;
    return NULL;
}

/* Appends a value of one size: its bytes, of a bool 0 or 1; NULL: null. Returns false when out of
 * memory. */
static bool arrow_builder_append_value(struct arrow_builder *b, const uint8_t *value)
{
    const uint32_t size = b->value_bytes;
    assert(b->field->type == ARROW_BOOL || size > 0);
    if (b->field->type == ARROW_BOOL) {
        if (!append_bitmap_bit(&b->values, b->rows, value != NULL && *value != 0)) return false;
    } else {
        if (!reserve_value_bytes(b, size)) return false;
        uint8_t *const out = b->values.data + b->values.size;
        if (value == NULL)
            memset(out, 0, size);
        else if (size == 8)
            memcpy(out, value, 8); /* known sizes are faster */
        else if (size == 4)
            memcpy(out, value, 4);
        else
            memcpy(out, value, size);
        b->values.size += size;
    }
    if (!append_arrow_validity(b, value != NULL)) return false;
    b->rows++;
    return true;
}

bool arrow_builder_append_values(struct arrow_builder *b, const uint8_t *const *rows,
                                 uint32_t count, uint32_t null, uint32_t at)
{
    const uint32_t size = b->value_bytes, byte = null / 8, shift = null % 8;
    uint32_t nulls = 0;
    for (uint32_t i = 0; i < count; i++) nulls |= rows[i][byte] >> shift & 1;
    if (nulls > 0 || b->nulls > 0 || (size != 8 && size != 4)) {
        bool ok = true;
        for (uint32_t i = 0; ok && i < count; i++)
            ok = arrow_builder_append_value(b, rows[i][byte] >> shift & 1 ? NULL : rows[i] + at);
        return ok;
    }
    if (!reserve_value_bytes(b, (uint64_t)count * size)) return false;
    uint8_t *const out = b->values.data + b->values.size;
    if (size == 8)
        for (uint32_t i = 0; i < count; i++) memcpy(out + (size_t)i * 8, rows[i] + at, 8);
    else
        for (uint32_t i = 0; i < count; i++) memcpy(out + (size_t)i * 4, rows[i] + at, 4);
    b->values.size += (uint64_t)count * size;
    b->rows += count;
    return true;
}

/* ---- Nested values, from JSON as arrow_append_text writes it, without white space */

static const char not_nested[] = "it is not a value of its column's type, in JSON";

struct nested_text {
    const uint8_t *at, *end;
    struct buffer string; /* the last one */
    bool no_memory;
};

static bool skip_text_if_next(struct nested_text *t, const char *text)
{
    const size_t size = strlen(text);
    if ((size_t)(t->end - t->at) < size || memcmp(t->at, text, size) != 0) return false;
    t->at += size;
    return true;
}

static const char *read_nested_string(struct nested_text *t, bool *out_utf8)
{
    t->string.size = 0;
    if (t->at == t->end || *t->at != '"') return not_nested;
    return json_string_read(&t->at, t->end, &t->string, out_utf8);
}

/* Ends a value of a list, struct or map. */
static const char *end_nested_value(struct arrow_builder *b, struct nested_text *t, bool valid)
{
    const enum arrow_type type = b->field->type;
    assert(type >= ARROW_LIST && b->children != NULL);
    t->no_memory = !append_arrow_validity(b, valid);
    if (!t->no_memory && (type == ARROW_LIST || type == ARROW_LARGE_LIST || type == ARROW_MAP))
        t->no_memory = !append_arrow_offset(b, (uint64_t)b->children[0].rows);
    if (t->no_memory) return "out of memory";
    b->rows++;
    return NULL;
}

static const char *append_nested_null(struct arrow_builder *b, struct nested_text *t)
{
    const struct arrow_field *f = b->field;
    const char *problem = NULL;
    if (f->type == ARROW_NULL) {
        b->rows++;
        b->nulls++;
        return NULL;
    }
    if (f->type < ARROW_LIST)
        return append_arrow_scalar(b, (struct glint_slice){NULL, 0}, &t->no_memory);
    const uint32_t times = f->type == ARROW_STRUCT ? 1 : f->type == ARROW_FIXED_LIST ? f->width : 0;
    if (times > INT32_MAX - 1 - b->children[0].rows) return too_many_values;
    for (uint32_t i = 0; i < f->child_count; i++)
        for (uint32_t n = 0; problem == NULL && n < times; n++)
            problem = append_nested_null(&b->children[i], t);
    return problem != NULL ? problem : end_nested_value(b, t, false);
}

static const char *append_value_from_json(struct arrow_builder *b, struct nested_text *t);

static const char *append_struct_from_json(struct arrow_builder *b, struct nested_text *t)
{
    const struct arrow_field *f = b->field;
    assert(f->type == ARROW_STRUCT);
    if (!skip_text_if_next(t, "{")) return not_nested;
    for (uint32_t i = 0; i < f->child_count; i++) {
        const char *name = f->children[i].name;
        bool utf8;
        if (i > 0 && !skip_text_if_next(t, ",")) return not_nested;
        const char *problem = read_nested_string(t, &utf8);
        if (problem != NULL) return problem;
        if (t->string.size != strlen(name) ||
            (t->string.size > 0 && memcmp(t->string.data, name, t->string.size) != 0) ||
            !skip_text_if_next(t, ":"))
            return not_nested;
        problem = append_value_from_json(&b->children[i], t);
        if (problem != NULL) return problem;
    }
    return skip_text_if_next(t, "}") ? end_nested_value(b, t, true) : not_nested;
}

/* Neither the pairs of a map are null, nor their keys. */
static const char *append_list_from_json(struct arrow_builder *b, struct nested_text *t)
{
    struct arrow_builder *const values = &b->children[0];
    const bool map = b->field->type == ARROW_MAP;
    assert(b->field->child_count == 1);
    const int64_t first = values->rows, nulls = map ? values->children[0].nulls : 0;
    if (!skip_text_if_next(t, "[")) return not_nested;
    for (uint32_t i = 0; !skip_text_if_next(t, "]"); i++) {
        if (i > 0 && !skip_text_if_next(t, ",")) return not_nested;
        const char *problem =
            map ? append_struct_from_json(values, t) : append_value_from_json(values, t);
        if (problem != NULL) return problem;
        if (values->rows == INT32_MAX) return too_many_values;
    }
    if (map && values->children[0].nulls > nulls) return "a key of a map is null";
    if (b->field->type == ARROW_FIXED_LIST && values->rows - first != b->field->width)
        return "a list has not as many values as its column's type";
    return end_nested_value(b, t, true);
}

/* A text is in quotes; other values may be. */
static const char *append_scalar_from_json(struct arrow_builder *b, struct nested_text *t)
{
    static const uint8_t empty;
    const enum arrow_type type = b->field->type;
    if (t->at < t->end && *t->at == '"') {
        bool utf8;
        const char *problem = read_nested_string(t, &utf8);
        if (problem != NULL) return problem;
        if (!utf8 && arrow_has_utf8(type)) return not_utf8;
        const struct glint_slice text = {t->string.size > 0 ? t->string.data : &empty,
                                         t->string.size};
        return append_arrow_scalar(b, text, &t->no_memory);
    }
    const uint8_t *const from = t->at;
    while (t->at < t->end && memchr(",]}", *t->at, 3) == NULL) t->at++;
    const struct glint_slice text = {from, (uint64_t)(t->at - from)};
    if (text.size == 0 || arrow_has_byte_offsets(type) || type == ARROW_FIXED_BINARY)
        return not_nested;
    return append_arrow_scalar(b, text, &t->no_memory);
}

static const char *append_value_from_json(struct arrow_builder *b, struct nested_text *t)
{
    if (skip_text_if_next(t, "null")) return append_nested_null(b, t);
    switch (b->field->type) {
    case ARROW_NULL: return not_nested;
    case ARROW_STRUCT: return append_struct_from_json(b, t);
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_FIXED_LIST:
    case ARROW_MAP: return append_list_from_json(b, t);
    default: return append_scalar_from_json(b, t);
    }
}

const char *arrow_builder_append(struct arrow_builder *b, struct glint_slice text,
                                 bool *out_no_memory)
{
    if (b->field->type < ARROW_LIST) return append_arrow_scalar(b, text, out_no_memory);
    struct nested_text t = {.at = text.data, .end = text.data + text.size};
    const char *problem =
        text.data == NULL ? append_nested_null(b, &t) : append_value_from_json(b, &t);
    if (problem == NULL && t.at != t.end) problem = not_nested;
    *out_no_memory = t.no_memory;
    buffer_fini(&t.string);
    return problem;
}

/* Texts whose UTF-8 is checked later: none is null, and offsets have 32 bits. Returns false when
 * out of memory. */
static bool append_plain_texts(struct arrow_builder *b, const struct glint_slice *texts,
                               uint32_t count, uint64_t size)
{
    assert(b->values.size + size <= INT32_MAX && b->nulls == 0);
    if (b->rows == 0 && !buffer_reserve(&b->offsets, b->expected_offsets)) return false;
    if (!reserve_value_bytes(b, size) ||
        !buffer_reserve(&b->offsets, (count + UINT64_C(1)) * sizeof(uint32_t)))
        return false;
    if (b->rows == 0) write_reserved_offset(b, 0);
    uint64_t at = b->values.size;
    uint8_t *const offsets = b->offsets.data + b->offsets.size;
    for (uint32_t i = 0; i < count; i++) {
        bytes_copy(b->values.data + at, texts[i].data, texts[i].size);
        at += texts[i].size;
        const uint32_t end = (uint32_t)at;
        memcpy(offsets + i * sizeof end, &end, sizeof end);
    }
    b->values.size = at;
    b->offsets.size += count * sizeof(uint32_t);
    b->rows += count;
    return true;
}

/* The texts before the first that is not UTF-8. */
static uint32_t count_leading_utf8_texts(const struct glint_slice *texts, uint32_t count)
{
    uint32_t valid = 0;
    while (valid < count && utf8_is_valid(texts[valid].data, texts[valid].size)) valid++;
    return valid;
}

const char *arrow_builder_append_texts(struct arrow_builder *b, const struct glint_slice *texts,
                                       uint32_t count, uint32_t *out_appended, bool *out_no_memory)
{
    const enum arrow_type type = b->field->type;
    uint64_t size = 0;
    bool nulls = b->nulls > 0;
    *out_appended = 0;
    for (uint32_t i = 0; i < count; i++) {
        nulls |= texts[i].data == NULL;
        size += texts[i].size;
    }
    if (!nulls && (type == ARROW_UTF8 || type == ARROW_BINARY) &&
        size <= INT32_MAX - b->values.size) {
        *out_no_memory = !append_plain_texts(b, texts, count, size);
        const bool check = type == ARROW_UTF8 && !*out_no_memory &&
                           !utf8_is_ascii(b->values.data + b->values.size - size, size);
        *out_appended = check ? count_leading_utf8_texts(texts, count) : count;
        return *out_appended < count ? not_utf8 : NULL;
    }
    for (uint32_t i = 0; i < count; i++, ++*out_appended) {
        const char *problem = arrow_builder_append(b, texts[i], out_no_memory);
        if (problem != NULL || *out_no_memory) return problem;
    }
    *out_no_memory = false;
    return NULL;
}

/* ---- Arrays */

/* What the array of a column owns: a library may move such an array out of its table. */
struct built_column {
    const void *buffers[3];
    struct buffer owned[3];
    struct ArrowArray **children;
    struct ArrowArray arrays[];
};

static void release_children(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    array->release = NULL;
}

static void release_built_array(struct ArrowArray *array)
{
    struct built_column *c = array->private_data;
    release_children(array);
    for (int i = 0; i < 3; i++) buffer_fini(&c->owned[i]);
    mem_free(c);
}

/* Memory for an array with `count` children, whose arrays follow it. */
static struct built_column *create_built_array(uint32_t count)
{
    struct built_column *c =
        mem_zalloc(sizeof *c + count * (sizeof c->arrays[0] + sizeof *c->children));
    if (c == NULL) return NULL;
    c->children = (struct ArrowArray **)(void *)&c->arrays[count];
    for (uint32_t i = 0; i < count; i++) c->children[i] = &c->arrays[i];
    return c;
}

/* Moves the column into an array. On failure the array is released by the caller, if it has been
 * made. */
static bool finish_arrow_column(struct arrow_builder *b, struct ArrowArray *out)
{
    static const int64_t zeros[1]; /* the offsets of no values */
    const struct arrow_field *f = b->field;
    struct built_column *c = create_built_array(f->child_count);
    if (c == NULL) return false;
    const bool offsets = b->offsets.data != NULL;
    assert(b->nulls <= b->rows);
    c->owned[0] = b->validity;
    c->owned[1] = offsets ? b->offsets : b->values;
    if (offsets) c->owned[2] = b->values;
    for (int i = 0; i < 3; i++)
        c->buffers[i] = c->owned[i].data != NULL ? c->owned[i].data : (const void *)zeros;
    if (b->nulls == 0) c->buffers[0] = NULL;
    *out = (struct ArrowArray){.length = b->rows,
                               .null_count = b->nulls,
                               .n_buffers = arrow_buffer_count(f->type),
                               .buffers = c->buffers,
                               .n_children = f->child_count,
                               .children = c->children,
                               .release = release_built_array,
                               .private_data = c};
    *b = (struct arrow_builder){.field = f,
                                .value_bytes = b->value_bytes,
                                .expected_offsets = b->offsets.size,
                                .expected_values = b->values.size,
                                .children = b->children};
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->child_count; i++)
        ok = finish_arrow_column(&b->children[i], &c->arrays[i]);
    return ok;
}

bool arrow_builders_finish(struct arrow_builder *builders, uint32_t count, int64_t rows,
                           struct ArrowArray *out)
{
    struct built_column *c = create_built_array(count);
    if (c == NULL) return false;
    *out = (struct ArrowArray){.length = rows,
                               .n_buffers = 1,
                               .n_children = count,
                               .buffers = c->buffers,
                               .children = c->children,
                               .release = release_built_array,
                               .private_data = c};
    for (uint32_t i = 0; i < count; i++) assert(builders[i].rows == rows && rows >= 0);
    for (uint32_t i = 0; i < count; i++) {
        if (finish_arrow_column(&builders[i], &c->arrays[i])) continue;
        out->release(out);
        return false;
    }
    return true;
}

bool arrow_builder_init(struct arrow_builder *b, const struct arrow_field *field)
{
    assert(arrow_can_build(field) || field->type == ARROW_NULL);
    *b = (struct arrow_builder){.field = field,
                                .value_bytes = (uint32_t)(arrow_value_bits(field) / 8)};
    if (field->child_count == 0) return true;
    b->children = mem_zalloc(field->child_count * sizeof *b->children);
    bool ok = b->children != NULL;
    for (uint32_t i = 0; ok && i < field->child_count; i++)
        ok = arrow_builder_init(&b->children[i], &field->children[i]);
    return ok;
}

void arrow_builder_fini(struct arrow_builder *b)
{
    for (uint32_t i = 0; b->children != NULL && i < b->field->child_count; i++)
        if (b->children[i].field != NULL) arrow_builder_fini(&b->children[i]);
    mem_free(b->children);
    buffer_fini(&b->validity);
    buffer_fini(&b->offsets);
    buffer_fini(&b->values);
}
