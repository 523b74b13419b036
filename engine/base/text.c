/* Conversion between numbers and text. The digits of doubles are those of number_text.h; this file
 * adds the Python and Java formats. */
#include "engine/base/text.h"

#include "engine/base/number_text.h"
#include "engine/base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

bool text_format(char *out, size_t capacity, const char *format, ...)
{
    assert(capacity > 0);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out, capacity, format, args);
    va_end(args);
    return n >= 0 && (size_t)n < capacity;
}

bool text_ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

/* The decimal digits of numbers below 100, two for each. */
static const char two_digits[] = "0001020304050607080910111213141516171819"
                                 "2021222324252627282930313233343536373839"
                                 "4041424344454647484950515253545556575859"
                                 "6061626364656667686970717273747576777879"
                                 "8081828384858687888990919293949596979899";

void text_put_digits(char *out, uint64_t value, uint32_t count)
{
    while (count >= 2) {
        count -= 2;
        memcpy(out + count, two_digits + value % 100 * 2, 2);
        value /= 100;
    }
    if (count > 0) *out = (char)('0' + value % 10);
}

static uint32_t count_digits(uint64_t value)
{
    uint32_t count = 1;
    for (; value >= 10000; value /= 10000) count += 4;
    return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

size_t text_format_u64(char *out, uint64_t value)
{
    const uint32_t count = count_digits(value);
    assert(count < TEXT_NUMBER_MAX);
    text_put_digits(out, value, count);
    out[count] = '\0';
    return count;
}

size_t text_format_i64(char *out, int64_t value)
{
    if (value >= 0) return text_format_u64(out, (uint64_t)value);
    out[0] = '-';
    return 1 + text_format_u64(out + 1, 0 - (uint64_t)value);
}

/* Decimal digits without trailing zeros, and an exponent: the value is 0.d1d2d3... x
 * 10^exponent. */
struct decimal {
    char digits[20];
    int count, exponent;
};

/* Reads d.ddde+xx (number_text.h). */
static void parse_scientific_digits(const char *text, size_t size, struct decimal *out)
{
    const size_t e = size - (text[size - 4] == 'e' ? 4 : 5);
    assert(size >= 5 && text[e] == 'e' && e <= sizeof out->digits);
    int exponent = 0;
    for (size_t i = e + 2; i < size; i++) exponent = exponent * 10 + (text[i] - '0');
    out->exponent = (text[e + 1] == '-' ? -exponent : exponent) + 1;
    out->digits[0] = text[0];
    if (e > 2) memcpy(out->digits + 1, text + 2, e - 2);
    out->count = e > 2 ? (int)e - 1 : 1;
    while (out->count > 1 && out->digits[out->count - 1] == '0') out->count--;
}

static size_t format_plain_decimal(char *out, const struct decimal *d)
{
    size_t n = 0;
    if (d->exponent <= 0) {
        out[n++] = '0';
        out[n++] = '.';
        for (int i = d->exponent; i < 0; i++) out[n++] = '0';
    }
    for (int i = 0; i < d->count || i < d->exponent; i++) {
        if (i == d->exponent && i > 0) out[n++] = '.';
        out[n++] = i < d->count ? d->digits[i] : '0';
    }
    if (d->count <= d->exponent) {
        out[n++] = '.';
        out[n++] = '0';
    }
    return n;
}

/* How Python and Java format doubles. */
struct f64_style {
    const char *infinity, *nan;
    int exponent_min, exponent_max; /* of numbers without an exponent, excluding the first */
    bool java;                      /* 1.0E7, not 1e+07 */
};

static size_t format_signed_word(char *out, const char *sign, const char *word)
{
    const size_t n = strlen(sign), size = strlen(word);
    assert(n + size < TEXT_NUMBER_MAX);
    memcpy(out, sign, n);
    memcpy(out + n, word, size + 1);
    return n + size;
}

/* The exponent, after its letter: at least two digits and a sign, except in Java. */
static size_t format_exponent(char *out, int exponent, bool java)
{
    size_t n = 0;
    if (exponent < 0 || !java) out[n++] = exponent < 0 ? '-' : '+';
    const uint32_t size = (uint32_t)abs(exponent);
    const uint32_t digits = java && size < 10 ? 1 : size < 100 ? 2 : 3;
    text_put_digits(out + n, size, digits);
    return n + digits;
}

/* `text` has the digits of |value|, of `size` bytes (number_text.h). */
static size_t format_number_in_style(char *out, double value, const char *text, size_t size,
                                     const struct f64_style *style)
{
    struct decimal d;
    parse_scientific_digits(text, size, &d);
    size_t n = 0;
    if (value < 0) out[n++] = '-';
    if (d.exponent > style->exponent_min && d.exponent <= style->exponent_max) {
        n += format_plain_decimal(out + n, &d);
    } else {
        out[n++] = d.digits[0];
        if (d.count > 1 || style->java) out[n++] = '.';
        if (d.count == 1 && style->java) out[n++] = '0';
        memcpy(out + n, d.digits + 1, (size_t)d.count - 1);
        n += (size_t)d.count - 1;
        out[n++] = style->java ? 'E' : 'e';
        n += format_exponent(out + n, d.exponent - 1, style->java);
    }
    assert(n < TEXT_NUMBER_MAX);
    out[n] = '\0';
    return n;
}

/* Formats 0, infinities and nan; returns 0 for other numbers. */
static size_t format_zero_infinite_or_nan(char *out, double value, const struct f64_style *style)
{
    const char *sign = signbit(value) != 0 ? "-" : "";
    if (isnan(value)) return format_signed_word(out, "", style->nan);
    if (value == 0) return format_signed_word(out, sign, "0.0");
    return isinf(value) ? format_signed_word(out, sign, style->infinity) : 0;
}

static size_t format_f64(char *out, double value, const struct f64_style *style)
{
    char text[NUMBER_SCIENTIFIC_MAX];
    const size_t special = format_zero_infinite_or_nan(out, value, style);
    if (special > 0) return special;
    return format_number_in_style(out, value, text, number_shortest_f64(text, fabs(value)), style);
}

static const struct f64_style python = {"inf", "nan", -4, 16, false};

/* Most numbers have few decimals. If `number` / `scale` is the value and `number` has at most as
 * many digits as any double (15) or float (6) keeps, it is the only decimal of so many digits that
 * is, so without its last zeros it is the shortest text. Writes it as in Python. */
static size_t format_few_decimals(char *out, bool negative, uint64_t number, uint64_t scale)
{
    size_t n = 0;
    assert(scale == 1000 || scale == 1000000);
    uint32_t decimals = scale == 1000 ? 3 : 6;
    uint64_t fraction = number % scale;
    if (negative) out[n++] = '-';
    n += text_format_u64(out + n, number / scale);
    out[n++] = '.';
    for (; fraction % 10 == 0 && decimals > 1; decimals--) fraction /= 10;
    text_put_digits(out + n, fraction, decimals);
    out[n + decimals] = '\0';
    return n + decimals;
}

size_t text_format_f64(char *out, double value)
{
    const double size = fabs(value);
    if (size >= 1e-4 && size < 1e9) {
        const uint64_t number = (uint64_t)(size * 1e6 + 0.5);
        if ((double)number / 1e6 == size)
            return format_few_decimals(out, value < 0, number, 1000000);
    }
    return format_f64(out, value, &python);
}

size_t text_format_f64_java(char *out, double value)
{
    static const struct f64_style java = {"Infinity", "NaN", -3, 7, true};
    return format_f64(out, value, &java);
}

size_t text_format_f32(char *out, float value)
{
    char text[NUMBER_SCIENTIFIC_MAX];
    const double exact = fabs((double)value);
    if (exact >= 1e-3 && exact < 1e3) {
        const uint64_t number = (uint64_t)(exact * 1e3 + 0.5);
        if ((float)((double)number / 1e3) == (float)exact)
            return format_few_decimals(out, value < 0, number, 1000);
    }
    const size_t special = format_zero_infinite_or_nan(out, (double)value, &python);
    if (special > 0) return special;
    return format_number_in_style(out, (double)value, text, number_shortest_f32(text, fabsf(value)),
                                  &python);
}

/* Whether `read` is nearer to the half `value`, which is above 0, than to the next ones. */
static bool is_closest_half_float(double read, double value)
{
    const int exponent = ilogb(value) < -14 ? -14 : ilogb(value);
    const bool close_below = exponent > -14 && value == ldexp(1, exponent);
    return fabs(read - value) < ldexp(1, exponent - (read < value && close_below ? 12 : 11));
}

size_t text_format_f16(char *out, double value)
{
    char text[NUMBER_SCIENTIFIC_MAX];
    size_t size = format_zero_infinite_or_nan(out, value, &python);
    if (size > 0) return size;
    bool nearest = false;
    for (int digits = 1; !nearest; digits++) {
        double read;
        size = number_rounded_f64(text, fabs(value), digits);
        const bool parsed = number_parse_f64(text, size, &read);
        assert(parsed && digits <= 8);
        nearest = is_closest_half_float(read, fabs(value));
    }
    return format_number_in_style(out, value, text, size, &python);
}

bool text_parse_i64(const uint8_t *data, uint64_t size, int64_t *out)
{
    bool negative = size > 0 && data[0] == '-';
    uint64_t i = negative || (size > 0 && data[0] == '+') ? 1 : 0, value = 0;
    if (i == size) return false;
    const uint64_t limit = negative ? (uint64_t)1 << 63 : INT64_MAX;
    for (; i < size; i++) {
        unsigned digit = (unsigned)data[i] - '0';
        if (digit > 9 || value > (limit - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* The usual number: a sign, digits and a point, without an exponent. Digits up to 2^53 and the
 * power of ten that divides them are exact doubles, so the quotient is rounded once, as by strtod
 * (Clinger, How to Read Floating Point Numbers Accurately, 1990). Returns false for any other. */
static bool parse_short_decimal(const uint8_t *data, uint64_t size, double *out)
{
    static const double powers_of_ten[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                           1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
    enum { BYTES_MAX = 18 }; /* at most 16 digits after a point; 18 digits fit 64 bits */
    const bool negative = size > 0 && data[0] == '-';
    const uint64_t sign = negative || (size > 0 && data[0] == '+');
    if (size == sign || size - sign > BYTES_MAX) return false;
    const uint8_t *at = data + sign, *const end = data + size;
    uint64_t number = 0, decimals = 0, points = 0;
    for (; at < end && *at - (uint32_t)'0' <= 9; at++) number = number * 10 + (*at - (uint32_t)'0');
    if (at < end && *at == '.') {
        const uint8_t *const first = ++at;
        for (; at < end && *at - (uint32_t)'0' <= 9; at++)
            number = number * 10 + (*at - (uint32_t)'0');
        decimals = (uint64_t)(at - first);
        points = 1;
    }
    if (at < end || size == sign + points || number > (uint64_t)1 << 53 ||
        decimals >= sizeof powers_of_ten / sizeof powers_of_ten[0])
        return false;
    *out = (double)number / powers_of_ten[decimals];
    if (negative) *out = -*out;
    return true;
}

bool text_parse_f64(const uint8_t *data, uint64_t size, double *out)
{
    return parse_short_decimal(data, size, out) || number_parse_f64((const char *)data, size, out);
}

static bool equals_any_case(const uint8_t *data, uint64_t size, const char *word)
{
    return size == strlen(word) && strncasecmp((const char *)data, word, size) == 0;
}

bool text_parse_f64_word(const uint8_t *data, uint64_t size, double *out)
{
    const bool negative = size > 0 && data[0] == '-';
    const uint64_t sign = size > 0 && (negative || data[0] == '+');
    *out = (double)NAN;
    if (equals_any_case(data, size, "nan")) return true;
    *out = negative ? -(double)INFINITY : (double)INFINITY;
    return equals_any_case(data + sign, size - sign, "inf") ||
           equals_any_case(data + sign, size - sign, "infinity");
}

bool text_parse_bytes(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789.");
    double number;
    if (!text_parse_f64((const uint8_t *)text, digits, &number)) return false;
    static const char *const units[] = {"", "K", "M", "G", "T"};
    const char *unit = text + digits;
    for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(units[i]);
        if (strncmp(unit, units[i], n) != 0) continue;
        const char *rest = unit + n;
        if (*rest != '\0' && strcmp(rest, "B") != 0 && (n == 0 || strcmp(rest, "iB") != 0))
            continue;
        double bytes = number * (double)((uint64_t)1 << (10 * i));
        if (bytes >= 9.2e18) return false;
        *out = (uint64_t)bytes;
        return true;
    }
    return false;
}

size_t text_format_bytes(char *out, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    int decimals = unit > 0 && value < 100 ? 1 : 0;
    return (size_t)snprintf(out, TEXT_NUMBER_MAX, "%.*f %s", decimals, value, units[unit]);
}

bool text_is_printable(const char *text)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
    for (unsigned n; at < end; at += n)
        if ((n = utf8_printable_size(at, (uint64_t)(end - at))) == 0) return false;
    return true;
}

void text_make_printable(char *text)
{
    uint8_t *at = (uint8_t *)text, *end = at + strlen(text);
    for (unsigned n; at < end; at += n)
        if ((n = utf8_printable_size(at, (uint64_t)(end - at))) == 0) {
            *at = *at == '\n' || *at == '\t' ? ' ' : '?';
            n = 1;
        }
    assert(text_is_printable(text));
}

void text_format_hex(char *out, const uint8_t *bytes, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < size; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

size_t text_format_time(char *out, int64_t wall_ns)
{
    int64_t ms = wall_ns / 1000000 - (wall_ns % 1000000 < 0);
    int64_t seconds = ms / 1000 - (ms % 1000 < 0);
    struct tm tm;
    time_t t = (time_t)seconds;
    bool known = gmtime_r(&t, &tm) != NULL;
    assert(known && ms - seconds * 1000 >= 0); /* int64_t covers the years 1677 to 2262 */
    return (size_t)snprintf(out, TEXT_NUMBER_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                            tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                            tm.tm_sec, (int)(ms - seconds * 1000));
}

/* A header may have many thousand names: a message shows the first ones. */

#define MORE_BYTES (sizeof " and 18446744073709551615 more")

size_t header_name_append(char *out, size_t size, size_t capacity, struct glint_slice name)
{
    assert(size < capacity);
    for (uint64_t i = 0; i < name.size && size + 1 < capacity; i++)
        out[size++] = (char)(name.data[i] >= ' ' && name.data[i] != 0x7f ? name.data[i] : '?');
    out[size] = '\0';
    return size;
}

void header_names_format(struct glint_slice header, uint8_t separator, char *out, size_t capacity)
{
    struct glint_slice name;
    size_t size = 0;
    uint64_t more = 0;
    bool first = true;
    assert(capacity > 2 * MORE_BYTES);
    const size_t room = capacity - MORE_BYTES;
    out[0] = '\0';
    while (glint_next_name(&header, (char)separator, &name)) {
        if (!first && (more > 0 || name.size + 2 >= room - size)) {
            more++;
            continue;
        }
        if (!first) {
            out[size++] = ',';
            out[size++] = ' ';
        }
        size = header_name_append(out, size, room, name);
        first = false;
    }
    if (more > 0) text_format(out + size, capacity - size, " and %" PRIu64 " more", more);
}
