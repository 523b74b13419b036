/* Exact sums: see exact_sum.h. */
#include "jobs/rows/exact_sum.h"

#include <assert.h>

#define CHUNK      INT64_C(1000000000000000000) /* digits are formatted 18 at a time */
#define F64_EXACT  (UINT64_C(1) << 53)          /* doubles are exact up to this integer */
#define SIGN       (UINT64_C(1) << 63)
#define TOP        (EXACT_SUM_LIMBS - 1)
#define DIGITS_MAX (6 * EXACT_SUM_SHIFT_MAX) /* 2^320 has 97 digits */
#define F64_POWERS 23                        /* powers of ten that are exact doubles */

const int64_t exact_sum_powers[EXACT_SUM_SHIFT_MAX + 1] = {1,
                                                           10,
                                                           100,
                                                           1000,
                                                           10000,
                                                           100000,
                                                           1000000,
                                                           10000000,
                                                           100000000,
                                                           1000000000,
                                                           10000000000,
                                                           100000000000,
                                                           1000000000000,
                                                           10000000000000,
                                                           100000000000000,
                                                           1000000000000000,
                                                           10000000000000000,
                                                           100000000000000000,
                                                           CHUNK};

void exact_sum_carry(struct exact_sum *s, int by)
{
    for (int i = 2; i < EXACT_SUM_LIMBS; i++) {
        const uint64_t before = s->limbs[i];
        s->limbs[i] = before + (uint64_t)(int64_t)by;
        if (by > 0 ? s->limbs[i] != 0 : before != 0) return;
    }
}

static void multiply_sum(struct exact_sum *s, int64_t by)
{
    unsigned __int128 carry = 0;
    for (int i = 0; i < EXACT_SUM_LIMBS; i++) {
        carry += (unsigned __int128)s->limbs[i] * (uint64_t)by;
        s->limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

/* Gives the sum more decimals without changing its value. */
static void exact_sum_extend_decimals(struct exact_sum *s, int decimals)
{
    while (s->decimals < decimals) {
        int shift = decimals - s->decimals;
        if (shift > EXACT_SUM_SHIFT_MAX) shift = EXACT_SUM_SHIFT_MAX;
        multiply_sum(s, exact_sum_powers[shift]);
        s->decimals = (int8_t)(s->decimals + shift);
    }
}

void exact_sum_merge(struct exact_sum *s, const struct exact_sum *more)
{
    struct exact_sum other = *more;
    exact_sum_extend_decimals(s, other.decimals);
    exact_sum_extend_decimals(&other, s->decimals);
    unsigned __int128 carry = 0;
    for (int i = 0; i < EXACT_SUM_LIMBS; i++) {
        carry += (unsigned __int128)s->limbs[i] + other.limbs[i];
        s->limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static struct exact_sum exact_sum_of_number(const struct number *n)
{
    assert(n->decimals >= 0 && n->decimals <= NUMBER_DIGITS_MAX);
    const uint64_t sign = n->high < 0 ? UINT64_MAX : 0;
    return (struct exact_sum){{n->low, (uint64_t)n->high, sign, sign, sign}, n->decimals};
}

void exact_sum_add_wide(struct exact_sum *s, const struct number *n)
{
    const struct exact_sum more = exact_sum_of_number(n);
    exact_sum_merge(s, &more);
}

int exact_sum_sign(const struct exact_sum *s)
{
    uint64_t any = 0;
    for (int i = 0; i < EXACT_SUM_LIMBS; i++) any |= s->limbs[i];
    return (s->limbs[TOP] & SIGN) != 0 ? -1 : any != 0;
}

/* Makes the sum its magnitude; returns whether it was negative. */
static bool exact_sum_make_magnitude(struct exact_sum *s)
{
    if ((s->limbs[TOP] & SIGN) == 0) return false;
    unsigned __int128 carry = 1;
    for (int i = 0; i < EXACT_SUM_LIMBS; i++) {
        carry += ~s->limbs[i];
        s->limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return true;
}

/* Divides the lowest limbs by CHUNK; returns the rest. */
static uint64_t divide_by_decimal_chunk(struct exact_sum *s, int count)
{
    unsigned __int128 rest = 0;
    for (int i = count; i-- > 0;) {
        rest = rest << 64 | s->limbs[i];
        s->limbs[i] = (uint64_t)(rest / (uint64_t)CHUNK);
        rest %= (uint64_t)CHUNK;
    }
    return (uint64_t)rest;
}

/* Writes the digits of a magnitude, the last one first, at least `least` of them. */
static int put_digits(struct exact_sum *s, char *out, int least)
{
    int size = 0, limbs = EXACT_SUM_LIMBS;
    while (limbs > 0 && s->limbs[limbs - 1] == 0) limbs--;
    while (limbs > 0) {
        uint64_t chunk = divide_by_decimal_chunk(s, limbs);
        while (limbs > 0 && s->limbs[limbs - 1] == 0) limbs--;
        for (int i = 0; i < EXACT_SUM_SHIFT_MAX && (limbs > 0 || chunk > 0); i++, chunk /= 10)
            out[size++] = (char)('0' + chunk % 10);
    }
    assert(size <= DIGITS_MAX);
    while (size < least) out[size++] = '0';
    return size;
}

size_t exact_sum_format(char *out, const struct exact_sum *s)
{
    char digits[DIGITS_MAX];
    struct exact_sum rest = *s;
    size_t size = 0;
    if (exact_sum_make_magnitude(&rest)) out[size++] = '-';
    const int count = put_digits(&rest, digits, s->decimals + 1);
    int last = 0; /* the last place that is written */
    while (last + 1 < s->decimals && digits[last] == '0') last++;
    for (int place = count - 1; place >= last; place--) {
        out[size++] = digits[place];
        if (place == s->decimals && place > 0) out[size++] = '.';
    }
    assert(size < EXACT_SUM_FORMAT_MAX);
    return size;
}

double exact_sum_f64(const struct exact_sum *s)
{
    static const double powers[F64_POWERS] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct exact_sum rest = *s;
    const bool negative = exact_sum_make_magnitude(&rest);
    uint64_t high = 0;
    for (int i = 1; i < EXACT_SUM_LIMBS; i++) high |= rest.limbs[i];
    if (high == 0 && rest.limbs[0] <= F64_EXACT && s->decimals < F64_POWERS) {
        /* Both are exact, so that the quotient is rounded once. */
        const double value = (double)rest.limbs[0] / powers[s->decimals];
        return negative ? -value : value;
    }
    char text[EXACT_SUM_FORMAT_MAX];
    double value = 0;
    const size_t size = exact_sum_format(text, s);
    const bool parsed = glint_parse_f64((struct glint_slice){(const uint8_t *)text, size}, &value);
    assert(parsed);
    return value;
}
