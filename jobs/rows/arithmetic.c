/* Arithmetic: see arithmetic.h. */
#include "jobs/rows/arithmetic.h"

#include "jobs/rows/exact_sum.h"

#include <assert.h>
#include <math.h>

static const char integer_too_large[] = "a result is an integer of more than 38 digits";
static const char double_too_large[] = "a result is larger than the largest double, 1.8e308";
static const char divisor_is_zero[] = "division by zero";

static struct number make_exact_number(__int128 units, int decimals)
{
    return (struct number){
        .low = (uint64_t)units, .high = (int64_t)(units >> 64), .decimals = (int8_t)decimals};
}

/* `finite`: so are the operands, and the result has to be. */
static const char *set_inexact_number(double value, bool finite, struct number *out)
{
    if (finite && !isfinite(value)) return double_too_large;
    *out = (struct number){.decimals = NUMBER_INEXACT};
    out->f64 = value + 0.0; /* -0.0 becomes 0.0 */
    return NULL;
}

/* The largest number of 38 digits. */
static __int128 largest_38_digit_number(void)
{
    const __int128 half = 10 * (__int128)exact_sum_powers[EXACT_SUM_SHIFT_MAX]; /* 10^19 */
    return half * half - 1;
}

/* Sets *out to the units with `by` more decimals; false: they have more than 38 digits. */
static bool scale_exact_units(const struct number *n, int by, __int128 *out)
{
    *out = number_units(n);
    for (int left = by; left > 0;) {
        const int shift = left < EXACT_SUM_SHIFT_MAX ? left : EXACT_SUM_SHIFT_MAX;
        if (__builtin_mul_overflow(*out, (__int128)exact_sum_powers[shift], out)) return false;
        left -= shift;
    }
    return *out <= largest_38_digit_number() && *out >= -largest_38_digit_number();
}

/* Returns 10 value mod divisor, of value < divisor <= 10^38: no sum exceeds 128 bits. */
static unsigned __int128 ten_times_modulo(unsigned __int128 value, unsigned __int128 divisor)
{
    assert(value < divisor);
    const unsigned __int128 two = 2 * value % divisor;
    const unsigned __int128 eight = 2 * (2 * two % divisor) % divisor;
    return (two + eight) % divisor;
}

/* The remainder of numbers that have more than 38 digits with equal decimals. */
static struct number wide_remainder(const struct number *a, const struct number *b)
{
    const __int128 x = number_units(a), y = number_units(b);
    const unsigned __int128 divisor = y < 0 ? -(unsigned __int128)y : (unsigned __int128)y;
    assert(divisor > 0);
    if (a->decimals > b->decimals) return *a; /* b is larger */
    unsigned __int128 rest = (x < 0 ? -(unsigned __int128)x : (unsigned __int128)x) % divisor;
    for (int i = a->decimals; i < b->decimals; i++) rest = ten_times_modulo(rest, divisor);
    return make_exact_number(x < 0 ? -(__int128)rest : (__int128)rest, b->decimals);
}

/* Calculates units. Returns false if they do not fit. */
static bool calculate_exact_numbers(enum arithmetic operation, const struct number *a,
                                    const struct number *b, struct number *out)
{
    const int more = a->decimals > b->decimals ? a->decimals : b->decimals;
    const int decimals = operation == ARITHMETIC_MULTIPLY ? a->decimals + b->decimals : more;
    __int128 x = number_units(a), y = number_units(b), result = 0;
    if (decimals > NUMBER_DIGITS_MAX) return false;
    if (operation != ARITHMETIC_MULTIPLY && (!scale_exact_units(a, more - a->decimals, &x) ||
                                             !scale_exact_units(b, more - b->decimals, &y))) {
        if (operation == ARITHMETIC_REMAINDER) *out = wide_remainder(a, b);
        return operation == ARITHMETIC_REMAINDER;
    }
    if (operation == ARITHMETIC_REMAINDER) {
        *out = make_exact_number(x % y, decimals);
        return true;
    }
    const bool overflow = operation == ARITHMETIC_MULTIPLY ? __builtin_mul_overflow(x, y, &result)
                          : operation == ARITHMETIC_ADD    ? __builtin_add_overflow(x, y, &result)
                                                           : __builtin_sub_overflow(x, y, &result);
    if (overflow || result > largest_38_digit_number() || result < -largest_38_digit_number())
        return false;
    *out = make_exact_number(result, decimals);
    return true;
}

const char *number_calculate(enum arithmetic operation, const struct number *a,
                             const struct number *b, struct number *out)
{
    assert(a->decimals != NUMBER_NONE && b->decimals != NUMBER_NONE);
    const bool divides = operation == ARITHMETIC_DIVIDE || operation == ARITHMETIC_REMAINDER;
    const bool exact = a->decimals >= 0 && b->decimals >= 0;
    if (divides && (b->decimals >= 0 ? number_units(b) == 0 : b->f64 == 0)) return divisor_is_zero;
    if (exact && operation != ARITHMETIC_DIVIDE) {
        if (calculate_exact_numbers(operation, a, b, out)) return NULL;
        if (a->decimals == 0 && b->decimals == 0) return integer_too_large;
    }
    const double x = number_f64(a), y = number_f64(b);
    const bool finite = isfinite(x) && isfinite(y);
    switch (operation) {
    case ARITHMETIC_ADD: return set_inexact_number(x + y, finite, out);
    case ARITHMETIC_SUBTRACT: return set_inexact_number(x - y, finite, out);
    case ARITHMETIC_MULTIPLY: return set_inexact_number(x * y, finite, out);
    case ARITHMETIC_DIVIDE: return set_inexact_number(x / y, finite, out);
    default:
        assert(operation == ARITHMETIC_REMAINDER);
        return set_inexact_number(fmod(x, y), finite, out);
    }
}

struct number number_negate(struct number n)
{
    assert(n.decimals != NUMBER_NONE);
    if (n.decimals >= 0) return make_exact_number(-number_units(&n), n.decimals);
    n.f64 = 0.0 - n.f64;
    return n;
}

int number_compare_values(const struct number *a, const struct number *b)
{
    if (a->decimals >= 0 && b->decimals >= 0) return number_compare(a, b);
    return number_compare_f64(number_f64(a), number_f64(b));
}
