/* Numbers in fields: see numbers.h.
 *
 * The key of a number, +-0.d1d2d3... * 10^exponent with d1 > 0:
 *
 *     sign and exponent   80: zero, and nothing follows; 83 to fd: exponents -61 to 61 + c0; 82 and
 *                         fe: lower and higher ones, in 4 more bytes
 *     digits              8 bytes for 18 digits, 16 * digits + 1 if others follow, else + 0
 *
 * All bits of a negative number's key are inverted. 00 is never a first byte. */
#include "jobs/rows/numbers.h"

#include "engine/base/text.h"
#include "jobs/rows/exact_sum.h"

#include <assert.h>
#include <math.h>

enum {
    SHORT_DIGITS_MAX = 18, /* always fit 64 bits, and a chunk of a key */
    KEY_ZERO = 0x80,
    KEY_EXPONENT = 0xc0,
    KEY_EXPONENT_MAX = 61,
    KEY_LOWER = 0x82,
    KEY_HIGHER = 0xfe,
};
#define EXPONENT_LIMIT (INT64_C(1) << 30)

/* ---- Digits with at most one point and without exponent */

struct short_number {
    uint64_t magnitude;
    int decimals;
    bool negative;
};

/* Inlined: it is most of the work for a usual number. */
__attribute__((always_inline)) static inline bool parse_short(struct glint_slice text,
                                                              struct short_number *out)
{
    uint64_t i = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    if (text.size - i > SHORT_DIGITS_MAX + 1) return false;
    uint64_t magnitude = 0; /* at most 19 digits always fit */
    int digits = 0, decimals = 0;
    bool point = false;
    for (; i < text.size; i++) {
        const uint32_t digit = (uint32_t)text.data[i] - '0';
        if (digit <= 9) {
            magnitude = magnitude * 10 + digit;
            digits++;
            decimals += point;
        } else if (text.data[i] == '.' && !point) {
            point = true;
        } else {
            return false;
        }
    }
    if (digits == 0 || digits > SHORT_DIGITS_MAX) return false;
    *out = (struct short_number){magnitude, decimals, text.data[0] == '-'};
    return true;
}

/* ---- Any notation */

struct digits {
    const uint8_t *first, *last; /* digits that are not 0; between them a point may be */
    const uint8_t *point, *end;  /* of the digits: the point, or `end`; `end` */
    int64_t exponent;            /* the value is 0.[first ... last] * 10^exponent */
    bool zero, notation;         /* it has an exponent */
};

/* Reads the number after an e. */
static int64_t read_exponent(const uint8_t *at, const uint8_t *end)
{
    const bool negative = at < end && *at == '-';
    int64_t value = 0;
    for (at += at < end && (*at == '-' || *at == '+'); at < end; at++)
        if (value < EXPONENT_LIMIT) value = 10 * value + (*at - '0');
    if (value > EXPONENT_LIMIT) value = EXPONENT_LIMIT;
    return negative ? -value : value;
}

/* Of a text that glint_parse_f64 accepts. */
static struct digits find_digits(struct glint_slice text)
{
    const uint8_t *at = text.data, *const stop = text.data + text.size;
    struct digits d = {.zero = true};
    at += *at == '-' || *at == '+';
    for (; at < stop && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') d.point = at;
        if (*at == '.' || *at == '0') continue;
        if (d.zero) d.first = at;
        d.last = at;
        d.zero = false;
    }
    d.end = at;
    d.notation = at < stop;
    if (d.point == NULL) d.point = at;
    if (d.zero) return d;
    d.exponent = d.point > d.first ? d.point - d.first : d.point + 1 - d.first;
    if (d.notation) d.exponent += read_exponent(at + 1, stop);
    return d;
}

/* Up to 38 digits. Returns false if there are more, or an exponent. */
static bool parse_exact(struct glint_slice text, struct number *out)
{
    const struct digits d = find_digits(text);
    if (d.notation) return false;
    int64_t decimals = d.point + 1 < d.end; /* 5.00 is a decimal, too */
    if (!d.zero && d.last > d.point) decimals = d.last - d.point;
    if (!d.zero && d.exponent + decimals > NUMBER_DIGITS_MAX && d.last < d.point) decimals = 0;
    if (decimals > NUMBER_DIGITS_MAX) return false;
    if (!d.zero && d.exponent + decimals > NUMBER_DIGITS_MAX) return false;
    unsigned __int128 units = 0;
    const uint8_t *const end = decimals > 0 ? d.point + 1 + decimals : d.point;
    for (const uint8_t *at = d.zero ? end : d.first; at < end; at++)
        if (*at != '.') units = units * 10 + (*at - (uint32_t)'0');
    if (text.data[0] == '-') units = -units;
    out->low = (uint64_t)units;
    out->high = (int64_t)(uint64_t)(units >> 64);
    out->decimals = (int8_t)decimals;
    return true;
}

/* Not inlined, like long_key: it would slow down usual numbers. */
__attribute__((noinline)) static bool parse_long(struct glint_slice text, struct number *out)
{
    double f64;
    if (glint_parse_f64(text, &f64)) {
        if (parse_exact(text, out)) return true;
    } else if (!text_parse_f64_word(text.data, text.size, &f64)) {
        return false;
    }
    out->f64 = f64 + 0.0; /* -0.0 becomes 0.0 */
    out->decimals = NUMBER_INEXACT;
    return true;
}

bool number_parse(struct glint_slice text, struct number *out)
{
    struct short_number n;
    if (!parse_short(text, &n)) return parse_long(text, out);
    const int64_t units = n.negative ? -(int64_t)n.magnitude : (int64_t)n.magnitude;
    out->low = (uint64_t)units;
    out->high = units >> 63;
    out->decimals = (int8_t)n.decimals;
    return true;
}

/* ---- Cells */

bool number_read_cell(struct glint_slice *rest, struct number *out)
{
    static_assert(CELL_DECIMALS_MAX == (int)NUMBER_DIGITS_MAX, "a cell has each exact number");
    const uint32_t size = rest->size > 0 ? cell_number_bytes(rest->data[0]) : 0;
    if (size == 0 || size > rest->size) return false;
    const uint8_t kind = rest->data[0];
    *out = (struct number){.decimals = NUMBER_NONE};
    if (kind == CELL_F64)
        out->decimals = NUMBER_INEXACT;
    else if (kind != CELL_NULL)
        out->decimals = (int8_t)((kind & ~CELL_WIDE) - CELL_DECIMAL);
    if (kind != CELL_NULL) memcpy(&out->low, rest->data + 1, sizeof out->low);
    if (size == CELL_NUMBER_BYTES_MAX)
        memcpy(&out->high, rest->data + 1 + sizeof out->low, sizeof out->high);
    else if (out->decimals >= 0)
        out->high = (int64_t)out->low >> 63;
    rest->data += size;
    rest->size -= size;
    return true;
}

/* ---- Keys */

static void put_big_endian(uint8_t *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) out[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

static int count_digits(uint64_t n)
{
    const int estimate = (64 - __builtin_clzll(n)) * 1233 >> 12; /* log10(2) */
    return estimate + (n >= (uint64_t)exact_sum_powers[estimate]);
}

static uint32_t short_number_key(const struct short_number *n, uint8_t *out)
{
    out[0] = KEY_ZERO;
    if (n->magnitude == 0) return 1;
    const int digits = count_digits(n->magnitude);
    const uint64_t sign = n->negative ? UINT64_MAX : 0;
    const uint64_t left = n->magnitude * (uint64_t)exact_sum_powers[SHORT_DIGITS_MAX - digits];
    out[0] = (uint8_t)(KEY_EXPONENT + digits - n->decimals) ^ (uint8_t)sign;
    put_big_endian(out + 1, (left << 4) ^ sign, 8);
    return 9;
}

static uint32_t put_key_exponent(int64_t exponent, uint8_t *out)
{
    out[0] = (uint8_t)(KEY_EXPONENT + exponent);
    if (exponent >= -KEY_EXPONENT_MAX && exponent <= KEY_EXPONENT_MAX) return 1;
    out[0] = exponent < 0 ? KEY_LOWER : KEY_HIGHER;
    put_big_endian(out + 1, (uint64_t)(exponent + 2 * EXPONENT_LIMIT), 4);
    return 5;
}

/* Before and behind all numbers. Returns 0 if the text is none of these. */
static uint32_t infinite_key(struct glint_slice text, uint8_t *out)
{
    double value;
    if (!text_parse_f64_word(text.data, text.size, &value)) return 0;
    out[0] = value < 0 ? (uint8_t)~KEY_HIGHER : 0xff;
    out[1] = (uint8_t)(isnan(value) != 0);
    return 2;
}

__attribute__((noinline)) static uint32_t long_key(struct glint_slice text, uint8_t *out)
{
    double f64;
    if (!glint_parse_f64(text, &f64)) return infinite_key(text, out);
    const struct digits d = find_digits(text);
    out[0] = KEY_ZERO;
    if (d.zero) return 1;
    uint32_t size = put_key_exponent(d.exponent, out);
    for (const uint8_t *at = d.first; at <= d.last; size += 8) {
        uint64_t chunk = 0;
        for (int i = 0; i < SHORT_DIGITS_MAX; i++) {
            at += at == d.point;
            chunk = chunk * 10 + (at <= d.last ? *at++ - (uint32_t)'0' : 0);
        }
        at += at == d.point;
        put_big_endian(out + size, chunk << 4 | (at <= d.last), 8);
    }
    if (text.data[0] == '-')
        for (uint32_t i = 0; i < size; i++) out[i] = (uint8_t)~out[i];
    return size;
}

uint32_t number_key(struct glint_slice text, uint8_t *out)
{
    struct short_number n;
    return parse_short(text, &n) ? short_number_key(&n, out) : long_key(text, out);
}

size_t number_format(char *out, const struct number *n)
{
    if (n->decimals == NUMBER_INEXACT) return text_format_f64(out, n->f64);
    char text[EXACT_SUM_FORMAT_MAX];
    struct exact_sum sum = {.decimals = 0};
    exact_sum_add(&sum, n);
    const size_t size = exact_sum_format(text, &sum);
    assert(size <= NUMBER_FORMAT_MAX);
    memcpy(out, text, size);
    return size;
}

const char *number_problem(struct glint_slice text)
{
    const uint8_t *at = text.data, *const end = text.data + text.size;
    uint64_t digits = 0, points = 0, exponent = 1;
    at += at < end && (*at == '-' || *at == '+');
    for (; at < end && (*at == '.' || (*at >= '0' && *at <= '9')); at++) {
        points += *at == '.';
        digits += *at != '.';
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        for (exponent = 0; at < end && *at >= '0' && *at <= '9'; at++) exponent++;
    }
    return at == end && digits > 0 && points <= 1 && exponent > 0
               ? "a numeric column has a number beyond 1.8e308, or of over 511 bytes"
               : "a numeric column is not a number";
}

/* ---- Order */

double number_f64(const struct number *n)
{
    if (n->decimals == NUMBER_INEXACT) return n->f64;
    struct exact_sum sum = {.decimals = 0};
    exact_sum_add(&sum, n);
    return exact_sum_f64(&sum);
}

static double round_to_half_float(double value)
{
    int exponent;
    const double fraction = frexp(value, &exponent);
    const int digits = exponent < -13 ? exponent + 24 : 11;
    if (!isfinite(value)) return value;
    const double half = ldexp(nearbyint(ldexp(fraction, digits)), exponent - digits);
    return fabs(half) < 65536 ? half : copysign((double)INFINITY, half);
}

double number_round_to_float(double value, uint32_t bits)
{
    if (bits == 16) return round_to_half_float(value);
    return bits == 32 ? (double)(float)value : value;
}

struct number number_of_float(const struct number *text, uint32_t bits)
{
    struct number n = {.decimals = NUMBER_INEXACT};
    n.f64 = number_round_to_float(number_f64(text), bits) + 0.0; /* -0.0 becomes 0.0 */
    return n;
}

bool number_parse_float(struct glint_slice text, uint32_t bits, struct number *out)
{
    if (!number_parse(text, out)) return false;
    *out = number_of_float(out, bits);
    return true;
}

/* Sets *out to the units of a number with more decimals; false: they may not fit. */
static bool scale_number_units(const struct number *n, int decimals, __int128 *out)
{
    if (n->high != (int64_t)n->low >> 63 || decimals - n->decimals > EXACT_SUM_SHIFT_MAX)
        return false;
    *out = (__int128)(int64_t)n->low * exact_sum_powers[decimals - n->decimals];
    return true;
}

static int compare_exact(const struct number *a, const struct number *b)
{
    const int decimals = a->decimals > b->decimals ? a->decimals : b->decimals;
    __int128 x, y;
    if (scale_number_units(a, decimals, &x) && scale_number_units(b, decimals, &y))
        return (x > y) - (x < y);
    struct exact_sum difference = {.decimals = 0};
    struct number minus = *b;
    const __int128 units = -number_units(b);
    minus.low = (uint64_t)units;
    minus.high = (int64_t)(units >> 64);
    exact_sum_add(&difference, a);
    exact_sum_add(&difference, &minus);
    return exact_sum_sign(&difference);
}

static uint32_t number_key_of_text(const struct number *n, uint8_t *out)
{
    char text[NUMBER_FORMAT_MAX];
    const size_t size = number_format(text, n);
    const uint32_t key_size = number_key((struct glint_slice){(const uint8_t *)text, size}, out);
    assert(key_size > 0);
    return key_size;
}

int number_compare_mixed(const struct number *a, const struct number *b)
{
    assert(a->decimals != NUMBER_NONE && b->decimals != NUMBER_NONE);
    if (a->decimals >= 0 && b->decimals >= 0) return compare_exact(a, b);
    const int order = number_compare_f64(number_f64(a), number_f64(b));
    if (order != 0 || (a->decimals < 0 && b->decimals < 0)) return order;
    uint8_t p[NUMBER_KEY_MAX + NUMBER_FORMAT_MAX], q[sizeof p];
    const uint32_t m = number_key_of_text(a, p), n = number_key_of_text(b, q);
    const int r = memcmp(p, q, m < n ? m : n);
    return r != 0 ? r : (a->decimals < 0) - (b->decimals < 0);
}
