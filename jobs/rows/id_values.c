/* Texts of typed ids: see id_values.h. Equal values have equal bytes, however they are written. */
#include "jobs/rows/id_values.h"

#include "engine/base/text.h"
#include "jobs/rows/numbers.h"
#include "jobs/rows/timestamps.h"

#include <assert.h>
#include <string.h>
#include <time.h>

enum { UUID_BYTES = 16, UUID_TEXT = 36, DAY_SECONDS = 86400, MICROS = 1000000, EXPONENT_MAX = 100 };

static void write_little_endian_value(uint8_t *out, uint64_t value, uint32_t width)
{
    assert(width == 4 || width == 8);
    for (uint32_t i = 0; i < width; i++) out[i] = (uint8_t)(value >> 8 * i);
}

/* With a sign as DuckDB reads it: -0 is 0. */
static const char *parse_u64(struct glint_slice text, uint64_t *out)
{
    *out = 0;
    if (text.size == 0) return "it is not a whole number";
    const bool negative = text.data[0] == '-', sign = negative || text.data[0] == '+';
    for (uint64_t i = sign && text.size > 1; i < text.size; i++) {
        const uint8_t digit = (uint8_t)(text.data[i] - '0');
        if (digit > 9) return "it is not a whole number from 0 on";
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, digit, out))
            return "it is over 2^64 - 1";
    }
    return negative && *out > 0 ? "it is not a whole number from 0 on" : NULL;
}

static const char *parse_integer(struct glint_slice text, int64_t least, int64_t most, int64_t *out)
{
    if (!glint_parse_i64(text, out)) return "it is not a whole number of 64 bits";
    return *out >= least && *out <= most ? NULL : "it is not a whole number of 32 bits";
}

static const char *parse_date(struct glint_slice text, int64_t *out)
{
    struct timestamp date;
    if (!timestamp_parse_date(text, &date)) return "it is not a date, such as 2026-11-29";
    *out = date.seconds / DAY_SECONDS;
    assert(*out * DAY_SECONDS == date.seconds);
    return NULL;
}

static const char *parse_micros(struct glint_slice text, int64_t *out)
{
    struct timestamp time;
    if (!timestamp_parse(text, &time)) return "it is not a time, such as 2026-11-29T16:00:00Z";
    if (time.nanos % 1000 != 0) return "it has digits beyond microseconds";
    if (__builtin_mul_overflow(time.seconds, MICROS, out) ||
        __builtin_add_overflow(*out, time.nanos / 1000, out))
        return "it is out of the range of microseconds";
    return NULL;
}

/* Also with an exponent, as DuckDB and Arrow read decimals: 1e1 is 10. */
static const char *parse_decimal_id(uint32_t type, struct glint_slice text, int64_t *out)
{
    struct number number;
    int64_t exponent = 0;
    uint64_t size = 0;
    while (size < text.size && (text.data[size] | 0x20) != 'e') size++;
    const struct glint_slice digits = {text.data, size};
    const struct glint_slice after = {text.data + size + 1, text.size - size - 1};
    if (!number_parse(digits, &number) || number.decimals < 0 ||
        (size < text.size && !glint_parse_i64(after, &exponent)))
        return "it is not a decimal number";
    if (exponent > EXPONENT_MAX) exponent = EXPONENT_MAX; /* too many digits, or 0 */
    if (exponent < -EXPONENT_MAX) exponent = -EXPONENT_MAX;
    __int128 units = number_units(&number), limit = 1;
    const int32_t scale = (int32_t)bloom_id_scale(type);
    int32_t decimals = number.decimals - (int32_t)exponent;
    for (; decimals > scale && units % 10 == 0; decimals--) units /= 10;
    if (decimals > scale) return "it has more digits after the point than its type";
    for (uint32_t i = 0; i < bloom_id_precision(type); i++) limit *= 10;
    for (; decimals < scale && units < limit && units > -limit; decimals++) units *= 10;
    if (units >= limit || units <= -limit) return "it has more digits than its type";
    *out = (int64_t)units;
    return NULL;
}

/* Hexadecimal digits, after 0x or \x if that is there. */
static const char *parse_bytes(struct glint_slice text, uint8_t *out, uint64_t *out_size)
{
    const bool mark =
        text.size >= 2 && (text.data[0] == '0' || text.data[0] == '\\') && text.data[1] == 'x';
    const uint64_t first = mark ? 2 : 0;
    if ((text.size - first) % 2 != 0) return "it is not an even number of hexadecimal digits";
    for (uint64_t i = first; i < text.size; i += 2) {
        const int high = text_hex_digit(text.data[i]), low = text_hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0) return "it is not hexadecimal digits";
        *out++ = (uint8_t)(high << 4 | low);
    }
    *out_size = (text.size - first) / 2;
    return NULL;
}

/* As RFC 9562 writes it, or its 16 bytes, as columns have it. */
static const char *parse_uuid(struct glint_slice text, uint8_t *out)
{
    static const char reason[] = "it is not a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057";
    if (text.size == UUID_BYTES) {
        memcpy(out, text.data, UUID_BYTES);
        return NULL;
    }
    if (text.size != UUID_TEXT) return reason;
    static_assert(UUID_TEXT == 2 * UUID_BYTES + 4, "two digits a byte, and four dashes");
    for (uint64_t i = 0, at = 0; i < text.size; i += 2) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text.data[i] != '-') return reason;
            i++;
        }
        const int high = text_hex_digit(text.data[i]), low = text_hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0) return reason;
        assert(at < UUID_BYTES);
        out[at++] = (uint8_t)(high << 4 | low);
    }
    return NULL;
}

const char *id_value_parse(uint32_t type, uint32_t width, struct glint_slice text, uint8_t *out,
                           uint64_t *out_size)
{
    const char *wrong = NULL;
    int64_t value = 0;
    uint64_t bits = 0;
    double real;
    assert(bloom_id_type_is_valid(type) && width <= ID_VALUE_MAX);
    *out_size = width;
    switch (bloom_id_kind(type)) {
    case BLOOM_ID_BYTES: return parse_bytes(text, out, out_size);
    case BLOOM_ID_UUID: return parse_uuid(text, out);
    case BLOOM_ID_I32: wrong = parse_integer(text, INT32_MIN, INT32_MAX, &value); break;
    case BLOOM_ID_I64: wrong = parse_integer(text, INT64_MIN, INT64_MAX, &value); break;
    case BLOOM_ID_DATE: wrong = parse_date(text, &value); break;
    case BLOOM_ID_TIMESTAMP: wrong = parse_micros(text, &value); break;
    case BLOOM_ID_DECIMAL: wrong = parse_decimal_id(type, text, &value); break;
    case BLOOM_ID_U64: wrong = parse_u64(text, &bits); break;
    case BLOOM_ID_F64:
        if (!glint_parse_f64(text, &real) && !text_parse_f64_word(text.data, text.size, &real))
            return "it is not a number";
        memcpy(&bits, &real, sizeof bits);
        break;
    default:
        if (text.size > 0) memcpy(out, text.data, text.size);
        *out_size = text.size;
        return NULL;
    }
    if (wrong == NULL) write_little_endian_value(out, (uint64_t)value | bits, width);
    return wrong;
}

/* The bytes without a character of UTF-8 that is cut at their end. */
static uint64_t size_of_whole_characters(const uint8_t *text, uint64_t size)
{
    uint64_t first = size; /* of the last character */
    while (first > 0 && size - first < 3 && (text[first - 1] & 0xc0) == 0x80) first--;
    if (first == 0 || text[first - 1] < 0xc0) return size;
    const uint8_t lead = text[--first];
    return size - first < (lead >= 0xf0 ? 4u : lead >= 0xe0 ? 3u : 2u) ? first : size;
}

/* Returns the length: 0 for years that the C library does not have. */
static size_t format_seconds(int64_t seconds, char *out)
{
    const time_t time = (time_t)seconds;
    struct tm tm;
    return gmtime_r(&time, &tm) != NULL ? strftime(out, ID_VALUE_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm)
                                        : 0;
}

static void format_micros(int64_t micros, char *out)
{
    const bool before = micros % MICROS < 0;
    const int64_t seconds = micros / MICROS - before;
    const long long rest = micros % MICROS + (before ? MICROS : 0);
    const size_t used = format_seconds(seconds, out);
    assert(rest >= 0 && rest < MICROS && used < ID_VALUE_TEXT_MAX / 2);
    if (rest > 0)
        text_format(out + used, ID_VALUE_TEXT_MAX - used, ".%06lldZ", rest);
    else
        text_format(out + used, ID_VALUE_TEXT_MAX - used, "Z");
}

static void format_hex(const uint8_t *value, uint64_t size, bool dashes, char *out)
{
    for (uint64_t i = 0; i < size; i++) {
        if (dashes && (i == 4 || i == 6 || i == 8 || i == 10)) *out++ = '-';
        text_format(out, 3, "%02x", value[i]);
        out += 2;
    }
    *out = '\0';
}

static void format_decimal(uint32_t type, int64_t units, char *out)
{
    const struct number number = {
        .low = (uint64_t)units, .high = -(units < 0), .decimals = (int8_t)bloom_id_scale(type)};
    static_assert((int)NUMBER_FORMAT_MAX < (int)ID_VALUE_TEXT_MAX, "with the NUL");
    out[number_format(out, &number)] = '\0';
}

void id_value_format(uint32_t type, const uint8_t *value, uint64_t size, bool whole,
                     char out[ID_VALUE_TEXT_MAX])
{
    assert(size <= ID_VALUE_SHOWN_MAX && bloom_id_type_is_valid(type));
    const enum bloom_id_kind kind = (enum bloom_id_kind)bloom_id_kind(type);
    uint64_t bits = 0;
    int64_t seconds;
    double real;
    for (uint64_t i = 0; i < size && i < sizeof bits; i++) bits |= (uint64_t)value[i] << 8 * i;
    const int64_t number = size == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    out[0] = '\0';
    switch (kind) {
    case BLOOM_ID_BYTES:
    case BLOOM_ID_UUID: format_hex(value, size, kind == BLOOM_ID_UUID, out); break;
    case BLOOM_ID_I32:
    case BLOOM_ID_I64: text_format_i64(out, number); break;
    case BLOOM_ID_DATE:
        if (__builtin_mul_overflow(number, (int64_t)DAY_SECONDS, &seconds) ||
            format_seconds(seconds, out) == 0)
            text_format_i64(out, number);
        out[strcspn(out, "T")] = '\0';
        break;
    case BLOOM_ID_TIMESTAMP: format_micros(number, out); break;
    case BLOOM_ID_DECIMAL: format_decimal(type, number, out); break;
    case BLOOM_ID_U64: text_format(out, ID_VALUE_TEXT_MAX, "%llu", (unsigned long long)bits); break;
    case BLOOM_ID_F64:
        memcpy(&real, &bits, sizeof real);
        text_format_f64(out, real);
        break;
    default:
        text_format(out, ID_VALUE_TEXT_MAX, "%.*s",
                    (int)(whole ? size : size_of_whole_characters(value, size)),
                    (const char *)value);
    }
}

bool id_type_problem(enum bloom_scheme scheme, uint32_t type, char *out, uint64_t capacity,
                     char *hint, uint64_t hint_capacity)
{
    char name[BLOOM_ID_NAME_MAX], schemes[160];
    if (bloom_id_has_rule(scheme, type)) return false;
    bloom_id_type_name(type, name);
    text_format(out, capacity, "scheme %s has no rule for ids of the type %s",
                bloom_scheme_name(scheme), name);
    text_format(hint, hint_capacity, "these have one: %s; or use --id-type text",
                bloom_id_schemes(type, schemes, sizeof schemes));
    return true;
}

/* Types of columns by the format of Arrow's C data interface. Integers of up to 32 bits are INT32
 * in Parquet. */
bool id_type_of_arrow(const char *type, uint32_t *out)
{
    static const struct {
        const char *format, *name;
    } types[] = {{"c", "i32"},         {"C", "i32"},  {"s", "i32"},   {"S", "i32"},
                 {"i", "i32"},         {"l", "i64"},  {"L", "u64"},   {"g", "f64"},
                 {"tdD", "date"},      {"u", "text"}, {"U", "text"},  {"vu", "text"},
                 {"z", "text"},        {"Z", "text"}, {"vz", "text"}, {"w:16", "uuid"},
                 {"tsu:", "timestamp"}};
    for (size_t i = 0; type != NULL && i < sizeof types / sizeof *types; i++) {
        const size_t size = strlen(types[i].format);
        if (strncmp(type, types[i].format, size) == 0 &&
            (type[size] == '\0' || type[size - 1] == ':'))
            return bloom_id_type_parse(types[i].name, strlen(types[i].name), out);
    }
    char decimal[32];
    *out = 0;
    if (type != NULL && strncmp(type, "d:", 2) == 0 &&
        text_format(decimal, sizeof decimal, "decimal(%s)", type + 2))
        return bloom_id_type_parse(decimal, strlen(decimal), out);
    return type == NULL;
}

const char *id_text_difference(const char *type)
{
    if (type == NULL) return NULL;
    if (type[0] != '\0' && type[1] == '\0' && strchr("efg", type[0]) != NULL)
        return "5.0 is another id than 5";
    if (strncmp(type, "d:", 2) == 0) {
        const char *const scale = strchr(type, ',');
        assert(scale != NULL);
        return scale[1] != '0' ? "1.50 is another id than 1.5" : NULL;
    }
    if (strncmp(type, "ts", 2) == 0)
        return "2026-01-31T12:00:00 is another id than 2026-01-31 12:00:00";
    return strcmp(type, "w:16") == 0 ? "a UUID is its 16 bytes, not its 36 characters" : NULL;
}
