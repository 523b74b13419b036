/* Numbers in fields: see numbers.h. */
#include "jobs/rows/numbers.h"

#include "engine/base/text.h"

#include <assert.h>

enum { DIGITS_MAX = 18 };            /* always fit 64 bits */
#define EXACT_MAX ((int64_t)1 << 53) /* doubles represent all integers up to this one */

/* Digits with at most one point and without exponent: *out has units and decimals. */
static bool parse_plain(struct glint_slice text, struct number *out)
{
    uint64_t i = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    if (text.size - i > DIGITS_MAX + 1) return false;
    uint64_t units = 0; /* at most 19 digits always fit */
    int digits = 0, decimals = 0;
    bool point = false;
    for (; i < text.size; i++) {
        const uint32_t digit = (uint32_t)text.data[i] - '0';
        if (digit <= 9) {
            units = units * 10 + digit;
            digits++;
            decimals += point;
        } else if (text.data[i] == '.' && !point) {
            point = true;
        } else {
            return false;
        }
    }
    if (digits == 0 || digits > DIGITS_MAX || decimals > NUMBER_DECIMALS_MAX) return false;
    if (point && decimals == 0) return false; /* "5." is rare */
    out->units = text.data[0] == '-' ? -(int64_t)units : (int64_t)units;
    out->decimals = (int8_t)decimals;
    return true;
}

bool number_parse(struct glint_slice text, struct number *out)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    out->decimals = 0;
    if (parse_plain(text, out) || glint_parse_i64(text, &out->units)) {
        out->f64 = (double)out->units;
        if (out->decimals == 0) return true;
        /* Both are exact, so that the result is rounded once, like strtod's. */
        if (out->units <= EXACT_MAX && out->units >= -EXACT_MAX) {
            out->f64 /= powers[out->decimals];
            return true;
        }
        return glint_parse_f64(text, &out->f64);
    }
    out->decimals = NUMBER_INEXACT;
    out->units = 0;
    if (!glint_parse_f64(text, &out->f64)) return false;
    out->f64 += 0.0; /* -0.0 becomes 0.0 */
    return true;
}

/* How far an integer is from its nearest double: less than 1024, and 0 below 2^53. */
static int32_t integer_rest(const struct number *n)
{
    return n->decimals == 0 ? (int32_t)((__int128)n->units - (__int128)n->f64) : 0;
}

int number_compare(const struct number *a, const struct number *b)
{
    if (a->f64 != b->f64) return a->f64 < b->f64 ? -1 : 1;
    return integer_rest(a) - integer_rest(b);
}

uint32_t number_key(const struct number *n, uint8_t out[NUMBER_KEY_MAX])
{
    uint64_t bits;
    memcpy(&bits, &n->f64, sizeof bits);
    bits ^= bits >> 63 != 0 ? UINT64_MAX : (uint64_t)1 << 63;
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(bits >> (56 - 8 * i));
    if (n->f64 < (double)EXACT_MAX && n->f64 > -(double)EXACT_MAX) return 8;
    /* The order of large integers that have the same double; other numbers between them have a rest
     * of 0. Whether it follows is decided by the double, so equal beginnings have equal sizes. */
    const uint32_t rest = (uint32_t)(integer_rest(n) + 0x8000);
    out[8] = (uint8_t)(rest >> 8);
    out[9] = (uint8_t)rest;
    return NUMBER_KEY_MAX;
}

size_t number_format(char *out, const struct number *n)
{
    return n->decimals == 0 ? text_format_i64(out, n->units) : text_format_f64(out, n->f64);
}
