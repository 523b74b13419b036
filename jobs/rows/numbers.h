/* Numbers in fields of tables: exact up to 38 digits, so that sums and orders do not depend on
 * rounding. Pure; any thread. */
#ifndef GLINT_JOBS_ROWS_NUMBERS_H
#define GLINT_JOBS_ROWS_NUMBERS_H

#include "engine/base/cell.h"
#include "engine/glint.h"

enum {
    NUMBER_DIGITS_MAX = 38, /* of an exact number, and of its decimal places; 10^38 < 2^127 */
    NUMBER_INEXACT = -1,
    NUMBER_NONE = -2,
    NUMBER_KEY_MAX = 13,   /* without the bytes of number_key for digits after the 18th */
    NUMBER_FORMAT_MAX = 48 /* bytes of number_format */
};

/* Packed: accumulators have many of them. */
struct __attribute__((packed)) number {
    union {
        struct {
            uint64_t low;
            int64_t high;
        };          /* the value is (high * 2^64 + low) / 10^decimals */
        double f64; /* NUMBER_INEXACT: the nearest double; never -0.0; also inf and NaN */
    };
    int8_t decimals; /* 0: an integer; up to NUMBER_DIGITS_MAX; NUMBER_INEXACT: it has an exponent
                        or too many digits; NUMBER_NONE: no number, for callers */
};

/* Accepts what glint_parse_f64 accepts, no spaces and no hex, and in any case nan, and inf and
 * infinity with or without a sign, which no large number becomes. Returns false otherwise. */
bool number_parse(struct glint_slice text, struct number *out);
/* Why number_parse and number_key do not accept a text, for columns_bad_value. */
const char *number_problem(struct glint_slice text);

/* The value times 10^decimals. */
static inline __int128 number_units(const struct number *n)
{
    return (__int128)((unsigned __int128)(uint64_t)n->high << 64 | n->low);
}

/* Writes the number as a cell of at most CELL_NUMBER_BYTES_MAX bytes. Returns its end. */
static inline uint8_t *number_put(uint8_t *out, const struct number *n)
{
    if (n->decimals == NUMBER_NONE) return cell_put_null(out);
    if (n->decimals == NUMBER_INEXACT) return cell_put_f64(out, n->f64);
    if (n->high == (int64_t)n->low >> 63)
        return cell_put_decimal(out, (int64_t)n->low, n->decimals);
    return cell_put_wide(out, n->low, n->high, n->decimals);
}
/* Cuts a cell off `rest`; null is NUMBER_NONE. Returns false if it does not begin with a number. */
bool number_read_cell(struct glint_slice *rest, struct number *out);

/* The nearest double. */
double number_f64(const struct number *n);
/* The float of 16, 32 or 64 bits that is nearest to the value: of its shortest text, itself. */
double number_round_to_float(double value, uint32_t bits);
/* As number_parse, but the number is such a float. */
bool number_parse_float(struct glint_slice text, uint32_t bits, struct number *out);
/* The float of this size whose text is the number. */
struct number number_of_float(const struct number *text, uint32_t bits);

/* The order of doubles: NaN equals itself, and is the greatest. */
static inline int number_compare_f64(double x, double y)
{
    const int order = (x > y) - (x < y);
    return order != 0 || x == y ? order : (x != x) - (y != y);
}

int number_compare_mixed(const struct number *a, const struct number *b);

/* A negative, zero or positive number: the order of what number_format writes, as number_key
 * compares it; an exact number is before an equal one that is not. */
static inline int number_compare(const struct number *a, const struct number *b)
{
    if (a->decimals != b->decimals || a->decimals < 0) return number_compare_mixed(a, b);
    const __int128 x = number_units(a), y = number_units(b);
    return (x > y) - (x < y);
}

/* Writes bytes whose bytewise order is that of the numbers, whatever number of digits they have:
 * equal bytes are equal numbers, and none are the beginning of others. Returns their size, at most
 * NUMBER_KEY_MAX + text.size, or 0 if the text is no number. */
uint32_t number_key(struct glint_slice text, uint8_t *out);

/* All digits of an exact number, others like Python's repr; returns the length. `out` has
 * NUMBER_FORMAT_MAX bytes. */
size_t number_format(char *out, const struct number *n);

#endif
